"""Queueing: one replica as a single server, first come first served, simulated beside the formulas that fit it."""
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass
from itertools import accumulate
from math import exp, lgamma, log
from random import Random

from calculators.models.base import Line, Refusal
from calculators.models.quantity import span

EXPONENTIAL, DETERMINISTIC = "exponential", "deterministic"
MOST_ARRIVALS = 100_000  # followed one by one
FEWEST_ARRIVALS = 20
SLICES = 300  # of the horizon, for the course of the queue
LOADS = (0.5, 0.7, 0.85, 0.95)  # of the ladder
SLIP_APART = 0.05


@dataclass(frozen=True, slots=True)
class Run:
    """One seeded run: times to first token in seconds, of those that came within the horizon and were taken.

    `in_system` and `rejections` are by slice of the horizon: the most requests waiting or in service, and how many were
    turned away.
    """

    arrived: int
    rejected: int
    rejected_share: float
    mean_s: float
    p50_s: float
    p99_s: float
    most_in_system: int
    in_system: tuple[int, ...]
    rejections: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Formula:
    """What the formulas say of the steady state; None where no short one exists. Times in seconds."""

    name: str
    mean_s: float | None
    p99_s: float | None
    mean_wait_s: float | None
    mean_in_system: float | None
    rejected_share: float


@dataclass(frozen=True, slots=True)
class Overload:
    """What grows when more arrives than is served and nothing is turned away; all zero below capacity."""

    grows_per_s: float
    wait_per_s: float
    after_minute_s: float
    backlog: float
    wait_s: float
    drains_per_s: float
    drained_s: float


@dataclass(frozen=True, slots=True)
class Rung:
    """One load of the ladder, exponential service and no cap: times in seconds, None at and past capacity."""

    at: float
    mean_s: float | None
    p99_s: float | None
    fixed_wait_s: float | None  # mean wait if every service took the same time
    present: bool


@dataclass(frozen=True, slots=True)
class Queueing:
    """A load on one server: the run, the formulas, the ladder of loads, and what to turn away. Times in seconds.

    `p99_ttft_s` is the formula's where it has one, else the run's, as `p99_from` says.
    """

    arrivals_per_s: float
    capacity_per_s: float
    p99_ttft_s: float
    p99_from: str
    regime: str
    run: Run
    formula: Formula
    overload: Overload
    shed_share: float
    token_cap: int
    ladder: tuple[Rung, ...]
    finding: str
    regime_verdict: str
    run_verdict: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]


def solve(*, load: float = 0.85, service_s: float = 0.1, service: str = EXPONENTIAL, horizon_s: float = 600,
          max_num_queued_reqs: int | None = None, target_load: float = 0.85, target_ttft_s: float = 2,
          prefill_tokens_per_s: float = 33_000, seed: int = 1) -> Queueing:
    """Offer `load` times what one server can do, for `horizon_s` from empty, and say what every client waits.

    Arrivals are Poisson; a service takes `service_s` on average, exponential or always the same. A time to first token
    is wait plus service. A cap counts waiting and in service, and turns away who finds it full. A real replica is
    neither distribution: right about shape.
    Raises Refusal for too few or too many arrivals to follow.
    Source: vllm 0.33.0, v1/engine/async_llm.py, AsyncLLM.check_admission; config/scheduler.py, max_num_queued_reqs.
    """
    rate, cap = load / service_s, max_num_queued_reqs
    expected = rate * horizon_s
    if expected > MOST_ARRIVALS:
        raise Refusal(f"{rate:,.4g} requests/s for {horizon_s:,.0f} s make {expected:,.0f} arrivals; the lab follows "
                      f"at most {MOST_ARRIVALS:,}. Takes up to {MOST_ARRIVALS / rate:,.0f} s.", "horizon_s")
    if expected < FEWEST_ARRIVALS:
        raise Refusal(f"{rate:,.3g} requests/s for {horizon_s:,.3g} s make {expected:,.1f} arrivals, too few for a "
                      f"percentile. Takes at least {FEWEST_ARRIVALS / rate:,.0f} s.", "horizon_s")
    run = simulate_queue(rate, service_s, service, horizon_s, cap, seed)
    formula = formula_of(load, service_s, service, cap)
    overload = overload_of(load, service_s, cap, horizon_s, target_load)
    regime = "capped" if cap else "growing" if load >= 1 else "steady"
    shed = max(1 - target_load / load, 0)
    p99 = run.p99_s if formula.p99_s is None else formula.p99_s
    return Queueing(
        arrivals_per_s=rate, capacity_per_s=1 / service_s, p99_ttft_s=p99,
        p99_from="run" if formula.p99_s is None else "formula", regime=regime, run=run, formula=formula,
        overload=overload, shed_share=shed, token_cap=round(target_ttft_s * prefill_tokens_per_s),
        ladder=ladder_of(load, service_s), finding=finding(load, service_s, p99, overload, run, regime),
        regime_verdict=regime_verdict(load, regime, overload, shed, target_load),
        run_verdict=run_verdict(run, formula, overload, seed),
        lines=lines_of(load, service_s, formula, overload, run, regime, shed, target_load, horizon_s, target_ttft_s,
                       prefill_tokens_per_s, p99),
        slips=slips_of(load, service_s, formula, run, p99, regime),
    )


def simulate_queue(rate: float, service_s: float, service: str, horizon_s: float, cap: int | None, seed: int) -> Run:
    """Follow every arrival of the horizon to the end of its service."""
    draw = Random(seed)
    taken, ends, times, turned_away = [], [], [], []
    inside: deque[float] = deque()
    free_s, at_s = 0.0, draw.expovariate(rate)
    while at_s < horizon_s or not taken:
        while inside and inside[0] <= at_s:
            inside.popleft()
        takes_s = draw.expovariate(1 / service_s) if service == EXPONENTIAL else service_s
        if cap and len(inside) >= cap:
            turned_away.append(at_s)
        else:
            free_s = max(free_s, at_s) + takes_s
            inside.append(free_s)
            taken.append(at_s)
            ends.append(free_s)
            times.append(free_s - at_s)
        at_s += draw.expovariate(rate)
    slices = most_inside(taken, ends, horizon_s)
    arrived = len(taken) + len(turned_away)
    times.sort()
    return Run(
        arrived=arrived, rejected=len(turned_away), rejected_share=len(turned_away) / arrived,
        mean_s=sum(times) / len(times), p50_s=percentile(times, 0.5), p99_s=percentile(times, 0.99),
        most_in_system=max(slices), in_system=slices, rejections=counts(turned_away, horizon_s),
    )


def percentile(ordered: list[float], share: float) -> float:
    """The smallest value that at least this share of the ordered values doesn't exceed."""
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def most_inside(taken: list[float], ends: list[float], horizon_s: float) -> tuple[int, ...]:
    """The most requests inside at any time of each slice; both lists are in order of time."""
    starts = [k * horizon_s / SLICES for k in range(SLICES)]
    most = [bisect_right(taken, start) - bisect_right(ends, start) for start in starts]
    for number, at_s in enumerate(taken):
        k = min(int(at_s * SLICES / horizon_s), SLICES - 1)
        most[k] = max(most[k], number + 1 - bisect_right(ends, at_s))
    return tuple(most)


def counts(times: list[float], horizon_s: float) -> tuple[int, ...]:
    """How many of the times fall in each slice."""
    found = [0] * SLICES
    for at_s in times:
        found[min(int(at_s * SLICES / horizon_s), SLICES - 1)] += 1
    return tuple(found)


def formula_of(load: float, service_s: float, service: str, cap: int | None) -> Formula:
    """M/M/1, M/D/1 or M/M/1/K, by what they have a short formula for."""
    if cap and service == EXPONENTIAL:
        return capped(load, service_s, cap)
    if cap or load >= 1:
        return Formula("none", None, None, None, None, 0)
    if service == DETERMINISTIC:
        wait = load * service_s / (2 * (1 - load))
        mean = wait + service_s
        return Formula("M/D/1", mean, None, wait, load / service_s * mean, 0)
    mean = service_s / (1 - load)
    return Formula("M/M/1", mean, mean * log(100), load * mean, load / (1 - load), 0)


def capped(load: float, service_s: float, cap: int) -> Formula:
    """M/M/1/K with K = `cap`: who is taken finds n others with a chance ∝ load^n, and stays n + 1 services."""
    logs = [n * log(load) for n in range(cap + 1)]
    weights = [exp(value - max(logs)) for value in logs]
    rejected = weights[-1] / sum(weights)
    found = [weight / sum(weights[:-1]) for weight in weights[:-1]]
    mean = service_s * sum((n + 1) * share for n, share in enumerate(found))
    inside = sum(n * weight for n, weight in enumerate(weights)) / sum(weights)
    at_least = list(accumulate(reversed(found)))[::-1]  # share of those taken who find n or more

    def beyond(services: float) -> float:
        """Share of those taken who stay longer than so many mean services: fewer than n + 1 have ended by then."""
        return sum(exp(n * log(services) - services - lgamma(n + 1)) * at_least[n] for n in range(cap))

    low, high = 1e-9, 10.0 * cap + 50
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if beyond(middle) > 0.01 else (low, middle)
    return Formula("M/M/1/K", mean, high * service_s, mean - service_s, inside, rejected)


def overload_of(load: float, service_s: float, cap: int | None, horizon_s: float, target_load: float) -> Overload:
    """The backlog as a straight line, and how long it takes to drain once the load is back at its target."""
    drains = (1 - target_load) / service_s
    if load <= 1 or cap:
        return Overload(0, 0, 0, 0, 0, drains, 0)
    grows = (load - 1) / service_s
    backlog = grows * horizon_s
    return Overload(grows, load - 1, (load - 1) * 60, backlog, backlog * service_s, drains, backlog / drains)


def ladder_of(load: float, service_s: float) -> tuple[Rung, ...]:
    """The usual loads and the present one, in order."""
    loads = sorted({*LOADS, round(load, 4)})
    return tuple(
        Rung(at, *(None, None, None), present=at == round(load, 4)) if at >= 1 else
        Rung(at, service_s / (1 - at), service_s * log(100) / (1 - at), at * service_s / (2 * (1 - at)),
             at == round(load, 4))
        for at in loads
    )


def finding(load: float, service_s: float, p99: float, overload: Overload, run: Run, regime: str) -> str:
    """The whole result in one sentence."""
    if regime == "growing":
        grown = f"the queue grows by {overload.grows_per_s:,.3g} requests/s" if load > 1 else "nothing is left to drain"
        return f"At {load:.0%} load {grown}: there is no P99, only how long it has lasted."
    if regime == "capped":
        return f"At {load:.0%} load the cap turns {run.rejected_share:.1%} away and P99 TTFT stays at {span(p99)}."
    return f"At {load:.0%} load P99 TTFT is {span(p99)}, {p99 / service_s:,.0f} times the service, with nothing broken."


def regime_verdict(load: float, regime: str, overload: Overload, shed: float, target_load: float) -> str:
    """Which of the three worlds this is, and what gets out of it."""
    if regime == "steady":
        return "Below capacity the queue drains between bursts; waiting goes with 1 / (1 − load)."
    back = f"Turning {shed:.0%} away brings the load to {target_load:.0%}."
    if regime == "capped":
        return f"Who is taken waits behind at most the cap; the rest get HTTP 503 at once, to try elsewhere. {back}"
    if load == 1:
        return f"At exactly 100% the queue wanders and never settles. {back}"
    return (f"Above capacity nothing settles: every second adds {span(overload.wait_per_s)} of wait. {back} The "
            f"backlog of {overload.backlog:,.0f} then takes {span(overload.drained_s)} to drain.")


def run_verdict(run: Run, formula: Formula, growing: Overload, seed: int) -> str:
    """The run beside the formula, in a sentence."""
    seen = f"Seed {seed}: {run.arrived:,} arrivals, median {span(run.p50_s)}, P99 {span(run.p99_s)}"
    seen += f", {run.rejected_share:.1%} turned away" if run.rejected else ""
    if formula.p99_s is not None:
        return f"{seen}. In the long run the formula says {span(formula.p99_s)}" + (
            f" and {formula.rejected_share:.1%}." if run.rejected else ".")
    if formula.mean_s is not None:
        return f"{seen}; the mean is {span(run.mean_s)}, by formula {span(formula.mean_s)}."
    if growing.grows_per_s:
        return f"{seen}; by the straight line the last to come waits {span(growing.wait_s)}."
    return f"{seen}. No short formula holds here."


def lines_of(load: float, service_s: float, formula: Formula, overload: Overload, run: Run, regime: str, shed: float,
             target_load: float, horizon_s: float, target_ttft_s: float, prefill_tokens_per_s: float,
             p99: float) -> tuple[Line, ...]:
    """The derivation of the regime at hand, then the cap on queued tokens that a target allows."""
    lines = [Line("arrivals", f"{load:g} / {service_s:g} s", load / service_s, "a second"),
             Line("capacity", f"1 / {service_s:g} s", 1 / service_s, "a second")]
    if regime == "growing":
        rate = load / service_s
        lines += [
            Line("the queue grows by", f"{rate:,.4g} − {1 / service_s:,.4g}", overload.grows_per_s, "a second"),
            Line(f"after {horizon_s:,.0f} s", f"{overload.grows_per_s:,.3g} × {horizon_s:,.0f}", overload.backlog,
                 "requests"),
            Line("who comes then waits", f"{overload.backlog:,.4g} × {service_s:g} s", overload.wait_s, "s"),
            Line("P99 of all so far", "from the run", run.p99_s, "s", total=True),
            Line("to turn away", f"1 − {target_load:g} / {load:g}", 100 * shed, "%"),
            Line("draining", f"{overload.backlog:,.4g} / {overload.drains_per_s:,.3g} a second", overload.drained_s,
                 "s"),
        ]
    elif formula.name == "M/M/1":
        lines += [
            Line("mean TTFT", f"{service_s:g} s / (1 − {load:g})", formula.mean_s or 0, "s"),
            Line("P99 over the mean", "ln 100", log(100), "×"),
            Line("P99 TTFT", f"{formula.mean_s or 0:.3g} s × {log(100):.3f}", p99, "s", total=True),
        ]
    elif formula.name == "M/D/1":
        lines += [
            Line("mean wait", f"{load:g} × {service_s:g} s / (2 × (1 − {load:g}))", formula.mean_wait_s or 0, "s"),
            Line("service", "", service_s, "s"),
            Line("mean TTFT", "", formula.mean_s or 0, "s", total=True),
            Line("P99 TTFT", "from the run", p99, "s"),
        ]
    else:
        exact = formula.name == "M/M/1/K"
        away = formula.rejected_share if exact else run.rejected_share
        lines += [
            Line("turned away", "(1 − ρ) ρᴷ / (1 − ρᴷ⁺¹)" if exact else "from the run", 100 * away, "%"),
            Line("taken", f"{load / service_s:,.4g} × (1 − {away:.3f})", load / service_s * (1 - away), "a second"),
            Line("P99 TTFT of the taken", "" if exact else "from the run", p99, "s", total=True),
            Line("to turn away", f"1 − {target_load:g} / {load:g}", 100 * shed, "%"),
        ]
    cap = target_ttft_s * prefill_tokens_per_s
    lines.append(Line("queued tokens allowed", f"{target_ttft_s:g} s × {prefill_tokens_per_s:,.0f}", cap, "tokens"))
    return tuple(lines)


def slips_of(load: float, service_s: float, formula: Formula, run: Run, p99: float,
             regime: str) -> tuple[tuple[float, str], ...]:
    """The wrong P99s that people reach, and what each leaves out; none that lies near the right one."""
    slips: list[tuple[float, str]] = [
        (service_s, "That is the service alone. It leaves out the queue."),
        (service_s * log(100), "That is the P99 of the service alone. It leaves out the queue in front of it."),
    ]
    if regime == "steady":
        mean = service_s / (1 - load)
        slips += [
            (mean, "That is the mean. The P99 of an exponential tail is ln 100 = 4.6 times it."),
            (load * mean, "That is the mean wait in the queue. It leaves out the service and the tail."),
            (load * service_s / (2 * (1 - load)), "That is the mean wait when every service takes the same time."),
            (service_s / load * log(100), "That divides by the load. Waiting goes with what is left, 1 − load."),
        ]
    else:
        slips.append((service_s * log(100) / abs(1 - load) if load != 1 else 0,
                      "That is the steady-state formula past its pole. Above capacity there is no steady state."))
    if formula.mean_s is None:
        slips.append((run.mean_s, "That is the mean. Take the P99 of what clients saw."))
    return tuple((value, sentence) for value, sentence in slips if value and abs(value / p99 - 1) > SLIP_APART)
