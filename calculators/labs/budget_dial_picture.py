"""The picture of the budget dial: each budget's gap against the target, and what it prefills in a second."""
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from calculators.labs.base import Shown
from calculators.models.base import Refusal
from calculators.models.budget_dial import Dial, Setting, solve
from calculators.pictures import (
    NARROW,
    WIDE,
    Bar,
    Drawing,
    Scale,
    Shape,
    Text,
    arrow,
    line,
    thousands,
    wall_beside,
)

CUT = 4  # targets; a longer bar is cut there
TOP, BAR, PITCH, ROW = 46, 11, 15, 58
CLEAR = 14  # right of the wall, where figures that would lie on it begin
LETTER = 7  # a figure's width, at most
MOST_SAID = 131_072


@dataclass(frozen=True, slots=True)
class Sheet:
    """Where the columns lie: names end at `names`, gaps run over `gap` (ms) past the wall at `wall`, rates over `rate`
    (tokens/s), which a narrow sheet has no room to draw."""

    width: float
    names: float
    gap: Scale
    wall: float
    rate: Scale | None


@dataclass(frozen=True, slots=True)
class Picture:
    """What the fragment shows: the drawing for both widths, and where bars in it are cut; ms, 0 when none is."""

    wide: Drawing
    narrow: Drawing
    cut_ms: float


def picture(shown: Shown) -> Picture:
    """Both drawings; what the reader said is a budget in tokens and makes a row of its own."""
    result, target = shown.result, shown.inputs["itl_target_ms"]
    yours = said_setting(shown.inputs, shown.said)
    by_budget = {at.budget: at for at in (*result.settings, *((yours,) if yours else ()))}
    rows = [by_budget[budget] for budget in sorted(by_budget)]
    longest = max(at.far_gap_ms for at in rows)
    reach = max(min(longest, CUT * target), 1.2 * target)
    fastest = max(at.prefill_tokens_per_s for at in rows)
    wide, narrow = Scale(0, reach, 104, 690), Scale(0, reach, 66, 236)
    sheets = (Sheet(WIDE, 92, wide, wide(target), Scale(0, fastest, 830, 1000)),
              Sheet(NARROW, 58, narrow, narrow(target), None))
    drawings = (drawing(result, rows, yours, target, sheet) for sheet in sheets)
    return Picture(*drawings, cut_ms=CUT * target if longest > reach else 0)


def said_setting(inputs: Mapping[str, Any], said: float | None) -> Setting | None:
    """The row of the reader's own budget, None for one that can't be followed."""
    if not said or not 0 < said <= MOST_SAID:
        return None
    try:
        return solve(**{**inputs, "max_num_batched_tokens": round(said)}).present
    except Refusal:
        return None


def drawing(result: Dial, rows: list[Setting], yours: Setting | None, target: float, sheet: Sheet) -> Drawing:
    """All budgets under each other, and the wall that the middle bars must not pass."""
    foot = TOP + ROW * len(rows) - 8
    shapes = [*heads(sheet, foot), Text(sheet.wall, 14, f"ITL target {target:,g} ms", "limit-text")]
    for place, at in enumerate(rows):
        y, strong = TOP + ROW * place, at.present or at.budget == result.largest_budget
        shapes += name(result, at, at is yours, sheet.names, y)
        shapes += gaps(result, at, place == 0, "present" if strong else "solid", sheet, y)
        shapes += rate(at, strong, sheet, y)
    shapes += wall_beside(sheet.wall, 20, foot)
    return Drawing(sheet.width, foot + 6, result.finding, tuple(shapes))


def heads(sheet: Sheet, foot: float) -> Iterator[Shape]:
    """What the columns hold, and the lines that their bars start from."""
    yield Text(sheet.names, TOP - 10, "budget", "axis", "end")
    yield line(sheet.gap.start, TOP - 4, sheet.gap.start, foot, "edge")
    if sheet.rate:
        yield Text(sheet.gap.start, TOP - 10, "gap, ms", "axis")
        yield Text(sheet.rate.start, TOP - 10, "prefill, tokens/s", "axis")
        yield line(sheet.rate.start, TOP - 4, sheet.rate.start, foot, "edge")
    else:
        yield Text(sheet.width, TOP - 10, "prefill tok/s", "axis", "end")


def name(result: Dial, at: Setting, yours: bool, x: float, y: float) -> Iterator[Shape]:
    """The budget, and below it what it is here."""
    largest = at.budget == result.largest_budget
    role = "yours" if yours else "largest" if largest else "now" if at.present else ""
    yield Text(x, y + 16, thousands(at.budget), "pen-text" if yours else "strong" if role else "value", "end")
    yield Text(x, y + 32, role, "pen-text" if yours else "note", "end")


def gaps(result: Dial, at: Setting, named: bool, css: str, sheet: Sheet, y: float) -> Iterator[Shape]:
    """Three bars of the gap, the middle one the one that counts; `named` says what each stands behind."""
    prefixes = ("no prefix", f"{thousands(result.far_tokens / 4)} tokens", f"{thousands(result.far_tokens)} tokens")
    for bar, gap_ms in enumerate((at.short_gap_ms, at.gap_ms, at.far_gap_ms)):
        top, end = y + PITCH * bar, sheet.gap(min(gap_ms, sheet.gap.high))
        yield Bar(sheet.gap.start, top, round(end - sheet.gap.start, 2), BAR, css if bar == 1 else "other")
        if gap_ms > sheet.gap.high:
            yield arrow(end + 4, end + 18, top + BAR / 2)
            end += 18
        words = f"{in_ms(gap_ms)} behind {prefixes[bar]}" if named else in_ms(gap_ms)
        clear = sheet.wall + CLEAR
        x = clear if end + 8 < clear and end + 8 + LETTER * len(words) > sheet.wall else end + 8
        if x + LETTER * len(words) > (sheet.width - 60 if sheet.rate is None else sheet.rate.start):
            words = in_ms(gap_ms)  # the caption says what each stands behind
        yield Text(x, top + 10, words, "strong" if bar == 1 else "axis")


def rate(at: Setting, strong: bool, sheet: Sheet, y: float) -> Iterator[Shape]:
    """What a full step prefills in a second, as a bar where there is room."""
    words, css, foot = thousands(at.prefill_tokens_per_s), "strong" if strong else "value", y + PITCH + 10
    if sheet.rate is None:
        yield Text(sheet.width, foot, words, css, "end")
        return
    end = sheet.rate(at.prefill_tokens_per_s)
    width = round(end - sheet.rate.start, 2)
    yield Bar(sheet.rate.start, y + PITCH, width, BAR, "present" if strong else "solid")
    yield Text(end + 8, foot, words, css)


def in_ms(value: float) -> str:
    """A gap to three figures: "10.7", "38.1", "116", "1,003"."""
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.1f}"
