"""Draft tokens in the scheduler's books: 1 + k rows a decode, the pointer that runs ahead, and what comes back."""
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from random import Random

from calculators.models import scheduler
from calculators.models.base import Line, Refusal
from calculators.models.scheduler_run import Request

BLOCK_SIZE, USABLE_BLOCKS, MODEL_LENGTH = 8, 512, 256
MOST_REQUESTS, MOST_TOKENS = 6, 120
DRAWN_STEPS = 1_200  # more than the longest run has


@dataclass(frozen=True, slots=True)
class Row:
    """One request in a step: tokens given of those asked, drafts among them, how many held, and the pointer.

    The pointer, `num_computed_tokens`, stands at `before`, at `advanced` once the step is scheduled, and at `after`
    once its output is in. `blocks` are held then. `known` counts prompt and output tokens after the step.
    """

    id: str
    asked: int
    given: int
    drafts: int
    accepted: int
    before: int
    advanced: int
    after: int
    sampled: int
    known: int
    blocks: int
    prefill: bool
    finished: bool

    @property
    def rejected(self) -> int:
        return self.drafts - self.accepted


@dataclass(frozen=True, slots=True)
class Step:
    """One engine step; `rows` are the requests that are not done yet, in order, `left` of the budget nobody took."""

    step: int
    rows: tuple[Row, ...]
    used: int
    left: int
    done: tuple[str, ...]

    @property
    def rejected(self) -> int:
        return sum(row.rejected for row in self.rows)

    @property
    def sampled(self) -> int:
        return sum(row.sampled for row in self.rows)


@dataclass(frozen=True, slots=True)
class DraftRows:
    """A whole run: its steps, and how many rows of the budget were computed for tokens that stayed."""

    steps: tuple[Step, ...]
    tokens_computed: int
    tokens_rejected: int
    tokens_sampled: int
    full_sequences: int
    finding: str
    lines: tuple[Line, ...]


def simulate(*, requests: tuple[Request, ...], num_speculative_tokens: int = 3, acceptance: float = 0.7,
             max_num_batched_tokens: int = 32, seed: int = 1) -> DraftRows:
    """Run the scheduler with k drafts a decode, each accepted with the same chance while those before it were.

    A decode asks for 1 + k tokens; the pointer advances by what was given and comes back by what was rejected.
    Source: vllm 0.33.0, v1/core/sched/scheduler.py, schedule, _update_after_schedule, update_from_output.
    """
    if len(requests) > MOST_REQUESTS:
        raise Refusal(f"{len(requests)} requests; the strip shows {MOST_REQUESTS}.", "requests")
    if (long := max(requests, key=total)) and total(long) > MOST_TOKENS:
        raise Refusal(f"{long.id} has {total(long):,} tokens in all; the strip takes {MOST_TOKENS}.", "requests")
    if late := [request.id for request in requests if request.arrival_step]:
        raise Refusal(f"{', '.join(late)} would come later; here all are present at the start.", "requests")
    if max_num_batched_tokens < len(requests):
        raise Refusal(f"{len(requests)} sequences want a budget of as many tokens at least.", "max_num_batched_tokens")
    random = Random(seed)
    held = [{request.id: holding(random, num_speculative_tokens, acceptance) for request in requests}
            for _ in range(DRAWN_STEPS)]
    run = scheduler.simulate(
        requests=requests, max_num_batched_tokens=max_num_batched_tokens, max_num_seqs=len(requests),
        usable_blocks=USABLE_BLOCKS, block_size=BLOCK_SIZE, max_model_len=MODEL_LENGTH, enable_prefix_caching=False,
        num_speculative_tokens=num_speculative_tokens, accepted=held,
    )
    steps = tuple(steps_of(run, max_num_batched_tokens))
    computed, rejected = sum(step.used for step in steps), sum(step.rejected for step in steps)
    sampled = sum(step.sampled for step in steps)
    return DraftRows(
        steps=steps, tokens_computed=computed, tokens_rejected=rejected, tokens_sampled=sampled,
        full_sequences=max_num_batched_tokens // (1 + num_speculative_tokens),
        finding=f"{len(steps):,} steps computed {computed:,} tokens; {rejected:,} of them were rejected drafts.",
        lines=(
            Line("a decode asks for", f"1 + {num_speculative_tokens}", 1 + num_speculative_tokens, "tokens"),
            Line("decodes that fill the budget", f"{max_num_batched_tokens:,} / (1 + {num_speculative_tokens})",
                 max_num_batched_tokens // (1 + num_speculative_tokens), "sequences"),
            Line("computed", "all steps", computed, "tokens"),
            Line("rejected", "computed for nothing", rejected, "tokens"),
            Line("sampled", "all requests", sampled, "tokens"),
        ),
    )


def total(request: Request) -> int:
    return request.prompt_tokens + request.max_tokens


def holding(random: Random, k: int, acceptance: float) -> int:
    """How many of k drafts hold: up to the first that does not."""
    return sum(1 for _ in takewhile(lambda draw: draw < acceptance, [random.random() for _ in range(k)]))


def steps_of(run: scheduler.Run, budget: int) -> Iterator[Step]:
    """The run's steps, each with the pointers of the requests that are left."""
    prompts = {request.id: request.prompt_tokens for request in run.requests}
    computed, known, ended = dict.fromkeys(prompts, 0), dict(prompts), []
    for step in run.steps:
        rows = tuple(row_of(step, id, computed, known, prompts) for id in prompts if id not in ended)
        done = tuple(ended)
        computed |= {row.id: row.after for row in rows}
        known |= {row.id: row.known for row in rows}
        ended += step.finished
        yield Step(step.step, rows, step.total_scheduled, budget - step.total_scheduled, done)


def row_of(step: scheduler.Step, id: str, computed: Mapping[str, int], known: Mapping[str, int],
           prompts: Mapping[str, int]) -> Row:
    given, drafts, accepted = step.tokens.get(id, 0), step.scheduled_drafts.get(id, 0), step.accepted.get(id, 0)
    sampled, before = len(step.sampled.get(id, ())), computed[id]
    return Row(
        id=id, asked=step.needs.get(id, 0), given=given, drafts=drafts, accepted=accepted, before=before,
        advanced=before + given, after=before + given - (drafts - accepted), sampled=sampled,
        known=known[id] + sampled, blocks=len(step.after_schedule.blocks.get(id, ())), prefill=before < prompts[id],
        finished=id in step.finished,
    )
