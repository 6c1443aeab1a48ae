"""Recorded batch defaults of vLLM, replayed: fill in the same settings and name the first difference."""
from collections.abc import Iterator
from typing import Any

from calculators.models.batch_defaults import batch_defaults
from calculators.models.scheduler_trace import difference_between

Json = Any


def recognise(document: Json) -> bool:
    """Whether the document holds recorded batch defaults."""
    listed = document.get("cases") if isinstance(document, dict) else None
    return isinstance(listed, list) and bool(listed) and "user_max_num_batched_tokens" in listed[0]


def cases(document: Json, name: str) -> Iterator[tuple[str, str | None]]:
    """Each case by its place and GPU, with its first difference or None."""
    for place, case in enumerate(document["cases"], 1):
        yield f"{name} {place}: {case['device_name'] or 'no GPU'} {case['usage_context']}", first_difference(case)


def first_difference(case: Json) -> str | None:
    """"max_num_seqs: ours 256, theirs 1024"; None when both settings agree."""
    given = dict(case)
    theirs = given.pop("expect")
    for setting in theirs:
        given[setting] = given.pop(f"user_{setting}")
    return difference_between(batch_defaults(**given)._asdict(), theirs, "")
