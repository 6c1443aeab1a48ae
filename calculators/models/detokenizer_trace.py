"""Recorded streams of vLLM's detokenizer, replayed: stream the same tokens and name the first difference."""
from collections.abc import Iterator
from typing import Any

from calculators.models.detokenizer import BREAK, FAST, Token, stream
from calculators.models.scheduler_trace import difference_between

Json = Any


def recognise(document: Json) -> bool:
    """Whether the document holds recorded token streams."""
    return isinstance(document, dict) and isinstance(document.get("vocab"), list) and isinstance(
        document.get("cases"), list) and all("steps" in case for case in document["cases"])


def cases(document: Json, name: str) -> Iterator[tuple[str, str | None]]:
    """Each case by its title or its place, with its first difference or None."""
    vocabulary = [token_of(written) for written in document["vocab"]]
    for place, case in enumerate(document["cases"], 1):
        title = case.get("title") or case["expect"]["text"][:24]
        yield f"{name} {place}: {title.replace(chr(10), BREAK)}", first_difference(case, vocabulary)


def token_of(written: str) -> Token:
    """A token of the vocabulary: hexadecimal bytes, or a special one's name."""
    return Token(written.encode(), special=True) if written.startswith("<") else Token(bytes.fromhex(written))


def first_difference(case: Json, vocabulary: list[Token]) -> str | None:
    """"deltas: ours …, theirs …"; None when every piece, the text, the stop and the count agree."""
    stop = case["stop"] or []
    run = stream(
        [vocabulary[id] for id in case["prompt_token_ids"]],
        [[vocabulary[id] for id in step] for step in case["steps"]],
        [stop] if isinstance(stop, str) else stop, case["include_stop_str_in_output"], case["min_tokens"],
        case["skip_special_tokens"], FAST,
    )
    ours = {
        "deltas": [step.sent for step in run.steps[1:]], "text": run.steps[-1].text,
        "stop_string": run.stop_string or None, "num_output_tokens": run.output_tokens,
    }
    return difference_between(ours, case["expect"], "")
