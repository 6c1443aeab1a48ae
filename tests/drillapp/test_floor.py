"""What the oldest Python that the project runs on gets wrong and a newer one, on which these tests run, does not."""
import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
APPS = ("accounts", "calculators", "drillapp", "flashcards", "mocks", "progress", "questions")
POSSESSIVE_GROUP = re.compile(r"\)(?:[*+?]|\{\d+(?:,\d*)?\})\+")


def texts(path: Path) -> Iterator[str]:
    """Every text that stands in a module, and the pieces of those that are put together."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_no_group_of_a_regular_expression_is_possessive():
    # Python before 3.11.5 reads one wrongly (python/cpython issue 106052); an atomic group says the same.
    assert POSSESSIVE_GROUP.search(r"(?:a|\\.)*+") and not POSSESSIVE_GROUP.search(r"(?>(?:a|\\.)*)\s*+")
    found = [f"{path.relative_to(ROOT)}: {text[:60]}" for app in APPS for path in sorted((ROOT / app).rglob("*.py"))
             for text in texts(path) if POSSESSIVE_GROUP.search(text)]
    assert found == []
