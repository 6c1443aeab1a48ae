"""The learner's pages: Today, Review and Numbers."""
import re
from datetime import date

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from drillapp.htmx import render_page, wants_fragment
from flashcards import access, queue, services
from flashcards.card_history import title_of
from flashcards.desk import Desk, Sitting
from flashcards.drills import Round, drill_of
from flashcards.leeches import is_told
from flashcards.models import Card, Rating, Review
from flashcards.number_desk import NumberDesk
from flashcards.number_list import NumberList
from flashcards.number_page import NumberPage
from flashcards.overview import Overview, action_words, recorded_words
from flashcards.own_desk import OwnDesk, OwnPage
from flashcards.question_desk import QuestionDesk
from flashcards.question_page import QuestionPage
from flashcards.quizzes import open_quizzes
from questions.models import Note

MOST_PUT_OFF, MOST_TICKS = 200, 50
POINT = re.compile(r"[A-Za-z0-9_-]{1,40}")  # a rubric point's id
UNDOABLE = "undoable"  # a message with an Undo beside it
LEECH = "leech"  # a message with what helps beside it
MOVED_ON = "Answered in another tab. Nothing was recorded twice; this is the next one."
MOVED_ON_HERE = "Changed in another tab. Nothing was recorded twice; this is how it stands now."


@require_safe
@login_required
def today_page(request: HttpRequest) -> HttpResponse:
    """What is due today, how long it should take, and the days ahead."""
    services.ensure_cards(request.user)
    now = timezone.now()
    day = queue.today(request.user, now)
    context = {
        "day": day, "overview": Overview(day, request.user.profile), "due_count": len(day.first_in_line),
        "going_on": next(open_quizzes(request.user, now), None),
    }
    return render(request, "flashcards/today.html", context)


@require_safe
@login_required
def review_page(request: HttpRequest) -> HttpResponse:
    """One item of the day: asked, or, once committed, beside the staff answer.

    An address that names a card and its place in the log shows that turn, or tells that it is over and moves on.
    """
    services.ensure_cards(request.user)
    sitting = sitting_of(request.GET)
    if is_key(request.GET.get("card", "")):
        card = access.card_for(request.user, int(request.GET["card"]))
        if is_current(card, request.GET):
            return turn(request, card, sitting)
        messages.info(request, MOVED_ON)
    return next_turn(request, sitting)


@require_POST
@login_required
def draft(request: HttpRequest, pk: int) -> HttpResponse:
    """Keep what is typed so far and answer with how it reads; leaving for the lab or for later keeps it too."""
    card = access.card_for(request.user, pk)
    desk = desk_for(request, card, sitting_of(request.POST))
    if not desk.can_be_posed:
        return turn(request, card, desk.sitting)
    if is_current(card, request.POST):
        keep_draft(request, desk)
    match request.POST.get("leave"):
        case "lab" if card.question_id and desk.posed.lab:
            return redirect(desk.posed.lab)
        case "later":
            return next_turn(request, desk.sitting.without(card))
    return render(request, "flashcards/_reading.html", {"desk": desk, "live": True})


@require_POST
@login_required
def check(request: HttpRequest, pk: int) -> HttpResponse:
    """Commit the answer and show it beside the staff's; a fault keeps all that was typed and reveals nothing."""
    card = access.card_for(request.user, pk)
    sitting = sitting_of(request.POST)
    if not is_current(card, request.POST):
        messages.info(request, moved_on(sitting))
        return next_turn(request, sitting, card)
    desk = desk_for(request, card, sitting)
    if desk.attempt is None and desk.can_be_posed:
        if not desk.fill(request.POST).is_valid():
            services.save_draft(card, desk.ordinal, **desk.typed())
            return show(request, desk)
        services.commit_attempt(card, ordinal=desk.ordinal, now=desk.now, **desk.commit())
    return turn(request, card, sitting)


@require_POST
@login_required
def ticks(request: HttpRequest, pk: int) -> HttpResponse:
    """Keep the ticks and show what grade they suggest."""
    card = access.card_for(request.user, pk)
    sitting = sitting_of(request.POST)
    if is_current(card, request.POST):
        services.set_ticks(card, card.next_ordinal, ticked(request))
    desk = desk_for(request, card, sitting)
    if not wants_fragment(request) or desk.attempt is None or not desk.can_be_posed:
        return turn(request, card, sitting)
    return render(request, "flashcards/_grade_bar.html", {"desk": desk, "swapped": True})


@require_POST
@login_required
def answer(request: HttpRequest, pk: int) -> HttpResponse:
    """Grade the committed answer and go on to the next card."""
    card = access.card_for(request.user, pk)
    now, sitting = timezone.now(), sitting_of(request.POST)
    if not is_current(card, request.POST):
        messages.info(request, moved_on(sitting))
        return next_turn(request, sitting, card)
    attempt, rating = services.committed(card), request.POST.get("rating", "")
    if attempt is None or rating not in map(str, Rating.values):
        messages.info(request, "Nothing was recorded: commit an answer first, then choose one of the four grades.")
        return turn(request, card, sitting)
    given = {"shown": shown_day(request.POST, rating), "ticks": ticked(request)}
    if services.answer_card(card, Rating(int(rating)), ordinal=card.next_ordinal, now=now, attempt=attempt, **given):
        lapses, card = card.lapses, access.card_for(request.user, pk)
        recorded = recorded_words(card, Rating(int(rating)), now)
        messages.success(request, recorded, extra_tags=UNDOABLE if sitting.only == "this" else "")
        if card.lapses > lapses and is_told(card.lapses, card.user.profile.leech_lapses):
            messages.warning(request, f"A leech: “{title_of(card)}” has lapsed {card.lapses} times.", extra_tags=LEECH)
    else:
        messages.info(request, moved_on(sitting))
    return next_turn(request, sitting, card)


@require_POST
@login_required
def undo(request: HttpRequest) -> HttpResponse:
    """Take back the person's last action; after an answer its card comes again, with what was typed, to be graded."""
    sitting, review, shown = sitting_of(request.POST), request.POST.get("review", ""), request.POST.get("card", "")
    undone = services.undo(request.user, int(review), now=timezone.now()) if is_key(review) else None
    if undone is None:
        messages.info(request, "Nothing was undone: it was taken back before, or something newer stands.")
        return next_turn(request, sitting, access.card_for(request.user, int(shown)) if is_key(shown) else None)
    card, words = access.card_for(request.user, undone.card_id), action_words(undone.names)
    if undone.names.kind == Review.Kind.ANSWER:
        if card.note_id and sitting.only == "this":
            sitting = Sitting()  # a number card is graded in the review alone
        messages.info(request, f"Undone: {words}. Grade it again, or leave it for later.")
        return turn(request, card, sitting)
    messages.info(request, f"Undone: {words} on “{card.item}”.")
    return next_turn(request, sitting, card)


@require_safe
@login_required
def numbers_page(request: HttpRequest) -> HttpResponse:
    """Every number card by topic, to turn over and look at; the side and the filters are in the address."""
    services.ensure_cards(request.user)
    return render(request, "flashcards/numbers.html", {"list": NumberList(request.user, timezone.now(), request.GET)})


@require_safe
@login_required
def number_page(request: HttpRequest, slug: str) -> HttpResponse:
    """A number card whole, with how each of its sides stands and all that was done with them."""
    services.ensure_cards(request.user)
    return turn(request, access.number_card_for(request.user, slug), Sitting(only="this"))


def turn(
    request: HttpRequest, card: Card | None, sitting: Sitting, left: queue.Line | None = None
) -> HttpResponse:
    """Show this card: at once for htmx, and after a plain form by a redirect, so that a reload sends nothing again.

    `left` is what is left of the day, where that is known.
    """
    desk = desk_for(request, card, sitting)
    if left is not None:
        desk.line = left
    if request.method == "POST" and not wants_fragment(request):
        return redirect(desk.here)
    return show(request, desk)


def next_turn(request: HttpRequest, sitting: Sitting, last: Card | None = None) -> HttpResponse:
    """Show the next card of the day, or the end of the sitting; on a question's own page that question again."""
    if last and sitting.only == "this":
        return turn(request, access.card_for(request.user, last.pk), sitting)
    now, left = timezone.now(), None
    if sitting.drill:
        card = Round(request.user, sitting.drill, now).next_card(sitting.later)
    else:
        left = queue.line(request.user, now, sitting.only)
        card = queue.next_card(request.user, now, sitting.later, left=left)
    if card is not None and card.pk in sitting.later:
        messages.info(request, "Only what you put off is left.")
    return turn(request, card, sitting, left)


def desk_for(request: HttpRequest, card: Card | None, sitting: Sitting) -> Desk:
    """The desk with this card on it, a question or a number card; without a card an empty one."""
    alone = sitting.only == "this"
    if card is None:
        kind, sitting = Desk, Sitting() if alone else sitting
    elif card.note_id and card.note.kind != Note.Kind.NUMBER:
        kind = OwnPage if alone else OwnDesk
    elif card.note_id:
        kind = NumberPage if alone else NumberDesk
    else:
        kind = QuestionPage if alone else QuestionDesk
    return kind(request.user, card, timezone.now(), sitting)


def keep_draft(request: HttpRequest, desk: Desk) -> None:
    """Keep what stands in the fields that the page sends of a card not yet committed on."""
    if desk.can_be_posed and desk.attempt is None and set(request.POST) & set(desk.form.fields):
        desk.fill(request.POST)
        services.save_draft(desk.card, desk.ordinal, **desk.typed())


def show(request: HttpRequest, desk: Desk) -> HttpResponse:
    response = render_page(request, desk.page, desk.fragment, {"desk": desk})
    if wants_fragment(request):
        response["HX-Replace-Url"] = desk.here
    return response


def shown_day(sent: QueryDict, rating: str) -> date | None:
    """The due day that the button of this grade showed; None without one."""
    try:
        return date.fromisoformat(sent.get(f"due_{rating}", ""))
    except ValueError:
        return None


def moved_on(sitting: Sitting) -> str:
    """What a page is told that was overtaken."""
    return MOVED_ON_HERE if sitting.only == "this" else MOVED_ON


def is_current(card: Card, sent: QueryDict) -> bool:
    """Whether the page that sent this still shows the card as it stands: nothing was added to its log since."""
    return sent.get("ordinal") == str(card.next_ordinal)


def is_key(text: str) -> bool:
    """Whether the text can be a row's key at all."""
    return text.isascii() and text.isdecimal() and len(text) <= 18


def sitting_of(sent: QueryDict) -> Sitting:
    """The sitting that a page belongs to: the cards put off in it, in the order they were, and what it is about."""
    later = dict.fromkeys(int(pk) for pk in sent.get("later", "").split(",")[-MOST_PUT_OFF:] if is_key(pk))
    drill = drill_of(sent)
    only = sent["only"] if sent.get("only") in ("numbers", "this") else ""
    return Sitting(tuple(later), only, drill if drill.since else None)


def ticked(request: HttpRequest) -> list[str]:
    """The ids of the rubric points that the page sends as ticked; what can't be an id is left out."""
    return [tick for tick in request.POST.getlist("tick") if POINT.fullmatch(tick)][:MOST_TICKS]
