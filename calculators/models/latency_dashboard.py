"""Latency dashboard: the steady value of each metric of one replica, and what Prometheus makes of it."""
from collections.abc import Callable
from dataclasses import dataclass
from math import exp, floor

from calculators.models.base import Line, Refusal
from calculators.models.quantity import span

HEALTHY, FRONT_END, PREFILL, SEATS, KV, STEPS = "healthy", "front-end", "prefill", "seats", "kv", "steps"
CAUSES = {
    HEALTHY: "nothing, it is healthy",
    SEATS: "the queue: seats run out",
    KV: "KV: the pool is full",
    FRONT_END: "the front end",
    PREFILL: "long prompts to compute",
    STEPS: "the step itself",
}
GOOD_ENOUGH = 0.95  # share of requests within both promises from which a replica counts as healthy

# Upper bounds in seconds, of vllm 0.33.0, v1/metrics/buckets.py.
REQUEST_BUCKETS = (0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0,
                   480.0, 960.0, 1920.0, 7680.0)
TTFT_BUCKETS = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0,
                80.0, 160.0, 640.0, 2560.0)
TOKEN_BUCKETS = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0,
                 80.0)

Tail = Callable[[float], float]  # seconds to the share of requests that take longer


@dataclass(frozen=True, slots=True)
class Timing:
    """One histogram in seconds: its true mean and P99, and the P99 that histogram_quantile returns from its buckets."""

    metric: str
    mean_s: float
    p99_s: float
    read_p99_s: float


@dataclass(frozen=True, slots=True)
class Dashboard:
    """Steady values of one replica: counts, shares from 0 to 1, times in seconds; and the cause of what is wrong.

    `front_end_s`, `queue_s` and `prefill_s` add up to the mean TTFT; `seats` is how many sequences fit, by the flag or
    by the pool, whichever is less.
    """

    running: float
    waiting: float
    kv_usage: float
    seats: int
    seats_busy: float
    pool_full_share: float
    front_end_s: float
    queue_s: float
    prefill_s: float
    decode_s: float
    ttft_mean_s: float
    ttft_p99_s: float
    tpot_s: float
    e2e_mean_s: float
    prefill_busy: float
    front_end_busy: float
    hit_ratio: float
    prompt_tokens_per_s: float
    generation_tokens_per_s: float
    good_share: float
    goodput_per_s: float
    timings: tuple[Timing, ...]
    cause: str
    cause_words: str
    why: str
    finding: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[str, str], ...]


def solve(*, rate_per_s: float = 10, prompt_tokens: int = 1_000, hit_percent: float = 50, output_tokens: int = 300,
          slo_ttft_ms: float = 500, slo_tpot_ms: float = 50, front_end_ms: float = 3,
          prefill_tokens_per_s: float = 25_000, weights_ms: float = 15, sequence_ms: float = 0.1,
          max_num_seqs: int = 1_024, pool_tokens: int = 430_000) -> Dashboard:
    """Settle one replica under Poisson arrivals and read its gauges and histograms.

    A request passes the front end (one server), waits for a seat and for its turn to prefill, prefills, then decodes.
    A step takes `weights_ms` plus `sequence_ms` for each running sequence; prefill takes its share of the seconds, so a
    token takes step / (1 − share). Each stage is taken as memoryless and independent (M/M/1, M/M/c, M/M/1): right about
    shape. Running is exact by Little's law.
    Raises Refusal where nothing settles, and says what grows.
    Source: vllm 0.33.0, v1/metrics/loggers.py, PrometheusStatLogger; v1/metrics/buckets.py.
    """
    gaps = output_tokens - 1
    computed = max(prompt_tokens * (1 - hit_percent / 100), 1)  # the last prompt token is always computed
    front_s, prefill_s = front_end_ms / 1e3, computed / prefill_tokens_per_s
    front_busy, prefill_busy = rate_per_s * front_s, rate_per_s * prefill_s
    refuse_unsettled(rate_per_s, front_busy, front_s, prefill_busy, prefill_s)
    tpot_s = settle(rate_per_s, gaps, prefill_s, prefill_busy, weights_ms / 1e3, sequence_ms / 1e3)
    inference_s = prefill_s + gaps * tpot_s
    running = rate_per_s * inference_s
    resident = prompt_tokens + output_tokens / 2
    by_pool = floor(pool_tokens / resident)
    seats = min(max_num_seqs, by_pool)
    if running >= seats:
        what, field = ("pool", "pool_tokens") if by_pool < max_num_seqs else ("flag", "max_num_seqs")
        raise Refusal(f"{running:,.0f} want to run and the {what} takes {seats:,}: waiting grows by about "
                      f"{rate_per_s - seats / inference_s:,.2g} requests/s and nothing settles.", field)

    full = erlang_c(seats, running)
    seat_rate = (seats - running) / inference_s
    prefill_rate = (1 - prefill_busy) / prefill_s
    front_rate = (1 - front_busy) / front_s
    seat_wait, turn_wait = full / seat_rate, prefill_busy / prefill_rate

    def ttft_tail(t: float) -> float:
        return (1 - full) * later(t, front_rate, prefill_rate) + full * later(t, front_rate, prefill_rate, seat_rate)

    def queue_tail(t: float) -> float:
        one = full * (1 - prefill_busy) * later(t, seat_rate) + prefill_busy * (1 - full) * later(t, prefill_rate)
        return one + full * prefill_busy * later(t, seat_rate, prefill_rate)

    def token_tail(t: float) -> float:
        return float(t < tpot_s)

    queue_s = seat_wait + turn_wait
    ttft = 1 / front_rate + queue_s + prefill_s
    in_time = 1 - ttft_tail(slo_ttft_ms / 1e3)
    good = in_time if tpot_s * 1e3 <= slo_tpot_ms else 0.0
    parts = {FRONT_END: 1 / front_rate, PREFILL: turn_wait + prefill_s,
             KV if by_pool < max_num_seqs else SEATS: seat_wait}
    cause = cause_of(good, tpot_s * 1e3 > slo_tpot_ms, parts)
    usage = running * resident / pool_tokens
    waiting = rate_per_s * queue_s
    return Dashboard(
        running=running, waiting=waiting, kv_usage=usage, seats=seats, seats_busy=running / seats,
        pool_full_share=full if by_pool < max_num_seqs else 0.0, front_end_s=1 / front_rate, queue_s=queue_s,
        prefill_s=prefill_s, decode_s=gaps * tpot_s, ttft_mean_s=ttft, ttft_p99_s=quantile(0.99, ttft_tail),
        tpot_s=tpot_s, e2e_mean_s=ttft + gaps * tpot_s, prefill_busy=prefill_busy, front_end_busy=front_busy,
        hit_ratio=hit_percent / 100, prompt_tokens_per_s=rate_per_s * prompt_tokens,
        generation_tokens_per_s=rate_per_s * output_tokens, good_share=good, goodput_per_s=rate_per_s * good,
        timings=(
            timing("time_to_first_token_seconds", ttft, ttft_tail, TTFT_BUCKETS),
            timing("request_queue_time_seconds", queue_s, queue_tail, REQUEST_BUCKETS),
            timing("request_prefill_time_seconds", prefill_s, lambda t: later(t, 1 / prefill_s), REQUEST_BUCKETS),
            timing("inter_token_latency_seconds", tpot_s, token_tail, TOKEN_BUCKETS),
        ),
        cause=cause, cause_words=CAUSES[cause],
        why=why(cause, waiting, usage, queue_s, parts, front_busy, prefill_busy, tpot_s, prefill_s, seats, full),
        finding=(f"{running:,.0f} running, {waiting:,.1f} waiting, KV at {usage:.0%}, TTFT {span(ttft)} on average, "
                 f"{tpot_s * 1e3:.1f} ms a token: goodput {rate_per_s * good:.3g} of {rate_per_s:g} requests/s."),
        lines=lines_of(rate_per_s, output_tokens, prefill_s, tpot_s, running, ttft, front_rate, queue_s, good),
        slips=tuple((other, why_not(other, waiting, usage, seats, running, front_busy, prefill_s, tpot_s, slo_tpot_ms,
                                    slo_ttft_ms, good)) for other in CAUSES if other != cause),
    )


def refuse_unsettled(rate: float, front_busy: float, front_s: float, prefill_busy: float, prefill_s: float) -> None:
    """Raise Refusal where a single server can't keep up."""
    if front_busy >= 1:
        raise Refusal(f"The front end does {1 / front_s:,.3g} requests/s and {rate:g} arrive: it falls behind for "
                      "ever.", "front_end_ms")
    if prefill_busy >= 1:
        raise Refusal(f"Full steps prefill {1 / prefill_s:,.3g} such prompts/s and {rate:g} arrive: waiting grows by "
                      f"{rate - 1 / prefill_s:,.2g} requests/s and nothing settles.", "rate_per_s")


def settle(rate: float, gaps: int, prefill_s: float, prefill_busy: float, weights_s: float, sequence_s: float) -> float:
    """Seconds a token at the batch that this very time makes: tpot = (weights + sequence × running) / (1 − busy)."""
    left = 1 - prefill_busy - rate * gaps * sequence_s
    if left <= 0:
        raise Refusal("Each sequence lengthens the step, a longer step keeps more sequences, and at this rate that has "
                      "no end: nothing settles.", "rate_per_s")
    return (weights_s + sequence_s * rate * prefill_s) / left


def erlang_c(seats: int, load: float) -> float:
    """Share of arrivals that find all seats taken when `load` of them are busy on average (M/M/c)."""
    blocked = 1.0  # Erlang B, by its recursion over seats
    for taken in range(1, seats + 1):
        blocked = load * blocked / (taken + load * blocked)
    return blocked / (1 - load / seats * (1 - blocked))


def later(t: float, *rates: float) -> float:
    """Chance that a sum of independent exponential times with these rates lasts longer than t.

    Rates are moved apart a little where they are equal, since the closed form divides by their differences.
    """
    apart: list[float] = []
    for rate in sorted(rates):
        apart.append(max(rate, apart[-1] * (1 + 1e-4)) if apart else rate)
    total = 0.0
    for this in apart:
        product = exp(-this * t)
        for other in apart:
            product *= other / (other - this) if other != this else 1
        total += product
    return min(max(total, 0.0), 1.0)


def quantile(share: float, tail: Tail) -> float:
    """The time that `share` of the requests don't exceed, in seconds."""
    if tail(0.0) <= 1 - share:
        return 0.0
    low, high = 0.0, 1e-3
    while tail(high) > 1 - share and high < 1e7:
        high *= 2
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > 1 - share else (low, middle)
    return high


def histogram_quantile(share: float, bounds: tuple[float, ...], tail: Tail) -> float:
    """What Prometheus returns: the place within the bucket that holds the quantile, as if its values lay evenly."""
    lower = 0.0
    for upper in bounds:
        if 1 - tail(upper) >= share:
            below, within = (1 - tail(lower) if lower else 0.0), 1 - tail(upper)
            return lower + (upper - lower) * (share - below) / (within - below)
        lower = upper
    return bounds[-1]


def timing(metric: str, mean_s: float, tail: Tail, bounds: tuple[float, ...]) -> Timing:
    return Timing(metric, mean_s, quantile(0.99, tail), histogram_quantile(0.99, bounds, tail))


def cause_of(good: float, slow_steps: bool, parts: dict[str, float]) -> str:
    """The promise that is broken names it: the step for TPOT, for TTFT the longest of its parts."""
    if good >= GOOD_ENOUGH:
        return HEALTHY
    return STEPS if slow_steps else max(parts, key=lambda part: parts[part])


def why(cause: str, waiting: float, usage: float, queue_s: float, parts: dict[str, float], front_busy: float,
        prefill_busy: float, tpot_s: float, prefill_s: float, seats: int, full: float) -> str:
    """The pair of figures that names the cause, in two sentences."""
    return {
        HEALTHY: "Both promises hold for nearly everyone.",
        SEATS: f"{waiting:,.1f} waiting with KV at {usage:.0%}: memory is not what stops them. All {seats:,} seats are "
               f"taken {full:.0%} of the time, so --max-num-seqs is.",
        KV: f"{waiting:,.1f} waiting with KV at {usage:.0%}: the pool takes {seats:,} sequences and is full {full:.0%} "
            "of the time, when growing replies preempt.",
        FRONT_END: f"TTFT less queue less prefill leaves {span(parts[FRONT_END])}: tokenisation and templates keep the "
                   f"front end {front_busy:.0%} busy while the engine has room.",
        PREFILL: f"Queue time is {span(queue_s)} and prefill time {span(prefill_s)}: what arrives is long and not "
                 "cached, and seats and KV are free.",
        STEPS: f"{tpot_s * 1e3:,.0f} ms a token for everyone. Prefill takes {prefill_busy:.0%} of the seconds, and the "
               "batch makes each step longer.",
    }[cause]


def why_not(cause: str, waiting: float, usage: float, seats: int, running: float, front_busy: float, prefill_s: float,
            tpot_s: float, slo_tpot_ms: float, slo_ttft_ms: float, good: float) -> str:
    """What on the dashboard speaks against a cause that is not the one."""
    return {
        HEALTHY: f"Only {good:.0%} meet both promises.",
        SEATS: f"{waiting:,.1f} wait, and the reason is not the flag: look at KV usage beside it.",
        KV: f"KV stands at {usage:.0%} with {running:,.0f} of {seats:,} sequences. Even a full pool is healthy while "
            "nobody waits.",
        FRONT_END: f"The front end is {front_busy:.0%} busy; TTFT is explained by queue and prefill.",
        PREFILL: f"Prefill time is {span(prefill_s)}, against {slo_ttft_ms:g} ms promised.",
        STEPS: f"{tpot_s * 1e3:.1f} ms a token is {'within' if tpot_s * 1e3 <= slo_tpot_ms else 'beyond'} the promised "
               f"{slo_tpot_ms:g} ms.",
    }[cause]


def lines_of(rate: float, output: int, prefill_s: float, tpot_s: float, running: float, ttft: float, front_rate: float,
             queue_s: float, good: float) -> tuple[Line, ...]:
    """TTFT by its parts, then running and waiting by Little's law, then goodput."""
    decode = (output - 1) * tpot_s
    return (
        Line("front end", "TTFT less queue less prefill", 1e3 / front_rate, "ms"),
        Line("queue time", "first scheduled less queued", 1e3 * queue_s, "ms"),
        Line("prefill time", "first token less first scheduled", 1e3 * prefill_s, "ms"),
        Line("mean TTFT", "", 1e3 * ttft, "ms", total=True),
        Line("decode time", f"({output:,} − 1) × {tpot_s:.4g} s", decode, "s"),
        Line("running", f"{rate:g} × ({prefill_s:.3g} + {decode:.4g}) s", running, "sequences"),
        Line("waiting", f"{rate:g} × {queue_s:.3g} s", rate * queue_s, "requests"),
        Line("goodput", f"{rate:g} × {good:.3f}", rate * good, "a second"),
    )
