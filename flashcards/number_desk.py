"""A number card in a review: the meaning or the number in front, an estimate or a flip, then both."""
from functools import cached_property
from typing import Any

from django.http import QueryDict
from django.utils.safestring import SafeString, mark_safe

from calculators.models.base import Refusal
from calculators.models.quantity import say
from calculators.pictures import NARROW, Drawing
from flashcards import pictures
from flashcards.desk import Desk
from flashcards.forms import EstimateForm, kept
from flashcards.models import Direction, Rating
from questions import own, related, services
from questions.content import digest
from questions.grading import Judgement
from questions.models import Note, Question
from questions.notes import shown_value

RULER = 560


def words_html(note: Note, text: str) -> SafeString:
    """A line of a number card as safe HTML; a person's own may hold formulas."""
    return mark_safe(own.html_of(text, inline=True)) if note.owner_id else services.inline(text)


class NumberDesk(Desk):
    """One turn with a number card."""

    check_kind = "number"

    @property
    def note(self) -> Note:
        return self.card.note

    @property
    def reverse(self) -> bool:
        """Whether the number stands in front and its meaning is asked."""
        return self.card.direction == Direction.REVERSE

    @property
    def title(self) -> str:
        """What stands in front, in plain words."""
        return services.value_with_unit(self.note) if self.reverse else self.note.ask.replace("`", "")

    @property
    def ask_html(self) -> SafeString:
        return words_html(self.note, self.note.front or self.note.ask)

    @property
    def origin_html(self) -> SafeString:
        return words_html(self.note, self.note.origin)

    @property
    def cue_html(self) -> SafeString:
        return services.inline(self.note.cue)

    @property
    def value(self) -> str:
        """The number as the card writes it, without its unit."""
        return shown_value(self.note)

    @property
    def size(self) -> str:
        """How large it can be written: a long one takes a smaller type."""
        return "" if len(self.value) <= 5 else "long" if len(self.value) <= 7 else "longest"

    @cached_property
    def form(self) -> EstimateForm:
        """The estimate as it stands: from the draft, unless something was just sent."""
        return EstimateForm(self.note, initial={"typed": self.draft.typed})

    def fill(self, sent: QueryDict) -> EstimateForm:
        """Put what was sent into the form; a card asked from its number takes no estimate."""
        self.form = EstimateForm(self.note, {"aloud": "1"} if self.reverse else sent)
        return self.form

    @property
    def fault(self) -> str:
        """The sentence about what was typed, empty without one."""
        return " ".join(self.form.errors.get("typed", ())) if self.form.is_bound else ""

    @property
    def reading(self) -> str:
        """How the estimate is read; before it can be, nothing."""
        typed = self.form["typed"].value()
        try:
            return services.judge_note(self.note, typed).reading if typed else ""
        except Refusal as refusal:
            return str(refusal)

    @property
    def accepted(self) -> str:
        """What the empty field takes."""
        return f"a number{f' in {self.note.unit}' if self.note.unit else ''}, or one with its unit"

    def typed(self) -> dict[str, Any]:
        """What stands in the field, readable or not, as a draft keeps it."""
        return {"typed": kept(self.form, "typed", 200)}

    def commit(self) -> dict[str, Any]:
        """What the valid form commits, as an attempt keeps it."""
        judgement = self.form.judgement
        return self.typed() | {
            "aloud": self.form.cleaned_data["aloud"], "digest": digest(services.document_of(self.note)),
            "value": judgement.value if judgement else None,
            "ratio": judgement.value / self.note.value if judgement and self.note.value else None,
            "within": judgement.within if judgement else None,
        }

    # After the flip

    @cached_property
    def judgement(self) -> Judgement | None:
        """The estimate beside the value; None when the card was just flipped, or the value is another by now and takes
        no such estimate."""
        try:
            return services.judge_note(self.note, self.attempt.typed) if self.attempt.typed else None
        except Refusal:
            return None

    @property
    def range_words(self) -> str:
        """What an estimate was taken for right by: "within 125 to 135"."""
        low, high = self.note.accept
        return f"within {say(low, '', 4)} to {say(high, '', 4)}" if low < high else "exactly"

    @property
    def mine(self) -> str:
        return say(self.judgement.value, self.note.unit, 4)

    @property
    def verdict(self) -> str:
        """How the estimate stands, after it: "is 0.88×, just outside."."""
        judged = self.judgement
        if not judged.direction:
            return "is the number itself."
        side = "in the range" if judged.within else "just outside" if judged.near else "outside"
        if not judged.ratio:
            return f"is {side}."
        ratio = judged.value / judged.expected
        return f"is {say(round(ratio, 2), '×', 3) if ratio >= 0.1 else say(ratio, '×', 2)}, {side}."

    @property
    def mistaken(self) -> str:
        """What the estimate would have been right for, as a sentence; empty without such a card."""
        other = None if self.judgement.within else services.mistaken_for(self.note, self.judgement.value)
        return f"{shown_value(other)} is another: {other.ask.replace('`', '')}." if other else ""

    @property
    def ruler_wide(self) -> Drawing | None:
        return self.ruler(RULER)

    @property
    def ruler_narrow(self) -> Drawing | None:
        return self.ruler(NARROW)

    def ruler(self, width: int) -> Drawing | None:
        """The estimate and the accepted range from half to twice the value; None where a ratio says nothing."""
        if self.judgement.ratio is None:
            return None
        return pictures.estimate_ruler(self.note.value, self.note.accept, self.judgement.value, self.value, width=width)

    @cached_property
    def source(self) -> dict[str, str]:
        """Where the number was read: name, where, url, note; {} without."""
        return services.source_row({"id": self.note.slug, **self.note.source}) if self.note.source else {}

    @cached_property
    def lab(self) -> tuple[str, str]:
        """The address and the title of the lab that computes it."""
        return services.lab_of_note(self.note)

    @property
    def questions(self) -> list[Question]:
        """The questions that lean on it."""
        return related.questions_of(self.note)

    @property
    def ticks(self) -> list[str]:
        return []

    @property
    def suggestion(self) -> tuple[Rating | None, str]:
        """In the range Good, within three times its reach Hard, else Again; a flip alone suggests nothing."""
        if self.judgement is None:
            return None, ""
        rating = Rating.GOOD if self.judgement.within else Rating.HARD if self.judgement.near else Rating.AGAIN
        return rating, ""

    @property
    def space_takes(self) -> Rating:
        """After a flip Space takes Good, as it does in Anki."""
        return self.suggestion[0] or Rating.GOOD
