"""A laptop against a shared GPU, as bytes read for each token: who is faster for one user, and up to how many users."""
from dataclasses import dataclass
from math import floor

from calculators.models.base import Line
from calculators.models.catalogue import GPUS

BATCHES = (1, 32, 64, 128, 256)
SLIP_APART = 0.02


@dataclass(frozen=True, slots=True)
class Shared:
    """The shared GPU with so many users: tokens/s for each of them and in all."""

    sequences: int
    per_user: float
    total: float
    ahead: bool
    present: bool


@dataclass(frozen=True, slots=True)
class Laptop:
    """Tokens/s of both for one user, the most users with whom the GPU stays ahead, and both prefills in seconds."""

    laptop_tokens_per_s: float
    here: Shared
    shared: tuple[Shared, ...]
    most_users: int
    ratio_in_all: float
    laptop_prefill_s: float
    gpu_prefill_s: float
    verdict: str
    finding: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]


def solve(*, laptop_gb_per_s: float = 546, laptop_gb: float = 4.92, laptop_tflop_per_s: float = 15,
          laptop_share: float = 1.0, laptop_reads_kv: bool = True, gpu: str = "h100", gpu_gb: float = 16.06,
          gpu_share: float = 1.0, gpu_compute_share: float = 0.5, users: int = 1, context_tokens: int = 2_048,
          kv_bytes_per_token: int = 131_072, params_b: float = 8.03, prompt_tokens: int = 4_096) -> Laptop:
    """Bound decode by bytes: tokens/s = bandwidth / (weights + users × context × KV); prefill by 2 × P × tokens.

    The GPU stays ahead for as many users as (bandwidth / laptop's rate - weights) / (context × KV), rounded down.
    Bounds are exact divisions; in practice 60 to 80% of them is reached, which the shares are for.
    """
    kv_gb = context_tokens * kv_bytes_per_token / 1e9
    own = kv_gb if laptop_reads_kv else 0.0
    alone = laptop_gb_per_s * laptop_share / (laptop_gb + own)
    bandwidth = GPUS[gpu].tb_per_s * 1e3 * gpu_share

    def shared(sequences: int) -> Shared:
        each = bandwidth / (gpu_gb + sequences * kv_gb)
        return Shared(sequences, each, each * sequences, each >= alone, sequences == users)

    most = max(floor((bandwidth / alone - gpu_gb) / kv_gb), 0)
    here, flop = shared(users), 2 * params_b * 1e9 * prompt_tokens
    gpu_prefill = flop / (GPUS[gpu].bf16_tflop_per_s * 1e12 * gpu_compute_share)
    laptop_prefill = flop / (laptop_tflop_per_s * 1e12)
    return Laptop(
        laptop_tokens_per_s=alone, here=here,
        shared=tuple(shared(count) for count in sorted({*BATCHES, users, *([most] if 0 < most < 100_000 else [])})),
        most_users=most, ratio_in_all=here.total / alone, laptop_prefill_s=laptop_prefill, gpu_prefill_s=gpu_prefill,
        verdict=verdict(most, here, alone, laptop_prefill, gpu_prefill, prompt_tokens),
        finding=f"The laptop gives its one user {alone:,.3g} tokens/s, the GPU each of {users:,} {here.per_user:,.3g}; "
                f"it stays ahead up to {most:,} users.",
        lines=(
            Line("a context’s KV", f"{context_tokens:,} × {kv_bytes_per_token:,} B", kv_gb, "GB"),
            Line("the laptop", f"{laptop_gb_per_s * laptop_share:.4g} / ({laptop_gb:g} + {own:.4g})", alone,
                 "tokens/s"),
            Line("the GPU, each", f"{bandwidth:,.4g} / ({gpu_gb:g} + {users:,} × {kv_gb:.4g})", here.per_user,
                 "tokens/s"),
            Line("the GPU, in all", f"{users:,} × {here.per_user:.4g}", here.total, "tokens/s"),
            Line("ahead up to", f"({bandwidth:,.4g} / {alone:.4g} − {gpu_gb:g}) / {kv_gb:.4g}", most, "users",
                 total=True),
            Line("prefill, laptop", f"{flop / 1e12:.3g} TFLOP / {laptop_tflop_per_s:g} TFLOP/s", laptop_prefill, "s"),
            Line("prefill, GPU", f"{flop / 1e12:.3g} TFLOP / "
                 f"{GPUS[gpu].bf16_tflop_per_s * gpu_compute_share:.4g} TFLOP/s", gpu_prefill, "s"),
        ),
        slips=tuple((value, sentence) for value, sentence in (
            (floor((bandwidth * laptop_gb / (laptop_gb_per_s * laptop_share) - gpu_gb) / kv_gb),
             "That leaves out the KV that the laptop reads itself."),
            (bandwidth / (laptop_gb_per_s * laptop_share), "That is the ratio of bandwidths; the bytes differ too."),
            (bandwidth / gpu_gb / alone, "That is how much faster the GPU is for one user without a context."),
        ) if value > 0 and (not most or abs(value / most - 1) > SLIP_APART)),
    )


def verdict(most: int, here: Shared, alone: float, laptop_prefill: float, gpu_prefill: float, prompt: int) -> str:
    """Who is faster here, and at what, in sentences."""
    side = "ahead of" if here.ahead else "behind"
    return (f"For each user the GPU is {side} the laptop; in all it gives {here.total / alone:,.3g} times as much. A "
            f"prompt of {prompt:,} tokens takes {gpu_prefill:,.2g} s against {laptop_prefill:,.2g} s.")
