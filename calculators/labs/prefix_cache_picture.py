"""The prefix cache's picture: prompts laid out token by token against the wall that no hit may cross, and the queue."""
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from calculators.labs.base import Shown
from calculators.labs.scheduler_picture import plate
from calculators.models.base import Line
from calculators.models.kv_cache import Block
from calculators.models.prefix_cache import PrefixRun, Prompt, Step, named
from calculators.pictures import NARROW, WIDE, Bar, Drawing, Shape, Text, arrow, line, thousands, wall_beside

BAR = 28
KEY_ROOM, COUNT_ROOM = 60, 104  # width of a block that holds its key, and its count beside it
LEAST_SQUARE, LEAST_BLOCK = 4, 9  # narrower tokens, or blocks, are not drawn one by one
MOST_SAID = 145  # letters under a row; more stand below the picture
MOST_LISTED = 200  # probes in the table
MOST_QUEUED = {True: 12, False: 30}


@dataclass(frozen=True, slots=True)
class Picture:
    """What the fragment loops over."""

    rows: Drawing
    rows_narrow: Drawing
    square: str
    square_narrow: str
    queue: Drawing
    queue_narrow: Drawing
    says: str
    said_whole: bool
    lines: tuple[Line, ...]
    shown: tuple[Step, ...]
    probes: tuple[tuple[str, ...], ...]
    stranded: str
    unlike: bool
    requests: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Sheet:
    """Where things lie: names left, tokens from `left`, `square` wide each, rows `pitch` apart."""

    width: float
    left: float
    square: float
    top: float
    pitch: float

    @property
    def narrow(self) -> bool:
        return self.width == NARROW

    def x(self, token: float) -> float:
        return round(self.left + token * self.square, 2)


def sheet(run: PrefixRun, width: float) -> Sheet:
    """Room for the longest prompt in whole blocks."""
    longest = max(padded(step.request, run.block_size) for step in run.steps if step.request)
    if width == NARROW:
        return Sheet(NARROW, 34, (NARROW - 34 - 10) / longest, 4, 76)
    return Sheet(WIDE, 108, min(800 / longest, 13), 24, 82)


def padded(request: Prompt, block_size: int) -> int:
    """The prompt's tokens and the rest of its last block."""
    return -(-request.prompt_tokens // block_size) * block_size


def picture(shown: Shown) -> Picture:
    """Both drawings of the prompts so far and of the queue, and the lookup in words."""
    run, at = shown.result, shown.step
    step, sheets = run.steps[at], (sheet(run, WIDE), sheet(run, NARROW))
    return Picture(
        rows=prompts(run, at, sheets[0]), rows_narrow=prompts(run, at, sheets[1]),
        square=square_words(run, sheets[0]), square_narrow=square_words(run, sheets[1]),
        queue=queue(step, WIDE), queue_narrow=queue(step, NARROW), says=step.says,
        said_whole=at > 0 and len(step.says) <= MOST_SAID, lines=step.lines,
        shown=tuple(each for each in run.steps[: at + 1] if each.request),
        probes=tuple((str(each.place), each.key, str(each.block), MET[each.outcome])
                     for each in step.probes[:MOST_LISTED]),
        stranded=stranded_words(step), unlike=any(each.own for each in run.steps[: at + 1]),
        requests=tuple((request.id, words_of(request)) for step in run.steps if (request := step.request)),
    )


MET = {"hit": "hit", "last": "in the map, past the wall", "lost": "its key left the map", "miss": "not in the map",
       "unasked": "not looked up"}


def words_of(request: Prompt) -> str:
    """A request in words: "70 tokens, the first 62 of r1’s"."""
    parts = [f"{request.prompt_tokens:,} token{'s' * (request.prompt_tokens != 1)}"]
    if request.like:
        parts.append(f"like {request.like}" if request.shared is None else
                     f"the first {request.shared:,} {request.like}’s")
    if request.unlike:
        parts.append(f"token {request.unlike:,} differs")
    if request.output_tokens > 1:
        parts.append(f"{request.output_tokens:,} more come out")
    if request.salt:
        parts.append(f"salt {request.salt}")
    return ", ".join(parts)


def square_words(run: PrefixRun, paper: Sheet) -> str:
    """What one square of the grid is."""
    step = grid_step(run, paper)
    if step == 1:
        return "One square is one token."
    return f"One square is {step:,} tokens{', one block' * (step == run.block_size)}."


def grid_step(run: PrefixRun, paper: Sheet) -> int:
    """Tokens of one square of the grid."""
    fits = (n for n in (1, 2, 4, 8) if n < run.block_size and n * paper.square >= 2 * LEAST_SQUARE)
    step = next(fits, run.block_size)
    while step * paper.square < LEAST_BLOCK:
        step *= 4
    return step


def prompts(run: PrefixRun, at: int, paper: Sheet) -> Drawing:
    """A row a request, those to come left blank; the present one framed."""
    served = [step for step in run.steps if step.request]
    height = paper.top + paper.pitch * len(served)
    end = max(padded(step.request, run.block_size) for step in served)
    shapes: list[Shape] = []
    for token in range(0, end + 1, grid_step(run, paper)):
        shapes.append(line(paper.x(token), paper.top, paper.x(token), height - 6, "grid"))
    if not paper.narrow:
        shapes += [Text(978, 14, "hit", "axis", "end"), Text(1064, 14, "computed", "axis", "end")]
    for number, step in enumerate(served):
        y = paper.top + paper.pitch * number
        if step.step <= at:
            shapes += row(run, step, paper, y)
            if step.step == at:
                shapes.append(Bar(1, y - 1, paper.width - 2, paper.pitch - 1, "frame"))
        else:
            shapes.append(Text(8, y + 36, step.request.id, "name"))
            words = "not shown yet" if paper.narrow else "not shown yet: predict, then step"
            shapes += [Bar(paper.left + 4, y + 20, 8 * len(words), 22, "plate"),
                       Text(paper.left + 10, y + 36, words, "note")]
    title = run.steps[at].says if at else "Nothing is cached yet."
    return Drawing(paper.width, height + 2, f"Request {at} of {len(served)}: {title}" if at else title, tuple(shapes))


def row(run: PrefixRun, step: Step, paper: Sheet, y: float) -> Iterator[Shape]:
    """One prompt: its blocks, hit or computed, the wall before its last token, and why."""
    request, size, top = step.request, run.block_size, y + 19
    yield Text(8, top + 19, request.id, "name")
    if not paper.narrow:
        yield Text(102, top + 19, f"{request.prompt_tokens:,} tok", "note", "end")
        yield Text(978, top + 21, thousands(step.hit_tokens), "end", "end")
        yield Text(1064, top + 21, thousands(step.computed_tokens), "end", "end")
    if size * paper.square >= LEAST_BLOCK:
        for place, block in enumerate(step.blocks):
            yield from one_block(step, place, block, paper, top, size)
    else:
        yield from in_runs(step, paper, top)
    for start, end in runs(step.own):
        yield Bar(paper.x(start), top + BAR + 2, max(round((end - start) * paper.square - 1, 2), 2), 4, "present")
    yield from wall_beside(paper.x(request.prompt_tokens - 1), top - 6, top + BAR)
    words = (f"hit {step.hit_tokens:,}, computed {step.computed_tokens:,}, {len(step.new_blocks):,} new"
             if paper.narrow else step.says)
    yield Text(paper.left, top + BAR + 19, words if len(words) <= MOST_SAID else words[:MOST_SAID].rpartition(" ")[0]
               + " …", "label halo")


def one_block(step: Step, place: int, block: int, paper: Sheet, y: float, size: int) -> Iterator[Shape]:
    """One block of a prompt: its id above, its key inside, hatched when it was hit."""
    tokens = min(step.request.prompt_tokens - place * size, size)
    x, whole, filled = paper.x(place * size), round(size * paper.square, 2), round(tokens * paper.square, 2)
    hit = place < len(step.hit_blocks)
    if whole >= 24:
        label = x + (13 if tokens == 1 else 2)  # clear of the wall
        yield Text(label, y - 5, str(block), "cached-text" if hit else "axis")
        if whole >= 90 and tokens == size:
            yield arrow(x + 12 + 8 * len(str(block)), x + whole - 12, y - 9)
    inside = round(filled - (1.5 if tokens == size else 0), 2)
    if tokens < size:
        yield Bar(x, y, round(whole - 1.5, 2), BAR, "s-unfilled")
    yield Bar(x, y, max(inside, 1), BAR, "s-cached" if hit else "s-running", pattern="cached" if hit else "")
    last = (step.request.prompt_tokens - 1 - place * size) * paper.square  # the wall, from the block's left edge
    if tokens == size and whole >= KEY_ROOM and not 0 < last < KEY_ROOM:
        key = step.probes[place].key
        if hit:
            yield Bar(x + 1, y + 4, 58, BAR - 8, "plate-cached", key, "hex on-cached")
        else:
            yield Bar(x + 1, y + 4, 58, BAR - 8, "s-running", key, "hex on-running")
    if not hit and (whole >= COUNT_ROOM or tokens < size) and inside >= 9 * len(str(tokens)) + 4:
        middle = x + (whole + 59) / 2 if tokens == size else x + inside / 2
        yield Text(round(middle, 2), y + 19, str(tokens), "on-running", "middle")


def in_runs(step: Step, paper: Sheet, y: float) -> Iterator[Shape]:
    """A prompt whose blocks are too many to draw one by one: what was hit and what was computed."""
    x, hit = paper.x(0), round(step.hit_tokens * paper.square, 2)
    if hit:
        yield Bar(x, y, hit, BAR, "s-cached", pattern="cached")
        words = f"{len(step.hit_blocks):,} blocks"
        if hit > 8 * len(words) + 30:
            yield from plate(words, x + 6, y + 4, "cached-text")
    computed = round(step.computed_tokens * paper.square, 2)
    yield Bar(round(x + hit, 2), y, max(computed, 1), BAR, "s-running")
    words = f"{step.computed_tokens:,}"
    if computed > 10 * len(words) + 8:
        yield Text(round(x + hit + computed / 2, 2), y + 19, words, "on-running", "middle")


def runs(places: Iterable[int]) -> list[tuple[int, int]]:
    """Neighbouring places as (first, one past the last)."""
    found: list[tuple[int, int]] = []
    for place in places:
        if found and found[-1][1] == place:
            found[-1] = (found[-1][0], place + 1)
        else:
            found.append((place, place + 1))
    return found


@dataclass(frozen=True, slots=True)
class Spot:
    """One cell of the queue: what stands in it, what it is, and the words below."""

    text: str
    kind: str
    note: str = ""

    @property
    def w(self) -> float:
        return max(44, 10 + 8 * len(self.text), 8 + 7.2 * len(self.note))


def spots(step: Step) -> list[Spot]:
    """The free queue from the block that is taken next on; blocks that were never used stand as one."""
    by_id = {block.id: block for block in step.pool}
    stranded = set(step.stranded)
    made: list[Spot] = []
    unused: list[int] = []
    for id in (*step.free_queue, 0):
        block = by_id.get(id, Block(0))
        if id and not block.owner:
            unused.append(id)
            continue
        if unused:
            words = str(unused[0]) if len(unused) == 1 else f"{unused[0]} to {unused[-1]}"
            made.append(Spot(words, "idle", f"never used, {len(unused):,}" if len(unused) > 1 else "never used"))
            unused = []
        if not id:
            continue
        kind = "stranded" if id in stranded else "cached" if block.cached else "idle"
        note = named(block) if block.cached else "no key"
        made.append(Spot(str(id), kind, note))
    return made


def queue(step: Step, width: float) -> Drawing:
    """The queue in rows, the middle of a long one counted."""
    cells, most = spots(step), MOST_QUEUED[width == NARROW]
    if len(cells) > most:
        hidden = len(cells) - most + 1
        cells = [*cells[: most - 2], Spot(f"+{hidden:,}", "more"), cells[-1]]
    shapes: list[Shape] = []
    x, y = 0.6, 18.0
    for number, spot in enumerate(cells):
        if x + spot.w > width - 1 and x > 1:
            x, y = 0.6, y + 62
        shapes += cell(spot, x, y)
        if number + 1 < len(cells) and x + spot.w + 18 + cells[number + 1].w <= width - 1:
            shapes.append(arrow(x + spot.w + 3, x + spot.w + 15, y + 15))
        if number == 0:
            shapes.append(Text(x, y - 5, "taken next", "axis"))
        x = round(x + spot.w + 18, 2)
    if not cells:
        shapes.append(Text(0, 34, "No block is free.", "label"))
    ids = ", ".join(map(str, step.free_queue[:40])) + (", …" if len(step.free_queue) > 40 else "")
    return Drawing(width, y + 50, f"{len(step.free_queue):,} free blocks, handed out in this order: {ids}.",
                   tuple(shapes))


def cell(spot: Spot, x: float, y: float) -> Iterator[Shape]:
    """One cell of the queue, its words below."""
    if spot.kind == "more":
        yield Text(round(x + spot.w / 2, 2), y + 20, spot.text, "note", "middle")
        return
    css, pattern = {"cached": ("s-cached", "cached"), "stranded": ("s-lost", ""), "idle": ("s-idle", "idle")}[spot.kind]
    yield Bar(x, y, spot.w, 30, css, pattern=pattern)
    room = 10 + 8 * len(spot.text)
    inner = "plate" if spot.kind == "idle" else "plate-cached"
    yield Bar(round(x + (spot.w - room) / 2, 2), y + 6, room, 18, inner, spot.text,
              "value strong" if spot.kind == "idle" else "cached-text")
    yield Text(round(x + spot.w / 2, 2), y + 45, spot.note, "axis", "middle")


def stranded_words(step: Step) -> str:
    """What no lookup reaches any more, in a sentence; empty when there is nothing."""
    count = len(step.stranded)
    if not count:
        return ""
    blocks, them = ("block", "it") if count == 1 else ("blocks", "them")
    return (f"{count:,} resident {blocks} can’t be hit: a block before {them} has left the map. Computed again, it "
            f"brings {them} back.")


def thumbnail(run: PrefixRun) -> Drawing:
    """The first five prompts in runs."""
    served = [step for step in run.steps if step.request][:5]
    longest = max(step.request.prompt_tokens for step in served)
    shapes: list[Shape] = []
    for number, step in enumerate(served):
        y, scale = 2 + 12.4 * number, 208 / longest
        hit = round(step.hit_tokens * scale, 2)
        if hit:
            shapes.append(Bar(1, y, hit, 9, "s-cached", pattern="cached"))
        shapes.append(Bar(1 + hit, y, round(step.computed_tokens * scale, 2), 9, "s-running"))
        x = round(1 + (step.request.prompt_tokens - 1) * scale, 2)
        shapes.append(line(x, y - 1, x, y + 10, "s-limit"))
    return Drawing(216, 64, run.finding, tuple(shapes))
