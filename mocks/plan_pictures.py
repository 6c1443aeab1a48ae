"""An interview's plan as one bar: a column a minute, each question as long as it takes, against the whole's wall."""
from collections.abc import Sequence

from calculators.pictures import Bar, Drawing, Scale, Shape, Text, line, wall_beside

TOP, HEIGHT = 24, 36
FLOOR = TOP + HEIGHT
A_LETTER = 7.5  # units of width


def plan_bar(minutes: Sequence[int], brief: int, debrief: int, limit: int, *, width: int, after: int = 0) -> Drawing:
    """The brief, each question's minutes (and `after` each what scoring it takes), the debrief; the wall at `limit`."""
    ends = brief + sum(minutes) + after * len(minutes) + debrief
    shown = max(limit, ends) + (3 if width > 400 else 1)
    scale = Scale(0, shown, 0, width)
    column = scale(1)
    every = next(every for every in (5, 10, 15, 30, 60) if shown / every <= width / 60 or every == 60)
    shapes: list[Shape] = []
    if column >= 4:
        shapes += [line(scale(at), TOP - 4, scale(at), FLOOR + 4, "grid") for at in range(shown + 1)]
    shapes.append(Bar(0, TOP, scale(brief), HEIGHT, "never"))
    at = brief
    whole = all(len(f"{number}: {each} min") * A_LETTER < each * column for number, each in enumerate(minutes, 1))
    for number, each in enumerate(minutes, 1):
        x, wide = scale(at), round(scale(at + each) - scale(at) - 1, 2)
        words = f"{number}: {each} min" if whole else str(number) if len(str(number)) * A_LETTER < wide else ""
        shapes.append(Bar(x, TOP, wide, HEIGHT, "solid", words, "value on-ink"))
        at += each
        if after:
            shapes.append(Bar(scale(at), TOP, scale(at + after) - scale(at), HEIGHT, "hollow"))
            at += after
    x, wide = scale(at), round(scale(at + debrief) - scale(at), 2)
    shapes.append(Bar(x, TOP, wide, HEIGHT, "never", "end" if wide > 4 * A_LETTER else "", "label"))
    shapes += [
        Text(scale(at), FLOOR + 19, str(at), "axis", "start" if at == 0 else "middle")
        for at in range(0, shown, every)]
    wall = scale(limit)
    shapes += [*wall_beside(wall, TOP - 14, FLOOR + 6)]
    shapes.append(Text(wall - 6, TOP - 8, f"{limit} min", "limit-text halo", "end"))
    spare = limit - ends
    told = f"{spare} to spare" if spare > 0 else f"{-spare} over" if spare < 0 else "none to spare"
    count = len(minutes)
    finding = f"{count} question{'' if count == 1 else 's'}: {ends} of {limit} minutes, {told}."
    return Drawing(width, FLOOR + 26, finding, tuple(shapes))
