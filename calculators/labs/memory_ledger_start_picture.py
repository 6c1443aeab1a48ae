"""The pictures of a start: what each check asks for against what there is, and the seconds of a cold start."""
from collections.abc import Iterator
from dataclasses import dataclass

from calculators.labs.base import Shown
from calculators.models.cold_start import Change, ColdStart
from calculators.models.quantity import say
from calculators.models.startup_phases import DONE, FAILED, Check, StartUp
from calculators.pictures import NARROW, WALL, WIDE, Bar, Drawing, Scale, Shape, Text, wall_beside
from calculators.ruled import columns, figures, past_words, round_unit, width_of

NAMES = 330  # room for the names of checks, left of their bars
CHANGES = 270
LOOKS = {DONE: "other", FAILED: "present"}
TOP, ROW, BAR = 30, 40, 18
PIECES = ("other", "solid", "hollow", "other", "hollow", "solid")  # looks of the phases, neighbours apart


@dataclass(frozen=True, slots=True)
class Pair:
    """A picture drawn wide and narrow, and what a column of each is."""

    wide: Drawing
    narrow: Drawing
    wide_unit: str
    narrow_unit: str


def phases(shown: Shown) -> Pair:
    """Each check as a bar against its own wall."""
    result = shown.result
    furthest = max(max(check.asked_gib, check.has_gib) for check in result.checks)
    units = [round_unit(furthest, most) for most in (40, 10)]
    return Pair(checks(result, furthest, units[0], narrow=False), checks(result, furthest, units[1], narrow=True),
                *(f"One column is {figures(unit)} GiB of one GPU." for unit in units))


def checks(result: StartUp, furthest: float, unit: float, narrow: bool) -> Drawing:
    """Rows of bars with what is asked; the wall is what there is."""
    width, row = (NARROW, ROW + 14) if narrow else (WIDE, ROW)
    left = 2 if narrow else NAMES + 12
    scale = Scale(0, furthest, left, width - (16 if narrow else 150))
    foot = TOP + row * len(result.checks)
    shapes: list[Shape] = [*columns(scale, unit, TOP - 10, foot)]
    for number, check in enumerate(result.checks):
        y = TOP + row * number + (14 if narrow else 0)
        shapes += check_row(check, scale, y, narrow)
    asked = "; ".join(f"{check.name}: {check.asked_gib:,.2f} of {check.has_gib:,.2f} GiB, {check.state}"
                      for check in result.checks)
    return Drawing(width, foot + 24, f"{result.finding} {asked}.", tuple(shapes))


def check_row(check: Check, scale: Scale, y: float, narrow: bool) -> Iterator[Shape]:
    """One check's name, bar and wall."""
    css = LOOKS.get(check.state, "never")
    weight = "strong" if check.state == FAILED else "value"
    if narrow:
        yield Text(scale.start, y - 4, f"{check.phase} {check.name}", weight)
    else:
        yield Text(scale.start - 12, y + 14, f"{check.phase}  {check.name}", weight, "end")
    yield Bar(scale.start, y, max(round(scale(check.asked_gib) - scale.start, 2), 1), BAR, css)
    wall = scale(max(check.has_gib, 0))
    yield from wall_beside(wall, y - 3, y + BAR + 3)
    if narrow:
        return
    words = f"{check.asked_gib:,.2f} of {check.has_gib:,.2f}"
    after = max(scale(check.asked_gib), wall + 8) + 10
    yield Text(round(after, 2), y + 14, words, f"{weight} halo")


def cold_start(shown: Shown) -> Pair:
    """The start as stacked seconds, and under it with each thing changed; the wall is what is allowed."""
    result, allowed = shown.result, shown.inputs["target_s"]
    furthest = max(allowed, *(change.seconds for change in result.changes)) * 1.02
    units = [round_unit(furthest, most) for most in (30, 8)]
    return Pair(*(rows_of(result, allowed, furthest, unit, narrow, shown.said)
                  for unit, narrow in zip(units, (False, True), strict=True)),
                *(f"One column is {say(unit, 's')}." for unit in units))


def rows_of(result: ColdStart, allowed: float, furthest: float, unit: float, narrow: bool,
            said: float | None) -> Drawing:
    """A stacked bar for each change, from one line."""
    width, row = (NARROW, ROW + 14) if narrow else (WIDE, ROW + 4)
    scale = Scale(0, furthest, 2 if narrow else CHANGES + 12, width - (16 if narrow else 80))
    top, foot = TOP + 10, TOP + 10 + row * len(result.changes)
    shapes: list[Shape] = [*columns(scale, unit, top - 10, foot)]
    for number, change in enumerate(result.changes):
        y = top + row * number + (16 if narrow else 0)
        shapes += stacked(change, scale, y, allowed, narrow)
        if narrow:
            shapes += wall_beside(scale(allowed), y - 3, y + 27)
    if not narrow:
        shapes += wall_beside(scale(allowed), top - 12, foot)
    words = f"allowed {say(allowed, 's')}"
    middle = min(max(scale(allowed), width_of(words) / 2), width - width_of(words) / 2)
    shapes.append(Text(round(middle, 2), 14, words, "limit-text", "middle"))
    if said is not None and said > 0:
        shapes += guess(scale, said, top, row, narrow, width, allowed, shapes)
    return Drawing(width, foot + 24, result.finding, tuple(shapes))


def stacked(change: Change, scale: Scale, y: float, allowed: float, narrow: bool) -> Iterator[Shape]:
    """One start: its phases end to end, named where there is room, and its total."""
    weight = "strong" if change.present else "value"
    total = say(change.seconds, "s")
    if narrow:
        yield Text(scale.start, y - 5, f"{change.name}: {total}", weight)
    else:
        yield Text(scale.start - 12, y + 17, change.name, weight, "end")
    place = 0.0
    for phase, css in zip(change.phases, PIECES, strict=True):
        x, width = scale(place), round(scale(place + phase.seconds) - scale(place), 2)
        place += phase.seconds
        if width < 0.5:
            continue
        yield Bar(x, y, width, 24, css)
        room, wall = width_of(phase.name), scale(allowed)
        start = wall + WALL + 6 if x + 6 - WALL < wall < x + room + 6 else x + 6
        if start + room + 4 < x + width:
            yield Text(round(start, 2), y + 17, phase.name, "value" if css == "hollow" else "on-ink")
    if not narrow:
        x, edge = scale(place) + 12, scale(allowed)
        crossed = x - 12 <= edge < x + width_of(total) + 4
        yield Text(round(edge + 16 if crossed else x, 2), y + 17, total, f"{weight} halo")


def guess(scale: Scale, said: float, top: float, row: float, narrow: bool, width: float, allowed: float,
          drawn: list[Shape]) -> Iterator[Shape]:
    """Where the reader's number would end the first bar; the words keep clear of the wall."""
    x = scale(min(said, scale.high))
    y = top + (16 if narrow else 0)
    beyond = ", and further" if said > scale.high else ""
    words = f"your {say(said, 's', 4)}{beyond}"
    yield past_words(x, y - 5, y + 29, drawn)
    room = width_of(words) + 10
    wall = scale(allowed)
    left = x - room > 0 and (x + room > width or x < wall < x + room)
    start = wall + WALL + 6 if not left and x < wall < x + room else x + 6
    end = wall - 8 if x - room < wall < x else x - 6
    yield Text(round(end if left else start, 2), min(y + row - 8, y + 38), words, "pen-text halo",
               "end" if left else "start")
