"""Sequences in flight: Little's law, how far the count swings, and what it asks of seats, KV and the step."""
from dataclasses import dataclass
from math import erfc, sqrt

from calculators.models.base import Line, Refusal
from calculators.models.catalogue import GPUS, MODELS
from calculators.models.kv_pool import GIB

BANDWIDTH_SHARE = 0.8  # of the datasheet's peak, a rule of thumb
P99, P999 = 2.326, 3.09  # standard deviations of a normal
SLIP_APART = 0.05
MOST_SEQUENCES = 1_000_000


@dataclass(frozen=True, slots=True)
class Share:
    """What one of so many replicas carries: its batch, the swing of it, KV in GiB and the step in ms."""

    replicas: int
    batch: float
    p99: float
    over_seats_share: float
    kv_gib: float
    pool_share: float
    fits: bool
    step_ms: float
    keeps_pace: bool


@dataclass(frozen=True, slots=True)
class InFlight:
    """How many sequences are in flight on average, their spread under Poisson arrivals, and what they need.

    `kv_gib` provides for the mean resident tokens, `worst_kv_gib` for every sequence at its end. `abandoned_sequences`
    are those in flight when half of the clients leave after 5 s.
    """

    sequences: float
    seconds_in_system: float
    tokens_per_s: float
    sigma: float
    p99_sequences: float
    p999_sequences: float
    seats_left: float
    over_seats_share: float
    resident_tokens: float
    kv_gib: float
    worst_kv_gib: float
    kv_bytes_per_token: int
    read_gb: float
    abandoned_sequences: float
    shares: tuple[Share, ...]
    replicas_for_kv: int
    finding: str
    seats_verdict: str
    kv_verdict: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]


def solve(*, rate_per_s: float = 50, output_tokens: int = 500, ms_per_token: float = 40, ttft_s: float | None = None,
          prompt_tokens: int = 1_000, max_num_seqs: int = 1_024, model: str = "llama-3.1-8b", gpu: str = "h100",
          pool_gib: float = 54.4) -> InFlight:
    """Count the sequences in flight by Little's law, L = rate × time in the system, whatever the distributions.

    Without a TTFT every output token takes `ms_per_token`; with one, the first takes that and the rest one gap each.
    The swing is that of a Poisson count, taken as normal. A replica is one GPU with the model in bf16, which reads its
    weights without the input embedding, and its KV, in each step at 80% of the peak bandwidth.
    Counts and bytes are exact, swing and step are rules.
    Raises Refusal when nothing stays, or too many to be one service.
    """
    gaps = output_tokens if ttft_s is None else output_tokens - 1
    in_system = (ttft_s or 0) + gaps * ms_per_token / 1e3
    sequences = rate_per_s * in_system
    if not in_system:
        raise Refusal("A reply of one token that takes no time keeps nothing in flight; takes more than 0.", "ttft_s")
    if sequences > MOST_SEQUENCES:
        raise Refusal(f"{sequences:,.0f} sequences in flight are more than one service; the lab takes up to "
                      f"{MOST_SEQUENCES:,}.", "rate_per_s")
    chosen = MODELS[model]
    read = chosen.read_bytes
    resident = prompt_tokens + output_tokens / 2
    kv = sequences * resident * chosen.kv_bytes_per_token / GIB
    worst = sequences * (prompt_tokens + output_tokens) * chosen.kv_bytes_per_token / GIB
    bandwidth = GPUS[gpu].tb_per_s * 1e12 * BANDWIDTH_SHARE
    fewest = max(-(-kv // pool_gib), 1)

    def share(replicas: int) -> Share:
        batch, each = sequences / replicas, kv / replicas
        step = (read + each * GIB) / bandwidth * 1e3
        return Share(replicas, batch, batch + P99 * sqrt(batch), over(batch, max_num_seqs), each, each / pool_gib,
                     each <= pool_gib, step, step <= ms_per_token)

    few, least = int(fewest), 1 if fewest <= 12 else int(fewest) // 4
    counts = sorted({1, 2, 3, 4} if few <= 3 else {least, few // 2, few, few + 1})
    return InFlight(
        sequences=sequences, seconds_in_system=in_system, tokens_per_s=rate_per_s * output_tokens,
        sigma=sqrt(sequences), p99_sequences=sequences + P99 * sqrt(sequences),
        p999_sequences=sequences + P999 * sqrt(sequences), seats_left=max_num_seqs - sequences,
        over_seats_share=over(sequences, max_num_seqs), resident_tokens=resident, kv_gib=kv, worst_kv_gib=worst,
        kv_bytes_per_token=chosen.kv_bytes_per_token, read_gb=read / 1e9,
        abandoned_sequences=rate_per_s / 2 * (in_system + min(in_system, 5)),
        shares=tuple(share(replicas) for replicas in counts), replicas_for_kv=int(fewest),
        finding=f"{rate_per_s:,.6g} requests/s that stay {in_system:,.4g} s each: {sequences:,.0f} in flight.",
        seats_verdict=seats_verdict(sequences, max_num_seqs), kv_verdict=kv_verdict(kv, pool_gib, int(fewest)),
        lines=lines_of(rate_per_s, output_tokens, ms_per_token, ttft_s, prompt_tokens, max_num_seqs, sequences,
                       in_system, resident, kv, chosen.kv_bytes_per_token),
        slips=slips_of(rate_per_s, output_tokens, ms_per_token, ttft_s, sequences),
    )


def over(mean: float, seats: int) -> float:
    """Share of the time that a Poisson count of this mean, taken as normal, stands above the seats."""
    return erfc((seats - mean) / sqrt(2 * mean)) / 2


def seats_verdict(sequences: float, seats: int) -> str:
    """Whether one engine's seats are enough, in a sentence."""
    share = over(sequences, seats)
    if sequences >= seats:
        return f"One engine’s {seats:,} seats are too few even for the mean: the queue never empties."
    if share > 0.001:
        return (f"One engine’s {seats:,} seats hold the mean and not the swing: more are wanted {share:.0%} of the "
                "time, and who comes then waits.")
    return f"One engine’s {seats:,} seats hold the mean and its swing."


def kv_verdict(kv: float, pool: float, fewest: int) -> str:
    """How many pools the mean resident KV fills, in a sentence."""
    if fewest == 1:
        return f"Their KV, {kv:,.1f} GiB on average, fits one pool of {pool:g} GiB ({kv / pool:.0%})."
    full = kv / fewest / pool
    more = f"; {fewest + 1} leave head-room" if full > 0.85 else ""
    return (f"Their KV, {kv:,.1f} GiB on average, needs {fewest:,} pools of {pool:g} GiB, {full:.0%} full{more}. "
            "Admission reserves nothing for replies, so watch preemptions.")


def lines_of(rate: float, output: int, ms_per_token: float, ttft_s: float | None, prompt: int, seats: int,
             sequences: float, in_system: float, resident: float, kv: float, kv_bytes: int) -> tuple[Line, ...]:
    """Little's law with its numbers filled in, then seats and KV."""
    stays = f"{output:,} × {ms_per_token / 1e3:g} s"
    if ttft_s is not None:
        stays = f"{ttft_s:g} s + {output - 1:,} × {ms_per_token / 1e3:g} s"
    sigma = sqrt(sequences)
    return (
        Line("throughput", f"{rate:,.6g} × {output:,}", rate * output, "tokens/s"),
        Line("time in the system", stays, in_system, "s"),
        Line("in flight, L", f"{rate:,.6g} × {in_system:,.4g} s", sequences, "sequences", total=True),
        Line("sigma", f"√{sequences:,.0f}", sigma, "sequences"),
        Line("99th percentile", f"{sequences:,.0f} + {P99} × {sigma:,.1f}", sequences + P99 * sigma, "sequences"),
        Line("seats left", f"{seats:,} − {sequences:,.0f}", seats - sequences, "seats"),
        Line("tokens each holds", f"{prompt:,} + {output:,} / 2", resident, "tokens"),
        Line("KV", f"{sequences:,.0f} × {resident:,g} × {kv_bytes:,} B", kv, "GiB"),
    )


def slips_of(rate: float, output: int, ms_per_token: float, ttft_s: float | None,
             sequences: float) -> tuple[tuple[float, str], ...]:
    """The wrong counts that people reach, and what each leaves out; none that lies near the right one."""
    gap_s = ms_per_token / 1e3
    slips = (
        (rate * output, "That is tokens per second. What is in flight is the rate times how long each one stays."),
        (rate * gap_s, "That multiplies the rate by one token’s time. A sequence stays for all its tokens."),
        (rate, "That is the arrivals of one second. Each one stays for longer than that."),
        (output * gap_s, "That is how long one sequence stays. Multiply by how many come each second."),
        (rate * (ttft_s or 0), "That counts the prefill alone. A sequence stays through its decode as well."),
        (rate * output * gap_s if ttft_s and ttft_s * rate > SLIP_APART * sequences else 0,
         "That leaves out the time to the first token, when the sequence holds its seat and its KV already."),
    )
    return tuple((value, sentence) for value, sentence in slips
                 if value and abs(value / sequences - 1) > SLIP_APART)
