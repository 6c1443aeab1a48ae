"""The page of catching up, what Today shows after a break, and what both do with what is typed or sent twice."""
import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.http import QueryDict
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from calculators.labs import LABS
from calculators.pictures import Bar, Text
from flashcards import catch_up_pictures, queue, services
from flashcards.catch_up_page import CatchUp
from flashcards.catch_up_pictures import DayBar
from flashcards.models import Card, Prediction, Rating, Review
from flashcards.overview import Overview
from flashcards.study_day import study_day
from questions.models import Question
from tests.flashcards.conftest import NOON

CATCH_UP, TODAY = reverse("flashcards:catch_up"), reverse("flashcards:today")
DAY = timedelta(days=1)
MONDAY = NOON.date()


def text(response: object) -> str:
    assert response.status_code == 200
    return response.content.decode()


@pytest.fixture
def away(ada: User, deal: Callable[[int], list[Card]]) -> list[Card]:
    """Thirty cards that Ada answered Good three weeks ago."""
    cards = deal(30)
    for card in cards:
        assert services.answer_card(card, Rating.GOOD, ordinal=1, now=timezone.now() - 21 * DAY)
    return cards


def shown(ada: User, address: str = "") -> CatchUp:
    return CatchUp(ada, study_day(timezone.now(), "UTC", ada.profile.day_start), QueryDict(address))


def hidden(page: str) -> dict[str, str]:
    """The hidden fields of the form that applies a plan."""
    form = page.split('method="post" action="/catch-up/"')[1].split("</form>")[0]
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form))
    fields.pop("csrfmiddlewaretoken", None)
    return fields


def test_after_three_weeks_today_says_what_is_still_known_and_how_to_go_on(as_ada: Client, away: list[Card]):
    page = text(as_ada.get(TODAY))
    # Good at first: a stability of 2.3065 days (w2), so 0.702 after 21 days by FSRS-6's curve, worked by hand.
    assert "30 are due after three weeks away. You would still know about 21 of them." in page
    assert "All at once they would take about two hours." in page
    assert "Use this plan" in page
    assert "Start without one" in page
    assert "your limit of 24 reviews a day holds the rest back" in page
    assert "paused for 20 days" in page


def test_more_than_any_plan_holds_is_said_and_today_goes_on(as_ada: Client, away: list[Card]):
    Question.objects.update(minutes=11 * 60)  # one of them takes more than the ten hours of a plan's longest day
    page = text(as_ada.get(CATCH_UP))
    assert "30 are due, more than 90 days of 10 hours hold at your pace. Your limit of 24 reviews a day" in page
    assert "Use this plan" not in page
    today = text(as_ada.get(TODAY))
    assert "Start" in today
    assert "Use this plan" not in today
    text(as_ada.post(CATCH_UP, {"days": "9", "seal": "x"}, follow=True))
    text(as_ada.get(CATCH_UP, {"days": "9", "minutes": "9"}, headers={"HX-Request": "true"}))


def test_an_ordinary_day_has_no_plan(as_ada: Client, ada: User, deal: Callable):
    deal(2)
    assert "Use this plan" not in text(as_ada.get(TODAY))
    assert "Nothing waits" in text(as_ada.get(CATCH_UP))


def test_the_usual_plan_keeps_the_limit_and_its_days_follow_the_minutes(ada: User, away: list[Card]):
    assert (len(shown(ada).plan.days), shown(ada).plan.minutes) == (3, 30)  # 90 minutes over 3 days
    assert len(shown(ada, "minutes=9").plan.days) == 10
    assert shown(ada, "days=6").plan.minutes == 15


def test_of_two_fields_the_changed_one_counts(ada: User, away: list[Card]):
    was = "was_days=3&was_minutes=30"
    assert len(shown(ada, f"days=3&minutes=9&{was}").plan.days) == 10
    assert shown(ada, f"days=6&minutes=30&{was}").plan.minutes == 15
    both = shown(ada, f"days=5&minutes=9&{was}")  # 5 days of 9 minutes are too few for 90
    assert (len(both.plan.days), both.both_words) == (10, "At 9 minutes a day it takes 10 days.")


@pytest.mark.parametrize(("sent", "sentence"), [
    ("days=none", "A whole number of days from 1 to 90."),
    ("minutes=0", "A whole number of minutes from 1 to 600."),
    ("minutes=2", "2 minutes a day are not enough beside what falls due anyway"),
    ("days=1", "At your limit of 24 reviews a day it takes 2 days at least."),
])
def test_a_field_that_cant_be_used_says_so_and_keeps_what_was_typed(
    as_ada: Client, away: list[Card], sent: str, sentence: str
):
    page = text(as_ada.get(f"{CATCH_UP}?{sent}"))
    assert sentence in page
    assert f'value="{sent.split("=")[1]}"' in page
    assert "Use this plan" in page  # the usual one


def test_the_button_applies_what_was_shown_once_and_undo_puts_it_back(as_ada: Client, ada: User, away: list[Card]):
    before = list(Card.objects.order_by("pk").values_list("due_day"))
    fields = hidden(text(as_ada.get(f"{CATCH_UP}?days=5")))
    page = text(as_ada.post(CATCH_UP, fields, follow=True))
    assert "Spread out: the last of them come on " in page
    assert "24 cards got another day today." in page  # 6 a day
    assert "6 due" in page
    rows = Review.objects.count()
    assert "Nothing was moved" in text(as_ada.post(CATCH_UP, fields, follow=True))
    assert Review.objects.count() == rows
    row = re.search(r'name="review" value="(\d+)"', page)[1]
    assert "Undone" in text(as_ada.post(reverse("flashcards:undo_catch_up"), {"review": row}, follow=True))
    assert list(Card.objects.order_by("pk").values_list("due_day")) == before
    again = as_ada.post(reverse("flashcards:undo_catch_up"), {"review": row}, follow=True)
    assert "Nothing was undone" in text(again)


@pytest.mark.parametrize("sent", [{}, {"days": "x"}, {"days": "5", "seal": "0" * 16}, {"minutes": "1", "seal": "é"}])
def test_what_no_page_sends_moves_nothing(as_ada: Client, away: list[Card], sent: dict[str, str]):
    assert "Nothing was moved" in text(as_ada.post(CATCH_UP, sent, follow=True))
    assert not Review.objects.filter(kind="set_due").exists()


def test_eve_cannot_undo_what_ada_spread(as_ada: Client, ada: User, eve: User, away: list[Card]):
    as_ada.post(CATCH_UP, hidden(text(as_ada.get(CATCH_UP))))
    row, as_eve = Review.objects.filter(kind="set_due").last(), Client()
    as_eve.force_login(eve)
    as_eve.post(reverse("flashcards:undo_catch_up"), {"review": row.pk})
    assert not Review.objects.filter(kind="undo").exists()


def test_the_title_counts_what_is_due(as_ada: Client, ada: User, away: list[Card]):
    assert "<title>(24) Today · drillapp</title>" in text(as_ada.get(TODAY))  # by the limit, as in the header


def test_with_nothing_due_today_leads_on(as_ada: Client, ada: User, deal: Callable):
    for card in deal(3):
        assert services.answer_card(card, Rating.EASY, ordinal=1, now=timezone.now())
    page = text(as_ada.get(TODAY))
    assert "<title>Today · drillapp</title>" in page
    assert "Nothing is due. The next falls due on " in page
    assert "Drill scheduling</a>, your weakest topic: a mean recall of 1.00 over 3 cards." in page
    assert "A lab you have not tried:" in page
    assert "take a quiz" in page


def test_a_lab_is_tried_once_a_step_was_said_or_a_question_of_it_answered(ada: User, card: Card):
    first, second, third, *_ = LABS
    Prediction.objects.create(user=ada, lab=first, step=1, predicted=1, actual=1, right=True, at=NOON)
    Question.objects.update(runs={"a": {"lab": second}})
    assert Overview(queue.today(ada, NOON), ada.profile).untried_lab == LABS[second]
    assert services.answer_card(card, Rating.EASY, ordinal=1, now=NOON)
    assert Overview(queue.today(ada, NOON), ada.profile).untried_lab == LABS[third]


def test_more_than_the_limit_comes_once_and_first(as_ada: Client, ada: User, deal: Callable):
    deal(6)
    ada.profile.new_questions_per_day = 2
    ada.profile.save()
    page = text(as_ada.get(TODAY))
    sent = {"kind": "new questions", "count": "3", "after": re.search(r'name="after" value="(\d+)"', page)[1]}
    address = reverse("flashcards:bring_more")
    page = text(as_ada.post(address, sent, follow=True))
    assert "3 more today, before the others." in page
    assert "5 new." in page
    assert "3 cards came into today’s line past its limits." in page
    assert "None came" in text(as_ada.post(address, sent, follow=True))
    assert Review.objects.count() == 3


@pytest.mark.parametrize("count", ["", "0", "101", "five", "１"])
def test_a_count_that_is_none_is_asked_for_again(as_ada: Client, ada: User, deal: Callable, count: str):
    deal(6)
    ada.profile.new_questions_per_day = 2
    ada.profile.save()
    sent = {"kind": "new questions", "count": count, "after": "0"}
    page = text(as_ada.post(reverse("flashcards:bring_more"), sent, follow=True))
    assert "A whole number of cards from 1 to 100." in page
    assert f'value="{count or "?"}" aria-invalid="true"' in page
    assert not Review.objects.exists()


def test_an_interview_ahead_is_named_with_its_days(as_ada: Client, ada: User):
    today = study_day(timezone.now(), "UTC", ada.profile.day_start)
    ada.profile.interview_day = today + 5 * DAY
    ada.profile.save()
    assert "interview, in 5 days" in text(as_ada.get(TODAY))
    ada.profile.interview_day = today - DAY
    ada.profile.save()
    assert "interview, in" not in text(as_ada.get(TODAY))


def test_ready_is_what_is_still_known_on_the_day_of_the_interview(ada: User, deal: Callable):
    good, easy, _ = deal(3)
    assert services.answer_card(good, Rating.GOOD, ordinal=1, now=NOON)
    assert services.answer_card(easy, Rating.EASY, ordinal=1, now=NOON)
    ada.profile.interview_day = MONDAY + 14 * DAY
    found = Overview(queue.today(ada, NOON), ada.profile)
    # After 14 days by FSRS-6's curve: Good (a stability of 2.3065 days) 0.742, Easy (8.2956) 0.860, worked by hand.
    assert (found.ready.known, found.ready.total, found.ready.weakest) == (1, 3, "scheduling, 1 of 3")


# The pictures

def bar(at: int, backlog_s: int, ordinary_s: int = 60, left: int = 0) -> DayBar:
    return DayBar(MONDAY + at * DAY, backlog_s, ordinary_s, left)


def test_bars_add_up_under_the_wall_and_end_at_the_last_day():
    days = [bar(0, 240, left=2), bar(1, 240, left=1), bar(2, 0, 120)]
    drawn = catch_up_pictures.plan_bars(days, 2, 5, width=960)
    wall = next(shape for shape in drawn.shapes if isinstance(shape, Bar) and shape.css == "wall")
    # 120 units for four thirds of five minutes: 18 a minute.
    assert 160 - (wall.y + wall.h) == 90
    assert [shape.h for shape in drawn.shapes if isinstance(shape, Bar) and shape.css == "other"] == [18, 18, 36]
    assert [shape.h for shape in drawn.shapes if isinstance(shape, Bar) and shape.css == "present"] == [71, 71]
    words = [shape.text for shape in drawn.shapes if isinstance(shape, Text)]
    assert {"today", "Tu", "We", "2", "1", "caught up, Tuesday 3 March", "your 5 minutes"} <= set(words)


@pytest.mark.parametrize("count", [14, 40, 97])
def test_days_too_narrow_for_names_are_numbered_now_and_then(count: int):
    drawn = catch_up_pictures.plan_bars([bar(at, 60) for at in range(count)], count - 7, 5, width=350)
    numbers = [shape for shape in drawn.shapes if isinstance(shape, Text) and shape.text.isdecimal()]
    assert len(numbers) >= 4
    assert all(right.x - left.x >= 28 for left, right in zip(numbers, numbers[1:], strict=False))
