"""Histories recorded from the fsrs package 6.3.2, fuzz off, through our own memory."""
import copy
import json
from pathlib import Path

import pytest

from flashcards import fsrs_trace

FILE = Path(__file__).parent.parent / "golden" / "fsrs" / "fsrs_golden_10.json"
DOCUMENT = json.loads(FILE.read_text())
CASES = list(fsrs_trace.cases(DOCUMENT, FILE.stem))


@pytest.mark.parametrize(("name", "difference"), CASES, ids=[name for name, _ in CASES])
def test_recorded_history_is_reproduced(name: str, difference: str | None) -> None:
    assert difference is None


def test_all_ten_histories_are_run() -> None:
    assert len(CASES) == 10


def test_a_file_is_told_by_its_content() -> None:
    assert fsrs_trace.recognise(DOCUMENT)
    assert not fsrs_trace.recognise({"config": {}, "steps": []})
    assert not fsrs_trace.recognise([])


@pytest.mark.parametrize(("path", "wrong", "said"), [
    (("expect", "stability"), 21.03, "review 3 stability, ours 21.0245"),
    (("expect", "difficulty"), 1.1, "review 3 difficulty, ours 1.0"),
    (("expect", "due"), "2026-01-30T12:11:00+00:00", "review 3 due, ours 2026-01-30T12:10:00+00:00"),
    (("expect", "state"), "relearning", "review 3 state, ours review, theirs relearning"),
    (("expect", "step"), 0, "review 3 step, ours None, theirs 0"),
    (("expect", "interval_days"), 20, "review 3 interval_days, ours 21, theirs 20"),
    (("retrievability_before",), 0.8991, "review 3 retrievability_before, ours 0.89906"),
])
def test_a_changed_figure_is_named(path: tuple[str, ...], wrong: object, said: str) -> None:
    document = copy.deepcopy(DOCUMENT)
    place = document["histories"][0]["reviews"][2]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = wrong
    _, difference = next(fsrs_trace.cases(document, "tampered"))
    assert difference.startswith(said)
