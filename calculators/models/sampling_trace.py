"""Recorded sampler rows of vLLM, replayed: filter the same logits and name the first difference."""
from collections.abc import Iterator
from typing import Any

import numpy as np

from calculators.models import sampling_stages as stages
from calculators.models.kv_sizing_trace import NotModelled
from calculators.models.sampling import Filters, adjust, filtered
from calculators.models.sampling_stages import GONE, Logits
from calculators.models.scheduler_trace import difference_between

Json = Any
ORDER = "Tmkp"
LAST_DIGIT = {"probs": 1e-6, "raw_logprobs": 1e-5}  # rounded fp32: the record's last digit may fall either way
INPUTS = {
    "logits", "temperature", "top_k", "top_p", "min_p", "repetition_penalty", "frequency_penalty", "presence_penalty",
    "prompt_token_ids", "output_token_ids", "title", "logit_bias", "min_tokens", "stop_token_ids", "allowed_token_ids",
    "bad_words_token_ids", "expect",
}


def recognise(document: Json) -> bool:
    """Whether the document holds recorded sampler rows."""
    listed = document.get("cases") if isinstance(document, dict) else None
    return isinstance(listed, list) and bool(listed) and {"logits", "temperature", "expect"} <= set(listed[0])


def cases(document: Json, name: str) -> Iterator[tuple[str, str | None]]:
    """Each case by its place and title, with its first difference or None, or why it is not modelled."""
    for place, case in enumerate(document["cases"], 1):
        yield f"{name} {place}: {case.get('title', '')}", first_difference(case)


def first_difference(case: Json) -> str | None:
    """"kept: ours [0, 1], theirs [0, 1, 2]"; None when all agree."""
    if unknown := set(case) - INPUTS:
        return NotModelled(f"the setting {', '.join(sorted(unknown))}")
    ours, theirs = recorded_form(case), dict(case["expect"])
    for name, step in LAST_DIGIT.items():
        near = [abs(mine - other) < 1.5 * step for mine, other in zip(ours[name], theirs.get(name, ()), strict=False)]
        if len(near) == len(ours[name]) and all(near):
            ours[name] = theirs[name]
    return difference_between({name: ours[name] for name in ours if name in theirs}, theirs, "")


def recorded_form(case: Json) -> dict[str, Json]:
    """What the sampler leaves, as a recorded case has it; a greedy row shows its adjusted logits unfiltered."""
    raw = stages.row(case["logits"])
    logits = adjusted(case, raw)
    filters = Filters(case["temperature"], case["min_p"], case["top_k"], case["top_p"])
    for letter in ORDER if filters.temperature else "":
        logits = filtered(logits, letter, filters)
    form: dict[str, Json] = {
        "kept": [place for place, logit in enumerate(logits) if logit != GONE],
        "probs": [round(float(share), 6) for share in stages.softmax(logits)],
        "raw_logprobs": [round(float(value), 5) for value in stages.log_softmax(raw)],
    }
    return form if filters.temperature else form | {"greedy_token": int(np.argmax(logits))}


def adjusted(case: Json, logits: Logits) -> Logits:
    """The logits after masks, bias and penalties, through the function that the lab uses."""
    bias, uses = np.zeros_like(logits), np.zeros_like(logits)
    for token, shift in (case.get("logit_bias") or {}).items():
        bias[int(token)] = shift
    prompt, output = case.get("prompt_token_ids") or [], case.get("output_token_ids") or []
    seen = np.zeros(len(logits), dtype=bool)
    for token in output:
        uses[token] += 1
    seen[[*prompt, *output]] = True
    return adjust(
        logits, bias, ruled_out(case, output), uses, seen, repetition=case.get("repetition_penalty", 1.0),
        frequency=case.get("frequency_penalty", 0.0), presence=case.get("presence_penalty", 0.0),
    )


def ruled_out(case: Json, output: list[int]) -> np.ndarray:
    """Which tokens may not come: outside the allowed list, the end of a bad word, a stop before min_tokens."""
    off = np.zeros(len(case["logits"]), dtype=bool)
    if allowed := case.get("allowed_token_ids"):
        off[:] = True
        off[allowed] = False
    for *start, last in case.get("bad_words_token_ids") or []:
        if not start or output[-len(start):] == start:
            off[last] = True
    if len(output) < (case.get("min_tokens") or 0):
        off[case.get("stop_token_ids") or []] = True
    return off
