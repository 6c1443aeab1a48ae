"""A recorded scheduler run as somebody hands it in: judged line by line, then followed step by step."""
import json
import re
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from calculators.models.scheduler_knobs import Knobs
from calculators.models.scheduler_run import Run
from calculators.models.scheduler_trace import Difference, differences, recorded_form, scheduler_of

Json = Any
Lines = dict[tuple[str, int], int]  # by a part's name and an entry's place in it
Kind = tuple[str, Callable[[Json], bool]]  # what a field takes in words, and whether a value is that
LONGEST = 400_000  # characters of a file
MOST_STEPS, MOST_REQUESTS, MOST_FAULTS = 2_000, 26, 12
BETWEEN = re.compile(r"[\s,:]*")


def count(low: int, high: int) -> Kind:
    return f"a whole number from {low:,} to {high:,}", lambda value: type(value) is int and low <= value <= high


def or_nothing(kind: Kind) -> Kind:
    return f"{kind[0]}, or null", lambda value: value is None or kind[1](value)


def one_of(*words: str) -> Kind:
    return " or ".join(words), lambda value: value in words


def text(pattern: str, words: str) -> Kind:
    return words, lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


def counts_by_name(low: int, high: int) -> Kind:
    words, holds = count(low, high)
    return f"{words} for each request", lambda value: isinstance(value, dict) and all(map(holds, value.values()))


SWITCH: Kind = "true or false", lambda value: isinstance(value, bool)
SHARE: Kind = "a number from 0 to 0.99", lambda value: type(value) in (int, float) and 0 <= value <= 0.99
TOKEN_IDS: Kind = "a list of token ids, one at least", lambda value: (
    isinstance(value, list) and len(value) > 0 and all(type(id) is int for id in value)
)
NEEDED = {
    "scheduler": one_of("Scheduler", "AsyncScheduler"), "block_size": count(1, 256), "num_gpu_blocks": count(2, 1_025),
    "max_num_seqs": count(1, 1_024), "max_num_batched_tokens": count(1, 65_536), "max_model_len": count(2, 32_768),
}
OPTIONAL = {
    "max_num_active_seqs": or_nothing(count(1, 1_024)), "enable_prefix_caching": SWITCH,
    "enable_chunked_prefill": SWITCH, "long_prefill_token_threshold": count(0, 32_768),
    "long_prefill_token_threshold_adaptive": SWITCH, "prefill_schedule_interval": count(1, 100),
    "scheduler_reserve_full_isl": SWITCH, "watermark": SHARE, "policy": one_of("fcfs", "priority"),
    "num_speculative_tokens": count(0, 16), "num_lookahead_tokens": count(0, 16),
}
REQUEST = {
    "id": text(r"[A-Za-z][A-Za-z0-9_-]{0,11}", "a name of up to 12 letters, digits, - and _"),
    "arrival_step": count(0, MOST_STEPS), "prompt_token_ids": TOKEN_IDS, "max_tokens": count(1, 1_000_000),
}
OF_SOME_REQUESTS = {
    "priority": count(-1_000_000, 1_000_000), "stop_after": or_nothing(count(1, 1_000_000)),
    "cache_salt": or_nothing(text(r"[A-Za-z0-9_-]{0,40}", "a name of up to 40 letters, digits, - and _")),
}
OF_SOME_STEPS = {"drafts": counts_by_name(0, 16), "accepted": counts_by_name(0, 16)}
ABORT = {"step": count(0, MOST_STEPS)}
LISTS = {"requests": MOST_REQUESTS, "steps": MOST_STEPS, "aborts": MOST_STEPS}


@dataclass(frozen=True, slots=True)
class Record:
    """A recorded run followed by the model: its steps, and for each what the record has otherwise.

    `ending` is a sentence where the two don't end in the same step, "" where they do.
    """

    knobs: Knobs
    run: Run
    differences: tuple[tuple[Difference, ...], ...]
    ending: str

    @property
    def first(self) -> int | None:
        """The first step that differs."""
        return next((step for step, found in enumerate(self.differences) if found), None)


def decoded(file: bytes) -> tuple[str, str]:
    """A file's text and "", or "" and what is wrong with it."""
    try:
        return file.decode("utf-8-sig"), ""
    except UnicodeDecodeError as fault:
        line = file.count(b"\n", 0, fault.start) + 1
        return "", f"Line {line}: this is not UTF-8 text."


def read(file: str) -> tuple[Record | None, tuple[str, ...]]:
    """The run followed to its end, or None and a sentence for each line at fault."""
    if len(file) > LONGEST:
        return None, (f"It has {len(file):,} characters; a recorded run takes {LONGEST:,} at most.",)
    try:
        return judged(file)
    except json.JSONDecodeError as fault:
        return None, (f"Line {fault.lineno}: this is not JSON from character {fault.colno} on ({fault.msg}).",)
    except RecursionError:
        return None, ("Its lists lie too deep in each other to be read.",)


def judged(file: str) -> tuple[Record | None, tuple[str, ...]]:
    """The same, for a text that may not be JSON."""
    try:
        document = json.loads(file)
    except json.JSONDecodeError:
        raise
    except ValueError:
        return None, ("A number in it has thousands of digits.",)
    found = list(faults(document, file))
    if len(found) > MOST_FAULTS:
        found[MOST_FAULTS:] = [f"And {len(found) - MOST_FAULTS:,} faults more."]
    return (None, tuple(found)) if found else (follow(document), ())


def follow(document: Json) -> Record:
    """Run the model on the record's inputs, beside the record."""
    scheduler = scheduler_of(document)
    theirs = document["steps"]
    steps, found = [], []
    while len(steps) < len(theirs) and not (scheduler.all_ended and not scheduler.in_flight):
        steps.append(scheduler.step())
        form = recorded_form(steps[-1], scheduler.knobs)
        found.append(tuple(differences(form, theirs[len(found)])))
    ending = ""
    if len(steps) < len(theirs):
        ending = f"The model is done after step {len(steps) - 1:,}; the record goes on to step {len(theirs) - 1:,}."
    elif not scheduler.all_ended:
        ending = f"The record ends with step {len(theirs) - 1:,}; the model goes on."
    return Record(scheduler.knobs, Run(tuple(scheduler.requests), tuple(steps)), tuple(found), ending)


def faults(document: Json, file: str) -> Iterator[str]:
    """A sentence for each thing that keeps the record from being followed, with its line."""
    if not isinstance(document, dict) or not isinstance(document.get("config"), dict):
        yield "Line 1: a recorded run is an object with config, requests and steps."
        return
    lines = lines_of(file)
    config, at = document["config"], f"Line {lines['config', 0]}, config"
    yield from misfits(config, NEEDED, OPTIONAL, at)
    rows = {name: document.get(name, [] if name == "aborts" else None) for name in LISTS}
    for name, most in LISTS.items():
        if not isinstance(rows[name], list) or not (name == "aborts" or rows[name]):
            yield f"Line {lines.get((name, 0), 1)}: {name} takes a list, one at least."
            return
        if len(rows[name]) > most:
            yield f"Line {lines[name, 0]}: {len(rows[name]):,} {name}; the page follows {most:,} at most."
            return
    for name, needed, optional in (
        ("requests", REQUEST, OF_SOME_REQUESTS), ("steps", {}, OF_SOME_STEPS), ("aborts", ABORT, {}),
    ):
        for place, row in enumerate(rows[name]):
            at = f"Line {lines[name, place]}, {name[:-1]} {place}"
            if isinstance(row, dict):
                yield from misfits(row, needed, optional, at)
            else:
                yield f"{at}: takes an object."
    yield from clashes(config, rows, lines)


def misfits(
    row: Mapping[str, Json], needed: Mapping[str, Kind], optional: Mapping[str, Kind], at: str,
) -> Iterator[str]:
    """The fields of an object that are missing or hold something else."""
    for name, (words, holds) in (needed | optional).items():
        if name not in row and name in needed:
            yield f"{at}: {name} is missing; it takes {words}."
        elif name in row and not holds(row[name]):
            given = json.dumps(row[name])
            yield f"{at}: {name} takes {words}, not {given if len(given) <= 40 else given[:39] + '…'}."


def clashes(config: Mapping[str, Json], rows: Mapping[str, list[Json]], lines: Lines) -> Iterator[str]:
    """What each field takes and all of them together don't."""
    longest = config.get("max_model_len")
    ids = [row.get("id") for row in rows["requests"] if isinstance(row, dict)]
    twice = {id for id, uses in Counter(id for id in ids if isinstance(id, str)).items() if uses > 1}
    for place, row in enumerate(rows["requests"]):
        at = f"Line {lines['requests', place]}, request {place}"
        if not isinstance(row, dict):
            continue
        if isinstance(row.get("id"), str) and row["id"] in twice:
            yield f"{at}: another request is called {json.dumps(row['id'])} as well."
        prompt = row.get("prompt_token_ids")
        if isinstance(prompt, list) and type(longest) is int and len(prompt) >= max(longest, 2):
            yield f"{at}: a prompt of {len(prompt):,} tokens; max_model_len leaves room for {longest - 1:,}."
    for place, row in enumerate(rows["aborts"]):
        if isinstance(row, dict) and row.get("id") not in ids:
            given = json.dumps(row.get("id"))[:40]
            yield f"Line {lines['aborts', place]}, abort {place}: no request is called {given}."


def lines_of(file: str) -> Lines:
    """The line on which each part of the file begins, and each entry of a part that is a list."""
    decode = json.JSONDecoder().raw_decode
    ends = [found.start() for found in re.finditer(r"\n", file)]
    found: Lines = {}
    at = skip(file, file.index("{") + 1)
    while file[at] != "}":
        name, at = decode(file, at)
        at = skip(file, at)
        found[name, 0] = bisect(ends, at) + 1
        if file[at] == "[":
            place, at = 0, skip(file, at + 1)
            while file[at] != "]":
                found[name, place] = bisect(ends, at) + 1
                _, at = decode(file, at)
                place, at = place + 1, skip(file, at)
            at += 1
        else:
            _, at = decode(file, at)
        at = skip(file, at)
    return found


def skip(file: str, at: int) -> int:
    """The next place that holds neither space nor a separator."""
    return BETWEEN.match(file, at).end()
