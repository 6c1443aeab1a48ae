"""The picture of one request under async scheduling: a row an event, a column a token."""
from calculators.labs.base import Expected, Shown
from calculators.labs.engine_loop_picture import Picture
from calculators.labs.kv_size_parts import Part, Swatch, Table, sides
from calculators.models.placeholders import Placeholders, Step
from calculators.pictures import Bar, Drawing, Shape, Text, line

MOST_ROWS, MOST_LISTED, COLUMNS = 8, 60, 8
NAMES = ("computed", "known", "placeholders")


def expected(run: Placeholders, inputs: dict, at: int) -> tuple[Expected, ...]:
    """The three counts after the next event."""
    step, before = run.steps[at], run.steps[at - 1]
    if before.ended:
        return ()
    return tuple(Expected(name, getattr(step, name), f"{name} after “{step.event}”. {step.why}",
                          unit=f"tokens {name}") for name in NAMES)


def picture(shown: Shown) -> Picture:
    """The last events up to this one."""
    run, at = shown.result, shown.step
    wide, narrow = (rows(run, at, width, small) for width, small in sides())
    first = max(at + 1 - MOST_LISTED, 0)
    step = run.steps[at]
    return Picture(
        parts=(Part(
            f"After “{step.event}”", wide, narrow, counts(step), "One column is one token.", "One column is one token.",
            (Swatch("solid", "known"), Swatch("s-waiting", "placeholder: counted, not known"),
             Swatch("present", "computed up to here")), step.why,
        ),),
        derivations=(), words=run.finding if at == shown.last_step else "",
        tables=(Table("The events", ("event", "computed, C", "known, T", "placeholders, H", "next need"),
                      tuple((each.event, f"{each.computed:,}", f"{each.known:,}", f"{each.placeholders:,}",
                             "-" if each.ended else f"{each.need:,}") for each in run.steps[first: at + 1])),),
    )


def counts(step: Step) -> str:
    need = "gone" if step.ended else f"T + H − C = {step.need:,} to schedule next"
    return f"computed C {step.computed:,}, known T {step.known:,}, placeholders H {step.placeholders:,}; {need}"


def rows(run: Placeholders, at: int, width: float, narrow: bool) -> Drawing:
    """A row an event, the newest last and framed; the columns are the last tokens of the sequence."""
    shown = run.steps[max(at + 1 - MOST_ROWS, 0): at + 1]
    last = max(step.known + step.placeholders for step in shown) + 1
    first = max(last - COLUMNS + 1, 1)
    names, cell, pitch = (0, 34, 58) if narrow else (190, 58, 38)
    top = 30

    def x(token: int) -> float:
        return names + 8 + (token - first) * cell

    foot = top + pitch * len(shown)
    shapes: list[Shape] = [Text(x(token) + cell / 2, 16, f"{token}", "axis", "middle") for token in
                           range(first, last + 1) if not narrow or token % 2 == 0]
    shapes += [line(x(token), 22, x(token), foot, "grid") for token in range(first, last + 2)]
    for place, step in enumerate(shown):
        y = top + pitch * place
        bar = y + (24 if narrow else 4)
        weight = "strong" if place == len(shown) - 1 else "value"
        shapes.append(Text(8 if narrow else names - 8, y + (18 if narrow else 22), step.event, weight,
                           "start" if narrow else "end"))
        shapes += [Bar(x(token) + 2, bar, cell - 4, 26, "solid") for token in range(first, step.known + 1)]
        shapes += [Bar(x(token) + 2, bar + 7, cell - 4, 13, "s-waiting")
                   for token in range(max(step.known + 1, first), step.known + step.placeholders + 1)]
        computed = x(max(step.computed, first - 1) + 1)
        shapes.append(Bar(computed - 2, bar - 3, 4, 32, "present"))
        said = f"C {step.computed:,}  T {step.known:,}  H {step.placeholders}"
        shapes.append(Text(width - 8, y + (18 if narrow else 22), said, "label", "end"))
    shapes.append(Bar(1, foot - pitch, width - 2, pitch, "frame"))
    return Drawing(width, foot + 4, f"After {run.steps[at].event}: {counts(run.steps[at])}.", tuple(shapes))
