"""The pictures of a hybrid cache: layer groups over one pool, and what siblings of a prompt find again."""
from calculators.labs.base import Shown
from calculators.labs.kv_size_parts import Part, Picture, Row, Swatch, Table, both, sides
from calculators.models.catalogue import CHUNKED_LOCAL, FULL, LINEAR, MLA, SLIDING
from calculators.models.hybrid_cache import NAMES, HybridCache
from calculators.models.kv_token import binary
from calculators.models.prefix_checkpoints import Checkpoints, Lookup
from calculators.pictures import Bar, Drawing, Scale, Shape, Text, line, thousands
from calculators.ruled import past_words

LOOKS = {FULL: "present", MLA: "present", SLIDING: "result", CHUNKED_LOCAL: "result", LINEAR: "other"}
SAYS = {FULL: "keeps every token", MLA: "keeps every latent", SLIDING: "keeps a window", CHUNKED_LOCAL: "keeps a chunk",
        LINEAR: "keeps a state"}
MOST_GROUPS = {False: 24, True: 12}
MOST_SLOTS = 36


def hybrid(shown: Shown) -> Picture:
    """Both drawings of each part; the reader's number stands in the verdict alone."""
    result = shown.result
    wide, narrow = (groups(result, width, small) for width, small in sides())
    sums = both("KV of one request", ("on each GPU",), sum_rows(result))
    kinds = dict.fromkeys(group.kind for group in result.groups)
    return Picture(
        main=Part(
            "Layer groups over one pool", wide, narrow, "a column is a group with one block table, a cell a layer",
            "", "",
            tuple(Swatch(LOOKS[kind], SAYS[kind]) for kind in kinds)
            + ((Swatch("never", "empty slot"),) if result.padding_layers else ()),
            " ".join(filter(None, (result.group_verdict, result.phase_verdict, result.block_verdict))),
        ),
        side=Part("One request, four ways to count", *sums, words="Blocks add the padding and the ragged ends of "
                  "windows; admission reckons with the tokens in flight."),
        tables=(
            Table(
                "One request by length", ("tokens", "what layers keep", "every layer full", "in blocks, decoding",
                                          "most while prefilling"),
                tuple(
                    (f"{thousands(row.context)}{' (present)' * row.present}", binary(row.needed_bytes),
                     f"{binary(row.all_full_bytes)}, {row.saved:.1f}×", binary(row.decode_bytes),
                     binary(row.prefill_bytes))
                    for row in result.contexts
                ),
            ),
            Table(
                "The groups", ("keep", "layers (empty)", "blocks, decoding (prefilling)"),
                tuple((NAMES[group.kind], f"{group.layers:,} ({group.padding:,})",
                       f"{group.decode_blocks:,} ({group.prefill_blocks:,})") for group in result.groups),
            ),
        ),
    )


def groups(result: HybridCache, width: float, narrow: bool) -> Drawing:
    """A column a group, a cell a layer slot; under each column its blocks in both phases."""
    shown = result.groups[-MOST_GROUPS[narrow]:] if len(result.groups) > MOST_GROUPS[narrow] else result.groups
    left = 70 if narrow else 132
    pitch = min((width - left) / len(shown), 150)
    slots = min(result.group_size, MOST_SLOTS)
    high = max(min(16, 220 / slots), 4)
    top = 22
    foot = top + high * slots
    shapes: list[Shape] = [
        Text(left - 12, foot + 22, "decoding", "label", "end"),
        Text(left - 12, foot + 42, "prefilling" if narrow else "prefilling, up to", "label", "end"),
        Text(left - 12, top + 12, f"{result.group_size:,} slots", "label", "end"),
    ]
    for number, group in enumerate(shown):
        x, w = round(left + pitch * number, 2), round(min(pitch - 10, 110), 2)
        shapes.append(Text(x, 14, NAMES[group.kind] if pitch > 44 else NAMES[group.kind][0], "axis"))
        filled = round(slots * group.layers / result.group_size)
        for slot in range(slots):
            css = LOOKS[group.kind] if slot < filled else "never"
            shapes.append(Bar(x, round(top + high * slot, 2), w, round(high - 3.5, 2), css))
        shapes += [Text(x, foot + 22, f"{group.decode_blocks:,}", "strong"),
                   Text(x, foot + 42, f"{group.prefill_blocks:,}", "value")]
    hidden = len(result.groups) - len(shown)
    words = f"blocks of {binary(result.block_bytes)}, {result.decode_blocks:,} in all while decoding"
    if hidden:
        words += f"; {hidden:,} groups not drawn"
    shapes.append(Text(0 if narrow else left, foot + 64, words, "label"))
    return Drawing(width, foot + 72, result.finding, tuple(shapes))


def sum_rows(result: HybridCache) -> tuple[Row, ...]:
    """One request's size: every layer full, while prefilling, in blocks, and what the layers keep."""
    sizes = (("every layer full", result.all_full_bytes), ("most, prefilling", result.prefill_bytes),
             ("blocks, decoding", result.decode_bytes), ("what layers keep", result.needed_bytes))
    return tuple(Row(name, (size,), (binary(size),), size == result.decode_bytes) for name, size in sizes)


def siblings(shown: Shown) -> Picture:
    """Both drawings: each prompt as a bar, its hit hatched, what stays findable below it."""
    result, said = shown.result, shown.said
    wide, narrow = (lookups(result, shown.inputs, said, width, small) for width, small in sides())
    hits = both("Tokens hit, by prompt", ("tokens hit",), tuple(
        Row(lookup.name, (lookup.hit_tokens,), (f"{lookup.hit_tokens:,}",), lookup.name == "sibling 1")
        for lookup in result.lookups[1:]
    ))
    return Picture(
        main=Part(
            "Prompts in turn, and what each finds", wide, narrow,
            f"{shown.inputs['shared_tokens']:,} of {shown.inputs['prompt_tokens']:,} tokens shared", "", "",
            (Swatch("s-cached", "hit", "cached"), Swatch("s-running", "computed"),
             Swatch("solid", "the windowed layer’s blocks that stay findable")),
            result.why_verdict,
        ),
        side=Part("Tokens hit", *hits, words=HIT_WORDS),
        tables=(
            Table(
                "Each prompt", ("prompt", "full layers hold", "hit", "computed", "junction kept"),
                tuple((lookup.name, thousands(lookup.full_tokens), thousands(lookup.hit_tokens),
                       thousands(lookup.computed_tokens), thousands(lookup.junction) if lookup.junction else "none")
                      for lookup in result.lookups),
            ),
        ),
    )


HIT_WORDS = (
    "Full layers keep every block, so they always find what is shared. A windowed layer needs only the blocks before "
    "the hit, but all of those, and by default keeps few."
)


def lookups(result: Checkpoints, inputs: dict, said: float | None, width: float, narrow: bool) -> Drawing:
    """A row a prompt on one scale of tokens, crossed by where the siblings part."""
    left, pitch = (2, 66) if narrow else (150, 52)
    top = 30
    scale = Scale(0, inputs["prompt_tokens"], left, width - 4)
    shapes: list[Shape] = []
    foot = top + pitch * len(result.lookups)
    x = scale(min(inputs["shared_tokens"], inputs["prompt_tokens"]))
    shapes.append(line(x, 20, x, foot - 8, "never"))
    for number, lookup in enumerate(result.lookups):
        shapes += lookup_row(lookup, scale, top + pitch * number + (16 if narrow else 0), inputs["block_size"], narrow)
    shapes.append(Text(min(max(x, left + 60), width - 60), 14, f"siblings part at {inputs['shared_tokens']:,}", "label",
                       "middle"))
    if said is not None and 0 <= said <= inputs["prompt_tokens"]:
        x = scale(said)
        y = top + pitch + (16 if narrow else 0)
        shapes += [past_words(x, y - 4, y + 26, shapes),
                   Text(min(max(x, left + 40), width - 40), y + 41, f"your {said:,.6g}", "pen-text halo", "middle")]
    return Drawing(width, foot, result.finding, tuple(shapes))


def lookup_row(lookup: Lookup, scale: Scale, y: float, size: int, narrow: bool) -> list[Shape]:
    """One prompt: its hit hatched, the rest computed, its findable blocks as a thin line below."""
    middle = scale(lookup.hit_tokens)
    hit = f"hits {lookup.hit_tokens:,}" if lookup.name != "the prompt" else "comes first"
    shapes: list[Shape] = [Text(scale.start, y - 5, f"{lookup.name}: {hit}", "value") if narrow
                           else Text(scale.start - 12, y + 16, lookup.name, "name", "end")]
    if lookup.hit_tokens:
        shapes.append(Bar(scale.start, y, round(middle - scale.start, 2), 22, "s-cached", pattern="cached"))
    if lookup.computed_tokens:
        room = scale.end - middle
        shapes.append(Bar(middle, y, round(room, 2), 22, "s-running",
                          f"{lookup.computed_tokens:,}" if room > 60 else "", "on-running"))
    if lookup.hit_tokens and not narrow and middle - scale.start > 90:
        shapes.append(Bar(round((scale.start + middle) / 2 - 36, 2), y + 2, 72, 18, "plate-cached", hit, "cached-text"))
    for first, last in lookup.kept:
        x1, x2 = scale(min(first * size, scale.high)), scale(min((last + 1) * size, scale.high))
        shapes.append(Bar(x1, y + 25, round(max(x2 - x1, 1.5), 2), 4, "solid"))
    return shapes
