"""Pasted /metrics texts, read: the counters of speculative decoding, one scrape a text."""
import re
from collections import defaultdict
from itertools import pairwise
from typing import Any, NamedTuple

from calculators.models.acceptance import MOST_POSITIONS, MOST_SCRAPES, Scrape, format_scrapes

# No step of these is taken back, so that no line takes more than one pass.
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*+="(?>(?:[^"\\]|\\.)*)"'
SAMPLE = re.compile(rf"([a-zA-Z_:][a-zA-Z0-9_:]*+)\s*+(?>(?:\{{\s*+((?>(?:{LABEL}\s*+,?+\s*+)*))\}}\s*+)?)(\S{{1,40}})"
                    r"(?:\s+-?\d{1,20})?")
LABELS = re.compile(LABEL)
NUMBER = re.compile(r"[-+]?(?:[0-9.]+(?:[eE][-+]?[0-9]+)?|Inf|NaN)")
POSITION = re.compile(r'position="(\d{1,3})"')
SPEC = "vllm:spec_decode_num_"
COUNTERS = {
    f"{SPEC}drafts": "drafts", f"{SPEC}draft_tokens": "draft_tokens", f"{SPEC}accepted_tokens": "accepted",
    f"{SPEC}accepted_tokens_per_pos": "per_position", "vllm:generation_tokens": "generation_tokens",
    "vllm:request_success": "finished",
}
STARTS = ("process_start_time_seconds", f"{SPEC}drafts_created")
LARGEST, MOST_SAID = 10**15, 12

Series = tuple[str, tuple[str, ...]]  # a name without _total, and its labels in order


class Pasted(NamedTuple):
    """What a pasted text comes down to: inputs by name, and a sentence for each line that can't be read or taken."""

    values: dict[str, Any]
    faults: tuple[str, ...]


def read(text: str) -> Pasted:
    """Two or more /metrics texts, one after the other, as scrapes; a series that comes again begins the next text.

    Counters of several engines are summed. A line that is no sample is said and left aside; one of the counters that
    can't be read leaves nothing to divide.
    """
    texts, aside, lost = texts_of(text)
    if not texts[0]:
        return Pasted({}, some([*aside, *lost, "No counter of speculative decoding is in it. It takes two /metrics "
                                "texts, one after the other."]))
    if len(texts) < 2:
        lost.append("Only one /metrics text is in it; a window needs two.")
    if len(texts) > MOST_SCRAPES:
        lost.append(f"{len(texts)} texts are in it; the lab takes at most {MOST_SCRAPES}.")
    for number, samples in enumerate(texts, 1):
        lost += missing_from(number, samples)
    if lost:
        return Pasted({}, some([*lost, *aside]))
    scrapes = [scrape_of(samples, start) for samples, start in zip(texts, starts_of(texts), strict=True)]
    return Pasted({"scrapes": format_scrapes(tuple(scrapes))}, some(aside))


def texts_of(text: str) -> tuple[list[dict[Series, float]], list[str], list[str]]:
    """The wanted samples of each text, a sentence for each line that is no sample, and one for each that is lost."""
    texts: list[dict[Series, float]] = [{}]
    aside, lost = [], []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        wanted = line.startswith((*COUNTERS, *STARTS))
        found = SAMPLE.fullmatch(line)
        if not wanted:
            if not found or not NUMBER.fullmatch(found[3]):
                aside.append(f"Line {number}: “{line[:60]}” is no line of a /metrics text; it is left aside.")
            continue
        name = found[1].removesuffix("_total") if found else ""
        if found and name not in COUNTERS and name not in STARTS:
            continue
        if not found or (value := number_of(found[3])) is None:
            lost.append(f"Line {number}: “{line[:60]}” holds no count that can be read.")
            continue
        series = name, tuple(sorted(LABELS.findall(found[2] or "")))
        if series in texts[-1]:
            texts.append({})
        texts[-1][series] = value
    return texts, aside, lost


def some(sentences: list[str]) -> tuple[str, ...]:
    """The first sentences, and how many more there are."""
    if len(sentences) <= MOST_SAID:
        return tuple(sentences)
    return (*sentences[:MOST_SAID], f"And {len(sentences) - MOST_SAID:,} more lines like these.")


def number_of(text: str) -> float | None:
    """A sample's value, None where it is no count."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < LARGEST else None


def missing_from(number: int, samples: dict[Series, float]) -> list[str]:
    """What a text lacks, or has too much of, in sentences."""
    names = {name for name, _ in samples}
    said = []
    if missing := [name for name in COUNTERS if name not in names]:
        said.append(f"Text {number} has no {', '.join(missing)}.")
    places = [place_of(labels) for name, labels in samples if COUNTERS.get(name) == "per_position"]
    if None in places:
        said.append(f"Text {number} has positions without a number.")
    elif places and max(places) >= MOST_POSITIONS:
        said.append(f"Text {number} has {max(places) + 1} positions; the lab takes at most {MOST_POSITIONS}.")
    return said


def place_of(labels: tuple[str, ...]) -> int | None:
    """The draft position that a series counts, from 0."""
    return next((int(found[1]) for label in labels if (found := POSITION.fullmatch(label))), None)


def starts_of(texts: list[dict[Series, float]]) -> list[float]:
    """When the process of each text began, in seconds: its own start, else the time its counters were made.

    Of several engines the latest counts, so that a restart of one is seen. Where neither is in the text it is a number
    that grows wherever a series fell.
    """
    for name in STARTS:
        found = [[value for (series, _), value in samples.items() if series == name] for samples in texts]
        if all(found):
            return [round(max(values), 3) for values in found]
    starts = [0.0]
    for before, after in pairwise(texts):
        starts.append(starts[-1] + any(after.get(series, 0) < value for series, value in before.items()
                                       if series[0] in COUNTERS))
    return starts


def scrape_of(samples: dict[Series, float], start: float) -> Scrape:
    """One text's counters, summed over engines."""
    sums: dict[str, float] = defaultdict(float)
    positions: dict[int, float] = defaultdict(float)
    for (name, labels), value in samples.items():
        counter = COUNTERS.get(name)
        if counter == "per_position":
            positions[place_of(labels)] += value
        elif counter:
            sums[counter] += value
    return Scrape(
        int(sums["drafts"]), int(sums["draft_tokens"]), int(sums["accepted"]),
        tuple(int(positions[place]) for place in range(max(positions) + 1)), int(sums["generation_tokens"]),
        int(sums["finished"]), start,
    )
