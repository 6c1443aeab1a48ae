"""Who stands where before a step of the scheduler lab: the rows that a reader fills in with tokens."""
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calculators.models.scheduler_run import Request, Run, Step


@dataclass(frozen=True, slots=True)
class Standing:
    """A request as it stands before the step asked about: one row of the map form. Counts are tokens."""

    name: str
    state: str  # "running" or "waiting"
    words: str  # "decoding, prompt done", "5,000 of 8,000 left", "1,000, first 512 cached"
    prompt_tokens: int
    computed_tokens: int
    cached_tokens: int = 0
    decoding: bool = False


def standings(run: Run, step: int, inputs: Mapping[str, Any]) -> tuple[Standing, ...]:
    """The requests that could get tokens in `step`, in the order served: the running ones, then the waiting ones."""
    before = run.steps[step - 1] if step else None
    by_id = {request.id: request for request in run.requests}
    arriving = [request.id for request in run.requests if request.arrival_step == step]
    running = [running_row(by_id[name], before) for name in (before.after.running if before else ())]
    waiting = [*(before.after.waiting if before else ()), *arriving]
    return (*running, *(waiting_row(run, by_id[name], before, inputs) for name in waiting))


def running_row(request: Request, before: Step) -> Standing:
    """A request that runs."""
    known, computed = before.after.tokens[request.id], before.after.computed[request.id]
    decoding = computed >= request.prompt_tokens
    words = "decoding, prompt done" if decoding else f"{known - computed:,} of {known:,} left"
    return Standing(request.id, "running", words, request.prompt_tokens, computed, decoding=decoding)


def waiting_row(run: Run, request: Request, before: Step | None, inputs: Mapping[str, Any]) -> Standing:
    """A request that waits, new or preempted."""
    known = before.after.tokens.get(request.id, request.prompt_tokens) if before else request.prompt_tokens
    if before and before.states[request.id] == "preempted":
        return Standing(request.id, "waiting", f"preempted, {known:,} to compute again", request.prompt_tokens, 0)
    cached = cached_prefix(run, request, before, inputs) if before else 0
    words = f"{known:,}, first {cached:,} cached" if cached else f"prompt of {known:,}"
    return Standing(request.id, "waiting", words, request.prompt_tokens, 0, cached)


def cached_prefix(run: Run, request: Request, before: Step, inputs: Mapping[str, Any]) -> int:
    """The tokens of the shared prefix, in full blocks, that a running request holds for one that waits; the last token
    of a prompt is always computed."""
    if not (inputs["enable_prefix_caching"] and request.shares_prefix):
        return 0
    sharers = [other.id for other in run.requests if other.shares_prefix and other.salt == request.salt]
    held = max((before.after.computed.get(name, 0) for name in sharers if name in before.after.running), default=0)
    shared = min(held, inputs["shared_prefix_tokens"], request.prompt_tokens - 1)
    return shared // inputs["block_size"] * inputs["block_size"]
