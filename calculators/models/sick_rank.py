"""A sick rank: what one slow or hung GPU does to its whole group, who notices, after how long, and how often."""
from collections.abc import Iterator
from dataclasses import dataclass, replace

from calculators.models.base import Line, Refusal
from calculators.models.quantity import say
from calculators.models.wide_ep import GroupStep, Load, alike, group_step

SLOW, HUNG = "slow", "hung"
PROBE_S, PROBE_FAILURES, PROBE_TIMEOUT_S = 5, 3, 5  # a readiness probe that generates a token
DETECTORS = (
    ("one-token probe", float(PROBE_S * PROBE_FAILURES + PROBE_TIMEOUT_S), "5 s apart, 3 failures, 5 s time-out"),
    ("DeepEP’s time-out", 100.0, "its kernels count 2e11 cycles, about 100 s; then they trap, or mask the rank"),
    ("execute-model time-out", 300.0, "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS"),
    ("NCCL time-out", 600.0, "--distributed-timeout-seconds left at None; torch's groups only, not pynccl or DeepEP"),
    ("gloo time-out", 1_800.0, "--cpu-distributed-timeout-seconds left at None"),
)
DAY_H, MONTH_H = 24, 720


@dataclass(frozen=True, slots=True)
class Detector:
    """What notices a hung collective, after how many seconds at most; None where it never does."""

    name: str
    after_s: float | None
    words: str


@dataclass(frozen=True, slots=True)
class SickRank:
    """The group's step with a sick rank beside a healthy one, and what that comes to.

    `sick` is None when the rank hangs: no step ends.
    """

    base: GroupStep
    sick: GroupStep | None
    culprit: int
    group: int
    stuck_requests: int
    detectors: tuple[Detector, ...]
    group_mtbf_h: float
    recovery_h: float
    lines: tuple[Line, ...] = ()
    slips: tuple[tuple[float, str], ...] = ()

    @property
    def base_ms(self) -> float:
        return self.base.step_ms

    @property
    def step_ms(self) -> float | None:
        return self.sick.step_ms if self.sick else None

    @property
    def throughput_share(self) -> float:
        """Of the group's throughput that is left."""
        return self.base_ms / self.sick.step_ms if self.sick else 0.0

    @property
    def lost_share(self) -> float:
        return 1 - self.throughput_share

    @property
    def lost_gpus(self) -> float:
        """GPUs' worth of throughput that the group loses."""
        return self.lost_share * self.group

    @property
    def base_compute_ms(self) -> float:
        return self.base.compute_ms[0]

    @property
    def sick_compute_ms(self) -> float:
        return self.sick.compute_ms[self.culprit] if self.sick else 0.0

    @property
    def others_busy(self) -> float:
        return self.sick.busy[self.culprit - 1] if self.sick else 0.0

    @property
    def others_wait_ms(self) -> float:
        return self.sick.waits_ms[self.culprit - 1] if self.sick else 0.0

    @property
    def incidents_a_month(self) -> float:
        return MONTH_H / self.group_mtbf_h

    @property
    def days_between(self) -> float:
        return self.group_mtbf_h / DAY_H

    @property
    def unavailable(self) -> float:
        """The share of time that the group is being brought back."""
        return self.recovery_h / self.group_mtbf_h

    @property
    def finding(self) -> str:
        """What one sick rank costs, and how it is told from the others."""
        if not self.sick:
            return (f"No step ends: all {self.group} ranks wait in the collective, {self.stuck_requests:,} requests "
                    "are stuck, and /health stays green.")
        if self.lost_gpus < 0.05:
            return f"The step takes {say(self.base_ms, 'ms')} on all {self.group} ranks; nobody waits."
        return (f"The step takes {say(self.step_ms, 'ms')} instead of {say(self.base_ms, 'ms')}: one slow GPU costs "
                f"{say(self.lost_gpus, '')} GPUs’ worth. Rank {self.culprit} is the one that waits least.")


def solve(*, ranks: int = 32, decodes: int = 128, sick_rank: int = 5, sickness: str = SLOW, slow_factor: float = 1.2,
          gpu_mtbf_h: float = 50_000, recovery_min: float = 15) -> SickRank:
    """One rank's compute takes `slow_factor` times as long, or never ends.

    lost GPUs = (1 - healthy step / sick step) * ranks; a group of R fails R times as often as a GPU.
    Source: vllm/envs.py and vllm/config/parallel.py for the time-outs; entrypoints/serve/instrumentator/health.py.
    """
    if sick_rank >= ranks:
        raise Refusal(f"The ranks are 0 to {ranks - 1}.", "sick_rank")
    loads = alike(ranks, Load(decodes))
    base = group_step(loads)
    loads[sick_rank] = Load(decodes, slow=slow_factor)
    hung = sickness == HUNG
    detectors = (
        *(Detector(name, after if hung else None, words) for name, after, words in DETECTORS),
        Detector("/health", None, "503 only once the engine is declared dead"),
    )
    result = SickRank(base, None if hung else group_step(loads), sick_rank, ranks, ranks * decodes, detectors,
                      gpu_mtbf_h / ranks, recovery_min / 60)
    lines = tuple(lines_of(result, decodes, slow_factor, gpu_mtbf_h, recovery_min))
    return replace(result, lines=lines, slips=tuple(slips_of(result, slow_factor)))


def lines_of(result: SickRank, decodes: int, factor: float, mtbf_h: float, recovery_min: float) -> Iterator[Line]:
    """The step and what it loses, then how often."""
    compute, wire, ranks = result.base.compute_ms[0], result.base.all_to_all_ms, result.group
    if result.sick:
        yield Line("sick rank computes", f"{factor:g} × {compute:.1f}", result.sick.compute_ms[result.culprit], "ms")
        yield Line("all-to-all", "", wire, "ms")
        yield Line("step", "max over ranks + all-to-all", result.step_ms, "ms", total=True)
        yield Line("GPUs lost", f"(1 − {result.base_ms:.1f} / {result.step_ms:.1f}) × {ranks}", result.lost_gpus,
                   "GPUs")
    else:
        yield Line("GPUs lost", f"(1 − 0) × {ranks}", result.lost_gpus, "GPUs")
        yield Line("probe notices within", f"{PROBE_S} × {PROBE_FAILURES} + {PROBE_TIMEOUT_S}", DETECTORS[0][1], "s")
    yield Line("requests in it", f"{decodes:,} × {ranks}", result.stuck_requests)
    yield Line("between failures", f"{mtbf_h:,.0f} h / {ranks}", result.group_mtbf_h, "h")
    yield Line("incidents a month", f"{MONTH_H} / {result.group_mtbf_h:,.0f}", result.incidents_a_month)
    yield Line("time away", f"{recovery_min:g} min × {ranks} / {mtbf_h:,.0f} h", result.unavailable * 100, "%")


def slips_of(result: SickRank, factor: float) -> Iterator[tuple[float, str]]:
    """The wrong losses, in GPUs, that people reach, and what each is."""
    if result.sick and factor > 1:
        yield 1 - 1 / factor, "That is the sick GPU alone. In lockstep all of the group take its time."
        yield 1.0, "That is one GPU. In lockstep all of the group take its time."
        yield (1 - 1 / factor) * result.group, "That slows the all-to-all too; only the compute takes longer."
        yield (factor - 1) * result.group, "That is the extra time over the old step; what is lost is over the new one."
    elif not result.sick:
        yield 1.0, "That is one GPU. A collective that never returns stops all of the group."
