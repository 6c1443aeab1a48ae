"""TTFT after a rollout: how a prefix hit ratio that fell lengthens prefills, and the queue before them far more."""
from dataclasses import dataclass
from math import log

from calculators.models.base import Line, Refusal
from calculators.models.quantity import say

RATIOS = (90, 75, 50, 20, 0)  # hit ratios in the table, in per cent


@dataclass(frozen=True, slots=True)
class Load:
    """One replica at one hit ratio, in ms. `busy_share` is of its time in prefill.

    `prefill_step_share` is of its steps: so many of the gaps between tokens hold a prefill.
    """

    hit_percent: float
    uncached_tokens: float
    service_ms: float
    busy_share: float
    mean_wait_ms: float
    p99_wait_ms: float
    p99_ttft_ms: float
    prefill_step_share: float


@dataclass(frozen=True, slots=True)
class DeployTtft:
    """The replica before and after, and at other ratios; `p99_wait_s` is that of after."""

    before: Load
    after: Load
    others: tuple[Load, ...]
    p99_wait_s: float
    limit_percent: float
    verdict: str
    itl_verdict: str
    finding: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]

    @property
    def slowdown(self) -> float:
        """How many times as long a prefill takes afterwards; 0 where nothing was computed before."""
        return self.after.service_ms / self.before.service_ms if self.before.service_ms else 0.0

    @property
    def wait_growth(self) -> float:
        """The same of the wait at the 99th percentile; 0 where nobody in a hundred waited before."""
        return self.after.p99_wait_ms / self.before.p99_wait_ms if self.before.p99_wait_ms else 0.0


def solve(*, rate_per_s: float = 6, replicas: int = 1, prompt_tokens: int = 4_000, hit_percent: float = 75,
          hit_after_percent: float = 20, prefill_tokens_per_s: float = 25_000, decode_ms: float = 10,
          front_end_ms: float = 5) -> DeployTtft:
    """TTFT of a replica whose prefills are served one by one, before and after its hit ratio changed.

    service = prompt × (1 − hit) / prefill rate, busy = rate × service; the waits are those of one server with Poisson
    arrivals and exponential service, busy × service / (1 − busy) in the mean, service / (1 − busy) × ln(100 busy) at
    the 99th percentile. Exact for that queue, a rule of thumb for a replica.
    Raises Refusal where prefills alone take longer than there is time.
    """
    each = rate_per_s / replicas

    def at(percent: float) -> Load:
        return load(percent, each, prompt_tokens, prefill_tokens_per_s, decode_ms, front_end_ms)

    for name, percent in (("hit_percent", hit_percent), ("hit_after_percent", hit_after_percent)):
        if busy_share(percent, each, prompt_tokens, prefill_tokens_per_s) >= 1:
            raise Refusal("Prefills alone would take all the time: the queue has no end. Take more replicas, or a "
                          "higher ratio.", name)
    before, after = at(hit_percent), at(hit_after_percent)
    limit = max(100 * (1 - prefill_tokens_per_s / (each * prompt_tokens)), 0.0)
    others = tuple(at(ratio) for ratio in RATIOS if busy_share(ratio, each, prompt_tokens, prefill_tokens_per_s) < 1)
    return DeployTtft(
        before=before, after=after, others=others, p99_wait_s=after.p99_wait_ms / 1e3, limit_percent=limit,
        verdict=verdict(before, after), itl_verdict=itl_verdict(before, after),
        finding=f"From {hit_percent:g}% to {hit_after_percent:g}% of hits, P99 TTFT goes from "
                f"{say(before.p99_ttft_ms, 'ms')} to {say(after.p99_ttft_ms, 'ms')}.",
        lines=lines(after, each, prompt_tokens, prefill_tokens_per_s), slips=slips(before, after),
    )


def busy_share(percent: float, each: float, prompt_tokens: int, prefill_tokens_per_s: float) -> float:
    return each * prompt_tokens * (1 - percent / 100) / prefill_tokens_per_s


def load(percent: float, each: float, prompt_tokens: int, prefill_tokens_per_s: float, decode_ms: float,
         front_end_ms: float) -> Load:
    """One replica at a hit ratio; what is busy must be below 1."""
    tokens = prompt_tokens * (1 - percent / 100)
    service = tokens / prefill_tokens_per_s * 1e3
    busy = busy_share(percent, each, prompt_tokens, prefill_tokens_per_s)
    p99 = service / (1 - busy) * max(log(100 * busy), 0.0) if busy else 0.0
    decodes = (1 - busy) * 1e3 / decode_ms
    prefills = each if tokens else 0.0
    return Load(
        hit_percent=percent, uncached_tokens=tokens, service_ms=service, busy_share=busy,
        mean_wait_ms=busy * service / (1 - busy), p99_wait_ms=p99, p99_ttft_ms=front_end_ms + p99 + service,
        prefill_step_share=prefills / (prefills + decodes),
    )


def verdict(before: Load, after: Load) -> str:
    """What the queue makes of the longer prefills."""
    if not before.service_ms or not before.p99_wait_ms or not after.p99_wait_ms:
        return f"Prefills take {say(before.service_ms, 'ms')} before and {say(after.service_ms, 'ms')} after."
    return (f"Prefills take {after.service_ms / before.service_ms:,.1f} times as long, and the wait at the 99th "
            f"percentile {after.p99_wait_ms / before.p99_wait_ms:,.1f} times: they keep the replica busy for "
            f"{after.busy_share:.0%} of the time in place of {before.busy_share:.0%}, and a queue grows with what is "
            "left.")


def itl_verdict(before: Load, after: Load) -> str:
    """Why the median gap between tokens says nothing."""
    share, was = after.prefill_step_share, before.prefill_step_share
    if share < 0.5:
        return (f"Of all steps {share:.0%} hold a prefill, {was:.0%} before: the median gap between tokens does not "
                "move, its 99th percentile does.")
    return f"Of all steps {share:.0%} hold a prefill, so here the median gap between tokens would move as well."


def lines(after: Load, each: float, prompt_tokens: int, prefill_tokens_per_s: float) -> tuple[Line, ...]:
    """The wait after the change, said aloud."""
    busy = after.busy_share
    return (
        Line("uncached tokens", f"{prompt_tokens:,} × (1 − {after.hit_percent / 100:g})", after.uncached_tokens),
        Line("a prefill takes", f"{after.uncached_tokens:,.0f} / {prefill_tokens_per_s:,.0f}", after.service_ms, "ms"),
        Line("busy", f"{each:g}/s × {after.service_ms:,.1f} ms", busy),
        Line("mean wait", f"{busy:.2f} × {after.service_ms:,.1f} / {1 - busy:.2f}", after.mean_wait_ms, "ms"),
        Line("wait, 99th percentile", f"{after.service_ms:,.1f} / {1 - busy:.2f} × ln({100 * busy:.1f})",
             after.p99_wait_ms, "ms", total=True),
    )


def slips(before: Load, after: Load) -> tuple[tuple[float, str], ...]:
    """The wait in seconds that people reach, and what each leaves out."""
    found = [
        (before.p99_wait_ms, "That is the wait before the rollout."),
        (after.mean_wait_ms, "That is the mean; one in a hundred waits far longer."),
        (after.service_ms / (1 - after.busy_share), "That leaves out the logarithm: the tail is longer than the mean."),
    ]
    if before.service_ms:
        found.append((before.p99_wait_ms * after.service_ms / before.service_ms,
                      "That scales the wait like the prefill. The queue also has less time left to empty."))
    return tuple((ms / 1e3, sentence) for ms, sentence in found
                 if ms > 0 and abs(ms - after.p99_wait_ms) > 0.05 * after.p99_wait_ms)
