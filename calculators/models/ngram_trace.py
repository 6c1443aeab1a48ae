"""Recorded n-gram drafts of vLLM, replayed: look up the same tokens and name the first difference."""
from collections.abc import Iterator
from typing import Any

from calculators.models.ngram import EARLIEST, draft, find
from calculators.models.scheduler_trace import difference_between

Json = Any


def recognise(document: Json) -> bool:
    """Whether the document holds recorded n-gram drafts."""
    listed = document.get("cases") if isinstance(document, dict) else None
    return isinstance(listed, list) and bool(listed) and {"tokens", "prompt_lookup_max"} <= set(listed[0])


def cases(document: Json, name: str) -> Iterator[tuple[str, str | None]]:
    """Each case by its place and setting, with its first difference or None."""
    for place, case in enumerate(document["cases"], 1):
        setting = f"{case['prompt_lookup_min']} to {case['prompt_lookup_max']}, k {case['num_speculative_tokens']}"
        yield f"{name} {place}: {setting}", first_difference(case)


def first_difference(case: Json) -> str | None:
    """"draft: ours [4], theirs [4, 1]"; None when they agree. The recorded runner takes the earliest match."""
    tokens = case["tokens"]
    match = find(tokens, case["prompt_lookup_min"], case["prompt_lookup_max"], EARLIEST)
    ours = draft(tokens, match, case["num_speculative_tokens"], case["max_model_len"])
    return difference_between({"draft": ours}, {"draft": case["expect"]}, "")
