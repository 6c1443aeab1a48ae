"""vLLM's V1 scheduler, step by step: who gets how many tokens, who is admitted, who is preempted.

There are no prefill and decode phases. A request has known tokens and computed ones, and each step tries to close the
gap: the running list first, in order of admission, then the head of the waiting queue, until the token budget, the
slots or the KV blocks are used up. Everything is integers; a run is computed whole and a step is shown by indexing.
A step records what was decided and the state as it stands; what can be told from that is told when asked (Step.pool).
Source: vLLM 0.33.0, vllm/v1/core/sched/scheduler.py and async_scheduler.py; the blocks are in kv_cache.py.
"""
from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Any

from calculators.models.base import Refusal
from calculators.models.kv_cache import KvCache, KvSequence
from calculators.models.scheduler_knobs import Knobs, check_knobs, check_request
from calculators.models.scheduler_run import (
    After,
    AfterSchedule,
    Request,
    Run,
    Step,
    format_requests,
    parse_requests,
    with_token_ids,
)

__all__ = ["Knobs", "Request", "Run", "Scheduler", "Step", "format_requests", "parse_requests", "simulate"]

MAX_STEPS = 2000
MAX_PROMPT_TOKENS = 1_000_000
LISTED_BLOCKS = 1024  # the steps of a larger pool count its blocks but don't list them: nobody could read that
STOP_TOKEN = 2
PerStep = Sequence[Mapping[str, int]]  # for each step a count per request


@dataclass(slots=True, eq=False, kw_only=True)
class Live(KvSequence):
    """A request inside the engine.

    `placeholders` are sampled tokens that async scheduling counts on before they are known.
    """

    request: Request
    rank: tuple[int, int]  # priority, then order of arrival: the smaller, the more urgent
    script: tuple[int, ...]  # what the model will have sampled for it at its end
    sampled: int = 0  # how much of that it has
    prefilling: bool = False  # whether the last step that served it left known tokens uncomputed
    drafts: int = 0
    placeholders: int = 0

    @property
    def gap(self) -> int:
        """The tokens it asks for: prompt, sampled, in flight and drafts, less the computed ones."""
        return len(self.tokens) + self.placeholders + self.drafts - self.computed

    @property
    def last_token_in_flight(self) -> bool:
        """Whether the step in flight brings it to max_tokens for sure, even with all its drafts rejected."""
        last = self.request.prompt_tokens + self.request.max_tokens
        return self.computed + 2 - self.placeholders >= last


@dataclass(slots=True)
class Plan:
    """What one call of schedule() decides; `cap` is the most tokens for one request.

    `cut` is what those asked for that got less. `partial` are those whose prefill goes on after the step: they sample
    nothing in it. `stale` are those that were preempted while the step was in flight.
    """

    step: int
    budget: int = 0
    cap: int = 0
    prefills_held: bool = False
    tokens: dict[str, int] = field(default_factory=dict)
    cut: dict[str, int] = field(default_factory=dict)
    drafts: dict[str, int] = field(default_factory=dict)
    padded: set[str] = field(default_factory=set)
    partial: set[str] = field(default_factory=set)
    stale: set[str] = field(default_factory=set)
    new: list[str] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)
    preempted: list[str] = field(default_factory=list)
    prefix_hit: dict[str, int] = field(default_factory=dict)
    looked_up: dict[str, int] = field(default_factory=dict)
    alloc: list[Any] = field(default_factory=list)  # the parts of one Alloc after those of another
    prefill_served: bool = False
    prefill_admitted: bool = False
    running_stop: str = "all_served"
    waiting_stop: str = "none_waiting"

    def take_back(self, live: Live) -> None:
        """Return a victim's tokens to the budget, if it had got any in this step."""
        tokens = self.tokens.pop(live.id, 0)
        self.budget += tokens
        live.computed -= tokens
        self.cut.pop(live.id, None)
        self.drafts.pop(live.id, None)


@dataclass(slots=True)
class Output:
    """What the model's output of one step changed."""

    step: int | None = None
    accepted: dict[str, int] = field(default_factory=dict)
    sampled_from: dict[str, int] = field(default_factory=dict)  # where in its script each request went on
    finished: list[str] = field(default_factory=list)
    drafts: dict[str, int] = field(default_factory=dict)


class Scheduler:
    """The engine with a fake model. Each call of step() schedules once and processes the output that is due.

    `drafts[step]` says what the drafter proposes after a step, `accepted[step]` how many drafts hold in the output that
    the step processes. Without them every request past its prefill gets drafts and `accepted_drafts` of them hold.
    """

    def __init__(
        self, knobs: Knobs, requests: Sequence[Request], drafts: PerStep | None = None,
        accepted: PerStep | None = None, aborts: Sequence[tuple[int, str]] = (), lists_blocks: bool = True,
    ) -> None:
        self.knobs, self.requests, self.aborts = knobs, requests, aborts
        self.drafts, self.accepted, self.lists_blocks = drafts, accepted, lists_blocks
        self.kv = KvCache(knobs.usable_blocks, knobs.block_size, knobs.max_model_len, knobs.enable_prefix_caching)
        self.arrivals: dict[int, list[int]] = {}  # by step, the places of those that come then
        for place, request in enumerate(requests):
            self.arrivals.setdefault(request.arrival_step, []).append(place)
        self.states = {request.id: "absent" for request in requests}
        self.unfinished = len(requests)
        self.scripts: dict[str, tuple[int, ...]] = {}
        self.live: dict[str, Live] = {}
        self.waiting: list[str] = []
        self.running: dict[str, Live] = {}  # in order of admission
        self.next_step = 0
        self.in_flight: Plan | None = None  # async scheduling: the step that the model is at
        self.ends_to_report = False
        self.executed_steps = 0
        self.runs_ahead = knobs.async_scheduling or knobs.num_speculative_tokens > 0  # computes what may not hold
        self.last_prefill_step = -knobs.prefill_schedule_interval
        self.left_waiting = False  # whether the last step that held nothing back left requests waiting

    @property
    def all_ended(self) -> bool:
        return self.unfinished == 0

    def step(self) -> Step:
        """Aborts, arrivals, a schedule, then an output: of this step or, with async scheduling, of the one before."""
        number, self.next_step = self.next_step, self.next_step + 1
        self.kv.evicted = []
        aborted = [id for step, id in self.aborts if step == number and self._abort(id)]
        arrived = [self._arrive(place) for place in self.arrivals.get(number, ())]
        called = bool(self.live) or self.ends_to_report or not self.knobs.async_scheduling
        plan = self._schedule(number) if called else Plan(number)
        after_schedule = self._after_schedule()
        due = plan
        if self.knobs.async_scheduling:
            due, self.in_flight = self.in_flight, plan if called else None
        output = self._process(due) if due else Output()
        return Step(
            step=number, aborted=tuple(aborted), arrived=tuple(arrived), tokens=plan.tokens, cut=plan.cut,
            new=tuple(plan.new), resumed=tuple(plan.resumed), preempted=tuple(plan.preempted),
            prefix_hit=plan.prefix_hit, looked_up=plan.looked_up, running_stop=plan.running_stop,
            waiting_stop=plan.waiting_stop, allocated=tuple(plan.alloc), evicted=tuple(self.kv.evicted),
            scheduled_drafts=plan.drafts, after_schedule=after_schedule, processed_step=output.step,
            accepted=output.accepted, sampled_from=output.sampled_from, scripts=self.scripts,
            finished=tuple(output.finished), drafts=output.drafts, after=self._after(), states=dict(self.states),
            not_called=not called,
        )

    # Scheduling

    def _schedule(self, number: int) -> Plan:
        """Decide one step: the running pass, then the waiting pass unless somebody was preempted."""
        plan = Plan(number, self.knobs.max_num_batched_tokens, self._long_prefill_cap(), self._holds_prefills())
        self._serve_running(plan)
        if plan.preempted:
            plan.waiting_stop = "preemption"
        else:
            plan.waiting_stop = self._admit_waiting(plan)
            if not plan.prefills_held:
                self.left_waiting = bool(self.waiting)
        self.executed_steps += bool(plan.tokens)
        if plan.prefill_served or plan.prefill_admitted:  # vLLM counts a prefill that was preempted later in the pass
            self.last_prefill_step = self.executed_steps
        self.ends_to_report = False
        return plan

    def _long_prefill_cap(self) -> int:
        """The most tokens for one request in this step: all it may have where it is alone, and has nobody to starve."""
        contenders = len(self.running) + len(self.waiting)
        cap = self.knobs.long_prefill_token_threshold
        if not cap or contenders <= 1:
            return self.knobs.max_model_len
        if self.knobs.long_prefill_token_threshold_adaptive:
            return max(cap, self.knobs.max_num_batched_tokens // contenders)
        return cap

    def _holds_prefills(self) -> bool:
        """Whether prefills wait in this step, so that decodes run undisturbed between two steps with prefill."""
        since_prefill = self.executed_steps + 1 - self.last_prefill_step
        if since_prefill >= self.knobs.prefill_schedule_interval or self.left_waiting:
            return False
        return any(not live.prefilling for live in self.running.values())

    def _serve_running(self, plan: Plan) -> None:
        """Give tokens to the running list in order of admission, preempting from it where blocks run out."""
        for live in tuple(self.running.values()):
            if plan.budget == 0:
                plan.running_stop = "budget"
                return
            if plan.preempted and live.id not in self.running:
                continue  # it made room for somebody earlier in this pass
            need = live.gap
            num_tokens = self._tokens_for_running(live, need, plan)
            if num_tokens <= 0:
                continue  # skipped, not waited for: a later one may be served
            if self._make_room(live, num_tokens, plan):
                plan.prefill_served |= live.prefilling
                self._serve(live, num_tokens, need, plan)
            elif self.knobs.policy == "fcfs":
                plan.running_stop = "self_preempted"
                return

    def _tokens_for_running(self, live: Live, need: int, plan: Plan) -> int:
        if (live.placeholders and live.last_token_in_flight) or (plan.prefills_held and live.prefilling):
            return 0
        positions_left = self.knobs.max_model_len - live.computed - 1  # the last one is for a sampled token
        return min(need, plan.cap, plan.budget, positions_left)

    def _serve(self, live: Live, num_tokens: int, need: int, plan: Plan) -> None:
        """Put the request into the plan, with as many of its drafts as the cuts have left.

        Its tokens count as computed from now on, before the model has run; a rejected draft is taken back later.
        """
        plan.tokens[live.id] = num_tokens
        if num_tokens < need:
            plan.cut[live.id] = need
        plan.budget -= num_tokens
        live.computed += num_tokens
        if live.drafts:
            if (drafts := num_tokens - (need - live.drafts)) > 0:
                plan.drafts[live.id] = drafts
            live.drafts = 0
        live.prefilling = live.computed < len(live.tokens) + live.placeholders
        if live.prefilling:
            plan.partial.add(live.id)
        elif self.knobs.async_scheduling:
            live.placeholders += 1 + plan.drafts.get(live.id, 0)
            live.drafts = self.knobs.num_speculative_tokens

    def _make_room(self, live: Live, num_tokens: int, plan: Plan) -> bool:
        """Allocate, preempting others as needed; False if the request itself had to go."""
        while True:
            new_blocks = self.kv.allocate(live, num_tokens, (), self.knobs.num_lookahead_tokens)
            fits, free = new_blocks is not None, len(self.kv.queue)
            taken = new_blocks or ()
            plan.alloc += (live.id, "running", num_tokens, 0, fits, free + len(taken), free, taken)
            if fits:
                return True
            by_priority = self.knobs.policy == "priority"
            running = self.running.values()
            victim = max(running, key=lambda other: other.rank) if by_priority else next(reversed(running))
            self._preempt(victim, plan)
            if victim is live:
                return False

    def _preempt(self, victim: Live, plan: Plan) -> None:
        """Free the blocks and forget what was computed; the sampled tokens stay, and join the prefill on resume."""
        del self.running[victim.id]
        plan.take_back(victim)
        plan.preempted.append(victim.id)
        self.kv.free(victim)
        victim.computed = victim.drafts = victim.placeholders = 0
        if self.in_flight:
            self.in_flight.stale.add(victim.id)
        self.states[victim.id] = "preempted"
        self._enqueue(victim, place=0)

    def _admit_waiting(self, plan: Plan) -> str:
        """Admit from the head of the queue until one can't be: nobody overtakes it. Returns why the pass ended."""
        running_served = bool(plan.tokens)
        while self.waiting and plan.budget > 0:
            if len(self.running) >= self.knobs.max_running:
                return "max_num_seqs"
            live = self.live[self.waiting[0]]
            hits = self.kv.lookup(live)
            hit_tokens = len(hits) * self.knobs.block_size
            need = len(live.tokens) - hit_tokens
            if plan.prefills_held and need > 1:
                return "prefill_held"
            padded = need == 1 and self._is_padded(hit_tokens, running_served, plan)
            if padded:
                need = 1 + self.knobs.num_speculative_tokens
                if need > plan.budget:
                    return "padded_decode"
            num_tokens = min(need, plan.cap)
            if num_tokens > plan.budget and not self.knobs.enable_chunked_prefill:
                return "whole_prompt"
            num_tokens = min(num_tokens, plan.budget)
            if not self._has_room(live, num_tokens, hits, plan):
                return "no_blocks"
            if padded:
                plan.padded.add(live.id)
                plan.drafts[live.id] = self.knobs.num_speculative_tokens
            self._admit(live, num_tokens, hit_tokens, need, plan)
        return "budget" if self.waiting else "none_waiting"

    def _is_padded(self, hit_tokens: int, running_served: bool, plan: Plan) -> bool:
        """Whether a request with one token to compute gets placeholder drafts, to be of one shape with the decodes."""
        drafts = self.knobs.num_speculative_tokens
        among_decodes = not plan.prefill_served and (running_served or hit_tokens > 0)
        return drafts > 0 and among_decodes and hit_tokens + 1 + drafts + 1 <= self.knobs.max_model_len

    def _admit(self, live: Live, num_tokens: int, hit_tokens: int, need: int, plan: Plan) -> None:
        self.running[self.waiting.pop(0)] = live
        (plan.new if self.states[live.id] == "waiting" else plan.resumed).append(live.id)
        self.states[live.id] = "running"
        live.computed = hit_tokens
        self._serve(live, num_tokens, need, plan)
        plan.prefix_hit[live.id] = hit_tokens
        plan.looked_up[live.id] = len(live.tokens) if self.knobs.enable_prefix_caching else 0
        plan.prefill_admitted |= hit_tokens < len(live.tokens) - 1

    def _has_room(self, live: Live, num_tokens: int, hits: list[int], plan: Plan) -> bool:
        """Allocate for a request from the waiting queue, which preempts nobody."""
        free_before = self.kv.free_blocks
        new_blocks = self.kv.allocate(
            live, num_tokens, hits, self.knobs.num_lookahead_tokens,
            whole_sequence_must_fit=self.knobs.scheduler_reserve_full_isl,
            keep_free=self.knobs.watermark_blocks if self.running else 0,
        )
        fits, hit_tokens = new_blocks is not None, len(hits) * self.knobs.block_size
        plan.alloc += (
            live.id, "waiting", num_tokens, hit_tokens, fits, free_before, self.kv.free_blocks, new_blocks or (),
        )
        return fits

    # Output

    def _process(self, due: Plan) -> Output:
        """Deliver the sampled tokens of a step in its serving order; those of ended requests are dropped."""
        output = Output(due.step)
        for id in due.tokens:
            if id not in due.partial and (live := self.live.get(id)):
                self._deliver(live, due, output)
        if not self.knobs.async_scheduling and self.knobs.num_speculative_tokens:
            self._propose_drafts(due, output)
        return output

    def _deliver(self, live: Live, due: Plan, output: Output) -> None:
        drafts = due.drafts.get(live.id, 0)
        accepted = 0
        if drafts:
            accepted = output.accepted[live.id] = self._accepted(live.id, drafts, due)
        output.sampled_from[live.id] = live.sampled
        sampled = live.script[live.sampled : live.sampled + 1 + accepted]
        live.tokens += sampled
        live.sampled += len(sampled)
        if self.runs_ahead and live.id not in due.stale:
            live.computed -= 1 + drafts - len(sampled)
            if self.knobs.async_scheduling:
                live.placeholders -= 1 + drafts
            in_flight = self.in_flight.tokens.get(live.id, 0) if self.in_flight else 0
            self.kv.enter(live, live.computed - in_flight)
        if live.sampled == len(live.script):
            output.finished.append(live.id)
            self._end(live)

    def _accepted(self, id: str, drafts: int, due: Plan) -> int:
        if self.accepted is not None:
            return min(_of_step(self.accepted, self.next_step - 1).get(id, 0), drafts)
        return 0 if id in due.padded else min(self.knobs.accepted_drafts, drafts)

    def _propose_drafts(self, due: Plan, output: Output) -> None:
        for id in due.tokens:
            if id not in due.partial and (live := self.live.get(id)):
                if self.drafts is None:
                    live.drafts = self.knobs.num_speculative_tokens
                else:
                    live.drafts = _of_step(self.drafts, due.step).get(id, 0)
                output.drafts[id] = live.drafts

    # Coming and going

    def _arrive(self, place: int) -> str:
        request = self.requests[place]
        script = self.scripts[request.id] = script_of(request, place, self.knobs.max_model_len)
        live = Live(
            id=request.id, tokens=list(request.prompt_token_ids), salt=request.salt, request=request,
            rank=(request.priority, place), script=script,
        )
        self.live[request.id] = live
        self.states[request.id] = "waiting"
        self._enqueue(live, place=len(self.waiting))
        return request.id

    def _enqueue(self, live: Live, place: int) -> None:
        """Put the request into the waiting queue: at `place`, or by priority and arrival if that is the policy."""
        if self.knobs.policy == "priority":
            insort(self.waiting, live.id, key=lambda id: self.live[id].rank)
        else:
            self.waiting.insert(place, live.id)

    def _abort(self, id: str) -> bool:
        """End a request whose client went away; False if there is nothing to end."""
        if live := self.live.get(id):
            self._end(live)
        return live is not None

    def _end(self, live: Live) -> None:
        self.kv.free(live)
        if self.running.pop(live.id, None) is None:
            self.waiting.remove(live.id)
        del self.live[live.id]
        self.unfinished -= 1
        self.states[live.id] = "finished"
        self.ends_to_report = True

    # Records

    def is_stuck_after(self, step: Step) -> bool:
        """Whether every later step is like this one: nothing runs or is in flight, nobody comes or goes, one waits."""
        if step.tokens or step.finished or self.running or (self.in_flight and self.in_flight.tokens):
            return False
        to_come = chain(self.arrivals, (number for number, _ in self.aborts))
        return bool(self.waiting) and max(to_come) <= step.step

    def _after_schedule(self) -> AfterSchedule:
        running = self.running.values()
        return AfterSchedule(
            running=tuple(self.running), waiting=tuple(self.waiting),
            computed={live.id: live.computed for live in running},
            blocks={live.id: tuple(live.blocks) for live in running} if self.lists_blocks else {},
            free=self.kv.free_blocks, placeholders=self._placeholders(running),
        )

    def _after(self) -> After:
        free, live = self.kv.free_blocks, self.live.values()
        return After(
            running=tuple(self.running), waiting=tuple(self.waiting),
            computed={each.id: each.computed for each in live}, tokens={each.id: len(each.tokens) for each in live},
            free=free, used=self.knobs.usable_blocks - free,
            free_queue=tuple(self.kv.queue) if self.lists_blocks else (),
            placeholders=self._placeholders(live), block_size=self.knobs.block_size,
            blocks=tuple(self.kv.blocks.values()) if self.lists_blocks else (),
        )

    def _placeholders(self, requests: Iterable[Live]) -> dict[str, int]:
        return {live.id: live.placeholders for live in requests} if self.knobs.async_scheduling else {}


def script_of(request: Request, place: int, max_model_len: int) -> tuple[int, ...]:
    """All that the fake model samples for a request: numbers of its own, and its stop token if it comes to that."""
    count, first = min(request.max_tokens, max_model_len - request.prompt_tokens), 100_000 + 1_000 * place
    if request.stop_after and request.stop_after <= count:
        return (*range(first, first + request.stop_after - 1), STOP_TOKEN)
    return tuple(range(first, first + count))


def _of_step(counts: PerStep, step: int) -> Mapping[str, int]:
    return counts[step] if step < len(counts) else {}


def simulate(
    *, requests: tuple[Request, ...], max_num_batched_tokens: int, max_num_seqs: int, usable_blocks: int,
    block_size: int, max_model_len: int, shared_prefix_tokens: int = 16, max_num_active_seqs: int | None = None,
    enable_prefix_caching: bool = True, enable_chunked_prefill: bool = True, long_prefill_token_threshold: int = 0,
    long_prefill_token_threshold_adaptive: bool = False, prefill_schedule_interval: int = 1,
    scheduler_reserve_full_isl: bool = True, watermark: float = 0.0, policy: str = "fcfs",
    async_scheduling: bool = False, num_speculative_tokens: int = 0, num_lookahead_tokens: int = 0,
    accepted_drafts: int = 0, drafts: PerStep | None = None, accepted: PerStep | None = None,
    aborts: Sequence[tuple[int, str]] = (),
) -> Run:
    """Run the requests to their ends; knobs are counts of tokens, blocks or steps, `watermark` a share of the pool.

    Raises Refusal for settings that vLLM refuses, a request that can never end, and more than 2,000 steps.
    """
    given = locals()
    knobs = Knobs(**{knob.name: given[knob.name] for knob in fields(Knobs)})
    check_knobs(knobs)
    for request in requests:
        check_request(request, knobs)
    if (tokens := sum(request.prompt_tokens for request in requests)) > MAX_PROMPT_TOKENS:
        raise Refusal(f"{tokens:,} prompt tokens in all; a run takes {MAX_PROMPT_TOKENS:,}.", "requests")
    in_order = sorted(with_token_ids(requests, shared_prefix_tokens), key=lambda request: request.arrival_step)
    scheduler = Scheduler(knobs, in_order, drafts, accepted, aborts, lists_blocks=usable_blocks <= LISTED_BLOCKS)
    steps: list[Step] = []
    while not scheduler.all_ended:
        if len(steps) == MAX_STEPS:
            raise Refusal(f"Not every request has ended after {MAX_STEPS:,} steps: shorten the run.", "requests")
        steps.append(scheduler.step())
        if scheduler.is_stuck_after(steps[-1]):
            raise Refusal(f"{scheduler.waiting[0]} waits for ever: from step {steps[-1].step} on nothing runs, and "
                          f"the pass over the waiting queue ends with {steps[-1].waiting_stop}.")
    return Run(requests=requests, steps=tuple(steps))
