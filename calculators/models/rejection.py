"""Rejection sampling of drafts: how far a verify step takes them, and what it puts in place of the first refused."""
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from calculators.models.base import Refusal

PADDING = -1  # a draft that is there only to fill the row
LETTERS = "ABCDEFGHIJKL"
MOST_DRAFTS = 6
SHARE = r"(?:0?\.\d{1,6}|[01](?:\.\d{0,6})?)"
ROW = re.compile(rf"([A-L]|-):((?:{SHARE} )*{SHARE})(?:/((?:{SHARE} )*{SHARE}))?@({SHARE})")

Row = Sequence[float]


@dataclass(frozen=True, slots=True)
class Draft:
    """One drafted token (-1 for padding), the target's and the drafter's probabilities there, and the uniform draw.

    Without the drafter's probabilities the draft counts as certain.
    """

    token: int
    target: tuple[float, ...]
    draft: tuple[float, ...] | None
    uniform: float


@dataclass(frozen=True, slots=True)
class Judged:
    """One draft judged: its chance, whether it is taken, and what would stand in its place."""

    position: int
    token: int
    probability: float
    accepted: bool
    recovered: int
    reached: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One decision: the draft judged (None for the bonus token), and the output so far."""

    step: int
    judged: Judged | None
    output: tuple[int, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Rejection:
    """A verify step, decision by decision; and how often each token comes first when that is tried anew."""

    steps: tuple[Step, ...]
    judged: tuple[Judged, ...]
    output: tuple[int, ...]
    num_accepted: int
    expected_tokens: float
    vocabulary: tuple[str, ...]
    tried: dict[str, int]

    @property
    def finding(self) -> str:
        """What was accepted and what came out, in a sentence."""
        out = " ".join(letter(token) for token in self.output)
        return (f"{self.num_accepted} of {len(self.judged)} drafts accepted, {len(self.output)} tokens out: {out}. "
                f"On average these chances give {self.expected_tokens:.2f} tokens.")


def accept_probability(token: int, target: Row, draft: Row | None) -> float:
    """min(1, target / draft) of the drafted token; 0 of padding, and of a token that its drafter gives no chance."""
    if token == PADDING:
        return 0.0
    drafted = 1.0 if draft is None else draft[token]
    return min(1.0, target[token] / drafted) if drafted > 0 else 0.0


def is_accepted(token: int, target: Row, draft: Row | None, uniform: float, greedy: bool) -> bool:
    """Greedy: the draft is the target's largest. Else target / draft is at least the uniform draw.

    Source: vllm/v1/sample/rejection_sampler.py, rejection_random_sample_kernel, rejection_greedy_sample_kernel.
    """
    if greedy:
        return token == largest(target)
    if token == PADDING:
        return False
    drafted = 1.0 if draft is None else draft[token]
    return drafted > 0 and target[token] / drafted >= uniform


def recovered(token: int, target: Row, draft: Row | None, inv_q: Row | None, greedy: bool) -> int:
    """What comes in place of a refused draft: greedy the target's largest, else a draw from what the draft left.

    What is left is max(target - draft, 0), or without the drafter's probabilities the target but for the draft; the
    draw is its argmax times `inv_q`, one over exponential noise.
    """
    if greedy or inv_q is None:
        return largest(target)
    left = residual(token, target, draft)
    return largest([share * noise for share, noise in zip(left, inv_q, strict=True)])


def residual(token: int, target: Row, draft: Row | None) -> list[float]:
    """The target's probability that the draft does not cover, not shared out again."""
    if draft is None:
        return [0.0 if place == token else share for place, share in enumerate(target)]
    return [max(share - drafted, 0.0) for share, drafted in zip(target, draft, strict=True)]


def largest(values: Row) -> int:
    """The place of the first largest."""
    return max(range(len(values)), key=values.__getitem__)


def judge(drafts: Sequence[Draft], inv_q: Row | None, greedy: bool) -> tuple[Judged, ...]:
    """Each draft in order; those after the first refused are not reached."""
    judged, reached = [], True
    for position, each in enumerate(drafts):
        row = (each.token, each.target, each.draft)
        accepted = is_accepted(*row, each.uniform, greedy)
        chance = float(accepted) if greedy else accept_probability(*row)
        judged.append(Judged(position, each.token, chance, accepted, recovered(*row, inv_q, greedy), reached))
        reached = reached and accepted
    return tuple(judged)


def output_of(judged: Sequence[Judged], bonus: int) -> tuple[int, ...]:
    """The accepted drafts, then what replaces the first refused one, or the bonus token when all are accepted."""
    taken: list[int] = []
    for each in judged:
        if not each.accepted:
            return (*taken, each.recovered)
        taken.append(each.token)
    return (*taken, bonus)


def simulate(*, drafts: tuple[Draft, ...], noise: tuple[float, ...], bonus: str, greedy: bool,
             tries: int, seed: int) -> Rejection:
    """Judge the drafts one a step; the last step adds the token that the target always gives.

    `noise` is 1 / e, one number for each token. `tries` draws the first draft from its drafter anew each time.
    Raises Refusal when the rows are not of one length, or `bonus` is not among the tokens.
    """
    size = len(drafts[0].target)
    for at, each in enumerate(drafts, 1):
        refuse_unequal(at, each, size)
    if len(noise) != size:
        raise Refusal(f"{len(noise)} numbers for {size} tokens: one for each.", "noise")
    if LETTERS.index(bonus) >= size:
        raise Refusal(f"There are {size} tokens, A to {LETTERS[size - 1]}.", "bonus")
    judged = judge(drafts, noise, greedy)
    out = output_of(judged, LETTERS.index(bonus))
    taken = len(out) - 1
    steps = [Step(0, None, (), f"{len(drafts)} drafts stand in one row with the token before them.")]
    for each in judged[: taken + 1]:
        kept = out[: each.position + 1]
        steps.append(Step(len(steps), each, kept, why(each, drafts[each.position], greedy)))
    if taken == len(drafts):
        steps.append(Step(len(steps), None, out, f"All are accepted: the bonus token {bonus} comes on top."))
    survive, expected = 1.0, 1.0
    for each in judged:
        survive *= each.probability
        expected += survive
    tried = try_first(drafts[0], greedy, tries, Random(seed))
    return Rejection(tuple(steps), judged, out, taken, expected, tuple(LETTERS[:size]),
                     {LETTERS[token]: tried[token] for token in range(size)})


def try_first(first: Draft, greedy: bool, tries: int, chance: Random) -> Counter[int]:
    """How often each token comes out first: drafted by the drafter (the given draft without one), kept or replaced."""
    size = len(first.target)
    drawn = chance.choices(range(size), first.draft, k=tries) if first.draft else [first.token] * tries
    came: Counter[int] = Counter()
    for token in drawn:
        row = (token, first.target, first.draft)
        inv_q = [1 / (chance.expovariate(1) or 1e-300) for _ in range(size)]
        taken = is_accepted(*row, chance.random(), greedy)
        came[token if taken else recovered(*row, inv_q, greedy)] += 1
    return came


def why(each: Judged, draft: Draft, greedy: bool) -> str:
    """The decision on one draft, in words."""
    name, instead = letter(each.token), letter(each.recovered)
    if each.token == PADDING:
        return f"Padding is never accepted: {instead} comes in its place."
    if greedy:
        same = f"{name} is the target's largest: accepted." if each.accepted else ""
        return same or f"{name} is not the target's largest, {instead} is: refused, the rest is dropped."
    drafted = 1.0 if draft.draft is None else draft.draft[draft.token]
    ratio = f"{draft.target[draft.token]:.4g} / {drafted:.4g}"
    if each.accepted:
        return f"{name}: {ratio} is at least {draft.uniform:.4g}: accepted."
    return f"{name}: {ratio} is below {draft.uniform:.4g}: refused, {instead} is drawn instead, the rest is dropped."


def refuse_unequal(at: int, draft: Draft, size: int) -> None:
    """Raises Refusal for a row of another length, or one that is not shared out to 1."""
    if not 2 <= size <= len(LETTERS):
        raise Refusal(f"Draft {at} has {size} tokens; takes 2 to {len(LETTERS)}.", "drafts")
    for row in (draft.target, draft.draft):
        if row is not None and len(row) != size:
            raise Refusal(f"Draft {at} has {len(row)} probabilities where the first has {size}.", "drafts")
        if row is not None and abs(sum(row) - 1) > 0.011:
            raise Refusal(f"Draft {at}: {sum(row):.3g} in all; probabilities come to 1.", "drafts")
    if draft.token >= size:
        raise Refusal(f"Draft {at} is {letter(draft.token)}; there are {size} tokens.", "drafts")


def letter(token: int) -> str:
    """A token's letter, "-" for padding."""
    return LETTERS[token] if token >= 0 else "-"


def parse_drafts(text: str) -> tuple[Draft, ...]:
    """Read "B:0.2 0.5 0.3/0.1 0.8 0.1@0.54,…": token : target / drafter @ uniform; "-" is padding.

    Raises Refusal naming the first piece that can't be read.
    """
    pieces = [" ".join(piece.split()) for piece in text.replace("\n", ",").split(",") if piece.strip()]
    if not 1 <= len(pieces) <= MOST_DRAFTS:
        raise Refusal(f"{len(pieces)} drafts; takes 1 to {MOST_DRAFTS}.", "drafts")
    return tuple(_parse_draft(piece) for piece in pieces)


def _parse_draft(piece: str) -> Draft:
    if not (found := ROW.fullmatch(piece)):
        raise Refusal(f"“{piece[:40]}” can't be read: write token:target/drafter@uniform, like "
                      "B:0.2 0.5 0.3/0.1 0.8 0.1@0.54.", "drafts")
    token, target, draft, uniform = found.groups()
    return Draft(
        PADDING if token == "-" else LETTERS.index(token), tuple(map(float, target.split())),
        tuple(map(float, draft.split())) if draft else None, float(uniform),
    )


def format_drafts(drafts: tuple[Draft, ...]) -> str:
    """The text that parse_drafts reads back as the same drafts."""
    return ",".join(
        f"{letter(each.token)}:{spaced(each.target)}" + (f"/{spaced(each.draft)}" if each.draft else "")
        + f"@{decimal(each.uniform)}" for each in drafts
    )


def spaced(row: Row) -> str:
    return " ".join(map(decimal, row))


def decimal(value: float) -> str:
    """A share without an exponent: "0.00002"."""
    return f"{value:.6f}".rstrip("0").rstrip(".")
