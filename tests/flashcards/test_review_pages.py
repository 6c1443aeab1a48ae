"""The review by plain forms: what is shown before and after the commit, and that every grade is recorded once."""
import random
import re

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from flashcards import services
from flashcards.models import Attempt, Card, Rating, Review
from flashcards.views import MOVED_ON
from questions.models import Question
from questions.services import pose

# Recorded from vLLM 0.33.0's scheduler for the scenario of token-budget.
ENGINE_MAP = {"A": "1", "B": "1", "C": "1", "D": "2,045", "E": "0", "F": ""}


@pytest.fixture
def trace(deck: dict[str, Card]) -> Card:
    return deck["token-budget"]


@pytest.fixture
def size(deck: dict[str, Card]) -> Card:
    return deck["prefill-damage"]


@pytest.fixture
def outline(deck: dict[str, Card]) -> Card:
    return deck["q1"]


def send(client: Client, verb: str, card: Card, **sent: object) -> object:
    """Post to one of a card's verbs, from a page made now unless `sent` names another ordinal; what follows."""
    card.refresh_from_db()
    address = reverse(f"flashcards:{verb}", args=[card.pk])
    return client.post(address, {"ordinal": card.next_ordinal} | sent, follow=True)


def look(client: Client, card: Card) -> str:
    card.refresh_from_db()
    return text(client.get(reverse("flashcards:review"), {"card": card.pk, "ordinal": card.next_ordinal}))


def text(response: object) -> str:
    assert response.status_code == 200
    return response.content.decode()


def shown(page: str) -> str:
    """The card as the page holds it, without the token that differs in each answer."""
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", page[page.index('<div id="card"'):])


def commit_map(client: Client, card: Card, **more: object) -> object:
    return send(client, "check", card, **{f"said_{name}": said for name, said in ENGINE_MAP.items()}, **more)


def undo(client: Client) -> object:
    last = services.last_action(User.objects.get(first_name="Ada"))
    return client.post(reverse("flashcards:undo"), {"review": last.pk}, follow=True)


# Before

def test_nothing_of_the_answer_is_on_the_page_before_the_commit(as_ada: Client, trace: Card):
    page = look(as_ada, trace)
    assert "How many tokens does each get" in page
    assert trace.question.said_aloud[:40] not in page
    assert "2,045" not in page.replace("max_num_batched_tokens", "")
    assert 'name="rating"' not in page


def test_nothing_typed_is_a_sentence_and_reveals_nothing(as_ada: Client, size: Card):
    page = text(send(as_ada, "check", size))
    assert "Type a number first" in page
    assert not Attempt.objects.exists()


def test_a_unit_of_another_kind_is_told_and_what_was_typed_stays(as_ada: Client, size: Card):
    sent = {"ordinal": 1, "typed": "31.5 GiB", "confidence": "80"}
    page = text(as_ada.post(reverse("flashcards:check", args=[size.pk]), sent))
    assert "GiB is a size; this asks for a time" in page
    assert 'value="31.5 GiB"' in page
    assert 'value="80" checked' in page
    assert not Attempt.objects.exists()


def test_an_entry_that_cant_be_read_is_told_in_its_own_row(as_ada: Client, trace: Card):
    sent = {"ordinal": 1, "said_A": "1", "said_D": "lots"}
    page = text(as_ada.post(reverse("flashcards:check", args=[trace.pk]), sent))
    assert 'id="fault-D"' in page
    assert 'id="fault-A"' not in page
    assert 'value="lots"' in page


@pytest.mark.parametrize("slug", ["token-budget", "prefill-damage", "q1"])
def test_a_confidence_off_the_ruler_is_told_and_commits_nothing(as_ada: Client, deck: dict[str, Card], slug: str):
    sent = {"said_A": "1", "typed": "250 ms", "outline": "Decodes first.", "confidence": "77"}
    page = text(send(as_ada, "check", deck[slug], **sent))
    assert "Confidence takes one of the stops from 50 to 99, or none." in page
    assert not Attempt.objects.exists()


def test_a_draft_is_there_at_the_next_look(as_ada: Client, size: Card):
    look(as_ada, size)
    reading = text(send(as_ada, "draft", size, typed="0.25 s", confidence="70"))
    assert "250 ms" in reading
    page = look(as_ada, size)
    assert 'value="0.25 s"' in page
    assert 'value="70" checked' in page


def test_leaving_for_the_lab_keeps_the_draft(as_ada: Client, size: Card):
    look(as_ada, size)
    sent = {"ordinal": 1, "typed": "0.4 s", "leave": "lab"}
    response = as_ada.post(reverse("flashcards:draft", args=[size.pk]), sent)
    assert response.url.startswith("/labs/prefill-interference?")
    assert 'value="0.4 s"' in look(as_ada, size)


def test_without_a_lab_there_is_none_to_leave_for(as_ada: Client, outline: Card):
    look(as_ada, outline)
    text(send(as_ada, "draft", outline, outline="Decodes first.", leave="lab"))
    assert "Decodes first." in look(as_ada, outline)


def test_a_null_character_is_no_fault_of_the_database(as_ada: Client, outline: Card):
    look(as_ada, outline)
    send(as_ada, "draft", outline, outline="a\0b")
    assert ">ab</textarea>" in look(as_ada, outline)


# The commit

def test_the_engines_own_map_is_all_right(as_ada: Client, trace: Card):
    page = text(commit_map(as_ada, trace, confidence="90"))
    assert "6 of 6 right" in page
    assert "90% sure" in page
    assert "{A: 1, B: 1, C: 1, D: 2,045}" in page
    assert Attempt.objects.get().within is True


def test_a_number_stands_beside_the_staffs_with_how_far_off_it_is(as_ada: Client, size: Card):
    page = text(send(as_ada, "check", size, typed="1 ms"))
    attempt = Attempt.objects.get()
    # Independent of what was drawn: value and ratio are the right answer's inverse.
    assert attempt.value == 1
    assert attempt.within is False
    assert f"{1 / attempt.ratio:,.0f} ms" in page
    assert "too low" in page


def test_the_line_that_a_number_leaves_out_is_marked(as_ada: Client, size: Card):
    lines = pose(size.question, size.seed).lines
    attention = next(line for line in lines if line.label.startswith("attention"))
    total = next(line for line in lines if line.total)
    page = text(send(as_ada, "check", size, typed=f"{total.value - attention.value} ms"))
    assert f'missed"><th scope="row">{attention.label}' in page.replace(' class=" ', ' class="')


def test_a_reload_after_the_commit_shows_the_same_numbers_and_answer(as_ada: Client, size: Card):
    page = text(send(as_ada, "check", size, typed="250 ms"))
    assert 'name="rating"' in page
    assert shown(look(as_ada, size)) == shown(page)


def test_a_second_commit_changes_nothing(as_ada: Client, size: Card):
    send(as_ada, "check", size, typed="250 ms")
    page = text(send(as_ada, "check", size, typed="984 ms"))
    assert Attempt.objects.get().typed == "250 ms"
    assert "250 ms" in page


def test_said_out_loud_needs_nothing_typed(as_ada: Client, trace: Card):
    page = text(send(as_ada, "check", trace, aloud="1"))
    assert "said out loud" in page
    attempt = Attempt.objects.get()
    assert (attempt.aloud, attempt.within) == (True, None)


def test_an_outline_stands_beside_the_staff_answer(as_ada: Client, outline: Card):
    page = text(send(as_ada, "check", outline, outline="first <this>\nthen that"))
    assert "first &lt;this&gt;\nthen that" in page
    assert "This." in page


# Ticks and the suggested grade

def suggested(page: str) -> str:
    """The grade that Space takes, empty without one."""
    return page.partition("takes</span> <b>")[2].partition("</b>")[0]


def test_an_untouched_rubric_leaves_the_suggestion_to_the_number(as_ada: Client, trace: Card):
    page = text(commit_map(as_ada, trace))
    assert suggested(page) == "Good"
    assert "from the map alone" in page


@pytest.mark.parametrize(("ticks", "grade"), [(3, "Again"), (4, "Hard"), (5, "Hard"), (6, "Good"), (7, "Easy")])
def test_ticks_and_map_suggest_the_lower_grade(as_ada: Client, trace: Card, ticks: int, grade: str):
    # Seven points: half is 3.5, four fifths 5.6; all of them in under the stated five minutes is Easy.
    commit_map(as_ada, trace)
    points = [point["id"] for point in trace.question.rubric]
    assert len(points) == 7
    page = text(send(as_ada, "ticks", trace, tick=points[:ticks]))
    assert suggested(page) == grade
    assert f"{ticks} of 7" in page


def test_a_wrong_map_suggests_again_whatever_is_ticked(as_ada: Client, trace: Card):
    send(as_ada, "check", trace, said_A="2048")
    page = text(send(as_ada, "ticks", trace, tick=[point["id"] for point in trace.question.rubric]))
    assert suggested(page) == "Again"


def test_what_cannot_be_a_points_id_is_no_tick(as_ada: Client, trace: Card):
    commit_map(as_ada, trace)
    point = trace.question.rubric[0]["id"]
    send(as_ada, "ticks", trace, tick=[point, "a\0b", "x" * 5000, "<b>", ""])
    assert trace.draft.ticks == [point]
    send(as_ada, "answer", trace, rating="3", tick=[point, "\0"])
    assert Review.objects.get().attempt.ticks == [point]


# What an author may change while an answer waits for its grade: the check, its unit, its runs.
@pytest.mark.parametrize("change", [
    {"checked": {}},
    {"checked": {"figure": "damage.peak_gap_ms", "unit": "tokens", "tolerance": 0.1}},
    {"checked": {"figure": "damage.peak_gap_ms", "unit": "GiB", "tolerance": 0.1}},
    {"runs": {}, "checked": {}, "keep": {}, "ask": "Why?", "said_aloud": "", "derivation": "", "catch": "",
     "measure": "", "traps": [], "follow_ups": [], "hints": [], "rubric": []},
])  # fmt: skip
def test_an_answer_to_a_question_that_changed_can_still_be_graded(as_ada: Client, size: Card, change: dict):
    send(as_ada, "check", size, typed="250 ms")
    assert "damage" in size.question.runs
    Question.objects.filter(pk=size.question_id).update(**change)
    assert "Good" in look(as_ada, size)
    send(as_ada, "answer", size, rating="3")
    assert Review.objects.get().attempt.typed == "250 ms"


def test_without_a_number_nothing_is_suggested_until_something_is_ticked(as_ada: Client, trace: Card):
    page = text(send(as_ada, "check", trace, aloud="1"))
    assert suggested(page) == ""
    assert "Space" not in page.partition('id="grade"')[2]


# The grade

def test_a_grade_is_recorded_with_its_ticks_and_the_next_card_comes(as_ada: Client, trace: Card, deck: dict[str, Card]):
    commit_map(as_ada, trace)
    ticks = [point["id"] for point in trace.question.rubric][:2]
    page = text(send(as_ada, "answer", trace, rating="3", tick=ticks))
    review = Review.objects.get()
    assert (review.card, review.rating, review.attempt.ticks) == (trace, Rating.GOOD, ticks)
    assert "Recorded: Good." in page
    assert f'action="/cards/{trace.pk}/' not in page


@pytest.mark.parametrize("rating", ["3", "1"])
def test_a_second_press_records_nothing_and_is_told(as_ada: Client, trace: Card, rating: str):
    commit_map(as_ada, trace)
    send(as_ada, "answer", trace, rating="3")
    page = text(send(as_ada, "answer", trace, rating=rating, ordinal=1))
    assert Review.objects.count() == 1
    assert MOVED_ON in page


def test_a_stale_tab_of_any_kind_is_moved_on(as_ada: Client, trace: Card):
    commit_map(as_ada, trace)
    send(as_ada, "answer", trace, rating="3")
    stale = as_ada.get(reverse("flashcards:review"), {"card": trace.pk, "ordinal": 1}, follow=True)
    assert MOVED_ON in text(stale)
    assert MOVED_ON in text(send(as_ada, "check", trace, ordinal=1, aloud="1"))
    assert Attempt.objects.filter(kind="check").count() == 1


def test_no_grade_without_a_commit(as_ada: Client, trace: Card):
    page = text(send(as_ada, "answer", trace, rating="4"))
    assert not Review.objects.exists()
    assert "commit an answer first" in page
    assert trace.question.said_aloud[:40] not in page


# Undo

def test_undo_brings_the_card_back_with_all_that_was_typed_and_ticked(as_ada: Client, size: Card):
    send(as_ada, "check", size, typed="250 ms", confidence="80")
    tick = size.question.rubric[1]["id"]
    send(as_ada, "answer", size, rating="2", tick=[tick])
    page = text(undo(as_ada))
    assert "Undone: Hard." in page
    assert "250 ms" in page
    assert "80% sure" in page
    assert f'value="{tick}" checked' in page


def test_graded_undone_and_graded_again_one_grade_stands(as_ada: Client, trace: Card):
    commit_map(as_ada, trace)
    send(as_ada, "answer", trace, rating="1")
    undo(as_ada)
    send(as_ada, "answer", trace, rating="4")
    assert list(Review.objects.values_list("ordinal", "kind", "rating")) == [
        (1, "answer", 1), (2, "undo", None), (3, "answer", 4),
    ]
    assert Review.objects.answers().get().rating == Rating.EASY


def test_undo_named_twice_takes_nothing_more_back(as_ada: Client, trace: Card, outline: Card):
    commit_map(as_ada, trace)
    send(as_ada, "answer", trace, rating="3")
    send(as_ada, "check", outline, outline="so")
    send(as_ada, "answer", outline, rating="3")
    named = services.last_action(trace.user).pk
    for _ in range(2):
        page = text(as_ada.post(reverse("flashcards:undo"), {"review": named}, follow=True))
    assert Review.objects.answers().get().card == trace
    assert "Nothing was undone" in page


def test_undo_goes_back_over_several_cards(as_ada: Client, trace: Card, outline: Card):
    commit_map(as_ada, trace)
    send(as_ada, "answer", trace, rating="3")
    send(as_ada, "check", outline, outline="so")
    send(as_ada, "answer", outline, rating="3")
    undo(as_ada)
    page = text(undo(as_ada))
    assert f'action="/cards/{trace.pk}/answer/"' in page
    assert not Review.objects.answers().exists()


def test_whatever_is_resent_each_standing_answer_was_one_press(as_ada: Client, deck: dict[str, Card]):
    """Conservation: log rows = presses that were taken, standing answers = answers less undos."""
    dice, taken, undone = random.Random(7), 0, 0
    cards = list(deck.values())
    for _ in range(25):
        card = dice.choice(cards)
        if dice.random() < 0.3 and taken > undone:
            undo(as_ada)
            undone += 1
            continue
        send(as_ada, "check", card, aloud="1")
        ordinal = card.next_ordinal
        for _ in range(dice.choice((1, 2, 3))):
            send(as_ada, "answer", card, rating=dice.choice("1234"), ordinal=ordinal)
        taken += 1
    assert Review.objects.count() == taken + undone
    assert Review.objects.answers().count() == taken - undone
    assert sum(Card.objects.values_list("answers", flat=True)) == taken - undone


# Around it

def test_later_puts_a_card_off_and_the_draft_stays(as_ada: Client, trace: Card):
    look(as_ada, trace)
    response = as_ada.post(
        reverse("flashcards:draft", args=[trace.pk]), {"ordinal": 1, "said_A": "7", "leave": "later"}, follow=True
    )
    assert f"/cards/{trace.pk}/" not in text(response)
    assert f"later={trace.pk}" in response.redirect_chain[-1][0]
    assert 'value="7"' in look(as_ada, trace)


def test_when_only_what_was_put_off_is_left_it_comes_back_and_says_so(as_ada: Client, deck: dict[str, Card]):
    later = ",".join(str(card.pk) for card in deck.values())
    page = text(as_ada.get(reverse("flashcards:review"), {"later": later}))
    assert "Only what you put off is left." in page
    assert f'action="/cards/{next(iter(deck.values())).pk}/check/"' in page


def test_the_end_says_what_was_done_and_when_the_next_falls_due(as_ada: Client, ada: User, trace: Card):
    ada.profile.new_questions_per_day = 1
    ada.profile.save()
    commit_map(as_ada, trace)
    page = text(send(as_ada, "answer", trace, rating="4"))
    assert "Done for today: 1 answered." in page
    assert "The next falls due tomorrow at 04:00." in page  # a new card that the limit holds back comes with the day
    assert 'href="/"' in page


@pytest.mark.parametrize("verb", ["draft", "check", "ticks", "answer"])
def test_another_persons_card_is_unknown(eve: User, trace: Card, verb: str):
    client = Client()
    client.force_login(eve)
    assert client.post(reverse(f"flashcards:{verb}", args=[trace.pk]), {"ordinal": 1}).status_code == 404
    assert client.get(reverse("flashcards:review"), {"card": trace.pk, "ordinal": 1}).status_code == 404


def test_another_persons_answer_cant_be_undone(as_ada: Client, eve: User, trace: Card):
    commit_map(as_ada, trace)
    send(as_ada, "answer", trace, rating="3")
    client = Client()
    client.force_login(eve)
    client.post(reverse("flashcards:undo"), {"review": Review.objects.get().pk})
    assert Review.objects.count() == 1


@pytest.mark.parametrize("name", ["today", "review", "settings"])
def test_a_stranger_is_asked_to_sign_in(client: Client, db: None, name: str):
    response = client.get(reverse(f"flashcards:{name}"))
    assert response.status_code == 302
    assert response.url.startswith("/accounts/login/")


@pytest.mark.parametrize("sent", [
    {"ordinal": "x"}, {}, {"ordinal": "9" * 40, "rating": "3"}, {"ordinal": "1", "rating": "9"},
    {"ordinal": "1", "rating": "٣"}, {"ordinal": "1", "confidence": "12"},
    {"ordinal": "1", "later": "1,x,,99999999999999999999,-4"},
])
@pytest.mark.parametrize("verb", ["draft", "check", "ticks", "answer"])
def test_garbage_records_nothing_and_is_no_error(as_ada: Client, trace: Card, verb: str, sent: dict[str, str]):
    response = as_ada.post(reverse(f"flashcards:{verb}", args=[trace.pk]), sent, follow=True)
    assert response.status_code == 200
    assert not Review.objects.exists()


@pytest.mark.parametrize("review", ["", "x", "9" * 40, "0"])
def test_undo_of_nothing_is_told(as_ada: Client, trace: Card, review: str):
    page = text(as_ada.post(reverse("flashcards:undo"), {"review": review}, follow=True))
    assert "Nothing was undone" in page


def test_htmx_gets_the_card_alone_and_its_address(as_ada: Client, trace: Card):
    card = {"card": trace.pk, "ordinal": 1}
    response = as_ada.get(reverse("flashcards:review"), card, headers={"HX-Request": "true"})
    title, _, rest = text(response).lstrip().partition("\n")
    assert title == "<title>One step&#x27;s token budget · drillapp</title>"  # the window's: htmx takes it from here
    assert rest.startswith('<div id="card"')
    assert response["HX-Replace-Url"] == f"/review/?card={trace.pk}&ordinal=1"
    assert text(as_ada.get(response["HX-Replace-Url"])).count('<div id="card"') == 1
