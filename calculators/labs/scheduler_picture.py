"""The scheduler's picture: steps by requests, the block pool and the free queue, each drawn wide and narrow."""
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from calculators.models.kv_cache import Block
from calculators.models.scheduler_run import Run, Step
from calculators.pictures import (
    NARROW,
    WIDE,
    Bar,
    Drawing,
    Path,
    Shape,
    Text,
    arrow,
    corner,
    line,
    thousands,
    wall_above,
)

MOST_DRAWN_BLOCKS = 120
LOOKS = {" free, cached": ("s-cached", "cached"), " free": ("s-idle", "idle")}


@dataclass(frozen=True, slots=True)
class Sheet:
    """Where things lie in one drawing of steps by requests; `first` is the step of its first column."""

    width: float
    names: float  # width of the column of names
    column: float
    columns: int
    row: float
    bar: float
    first: int
    top: float = 28

    def x(self, step: int) -> float:
        return round(self.names + (step - self.first) * self.column, 2)

    @property
    def right(self) -> float:
        return self.names + self.columns * self.column


def wide_sheet(run: Run, at: int) -> Sheet:
    """Seventeen columns, so that a short run is seen whole; a long one moves along when step 13 of them is passed."""
    first = min(max(at - 12, 0), max(len(run.steps) - 17, 0))
    row = 38 if len(run.requests) <= 12 else 26
    return Sheet(WIDE, 116, 56, 17, row, row - 6, first)


def narrow_sheet(run: Run, at: int) -> Sheet:
    """The last five steps and the place of the next one."""
    first = min(max(at - 4, 0), max(len(run.steps) - 6, 0))
    row = 38 if len(run.requests) <= 12 else 26
    return Sheet(NARROW, 30, 53, 6, row, row - 6, first)


def step_map(run: Run, at: int, budget: int, sheet: Sheet) -> Drawing:
    """Each shown step a column, each request a row; what is not shown yet is empty grid."""
    base = sheet.top + len(run.requests) * sheet.row + 54
    shapes = [
        *grid(run, at, sheet, base),
        *rows(run, at, sheet),
        *sums(run, at, budget, sheet, base),
        Bar(sheet.x(at) - 1, 2, sheet.column + 2, base + 2, "frame"),
    ]
    step = run.steps[at]
    title = f"Step {at} of {len(run.steps) - 1}: {map_text(step)}, {step.total_scheduled:,} of {budget:,} tokens."
    return Drawing(sheet.width, base + 8, title, tuple(shapes))


def grid(run: Run, at: int, sheet: Sheet, base: float) -> Iterator[Shape]:
    """Column lines, step numbers, and the words over the columns to come."""
    narrow = sheet.width == NARROW
    bottom = sheet.top + len(run.requests) * sheet.row
    shown = min(sheet.columns, len(run.steps) - sheet.first)
    yield Text(0, 17, "step", "axis")
    for place in range(shown + 1):
        x = sheet.names + place * sheet.column
        yield line(x, 22, x, bottom, "grid")
    for step in range(sheet.first, sheet.first + shown):
        css = "now" if step == at else "axis"
        yield Text(sheet.x(step) + sheet.column / 2, 17, str(step), css, "middle")
    if not narrow and sheet.first + shown - at - 1 >= 4:
        middle = sheet.top + len(run.requests) * sheet.row / 2
        x = sheet.x(at + 1) + 14
        yield Bar(x - 6, middle - 12, 215, 20, "plate")
        yield Text(x, middle + 2, "not shown yet: predict, then step", "note")


def rows(run: Run, at: int, sheet: Sheet) -> Iterator[Shape]:
    """A row a request: its name, its sizes, and a cell for each shown step."""
    for place, request in enumerate(run.requests):
        y = sheet.top + place * sheet.row
        baseline = y + sheet.bar / 2 + 5
        yield Text(0, baseline, request.id, "name")
        if sheet.width == WIDE:
            sizes = f"{request.prompt_tokens:,} + {request.max_tokens:,}"
            yield Text(10 + 11 * len(request.id), baseline, sizes, "note")
        for step in run.steps[sheet.first: at + 1]:
            yield from cell(step, request.id, sheet.x(step.step) + 1.5, y, sheet.column - 3, sheet.bar)


def cell(step: Step, name: str, x: float, y: float, w: float, h: float) -> Iterator[Shape]:
    """What one request did in one step."""
    state = step.states[name]
    if name in step.tokens:
        hit = round(w * 0.34, 2) if step.prefix_hit.get(name) else 0
        if hit:
            yield Bar(x, y, hit, h, "s-cached", pattern="cached")
        rest, count = round(w - hit, 2), thousands(step.tokens[name])
        yield Bar(round(x + hit, 2), y, rest, h, "s-running", count, count_css(count, rest))
    elif name in step.preempted:
        yield Bar(x, y, w, h, "s-preempted", pattern="preempted")
    elif state in ("waiting", "preempted"):
        yield Bar(x, y + h / 4, w, h / 2, "s-waiting")
    elif state == "running":
        yield Bar(x, y, w, h, "s-decoding", "0", "on-wash")
    if name in step.finished:
        yield corner(x + w + 0.5, y - 0.5)


def count_css(count: str, width: float) -> str:
    """Smaller figures where a long count would leave its cell."""
    return "on-running" if len(count) * 8.5 <= width - 4 else "on-running small"


def sums(run: Run, at: int, budget: int, sheet: Sheet, base: float) -> Iterator[Shape]:
    """Each step's tokens against the wall of the budget."""
    tall = 31
    if sheet.width == WIDE:
        yield Text(0, base - 18, "tokens", "label")
        yield Text(0, base - 3, f"of {budget:,}", "label")
    for step in run.steps[sheet.first: at + 1]:
        h = round(tall * min(step.total_scheduled / budget, 1), 2)
        x, css = sheet.x(step.step) + 1.5, "present" if step.step == at else "solid"
        yield Bar(x, base - h, sheet.column - 3, h, css)
        inside = h >= 15
        y = base - h + (13 if inside else -4)
        middle, total = x + sheet.column / 2 - 1.5, thousands(step.total_scheduled)
        yield Text(middle, y, total, "on-ink" if inside else "value", "middle")
    yield line(sheet.names, base, sheet.right, base, "edge")
    yield from wall_above(sheet.names, sheet.right, base - tall)
    label = f"max_num_batched_tokens {budget:,}" if sheet.width == WIDE else f"budget {budget:,}"
    yield Text(sheet.right, base - tall - 11, label, "limit-text", "end")


def pool(run: Run, step: Step, block_size: int, width: float) -> Drawing:
    """The pool after a step, block by block while it can be read so."""
    if len(step.pool) > MOST_DRAWN_BLOCKS:
        return pool_bars(run, step, width)
    many = len(step.pool) > 40
    columns = (15 if many else 10) if width == WIDE else (6 if many else 4)
    return pool_blocks(step.pool, block_size, width, columns)


def pool_blocks(blocks: tuple[Block, ...], block_size: int, width: float, columns: int) -> Drawing:
    """A rectangle a block: who holds it and which of its blocks it is, or what it still holds for the cache."""
    gap = 8 if columns <= 10 else 6
    w = round((width - 12 * (width == WIDE) - gap * (columns - 1)) / columns, 2)
    pitch = 54
    shapes = []
    for place, block in enumerate(blocks):
        x, y = round(place % columns * (w + gap) + 0.6, 2), place // columns * pitch + 18
        shapes += block_shapes(block, block_size, x, y, w, 34)
    height = -(-len(blocks) // columns) * pitch + 4
    used, cached = sum(bool(b.holders) for b in blocks), sum(b.cached and not b.holders for b in blocks)
    free = len(blocks) - used - cached
    title = f"{used} of {len(blocks)} blocks in use, {cached} free and still cached, {free} free."
    return Drawing(width, height, title, tuple(shapes))


def block_shapes(block: Block, block_size: int, x: float, y: float, w: float, h: float) -> Iterator[Shape]:
    """One block with its id above its left corner and its special state above its right one."""
    yield Text(x, y - 5, str(block.id), "axis")
    if block.holders:
        yield from used_block(block, block_size, x, y, w, h)
    elif block.cached:
        yield Bar(x, y, w, h, "s-cached", pattern="cached")
        yield from plate(block.label, x + 4, y + 7, "cached-text")
    else:
        yield Bar(x, y, w, h, "s-idle", pattern="idle")
        if block.owner and w >= 90:
            yield Text(x + w, y - 5, "never hashed", "axis", "end")


def used_block(block: Block, block_size: int, x: float, y: float, w: float, h: float) -> Iterator[Shape]:
    full = round(w * block.filled / block_size, 2)
    if full < w:
        yield Bar(x, y, w, h, "s-unfilled")
        if block_size <= 16:
            places = [x + w * token / block_size for token in range(block.filled + 1, block_size)]
            yield Path("M0 0" + "".join(f"M{place:.2f} {y}v{h}" for place in places), "unit-lines")
        filled = f"{block.filled} of {block_size}" if w >= 75 else str(block.filled)
        yield Text(x + w, y - 5, filled, "running-text", "end")
    elif len(block.holders) > 1:
        yield Text(x + w, y - 5, f"×{len(block.holders)}{' shared' if w >= 75 else ''}", "running-text", "end")
    label = held_label(block)
    yield Bar(x, y, full, h, "s-running")
    needed = 9 * len(label) + 6
    if full >= needed + 4:
        yield Text(x + 9, y + h / 2 + 5, label, "on-running")
    else:  # beside the filled part, or across both when neither has room
        start = min(x + full + 3, x + w - needed - 1)
        yield Bar(round(start, 2), y + 8, needed, 18, "plate-unfilled", label, "on-wash strong")


def held_label(block: Block) -> str:
    """"D2", or the names of those who share it."""
    if len(block.holders) == 1:
        return f"{block.holders[0]}{block.index}"
    return " ".join(block.holders[:3]) + (" …" if len(block.holders) > 3 else "")


def plate(label: str, x: float, y: float, css: str) -> Iterator[Shape]:
    """A label on a plain ground, so that it reads on a hatch."""
    yield Bar(x, y, 12 + 8 * len(label), 20, "plate-cached", label, css)


def pool_bars(run: Run, step: Step, width: float) -> Drawing:
    """A pool too large to draw block by block: a bar for each holder, for what is shared, cached and free."""
    usable, counts = len(step.pool), Counter(kind_of(block) for block in step.pool)
    holders = [request.id for request in run.requests]
    start, end = (116, width - 110) if width == WIDE else (86, width - 66)
    shapes: list[Shape] = []
    shown = [name for name in [*holders, " shared", " free, cached", " free"] if counts[name]]
    for place, name in enumerate(shown):
        y, share = place * 28 + 4, counts[name] / usable
        w = max(round((end - start) * share, 2), 1.5)
        css, pattern = LOOKS.get(name, ("s-running", ""))
        shapes += [
            Text(0, y + 15, name.strip(), "name" if name in holders else "note"),
            Bar(start, y, w, 20, css, pattern=pattern),
            Text(start + w + 8, y + 15, f"{counts[name]:,}", "value"),
        ]
    title = f"Of {usable:,} blocks: " + "; ".join(f"{name.strip()} {counts[name]:,}" for name in shown) + "."
    return Drawing(width, len(shown) * 28 + 6, title, tuple(shapes))


def kind_of(block: Block) -> str:
    """The request that holds the block alone, or with a space before it, which no id has, what else it is."""
    if block.holders:
        return block.holders[0] if len(block.holders) == 1 else " shared"
    return " free, cached" if block.cached else " free"


def free_queue(step: Step, width: float, per_row: int, most_rows: int) -> Drawing:
    """The free blocks in the order in which they are handed out; the middle of a long queue is counted, not drawn."""
    ids, pitch = step.after.free_queue, 62 if width == WIDE else 58
    places = per_row * most_rows
    head = ids if len(ids) <= places else ids[: places - 3]
    tail = () if len(ids) <= places else ids[-1:]
    cached = set(step.after.cached)
    shapes: list[Shape] = []
    row_pitch = 48
    spots = [*head, *(("…", tail[0]) if tail else ())]
    for place, id in enumerate(spots):
        x, y = place % per_row * pitch + 0.6, place // per_row * row_pitch + 2
        if id == "…":
            shapes.append(Text(x + 22, y + 20, f"+{len(ids) - len(head) - 1:,}", "note", "middle"))
        else:
            shapes += queued(id, id in cached, x, y)
        if place + 1 < len(spots) and (place + 1) % per_row:
            shapes.append(arrow(x + 46, x + pitch - 2, y + 15))
    rows_used = max(-(-len(spots) // per_row), 1)
    if ids:
        last_x, last_y = (len(spots) - 1) % per_row * pitch + 45, (rows_used - 1) * row_pitch + 45
        shapes.append(Text(0, 45, "taken next", "note"))
        if len(ids) > 3:
            shapes.append(Text(max(last_x, 66), last_y, "taken last", "note", "end"))
    first = ", ".join(map(str, ids[:40])) + (", …" if len(ids) > 40 else "")
    title = f"{len(ids):,} free blocks, handed out in this order: {first}."
    return Drawing(width, rows_used * row_pitch + 6, title, tuple(shapes))


def queued(id: int, cached: bool, x: float, y: float) -> Iterator[Shape]:
    """One free block in the queue."""
    w, h = 44, 30
    if cached:
        yield Bar(x, y, w, h, "s-cached", pattern="cached")
        yield Bar(x + 8, y + 6, w - 16, 18, "plate-cached", str(id), "cached-text")
    else:
        yield Bar(x, y, w, h, "s-idle", pattern="idle")
        yield Bar(x + 10, y + 6, w - 20, 18, "plate", str(id), "value strong")


def thumbnail(run: Run) -> Drawing:
    """The map up to step 7 at 216 by 64, without figures."""
    at = min(7, len(run.steps) - 1)
    column, row = 18, 64 / max(len(run.requests), 4)
    shapes: list[Shape] = [line(x, 2, x, 62, "grid") for x in range((at + 2) * column, 217, column)]
    for place, request in enumerate(run.requests):
        for step in run.steps[: at + 1]:
            drawn = cell(step, request.id, step.step * column + 0.8, place * row + 0.8, column - 1.6, row - 1.6)
            shapes += [replace(shape, text="") for shape in drawn if isinstance(shape, Bar)]
    shapes.append(Bar(at * column + 0.5, 1, column - 1, 62, "frame"))
    return Drawing(216, 64, "Steps by requests: who gets tokens in each step.", tuple(shapes))


def map_text(step: Step) -> str:
    """The step's map as it is said: "{A: 1, D: 2,045}"."""
    return "{" + ", ".join(f"{name}: {tokens:,}" for name, tokens in step.tokens.items()) + "}"


def kinds_of_cells(run: Run, at: int) -> frozenset[str]:
    """The states that are drawn up to this step, for the legend."""
    shown = run.steps[: at + 1]
    kinds = {"running"}
    kinds |= {"waiting"} if any(set(step.states.values()) & {"waiting", "preempted"} for step in shown) else set()
    kinds |= {"cached"} if any(any(step.prefix_hit.values()) for step in shown) else set()
    kinds |= {"preempted"} if any(step.preempted for step in shown) else set()
    kinds |= {"ended"} if any(step.finished for step in shown) else set()
    return frozenset(kinds)


def kinds_of_blocks(blocks: tuple[Block, ...]) -> frozenset[str]:
    """The kinds of blocks there are, for the legend."""
    return frozenset("used" if block.holders else "cached" if block.cached else "free" for block in blocks)
