"""The picture of the dashboard view: what runs and waits, the pool, the parts of TTFT, the token, each by its limit."""
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from calculators.labs.base import Shown
from calculators.models.latency_dashboard import Dashboard
from calculators.models.quantity import span
from calculators.pictures import NARROW, WIDE, Bar, Drawing, Scale, Shape, Text, wall_beside
from calculators.ruled import width_of

NAMES = 128
ROW, HIGH = 56, 22


@dataclass(frozen=True, slots=True)
class Picture:
    """Both drawings, and the gauges and counters of the table as (metric, value)."""

    wide: Drawing
    narrow: Drawing
    gauges: tuple[tuple[str, str], ...]


def picture(shown: Shown) -> Picture:
    result, inputs = shown.result, shown.inputs
    return Picture(wide=panel(result, inputs, narrow=False), narrow=panel(result, inputs, narrow=True),
                   gauges=gauges(result, inputs))


def panel(result: Dashboard, inputs: Mapping[str, Any], narrow: bool) -> Drawing:
    """Four rows, each on a scale of its own with its limit at a wall."""
    slo_s, slo_tpot_s = inputs["slo_ttft_ms"] / 1e3, inputs["slo_tpot_ms"] / 1e3
    held = result.running + result.waiting
    parts = (("front end", result.front_end_s), ("queue", result.queue_s), ("prefill", result.prefill_s))
    shapes = (
        *row(0, "sequences", held, inputs["max_num_seqs"], f"{inputs['max_num_seqs']:,} seats",
             f"{result.running:,.0f} running, {result.waiting:,.1f} waiting", narrow,
             (("running", result.running, "s-running"), ("waiting", result.waiting, "s-waiting"))),
        *row(1, "KV pool", result.kv_usage, 1, "100%", f"{result.kv_usage:.0%} used", narrow,
             (("used", result.kv_usage, "solid"),)),
        *row(2, "TTFT, mean", result.ttft_mean_s, slo_s, span(slo_s),
             f"{span(result.ttft_mean_s)}, queue {span(result.queue_s)}" if narrow else
             f"{span(result.ttft_mean_s)}: " + ", ".join(f"{name} {span(value)}" for name, value in parts), narrow,
             tuple((name, value, css) for (name, value), css in zip(parts, ("other", "s-waiting", "s-running"),
                                                                  strict=True))),
        *row(3, "each token", result.tpot_s, slo_tpot_s, span(slo_tpot_s), f"{result.tpot_s * 1e3:.1f} ms", narrow,
             (("token", result.tpot_s, "solid"),)),
    )
    return Drawing(NARROW if narrow else WIDE, 4 * (ROW if not narrow else ROW + 14) + 6, result.finding, shapes)


def row(number: int, name: str, value: float, limit: float, limit_words: str, words: str, narrow: bool,
        parts: tuple[tuple[str, float, str], ...]) -> Iterator[Shape]:
    """One bar of parts against its limit; the scale takes in both where they are near enough to be seen together."""
    x1, x2 = (2, NARROW - 24) if narrow else (NAMES, 640)
    y = 22 + number * (ROW + 14 if narrow else ROW) + (14 if narrow else 0)
    high = max(value * 1.1, limit if limit < 12 * value else 0)
    scale = Scale(0, high, x1, x2)
    at = x1
    if narrow:
        yield Text(x1, y - 8, f"{name}: {words}; limit {limit_words}", "label")
    else:
        yield Text(x1 - 12, y + 16, name, "strong", "end")
        yield Text(x2 + 40, y + 16, words, "value")
    for _, size, css in parts:
        width = round(scale(size) - x1, 2)
        if css == "s-waiting":
            yield Bar(at, y + 6, max(width, 0.5), HIGH - 12, css)
        else:
            yield Bar(at, y, max(width, 0.5), HIGH, css)
        at = round(at + width, 2)
    if limit <= high:
        yield from wall_beside(scale(limit), y - 6, y + HIGH + 6)
        room = width_of(limit_words) < scale(limit) - x1
        if not narrow:
            yield Text(scale(limit), y - 10, limit_words, "limit-text", "end" if room else "start")
    elif not narrow:
        yield Text(x2, y - 10, f"{limit_words} →", "limit-text", "end")


def gauges(result: Dashboard, inputs: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The gauges and counters in the order of a dashboard, each as it would be read."""
    full = result.pool_full_share
    return (
        ("vllm:num_requests_running", f"{result.running:,.0f}"),
        ("vllm:num_requests_waiting", f"{result.waiting:,.1f}"),
        ("vllm:kv_cache_usage_perc", f"{result.kv_usage:.2f}"),
        ("rate(vllm:num_preemptions_total)", f"above 0 in {full:.0%} of the time" if full >= 0.005 else "0"),
        ("rate(vllm:prompt_tokens_total)", f"{result.prompt_tokens_per_s:,.0f} a second"),
        ("rate(vllm:generation_tokens_total)", f"{result.generation_tokens_per_s:,.0f} a second"),
        ("prefix_cache_hits / prefix_cache_queries", f"{result.hit_ratio:.2f}"),
        ("goodput", f"{result.goodput_per_s:,.3g} of {inputs['rate_per_s']:g} requests/s"),
    )
