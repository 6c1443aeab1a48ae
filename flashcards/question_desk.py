"""A question in a review: its scenario and the form to commit in, then the answer beside the staff's."""
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import QueryDict

from calculators.labs.base import Gist
from calculators.models.base import Refusal, left_out
from calculators.models.quantity import forms_of, say
from calculators.pictures import MEASURE, NARROW, Drawing
from flashcards import pictures
from flashcards.desk import Desk
from flashcards.forms import CONFIDENCES, CommitForm, kept
from flashcards.models import Rating
from flashcards.services import draw_seed
from flashcards.templatetags.flashcards_tags import number_word
from questions import grading
from questions.figures import BadFigure
from questions.models import Question
from questions.services import Posed, gist_of, judge, pose, pose_from


@dataclass(frozen=True, slots=True)
class MapRow:
    """One request of the map form: how it stands before the step, and its field."""

    name: str
    group: str  # "running" or "waiting" on the first row of each, else ""
    words: str
    bar: Drawing | None
    typed: str
    fault: str


class QuestionDesk(Desk):
    """One turn with a question."""

    @property
    def question(self) -> Question:
        return self.card.question

    @cached_property
    def posed(self) -> Posed:
        """The question with this turn's numbers, and after the commit with the numbers that were committed on."""
        if self.attempt:
            return pose_from(self.question, self.attempt.values)
        return pose(self.question, draw_seed(self.card))

    @cached_property
    def can_be_posed(self) -> bool:
        """Whether the labs give what the question says; not so after an edit by hand that no check has seen."""
        try:
            return bool(self.posed)
        except (Refusal, BadFigure):
            return False

    @property
    def check_kind(self) -> str:
        return self.posed.check.kind if self.posed.check else "outline"

    @property
    def confidence_ask(self) -> str:
        check = self.posed.check
        if check.kind == "map":
            return f"How sure are you that all {number_word(len(check.requests))} are right?"
        near = f"within {grading.percent(check.tolerance)}" if check.tolerance else "right"
        return f"How sure are you that this is {near}?"

    @property
    def title(self) -> str:
        return self.question.title

    @cached_property
    def form(self) -> CommitForm:
        """The commit as it stands: from the draft, unless something was just sent."""
        draft = self.draft
        said = {f"said_{name}": text for name, text in (draft.said or {}).items()}
        kept = {"typed": draft.typed, "outline": draft.outline, "confidence": draft.confidence}
        return CommitForm(self.posed, initial=kept | said)

    def fill(self, sent: QueryDict) -> CommitForm:
        """Put what was sent into the form."""
        self.form = CommitForm(self.posed, sent)
        return self.form

    @property
    def fault(self) -> str:
        """What is wrong with the commit in a sentence, empty without; an entry of a map has its own beside it."""
        apart = {name: sentences for name, sentences in self.form.errors.items() if not name.startswith("said_")}
        return " ".join(sentence for sentences in apart.values() for sentence in sentences)

    @cached_property
    def reading(self) -> str:
        """How the typed number is read ("read as 250 ms = 0.25 s"); before it can be, nothing."""
        typed = self.form["typed"].value()
        try:
            return judge(self.posed, typed).reading if typed and self.check_kind == "number" else ""
        except Refusal as refusal:
            return str(refusal)

    @property
    def accepted(self) -> str:
        """What the empty field takes."""
        if self.check_kind == "outline":
            return "A few lines; kept while you type."
        unit = self.posed.check.unit
        return f"{'number and unit' if unit else 'a number'}: {forms_of(unit)}"

    @property
    def tolerance_words(self) -> str:
        return grading.percent(self.posed.check.tolerance)

    # The map

    @property
    def longest_prompt(self) -> int:
        """The longest prompt not yet computed, in tokens: it sets the scale of the map form's bars."""
        return max((one.prompt_tokens for one in self.posed.check.requests if not one.decoding), default=1)

    @property
    def prompt_column(self) -> int:
        return pictures.column_tokens(self.longest_prompt, 16)

    @property
    def sum_column(self) -> int:
        return pictures.column_tokens(self.token_limit, 16)

    @property
    def token_limit(self) -> int:
        """The step's token budget."""
        return self.posed.check.limit or max(self.said_total, 1)

    @property
    def said_total(self) -> int:
        return sum(self.said.values())

    @property
    def map_rows(self) -> list[MapRow]:
        requests = self.posed.check.requests
        longest = self.longest_prompt
        rows, group = [], ""
        for request in requests:
            bar = None if request.decoding else pictures.prompt_bar(
                prompt=request.prompt_tokens, computed=request.computed_tokens, cached=request.cached_tokens,
                waiting=request.state == "waiting", longest=longest,
            )
            field = self.form[f"said_{request.name}"]
            rows.append(MapRow(request.name, request.state if request.state != group else "", request.words, bar,
                               field.value() or "", " ".join(field.errors)))
            group = request.state
        return rows

    @cached_property
    def said(self) -> dict[str, int]:
        """The entries of the map that can be read, in the order served."""
        said = {}
        for name, text in self.form.said().items():
            try:
                said |= grading.read_map({name: text}, (name,))
            except grading.UnreadEntries:
                continue
        return said

    @property
    def sum_wide(self) -> Drawing:
        return pictures.map_sum(self.said, self.token_limit, width=MEASURE)

    @property
    def sum_narrow(self) -> Drawing:
        return pictures.map_sum(self.said, self.token_limit, width=NARROW)

    @property
    def echo(self) -> str:
        return map_text(self.said)

    def typed(self) -> dict[str, Any]:
        """What stands in the form's fields, readable or not, as a draft keeps it (without what no database can)."""
        confidence = kept(self.form, "confidence", 2)
        said = {name: kept(self.form, f"said_{name}", 60).strip() for name in self.form.request_names()}
        return {
            "typed": kept(self.form, "typed", 200),
            "outline": kept(self.form, "outline", 20_000),
            "said": {name: text for name, text in said.items() if text},
            "confidence": int(confidence) if confidence in map(str, CONFIDENCES) else None,
        }

    def commit(self) -> dict[str, Any]:
        """What the valid form commits, as an attempt keeps it."""
        form, judgement = self.form, self.form.judgement
        value = judgement.value if judgement and self.check_kind == "number" else None
        expected = self.posed.check.expected if value is not None else None
        return self.typed() | {
            "aloud": form.cleaned_data["aloud"], "values": self.posed.values,
            "digest": self.posed.digest, "value": value, "ratio": value / expected if expected else None,
            "within": judgement.within if judgement else None,
        }

    # After the commit

    @cached_property
    def judgement(self) -> grading.Judgement | None:
        """The committed number or map beside the answer; None when the answer was only said or outlined, or when the
        question asks for another unit or other requests by now."""
        typed = self.attempt.said if self.check_kind == "map" else self.attempt.typed
        try:
            return judge(self.posed, typed) if typed and self.check_kind != "outline" else None
        except Refusal:
            return None

    @property
    def mine(self) -> str:
        """What the reader committed, as it is set beside the staff answer."""
        value = self.judgement.value
        return map_text(value) if self.check_kind == "map" else say(value, self.posed.check.unit, 4)

    @property
    def staffs(self) -> str:
        expected = self.posed.check.expected
        return map_text(expected) if self.check_kind == "map" else say(expected, self.posed.check.unit)

    @property
    def missed(self) -> str:
        """The label of the derivation's line that the committed number leaves out, empty when none explains it."""
        if self.judgement is None or self.check_kind != "number" or self.judgement.within:
            return ""
        return left_out(self.posed.lines, self.judgement.value)

    @property
    def gist(self) -> Gist | None:
        """How the answer comes about in a small picture, with the committed number in it."""
        number = self.judgement is not None and self.check_kind == "number"
        return gist_of(self.posed, self.judgement.value if number else None)

    @property
    def derivation(self) -> list[dict[str, Any]]:
        """The derivation's pieces in order, each HTML or the lines of a run."""
        return [{"html": piece} if isinstance(piece, str) else {"lines": piece} for piece in self.posed.derivation]

    @property
    def map_verdict(self) -> str:
        entries = self.judgement.entries
        return f"{sum(entry.right for entry in entries)} of {len(entries)} right"

    @property
    def ticks(self) -> list[str]:
        """The ids of the rubric points ticked so far."""
        return [point["id"] for point in self.posed.rubric if point["id"] in (self.draft.ticks or [])]

    @cached_property
    def suggestion(self) -> tuple[Rating | None, str]:
        """The grade that Space takes and why. An untouched rubric says nothing: then the number alone suggests."""
        points, check = len(self.posed.rubric), self.posed.check
        if not self.ticks:
            if self.judgement is None:
                return None, f"0 of {points} points"
            rating = Rating.GOOD if self.judgement.within else Rating.HARD if self.judgement.near else Rating.AGAIN
            return rating, grading.words_of(self.judgement, check.tolerance)
        rating, reason = grading.suggest_grade(
            self.judgement, ticked=len(self.ticks), points=points, tolerance=check.tolerance if check else 0,
            seconds=self.attempt.seconds, minutes=self.question.minutes,
        )
        return Rating(rating), reason


def map_text(tokens: dict[str, int]) -> str:
    """A {request: tokens} map as the engine's own notation has it."""
    return "{" + ", ".join(f"{name}: {count:,}" for name, count in tokens.items()) + "}"
