"""What every model shares: a refusal in words, the line of a derivation, and rounding up."""
from dataclasses import dataclass
from math import ceil, floor, isclose, log, log10

RIGHT = 0.05  # of the total: nearer than this a number is a rounding, not an omission


class Refusal(ValueError):
    """Inputs that are each in range and cannot go together; the message is a sentence for the learner.

    `field` names the input that the sentence stands beside; without it the sentence is about all of them.
    """

    def __init__(self, sentence: str, field: str | None = None) -> None:
        super().__init__(sentence)
        self.field = field


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a derivation, to be said aloud: label = expression = value unit.

    `expression` has its numbers filled in ("8,192 − 32"); it is empty for a line that only names a sum.
    `total` marks the line under the sum rule.
    """

    label: str
    expression: str
    value: float
    unit: str = ""
    total: bool = False

    def __str__(self) -> str:
        """The whole line, as it is told in a shell."""
        expression = f"{self.expression} = " if self.expression else ""
        return f"{self.label} = {expression}{self.figure} {self.unit}".rstrip()

    @property
    def figure(self) -> str:
        """The value as it is said: four figures from 100 on, three below ("8,551", "213.9", "4.05")."""
        if not self.value:
            return "0"
        places = (4 if abs(self.value) >= 100 else 3) - 1 - floor(log10(abs(self.value)))
        text = f"{self.value:,.{max(places, 0)}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return text.replace("-", "−")


def left_out(lines: tuple[Line, ...], said: float) -> str:
    """The label of the term whose absence explains a said sum, "" when none does.

    Terms are the lines above the first total, where they add up to it. One explains the number when the total without
    it lies at least twice as near, as a ratio, as the total itself. A number within RIGHT of the total leaves nothing
    out.
    """
    place = next((place for place, line in enumerate(lines) if line.total), 0)
    total = lines[place].value if lines else 0.0
    if said <= 0 or total <= 0 or abs(said / total - 1) <= RIGHT:
        return ""
    if abs(sum(line.value for line in lines[:place]) / total - 1) > 0.01:
        return ""
    without = [(abs(log(said / (total - line.value))), line.label) for line in lines[:place] if 0 < line.value < total]
    distance, label = min(without, default=(0.0, ""))
    return label if without and 2 * distance < abs(log(said / total)) else ""


def rounded_up(count: float) -> int:
    """A count rounded up to whole ones; 500 must not become 501 by the last digit of a float."""
    nearest = round(count)
    return nearest if isclose(count, nearest, rel_tol=1e-12) else ceil(count)
