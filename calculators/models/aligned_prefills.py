"""Aligned prefills: with an interval, all ranks start prefill work in the same steps, and the others stay short."""
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil, exp
from random import Random

from calculators.models.base import Line, Refusal
from calculators.models.quantity import say
from calculators.models.wide_ep import TOY, Load, graph_mode, group_step

STAGGERED, TOGETHER, POISSON = "staggered", "together", "poisson"
INTERVALS = (1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class Step:
    """One engine step of the group: who prefills how much, and what waits at each rank after it.

    `counter` is the one all ranks share; `release` says whether it lets prefill work start. `saturated` are the ranks
    whose queue the guard found not emptied: from the next step on they don't wait for a release.
    """

    step: int
    counter: int
    starts_ms: float
    step_ms: float
    release: bool
    saturated: tuple[bool, ...]
    arrived: tuple[int, ...]
    prefill: tuple[int, ...]
    waiting: tuple[int, ...]
    mode: str


@dataclass(frozen=True, slots=True)
class Summary:
    """A whole run at one interval: step times in ms, decode tokens per second and GPU, mean time to first token."""

    interval: int
    mean_ms: float
    median_ms: float
    p99_ms: float
    max_ms: float
    tokens_per_s: float
    ttft_ms: float | None
    present: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """Every step of a run, its summary, and the same arrivals at other intervals."""

    steps: tuple[Step, ...]
    at_hand: Summary
    intervals: tuple[Summary, ...]
    base_ms: float
    chunks: int
    chunk_steps: int
    lines: tuple[Line, ...] = ()

    @property
    def short_steps(self) -> int:
        """Steps of an interval in which no prefill may start."""
        return self.at_hand.interval - 1

    @property
    def wait_ms(self) -> float:
        """What the interval adds to a prompt's wait on average, in steps without prefill."""
        return self.short_steps / 2 * self.base_ms

    @property
    def rate_gain(self) -> float:
        """The decode rate over that without an interval; 1 where nothing decodes."""
        without = self.intervals[0].tokens_per_s
        return self.at_hand.tokens_per_s / without if without else 1.0

    @property
    def finding(self) -> str:
        """The rate and the wait at this interval, beside those without one."""
        off, now = self.intervals[0], self.at_hand
        words = f"Mean step {say(now.mean_ms, 'ms', 4)}, {now.tokens_per_s:,.0f} tokens/s a GPU"
        first = f", mean TTFT {say(now.ttft_ms, 'ms')}" if now.ttft_ms is not None else ""
        if now.interval == 1:
            return f"{words}{first}."
        return f"{words}{first}; without an interval {say(off.mean_ms, 'ms', 4)} and {off.tokens_per_s:,.0f}."


def simulate(*, ranks: int = 8, decodes: int = 128, prompt_tokens: int = 1_024, arrivals: str = STAGGERED,
             every_steps: int = 8, prefill_schedule_interval: int = 1, saturation_guard: bool = True,
             max_num_batched_tokens: int = 8_192, step_count: int = 240, seed: int = 1) -> Run:
    """Follow a group for so many steps.

    Prefill work starts only where the shared counter divides by the interval, or where nobody decodes; with the guard
    also on a rank that left a prompt untouched when it last could start some. Raises Refusal when the decodes leave no
    room in the budget.
    Source: vllm/v1/engine/core.py, DPEngineCoreProc._should_throttle_prefills; v1/core/sched/scheduler.py,
    prefill_capacity_bound.
    """
    room = max_num_batched_tokens - decodes
    if room < 1:
        raise Refusal(f"{decodes:,} decodes fill the budget of {max_num_batched_tokens:,}: no prompt would ever start.",
                      "max_num_batched_tokens")
    coming = arrivals_of(arrivals, ranks, every_steps, step_count, seed)
    intervals, steps = [], ()
    for interval in sorted({*INTERVALS, prefill_schedule_interval}):
        taken, ttft_ms = follow(coming, decodes, prompt_tokens, room, interval, saturation_guard)
        present = interval == prefill_schedule_interval
        intervals.append(replace(summary_of(interval, taken, ttft_ms, decodes), present=present))
        steps = taken if present else steps
    now = next(each for each in intervals if each.present)
    chunks = ceil(prompt_tokens / room)
    result = Run(steps, now, tuple(intervals), group_step([Load(decodes)]).step_ms, chunks,
                 prefill_schedule_interval * (chunks - 1) + 1 if decodes else chunks)
    return replace(result, lines=tuple(lines_of(result, decodes)))


def arrivals_of(pattern: str, ranks: int, every: int, count: int, seed: int) -> tuple[tuple[int, ...], ...]:
    """Prompts that come to each rank before each step: one every so many steps, staggered, together, or at random."""
    if pattern != POISSON:
        shift = 1 if pattern == STAGGERED else 0
        return tuple(
            tuple(int((step - shift * rank) % every == 0) for rank in range(ranks)) for step in range(count)
        )
    random = Random(seed)
    return tuple(tuple(poisson(random, 1 / every) for _ in range(ranks)) for _ in range(count))


def poisson(random: Random, mean: float) -> int:
    """A Poisson draw, by multiplying uniform ones."""
    product, count = random.random(), 0
    while product > exp(-mean):
        product *= random.random()
        count += 1
    return count


def follow(coming: tuple[tuple[int, ...], ...], decodes: int, prompt_tokens: int, room: int, interval: int,
           guard: bool) -> tuple[tuple[Step, ...], list[float]]:
    """The steps of one run, and each finished prompt's time to first token in ms."""
    ranks = len(coming[0])
    waiting: list[list[list]] = [[] for _ in range(ranks)]  # of [tokens left, when it came]
    steps, ttfts_ms = [], []
    counter, clock, saturated = 0, 0.0, [False] * ranks
    for number, arrived in enumerate(coming):
        for rank, prompts in enumerate(arrived):
            waiting[rank] += [[prompt_tokens, clock] for _ in range(prompts)]
        release = counter % interval == 0 or not decodes
        took, done = [], []
        for rank, queue in enumerate(waiting):
            starts = release or saturated[rank]
            left = room if starts else 0
            while queue and left:
                now = min(queue[0][0], left)
                queue[0][0] -= now
                left -= now
                if not queue[0][0]:
                    done.append(queue.pop(0)[1])
            took.append(room - left if starts else 0)
            if starts:
                untouched = len(queue) - bool(queue and queue[0][0] < prompt_tokens)
                saturated[rank] = guard and untouched > 0
        loads = [Load(decodes, tokens) for tokens in took]
        idle = not decodes and not any(took)
        step_ms = group_step(loads).step_ms
        steps.append(Step(number, counter, clock, step_ms, release, tuple(saturated), arrived, tuple(took),
                          tuple(len(queue) for queue in waiting), graph_mode(loads)))
        clock += step_ms
        ttfts_ms += [clock - since for since in done]
        counter = 0 if idle else counter + 1
    return tuple(steps), ttfts_ms


def summary_of(interval: int, steps: tuple[Step, ...], ttfts_ms: list[float], decodes: int) -> Summary:
    times = sorted(step.step_ms for step in steps)
    mean = sum(times) / len(times)
    return Summary(
        interval, mean, times[(len(times) - 1) // 2], times[ceil(0.99 * len(times)) - 1], times[-1],
        decodes / mean * 1e3, sum(ttfts_ms) / len(ttfts_ms) if ttfts_ms else None,
    )


def lines_of(result: Run, decodes: int) -> Iterator[Line]:
    """What an interval of N comes to: the mean step, the wait it adds, and how long a chunked prompt takes."""
    interval, now = result.at_hand.interval, result.at_hand
    compute = f"max({TOY.floor:g}, {TOY.decode:g} × {decodes:,}) + {TOY.fixed:g}"
    wire = f"{TOY.wire:g} + {TOY.wire_decode:g} × {decodes:,}"
    yield Line("step without prefill", f"{compute} + {wire}", result.base_ms, "ms")
    yield Line("mean step", "", now.mean_ms, "ms")
    yield Line("decode rate", f"{decodes:,} / {now.mean_ms:.1f} ms", now.tokens_per_s, "tokens/s")
    yield Line("added wait, on average", f"({interval} − 1) / 2 × {result.base_ms:.1f}", result.wait_ms, "ms")
    yield Line(f"a prompt of {result.chunks:,} chunk{'s' * (result.chunks > 1)}",
               f"{interval} × ({result.chunks:,} − 1) + 1" if decodes else "", result.chunk_steps,
               "steps" if result.chunk_steps > 1 else "step")


def why(run: Run, step: int, rank: int) -> str:
    """Why a rank prefills what it does in this step."""
    now, interval = run.steps[step], run.at_hand.interval
    before = run.steps[step - 1].waiting[rank] + now.arrived[rank]
    if not before:
        return "nothing waits"
    if not now.release and not run.steps[step - 1].saturated[rank]:
        return f"{before} wait{'s' * (before == 1)}: {now.counter} is no multiple of {interval}"
    if not now.release:
        return "it left prompts behind before, so the interval doesn’t hold it until they are taken"
    rest = now.waiting[rank]
    return f"takes what waits{f', {rest} left over the budget' if rest else ''}"
