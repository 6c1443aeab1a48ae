"""Acceptance of drafts from counters: differences between scrapes, and what may be divided by what."""
import re
from dataclasses import dataclass
from itertools import pairwise

from calculators.models.base import Line, Refusal

MOST_SCRAPES, MOST_POSITIONS = 8, 10
EVEN = 0.05  # chances no further apart count as one
COUNT = r"(\d{1,15})"
COUNTS = r"(\d{1,15}(?::\d{1,15})*)"
SCRAPE = re.compile(rf"{COUNT}/{COUNT}/{COUNT}/{COUNTS}/{COUNT}/{COUNT}@(\d{{1,12}}(?:\.\d{{1,3}})?)")


@dataclass(frozen=True, slots=True)
class Scrape:
    """The counters at one moment, each since the process's start; `start` is that start, in seconds."""

    drafts: int
    draft_tokens: int
    accepted: int
    per_position: tuple[int, ...]
    generation_tokens: int
    finished: int
    start: float

    @property
    def adds_up(self) -> bool:
        """Whether the positions sum to the accepted tokens."""
        return sum(self.per_position) == self.accepted

    @property
    def counters(self) -> dict[str, int]:
        """Everything that only ever grows while a process lives."""
        named = {
            "drafts": self.drafts, "draft tokens": self.draft_tokens, "accepted": self.accepted,
            "generation tokens": self.generation_tokens, "finished requests": self.finished,
        }
        return named | {f"position {at}": count for at, count in enumerate(self.per_position, 1)}


@dataclass(frozen=True, slots=True)
class Window:
    """What happened between two scrapes. `fault` says why the window can't be used, "" when it can.

    `rate` is accepted of drafted, `mean_length` one plus accepted a draft, `unconditional` each position's share of all
    drafts, `conditional` its share of the drafts that came so far. `cut` are tokens accepted and then cut at a stop.
    A window at fault still has its `raw_rate`, which may look like any other.
    """

    name: str
    fault: str
    drafts: int
    draft_tokens: int
    accepted: int
    generation_tokens: int
    finished: int
    raw_rate: float
    unconditional: tuple[float, ...]
    conditional: tuple[float, ...]

    @property
    def valid(self) -> bool:
        return not self.fault

    @property
    def percent(self) -> str:
        """The quotient as it is said, of a window at fault too: "51.67%"."""
        return f"{self.raw_rate:.2%}"

    @property
    def rate(self) -> float:
        return self.raw_rate if self.valid else 0.0

    @property
    def mean_length(self) -> float:
        """Tokens a verify step, the target's own included; 0 of a window at fault."""
        return 1 + self.accepted / self.drafts if self.valid else 0.0

    @property
    def accepted_per_draft(self) -> float:
        return self.accepted / self.drafts if self.drafts else 0.0

    @property
    def counted_tokens(self) -> int:
        """First tokens, steps and accepted drafts, before a stop cuts."""
        return self.finished + self.drafts + self.accepted

    @property
    def cut(self) -> int:
        return self.counted_tokens - self.generation_tokens

    @property
    def cut_per_request(self) -> float:
        return self.cut / self.finished if self.finished else 0.0

    @property
    def inferred_steps(self) -> int:
        """Generated less accepted: what is often taken for the steps."""
        return self.generation_tokens - self.accepted


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Every window, and figures of the first that is valid."""

    windows: tuple[Window, ...]
    positions: int
    window: Window
    mean_length: float
    rate: float
    constant_share: float
    plain_step_ms: float
    spec_step_ms: float
    ms_per_token: float
    speed_up: float
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]

    @property
    def finding(self) -> str:
        """The first valid window, in a sentence."""
        window = self.window
        return (f"{window.name}: {window.rate:.2%} of drafted tokens accepted, {window.mean_length:.3f} tokens a step, "
                f"{self.speed_up:.2f}× at these step times.")

    @property
    def share_verdict(self) -> str:
        """What one chance for all positions is worth, in a sentence."""
        real = self.window.conditional
        said = f"One chance for all positions that gives this length would be {self.constant_share:.3g}"
        if real[0] - real[-1] > EVEN:
            fall = f"the real ones fall from {three(real[0])} to {three(real[-1])}"
            return f"{said}; {fall}, so it says nothing of a longer draft."
        if max(real) - min(real) > EVEN:
            return f"{said}; the real ones run from {three(min(real))} to {three(max(real))}."
        return f"{said}; the real ones lie near it."

    @property
    def longest_paying_ms(self) -> float:
        """What a step with drafts may take before plain decoding is as fast."""
        return self.mean_length * self.plain_step_ms

    @property
    def verdict(self) -> str:
        """Whether speculation pays at these step times."""
        if self.speed_up > 1:
            return f"It pays while a step with drafts takes less than {self.longest_paying_ms:.3g} ms."
        return f"It does not pay: a step with drafts may take {self.longest_paying_ms:.3g} ms at most."


def three(share: float) -> str:
    """A share to three places, halves up as on paper: 0.7625 is "0.763"."""
    return f"{share + 1e-9:.3f}"


def solve(*, scrapes: tuple[Scrape, ...], plain_step_ms: float, spec_step_ms: float) -> Acceptance:
    """Difference the counters window by window, then divide.

    A window is valid when the process's start is the same at both ends and no counter fell. Mean length
    = 1 + accepted / drafts; speed-up = mean length * plain step / step with drafts, at the same load.
    Raises Refusal when scrapes differ in positions, or no window is valid.
    Source: vllm/v1/spec_decode/metrics.py, SpecDecodingProm.
    """
    if len({len(scrape.per_position) for scrape in scrapes}) > 1:
        raise Refusal("All scrapes need as many positions: k must be the same.", "scrapes")
    windows = tuple(window(f"S{at}–S{at + 1}", *pair) for at, pair in enumerate(pairwise(scrapes)))
    good = next((each for each in windows if each.valid), None)
    if good is None:
        raise Refusal("No window is valid: " + "; ".join(f"{each.name} {each.fault}" for each in windows) + ".",
                      "scrapes")
    length = good.mean_length
    return Acceptance(
        windows=windows, positions=len(scrapes[0].per_position), window=good, mean_length=length, rate=good.rate,
        constant_share=constant_share(length, len(scrapes[0].per_position)), plain_step_ms=plain_step_ms,
        spec_step_ms=spec_step_ms, ms_per_token=spec_step_ms / length, speed_up=length * plain_step_ms / spec_step_ms,
        lines=lines(good, plain_step_ms, spec_step_ms), slips=slips(scrapes, good),
    )


def window(name: str, before: Scrape, after: Scrape) -> Window:
    """The differences between two scrapes, and whether they mean anything."""
    fell = [key for key, count in after.counters.items() if count < before.counters[key]]
    drafts, tokens = after.drafts - before.drafts, after.draft_tokens - before.draft_tokens
    accepted = after.accepted - before.accepted
    survive = [late - early for early, late in zip(before.per_position, after.per_position, strict=True)]
    reached = [drafts, *survive]
    fault = ""
    if after.start != before.start:
        fault = "spans a restart: the process start differs"
    elif fell:
        fault = f"spans a reset: {', '.join(fell[:3])} fell"
    elif drafts <= 0 or tokens <= 0:
        fault = "has no drafts"
    elif not (before.adds_up and after.adds_up):
        fault = "has positions that don't sum to the accepted tokens"
    elif sorted(reached, reverse=True) != reached or accepted > tokens:
        fault = "has more accepted than could be"
    return Window(
        name=name, fault=fault, drafts=drafts, draft_tokens=tokens, accepted=accepted,
        generation_tokens=after.generation_tokens - before.generation_tokens, finished=after.finished - before.finished,
        raw_rate=accepted / tokens if tokens else 0.0,
        unconditional=() if fault else tuple(count / drafts for count in survive),
        conditional=() if fault else tuple(
            count / came if came else 0.0 for came, count in zip(reached, survive, strict=False)),
    )


def constant_share(mean_length: float, positions: int) -> float:
    """The one chance for every position that gives this mean length: 1 + a + a² + … = mean length; by bisection."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        short = sum(middle**power for power in range(positions + 1)) < mean_length
        low, high = (middle, high) if short else (low, middle)
    return low


def lines(good: Window, plain_ms: float, spec_ms: float) -> tuple[Line, ...]:
    """The first valid window as it is said aloud."""
    return (
        Line("drafts", "difference", good.drafts), Line("drafted", "difference", good.draft_tokens, "tokens"),
        Line("accepted", "difference", good.accepted, "tokens"),
        Line("rate", f"{good.accepted:,} / {good.draft_tokens:,}", 100 * good.rate, "%"),
        Line("mean length", f"1 + {good.accepted:,} / {good.drafts:,}", good.mean_length, "tokens"),
        Line("time a token", f"{spec_ms:g} / {good.mean_length:.4g}", spec_ms / good.mean_length, "ms"),
        Line("speed-up", f"{good.mean_length:.4g} × {plain_ms:g} / {spec_ms:g}", good.mean_length * plain_ms / spec_ms,
             "×"),
    )


def slips(scrapes: tuple[Scrape, ...], good: Window) -> tuple[tuple[float, str], ...]:
    """Mean lengths that people reach."""
    last = scrapes[-1]
    lifetime = 1 + last.accepted / last.drafts if last.drafts else 0.0
    steps = good.inferred_steps
    return (
        (good.mean_length - 1, "That leaves out the token that the target always adds."),
        (1 + good.rate, "That adds the rate, which is of drafted tokens; a length is by drafts."),
        (good.generation_tokens / steps if steps > 0 else 0.0,
         "That takes generated less accepted for the steps; tokens cut at a stop are accepted and not generated, and "
         "first tokens are no steps."),
        (lifetime, "That divides totals since the start, not differences."),
    )


def parse_scrapes(text: str) -> tuple[Scrape, ...]:
    """Read "10000/30000/15000/7500:4800:2700/26000/1000@100,…": drafts / draft tokens / accepted / by position /
    generation tokens / finished @ process start.

    Raises Refusal naming the first piece that can't be read.
    """
    pieces = ["".join(piece.split()) for piece in text.replace("\n", ",").split(",") if piece.strip()]
    if not 2 <= len(pieces) <= MOST_SCRAPES:
        raise Refusal(f"Takes 2 to {MOST_SCRAPES} scrapes, one a line; these are {len(pieces)}.", "scrapes")
    return tuple(_parse_scrape(piece) for piece in pieces)


def _parse_scrape(piece: str) -> Scrape:
    if not (found := SCRAPE.fullmatch(piece)):
        raise Refusal(f"“{piece[:60]}” can't be read: write drafts/draft tokens/accepted/by position with colons/"
                      "generation tokens/finished@process start.", "scrapes")
    drafts, tokens, accepted, positions, generated, finished, start = found.groups()
    by_position = tuple(map(int, positions.split(":")))
    if len(by_position) > MOST_POSITIONS:
        raise Refusal(f"{len(by_position)} positions; takes at most {MOST_POSITIONS}.", "scrapes")
    return Scrape(int(drafts), int(tokens), int(accepted), by_position, int(generated), int(finished), float(start))


def format_scrapes(scrapes: tuple[Scrape, ...]) -> str:
    """The text that parse_scrapes reads back as the same scrapes."""
    return ",".join(
        f"{s.drafts}/{s.draft_tokens}/{s.accepted}/{':'.join(map(str, s.per_position))}/{s.generation_tokens}/"
        f"{s.finished}@{s.start:.3f}".removesuffix(".000") for s in scrapes
    )
