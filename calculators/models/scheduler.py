"""vLLM's V1 scheduler, step by step: who gets how many tokens, who is admitted, who is preempted.

There are no prefill and decode phases. A request has known tokens and computed ones, and each step tries to close the
gap: the running list first, in order of admission, then the head of the waiting queue, until the token budget, the
slots or the KV blocks are used up. Everything is integers; a run is computed whole and a step is shown by indexing.
Source: vLLM 0.33.0, vllm/v1/core/sched/scheduler.py and async_scheduler.py; the blocks are in kv_cache.py.
"""
from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

from calculators.models.base import Refusal
from calculators.models.kv_cache import Block, KvCache, KvSequence
from calculators.models.scheduler_knobs import Knobs, check_knobs, check_request
from calculators.models.scheduler_run import (
    After,
    AfterSchedule,
    Alloc,
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

    `in_flight` are scheduled tokens whose output is not processed yet, `stale` those of them from before a preemption,
    `placeholders` sampled tokens that async scheduling counts on before they are known.
    """

    request: Request
    rank: tuple[int, int]  # priority, then order of arrival: the smaller, the more urgent
    prefilling: bool = False  # whether the last step that served it left known tokens uncomputed
    drafts: int = 0
    placeholders: int = 0
    in_flight: int = 0
    stale: int = 0

    @property
    def gap(self) -> int:
        """The tokens it asks for: prompt, sampled, in flight and drafts, less the computed ones."""
        return len(self.tokens) + self.placeholders + self.drafts - self.computed

    @property
    def sampled(self) -> int:
        return len(self.tokens) - self.request.prompt_tokens

    @property
    def last_token_in_flight(self) -> bool:
        """Whether the step in flight brings it to max_tokens for sure, even with all its drafts rejected."""
        surely_computed = self.computed + 2 - self.placeholders
        return self.placeholders > 0 and surely_computed >= self.request.prompt_tokens + self.request.max_tokens


@dataclass(slots=True)
class Plan:
    """What one call of schedule() decides; `cap` is the most tokens for one request, 0 for none."""

    step: int
    budget: int = 0
    cap: int = 0
    prefills_held: bool = False
    tokens: dict[str, int] = field(default_factory=dict)
    needs: dict[str, int] = field(default_factory=dict)
    computed_before: dict[str, int] = field(default_factory=dict)
    drafts: dict[str, int] = field(default_factory=dict)
    padded: set[str] = field(default_factory=set)
    samples: set[str] = field(default_factory=set)
    new: list[str] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)
    preempted: list[str] = field(default_factory=list)
    prefix_hit: dict[str, int] = field(default_factory=dict)
    looked_up: dict[str, int] = field(default_factory=dict)
    alloc: list[Alloc] = field(default_factory=list)
    prefill_served: bool = False
    prefill_admitted: bool = False
    running_stop: str = "all_served"
    waiting_stop: str = "none_waiting"

    def give(self, live: Live, num_tokens: int, need: int) -> None:
        self.tokens[live.id], self.needs[live.id], self.computed_before[live.id] = num_tokens, need, live.computed
        self.budget -= num_tokens

    def take_back(self, live: Live) -> None:
        """Return a victim's tokens to the budget, if it had got any in this step."""
        self.budget += self.tokens.pop(live.id, 0)
        for given in (self.needs, self.computed_before, self.drafts):
            given.pop(live.id, None)


@dataclass(slots=True)
class Output:
    """What the model's output of one step changed."""

    step: int | None = None
    accepted: dict[str, int] = field(default_factory=dict)
    sampled: dict[str, tuple[int, ...]] = field(default_factory=dict)
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
        self.states = {request.id: "absent" for request in requests}
        self.live: dict[str, Live] = {}
        self.waiting: list[Live] = []
        self.running: list[Live] = []
        self.next_step = 0
        self.in_flight: Plan | None = None  # async scheduling: the step that the model is at
        self.ends_to_report = False
        self.executed_steps = 0
        self.last_prefill_step = -knobs.prefill_schedule_interval
        self.left_waiting = False  # whether the last step that held nothing back left requests waiting

    @property
    def all_ended(self) -> bool:
        return all(state == "finished" for state in self.states.values())

    def step(self) -> Step:
        """Aborts, arrivals, a schedule, then an output: of this step or, with async scheduling, of the one before."""
        number, self.next_step = self.next_step, self.next_step + 1
        self.kv.evicted = []
        aborted = [id for step, id in self.aborts if step == number and self._abort(id)]
        arrived = [self._arrive(place) for place, r in enumerate(self.requests) if r.arrival_step == number]
        called = bool(self.live) or self.ends_to_report or not self.knobs.async_scheduling
        plan = self._schedule(number) if called else Plan(number)
        after_schedule = self._after_schedule()
        due = plan
        if self.knobs.async_scheduling:
            due, self.in_flight = self.in_flight, plan if called else None
        output = self._process(due) if due else Output()
        return Step(
            step=number, aborted=tuple(aborted), arrived=tuple(arrived), tokens=plan.tokens, needs=plan.needs,
            computed_before=plan.computed_before, new=tuple(plan.new), resumed=tuple(plan.resumed),
            preempted=tuple(plan.preempted), prefix_hit=plan.prefix_hit, looked_up=plan.looked_up,
            running_stop=plan.running_stop, waiting_stop=plan.waiting_stop, alloc=tuple(plan.alloc),
            evicted=tuple(self.kv.evicted), scheduled_drafts=plan.drafts, after_schedule=after_schedule,
            processed_step=output.step, accepted=output.accepted, sampled=output.sampled,
            finished=tuple(output.finished), drafts=output.drafts, after=self._after(), pool=self._pool(),
            states=dict(self.states), not_called=not called,
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
        self._advance(plan)
        self.ends_to_report = False
        return plan

    def _long_prefill_cap(self) -> int:
        """The most tokens for one request in this step, 0 for no cap: alone it has nobody to starve."""
        contenders = len(self.running) + len(self.waiting)
        cap = self.knobs.long_prefill_token_threshold
        if not cap or contenders <= 1:
            return 0
        if self.knobs.long_prefill_token_threshold_adaptive:
            return max(cap, self.knobs.max_num_batched_tokens // contenders)
        return cap

    def _holds_prefills(self) -> bool:
        """Whether prefills wait in this step, so that decodes run undisturbed between two steps with prefill."""
        since_prefill = self.executed_steps + 1 - self.last_prefill_step
        decoding = any(not live.prefilling for live in self.running)
        return since_prefill < self.knobs.prefill_schedule_interval and not self.left_waiting and decoding

    def _serve_running(self, plan: Plan) -> None:
        """Give tokens to the running list in order of admission, preempting from it where blocks run out."""
        for live in tuple(self.running):
            if plan.budget == 0:
                plan.running_stop = "budget"
                return
            if self.states[live.id] == "preempted":
                continue  # it made room for somebody earlier in this pass
            num_tokens = self._tokens_for_running(live, plan)
            if num_tokens == 0:
                continue  # skipped, not waited for: a later one may be served
            if self._make_room(live, num_tokens, plan):
                self._serve(live, num_tokens, plan)
                plan.prefill_served |= live.prefilling
            elif self.knobs.policy == "fcfs":
                plan.running_stop = "self_preempted"
                return

    def _tokens_for_running(self, live: Live, plan: Plan) -> int:
        if live.last_token_in_flight or (plan.prefills_held and live.prefilling):
            return 0
        positions_left = self.knobs.max_model_len - live.computed - 1  # the last one is for a sampled token
        return max(min(live.gap, plan.cap or live.gap, plan.budget, positions_left), 0)

    def _serve(self, live: Live, num_tokens: int, plan: Plan) -> None:
        """Put the request into the plan with as many of its drafts as the cuts have left."""
        plan.give(live, num_tokens, live.gap)
        drafts = num_tokens - (live.gap - live.drafts)
        if live.drafts and drafts > 0:
            plan.drafts[live.id] = drafts
        live.drafts = 0

    def _make_room(self, live: Live, num_tokens: int, plan: Plan) -> bool:
        """Allocate, preempting others as needed; False if the request itself had to go."""
        while not self._allocate(live, num_tokens, plan):
            by_priority = self.knobs.policy == "priority"
            victim = max(self.running, key=lambda other: other.rank) if by_priority else self.running[-1]
            self._preempt(victim, plan)
            if victim is live:
                return False
        return True

    def _preempt(self, victim: Live, plan: Plan) -> None:
        """Free the blocks and forget what was computed; the sampled tokens stay, and join the prefill on resume."""
        self.running.remove(victim)
        plan.take_back(victim)
        plan.preempted.append(victim.id)
        self.kv.free(victim)
        victim.computed = victim.drafts = victim.placeholders = 0
        victim.stale = victim.in_flight
        self.states[victim.id] = "preempted"
        self._enqueue(victim, place=0)

    def _admit_waiting(self, plan: Plan) -> str:
        """Admit from the head of the queue until one can't be: nobody overtakes it. Returns why the pass ended."""
        running_served = bool(plan.tokens)
        while self.waiting and plan.budget > 0:
            if len(self.running) >= self.knobs.max_running:
                return "max_num_seqs"
            live = self.waiting[0]
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
            num_tokens = min(need, plan.cap or need)
            if num_tokens > plan.budget and not self.knobs.enable_chunked_prefill:
                return "whole_prompt"
            num_tokens = min(num_tokens, plan.budget)
            if not self._allocate(live, num_tokens, plan, hits):
                return "no_blocks"
            self._admit(live, num_tokens, hit_tokens, need, plan)
            if padded:
                plan.padded.add(live.id)
                plan.drafts[live.id] = self.knobs.num_speculative_tokens
        return "budget" if self.waiting else "none_waiting"

    def _is_padded(self, hit_tokens: int, running_served: bool, plan: Plan) -> bool:
        """Whether a request with one token to compute gets placeholder drafts, to be of one shape with the decodes."""
        drafts = self.knobs.num_speculative_tokens
        among_decodes = not plan.prefill_served and (running_served or hit_tokens > 0)
        return drafts > 0 and among_decodes and hit_tokens + 1 + drafts + 1 <= self.knobs.max_model_len

    def _admit(self, live: Live, num_tokens: int, hit_tokens: int, need: int, plan: Plan) -> None:
        self.running.append(self.waiting.pop(0))
        (plan.new if self.states[live.id] == "waiting" else plan.resumed).append(live.id)
        self.states[live.id] = "running"
        live.computed = hit_tokens
        plan.give(live, num_tokens, need)
        plan.prefix_hit[live.id] = hit_tokens
        plan.looked_up[live.id] = len(live.tokens) if self.knobs.enable_prefix_caching else 0
        plan.prefill_admitted |= hit_tokens < len(live.tokens) - 1

    def _allocate(self, live: Live, num_tokens: int, plan: Plan, hits: list[int] | None = None) -> bool:
        """Ask for KV blocks; `hits` are given for a request from the waiting queue."""
        admission, free_before = hits is not None, self.kv.free_blocks
        new_blocks = self.kv.allocate(
            live, num_tokens, hits or (), lookahead=self.knobs.num_lookahead_tokens,
            whole_sequence_must_fit=admission and self.knobs.scheduler_reserve_full_isl,
            keep_free=self.knobs.watermark_blocks if admission and self.running else 0,
        )
        plan.alloc.append(Alloc(
            live.id, "waiting" if admission else "running", num_tokens, len(hits or ()) * self.knobs.block_size,
            new_blocks is not None, free_before, self.kv.free_blocks, tuple(new_blocks or ()),
        ))
        return new_blocks is not None

    def _advance(self, plan: Plan) -> None:
        """Count the scheduled tokens as computed, before the model has run; a rejected draft is taken back later."""
        for id, num_tokens in plan.tokens.items():
            live = self.live[id]
            live.computed += num_tokens
            live.in_flight += num_tokens
            self.kv.fill(live, plan.computed_before[id])
            live.prefilling = live.computed < len(live.tokens) + live.placeholders
            if live.prefilling:
                continue
            plan.samples.add(id)
            if self.knobs.async_scheduling:
                live.placeholders += 1 + plan.drafts.get(id, 0)
                live.drafts = self.knobs.num_speculative_tokens

    # Output

    def _process(self, due: Plan) -> Output:
        """Deliver the sampled tokens of a step in its serving order; those of ended requests are dropped."""
        output = Output(due.step)
        for id, num_tokens in due.tokens.items():
            if live := self.live.get(id):
                live.in_flight -= num_tokens
                from_before_preemption = live.stale > 0
                live.stale = max(live.stale - num_tokens, 0)
                if id in due.samples:
                    self._deliver(live, due, output, from_before_preemption)
        if not self.knobs.async_scheduling and self.knobs.num_speculative_tokens:
            self._propose_drafts(due, output)
        return output

    def _deliver(self, live: Live, due: Plan, output: Output, from_before_preemption: bool) -> None:
        drafts = due.drafts.get(live.id, 0)
        accepted = self._accepted(live.id, due)
        if drafts:
            output.accepted[live.id] = accepted
        sampled = output.sampled[live.id] = self._append(live, accepted + 1)
        if not from_before_preemption:
            live.computed -= 1 + drafts - len(sampled)
            if self.knobs.async_scheduling:
                live.placeholders -= 1 + drafts
            if drafts:
                self.kv.fill(live, live.computed)
            if self.knobs.async_scheduling or self.knobs.num_speculative_tokens:
                self.kv.enter(live, live.computed - live.in_flight)
        if self._is_over(live):
            output.finished.append(live.id)
            self._end(live)

    def _accepted(self, id: str, due: Plan) -> int:
        drafts = due.drafts.get(id, 0)
        if self.accepted is not None:
            return min(_of_step(self.accepted, self.next_step - 1).get(id, 0), drafts)
        return 0 if id in due.padded else min(self.knobs.accepted_drafts, drafts)

    def _append(self, live: Live, count: int) -> tuple[int, ...]:
        """Append up to `count` sampled tokens, none past the end of the request."""
        before = len(live.tokens)
        while len(live.tokens) < before + count:
            token = 100_000 + 1_000 * live.rank[1] + live.sampled
            live.tokens.append(STOP_TOKEN if live.sampled + 1 == live.request.stop_after else token)
            if self._is_over(live):
                break
        return tuple(live.tokens[before:])

    def _is_over(self, live: Live) -> bool:
        return (
            live.sampled == live.request.stop_after
            or live.sampled >= live.request.max_tokens
            or len(live.tokens) >= self.knobs.max_model_len
        )

    def _propose_drafts(self, due: Plan, output: Output) -> None:
        for id in due.tokens:
            if id in due.samples and (live := self.live.get(id)):
                if self.drafts is None:
                    live.drafts = self.knobs.num_speculative_tokens
                else:
                    live.drafts = _of_step(self.drafts, due.step).get(id, 0)
                output.drafts[id] = live.drafts

    # Coming and going

    def _arrive(self, place: int) -> str:
        request = self.requests[place]
        live = Live(
            id=request.id, tokens=list(request.prompt_token_ids), salt=request.salt, request=request,
            rank=(request.priority, place),
        )
        self.live[request.id] = live
        self.states[request.id] = "waiting"
        self._enqueue(live, place=len(self.waiting))
        return request.id

    def _enqueue(self, live: Live, place: int) -> None:
        """Put the request into the waiting queue: at `place`, or by priority and arrival if that is the policy."""
        if self.knobs.policy == "priority":
            insort(self.waiting, live, key=lambda waiting: waiting.rank)
        else:
            self.waiting.insert(place, live)

    def _abort(self, id: str) -> bool:
        """End a request whose client went away; False if there is nothing to end."""
        if live := self.live.get(id):
            self._end(live)
        return live is not None

    def _end(self, live: Live) -> None:
        self.kv.free(live)
        (self.running if self.states[live.id] == "running" else self.waiting).remove(live)
        del self.live[live.id]
        self.states[live.id] = "finished"
        self.ends_to_report = True

    # Records

    def is_stuck_after(self, step: Step) -> bool:
        """Whether every later step is like this one: nothing runs or is in flight, nobody comes or goes, one waits."""
        busy = step.tokens or step.finished or self.running or (self.in_flight and self.in_flight.tokens)
        to_come = [request.arrival_step for request in self.requests] + [number for number, _ in self.aborts]
        return bool(self.waiting) and not busy and max(to_come) <= step.step

    def _after_schedule(self) -> AfterSchedule:
        return AfterSchedule(
            running=_ids(self.running), waiting=_ids(self.waiting),
            computed={live.id: live.computed for live in self.running},
            blocks={live.id: tuple(live.blocks) for live in self.running if self.lists_blocks},
            free=self.kv.free_blocks, placeholders={live.id: live.placeholders for live in self.running},
        )

    def _pool(self) -> tuple[Block, ...]:
        return tuple(self.kv.blocks.values()) if self.lists_blocks else ()

    def _after(self) -> After:
        return After(
            running=_ids(self.running), waiting=_ids(self.waiting),
            computed={live.id: live.computed for live in self.live.values()},
            tokens={live.id: len(live.tokens) for live in self.live.values()},
            free=self.kv.free_blocks, used=self.knobs.usable_blocks - self.kv.free_blocks,
            free_queue=tuple(self.kv.queue) if self.lists_blocks else (),
            cached=tuple(block.id for block in self._pool() if block.cached),
            placeholders={live.id: live.placeholders for live in self.live.values()},
        )


def _of_step(counts: PerStep, step: int) -> Mapping[str, int]:
    return counts[step] if step < len(counts) else {}


def _ids(requests: list[Live]) -> tuple[str, ...]:
    return tuple(live.id for live in requests)


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
            raise Refusal(f"{scheduler.waiting[0].id} waits for ever: from step {steps[-1].step} on nothing runs, and "
                          f"the pass over the waiting queue ends with {steps[-1].waiting_stop}.")
    return Run(requests=requests, steps=tuple(steps))
