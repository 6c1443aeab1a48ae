"""Quizzes, by plain links and forms: the staff-level checks, and quizzes from filters."""
import re
from dataclasses import replace
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from flashcards import quizzes, services
from flashcards.models import Card, Quiz, QuizAnswer, Review
from flashcards.quiz_page import QuizDesk, QuizEnd, plain
from flashcards.quiz_views import CHECKS, TAKEN, TOO_LATE
from flashcards.quizzes import Course
from questions import loading
from questions.access import staff_checks
from questions.models import Question
from tests.flashcards.conftest import write_questions

SIX = ["v1-speedup-source", "token-budget", "piecewise-graphs", "in-flight", "connector-sides", "ttft-after-deploy"]


@pytest.fixture
def six(ada: User, real_bank: loading.Bank) -> None:
    """The six checks of the real bank, and nothing else."""
    kept = {slug: replace(file, next=[]) for slug, file in real_bank.questions.items() if slug in SIX}
    loading.load_bank(replace(real_bank, questions=kept, notes={}))


def options(right: int) -> list[dict[str, object]]:
    texts = ("alpha", "beta", "gamma", "delta")
    return [{"text": text, "why": f"why {text}", "right": at == right} for at, text in enumerate(texts)]


@pytest.fixture
def mixed(ada: User) -> list[Question]:
    """q1 with options, q2 with a number to check, q3 for an outline with five points."""
    made = write_questions(3)
    made[0].options = options(1)
    made[1].runs = {"size": {"lab": "kv-size"}}
    made[1].checked = {"figure": "size.token_bytes", "unit": "bytes", "tolerance": 0.02}
    made[2].rubric = [{"id": f"p{at}", "text": f"point {at}"} for at in range(5)]
    for question in made:
        question.save()
    services.ensure_cards(ada)
    return made


def course_of(quiz: Quiz) -> Course:
    return Course(Quiz.objects.get(pk=quiz.pk), timezone.now())


def desk(quiz: Quiz, number: int) -> QuizDesk:
    course = course_of(quiz)
    return QuizDesk(course, course.at(number))


def letter(quiz: Quiz, number: int, *, right: bool = True) -> str:
    return next(option.letter for option in desk(quiz, number).options if option.right is right)


def send(client: Client, quiz: Quiz, number: int, **fields: str):
    fields = {"digest": desk(quiz, number).posed.digest} | fields
    return client.post(reverse("flashcards:answer_place", args=[quiz.pk, number]), fields, follow=True)


def page(client: Client, quiz: Quiz, number: int | None = None) -> str:
    address = reverse("flashcards:quiz_place", args=[quiz.pk, number]) if number else f"/questions/quizzes/{quiz.pk}/"
    return client.get(address, follow=True).content.decode()


def begin(user: User, questions: list[Question], **more: object) -> Quiz:
    given = {"title": "a quiz", "seed": 5, "now": timezone.now()} | more
    return quizzes.begin(user, questions, **given)


def words(html: str) -> str:
    return plain(re.sub("<(?=/?t[dhr]|/?p|/?span|/?h1)", " <", html))


# The six checks

def test_the_six_checks_have_four_options_one_right_and_a_reason_for_each(six: None):
    assert [question.slug for question in staff_checks()] == SIX
    for question in staff_checks():
        assert len(question.options) == 4 and sum(option.get("right", False) for option in question.options) == 1
        assert all(option["why"] for option in question.options)


def test_the_checks_are_begun_from_the_list_and_asked_in_order(six: None, as_ada: Client):
    seed = re.search(r'name="seed" value="(\d+)"', as_ada.get("/questions/quizzes/").content.decode())[1]
    shown = as_ada.post("/questions/quizzes/begin/", {"what": "checks", "seed": seed}, follow=True)
    quiz = Quiz.objects.get()
    assert quiz.title == CHECKS and [Question.objects.get(pk=key).slug for key in quiz.questions] == SIX
    assert "0 of 6 answered" in words(shown.content.decode())


def test_the_form_sent_twice_begins_one_quiz(six: None, as_ada: Client):
    for _ in range(2):
        as_ada.post("/questions/quizzes/begin/", {"what": "checks", "seed": "7"})
    assert Quiz.objects.count() == 1


def test_all_six_checks_are_answered_scored_and_their_misses_drilled(six: None, as_ada: Client, ada: User):
    services.ensure_cards(ada)
    quiz = begin(ada, staff_checks(), title=CHECKS)
    for number, slug in enumerate(SIX, 1):
        send(as_ada, quiz, number, choice=letter(quiz, number, right=slug not in ("piecewise-graphs", "in-flight")))
    shown = words(page(as_ada, quiz))
    assert "4 of 6. Missed in sizing and kernels." in shown
    assert "kernels 1 of 2" in shown and "engine 1 of 1" in shown and "%" not in shown
    offered = re.findall(r'name="missed" value="([^"]+)"', page(as_ada, quiz))
    assert sorted(offered) == ["in-flight.1", "piecewise-graphs.1"]
    for _ in range(2):
        as_ada.post(f"/questions/quizzes/{quiz.pk}/drill/", {"missed": offered})
    rows = Review.objects.filter(card__user=ada)
    assert sorted(row.card.question.slug for row in rows) == ["in-flight", "piecewise-graphs"]
    assert {row.kind for row in rows} == {Review.Kind.SET_DUE}
    assert all(card.asked for card in Card.objects.filter(user=ada, question__slug__in=("in-flight",)))
    assert "The missed ones are in your drill" in page(as_ada, quiz)


def test_nothing_on_the_page_tells_the_right_option_before_the_commit(six: None, as_ada: Client, ada: User):
    quiz = begin(ada, staff_checks())
    for number in range(1, 7):
        shown, posed = page(as_ada, quiz, number), desk(quiz, number).posed
        assert all(option["why"] not in shown for option in posed.options)
        assert "staff answer" not in shown and posed.said_aloud_html not in shown
        rows = re.findall(r'<input type="radio" name="choice" value="(\w)" data-key="\w">', shown)
        assert rows == ["a", "b", "c", "d"]  # each row alike but for its letter
        send(as_ada, quiz, number, choice="a")
        after = page(as_ada, quiz, number)
        assert all(option["why"] in after for option in posed.options)


def test_the_right_option_stands_anywhere(mixed: list[Question], ada: User):
    found = {letter(begin(ada, mixed[:1], seed=seed), 1) for seed in range(30)}
    assert found == set("abcd")


# One place

def test_an_option_answered_shows_own_right_and_the_reasons(mixed: list[Question], as_ada: Client, ada: User):
    quiz = begin(ada, mixed[:1])
    shown = words(send(as_ada, quiz, 1, choice=letter(quiz, 1, right=False), confidence="80").content.decode())
    assert "you, 80% sure" in shown and "staff" in shown and "why beta" in shown
    answer = QuizAnswer.objects.get()
    assert (answer.within, answer.confidence) == (False, 80) and answer.typed in ("alpha", "gamma", "delta")


def test_a_second_answer_changes_nothing_and_is_told_so(mixed: list[Question], as_ada: Client, ada: User):
    quiz = begin(ada, mixed)
    right, wrong = letter(quiz, 1), letter(quiz, 1, right=False)
    send(as_ada, quiz, 1, choice=right)
    assert TAKEN in send(as_ada, quiz, 1, choice=wrong).content.decode()
    answer = QuizAnswer.objects.get()
    assert answer.within is True
    place = course_of(quiz).at(1)
    assert quizzes.answer(quiz, place, now=timezone.now(), within=False) == answer  # as a race would find it


def test_an_answer_is_never_changed_nor_taken_away(mixed: list[Question], as_ada: Client, ada: User):
    quiz = begin(ada, mixed)
    send(as_ada, quiz, 1, **{"pass": "1"})
    answer = QuizAnswer.objects.get()
    for change in (answer.save, answer.delete, QuizAnswer.objects.all().delete):
        with pytest.raises(TypeError):
            change()


def test_no_choice_is_a_sentence_and_reveals_nothing(mixed: list[Question], as_ada: Client, ada: User):
    quiz = begin(ada, mixed)
    for choice in ({}, {"choice": "z"}, {"choice": "\0"}):
        shown = send(as_ada, quiz, 1, **choice)
        assert shown.status_code == 200 and "Choose one of the answers" in shown.content.decode()
        assert "why beta" not in shown.content.decode()
    assert not QuizAnswer.objects.exists()


def test_a_question_edited_meanwhile_is_shown_anew_and_not_answered(mixed: list[Question], as_ada: Client, ada: User):
    quiz = begin(ada, mixed)
    before = desk(quiz, 1).posed.digest
    Question.objects.filter(slug="q1").update(options=options(2))
    shown = send(as_ada, quiz, 1, choice="a", digest=before)
    assert "was edited meanwhile" in shown.content.decode() and not QuizAnswer.objects.exists()


def test_a_number_is_scored_by_its_tolerance_in_any_unit(mixed: list[Question], as_ada: Client, ada: User):
    for seed, typed, right in ((1, "131072", True), (2, "128 KiB", True), (3, "135 KiB", False)):
        quiz = begin(ada, mixed[1:2], seed=seed)
        send(as_ada, quiz, 1, typed=typed)
        assert course_of(quiz).places[0].right is right
    shown = send(as_ada, begin(ada, mixed[1:2], seed=4), 1, typed="many")
    assert shown.status_code == 200 and 'value="many"' in shown.content.decode()


def test_an_outline_waits_for_the_rubric_and_four_fifths_make_it_right(
    mixed: list[Question], as_ada: Client, ada: User
):
    for seed, ticks, right in ((1, ["p0", "p1", "p2", "p3"], True), (2, ["p0", "p1", "p2", "odd"], False)):
        quiz = begin(ada, mixed[2:], seed=seed)
        send(as_ada, quiz, 1, outline="My lines")
        assert course_of(quiz).right == 0 and course_of(quiz).unscored
        assert "waits to be scored" in page(as_ada, quiz)
        for _ in range(2):  # a second score changes nothing
            as_ada.post(f"/questions/quizzes/{quiz.pk}/1/score/", {"tick": ticks})
            ticks = []
        assert course_of(quiz).places[0].right is right
    assert QuizAnswer.objects.filter(kind=QuizAnswer.Kind.SCORE).count() == 2


def test_what_is_typed_is_kept_before_the_commit(mixed: list[Question], as_ada: Client, ada: User):
    quiz = begin(ada, mixed[1:], seed=3)
    as_ada.get(f"/questions/quizzes/{quiz.pk}/1/")
    kept = as_ada.post(f"/questions/quizzes/{quiz.pk}/1/draft/", {"typed": "64 KiB", "confidence": "90"})
    assert "read as 64 KiB" in kept.content.decode() and not QuizAnswer.objects.exists()
    shown = page(as_ada, quiz, 1)
    assert 'value="64 KiB"' in shown and 'value="90" checked' in shown
    as_ada.post(f"/questions/quizzes/{quiz.pk}/2/draft/", {"outline": "too soon"})  # not its turn
    send(as_ada, quiz, 1, typed="128 KiB")
    assert "too soon" not in page(as_ada, quiz, 2)
    as_ada.post(f"/questions/quizzes/{quiz.pk}/1/draft/", {"typed": "1"})  # a tab that is late
    assert QuizAnswer.objects.get().typed == "128 KiB"


def test_without_options_the_question_takes_its_number_or_outline(mixed: list[Question], as_ada: Client, ada: User):
    quiz = begin(ada, mixed, by_options=False)
    assert [desk(quiz, number).check_kind for number in (1, 2, 3)] == ["outline", "number", "outline"]
    quiz = begin(ada, mixed, seed=6)
    assert [desk(quiz, number).check_kind for number in (1, 2, 3)] == ["options", "number", "outline"]


# Its course

def test_an_unfinished_quiz_resumes_where_it_was(mixed: list[Question], as_ada: Client, ada: User):
    quiz = begin(ada, mixed)
    send(as_ada, quiz, 1, choice=letter(quiz, 1))
    shown = words(as_ada.get("/questions/quizzes/").content.decode())
    assert "Go on with a quiz" in shown and "1 of 3 answered" in shown
    assert "Go on with your quiz: 1 of 3 answered" in words(as_ada.get("/").content.decode())
    response = as_ada.get(f"/questions/quizzes/{quiz.pk}/")
    assert response.url == f"/questions/quizzes/{quiz.pk}/2/"
    assert as_ada.get(f"/questions/quizzes/{quiz.pk}/3/").url == response.url  # not its turn yet
    assert "beside the staff answer" in page(as_ada, quiz, 1)  # and Back shows what was answered


def test_a_timed_quiz_shows_answers_at_its_end_and_takes_none_after_its_deadline(
    mixed: list[Question], as_ada: Client, ada: User
):
    now = timezone.now()
    quiz = begin(ada, mixed, seconds_allowed=600, now=now - timedelta(seconds=500))
    shown = send(as_ada, quiz, 1, choice=letter(quiz, 1))
    assert "why beta" not in shown.content.decode() and "2 of 3" in words(shown.content.decode())
    assert as_ada.get(f"/questions/quizzes/{quiz.pk}/1/").status_code == 302
    Quiz.objects.filter(pk=quiz.pk).update(started_at=now - timedelta(seconds=601))
    shown = send(as_ada, quiz, 2, typed="128 KiB")
    assert TOO_LATE in shown.content.decode() and "1 of 3" in words(shown.content.decode())
    assert QuizAnswer.objects.count() == 1
    assert "why beta" in page(as_ada, quiz, 1)
    assert "Nothing is shown" not in page(as_ada, quiz, 2)  # no form any more
    assert desk(quiz, 2).posed.said_aloud_html not in page(as_ada, quiz, 2)  # what was not answered stays closed


def test_ended_early_the_rest_counts_as_missed(mixed: list[Question], as_ada: Client, ada: User):
    quiz = begin(ada, mixed)
    send(as_ada, quiz, 1, choice=letter(quiz, 1))
    for _ in range(2):
        shown = as_ada.post(f"/questions/quizzes/{quiz.pk}/end/", follow=True)
    assert "1 of 3. Both misses are in scheduling." in words(shown.content.decode())
    assert len(QuizEnd(course_of(quiz)).waiting) == 2


def test_a_question_withdrawn_before_its_answer_is_left_out(mixed: list[Question], as_ada: Client, ada: User):
    quiz = begin(ada, mixed)
    send(as_ada, quiz, 1, choice=letter(quiz, 1))
    Question.objects.filter(slug__in=("q1", "q2")).update(retired=True)
    assert [place.number for place in course_of(quiz).places] == [1, 3]
    assert as_ada.get(f"/questions/quizzes/{quiz.pk}/").url.endswith("/3/")
    assert as_ada.get(f"/questions/quizzes/{quiz.pk}/2/").status_code == 404


def test_taken_again_it_says_how_it_went_before(mixed: list[Question], as_ada: Client, ada: User):
    quiz = begin(ada, mixed[:1])
    send(as_ada, quiz, 1, choice=letter(quiz, 1, right=False))
    as_ada.post("/questions/quizzes/begin/", {"again": quiz.pk, "seed": "99"})
    second = Quiz.objects.get(seed=99)
    send(as_ada, second, 1, choice=letter(second, 1))
    shown = words(page(as_ada, second))
    assert "1 of 1. Nothing missed." in shown and "it was 0 of 1; scheduling was missed then." in shown


def test_only_the_missed_ones_chosen_are_added(mixed: list[Question], as_ada: Client, ada: User):
    quiz = begin(ada, mixed)
    quizzes.end(quiz, timezone.now())
    shown = as_ada.get(f"/questions/quizzes/{quiz.pk}/?choose").content.decode()
    assert len(re.findall(r'type="checkbox" form="drill" name="missed"', shown)) == 3
    as_ada.post(f"/questions/quizzes/{quiz.pk}/drill/", {"missed": ["q2.1", "q3.7", "nothing", "q1.x", "q\0.1"]})
    assert [row.card.question.slug for row in Review.objects.all()] == ["q2"]  # q3's page was stale


# From filters

def test_a_quiz_is_made_from_what_the_filters_leave(mixed: list[Question], as_ada: Client, ada: User):
    Question.objects.filter(slug="q3").update(kind="size")
    shown = as_ada.get("/questions/?kind=explain").content.decode()
    assert 'href="/questions/quizzes/new/?kind=explain"' in shown
    form = {"query": "kind=explain", "count": "2", "minutes": "3", "by_options": "options", "seed": "11"}
    as_ada.post("/questions/quizzes/begin/", form)
    quiz = Quiz.objects.get()
    assert sorted(quiz.questions) == [mixed[0].pk, mixed[1].pk]
    assert (quiz.title, quiz.seconds_allowed, quiz.by_options) == ("explain", 180, True)


def test_gone_back_to_and_changed_the_form_begins_another_quiz(mixed: list[Question], as_ada: Client):
    form = {"query": "", "count": "1", "minutes": "", "by_options": "words", "seed": "11"}
    for sent in (form, form, form | {"count": "3"}, form | {"count": "3"}, form | {"minutes": "5"}):
        as_ada.post("/questions/quizzes/begin/", sent)
    made = [(len(quiz.questions), quiz.seconds_allowed) for quiz in Quiz.objects.order_by("pk")]
    assert made == [(1, None), (3, None), (1, 300)]


@pytest.mark.parametrize(("field", "typed", "sentence"), [
    ("count", "4", "These filters leave 3."), ("count", "0", "greater than or equal to 1"),
    ("count", "", "required"), ("minutes", "soon", "whole number"), ("seed", "x", None),
])
def test_a_fault_in_the_form_is_said_and_begins_nothing(
    mixed: list[Question], as_ada: Client, field: str, typed: str, sentence: str | None
):
    form = {"query": "", "count": "2", "minutes": "", "by_options": "words", "seed": "11"} | {field: typed}
    shown = as_ada.post("/questions/quizzes/begin/", form)
    assert shown.status_code == 200 and not Quiz.objects.exists()
    assert sentence is None or sentence in shown.content.decode()


def test_filters_that_leave_nothing_say_so(mixed: list[Question], as_ada: Client):
    assert "No question is left" in as_ada.get("/questions/quizzes/new/?q=nothing+like+it").content.decode()
    shown = as_ada.post("/questions/quizzes/begin/", {"query": "q=nothing+like+it", "count": "1", "seed": "3"})
    assert "No question is left" in shown.content.decode() and not Quiz.objects.exists()


# Whose it is

def test_a_quiz_is_unknown_to_anybody_else(mixed: list[Question], ada: User, eve: User):
    quiz = begin(ada, mixed)
    client = Client()
    client.force_login(eve)
    base = f"/questions/quizzes/{quiz.pk}/"
    assert {client.get(base + rest).status_code for rest in ("", "1/")} == {404}
    posts = ("end/", "drill/", "1/draft/", "1/answer/", "1/score/")
    assert {client.post(base + rest, {"missed": "q1.1"}).status_code for rest in posts} == {404}
    assert client.post("/questions/quizzes/begin/", {"again": quiz.pk, "seed": 4}).status_code == 404
    assert Quiz.objects.count() == 1 and not QuizAnswer.objects.exists() and course_of(quiz).current
    for address in ("/questions/quizzes/", "/questions/quizzes/new/", base, base + "1/"):
        assert Client().get(address).status_code == 302


def test_a_question_without_its_lab_is_passed(as_ada: Client, ada: User, mixed: list[Question]):
    quiz = begin(ada, [mixed[1]])
    Question.objects.filter(pk=mixed[1].pk).update(runs={})
    assert "This question can’t be shown at the moment." in page(as_ada, quiz, 1)
    place = reverse("flashcards:answer_place", args=[quiz.pk, 1])
    assert as_ada.post(place, {"typed": "3"}, follow=True).status_code == 200
    assert not QuizAnswer.objects.exists()
    as_ada.post(place, {"pass": "1"}, follow=True)
    assert QuizAnswer.objects.get().passed
    assert as_ada.get(f"/questions/quizzes/{quiz.pk}/").status_code == 200
