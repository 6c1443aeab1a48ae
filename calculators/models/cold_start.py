"""A cold start: how long from the process to the first token, phase by phase, and what a cache takes off it."""
from dataclasses import dataclass, replace

from calculators.models.base import Line
from calculators.models.quantity import say

NODE, RANK = "node", "rank"
O0, O1, O2 = "O0", "O1", "O2"
NVME_GB_PER_S, PAGE_CACHE_GB_PER_S = 6.0, 20.0
PIECEWISE_SHARE = 0.5  # of the capture: each size is captured twice with full graphs
SLIP_APART = 0.03


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase in seconds, what of it can be kept between starts, and the line that it logs."""

    name: str
    seconds: float
    expression: str
    kept: str
    logs: str


@dataclass(frozen=True, slots=True)
class Change:
    """The start with one thing changed."""

    name: str
    seconds: float
    phases: tuple[Phase, ...]
    meets: bool
    present: bool = False


@dataclass(frozen=True, slots=True)
class ColdStart:
    """Seconds to the first token, where they go, and the same with caches."""

    total_s: float
    engine_s: float
    each_rank_gb: float
    largest: str
    largest_s: float
    meets: bool
    phases: tuple[Phase, ...]
    changes: tuple[Change, ...]
    finding: str
    change_verdict: str
    engine_verdict: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]

    @property
    def spared_s(self) -> float:
        """What -O0 would leave out of this start: compilation and capture, in seconds."""
        return sum(phase.seconds for phase in self.phases if phase.name in ("compile", "graph capture"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The inputs of one start."""

    init_s: float
    weight_gb: float
    gb_per_s: float
    readers: int
    compiles_s: float
    profile_s: float
    capture_sizes: int
    capture_s_per_size: float
    warm_up_s: float
    level: str
    cached: bool


def solve(*, weight_gb: float = 141.1, read_gb_per_s: float = 1, rate_of: str = NODE, tensor_parallel_size: int = 4,
          compile_cache: bool = False, cold_compile_s: float = 60, warm_compile_s: float = 5, level: str = O2,
          capture_sizes: int = 51, capture_s_per_size: float = 0.392, init_s: float = 15, profile_s: float = 5,
          warm_up_s: float = 5, target_s: float = 90) -> ColdStart:
    """Add up a start: processes, weights, compilation, profile and KV plan, graph capture, warm-up.

    The rate is of the storage that all ranks share, or of each rank's own. Captures are never kept on disk: they hold
    addresses of this process. Every number but the sum is an example to be replaced by one's own log's.
    Source: vllm 0.33.0, v1/worker/gpu_worker.py; compilation/backends.py; v1/engine/core.py.
    """
    start = Start(
        init_s=init_s, weight_gb=weight_gb, gb_per_s=read_gb_per_s,
        readers=tensor_parallel_size if rate_of == RANK else 1,
        compiles_s=warm_compile_s if compile_cache else cold_compile_s, profile_s=profile_s,
        capture_sizes=capture_sizes, capture_s_per_size=capture_s_per_size, warm_up_s=warm_up_s, level=level,
        cached=compile_cache,
    )
    phases = phases_of(start)
    total = sum(phase.seconds for phase in phases)
    largest = max(phases, key=lambda phase: phase.seconds)
    engine = sum(phase.seconds for phase in phases[2:])
    changes = changes_of(start, warm_compile_s, target_s)
    working = [change.name for change in changes if change.meets and not change.present]
    met = total <= target_s
    return ColdStart(
        total_s=total, engine_s=engine, each_rank_gb=weight_gb / tensor_parallel_size, largest=largest.name,
        largest_s=largest.seconds, meets=met, phases=phases, changes=changes,
        finding=f"{say(total, 's')} to the first token, {say(largest.seconds, 's')} of them {largest.name}.",
        change_verdict=change_verdict(met, working, total, target_s),
        engine_verdict=f"The engine’s own line, “init engine took”, will say {say(engine, 's')}: it starts counting "
                       "behind the weights.",
        lines=(*(Line(phase.name, phase.expression, phase.seconds, "s") for phase in phases),
               Line("to the first token", "", total, "s", total=True)),
        slips=slips_of(phases, total, engine),
    )


def phases_of(start: Start) -> tuple[Phase, ...]:
    """The phases in the order of the code."""
    reads = f"{start.weight_gb:g} GB / {start.gb_per_s:g} GB/s"
    if start.readers > 1:
        reads = f"{start.weight_gb:g} GB / ({start.readers:,} × {start.gb_per_s:g} GB/s)"
    share = {O0: 0.0, O1: PIECEWISE_SHARE, O2: 1.0}[start.level]
    captures = start.capture_sizes * start.capture_s_per_size * share
    sizes = f"{start.capture_sizes:,} sizes × {start.capture_s_per_size:g} s" if share else "none at -O0"
    return (
        Phase("processes, NCCL", start.init_s, "", "no", "Initializing a V1 LLM engine"),
        Phase("weights", start.weight_gb / start.gb_per_s / start.readers, reads, "page cache, local disk",
              "Model loading took"),
        Phase("compile", 0.0 if start.level == O0 else start.compiles_s,
              "none at -O0" if start.level == O0 else "from the cache" if start.cached else "cold",
              "on disk, for the same build, GPU and flags", "torch.compile took"),
        Phase("profile, KV plan", start.profile_s, "", "a start-up plan skips the measuring",
              "Available KV cache memory"),
        Phase("graph capture", captures, f"{sizes}, piecewise alone" if share == PIECEWISE_SHARE else sizes,
              "never: graphs hold addresses", "Graph capturing finished"),
        Phase("warm-up", start.warm_up_s, "", "Triton’s and the autotuner’s results", "init engine took"),
    )


def changes_of(start: Start, warm_compile_s: float, target_s: float) -> tuple[Change, ...]:
    """The start as it is, and with what can be cached or left out; what it has already is left out."""
    nvme, page = (replace(start, gb_per_s=rate, readers=1) for rate in (NVME_GB_PER_S, PAGE_CACHE_GB_PER_S))
    compiled = {"compiles_s": warm_compile_s, "cached": True}
    rate = start.gb_per_s * start.readers
    named = [("as it is", start)]
    if rate < NVME_GB_PER_S:
        named.append((f"weights from NVMe, {NVME_GB_PER_S:g} GB/s", nvme))
    if rate < PAGE_CACHE_GB_PER_S:
        named.append((f"from the page cache, {PAGE_CACHE_GB_PER_S:g} GB/s", page))
    if not start.cached and start.level != O0:
        named.append(("compile cache kept", replace(start, **compiled)))
        if rate < NVME_GB_PER_S:
            named.append(("NVMe and compile cache", replace(nvme, **compiled)))
    if start.level != O0:
        named.append(("-O0: neither compiled nor captured", replace(start, level=O0)))
    made = [(name, phases_of(each)) for name, each in named]
    return tuple(
        Change(name, total, phases, total <= target_s, present=number == 0)
        for number, (name, phases) in enumerate(made) for total in [sum(phase.seconds for phase in phases)]
    )


def change_verdict(met: bool, working: list[str], total: float, target_s: float) -> str:
    """Whether the target is met and what would meet it, in a sentence."""
    if met:
        return f"That is within {say(target_s, 's')}."
    if working:
        return f"Over {say(target_s, 's')} by {say(total - target_s, 's')}. What meets it: {'; or '.join(working)}."
    return (f"Over {say(target_s, 's')} by {say(total - target_s, 's')}, and no cache here meets it; a standby in "
            "sleep mode would, since it avoids the start.")


def slips_of(phases: tuple[Phase, ...], total: float, engine: float) -> tuple[tuple[float, str], ...]:
    """The totals that people reach and what each leaves out."""
    by_name = {phase.name: phase.seconds for phase in phases}
    slips = (
        (engine, "That is what “init engine took” covers. It starts counting behind the weights."),
        (by_name["weights"], "That is the weights alone. Compilation and capture wait for nobody."),
        (total - by_name["graph capture"], "That leaves out the capture. Graphs are captured anew at every start."),
        (total - by_name["compile"], "That leaves out compilation, which the first profile run triggers."),
    )
    return tuple((value, sentence) for value, sentence in slips
                 if value > 0 and total and abs(value / total - 1) > SLIP_APART)
