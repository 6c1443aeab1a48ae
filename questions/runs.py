"""A question's runs of the labs: played in order, with values drawn anew from what it declares to vary."""
import random
from collections.abc import Callable, Mapping
from typing import Any

from calculators.models.base import Refusal
from questions.figures import FIGURE, BadFigure, Ran, resolve

TRIES = 100
Runs = Mapping[str, Mapping[str, Any]]
Drawn = dict[str, dict[str, Any]]
RunLab = Callable[[str, str, Mapping[str, Any]], Ran]  # (lab, view, values); raises Refusal


def play(runs: Runs, drawn: Mapping[str, Mapping[str, Any]], run_lab: RunLab) -> dict[str, Ran]:
    """Every run by name, the drawn values over the file's own.

    Raises Refusal when a lab refuses, BadFigure when a value names what no other run has.
    """
    ran: dict[str, Ran] = {}
    for name in in_order(runs):
        ran[name] = play_one(runs[name], drawn.get(name, {}), ran, run_lab)
    return ran


def play_one(run: Mapping[str, Any], drawn: Mapping[str, Any], ran: Mapping[str, Ran], run_lab: RunLab) -> Ran:
    """One run; what it takes from others comes from those played before it."""
    values = {**run.get("values", {}), **drawn}
    values = {key: resolve(path, ran) if (path := reference(value)) else value for key, value in values.items()}
    return run_lab(run.get("lab", ""), run.get("view", ""), values)


def reference(value: Any) -> str:
    """The path that a value is taken from; "" for a plain value."""
    found = FIGURE.fullmatch(value) if isinstance(value, str) else None
    return found["path"].strip() if found else ""


def in_order(runs: Runs) -> list[str]:
    """The runs' names, each after those it takes values from (a stored table keeps no order of its own).

    Raises BadFigure when runs take values from each other in a ring.
    """
    needs = {
        name: {path.split(".")[0] for value in run.get("values", {}).values() if (path := reference(value))}
        for name, run in runs.items()
    }
    ordered: list[str] = []
    while len(ordered) < len(runs):
        ready = sorted(name for name in runs if name not in ordered and not (needs[name] & set(runs)) - set(ordered))
        if not ready:
            ring = ", ".join(sorted(set(runs) - set(ordered)))
            raise BadFigure(f"These runs take values from each other in a ring: {ring}.")
        ordered += ready
    return ordered


def draw(runs: Runs, keep: Mapping[str, Any], seed: object, run_lab: RunLab) -> tuple[Drawn, dict[str, Ran], int]:
    """Values drawn by `seed`, the runs with them, and how many draws were thrown away before.

    A draw that a lab refuses, or that breaks `keep` or has not what it names, is drawn again, TRIES times at most; then
    the file's own values stand, and nothing is drawn.
    """
    varying = {name: run["vary"] for name, run in runs.items() if run.get("vary")}
    if not varying:
        return {}, play(runs, {}, run_lab), 0
    for attempt in range(TRIES):
        drawn = {name: draw_run(vary, f"{seed}/{attempt}/{name}") for name, vary in varying.items()}
        try:
            ran = play(runs, drawn, run_lab)
            if not broken(keep, ran):
                return drawn, ran, attempt
        except (Refusal, BadFigure):
            continue
    return {}, play(runs, {}, run_lab), TRIES


def draw_run(vary: Mapping[str, Any] | list[Mapping[str, Any]], seed: str) -> dict[str, Any]:
    """One value for each input that varies; of several tables one is drawn first."""
    if isinstance(vary, list):
        vary = random.Random(seed).choice(vary)
    # Each input has a generator of its own, so that the order in which a table is stored changes nothing.
    return {name: draw_value(options, random.Random(f"{seed}/{name}")) for name, options in vary.items()}


def draw_value(options: Any, generator: random.Random) -> Any:
    """One of a list, one step of a range {from, to, step}, or the value itself."""
    if isinstance(options, list):
        return generator.choice(options)
    if isinstance(options, Mapping):
        start, step = options["from"], options.get("step", 1)
        value = start + step * generator.randint(0, int((options["to"] - start) / step + 1e-9))
        return value if isinstance(value, int) else float(f"{value:.12g}")
    return options


def broken(keep: Mapping[str, Any], ran: Mapping[str, Ran]) -> list[str]:
    """The paths of `keep` that do not hold: each is a value, a list of allowed values, or bounds {from, to}."""
    return [path for path, wanted in keep.items() if not holds(resolve(path, ran), wanted)]


def holds(value: Any, wanted: Any) -> bool:
    """Whether a figure is what the prose relies on."""
    if isinstance(wanted, Mapping):
        return wanted.get("from", value) <= value <= wanted.get("to", value)
    return value in wanted if isinstance(wanted, list) else value == wanted
