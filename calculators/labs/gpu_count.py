"""The gpu-count lab: sizing a service, its queue, what is in flight, and the dashboard that tells on it."""
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from calculators.labs import (
    gpu_count_dashboard_picture,
    gpu_count_flight_picture,
    gpu_count_picture,
    gpu_count_queue_gist,
    gpu_count_queue_picture,
)
from calculators.labs.base import Ask, Group, Lab, Preset, View
from calculators.labs.row_field import GpuField, ModelField
from calculators.models import gpu_count, in_flight, latency_dashboard, queueing
from calculators.models.catalogue import BF16, FP8, FULL, GPUS, INT4, MLA, MODELS

# Models whose layers all keep every token: what a sequence holds is then a plain product.
WHOLE = MODELS.only(lambda model: set(model.pattern) <= {FULL, MLA})


class SizingForm(forms.Form):
    """Traffic at peak, what was promised, one replica, and the rules of thumb."""

    users = forms.IntegerField(label="active users", min_value=1, max_value=100_000_000, initial=12_000)
    think_s = forms.FloatField(label="a message every", min_value=0.1, max_value=86_400, initial=60)
    prompt_tokens = forms.IntegerField(label="prompt", min_value=1, max_value=1_000_000, initial=1_500)
    hit_percent = forms.FloatField(label="prefix hits", min_value=0, max_value=100, initial=60)
    output_tokens = forms.IntegerField(label="output", min_value=1, max_value=100_000, initial=300)
    ttft_s = forms.FloatField(label="TTFT", min_value=0, max_value=600, initial=0.5)
    ms_per_token = forms.FloatField(label="TPOT", min_value=1, max_value=1_000, initial=40)
    model = ModelField(WHOLE, initial="llama-3.1-70b")
    weights = forms.ChoiceField(choices=[(BF16, "bf16"), (FP8, "fp8"), (INT4, "int4")], initial=FP8)
    kv_dtype = forms.ChoiceField(label="KV type", choices=[(BF16, "bf16"), (FP8, "fp8")], initial=FP8)
    gpu = GpuField(label="GPU", initial="h100")
    gpus_per_replica = forms.TypedChoiceField(
        label="GPUs a replica", choices=[(n, str(n)) for n in (1, 2, 4, 8)], coerce=int, initial=2,
    )
    max_num_seqs = forms.IntegerField(label="seats", min_value=1, max_value=65_536, initial=1_024)
    bandwidth_share = forms.FloatField(label="bandwidth, of peak", min_value=0.05, max_value=1, initial=0.7)
    compute_share = forms.FloatField(label="compute, of peak", min_value=0.05, max_value=1, initial=0.45)
    busy_share = forms.FloatField(label="busy at most", min_value=0.1, max_value=1, initial=0.85)
    fill_share = forms.FloatField(label="KV filled", min_value=0.1, max_value=1, initial=0.9)
    spare_percent = forms.FloatField(label="spare", min_value=0, max_value=200, initial=10)

    units = {
        "think_s": "s", "prompt_tokens": "tok", "hit_percent": "%", "output_tokens": "tok", "ttft_s": "s",
        "ms_per_token": "ms", "spare_percent": "%",
    }


class QueueingForm(forms.Form):
    """One server, the load on it, the queue cap, and what to compare with."""

    load = forms.FloatField(min_value=0.05, max_value=2, initial=0.85, help_text="1 is what the server can do")
    service_s = forms.FloatField(label="service", min_value=0.001, max_value=60, initial=0.1)
    service = forms.ChoiceField(
        label="each", choices=[(queueing.EXPONENTIAL, "exponential"), (queueing.DETERMINISTIC, "the same")],
        initial=queueing.EXPONENTIAL,
    )
    max_num_queued_reqs = forms.IntegerField(
        label="queue cap", min_value=1, max_value=2_000, required=False, help_text="empty: no cap, as by default",
    )
    horizon_s = forms.FloatField(label="followed for", min_value=1, max_value=100_000, initial=600)
    seed = forms.IntegerField(min_value=1, max_value=9_999, initial=1)
    target_load = forms.FloatField(label="back to a load of", min_value=0.05, max_value=0.99, initial=0.85)
    target_ttft_s = forms.FloatField(label="TTFT wanted", min_value=0.01, max_value=600, initial=2)
    prefill_tokens_per_s = forms.FloatField(
        label="prefill, tokens", min_value=100, max_value=10_000_000, initial=33_000,
    )

    units = {"service_s": "s", "horizon_s": "s", "target_ttft_s": "s", "prefill_tokens_per_s": "/s"}


class InFlightForm(forms.Form):
    """The rate, how long a sequence stays, and the replica that has to hold it."""

    rate_per_s = forms.FloatField(label="arrivals", min_value=0.01, max_value=100_000, initial=50)
    output_tokens = forms.IntegerField(label="output", min_value=1, max_value=100_000, initial=500)
    ms_per_token = forms.FloatField(label="per token", min_value=0.1, max_value=10_000, initial=40)
    ttft_s = forms.FloatField(
        label="TTFT", min_value=0, max_value=600, required=False, help_text="empty: the first token is like the others",
    )
    max_num_seqs = forms.IntegerField(label="seats", min_value=1, max_value=65_536, initial=1_024)
    prompt_tokens = forms.IntegerField(label="prompt", min_value=1, max_value=1_000_000, initial=1_000)
    model = ModelField(WHOLE, initial="llama-3.1-8b")
    gpu = GpuField(label="GPU", initial="h100")
    pool_gib = forms.FloatField(label="KV pool", min_value=0.1, max_value=10_000, initial=54.4)

    units = {
        "rate_per_s": "/s", "output_tokens": "tok", "ms_per_token": "ms", "ttft_s": "s", "prompt_tokens": "tok",
        "pool_gib": "GiB",
    }


class DashboardForm(forms.Form):
    """The traffic and the promises; what the replica is like stays folded, since it gives the cause away."""

    rate_per_s = forms.FloatField(label="arrivals", min_value=0.01, max_value=1_000, initial=10)
    prompt_tokens = forms.IntegerField(label="prompt", min_value=1, max_value=1_000_000, initial=1_000)
    hit_percent = forms.FloatField(label="prefix hits", min_value=0, max_value=100, initial=50)
    output_tokens = forms.IntegerField(label="output", min_value=2, max_value=100_000, initial=300)
    slo_ttft_ms = forms.FloatField(label="TTFT within", min_value=1, max_value=600_000, initial=500)
    slo_tpot_ms = forms.FloatField(label="TPOT within", min_value=0.1, max_value=10_000, initial=50)
    front_end_ms = forms.FloatField(label="front end, a request", min_value=0.01, max_value=10_000, initial=3)
    prefill_tokens_per_s = forms.FloatField(
        label="prefill, tokens", min_value=100, max_value=10_000_000, initial=25_000,
    )
    weights_ms = forms.FloatField(label="step, weights", min_value=0.1, max_value=1_000, initial=15)
    sequence_ms = forms.FloatField(label="each sequence adds", min_value=0, max_value=100, initial=0.1)
    max_num_seqs = forms.IntegerField(label="seats", min_value=1, max_value=4_096, initial=1_024)
    pool_tokens = forms.IntegerField(label="KV pool, tokens", min_value=16, max_value=100_000_000, initial=430_000)

    units = {
        "rate_per_s": "/s", "prompt_tokens": "tok", "hit_percent": "%", "output_tokens": "tok", "slo_ttft_ms": "ms",
        "slo_tpot_ms": "ms", "front_end_ms": "ms", "prefill_tokens_per_s": "/s", "weights_ms": "ms",
        "sequence_ms": "ms",
    }


def sizing_summary(inputs: Mapping[str, Any]) -> str:
    replica = f"{inputs['gpus_per_replica']} × {GPUS[inputs['gpu']].name}"
    return f"{inputs['users']:,} users, {MODELS[inputs['model']].name} {inputs['weights']}, {replica}"


def queueing_summary(inputs: Mapping[str, Any]) -> str:
    cap = inputs["max_num_queued_reqs"]
    return f"load {inputs['load']:g}, service {inputs['service_s']:g} s{f', cap {cap:,}' if cap else ''}"


def in_flight_summary(inputs: Mapping[str, Any]) -> str:
    return f"{inputs['rate_per_s']:g}/s, {inputs['output_tokens']:,} tokens at {inputs['ms_per_token']:g} ms"


def dashboard_summary(inputs: Mapping[str, Any]) -> str:
    return f"{inputs['rate_per_s']:g}/s, prompt {inputs['prompt_tokens']:,}, output {inputs['output_tokens']:,}"


def tell(result: Any) -> Iterator[str]:
    """The finding, the derivation and the verdicts, for a shell."""
    yield result.finding
    yield from map(str, result.lines)
    for verdict in ("time_verdict", "regime_verdict", "run_verdict", "seats_verdict", "kv_verdict"):
        if words := getattr(result, verdict, ""):
            yield words


def tell_dashboard(result: latency_dashboard.Dashboard) -> Iterator[str]:
    """The same, each histogram with its P99, and the cause last."""
    yield from tell(result)
    for timing in result.timings:
        yield (f"{timing.metric}: mean {timing.mean_s:.3g} s, P99 {timing.p99_s:.3g} s, read from the buckets "
               f"{timing.read_p99_s:.3g} s")
    yield f"cause: {result.cause_words}. {result.why}"


SIZING = (
    Preset("chat, 12,000 users", {},
           "A 70B in fp8 on pairs of H100s: no constraint alone asks for half of what time does."),
    Preset("no prefix hits", {"hit_percent": 0}, "The same without a prefix cache: prefill takes twice the GPUs."),
    Preset("replies twice as long", {"output_tokens": 600}, "Sequences stay twice as long, so KV doubles as well."),
    Preset("four GPUs a replica", {"gpus_per_replica": 4},
           "One reading of the weights serves twice as many: fewer GPUs."),
    Preset("8B, long replies", {
        "users": 3_000, "prompt_tokens": 1_000, "hit_percent": 0, "output_tokens": 500, "model": "llama-3.1-8b",
        "weights": BF16, "kv_dtype": BF16, "gpus_per_replica": 1,
    }, "50 requests/s of 500 tokens on single H100s."),
    Preset("mixture of experts", {"model": "qwen3-235b-a22b", "gpus_per_replica": 4},
           "22B of 235B are computed a token, nearly all are read a step."),
)
QUEUEING = (
    Preset("load 0.85", {}, "Below capacity: the tail is long and nothing is broken."),
    Preset("load 1.05", {"load": 1.05, "seed": 4}, "Above capacity: wait grows for as long as it lasts."),
    Preset("load 1.05, cap 20", {"load": 1.05, "max_num_queued_reqs": 20},
           "The same with a cap: some are turned away at once, the rest wait seconds."),
    Preset("load 0.95", {"load": 0.95}, "Ten points more load, three times the P99."),
    Preset("equal services", {"service": queueing.DETERMINISTIC}, "No variance in the service: half of the mean wait."),
)
IN_FLIGHT = (
    Preset("50 a second", {}, "500 tokens at 40 ms: a thousand at once, whatever the distributions."),
    Preset("with prefill", {"ttft_s": 0.5}, "499 gaps and half a second to the first token."),
    Preset("20 ms a token", {"ms_per_token": 20}, "An engine twice as fast needs half of the seats and of the KV."),
    Preset("32B on H200s", {"rate_per_s": 20, "model": "qwen3-32b", "gpu": "h200", "pool_gib": 62},
           "Twice the KV a token of the 8B, and weights that leave 62 GiB of it."),
)
DASHBOARD = (
    Preset("90 running", {}, "10 requests/s, 300 tokens, 30 ms a token."),
    Preset("dashboard A", {"pool_tokens": 110_500}, "Users say slow. Name the cause from the figures."),
    Preset("dashboard B", {"front_end_ms": 92}, "Users say slow. Name the cause from the figures."),
    Preset("dashboard C", {"max_num_seqs": 96}, "Users say slow. Name the cause from the figures."),
    Preset("dashboard D", {"rate_per_s": 0.4, "prompt_tokens": 24_000, "hit_percent": 20},
           "Users say slow. Name the cause from the figures."),
    Preset("dashboard E", {"rate_per_s": 15}, "Users say slow. Name the cause from the figures."),
)

LAB = Lab(
    slug="gpu-count", title="How many GPUs", topic="sizing", line="Users to GPUs: what decides",
    fragment="calculators/labs/_gpu_count.html", thumbnail=gpu_count_picture.thumbnail,
    views=(
        View(
            "sizing", SizingForm, gpu_count.solve, picture=gpu_count_picture.picture, summary=sizing_summary, tell=tell,
            presets=SIZING, ask=Ask(figure="gpus", label="how many", unit="GPUs"),
            groups=(
                Group("Traffic at peak", ("users", "think_s", "prompt_tokens", "hit_percent", "output_tokens")),
                Group("Promise", ("ttft_s", "ms_per_token")),
                Group("Replica", ("model", "weights", "kv_dtype", "gpu", "gpus_per_replica", "max_num_seqs")),
                Group("Rules of thumb", ("bandwidth_share", "compute_share", "busy_share", "fill_share",
                                         "spare_percent")),
            ),
        ),
        View(
            "queueing", QueueingForm, queueing.solve, picture=gpu_count_queue_picture.picture, summary=queueing_summary,
            tell=tell, presets=QUEUEING, ask=Ask(figure="p99_ttft_s", label="P99 TTFT", unit="s"),
            gist=gpu_count_queue_gist.gist,
            groups=(
                Group("One server", ("load", "service_s", "service", "max_num_queued_reqs")),
                Group("The run", ("horizon_s", "seed")),
                Group("Getting out", ("target_load", "target_ttft_s", "prefill_tokens_per_s")),
            ),
        ),
        View(
            "in-flight", InFlightForm, in_flight.solve, picture=gpu_count_flight_picture.picture,
            summary=in_flight_summary, tell=tell, presets=IN_FLIGHT,
            ask=Ask(figure="sequences", label="in flight", unit="sequences"),
            groups=(
                Group("Traffic", ("rate_per_s", "output_tokens", "ms_per_token", "ttft_s")),
                Group("Replica", ("max_num_seqs", "prompt_tokens", "model", "gpu", "pool_gib")),
            ),
        ),
        View(
            "dashboard", DashboardForm, latency_dashboard.solve, picture=gpu_count_dashboard_picture.picture,
            summary=dashboard_summary, tell=tell_dashboard, presets=DASHBOARD,
            ask=Ask(figure="cause", label="the cause", choices=tuple(latency_dashboard.CAUSES.items())),
            groups=(
                Group("Traffic", ("rate_per_s", "prompt_tokens", "hit_percent", "output_tokens")),
                Group("Promise", ("slo_ttft_ms", "slo_tpot_ms")),
                Group("Inside the replica", ("front_end_ms", "prefill_tokens_per_s", "weights_ms", "sequence_ms",
                                             "max_num_seqs", "pool_tokens"), folded=True),
            ),
        ),
    ),
    notes=("Counts and bytes are exact given the inputs. Shares of peak, Poisson arrivals and exponential services are "
           "rules of thumb: right about shape.",),
)
