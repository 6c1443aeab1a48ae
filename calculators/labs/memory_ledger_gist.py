"""How the KV pool and a cold start come about, each a run of bars from term to term with the result under them."""
from collections.abc import Sequence
from dataclasses import dataclass

from calculators.labs.base import Gist, Shown
from calculators.models.memory_ledger import ESTIMATED, EXACT, MEASURED, RESULT
from calculators.models.quantity import say
from calculators.pictures import MEASURE, NARROW, WALL, Bar, Drawing, Scale, Shape, Text, line, wall_beside
from calculators.ruled import width_of

NAMES, TOP, ROW, HIGH = 136, 26, 25, 15
LOOKS = {EXACT: ("other", ""), MEASURED: ("solid", ""), ESTIMATED: ("guessed", "estimated"), RESULT: ("result", "")}


@dataclass(frozen=True, slots=True)
class Span:
    """A bar from one value to another, its name, and the words behind it."""

    name: str
    start: float
    end: float
    words: str
    css: str
    pattern: str = ""
    total: bool = False


def ledger(shown: Shown) -> Gist | None:
    """The budget, what each term takes off its end, and the KV that is left."""
    spans, end = [], 0.0
    for term in shown.result.terms:
        if term.known == EXACT:
            end = term.gib
            spans.append(Span(term.label, 0, end, f"{end:,.2f}", *LOOKS[EXACT]))
        elif term.known in (MEASURED, ESTIMATED):
            spans.append(Span(term.label, end - term.gib, end, f"−{term.gib:,.2f}", *LOOKS[term.known]))
            end -= term.gib
        elif term.known == RESULT:
            spans.append(Span(term.label, 0, max(term.gib, 0), f"{term.gib:,.2f}".replace("-", "−"), *LOOKS[RESULT],
                              total=True))
    if min(span.start for span in spans) < 0:
        return None  # no bar can show how far past its end a budget is overdrawn
    return both(spans, "GiB of one GPU", shown.said, "GiB", shown.result.finding, None)


def cold_start(shown: Shown) -> Gist:
    """The phases end to end, and the seconds to the first token."""
    spans, place = [], 0.0
    for phase in shown.result.phases:
        spans.append(Span(phase.name, place, place + phase.seconds, say(phase.seconds, "s"), "solid"))
        place += phase.seconds
    spans.append(Span("first token", 0, place, say(place, "s"), "result", total=True))
    return both(spans, "seconds from the process", shown.said, "s", shown.result.finding, shown.inputs["target_s"])


def both(spans: Sequence[Span], unit_words: str, said: float | None, unit: str, title: str,
         limit: float | None) -> Gist:
    """The run wide and narrow."""
    return Gist(*(run(spans, unit_words, said, unit, title, limit, width) for width in (MEASURE, NARROW)))


def run(spans: Sequence[Span], unit_words: str, said: float | None, unit: str, title: str, limit: float | None,
        width: float) -> Drawing:
    """Bars from one line, each where the one before ends; the reader's number stands by the result."""
    furthest = max(*(span.end for span in spans), 1e-9)
    left, right = NAMES + 10, width - 66
    scale, foot = Scale(0, furthest, left, right), TOP + ROW * len(spans)
    pen = scale(min(said, furthest)) if said is not None and said > 0 else None
    shapes: list[Shape] = [Text(left, 12, unit_words, "axis"), line(left, TOP - 6, left, foot, "edge")]
    for place, span in enumerate(spans):
        y, weight = TOP + ROW * place, "strong" if span.total else "value"
        if span.total:
            shapes.append(line(0, y - 6, width, y - 6, "rule"))
        wide = max(round(scale(span.end) - scale(span.start), 2), 1)
        shapes += [Text(NAMES, y + 12, span.name, weight, "end"),
                   Bar(scale(span.start), y, wide, HIGH, span.css, pattern=span.pattern),
                   Text(round(behind(span, scale, pen, limit), 2), y + 12, span.words, f"{weight} halo")]
    if limit is not None and 0 < limit <= furthest:
        shapes += wall_beside(scale(limit), TOP - 6, foot)
    if pen is not None:
        words = f"you: {say(said, unit, 4)}{', beyond' if said > furthest else ''}"
        half = width_of(words) / 2
        shapes += [line(pen, foot - ROW - 2, pen, foot + 4, "pen"),
                   Text(round(min(max(pen, half), width - half), 2), foot + 18, words, "pen-text", "middle")]
    return Drawing(width, foot + 26, title, tuple(shapes))


def behind(span: Span, scale: Scale, pen: float | None, limit: float | None) -> float:
    """Where the words behind a bar begin; clear of the limit's wall, and those of the result of the reader's line."""
    x = scale(span.end) + 8
    wall = scale(limit) if limit is not None and 0 < limit <= scale.high else None
    if wall is not None and x - WALL - 6 <= wall <= x + width_of(span.words):
        x = wall + WALL + 6
    crossed = span.total and pen is not None and x - 6 <= pen <= x + width_of(span.words)
    return pen + 6 if crossed else x
