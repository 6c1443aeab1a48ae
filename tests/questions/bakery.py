"""A small lab for the bank's tests: loaves from flour. Its figures can be worked in the head."""
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calculators.models.base import Line, Refusal
from questions.content import QuestionFile
from questions.figures import Ran

STARTS = {"flour_g": 1000, "loaf_g": 500, "oven": "deck", "hands": 2}


@dataclass(frozen=True)
class Step:
    tokens: dict[str, int]


@dataclass(frozen=True)
class Baked:
    loaves: float
    bake_ms: float
    crumb_bytes: int
    sizes: tuple[int, ...]
    shares: dict[str, int]
    verdict: str
    remark: str
    big: bool
    steps: tuple[Step, ...]
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...] = ()

    def bake(self) -> float:
        return self.loaves


def run_lab(lab: str, view: str, values: Mapping[str, Any]) -> Ran:
    """The lab "bakery": flour over the loaf's weight."""
    if lab != "bakery":
        raise Refusal(f"There is no lab “{lab}”.")
    if unknown := set(values) - set(STARTS):
        raise Refusal(f"no such input: {', '.join(sorted(unknown))}")
    inputs = STARTS | dict(values)
    if inputs["flour_g"] < inputs["loaf_g"]:
        raise Refusal("That is not flour enough for one loaf.")
    loaves = inputs["flour_g"] / inputs["loaf_g"]
    baked = Baked(
        loaves=loaves, bake_ms=1234.5 * loaves, crumb_bytes=int(loaves * 2**30), sizes=(1, 2000, 3),
        shares={"A": 1, "D": 2045}, verdict="enough", remark="<script>alert(1)</script>", big=loaves > 10,
        steps=(Step({"A": 4}), Step({"A": 1, "D": 2045})), slips=((loaves * 2, "That counts the salt as flour."),),
        lines=(Line("loaves", f"{inputs['flour_g']} / {inputs['loaf_g']}", loaves, "loaves", total=True),),
    )
    return Ran(inputs, baked, {"oven": {"deck": "Deck oven", "rack": "Rack oven"}[inputs["oven"]]})


def point(name: str) -> dict[str, str]:
    return {"id": name, "text": f"Says {name}.", "named": "n", "explained": "e", "bounded": "b"}


def document(**changes: Any) -> QuestionFile:
    """A question without a fault, but for the changes."""
    whole: dict[str, Any] = {
        "topic": "baking", "slug": "loaves", "title": "Loaves from flour",
        "kind": "size", "level": "senior", "minutes": 3,
        "check": {"figure": "oven.loaves", "unit": "loaves", "tolerance": 0.1},
        "runs": {"oven": {"lab": "bakery", "values": {"flour_g": 3000}, "vary": {"flour_g": [2000, 4000]}}},
        "keep": {"oven.loaves": {"from": 2}},
        "rubric": [point(name) for name in ("flour", "water", "salt", "time")],
        "hints": [{"text": "Divide."}],
        "traps": [{"said": "One loaf.", "tempting": "It is warm.", "refuted": "[[oven.loaves|0]] come out."}],
        "follow_ups": [{"ask": "Twice the flour?", "key": "Twice the loaves."}],
        "sources": [{"id": "book", "url": "https://example.org/bread", "date": "2020"}],
        "ask": "There are [[oven.flour_g]] g of flour.\n\n**How many loaves?**",
        "said_aloud": "[[oven.loaves|0]] loaves, as 0.5[^book] kg is one.",
        "derivation": "First this.\n\n[[oven.lines]]\n\nThen that.",
        "catch": "Flour varies.",
        "measure": "The loaves.",
    }
    return QuestionFile(**whole | changes)
