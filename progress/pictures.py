"""The pictures of the Progress pages: shares with their intervals, squares for days, predictions on the diagonal."""
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from math import floor, sqrt

from calculators.pictures import Bar, Drawing, Path, Scale, Shape, Text, line
from flashcards.pictures import DAY_NAMES, day_name
from progress.counts import Bin, Share

WEEK = timedelta(days=7)
KEY_WIDTH = 52


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture for a wide page and for a phone."""

    wide: Drawing
    narrow: Drawing


@dataclass(frozen=True, slots=True)
class Spread:
    """A row of a picture: a middle between a low and a high, 0 to 1, and what stands at its right."""

    name: str
    low: float
    middle: float
    high: float
    words: str


def dot(x: float, y: float, radius: float, css: str) -> Path:
    """A filled circle."""
    r = round(radius, 2)
    return Path(f"M{x - r:.2f} {y:g}a{r:g} {r:g} 0 1 0 {2 * r:g} 0a{r:g} {r:g} 0 1 0 {-2 * r:g} 0Z", css)


def retention(weeks: Sequence[tuple[date, Share]], asked: float, *, width: int) -> Drawing:
    """A share for each week with its 95% interval, over the week's count; what was asked for is a dashed pen line.

    The axis starts at the tenth below the lowest interval, 70% at most.
    """
    left, right, top, foot = 42, width - 8, 16, 166
    lowest = min(floor(min(share.low for _, share in weeks) * 10) / 10, 0.7)
    height = Scale(lowest, 1, foot, top)
    first, last = weeks[0][0], weeks[-1][0]
    step = (right - left) / ((last - first).days // 7 + 1)

    def place(week: date) -> float:
        return round(left + step * ((week - first).days // 7 + 0.5), 1)

    tenths = range(round(lowest * 10), 11, 1 if lowest >= 0.5 else 2)
    shapes: list[Shape] = [line(left, height(tenth / 10), right, height(tenth / 10), "grid") for tenth in tenths]
    shapes += [Text(left - 6, height(tenth / 10) + 4, f"{tenth * 10}{'%' * (tenth == 10)}", "axis", "end")
               for tenth in tenths]
    shapes += [line(left, foot, right, foot, "edge"), line(left, height(asked), right, height(asked), "target"),
               Text(left + 2, height(asked) - 5, "asked for", "pen-text halo")]
    every, month = max(round(44 / step), 1), 0
    for at, (week, share) in enumerate(weeks):
        x = place(week)
        shapes.append(line(x, height(share.low), x, height(share.high), "interval"))
        shapes.append(dot(x, height(share.share), 3.5, "dot"))
        if (len(weeks) - 1 - at) % every == 0:
            shapes.append(Text(x, foot + 36, str(share.of), "axis", "middle"))
        if week.month != month and x < right - 12:
            month = week.month
            shapes.append(Text(x, foot + 18, f"{week:%b}", "axis", "middle"))
    shapes.append(Text(left - 6, foot + 36, "n", "axis", "end"))
    hits, of = sum(share.hits for _, share in weeks), sum(share.of for _, share in weeks)
    finding = f"{hits / of:.1%} recalled in {len(weeks)} weeks, between {min(s.share for _, s in weeks):.0%} and " \
              f"{max(s.share for _, s in weeks):.0%} in a week; {asked:.0%} was asked for."
    return Drawing(width, foot + 44, finding, _apart(shapes))


def _apart(shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    """The shapes without a month's name that would run into the one before it."""
    kept: list[Shape] = []
    last = -99.0
    for shape in shapes:
        if isinstance(shape, Text) and shape.text.isalpha() and len(shape.text) == 3:
            if shape.x - last < 30:
                continue
            last = shape.x
        kept.append(shape)
    return tuple(kept)


def heat(counts: dict[date, int], today: date, weeks: int, *, width: int) -> Drawing:
    """A square for each day, its area the day's count, a column a week; a day without any is a dot."""
    left, top = 34, 22
    pitch = round((width - left - KEY_WIDTH) / weeks, 2)
    monday = today - timedelta(days=today.weekday())
    first = monday - WEEK * (weeks - 1)
    shown = {day: count for day, count in counts.items() if first <= day <= today}
    most = max(shown.values(), default=1)
    side = (pitch - 2) / sqrt(most)
    shapes: list[Shape] = [
        Text(0, round(top + (row + 0.5) * pitch + 4, 1), DAY_NAMES[row], "axis") for row in (0, 3, 6)]
    month, named = first.month if first.day > 7 else 0, -99.0
    for column in range(weeks):
        start, x = first + WEEK * column, round(left + (column + 0.5) * pitch, 2)
        if start.month != month:
            month = start.month
            if x - named >= 30:
                named = x
                shapes.append(Text(x, 12, f"{start:%b}", "axis", "middle"))
        for row in range(7):
            day, y = start + timedelta(days=row), round(top + (row + 0.5) * pitch, 2)
            if day > today:
                break
            shapes.append(square(x, y, side * sqrt(shown[day]), "day") if shown.get(day) else dot(x, y, 0.9, "no-day"))
    for at, size in enumerate(key_sizes(most)):
        y = round(top + (at * 1.5 + 0.5) * pitch, 2)
        x = width - KEY_WIDTH + pitch
        shapes.append(square(x, y, side * sqrt(size), "day"))
        shapes.append(Text(round(x + pitch / 2 + 6, 1), y + 4, f"{size:,}", "axis"))
    finding = f"{sum(shown.values()):,} reviews on {len(shown)} of the last {weeks * 7 - 6 + today.weekday()} days, " \
              f"{most:,} on the fullest."
    return Drawing(width, round(top + 7 * pitch + 4, 1), finding, tuple(shapes))


def square(x: float, y: float, side: float, css: str) -> Bar:
    """A square about its middle."""
    side = round(max(side, 1.5), 2)
    return Bar(round(x - side / 2, 2), round(y - side / 2, 2), side, side, css)


def key_sizes(most: int) -> list[int]:
    """Up to three round counts for a key: about a twelfth of the most, a third, and nearly all of it."""
    sizes: list[int] = []
    for share in (1 / 12, 1 / 3, 1):
        count = max(int(most * share), 1)
        unit = 10 ** (len(str(count)) - 1)
        sizes.append(max(step for step in (1, 2, 5) if step * unit <= count) * unit)
    return sorted(set(sizes))


def diagonal(bins: Sequence[Bin], axis: str, *, width: int, pen: bool = False) -> Drawing:
    """What came over what was predicted, with 95% intervals; on the dashed line both are equal, dots grow with n."""
    left, right, top, foot = 34, width - 12, 10, 200
    lowest = min(min(floor(min(one.predicted, one.came.low) * 4) / 4 for one in bins), 0.5)
    across, height = Scale(lowest, 1, left, right), Scale(lowest, 1, foot, top)
    quarters = [quarter / 4 for quarter in range(round(lowest * 4), 5)]
    shapes: list[Shape] = [line(left, height(at), right, height(at), "grid") for at in quarters if at > lowest]
    shapes += [Text(left - 6, height(at) + 4, share_words(at), "axis", "end") for at in quarters if at > lowest]
    shapes += [Text(across(at), foot + 18, share_words(at), "axis", "middle") for at in quarters]
    shapes += [line(left, foot, right, foot, "edge"), line(left, foot, right, top, "diagonal"),
               Text((left + right) / 2, foot + 40, axis, "axis", "middle")]
    most = max(one.came.of for one in bins)
    for one in bins:
        x, css = across(one.predicted), "own-interval" if pen else "interval"
        shapes += [line(x, height(one.came.low), x, height(one.came.high), css),
                   dot(x, height(one.came.share), 2.5 + 4 * sqrt(one.came.of / most), "pen-dot" if pen else "dot")]
    worst = max(bins, key=lambda one: abs(one.predicted - one.came.share) * sqrt(one.came.of))
    finding = f"Of {sum(one.came.of for one in bins):,}; where {worst.predicted:.2f} was expected, " \
              f"{worst.came.share:.2f} came, in {worst.came.of:,}."
    return Drawing(width, foot + 48, finding, tuple(shapes))


def share_words(share: float) -> str:
    """A share on an axis: "1", ".75", "0"."""
    return f"{share:g}" if share in (0, 1) else f"{share:.2f}".lstrip("0")


def spreads(rows: Sequence[Spread], finding: str, *, width: int, target: float | None = None) -> Drawing:
    """A lane for each row, a line from low to high with a dot at the middle, and its words at the right."""
    left, right, pitch, top = 96, width - 92, 27, 8
    lowest = min(floor(min(row.low for row in rows) * 5) / 5, 0.6)
    foot = top + pitch * len(rows)
    across = Scale(lowest, 1, left, right)
    fifths = [at / 5 for at in range(round(lowest * 5), 6)]
    shapes: list[Shape] = [line(across(at), top, across(at), foot, "grid") for at in fifths]
    shapes += [Text(across(at), foot + 18, f"{at:g}", "axis", "middle") for at in fifths]
    if target is not None:
        shapes.append(line(across(target), top, across(target), foot, "target"))
    for at, row in enumerate(rows):
        y = top + pitch * (at + 0.5)
        shapes += [Text(0, y + 5, row.name, "label"), line(across(row.low), y, across(row.high), y, "spread"),
                   dot(across(row.middle), y, 5, "dot"), Text(width, y + 5, row.words, "note", "end")]
    return Drawing(width, foot + 26, finding, tuple(shapes))


def minutes(weeks: Sequence[tuple[date, float]], *, width: int) -> Drawing:
    """A bar for each week's minutes, the latest in ink, with the figure on it."""
    foot, plot = 96, 72
    step, most = width / len(weeks), max(max(taken for _, taken in weeks), 1)
    shapes: list[Shape] = [line(0, foot, width, foot, "edge")]
    every, month, named = max(round(30 / step), 1), 0, -99.0
    for at, (week, taken) in enumerate(weeks):
        last, middle, height = at == len(weeks) - 1, round((at + 0.5) * step, 1), round(plot * taken / most, 1)
        if taken:
            css, figure = ("present", "now halo") if last else ("other", "axis halo")
            shapes.append(Bar(round(at * step + 1, 1), foot - height, round(step - 2, 1), height, css))
            if (len(weeks) - 1 - at) % every == 0:
                shapes.append(Text(middle, foot - height - 5, f"{taken:.0f}", figure, "middle"))
        if week.month != month:
            month = week.month
            if middle - named >= 30:
                named = middle
                shapes.append(Text(middle, foot + 18, f"{week:%b}", "axis", "middle"))
    finding = f"{sum(taken for _, taken in weeks):,.0f} minutes in {len(weeks)} weeks, {most:.0f} in the fullest, " \
              f"that of {day_name(max(weeks, key=lambda one: one[1])[0])}."
    return Drawing(width, foot + 26, finding, tuple(shapes))
