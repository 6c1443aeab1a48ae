"""How many tokens to draft: what each more brings, what it costs, and where it stops paying."""
from dataclasses import dataclass
from itertools import accumulate
from math import inf
from operator import mul

from calculators.models.base import Line, Refusal

SEQUENTIAL, PARALLEL = "sequential", "parallel"
MOST_DRAFTS, MOST_SEARCHED = 16, 32
NO_LENGTH = 0  # the best draft length where every one loses
NEARLY = 0.95  # of the best gain: enough for a server, with fewer tokens to verify
SLIP_APART = 0.03


@dataclass(frozen=True, slots=True)
class AtLength:
    """One draft length: tokens a step yields, what it costs in plain steps, the quotient, and what the last one adds.

    `accepted_share` is accepted of drafted, what the counters show.
    """

    k: int
    expected_tokens: float
    paid: float
    speed_up: float
    adds: float
    accepted_share: float


@dataclass(frozen=True, slots=True)
class DraftLength:
    """The length given and the best one (0: each loses), the cheapest that is nearly as good, and the limits.

    `ceiling` is what no length gets past, None where nothing is ever refused; `break_even_acceptance` the chance below
    which the length given loses, None when it loses even with every draft accepted.
    """

    here: AtLength
    at_lengths: tuple[AtLength, ...]
    best_k: int
    best_speed_up: float
    thrifty_k: int
    thrifty_speed_up: float
    break_even_acceptance: float | None
    ceiling: float | None
    verdict: str
    finding: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]


def solve(*, acceptance: float = 0.8, num_speculative_tokens: int = 5, draft_cost_percent: float = 5.0,
          verify_percent: float = 0.0, drafter: str = SEQUENTIAL,
          per_position: tuple[float, ...] = ()) -> DraftLength:
    """Weigh tokens a verify step yields against its cost, for each draft length.

    E = 1 + a + … + aᵏ, or with a chance for each position 1 + the sum of their running products; speed-up = E / (1 +
    k c + k v): c is what a draft costs and v what one more row to verify costs, both in plain steps; v is 0 while the
    step is bound by memory and 1 when by products. A parallel drafter pays c once.
    Raises Refusal for more drafts than positions.
    Source: Leviathan et al., arXiv 2211.17192; vllm 0.33.0, v1/sample/rejection_sampler.py.
    """
    k, cost, verify = num_speculative_tokens, draft_cost_percent / 100, verify_percent / 100
    if per_position and k > len(per_position):
        raise Refusal(f"{k} drafts, and chances for {len(per_position)} positions.", "num_speculative_tokens")
    most = len(per_position) or MOST_SEARCHED
    chances = per_position or (acceptance,) * MOST_SEARCHED
    survive = (1.0, *accumulate(chances, mul))

    def at(length: int) -> AtLength:
        expected = sum(survive[: length + 1])
        paid = 1 + draft_steps(length, drafter) * cost + length * verify
        return AtLength(length, expected, paid, expected / paid, survive[length],
                        (expected - 1) / length if length else 0.0)

    every = tuple(at(length) for length in range(most + 1))
    best = max(every, key=lambda each: each.speed_up)
    thrifty = next(each for each in every if each.speed_up >= NEARLY * best.speed_up)
    here = every[k]
    least = None if per_position else break_even(k, here.paid)
    top = ceiling(acceptance) if not per_position else None
    return DraftLength(
        here=here, at_lengths=every, best_k=best.k, best_speed_up=best.speed_up, thrifty_k=thrifty.k,
        thrifty_speed_up=thrifty.speed_up, break_even_acceptance=least, ceiling=top,
        verdict=verdict(best, thrifty, here, least, most),
        finding=f"{k} draft{'s' * (k != 1)}: {here.expected_tokens:.4g} tokens for {here.paid:.3g} plain steps, "
                f"{here.speed_up:.2f}×; best is {best.k or 'none'}"
                f"{f' with {best.speed_up:.2f}×' if best.k else ''}.",
        lines=lines_of(here, best, every[best.k: best.k + 2], acceptance, draft_cost_percent, verify_percent, drafter,
                       per_position),
        slips=slips_of(best, thrifty, survive, cost),
    )


def draft_steps(k: int, drafter: str) -> int:
    """How often the drafter runs for k drafts: once for all, or once for each."""
    return min(k, 1) if drafter == PARALLEL else k


def expected_tokens(acceptance: float, k: int) -> float:
    """Tokens a verify step yields: 1 + a + … + aᵏ, the target's own included."""
    return sum(acceptance**power for power in range(k + 1))


def break_even(k: int, paid: float) -> float | None:
    """The chance at which k drafts yield just what is paid, by bisection; None when not even certainty would do."""
    if 1 + k < paid:
        return None
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if expected_tokens(middle, k) < paid else (low, middle)
    return round(high, 9)


def ceiling(acceptance: float) -> float | None:
    """What the sum tends to as k grows: 1 / (1 − a)."""
    return round(1 / (1 - acceptance), 9) if acceptance < 1 else None  # 1 − 0.8 is not quite 0.2 in floats


def verdict(best: AtLength, thrifty: AtLength, here: AtLength, least: float | None, most: int) -> str:
    """What to draft, in sentences."""
    if not best.k:
        return "Every length loses: what a draft brings never covers what it costs."
    end = " of those tried" if best.k == most else ""
    said = [f"{best.k} drafts are best{end}, {best.speed_up:.2f}×."]
    if 0 < thrifty.k < best.k:
        fewer = 1 - (1 + thrifty.k) / (1 + best.k)
        said.append(f"{thrifty.k} give {thrifty.speed_up:.2f}× with {fewer:.0%} fewer rows to verify: a busy server "
                    "takes those.")
    if least:
        said.append(f"{here.k} lose below an acceptance of {least:.3g}.")
    return " ".join(said)


def geometric_words(acceptance: float, k: int) -> str:
    """"1 + 0.7 + 0.7² + … + 0.7⁵"."""
    if k > 3:
        return f"1 + {acceptance:g} + {acceptance:g}² + … + {acceptance:g}{superscript(k)}"
    return " + ".join(("1", f"{acceptance:g}", *(f"{acceptance:g}{superscript(power)}" for power in range(2, k + 1)))
                      [: k + 1])


def superscript(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def lines_of(here: AtLength, best: AtLength, around: tuple[AtLength, ...], acceptance: float, cost_percent: float,
             verify_percent: float, drafter: str, per_position: tuple[float, ...]) -> tuple[Line, ...]:
    """The length given with its numbers filled in; then what the best one's last draft adds, what one more would."""
    if per_position:
        products = " + ".join(f"{share:.3g}" for share in accumulate(per_position[: here.k], mul))
        expected = f"1 + {products}" if here.k else "1"
    else:
        expected = geometric_words(acceptance, here.k)
    each = (0 if drafter == PARALLEL else cost_percent / 100) + verify_percent / 100
    extra = f" + {here.k} × {verify_percent:g}%" if verify_percent else ""
    return (
        Line("tokens a step", expected, here.expected_tokens, "tokens"),
        Line("paid", f"1 + {draft_steps(here.k, drafter)} × {cost_percent:g}%{extra}", here.paid, "plain steps"),
        Line("speed-up", f"{here.expected_tokens:.4g} / {here.paid:.4g}", here.speed_up, "×", total=True),
        Line("accepted of drafted", f"({here.expected_tokens:.4g} − 1) / {here.k}", here.accepted_share * 100, "%"),
        *(
            Line(f"draft {at.k} adds", f"{acceptance:g}{superscript(at.k)}" if not per_position else "", at.adds,
                 "tokens") for at in around if at.k
        ),
        Line("and a draft costs", f"({each:.3g} of a step) × {best.speed_up:.3g}", each * best.speed_up, "tokens"),
    )


def slips_of(best: AtLength, thrifty: AtLength, survive: tuple[float, ...],
             cost: float) -> tuple[tuple[float, str], ...]:
    """Wrong lengths that people reach."""
    last_cheaper = max((k for k, share in enumerate(survive) if k and share > cost), default=0)
    slips = (
        (thrifty.k, f"That has {NEARLY:.0%} of the best gain with fewer rows: a server may well take it, but it is not "
                    "the maximum."),
        (last_cheaper, "That stops where a draft adds no more than it costs. The cost is in steps, and a step with "
                       "drafts is worth as many tokens as it yields: stop where it adds less than the cost times the "
                       "speed-up."),
    )
    nearest = best.k or inf
    return tuple((float(value), sentence) for value, sentence in slips
                 if value and abs(value / nearest - 1) > SLIP_APART)
