"""What a rule of serve commands is: when it fires, and the sentence that says why."""
from collections.abc import Callable
from typing import Any, NamedTuple

from calculators.models.serve_scene import Scene

Test = Callable[[Scene], Any]


class Finding(NamedTuple):
    """One rule that fires: whether the start is refused, the flag it stands beside, and the sentence that says why."""

    id: str
    refused: bool
    flag: str
    says: str
    where: str


class Rule(NamedTuple):
    """A rule of the table. `says` is filled in from the scene, `v` being its settings and `n` what `number` gives.

    `where` names the check of vLLM that it comes from, "" where nothing is checked.
    """

    id: str
    flag: str
    where: str
    fires: Test
    says: str
    refused: bool = True
    number: Callable[[Scene], str] = lambda scene: ""


class Settings:
    """A scene's settings by name, as a sentence fills them in."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def __getitem__(self, name: str) -> Any:
        return self.scene.get(name)


def judged(rule: Rule, scene: Scene) -> Finding | None:
    """What the rule finds, None where it does not fire."""
    if not rule.fires(scene):
        return None
    says = rule.says.format(s=scene, v=Settings(scene), n=rule.number(scene))
    return Finding(rule.id, rule.refused, rule.flag, says, rule.where)
