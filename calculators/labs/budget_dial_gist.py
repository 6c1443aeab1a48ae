"""How the largest budget comes about: what the longest step is made of at some budgets, against the target."""
from collections.abc import Iterator

from calculators.labs.base import Gist, Shown
from calculators.labs.budget_dial_picture import CLEAR, LETTER, in_ms, name, said_setting
from calculators.models.budget_dial import Dial, Setting
from calculators.pictures import MEASURE, NARROW, Bar, Drawing, Scale, Shape, Text, arrow, line, wall_beside

TOP, ROW, BAR = 66, 44, 20
CUT = 2  # targets; a longer bar is cut there
PARTS = (("other", "KV, CPU"), ("pale", "linear"), ("solid", "attention"))


def gist(shown: Shown) -> Gist:
    """Both drawings; what the reader said is a budget in tokens and makes a row of its own."""
    yours = said_setting(shown.inputs, shown.said)
    return Gist(*(parts(shown.result, yours, shown.inputs["itl_target_ms"], width) for width in (MEASURE, NARROW)))


def parts(result: Dial, yours: Setting | None, target: float, width: float) -> Drawing:
    """A bar each for the largest budget, the one in hand and the reader's."""
    largest = next(at for at in result.settings if at.budget == result.largest_budget)
    rows = {at.budget: at for at in (result.present, largest, *((yours,) if yours else ()))}
    names = 62
    left, right = names + 10, width - 84
    longest = max(at.gap_ms for at in rows.values())
    across = Scale(0, max(min(longest, CUT * target), 1.2 * target), left, right)
    wall, foot = across(target), TOP + ROW * len(rows) - 4
    shapes: list[Shape] = [
        *key(left), line(left, TOP - 8, left, foot, "edge"), Text(names, TOP - 14, "budget", "axis", "end"),
        Text(wall, TOP - 20, f"target {target:,g} ms", "limit-text", "middle"),
    ]
    for place, budget in enumerate(sorted(rows)):
        at, y = rows[budget], TOP + ROW * place
        shapes += [*name(result, at, at is yours, names, y - 1), *stacked(result, at, across, y)]
        words, end = f"{in_ms(at.gap_ms)} ms", across(min(at.gap_ms, across.high)) + 8
        if at.gap_ms > across.high:
            shapes.append(arrow(end - 4, end + 10, y + BAR / 2))
            end += 16
        elif end < wall + CLEAR and end + LETTER * len(words) > wall:
            end = wall + CLEAR
        shapes.append(Text(round(end, 2), y + 14, words, "pen-text" if at is yours else "strong"))
    shapes += wall_beside(wall, TOP - 14, foot)
    return Drawing(width, foot + 8, f"{result.finding} {result.present_verdict}", tuple(shapes))


def stacked(result: Dial, at: Setting, across: Scale, y: float) -> Iterator[Shape]:
    """The parts of the longest step one after the other, as far as the scale reaches."""
    start_ms = 0.0
    takes_ms = (result.beside_ms, at.gap_ms - result.beside_ms - at.attention_ms, at.attention_ms)
    for (css, _), part_ms in zip(PARTS, takes_ms, strict=True):
        x1, x2 = (across(min(end_ms, across.high)) for end_ms in (start_ms, start_ms + part_ms))
        yield Bar(x1, y, round(max(x2 - x1, 0), 2), BAR, css)
        start_ms += part_ms


def key(x: float) -> Iterator[Shape]:
    """Which look is which part."""
    for css, words in PARTS:
        yield Bar(x, 3, 12, 10, css)
        yield Text(x + 18, 12, words, "label")
        x += 18 + LETTER * len(words) + 24
