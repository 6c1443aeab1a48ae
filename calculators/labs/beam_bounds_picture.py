"""The pictures of beams at the end of decoding, and of what the client loop computes round by round."""
from dataclasses import replace

from calculators.labs.base import Shown
from calculators.labs.engine_loop_picture import Derivation, Picture
from calculators.labs.kv_size_parts import Part, Row, Swatch, Table, bars
from calculators.models.beam_bounds import BeamBounds, ClientLoop
from calculators.pictures import NARROW, WIDE, Bar, Drawing, Scale, Shape, Text, line, thousands, wall_above
from calculators.ruled import round_unit, rows

YOU = "you said"
MOST_ROUNDS = {True: 32, False: 64}


def bounds(shown: Shown) -> Picture:
    """Bars from separate caches to the least that sharing holds."""
    result, said = shown.result, shown.said
    drawings = [drawn(result, shown.inputs["beams"], said, width) for width in (WIDE, NARROW)]
    return Picture(
        parts=(Part("What later parting saves", *drawings, "held by all beams at the end of decoding"),),
        derivations=(Derivation("Said out loud", result.lines),),
        words=f"{result.finding} Counting the prompt once and every output, without blocks, gives "
              f"{result.unpaged_mib:,.4g} MiB: near the most, since beams go on sharing behind the prompt.",
        tables=(Table("By how much all beams share", ("shared", "tokens", "blocks", "MiB"),
                      tuple((each.name, thousands(each.tokens), thousands(each.blocks), f"{each.mib:,.4g}")
                            for each in result.shared)),),
    )


def drawn(result: BeamBounds, beams: int, said: float | None, width: float) -> Drawing:
    """The bars, and among them by size the reader's number in pen, unless it lies far outside."""
    made = list(bar_rows(result, beams))
    if said is None or not 0 < said <= 2 * result.separate_mib:
        return bars(result.finding, ("MiB",), made, width)
    place = sum(row.lengths[0] >= said for row in made)
    words = f"{said:,.4g} MiB"
    made.insert(place, Row(YOU, (said,), (words,), False))
    drawing = bars(result.finding, ("MiB",), made, width)
    bar = [shape for shape in drawing.shapes if isinstance(shape, Bar)][place]
    return replace(drawing, shapes=tuple(
        replace(shape, css="pen") if shape is bar
        else replace(shape, css="pen-text") if isinstance(shape, Text) and shape.text in (YOU, words) else shape
        for shape in drawing.shapes
    ))


def bar_rows(result: BeamBounds, beams: int) -> tuple[Row, ...]:
    """Separate caches first, then by how much is shared."""
    first = Row(f"{beams} separate caches", (result.separate_mib,),
                (f"{result.separate_mib:,.4g} MiB, {result.separate_blocks:,} blocks",), False)
    return (first, *(Row(each.name, (each.mib,), (f"{each.mib:,.4g} MiB, {each.blocks:,} blocks",), each.present)
                     for each in result.shared))


def loop(shown: Shown) -> Picture:
    """What a beam computes in each round, and the rounds as a table."""
    result, size = shown.result, shown.inputs["block_size"]
    allowed = ("" if result.logprobs_allowed else
               f" {result.logprobs} log-probabilities a token are more than --max-logprobs allows unless raised.")
    return Picture(
        parts=(Part(
            "Tokens that a beam computes in each round", *(sawtooth(result, size, width) for width in (WIDE, NARROW)),
            "the part of it behind its last whole block",
            legend=(Swatch("present", "computed again, and the new one"),),
        ),),
        derivations=(Derivation("Said out loud", result.lines),),
        words=f"{result.finding} The engine knows no beams: a client sends each one again with max_tokens 1 and "
              f"{result.logprobs} log-probabilities, and shares only by the prefix cache. Nothing is pinned between "
              f"rounds: under pressure a beam’s prefix is evicted and computed whole for one token.{allowed}",
        tables=(Table("The first rounds", ("round", "tokens", "hit", "computed"),
                      tuple((str(sent.round), thousands(sent.tokens), thousands(sent.hit_tokens),
                             str(sent.computed_tokens)) for sent in result.rounds[:64])),),
    )


def sawtooth(result: ClientLoop, size: int, width: float) -> Drawing:
    """A column a round under the most that one can cost."""
    narrow = width == NARROW
    left, top, foot = 34, 40, 180
    shown = result.rounds[: MOST_ROUNDS[narrow]]
    scale = Scale(0, size, foot, top)
    shapes: list[Shape] = [*rows(scale, max(round_unit(size, 4), 1), left, width - 4), Text(0, 14, "tokens", "axis")]
    step = (width - left - 8) / max(len(shown), 1)
    for number, sent in enumerate(shown):
        y, x = scale(sent.computed_tokens), left + 3 + step * number
        shapes.append(Bar(round(x, 2), y, max(round(step - 2, 2), 1), round(foot - y, 2), "present"))
        if sent.round % 8 == 0:
            shapes.append(Text(round(x + step / 2 - 1, 2), foot + 17, str(sent.round), "axis", "middle"))
    words = "round" if len(shown) == len(result.rounds) else f"round; the first {len(shown)} of {len(result.rounds):,}"
    shapes += [*wall_above(left, width - 4, top), Text(width - 4, top - 14, f"at most {size}", "limit-text", "end"),
               line(left, foot, width - 4, foot, "edge"), Text(width - 4, foot + 36, words, "axis", "end")]
    return Drawing(width, foot + 42, result.finding, tuple(shapes))
