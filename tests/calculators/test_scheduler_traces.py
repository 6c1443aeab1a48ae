"""Every recorded run of vLLM 0.33.0's own scheduler is reproduced, field by field."""
import json
from pathlib import Path

import pytest

from calculators.models import scheduler_trace

GOLDEN = sorted((Path(__file__).parents[1] / "golden" / "scheduler").glob("*.json"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_recorded_run_is_reproduced(path: Path) -> None:
    assert scheduler_trace.first_difference(json.loads(path.read_text())) is None
