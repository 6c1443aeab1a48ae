"""Quizzes: the list and the form that begins one, a place to answer, the score; each act once, whatever is resent."""
from random import Random
from secrets import randbelow
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from flashcards import access, quizzes, services
from flashcards.forms import NewQuizForm
from flashcards.models import Quiz
from flashcards.question_list import FACETS, QuestionList
from flashcards.quiz_page import QuizDesk, QuizEnd, place_address
from flashcards.quizzes import Course, Place
from flashcards.views import ticked
from questions.access import published, staff_checks
from questions.checking import SLUG
from questions.models import Question

CHECKS = "staff-level checks"
USUAL_COUNT, MOST_LISTED, MOST_MISSED = 10, 50, 100
TAKEN = "Answered before: the first answer stands."
TOO_LATE = "The time was up before this answer came in; it is not counted."
ENDED = "This quiz is over; nothing was recorded."


@require_safe
@login_required
def quizzes_page(request: HttpRequest) -> HttpResponse:
    """The quizzes that go on, the staff-level checks to begin, and how earlier ones came out."""
    services.ensure_cards(request.user)
    now = timezone.now()
    courses = [Course(quiz, now) for quiz in Quiz.objects.filter(user=request.user).order_by("-pk")[:MOST_LISTED]]
    return render(request, "flashcards/quizzes.html", {
        "open": [course for course in courses if not course.is_over], "over": [c for c in courses if c.is_over],
        "checks": staff_checks(), "seed": fresh_seed(), "today": now,
    })


@require_safe
@login_required
def new_quiz_page(request: HttpRequest) -> HttpResponse:
    """The form that begins a quiz from the questions that the address's filters leave."""
    services.ensure_cards(request.user)
    return shown_form(request, request.GET)


def shown_form(request: HttpRequest, filters: QueryDict, form: NewQuizForm | None = None) -> HttpResponse:
    """The form's page; without one sent, with what is usual."""
    questions, listed = at_hand(request, filters)
    most = len(questions)
    if form is None:
        form = NewQuizForm(most, initial={"count": min(USUAL_COUNT, most), "seed": fresh_seed()})
    return render(request, "flashcards/quiz_new.html", {
        "form": form, "most": most, "list": listed, "title": title_of(listed), "query": kept_query(filters),
        "with_options": sum(bool(question.options) for question in questions),
        "minutes": sum(question.minutes for question in questions),
    })


@require_POST
@login_required
def begin(request: HttpRequest) -> HttpResponse:
    """Begin the staff-level checks, the same questions as in an earlier quiz, or a quiz from filters."""
    services.ensure_cards(request.user)
    now, sent = timezone.now(), request.POST
    seed = int(text) if (text := sent.get("seed", "")).isascii() and text.isdecimal() and len(text) < 11 else None
    if seed is not None and sent.get("what") == "checks" and (checks := staff_checks()):
        quiz = quizzes.begin(request.user, checks, title=CHECKS, seed=seed, now=now)
        return redirect("flashcards:quiz", quiz.pk)
    if seed is not None and (again := sent.get("again", "")).isascii() and again.isdecimal() and len(again) < 19:
        earlier = access.quiz_for(request.user, int(again))
        found = published().in_bulk(earlier.questions)
        if questions := [found[key] for key in earlier.questions if key in found]:
            quiz = quizzes.begin(
                request.user, questions, title=earlier.title, query=earlier.query, by_options=earlier.by_options,
                seconds_allowed=earlier.seconds_allowed, seed=seed, now=now)
            return redirect("flashcards:quiz", quiz.pk)
        messages.info(request, "None of its questions is drilled any more.")
        return redirect("flashcards:quizzes")
    filters = QueryDict(sent.get("query", "")[:1000])
    questions, listed = at_hand(request, filters)
    form = NewQuizForm(len(questions), sent)
    if not questions or not form.is_valid():
        return shown_form(request, filters, form if questions else None)
    given, query = form.cleaned_data, kept_query(filters)
    # Gone back to and filled in otherwise, the form begins another quiz; sent again as it was, none.
    seed = Random(f"{query}, {sorted(given.items())}").randrange(2**31)
    quiz = quizzes.begin(
        request.user, quizzes.chosen_from(questions, given["count"], seed), title=title_of(listed),
        query=query, by_options=given["by_options"], seed=seed, now=now,
        seconds_allowed=given["minutes"] * 60 if given["minutes"] else None)
    return redirect("flashcards:quiz", quiz.pk)


@require_safe
@login_required
def quiz_page(request: HttpRequest, pk: int) -> HttpResponse:
    """How a quiz came out; while it goes on, its next question."""
    course = Course(access.quiz_for(request.user, pk), timezone.now())
    if course.current is not None:
        return redirect(place_address(pk, course.current))
    context = {"end": QuizEnd(course), "course": course, "seed": fresh_seed(), "choose": "choose" in request.GET}
    return render(request, "flashcards/quiz_end.html", context)


@require_safe
@login_required
def place_page(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    """One place of a quiz, to answer or beside the answer; what is not its turn yet leads to what is."""
    course, place = place_for(request, pk, number)
    shown = place.answer is not None and course.reveals
    if not shown and not course.is_over and place != course.current:
        return redirect(place_address(pk, course.current))
    if place == course.current:
        quizzes.look(course.quiz, number, course.now)
    return render(request, "flashcards/quiz.html", {"desk": QuizDesk(course, place), "course": course})


@require_POST
@login_required
def draft(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    """Keep what is typed so far and answer with how it reads."""
    course, place = place_for(request, pk, number)
    desk = QuizDesk(course, place)
    if not desk.can_be_posed:
        return redirect(place_address(pk, place))
    if place == course.current and not desk.has_options:
        desk.fill(request.POST)
        quizzes.save_draft(course.quiz, number, desk.typed(), course.now)
    return render(request, "flashcards/_reading.html", {"desk": desk, "live": True})


@require_POST
@login_required
def answer(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    """Commit the answer at a place, once; a fault keeps all that was typed and reveals nothing."""
    course, place = place_for(request, pk, number)
    if place.answer is not None:
        messages.info(request, TAKEN)
        return redirect(place_address(pk, place) if course.reveals else place_address(pk, None))
    if course.is_over:
        messages.info(request, ENDED if course.quiz.ended_at else TOO_LATE)
        return redirect("flashcards:quiz", pk)
    if place != course.current:
        return redirect(place_address(pk, course.current))
    desk = QuizDesk(course, place)
    if not desk.can_be_posed and "pass" not in request.POST:
        return redirect(place_address(pk, place))
    if desk.can_be_posed and request.POST.get("digest") != desk.posed.digest:
        messages.info(request, "The question was edited meanwhile. Nothing was recorded; this is how it reads now.")
        return redirect(place_address(pk, place))
    if "pass" in request.POST:
        given: dict[str, Any] = desk.nothing | {"passed": True, "within": False}
    elif desk.fill(request.POST).is_valid():
        given = desk.commit()
    else:
        return render(request, "flashcards/quiz.html", {"desk": desk, "course": course})
    if quizzes.answer(course.quiz, place, now=course.now, **given) is None:
        messages.info(request, TOO_LATE)
    return redirect(place_address(pk, place) if course.reveals else place_address(pk, None))


@require_POST
@login_required
def score(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    """Keep the ticks of an outline's rubric, once, and go on."""
    course, place = place_for(request, pk, number)
    if not course.reveals or not place.unscored:
        messages.info(request, "Scored before: it stands as it was.")
    else:
        quizzes.score(course.quiz, place, ticked(request), course.now)
    return redirect(QuizDesk(course, place).after_address)


@require_POST
@login_required
def end(request: HttpRequest, pk: int) -> HttpResponse:
    """End a quiz before its last answer."""
    course = Course(access.quiz_for(request.user, pk), timezone.now())
    if not course.is_over:
        quizzes.end(course.quiz, course.now)
    return redirect("flashcards:quiz", pk)


@require_POST
@login_required
def drill(request: HttpRequest, pk: int) -> HttpResponse:
    """Have the missed questions that were chosen due today; what was done with one since then is left alone."""
    access.quiz_for(request.user, pk)
    offered = {}
    for text in request.POST.getlist("missed")[:MOST_MISSED]:
        slug, _, ordinal = text.rpartition(".")
        if SLUG.fullmatch(slug) and ordinal.isascii() and ordinal.isdecimal() and len(ordinal) < 10:
            offered[slug] = int(ordinal)
    added = quizzes.add_missed(request.user, offered, timezone.now())
    if added:
        messages.success(request, f"{added} added: {'it comes' if added == 1 else 'they come'} first in today’s drill.")
    else:
        messages.info(request, "Nothing was added: they are in your drill already, or none was chosen.")
    return redirect("flashcards:quiz", pk)


def place_for(request: HttpRequest, pk: int, number: int) -> tuple[Course, Place]:
    """This person's quiz and one of its places; 404 for any other."""
    course = Course(access.quiz_for(request.user, pk), timezone.now())
    if (place := course.at(number)) is None:
        raise Http404(f"the quiz has no place {number}")
    return course, place


def at_hand(request: HttpRequest, filters: QueryDict) -> tuple[list[Question], QuestionList]:
    """The questions that the filters leave and that are drilled, and the list that they come from."""
    listed = QuestionList(request.user, timezone.now(), filters)
    questions = [row.question for row in listed.filtered.items]
    return [question for question in questions if not (question.draft or question.retired)], listed


def title_of(listed: QuestionList) -> str:
    """What a quiz from these filters is called: "scheduling, size"."""
    names = [choice.label for choice in listed.filtered.chosen] + ([f"“{listed.text}”"] if listed.text else [])
    return ", ".join(names)[:200] or "all questions"


def kept_query(filters: QueryDict) -> str:
    """The filters alone, as an address carries them."""
    kept = QueryDict(mutable=True)
    for name in ("q", *FACETS):
        if values := [value[:100] for value in filters.getlist(name) if value][:20]:
            kept.setlist(name, values)
    return kept.urlencode()[:1000]


def fresh_seed() -> int:
    """What a form's quiz is drawn by; the form that carries it begins one quiz, however often it is sent."""
    return randbelow(2**31)
