"""What the bank does for the pages: a question posed with its figures filled in, and a commitment judged."""
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

from django import forms
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from calculators.labs import LABS
from calculators.labs.base import Gist, Shown, View
from calculators.models.base import Line, Refusal
from calculators.models.quantity import converted
from questions import grading, markup
from questions.content import ARRAYS, QuestionFile, digest
from questions.figures import FIGURE, BadFigure, Ran, resolve, show
from questions.glossary import Linked
from questions.grading import Judgement
from questions.models import Note, Question
from questions.notes import NoteFile, shown_value
from questions.runs import draw, play
from questions.standing import Standing, standings

STEP = re.compile(r"(?P<run>[a-z0-9_]+)\.steps\.(?P<step>[0-9]+)\.")
UNIT_ENDINGS = re.compile(r"_(ms|s|us|bytes|gib|gb|tokens|share)$")


@dataclass(frozen=True, slots=True)
class Check:
    """What the reader commits: a number in `unit`, or a map {request: tokens}; `tolerance` is a fraction."""

    kind: str  # "number" or "map"
    figure: str
    label: str  # "Longest gap"
    unit: str
    tolerance: float
    expected: float | dict[str, int]
    requests: tuple[Standing, ...] = ()  # of a map: who may get tokens, in the order served
    limit: int | None = None  # of a map: the step's token budget


@dataclass(frozen=True, slots=True)
class Posed:
    """A question as a reader meets it: every figure filled in, every text rendered and safe to show."""

    question: Question
    values: dict[str, dict[str, Any]]  # what was drawn, {run: {input: value}}, fit for JSON; {} for the file's own
    digest: str
    ask_html: SafeString
    scenario_html: SafeString  # the ask without its tables
    given_html: SafeString  # the ask's tables, "" without
    asked_html: SafeString  # the bold question itself
    said_aloud_html: SafeString
    derivation: tuple[SafeString | tuple[Line, ...], ...]  # HTML, and lines where a run's derivation stands
    catch_html: SafeString
    measure_html: SafeString
    rubric: list[dict[str, str]]  # id, html, named, explained, bounded
    hints: list[SafeString]
    traps: list[dict[str, SafeString]]  # said, tempting, refuted
    follow_ups: list[dict[str, SafeString]]  # ask, key
    options: list[dict[str, Any]]  # html, right, why
    sources: list[dict[str, str]]  # id, anchor, name, where, url, note
    check: Check | None
    lab: str  # the shown run's address, set to the scenario and before the answer; "" without a run
    lab_answered: str  # the same lab with its answer in view
    lab_title: str
    view: View | None = None  # the shown run's
    shown: Shown | None = None
    checks_shown: bool = False  # whether the checked number is what that view asks for
    lines: tuple[Line, ...] = ()  # the derivation of the checked run
    slips: tuple[tuple[float, str], ...] = ()  # (wrong value, what it leaves out)


def run_lab(slug: str, view_name: str, values: Mapping[str, Any]) -> Ran:
    """One run of a lab's view, its first when none is named.

    Raises Refusal when there is no such lab or view, or it takes no such values.
    """
    view = view_of(slug, view_name)
    inputs, result = view.run(values)
    return Ran(inputs, result, labels_of(view, inputs))


def view_of(slug: str, name: str) -> View:
    """The view of a lab. Raises Refusal when there is none of that name."""
    if (lab := LABS.get(slug)) is None:
        raise Refusal(f"There is no lab “{slug}”; there are {', '.join(LABS)}.")
    if name and name not in [view.name for view in lab.views]:
        raise Refusal(f"The lab “{slug}” has no view “{name}”; it has {', '.join(view.name for view in lab.views)}.")
    return lab.view(name)


def labels_of(view: View, inputs: Mapping[str, Any]) -> dict[str, str]:
    """What the form calls each input that is a choice."""
    labels = {}
    for name, text in view.texts(inputs).items():
        field = view.form.base_fields[name]
        if isinstance(field, forms.ChoiceField):
            labels[name] = {str(key): str(label) for key, label in field.choices}.get(text, text)
    return labels


@lru_cache(maxsize=32)
def run_again(slug: str, view_name: str, values: tuple[tuple[str, Any], ...]) -> Ran:
    """A run kept for the next look at the same card: a review poses its question some ten times."""
    return run_lab(slug, view_name, dict(values))


def run_kept(slug: str, view_name: str, values: Mapping[str, Any]) -> Ran:
    """run_lab, remembered."""
    return run_again(slug, view_name, tuple(sorted(values.items())))


def document_of(row: Question | Note) -> QuestionFile | NoteFile:
    """The row as the document that its file would hold."""
    kind = NoteFile if isinstance(row, Note) else QuestionFile
    held = {item.name: getattr(row, column_of(item.name)) for item in fields(kind) if item.name != "topic"}
    return kind(topic=row.topic.slug if row.topic else "", **held)


def column_of(name: str) -> str:
    """Where a row keeps a field of its document."""
    return "checked" if name == "check" else name


def pose(question: Question, seed: object = None) -> Posed:
    """The question with values drawn by `seed`; with the file's own without a seed, without `vary`, and where the prose
    names what the draw has not.

    Raises Refusal or BadFigure when no lab gives what it says: an edit that no check has seen.
    """
    if seed is not None:
        drawn, ran, _ = draw(question.runs, question.keep, seed, run_kept)
        try:
            return posed_with(question, drawn, ran)
        except BadFigure:
            return pose(question)
    return posed_with(question, {}, play(question.runs, {}, run_kept))


def pose_from(question: Question, values: Mapping[str, Mapping[str, Any]]) -> Posed:
    """The question with values that an attempt kept; what no longer fits the question gives way to the file's own."""
    drawn = {name: dict(given) for name, given in (values or {}).items() if name in question.runs}
    try:
        return posed_with(question, drawn, play(question.runs, drawn, run_kept))
    except (Refusal, BadFigure):
        return pose(question)


def posed_with(question: Question, drawn: dict[str, dict[str, Any]], ran: Mapping[str, Ran]) -> Posed:
    """The question with these runs' figures in its texts."""
    ids = [source["id"] for source in question.sources]

    def block(text: str, link: markup.Link | None = None) -> SafeString:
        return mark_safe(markup.render(text, ran, ids, link=link))

    def inline(text: str) -> SafeString:
        return mark_safe(markup.render(text, ran, ids, inline=True))

    def entries(array: str) -> list[dict[str, Any]]:
        shown, raw = ARRAYS[array][0], ("id",)
        return [
            {key: inline(value) if key in shown and key not in raw else value for key, value in entry.items()}
            for entry in getattr(question, array)
        ]

    scenario, given, asked = split_ask(question.ask)
    checked = ran.get(question.checked.get("figure", "").partition(".")[0])
    linked = Linked(reverse("questions:glossary"))  # in the order of the page: a term is linked where it comes first
    return Posed(
        question=question,
        values=drawn,
        digest=digest(document_of(question)),
        ask_html=block(question.ask, Linked(linked.address)),  # stands in place of the next two, never beside them
        scenario_html=block(scenario, linked),
        given_html=block(given, linked),
        asked_html=inline(asked),
        said_aloud_html=block(question.said_aloud, linked),
        derivation=tuple(
            mark_safe(piece) if isinstance(piece, str) else piece
            for piece in markup.parts(question.derivation, ran, ids, linked)
        ),
        catch_html=block(question.catch, linked),
        measure_html=block(question.measure, linked),
        rubric=[{**point, "html": point["text"]} for point in entries("rubric")],
        hints=[hint["text"] for hint in entries("hints")],
        traps=entries("traps"),
        follow_ups=entries("follow_ups"),
        options=[{**option, "html": option["text"]} for option in entries("options")],
        sources=[source_row(source) for source in question.sources],
        check=check_of(question, ran),
        lines=getattr(checked and checked.result, "lines", ()),
        slips=slips_of(question, ran),
        **lab_of(question, ran),
    )


def split_ask(ask: str) -> tuple[str, str, str]:
    """The ask in three: its prose, its tables, and the bold question (the last sentence in bold; without one, all)."""
    paragraphs = [paragraph.strip() for paragraph in re.split(r"\n\s*\n", ask) if paragraph.strip()]
    tables = [paragraph for paragraph in paragraphs if paragraph.startswith("|")]
    prose = [paragraph for paragraph in paragraphs if not paragraph.startswith("|")]
    bold = re.findall(r"\*\*(.+?)\*\*", " ".join(prose), re.DOTALL)
    return "\n\n".join(prose), "\n\n".join(tables), bold[-1] if bold else " ".join(prose)


def in_words(question: Question, text: str) -> str:
    """A text of a question with the figures of its file in it, and without the marks of its sources."""
    text = markup.MARK.sub("", text)
    if not FIGURE.search(text):
        return text
    try:
        ran = play(question.runs, {}, run_kept)
        return FIGURE.sub(lambda found: show(found[0], ran), text)
    except (Refusal, BadFigure):  # an edit that no lab can follow
        return FIGURE.sub("…", text)


def source_row(source: Mapping[str, str]) -> dict[str, str]:
    """A source as a row of the list: what it is, where, and as of when."""
    named = source.get("symbol") or source.get("flag") or source.get("title")
    where = source.get("file") or (source["url"].partition("://")[2].rstrip("/") if source.get("url") else "")
    note = f"vLLM {source['version']}" if source.get("version") and source.get("file") else ""
    return {
        "id": source["id"],
        "anchor": f"source-{source['id']}",
        "name": named or where,
        "where": where if named else "",
        "url": source.get("url", ""),
        "note": note or source.get("version") or source.get("date", ""),
    }


def check_of(question: Question, ran: Mapping[str, Ran]) -> Check | None:
    """What is to be committed, with the right answer; None for a question that asks for an outline."""
    if not question.checked:
        return None
    figure = question.checked["figure"]
    expected = resolve(figure, ran)
    name, _, path = figure.partition(".")
    check = Check(
        kind="map" if isinstance(expected, Mapping) else "number",
        figure=figure,
        label=label_of(question.runs[name], path),
        unit=question.checked.get("unit", "tokens"),
        tolerance=question.checked.get("tolerance", 0),
        expected=dict(expected) if isinstance(expected, Mapping) else expected,
    )
    if isinstance(expected, Mapping) and (found := STEP.match(figure)):
        run = ran[name]
        rows = standings(run.result, int(found["step"]), run.inputs)
        check = replace(check, requests=rows, limit=run.inputs["max_num_batched_tokens"])
    return check


def slips_of(question: Question, ran: Mapping[str, Ran]) -> tuple[tuple[float, str], ...]:
    """The known wrong values of the checked number; none where the lab's are about another one, that its view asks for.
    """
    name, _, path = question.checked.get("figure", "").partition(".")
    if name not in ran:
        return ()
    ask = view_of(question.runs[name]["lab"], question.runs[name].get("view", "")).ask
    return getattr(ran[name].result, "slips", ()) if ask is None or ask.figure == path else ()


def label_of(run: Mapping[str, Any], path: str) -> str:
    """What the asked number is called: as the lab that asks for it has it, else the figure's name in words."""
    ask = view_of(run["lab"], run.get("view", "")).ask
    label = ask.label if ask and ask.figure == path else UNIT_ENDINGS.sub("", path.rpartition(".")[2]).replace("_", " ")
    return label[:1].upper() + label[1:]


def lab_of(question: Question, ran: Mapping[str, Ran]) -> dict[str, Any]:
    """The lab that opens: its addresses before and with the answer, its title, and what its view has to show."""
    if not question.runs:
        return {"lab": "", "lab_answered": "", "lab_title": ""}
    name = next((name for name, run in question.runs.items() if run.get("shown")), next(iter(question.runs)))
    lab = LABS[question.runs[name]["lab"]]
    view = lab.view(question.runs[name].get("view"))
    inputs, figure = ran[name].inputs, question.checked.get("figure", "")
    found = STEP.match(figure)
    if found and found["run"] == name:
        step = int(found["step"])
        before, answered = {"step": max(step - 1, 0)}, {"step": step}
    else:
        before, answered = ({"ask": 1} if view.ask else {}), {}
    return {
        "lab": lab.address(view, inputs, **before),
        "lab_answered": lab.address(view, inputs, **answered),
        "lab_title": lab.heading,
        "view": view,
        "shown": Shown(inputs, ran[name].result, step=0, last_step=0),
        "checks_shown": bool(view.ask and figure == f"{name}.{view.ask.figure}"),
    }


def gist_of(posed: Posed, said: float | None = None) -> Gist | None:
    """How the shown run's result comes about in a small picture, None where its view draws none.

    A committed number, in the check's unit, stands in it when it is the number that the view asks for.
    """
    if posed.view is None or posed.shown is None:
        return None
    if said is not None:
        said = converted(said, posed.check.unit, posed.view.ask.unit) if posed.checks_shown else None
    return posed.view.gist(replace(posed.shown, said=said))


def judge_note(note: Note, typed: str) -> Judgement:
    """A typed estimate beside a number card's value. Raises Refusal with a sentence for the learner."""
    low, high = note.accept
    return grading.judge_estimate(typed, note.value, note.unit, low, high)


def mistaken_for(note: Note, value: float) -> Note | None:
    """The number card of the same topic and unit whose own value this would be, if there is one."""
    others = Note.objects.filter(topic=note.topic, unit=note.unit, owner=None, draft=False, retired=False)
    near = [other for other in others.exclude(pk=note.pk) if other.accept[0] <= value <= other.accept[1]]
    return min(near, key=lambda other: abs(other.value - value), default=None)


def lab_of_note(note: Note) -> tuple[str, str]:
    """The address of the lab that computes a number card's value, set to it, and the lab's title; both "" without."""
    if not note.calc or (lab := LABS.get(note.calc["lab"])) is None:
        return "", ""
    view = lab.view(note.calc.get("view"))
    return lab.address(view, note.calc.get("values", {})), lab.heading


def value_with_unit(note: Note) -> str:
    """The value as the card writes it: "128 KiB", "69%"."""
    return f"{shown_value(note)}{'' if note.unit in ('', '%', '×') else ' '}{note.unit}"


def inline(text: str) -> SafeString:
    """Safe HTML of a line of Markdown without figures, such as a number card's ask."""
    return mark_safe(markup.render(text, {}, inline=True))


def judge(posed: Posed, typed: str | Mapping[str, str]) -> Judgement:
    """What was typed (a text, or {request: text} for a map) beside the answer.

    Raises Refusal with a sentence for the learner; for a map UnreadEntries, with a sentence for each bad entry.
    """
    check = posed.check
    if check.kind == "map":
        names = tuple(row.name for row in check.requests) or tuple(check.expected)
        return grading.judge_map(typed, check.expected, names)
    return grading.judge_number(typed, check.expected, check.unit, check.tolerance, posed.slips)
