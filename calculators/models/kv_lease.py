"""The lease on a finished prefill's blocks: how long P keeps them for a D that sends heartbeats, and then does not."""
from collections.abc import Iterator
from dataclasses import dataclass, replace

from calculators.models.base import Line
from calculators.models.kv_transfer import MODELS, token_bytes
from calculators.models.quantity import say

READS, DIES = "reads", "dies"


@dataclass(frozen=True, slots=True)
class Beat:
    """A heartbeat: when P has it, and the deadline after it, both in seconds from the end of the prefill."""

    at_s: float
    deadline_s: float
    moves: bool


@dataclass(frozen=True, slots=True)
class Lease:
    """From the end of the prefill until P frees the blocks, and why it does."""

    lease_s: float
    interval_s: int
    extension_s: int
    beats: tuple[Beat, ...]
    end: str
    end_s: float
    frees_s: float
    kv_bytes: int
    rate: float
    lines: tuple[Line, ...] = ()
    slips: tuple[tuple[float, str], ...] = ()

    @property
    def expired(self) -> bool:
        """Whether the lease ended it, rather than D's word that it has read the blocks."""
        return self.end == DIES or self.frees_s < self.end_s

    @property
    def last_beat_s(self) -> float | None:
        """When the last heartbeat came, None if none did."""
        return self.beats[-1].at_s if self.beats else None

    @property
    def held_gb_s(self) -> float:
        """GB times seconds that P held for this request."""
        return self.frees_s * self.kv_bytes / 1e9

    @property
    def pinned_gb(self) -> float:
        """GB pinned on P at a time when every request goes this way: rate times bytes times the time held."""
        return self.rate * self.held_gb_s

    @property
    def lost_beats(self) -> int:
        """Heartbeats in a row that may be lost without losing the lease: the next has to come before the deadline.

        Beats are never less than an interval apart: one due at the deadline comes no sooner, and races with P's step.
        """
        return max(-(-self.extension_s // self.interval_s) - 2, 0)

    @property
    def finding(self) -> str:
        """When P frees, and what that was."""
        if self.end == READS and self.expired:
            return (f"P frees at {say(self.frees_s, 's')}, before D reads at {say(self.end_s, 's')}: those blocks may "
                    "be somebody else’s by then. P counts it and logs it; nothing prevents it.")
        if self.end == READS:
            return (f"D reads after {say(self.end_s, 's')} and says so; heartbeats kept the lease until then: P held "
                    f"{say(self.held_gb_s, '')} GB·s.")
        last = f"the last beat, at {say(self.beats[-1].at_s, 's')}, gave {self.extension_s} s" if self.beats else \
            "no beat came"
        return (f"D dies at {say(self.end_s, 's')}: {last}. P frees at {say(self.frees_s, 's')}, and "
                "each of its workers adds one to nixl_num_kv_expired_reqs.")


def solve(*, kv_lease_duration: int = 30, ends_by: str = DIES, ends_s: float = 22, arrives_s: float = 0,
          model: str = "llama-3.1-70b", kv_dtype: str = "bf16", prompt_tokens: int = 8_192,
          rate_per_s: float = 10) -> Lease:
    """P finishes at 0. D has the request `arrives_s` later, and reads or dies at `ends_s`.

    interval = lease // 6, extension = lease * 2 // 3; a beat moves the deadline to max(old, its own time + extension).
    Exact. Source: vllm 0.33.0, kv_connector/v1/nixl/base_scheduler.py; base_worker.py, _handle_heartbeat,
    _reap_expired_send_leases.
    """
    interval, extension = kv_lease_duration // 6, kv_lease_duration * 2 // 3
    beats, deadline = [], float(kv_lease_duration)
    for number in range(int((ends_s - arrives_s) // interval) + 1 if ends_s >= arrives_s else 0):
        at = arrives_s + number * interval
        if at > deadline:
            break
        moved = max(deadline, at + extension)
        beats.append(Beat(at, moved, moved > deadline))
        deadline = moved
    frees = min(ends_s, deadline) if ends_by == READS else deadline
    result = Lease(kv_lease_duration, interval, extension, tuple(beats), ends_by, ends_s, frees,
                   prompt_tokens * token_bytes(MODELS[model], kv_dtype), rate_per_s)
    return replace(result, lines=tuple(lines_of(result)), slips=tuple(slips_of(result)))


def lines_of(result: Lease) -> Iterator[Line]:
    """Beat, extension, the deadline, and what was held for how long."""
    lease, extension = result.lease_s, result.extension_s
    yield Line("a heartbeat every", f"⌊{lease} / 6⌋", result.interval_s, "s")
    yield Line("each is worth", f"⌊{lease} × 2 / 3⌋", extension, "s")
    if result.end == READS and not result.expired:
        yield Line("P frees at", "D’s notification", result.frees_s, "s")
    elif result.beats:
        last = say(result.beats[-1].at_s, "")
        yield Line("P frees at", f"max({lease}, {last} + {extension})", result.frees_s, "s")
    else:
        yield Line("P frees at", "the lease alone", result.frees_s, "s")
    size = say(result.kv_bytes / 1e9, "")
    yield Line("held for this one", f"{say(result.frees_s, '')} × {size}", result.held_gb_s, "GB·s")
    yield Line("if all go this way", f"{result.rate:g}/s × {say(result.frees_s, '')} × {size}", result.pinned_gb,
               "GB")


def slips_of(result: Lease) -> Iterator[tuple[float, str]]:
    """Wrong seconds, and what each is."""
    if result.end == DIES:
        yield result.end_s, "That is when D dies; P does not know it."
        yield result.end_s + result.extension_s, "That counts from the crash; the last heartbeat came before it."
        yield result.end_s + result.lease_s, "That gives a whole lease from the crash; a beat is worth two thirds."
        if result.beats:
            last = result.beats[-1].at_s
            yield last + result.lease_s, "That gives a whole lease from the last beat; a beat is worth two thirds."
    yield float(result.lease_s), "That is the lease alone; heartbeats move it."
    yield 480.0, "That was the fixed time-out of earlier releases."
