"""The pictures of the learner's pages: coming days under a limit, a tally, a recall, a typed map against its budget."""
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import log2

from calculators.models.quantity import say
from calculators.pictures import Bar, Drawing, Path, Scale, Shape, Text, line, polyline, wall_above, wall_beside

DAY_NAMES = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")
LIMIT_WORDS = 150  # units that the limit's name takes
FIGURE = 9  # units that a figure of a label takes, with room around it


def forecast(days: Sequence[tuple[date, int]], limit: int, *, width: int, name_every: int = 1) -> Drawing:
    """A bar for each (day, cards), the first day in ink, under the wall of the daily limit.

    The plot is 84 units high for the larger of limit and fullest day. A limit over four times the fullest day would
    press the bars flat, so then only the words beside the picture tell of it. A count that would stand on the wall
    stands over it.
    """
    floor, plot = 118, 84
    fullest = most_in(days)
    shows_wall = 0 < limit <= 4 * max(fullest, 1)
    scale = plot / max(limit if shows_wall else 0, fullest, 1)
    step = width / len(days)
    shapes: list[Shape] = [line(0, floor, width, floor, "edge")]
    places = [round(floor - count * scale, 1) - 6 for _, count in days]  # of the counts
    if shows_wall:
        wall = round(floor - limit * scale, 1)
        places = [wall - 11 if wall - 11 < y < wall + 11 else y for y in places]
        beside = LIMIT_WORDS * len(days) // width + 1
        # A day over the limit stands in front of the wall, so the words go to the side where none does.
        left = most_in(days[:beside]) <= limit or most_in(days[-beside:]) > limit
        x, anchor = (0, "start") if left else (width, "end")
        over = 26 if wall - 11 in (places[:beside] if left else places[-beside:]) else 14
        words = f"your limit, {limit} a day"
        shapes += [*wall_above(0, width, wall), Text(x, wall - over, words, "limit-text", anchor)]
    for at, (day, count) in enumerate(days):
        height, middle = round(count * scale, 1), round((at + 0.5) * step, 1)
        bar, figure = ("other", "axis") if at else ("present", "now")
        if count:
            shapes += [Bar(round(at * step + 1, 1), floor - height, round(step - 3, 1), height, bar),
                       Text(middle, places[at], str(count), f"{figure} halo", "middle")]
        if at % name_every == 0:
            shapes += [Text(middle, floor + 18, DAY_NAMES[day.weekday()], figure, "middle"),
                       Text(middle, floor + 33, str(day.day), figure, "middle")]
    finding = f"{sum(count for _, count in days)} cards fall due in {len(days)} days, {fullest} on the fullest."
    return Drawing(width, floor + 40, finding, tuple(shapes))


def most_in(days: Sequence[tuple[date, int]]) -> int:
    """The cards of the fullest day."""
    return max(count for _, count in days)


def tally(days: int, *, today_open: bool, most: int = 100) -> tuple[Drawing, ...]:
    """The last `most` days in groups of five; with `today_open` a dotted stroke in pen that is still to be earned."""
    full, rest = divmod(min(days, most), 5)
    groups = [tally_group(5, open_stroke=False)] * full
    if rest or today_open:
        groups.append(tally_group(rest, open_stroke=today_open))
    return tuple(groups)


def tally_group(strokes: int, *, open_stroke: bool) -> Drawing:
    """Up to five strokes, the fifth across the other four."""
    def stroke(at: int, css: str) -> Path:
        return line(0, 18, 28, 2, css) if at == 4 else line(4 + 6 * at, 1, 4 + 6 * at, 19, css)

    drawn = [stroke(at, "stroke") for at in range(strokes)]
    return Drawing(32, 20, "", (*drawn, stroke(strokes, "pen open")) if open_stroke else tuple(drawn))


def recall_ruler(recall: float, target: float) -> Drawing:
    """A recall on a ruler from 0.5 to 1, with a tick at the retention asked for; the left end stands for less."""
    def place(share: float) -> float:
        return round(4 + 160 * (min(max(share, 0.5), 1) - 0.5), 1)

    x = place(recall)
    dot = Path(f"M{x - 4:g} 8a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z", "present")
    return Drawing(88, 16, "", (line(4, 8, 84, 8, "rule"), line(place(target), 2, place(target), 14, "edge"), dot))


def estimate_ruler(value: float, accept: Sequence[float], said: float, shown: str, *, width: int) -> Drawing:
    """An estimate in pen on a ruler from half to twice the value, in ratios, with the accepted range as a band.

    What lies further out stands at the end of the ruler. All three numbers have one sign.
    """
    left, right = 6, width - 16
    middle = (left + right) / 2

    def place(number: float) -> float:
        ratio = number / value
        return round(middle + (right - middle) * min(max(log2(ratio), -1), 1), 1) if ratio > 0 else left

    low, high, x = place(accept[0]), place(accept[1]), place(said)
    shapes: list[Shape] = [Bar(low, 30, round(high - low, 1), 16, "accepted"), line(left, 38, right, 38, "edge")]
    shapes += [line(round(left + at * (right - left) / 4, 1), 33, round(left + at * (right - left) / 4, 1), 43, "edge")
               for at in range(5)]
    shapes += [line(middle, 26, middle, 50, "ink"), Text(left, 60, "½×", "axis", "middle"),
               Text(right, 60, "2×", "axis", "middle"), Text(middle, 60, shown, "axis", "middle"),
               Path(f"M{x - 6:g} 38a6 6 0 1 0 12 0a6 6 0 1 0 -12 0Z", "own-dot"),
               Text(min(max(x, 30), width - 30), 20, f"you {say(said, '', 4)}", "pen-text", "middle")]
    return Drawing(width, 66, f"Your {say(said, '', 4)} on a ruler from half to twice {shown}.", tuple(shapes))


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer on the curve: its day, its grade, and the stability in days that it left."""

    day: date
    grade: str
    stability: float
    lapse: bool = False


def memory_curve(
    answers: Sequence[Answered], today: date, target: float, recall: float,
    recall_after: Callable[[float, float], float], *, width: int,
) -> Drawing:
    """The predicted recall from the first of the answers to today, computed all along; it is cut at a floor of 0.7.

    The retention asked for is a dashed pen line; a pen letter stands under the axis for each grade.
    """
    floor, right, name_y = 98, width - 34, 114
    first, end = answers[0].day, max(today, answers[-1].day)
    place = Scale(0, max((end - first).days, 1), 6, right)
    height = Scale(0.7, 1, floor, 12)

    def y(share: float) -> float:
        return height(max(share, 0.7))

    points = []
    for answered, until in zip(answers, [*(one.day for one in answers[1:]), end], strict=True):
        start, days = (answered.day - first).days, max((until - answered.day).days, 0)
        samples = max(int(place(start + days) - place(start)) // 3, 1)
        at = [days * number / samples for number in range(samples + 1)]
        points += [(place(start + passed), y(recall_after(passed, answered.stability))) for passed in at]
    shapes: list[Shape] = [line(4, height(share), right, height(share), "grid") for share in (0.8, 0.9, 1)]
    shapes += [line(4, floor, right, floor, "edge"), line(4, height(target), right, height(target), "target")]
    shapes += [Text(width, height(share) + 4, f"{share:g}", "axis", "end")
               for share in (0.7, 0.8, 1) if abs(share - target) > 0.04]
    shapes += [Text(width, height(target) + 4, f"{target:g}", "pen-text", "end"), polyline(points, "ink thin")]
    letters = apart([place((one.day - first).days) for one in answers], 10, right)
    shapes += [Text(x, name_y, one.grade[0], "grade-letter lapse" if one.lapse else "grade-letter", "middle")
               for x, one in zip(letters, answers, strict=True)]
    x, at = points[-1][0], y(recall)
    below = at + 18 < floor and not at + 4 < height(target) < at + 22  # never on the pen line
    shapes += [Path(f"M{x - 3.5:g} {at:g}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0Z", "present"),
               Text(x, at + 18 if below else at - 9, f"{recall:.2f}", "now halo", "end" if x > 40 else "start")]
    last = place((answers[-1].day - first).days)
    shapes += [Text(4, name_y + 16, day_name(first), "axis")]
    shapes += [Text(last, name_y + 16, day_name(answers[-1].day), "axis", "middle")] * (70 < last < right - 60)
    shapes += [Text(right, name_y + 16, "today", "axis", "end")] * (end > first)
    finding = f"Predicted recall today {recall:.2f}, after {len(answers)} answer{'' if len(answers) == 1 else 's'}."
    return Drawing(width, name_y + 22, finding, tuple(shapes))


def apart(places: Sequence[float], least: float, right: float) -> list[float]:
    """The places, in order, moved so that no two are nearer than `least`, and none past `right` while there is room."""
    moved: list[float] = []
    for at in places:
        moved.append(round(max(at, moved[-1] + least) if moved else at, 1))
    for number in range(len(moved) - 1, -1, -1):
        bound = right if number == len(moved) - 1 else moved[number + 1] - least
        moved[number] = round(min(moved[number], bound), 1)
    return moved


def day_name(day: date) -> str:
    return f"{day.day} {day:%b}"


def column_tokens(tokens: int, most_columns: int) -> int:
    """The smallest power of two that cuts `tokens` into no more than that many columns."""
    column = 1
    while tokens / column > most_columns:
        column *= 2
    return column


def grid(column: int, scale: float, width: float, top: float, bottom: float) -> Iterator[Shape]:
    """A grid line at the end of each column of that many tokens; `scale` is units for a token."""
    for at in range(1, int(width / scale / column + 1e-9) + 1):
        x = round(at * column * scale, 1)
        yield line(x, top, x, bottom, "grid")


def map_sum(said: Mapping[str, int], budget: int, *, width: int) -> Drawing:
    """The typed tokens end to end against the budget's wall, which stands at eight ninths of the width.

    What would run past the picture's end is cut off there; the words under it give the sum.
    """
    scale = width * 8 / 9 / budget
    shapes: list[Shape] = list(grid(column_tokens(budget, 16), scale, width, 18, 46))
    at = 0.0
    for name, tokens in said.items():
        length = round(min(tokens * scale, width - at), 1)
        if length > 0:
            shapes.append(Bar(round(at, 1), 20, length, 24, "said", fitting(f"{name} {tokens:,}", length), "on-ink"))
        at += length
    wall = round(budget * scale, 1)
    name = Text(wall - 6, 12, f"max_num_batched_tokens {budget:,}", "limit-text", "end")
    finding = f"Yours adds up to {sum(said.values()):,} of {budget:,} tokens."
    return Drawing(width, 52, finding, (*shapes, *wall_beside(wall, 12, 50), name))


def fitting(text: str, length: float) -> str:
    """The text if a bar of that length has room for it, else nothing."""
    return text if length > FIGURE * len(text) else ""


def prompt_bar(*, prompt: int, computed: int, cached: int, waiting: bool, longest: int, width: int = 430) -> Drawing:
    """One request's prompt: running, solid up to what is computed; waiting, half as high and hatched where cached.

    All bars of one map share the scale that gives the `longest` prompt the whole width.
    """
    scale = (width - 2) / longest
    shapes: list[Shape] = list(grid(column_tokens(longest, 16), scale, width, 4, 28))

    def part(start: int, tokens: int, css: str, text: str = "", pattern: str = "") -> list[Shape]:
        top, height = (11, 10) if waiting else (6, 20)
        length, x = round(tokens * scale, 1), round(1 + start * scale, 1)
        bar = Bar(x, top, length, height, css, fitting(text, length), "on-running", pattern)
        return [bar] if length > 0 else []

    if waiting:
        shapes += part(0, cached, "s-cached", pattern="cached") + part(cached, prompt - cached, "s-waiting")
    else:
        shapes += part(0, prompt, "s-unfilled") + part(0, computed, "s-running", f"{computed:,}")
    return Drawing(width, 32, "", tuple(shapes))
