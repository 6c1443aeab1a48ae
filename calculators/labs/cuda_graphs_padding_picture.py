"""The pictures of padding: the captured sizes as a ruler that a batch jumps along, and what its empty rows cost."""
from collections.abc import Iterator

from calculators.labs.base import Shown
from calculators.labs.cuda_graphs_picture import Picture
from calculators.labs.kv_size_parts import HALF, Part, Swatch, Table, sides
from calculators.models.graph_padding import GraphPadding, Padded
from calculators.models.quantity import say
from calculators.pictures import NARROW, Bar, Drawing, Path, Scale, Shape, Text, line, wall_beside
from calculators.ruled import columns, figures, round_unit, width_of

RULER = 62  # height of the ruler's line


def picture(shown: Shown) -> Picture:
    """The ruler with the batches at hand, then memory against products for each."""
    result: GraphPadding = shown.result
    batch = result.batch
    seconds = f"{result.capture_s[0]:.0f} to {result.capture_s[1]:.0f} s"
    return Picture(
        parts=(Part(
            "Padding to a captured size", *(ruler(result, width, narrow) for width, narrow in sides()),
            f"{len(result.sizes)} sizes up to {result.cap:,}; the smallest that holds the batch runs",
            legend=(Swatch("solid", "a captured size"),),
            words=f"{result.verdict} The worst of all is {result.worst[0]:,} → {result.worst[1]:,}, "
                  f"{result.worst_percent:.0f}% empty; the mean batch has {result.mean_rows:.1f} empty rows.",
        ),),
        side=Part(
            "What the padding costs", costs(result, HALF), costs(result, NARROW), "the longer bar is the step",
            legend=(Swatch("present", "memory"), Swatch("solid", "products"), Swatch("hollow", "of empty rows")),
            words=f"The real costs lie elsewhere: {result.graphs:,} graphs hold memory that the KV pool does not get, "
                  f"and capturing {len(result.sizes)} sizes takes some {seconds} at start-up.",
        ),
        tables=(Table(
            "Batches and the sizes they run at",
            ("sequences", "rows", "size", "empty, %", "memory, ms", "products, ms", "padded, ms", "graph"),
            tuple(
                (f"{each.sequences:,}{' (at hand)' * (each is batch)}", f"{each.tokens:,}",
                 f"{each.size:,}" if each.size else "none", f"{each.percent:.1f}", f"{each.memory_ms:.2f}",
                 f"{each.compute_ms:.2f}", f"{each.padded_compute_ms:.2f}", each.graph) for each in result.compared
            ),
        ), Table("Captured sizes", ("from", "to", "how many"), tuple(runs(result.sizes)))),
    )


def runs(sizes: tuple[int, ...]) -> Iterator[tuple[str, str, str]]:
    """The sizes as runs of equal steps: first, last, count."""
    start = 0
    for place in range(1, len(sizes) + 1):
        last = place == len(sizes)
        if last or place - start > 1 and sizes[place] - sizes[place - 1] != sizes[start + 1] - sizes[start]:
            yield f"{sizes[start]:,}", f"{sizes[place - 1]:,}", f"{place - start:,}"
            start = place


def ruler(result: GraphPadding, width: float, narrow: bool) -> Drawing:
    """A tick for each size, an arrow from each batch to the one it runs at, and the wall after the largest."""
    batches = [each for each in result.compared if each.present or not narrow]
    furthest = max(result.cap, min(result.batch.tokens, 2 * result.cap)) * 1.02
    scale = Scale(0, furthest, 8, width - (16 if narrow else 150))
    unit = next(n for n in (1, 2, 4, 8, 16, 32, 64, 128, 256, 1_024, 4_096, 16_384, 65_536)
                if furthest / n <= (7 if narrow else 16))
    shapes: list[Shape] = []
    for number in range(int(furthest / unit) + 1):
        x = scale(number * unit)
        shapes.append(line(x, RULER - 22, x, RULER + 14, "grid"))
        shapes.append(Text(x, RULER + 32, figures(number * unit), "axis", "end" if x > width - 24 else "middle"))
    shapes.append(line(scale.start, RULER, scale(result.cap), RULER, "edge"))
    for size in result.sizes:
        shapes.append(Bar(round(scale(size) - 0.75, 2), RULER - 7, 1.5, 14, "solid"))
    wall = scale(result.cap)
    shapes += wall_beside(wall, RULER - 18, RULER + 18)
    if not narrow:
        shapes.append(Text(min(wall + 14, width), RULER - 24, f"{result.cap:,}, the largest", "limit-text",
                           "start" if wall + 14 + width_of("1,024, the largest") < width else "end"))
    else:
        shapes.append(Text(wall, RULER + 50, f"{result.cap:,}, the largest", "limit-text", "end"))
    if not narrow:
        shapes.append(Text(width, RULER + 32, "rows", "axis", "end"))
    shapes += jumps(batches, scale, width)
    return Drawing(width, RULER + (58 if narrow else 42), result.finding, tuple(shapes))


def jumps(batches: list[Padded], scale: Scale, width: float) -> Iterator[Shape]:
    """Each batch's step up to its size, with the share that is empty; the reader's own in pen. Words keep apart."""
    taken: list[tuple[float, float]] = []
    for each in sorted(batches, key=lambda batch: not batch.present):
        css, text = ("pen", "pen-text") if each.present else ("arrow", "label")
        x = min(scale(each.tokens), scale.end)
        if each.size:
            end = scale(each.size)
            yield Path(f"M{x:g} {RULER:g}V{RULER - 22:g}H{end:g}V{RULER - 9:g}m-3 -4l3 4l3 -4", css)
            words = f"{each.tokens:,} → {each.size:,}, {each.percent:.1f}% empty"
        else:
            yield line(x, RULER - 22, x, RULER + 8, css)
            words = f"{each.tokens:,}: no graph"
        room = width_of(words)
        start = max(min(x - 2, width - room), 0)
        if all(start > right + 12 or start + room < left - 12 for left, right in taken):
            taken.append((start, start + room))
            yield Text(round(start, 2), RULER - 42, words, text)


def costs(result: GraphPadding, width: float) -> Drawing:
    """Two bars for each batch, memory over products, the part of empty rows as an outline behind them."""
    narrow = width <= NARROW
    left, pitch = (2, 74) if narrow else (118, 56)
    longest = max(max(each.memory_ms, each.padded_compute_ms) for each in result.compared)
    scale = Scale(0, longest * 1.02, left, width - 96)
    unit, foot = round_unit(longest, 5), pitch * len(result.compared) + 2
    shapes: list[Shape] = [*columns(scale, unit, 0, foot, every=1, most=6)]
    shapes.append(Text(width - 60, foot + 17, "ms", "axis"))
    for place, each in enumerate(result.compared):
        top = pitch * place + (22 if narrow else 4)
        words = f"{each.tokens:,} → {each.size:,}" if each.size else f"{each.tokens:,}, no graph"
        css = "pen-text" if each.present else "strong"
        shapes.append(Text(left + 8, top - 6, words, f"{css} halo") if narrow
                      else Text(0, top + 14, words, css))
        shapes += pair(each, scale, top)
    shapes.append(line(left, 0, left, foot, "edge"))
    return Drawing(width, foot + 24, result.finding, tuple(shapes))


def pair(each: Padded, scale: Scale, top: float) -> Iterator[Shape]:
    """Memory over products; whichever is longer is the step."""
    bound = each.memory_ms >= each.padded_compute_ms
    memory, products, padded = scale(each.memory_ms), scale(each.compute_ms), scale(each.padded_compute_ms)
    yield Bar(scale.start, top, round(max(memory - scale.start, 1), 2), 16, "present")
    yield Text(memory + 8, top + 13, say(each.memory_ms, "ms"), "strong" if bound else "label")
    yield Bar(scale.start, top + 20, round(max(products - scale.start, 1), 2), 16, "solid")
    if padded > products + 0.5:
        yield Bar(products, top + 20, round(padded - products, 2), 16, "hollow")
    words = say(each.padded_compute_ms, "ms")
    yield Text(max(padded, scale.start + 1) + 8, top + 33, words, "label" if bound else "strong")
