"""The engine's loop in time: what the CPU does between two steps of the GPU, in series or beside them."""
from collections.abc import Iterator
from dataclasses import dataclass

from calculators.models.base import Line, Refusal

NONE, BEFORE, AFTER, READ_BACK = "none", "before", "after", "read-back"
CPU, WORKER, GPU = "CPU", "worker", "GPU"
ONE, SEPARATE = "one", "separate"
IN_FLIGHT = 2  # steps that the batch queue holds
SETTLED = 64  # steps after which a loop that no closed form is known for has found its pace
SLIP_APART = 0.05
BOUNDS = {
    "gpu": "GPU-bound", "between": "a gap between the steps", "inside": "gaps inside the step",
    "front": "the front end",
}


@dataclass(frozen=True, slots=True)
class Times:
    """The parts of a step, in ms: CPU before and after the GPU, forward and sampling, mask, and where the CPU blocks.

    `post` is what of `schedule` is left after a blocking read; `launch` what of it a worker process does.
    """

    schedule: float
    output: float
    forward: float
    sample: float
    mask: float = 0
    hidden: str = NONE
    post: float = 0
    launch: float | None = None

    @property
    def gpu(self) -> float:
        return self.forward + self.sample

    @property
    def cpu(self) -> float:
        return self.schedule + self.output


@dataclass(frozen=True, slots=True)
class Span:
    """One piece of work on a lane: schedule, launch, wait, output or mask on the CPU, forward or sample on the GPU."""

    lane: str
    what: str
    number: int
    start_ms: float
    end_ms: float


@dataclass(frozen=True, slots=True)
class Mode:
    """One way to run the loop: the lanes of its steps, their time, and the pace that it settles to.

    `exposed_ms` is the part of a settled step in which the GPU waits. `tokens_per_s` counts one token a sequence.
    """

    spans: tuple[Span, ...]
    total_ms: float
    busy_percent: float
    period_ms: float
    steady_busy_percent: float
    exposed_ms: float
    tokens_per_s: float


@dataclass(frozen=True, slots=True)
class EngineLoop:
    """The loop that waits beside the one that overlaps; `gain` is the ratio of their settled periods.

    `most_gain` is what any mending of the CPU could give to the loop in use.
    """

    sync: Mode
    overlapped: Mode
    gain: float
    most_gain: float
    exposed_cpu_ms: float
    schedule_in_all_ms: float
    tokens_per_s: float
    binds: str
    verdict: str
    finding: str
    sync_lines: tuple[Line, ...]
    overlapped_lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]

    @property
    def lines(self) -> tuple[Line, ...]:
        return self.sync_lines + self.overlapped_lines

    @property
    def async_total_ms(self) -> float:
        return self.overlapped.total_ms

    @property
    def async_period_ms(self) -> float:
        return self.overlapped.period_ms

    @property
    def async_busy_percent(self) -> float:
        return self.overlapped.steady_busy_percent

    @property
    def binds_words(self) -> str:
        return BOUNDS[self.binds]


def solve(*, sched_ms: float = 1.2, out_ms: float = 1.0, gpu_ms: float = 5.0, n_steps: int = 4, batch: int = 64,
          async_scheduling: bool = True, hidden_sync: str = NONE, sync_post_ms: float = 0.4, sample_ms: float = 0.5,
          mask_ms: float = 0.0, cuda_graphs: bool = True, launches: int = 328, launch_us: float = 6.0,
          processes: str = ONE, launch_ms: float = 0.6, api_servers: int = 1,
          api_tokens_per_s: float = 20_000) -> EngineLoop:
    """Follow `n_steps` steps of a decode batch through the CPU's and the GPU's lane, waiting and overlapping.

    `sched_ms` is scheduling, input preparation and launch; without CUDA graphs each kernel's launch is added to it.
    A loop that waits takes s + g + o a step. One that overlaps holds two steps: max(g, s + o), where a blocking read in
    input preparation makes it max(g + s_post, s + o), and a grammar's mask max(max(f, o + m) + p, s + o + m).
    Exact for the model. Source: vllm 0.33.0, v1/engine/core.py, step and step_with_batch_queue.
    Raises Refusal for parts that are longer than the whole, and for lanes that the model does not know.
    """
    launched = 0.0 if cuda_graphs else launches * launch_us / 1e3
    times = Times(sched_ms + launched, out_ms, gpu_ms - sample_ms, sample_ms, mask_ms, hidden_sync, sync_post_ms,
                  None if processes == ONE else launch_ms + launched)
    refuse(times, sched_ms, gpu_ms, launch_ms)
    waits, overlaps = (mode(times, overlap, n_steps, batch) for overlap in (False, True))
    used = overlaps if async_scheduling else waits
    front = api_servers * api_tokens_per_s
    binds = what_binds(used, times, launched, front)
    return EngineLoop(
        sync=waits, overlapped=overlaps, gain=waits.period_ms / overlaps.period_ms,
        most_gain=used.period_ms / gpu_ms, exposed_cpu_ms=used.exposed_ms, schedule_in_all_ms=times.schedule,
        tokens_per_s=min(used.tokens_per_s, front), binds=binds,
        verdict=verdict(used, times, binds, front, async_scheduling),
        finding=f"{n_steps:,} steps take {waits.total_ms:,.4g} ms one after the other and {overlaps.total_ms:,.4g} ms "
                f"overlapped; the GPU is busy {waits.busy_percent:.1f}% and {overlaps.busy_percent:.1f}%.",
        sync_lines=lines_of(times, waits, n_steps, batch, overlap=False),
        overlapped_lines=lines_of(times, overlaps, n_steps, batch, overlap=True),
        slips=slips_of(times, waits, overlaps, n_steps),
    )


def refuse(times: Times, schedule: float, gpu: float, launch: float) -> None:
    if times.sample > gpu:
        raise Refusal(f"Sampling is a part of the GPU's step: takes at most its {gpu:g} ms.", "sample_ms")
    if times.hidden in (BEFORE, AFTER) and times.post > times.schedule:
        raise Refusal(f"What comes after the read is a part of schedule and launch: takes at most {times.schedule:g} "
                      "ms.", "sync_post_ms")
    if times.launch is None:
        return
    if launch > schedule:
        raise Refusal(f"What the worker does is a part of schedule and launch: takes at most {schedule:g} ms.",
                      "launch_ms")
    if times.hidden != NONE or times.mask:
        raise Refusal("With worker processes the lab follows neither a hidden sync nor a mask; takes one process for "
                      "those.", "processes")


def mode(times: Times, overlap: bool, steps: int, batch: int) -> Mode:
    """The loop run for so many steps, and its settled pace."""
    spans = follow(times, overlap, steps)
    total = max(span.end_ms for span in spans)
    busy = sum(span.end_ms - span.start_ms for span in spans if span.lane == GPU)
    settled = pace(times, overlap)
    return Mode(
        spans=spans, total_ms=total, busy_percent=100 * busy / total, period_ms=settled,
        steady_busy_percent=min(100 * times.gpu / settled, 100), exposed_ms=round(max(settled - times.gpu, 0), 9),
        tokens_per_s=batch / settled * 1e3,
    )


def pace(times: Times, overlap: bool) -> float:
    """The settled time of a step, in ms: the closed form, or where there is none what the lanes settle to."""
    if (terms := closed_form(times, overlap)) is not None:
        return round(terms, 9)
    ends = [span.end_ms for span in follow(times, overlap, SETTLED) if span.what == "output"]
    first, last = SETTLED // 4, 3 * SETTLED // 4  # the last steps have nothing more to schedule
    return round((ends[last] - ends[first]) / (last - first), 9)


def closed_form(times: Times, overlap: bool) -> float | None:
    """The settled period where one cause alone is at work, in ms; None where causes meet."""
    s, o, f, p, m = times.schedule, times.output, times.forward, times.sample, times.mask
    if not overlap or times.hidden == READ_BACK:
        return None if times.hidden == AFTER and m else s + max(f, m) + p + o
    if times.launch is not None:
        return max(f + p, s - times.launch + o, times.launch, (s + o + f + p) / 2)
    if m:
        return max(max(f, o + m) + p, s + o + m) if times.hidden == NONE else None
    if times.hidden == BEFORE:
        return max(f + p + times.post, s + o)
    if times.hidden == AFTER:
        return f + times.post + max(p, o + s - times.post)
    return max(f + p, s + o)


def follow(times: Times, overlap: bool, steps: int) -> tuple[Span, ...]:
    """The lanes of so many steps, in the order of the CPU's work."""
    lanes = Lanes(times)
    deep = IN_FLIGHT if overlap and times.hidden != READ_BACK else 1
    scheduled = 0
    for read in range(1, steps + 1):
        while scheduled < steps and scheduled - read + 1 < deep:
            scheduled += 1
            lanes.schedule(scheduled)
            if scheduled == 1 or deep == 1:
                lanes.draw(scheduled)
        lanes.read_out(read)
        if deep > 1 and scheduled > read:
            lanes.draw(scheduled)
    return tuple(lanes.spans)


class Lanes:
    """The lanes while they are filled: when each is free next, and what was done on it."""

    def __init__(self, times: Times) -> None:
        self.times = times
        self.spans: list[Span] = []
        self.cpu = self.worker = self.gpu = 0.0
        self.forwarded: dict[int, float] = {}
        self.sampled: dict[int, float] = {}

    def put(self, lane: str, what: str, step: int, start: float, span: float) -> float:
        """The time at which a piece of work ends; one that takes no time leaves no trace."""
        start, end = round(start, 9), round(start + span, 9)
        if end > start:
            self.spans.append(Span(lane, what, step, start, end))
        return end

    def schedule(self, step: int) -> None:
        """Schedule a step and launch its forward; a read that blocks makes the CPU wait on the way."""
        times, blocked = self.times, self.times.hidden in (BEFORE, AFTER)
        if times.launch is not None:
            self.cpu = self.put(CPU, "schedule", step, self.cpu, times.schedule - times.launch)
            self.worker = self.put(WORKER, "launch", step, max(self.cpu, self.worker), times.launch)
            self.forward(step, self.worker)
        else:
            self.cpu = self.put(CPU, "schedule", step, self.cpu, times.schedule - (times.post if blocked else 0))
        if times.hidden == AFTER:
            self.forward(step, self.cpu)
            self.wait(step, self.forwarded[step])
        elif times.hidden == BEFORE:
            self.wait(step, self.gpu)
        if blocked:
            self.cpu = self.put(CPU, "schedule", step, self.cpu, times.post)
        if step not in self.forwarded:
            self.forward(step, self.cpu)
        if not times.mask:
            self.sample(step, self.cpu if times.hidden == AFTER else 0)

    def wait(self, step: int, until: float) -> None:
        self.cpu = self.put(CPU, "wait", step, self.cpu, max(until - self.cpu, 0))

    def forward(self, step: int, launched: float) -> None:
        self.gpu = self.forwarded[step] = self.put(GPU, "forward", step, max(launched, self.gpu), self.times.forward)

    def sample(self, step: int, launched: float) -> None:
        self.gpu = self.sampled[step] = self.put(GPU, "sample", step, max(launched, self.gpu), self.times.sample)

    def draw(self, step: int) -> None:
        """Build the step's mask, now that the tokens before it are known, and launch its sampling."""
        if self.times.mask:
            self.cpu = self.put(CPU, "mask", step, self.cpu, self.times.mask)
            self.sample(step, self.cpu)

    def read_out(self, step: int) -> None:
        start = max(self.cpu, self.sampled[step])
        self.cpu = self.put(CPU, "output", step, start, self.times.output)


def what_binds(used: Mode, times: Times, launched: float, front: float) -> str:
    """What sets the pace of the loop in use: a key of BOUNDS."""
    if used.tokens_per_s > front:
        return "front"
    if used.exposed_ms < 0.005 * used.period_ms:
        return "gpu"
    return "inside" if launched > times.gpu else "between"


def verdict(used: Mode, times: Times, binds: str, front: float, overlapped: bool) -> str:
    """What that means, in sentences."""
    if binds == "front":
        return (f"The engine could give {used.tokens_per_s:,.0f} tokens/s; the API servers pass on {front:,.0f}. More "
                "of them, or fewer and larger pieces to stream.")
    if binds == "gpu":
        return "The GPU never waits: nothing that the CPU does is seen in the step."
    most = f"{used.period_ms / times.gpu:.2f}× over this loop is the most that mending the CPU can give"
    shown = f"The GPU waits {used.exposed_ms:.3g} ms of each {used.period_ms:.3g} ms step; {most}."
    if binds == "inside":
        return f"{shown} The launches alone take longer than the kernels: CUDA graphs."
    return shown if overlapped else f"{shown} Overlap alone gives {used.period_ms / pace(times, True):.2f}×."


def lines_of(times: Times, made: Mode, steps: int, batch: int, overlap: bool) -> tuple[Line, ...]:
    """Total, share and pace with their numbers filled in; a total that only the lanes give has no expression."""
    name = "async" if overlap else "sync"
    return (
        Line(f"{steps:,} steps, {name}", total_words(times, steps, overlap), made.total_ms, "ms"),
        Line(f"GPU busy, {name}", f"{steps:,} × {times.gpu:g} / {made.total_ms:,.4g}", made.busy_percent, "%"),
        Line(f"steady period, {name}", period_words(times, overlap), made.period_ms, "ms"),
        Line(f"steady busy, {name}", f"{times.gpu:g} / {made.period_ms:.4g}", made.steady_busy_percent, "%"),
        Line(f"tokens, {name}", f"{batch:,} / {made.period_ms:.4g} ms", made.tokens_per_s, "tokens/s"),
    )


def total_words(times: Times, steps: int, overlap: bool) -> str:
    s, o, g = times.schedule, times.output, times.gpu
    if times.mask or times.launch is not None:
        return ""
    if not overlap or times.hidden == READ_BACK:
        return f"{steps:,} × ({s:g} + {g:g} + {o:g})"
    return f"{s:g} + {steps:,} × {g:g} + {o:g}" if times.hidden == NONE and s + o <= g else ""


def period_words(times: Times, overlap: bool) -> str:
    """The closed form with its numbers; "" where causes meet."""
    s, o, f, p, m = (f"{value:g}" for value in (times.schedule, times.output, times.forward, times.sample, times.mask))
    g, post = f"{times.gpu:g}", f"{times.post:g}"
    if closed_form(times, overlap) is None:
        return ""
    if not overlap or times.hidden == READ_BACK:
        return f"{s} + max({f}, {m}) + {p} + {o}" if times.mask else f"{s} + {g} + {o}"
    if times.launch is not None:
        return f"max({g}, {times.schedule - times.launch:g} + {o}, {times.launch:g}, ({s} + {o} + {g}) / 2)"
    if times.mask:
        return f"max(max({f}, {o} + {m}) + {p}, {s} + {o} + {m})"
    if times.hidden == BEFORE:
        return f"max({g} + {post}, {s} + {o})"
    if times.hidden == AFTER:
        return f"{f} + {post} + max({p}, {o} + {times.schedule - times.post:g})"
    return f"max({g}, {s} + {o})"


def slips_of(times: Times, waits: Mode, overlaps: Mode, steps: int) -> tuple[tuple[float, str], ...]:
    """Wrong values (ms or %) that people reach and what each is instead; none near what one of the views asks."""
    s, o, g = times.schedule, times.output, times.gpu
    slips = (
        (waits.total_ms, "That is the loop that waits: each step's CPU time added to the GPU's."),
        (steps * g, "That is the GPU's time alone. The first step must be scheduled before it starts, and the last "
                    "one's output comes after it."),
        (s + steps * g, "That leaves out the output of the last step, which nothing hides."),
        (g, "That is the GPU's step, as if nothing kept it waiting."),
        (waits.period_ms, "That is the step of the loop that waits: schedule, GPU and output in a row."),
        (s + o, "That is the CPU's share of a step."),
        (waits.steady_busy_percent, "That is the GPU's share in the loop that waits."),
        (100.0, "Overlap hides the CPU only while it is the shorter of the two."),
    )
    asked = (overlaps.total_ms, overlaps.period_ms, overlaps.steady_busy_percent)
    return tuple(far(slips, asked))


def far(slips: tuple[tuple[float, str], ...], asked: tuple[float, ...]) -> Iterator[tuple[float, str]]:
    for value, sentence in slips:
        if value and all(abs(value / right - 1) > SLIP_APART for right in asked):
            yield value, sentence
