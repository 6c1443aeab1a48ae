"""Recorded verify steps of vLLM, replayed: judge the same drafts and name the first difference."""
from collections.abc import Iterator
from typing import Any

from calculators.models.rejection import Draft, accept_probability, judge, output_of
from calculators.models.scheduler_trace import difference_between

Json = Any


def recognise(document: Json) -> bool:
    """Whether the document holds recorded verify steps."""
    listed = document.get("cases") if isinstance(document, dict) else None
    return isinstance(listed, list) and bool(listed) and {"draft_token_ids", "target_probs"} <= set(listed[0])


def cases(document: Json, name: str) -> Iterator[tuple[str, str | None]]:
    """Each case by its place, with its first difference or None."""
    for place, case in enumerate(document["cases"], 1):
        kind = "greedy" if case["greedy"] else "random"
        yield f"{name} {place}: {kind}, {len(case['draft_token_ids'])} drafts", first_difference(case)


def first_difference(case: Json) -> str | None:
    """"num_accepted: ours 1, theirs 2"; None when all agree."""
    drafts = drafts_of(case)
    judged = judge(drafts, case.get("inv_q"), case["greedy"])
    out = output_of(judged, case["bonus_token_id"])
    ours: dict[str, Json] = {"output_token_ids": out, "num_accepted": len(out) - 1}
    if not case["greedy"]:
        ours["recovered_token_ids"] = [each.recovered for each in judged]
        ours["accept_probability"] = [
            round(accept_probability(each.token, each.target, each.draft), 6) for each in drafts]
    theirs = case["expect"]
    return difference_between({name: ours[name] for name in ours if name in theirs}, theirs, "")


def drafts_of(case: Json) -> list[Draft]:
    """The recorded rows, draft by draft."""
    drafter = case.get("draft_probs") or [None] * len(case["draft_token_ids"])
    uniform = case.get("uniform") or [0.0] * len(case["draft_token_ids"])
    rows = zip(case["draft_token_ids"], case["target_probs"], drafter, uniform, strict=True)
    return [Draft(token, tuple(target), tuple(draft) if draft else None, chance)
            for token, target, draft, chance in rows]
