"""Python imports point one way, so that an app can be read without those above it."""
import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAY_IMPORT = {
    "accounts": {"drillapp"},
    "calculators": {"drillapp"},
    "questions": {"accounts", "calculators", "drillapp"},
    "flashcards": {"accounts", "calculators", "questions", "drillapp"},
    "mocks": {"accounts", "calculators", "questions", "flashcards", "drillapp"},
    "progress": {"accounts", "calculators", "questions", "flashcards", "drillapp"},
    "drillapp": {"accounts", "calculators", "questions", "flashcards"},
}
SOURCES = [path for app in MAY_IMPORT for path in sorted((ROOT / app).rglob("*.py"))]


def imported(source: str) -> set[str]:
    """The full names of the modules that a source text imports, anywhere in it; a relative one begins with its dots."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names}
    return names


@cache
def imported_by(path: Path) -> set[str]:
    return imported(path.read_text())


def apps(names: set[str]) -> set[str]:
    return {name.split(".")[0] for name in names} & set(MAY_IMPORT)


def test_imports_are_found_wherever_they_stand():
    source = "import accounts.models\ndef late():\n    from flashcards import queue\n    from . import works\n"
    assert imported(source) == {"accounts.models", "flashcards.queue", "..works"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path: Path):
    app = path.relative_to(ROOT).parts[0]
    assert apps(imported_by(path)) <= MAY_IMPORT[app] | {app}


@pytest.mark.parametrize("app", ["accounts", "calculators", "questions", "flashcards", "mocks", "progress"])
def test_apps_take_only_what_draws_a_page_from_the_project(app: str):
    taken = set().union(*(imported_by(path) for path in sorted((ROOT / app).rglob("*.py"))))
    assert {name for name in taken if name.startswith("drillapp.") and not name.startswith("drillapp.htmx.")} == set()


def test_imports_are_absolute():
    assert [path for path in SOURCES if any(name.startswith(".") for name in imported_by(path))] == []
