"""The picture of beams in blocks: a block is as tall as the number of beams that hold it; one step in four stages."""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from calculators.labs.base import Shown
from calculators.models.beam_blocks import BeamRun, Step
from calculators.models.kv_token import binary
from calculators.pictures import NARROW, WIDE, Bar, Drawing, Shape, Text, line, thousands

LAST = {True: 4, False: 6}  # columns of a stage
MOST_ROWS_LISTED = 60
PRIMES = ("", "′", "″", "‴")
LABEL = 34  # room for a beam's name


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the stages: its name, the beam before it shows, and the beam of now in it (None: dropped)."""

    name: str
    before: int | None
    origin: int
    now: int | None


@dataclass(frozen=True, slots=True)
class Picture:
    """What the fragment loops over."""

    stages: Drawing
    stages_narrow: Drawing
    whole: Drawing
    whole_narrow: Drawing
    says: str
    next: str
    held: str
    numbers: tuple[tuple[str, str, str], ...]
    rows: tuple[Step, ...]
    block: str


def picture(shown: Shown) -> Picture:
    """The stages of one step, the whole table after it, and the same in words."""
    run, at = shown.result, shown.step
    step = run.steps[at]
    ahead = run.steps[at + 1] if at + 1 < len(run.steps) else None
    return Picture(
        stages=stages(run, at, WIDE), stages_narrow=stages(run, at, NARROW),
        whole=whole(run, at, WIDE), whole_narrow=whole(run, at, NARROW), says=sentence(step),
        next=f"Next: {lineage(ahead)}." if ahead else "", held=held_words(run, step), numbers=numbers(run, step),
        rows=run.steps[max(at + 1 - MOST_ROWS_LISTED, 0): at + 1], block=binary(run.block_bytes),
    )


def name_of(place: int) -> str:
    """The beam at a place: A, B, C, …"""
    return chr(ord("A") + place)


def lineage(step: Step) -> str:
    """Whom the beams of a step descend from: "A goes on twice, D falls out"."""
    if step.step == 1:
        return f"the prompt parts into {len(step.parents)} beams"
    if step.parents == tuple(range(len(step.parents))):
        return "every beam keeps its own line"
    times = {2: "twice", 3: "three times"}
    counts = [(place, step.parents.count(place)) for place in sorted(set(step.parents))]
    parts = [f"{name_of(place)} goes on {times.get(count, f'{count} times')}" for place, count in counts if count > 1]
    if step.dropped:
        few = len(step.dropped) < 5
        names = ", ".join(name_of(place) for place in step.dropped) if few else f"{len(step.dropped)} others"
        parts.append(f"{names} {'falls' if len(step.dropped) == 1 else 'fall'} out")
    return ", ".join(parts)


def sentence(step: Step) -> str:
    """What the step did, in words."""
    if step.step == 0:
        return "The prompt is computed once, into one table."
    words = lineage(step)
    words = words[0].upper() + words[1:]
    if step.opened:
        return f"{words}. The last block is full: each beam opens a new one and nothing is copied."
    if step.copies:
        slots = step.copied_slots // step.copies
        beams = "1 beam copies" if step.copies == 1 else f"{step.copies} beams copy"
        return (f"{words}. {beams} the {slots} used slots of a block that others hold; the last one left writes in "
                "place.")
    return f"{words}. Each last block has one holder, so all write in place."


def held_words(run: BeamRun, step: Step) -> str:
    """Blocks held after the step against separate caches."""
    held = f"{step.held_blocks:,} blocks are held, {binary(step.held_blocks * run.block_bytes)}"
    if not step.step:
        return f"{held}."
    return f"{held}; {run.beams} separate caches would hold {step.separate_blocks:,}."


def numbers(run: BeamRun, step: Step) -> tuple[tuple[str, str, str], ...]:
    """What the run has come to so far: label, value, unit."""
    copies, at_work = sum(each.copies for each in run.steps[: step.step + 1]), step.step > 0
    held = dict(step.holders)
    everybody = len(step.tables)
    held[everybody] = held.get(everybody, 0) + run.prompt_blocks
    counts = (
        ("separate caches", step.separate_blocks), ("held", step.held_blocks),
        *((f"of them by {count(holders, 'beam')}", number) for holders, number in sorted(held.items(), reverse=True)
          if number and at_work),
        ("copied so far", copies),
    )
    return tuple((label, thousands(number), f"blocks, {binary(number * run.block_bytes)}") for label, number in counts)


def rows_of(step: Step, before: int) -> tuple[Row, ...]:
    """A row for each beam that goes on, beside its siblings, and one for each that is dropped."""
    made: list[Row] = []
    for place in range(before):
        children = [now for now, parent in enumerate(step.parents) if parent == place]
        base = name_of(place) if step.step > 1 else ""
        for number, now in enumerate(children):
            name = base + (PRIMES[number] if number < len(PRIMES) else f"·{number}") if base else name_of(now)
            made.append(Row(name, place if number == 0 else None, place, now))
        if not children:
            made.append(Row(base, place, place, None))
    return tuple(made)


@dataclass(frozen=True, slots=True)
class Grid:
    """Where one table of blocks lies: columns from block `first` on, `column` wide, rows `row` high."""

    x: float
    y: float
    first: int
    columns: int
    column: float
    row: float


def stages(run: BeamRun, at: int, width: float) -> Drawing:
    """The last blocks in four stages whose rows never move: before, fork, prune, write."""
    narrow = width == NARROW
    step = run.steps[at]
    if not at:
        return first_table(run, width)
    before = run.steps[at - 1]
    rows = rows_of(step, len(before.tables))
    per_row = 2 if narrow else 4
    panel = (width - 14 * (per_row - 1)) / per_row
    columns = LAST[narrow]
    total = run.prompt_blocks + max(len(table) for table in step.tables)
    first = max(total - columns, 0)
    high = max(min(30, 152 / len(rows)), 13)
    tall = high * len(rows)
    heads = heads_of(run, before, step)
    shapes: list[Shape] = []
    pitch = tall + 104
    for number, (head, note, foot) in enumerate(heads):
        x, y = round(number % per_row * (panel + 14), 2), number // per_row * pitch
        grid = Grid(x + LABEL, y + 42, first, columns, (panel - LABEL - 2) / columns, high)
        shapes += [Text(x, y + 14, f"{number + 1} {head}", "name"), Text(x, y + 32, note, "label")]
        shapes += frame(grid, rows, tall, total)
        shapes += stage(run, number, before, step, rows, grid)
        shapes.append(Text(x, grid.y + tall + 40, foot, "value"))
    return Drawing(width, pitch * len(heads) // per_row, f"Step {at}: {sentence(step)}", tuple(shapes))


def heads_of(run: BeamRun, before: Step, step: Step) -> tuple[tuple[str, str, str], ...]:
    """Each stage's heading, the line below it, and the line under its picture."""
    tables = len(step.parents) - len(set(step.parents))
    used = before.tokens % run.block_size
    few = len(step.dropped) < 5
    gone = ", ".join(name_of(place) for place in step.dropped) if few else f"{len(step.dropped)} beams"
    place = before.tokens // run.block_size + 1
    return (
        ("Before", f"{count(len(before.tables), 'table')}, {f'{used} in block {place}' if used else 'all blocks full'}",
         f"{before.held_blocks:,} blocks held"),
        ("Fork", f"{count(tables, 'table')} copied", "0 bytes, counts + 1" if tables else "nothing to fork"),
        ("Prune", f"{gone} dropped" if gone else "nobody is dropped",
         f"counts − 1, {count(len(step.freed), 'block')} back" if step.freed else "no block goes back"),
        ("Write", "a new block each" if step.opened else f"{count(step.copies, 'beam')} must copy" if step.copies
         else "each in its own block",
         f"{count(step.copies, 'block')} copied, {binary(step.copies * run.block_bytes)}" if step.copies
         else "nothing copied"),
    )


def count(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def frame(grid: Grid, rows: Sequence[Row], tall: float, total: int) -> Iterator[Shape]:
    """Column lines with the blocks' places below them, and the rows' names."""
    for place in range(grid.columns + 1):
        x = round(grid.x + grid.column * place, 2)
        yield line(x, grid.y, x, grid.y + tall, "grid")
        if place < grid.columns and grid.first + place < total:
            yield Text(round(x + grid.column / 2, 2), grid.y + tall + 17, str(grid.first + place + 1), "axis", "middle")
    for number, row in enumerate(rows):
        yield Text(round(grid.x - 8, 2), round(grid.y + grid.row * (number + 0.5) + 5, 2), row.name,
                   "name" if grid.row >= 18 else "label", "end")


def stage(run: BeamRun, number: int, before: Step, step: Step, rows: Sequence[Row], grid: Grid) -> Iterator[Shape]:
    """The blocks of one stage: which table stands in each row, and what was written or given back."""
    last = number == 3
    tables: list[tuple[int, ...] | None] = []
    for row in rows:
        if number == 0:
            tables.append(before.tables[row.before] if row.before is not None else None)
        elif last:
            tables.append(step.tables[row.now] if row.now is not None else None)
        else:
            tables.append(before.tables[row.origin] if number == 1 or row.now is not None else None)
    yield from blocks(run, tables, step.tokens if last else before.tokens, grid)
    if number == 2:
        yield from given_back(run, before, step, rows, grid)
    if last:
        yield from written(run, step, rows, grid)


def blocks(run: BeamRun, tables: Sequence[tuple[int, ...] | None], tokens: int, grid: Grid) -> Iterator[Shape]:
    """Each block as tall as the rows from its first to its last holder, with the count of its holders."""
    for column in range(grid.columns):
        place = grid.first + column
        holders: dict[int, list[int]] = {}
        for row, table in enumerate(tables):
            if (id := block_at(run, table, place)) is not None:
                holders.setdefault(id, []).append(row)
        filled = min(tokens - place * run.block_size, run.block_size) / run.block_size
        for held in holders.values():
            yield from one_block(held, filled, grid, column)


def block_at(run: BeamRun, table: tuple[int, ...] | None, place: int) -> int | None:
    """The block of a table at a place of the sequence; the prompt's full ones are everybody's."""
    if table is None:
        return None
    if place < run.prompt_blocks:
        return -1
    behind = place - run.prompt_blocks
    return table[behind] if behind < len(table) else None


def one_block(held: Sequence[int], filled: float, grid: Grid, column: int) -> Iterator[Shape]:
    """One block over the rows that hold it, filled as far as it is used."""
    x, y = round(grid.x + grid.column * column + 1, 2), round(grid.y + grid.row * held[0] + 1, 2)
    w, h = round(grid.column - 2, 2), round(grid.row * (held[-1] - held[0] + 1) - 2, 2)
    if filled < 1:
        yield Bar(x, y, max(w, 1), h, "s-unfilled")
    label = f"×{len(held)}" if len(held) > 1 and w >= 22 and h >= 14 else ""
    yield Bar(x, y, max(round(w * filled, 2), 1), h, "s-running", "" if filled < 1 else label, "on-running")
    if filled < 1 and label and max(filled, 1 - filled) * w >= 20:
        inside = filled >= 0.5
        yield Text(round(x + (w * filled / 2 if inside else w * (1 + filled) / 2), 2), round(y + h / 2 + 5, 2), label,
                   "on-running" if inside else "on-wash strong", "middle")


def given_back(run: BeamRun, before: Step, step: Step, rows: Sequence[Row], grid: Grid) -> Iterator[Shape]:
    """The blocks of dropped beams that nobody holds any more."""
    lost: dict[int, list[int]] = {}
    kept = {id for parent in step.parents for id in before.tables[parent]}
    for number, row in enumerate(rows):
        if row.now is None:
            for place, id in enumerate(before.tables[row.origin]):
                column = run.prompt_blocks + place - grid.first
                if id not in kept and 0 <= column < grid.columns:
                    lost.setdefault(column, []).append(number)
    for column, held in lost.items():
        for number in held:
            x, y = round(grid.x + grid.column * column + 1, 2), round(grid.y + grid.row * number + 1, 2)
            yield Bar(x, y, round(grid.column - 2, 2), round(grid.row - 2, 2), "s-idle", pattern="idle")
            if grid.row >= 18 and grid.column >= 22:
                yield Bar(round(x + grid.column / 2 - 9, 2), round(y + grid.row / 2 - 9, 2), 16, 16, "plate", "0",
                          "value strong")


def written(run: BeamRun, step: Step, rows: Sequence[Row], grid: Grid) -> Iterator[Shape]:
    """The copied slots hatched, and the token just written as a mark."""
    place = (step.tokens - 1) // run.block_size
    column, used = place - grid.first, (step.tokens - 1) % run.block_size
    unit = (grid.column - 2) / run.block_size
    x = grid.x + grid.column * column + 1
    for number, row in enumerate(rows):
        if row.now is None:
            continue
        y, h = round(grid.y + grid.row * number + 1, 2), round(grid.row - 2, 2)
        if row.now in step.copied:
            yield Bar(round(x, 2), y, round(unit * used, 2), h, "s-decoding")
            yield Bar(round(x, 2), y, round(unit * used, 2), h, "s-wire", pattern="estimated")
        yield Bar(round(x + unit * used, 2), y, max(round(unit, 2), 2), h, "present")


def first_table(run: BeamRun, width: float) -> Drawing:
    """The prompt's table before anything is decoded."""
    columns = LAST[width == NARROW]
    total = run.prompt_blocks + len(run.steps[0].tables[0])
    grid = Grid(LABEL, 8, max(total - columns, 0), columns, min((width - LABEL - 2) / columns, 60), 30)
    rows = (Row("", 0, 0, 0),)
    shapes = [*frame(grid, rows, 30, total), *blocks(run, run.steps[0].tables, run.steps[0].tokens, grid)]
    return Drawing(width, 70, sentence(run.steps[0]), tuple(shapes))


def whole(run: BeamRun, at: int, width: float) -> Drawing:
    """All tables after the step: the prompt's full blocks as one, then a column a block, with room to the end."""
    narrow = width == NARROW
    step = run.steps[at]
    end = run.prompt_blocks + max(len(table) for table in run.steps[-1].tables)
    behind = max(end - run.prompt_blocks, 1)
    left = LABEL + (96 if narrow else 190) * bool(run.prompt_blocks)
    high = max(min(26, 120 / max(len(step.tables), run.beams)), 13)
    count_rows = max(len(step.tables), 1)
    grid = Grid(left, 6, run.prompt_blocks, behind, (width - left - 2) / behind, high)
    tall = high * max(run.beams, count_rows)
    shapes: list[Shape] = []
    every = max(1, -(-30 // max(int(grid.column), 1)))
    for place in range(behind + 1):
        x = round(grid.x + grid.column * place, 2)
        shapes.append(line(x, grid.y, x, grid.y + tall, "grid"))
        if place < behind and place % every == 0:
            shapes.append(Text(round(x + grid.column / 2, 2), grid.y + tall + 17, str(run.prompt_blocks + place + 1),
                               "axis", "middle"))
    shapes.append(Text(width, grid.y + tall + 36, "block of the sequence", "axis", "end"))
    if run.prompt_blocks:
        shapes.append(Bar(LABEL, grid.y + 1, left - LABEL - 4, round(high * count_rows - 2, 2), "s-running"))
        words = (f"1 to {run.prompt_blocks:,}",) if narrow else (f"1 to {run.prompt_blocks:,}, the prompt",)
        middle = grid.y + high * count_rows / 2
        shapes.append(Text(LABEL + 10, round(middle + 5, 2), words[0], "on-running"))
    for number in range(count_rows if at else 0):
        shapes.append(Text(LABEL - 8, round(grid.y + high * (number + 0.5) + 5, 2), name_of(number),
                           "name" if high >= 18 else "label", "end"))
    shapes += blocks(run, step.tables, step.tokens, grid)
    left_steps = len(run.steps) - 1 - at
    x = grid.x + grid.column * max(len(table) for table in step.tables) + 10
    words = f"{left_steps:,} more step{'s' * (left_steps != 1)}"
    if left_steps and width - x > 8 * len(words):
        shapes += [Bar(round(x - 4, 2), grid.y + tall / 2 - 12, 7.6 * len(words) + 8, 20, "plate"),
                   Text(round(x, 2), grid.y + tall / 2 + 3, words, "note")]
    return Drawing(width, grid.y + tall + 42, held_words(run, step), tuple(shapes))


def thumbnail(run: BeamRun) -> Drawing:
    """The tables at the end, behind the prompt."""
    step = run.steps[-1]
    behind = max(len(table) for table in step.tables)
    grid = Grid(0, 2, run.prompt_blocks, behind, 216 / behind, 60 / len(step.tables))
    return Drawing(216, 64, run.finding, tuple(blocks(run, step.tables, step.tokens, grid)))
