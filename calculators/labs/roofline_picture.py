"""The roofline's pictures: the roof as a wall with the steps under it; the laptop against it; formats side by side."""
from collections.abc import Iterator

from calculators.labs.base import Shown
from calculators.labs.engine_loop_picture import Derivation, Picture
from calculators.labs.kv_size_parts import Part, Row, Swatch, Table, bars, both
from calculators.log_paper import LogPaper, dot, log_paper
from calculators.models.laptop import Laptop
from calculators.models.roofline import Roofline
from calculators.models.weight_formats import InFormat, WeightFormats
from calculators.pictures import NARROW, WIDE, Drawing, Shape, Text, line, wall_above, wall_along, wall_beside
from calculators.ruled import figures

LEAST, MOST = 0.5, 16_384  # FLOP/B on the paper


def ridge_picture(shown: Shown) -> Picture:
    """The roof with both kinds of step, and what a step reads and multiplies by batch."""
    result, context, said = shown.result, shown.inputs["context_tokens"], shown.said
    bytes_per_weight = shown.inputs["bytes_per_weight"]
    rows = tuple(Row(f"B {each.sequences:,}", (each.memory_ms, each.compute_ms),
                     (f"{each.memory_ms:,.3g} ms", f"{each.compute_ms:,.3g} ms"), each.present)
                 for each in result.at_batches)
    context_words = f"{context:,} tokens of context" if context else "no context"
    return Picture(
        parts=(
            Part("Where each step stands", roof(result, said, bytes_per_weight, WIDE),
                 roof(result, said, bytes_per_weight, NARROW), "one square is a factor of two, both ways",
                 legend=(Swatch("present", "no context"), *(
                     [Swatch("hollow", context_words)] if context else []))),
            Part(f"What a step takes, with {context_words}", *both(
                "Memory and compute by batch", ("to read", "to multiply"), rows, WIDE),
                "each column on a scale of its own; the longer one is the step"),
        ),
        derivations=(Derivation("Said out loud", result.lines),),
        words=f"{result.verdict} One kernel after the other, linear layers and attention take "
              f"{result.per_kernel_ms:,.3g} ms.",
        tables=(Table(
            f"By batch, {context_words}",
            ("batch", "memory, ms", "compute, ms", "tokens/s", "each user, tokens/s", "FLOP/B"),
            tuple((f"{each.sequences:,}", f"{each.memory_ms:,.2f}", f"{each.compute_ms:,.2f}",
                   f"{each.tokens_per_s:,.0f}", f"{each.per_user:,.1f}", f"{each.intensity:,.1f}")
                  for each in result.at_batches),
        ),),
    )


def roof(result: Roofline, said: float | None, bytes_per_weight: float, width: float) -> Drawing:
    """The roof on paper of doublings: filled dots without a context, hollow with one, the prefill on top."""
    narrow = width <= NARROW
    peak, slope = result.peak_tflop_per_s, result.peak_tb_per_s
    lowest = max(min(slope * LEAST, peak / 4), peak / 2**16)
    paper = log_paper((LEAST, MOST), (lowest, peak * 1.9), 46, width - 12, 26, 22)
    shapes: list[Shape] = [*paper.grid(4 if narrow else 2, figures), *paper.foot(4 if narrow else 2, figures)]
    turn = min(max(peak / slope, LEAST), MOST)
    start = max(LEAST, lowest / slope)
    shapes += [*wall_along(paper.x(start), paper.y(max(slope * start, lowest)), paper.x(turn), paper.y(peak)),
               *wall_above(paper.x(turn), paper.across.end, paper.y(peak)),
               Text(paper.across.end, paper.y(peak) - 14, f"{peak:,.4g} TFLOP/s", "limit-text", "end"),
               Text(46, 14, "TFLOP/s", "axis")]
    foot = paper.up.start
    shapes.append(Text(paper.across.end, foot + 36, "FLOP per byte read", "axis", "end"))
    if LEAST < turn < MOST:
        shapes += [line(paper.x(turn), paper.y(peak), paper.x(turn), foot, "formula"),
                   Text(paper.x(turn) + 8, foot - 26, f"ridge {turn:,.3g}", "strong halo"),
                   Text(paper.x(turn) + 8, foot - 10, f"batch {result.ridge_batch:,}" if result.ridge_batch else
                        "never reached", "label halo")]
    limit = result.limit_intensity
    if limit and paper.holds(limit) and limit < turn:
        x = paper.x(limit)
        shapes += [*wall_beside(x, paper.y(max(min(slope * limit, peak), lowest)), foot),
                   Text(x - 8, foot - 10, f"never past {limit:,.3g}", "limit-text halo", "end")]
    shapes += points(result, paper, lowest)
    if said and said > 0 and paper.holds(place := 2 * said / bytes_per_weight):
        x = paper.x(place)
        anchor = "end" if x > paper.across.end - 80 else "start"
        shapes += [line(x, paper.y(peak / 8), x, foot - 44, "pen"),
                   Text(x + (-6 if anchor == "end" else 6), paper.y(peak / 8) + 12, f"you: {said:,.4g}",
                        "pen-text halo", anchor)]
    title = f"Ridge at {result.ridge_intensity:,.3g} FLOP/B. {result.finding}"
    return Drawing(width, foot + 44, title, tuple(shapes))


def points(result: Roofline, paper: LogPaper, lowest: float) -> Iterator[Shape]:
    """A dot for each batch, and one for the prefill; the batch given is named."""
    peak, slope = result.peak_tflop_per_s, result.peak_tb_per_s
    hollow = result.at_batches if result.limit_intensity else ()
    for rows, css in ((result.without_context, "present"), (hollow, "hollow")):
        for each in rows:
            height = min(peak, slope * each.intensity)
            if not paper.holds(each.intensity) or height < lowest:
                continue
            x, y = paper.x(each.intensity), paper.y(height)
            yield dot(x, y, css)
            if each.present:
                side = (-9, "end", -6) if css == "hollow" else (9, "start", 16)
                yield Text(x + side[0], y + side[2], f"B {each.sequences:,}", "strong halo", side[1])
    height = min(peak, slope * result.prefill_intensity)
    if paper.holds(result.prefill_intensity) and height >= lowest:
        x, y = paper.x(result.prefill_intensity), paper.y(height)
        yield dot(x, y, "present", 5.5)
        if x < paper.across.start + 60:
            yield Text(x + 9, y + 5, "prefill", "strong halo")
        else:
            yield Text(min(x + 6, paper.across.end), y + 22, "prefill", "strong halo", "end")


def laptop_picture(shown: Shown) -> Picture:
    """What each user of the shared GPU gets beside the laptop, and both prefills."""
    result: Laptop = shown.result
    rows = (Row("laptop, 1", (result.laptop_tokens_per_s, result.laptop_tokens_per_s),
                (f"{result.laptop_tokens_per_s:,.3g}",) * 2, False),
            *(Row(f"GPU, {each.sequences:,}", (each.per_user, each.total),
                  (f"{each.per_user:,.3g}{'' if each.ahead else ', behind'}", f"{each.total:,.0f}"), each.present)
              for each in result.shared))
    prefills = tuple(Row(name, (value,), (f"{value:,.3g} s",), False)
                     for name, value in (("laptop", result.laptop_prefill_s), ("GPU", result.gpu_prefill_s)))
    return Picture(
        parts=(
            Part("Tokens a second", *both("Tokens/s by users", ("each user", "in all"), rows, WIDE),
                 f"ahead of the laptop up to {result.most_users:,} users; each column on a scale of its own"),
            Part(f"A prompt of {shown.inputs['prompt_tokens']:,} tokens", *both("Prefill", ("to the first token",),
                                                                             prefills, WIDE),
                 "products alone: 2 × P × tokens"),
        ),
        derivations=(Derivation("Said out loud", result.lines),), words=result.verdict,
        tables=(Table("By users of the GPU", ("users", "each, tokens/s", "in all, tokens/s", "ahead"),
                      tuple((f"{each.sequences:,}", f"{each.per_user:,.1f}", f"{each.total:,.0f}",
                             "yes" if each.ahead else "no") for each in result.shared)),),
    )


def formats_picture(shown: Shown) -> Picture:
    """Each format's decode step with both kinds of KV, and its prefill; gains by batch in the table."""
    result: WeightFormats = shown.result
    rows, short = (tuple(format_row(each, each.name == result.best, gains) for each in result.formats)
                   for gains in (True, False))
    return Picture(
        parts=(
            Part(f"A step of {shown.inputs['batch']:,}, and a prefill",
                 bars("Formats", ("16-bit KV", "fp8 KV", "prefill"), rows, WIDE),
                 bars("Formats", ("16-bit, ms", "fp8 KV, ms", "prefill, ms"), short, NARROW),
                 "and the gain over bf16; each column on a scale of its own"),
            Part("Gain by batch", *both("Gain by batch", ("fp8 weights", "int4 weights", "fp8 KV alone"), tuple(
                by_batch(count, formats, count == shown.inputs["batch"]) for count, formats in result.by_batch), WIDE),
                "the gain over bf16, less 1, as a length"),
        ),
        derivations=(Derivation("Said out loud", result.lines),), words=result.verdict,
        tables=(Table("Formats", ("format", "read, GB", "16-bit KV, ms", "fp8 KV, ms", "prefill, ms", "tokens more"),
                      tuple((each.name, f"{each.read_gb:,.2f}", f"{each.kv16_ms:,.2f}", f"{each.kv8_ms:,.2f}",
                             f"{each.prefill_ms:,.1f}", f"{each.more_tokens:,}") for each in result.formats)),),
    )


def format_row(each: InFormat, present: bool, gains: bool) -> Row:
    """A format's three times, with their gains where there is room for them."""
    values = (each.kv16_ms, each.kv8_ms, each.prefill_ms)
    told = (each.kv16_gain, each.kv8_gain, each.prefill_gain)
    words = tuple(f"{value:,.3g} ms{gain_words(gain)}" if gains else f"{value:,.3g}"
                  for value, gain in zip(values, told, strict=True))
    return Row(each.name, values, words, present)


def gain_words(gain: float) -> str:
    return "" if round(gain, 2) == 1 else f", {gain:.2f}×"


def by_batch(count: int, formats: tuple[InFormat, ...], present: bool) -> Row:
    gains = (formats[1].kv16_gain, formats[2].kv16_gain, formats[0].kv8_gain)
    return Row(f"batch {count:,}", tuple(max(gain - 1, 0) for gain in gains), tuple(f"{gain:.2f}×" for gain in gains),
               present)


def thumbnail(result: Roofline) -> Drawing:
    """The roof with its ridge at 216 by 64."""
    shapes = (*wall_along(4, 60, 110, 14), *wall_above(110, 214, 14), line(110, 14, 110, 62, "formula"),
              dot(30, 49, "present"), dot(74, 30, "present"), dot(190, 14, "present", 5.5))
    return Drawing(216, 64, f"Reading sets the pace up to a batch of {result.ridge_batch:,}, products past it.", shapes)
