"""The speculation lab's pictures: got and paid by draft length, speed-up by batch against a wall at 1, two steps."""
from collections.abc import Iterator, Mapping
from math import log2
from typing import Any

from calculators.labs.base import Gist, Shown
from calculators.labs.engine_loop_picture import Derivation, Picture
from calculators.labs.kv_size_parts import Part, Swatch, Table, sides
from calculators.models.draft_length import AtLength, DraftLength, draft_steps, expected_tokens
from calculators.models.speculation import AtBatch, Speculation
from calculators.pictures import MEASURE, NARROW, WALL, WIDE, Bar, Drawing, Path, Scale, Shape, Text, line, wall_above
from calculators.ruled import columns, round_unit, rows, width_of

HIGH = 190  # of a chart
HALF_GAP = 64
LANE, PAIR = 26, 78
FEWEST_SPOTS = (0, 1, 2, 3, 5, 8)
SHORT_BATCHES = (1, 8, 32, 64, 128, 256, 512)


def batch_picture(shown: Shown) -> Picture:
    """Got and paid beside speed-up by batch, then both steps at the two batches given."""
    result, inputs = shown.result, shown.inputs
    lengths = lengths_of(inputs)
    wide, narrow = (pair(shown, lengths, width) for width in (WIDE, NARROW))
    words = f"{result.verdict} {result.length_verdict} {result.budget_verdict}"
    if result.losing_context is not None and not inputs["context_tokens"] > result.losing_context:
        words += f" From {result.losing_context:,.0f} tokens of context on drafts never lose."
    return Picture(
        parts=(
            Part("Where drafts pay", wide, narrow, f"{inputs['context_tokens']:,} tokens of context",
                 legend=(Swatch("other", "got: tokens a step"), Swatch("hollow", "paid, in plain steps"))),
            Part("What the two steps cost", *(lanes(result, inputs["num_speculative_tokens"], width, small)
                                              for width, small in sides()),
                 legend=(Swatch("s-running", "the target’s step"), Swatch("hollow", "drafts before it")),
                 words=words),
        ),
        derivations=(Derivation("Said out loud", result.lines),), words="", tables=(batch_table(result),),
    )


def lengths_of(inputs: Mapping[str, Any]) -> tuple[tuple[int, float, float], ...]:
    """Draft lengths 0 to 8, or spread up to a longer one: each with what it yields and what it costs when it rides."""
    k, cost = inputs["num_speculative_tokens"], inputs["draft_cost_percent"] / 100
    ks = range(9) if k <= 8 else sorted({0, 1, 2, 4, 6, 8, 10, k})
    return tuple((each, expected_tokens(inputs["acceptance"], each), 1 + draft_steps(each, inputs["drafter"]) * cost)
                 for each in ks)


def pair(shown: Shown, lengths: tuple[tuple[int, float, float], ...], width: float) -> Drawing:
    """Both charts, side by side or one under the other."""
    result, inputs, narrow = shown.result, shown.inputs, width <= NARROW
    k, acceptance = inputs["num_speculative_tokens"], inputs["acceptance"]
    half = width if narrow else (width - HALF_GAP) / 2
    left = [*got_and_paid(lengths, k, acceptance, (0, 0), half)]
    place = (0, HIGH + 156) if narrow else (half + HALF_GAP, 0)
    right = [*by_batch(result, inputs["context_tokens"], shown.said, place, half)]
    return Drawing(width, place[1] + HIGH + 124, result.finding, (*left, *right))


def got_and_paid(lengths: tuple[tuple[int, float, float], ...], k: int, acceptance: float, at: tuple[float, float],
                 width: float) -> Iterator[Shape]:
    """Two bars a draft length on one scale, with the figures and their quotient under them."""
    if width <= NARROW:
        lengths = tuple(each for each in lengths if each[0] in FEWEST_SPOTS or each[0] == k)
    x0, top = at[0] + 40, at[1] + 36
    ceiling = 1 / (1 - acceptance) if acceptance < 1 else None
    highest = max(max(got, paid) for _, got, paid in lengths)
    shows_ceiling = ceiling is not None and ceiling <= highest * 1.6
    up = Scale(0, max(highest, ceiling if shows_ceiling else 0) * 1.12, top + HIGH, top)
    across = (at[0] + width - x0) / len(lengths)
    yield Text(at[0], at[1] + 14, "Got and paid, by draft length", "strong")
    yield from rows(up, round_unit(up.high, 5), x0, at[0] + width)
    if shows_ceiling:
        yield from wall_above(x0, at[0] + width, up(ceiling))
        yield Text(x0 + 4, up(ceiling) - 12, f"no length gets past {ceiling:.3g}", "limit-text halo")
    foot = top + HIGH
    heads = ("k", "got", "paid", "ratio")
    yield from (Text(at[0], foot + 18 + 19 * row, head, "strong" if row == 3 else "axis")
                for row, head in enumerate(heads))
    yield line(at[0], foot + 61, at[0] + width, foot + 61, "edge")
    for place, (length, got, paid) in enumerate(lengths):
        x, here = x0 + across * place, length == k
        bar = max(min(across * 0.36, 22), 6)
        middle = round(x + across / 2, 2)
        yield Bar(round(middle - bar, 2), up(got), round(bar, 2), round(foot - up(got), 2),
                  "present" if here else "other")
        yield Bar(round(middle + 2, 2), up(paid), round(bar * 0.7, 2), round(foot - up(paid), 2), "hollow")
        css = "strong" if here else "value"
        for row, words in enumerate((f"{length}", f"{got:.2f}", f"{paid:.2f}", f"{got / paid:.2f}")):
            yield Text(middle, foot + 18 + 19 * row, words, css if row != 3 or here else "value", "middle")
        if here:
            yield Bar(round(x + 1, 2), foot + 2, round(across - 2, 2), 80, "frame")


def by_batch(result: Speculation, context: int, said: float | None, at: tuple[float, float],
             width: float) -> Iterator[Shape]:
    """A bar a batch against the wall at 1, below which drafts lose; dashed what a longer context makes of it."""
    each = result.at_batches
    if width <= NARROW:
        each = tuple(batch for batch in each if batch.sequences in SHORT_BATCHES)
    x0, top = at[0] + 40, at[1] + 36
    foot = top + HIGH
    up = Scale(0, max(1.25, *(max(b.speed_up, b.longer_speed_up) for b in each)) * 1.14, foot, top)
    across = (at[0] + width - x0) / len(each)
    yield Text(at[0], at[1] + 14, "Speed-up, by batch", "strong")
    yield from rows(up, round_unit(up.high, 6), x0, at[0] + width)
    for place, batch in enumerate(each):
        x, bar = round(x0 + across * place + across * 0.12, 2), round(across * 0.76, 2)
        y = up(batch.speed_up)
        near = abs(batch.speed_up - 1) < 0.3
        yield Bar(x, y, bar, round(foot - y, 2), "present" if near else "other")
        yield Text(round(x + bar / 2, 2), foot + 18, f"{batch.sequences:,}", "value", "middle")
    yield Bar(x0, up(1), round(at[0] + width - x0, 2), WALL, "wall", pattern="wall")
    yield line(x0, up(1), at[0] + width, up(1), "s-limit")
    for place, batch in enumerate(each):
        x, bar = round(x0 + across * place + across * 0.12, 2), round(across * 0.76, 2)
        y = up(batch.speed_up)
        if context and batch.longer_speed_up > batch.speed_up * 1.01:
            yield line(x - 3, up(batch.longer_speed_up), x + bar + 3, up(batch.longer_speed_up), "formula")
        tall = foot - y > 40
        low = y + 17 if tall and not up(1) - 6 < y + 17 < up(1) + 22 else y - 6
        css = "on-ink" if low > y else "strong halo"
        yield Text(round(x + bar / 2, 2), low, f"{batch.speed_up:.2f}", css, "middle")
    yield from marks(result, said, each, (x0, foot, across), at, width)
    if context:
        yield Text(at[0] + width, at[1] + 14, f"dashed: {4 * context:,} of context", "label", "end")


def marks(result: Speculation, said: float | None, each: tuple[AtBatch, ...], axis: tuple[float, float, float],
          at: tuple[float, float], width: float) -> Iterator[Shape]:
    """Where the gain begins to shrink, where it is lost, and what the reader said, on the batches' doublings."""
    x0, foot, across = axis

    def x_of(batch: float) -> float:
        """Between the bars' middles, by doublings."""
        batch = min(max(batch, each[0].sequences), each[-1].sequences)
        after = next((i for i, b in enumerate(each) if b.sequences >= batch), len(each) - 1)
        before = max(after - 1, 0)
        low, high = each[before].sequences, each[after].sequences
        part = (log2(batch) - log2(low)) / (log2(high) - log2(low)) if high > low else 0
        return round(x0 + across * (before + part + 0.5), 2)

    last, lost = each[-1].sequences, result.break_even
    yield Text(at[0], foot + 18, "batch", "axis")
    words = f"lost from {lost:,} on" if lost else "never lost"
    if lost and lost <= last:
        x = x_of(lost)
        yield from around_figures(x, foot, 58, "ink")
        right = x + 8 + width_of(words) < at[0] + width
        yield Text(x + (8 if right else -8), foot + 58, words, "strong", "start" if right else "end")
    else:
        yield Text(at[0] + width, foot + 58, words, "strong", "end")
    if said and said > 0:
        x, name = x_of(said), f"you: {said:,.4g}"
        right = x < x0 + 40 or said > (lost or last) and x + 8 + width_of(name) < at[0] + width
        yield from around_figures(x, foot, 38, "pen")
        yield Text(x + (8 if right else -8), foot + 38, name, "pen-text halo", "start" if right else "end")
    if result.shrinks_at:
        yield Text(at[0] + width, foot + 80, f"the gain shrinks past {result.shrinks_at:,}", "label", "end")


def around_figures(x: float, foot: float, down: float, css: str) -> Iterator[Shape]:
    """A line down to the axis, and a stroke of it beside its words, so that it crosses no other's."""
    yield Path(f"M{x:g} {foot - 40:g}V{foot + 4:g}M{x:g} {foot + down - 12:g}V{foot + down + 2:g}", css)


def batch_gist(shown: Shown) -> Gist:
    """Speed-up by batch alone."""
    return Gist(*(Drawing(width, HIGH + 124, shown.result.finding, tuple(
        by_batch(shown.result, shown.inputs["context_tokens"], shown.said, (0, 0), width)))
        for width in (MEASURE, NARROW)))


def length_gist(shown: Shown) -> Gist:
    """Got and paid by draft length alone."""
    return Gist(*(by_length(shown.result, shown.inputs["num_speculative_tokens"], shown.said, width)
                  for width in (MEASURE, NARROW)))


def lanes(result: Speculation, k: int, width: float, narrow: bool) -> Drawing:
    """A plain step over one with drafts at both batches, on one scale of ms."""
    names = 4 if narrow else 150
    both = (result.small, result.large)
    longest = max(max(batch.plain_ms, batch.spec_ms) for batch in both)
    scale = Scale(0, longest * 1.12, names, width - 8)
    unit = round_unit(longest * 1.12, 8 if narrow else 40)
    top = 24 if narrow else 8
    tall = PAIR + (40 if narrow else 0)
    foot = top + tall * 2 - 10
    shapes: list[Shape] = [*columns(scale, unit, top - 4, foot, every=2 if narrow else 5, most=5 if narrow else 10)]
    shapes.append(Text(width, foot + 34, "ms", "axis", "end"))
    for place, batch in enumerate(both):
        shapes += step_pair(batch, result, k, scale, top + tall * place, narrow)
    title = (f"At batch {both[0].sequences:,} a step with drafts takes {both[0].spec_ms:,.3g} ms for "
             f"{result.expected_tokens:.3g} tokens each, {both[0].speed_up:.2f}×; at {both[1].sequences:,} "
             f"{both[1].spec_ms:,.3g} ms, {both[1].speed_up:.2f}×.")
    return Drawing(width, foot + 40, title, tuple(shapes))


def step_pair(batch: AtBatch, result: Speculation, k: int, scale: Scale, top: float, narrow: bool) -> Iterator[Shape]:
    """Two lanes: one token each, and the drafts with the verify step behind them."""
    quotient = (f"{result.expected_tokens:.3g} × {batch.plain_ms:,.3g} / {batch.spec_ms:,.3g} = "
                f"{batch.speed_up:.2f}{': slower' if batch.speed_up < 1 else ' times as fast'}")
    lane = top
    if narrow:
        yield Text(0, top - 2, f"batch {batch.sequences:,}: {quotient}", "strong halo")
        lane = top + 6
    else:
        yield Text(0, lane + 18, f"batch {batch.sequences:,}", "strong")
        yield Text(scale.start - 10, lane + 18, "plain", "label", "end")
        yield Text(scale.start - 10, lane + LANE + 24, "with drafts", "label", "end")
    plain, start = scale(batch.plain_ms) - scale.start, scale(batch.draft_ms)
    spec = scale(batch.spec_ms) - start
    yield from running(scale.start, lane, plain, f"{batch.sequences:,} rows", f"{batch.plain_ms:,.3g} ms",
                       "" if narrow else quotient, scale.end)
    lane += LANE + 6
    if batch.draft_ms > 0:
        each = (start - scale.start) / max(k, 1)
        if each >= 3:
            yield from (Bar(round(scale.start + each * draft, 2), lane, round(each, 2), LANE - 2, "hollow")
                        for draft in range(k))
        else:
            yield Bar(scale.start, lane, round(max(start - scale.start, 1), 2), LANE - 2, "hollow")
    yield from running(start, lane, spec, f"{batch.tokens:,} rows", f"{batch.spec_ms:,.3g} ms", "", scale.end)


def running(x: float, y: float, w: float, inside: str, after: str, more: str, end: float) -> Iterator[Shape]:
    """A step as a bar: its rows inside where they fit, its time behind it, and more behind that."""
    w = round(max(w, 1), 2)
    yield Bar(x, y, w, LANE - 2, "s-running", inside if width_of(inside) + 20 < w else "", "on-running")
    right = x + w + 8 + width_of(after) < end + 8
    yield Text(round(x + w + 8, 2) if right else round(x + w - 8, 2), y + 17, after,
               "strong halo" if right else "on-running", "start" if right else "end")
    start = x + w + 30 + width_of(after)
    if more and right and start + width_of(more) < end + 8:
        yield Text(round(start, 2), y + 17, more, "label halo")


def batch_table(result: Speculation) -> Table:
    return Table(
        "By batch", ("batch", "speed-up", "best k", "plain, ms", "drafts, ms", "verify, ms",
                     "at four times the context", "budget"),
        tuple((f"{b.sequences:,}", f"{b.speed_up:.2f}", str(b.best_k) if b.best_k else "off", f"{b.plain_ms:,.2f}",
               f"{b.draft_ms:,.2f}", f"{b.verify_ms:,.2f}", f"{b.longer_speed_up:.2f}", f"{b.tokens:,}")
              for b in result.at_batches),
    )


def length_picture(shown: Shown) -> Picture:
    """Got and paid at every length up to twelve, the best one and the one given marked."""
    result, k = shown.result, shown.inputs["num_speculative_tokens"]
    return Picture(
        parts=(Part(
            "Got and paid", *(by_length(result, k, shown.said, width) for width in (WIDE, NARROW)),
            "what the k-th draft adds and what it costs",
            legend=(Swatch("other", "got: tokens a step"), Swatch("hollow", "paid, in plain steps")),
            words=result.verdict,
        ),),
        derivations=(Derivation("Said out loud", result.lines),), words="", tables=(length_table(result),),
    )


def by_length(result: DraftLength, k: int, said: float | None, width: float) -> Drawing:
    """Two bars a length, their quotient as a figure over them; the best framed, the reader's in pen."""
    narrow = width <= NARROW
    ks = spread(result, k, said, 7 if narrow else 16)
    each = [result.at_lengths[length] for length in ks]
    x0, top = 44, 30
    foot = top + HIGH
    highest = max(max(a.expected_tokens, a.paid) for a in each)
    shows = result.ceiling is not None and result.ceiling <= highest * 1.6
    up = Scale(0, max(highest, result.ceiling if shows else 0) * 1.12, foot, top)
    across = (width - x0) / len(each)
    shapes: list[Shape] = [*rows(up, round_unit(up.high, 6), x0, width)]
    if shows:
        shapes += [*wall_above(x0, width, up(result.ceiling)),
                   Text(x0 + 4, up(result.ceiling) - 12, f"no length gets past {result.ceiling:.3g}",
                        "limit-text halo")]
    shapes += [Text(0, foot + 18 + 19 * row, head, "strong" if row == 3 else "axis")
               for row, head in enumerate(("k", "got", "paid", "ratio"))]
    shapes.append(line(0, foot + 61, width, foot + 61, "edge"))
    for place, at in enumerate(each):
        shapes += length_column(at, result, k, up, x0 + across * place, across, foot)
    if said is not None and (near := [place for place, at in enumerate(each) if at.k == round(said)]):
        x = round(x0 + across * (near[0] + 0.5), 2)
        shapes += [line(x - across / 2 + 4, foot + 108, x + across / 2 - 4, foot + 108, "pen"),
                   Text(min(max(x, 22), width - 22), foot + 124, "you", "pen-text", "middle")]
    return Drawing(width, foot + 130, result.finding, tuple(shapes))


def length_column(at: AtLength, result: DraftLength, k: int, up: Scale, x: float, across: float,
                  foot: float) -> Iterator[Shape]:
    """One length: its bars, and its figures under them."""
    bar, middle, best = max(min(across * 0.34, 24), 6), round(x + across / 2, 2), at.k == result.best_k
    yield Bar(round(middle - bar, 2), up(at.expected_tokens), round(bar, 2),
              round(foot - up(at.expected_tokens), 2), "present" if at.k == k else "other")
    yield Bar(round(middle + 2, 2), up(at.paid), round(bar * 0.7, 2), round(foot - up(at.paid), 2), "hollow")
    css = "strong" if best or at.k == k else "value"
    figures_of = (f"{at.k}", f"{at.expected_tokens:.2f}", f"{at.paid:.2f}", f"{at.speed_up:.2f}")
    yield from (Text(middle, foot + 18 + 19 * row, words, css, "middle") for row, words in enumerate(figures_of))
    if best:
        yield Bar(round(x + 1, 2), foot + 2, round(across - 2, 2), 80, "frame")
        yield Text(middle, foot + 98, "best", "strong", "middle")
    elif at.k == result.thrifty_k and abs(at.k - result.best_k) > 1:
        yield Text(middle, foot + 98, "95%", "label", "middle")


def spread(result: DraftLength, k: int, said: float | None, most: int) -> list[int]:
    """Lengths from 0 to a little past the best one, spread where there are more than fit; those that matter stay."""
    last = len(result.at_lengths) - 1
    kept = {0, k, result.best_k, result.thrifty_k, min(result.best_k + 1, last)}
    if said is not None and 0 <= round(said) <= last:
        kept.add(round(said))
    end = min(max(max(kept), 8), last)
    for length in sorted(range(end + 1), key=lambda each: (each % 4 != 0, each % 2 != 0, each)):
        if len(kept) >= most:
            break
        kept.add(length)
    return sorted(kept)


def length_table(result: DraftLength) -> Table:
    return Table(
        "By draft length",
        ("k", "tokens a step", "speed-up", "paid, plain steps", "the k-th adds", "accepted of drafted"),
        tuple((str(at.k), f"{at.expected_tokens:.3f}", f"{at.speed_up:.3f}", f"{at.paid:.3f}",
               f"{at.adds:.3f}" if at.k else "", f"{at.accepted_share:.1%}" if at.k else "")
              for at in result.at_lengths[: max(result.best_k + 2, 9)]),
    )


def thumbnail(result: Speculation) -> Drawing:
    """Speed-up by batch against 1."""
    highest = max(2.4, *(batch.speed_up for batch in result.at_batches))
    up = Scale(0, highest, 62, 4)
    shapes: list[Shape] = [
        Bar(2 + 21.4 * place, up(batch.speed_up), 17, round(62 - up(batch.speed_up), 2),
            "present" if batch.speed_up < 1 else "other") for place, batch in enumerate(result.at_batches)]
    shapes += [Bar(1, up(1), 214, WALL, "wall", pattern="wall"), line(1, up(1), 215, up(1), "s-limit")]
    return Drawing(216, 64, result.finding, tuple(shapes))
