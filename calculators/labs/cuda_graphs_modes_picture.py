"""The pictures of the modes: where the graphs are cut, what a step launches, and what every mode captures."""
from collections.abc import Iterator

from calculators.labs.base import Shown
from calculators.labs.cuda_graphs_picture import Picture
from calculators.labs.kv_size_parts import Part, Row, Swatch, Table, bars, both, sides
from calculators.models.graph_modes import FULL, NONE, PIECEWISE, Choice, GraphModes, Ran
from calculators.pictures import NARROW, Bar, Drawing, Shape, Text


def picture(shown: Shown) -> Picture:
    """The first layers cut three ways, the launches of three kinds of step, and every mode as it comes out here."""
    result: GraphModes = shown.result
    launched = [
        bars("Launches by kind of step", ("launches",),
             [Row(step.name, (step.launches,), (step_words(step, narrow),), True) for step in result.steps_run],
             NARROW if narrow else 960)
        for narrow in (False, True)
    ]
    chosen = [Row(each.asked, (each.graphs,), (choice_words(each),), each.present) for each in result.choices]
    return Picture(
        parts=(
            Part("Where the graphs are cut", *(cut(result, width, narrow) for width, narrow in sides()),
                 "the kernels of the first layers in order; those of attention and its cache update are half as high",
                 legend=(Swatch("solid", "launched from Python"), Swatch("pale", "run by a graph"),
                         Swatch("result", "one graph"))),
            Part("Launches of a step", *launched, f"with {result.mode}", words=result.verdict),
        ),
        side=Part("Graphs captured, by the mode asked for",
                  *both("Graphs captured by mode", ("graphs",), chosen),
                  words="PIECEWISE serves any batch up to the largest size. FULL as a single mode captures the mixed "
                        "routine and uses it for decode as well, where many backends have a faster one."),
        tables=(
            Table("What runs", ("step", "tokens", "launches", "graph", "size"),
                  tuple((step.name, f"{step.tokens:,}", f"{step.launches:,}", step.graph,
                         f"{step.size:,}" if step.size else "none") for step in result.steps_run)),
            Table("Every mode, asked for here", ("asked for", "in force", "graphs", "decode", "mixed"),
                  tuple((each.asked, each.mode or "refused", f"{each.graphs:,}", each.decode or "—", each.mixed or "—")
                        for each in result.choices)),
        ),
    )


def step_words(step: Ran, narrow: bool) -> str:
    """"1 launch: full graph at 64 for 64 tokens"."""
    if narrow:
        return f"{step.launches:,}, " + {FULL: "full graph", PIECEWISE: "in pieces", NONE: "no graph"}[step.graph]
    many = f"{step.launches:,} launch{'es' * (step.launches != 1)}"
    ran = {FULL: "a full graph", PIECEWISE: "graphs in pieces", NONE: "no graph"}[step.graph]
    return f"{many}: {step.tokens:,} tokens, {ran}" + (f" at {step.size:,}" if step.size else "")


def choice_words(choice: Choice) -> str:
    """The graphs, and what the mode becomes if it does not stay."""
    if not choice.mode:
        return "refused"
    return f"{choice.graphs:,}" + (f", as {choice.mode}" if choice.mode != choice.asked else "")


def cut(result: GraphModes, width: float, narrow: bool) -> Drawing:
    """Kernels of the first layers as boxes: attention's in half height, graphs as an outline around theirs."""
    pitch, left = (9, 2) if narrow else (20, 124)
    room = int((width - left - (8 if narrow else 130)) / pitch)
    row = 70 if narrow else 46
    shapes: list[Shape] = []
    ways = (("no graph", NONE, result.eager_launches), ("piecewise", PIECEWISE, result.piecewise_launches),
            ("full", FULL, 1))
    kinds = kernel_kinds(result, room)
    for place, (name, way, launches) in enumerate(ways):
        top = 8 + row * place + (22 if narrow else 0)
        words = f"{launches:,} launch{'es' * (launches != 1)}"
        shapes.append(Text(0, top - 11 if narrow else top + 15, name, "name"))
        shapes.append(Text(width - 8 if narrow else width, top - 11 if narrow else top + 15, words, "strong", "end"))
        shapes += outlines(way, kinds, left, top, pitch)
        for number, attention in enumerate(kinds):
            x = left + number * pitch
            eager = way == NONE or way == PIECEWISE and attention
            css, high = "solid" if eager else "pale", 10 if attention else 20
            shapes.append(Bar(x + 2, top + (20 - high) / 2, pitch - 4, high, css))
        shapes.append(Text(left + len(kinds) * pitch + 4, top + 15, "…", "label"))
    title = f"{result.kernels:,} kernels: as many launches without graphs, {result.piecewise_launches:,} in pieces, " \
            "one as a full graph."
    return Drawing(width, 8 + row * 3 - 8, title, tuple(shapes))


def kernel_kinds(result: GraphModes, most: int) -> list[bool]:
    """For the first kernels, in order, whether they run at attention's cut."""
    captured, kinds = result.kernels - result.eager_ops * result.layers, []
    for piece in range(result.pieces):
        if piece:
            kinds += [True] * result.eager_ops
        kinds += [False] * ((piece + 1) * captured // result.pieces - piece * captured // result.pieces)
        if len(kinds) >= most:
            break
    return kinds[:most]


def outlines(way: str, kinds: list[bool], left: float, top: float, pitch: float) -> Iterator[Shape]:
    """The graphs: around all kernels of the step, or around each run of them between two attentions."""
    if way == FULL:
        yield Bar(left, top - 4, len(kinds) * pitch, 28, "result")
    if way != PIECEWISE:
        return
    start = 0
    for number in range(len(kinds) + 1):
        if number == len(kinds) or kinds[number]:
            if number > start:
                yield Bar(left + start * pitch, top - 4, (number - start) * pitch, 28, "result")
            start = number + 1
