"""A grammar's mask in the engine's loop: who fills it, what hides it, and when it stalls every step."""
from dataclasses import dataclass

from calculators.models.base import Line, Refusal
from calculators.models.catalogue import GPUS, MODELS
from calculators.models.engine_loop import Mode, Times, mode

SERIAL_REQUESTS, PER_THREAD, MOST_THREADS = 128, 16, 8
DRAWN_STEPS = 4
BANDWIDTH_SHARE = 0.8  # of the datasheet's peak, a rule of thumb
CONTEXT = 1_024
SLIP_APART = 0.05
CHAINS = {"gpu": "the GPU", "mask": "the mask"}


@dataclass(frozen=True, slots=True)
class Case:
    """So many structured requests on an 8B and an H100: the forward, the fill and what is left over, in ms."""

    requests: int
    drafts: int
    forward_ms: float
    fill_ms: float
    stall_ms: float


@dataclass(frozen=True, slots=True)
class MaskOverlap:
    """The period with masks, overlapped and not; `chain_ms` is what must happen on the CPU before a step may sample."""

    rows: int
    fill_threads: int
    fill_ms: float
    chain_ms: float
    period_ms: float
    sync_period_ms: float
    launch_to_sampled_ms: float
    gpu_idle_percent: float
    stall_ms: float
    binds: str
    verdict: str
    finding: str
    overlapped: Mode
    sync: Mode
    cases: tuple[Case, ...]
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]

    @property
    def binds_words(self) -> str:
        return CHAINS[self.binds]


def solve(*, structured: int = 64, batch: int = 64, drafts: int = 0, us_per_row: float = 40.0, threads: int = 8,
          forward_ms: float = 8.8, sample_ms: float = 0.3, sched_ms: float = 0.3, output_ms: float = 0.0,
          update_ms: float = 0.3, send_ms: float = 0.2) -> MaskOverlap:
    """Follow a batch of which `structured` requests obey a grammar; one of them defers the sampling of all.

    Waiting, the mask is filled while the forward runs and costs max(0, mask - forward). Overlapped, it needs the tokens
    of the step before: chain = output + update + fill + send, period = max(forward + sample, chain + max(sample,
    schedule)). Up to 128 requests, and always with drafts, one thread fills row after row.
    Exact for the model; the times are rules.
    Source: vllm 0.33.0, v1/engine/core.py, step_with_batch_queue; v1/structured_output/__init__.py, grammar_bitmask.
    """
    if structured > batch:
        raise Refusal(f"{structured:,} structured requests are more than the batch of {batch:,}.", "structured")
    rows = structured * (1 + drafts)
    used = threads_for(structured, drafts, threads)
    fill = fill_time_ms(structured, drafts, us_per_row, threads)
    mask = fill + send_ms if rows else 0.0
    times = Times(sched_ms, output_ms + update_ms, forward_ms, sample_ms, mask)
    waits, overlaps = (mode(times, overlap, DRAWN_STEPS, batch) for overlap in (False, True))
    chain = output_ms + update_ms + mask
    stall = max(overlaps.period_ms - forward_ms - sample_ms, 0)
    binds = "mask" if stall > 1e-6 else "gpu"
    return MaskOverlap(
        rows=rows, fill_threads=used, fill_ms=fill, chain_ms=chain, period_ms=overlaps.period_ms,
        sync_period_ms=waits.period_ms, launch_to_sampled_ms=max(forward_ms, fill) + sample_ms,
        gpu_idle_percent=100 - overlaps.steady_busy_percent, stall_ms=stall, binds=binds,
        verdict=verdict(structured, batch, stall, forward_ms, chain),
        finding=f"{rows:,} rows of mask take {fill:,.3g} ms beside a forward of {forward_ms:g} ms: a step takes "
                f"{overlaps.period_ms:,.4g} ms.",
        overlapped=overlaps, sync=waits,
        cases=tuple(case(*each, us_per_row, threads) for each in ((16, 0), (64, 0), (128, 0), (256, 0), (64, 3),
                                                                  (256, 3))),
        lines=(
            Line("rows", f"{structured:,} × (1 + {drafts})", rows, "rows"),
            Line("fill", fill_words(structured, rows, us_per_row, used), fill, "ms"),
            Line("chain", f"{output_ms:g} + {update_ms:g} + {fill:.4g} + {send_ms:g}" if rows else
                 f"{output_ms:g} + {update_ms:g}", chain, "ms"),
            Line("GPU alone", f"{forward_ms:g} + {sample_ms:g}", forward_ms + sample_ms, "ms"),
            Line("period", f"max({forward_ms + sample_ms:.4g}, {chain:.4g} + max({sample_ms:g}, {sched_ms:g}))" if rows
                 else f"max({forward_ms + sample_ms:.4g}, {sched_ms:g} + {chain:.4g})", overlaps.period_ms, "ms"),
            Line("launch to sampled, waiting", f"max({forward_ms:g}, {fill:.4g}) + {sample_ms:g}",
                 max(forward_ms, fill) + sample_ms, "ms"),
        ),
        slips=slips_of(overlaps.period_ms, fill, forward_ms, sample_ms, chain, drafts),
    )


def threads_for(structured: int, drafts: int, threads: int) -> int:
    """How many threads fill: one up to 128 requests and always with drafts, else one for each 16 as far as there are.
    """
    if drafts or structured <= SERIAL_REQUESTS:
        return 1
    return min(threads, MOST_THREADS, -(-structured // PER_THREAD))


def fill_time_ms(structured: int, drafts: int, us_per_row: float, threads: int) -> float:
    """The time to fill all rows, in ms; threads take 16 requests at a time and are taken to run side by side."""
    used = threads_for(structured, drafts, threads)
    if used == 1:
        return structured * (1 + drafts) * us_per_row / 1e3
    turns = -(-structured // (PER_THREAD * used))
    return min(turns * PER_THREAD, structured) * us_per_row / 1e3


def fill_words(structured: int, rows: int, us_per_row: float, threads: int) -> str:
    if threads == 1:
        return f"{rows:,} × {us_per_row:g} µs"
    turns = -(-structured // (PER_THREAD * threads))
    return f"{turns:,} turns × {PER_THREAD} × {us_per_row:g} µs on {threads} threads"


def forward_time_ms(model: str, batch: int, context_tokens: int) -> float:
    """A decode forward in bf16 on an H100 by the bandwidth rule, in ms: weights and the KV of the batch, read once."""
    chosen = MODELS[model]
    read = chosen.read_bytes
    kv = batch * context_tokens * chosen.kv_bytes_per_token
    return (read + kv) / (GPUS["h100"].tb_per_s * 1e12 * BANDWIDTH_SHARE) * 1e3


def case(requests: int, drafts: int, us_per_row: float, threads: int) -> Case:
    forward = forward_time_ms("llama-3.1-8b", requests, CONTEXT)
    fill = fill_time_ms(requests, drafts, us_per_row, threads)
    return Case(requests, drafts, forward, fill, max(fill - forward, 0))


def verdict(structured: int, batch: int, stall: float, forward: float, chain: float) -> str:
    """Whether the mask is seen in the step, and by whom, in sentences."""
    if not structured:
        return "Nobody asks for a grammar: sampling follows its forward at once."
    if not stall:
        return (f"The mask is free: output, update, fill and send take {chain:.3g} ms and hide under the next "
                f"forward of {forward:g} ms.")
    plain = f", and the {batch - structured:,} plain requests wait with the rest" if structured < batch else ""
    return f"The GPU stands {stall:.3g} ms between each forward and its sampling{plain}: the mask sets the pace."


def slips_of(period: float, fill: float, forward: float, sample: float, chain: float,
             drafts: int) -> tuple[tuple[float, str], ...]:
    """Wrong periods (ms) that people reach and what each forgets; none near the right one."""
    slips = (
        (forward + sample, "That is the GPU alone. The mask is longer than the forward that could hide it."),
        (forward + fill + sample, "That adds the mask to the forward; they run side by side."),
        (fill + sample, "That is fill and sampling; output, update and sending stand in the chain as well."),
        (chain, "That is the chain; sampling, or scheduling the next step, comes after it."),
        (chain / (1 + drafts) if drafts else 0, "That leaves out the rows of the drafts."),
        (fill, "That is the time of the fill alone."),
    )
    return tuple((value, sentence) for value, sentence in slips if value and abs(value / period - 1) > SLIP_APART)
