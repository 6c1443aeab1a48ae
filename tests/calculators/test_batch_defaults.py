"""Batch defaults: every recorded case of vLLM 0.33.0, and the tiers by name."""
import json
from pathlib import Path

import pytest

from calculators.models import batch_defaults_trace
from calculators.models.batch_defaults import OFFLINE, SERVER, batch_defaults

RECORD = json.loads((Path(__file__).parents[1] / "golden" / "batch_defaults.json").read_text())


@pytest.mark.parametrize("case", RECORD["cases"], ids=lambda case: f"{case['device_name']}-{case['usage_context']}")
def test_every_recorded_default(case: dict):
    assert batch_defaults_trace.first_difference(case) is None


def test_the_record_is_recognised_and_a_difference_is_named():
    assert batch_defaults_trace.recognise(RECORD)
    changed = RECORD["cases"][1] | {"expect": {"max_num_batched_tokens": 4_096, "max_num_seqs": 1_024}}
    assert batch_defaults_trace.first_difference(changed) == "max_num_batched_tokens: ours 8192, theirs 4096"


@pytest.mark.parametrize(("name", "gib", "server", "offline", "seats"), [  # EngineArgs.get_batch_defaults
    ("NVIDIA B200", 178.4, 16_384, 16_384, 1_024), ("NVIDIA H100", 79.2, 8_192, 16_384, 1_024),
    ("NVIDIA A100-SXM4-80GB", 79.2, 2_048, 8_192, 256), ("NVIDIA GB10", 119.6, 2_048, 8_192, 256),
    ("NVIDIA L4", 22.1, 2_048, 8_192, 256), ("just below", 69.99, 2_048, 8_192, 256),
])
def test_the_tiers(name: str, gib: float, server: int, offline: int, seats: int):
    given = {"device_name": name, "device_memory_gib": gib, "max_model_len": 32_768}
    assert batch_defaults(**given, usage_context=SERVER) == (server, seats)
    assert batch_defaults(**given, usage_context=OFFLINE) == (offline, seats)


def test_what_is_given_stays():
    given = {"device_name": "NVIDIA H100", "device_memory_gib": 79.2, "max_model_len": 32_768}
    assert batch_defaults(**given, max_num_batched_tokens=100, max_num_seqs=200) == (100, 200)
    assert batch_defaults(**given, max_num_batched_tokens=100) == (100, 100)
