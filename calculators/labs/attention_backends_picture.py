"""The picture of the backend selector: the list from the top, what rules each candidate out, and where it stops."""
from textwrap import wrap

from calculators.labs.base import Shown
from calculators.labs.cuda_graphs_picture import Picture
from calculators.labs.kv_size_parts import Part, Row, Swatch, Table, both, sides
from calculators.models.attention_backends import ALWAYS, SINGLE, UNIFORM, AttentionBackends, Candidate
from calculators.pictures import Bar, Drawing, Path, Shape, Text, line

LEVELS = {SINGLE: (1, "one token each"), UNIFORM: (2, "equal tokens each"), ALWAYS: (3, "any batch")}
BOX, LINE = 24, 18


def picture(shown: Shown) -> Picture:
    """The walk down the list, and beside it what each candidate can be captured for."""
    result: AttentionBackends = shown.result
    levels = [Row(each.name, (LEVELS[each.graphs][0],), (LEVELS[each.graphs][1],), each.chosen)
              for each in result.candidates]
    warning = f" The engine warns: “{result.warning}”" if result.warning else ""
    return Picture(
        parts=(Part(
            "From the top of the list", *(ladder(result, width, narrow) for width, narrow in sides()),
            "the first that nothing rules out is taken",
            legend=(Swatch("result", "chosen"), Swatch("hollow", "would hold"), Swatch("never", "ruled out")),
            words=f"{result.verdict}{warning}",
        ),),
        side=Part(
            "What each can be captured for", *both("Graph support by backend", ("batches in a full graph",), levels),
            words=f"Asked for, FULL_AND_PIECEWISE {kept(result.mode, 'FULL_AND_PIECEWISE')} and FULL "
                  f"{kept(result.full_becomes, 'FULL')}. Two backends compared in "
                  "different modes are compared by their launches, not by their kernels.",
        ),
        tables=(Table(
            "The list in order", ("backend", "outcome", "captured for"),
            tuple((each.name, outcome(each), LEVELS[each.graphs][1]) for each in result.candidates),
        ),),
    )


def kept(mode: str, asked: str) -> str:
    return "stays" if mode == asked else f"becomes {mode}"


def outcome(candidate: Candidate) -> str:
    """"chosen", "would hold", or the engine's reasons."""
    if candidate.chosen:
        return "chosen"
    return ", ".join(candidate.reasons) or "would hold"


def ladder(result: AttentionBackends, width: float, narrow: bool) -> Drawing:
    """A box for each candidate with its outcome beside it, on a phone under it, and an arrow down to the next.

    Where there is room, what each can be captured for stands at the right.
    """
    left, box = (20, 170) if narrow else (28, 240)
    words_at, letters = (left + 4, 44) if narrow else (left + box + 36, 78)
    shapes: list[Shape] = []
    top, passed = 4.0, True
    if not narrow:
        shapes += [Text(left, 12, "backend", "axis"), Text(words_at, 12, "here", "axis"),
                   Text(width, 12, "captured in a full graph", "axis", "end"), line(0, 20, width, 20, "edge")]
        top = 30.0
    for number, each in enumerate(result.candidates, 1):
        css = "result" if each.chosen else "never" if each.reasons else "hollow"
        lines = wrap(outcome(each), letters)
        shapes.append(Text(0, top + 17, str(number), "axis"))
        shapes.append(Bar(left, top, box, BOX, css, each.name, "strong" if each.chosen else "value"))
        style = "strong" if each.chosen else "limit-text" if each.reasons else "label"
        shapes += [Text(words_at, top + (BOX if narrow else 0) + 17 + LINE * row, words, style)
                   for row, words in enumerate(lines)]
        if not narrow:
            shapes.append(Text(width, top + 17, LEVELS[each.graphs][1], style if each.chosen else "label", "end"))
        passed = passed and not each.chosen
        foot = top + (BOX + LINE * len(lines) + 10 if narrow else max(BOX, LINE * len(lines)) + 20)
        if not narrow:
            shapes.append(line(left + box + 18, foot - 8, width, foot - 8, "rule"))
        if passed and number < len(result.candidates):
            x = 4 if narrow else left + box - 14
            shapes.append(Path(f"M{x:g} {top + BOX + 1:g}V{foot - 2:g}m-3 -4l3 4l3 -4", "arrow"))
        top = foot
    return Drawing(width, top, result.finding, tuple(shapes))


def thumbnail(result: AttentionBackends) -> Drawing:
    """The list at 216 by 64, without words."""
    shapes = [
        Bar(2 + 24 * place, 6 + 14 * place, 110, 10, "result" if each.chosen else "never" if each.reasons else "hollow")
        for place, each in enumerate(result.candidates[:4])
    ]
    return Drawing(216, 64, "A list, and the first that holds.", tuple(shapes))
