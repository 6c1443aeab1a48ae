"""What the bank does for others: a question posed with its figures filled in, a commitment judged, files loaded."""
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from questions.grading import Judgement
from questions.models import Question


@dataclass(frozen=True, slots=True)
class Waiter:
    """A request as it stands before the step asked about: one row of the map form."""

    name: str
    state: str  # "running" or "waiting"
    words: str  # "decoding, prompt done", "5,000 of 8,000 left", "1,000, first 512 cached"
    prompt_tokens: int
    computed_tokens: int
    cached_tokens: int = 0
    decoding: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """What the reader commits: a number in `unit`, or a map {request: tokens}; `tolerance` is a fraction."""

    kind: str  # "number" or "map"
    figure: str
    label: str  # "Longest gap"
    unit: str
    tolerance: float
    expected: float | dict[str, int]
    requests: tuple[Waiter, ...] = ()  # of a map: who may get tokens, in the order served
    limit: int | None = None  # of a map: the step's token budget


@dataclass(frozen=True, slots=True)
class Posed:
    """A question as a reader meets it: every figure filled in, every text rendered and safe to show."""

    question: Question
    values: dict[str, dict[str, Any]]  # what was drawn, {run: {input: value}}, fit for JSON; {} for the file's own
    digest: str
    ask_html: str
    scenario_html: str  # the ask without its tables
    given_html: str  # the ask's tables, "" without
    asked_html: str  # the bold question itself, one sentence
    said_aloud_html: str
    derivation_html: str
    catch_html: str
    measure_html: str
    rubric: list[dict[str, str]]  # id, html, named, explained, bounded
    hints: list[str]  # html
    traps: list[dict[str, str]]  # said, tempting, refuted: html
    follow_ups: list[dict[str, str]]  # ask, key: html
    options: list[dict[str, Any]]  # html, right, why
    sources: list[dict[str, str]]  # id, anchor, name, where, url, note
    check: Check | None
    lab: str  # the shown run's address, set to the scenario and before the answer; "" without a run
    lab_answered: str  # the same lab with its answer in view
    lab_title: str
    lines: tuple[Any, ...] = ()  # the derivation of the checked run
    slips: tuple[Any, ...] = ()  # (wrong value, what it leaves out)


def pose(question: Question, seed: object = None) -> Posed:
    """The question with values drawn by `seed`; without a seed, or without `vary`, with the file's own."""
    raise NotImplementedError


def pose_from(question: Question, values: Mapping[str, Mapping[str, Any]]) -> Posed:
    """The question with values that an attempt kept; what no longer fits the question gives way to the file's own."""
    raise NotImplementedError


def judge(posed: Posed, typed: str | Mapping[str, str]) -> Judgement:
    """What was typed (a text, or {request: text} for a map) beside the answer.

    Raises Refusal with a sentence for the learner; for a map UnreadEntries, with a sentence for each bad entry.
    """
    raise NotImplementedError
