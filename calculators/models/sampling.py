"""Sampling: what temperature, min-p, top-k and top-p leave of a few tokens, in two orders side by side."""
import math
import re
from collections import Counter
from dataclasses import dataclass
from random import Random

import numpy as np

from calculators.models import sampling_stages as stages
from calculators.models.base import Refusal
from calculators.models.sampling_stages import GONE, LEAST_TEMPERATURE, Logits

NAMES = {"Tmkp": "vLLM", "Tkpm": "Transformers", "kpmT": "llama.cpp"}
STAGES = {"T": "temperature", "m": "min-p", "k": "top-k", "p": "top-p"}
GIVEN, ADJUSTED = "", "a"  # letters of what stands before the four stages
MOST_TOKENS = 12
NUMBER = r"[-+]?(?:\d{1,6}(?:\.\d{0,9})?|\.\d{1,9})(?:[eE][-+]?\d{1,2})?"
TOKEN = re.compile(
    rf"([^\W\d_]\w{{0,5}}):({NUMBER})(?:/(\d{{1,4}}))?(\+P)?(?:!(off|{NUMBER}))?"
)
LARGEST_LOGIT, LARGEST_BIAS = 1_000, 100


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its probability or logit, its uses in the output, whether the prompt has it, its bias.

    A token `off` is one that a grammar, an allowed list, a bad word or min_tokens rules out.
    """

    name: str
    value: float
    uses: int = 0
    in_prompt: bool = False
    bias: float = 0.0
    off: bool = False


@dataclass(frozen=True, slots=True)
class Stage:
    """What one stage leaves: the tokens kept, each token's share to six decimals, and why in a sentence.

    `bar` is where it cut: the least share that min-p lets pass, the mass that top-p fills; None for the others.
    """

    letter: str
    title: str
    kept: tuple[str, ...]
    shares: dict[str, float]
    gone: tuple[str, ...]
    why: str
    bar: float | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """One order of the stages: what is given, then what each leaves."""

    order: str
    name: str
    stages: tuple[Stage, ...]

    @property
    def shares(self) -> dict[str, float]:
        """What is drawn from."""
        return self.stages[-1].shares

    @property
    def kept(self) -> tuple[str, ...]:
        return self.stages[-1].kept

    @property
    def kept_count(self) -> int:
        return len(self.kept)

    @property
    def probability_of_largest(self) -> float:
        """With what chance the likeliest token is drawn."""
        return max(self.shares.values())

    @property
    def top_two_share(self) -> float:
        """What the two largest hold together when top-p looks at them."""
        before = self.stages[next(at for at, stage in enumerate(self.stages) if stage.letter == "p") - 1]
        return sum(sorted(before.shares.values())[-2:])


@dataclass(frozen=True, slots=True)
class Step:
    """One stage in both orders."""

    step: int
    left: Stage
    right: Stage


@dataclass(frozen=True, slots=True)
class Sampling:
    """Both orders stage by stage, the three known ones, and how often each token was drawn from the left one.

    `drawn_order` names the tokens by adjusted logit, the largest first. `raw_logprobs` are those reported by default
    where no grammar is at work: its mask is in the logits before they are read, an allowed list or a bias is not.
    """

    steps: tuple[Step, ...]
    left: Chain
    right: Chain
    known: tuple[Chain, ...]
    drawn: dict[str, int]
    drawn_order: tuple[str, ...]
    raw_logprobs: dict[str, float]
    logits: dict[str, float]
    greedy_token: str

    @property
    def finding(self) -> str:
        """What can be sampled in each order, in a sentence."""
        left, right = self.left, self.right
        if left.kept == right.kept:
            otherwise = "" if left.shares == right.shares else ", shared out otherwise"
            return f"Both orders leave {in_words(left.kept)}{otherwise}."
        return f"{left.name} leaves {in_words(left.kept)}; {right.name} leaves {in_words(right.kept)}."

    @property
    def only_left(self) -> tuple[str, ...]:
        """What the left order can sample and the right one can't."""
        return tuple(name for name in self.left.kept if name not in self.right.kept)

    @property
    def only_right(self) -> tuple[str, ...]:
        return tuple(name for name in self.right.kept if name not in self.left.kept)


@dataclass(frozen=True, slots=True)
class Filters:
    """The settings of the four stages, as a request gives them."""

    temperature: float
    min_p: float
    top_k: int
    top_p: float


def simulate(*, tokens: tuple[Token, ...], given_as: str, temperature: float, min_p: float, top_k: int, top_p: float,
             left_order: str, right_order: str, repetition_penalty: float, frequency_penalty: float,
             presence_penalty: float, bias_first: bool, draws: int, seed: int) -> Sampling:
    """Run both orders, one stage a step.

    Each stage works on what the one before left, shared out again to 1. Mask, bias and penalties come before all four.
    Temperature 0 takes the largest adjusted logit and ignores the filters. `given_as` is "probabilities" or "logits".
    Source: vllm/v1/worker/gpu/sample/sampler.py, vllm/v1/sample/sampler.py.
    """
    names = tuple(token.name for token in tokens)
    if given_as == "probabilities":
        refuse_other_than_probabilities(tokens)
    given = stages.row([math.log(t.value) if given_as == "probabilities" else t.value for t in tokens])
    adjusted = adjust(
        given, stages.row([t.bias for t in tokens]), np.array([t.off for t in tokens]),
        stages.row([float(t.uses) for t in tokens]), np.array([t.in_prompt or t.uses > 0 for t in tokens]),
        repetition=repetition_penalty, frequency=frequency_penalty, presence=presence_penalty, bias_first=bias_first,
    )
    filters = Filters(temperature, min_p, top_k, top_p)
    opening = [Stage(GIVEN, "given", names, shares_of(names, given), (), "as the model gives them")]
    if not np.array_equal(given, adjusted):
        opening.append(adjustment(names, given, adjusted))

    def chain(order: str) -> Chain:
        return Chain(order, NAMES.get(order, spaced(order)), (*opening, *run(names, adjusted, order, filters)))

    left, right = chain(left_order), chain(right_order)
    return Sampling(
        steps=tuple(Step(at, *pair) for at, pair in enumerate(zip(left.stages, right.stages, strict=True))),
        left=left, right=right, known=tuple(map(chain, NAMES)), drawn=draw(left.shares, draws, seed),
        drawn_order=tuple(names[place] for place in np.argsort(adjusted, kind="stable")[::-1]),
        raw_logprobs=dict(zip(names, map(float, stages.log_softmax(given)), strict=True)),
        logits={name: float(value) for name, value in zip(names, adjusted, strict=True) if value != GONE},
        greedy_token=names[int(np.argmax(adjusted))],
    )


def adjust(logits: Logits, bias: Logits, off: np.ndarray, uses: Logits, seen: np.ndarray, *, repetition: float,
           frequency: float, presence: float, bias_first: bool = True) -> Logits:
    """Mask, then bias, then penalties, as the engine; with `bias_first` off the bias comes last."""
    logits = np.where(off, GONE, logits)
    logits = logits + bias if bias_first else logits
    logits = stages.penalised(logits, uses, seen, repetition=repetition, frequency=frequency, presence=presence)
    return logits if bias_first else logits + bias


def filtered(logits: Logits, letter: str, filters: Filters) -> Logits:
    """One stage; at temperature 0 the temperature keeps the first of the largest, and the filters are off."""
    if filters.temperature == 0:
        return largest_alone(logits) if letter == "T" else logits
    if letter == "T":
        return stages.tempered(logits, filters.temperature)
    if letter == "m":
        return stages.min_p(logits, filters.min_p)
    return stages.top_k(logits, filters.top_k) if letter == "k" else stages.top_p(logits, filters.top_p)


def largest_alone(logits: Logits) -> Logits:
    """The first of the largest logits, and nothing else."""
    alone = np.full_like(logits, GONE)
    alone[np.argmax(logits)] = logits.max()
    return alone


def run(names: tuple[str, ...], logits: Logits, order: str, filters: Filters) -> list[Stage]:
    """The four stages in an order."""
    left = []
    for letter in order:
        before, logits = logits, filtered(logits, letter, filters)
        left.append(stage(letter, names, before, logits, filters))
    return left


def stage(letter: str, names: tuple[str, ...], before: Logits, after: Logits, filters: Filters) -> Stage:
    """One stage in words."""
    had, kept = standing_of(names, before), standing_of(names, after)
    standing, tied = len(had), len(kept) - filters.top_k
    largest, value, bar = max(shares_of(names, before).values()), "", None
    if filters.temperature == 0 and letter != "T":
        why = "off at temperature 0"
    elif letter == "T":
        value, why = f" {filters.temperature:g}", heat(filters.temperature)
    elif letter == "m":
        bar = filters.min_p * largest
        value, why = f" {filters.min_p:g}", f"at least {filters.min_p:g} × {largest:.4f} = {bar:.4f} wide"
    elif letter == "k":
        value = f" {filters.top_k}" if filters.top_k else " off"
        why = (f"only {standing} {'is' if standing == 1 else 'are'} left" if filters.top_k >= standing else
               f"{tied} more tied with the last of the {filters.top_k}" if tied > 0 else
               f"the {filters.top_k} largest, whatever their size") if filters.top_k else "0 keeps everything"
    else:
        bar = filters.top_p
        value, why = f" {filters.top_p:g}", (
            "1 keeps everything" if filters.top_p == 1 else
            f"the one that crosses {filters.top_p:g} stays, the rest go" if len(kept) < standing else
            f"only the last one reaches {filters.top_p:g}")
    gone = tuple(name for name in had if name not in kept)
    return Stage(letter, STAGES[letter] + value, kept, shares_of(names, after), gone, why, bar)


def heat(temperature: float) -> str:
    """What a temperature does to probabilities."""
    if temperature == 0:
        return "greedy: the largest logit alone"
    if temperature < LEAST_TEMPERATURE:
        return f"raised to {LEAST_TEMPERATURE}: only 0 is greedy"
    return f"p to the power {1 / temperature:.3g}, shared out again to 1" if temperature != 1 else "1 changes nothing"


def adjustment(names: tuple[str, ...], given: Logits, adjusted: Logits) -> Stage:
    """What mask, bias and penalties made of the logits."""
    kept = standing_of(names, adjusted)
    gone = tuple(name for name in names if name not in kept)
    moved = [f"{name} {old:.3g} → {new:.3g}" for name, old, new in zip(names, given, adjusted, strict=True)
             if old != new and new != GONE]
    why = "; ".join(moved[:4]) + ("; …" if moved[4:] else "")
    return Stage(ADJUSTED, "mask, bias, penalties", kept, shares_of(names, adjusted), gone, why)


def standing_of(names: tuple[str, ...], logits: Logits) -> tuple[str, ...]:
    """The tokens that are not gone."""
    return tuple(name for name, logit in zip(names, logits, strict=True) if logit != GONE)


def shares_of(names: tuple[str, ...], logits: Logits) -> dict[str, float]:
    """Each token's probability by name, to six decimals."""
    return {name: round(float(share), 6) for name, share in zip(names, stages.softmax(logits), strict=True)}


def draw(shares: dict[str, float], draws: int, seed: int) -> dict[str, int]:
    """How often each token wins argmax(share / e), e exponential noise anew for every draw."""
    chance = Random(seed)
    won = Counter(max(shares, key=lambda name: shares[name] / (chance.expovariate(1) or 1e-300)) for _ in range(draws))
    return {name: won[name] for name in shares}


def spaced(order: str) -> str:
    """An order letter by letter: "T m k p"."""
    return " ".join(order)


def in_words(names: tuple[str, ...]) -> str:
    """"A alone", "A and B", "A, B and C"."""
    return f"{names[0]} alone" if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def go(names: tuple[str, ...]) -> str:
    """"C goes", "D, E and F go"."""
    return f"{names[0]} goes" if len(names) == 1 else f"{in_words(names)} go"


def refuse_other_than_probabilities(tokens: tuple[Token, ...]) -> None:
    """Raises Refusal for a value that can't be a probability."""
    for token in tokens:
        if not 1e-6 <= token.value <= 1:
            raise Refusal(f"{token.name}: {token.value:g} is no probability from 0.000001 to 1; values may also be "
                          "given as logits.", "tokens")


def parse_tokens(text: str) -> tuple[Token, ...]:
    """Read "A:0.42,B:2.0/1+P!0.5": name : value / uses in the output, +P in the prompt, !bias or !off.

    Raises Refusal naming the first piece that can't be read or used.
    """
    pieces = ["".join(piece.split()) for piece in text.replace("\n", ",").split(",") if piece.strip()]
    if not 2 <= len(pieces) <= MOST_TOKENS:
        raise Refusal(f"{len(pieces)} tokens; write 2 to {MOST_TOKENS}, like A:0.6,B:0.4.", "tokens")
    tokens = tuple(_parse_token(piece) for piece in pieces)
    name, uses = Counter(token.name for token in tokens).most_common(1)[0]
    if uses > 1:
        raise Refusal(f"{uses} tokens are called {name}: each needs a name of its own.", "tokens")
    if all(token.off for token in tokens):
        raise Refusal("Every token is off; at least one must be allowed.", "tokens")
    return tokens


def _parse_token(piece: str) -> Token:
    if not (found := TOKEN.fullmatch(piece)):
        raise Refusal(f"“{piece[:30]}” can't be read: write name:value, then /uses, +P and !bias, like A:2.0/1+P!0.5.",
                      "tokens")
    name, value, uses, prompt, bias = found.groups()
    number = float(value)
    if abs(number) > LARGEST_LOGIT:
        raise Refusal(f"{name}: a logit lies from -{LARGEST_LOGIT:,} to {LARGEST_LOGIT:,}.", "tokens")
    shift = 0.0 if bias in (None, "off") else float(bias)
    if abs(shift) > LARGEST_BIAS:
        raise Refusal(f"{name}: a bias lies from -{LARGEST_BIAS} to {LARGEST_BIAS}.", "tokens")
    return Token(name, number, int(uses or 0), prompt is not None, shift, bias == "off")


def format_tokens(tokens: tuple[Token, ...]) -> str:
    """The text that parse_tokens reads back as the same tokens."""
    return ",".join(
        f"{t.name}:{t.value:.10g}" + (f"/{t.uses}" if t.uses else "") + "+P" * t.in_prompt
        + ("!off" if t.off else f"!{t.bias:.10g}" if t.bias else "") for t in tokens
    )
