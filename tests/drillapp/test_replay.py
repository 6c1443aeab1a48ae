"""The replay command: what it prints for a case, a file it can't read, and how it exits."""
import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

GOLDEN = Path(__file__).parents[1] / "golden"
RUN = GOLDEN / "scheduler" / "d01_default_six.json"


def replay(*files: Path) -> tuple[list[str], int]:
    """The lines printed and the exit code."""
    out = StringIO()
    try:
        call_command("replay", *map(str, files), stdout=out)
    except SystemExit as exit:
        return out.getvalue().splitlines(), exit.code
    return out.getvalue().splitlines(), 0


def test_equal_runs_pass() -> None:
    lines, code = replay(RUN, GOLDEN / "scheduler" / "37_async_preempt.json")
    assert lines == ["ok default_six", "ok async_preempt", "2 passed, 0 failed"] and code == 0


def test_the_first_difference_is_named_and_fails(tmp_path: Path) -> None:
    document = json.loads(RUN.read_text())
    document["steps"][4]["after"]["free"] = 2
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(document))
    lines, code = replay(changed, RUN)
    assert lines == ["FAIL default_six: step 4 after.free: ours 1, theirs 2", "ok default_six", "1 passed, 1 failed"]
    assert code == 1


def test_what_is_not_modelled_neither_passes_nor_fails(tmp_path: Path) -> None:
    document = json.loads((GOLDEN / "kv_sizing.json").read_text())
    document["cases"] = document["cases"][:2]
    document["cases"][1]["case"]["kv_cache_dtype"] = "turboquant_4bit"
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(document))
    lines, code = replay(changed)
    assert [line.partition(" ")[0] for line in lines] == ["ok", "not", "1"] and code == 0
    assert lines[1].endswith(": a KV cache in turboquant_4bit") and lines[2] == "1 passed, 0 failed"


@pytest.mark.parametrize(("content", "sentence"), [
    ("# A title", "not JSON"), ("[1, 2]", "of no known kind"), ("{}", "of no known kind"), (None, "No such file"),
])
def test_a_file_that_is_no_record_fails_with_a_line(tmp_path: Path, content: str | None, sentence: str) -> None:
    file = tmp_path / "README.md"
    if content is not None:
        file.write_text(content)
    lines, code = replay(file)
    assert len(lines) == 2 and sentence in lines[0] and lines[0].startswith("FAIL ") and code == 1
    assert lines[1] == "0 passed, 1 failed"


def spoilt(document: object, path: tuple[object, ...], value: object) -> object:
    """The document with another value at one place; None takes the place out."""
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    if value is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return document


@pytest.mark.parametrize(("source", "path", "value"), [
    ("scheduler/d01_default_six.json", ("requests", 0, "max_tokens"), None),
    ("scheduler/d01_default_six.json", ("config", "max_num_batched_tokens"), "many"),
    ("scheduler/d01_default_six.json", ("steps", 0), 7),
    ("kv_sizing.json", ("cases", 0), 7),
    ("kv_sizing.json", ("cases", 0, "case", "model"), "no such model"),
    ("kv_sizing.json", ("cases", 0, "case", "block_size"), 0),
    ("fsrs/fsrs_golden_10.json", ("histories", 0, "reviews"), []),
    ("fsrs/fsrs_golden_10.json", ("histories", 0, "reviews", 1, "rating"), 9),
    ("fsrs/fsrs_golden_10.json", ("histories", 0, "reviews", 1, "at"), "yesterday"),
])  # fmt: skip
def test_a_record_that_cannot_be_followed_fails_in_a_line_and_the_next_file_is_read(
    tmp_path: Path, source: str, path: tuple[object, ...], value: object
) -> None:
    document = json.loads((GOLDEN / source).read_text())
    for listed in ("cases", "histories"):
        if listed in document:
            document[listed] = document[listed][:1]
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(spoilt(document, path, value)))
    lines, code = replay(changed, RUN)
    assert len(lines) == 3 and code == 1
    assert lines[0].startswith(f"FAIL {changed}: can't be followed from here on (")
    assert lines[1:] == ["ok default_six", "1 passed, 1 failed"]


def test_a_record_nested_beyond_reason_is_no_json(tmp_path: Path) -> None:
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 100_000)
    assert replay(deep) == ([f"FAIL {deep}: not JSON", "0 passed, 1 failed"], 1)


def test_a_record_without_a_case_passes_nothing(tmp_path: Path) -> None:
    document = json.loads((GOLDEN / "fsrs" / "fsrs_golden_10.json").read_text())
    empty = tmp_path / "empty.json"
    empty.write_text(json.dumps(document | {"histories": []}))
    assert replay(empty) == ([f"FAIL {empty}: of no known kind, or without a case", "0 passed, 1 failed"], 1)


def test_every_recorded_history_is_told_by_its_content() -> None:
    lines, code = replay(*sorted((GOLDEN / "fsrs").glob("*.json")))
    assert code == 0 and lines[-1].endswith(" passed, 0 failed") and len(lines) > 1
