"""Recorded capture sizes of vLLM, replayed: complete the same settings, pad the same batches, name the difference."""
from collections.abc import Iterator
from typing import Any

from calculators.models.base import Refusal
from calculators.models.capture_sizes import capture_sizes, padded_size
from calculators.models.scheduler_trace import difference_between

Json = Any


def recognise(document: Json) -> bool:
    """Whether the document holds recorded capture sizes."""
    listed = document.get("cases") if isinstance(document, dict) else None
    return isinstance(listed, list) and bool(listed) and "user_capture_sizes" in listed[0]


def cases(document: Json, name: str) -> Iterator[tuple[str, str | None]]:
    """Each case by its place and what sets the cap, with its first difference or None."""
    for place, case in enumerate(document["cases"], 1):
        yield (f"{name} {place}: {case['max_num_seqs']} seqs, {case['max_num_batched_tokens']} tokens, "
               f"{case['num_speculative_tokens']} drafts"), first_difference(case)


def first_difference(case: Json) -> str | None:
    """"padded_size.9: ours 16, theirs 12"; None when sizes, cap and every padding agree."""
    given = dict(case)
    theirs = given.pop("expect")
    own = given.pop("user_capture_sizes")
    try:
        sizes = capture_sizes(**given, user_capture_sizes=None if own is None else tuple(own))
    except Refusal as refusal:
        return f"ours refuses: {refusal}"
    ours = {
        "max_cudagraph_capture_size": sizes[-1] if sizes else 0, "cudagraph_capture_sizes": list(sizes),
        "padded_size": {tokens: padded_size(sizes, int(tokens)) for tokens in theirs["padded_size"]},
    }
    return difference_between(ours, theirs, "")
