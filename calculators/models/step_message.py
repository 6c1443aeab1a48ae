"""What EngineCore sends its workers each step: differences, beside everything."""
from dataclasses import dataclass

from calculators.models.base import Line, Refusal

FIXED_BYTES = 900  # a message without requests
ROW_BYTES = 17  # of a request beside its name, which is stored once
TOKEN_BYTES = 4.2  # of a token id and its share of a block table, pickled
NEW_TOKEN_BYTES = 8.4  # a new request carries its ids twice: as prompt, and as what to prefill
BATCHES = (1, 64, 256, 1_024)
SLIP_APART = 0.05


@dataclass(frozen=True, slots=True)
class Size:
    """The two messages of so many requests, in bytes."""

    requests: int
    diff_bytes: float
    full_bytes: float
    present: bool


@dataclass(frozen=True, slots=True)
class StepMessage:
    """The message of a step in bytes: what has changed, and what everything would be; `ratio` is of the two."""

    diff_bytes: float
    new_bytes: float
    message_bytes: float
    full_bytes: float
    ratio: float
    diff_mb_per_s: float
    full_mb_per_s: float
    block_ids: float
    sizes: tuple[Size, ...]
    finding: str
    verdict: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]


def solve(*, batch: int = 256, context_tokens: int = 2_000, new_requests: int = 0, block_size: int = 16,
          id_chars: int = 50, steps_per_s: float = 200.0) -> StepMessage:
    """Estimate the pickled SchedulerOutput of a decode step, and of one that would carry all state again.

    diff = 900 + (id + 17) × batch, full = 4.2 × context × batch, a new request 8.4 × context; fitted to pickles of the
    real classes, within 6% from 64 requests on. A block id goes along once every `block_size` tokens of a request.
    Raises Refusal for more new requests than the batch holds.
    """
    if new_requests > batch:
        raise Refusal(f"{new_requests:,} new requests are more than the batch of {batch:,}.", "new_requests")
    diff, new = diff_of(batch, id_chars), NEW_TOKEN_BYTES * context_tokens * new_requests
    full = TOKEN_BYTES * context_tokens * batch
    message = diff + new
    ratio = full / message
    return StepMessage(
        diff_bytes=diff, new_bytes=new, message_bytes=message, full_bytes=full, ratio=ratio,
        diff_mb_per_s=message * steps_per_s / 1e6, full_mb_per_s=full * steps_per_s / 1e6, block_ids=batch / block_size,
        sizes=tuple(Size(count, diff_of(count, id_chars), TOKEN_BYTES * context_tokens * count, count == batch)
                    for count in sorted({*BATCHES, batch})),
        finding=f"A step of {batch:,} requests is told in {message / 1e3:,.3g} kB; all of their state would be "
                f"{full / 1e3:,.4g} kB, {ratio:,.3g} times as much.",
        verdict=f"At {steps_per_s:g} steps/s that is {message * steps_per_s / 1e6:,.3g} MB/s against "
                f"{full * steps_per_s / 1e6:,.3g}. Bandwidth is not the point: what is pickled must be walked object "
                "by object, on the thread that schedules.",
        lines=(
            Line("a known request", f"{id_chars} + {ROW_BYTES}", id_chars + ROW_BYTES, "B"),
            Line("differences", f"{FIXED_BYTES} + {id_chars + ROW_BYTES} × {batch:,}", diff, "B"),
            Line("new requests", f"{NEW_TOKEN_BYTES} × {context_tokens:,} × {new_requests:,}", new, "B"),
            Line("the message", f"{diff:,.0f} + {new:,.0f}", message, "B", total=True),
            Line("everything again", f"{TOKEN_BYTES} × {context_tokens:,} × {batch:,}", full, "B"),
            Line("ratio", f"{full:,.0f} / {message:,.0f}", ratio, "×"),
            Line("new block ids", f"{batch:,} / {block_size}", batch / block_size, "a step"),
        ),
        slips=tuple((value, sentence) for value, sentence in (
            (context_tokens,
             "That is the length of a context. A request’s row is as long whatever it holds: its name, mostly."),
            (TOKEN_BYTES * context_tokens / ROW_BYTES, "That leaves out the request’s name, which is most of its row."),
            (full / diff, "That leaves out the new requests, whose tokens go along whole."),
            (batch, "That is the size of the batch, which both messages grow with."),
        ) if abs(value / ratio - 1) > SLIP_APART),
    )


def diff_of(requests: int, id_chars: int) -> float:
    return FIXED_BYTES + (id_chars + ROW_BYTES) * requests
