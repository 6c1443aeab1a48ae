"""The detokenizer's pictures: a row a step; a column a byte for the window, or a character for the stop string."""
from collections.abc import Iterator
from dataclasses import dataclass

from calculators.labs.base import Shown
from calculators.labs.engine_loop_picture import Derivation, Picture
from calculators.labs.kv_size_parts import Part, Swatch, Table, sides
from calculators.models.detokenizer import Detokenized, Step, Token, visible
from calculators.pictures import WIDE, Bar, Drawing, Path, Shape, Text, line, wall_beside
from calculators.ruled import fitting

MOST_ROWS, MOST_LISTED = 8, 60
ROW, HIGH, TOP = 50, 26, 50


@dataclass(frozen=True, slots=True)
class Grid:
    """Where columns lie: the first one shown, how many, their width, and the left and right edge."""

    first: int
    count: int
    column: float
    left: float

    def x(self, place: int) -> float:
        """The left edge of a column, kept within the grid."""
        return round(self.left + min(max(place - self.first, 0), self.count) * self.column, 2)

    def shows(self, place: int) -> bool:
        return self.first <= place < self.first + self.count


@dataclass(frozen=True, slots=True)
class Glyph:
    """A character and the bytes it takes."""

    text: str
    start: int
    end: int


def window_picture(shown: Shown) -> Picture:
    """The window over the bytes, step by step."""
    run, at = shown.result, shown.step
    wide, narrow = (bytes_drawn(run, at, shown.inputs["skip_special"], width, small) for width, small in sides())
    return Picture(
        parts=(Part(
            "Bytes to text", wide, narrow, "half a character is never sent",
            "One column is one byte, a long tick a token’s end; ▲ ▲ prefix_offset, read_offset.",
            "One column is one byte; ▲ ▲ prefix_offset, read_offset.",
            (Swatch("hollow", "decoded again"), Swatch("solid", "emitted"), Swatch("s-waiting", "held")),
            sentence(run, at),
        ),),
        derivations=(Derivation("What it costs, said out loud", run.lines),) if at == shown.last_step else (),
        words="", tables=(step_table(run, at),),
    )


def stop_picture(shown: Shown) -> Picture:
    """The held band over the characters, step by step."""
    run, at = shown.result, shown.step
    wide, narrow = (characters_drawn(run, at, width, small) for width, small in sides())
    stops = " or ".join(f"“{visible(stop)}”" for stop in shown.inputs["stop"]) or "no stop string"
    return Picture(
        parts=(Part(
            "The stop string", wide, narrow, f"{stops}; {run.holdback} held back", "One column is one character.",
            "One column is one character.",
            (Swatch("solid", "sent at this step"), Swatch("s-waiting", "held: could still be the start of a stop")),
            stop_sentence(run, at),
        ),),
        derivations=(Derivation("What it costs, said out loud", run.lines),) if at == shown.last_step else (),
        words="", tables=(step_table(run, at),),
    )


def sentence(run: Detokenized, at: int) -> str:
    """What the window did with the step's last token."""
    step = run.steps[at]
    if not at:
        return (f"Nothing came yet. The window starts at token {step.prefix}, and {step.read} tokens of the prompt "
                "are read.")
    grew = f"“{visible(step.prefix_text)}” became “{visible(step.new_text)}”"
    if step.decoded:
        return f"{grew}: “{visible(step.decoded)}” is new, and the window moves to {step.new_prefix}, {step.new_read}."
    if step.pending_bytes:
        return f"{grew}, which ends in half a character: nothing is emitted, the offsets stay, and the bytes wait."
    return f"{grew}: no text is new."


def stop_sentence(run: Detokenized, at: int) -> str:
    """What the step sent and what it holds."""
    step = run.steps[at]
    if not at:
        return f"Nothing came yet. The longest stop string less one, {run.holdback} characters, will be held back."
    if step.stop:
        lost = f"; “{visible(step.cut)}” never leaves" if step.cut else ""
        return f"“{visible(step.stop)}” is complete: the reply ends at {len(step.text)} characters{lost}."
    if at == len(run.steps) - 1:
        return f"The last token: what was held is sent, “{visible(step.sent)}”."
    sent = f"“{visible(step.sent)}” is sent" if step.sent else "Nothing is sent"
    return f"{sent}, {step.sent_in_all} characters in all; {len(step.held)} are held."


def step_table(run: Detokenized, at: int) -> Table:
    first = max(at + 1 - MOST_LISTED, 1)
    return Table(
        "The steps", ("token", "alone", "sent", "held", "prefix_offset", "read_offset"),
        tuple((written(step.tokens), visible(step.alone), visible(step.sent) or "nothing", visible(step.held) or "",
               str(step.new_prefix), str(step.new_read)) for step in run.steps[first: at + 1]),
    )


def written(tokens: tuple[Token, ...]) -> str:
    return " ".join(token.written for token in tokens)


def named(tokens: tuple[Token, ...], room: float) -> str:
    """The tokens, or their number where there are too many for the room."""
    words = fitting_end(written(tokens), room)
    return f"{len(tokens)} tokens" if len(tokens) > 1 and words != written(tokens) else words


def glyphs(data: bytes) -> list[Glyph]:
    """The characters of these bytes; a byte that belongs to none is one of its own."""
    found, at = [], 0
    while at < len(data):
        for size in (1, 2, 3, 4):
            try:
                found.append(Glyph(visible(data[at:at + size].decode()), at, at + size))
                break
            except UnicodeDecodeError:
                continue
        else:
            size = 1
            found.append(Glyph("·", at, at + 1))
        at += size
    return found


def last_rows(run: Detokenized, at: int) -> list[Step]:
    """The rows that are shown: the last steps up to this one, without step 0."""
    return list(run.steps[max(at + 1 - MOST_ROWS, 1): at + 1])


def bytes_drawn(run: Detokenized, at: int, skip_special: bool, width: float, narrow: bool) -> Drawing:
    """A row a step; window, emitted and held bytes on the same columns, with the offsets under them."""
    kept = [b"" if token.special and skip_special else token.data for token in run.sequence]
    ends = [0]
    for data in kept:
        ends.append(ends[-1] + len(data))
    whole = b"".join(kept)
    rows = last_rows(run, at)
    shown_to = ends[run.steps[at].end]
    count = 20 if narrow else 26
    grid = Grid(max(min(shown_to + 2, ends[-1]) - count, 0), count, 17 if narrow else 24, 4 if narrow else 108)
    foot = TOP + ROW * max(len(rows), 1)
    shapes: list[Shape] = [*header(whole[:shown_to], ends, grid, foot, narrow)]
    if not narrow:
        after = grid.x(grid.first + grid.count) + 24
        shapes += [Text(after, 30, "alone", "axis"), Text(after + 80, 30, "with the window", "axis")]
    letters = glyphs(whole)
    for place, step in enumerate(rows):
        y = TOP + ROW * place + 6
        if not narrow:
            shapes.append(Text(grid.left - 12, y + 18, named(step.tokens, 92),
                               "strong" if place == len(rows) - 1 else "value", "end"))
            after = grid.x(grid.first + grid.count) + 24
            shapes.append(Text(after, y + 18, fitting_end(visible(step.alone) or "-", 70), "limit-text" if "�" in
                               step.alone else "value"))
            said = visible(step.decoded) or ("nothing: half a character" if step.pending_bytes else "nothing")
            shapes.append(Text(after + 80, y + 18, fitting(said, WIDE - after - 90) if step.decoded == "" else
                               fitting_end(said, WIDE - after - 90), "strong" if step.decoded else "label"))
        shapes += byte_row(step, letters, ends, grid, y)
    if rows:
        shapes.append(Bar(1, foot - ROW, width - 2, ROW - 2, "frame"))
    else:
        shapes.append(Text(grid.left + 8, TOP + 28, "not shown yet: say what step 1 emits", "label"))
    return Drawing(width, foot + 4, f"Step {at} of {len(run.steps) - 1}: {sentence(run, at)}", tuple(shapes))


def fitting_end(words: str, room: float) -> str:
    """The words, or the first of their letters that there is room for."""
    most = max(int(room / 8), 1)
    return words if len(words) <= most else words[: most - 1] + "…"


def header(data: bytes, ends: list[int], grid: Grid, foot: float, narrow: bool) -> Iterator[Shape]:
    """The bytes that came in hexadecimal over their columns, a long tick where a token ends."""
    stops = set(ends)
    for place in range(grid.first, grid.first + grid.count + 1):
        long = place in stops and place <= len(data)
        yield line(grid.x(place), 18 if long else TOP, grid.x(place), 36 if long else TOP, "edge") if long else line(
            grid.x(place), TOP, grid.x(place), foot, "grid")
        if long:
            yield line(grid.x(place), TOP, grid.x(place), foot, "grid")
        if place < min(len(data), grid.first + grid.count):
            yield Text(grid.x(place) + grid.column / 2, 31, f"{data[place]:02X}", "hex", "middle")


def byte_row(step: Step, letters: list[Glyph], ends: list[int], grid: Grid, y: float) -> Iterator[Shape]:
    """One step: what left earlier as plain type, the window boxed, what is new solid, what waits hollow."""
    prefix, read, end = ends[step.prefix], ends[step.read], ends[step.end]
    emitted = ends[step.new_read] if step.decoded else read
    for glyph in letters:
        if glyph.end > read or not grid.shows(glyph.start):
            continue
        x, w = grid.x(glyph.start), grid.x(glyph.end) - grid.x(glyph.start)
        if glyph.start >= prefix:
            yield Bar(x + 1, y, round(w - 2, 2), HIGH, "hollow", glyph.text)
        else:
            yield Text(x + w / 2, y + 18, glyph.text, "label", "middle")
    if emitted > read and grid.x(emitted) > grid.x(read):
        x, w = grid.x(read), round(grid.x(emitted) - grid.x(read), 2)
        yield Bar(x, y, w, HIGH, "solid", fitting_end(visible(step.decoded), w + 8), "on-ink")
    if end > emitted and grid.x(end) > grid.x(emitted):
        yield Bar(grid.x(emitted) + 1, y + 7, round(grid.x(end) - grid.x(emitted) - 2, 2), 13, "s-waiting")
    x1, x2 = grid.x(prefix), grid.x(read)
    yield line(x1, y + HIGH + 8, x2, y + HIGH + 8, "edge")
    for x in (x1, x2):
        yield Path(f"M{x:g} {y + HIGH + 2:g}l-4 7h8z", "corner")


def characters_drawn(run: Detokenized, at: int, width: float, narrow: bool) -> Drawing:
    """A row a step; what was sent before as plain type, what is sent now solid, what is held hollow."""
    rows, row = last_rows(run, at), 34
    longest = max((len(step.text) + len(step.cut) for step in rows), default=0)
    count = 22 if narrow else 30
    grid = Grid(max(longest - count, 0), count, 15.2 if narrow else 25, 4 if narrow else 124)
    top, foot = 34, 34 + row * max(len(rows), 1)
    shapes: list[Shape] = [line(grid.x(place), top, grid.x(place), foot, "grid")
                           for place in range(grid.first, grid.first + count + 1)]
    for place, step in enumerate(rows):
        y = top + row * place + 5
        if not narrow:
            shapes.append(Text(grid.left - 12, y + 16, named(step.tokens, 108),
                               "strong" if place == len(rows) - 1 else "value", "end"))
            nothing = "nothing: stop complete" if step.stop else "nothing"
            sent = f"“{visible(step.sent)}”" if step.sent else nothing
            shapes.append(Text(grid.x(grid.first + count) + 16, y + 16, fitting_end(sent, 190),
                               "strong" if step.sent else "label"))
        shapes += character_row(step, grid, y)
    if rows and rows[-1].stop:
        end = len(rows[-1].text)
        shapes += wall_beside(grid.x(end), top - 10, top + 2)  # below it stand the characters themselves
        shapes.append(line(grid.x(end), top + 2, grid.x(end), foot, "s-limit"))
        near = grid.x(end) - grid.left > 150
        shapes.append(Text(grid.x(end) + (-6 if near else 14), top - 18, f"the reply ends here, {end}", "limit-text",
                           "end" if near else "start"))
    if rows:
        shapes.append(Bar(1, foot - row + 1, width - 2, row - 2, "frame"))
    else:
        shapes.append(Text(grid.left + 8, top + 22, "not shown yet: say what step 1 sends", "label"))
    return Drawing(width, foot + 4, f"Step {at} of {len(run.steps) - 1}: {stop_sentence(run, at)}", tuple(shapes))


def character_row(step: Step, grid: Grid, y: float) -> Iterator[Shape]:
    """One step's characters, those past a stop string in the limit's colour."""
    now = step.sent_in_all - len(step.sent)
    sent, held = grid.x(step.sent_in_all), grid.x(len(step.text))
    if step.sent and sent > grid.x(now):
        yield Bar(grid.x(now), y, round(sent - grid.x(now), 2), 24, "solid")
    if step.held and held > sent:
        yield Bar(sent + 1, y + 3, round(held - sent - 2, 2), 18, "s-waiting")
    for place, letter in enumerate(step.text + step.cut):
        if grid.shows(place):
            css = "limit-text" if place >= len(step.text) else "on-ink" if now <= place < step.sent_in_all else "label"
            yield Text(round(grid.x(place) + grid.column / 2, 2), y + 17, visible(letter), css, "middle")
    if step.cut and grid.x(len(step.text)) < grid.x(len(step.text) + len(step.stop)):
        yield line(grid.x(len(step.text)), y + 23, grid.x(len(step.text) + len(step.stop)), y + 23, "s-limit")


def thumbnail(run: Detokenized) -> Drawing:
    """Sent, and held for a character that is not whole, at 216 by 64."""
    steps = run.steps[1:6]
    data = [sum(len(token.data) for token in run.sequence[:end]) for end in range(len(run.sequence) + 1)]
    first, last = data[run.prompt_length], max(data[steps[-1].end], data[run.prompt_length] + 1)
    unit = 212 / (last - first)
    shapes: list[Shape] = []
    for place, step in enumerate(steps):
        y, read, end = 3 + 12 * place, data[step.read] - first, data[step.end] - first
        read = max(read, 0)
        css, high = ("solid", 9) if step.decoded else ("s-waiting", 5)
        if read:
            shapes.append(Bar(2, y, round(read * unit - 1, 2), 9, "pale"))
        shapes.append(Bar(round(2 + read * unit, 2), y + (9 - high) / 2, round((end - read) * unit, 2), high, css))
    return Drawing(216, 64, "Bytes that are whole are emitted, half a character waits.", tuple(shapes))
