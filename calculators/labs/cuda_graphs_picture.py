"""The pictures of launches: a step three ways, CPU over GPU, whole and its first microseconds."""
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile

from calculators.labs.base import Shown
from calculators.labs.kv_size_parts import Part, Row, Swatch, Table, both, sides
from calculators.models.launch_bound import EAGER, WHOLE, Launch, LaunchBound, Way, solve
from calculators.models.quantity import say
from calculators.pictures import Bar, Drawing, Path, Scale, Shape, Text, line
from calculators.ruled import columns, figures, past_words, round_unit, width_of

LANE, GROUP = 18, 76
WINDOW = 15  # launches of the eager step that are drawn larger; 6 on a phone
SOLID = 97  # percent busy from which on gaps would not show
CASES = {
    "8B BF16, H100": {"gpu": "h100", "weight_bits": 16, "kernels_per_layer": 10},
    "8B FP8, B200": {},
    "8B BF16 TP 8, H100": {"gpu": "h100", "weight_bits": 16, "tensor_parallel_size": 8},
    "0.6B BF16, H100": {"model": "qwen3-0.6b", "gpu": "h100", "weight_bits": 16},
    "70B BF16 TP 4, H100": {"model": "llama-3.1-70b", "gpu": "h100", "weight_bits": 16, "tensor_parallel_size": 4},
}


@dataclass(frozen=True, slots=True)
class Picture:
    """What the fragment loops over: parts one under the other, one beside the derivation, and the same in tables."""

    parts: tuple[Part, ...]
    side: Part
    tables: tuple[Table, ...]


def picture(shown: Shown) -> Picture:
    """The whole step, its beginning, and the same five machines beside."""
    result: LaunchBound = shown.result
    wholes = [whole(result, shown.said, width, narrow) for width, narrow in sides()]
    starts = [beginning(result, width, narrow) for width, narrow in sides()]
    return Picture(
        parts=(
            Part("The whole step", *(drawing for drawing, _ in wholes), "CPU over GPU, three ways to launch it",
                 *(f"One {word} is {figures(unit)} ms." for word, (_, unit) in zip(("square", "column"), wholes,
                                                                                  strict=True)),
                 legend=(Swatch("solid", "launches from Python"), *(
                     Swatch(css, says) for css, says in (("s-running", "kernels back to back"),
                                                         ("s-decoding", "kernels with gaps between"))
                     if any(back_to_back(result, each) == (css == "s-running") for each in result.ways)
                 ))),
            Part("The first launches, drawn larger", *(drawing for drawing, _ in starts),
                 f"{result.kernel_us:.3g} µs of work in each kernel, {result.launch_us:g} µs for each launch",
                 *(f"One {word} is {figures(unit)} µs, drawn {magnified(result, *side):,.0f}× as wide."
                   for word, (_, unit), side in zip(("square", "column"), starts, sides(), strict=True)),
                 legend=(Swatch("solid", "launch from Python"), Swatch("result", "launch of a graph"),
                         Swatch("s-running", "kernel"), Swatch("s-gap", "GPU idle", "idle")), words=result.verdict),
        ),
        side=cases(result),
        tables=(Table(
            "A step by way of launching it",
            ("way", "step, ms", "GPU busy, %", "launches", "CPU, ms", "the slower of CPU and GPU, ms", "against eager"),
            tuple((each.name, f"{each.step_ms:.3f}", f"{each.busy_percent:.1f}", f"{each.launches:,}",
                   f"{each.cpu_ms:.3f}", f"{each.rule_ms:.3f}", f"{each.speed_up:.2f}×") for each in result.ways),
        ),),
    )


def of_the_whole(result: LaunchBound, width: float, narrow: bool) -> Scale:
    """ms of the whole step."""
    left, right = (36, width - 6) if narrow else (124, width - 170)
    return Scale(0, max(way.step_ms for way in result.ways) * 1.02, left, right)


def of_the_start(result: LaunchBound, width: float, narrow: bool) -> Scale:
    """µs of the step's beginning."""
    longest = max(way.step_ms for way in result.ways) * 1e3
    span = min(result.launch_us * (6 if narrow else WINDOW), longest)
    return Scale(0, span, 36 if narrow else 124, width - (8 if narrow else 40))


def magnified(result: LaunchBound, width: float, narrow: bool) -> float:
    """How many times larger the beginning is drawn than the whole."""
    whole_scale, start = of_the_whole(result, width, narrow), of_the_start(result, width, narrow)
    a_us, a_ms = ((scale.end - scale.start) / (scale.high - scale.low) for scale in (start, whole_scale))
    return a_us * 1e3 / a_ms


def whole(result: LaunchBound, said: float | None, width: float, narrow: bool) -> tuple[Drawing, float]:
    """The three ways on one scale, each with its end, and what the reader said; and the unit of a column in ms."""
    scale, foot = of_the_whole(result, width, narrow), 12 + GROUP * 3 - 14
    unit = round_unit(scale.high, 6 if narrow else 28)
    shapes: list[Shape] = [*columns(scale, unit, 8, foot, every=1 if narrow else 5, most=6)]
    shapes.append(Text(scale.end if narrow else scale.end + 24, foot + (34 if narrow else 17), "ms", "axis", "end"))
    for place, way in enumerate(result.ways):
        shapes += lanes_of(result, way, scale, 12 + GROUP * place, narrow)
    if said is not None and 0 < said <= scale.high:
        x, top = scale(said), 12 + GROUP + (16 if narrow else -6)
        words = f"your {say(said, 'ms')}"
        left = x + 5 + width_of(words) > width
        shapes.append(Text(x + (-5 if left else 5), top + 61, words, "pen-text halo", "end" if left else "start"))
        shapes.append(past_words(x, top, top + 62, shapes))
    return Drawing(width, foot + 38 if narrow else foot + 22, result.finding, tuple(shapes)), unit


def lanes_of(result: LaunchBound, way: Way, scale: Scale, top: float, narrow: bool) -> Iterator[Shape]:
    """One way: the CPU's launches as a bar, the GPU under it, and a heavy line at the end with its time."""
    cpu, gpu = names(way.name, top, narrow)
    yield from (cpu.label, gpu.label, cpu.name)
    end, start = scale(way.step_ms), scale(next(result.timeline(way.name)).start_us / 1e3)
    length = round(max(scale(way.cpu_ms) - scale.start, 1), 2)
    words = f"{way.launches:,} launches" if way.launches > 1 else ""
    yield Bar(scale.start, cpu.y, length, LANE, "solid")
    yield from comb(result, way, scale, cpu.y)
    if width_of(words) + 60 < length:
        room = width_of(words) + 16
        yield Bar(round(scale.start + (length - room) / 2, 2), cpu.y + 1, room, LANE - 2, "plate", words)
    fits = end - start > 150
    solid = back_to_back(result, way)
    said = f"{result.kernels:,} kernels, {'back to back' if solid else 'gaps between'}" if fits else ""
    yield Bar(start, gpu.y, round(max(end - start, 1), 2), LANE, "s-running" if solid else "s-decoding", said,
              "on-running" if solid else "on-wash")
    yield line(end, cpu.y - 4, end, gpu.y + LANE + 4, "ink")
    busy = f"GPU busy {way.busy_percent:.0f}%"
    if narrow:
        yield Text(scale.end, top + 12, f"{say(way.step_ms, 'ms')}, {busy}", "strong", "end")
    else:
        yield Text(end + 10, cpu.y + 14, say(way.step_ms, "ms"), "end halo")
        yield Text(end + 10, gpu.y + 16, busy, "label halo")


def back_to_back(result: LaunchBound, way: Way) -> bool:
    """Whether the GPU hardly waits once its first kernel has started."""
    started_ms = next(result.timeline(way.name)).start_us / 1e3
    return 100 * result.kernel_ms > SOLID * (way.step_ms - started_ms)


def comb(result: LaunchBound, way: Way, scale: Scale, top: float) -> Iterator[Shape]:
    """A paper line where each graph's launch begins, while they can be told apart."""
    starts = [scale(launch.from_us / 1e3) for launch in result.timeline(way.name) if launch.graph]
    if len(starts) > 1 and starts[1] - starts[0] >= 4:
        yield from (line(x, top, x, top + LANE, "plate-line") for x in starts[1:])


@dataclass(frozen=True, slots=True)
class LaneNames:
    """The label of a lane, the name of its group, and the height that the lane starts at."""

    label: Text
    name: Text
    y: float


def names(name: str, top: float, narrow: bool) -> tuple[LaneNames, LaneNames]:
    """CPU and GPU lane of a way; on a phone the way's name stands over them."""
    first = top + (20 if narrow else 2)
    title = Text(0, top + 12 if narrow else first + 14, name, "name")
    return tuple(
        LaneNames(Text(0 if narrow else 84, y + 14, label, "axis"), title, y)
        for label, y in (("CPU", first), ("GPU", first + LANE + (4 if narrow else 8)))
    )


def beginning(result: LaunchBound, width: float, narrow: bool) -> tuple[Drawing, float]:
    """The first launches of each way with their kernels; and the unit of a column in µs."""
    scale = of_the_start(result, width, narrow)
    span = scale.high
    unit = round_unit(span, 8 if narrow else 46)
    group, top = 92, 26
    foot = top + group * 3 - 10
    shapes: list[Shape] = [*columns(scale, unit, top - 4, foot, every=1 if narrow else 5, most=6 if narrow else 12)]
    shapes += leaders(scale, of_the_whole(result, width, narrow), top - 6)
    shapes.append(Text(scale.end if narrow else width, foot + (34 if narrow else 17), "µs", "axis", "end"))
    for place, way in enumerate(result.ways):
        cpu, gpu = names(way.name, top - 2 + group * place, narrow)
        launches = first_launches(result, way.name, span)
        shapes += (cpu.label, gpu.label, cpu.name)
        shapes += cpu_boxes(launches, scale, cpu.y)
        shapes += gpu_boxes(launches, result.kernel_us, scale, gpu.y)
        shapes += brackets(launches, scale, gpu.y + LANE)
    title = f"The first {figures(span)} µs: a kernel of {result.kernel_us:.3g} µs against a launch of " \
            f"{result.launch_us:g} µs."
    return Drawing(width, foot + (38 if narrow else 22), title, tuple(shapes)), unit


def first_launches(result: LaunchBound, name: str, span_us: float) -> list[Launch]:
    """The launches that the CPU begins within this time."""
    return list(takewhile(lambda launch: launch.from_us < span_us, result.timeline(name)))


def leaders(scale: Scale, above: Scale, foot: float) -> Iterator[Shape]:
    """From where the beginning ends in the drawing above to where it ends here."""
    yield line(above.start, 0, scale.start, foot, "leader")
    yield line(above(scale.high / 1e3), 0, scale.end, foot, "leader")


def cpu_boxes(launches: Iterable[Launch], scale: Scale, top: float) -> Iterator[Shape]:
    """Each launch on the CPU: from Python solid and numbered, of a graph hollow with a heavy outline."""
    drawn = list(launches)
    eager_only = not any(launch.graph for launch in drawn)
    for number, launch in enumerate(drawn, 1):
        x, end = scale(launch.from_us), scale(min(launch.to_us, scale.high))
        words = "graph" if launch.graph else str(number) if eager_only else "eager"
        w = round(end - x, 2)
        text = words if width_of(words) + 6 < w else ""
        if launch.graph:
            yield Bar(x + 1, top + 1, round(max(w - 2, 0), 2), LANE - 2, "result", text, "strong")
        else:
            yield Bar(x, top, w, LANE, "solid", text, "on-ink")
            yield line(end, top, end, top + LANE, "plate-line")


def gpu_boxes(launches: Iterable[Launch], kernel_us: float, scale: Scale, top: float) -> Iterator[Shape]:
    """The kernels that the launches bring, idle time between them stippled."""
    free = 0.0
    for launch in launches:
        start, end = min(launch.start_us, scale.high), min(launch.end_us, scale.high)
        if start > free + 1e-9:
            yield Bar(scale(free), top, round(scale(start) - scale(free), 2), LANE, "s-gap", pattern="idle")
        free = max(free, end)
        if end > start:
            yield Bar(scale(start), top, round(scale(end) - scale(start), 2), LANE, "s-running")
            yield from between_kernels(launch, kernel_us, scale, top)
    if free < scale.high:
        yield Bar(scale(free), top, round(scale.end - scale(free), 2), LANE, "s-gap", pattern="idle")


def between_kernels(launch: Launch, kernel_us: float, scale: Scale, top: float) -> Iterator[Shape]:
    """A paper line after each kernel, where they are wide enough to be told apart."""
    pitch = kernel_us * (scale.end - scale.start) / (scale.high - scale.low)
    if pitch < 5:
        return
    for number in range(1, launch.kernels + 1):
        x = launch.start_us + number * kernel_us
        if x > scale.high:
            return
        yield line(scale(x), top, scale(x), top + LANE, "plate-line")


def brackets(launches: Iterable[Launch], scale: Scale, foot: float) -> Iterator[Shape]:
    """An ink bracket under the kernels of each graph, named where there is room."""
    for launch in launches:
        if not launch.graph or launch.start_us >= scale.high or not launch.kernels:
            continue
        x, open_end = scale(launch.start_us), launch.end_us > scale.high
        end = scale(min(launch.end_us, scale.high))
        if end - x < 4:
            continue
        yield Path(f"M{x + 1:g} {foot + 3:g}v5H{end - 1:g}{'' if open_end else 'v-5'}", "ink thin")
        words = f"one graph, {launch.kernels:,} kernel{'s' * (launch.kernels != 1)}"
        if width_of(words) < scale.end - x and width_of(words) < end - x + 20:
            yield Text(x + 3, foot + 22, words, "label halo")


def cases(result: LaunchBound) -> Part:
    """How busy the GPU is eagerly on five machines, with the rules' launch times."""
    solved = {name: solve(**values) for name, values in CASES.items()}
    rows = [
        Row(name, (each.eager.busy_percent,),
            (f"{each.eager.busy_percent:.0f}% of {say(each.eager_ms, 'ms')}",), each == result)
        for name, each in solved.items()
    ]
    return Part("GPU busy, launched eagerly", *both("GPU busy launched eagerly, by machine", ("of the step",), rows),
                words="Whatever makes kernels shorter makes a step launch-bound: a faster GPU, fewer bytes, more GPUs, "
                      "a smaller model. A larger batch or longer contexts make them longer again.")


def thumbnail(result: LaunchBound) -> Drawing:
    """The first launches of eager and full at 216 by 64, without words."""
    scale, shapes = Scale(0, 60, 2, 214), []
    for place, name in enumerate((EAGER, WHOLE)):
        launches = first_launches(result, name, scale.high)
        top = 2 + 34 * place
        shapes += small(cpu_boxes(launches, scale, top), top)
        shapes += small(gpu_boxes(launches, result.kernel_us, scale, top + 14), top + 14)
    return Drawing(216, 64, "A launch for each kernel, and one for all.", tuple(shapes))


def small(shapes: Iterable[Shape], top: float) -> Iterator[Shape]:
    """The bars of a lane, lower and without words."""
    for shape in shapes:
        if isinstance(shape, Bar):
            yield Bar(shape.x, top, shape.w, 11, shape.css, pattern=shape.pattern)
