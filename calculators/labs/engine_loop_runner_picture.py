"""The picture of the model runner's rules: a ladder for the runner, one for the loop, each with the rule that decides.
"""
from textwrap import wrap

from calculators.labs.base import Shown
from calculators.labs.engine_loop_picture import Derivation, Picture
from calculators.labs.kv_size_parts import Part, Row, Table, both, sides
from calculators.models.model_runner import ModelRunner, Rule
from calculators.pictures import WIDE, Bar, Drawing, Shape, Text, line
from calculators.ruled import LETTER

ROW = {True: 44, False: 32}
LINE = 16


def picture(shown: Shown) -> Picture:
    """Both ladders, and a step on either runner."""
    result: ModelRunner = shown.result
    runner, loop = ([ladder(rules, width, small) for width, small in sides()]
                    for rules in (result.runner_rules, result.loop_rules))
    times = tuple(Row(name, (value,), (f"{value:.4g} ms",), name == result.runner)
                  for name, value in (("V1", result.old_period_ms), ("V2", result.new_period_ms)))
    return Picture(
        parts=(
            Part("Which runner", *runner, "asked from the top; the first that holds decides"),
            Part("Does it overlap", *loop, "once the runner is known"),
            Part(f"So: {result.outcome_words}", *both("A step on either runner", ("a step",), times, WIDE),
                 "preparation on the CPU against kernels that prepare; an illustration", words=result.message),
        ),
        derivations=(Derivation("A step, said out loud", result.lines),), words=result.verdict,
        tables=(table("The runner", result.runner_rules), table("The loop", result.loop_rules)),
    )


def table(caption: str, rules: tuple[Rule, ...]) -> Table:
    return Table(caption, ("rule", "here", "so"), tuple((rule.asks, rule.fell, rule.says) for rule in rules))


def ladder(rules: tuple[Rule, ...], width: float, narrow: bool) -> Drawing:
    """A row a rule; the one that decides is framed and says what follows, those after it stay pale."""
    pitch = ROW[narrow]
    decides = next(rule for rule in rules if rule.fell == "decides")
    says = wrap(decides.says, int((width - 24 if narrow else width - 450) / LETTER))
    shapes: list[Shape] = []
    y = 4.0
    for place, rule in enumerate(rules):
        here = rule.fell == "decides"
        css = "strong" if here else "value" if rule.fell == "passed" else "label"
        shapes.append(Text(12, y + 20, rule.asks, css))
        if here:
            more = LINE * (len(says) - 1)
            shapes.append(Bar(1, y, width - 2, pitch - 2 + more, "frame"))
            shapes += [Text(12 if narrow else 438, y + (36 if narrow else 20) + LINE * row, said, "value")
                       for row, said in enumerate(says)]
        elif rule.fell == "passed":
            shapes.append(Text(width - 12, y + (36 if narrow else 20), "no", "label", "end"))
        if place:
            shapes.append(line(0, y - 1, width, y - 1, "rule"))
        y += pitch + (more if here else 0)
    return Drawing(width, y + 4, f"Decided by “{decides.asks}”: {decides.says}", tuple(shapes))
