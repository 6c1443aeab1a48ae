"""The learner's side as an export has it: every card's log, what was tried, and all that was written down.

Rows name each other by what they are called everywhere (a slug, a guid, a place in a log), never by a database's keys.
"""
from collections.abc import Iterator
from typing import Any

from accounts.models import User
from accounts.rows import row_of
from flashcards.bring import put
from flashcards.models import (
    Adoption,
    Attempt,
    Card,
    Draft,
    Memo,
    Prediction,
    Quiz,
    Review,
    Work,
)
from flashcards.written import (
    ADOPTION,
    ATTEMPT,
    BATCH,
    DRAFT,
    KEPT_WORK,
    LOOK,
    PREDICTION,
    QUIZ,
    QUIZ_ANSWER,
    REVIEW,
    SEED_STEP,
    WORK,
    key_of_card,
    key_of_item,
)
from questions.models import Question

__all__ = ["of", "put"]


def of(user: User) -> dict[str, Any]:
    """Everything that the person did: the log in the order it was written, across the cards."""
    cards = Card.objects.filter(user=user).select_related("question", "note")
    touched = {card.pk: card for card in cards.filter(log_length__gt=0)}
    touched |= {card.pk: card for card in cards.filter(attempts__isnull=False)}
    touched |= {card.pk: card for card in cards.filter(draft__isnull=False)}
    touched |= {card.pk: card for card in cards.filter(note__owner=user)}
    keys = {pk: list(key_of_card(card)) for pk, card in sorted(touched.items())}
    place = {pk: at for at, pk in enumerate(keys)}
    attempts = Attempt.objects.filter(card__user=user).order_by("pk")
    reviews = Review.objects.filter(card__user=user).select_related("names", "attempt").order_by("pk")
    memos = Memo.objects.filter(user=user).select_related("question", "note").order_by("pk")
    return {
        "cards": list(keys.values()),
        "attempts": [
            {"card": place[one.card_id], **row_of(one, ATTEMPT), "answers": one.seed - one.card_id * SEED_STEP}
            for one in attempts.iterator(BATCH)
        ],
        "reviews": [
            {"card": place[one.card_id], **row_of(one, REVIEW), "names": one.names and one.names.ordinal,
             "attempt": one.attempt and [one.attempt.ordinal, one.attempt.kind, one.attempt.take]}
            for one in reviews.iterator(BATCH)
        ],
        "drafts": [
            {"card": place[one.card_id], **row_of(one, DRAFT)}
            for one in Draft.objects.filter(card__user=user).order_by("pk")
        ],
        "memos": [{**dict([key_of_item(memo)]), **row_of(memo, ("text", "changed_at"))} for memo in memos],
        "predictions": [row_of(one, PREDICTION) for one in Prediction.objects.filter(user=user).order_by("pk")],
        "quizzes": list(quizzes_of(user)),
        "works": [row_of(one, WORK) for one in Work.objects.filter(
            user=user, kind__in=KEPT_WORK, done_at__isnull=False).order_by("pk")],
        "adoptions": [
            {**row_of(one, ADOPTION), "fit": one.fit and one.fit.asked_at.isoformat()}
            for one in Adoption.objects.filter(user=user).select_related("fit").order_by("pk")
        ],
    }


def quizzes_of(user: User) -> Iterator[dict[str, Any]]:
    """The person's quizzes with what was looked at and answered; questions by their slugs."""
    slugs = dict(Question.objects.values_list("pk", "slug"))
    for quiz in Quiz.objects.filter(user=user).prefetch_related("looks", "answers").order_by("pk"):
        yield {
            **row_of(quiz, QUIZ), "questions": [slugs.get(pk, "") for pk in quiz.questions],
            "looks": [row_of(look, LOOK) for look in quiz.looks.all()],
            "answers": [
                {**row_of(one, QUIZ_ANSWER), "question": slugs[one.question_id]} for one in quiz.answers.all()],
        }
