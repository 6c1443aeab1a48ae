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
    *(ROOT / "questions" / f"{name}.py" for name in ("glossary", "notes", "standing", "words")),
    ROOT / "flashcards" / "catching_up.py",
    ROOT / "flashcards" / "memory.py",
    ROOT / "flashcards" / "study_day.py",
    ROOT / "flashcards" / "spread.py",
    ROOT / "flashcards" / "projection.py",
    *(ROOT / "progress" / f"{name}.py" for name in ("counts", "fit", "pictures", "readiness")),
    *(ROOT / "flashcards" / f"{name}.py" for name in ("due_day", "leeches", "why")),
    *(ROOT / "mocks" / f"{name}.py" for name in ("room", "agreement", "report", "plan")),
]


@pytest.mark.parametrize("path", PURE, ids=lambda path: str(path.relative_to(ROOT)))
def test_module_imports_without_django(path: Path):
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    code = f"import sys, {name}; print([m for m in sys.modules if m.split('.')[0] in ('django', 'drillapp')])"
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (answer.stdout.strip(), answer.stderr) == ("[]", "")
