"""Whether a benchmark can show a loss, how many versions a bisection tries, and what a smaller KV pool costs."""
from dataclasses import dataclass
from math import ceil, log2, sqrt

from calculators.models.base import Line, rounded_up

ENOUGH = 3.0  # standard errors of a difference that is no chance
SLIP_APART = 0.05


@dataclass(frozen=True, slots=True)
class AtRuns:
    """What so many runs on each side can show: the standard error of the difference, and the loss in such errors."""

    runs_each: int
    error_percent: float
    errors: float
    present: bool


@dataclass(frozen=True, slots=True)
class UpgradeEvidence:
    """The difference against its standard error, the bisection's steps, and decode before and after the pool shrank.

    `runs_needed` on each side show the drop at three standard errors.
    """

    error_percent: float
    errors: float
    shown: bool
    smallest_percent: float
    runs_needed: int
    bisect_steps: int
    before_sequences: int
    after_sequences: int
    before_tokens_per_s: float
    after_tokens_per_s: float
    pool_percent: float
    loss_percent: float
    by_runs: tuple[AtRuns, ...]
    finding: str
    verdict: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]

    @property
    def pool_cost_percent(self) -> float:
        """What the smaller pool takes off the tokens/s where it binds, in per cent; negative where it grew."""
        return -self.loss_percent

    @property
    def shrunk_percent(self) -> float:
        """By how much the largest batch shrank, in per cent; negative where it grew."""
        return -self.pool_percent


def solve(*, noise_percent: float = 2.0, runs: int = 3, drop_percent: float = 12.0, commits: int = 1_900,
          before_tokens: int = 262_144, after_tokens: int = 131_072, sequence_tokens: int = 2_048,
          weight_gb: float = 16.06, kv_bytes_per_token: int = 131_072, tb_per_s: float = 3.35) -> UpgradeEvidence:
    """Say what a loss between two means is worth, and what of it a smaller pool explains.

    standard error of the difference = noise × √(2 / runs); bisection = ⌈log2(commits)⌉; the largest batch = pool /
    tokens of a sequence, and decode = batch × bandwidth / (weights + batch × KV).
    Normal noise and a step bound by reading; both are rules.
    """
    error = noise_percent * sqrt(2 / runs)
    errors = round(drop_percent / error, 9)  # 3 × 45.688 / 45.688 is not quite 3 in floats
    needed = max(rounded_up(2 * (ENOUGH * noise_percent / drop_percent) ** 2), 1)
    steps = ceil(log2(commits)) if commits > 1 else 0
    each_gb = sequence_tokens * kv_bytes_per_token / 1e9
    sequences = tuple(max(pool // sequence_tokens, 1) for pool in (before_tokens, after_tokens))
    before, after = (count / ((weight_gb + count * each_gb) / tb_per_s / 1e3) for count in sequences)
    pool, loss = 100 * (sequences[1] / sequences[0] - 1), 100 * (after / before - 1)
    return UpgradeEvidence(
        error_percent=error, errors=errors, shown=errors >= ENOUGH, smallest_percent=ENOUGH * error, runs_needed=needed,
        bisect_steps=steps, before_sequences=sequences[0], after_sequences=sequences[1], before_tokens_per_s=before,
        after_tokens_per_s=after, pool_percent=pool, loss_percent=loss,
        by_runs=tuple(AtRuns(count, noise_percent * sqrt(2 / count), drop_percent / (noise_percent * sqrt(2 / count)),
                             count == runs) for count in sorted({1, 3, 5, 10, 30, runs})),
        finding=f"A drop of {drop_percent:g}% is {errors:,.3g} standard errors of the difference between {runs:,} runs "
                f"and {runs:,}.",
        verdict=verdict(errors, needed, runs, pool, loss, steps, commits),
        lines=(
            Line("standard error", f"{noise_percent:g}% × √(2 / {runs:,})", error, "%"),
            Line("the drop in errors", f"{drop_percent:g} / {error:.3g}", errors, "errors", total=True),
            Line("least drop that shows", f"{ENOUGH:g} × {error:.3g}%", ENOUGH * error, "%"),
            Line("bisection", f"log2({commits:,}), rounded up", steps, "builds"),
            Line("largest batch, before", f"{before_tokens:,} / {sequence_tokens:,}", sequences[0], "sequences"),
            Line("decode, before", f"{sequences[0]:,} × {tb_per_s:g} TB/s / ({weight_gb:g} + {sequences[0]:,} × "
                                   f"{each_gb:.4g}) GB", before, "tokens/s"),
            Line("largest batch, after", f"{after_tokens:,} / {sequence_tokens:,}", sequences[1], "sequences"),
            Line("decode, after", f"{sequences[1]:,} × {tb_per_s:g} TB/s / ({weight_gb:g} + {sequences[1]:,} × "
                                  f"{each_gb:.4g}) GB", after, "tokens/s"),
            Line("the pool’s share of it", f"{after:,.0f} / {before:,.0f} − 1", loss, "%"),
        ),
        slips=slips_of(errors, noise_percent, runs, drop_percent, -pool),
    )


def verdict(errors: float, needed: int, runs: int, pool: float, loss: float, steps: int, commits: int) -> str:
    """Whether to go on, and with what."""
    if errors >= ENOUGH:
        said = [f"{errors:,.3g} standard errors are no chance: the loss is real."]
    else:
        said = [f"{errors:,.3g} standard errors may be chance; {needed:,} runs on each side would show it. Don’t "
                "bisect on this."]
    if pool < 0:
        said.append(f"Where the pool binds, {-pool:,.3g}% less of it costs {-loss:,.3g}%: a smaller batch reads less "
                    "KV in each step.")
    elif pool > 0:
        said.append(f"The pool grew by {pool:,.3g}%, which gives {loss:,.3g}% where it binds.")
    said.append(f"Among {commits:,} commits a bisection takes {steps:,} builds; a diff of the configurations takes one "
                "look. Diff first, and test each suspect alone.")
    return " ".join(said)


def slips_of(errors: float, noise: float, runs: int, drop: float, shrunk: float) -> tuple[tuple[float, str], ...]:
    """Wrong counts of standard errors that people reach, and the wrong cost of a smaller pool, with what each gets
    wrong."""
    slips = (
        (drop / noise, "That takes the scatter of one run; the mean of several scatters less."),
        (drop / (noise / sqrt(runs)), "That takes the error of one side; both means scatter, so it is √2 larger."),
        (drop / (noise * sqrt(2)), "That takes one run on each side."),
        (drop / (2 * noise / runs), "Errors fall with the square root of the runs."),
        (shrunk, "That is how much the batch shrank. Each step then reads less KV, so throughput falls less."),
    )
    return tuple((value, sentence) for value, sentence in slips if value > 0 and abs(value / errors - 1) > SLIP_APART)
