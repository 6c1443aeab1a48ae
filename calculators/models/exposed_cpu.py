"""What taking CPU time off the critical path gives, with the same kernels."""
from dataclasses import dataclass

from calculators.models.base import Line

GPU_STEPS_MS = (1.0, 5.0, 10.0, 20.0, 30.0)
SLIP_APART = 0.02


@dataclass(frozen=True, slots=True)
class AtStep:
    """The same milliseconds over another GPU step: both steps in ms and their ratio."""

    kernel_ms: float
    old_step_ms: float
    new_step_ms: float
    speed_up: float
    present: bool


@dataclass(frozen=True, slots=True)
class ExposedCpu:
    """Both steps in ms, their ratio, and the most that hiding all of the CPU could give."""

    old_step_ms: float
    new_step_ms: float
    speed_up: float
    most_speed_up: float
    old_exposed_percent: float
    at_steps: tuple[AtStep, ...]
    finding: str
    verdict: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]


def solve(*, gpu_ms: float = 5.0, exposed_before_ms: float = 3.5, exposed_after_ms: float = 0.0) -> ExposedCpu:
    """Compare a step before and after: speed-up = (g + c0) / (g + c1), c being what of the CPU the GPU waits for.

    Exact. How the exposed time of V0 was made up was never published; 1.7 times over 5 ms of kernels bounds it.
    """
    before, after = gpu_ms + exposed_before_ms, gpu_ms + exposed_after_ms
    ratio = before / after

    def at(kernel_ms: float) -> AtStep:
        old, new = kernel_ms + exposed_before_ms, kernel_ms + exposed_after_ms
        return AtStep(kernel_ms, old, new, old / new, kernel_ms == gpu_ms)

    return ExposedCpu(
        old_step_ms=before, new_step_ms=after, speed_up=ratio, most_speed_up=before / gpu_ms,
        old_exposed_percent=100 * exposed_before_ms / before,
        at_steps=tuple(at(kernel_ms) for kernel_ms in sorted({*GPU_STEPS_MS, gpu_ms})),
        finding=f"{before:g} ms a step become {after:g}: {ratio:.2f}× with the same kernels.",
        verdict=f"The GPU waited for {100 * exposed_before_ms / before:.0f}% of the old step. The gain is of "
                "milliseconds, not of a share: the longer the kernels, the less it shows.",
        lines=(
            Line("step before", f"{gpu_ms:g} + {exposed_before_ms:g}", before, "ms"),
            Line("step after", f"{gpu_ms:g} + {exposed_after_ms:g}", after, "ms"),
            Line("speed-up", f"{before:g} / {after:g}", ratio, "×", total=True),
            Line("the most", f"{before:g} / {gpu_ms:g}", before / gpu_ms, "×"),
        ),
        slips=tuple((value, sentence) for value, sentence in (
            (1.7, "That is the published gain on a step of 5 ms; the same milliseconds weigh otherwise on this one."),
            (before / gpu_ms, "That hides all of the CPU; some of it is still exposed."),
            (exposed_before_ms / gpu_ms, "That is the exposed time over the kernels; the kernels stay in the step."),
        ) if value and abs(value / ratio - 1) > SLIP_APART),
    )
