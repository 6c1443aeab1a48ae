"""One request under async scheduling: what is computed, what is known, and the count that stands for what is not."""
from dataclasses import dataclass

from calculators.models.base import Line

PREFILL = 1


@dataclass(frozen=True, slots=True)
class Step:
    """The request after one event: tokens computed, tokens known and placeholders; `need` is what is scheduled next."""

    event: str
    computed: int
    known: int
    placeholders: int
    why: str
    ended: bool = False

    @property
    def need(self) -> int:
        return self.known + self.placeholders - self.computed


@dataclass(frozen=True, slots=True)
class Placeholders:
    """The events of one request, and what the end of sequence found too late cost."""

    steps: tuple[Step, ...]
    outputs: int
    sampled_rows: int
    wasted_rows: int
    waste_percent: float
    ended_by: str
    finding: str
    lines: tuple[Line, ...]


def simulate(*, prompt_tokens: int = 100, max_tokens: int = 50, eos_at: int = 2,
             async_scheduling: bool = True) -> Placeholders:
    """Follow one request, its prompt computed in one step, until its output ends at token `eos_at` or at `max_tokens`.

    Async, two steps are in flight: the next one is scheduled before the last one's token is known, which a placeholder
    counts. Nothing is scheduled that max_tokens would cut: placeholders > 0 and computed + 2 - placeholders >=
    prompt + max_tokens.
    Exact. Source: vllm 0.33.0, v1/core/sched/async_scheduler.py; v1/core/sched/scheduler.py, schedule.
    """
    last = min(eos_at, max_tokens)
    held = PREFILL if async_scheduling else 0
    steps = [Step("not scheduled yet", 0, prompt_tokens, 0, f"All {prompt_tokens:,} tokens of the prompt are known.")]
    in_flight: list[int] = []
    scheduled = read = 0
    while not steps[-1].ended or in_flight:
        now = steps[-1]
        if not now.ended and room(now, in_flight, async_scheduling) and not capped(now, prompt_tokens + max_tokens):
            scheduled += 1
            in_flight.append(scheduled)
            steps.append(Step(
                f"step {scheduled} scheduled", now.computed + now.need, now.known, now.placeholders + held,
                scheduling_words(scheduled, now, async_scheduling),
            ))
            continue
        number = in_flight.pop(0)
        if now.ended:
            steps.append(Step(f"step {number} returns", now.computed, now.known, now.placeholders,
                              "The request has ended and is gone: its row was computed for nothing.", ended=True))
            continue
        read += 1
        ends = read == last
        steps.append(Step(f"step {number} returns", now.computed, now.known + 1, now.placeholders - held,
                          return_words(read, ends, eos_at <= max_tokens, bool(held)), ended=ends))
    wasted = scheduled - last
    by = "end of sequence" if eos_at <= max_tokens else "max_tokens"
    return Placeholders(
        steps=tuple(steps), outputs=last, sampled_rows=scheduled, wasted_rows=wasted,
        waste_percent=100 * wasted / scheduled, ended_by=by,
        finding=f"{last:,} tokens, ended by {by}: {scheduled:,} rows sampled, {wasted:,} of them for nothing.",
        lines=(
            Line("tokens", "", last, "tokens"),
            Line("rows sampled", f"{last:,} + {wasted:,}", scheduled, "rows"),
            Line("wasted", f"{wasted:,} / {scheduled:,}", 100 * wasted / scheduled, "%"),
        ),
    )


def room(now: Step, in_flight: list[int], overlap: bool) -> bool:
    """Whether one more step may be in flight, and there is something to compute in it."""
    return len(in_flight) < (2 if overlap else 1) and now.need > 0


def capped(now: Step, longest: int) -> bool:
    """Whether what is in flight already brings the last token that max_tokens allows."""
    return now.placeholders > 0 and now.computed + 2 - now.placeholders >= longest


def scheduling_words(number: int, before: Step, overlap: bool) -> str:
    if number == PREFILL:
        tail = "; the token that it will sample is counted as a placeholder" if overlap else ""
        return f"The prompt is computed in one step of {before.need:,} tokens{tail}."
    if not overlap:
        return "One token is known and not computed; it is fed in."
    return "The count is enough: one token will be there. Its value never leaves the GPU before it is fed in."


def return_words(read: int, ends: bool, by_eos: bool, overlap: bool) -> str:
    if not ends:
        return f"Token {read:,} is known{' and takes its placeholder’s place' if overlap else ''}."
    if not by_eos:
        return f"Token {read:,} is the last that max_tokens allows. The scheduler counted to it, so nothing is wasted."
    late = " A step that carries it is in flight already." if overlap else ""
    return f"Token {read:,} is the end of sequence: the request ends and its blocks are freed.{late}"


def waste_percent(output_tokens: int) -> float:
    """The share of sampled rows that one late end of sequence wastes, in %: 1 / (L + 1)."""
    return 100 / (output_tokens + 1)
