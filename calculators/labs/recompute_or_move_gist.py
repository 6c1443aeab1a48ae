"""How the break-even comes about: what copies of each size reach of the link, against what moving needs."""
from calculators.labs.base import Gist, Shown
from calculators.models.quantity import say
from calculators.models.recompute_or_move import RecomputeOrMove, in_bytes
from calculators.pictures import MEASURE, NARROW, WALL, Bar, Drawing, Scale, Shape, Text, line, wall_beside
from calculators.ruled import LETTER

TOP, ROW, BAR, GAP = 48, 25, 15, 3
FURTHEST = 2.5  # times the link and the break-even: a number beyond is named and not drawn


def gist(shown: Shown) -> Gist:
    """Both drawings; what the reader said is a bandwidth in GB/s."""
    return Gist(*(rates(shown.result, shown.said, width) for width in (MEASURE, NARROW)))


def rates(result: RecomputeOrMove, said: float | None, width: float) -> Drawing:
    """A bar for each size of copy and for the link, the wall at the break-even, and the reader's number across them."""
    even, link = result.break_even_gb_per_s, result.move.link_gb_per_s
    drawn = said if said and 0 < said <= FURTHEST * max(even, link) else None
    named = [(f"copies of {in_bytes(each.bytes)}", each.gb_per_s, each.present) for each in result.sizes]
    named.append(("the link itself", link, False))
    names = 128
    left, right = names + 10, width - 54
    across = Scale(0, max(even, link, drawn or 0), left, right)
    foot = TOP + ROW * len(named)
    hatch, edge = wall_beside(across(even), TOP - 6, foot, left=True)
    shapes: list[Shape] = [
        Text(0, 12, "GB/s that a copy reaches", "axis"), hatch, line(left, TOP - 6, left, foot, "edge"),
        at(across(even), TOP - 12, f"break-even {say(even, 'GB/s')}", "limit-text", left, width),
    ]
    lines = [(across(even) - WALL, across(even))] + ([(across(drawn), across(drawn))] if drawn else [])
    for place, (name, gb_per_s, present) in enumerate(named):
        y, weight, value = TOP + ROW * place, "strong" if present else "value", say(gb_per_s, "")
        long = max(round(across(gb_per_s) - left, 2), 1)
        shapes += [Text(names, y + 12, name, weight, "end"), Bar(left, y, long, BAR, "present" if present else "other"),
                   Text(clear_of(lines, left + long + 8, LETTER * len(value)), y + 12, value, weight)]
    shapes.append(edge)
    if drawn:
        shapes.append(line(across(drawn), TOP - 6, across(drawn), foot + 4, "pen"))
    if said and said > 0:
        words = f"you: {say(said, 'GB/s', 4)}{'' if drawn else ', far beyond'}"
        shapes.append(at(across(drawn or across.high), foot + 18, words, "pen-text", left, width))
    title = (f"Break-even at {say(even, 'GB/s')}; a copy of {in_bytes(result.copy_bytes)} reaches "
             f"{say(result.copy_gb_per_s, 'GB/s')} of the link's {say(link, 'GB/s')}.")
    return Drawing(width, foot + 26, title, tuple(shapes))


def clear_of(lines: list[tuple[float, float]], x: float, width: float) -> float:
    """Where a value that wants to begin at x may, so that none of the upright lines (from x, to x) runs through it."""
    for start, end in sorted(lines):
        if x - GAP < end and start < x + width + GAP:
            x = end + 2 * GAP
    return round(x, 2)


def at(x: float, y: float, words: str, css: str, left: float, right: float) -> Text:
    """Words about a line at x, in the middle over it as far as the edges let them."""
    half = LETTER * len(words) / 2
    return Text(round(min(max(x, left + half), right - half), 2), y, words, css, "middle")
