"""The scheduler lab: who gets tokens in each step, as vLLM's V1 engine decides it."""
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from calculators.labs.base import Expected, Group, Lab, Preset, Shown, Switch, View
from calculators.models import scheduler
from calculators.models.base import Refusal
from calculators.models.scheduler_run import Request, Run, format_requests, parse_requests

MOST_REQUESTS = 26
SIX = "A:24/8@0+S,B:40/6@0+S,C:72/4@0,D:28/10@1+S,E:16/5@2+S,F:30/6@3"
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
    usable_blocks = forms.IntegerField(label="usable KV blocks", min_value=1, max_value=2048, initial=19)
    block_size = forms.IntegerField(min_value=1, max_value=256, initial=8)
    max_model_len = forms.IntegerField(min_value=2, max_value=32_768, initial=128)
    shared_prefix_tokens = forms.IntegerField(label="shared prefix S", min_value=0, max_value=32_768, initial=16)
    max_num_active_seqs = forms.IntegerField(min_value=1, max_value=1024, required=False)
    enable_prefix_caching = Switch(label="prefix caching", initial=True)
    enable_chunked_prefill = Switch(label="chunked prefill", initial=True)
    long_prefill_token_threshold = forms.IntegerField(
        label="long-prefill threshold", min_value=0, max_value=32_768, initial=0,
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


def expected(run: Run, step: int) -> tuple[Expected, ...]:
    """The entries of a step's map: each request that is there when the step begins, 0 for one that gets nothing."""
    now, before = run.steps[step], run.steps[step - 1]
    entries = []
    for request in run.requests:
        state = before.states[request.id]
        if request.id in before.finished:
            entries.append(Expected(request.id, 0, note="done"))
        elif state in ("waiting", "running", "preempted") or request.id in now.arrived:
            entries.append(Expected(request.id, now.tokens.get(request.id, 0)))
    return tuple(entries)


def summary(inputs: Mapping[str, Any]) -> str:
    """The knobs in one line: "budget 32, 4 seqs, 19 blocks of 8, fcfs"."""
    return (
        f"budget {inputs['max_num_batched_tokens']:,}, {inputs['max_num_seqs']:,} seqs, "
        f"{inputs['usable_blocks']:,} blocks of {inputs['block_size']}, {inputs['policy']}"
    )


def tell(run: Run) -> Iterator[str]:
    """A line a step: its map, and what ended or was preempted."""
    for step in run.steps:
        yield f"{step.step:>4}  {step.tokens}"


def picture(shown: Shown) -> None:
    return None


LAB = Lab(
    slug="scheduler", title="Scheduler, one step at a time", topic="scheduling",
    line="Who gets tokens this step, in steps", fragment="calculators/labs/_scheduler.html",
    views=(
        View(
            "steps", SchedulerForm, scheduler.simulate, picture=picture, predict=expected, summary=summary, tell=tell,
            bulky=("pool",),
            presets=(Preset("six requests", {}),),
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
    ),
)
