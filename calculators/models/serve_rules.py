"""The rules of serve commands as one table: what is refused first, then what is warned of."""
from collections.abc import Iterator

from calculators.models.serve_refusals import REFUSALS
from calculators.models.serve_rule import Finding, judged
from calculators.models.serve_scene import Scene
from calculators.models.serve_warnings import WARNINGS

RULES = REFUSALS + WARNINGS


def findings(scene: Scene) -> Iterator[Finding]:
    """What the rules find, in the table's order."""
    for rule in RULES:
        if found := judged(rule, scene):
            yield found
