"""The Questions page: every question by topic as it stands with its person, and the filters in the address."""
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import groupby

from django.http import QueryDict

from accounts.models import User
from flashcards import queue
from flashcards.filters import Facet, Filtered, filtered
from flashcards.leeches import is_leech
from flashcards.memory import predicted_recall
from flashcards.models import Card, State
from flashcards.number_list import MARKS, standing
from flashcards.study_day import study_day
from questions.figures import FIGURE
from questions.models import Question, Topic

KNOWN_DAYS = 21  # a memory that lasts so long is known; Anki calls it mature
STATES = ("new", "learning", "due", "known", "lapsed", "suspended")
MOST_TEXT = 100


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """A question as it stands with its person; `recall` is predicted for today, None for what is not in the drill."""

    question: Question
    card: Card
    state: str  # one of STATES but "lapsed"
    lapsed: bool  # forgotten before, and not yet known again
    leech: bool  # forgotten again and again
    next_words: str  # "in 4 d"; empty for what is new, due or suspended
    recall: float | None

    @property
    def mark(self) -> str:
        return "diamond" if self.lapsed else MARKS.get(self.state, "")

    @property
    def lab(self) -> str:
        return lab_slug(self.question)

    @property
    def words(self) -> str:
        """What is searched: what the question shows before it is answered, and the flags that its sources name."""
        flags = " ".join(source.get("flag", "") for source in self.question.sources)
        return " ".join([self.question.title, self.question.slug, FIGURE.sub(" ", self.question.ask), flags]).casefold()


class QuestionList:
    """What the page shows of the address's filters and text."""

    def __init__(self, user: User, now: datetime, sent: QueryDict) -> None:
        profile = user.profile
        today = study_day(now, profile.zone, profile.day_start)
        cards = Card.objects.filter(user=user, note=None).select_related("question__topic")
        offered = [card for card in cards if shown_to(card)]
        offered.sort(key=lambda card: (card.question.topic.position, card.question.position, card.pk))
        parameters = queue.parameters(profile)
        self.rows = [row_of(card, today, now, parameters, profile.leech_lapses) for card in offered]
        self.text = " ".join(sent.get("q", "").replace("\0", "").split())[:MOST_TEXT]
        found = [row for row in self.rows if all(word in row.words for word in self.text.casefold().split())]
        self.filtered: Filtered = filtered(found, facets(self.rows), sent, keep=("q",))
        self.sent = sent

    @property
    def topics(self) -> list[tuple[Topic, list[QuestionRow]]]:
        """The rows that the filters and the text leave, by topic."""
        return [(topic, list(rows)) for topic, rows in groupby(self.filtered.items, lambda row: row.question.topic)]

    @property
    def kept(self) -> list[tuple[str, str]]:
        """The filters chosen, as the search form carries them."""
        return [(name, value) for name, values in self.sent.lists() if name in FACETS for value in values]

    @property
    def query(self) -> str:
        """The address's query, as another page of the same questions takes it."""
        return f"?{self.sent.urlencode()}" if self.sent else ""

    @property
    def without_text(self) -> str:
        """The address's query without the text; the filters stay."""
        query = self.sent.copy()
        query.pop("q", None)
        return f"?{query.urlencode()}"


def shown_to(card: Card) -> bool:
    """Whether the question is listed: one that is drilled, or that its person has begun."""
    return not (card.question.retired or card.question.draft) or card.state != State.NEW


def row_of(
    card: Card, today: date, now: datetime, parameters: tuple[float, ...], leech_lapses: int
) -> QuestionRow:
    """The card's row; `leech_lapses` make a leech."""
    state, known = standing(card, today, now), (card.stability or 0) >= KNOWN_DAYS
    if state == "lapsed":
        state = "due"
    elif state == "learning" and known:
        state = "known"
    wait = card.due_at - now if card.due_at else card.due_day - today if card.due_day else timedelta()
    return QuestionRow(
        question=card.question, card=card, state=state,
        lapsed=bool(card.lapses) and not known and not card.suspended,
        leech=is_leech(card.lapses, leech_lapses),
        next_words=f"in {queue.label(wait)}" if state in ("learning", "known") else "",
        recall=None if state in ("new", "suspended") else predicted_recall(card.memory, today, parameters),
    )


def lab_slug(question: Question) -> str:
    """The lab that opens from the question; empty without one."""
    runs = sorted(question.runs.values(), key=lambda run: not run.get("shown"))
    return runs[0].get("lab", "") if runs else ""


FACETS = ("topic", "kind", "level", "lab", "state")


def facets(rows: list[QuestionRow]) -> list[Facet]:
    """What the page can be filtered by."""
    def choices(values: Iterable[str], of: Callable[[QuestionRow], str]) -> list[tuple]:
        return [(value, value, lambda row, value=value: of(row) == value) for value in values]

    topics, labs = Topic.objects.values_list("slug", flat=True), sorted({row.lab for row in rows} - {""})
    return [
        Facet("topic", "Topic", choices(topics, lambda row: row.question.topic.slug)),
        Facet("kind", "Kind", choices(Question.Kind.values, lambda row: row.question.kind)),
        Facet("level", "Level", choices(Question.Level.values, lambda row: row.question.level)),
        Facet("state", "State", [
            (state, state, lambda row, state=state: row.lapsed if state == "lapsed" else row.state == state)
            for state in STATES
        ] + [("leech", "leech", lambda row: row.leech)]),
        Facet("lab", "Lab", choices(labs, lambda row: row.lab)),
    ]
