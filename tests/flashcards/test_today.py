"""Today: what it says on a first visit, on a day with work, and when nothing is due; and its pictures."""
from collections.abc import Callable
from datetime import date, datetime, timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from calculators.pictures import Bar, Drawing, Path, Text
from flashcards import pictures, queue, services
from flashcards.models import Card, Rating
from flashcards.overview import Overview
from flashcards.templatetags.flashcards_tags import clock, day_words, minutes_words, spent
from tests.flashcards.conftest import NOON, write_questions

Deal = Callable[[int], list[Card]]
MONDAY = date(2026, 3, 2)


def text(response: object) -> str:
    assert response.status_code == 200
    return response.content.decode()


def answer(card: Card, rating: Rating, now: datetime) -> None:
    card.refresh_from_db()
    assert services.answer_card(card, rating, ordinal=card.next_ordinal, now=now)


def overview(user: User, now: datetime) -> Overview:
    return Overview(queue.today(user, now), user.profile)


# The page

def test_a_first_visit_says_what_is_new_and_how_it_goes(as_ada: Client, ada: User):
    write_questions(3)
    page = text(as_ada.get(reverse("flashcards:today")))
    assert "2 new. About 6 minutes." in page  # two of three: the limit; three minutes each, as the questions say
    assert "Held back: 1 new question past today’s limit of 2." in page
    assert "Only then does it show the staff answer" in page
    assert "next 14 days" not in page
    assert "in a row" not in page


def test_an_empty_bank_is_no_error(as_ada: Client, ada: User):
    page = text(as_ada.get(reverse("flashcards:today")))
    assert "Nothing is due." in page
    assert "Start" not in page


def test_what_is_due_stands_before_what_is_new(ada: User, deal: Deal):
    known, fresh = deal(2)
    answer(known, Rating.GOOD, NOON)
    ada.profile.new_questions_per_day = 1
    tomorrow = NOON + timedelta(days=10)
    assert overview(ada, tomorrow).lead.startswith("1 due, 1 new. About ")


def drill(card: Card, minutes: int) -> None:
    """Answer it as on the page, so many minutes after it was opened at noon."""
    card.refresh_from_db()
    services.open_card(card, NOON)
    now = NOON + timedelta(minutes=minutes)
    attempt = services.commit_attempt(card, ordinal=card.next_ordinal, now=now, outline="This.")
    assert services.answer_card(card, Rating.GOOD, ordinal=card.next_ordinal, now=now, attempt=attempt)


def test_a_pace_is_called_ones_own_once_it_is_known_for_all_in_line(ada: User, deal: Deal):
    explained, sized = deal(2)
    sized.question.kind = "size"
    sized.question.save()
    for minutes in (5, 40, 5):  # a card left open is not a pace
        drill(explained, minutes)
    assert overview(ada, NOON).lead == "1 new. About 3 minutes."  # as that question says, whose kind is new to Ada
    for minutes in (7, 7):
        drill(sized, minutes)
    assert "own pace" not in overview(ada, NOON + timedelta(days=10)).lead  # two answers are too few to tell
    drill(sized, minutes=7)
    assert overview(ada, NOON + timedelta(days=10)).lead == "2 due. About 12 minutes at your own pace."


def test_the_line_shows_five_and_counts_the_rest(ada: User, deal: Deal):
    deal(8)
    found = overview(ada, NOON)
    assert [row.card.question.slug for row in found.rows] == ["q1", "q2", "q3", "q4", "q5"]
    assert found.more == "3 questions"
    assert all(row.recall is None and row.ruler is None for row in found.rows)


def test_a_review_shows_the_recall_that_is_predicted(ada: User, card: Card):
    answer(card, Rating.GOOD, NOON)
    row = overview(ada, NOON + timedelta(days=30)).rows[0]
    assert 0 < row.recall < 0.9  # past its due day, so under the retention asked for
    assert isinstance(row.ruler, Drawing)


def test_nothing_due_says_when_the_next_falls_due(ada: User, card: Card):
    answer(card, Rating.AGAIN, NOON)
    assert overview(ada, NOON).lead == "Nothing is due. The next falls due tomorrow at 04:00."


def test_a_day_in_a_row_is_counted_with_the_one_that_today_makes(ada: User, deal: Deal):
    for at, card in enumerate(deal(3)):
        answer(card, Rating.GOOD, NOON + timedelta(days=at))
    assert overview(ada, NOON + timedelta(days=2)).streak_words == "3 days"
    assert overview(ada, NOON + timedelta(days=3)).streak_words == "3 days; today makes 4"
    assert overview(ada, NOON + timedelta(days=4)).streak_words == "3 days, paused for one day; today makes 4"
    assert overview(ada, NOON + timedelta(days=9)).streak_words == "3 days, paused for 6 days; today makes 4"
    assert overview(ada, NOON + timedelta(days=39)).streak_words == "today makes 1"


def test_what_is_held_back_is_introduced_once(as_ada: Client, ada: User, deal: Callable[[int], list[Card]]):
    deal(4)
    ada.profile.new_questions_per_day, ada.profile.reviews_per_day = 0, 0
    ada.profile.save()
    answer(Card.objects.filter(user=ada).first(), Rating.GOOD, timezone.now() - timedelta(days=9))
    for address in ("flashcards:today", "flashcards:review"):
        page = text(as_ada.get(reverse(address)))
        assert page.count("Held back:") == 1
        assert "3 new questions past today’s limit of 0, 1 review past today’s limit of 0." in page


def test_over_the_limit_is_said(ada: User, deal: Deal):
    for card in deal(3):
        answer(card, Rating.AGAIN, NOON)
    ada.profile.reviews_per_day = 2
    assert overview(ada, NOON).forecast_words == "3 cards; one day is over your limit"


def test_today_lists_only_ones_own(as_ada: Client, ada: User, eve: User):
    write_questions(1)
    services.ensure_cards(eve)
    services.ensure_cards(ada)
    answer(Card.objects.get(user=eve), Rating.GOOD, timezone.now())
    assert "1 new." in text(as_ada.get(reverse("flashcards:today")))


# The pictures

def bars(drawing: Drawing, *css: str) -> list[Bar]:
    return [shape for shape in drawing.shapes if isinstance(shape, Bar) and shape.css in css]


def days(*counts: int) -> list[tuple[date, int]]:
    return [(MONDAY + timedelta(days=at), count) for at, count in enumerate(counts)]


def test_bars_are_as_high_as_their_counts_and_the_first_is_in_ink():
    drawn = pictures.forecast(days(14, 11, 0, 7), 24, width=860)
    present, *others = bars(drawn, "present", "other")
    assert present.css == "present"
    # 84 units for the limit of 24: 3.5 a card.
    assert [present.h, *(bar.h for bar in others)] == [49, 38.5, 24.5]
    assert len({bar.y + bar.h for bar in (present, *others)}) == 1


def test_a_day_over_the_limit_stands_past_its_wall():
    drawn = pictures.forecast(days(30, 2), 24, width=860)
    wall = bars(drawn, "wall")[0]
    assert bars(drawn, "present")[0].y < wall.y + wall.h


def test_the_limit_is_named_where_no_bar_hides_it():
    def named(*counts: int) -> tuple[float, str]:
        return next((shape.x, shape.anchor) for shape in pictures.forecast(days(*counts), 24, width=860).shapes
                    if isinstance(shape, Text) and shape.text == "your limit, 24 a day")

    assert named(10, *[1] * 13) == (0, "start")
    assert named(129, *[1] * 13) == (860, "end")  # a backlog stands in front of the wall today
    assert named(*[1] * 13, 129) == (0, "start")


def test_no_count_stands_on_the_wall():
    drawn = pictures.forecast(days(242, 5, 6, 29, 30, 4, 4, 4, 4, 4, 4, 4, 4, 4), 24, width=860)
    wall = bars(drawn, "wall")[0]
    counts = [shape for shape in drawn.shapes if isinstance(shape, Text) and "halo" in shape.css]
    assert len(counts) == 14
    for count in counts:  # letters reach 9 units above their line
        assert count.y <= wall.y or count.y - 9 >= wall.y + wall.h
    (limit,) = [shape for shape in drawn.shapes if isinstance(shape, Text) and shape.css == "limit-text"]
    assert limit.y <= min(count.y for count in counts[1:]) - 12


def test_a_limit_far_above_every_bar_is_not_drawn():
    drawn = pictures.forecast(days(2, 1), 24, width=860)
    assert bars(drawn, "wall") == []
    assert max(bar.h for bar in bars(drawn, "present", "other")) == 84


def test_on_a_phone_every_second_day_is_named():
    names = [shape.text for shape in pictures.forecast(days(*range(14)), 24, width=350, name_every=2).shapes
             if isinstance(shape, Text) and shape.text in pictures.DAY_NAMES]
    assert names == ["Mo", "We", "Fr", "Su", "Tu", "Th", "Sa"]


@pytest.mark.parametrize("count", [0, 1, 4, 5, 23, 100, 365])
@pytest.mark.parametrize("today_open", [False, True])
def test_a_tally_has_a_stroke_for_each_day_and_one_to_earn(count: int, today_open: bool):
    strokes = [shape.css for group in pictures.tally(count, today_open=today_open) for shape in group.shapes]
    assert strokes.count("stroke") == min(count, 100)
    assert strokes.count("pen open") == today_open


def test_typed_tokens_lie_end_to_end_up_to_the_wall():
    drawn = pictures.map_sum({"A": 1, "D": 2045, "E": 2}, 2048, width=720)
    said = bars(drawn, "said")
    assert [bar.x for bar in said] == [0, 0.3, 639.4]  # 640 units for 2,048 tokens
    assert said[-1].x + said[-1].w == bars(drawn, "wall")[0].x == 640
    assert drawn.title == "Yours adds up to 2,048 of 2,048 tokens."


def test_more_than_fits_is_cut_off_at_the_pictures_end():
    drawn = pictures.map_sum({"A": 2000, "B": 10**9}, 2048, width=720)
    assert sum(bar.w for bar in bars(drawn, "said")) == 720


def test_a_prompts_bar_is_to_scale_and_hatched_where_cached():
    waiting = pictures.prompt_bar(prompt=1000, computed=0, cached=512, waiting=True, longest=8000, width=402)
    assert [bar.w for bar in bars(waiting, "s-cached")] == [25.6]
    assert [bar.w for bar in bars(waiting, "s-waiting")] == [24.4]
    running = pictures.prompt_bar(prompt=8000, computed=3000, cached=0, waiting=False, longest=8000, width=402)
    assert [bar.w for bar in bars(running, "s-unfilled")] == [400]
    assert [bar.w for bar in bars(running, "s-running")] == [150]


@pytest.mark.parametrize(("recall", "x"), [(0.2, 4), (0.5, 4), (0.75, 44), (1.0, 84)])
def test_a_recall_stands_on_its_ruler(recall: float, x: int):
    *_, dot = pictures.recall_ruler(recall, 0.9).shapes
    assert isinstance(dot, Path)
    assert dot.d.startswith(f"M{x - 4} 8")


@pytest.mark.parametrize(("tokens", "column"), [(16, 1), (17, 2), (2048, 128), (8000, 512)])
def test_a_column_is_a_power_of_two_of_tokens(tokens: int, column: int):
    assert pictures.column_tokens(tokens, 16) == column


# Words

def test_times_and_days_in_words():
    assert [spent(9), spent(171), spent(3700)] == ["9 s", "2 min 51 s", "1 h 1 min"]
    assert [clock(5), clock(171)] == ["0:05", "2:51"]
    assert [minutes_words(1), minutes_words(31), minutes_words(60), minutes_words(70)] == [
        "1 minute", "31 minutes", "1 h", "1 h 10 min",
    ]
    assert [day_words(MONDAY + timedelta(days=ahead), MONDAY) for ahead in (0, 1, 5, 400)] == [
        "today", "tomorrow", "on 7 March", "on 6 April 2027",
    ]


def test_every_page_says_in_its_header_what_is_due(as_ada: Client, ada: User, deal: Deal):
    known, *_ = deal(3)
    answer(known, Rating.GOOD, timezone.now() - timedelta(days=30))
    for address in (reverse("flashcards:today"), "/labs/", reverse("flashcards:settings"), reverse("keys_page")):
        page = text(as_ada.get(address, follow=True))
        assert '<span class="due">1<span class="visually-hidden"> due</span></span>' in page, address
    assert 'class="due"' not in text(Client().get("/labs/", follow=True))


def test_the_header_counts_what_the_day_has_due_in_three_queries(
    ada: User, deal: Deal, django_assert_num_queries: Callable
):
    cards = deal(6)
    ada.profile.question_steps, ada.profile.reviews_per_day = "10m", 2
    ada.profile.save()
    for card in cards[:5]:
        answer(card, Rating.EASY, NOON)
    later = NOON + timedelta(days=90)
    answer(cards[5], Rating.AGAIN, later)  # its step falls due in ten minutes
    for now in (NOON, later, later + timedelta(minutes=11), later + timedelta(days=1)):
        day = queue.plan(ada, now)
        waiting = [card for card in day.learning_due if card.due_at <= now]
        with django_assert_num_queries(3):
            assert queue.due_count(ada, now) == len(day.due) + len(waiting)
    assert queue.due_count(ada, NOON) == 0
    assert queue.due_count(ada, later + timedelta(minutes=11)) == 3  # two of the five, by the limit, and the step
