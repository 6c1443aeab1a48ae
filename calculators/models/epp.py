"""Endpoint picking: filters remove pods, weighted scorers rank those that are left, the highest takes the request."""
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from calculators.models.base import Line
from calculators.models.epp_pods import COLD, LONG, Pod, filtered, parse_pods

RATIO, MIN_MAX = "ratio", "min-max"
QUEUE_AT_ZERO = 8  # waiting requests from which 1 - queue / 8 is worth nothing
HEAVIEST = 5.0  # of a weight
ALIKE = 1e-9  # scores nearer than this are a tie
SCORERS = ("prefix", "queue", "KV")
OTHERS = ((2, 1, 1, RATIO), (3, 2, 2, RATIO), (3, 2, 2, MIN_MAX), (2, 1, 1, MIN_MAX), (1, 1, 1, RATIO),
          (0, 1, 1, RATIO), (1, 2, 1, RATIO), (2, 1, 3, RATIO))
FIVE = ("decode-1@decode:0.9/6/0.72,decode-2@decode:0.1/2/0.35+sql-v2,decode-3@decode:0.9/0/0.05!,"
        "decode-4@decode:0/1/0.2,prefill-1@prefill:0.9/0/0.1+sql-v2")


@dataclass(frozen=True, slots=True)
class Scored:
    """One pod with its score and the three weighted parts of it; `reason` says why a filter removed it.

    `parts` is empty for a removed pod when queues are ranked among the survivors: it has no place there.
    """

    name: str
    prefix: float
    queue: int
    kv_used: float
    reason: str
    terms: tuple[float, ...]
    parts: tuple[float, ...]
    prefill_ms: float

    @property
    def score(self) -> float:
        return sum(self.parts)

    @property
    def says(self) -> str:
        """Its score to two places, or that it has none."""
        return two(self.score) if self.parts else "none"


@dataclass(frozen=True, slots=True)
class Lead:
    """Who leads while one weight runs from `start` to `end`, the others held."""

    start: float
    end: float
    leader: str


@dataclass(frozen=True, slots=True)
class Ruler:
    """One weight alone from 0 to HEAVIEST: where it stands, who leads where, and the nearest value that flips the lead.

    `rival` takes over at the flip; both are None and "" when no weight in range changes the winner.
    """

    scorer: str
    weight: float
    leads: tuple[Lead, ...]
    flip: float | None
    rival: str


@dataclass(frozen=True, slots=True)
class OtherWeights:
    """The same survivors under other weights: each score, and who takes it."""

    weights: str
    scores: tuple[float, ...]
    winner: str
    best: float
    present: bool


@dataclass(frozen=True, slots=True)
class Picked:
    """Who takes the request, and what would change it.

    `winners` has several names on a tie, of which one is drawn at random, and none when nobody is left.
    """

    pods: tuple[Scored, ...]
    winners: tuple[str, ...]
    best_score: float
    rulers: tuple[Ruler, ...]
    other_weights: tuple[OtherWeights, ...]
    min_max_terms: tuple[float, ...]
    long_prompt: bool
    lines: tuple[Line, ...] = ()
    slips: tuple[tuple[float, str], ...] = ()

    @property
    def survivors(self) -> tuple[Scored, ...]:
        return tuple(pod for pod in self.pods if not pod.reason)

    @property
    def winner(self) -> str:
        """The winner's name, "" when nobody is left."""
        return self.winners[0] if self.winners else ""

    @property
    def lead(self) -> float:
        """The winner's score over the next one's, 0 when it is alone."""
        scores = sorted((pod.score for pod in self.survivors), reverse=True)
        return scores[0] - scores[1] if len(scores) > 1 else 0.0

    @property
    def scores(self) -> dict[str, float]:
        """Each pod's score, those that are filtered included."""
        return {pod.name: pod.score for pod in self.pods if pod.parts}

    @property
    def flips(self) -> dict[str, float]:
        """The nearest flip of each weight that has one."""
        return {ruler.scorer: ruler.flip for ruler in self.rulers if ruler.flip is not None}

    @property
    def prefix_flip(self) -> float | None:
        return self.rulers[0].flip if self.rulers else None

    @property
    def queue_flip(self) -> float | None:
        return self.rulers[1].flip if self.rulers else None

    @property
    def kv_flip(self) -> float | None:
        return self.rulers[2].flip if self.rulers else None

    @property
    def higher(self) -> tuple[Scored, ...]:
        """The filtered pods that score more than the winner."""
        return tuple(pod for pod in self.pods if pod.reason and pod.score > self.best_score + ALIKE)

    @property
    def finding(self) -> str:
        """Who takes it, and whose higher score a filter takes away."""
        if not self.winners:
            return "Nobody is left: the client gets an error, not a pod at random."
        tied = f"{listed(self.winners)} tie at {two(self.best_score)}; one of them, drawn at random, takes the request."
        words = tied if len(self.winners) > 1 else f"{self.winner} takes the request with {two(self.best_score)}."
        lost = listed(f"{pod.name} ({pod.says}: {pod.reason})" for pod in self.higher)
        verbs = ("score", "are") if len(self.higher) > 1 else ("scores", "is")
        return f"{words} {lost} {verbs[0]} more and {verbs[1]} filtered out." if lost else words

    @property
    def flip_words(self) -> str:
        """At which weight, each alone, the lead changes, and to whom."""
        if not self.winners:
            return ""
        each = [f"{one.scorer} at {one.flip:.4g} (to {one.rival})" for one in self.rulers if one.flip is not None]
        return f"The lead changes with {listed(each)}." if each else "No single weight from 0 to 5 changes the winner."

    @property
    def min_max_words(self) -> str:
        """What the survivors' queues come to when they are ranked among themselves."""
        if not self.winners:
            return ""
        queues = ", ".join(f"{pod.queue:,}" for pod in self.survivors)
        terms = ", ".join(f"{term:.3g}" for term in self.min_max_terms)
        return f"Min-max ranks queues among the survivors, {queues} → {terms}: the result depends on who else is there."


def solve(*, pods: tuple[Pod, ...] = parse_pods(FIVE), request: str = "chat", prefix_weight: float = 2.0,
          queue_weight: float = 1.0, kv_weight: float = 1.0, queue_scorer: str = RATIO, role_filter: bool = True,
          health_filter: bool = True, adapter_filter: bool = True, prompt_tokens: int = 16_000,
          prefill_tokens_per_s: float = 30_000) -> Picked:
    """Filter, score and pick.

    score = prefix_weight * prefix + queue_weight * queue term + kv_weight * (1 - KV used), where the queue term is
    1 - queue / 8 and at least 0, or (longest - queue) / (longest - shortest) among the survivors, 1 when all are equal.
    Source: llm-d-inference-scheduler, pkg/epp/scheduling/scheduler_profile.go, Run; its queue-scorer is the min-max.
    """
    weights = (prefix_weight, queue_weight, kv_weight)
    reasons = [filtered(pod, request, role=role_filter, health=health_filter, adapter=adapter_filter) for pod in pods]
    queues = [pod.queue for pod, reason in zip(pods, reasons, strict=True) if not reason]
    scored = []
    for pod, reason in zip(pods, reasons, strict=True):
        prefix = 0.0 if request == COLD else pod.prefix
        among = queues if queue_scorer == MIN_MAX else None
        terms = () if reason and among is not None else (prefix, queue_term(pod.queue, among), 1 - pod.kv_used)
        parts = tuple(weight * term for weight, term in zip(weights, terms, strict=False))
        scored.append(Scored(pod.name, prefix, pod.queue, pod.kv_used, reason, terms, parts,
                             (1 - prefix) * prompt_tokens / prefill_tokens_per_s * 1e3))
    left = [pod for pod in scored if not pod.reason]
    best = max((pod.score for pod in left), default=0.0)
    result = Picked(
        tuple(scored), tuple(pod.name for pod in left if pod.score >= best - ALIKE), best, (),
        tuple(other_weights(left, (*weights, queue_scorer))), tuple(queue_term(queue, queues) for queue in queues),
        request == LONG,
    )
    if not left:
        return result
    result = replace(result, rulers=tuple(ruler(left, weights, place, result.winner) for place in range(3)))
    return replace(result, lines=tuple(lines_of(result, weights)), slips=tuple(slips_of(result, weights)))


def queue_term(queue: int, among: list[int] | None) -> float:
    """What a queue is worth, 0 to 1: by itself, or ranked among others."""
    if among is None:
        return max(0.0, 1 - queue / QUEUE_AT_ZERO)
    shortest, longest = min(among), max(among)
    return (longest - queue) / (longest - shortest) if longest > shortest else 1.0


def total(terms: Iterable[float], weights: Iterable[float]) -> float:
    return sum(weight * term for weight, term in zip(weights, terms, strict=True))


def with_weight(weights: tuple[float, ...], place: int, weight: float) -> tuple[float, ...]:
    """The weights with the one at `place` set."""
    return (*weights[:place], weight, *weights[place + 1:])


def ruler(pods: list[Scored], weights: tuple[float, ...], place: int, winner: str) -> Ruler:
    """Who leads as one weight runs through its range. Scores are straight lines in it, so leads end where two cross."""
    crossings = {0.0, HEAVIEST}
    for one, other in combinations(pods, 2):
        apart = one.terms[place] - other.terms[place]
        ahead = total(one.terms, with_weight(weights, place, 0)) - total(other.terms, with_weight(weights, place, 0))
        if abs(apart) > ALIKE and 0 < -ahead / apart < HEAVIEST:
            crossings.add(-ahead / apart)
    ends, leads = sorted(crossings), []
    for start, end in zip(ends, ends[1:], strict=False):
        middle = with_weight(weights, place, (start + end) / 2)
        best = max(total(pod.terms, middle) for pod in pods)
        leaders = [pod.name for pod in pods if total(pod.terms, middle) >= best - ALIKE]
        kept = winner if winner in leaders else leaders[0]
        if leads and (leads[-1].leader == kept or end - start < ALIKE):
            leads[-1] = replace(leads[-1], end=end)
        else:
            leads.append(Lead(start, end, kept))
    changes = [
        (abs(before.end - weights[place]), before.end, after.leader if before.leader == winner else before.leader)
        for before, after in zip(leads, leads[1:], strict=False) if winner in (before.leader, after.leader)
    ]
    _, flip, rival = min(changes, default=(0.0, None, ""))
    return Ruler(SCORERS[place], weights[place], tuple(leads), flip, rival)


def other_weights(pods: list[Scored], present: tuple[float | str, ...]) -> Iterator[OtherWeights]:
    """The survivors' scores under the present weights and under the usual others."""
    queues = [pod.queue for pod in pods]
    for row in dict.fromkeys((present, *OTHERS)) if pods else ():
        *weights, scorer = row
        scores = tuple(
            total((pod.prefix, queue_term(pod.queue, queues if scorer == MIN_MAX else None), 1 - pod.kv_used), weights)
            for pod in pods
        )
        best = max(scores)
        winner = " or ".join(pod.name for pod, score in zip(pods, scores, strict=True) if score >= best - ALIKE)
        named = ", ".join(f"{weight:g}" for weight in weights) + (", min-max" if scorer == MIN_MAX else "")
        llm_d = ": llm-d’s own" if row == (3, 2, 2, MIN_MAX) else ""
        yield OtherWeights(named + llm_d, scores, winner, best, row == present)


def lines_of(result: Picked, weights: tuple[float, ...]) -> Iterator[Line]:
    """Each survivor's sum, the winner first, then where each weight flips it."""
    by_name = {pod.name: pod for pod in result.survivors}
    first = by_name[result.winner]
    for pod in (first, *(pod for pod in result.survivors if pod is not first)):
        yield Line(pod.name, " + ".join(f"{part:.3g}" for part in pod.parts), pod.score)
    for place, each in enumerate(result.rulers):
        if each.flip is None:
            continue
        rival = by_name[each.rival]
        apart = first.terms[place] - rival.terms[place]
        sign = -1 if apart > 0 else 1
        gaps = [sign * weights[by] * (first.terms[by] - rival.terms[by]) for by in range(3) if by != place]
        yield Line(f"{each.scorer} flips at", f"({signed(gaps)}) / {abs(apart):.3g}", each.flip)


def signed(terms: list[float]) -> str:
    """A sum with its signs: "0.625 + 0.52", "1.8 − 0.52"."""
    first, *rest = terms
    words = f"−{-first:.3g}" if first < 0 else f"{first:.3g}"
    return words + "".join(f" − {-term:.3g}" if term < 0 else f" + {term:.3g}" for term in rest)


def slips_of(result: Picked, weights: tuple[float, ...]) -> Iterator[tuple[float, str]]:
    """The wrong winning scores that people reach, and what each is."""
    for pod in result.pods:
        if pod.reason and pod.parts:
            yield pod.score, f"That is {pod.name}’s, which is filtered out ({pod.reason}): no score rescues it."
        elif not pod.reason and pod.name not in result.winners:
            yield pod.score, f"That is {pod.name}’s, and not the highest of those that are left."
    first = next(pod for pod in result.survivors if pod.name == result.winner)
    yield total(first.terms, (1, 1, 1)), "That leaves the weights out."
    yield (total((first.prefix, first.terms[1], first.kv_used), weights),
           "That pays for KV used; what counts is the part that is free.")
    among = [pod.queue for pod in result.survivors]
    other = queue_term(first.queue, among if first.terms[1] == queue_term(first.queue, None) else None)
    yield (total((first.prefix, other, 1 - first.kv_used), weights),
           "That is the winner’s by the other queue scorer.")


def listed(words: Iterable[str]) -> str:
    """Words in a row: "a, b and c"."""
    *first, last = list(words) or [""]
    return f"{', '.join(first)} and {last}" if first else last


def two(value: float) -> str:
    """A score to two places; halves that binary fractions fall just short of are rounded up as by hand."""
    return f"{value + ALIKE:.2f}"
