"""The modules that hold the arithmetic know nothing of Django, so that they can be read, tested and reused alone."""
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PURE = [
    *sorted((ROOT / "calculators" / "models").glob("*.py")),
    ROOT / "calculators" / "pictures.py",
    *(ROOT / "questions" / f"{name}.py" for name in ("checking", "content", "figures", "grading", "markup", "runs")),
    *(ROOT / "questions" / f"{name}.py" for name in ("formulas", "glossary", "mathml", "notes", "own")),
    *(ROOT / "questions" / f"{name}.py" for name in ("standing", "words")),
    ROOT / "flashcards" / "catching_up.py",
    ROOT / "flashcards" / "memory.py",
    ROOT / "flashcards" / "study_day.py",
    ROOT / "flashcards" / "spread.py",
    ROOT / "flashcards" / "projection.py",
    *(ROOT / "progress" / f"{name}.py" for name in ("counts", "fit", "pictures", "readiness")),
    *(ROOT / "flashcards" / f"{name}.py" for name in ("due_day", "leeches", "why")),
    *(ROOT / "mocks" / f"{name}.py" for name in ("room", "agreement", "report", "plan", "alone", "sides")),
]


# Reads names; a copy of itself that has loaded nothing yet imports each, and says what of Django came with it.
IMPORT_EACH = """
import importlib, os, sys
for name in sys.stdin.read().split():
    if os.fork() == 0:
        try:
            importlib.import_module(name)
            print(name, *(m for m in sys.modules if m.split('.')[0] in ('django', 'drillapp')), flush=True)
        except Exception as fault:
            print(name, repr(fault), flush=True)
        os._exit(0)
    os.wait()
"""


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@pytest.fixture(scope="module")
def came_along() -> dict[str, list[str]]:
    """What of Django each module brings in, or in words why it can't be imported alone."""
    names = "\n".join(map(name_of, PURE))
    answer = subprocess.run(
        [sys.executable, "-c", IMPORT_EACH], cwd=ROOT, input=names, capture_output=True, text=True, check=True)
    assert answer.stderr == ""
    return {name: modules for name, *modules in map(str.split, answer.stdout.splitlines())}


@pytest.mark.parametrize("path", PURE, ids=lambda path: str(path.relative_to(ROOT)))
def test_module_imports_without_django(came_along: dict[str, list[str]], path: Path):
    assert came_along[name_of(path)] == []
