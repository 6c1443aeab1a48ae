"""Launches against kernels: a decode step's CPU and GPU lanes run eagerly, in pieces, and as one CUDA graph."""
from collections.abc import Iterator
from dataclasses import dataclass, replace

from calculators.models import catalogue
from calculators.models.base import Line, Refusal
from calculators.models.catalogue import FULL, GPUS, Model
from calculators.models.quantity import say

MODELS = catalogue.MODELS.only(lambda model: model.pattern == (FULL,) and not model.experts)
EAGER, PIECEWISE, WHOLE = "eager", "piecewise", "full"
NEAR = 1.02  # a mode that takes at most so many times the best is good enough
SLIP_APART = 0.04


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch in µs: when the CPU is at it, when the GPU runs what it brings, and how many kernels those are."""

    graph: bool
    from_us: float
    to_us: float
    start_us: float
    end_us: float
    kernels: int


@dataclass(frozen=True, slots=True)
class Way:
    """One way to launch a step.

    `rule_ms` is the slower of CPU and GPU; `step_ms` follows each launch, so it holds the latency of the first or the
    last as well. `busy_percent` is the GPU's share of it, `speed_up` that against eager.
    """

    name: str
    launches: int
    cpu_ms: float
    rule_ms: float
    rule_busy_percent: float
    step_ms: float
    busy_percent: float
    speed_up: float


@dataclass(frozen=True, slots=True)
class LaunchBound:
    """A step three ways.

    `kernel_us` is the mean kernel, never under the floor; `enough` the first way that is about as fast as the best.
    """

    layers: int
    kernels: int
    pieces: int
    eager_ops: int
    kernel_us: float
    kernel_ms: float
    launch_us: float
    piece_us: float
    full_us: float
    eager: Way
    piecewise: Way
    full: Way
    enough: str
    verdict: str
    lines: tuple[Line, ...] = ()
    slips: tuple[tuple[float, str], ...] = ()

    @property
    def ways(self) -> tuple[Way, Way, Way]:
        return self.eager, self.piecewise, self.full

    @property
    def gpu_ms(self) -> float:
        """All kernels of a step back to back: the GPU's lane, whichever way they are launched."""
        return self.kernel_ms

    @property
    def eager_ms(self) -> float:
        return self.eager.step_ms

    @property
    def piecewise_ms(self) -> float:
        return self.piecewise.step_ms

    @property
    def full_ms(self) -> float:
        return self.full.step_ms

    @property
    def finding(self) -> str:
        """The three steps in one sentence."""
        return (f"{self.kernels:,} kernels take {say(self.eager_ms, 'ms')} eagerly, {say(self.piecewise_ms, 'ms')} in "
                f"pieces and {say(self.full_ms, 'ms')} as one graph; the GPU is busy {self.eager.busy_percent:.0f}%, "
                f"{self.piecewise.busy_percent:.0f}% and {self.full.busy_percent:.0f}%.")

    def timeline(self, name: str) -> Iterator[Launch]:
        """The launches of a way in order, each with what it brings to the GPU."""
        cpu = gpu = 0.0
        for graph, takes, kernels in self.plan(name):
            start = max(cpu + takes, gpu)
            gpu = start + kernels * self.kernel_us
            yield Launch(graph, cpu, cpu + takes, start, gpu, kernels)
            cpu += takes

    def plan(self, name: str) -> Iterator[tuple[bool, float, int]]:
        """Launch by launch: whether it is a graph, its µs on the CPU, and its kernels.

        In pieces the kernels outside attention are spread evenly over the graphs.
        """
        if name == WHOLE:
            yield True, self.full_us, self.kernels
        elif name == EAGER:
            yield from ((False, self.launch_us, 1) for _ in range(self.kernels))
        else:
            captured = self.kernels - self.eager_ops * self.layers
            for piece in range(self.pieces):
                if piece:
                    yield from ((False, self.launch_us, 1) for _ in range(self.eager_ops))
                yield True, self.piece_us, (piece + 1) * captured // self.pieces - piece * captured // self.pieces


def solve(*, model: str = "llama-3.1-8b", gpu: str = "b200", weight_bits: int = 8, tensor_parallel_size: int = 1,
          sequences: int = 1, context_tokens: int = 0, kernels_per_layer: int = 12, kernels_outside: int = 8,
          launch_us: float = 6, piece_us: float = 8, full_us: float = 10, eager_ops: int = 3, floor_us: float = 1.5,
          layers: int | None = None, kernel_ms: float | None = None) -> LaunchBound:
    """Follow each launch of one decode step: it ends after the one before it, its kernels start after it and them.

    Kernels = layers * a layer's + outside. Together they take the longer of reading weights and KV and of computing, at
    the datasheet's peaks, and each at least the floor. In pieces: layers + 1 graphs, between them the eager operations
    around attention. Counts and launch times are rules of thumb; the rest is exact for them.
    Raises Refusal when a layer has fewer kernels than run eagerly around its attention.
    """
    if eager_ops > kernels_per_layer:
        raise Refusal(f"A layer has {kernels_per_layer} kernels; takes at most so many.", "eager_ops")
    shape = MODELS[model]
    depth = layers or shape.layers
    count = depth * kernels_per_layer + kernels_outside
    summed = kernel_ms or max(read_ms(shape, gpu, weight_bits, tensor_parallel_size, sequences, context_tokens),
                              compute_ms(shape, gpu, weight_bits, tensor_parallel_size, sequences))
    mean_us = max(summed * 1e3 / count, floor_us)
    blank = Way("", 0, 0, 0, 0, 0, 0, 0)
    result = LaunchBound(
        layers=depth, kernels=count, pieces=depth + 1, eager_ops=eager_ops, kernel_us=mean_us,
        kernel_ms=mean_us * count / 1e3, launch_us=launch_us, piece_us=piece_us, full_us=full_us,
        eager=blank, piecewise=blank, full=blank, enough="", verdict="",
    )
    eager = way(result, EAGER, None)
    result = replace(result, eager=eager, piecewise=way(result, PIECEWISE, eager), full=way(result, WHOLE, eager))
    best = min(each.step_ms for each in result.ways)
    result = replace(result, enough=next(each.name for each in result.ways if each.step_ms <= NEAR * best))
    if kernel_ms:
        origin = "measured"
    elif mean_us == floor_us:
        origin = f"{count:,} × {floor_us:g} µs"
    else:
        origin = sum_words(shape, gpu, weight_bits, tensor_parallel_size, sequences, context_tokens)
    return replace(result, verdict=verdict(result), lines=lines_of(result, kernels_per_layer, kernels_outside, origin),
                   slips=slips_of(result))


def weight_gb(shape: Model, weight_bits: int) -> float:
    """GB of the weights, all in this format, from parameters to three figures as they are said."""
    return float(f"{shape.parameters:.3g}") * weight_bits / 8e9


def kv_gb(shape: Model, ranks: int, tokens: int) -> float:
    """GB of KV that one rank reads: its heads, at least one."""
    return shape.kv_bytes_per_token * -(-shape.kv_heads // ranks) / shape.kv_heads * tokens / 1e9


def read_ms(shape: Model, gpu: str, weight_bits: int, ranks: int, sequences: int, context: int) -> float:
    """Time to read a rank's weights and the KV of its sequences; ms."""
    return (weight_gb(shape, weight_bits) / ranks + kv_gb(shape, ranks, sequences * context)) / GPUS[gpu].tb_per_s


def compute_ms(shape: Model, gpu: str, weight_bits: int, ranks: int, sequences: int) -> float:
    """Time of the linear layers' products for one token a sequence; ms. Four-bit weights compute in BF16."""
    rate = GPUS[gpu].tflop_per_s(catalogue.FP8 if weight_bits == 8 else catalogue.BF16)
    return 2 * shape.parameters * sequences / ranks / rate / 1e9


def sum_words(shape: Model, gpu: str, weight_bits: int, ranks: int, sequences: int, context: int) -> str:
    """Where the kernels' sum comes from, with its numbers."""
    many = f"{ranks} × " if ranks > 1 else ""
    compute = compute_ms(shape, gpu, weight_bits, ranks, sequences)
    if compute > read_ms(shape, gpu, weight_bits, ranks, sequences, context):
        rate = GPUS[gpu].tflop_per_s(catalogue.FP8 if weight_bits == 8 else catalogue.BF16)
        return f"2 × {shape.parameters / 1e9:.3g}e9 × {sequences:,} / {many}{rate:g} TFLOP/s"
    weights, kv = weight_gb(shape, weight_bits), kv_gb(shape, ranks, sequences * context)
    divided = f"{weights:.4g} GB / {ranks}" if ranks > 1 else f"{weights:.4g} GB"
    total = f"({divided} + {kv:.3g} GB)" if kv else divided
    return f"{total} / {GPUS[gpu].tb_per_s:g} TB/s"


def way(result: LaunchBound, name: str, eager: Way | None) -> Way:
    """The whole of one way, from its launches."""
    launches = tuple(result.timeline(name))
    last = launches[-1]
    cpu, step = last.to_us / 1e3, last.end_us / 1e3
    rule = max(cpu, result.kernel_ms)
    return Way(
        name=name, launches=len(launches), cpu_ms=cpu, rule_ms=rule, rule_busy_percent=100 * result.kernel_ms / rule,
        step_ms=step, busy_percent=100 * result.kernel_ms / step, speed_up=eager.step_ms / step if eager else 1.0,
    )


def verdict(result: LaunchBound) -> str:
    """Whether launches set the pace, and which mode is enough, in sentences."""
    kernel = f"A mean kernel takes {result.kernel_us:.3g} µs and its launch {result.launch_us:g}"
    busy = result.eager.busy_percent
    if result.enough == EAGER:
        return f"{kernel}: the GPU is busy {busy:.0f}% already, so graphs gain next to nothing in the pace."
    eager = f"{kernel}: eagerly the CPU sets the pace and the GPU is busy {busy:.0f}%."
    if result.enough == PIECEWISE:
        return f"{eager} Piecewise is enough, {result.piecewise.speed_up:.2f}× as fast; full gains nothing more."
    return (f"{eager} In pieces the CPU is still the slower, {result.piecewise.busy_percent:.0f}% busy: only full "
            f"reaches {result.full.speed_up:.2f}×.")


def lines_of(result: LaunchBound, per_layer: int, outside: int, origin: str) -> tuple[Line, ...]:
    """Launches, kernels and the three steps with their numbers filled in."""
    eager, piecewise, full = result.ways
    between = result.eager_ops * result.layers
    latency = piecewise.step_ms - piecewise.rule_ms
    return (
        Line("kernels", f"{result.layers} × {per_layer} + {outside}", result.kernels),
        Line("eager, CPU", f"{result.kernels:,} × {result.launch_us:g} µs", eager.cpu_ms, "ms"),
        Line("kernels, GPU", origin, result.kernel_ms, "ms"),
        Line("eager step", f"max({ms(eager.cpu_ms)} + {ms(result.kernel_us / 1e3)}, {ms(result.kernel_ms)} + "
                           f"{ms(result.launch_us / 1e3)})", eager.step_ms, "ms", total=True),
        Line("piecewise, CPU", f"{result.pieces} × {result.piece_us:g} + {between:,} × {result.launch_us:g} µs",
             piecewise.cpu_ms, "ms"),
        Line("piecewise step", f"max({ms(piecewise.cpu_ms)}, {ms(result.kernel_ms)}) + {ms(latency)}",
             piecewise.step_ms, "ms", total=True),
        Line("full step", f"{ms(result.full_us / 1e3)} + {ms(result.kernel_ms)}", full.step_ms, "ms", total=True),
        Line("piecewise gains", f"{ms(eager.step_ms)} / {ms(piecewise.step_ms)}", piecewise.speed_up, "×"),
        Line("full gains", f"{ms(eager.step_ms)} / {ms(full.step_ms)}", full.speed_up, "×"),
    )


def ms(value: float) -> str:
    """Three decimals, as the lines' terms are written."""
    return f"{value:,.3f}"


def slips_of(result: LaunchBound) -> tuple[tuple[float, str], ...]:
    """The wrong piecewise steps (ms) that people reach, and what each is; none that lies near the right one."""
    right, piecewise = result.piecewise_ms, result.piecewise
    slips = (
        (result.eager.step_ms, "That is the eager step: every kernel launched on its own."),
        (piecewise.cpu_ms + result.kernel_ms, "That adds launches and kernels. The CPU runs ahead of the GPU: take the "
                                              "slower of the two."),
        (result.pieces * result.piece_us / 1e3, "That is the graphs' launches alone, without the eager ones around "
                                                "attention."),
        (piecewise.cpu_ms, "That is the CPU's part; the kernels take longer than all launches."),
        (result.kernel_ms, "That is the GPU's part; the launches take longer than all kernels."),
        (result.full_us / 1e3, "That is one launch. A graph still runs every kernel."),
    )
    return tuple((value, words) for value, words in slips if abs(value / right - 1) > SLIP_APART)
