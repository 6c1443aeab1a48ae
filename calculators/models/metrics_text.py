"""Pasted /metrics texts, read: the counters of speculative decoding, one scrape a text."""
import re
from collections import defaultdict
from typing import Any, NamedTuple

from calculators.models.acceptance import MOST_POSITIONS, MOST_SCRAPES, Scrape, format_scrapes

SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]{0,200})(\{[^}]{0,2000}\})?\s+(\S{1,40})(?:\s+\S{1,30})?\s*")
POSITION = re.compile(r'position="(\d{1,3})"')
SPEC = "vllm:spec_decode_num_"
COUNTERS = {
    f"{SPEC}drafts": "drafts", f"{SPEC}draft_tokens": "draft_tokens", f"{SPEC}accepted_tokens": "accepted",
    f"{SPEC}accepted_tokens_per_pos": "per_position", "vllm:generation_tokens": "generation_tokens",
    "vllm:request_success": "finished",
}
STARTS = ("process_start_time_seconds", f"{SPEC}drafts_created")
LARGEST = 10**15


class Pasted(NamedTuple):
    """What a pasted text comes down to: inputs by name, and a sentence for each line that can't be read or taken."""

    values: dict[str, Any]
    faults: tuple[str, ...]


def read(text: str) -> Pasted:
    """Two or more /metrics texts, one after the other, as scrapes; a sample that comes again begins the next text.

    Counters of several engines are summed. Where a text has no process start, the time its counters were made stands
    in.
    """
    faults: list[str] = []
    texts: list[dict[str, float]] = [{}]
    for number, line in enumerate(text.splitlines(), 1):
        wanted = line.lstrip().startswith((*COUNTERS, *STARTS))
        if not wanted:
            continue
        if not (found := SAMPLE.fullmatch(line.strip())) or (value := number_of(found[3])) is None:
            faults.append(f"Line {number}: “{line.strip()[:60]}” holds no count that can be read.")
            continue
        key = f"{found[1]}{found[2] or ''}"
        if key in texts[-1]:
            texts.append({})
        texts[-1][key] = value
    if not texts[0]:
        return Pasted({}, (*faults, "No counter of speculative decoding is in it. It takes two /metrics texts, one "
                           "after the other."))
    scrapes = [scrape for at, samples in enumerate(texts, 1) if (scrape := scrape_of(at, samples, faults))]
    if len(texts) < 2:
        faults.append("Only one /metrics text is in it; a window needs two.")
    if len(texts) > MOST_SCRAPES:
        faults.append(f"{len(texts)} texts are in it; the lab takes at most {MOST_SCRAPES}.")
    return Pasted({} if faults else {"scrapes": format_scrapes(tuple(scrapes))}, tuple(faults[:12]))


def number_of(text: str) -> float | None:
    """A sample's value, None where it is no count."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < LARGEST else None


def scrape_of(at: int, samples: dict[str, float], faults: list[str]) -> Scrape | None:
    """One text's counters summed over engines; what is missing is added to the faults."""
    sums: dict[str, float] = defaultdict(float)
    positions: dict[int, float] = defaultdict(float)
    for key, value in samples.items():
        name, _, labels = key.partition("{")
        counter = COUNTERS.get(name.removesuffix("_total"))
        if counter == "per_position":
            if (place := POSITION.search(labels)) and int(place[1]) < MOST_POSITIONS:
                positions[int(place[1])] += value
        elif counter:
            sums[counter] += value
    missing = [name for name, counter in COUNTERS.items() if counter not in sums and counter != "per_position"]
    if not positions:
        missing.append(f"{SPEC}accepted_tokens_per_pos")
    if missing:
        faults.append(f"Text {at} has no {', '.join(missing)}.")
        return None
    starts = [value for start in STARTS for key, value in samples.items() if key.partition("{")[0] == start]
    return Scrape(
        int(sums["drafts"]), int(sums["draft_tokens"]), int(sums["accepted"]),
        tuple(int(positions[place]) for place in range(max(positions) + 1)), int(sums["generation_tokens"]),
        int(sums["finished"]), round(starts[0], 3) if starts else 0.0,
    )
