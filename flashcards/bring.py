"""An export of the learner's side brought into an account: what is not here is added, what is here stays."""
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from importlib import import_module
from itertools import islice
from typing import Any
from uuid import UUID, uuid5

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.export import can_schedule
from accounts.models import User
from accounts.rows import BadExport, Taken, fields_of, rows_in
from flashcards import kept, memory, queue, services
from flashcards.memory import Due, Memory
from flashcards.models import (
    Adoption,
    Attempt,
    Card,
    Draft,
    Memo,
    Prediction,
    Quiz,
    QuizAnswer,
    QuizLook,
    Review,
    State,
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
from questions.export import key_of
from questions.models import Note, Question

SIDES = {"question": re.compile("forward"), "number": re.compile("forward|reverse"),
         "own": re.compile(r"forward|reverse|c[1-9]\d{0,2}")}
MOST_NAMED = 10_000  # cards, one by one in a query
UNPLAYABLE = (ArithmeticError, AssertionError, AttributeError, KeyError, TypeError, ValueError)
Log = dict[int, Review]  # a card's log by ordinal


def put(user: User, part: Mapping[str, Any], now: datetime, taken: Taken) -> list[Card | None]:
    """Add what is not here; a card whose log went another way here stays as it is, and that is said.

    What comes back is the person's card for each of the file's. Raises BadExport when the file contradicts itself.
    """
    cards = cards_for(user, rows_in(part, "cards"), taken)
    parted: set[int] = set()
    put_logs(user, cards, (rows_in(part, "reviews"), rows_in(part, "attempts")), parted, taken)
    put_drafts(rows_in(part, "drafts"), cards, parted, taken)
    say_parted(parted, taken)
    put_memos(user, rows_in(part, "memos"), taken)
    put_new(Prediction, PREDICTION, rows_in(part, "predictions"), user, ("lab", "state", "step", "field"), taken)
    put_quizzes(user, rows_in(part, "quizzes"), taken)
    works = [row for row in rows_in(part, "works") if not isinstance(row, Mapping) or row.get("done_at")]
    put_new(Work, WORK, works, user, ("kind", "asked_at"), taken, check=check_work)
    done = Work.objects.filter(user=user, kind=Work.Kind.FIT, done_at__isnull=False, fault="")
    fits = {work.asked_at.isoformat(): work for work in done}
    put_new(Adoption, ADOPTION, rows_in(part, "adoptions"), user, ("at",), taken,
            more=lambda row: {"fit": fits.get(str(row.get("fit")))}, check=check_adoption)
    return cards


Cut = tuple[list[Any], list[Any]]  # rows of the log, and the attempts that belong to them


def cuts_in_order(part: Mapping[str, Any], size: int) -> Iterator[Cut]:
    """The log in cuts of so many rows, in the order in which it was done, with all that was tried up to then; each can
    be brought in once those before it are. Raises BadExport when a row belongs to no card of the file."""
    rows, tried = checked_rows(part)
    place = {(row["card"], plain(row.get("ordinal"))): at for at, row in enumerate(tried)}
    begin = 0
    for at in range(0, len(rows), size):
        cut = rows[at:at + size]
        needed = (place.get((row["card"], plain(row["attempt"][0])), -1) for row in cut
                  if isinstance(row.get("attempt"), list) and row["attempt"])
        end = max(begin, max(needed, default=-1) + 1)
        yield cut, tried[begin:end]
        begin = end
    for at in range(begin, len(tried), size):
        yield [], tried[at:at + size]


def cuts_by_card(part: Mapping[str, Any], size: int) -> Iterator[Cut]:
    """The log in cuts of so many cards, none of which needs another. Raises BadExport as cuts_in_order() does."""
    rows, tried = checked_rows(part)
    logs: dict[int, Cut] = {}
    for which, some in enumerate((rows, tried)):
        for row in some:
            logs.setdefault(row["card"], ([], []))[which].append(row)
    whole = iter(logs.values())
    while some := list(islice(whole, size)):
        yield [row for log, _ in some for row in log], [row for _, attempts in some for row in attempts]


def checked_rows(part: Mapping[str, Any]) -> Cut:
    """The rows of the log and the attempts, each on a card of the file. Raises BadExport."""
    keys, rows, tried = (rows_in(part, name) for name in ("cards", "reviews", "attempts"))
    for row in (*rows, *tried):
        card_of(row, keys)
    return rows, tried


def put_logs(user: User, cards: list[Card | None], cut: Cut, parted: set[int], taken: Taken) -> None:
    """Append to each log what it lacks of these rows, and let the cards become what their logs say; cards whose log
    went another way here are added to `parted`, and left."""
    rows, tried = cut
    reviews = [(card_of(row, cards), fields_of(Review, REVIEW, row), row) for row in rows]
    touched = {card.pk: card for row in (*rows, *tried) if (card := card_of(row, cards))}
    logs = logs_of(user, touched)
    reviews = without_others(reviews, logs, parted)
    attempts = put_attempts(user, tried, cards, touched, parted, taken)
    changed = put_reviews(user, reviews, logs, attempts, taken)
    replay_cards(user, [card for pk, card in touched.items() if pk in changed], logs)
    kept.void(user.pk)


def cards_for(user: User, keys: list[Any], taken: Taken) -> list[Card | None]:
    """The person's card for each of the file's, made where there is none; None for what this bank does not ask."""
    asked = asked_here(user)
    here = {key_of_card(card): card for card in Card.objects.filter(user=user).select_related("question", "note")}
    found: list[Card | None] = []
    making = []
    for key in keys:
        kind, name, side = checked_key(key)
        card = here.get((kind, name, side))
        if card is None and (item := asked[kind].get(name)) is not None:
            if kind == "own" and (item.kind == Note.Kind.CLOZE) != side.startswith("c"):
                raise BadExport(f"The own card “{item.ask[:60]}” has no side {side}.")
            card = Card(user=user, direction=side, **{"question" if kind == "question" else "note": item})
            here[kind, name, side] = card
            making.append(card)
        found.append(card)
    Card.objects.bulk_create(making, batch_size=BATCH)
    kept.void(user.pk)
    if unknown := found.count(None):
        taken.left_out.append(f"{cards_words(unknown)} whose question or number this bank does not have.")
    return found


def asked_here(user: User) -> dict[str, dict[str, Question | Note]]:
    """What the person can be asked here: {"question", "number" or "own": {what it is called everywhere: it}}."""
    return {
        "question": {question.slug: question for question in Question.objects.all()},
        "number": {note.slug: note for note in Note.objects.filter(owner=None)},
        "own": {key_of(note): note for note in Note.objects.filter(owner=user)},
    }


def checked_key(key: Any) -> tuple[str, str, str]:
    """What a card of the file asks. Raises BadExport when it is nothing that a card could ask."""
    if not isinstance(key, list) or len(key) != 3 or not all(isinstance(one, str) for one in key):
        raise BadExport("A card is not written as what it asks.")
    kind, name, side = key
    sides = SIDES[kind].fullmatch(side) if kind in SIDES else None
    if not sides:
        raise BadExport(f"There is no card such as {' '.join(key)[:80]}.")
    return kind, name, side


def cards_words(count: int) -> str:
    return f"{count} card{'' if count == 1 else 's'}"


def card_of(row: Any, cards: list[Any]) -> Any:
    """The card that a row of the file belongs to. Raises BadExport when the file has no such card."""
    at = row.get("card") if isinstance(row, Mapping) else None
    if type(at) is not int or not 0 <= at < len(cards):
        raise BadExport("A row belongs to no card of the file.")
    return cards[at]


def on_cards(user: User, touched: Collection[int]) -> Q:
    """Those of the person's rows that are on these cards, or, where these are many, all of them."""
    return Q(card__user=user, **({"card__in": list(touched)} if len(touched) <= MOST_NAMED else {}))


def logs_of(user: User, touched: Collection[int]) -> dict[int, Log]:
    """The logs of these cards that are here, by card."""
    logs: dict[int, Log] = {}
    for review in Review.objects.filter(on_cards(user, touched)):
        logs.setdefault(review.card_id, {})[review.ordinal] = review
    return logs


Rows = list[tuple[Card | None, dict[str, Any], Mapping[str, Any]]]


def without_others(reviews: Rows, logs: Mapping[int, Log], parted: set[int]) -> Rows:
    """The rows without those of cards whose log here and log in the file part somewhere, which are added to `parted`:
    they part before the first row that is only in the file."""
    for card, fields, _ in reviews:
        here = logs.get(card.pk, {}).get(fields.get("ordinal")) if card else None
        if here and any(getattr(here, name) != fields.get(name) for name in ("kind", "at", "rating")):
            parted.add(card.pk)
    return [(card, fields, row) for card, fields, row in reviews if card and card.pk not in parted]


def say_parted(parted: set[int], taken: Taken) -> None:
    if parted:
        taken.left_out.append(f"{cards_words(len(parted))} that went another way here: what is here stays.")


Tries = dict[tuple[int, int, str, int], Attempt]  # by card, ordinal, kind and take


def put_attempts(
    user: User, rows: list[Any], cards: list[Card | None], touched: Collection[int], parted: set[int], taken: Taken
) -> Tries:
    """Add the attempts that are not here; what comes back are all on the cards that are touched."""
    here: Tries = {(one.card_id, one.ordinal, one.kind, one.take): one
                   for one in Attempt.objects.filter(on_cards(user, touched))}
    adding = []
    for row in rows:
        if (card := card_of(row, cards)) is None or card.pk in parted:
            continue
        fields = {"take": 0} | fields_of(Attempt, ATTEMPT, row)
        key = (card.pk, fields.get("ordinal"), fields.get("kind"), fields["take"])
        if key in here:
            taken.count("attempts", known=1)
            continue
        answers = row.get("answers")
        if type(answers) is not int or not 0 <= answers < SEED_STEP:
            raise BadExport(f"An attempt on {card.item} does not say how many answers came before it.")
        here[key] = Attempt(card=card, seed=card.pk * SEED_STEP + answers, **fields)
        adding.append(here[key])
    Attempt.objects.bulk_create(adding, batch_size=BATCH)
    taken.count("attempts", new=len(adding))
    return here


def put_reviews(user: User, rows: Rows, logs: dict[int, Log], attempts: Tries, taken: Taken) -> set[int]:
    """Append to each log what it lacks, in the order in which it was done; the keys of the cards that grew."""
    writing: list[Review] = []
    unwritten: set[tuple[int, int]] = set()
    grown: set[int] = set()

    def write() -> None:
        Review.objects.bulk_create(writing, batch_size=BATCH)
        writing.clear()
        unwritten.clear()

    for card, fields, row in rows:
        log, ordinal, named = logs.setdefault(card.pk, {}), fields.get("ordinal"), row.get("names")
        if ordinal in log:
            taken.count("log rows", known=1)
            continue
        if ordinal != len(log) + 1:
            raise BadExport(f"The log of {card.item} has a gap before its row {ordinal}.")
        if named is not None and (type(named) is not int or named not in log):
            raise BadExport(f"A row in the log of {card.item} names one that is not before it.")
        if (card.pk, named) in unwritten:  # a row can only name one that has its key
            write()
        if fields.get("batch"):
            # the same in each cut, another for each person
            fields["batch"] = uuid5(UUID(int=user.pk), str(fields["batch"]))
        tried = row.get("attempt")
        if isinstance(tried, list) and tried[1:2] != [Attempt.Kind.GRADE]:
            raise BadExport(f"Row {ordinal} in the log of {card.item} comes of an answer that was not graded.")
        review = Review(
            card=card, names=log[named] if named is not None else None,
            attempt=attempts.get((card.pk, *map(plain, tried))) if isinstance(tried, list) else None, **fields)
        check_review(review)
        log[ordinal] = review
        writing.append(review)
        unwritten.add((card.pk, ordinal))
        grown.add(card.pk)
        taken.count("log rows", new=1)
    write()
    return grown


def plain(one: Any) -> Any:
    """A part of a key, as it can be looked up."""
    return one if isinstance(one, str | int) else None


def check_review(review: Review) -> None:
    """Refuse a row that a log can't hold. Raises BadExport."""
    kind = review.kind
    known = review.stability and review.stability > 0 and review.difficulty and 1 <= review.difficulty <= 10
    if (
        (kind in ("answer", "amend") and review.rating is None)
        or (kind in ("amend", "remove", "undo") and review.names is None)
        or (kind == "import" and review.rating is None and not (known and review.fed_at))
        or (review.at is None or review.study_day is None or not review.state)
    ):
        raise BadExport(f"Row {review.ordinal} in the log of {review.card.item} does not hold what such a row says.")


def replay_cards(user: User, cards: list[Card], logs: Mapping[int, Log]) -> None:
    """Let these cards become what their logs say. Raises BadExport when one can't be played."""
    parameters = queue.parameters(user.profile)
    for card in cards:
        rows = [logs[card.pk][ordinal] for ordinal in sorted(logs[card.pk])]
        try:
            remembered, due = memory.replay(rows, parameters)
        except UNPLAYABLE:
            raise BadExport(f"The log of {card.item} can’t be played.") from None
        if not is_placed(remembered, due):
            raise BadExport(f"The log of {card.item} does not say when it is due.")
        card.take(remembered, due, log_length=len(rows))
        card.suspended, card.buried_until = memory.is_suspended(rows), memory.buried_until(rows)
    Card.objects.bulk_update(cards, Card.DERIVED, batch_size=100)


def is_placed(remembered: Memory, due: Due) -> bool:
    """Whether a card that was begun has the due that one of its state has."""
    if remembered.state == State.NEW:
        return due.at is None
    return (due.at if remembered.state in (State.LEARNING, State.RELEARNING) else due.day) is not None


def put_drafts(rows: list[Any], cards: list[Card | None], parted: set[int], taken: Taken) -> None:
    """What was being typed, on cards where nothing is."""
    asked = [(card, row) for row in rows if (card := card_of(row, cards)) and card.pk not in parted]
    here = set(Draft.objects.filter(card__in=[card.pk for card, _ in asked]).values_list("card", flat=True))
    adding = [Draft(card=card, **fields_of(Draft, DRAFT, row)) for card, row in asked if card.pk not in here]
    Draft.objects.bulk_create(adding, batch_size=BATCH)
    taken.count("drafts", new=len(adding), known=len(here))


def put_memos(user: User, rows: list[Any], taken: Taken) -> None:
    """What was noted down about questions and number cards; of two notes the later stays."""
    asked = asked_here(user) if rows else {}
    here = {key_of_item(memo): memo for memo in Memo.objects.filter(user=user).select_related("question", "note")}
    for row in rows:
        fields = fields_of(Memo, ("text", "changed_at"), row)
        key = next(((kind, str(row[kind])) for kind in asked if kind in row), ("", ""))
        item = asked[key[0]].get(key[1]) if key[0] else None
        if item is None:
            continue
        memo = here.get(key)
        if not fields.keys() >= {"text", "changed_at"}:
            raise BadExport("A note does not say what it says, or when.")
        if memo and memo.changed_at >= fields["changed_at"]:
            taken.count("notes", known=1)
            continue
        about = {"question" if key[0] == "question" else "note": item}
        here[key], _ = Memo.objects.update_or_create(user=user, **about, defaults=fields)
        taken.count("notes", new=1)


def put_quizzes(user: User, rows: list[Any], taken: Taken) -> None:
    """The quizzes that are not here, whole; one with a question that this bank does not have is left out."""
    questions = {question.slug: question for question in Question.objects.all()}
    here = set(Quiz.objects.filter(user=user).values_list("seed", flat=True))
    lost = 0
    for row in rows:
        fields = fields_of(Quiz, QUIZ, row)
        if fields.get("seed") in here:
            taken.count("quizzes", known=1)
            continue
        if (fields.get("seconds_allowed") or 0) > services.MOST_SECONDS:
            raise BadExport("A quiz of the file allows more time than a day has.")
        asked = [str(slug) for slug in rows_in(row, "questions")]
        answers = [(fields_of(QuizAnswer, QUIZ_ANSWER, one), str(one.get("question")))
                   for one in rows_in(row, "answers")]
        if not {*asked, *(slug for _, slug in answers)} <= questions.keys():
            lost += 1
            continue
        here.add(fields.get("seed"))
        quiz = Quiz.objects.create(user=user, questions=[questions[slug].pk for slug in asked], **fields)
        looks = [QuizLook(quiz=quiz, **fields_of(QuizLook, LOOK, look)) for look in rows_in(row, "looks")]
        QuizLook.objects.bulk_create(looks)
        QuizAnswer.objects.bulk_create(
            QuizAnswer(quiz=quiz, question=questions[slug], **fields) for fields, slug in answers)
        taken.count("quizzes", new=1)
    if lost:
        taken.left_out.append(f"{lost} quiz{'' if lost == 1 else 'zes'} with questions that this bank does not have.")


def put_new(
    model: type[models.Model], names: tuple[str, ...], rows: list[Any], user: User, known_by: tuple[str, ...],
    taken: Taken, more: Callable[[Mapping[str, Any]], dict[str, Any]] = lambda row: {},
    check: Callable[[Mapping[str, Any]], None] = lambda fields: None,
) -> None:
    """The rows of a table that are not here, which they are known by these fields to be."""
    here = set(model.objects.filter(user=user).values_list(*known_by))
    adding = []
    for row in rows:
        fields = fields_of(model, names, row)
        key = tuple(fields.get(name) for name in known_by)
        if key not in here:
            here.add(key)
            check(fields)
            adding.append(model(user=user, **fields, **more(row)))
    model.objects.bulk_create(adding, batch_size=BATCH)
    what = str(model._meta.verbose_name_plural)
    taken.count(what, new=len(adding), known=len(rows) - len(adding))


def check_work(fields: Mapping[str, Any]) -> None:
    """Refuse work that came to nothing that its page could show. Raises BadExport."""
    kind = fields.get("kind")
    if kind not in KEPT_WORK:
        raise BadExport("The file holds work of a kind that is not kept.")
    module, _, _ = settings.WORKS[kind].rpartition(".")
    if not fields.get("fault") and not import_module(module).is_result(fields.get("result")):
        raise BadExport(f"The file holds a “{Work.Kind(kind).label}” that does not say what it came to.")


def check_adoption(fields: Mapping[str, Any]) -> None:
    """Refuse parameters that no card can be scheduled with. Raises BadExport."""
    if not can_schedule(fields.get("parameters", [])):
        raise BadExport("The file holds FSRS parameters that no card can be scheduled with.")
