"""Prompt lookup: the last tokens are looked for earlier in the text, and what followed them there is the draft."""
from collections.abc import Sequence
from dataclasses import dataclass

from calculators.models.base import Refusal

LATEST, EARLIEST = "latest", "earliest"
SETTINGS = ((5, 5), (2, 5), (1, 5))
TOKEN_ID_BYTES = 4
MOST_PROMPT, MOST_OUTPUT = 200, 150  # words: a run looks back at every step, four times over


@dataclass(frozen=True, slots=True)
class Match:
    """The n last tokens as they stand earlier: from `at`, n of them; n is 0 without a match."""

    n: int
    at: int

    @property
    def follows(self) -> int:
        """Where the draft is taken from."""
        return self.at + self.n


@dataclass(frozen=True, slots=True)
class Step:
    """One verify step: the context before it, the match, the draft, how many of it the target took, and what came out.

    `filler` of the draft's tokens repeat the last one, for want of others.
    """

    step: int
    context_tokens: int
    match: Match
    draft: tuple[str, ...]
    filler: int
    accepted: int
    emitted: tuple[str, ...]

    @property
    def matched_tokens(self) -> int:
        """Drafted tokens that a match gave."""
        return len(self.draft) - self.filler


@dataclass(frozen=True, slots=True)
class Totals:
    """A whole run in counts: what the steps drafted, what was accepted and what came out."""

    min_n: int
    max_n: int
    place: str
    steps: int
    matches: int
    matched_drafted: int
    drafted: int
    accepted: int
    emitted: int

    @property
    def matched_rate(self) -> float:
        """Accepted of what matches gave."""
        return self.accepted / self.matched_drafted if self.matched_drafted else 0.0

    @property
    def rate(self) -> float:
        """Accepted of all that was verified: what the counters show."""
        return self.accepted / self.drafted if self.drafted else 0.0

    @property
    def tokens_per_step(self) -> float:
        return self.emitted / self.steps if self.steps else 0.0

    @property
    def wasted(self) -> int:
        """Drafted tokens that were verified for nothing."""
        return self.drafted - self.accepted


@dataclass(frozen=True, slots=True)
class Ngram:
    """A run: the text, its steps from 0 (the prefill, which gives the first token), and other settings on the same."""

    prompt: tuple[str, ...]
    output: tuple[str, ...]
    steps: tuple[Step, ...]
    totals: Totals
    others: tuple[Totals, ...]
    plain_steps: int
    accepted_by_position: tuple[int, ...]
    history_bytes: int

    @property
    def finding(self) -> str:
        """Steps against plain decoding, and what was verified for it."""
        total = self.totals
        return (f"{total.steps:,} steps instead of {self.plain_steps:,}: {total.accepted:,} drafts accepted of "
                f"{total.drafted:,} verified ({total.rate:.1%}), {total.tokens_per_step:.2f} tokens a step.")


def find(tokens: Sequence[object], min_n: int, max_n: int, place: str) -> Match:
    """The longest end of the text, min_n to max_n tokens, that occurs earlier; of several places the latest or first.

    Source: vllm/v1/worker/gpu/spec_decode/ngram/speculator.py (latest); vllm/v1/spec_decode/ngram_proposer.py, the
    older runner's (earliest).
    """
    best, last = Match(0, 0), len(tokens) - 1
    for end in range(last):
        n = 0
        while n < max_n and n <= end and tokens[end - n] == tokens[last - n]:
            n += 1
        if n >= min_n and (n > best.n or (n == best.n and place == LATEST)):
            best = Match(n, end - n + 1)
    return best


def draft(tokens: Sequence[object], match: Match, k: int, max_model_len: int) -> list[object]:
    """Up to k tokens that followed the match, none past the end of the text or of the model's length."""
    most = min(k, max_model_len - len(tokens))
    return list(tokens[match.follows: match.follows + most]) if match.n and most > 0 else []


def simulate(*, prompt: tuple[str, ...], output: tuple[str, ...], num_speculative_tokens: int, prompt_lookup_min: int,
             prompt_lookup_max: int, place: str, pad: bool, max_model_len: int, max_num_seqs: int) -> Ngram:
    """Decode `output` after `prompt` with drafts of up to k tokens; the prefill gives the first token.

    With `pad` a draft that is too short is filled up with the last token, as the current runner does. Greedy: a draft
    is accepted as far as it agrees with the output, and the target adds one token. To look back, the current runner
    keeps every request's tokens on the GPU: `history_bytes` = max_num_seqs * max_model_len * 4.
    Raises Refusal when min is above max, or the text does not fit the model's length.
    """
    if prompt_lookup_min > prompt_lookup_max:
        raise Refusal(f"min is {prompt_lookup_min} and max {prompt_lookup_max}: the shortest match can't be longer "
                      "than the longest.", "prompt_lookup_min")
    if len(prompt) + len(output) > max_model_len:
        raise Refusal(f"Prompt and output are {len(prompt) + len(output):,} tokens; the model's length is "
                      f"{max_model_len:,}.", "max_model_len")

    def run(min_n: int, max_n: int) -> tuple[Step, ...]:
        return decode(prompt, output, num_speculative_tokens, min_n, max_n, place, pad, max_model_len)

    steps = run(prompt_lookup_min, prompt_lookup_max)
    here = (prompt_lookup_min, prompt_lookup_max)
    others = dict.fromkeys((*SETTINGS, here))
    return Ngram(
        prompt, output, steps, totals(steps, *here, place),
        tuple(totals(steps if pair == here else run(*pair), *pair, place) for pair in others), len(output) - 1,
        tuple(sum(step.accepted > at for step in steps) for at in range(num_speculative_tokens)),
        max_num_seqs * max_model_len * TOKEN_ID_BYTES,
    )


def decode(prompt: tuple[str, ...], output: tuple[str, ...], k: int, min_n: int, max_n: int, place: str, pad: bool,
           max_model_len: int) -> tuple[Step, ...]:
    """All steps with one setting."""
    text = [*prompt, *output]
    steps = [Step(0, len(prompt), Match(0, 0), (), 0, 0, output[:1])]
    at = len(prompt) + 1
    while at < len(text):
        context = text[:at]
        match = find(context, min_n, max_n, place)
        taken = draft(context, match, k, max_model_len)
        filler = min(k, max_model_len - at) - len(taken) if pad else 0
        drafted = (*taken, *(context[-1:] * filler))
        agrees = 0
        while agrees < len(drafted) and at + agrees < len(text) and drafted[agrees] == text[at + agrees]:
            agrees += 1
        emitted = tuple(text[at: at + agrees + 1])
        steps.append(Step(len(steps), at, match, drafted, filler, agrees, emitted))
        at += len(emitted)
    return tuple(steps)


def totals(steps: tuple[Step, ...], min_n: int, max_n: int, place: str) -> Totals:
    """The counts of the steps after the prefill."""
    after = steps[1:]
    return Totals(
        min_n, max_n, place, len(after), sum(step.match.n > 0 for step in after),
        sum(step.matched_tokens for step in after), sum(len(step.draft) for step in after),
        sum(step.accepted for step in after), sum(len(step.emitted) for step in after),
    )
