"""A question as an interview asks it: posed once, when it begins, and kept, so that no later edit changes a report."""
from typing import Any

from django.template.loader import render_to_string

from questions.models import Question
from questions.services import Posed, pose


def as_asked(question: Question, seed: object = None) -> dict[str, Any]:
    """The question posed, as JSON: what the candidate is shown (`ask`), what the interviewer has beside it, and the
    values it was posed with. Texts are safe HTML.

    Raises Refusal or BadFigure when its labs don't give what it says.
    """
    posed = pose(question, seed)
    return {
        "slug": question.slug, "title": question.title, "topic": question.topic.slug, "kind": question.kind,
        "level": question.level, "values": posed.values, "digest": posed.digest,
        "ask": ask_of(posed), "answer": answer_of(posed),
        "rubric": [{name: str(point[name]) for name in ("id", "html", "named", "explained", "bounded")}
                   for point in posed.rubric],
        "hints": [str(hint) for hint in posed.hints],
        "traps": [{name: str(text) for name, text in trap.items()} for trap in posed.traps],
        "follow_ups": [{name: str(text) for name, text in one.items()} for one in posed.follow_ups],
        "sources": posed.sources, "lab": posed.lab, "lab_answered": posed.lab_answered, "lab_title": posed.lab_title,
    }


def ask_of(posed: Posed) -> dict[str, str]:
    """The scenario, its tables and the question itself."""
    return {"scenario": str(posed.scenario_html), "given": str(posed.given_html), "asked": str(posed.asked_html)}


def answer_of(posed: Posed) -> dict[str, str]:
    """The staff answer: as it is said, how it comes about, its catch, what to measure."""
    pieces = [{"html": piece} if isinstance(piece, str) else {"lines": piece} for piece in posed.derivation]
    return {
        "said": str(posed.said_aloud_html), "catch": str(posed.catch_html), "measure": str(posed.measure_html),
        "derivation": render_to_string("mocks/_derived.html", {"pieces": pieces}) if pieces else "",
    }
