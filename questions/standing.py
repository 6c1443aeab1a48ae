"""Who stands where before a step of the scheduler lab: the rows that a reader fills in with tokens."""
from dataclasses import dataclass
from typing import Any

from calculators.models.scheduler_run import Request, Run, Step


@dataclass(frozen=True, slots=True)
class Waiter:
    """A request as it stands before the step asked about: one row of the map form. Counts are tokens."""

    name: str
    state: str  # "running" or "waiting"
    words: str  # "decoding, prompt done", "5,000 of 8,000 left", "1,000, first 512 cached"
    prompt_tokens: int
    computed_tokens: int
    cached_tokens: int = 0
    decoding: bool = False


def standing(run: Run, step: int, inputs: dict[str, Any]) -> tuple[Waiter, ...]:
    """The requests that could get tokens in `step`, in the order served: the running ones, then the waiting ones."""
    arriving = [request.id for request in run.requests if request.arrival_step == step]
    if step == 0:
        running, waiting = (), arriving
    else:
        before = run.steps[step - 1]
        running, waiting = before.after.running, [*before.after.waiting, *arriving]
    by_id = {request.id: request for request in run.requests}
    rows = [row_of(run, by_id[name], "running", step, inputs) for name in running]
    return (*rows, *(row_of(run, by_id[name], "waiting", step, inputs) for name in waiting))


def row_of(run: Run, request: Request, state: str, step: int, inputs: dict[str, Any]) -> Waiter:
    """One request's row."""
    before = run.steps[step - 1] if step else None
    computed = before.after.computed.get(request.id, 0) if before else 0
    tokens = before.after.tokens.get(request.id, request.prompt_tokens) if before else request.prompt_tokens
    if state == "running":
        left = tokens - computed
        decoding = computed >= request.prompt_tokens
        words = "decoding, prompt done" if decoding else f"{left:,} of {tokens:,} left"
        return Waiter(request.id, state, words, request.prompt_tokens, computed, decoding=decoding)
    cached = cached_tokens(run, before, request, tokens, inputs) if before else 0
    words = f"prompt of {tokens:,}"
    if before and before.states[request.id] == "preempted":
        words = f"preempted, {tokens:,} to compute again"
    words = f"{tokens:,}, first {cached:,} cached" if cached else words
    return Waiter(request.id, state, words, request.prompt_tokens, computed, cached)


def cached_tokens(run: Run, before: Step, request: Request, tokens: int, inputs: dict[str, Any]) -> int:
    """The tokens from the front that the prefix cache holds for a waiting request; the last is always computed."""
    if not inputs["enable_prefix_caching"]:
        return 0
    size, shared = inputs["block_size"], inputs["shared_prefix_tokens"]
    sharers = {other.id for other in run.requests if other.shares_prefix and other.salt == request.salt}
    held = {(block.owner, block.index) for block in before.pool if block.cached}
    blocks = 0
    while (blocks + 1) * size <= tokens - 1:
        owners = {request.id}
        if request.shares_prefix and (blocks + 1) * size <= shared:
            owners |= sharers
        if not any((owner, blocks + 1) in held for owner in owners):
            break
        blocks += 1
    return blocks * size
