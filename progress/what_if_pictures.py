"""The picture of a year at each desired retention: minutes a day above, cards known below."""
from collections.abc import Callable, Sequence

from calculators.pictures import Drawing, Scale, Shape, Text, line
from progress.fit_pictures import tick
from progress.pictures import dot
from progress.what_if import Outcome, Spread

NAMED = (0.70, 0.75, 0.80, 0.85, 0.90, 0.97)


def year(outcomes: Sequence[Outcome], asked: float, cards: int, *, width: int) -> Drawing:
    """For each desired retention a dot with the spread of its plays; one's own in ink on a dashed pen line.

    Both scales begin at nothing. A dot is hollow where the limit of reviews often held something back.
    """
    left, right, plot, gap = 40, width - 14, 132, 52
    across = Scale(outcomes[0].retention, outcomes[-1].retention, left + 8, right)
    top, foot = 26, 26 + plot
    low, end = foot + gap, foot + gap + plot
    known = f"cards known after a year, of {cards:,}"
    own, mine, last = across(asked), next(one for one in outcomes if one.retention == asked), outcomes[-1]
    shapes = [line(own, 20, own, foot, "target"), line(own, low - 6, own, end, "target"),
              *_panel(outcomes, asked, lambda one: one.minutes, "minutes a day", across, top, foot, width),
              *_panel(outcomes, asked, lambda one: one.known, known, across, low, end, width)]
    shapes += [Text(across(at), end + 18, f"{at:.2f}".lstrip("0"), "axis", "middle")
               for at in NAMED if outcomes[0].retention <= at <= last.retention]
    shapes += [Text((left + right) / 2, end + 38, "desired retention", "axis", "middle"),
               Text(own - 5, 17, f"asked for {asked:.2f}", "pen-text", "end")]
    finding = f"At {asked:.2f}, {mine.minutes.middle:.1f} minutes a day and {mine.known.middle:,.0f} cards known; " \
              f"at {last.retention:.2f}, {last.minutes.middle:.1f} and {last.known.middle:,.0f}."
    return Drawing(width, end + 46, finding, tuple(shapes))


def _panel(
    outcomes: Sequence[Outcome], asked: float, of: Callable[[Outcome], Spread], name: str, across: Scale, top: float,
    foot: float, width: int,
) -> list[Shape]:
    """One of the two, with its scale at the left."""
    step = tick(max(of(one).high for one in outcomes))
    most = step
    while most < max(of(one).high for one in outcomes):
        most += step
    height = Scale(0, most, foot, top)
    shapes: list[Shape] = []
    for at in range(round(most / step) + 1):
        y = height(at * step)
        shapes += [line(40, y, width - 4, y, "grid" if at else "edge"),
                   Text(34, y + 4, f"{at * step:,g}", "axis", "end")]
    shapes.append(Text(0, top - 9, name, "label"))
    for one in outcomes:
        x, spread = across(one.retention), of(one)
        is_own = one.retention == asked
        css = "hollow" if one.is_held else "present" if is_own else "other"
        shapes += [line(x, height(spread.low), x, height(spread.high), "ink thin" if is_own else "edge"),
                   dot(x, height(spread.middle), 5 if is_own else 3.5, css)]
    return shapes
