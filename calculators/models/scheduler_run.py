"""What goes into a scheduler run and what comes out: requests as text, and the record of each step."""
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, NamedTuple

from calculators.models.base import Refusal
from calculators.models.kv_cache import Block
from calculators.models.step_time import Machine, step_ms


@dataclass(frozen=True, slots=True)
class Request:
    """One request. A smaller `priority` is more urgent; `stop_after` n makes the n-th sampled token its stop token."""

    id: str
    prompt_tokens: int
    max_tokens: int
    arrival_step: int = 0
    shares_prefix: bool = False
    priority: int = 0
    salt: str = ""
    stop_after: int | None = None
    prompt_token_ids: tuple[int, ...] = ()


REQUEST = re.compile(r"([A-Za-z][A-Za-z0-9_-]*):([0-9]{1,7})/([0-9]{1,7})@([0-9]{1,7})((?:[+!~].*)?)")
MARK = re.compile(r"\+S|!-?[0-9]{1,7}|~[A-Za-z0-9_-]+")


def parse_requests(text: str) -> tuple[Request, ...]:
    """Read "A:24/8@0+S,B:40/6@0!2~tenant": id : prompt / output @ arrival, then +S shared prefix, !priority, ~salt.

    Raises Refusal naming the first piece that can't be read, or an id used twice.
    """
    pieces = ["".join(piece.split()) for piece in text.replace("\n", ",").split(",") if piece.strip()]
    if not pieces:
        raise Refusal("No request: write at least one, like A:24/8@0.", "requests")
    requests = tuple(_parse_request(piece) for piece in pieces)
    id, uses = Counter(request.id for request in requests).most_common(1)[0]
    if uses > 1:
        raise Refusal(f"{uses} requests are called {id}: each needs an id of its own.", "requests")
    return requests


def _parse_request(piece: str) -> Request:
    if not (found := REQUEST.fullmatch(piece)):
        raise Refusal(f"“{piece}” can't be read: write id:prompt/output@arrival, like A:24/8@0.", "requests")
    id, prompt, output, arrival, marks = found.groups()
    if int(prompt) < 1 or int(output) < 1:
        raise Refusal(f"“{piece}”: prompt and output take at least 1 token each.", "requests")
    by_sign = _parse_marks(piece, marks)
    return Request(
        id, int(prompt), int(output), int(arrival), shares_prefix="+" in by_sign,
        priority=int(by_sign.get("!", "0")), salt=by_sign.get("~", ""),
    )


def _parse_marks(piece: str, marks: str) -> dict[str, str]:
    """Each mark's text under its sign: "+S!2" is {"+": "S", "!": "2"}."""
    by_sign: dict[str, str] = {}
    while marks:
        if not (mark := MARK.match(marks)):
            raise Refusal(f"“{piece}”: “{marks}” can't be read; +S, !priority and ~salt may follow the arrival.",
                          "requests")
        sign, value = mark[0][0], mark[0][1:]
        if sign in by_sign:
            raise Refusal(f"“{piece}” has {sign} twice.", "requests")
        by_sign[sign] = value
        marks = marks[mark.end():]
    return by_sign


def format_requests(requests: tuple[Request, ...]) -> str:
    """The text that parse_requests reads back as the same requests."""
    return ",".join(
        f"{r.id}:{r.prompt_tokens}/{r.max_tokens}@{r.arrival_step}"
        + "+S" * r.shares_prefix + (f"!{r.priority}" if r.priority else "") + (f"~{r.salt}" if r.salt else "")
        for r in requests
    )


def with_token_ids(requests: tuple[Request, ...], shared_prefix_tokens: int) -> tuple[Request, ...]:
    """Give each request without prompt token ids some that equal nobody else's, but for the shared prefix.

    They are negative, so that no prompt contains a sampled token by accident.
    """
    shared = range(-1, -shared_prefix_tokens - 1, -1)
    made, next_id = [], -shared_prefix_tokens - 1
    for request in requests:
        head = shared[: request.prompt_tokens] if request.shares_prefix else ()
        end = next_id - request.prompt_tokens + len(head)
        if not request.prompt_token_ids:
            request = replace(request, prompt_token_ids=tuple(head) + tuple(range(next_id, end, -1)))
        made.append(request)
        next_id = end
    return tuple(made)


class Alloc(NamedTuple):
    """One call of the block allocator, failed ones too; `source` is the list served, "running" or "waiting"."""

    id: str
    source: str
    tokens: int
    hit_tokens: int
    ok: bool
    free_before: int
    free_after: int
    new_blocks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AfterSchedule:
    """The state before the model's output; `computed` has grown by this step's tokens already."""

    running: tuple[str, ...]
    waiting: tuple[str, ...]
    computed: dict[str, int]
    blocks: dict[str, tuple[int, ...]]
    free: int
    placeholders: dict[str, int]


@dataclass(frozen=True, slots=True)
class After:
    """The state at the end of a step; `computed` and `tokens` are of every live request, waiting ones too.

    `blocks` are as they were last written down, none for a pool too large to list; `pool` says how full each is.
    """

    running: tuple[str, ...]
    waiting: tuple[str, ...]
    computed: dict[str, int]
    tokens: dict[str, int]
    free: int
    used: int
    free_queue: tuple[int, ...]
    placeholders: dict[str, int]
    block_size: int = field(repr=False)
    blocks: tuple[Block, ...] = field(repr=False)

    @property
    def cached(self) -> tuple[int, ...]:
        """The blocks that have a prefix-cache entry."""
        return tuple(block.id for block in self.blocks if block.cached)


@dataclass(frozen=True, slots=True)
class Step:
    """One engine step.

    `tokens` is its map {request: tokens} in serving order, `cut` what those asked for that got less.
    `looked_up` is the length of each lookup of an admitted request, `states` where every request ends up.
    `running_stop` is why the running pass ended: all_served, budget or self_preempted; `waiting_stop` why the waiting
    pass did. `processed_step` is the step whose output came in (with async scheduling the one before, or None).
    `allocated` are the parts of each `alloc` in a row, and `sampled_from` is where in the `scripts`, all that the model
    ever samples, `sampled` begins: thousands of small tuples would keep the garbage collector busy.
    """

    step: int
    aborted: tuple[str, ...]
    arrived: tuple[str, ...]
    tokens: dict[str, int]
    cut: dict[str, int] = field(repr=False)
    new: tuple[str, ...]
    resumed: tuple[str, ...]
    preempted: tuple[str, ...]
    prefix_hit: dict[str, int]
    looked_up: dict[str, int]
    running_stop: str
    waiting_stop: str
    allocated: tuple[Any, ...] = field(repr=False)
    evicted: tuple[int, ...]
    scheduled_drafts: dict[str, int]
    after_schedule: AfterSchedule
    processed_step: int | None
    accepted: dict[str, int]
    sampled_from: dict[str, int] = field(repr=False)
    scripts: dict[str, tuple[int, ...]] = field(repr=False)
    finished: tuple[str, ...]
    drafts: dict[str, int]
    after: After
    states: dict[str, str]
    not_called: bool

    @property
    def needs(self) -> dict[str, int]:
        """What each request of the map asked for before any cut."""
        return self.tokens | self.cut

    @property
    def computed_before(self) -> dict[str, int]:
        """What each request of the map had computed before the step, a prefix hit included."""
        return {id: self.after_schedule.computed[id] - tokens for id, tokens in self.tokens.items()}

    @property
    def scheduled(self) -> tuple[tuple[str, int], ...]:
        return tuple(self.tokens.items())

    @property
    def alloc(self) -> tuple[Alloc, ...]:
        """Every call of the block allocator."""
        parts, size = self.allocated, len(Alloc._fields)
        return tuple(Alloc(*parts[at : at + size]) for at in range(0, len(parts), size))

    @property
    def sampled(self) -> dict[str, tuple[int, ...]]:
        """The tokens that each request got from the step's output: one, and the accepted drafts."""
        return {
            id: self.scripts[id][start : start + 1 + self.accepted.get(id, 0)]
            for id, start in self.sampled_from.items()
        }

    @property
    def pool(self) -> tuple[Block, ...]:
        """Every block at the end of the step."""
        after = self.after
        return tuple(block.filled_by(after.computed, after.block_size) for block in after.blocks)

    @property
    def total_scheduled(self) -> int:
        return sum(self.tokens.values())

    def taken_by(self, ids: set[str]) -> set[int]:
        """The blocks that the step handed to these requests."""
        return {block for call in self.alloc if call.ok and call.id in ids for block in call.new_blocks}


@dataclass(frozen=True, slots=True)
class Victim:
    """One preemption: who lost its blocks in which step, to whose request for one, and what that cost.

    `known_tokens` are prompt and outputs, which it keeps; `lost_tokens` of them were computed. `overwritten` counts its
    freed blocks that others took before it was back, by step. The last five are None when it never resumes:
    `stall_steps` gave it nothing, `hit_tokens` were found in the cache, `resuming_step_tokens` computed in the step
    that resumes it, and `recomputed_tokens` are all that it computes a second time.
    """

    id: str
    step: int
    asked_by: str
    freed_blocks: int
    known_tokens: int
    lost_tokens: int
    overwritten: dict[int, int]
    resumed_step: int | None = None
    stall_steps: int | None = None
    hit_tokens: int | None = None
    resuming_step_tokens: int | None = None
    recomputed_tokens: int | None = None

    @property
    def overwritten_blocks(self) -> int:
        return sum(self.overwritten.values())

    @property
    def surviving_blocks(self) -> int:
        return self.freed_blocks - self.overwritten_blocks


@dataclass(frozen=True, slots=True)
class Wait:
    """From the beginning of the step in which a request arrives to the end of the one that gives its first token."""

    steps: int
    time_to_first_token_s: float


@dataclass(frozen=True, slots=True)
class Run:
    """A whole run, and its totals in tokens, steps and preemptions."""

    requests: tuple[Request, ...]
    steps: tuple[Step, ...]

    @property
    def step_count(self) -> int:
        return len(self.steps)

    @property
    def tokens_computed(self) -> int:
        return sum(step.total_scheduled for step in self.steps)

    @property
    def preemptions(self) -> int:
        return sum(len(step.preempted) for step in self.steps)

    @property
    def first_hit_tokens(self) -> int:
        """Tokens found in the prefix cache at first admissions; those after a preemption are counted apart."""
        return sum(step.prefix_hit[id] for step in self.steps for id in step.new)

    @property
    def first_query_tokens(self) -> int:
        return sum(step.looked_up[id] for step in self.steps for id in step.new)

    @property
    def resumed_hit_tokens(self) -> int:
        return sum(step.prefix_hit[id] for step in self.steps for id in step.resumed)

    @property
    def resumed_query_tokens(self) -> int:
        return sum(step.looked_up[id] for step in self.steps for id in step.resumed)

    @property
    def first_token_step(self) -> dict[str, int]:
        """The step that gave each request its first token."""
        return {id: step.step for step in reversed(self.steps) for id in step.sampled}

    @property
    def waits(self) -> dict[str, Wait]:
        """Each request's way to its first token, for an 8B model on one H100."""
        ends_ms = [0.0, *accumulate(self.took_ms(step.step, Machine()) for step in self.steps)]
        arrived = {request.id: request.arrival_step for request in self.requests}
        return {
            id: Wait(at + 1 - arrived[id], (ends_ms[at + 1] - ends_ms[arrived[id]]) / 1e3)
            for id, at in self.first_token_step.items()
        }

    @property
    def longest_step_ms(self) -> float:
        """The longest step, for an 8B model on one H100."""
        return max((self.took_ms(step.step, Machine()) for step in self.steps), default=0.0)

    def took_ms(self, at: int, machine: Machine) -> float:
        """A step's time by the step-time rule; ms. A request past its prefill decodes, any other prefills a chunk."""
        step = self.steps[at]
        prompts = {request.id: request.prompt_tokens for request in self.requests}
        chunks, contexts = [], []
        for name, tokens in step.tokens.items():
            computed = step.computed_before[name]
            if tokens == 1 and computed >= prompts[name]:
                contexts.append(computed)
            else:
                chunks.append((tokens, computed))
        return step_ms(machine, tuple(chunks), len(contexts), sum(contexts)) if step.tokens else 0.0

    @property
    def finished_step(self) -> dict[str, int]:
        """The step in which each request ended."""
        return {id: step.step for step in self.steps for id in step.finished}

    @property
    def victims(self) -> tuple[Victim, ...]:
        """Every preemption, in order."""
        return tuple(victim for step in self.steps if step.preempted for victim in self.victims_of(step))

    def victims_of(self, step: Step) -> Iterator[Victim]:
        """The preemptions of one step, in order."""
        failed = [call.id for call in step.alloc if call.source == "running" and not call.ok]
        before = self.steps[step.step - 1]
        for id, asked_by in zip(step.preempted, failed, strict=False):
            back = next((later for later in self.steps[step.step + 1:] if id in later.resumed), None)
            away = self.steps[step.step: back.step if back else None]
            left = freed = {*before.after_schedule.blocks[id], *step.taken_by({id})}
            overwritten = {}
            for each in away:
                taken = left & each.taken_by({request.id for request in self.requests} - {id})
                overwritten |= {each.step: len(taken)} if taken else {}
                left = left - taken
            lost = before.after.computed[id]
            victim = Victim(id, step.step, asked_by, len(freed), before.after.tokens[id], lost, overwritten)
            yield replace(
                victim, resumed_step=back.step, stall_steps=back.step - step.step, hit_tokens=back.prefix_hit[id],
                resuming_step_tokens=back.tokens[id], recomputed_tokens=max(lost - back.prefix_hit[id], 0),
            ) if back else victim

    def state_of(self, request_id: str, step: int) -> str:
        """"absent", "waiting", "running", "preempted" or "finished": where the request is at the end of a step."""
        return self.steps[step].states[request_id]
