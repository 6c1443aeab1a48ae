"""The pictures of catching up: the days of a plan under its minutes, and the same small for what else there is."""
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from calculators.pictures import Bar, Drawing, Shape, Text, line, wall_above
from flashcards.pictures import DAY_NAMES

SMALL = (216, 64)
NAME_ROOM, DATE_ROOM = 34, 15  # units that a day's name and what is left take, or its number alone


@dataclass(frozen=True, slots=True)
class DayBar:
    """A day as it is drawn: seconds from the backlog, seconds that fall due anyway, what is left after it."""

    day: date
    backlog_s: int
    ordinary_s: int
    left: int

    @property
    def seconds(self) -> int:
        return self.backlog_s + self.ordinary_s


def plan_bars(days: Sequence[DayBar], planned: int, minutes: int, *, width: int) -> Drawing:
    """A bar for each day, the first `planned` of which are the plan's, under the wall of its minutes.

    The plot is 120 units high for four thirds of the minutes, or for the fullest day. Where there is room each day has
    its name and what is left after it; else its number now and then.
    """
    top, floor = 26, 160
    highest = max(minutes * 80, max(day.seconds for day in days), 60)
    scale = (floor - top - 14) / highest
    step = width / len(days)
    wall = round(floor - minutes * 60 * scale, 1)
    shapes: list[Shape] = []
    for at in round_minutes(highest // 60):
        y = round(floor - at * 60 * scale, 1)
        shapes.append(line(0, y, width, y, "grid"))
        if not wall - 28 < y < wall + 16:  # where the wall stands it says its own minutes
            shapes.append(Text(width, y - 4, f"{at} min", "axis halo", "end"))
    shapes += bars(days, step, floor, scale)
    shapes += [*wall_above(0, width, wall), line(0, floor, width, floor, "edge")]
    # A day that is over the minutes by itself stands in front of the wall, so the words go to the other side.
    hidden = max(day.seconds for day in days[:max(len(days) // 5, 1)]) > minutes * 60 + 60
    x, anchor = (width, "end") if hidden else (0, "start")
    shapes.append(Text(x, wall - 14, f"your {minutes} minutes", "limit-text halo", anchor))
    shapes += names(days, planned, step, floor)
    end = round(planned * step, 1)
    last = days[planned - 1].day
    words = f"caught up, {last:%A} {last.day} {last:%B}" if width > 400 else "caught up"
    beside = end + 8 + 8 * len(words) < width
    shapes += [line(end, 0, end, floor + 4, "ink"),
               Text(end + 8 if beside else end - 8, 11, words, "strong halo", "start" if beside else "end")]
    finding = f"Caught up in {planned} day{'' if planned == 1 else 's'}, no day over {minutes} minutes by the backlog."
    return Drawing(width, floor + (38 if step >= NAME_ROOM else 22), finding, tuple(shapes))


def bars(days: Sequence[DayBar], step: float, floor: float, scale: float, css: str = "present") -> list[Shape]:
    """For each day what falls due anyway, and on it what is from the backlog."""
    shapes: list[Shape] = []
    gap = min(3, step / 5)
    for at, day in enumerate(days):
        x, wide = round(at * step + gap / 2, 1), round(step - gap, 1)
        ordinary, backlog = (round(seconds * scale, 1) for seconds in (day.ordinary_s, day.backlog_s))
        if ordinary:
            shapes.append(Bar(x, round(floor - ordinary, 1), wide, ordinary, "other"))
        if backlog:
            shapes.append(Bar(x, round(floor - ordinary - backlog, 1), wide, round(max(backlog - 1, 0.5), 1), css))
    return shapes


def names(days: Sequence[DayBar], planned: int, step: float, floor: float) -> list[Shape]:
    """Under the days their names and what is left after each; too narrow for that, every so many days its number."""
    shapes: list[Shape] = []
    if step >= NAME_ROOM:
        for at, day in enumerate(days):
            middle = round((at + 0.5) * step, 1)
            name, css = (DAY_NAMES[day.day.weekday()], "axis") if at else ("today", "now")
            shapes.append(Text(middle, floor + 17, name, css, "middle"))
            if at < planned:
                shapes.append(Text(middle, floor + 33, f"{day.left:,}" if day.left else "none", "label", "middle"))
        return shapes
    every = next(every for every in (2, 4, 7, 14, 28) if every * step >= 2 * DATE_ROOM or every == 28)
    for at in range(0, len(days), every):
        shapes.append(Text(round((at + 0.5) * step, 1), floor + 17, str(at + 1), "axis" if at else "now", "middle"))
    return shapes


def small_bars(days: Sequence[DayBar], minutes: int, most_minutes: int, *, chosen: bool) -> Drawing:
    """The days of one plan among several, all drawn over the same days and to the same minutes; the chosen in ink."""
    width, height = SMALL
    floor = height - 1
    scale = (height - 12) / max(most_minutes * 60, max(day.seconds for day in days), 1)
    wall = round(floor - minutes * 60 * scale, 1)
    shapes: list[Shape] = bars(days, width / len(days), floor, scale, "present" if chosen else "solid")
    shapes += [*wall_above(0, width, wall), line(0, floor, width, floor, "edge")]
    return Drawing(width, height, f"At most {minutes} minutes a day.", tuple(shapes))


def round_minutes(highest: int) -> list[int]:
    """Up to four round heights for grid lines, none above the highest."""
    step = next((step for step in (1, 2, 5, 10, 20, 30, 60, 120, 240) if step * 4 >= highest), 480)
    return list(range(step, highest + 1, step))
