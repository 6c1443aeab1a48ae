"""The picture of drafts in the scheduler's books: a row a request, a column a token, and the pointer under them."""
from collections.abc import Iterator

from calculators.labs.base import Shown
from calculators.labs.engine_loop_picture import Derivation, Picture
from calculators.labs.kv_size_parts import Part, Swatch, Table, sides
from calculators.models.draft_rows import DraftRows, Row, Step
from calculators.pictures import Bar, Drawing, Path, Shape, Text, line, wall_beside
from calculators.ruled import fitting, width_of

WIDE_COLUMN, NARROW_COLUMN = 18, 12
WIDE_COUNT, NARROW_COUNT = 40, 26
HIGH, WIDE_ROW, NARROW_ROW = 24, 62, 80
BUDGET_TOP, TOP = 20, 84
AHEAD = 4  # columns kept free past the pointer


def strip_picture(shown: Shown) -> Picture:
    """The budget of the step and every request's tokens with its pointer."""
    result, at, budget = shown.result, shown.step, shown.inputs["max_num_batched_tokens"]
    step = result.steps[at]
    last = at == shown.last_step
    return Picture(
        parts=(Part(
            "The budget, and where each pointer stands",
            *(rows_drawn(step, budget, at, width, narrow) for width, narrow in sides()),
            "num_computed_tokens runs ahead with what is scheduled, and comes back by what is rejected",
            "One column is one token.", "One column is one token.",
            (Swatch("pale", "computed before"), Swatch("s-running", "computed now, stays"),
             Swatch("never", "rejected: computed for nothing")),
            sentence(step, budget),
        ),),
        derivations=(Derivation("The run, said out loud", result.lines),) if last else (),
        words=result.finding if last else "", tables=(step_table(result, at),),
    )


def sentence(step: Step, budget: int) -> str:
    """What the step used of its budget, who got nothing, and what came back."""
    starved = [row.id for row in step.rows if not row.given]
    said = [f"{step.used:,} of {budget:,} tokens used."]
    if starved:
        spent_before = "it" if len(starved) == 1 else "them"
        said.append(f"{', '.join(starved)} got none: the budget was spent before {spent_before}.")
    if back := [row for row in step.rows if row.rejected]:
        said.append("Back by " + ", ".join(f"{row.rejected} ({row.id})" for row in back)
                    + ": nothing is erased, the slots past the pointer are written again, and the blocks stay.")
    if ended := [row.id for row in step.rows if row.finished]:
        said.append(f"{', '.join(ended)} ended.")
    return " ".join(said)


def why(row: Row, k: int, left: int) -> str:
    """Why a request got what it got."""
    if not row.given:
        return f"{row.id} got none: the budget was spent before it."
    if row.prefill:
        rest = "" if row.given == row.asked else f" of {row.asked}"
        return f"{row.id} still reads its prompt: {row.given}{rest} tokens of it."
    if row.given < 1 + k:
        return f"{row.id} asked for 1 + {k}, and {row.given} were left."
    return f"{row.id} decodes: its last token and {k} drafts."


def rows_drawn(step: Step, budget: int, at: int, width: float, narrow: bool) -> Drawing:
    """The budget as a bar to its wall, then a row of tokens for each request that is left."""
    column, count = (NARROW_COLUMN, NARROW_COUNT) if narrow else (WIDE_COLUMN, WIDE_COUNT)
    left, pitch = (24, NARROW_ROW) if narrow else (44, WIDE_ROW)
    shapes: list[Shape] = [*budget_bar(step, budget, width, narrow)]
    for place, row in enumerate(step.rows):
        shapes += request_row(row, left, TOP + pitch * place, column, count, width, narrow)
    foot = TOP + pitch * len(step.rows) + 16
    if step.done:
        shapes.append(Text(0, foot, f"done: {', '.join(step.done)}", "label"))
    return Drawing(width, foot + 8, f"Step {at}: {sentence(step, budget)}", tuple(shapes))


def budget_bar(step: Step, budget: int, width: float, narrow: bool) -> Iterator[Shape]:
    """What each request takes of the budget, up to its wall."""
    unit, x = (width - 12) / budget, 0.0
    yield Text(0, 13, f"{step.used:,} of {budget:,} tokens of the step’s budget", "strong")
    for row in step.rows:
        if not row.given:
            continue
        w = row.given * unit
        words = f"{row.id} {row.given}"
        yield Bar(round(x, 2), BUDGET_TOP, round(max(w - 2, 0.5), 2), HIGH, "s-running",
                  words if width_of(words) + 4 < w else "", "on-running")
        x += w
    yield from wall_beside(round(budget * unit, 2), BUDGET_TOP - 4, BUDGET_TOP + HIGH + 4)
    if step.left and (free := budget * unit - x) > width_of("left 000") + 12:
        words = f"{step.left:,} left" + ("" if narrow or free < 240 else " for prefills")
        yield Text(round(x + 10, 2), BUDGET_TOP + 17, words, "label")


def request_row(row: Row, left: float, y: float, column: float, count: int, width: float,
                narrow: bool) -> Iterator[Shape]:
    """One request's tokens around its pointer: computed, computed now, rejected; under them the pointer's way."""
    first = max(row.advanced + AHEAD - count, 0)
    edge = left + count * column

    def x_of(place: int) -> float:
        return round(left + min(max(place - first, 0), count) * column, 2)

    yield Text(0, y + 17, row.id, "name")
    yield line(left, y, edge, y, "grid")
    yield line(left, y + HIGH, edge, y + HIGH, "grid")
    yield from (line(round(left + column * place, 2), y, round(left + column * place, 2), y + HIGH, "grid")
                for place in range(count + 1))
    before, after, advanced = x_of(row.before), x_of(row.after), x_of(row.advanced)
    if before > left:
        yield Bar(left, y, round(before - left, 2), HIGH, "pale")
    if first:
        yield Text(left + 6, y + 17, f"… {first}", "label")
    stays = row.after - row.before
    for place in range(stays):
        yield Bar(x_of(row.before + place) + 1, y + 1, column - 2, HIGH - 2, "s-running")
    for place in range(row.rejected):
        yield Bar(x_of(row.after + place) + 1.5, y + 1.5, column - 3, HIGH - 3, "never", "×", "label")
    if row.given:
        yield Path(f"M{before:g} {y + HIGH + 8:g}H{advanced:g}m-4 -3.5l4 3.5l-4 3.5", "ink thin")
    if row.rejected:
        yield Path(f"M{advanced:g} {y + HIGH + 17:g}H{after:g}m4 -3.5l-4 3.5l4 3.5", "ink thin")
    said = row_words(row)
    if narrow:
        yield Text(left, y + HIGH + 36, fitting(said, width - left), "label")
    else:
        yield Text(edge + 16, y + 11, f"pointer {row.before} → {row.advanced}"
                   + (f" → {row.after}" if row.rejected else ""), "strong")
        yield Text(edge + 16, y + 28, fitting(said, width - edge - 16), "label")


def row_words(row: Row) -> str:
    """What the request got and what held of it, short."""
    if not row.given:
        return "nothing this step"
    if row.prefill:
        return f"prompt, {row.given} tokens" + (f"; {row.sampled} sampled" if row.sampled else "")
    held = f"1 + {row.drafts}: {row.accepted} of {row.drafts} held" if row.drafts else "1, no drafts"
    return f"{held}; {row.sampled} sampled{', done' if row.finished else ''}"


def step_table(result: DraftRows, at: int) -> Table:
    return Table(
        f"Step {at}",
        ("request", "given", "pointer", "drafts", "held", "sampled", "blocks"),
        tuple((row.id, str(row.given), f"{row.before} → {row.advanced} → {row.after}", str(row.drafts),
               str(row.accepted), str(row.sampled), str(row.blocks)) for row in result.steps[at].rows),
    )
