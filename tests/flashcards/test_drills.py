"""Drills by filters: what they take, in which order, and what is done of one, by its address and the log alone."""
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.http import QueryDict

from accounts.models import User
from flashcards import services
from flashcards.drills import Drill, Round, drill_of, instant_words, matching
from flashcards.models import Card, Rating
from questions.models import Note, Question, Topic
from tests.flashcards.conftest import NOON, write_questions

DAY = timedelta(days=1)
MONDAY = NOON.date()
SINCE = Drill(since=NOON)


@pytest.fixture
def cards(ada: User) -> dict[str, Card]:
    """Six questions of Ada's, the last two of another topic and kind, and a number with two sides; q6 is new."""
    write_questions(6)
    kernels = Topic.objects.create(slug="kernels", title="Kernels", position=2)
    Question.objects.filter(slug__in=["q5", "q6"]).update(topic=kernels, kind="size")
    Question.objects.filter(slug="q5").update(runs={"a": {"lab": "roofline"}})
    Note.objects.create(slug="n", topic=kernels, ask="How many?", value=1, accept=[1, 1], origin="here")
    services.ensure_cards(ada)
    found = {card.item.slug + card.direction[0] * bool(card.note_id): card for card in Card.objects.all()}
    # Answered so that each has its own recall today: q1 and q2 are due, the others are not.
    for slug, rating, days in (("q1", 1, 4), ("q2", 3, 2), ("q3", 3, 1), ("q4", 4, 1), ("q5", 4, 2), ("nf", 4, 1)):
        answer(found[slug], Rating(rating), NOON - days * DAY)
    return found


def answer(card: Card, rating: Rating, now: datetime) -> None:
    card.refresh_from_db()
    assert services.answer_card(card, rating, ordinal=card.next_ordinal, now=now)


def line(ada: User, drill: Drill = SINCE, now: datetime = NOON) -> list[str]:
    return [card.item.slug + card.direction[0] * bool(card.note_id) for card in Round(ada, drill, now).line]


@pytest.mark.parametrize(("drill", "slugs"), [
    (Drill(), {"q1", "q2", "q3", "q4", "q5", "n"}),
    (Drill(topic=("kernels",)), {"q5", "n"}),
    (Drill(topic=("kernels", "scheduling"), kind=("explain", "number")), {"q1", "q2", "q3", "q4", "n"}),
    (Drill(lab=("roofline",)), {"q5"}),
    (Drill(level=("staff",), kind=("size",)), {"q5"}),
    (Drill(level=("senior",)), set()),
    (Drill(missed="week"), {"q1"}),
    (Drill(topic=("kernels",), new=True), {"q5", "q6", "n"}),
    (Drill(topic=("no-such",)), set()),
])
def test_filters_leave_what_passes_each_of_them(ada: User, cards: dict[str, Card], drill: Drill, slugs: set[str]):
    assert {card.item.slug for card in matching(ada, drill, MONDAY)} == slugs


def test_what_is_due_comes_first_then_the_lowest_recall_then_what_is_new(ada: User, cards: dict[str, Card]):
    assert line(ada) == ["q1", "q2", "q3", "q5", "q4", "nf"]
    assert line(ada, replace(SINCE, topic=("kernels",), new=True)) == ["q5", "nf", "q6"]


def test_missed_is_of_the_last_seven_study_days(ada: User, cards: dict[str, Card]):
    drill = replace(SINCE, missed="week")
    assert line(ada, drill, NOON + 2 * DAY) == ["q1"]  # missed 4 days before NOON
    assert line(ada, drill, NOON + 3 * DAY) == []
    review = cards["q1"].reviews.get()
    services.amend(cards["q1"], review.pk, Rating.HARD, ordinal=2, now=NOON)
    assert line(ada, drill) == []  # as it counts now


def test_suspended_and_put_off_cards_are_left_out(ada: User, cards: dict[str, Card]):
    services.set_suspended(cards["q1"], True, ordinal=2, now=NOON)
    services.bury(cards["q2"], ordinal=2, now=NOON)
    assert line(ada) == ["q3", "q5", "q4", "nf"]
    assert "q2" in line(ada, now=NOON + DAY)


def test_an_answer_since_it_began_is_done_and_an_undo_brings_it_back(ada: User, cards: dict[str, Card]):
    later = NOON + timedelta(minutes=5)
    answer(cards["q2"], Rating.GOOD, later)
    drill = Round(ada, SINCE, later)
    assert drill.done == {cards["q2"].pk}
    assert drill.done_words == "1 Good"
    assert line(ada, now=later) == ["q1", "q3", "q5", "q4", "nf"]
    assert "q2" in line(ada, Drill(since=later + timedelta(seconds=1)), later)  # another drill, begun later
    services.undo(ada, services.last_action(ada).pk, now=later)
    assert Round(ada, SINCE, later).done == set()


def test_an_early_answer_is_an_ordinary_one_by_the_days_that_passed(ada: User, cards: dict[str, Card]):
    card = cards["q3"]
    card.refresh_from_db()
    before, due = card.stability, card.due_day
    assert due > MONDAY  # early
    answer(card, Rating.GOOD, NOON)
    card.refresh_from_db()
    assert card.reviews.last().kind == "answer"
    assert card.last_day == MONDAY
    assert before < card.stability
    assert services.rebuild_card(card, write=False) == ""


def test_of_a_numbers_sides_one_comes_a_day_unless_nothing_counts(ada: User, cards: dict[str, Card]):
    answer(cards["nr"], Rating.EASY, NOON - 3 * DAY)
    assert [slug for slug in line(ada) if slug.startswith("n")] == ["nr"]
    answer(cards["nf"], Rating.GOOD, NOON - timedelta(hours=1))
    assert [slug for slug in line(ada) if slug.startswith("n")] == ["nf"]
    assert {"nf", "nr"} <= set(line(ada, replace(SINCE, cram=True)))


def test_cramming_moves_nothing_and_is_done_once_looked_at(ada: User, cards: dict[str, Card]):
    card, drill = cards["q2"], replace(SINCE, cram=True)
    card.refresh_from_db()
    stood, rows = [getattr(card, name) for name in Card.DERIVED], card.reviews.count()
    attempt = services.commit_attempt(card, ordinal=2, now=NOON, outline="This.")
    assert services.leave_uncounted(card, ordinal=2, now=NOON, attempt_pk=attempt.pk)
    card.refresh_from_db()
    assert ([getattr(card, name) for name in Card.DERIVED], card.reviews.count()) == (stood, rows)
    assert Round(ada, drill, NOON).done == {card.pk}
    assert "q2" not in line(ada, drill)
    assert "q2" in line(ada, SINCE)  # where it counts it is still to be answered


def test_put_off_cards_come_last(ada: User, cards: dict[str, Card]):
    drill = Round(ada, SINCE, NOON)
    assert drill.next_card().pk == cards["q1"].pk
    assert drill.next_card((cards["q1"].pk,)).pk == cards["q2"].pk
    assert drill.next_card(tuple(card.pk for card in drill.line)).pk == cards["q1"].pk


def test_a_stranger_drills_nothing_of_mine(eve: User, cards: dict[str, Card]):
    assert Round(eve, SINCE, NOON).line == []


def test_an_address_carries_the_whole_drill():
    drill = Drill(("kernels", "sizing"), ("size",), ("staff",), ("roofline",), "week", True, True, NOON)
    query = QueryDict(mutable=True)
    query.update(drill.fields)
    assert drill_of(query) == drill
    assert drill_of(QueryDict("topic=kernels&topic=sizing")).topic == ("kernels", "sizing")
    assert instant_words(datetime(2026, 3, 2, 12, tzinfo=UTC)) == "2026-03-02T12:00:00.000Z"


@pytest.mark.parametrize("sent", [
    "since=yesterday", "since=2026-03-02", "since=2026-03-02T12:00:00", "since=0001-01-01T00:00:00%2B14:00",
    "missed=year", "topic=%00", "cram=yes",
])
def test_what_is_no_part_of_a_drill_is_left_out(sent: str):
    assert drill_of(QueryDict(sent)) == Drill()
