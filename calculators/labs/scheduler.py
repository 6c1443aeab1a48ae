"""The scheduler lab: who gets tokens in each step, as vLLM's V1 engine decides it."""
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from calculators.labs import budget_dial
from calculators.labs import scheduler_picture as drawn
from calculators.labs.base import Expected, Group, Lab, Preset, Shown, Switch, View
from calculators.models import quantity, scheduler
from calculators.models import scheduler_words as words
from calculators.models.base import Refusal
from calculators.models.kv_cache import Block
from calculators.models.scheduler_run import Request, Run, format_requests, parse_requests
from calculators.models.scheduler_words import Limits, Sentence
from calculators.models.step_time import Machine
from calculators.pictures import NARROW, WIDE, Drawing

MOST_REQUESTS = 26
MOST_PROMPT_TOKENS, MOST_OUTPUT_TOKENS = 200_000, 20_000  # of all requests together: a run is computed at every look
MOST_ROWS = 100  # of the table of steps, the last ones
SIX = "A:24/8@0+S,B:40/6@0+S,C:72/4@0,D:28/10@1+S,E:16/5@2+S,F:30/6@3"
FOUR_AND_FOUR = "A:72/4@0,B:72/4@0,C:72/4@0,D:72/4@0,E:12/4@1,F:12/4@1,G:12/4@1,H:12/4@1"
SIX_BY_PRIORITY = "A:24/8@0+S!1,B:40/6@0+S!1,C:72/4@0!2,D:28/10@1+S,E:16/5@2+S,F:30/6@3"


class RequestsField(forms.CharField):
    """Requests as one text, "A:24/8@0+S,B:40/6@0"."""

    def __init__(self, **more: Any) -> None:
        super().__init__(max_length=2000, widget=forms.Textarea, **more)

    def to_python(self, value: Any) -> tuple[Request, ...] | None:
        if not isinstance(value, str) or not value.strip():
            return None
        try:
            requests = parse_requests(value)
        except Refusal as refusal:
            raise ValidationError(str(refusal)) from None
        if len(requests) > MOST_REQUESTS:
            raise ValidationError(f"{len(requests)} requests; the picture holds {MOST_REQUESTS}.")
        for what, tokens, most in (
            ("prompts", sum(request.prompt_tokens for request in requests), MOST_PROMPT_TOKENS),
            ("outputs", sum(request.max_tokens for request in requests), MOST_OUTPUT_TOKENS),
        ):
            if tokens > most:
                raise ValidationError(f"The {what} are {tokens:,} tokens together; the lab follows at most {most:,}.")
        return requests

    def run_validators(self, value: Any) -> None:
        """Its length is judged as text, before it is read."""

    def clean(self, value: Any) -> tuple[Request, ...]:
        if isinstance(value, str) and len(value) > self.max_length:
            raise ValidationError(self.error_messages["required"])
        return super().clean(value)

    def prepare_value(self, value: Any) -> Any:
        return format_requests(value) if isinstance(value, tuple) else value


class SchedulerForm(forms.Form):
    """The engine's settings under vLLM's names, and the requests."""

    requests = RequestsField(
        initial=SIX, help_text="id : prompt / output @ arrival, then +S shared prefix, !priority, ~salt",
    )
    max_num_batched_tokens = forms.IntegerField(min_value=1, max_value=65_536, initial=32)
    max_num_seqs = forms.IntegerField(min_value=1, max_value=1024, initial=4)
    usable_blocks = forms.IntegerField(
        label="usable KV blocks", min_value=1, max_value=scheduler.LISTED_BLOCKS, initial=19,
    )
    block_size = forms.IntegerField(min_value=1, max_value=256, initial=8)
    max_model_len = forms.IntegerField(min_value=2, max_value=32_768, initial=128)
    shared_prefix_tokens = forms.IntegerField(label="shared prefix S", min_value=0, max_value=32_768, initial=16)
    max_num_active_seqs = forms.IntegerField(min_value=1, max_value=1024, required=False)
    enable_prefix_caching = Switch(label="prefix caching", initial=True)
    enable_chunked_prefill = Switch(label="chunked prefill", initial=True)
    long_prefill_token_threshold = forms.IntegerField(
        label="long-prefill threshold", min_value=0, max_value=32_768, initial=0, help_text="0 is off",
    )
    long_prefill_token_threshold_adaptive = Switch(label="adaptive threshold", initial=False)
    prefill_schedule_interval = forms.IntegerField(min_value=1, max_value=100, initial=1)
    scheduler_reserve_full_isl = Switch(label="reserve full prompt", initial=True)
    watermark = forms.FloatField(min_value=0, max_value=0.99, initial=0.0)
    policy = forms.ChoiceField(choices=[("fcfs", "fcfs"), ("priority", "priority")], initial="fcfs")
    async_scheduling = Switch(label="async scheduling", initial=False)
    num_speculative_tokens = forms.IntegerField(min_value=0, max_value=16, initial=0)
    num_lookahead_tokens = forms.IntegerField(min_value=0, max_value=16, initial=0)
    accepted_drafts = forms.IntegerField(label="drafts accepted", min_value=0, max_value=16, initial=0)

    units = {
        "max_num_batched_tokens": "tok", "max_model_len": "tok", "shared_prefix_tokens": "tok",
        "long_prefill_token_threshold": "tok", "block_size": "tok", "prefill_schedule_interval": "steps",
    }


@dataclass(frozen=True, slots=True)
class Row:
    """One shown step as a row of the table: its map, its sum, what happened, and the free blocks after it."""

    step: int
    map: str
    total: int
    events: str
    free: int


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything that is shown of a step: drawings, each wide and narrow, and the same in words and tables."""

    map: Drawing
    map_narrow: Drawing
    cells: frozenset[str]
    map_text: str
    total: int
    budget: int
    stop: str
    took: str
    sentences: tuple[Sentence, ...]
    running: str
    waiting: str
    blocks: tuple[Block, ...]
    pool: Drawing
    pool_narrow: Drawing
    kinds: frozenset[str]
    counted: bool
    free: int
    queue: Drawing
    queue_narrow: Drawing
    rows: tuple[Row, ...]
    rows_left_out: int


def picture(shown: Shown) -> Picture:
    """The picture of one step of a run."""
    run, at, inputs = shown.result, shown.step, shown.inputs
    step, budget, usable = run.steps[at], inputs["max_num_batched_tokens"], inputs["usable_blocks"]
    limits = limits_of(inputs)
    counted, size = usable > drawn.MOST_DRAWN_BLOCKS, inputs["block_size"]
    first_row = max(at + 1 - MOST_ROWS, 0)
    return Picture(
        map=drawn.step_map(run, at, budget, drawn.wide_sheet(run, at)),
        map_narrow=drawn.step_map(run, at, budget, drawn.narrow_sheet(run, at)),
        cells=drawn.kinds_of_cells(run, at),
        map_text=drawn.map_text(step), total=step.total_scheduled, budget=budget, stop=words.stop_words(step, limits),
        took=quantity.say(run.took_ms(at, Machine()), "ms"), sentences=words.sentences(run, at, limits),
        running=", ".join(step.after.running), waiting=", ".join(step.after.waiting),
        blocks=() if counted else step.pool, counted=counted, kinds=drawn.kinds_of_blocks(step.pool),
        free=step.after.free,
        pool=drawn.pool(run, step, size, WIDE), pool_narrow=drawn.pool(run, step, size, NARROW),
        queue=drawn.free_queue(step, WIDE, 17, 2), queue_narrow=drawn.free_queue(step, NARROW, 6, 5),
        rows=tuple(row_of(run, each.step, limits) for each in run.steps[first_row: at + 1]), rows_left_out=first_row,
    )


def row_of(run: Run, at: int, limits: Limits) -> Row:
    step = run.steps[at]
    parts = [f"{who} {verb}" for names, verb in (
        (step.preempted, "preempted"), (step.resumed, "resumed"), (step.new, "admitted"), (step.finished, "finished"),
    ) if (who := ", ".join(names))]
    hits = [f"{name} hits {hit:,}" for name, hit in step.prefix_hit.items() if hit]
    return Row(at, drawn.map_text(step), step.total_scheduled, "; ".join(parts + hits), step.after.free)


def limits_of(inputs: Mapping[str, Any]) -> Limits:
    return Limits(**{name: inputs[name] for name in Limits.__slots__})


def expected(run: Run, inputs: Mapping[str, Any], step: int) -> tuple[Expected, ...]:
    """The entries of a step's map: each request that is there when the step begins, 0 for one that gets nothing."""
    now, before, limits = run.steps[step], run.steps[step - 1], limits_of(inputs)
    entries = []
    for request in run.requests:
        name = request.id
        if name in before.finished:
            entries.append(Expected(name, 0, note="done"))
        elif before.states[name] in ("waiting", "running", "preempted") or name in now.arrived:
            entries.append(Expected(name, now.tokens.get(name, 0), words.why(run, step, name, limits)))
    return tuple(entries)


def summary(inputs: Mapping[str, Any]) -> str:
    """The knobs in one line: "budget 32, 4 seqs, 19 blocks of 8, fcfs"."""
    return (
        f"budget {inputs['max_num_batched_tokens']:,}, {inputs['max_num_seqs']:,} seqs, "
        f"{inputs['usable_blocks']:,} blocks of {inputs['block_size']}, {inputs['policy']}"
    )


def tell(run: Run) -> Iterator[str]:
    """A line a step: its map, its sum, what ended or was preempted; then the totals."""
    for step in run.steps:
        verbs = {"preempted": step.preempted, "finished": step.finished}
        ends = [f"{', '.join(names)} {verb}" for verb, names in verbs.items() if names]
        yield "  ".join([f"{step.step:>4}", drawn.map_text(step), f"= {step.total_scheduled:,}", *ends])
    yield (
        f"{run.step_count:,} steps, {run.tokens_computed:,} tokens computed, {run.preemptions:,} preemptions, "
        f"hits {run.first_hit_tokens:,} of {run.first_query_tokens:,}, after preemption "
        f"{run.resumed_hit_tokens:,} of {run.resumed_query_tokens:,}"
    )


PRESETS = (
    Preset("six requests", {}, "Six requests on 19 blocks: one is preempted, three hit the shared prefix."),
    Preset(
        "victim",
        {"requests": "P:64/96@0,Q:64/96@0,R:64/96@0", "max_num_batched_tokens": 256, "max_num_seqs": 8,
         "usable_blocks": 24, "block_size": 16, "max_model_len": 256},
        "Three need 30 blocks in the end and there are 24: at step 65 none is free and R, admitted last, pays.",
    ),
    Preset(
        "long prompts", {"long_prefill_token_threshold": 8},
        "The six with a threshold of 8: no prompt takes more than 8 tokens of a step while others are there.",
    ),
    Preset(
        "four long, four short",
        {"requests": FOUR_AND_FOUR, "max_num_seqs": 8, "usable_blocks": 60, "shared_prefix_tokens": 0},
        "Four prompts of 72 just before four of 12. Set the long-prefill threshold to 16, 8 and 4: when do E to H get "
        "their first token?",
    ),
    Preset("priority", {"requests": SIX_BY_PRIORITY, "policy": "priority"},
           "The six with priorities: the victim is the least urgent, wherever it stands."),
    Preset(
        "a long prompt on a real budget",
        {"requests": "A:524/40@0+S,B:300/40@0,C:150/40@0,G:118/2@0,D:8000/20@0,E:300/20@2,F:1000/20@2+S",
         "max_num_batched_tokens": 2048, "max_num_seqs": 8, "usable_blocks": 1000, "block_size": 16,
         "max_model_len": 9216, "shared_prefix_tokens": 512},
        "A, B and C decode, G has just ended, D is 3,000 tokens into a prompt of 8,000, E and F arrive at step 2.",
    ),
)


LAB = Lab(
    slug="scheduler", title="Scheduler, one step at a time", topic="scheduling",
    line="Who gets tokens this step, in steps", fragment="calculators/labs/_scheduler.html",
    thumbnail=drawn.thumbnail,
    views=(
        View(
            "steps", SchedulerForm, scheduler.simulate, picture=picture, predict=expected, summary=summary, tell=tell,
            bulky=("pool",), aside="calculators/labs/_scheduler_requests.html", title="Steps",
            presets=PRESETS,
            groups=(
                Group("", (
                    "max_num_batched_tokens", "max_num_seqs", "usable_blocks", "block_size",
                    "long_prefill_token_threshold", "watermark", "policy", "enable_prefix_caching",
                    "scheduler_reserve_full_isl",
                )),
                Group("More knobs", (
                    "max_model_len", "max_num_active_seqs", "enable_chunked_prefill",
                    "long_prefill_token_threshold_adaptive", "prefill_schedule_interval", "async_scheduling",
                    "num_speculative_tokens", "accepted_drafts", "num_lookahead_tokens",
                ), folded=True),
                Group("Requests", ("requests", "shared_prefix_tokens")),
            ),
        ),
        budget_dial.VIEW,
    ),
)
