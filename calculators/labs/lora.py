"""The lora lab: adapters that take turns or share a batch, what each costs a step, and who starves."""
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from calculators.labs import lora_picture
from calculators.labs.base import Ask, Expected, Group, Lab, Preset, View
from calculators.labs.read_field import ReadField
from calculators.labs.row_field import GpuField, ModelField
from calculators.models import lora, lora_steps
from calculators.models.catalogue import FULL, MODELS
from calculators.models.lora import ARRIVALS, BUSY, RANKS, SPREAD, TOGETHER

# Experts and latents take adapters of other shapes.
DENSE = MODELS.only(lambda model: set(model.pattern) == {FULL} and not model.experts)
ONE_KEEPS_COMING = "A:6,B:3,C:3,A:6@2,A:6@5,A:6@9,B:3@10"


class TenantsForm(forms.Form):
    """The tenants and what they send, the flags of LoRA, the model on its GPU."""

    tenants = forms.IntegerField(min_value=1, max_value=64, initial=8, help_text="each with an adapter of its own")
    requests_per_tenant = forms.IntegerField(label="requests each", min_value=1, max_value=32, initial=8)
    output_tokens = forms.IntegerField(label="output", min_value=1, max_value=20_000, initial=300)
    context_tokens = forms.IntegerField(
        label="context", min_value=0, max_value=1_000_000, initial=1_000, help_text="read in each step; doesn’t grow",
    )
    arrivals = forms.ChoiceField(label="arrivals", choices=list(ARRIVALS.items()), initial=TOGETHER)
    gap_s = forms.FloatField(
        label="one every", min_value=0.001, max_value=3_600, initial=0.2, help_text="of who keeps coming, or of each",
    )
    busy_requests = forms.IntegerField(
        label="who keeps coming sends", min_value=1, max_value=400, initial=40, help_text="that is tenant A",
    )
    max_loras = forms.IntegerField(min_value=1, max_value=256, initial=1, help_text="adapters among running requests")
    rank = forms.TypedChoiceField(
        label="adapters’ rank", choices=[(n, str(n)) for n in RANKS], coerce=int, initial=16,
    )
    max_lora_rank = forms.TypedChoiceField(choices=[(n, str(n)) for n in RANKS], coerce=int, initial=16)
    max_cpu_loras = forms.IntegerField(min_value=1, max_value=1_024, required=False, help_text="empty: as max_loras")
    max_num_seqs = forms.IntegerField(min_value=1, max_value=65_536, initial=1_024)
    disk_load_ms = forms.FloatField(
        label="read from disk", min_value=0, max_value=60_000, initial=0, help_text="in the step, if not in memory",
    )
    launch_us = forms.FloatField(
        label="launches, each", min_value=0, max_value=10_000, initial=0, help_text="a distinct adapter; measure it",
    )
    model = ModelField(DENSE, initial="llama-3.1-8b")
    gpu = GpuField(label="GPU", initial="h100")
    bandwidth_share = forms.FloatField(label="bandwidth reached", min_value=0.05, max_value=1, initial=0.8)
    tb_per_s = forms.FloatField(
        label="bandwidth", min_value=0.01, max_value=100, required=False, help_text="empty: the GPU’s",
    )
    weight_gb = forms.FloatField(
        label="weights read", min_value=0.01, max_value=10_000, required=False, help_text="empty: bf16, no embedding",
    )
    kv_bytes_per_token = forms.IntegerField(
        label="KV a token", min_value=64, max_value=10_000_000, required=False, help_text="empty: the model’s",
    )
    in_plus_out = forms.IntegerField(
        label="in + out, summed", min_value=1, max_value=1_000_000_000, required=False,
        help_text="over adapted layers; empty: all linear ones",
    )

    units = {
        "output_tokens": "tok", "context_tokens": "tok", "gap_s": "s", "disk_load_ms": "ms", "launch_us": "µs",
        "tb_per_s": "TB/s", "weight_gb": "GB", "kv_bytes_per_token": "B",
    }


class StepsForm(forms.Form):
    """A few requests, and how many adapters may run together."""

    requests = ReadField(
        read=lora_steps.parse_requests, write=lora_steps.format_requests, max_length=600, initial=ONE_KEEPS_COMING,
        help_text="tenant A to H : tokens @ the step it is there from",
    )
    max_loras = forms.IntegerField(min_value=1, max_value=8, initial=1)
    max_num_seqs = forms.IntegerField(min_value=1, max_value=64, initial=8)


def summary(inputs: Mapping[str, Any]) -> str:
    """"8 tenants, 8 each, max_loras 1, rank 16 of 16"."""
    return (f"{inputs['tenants']:,} tenants, {inputs['requests_per_tenant']:,} each, max_loras "
            f"{inputs['max_loras']:,}, rank {inputs['rank']} of {inputs['max_lora_rank']}")


def steps_summary(inputs: Mapping[str, Any]) -> str:
    return (f"{len(inputs['requests'])} requests, max_loras {inputs['max_loras']}, {inputs['max_num_seqs']} "
            f"seat{'s' * (inputs['max_num_seqs'] != 1)}")


def tell(result: lora.Lora) -> Iterator[str]:
    """The finding, the derivation, a line a tenant and the verdicts, for a shell."""
    yield result.finding
    yield from map(str, result.lines)
    for tenant in result.served.tenants:
        yield (f"{tenant.name}: waits {tenant.mean_wait_s:,.3g} s on average, {tenant.longest_wait_s:,.3g} s at most, "
               f"done after {tenant.done_s:,.4g} s, passed over {tenant.passed_over:,}×")
    yield from (result.verdict, result.slots_verdict)


def tell_steps(run: lora_steps.Admissions) -> Iterator[str]:
    """A line a step: who runs, who is skipped, who ends; then what it came to."""
    for number, step in enumerate(run.steps):
        runs = ", ".join(f"{tenant} {count}" for tenant, count in step.running.items() if count)
        parts = [f"runs {runs}"] if runs else []
        parts += [f"{verb} {', '.join(names)}" for verb, names in (("skips", step.skipped), ("ends", step.finished))
                  if names]
        yield f"{number:>4}  {'; '.join(parts)}"
    yield run.finding


def expected(run: lora_steps.Admissions, inputs: Mapping[str, Any], at: int) -> tuple[Expected, ...]:
    """How many of each tenant run in the step."""
    step = run.steps[at]
    return tuple(Expected(tenant, step.running[tenant], step.why[tenant], unit="requests") for tenant in run.names)


TENANTS = View(
    "tenants", TenantsForm, lora.solve, picture=lora_picture.tenants, summary=summary, tell=tell,
    ask=Ask(figure="makespan_s", label="all done after", unit="s"),
    presets=(
        Preset("eight tenants, --enable-lora alone", {}, "64 requests and room for all. When is the last one done?"),
        Preset("a slot for each", {"max_loras": 8}, "The same with --max-loras 8: what does an adapter cost now?"),
        Preset("one tenant keeps coming", {"arrivals": BUSY},
               "A sends a request every 0.2 s. When do the other seven begin?"),
        Preset("rank 256, to be safe", {"max_loras": 8, "max_lora_rank": 256},
               "Adapters of rank 16 in slots sixteen times as large: KV that nobody gets."),
        Preset("48 tenants, 8 slots, from disk",
               {"tenants": 48, "requests_per_tenant": 4, "arrivals": SPREAD, "gap_s": 4, "max_loras": 8,
                "max_cpu_loras": 16, "disk_load_ms": 150},
               "More adapters in rotation than main memory keeps: every read stops every request."),
        Preset("70B on an H200", {"model": "llama-3.1-70b", "gpu": "h200", "max_loras": 8, "weight_gb": 69,
                                  "context_tokens": 500},
               "8-bit weights: an adapter, in bf16, weighs relatively more."),
    ),
    groups=(
        Group("Tenants", ("tenants", "requests_per_tenant", "output_tokens", "context_tokens", "arrivals", "gap_s",
                          "busy_requests")),
        Group("Flags", ("max_loras", "rank", "max_lora_rank", "max_cpu_loras", "max_num_seqs")),
        Group("Machine", ("disk_load_ms", "launch_us", "model", "gpu", "bandwidth_share", "tb_per_s", "weight_gb",
                          "kv_bytes_per_token", "in_plus_out"), folded=True),
    ),
)

STEPS = View(
    "steps", StepsForm, lora_steps.simulate, picture=lora_picture.steps, summary=steps_summary, tell=tell_steps,
    predict=expected, title="admission, in steps",
    presets=(
        Preset("A keeps coming", {}, "B and C came with A’s first request. Say for each step how many of each run."),
        Preset("two adapters", {"max_loras": 2}, "Room for B beside A; whose turn is it when B ends?"),
        Preset("in turn", {"requests": "A:4,B:4,C:4,A:4,B:4,C:4"}, "Nobody keeps coming: tenants take turns."),
        Preset("three seats", {"requests": "A:6,A:6,B:4,A:6,C:2", "max_loras": 2, "max_num_seqs": 3},
               "When the seats are full nobody is skipped: the queue keeps its order."),
    ),
    groups=(Group("", ("max_loras", "max_num_seqs")), Group("Requests", ("requests",))),
)

LAB = Lab(
    slug="lora", title="Many adapters in one batch", topic="sampling", line="Adapters take turns, or share a batch",
    fragment="calculators/labs/_parts.html", thumbnail=lora_picture.thumbnail, views=(TENANTS, STEPS),
    notes=("Admission, sizes and slots are exact. A step’s time is a bound of reading at the share of the bandwidth "
           "given, prefill left out; at small batches the adapters’ kernel launches cost more than their bytes: "
           "measure them. Prefixes are cached per adapter, so tenants share none.",),
)
