"""What every model shares: a refusal in words, and the line of a derivation."""
from dataclasses import dataclass


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
