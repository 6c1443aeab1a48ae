"""The pictures of the kv-transfer lab's sums: the wait for the first token, chunks against a limit, nodes, a lease."""
from collections.abc import Iterator

from calculators.labs.base import Gist, Shown
from calculators.labs.engine_loop_picture import Derivation, Picture
from calculators.labs.kv_size_parts import Part, Row, Swatch, Table, both, sides
from calculators.models.kv_lease import READS, Lease
from calculators.models.kv_transfer import PROMPTS, Split
from calculators.models.nixl_pull import NixlPull
from calculators.models.pd_ratio import PdRatio
from calculators.models.quantity import say, span
from calculators.pictures import MEASURE, NARROW, WALL, WIDE, Bar, Drawing, Scale, Shape, Text, line, wall_beside
from calculators.ruled import figures, round_unit, width_of

MOST_TICKS = 24  # heartbeats drawn one by one
MOST_LISTED = 100  # of them in the table, the first ones


def split(shown: Shown) -> Picture:
    """The wait for the first token to scale, and the steps that the split spares D's users."""
    result: Split = shown.result
    beside = (chunks(result, width) for width, _ in sides())
    heads = ("link, one GPU’s", *(f"{tokens:,} tokens, ms" for tokens in PROMPTS))
    return Picture(
        parts=(
            wait_part(result.prefill_ms, result.read_ms, result.noticed_ms),
            Part("Together instead: a step with a prompt chunk in it", *beside,
                 "by its prompt tokens; products only, in ms and in ordinary steps",
                 words=f"{result.largest_chunk_tokens:,} prompt tokens a step hold the limit: a prompt with fewer that "
                       f"are not cached had better stay on D. {result.finding}"),
        ),
        derivations=(Derivation("Said out loud", result.lines),), words="",
        tables=(
            Table("The read by prompt and link, at its full rate, one link, one copy", heads, tuple(
                (f"{link.name}, {link.gb_per_s:g} GB/s", *(f"{ms:,.1f}" for ms in link.takes_ms))
                for link in result.links)),
            Table("A step by its prompt tokens", ("prompt tokens", "ms"), tuple(
                (f"{chunk.tokens:,}", f"{chunk.step_ms:,.1f}") for chunk in result.chunks)),
        ),
    )


def wait_part(prefill_ms: float, read_ms: float, noticed_ms: float) -> Part:
    """The wait for the first token as a part of a page."""
    wide, narrow = (wait(prefill_ms, read_ms, noticed_ms, width) for width, _ in sides())
    return Part("The wait for the first token", wide, narrow, "nobody else waiting", legend=(
        Swatch("s-running", "prefill on P"), Swatch("result", "read"),
        Swatch("s-decoding", "until D has noticed and computed one token")))


def chunks(result: Split, width: float) -> Drawing:
    """A step without and with prompt chunks, on one scale with the limit that users accept."""
    left, right, top = 64, width - (150 if width > NARROW else 116), 44
    rows = [(0, result.decode_step_ms, False), *((chunk.tokens, chunk.step_ms, chunk.present)
                                                 for chunk in result.chunks)]
    x = Scale(0, max(result.limit_ms, *(takes for _, takes, _ in rows)), left, right)
    foot = top + 30 * len(rows)
    shapes: list[Shape] = [Text(left - 8, top - 8, "tokens", "axis", "end"), line(left, top - 4, left, foot, "edge")]
    shapes += wall_beside(x(result.limit_ms), top - 4, foot)
    at = x(result.limit_ms)
    shapes.append(Text(at, 14, f"limit {say(result.limit_ms, 'ms')}", "limit-text",
                       "end" if at > width / 2 else "start"))
    for number, (tokens, takes, present) in enumerate(rows):
        y = top + 30 * number + 4
        length = max(x(takes) - left, 1)
        shapes.append(Text(left - 8, y + 14, f"{tokens:,}", "strong" if present else "value", "end"))
        shapes.append(Bar(left, y, length, 18, "present" if present else "other"))
        words = f"{say(takes, 'ms')}, {say(takes / result.decode_step_ms, '×')}" if tokens else say(takes, "ms")
        shapes.append(Text(width - 2, y + 14, words, "strong" if present else "value", "end"))
    title = (f"A decode step takes {say(result.decode_step_ms, 'ms')}, one with {result.chunk.tokens:,} prompt tokens "
             f"{say(result.chunk.step_ms, 'ms')}; the limit is {say(result.limit_ms, 'ms')}.")
    return Drawing(width, foot + 4, title, tuple(shapes))


def gist(shown: Shown) -> Gist:
    """The wait for the first token, small."""
    result: Split = shown.result
    return Gist(*(wait(result.prefill_ms, result.read_ms, result.noticed_ms, width, shown.said)
                  for width in (MEASURE, NARROW)))


def wait(prefill_ms: float, read_ms: float, noticed_ms: float, width: float, said: float | None = None) -> Drawing:
    """Prefill, read and D's steps on one scale; a said read as a pen line from where the read begins."""
    total = prefill_ms + read_ms + noticed_ms
    x = Scale(0, total, 1, width - (96 if width > NARROW else 4))
    unit = round_unit(total, 6)
    top, height = 44, 34
    shapes: list[Shape] = []
    for number in range(int(total / unit + 1e-9) + 1):
        shapes.append(line(x(number * unit), top - 6, x(number * unit), top + height + 6, "grid"))
        shapes.append(Text(x(number * unit), top + height + 44, figures(number * unit), "axis",
                           "start" if not number else "end" if x(number * unit) > width - 14 else "middle"))
    ends = [0.0, prefill_ms, prefill_ms + read_ms, total]
    words = (f"prefill on P {say(prefill_ms, 'ms')}", "", "")
    for low, high, css, text in zip(ends, ends[1:], ("s-running", "result", "s-decoding"), words, strict=False):
        fits = text and x(high) - x(low) > 8 * len(text)
        shapes.append(Bar(x(low), top, max(x(high) - x(low), 1), height, css, text if fits else "", "on-running",
                          left=10))
    shapes.append(line(x(total), top - 10, x(total), top + height + 10, "ink"))
    read = f"read {say(read_ms, 'ms')}"
    near_end = x(prefill_ms) > width * 0.55
    shapes.append(Text(x(prefill_ms + read_ms) if near_end else x(prefill_ms), top - 12, read, "strong",
                       "end" if near_end else "start"))
    shapes.append(Text(x(total), top + height + 24, say(total, "ms"), "strong", "end"))
    shapes.append(Text(x(total) - 64, top + height + 24, f"then D’s steps {say(noticed_ms, 'ms')}", "axis", "end"))
    shapes.append(Text(x(total), top + height + 60, "ms", "axis", "end"))
    if said and 0 < said <= total - prefill_ms:
        shapes.append(line(x(prefill_ms + said), top - 8, x(prefill_ms + said), top + height + 8, "pen"))
    title = (f"Prefill {say(prefill_ms, 'ms')}, read {say(read_ms, 'ms')}, D’s steps {say(noticed_ms, 'ms')}: first "
             f"token after {say(total, 'ms')}.")
    return Drawing(width, top + height + 66, title, tuple(shapes))


def ratio(shown: Shown) -> Picture:
    """The nodes kept busy beside the whole ones, and the ratio for other shapes of traffic."""
    result: PdRatio = shown.result
    nodes = both(
        f"{say(result.prefill_work, '')} nodes prefill and {say(result.decode_work, '')} decode.", ("nodes kept busy",),
        [Row("prefill", (result.prefill_work,), (node_words(result.prefill_work, result.prefill_nodes),), True),
         Row("decode", (result.decode_work,), (node_words(result.decode_work, result.decode_nodes),), True)], WIDE,
    )
    shapes = both(
        "Prefill nodes for one decode node, by the traffic’s shape.", ("prefill nodes for one that decodes",),
        [Row(f"{shape.input_tokens:,} in, {shape.output_tokens:,} out", (shape.ratio,), (say(shape.ratio, ""),),
             shape.present) for shape in result.shapes], WIDE,
    )
    return Picture(
        parts=(Part("The two pools", *nodes), Part("The same rates, other traffic", *shapes)),
        derivations=(Derivation("Said out loud", result.lines),), words=result.finding,
        tables=(Table("P:D by traffic", ("in / out", "P:D"), tuple(
            (f"{shape.input_tokens:,} / {shape.output_tokens:,}", f"{shape.ratio:.2f}") for shape in result.shapes)),),
    )


def node_words(work: float, whole: int) -> str:
    return f"{say(work, '')}, so {whole:,}"


def lease(shown: Shown) -> Picture:
    """The deadline as it moves, and what is held under it."""
    result: Lease = shown.result
    return Picture(
        parts=(lease_part(result),), derivations=(Derivation("Said out loud", result.lines),), words=result.finding,
        tables=(Table("Heartbeats", ("at, s", "deadline, s", "moves it"), tuple(
            (f"{beat.at_s:g}", f"{beat.deadline_s:g}", "yes" if beat.moves else "no")
            for beat in result.beats[:MOST_LISTED])),),
    )


def lease_part(result: Lease, ends: str = "D dies") -> Part:
    """The lease as a part of a page; `ends` says what ends the heartbeats."""
    wide, narrow = (lease_drawing(result, width, ends) for width, _ in sides())
    legend = [Swatch("s-waiting", "blocks held, nobody computes"), Swatch("s-cached", "free, still hashed", "cached")]
    return Part("P’s lease", wide, narrow, "in seconds from the end of the prefill", legend=tuple(legend))


def lease_drawing(result: Lease, width: float, ends: str) -> Drawing:
    """Heartbeats as ticks, the deadline after each, the blocks held until P frees."""
    narrow = width <= NARROW
    names, right = (4, width - 6) if narrow else (130, width - 60)
    last = max(result.frees_s, result.end_s, result.lease_s, *(beat.deadline_s for beat in result.beats)) * 1.1
    x = Scale(0, last, names + 4, right)
    unit = round_unit(last, 4 if narrow else 10)
    rows = [46, 104, 162] if narrow else [30, 76, 122]
    foot = rows[2] + 44
    shapes: list[Shape] = []
    for number in range(int(last / unit + 1e-9) + 1):
        shapes.append(line(x(number * unit), 16, x(number * unit), foot, "grid"))
        shapes.append(Text(x(number * unit), foot + 16, figures(number * unit), "axis", "middle"))
    shapes.append(Text(right, foot + 32, "s", "axis", "end"))
    every = max(len(result.beats) // MOST_TICKS + 1, 1)
    for beat in result.beats[::every]:
        shapes.append(line(x(beat.at_s), rows[0] + 4, x(beat.at_s), rows[0] + 26, "ink"))
    shapes += deadline(result, x, rows[1])
    shapes.append(Bar(x(0), rows[2] + 2, x(result.frees_s) - x(0), 22, "s-waiting"))
    shapes.append(Bar(x(result.frees_s), rows[2] + 2, x(last) - x(result.frees_s), 22, "s-cached", pattern="cached"))
    if result.end == READS:
        shapes.append(line(x(result.end_s), 12, x(result.end_s), foot, "ink"))
        shapes.append(said_at(x, result.end_s, 10, f"D reads at {say(result.end_s, 's')}", "strong", right))
    else:
        shapes += wall_beside(x(result.end_s), 16, rows[0] + 34)
        shapes.append(said_at(x, result.end_s, 10, f"{ends} at {say(result.end_s, 's')}", "limit-text", right))
    shapes.append(said_at(x, result.frees_s, rows[2] + 40, f"P frees at {say(result.frees_s, 's')}", "strong halo",
                          right))
    for name, y in zip(("D’s heartbeats", "deadline", "P’s blocks"), rows, strict=True):
        walled = narrow and y == rows[0] and result.end != READS and x(result.end_s) < names + width_of(name)
        start = x(result.end_s) + WALL + 6 if walled else names
        shapes.append(Text(start, y - 8, name, "strong halo") if narrow else
                      Text(names - 8, y + 17, name, "strong halo", "end"))
    reads = "D reads" if result.end == READS else ends
    title = f"{reads} at {say(result.end_s, 's')}, P frees at {say(result.frees_s, 's')}."
    return Drawing(width, foot + 38, title, tuple(shapes))


def deadline(result: Lease, x: Scale, y: float) -> Iterator[Shape]:
    """The deadline in force, as a stepped line from the time of each move to the moment it names."""
    moves = [(0.0, float(result.lease_s))] + [(beat.at_s, beat.deadline_s) for beat in result.beats if beat.moves]
    if len(moves) > MOST_TICKS:
        moves = [moves[0], *moves[1: -1: len(moves) // MOST_TICKS + 1], moves[-1]]
    for place, (at, until) in enumerate(moves):
        css = "ink" if place == len(moves) - 1 else "edge"
        yield line(x(at), y + 13, x(until), y + 13, css) if place == len(moves) - 1 else \
            line(x(at), y + 13, x(moves[place + 1][0]), y + 13, css)
        yield line(x(at), y + 8, x(at), y + 18, css)
    yield line(x(moves[-1][1]), y + 6, x(moves[-1][1]), y + 20, "ink")
    yield Text(x(moves[-1][1]), y, say(moves[-1][1], "s"), "axis halo", "middle")


def said_at(x: Scale, at: float, y: float, words: str, css: str, right: float) -> Text:
    """Words beside a place on the scale, on the side where there is room."""
    place = x(at)
    return Text(place, y, words, css, "end" if place > right - 7.5 * len(words) else "start")


def thumbnail(result: NixlPull) -> Drawing:
    """The two gauges, and the read between them."""
    left, right = 40, 176
    shapes = (
        Bar(left - 14, 2, 12, 26, "s-running"), Bar(left - 11, 28, 7, 20, "s-waiting"),
        Bar(left - 14, 48, 12, 14, "s-cached", pattern="cached"),
        Bar(right + 2, 2, 12, 32, "s-idle", pattern="idle"), Bar(right + 5, 34, 7, 20, "s-waiting"),
        Bar(right + 2, 54, 12, 8, "s-running"),
        line(left + 10, 2, left + 10, 62, "edge"), line(right - 10, 2, right - 10, 62, "edge"),
        Bar(left + 10, 36, right - left - 20, 12, "result"),
    )
    return Drawing(216, 64, f"P holds its blocks while D reads them: {span(result.read_ms / 1e3)}.", shapes)
