"""What Today says and draws about a person's study day."""
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from statistics import mean

from django.db.models.functions import Coalesce
from django.http import QueryDict
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString

from accounts.models import Profile
from calculators.labs import LABS
from calculators.labs.base import Lab
from calculators.pictures import NARROW, Drawing
from flashcards import backlog, drills, memory, pictures, queue
from flashcards.catch_up_page import CatchUp
from flashcards.drills import Drill
from flashcards.models import Card, Direction, Prediction, Rating, Review
from flashcards.queue import Day, Place
from flashcards.study_day import study_day
from flashcards.templatetags.flashcards_tags import day_words, minutes_words
from questions.models import Note
from questions.own import line_of
from questions.services import inline, value_with_unit

SHOWN_IN_LINE = 5
MORE_KINDS = ("reviews", "new questions", "new numbers")  # what a limit of the day keeps back
MOST_MORE, USUAL_MORE = 100, 5
READY_FROM = 0.8  # predicted recall on the day of the interview
LEAST_OF_A_TOPIC = 3  # cards begun before a topic's mean recall says anything
WIDE = 860


@dataclass(frozen=True, slots=True)
class LineRow:
    """A card that is due, as the table shows it; a new one has no recall yet."""

    card: Card
    front: SafeString
    recall: float | None
    ruler: Drawing | None
    seconds: int


@dataclass(frozen=True, slots=True)
class Ready:
    """Of each topic how many questions are known on a day to come, and how many there are, {topic: (known, all)}."""

    topics: dict[str, tuple[int, int]]

    @property
    def known(self) -> int:
        return sum(known for known, _ in self.topics.values())

    @property
    def total(self) -> int:
        return sum(total for _, total in self.topics.values())

    @property
    def weakest(self) -> str:
        """The topic with the smallest share: "scale-out, 3 of 9"."""
        slug, (known, total) = min(self.topics.items(), key=lambda item: (item[1][0] / item[1][1], item[0]))
        return f"{slug}, {known} of {total}"


class Overview:
    """Today's page: the day in sentences and pictures."""

    def __init__(self, day: Day, profile: Profile) -> None:
        self.day, self.profile = day, profile

    @property
    def first_visit(self) -> bool:
        """Whether nothing was ever answered: all there is is new."""
        day = self.day
        under_way = day.due or day.learning_due or any(count for _, count in day.forecast)
        return not (under_way or day.done_today or day.streak)

    @cached_property
    def catch_up(self) -> CatchUp | None:
        """The usual plan for what waits, where a plan helps and can be."""
        page = CatchUp(self.profile.user, self.day.study_day, QueryDict())
        return page if page.backlog.is_heavy and page.plan else None

    @cached_property
    def spread(self) -> tuple[Review, int] | None:
        """What one act moved today, a plan or more of what was held back: one of its rows, and how many cards."""
        return backlog.spread_today(self.profile.user, self.day.study_day)

    @property
    def days_to_interview(self) -> int | None:
        """Days from today to the interview; None without one ahead."""
        on = self.profile.interview_day
        return (on - self.day.study_day).days if on and on >= self.day.study_day else None

    @cached_property
    def ready(self) -> Ready:
        """How many of the bank's questions are known on the day of the interview, if nothing is answered until then."""
        parameters, topics = queue.parameters(self.profile), defaultdict(list)
        drilled = Card.objects.filter(user=self.profile.user, question__draft=False, question__retired=False)
        for slug, last_day, stability in drilled.values_list("question__topic__slug", "last_day", "stability"):
            since = max((self.profile.interview_day - last_day).days, 0) if stability else 0
            topics[slug].append(bool(stability) and memory.recall_after(since, stability, parameters) >= READY_FROM)
        return Ready({slug: (sum(known), len(known)) for slug, known in topics.items()})

    @property
    def count(self) -> int:
        """What the window's title counts: what is due, as the header does."""
        return len(self.day.due) + len(self.day.learning_due)

    # More than the limits give, and what else there is

    @property
    def more_kinds(self) -> list[tuple[str, int]]:
        """What a limit keeps back of which more can be had today: [("reviews", 60)]."""
        return [(held.kind, held.count) for held in self.day.held_back if held.kind in MORE_KINDS]

    @property
    def usual_more(self) -> int:
        return USUAL_MORE

    @property
    def latest_row(self) -> int:
        """The key of the person's latest row, by which what is sent twice is known."""
        rows = Review.objects.filter(card__user=self.profile.user).order_by("-pk")
        return rows.values_list("pk", flat=True).first() or 0

    @cached_property
    def missed_count(self) -> int:
        """How many cards were graded Again within the last seven study days."""
        return len(drills.matching(self.profile.user, Drill(missed="week"), self.day.study_day))

    @cached_property
    def weak_topic(self) -> tuple[str, float, int] | None:
        """The topic with the lowest mean recall today, that mean, and of how many cards; None before there is any."""
        parameters, by_topic = queue.parameters(self.profile), defaultdict(list)
        begun = Card.objects.filter(user=self.profile.user, suspended=False, stability__isnull=False)
        topic = Coalesce("question__topic__slug", "note__topic__slug")
        for slug, last_day, stability in begun.values_list(topic, "last_day", "stability"):
            if slug:
                since = max((self.day.study_day - last_day).days, 0)
                by_topic[slug].append(memory.recall_after(since, stability, parameters))
        means = [(mean(recalls), slug) for slug, recalls in by_topic.items() if len(recalls) >= LEAST_OF_A_TOPIC]
        if not means:
            return None
        lowest, slug = min(means)
        return slug, lowest, len(by_topic[slug])

    @cached_property
    def untried_lab(self) -> Lab | None:
        """The first lab of the index of which nothing is recorded: no step said first, no question of it answered."""
        user = self.profile.user
        tried = set(Prediction.objects.filter(user=user).values_list("lab", flat=True))
        begun = Card.objects.filter(user=user, last_day__isnull=False, question__isnull=False)
        tried |= {drills.lab_of(card) for card in begun.select_related("question")}
        return next((lab for slug, lab in LABS.items() if slug not in tried), None)

    @property
    def lead(self) -> str:
        """The day in a sentence or two: what is due and how long it should take, or when the next falls due."""
        day = self.day
        due, new = len(day.due) + len(day.learning_due), len(day.new_today)
        if due or new:
            counts = ", ".join([f"{due} due"] * bool(due) + [f"{new} new"] * bool(new))
            return f"{counts}. About {minutes_words(day.minutes)}{' at your own pace' if day.own_pace else ''}."
        return f"Nothing is due. {next_words(day, self.profile)}"

    @property
    def rows(self) -> list[LineRow]:
        return [self.row(place) for place in self.day.first_in_line[:SHOWN_IN_LINE]]

    def row(self, place: Place) -> LineRow:
        new = place.recall is None
        ruler = None if new else pictures.recall_ruler(place.recall, self.profile.desired_retention)
        return LineRow(place.card, front(place.card), place.recall, ruler, place.seconds)

    @property
    def more(self) -> str:
        """What stands in line behind those shown: "4 questions, 5 numbers"."""
        rest = self.day.first_in_line[SHOWN_IN_LINE:]
        kinds = {"own": "own card", "number": "number"}
        nouns = Counter(kinds.get(place.card.kind_words, "question") for place in rest)
        counts = [(noun, nouns[noun]) for noun in ("question", "number", "own card") if nouns[noun]]
        return ", ".join(f"{count} {noun}{'' if count == 1 else 's'}" for noun, count in counts)

    @property
    def numbers_alone(self) -> str:
        """What a sitting with the number cards alone would be, "5 short cards, 1 min"; empty when that is all there
        is, or nothing."""
        numbers = [place for place in self.day.first_in_line if place.card.note_id]
        if not numbers or len(numbers) == len(self.day.first_in_line):
            return ""
        minutes = max(round(sum(place.seconds for place in numbers) / 60), 1)
        noun = "short" if any(place.card.kind_words == "own" for place in numbers) else "number"
        return f"{len(numbers)} {noun} card{'' if len(numbers) == 1 else 's'}, {minutes} min"

    @cached_property
    def forecast(self) -> dict[str, Drawing] | None:
        """The coming days, drawn wide and for a phone; None while nothing falls due in any of them."""
        days, limit = self.day.forecast, self.profile.reviews_per_day
        if not any(count for _, count in days):
            return None
        return {"wide": pictures.forecast(days, limit, width=WIDE),
                "narrow": pictures.forecast(days, limit, width=NARROW, name_every=2)}

    @property
    def forecast_words(self) -> str:
        """How many cards fall due, and how many days are over the limit."""
        counts = [count for _, count in self.day.forecast]
        over = sum(count > self.profile.reviews_per_day for count in counts)
        cards = f"{sum(counts)} card{'' if sum(counts) == 1 else 's'}"
        days = "no day is" if not over else "one day is" if over == 1 else f"{over} days are"
        return f"{cards}; {days} over your limit"

    @property
    def tally(self) -> tuple[Drawing, ...]:
        return pictures.tally(self.day.streak, today_open=not self.day.studied_today)

    @property
    def streak_words(self) -> str:
        """The days in a row, and what today makes of them."""
        days = f"{self.day.streak} day{'' if self.day.streak == 1 else 's'}"
        if self.day.studied_today:
            return days
        if self.day.streak and self.day.missed:
            days += f", paused for {'one day' if self.day.missed == 1 else f'{self.day.missed} days'}"
        return f"{days}; today makes {self.day.streak + 1}" if self.day.streak else "today makes 1"


def front(card: Card) -> SafeString:
    """What a card asks from, as a line: the question's title, a number's meaning, or the number."""
    if card.note_id is None:
        return conditional_escape(card.question.title)
    if card.note.kind != Note.Kind.NUMBER:
        return conditional_escape(line_of(card.note.back) if card.direction == Direction.REVERSE else card.note.ask)
    if card.direction == Direction.REVERSE:
        return conditional_escape(value_with_unit(card.note))
    return conditional_escape(card.note.ask.replace("`", "")) if card.note.owner_id else inline(card.note.ask)


def next_words(day: Day, profile: Profile) -> str:
    """When the next card falls due: "The next falls due tomorrow at 04:00."; with nothing to come, that."""
    if day.next_due is None:
        return "Nothing is left to come back."
    local = profile.local(day.next_due)
    when = day_words(study_day(day.next_due, profile.zone, profile.day_start), day.study_day)
    return f"The next falls due {f'at {local:%H:%M}' if when == 'today' else when + f' at {local:%H:%M}'}."


def recorded_words(card: Card, rating: Rating, now: datetime) -> str:
    """What an answer did: "Recorded: Good. Next on 22 December."."""
    return f"Recorded: {rating.label}. Next {due_words(card, now)}."


def due_words(card: Card, now: datetime) -> str:
    """When a card comes back: "at 14:10", "tomorrow", "on 22 December"; empty for one that is not begun."""
    profile = card.user.profile
    if card.due_at:
        return f"at {profile.local(card.due_at):%H:%M}"
    today = study_day(now, profile.zone, profile.day_start)
    return day_words(card.due_day, today) if card.due_day else ""


def action_words(review: Review) -> str:
    """A row of the log as the person knows it: "Good" for an answer, else what was done."""
    if review.kind in (Review.Kind.ANSWER, Review.Kind.IMPORT):
        return review.get_rating_display() or review.get_kind_display()
    return "Add to drill" if review.asked else review.get_kind_display()
