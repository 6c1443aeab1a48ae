"""Admission under max_loras step by step: which requests run, which are skipped, and which go past them."""
import re
from collections import deque
from dataclasses import dataclass

from calculators.models.base import Refusal
from calculators.models.lora import Queue, admit

MOST_REQUESTS, MOST_TOKENS, LATEST = 24, 50, 100
WRITTEN = re.compile(r"([A-H]):([0-9]{1,3})(?:@([0-9]{1,3}))?")


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a tenant, who is its adapter: its decode steps and the step in which it has arrived."""

    tenant: str
    tokens: int
    arrives: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """What one step admits, skips, runs and ends: requests by name, A1 being the first of A; counts by tenant."""

    admitted: tuple[str, ...]
    skipped: tuple[str, ...]
    running: dict[str, int]
    waiting: dict[str, int]
    finished: tuple[str, ...]
    why: dict[str, str]

    @property
    def adapters(self) -> int:
        return sum(count > 0 for count in self.running.values())


@dataclass(frozen=True, slots=True)
class Admissions:
    """Every step from the empty one on; `passed_over` counts by tenant who was admitted from behind it."""

    names: tuple[str, ...]
    steps: tuple[Step, ...]
    passed_over: dict[str, int]
    total_steps: int
    finding: str


def parse_requests(text: str) -> tuple[Request, ...]:
    """Requests from "A:6,B:3@2": tenant A to H, its tokens, the step it arrives in, 0 where none is given.

    Raises Refusal with a sentence.
    """
    requests = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        if not (found := WRITTEN.fullmatch(part)):
            raise Refusal(f"“{part[:20]}” is no request; write tenant : tokens @ arrival, as in A:6@0.")
        request = Request(found[1], int(found[2]), int(found[3] or 0))
        if not 1 <= request.tokens <= MOST_TOKENS or request.arrives > LATEST:
            raise Refusal(f"“{part}”: tokens are 1 to {MOST_TOKENS}, arrivals at most {LATEST}.")
        requests.append(request)
    if not 1 <= len(requests) <= MOST_REQUESTS:
        raise Refusal(f"{len(requests)} requests; the lab takes 1 to {MOST_REQUESTS}.")
    return tuple(requests)


def format_requests(requests: tuple[Request, ...]) -> str:
    """The text that parse_requests reads."""
    return ",".join(f"{each.tenant}:{each.tokens}" + (f"@{each.arrives}" if each.arrives else "") for each in requests)


def simulate(*, requests: tuple[Request, ...], max_loras: int = 1, max_num_seqs: int = 8) -> Admissions:
    """Run the admission loop until all requests have ended; each running one makes a token a step.

    Source: vllm 0.33.0, v1/core/sched/scheduler.py, schedule (scheduled_loras, skip_request).
    """
    tenants = tuple(sorted({request.tenant for request in requests}))
    names = named(requests)
    order = sorted(range(len(requests)), key=lambda number: requests[number].arrives)
    queues = {number: Queue(deque()) for number in range(len(tenants))}
    passed = dict.fromkeys(tenants, 0)
    left: dict[int, int] = {}
    steps = [Step((), (), dict.fromkeys(tenants, 0), dict.fromkeys(tenants, 0), (), {})]
    arrived = 0
    while arrived < len(order) or left or any(queue.waiting for queue in queues.values()):
        now = len(steps)
        while arrived < len(order) and requests[order[arrived]].arrives <= now:
            queues[tenants.index(requests[order[arrived]].tenant)].waiting.append(arrived)
            arrived += 1
        admitted = []
        for _, place in admit(queues, max_loras, max_num_seqs - len(left)):
            left[place] = requests[order[place]].tokens
            admitted.append(place)
            for other, queue in queues.items():
                passed[tenants[other]] += bool(queue.waiting) and queue.waiting[0] < place
        full = sum(queue.running > 0 for queue in queues.values()) >= max_loras
        skipped = [place for queue in queues.values() for place in queue.waiting if full and not queue.running]
        running = {tenant: queues[number].running for number, tenant in enumerate(tenants)}
        waiting = {tenant: len(queues[number].waiting) for number, tenant in enumerate(tenants)}
        why = {tenant: reason(tenant, running, waiting, max_loras, max_num_seqs) for tenant in tenants}
        left = {place: tokens - 1 for place, tokens in left.items()}
        finished = [place for place, tokens in left.items() if not tokens]
        for place in finished:
            del left[place]
            queues[tenants.index(requests[order[place]].tenant)].running -= 1
        steps.append(Step(*(tuple(names[order[place]] for place in places) for places in (admitted, sorted(skipped))),
                          running, waiting, tuple(names[order[place]] for place in finished), why))
    count = len(steps) - 1
    over = [f"{tenant} {times}×" for tenant, times in passed.items() if times]
    return Admissions(
        names=tenants, steps=tuple(steps), passed_over=passed, total_steps=count,
        finding=f"{len(requests)} requests, {len(tenants)} adapters, max_loras {max_loras:,}: {count:,} steps; passed "
                f"over: {', '.join(over) or 'nobody'}.",
    )


def named(requests: tuple[Request, ...]) -> tuple[str, ...]:
    """Each request's name: its tenant and its number among them, in the order written."""
    counts: dict[str, int] = {}
    names = []
    for request in requests:
        counts[request.tenant] = counts.get(request.tenant, 0) + 1
        names.append(f"{request.tenant}{counts[request.tenant]}")
    return tuple(names)


def reason(tenant: str, running: dict[str, int], waiting: dict[str, int], max_loras: int, seats: int) -> str:
    """Why a tenant has as many running as it has."""
    others = [name for name, count in running.items() if count and name != tenant]
    if running[tenant] and waiting[tenant]:
        return f"All {seats:,} seats are taken; the rest of {tenant} waits."
    if running[tenant]:
        return f"Adapter {tenant} runs, so each request of {tenant} that has arrived is let in."
    if not waiting[tenant]:
        return f"Nothing of {tenant} is here."
    if len(others) >= max_loras:
        return f"max_loras is {max_loras:,}, taken by {', '.join(others)}: {tenant} is skipped."
    return f"All {seats:,} seats are taken."
