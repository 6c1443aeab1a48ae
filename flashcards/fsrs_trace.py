"""Recorded FSRS-6 histories, run again through memory.py as bare FSRS: no spreading, no fuzz."""
from collections.abc import Iterator
from datetime import datetime, timedelta
from math import isclose
from typing import Any

from flashcards.memory import Memory, Rules, predicted_recall, step

RECALL_TOLERANCE = 1e-6


def recognise(document: Any) -> bool:
    """Whether a file's content is a set of recorded histories."""
    return isinstance(document, dict) and {"parameters", "steps_seconds", "histories"} <= document.keys()


def cases(document: dict[str, Any], name: str) -> Iterator[tuple[str, str | None]]:
    """Each history's name and the first difference in it, None when every review agrees."""
    for history in document["histories"]:
        yield f"{name} history {history['id']}", first_difference(history, document)


def first_difference(history: dict[str, Any], document: dict[str, Any]) -> str | None:
    """Where the recomputed history first leaves the recorded one, ours beside theirs."""
    rules, memory = rules_of(history, document), Memory()
    day = datetime.fromisoformat(history["reviews"][0]["at"]).date()
    for number, review in enumerate(history["reviews"], start=1):
        at = datetime.fromisoformat(review["at"])
        day += timedelta(days=review["elapsed_days"])  # a recorded day is 24 hours, wherever midnight falls
        recall = predicted_recall(memory, day, rules.parameters)
        memory, due = step(memory, review["rating"], at=at, study_day=day, rules=rules)
        interval = due.day - day if due.day else due.at - at
        for field, ours, theirs, same in compared(memory, interval, at, recall, review, document["tolerance"]):
            if not same:
                return f"review {number} {field}, ours {ours}, theirs {theirs}"
    return None


def rules_of(history: dict[str, Any], document: dict[str, Any]) -> Rules:
    """The settings that a history was recorded with."""
    waits = document["steps_seconds"][history["steps"]]
    return Rules(
        parameters=tuple(document["parameters"][history["params"]]),
        desired_retention=history["desired_retention"],
        learning_steps=tuple(timedelta(seconds=wait) for wait in waits["learning"]),
        relearning_steps=tuple(timedelta(seconds=wait) for wait in waits["relearning"]),
        maximum_interval=history["maximum_interval"],
    )


def compared(
    memory: Memory, interval: timedelta, at: datetime, recall: float | None,
    review: dict[str, Any], tolerance: dict[str, float],
) -> Iterator[tuple[str, Any, Any, bool]]:
    """(field, ours, theirs, whether they agree) for everything that is recorded of a review."""
    expect = review["expect"]
    before = review["retrievability_before"]
    for field in ("state", "step"):
        yield field, getattr(memory, field), expect[field], getattr(memory, field) == expect[field]
    yield "retrievability_before", recall, before, recall == before or (
        None not in (recall, before) and isclose(recall, before, rel_tol=0, abs_tol=RECALL_TOLERANCE)
    )
    yield "stability", memory.stability, expect["stability"], isclose(
        memory.stability, expect["stability"], rel_tol=tolerance["stability_rel"]
    )
    yield "difficulty", memory.difficulty, expect["difficulty"], isclose(
        memory.difficulty, expect["difficulty"], rel_tol=0, abs_tol=tolerance["difficulty_abs"]
    )
    yield "due", (at + interval).isoformat(), expect["due"], at + interval == datetime.fromisoformat(expect["due"])
    days = interval.days if memory.state == "review" else None
    yield "interval_days", days, expect["interval_days"], days == expect["interval_days"]
    yield "interval_s", interval.total_seconds(), expect["interval_s"], interval.total_seconds() == expect["interval_s"]
