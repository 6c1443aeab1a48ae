"""What a learner does to cards: look, draft, commit, grade, undo; add to the drill, suspend, note something down.

Every grade and every change of a card's place in the drill is one row of the log, exactly once.
"""
from collections.abc import Collection, Mapping
from datetime import date, datetime, timedelta
from itertools import starmap
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from django.db import DEFAULT_DB_ALIAS, transaction
from django.db.models import Exists, OuterRef, QuerySet, Subquery

from accounts.models import Profile, User
from flashcards import kept, memory, queue
from flashcards.latest import Latest
from flashcards.memory import Due
from flashcards.models import Attempt, Card, Direction, Draft, Memo, Rating, Review, State
from flashcards.prepared import Prepared, delete, insert, unhurried, update
from flashcards.study_day import study_day
from questions.access import notes_for, published
from questions.models import Note, Question

MOST_SECONDS = 24 * 60 * 60
A_LOOK_LASTS = timedelta(hours=1)
MOVES_MEMORY = (Review.Kind.ANSWER, Review.Kind.IMPORT, Review.Kind.AMEND, Review.Kind.REMOVE, Review.Kind.RESET)


class LogRow(NamedTuple):
    """A row of a log as far as replay reads it."""

    id: int
    kind: str
    names_id: int | None
    rating: int | None
    at: datetime
    study_day: date
    state: str
    step: int | None
    stability: float | None
    difficulty: float | None
    fed_at: datetime | None
    due_day: date | None
    due_at: datetime | None
    asked: bool


# What an answer and an undo ask, in the order in which they do.
HELD = Prepared(
    lambda pk: Card.objects.select_for_update(of=("self",)).select_related("draft").filter(pk=pk), "pk")
SETTINGS = Prepared(lambda user: Profile.objects.select_for_update().filter(user=user), "user")
DRAFT = Prepared(lambda card: Draft.objects.filter(card=card), "card")
ANSWERED = Review.objects.standing().filter(card=OuterRef("card"), kind=Review.Kind.ANSWER).order_by("-ordinal")
AT_A_SEED = Prepared(
    lambda card, seed: Attempt.objects.filter(
        card=card, seed=seed, kind__in=[Attempt.Kind.CHECK, Attempt.Kind.LEAVE]).annotate(
        answered=Subquery(ANSWERED.values("ordinal")[:1])), "card", "seed")
NAMED = Prepared(
    lambda user, pk: Review.objects.of(user).filter(pk=pk).select_related("attempt"), "user", "pk")
LOG = Prepared(
    lambda card: Review.objects.filter(card=card).order_by("ordinal").values_list(*LogRow._fields), "card")


def _actions(rows: QuerySet[Review]) -> QuerySet[Review]:
    """Of a person's rows what they did and stands; what was brought along from elsewhere was nothing done."""
    return rows.standing().exclude(kind=Review.Kind.IMPORT)


def _with_card(rows: QuerySet[Review]) -> QuerySet[Review]:
    """Of a person's rows the actions with their cards, of whose items no more than their names come along."""
    told = [f"card__{field.name}" for field in Card._meta.concrete_fields if field.name not in ("question", "note")]
    told += ["card__question__slug", "card__question__title", "card__question__kind", "card__note__slug",
             "card__note__ask", "card__note__kind"]
    own = [field.name for field in Review._meta.concrete_fields if field.name != "card"]
    return _actions(rows).select_related("card__question", "card__note").only(*own, *told)


LAST_KEY = Latest(Review, lambda rows: _actions(rows).values_list("pk"))
LAST_ACTION = Latest(Review, _with_card)


def _standing(rows: QuerySet[Review]) -> QuerySet[Review]:
    """Of these rows those that stand: key, kind, and whether something that stands moved the card's memory since."""
    since = Review.objects.standing().filter(
        card=OuterRef("card"), ordinal__gt=OuterRef("ordinal"), kind__in=MOVES_MEMORY)
    return rows.standing().values_list("pk", "kind", Exists(since))


STANDING = Prepared(lambda pk: _standing(Review.objects.filter(pk=pk)), "pk")
STANDING_IN_BATCH = Prepared(lambda batch: _standing(Review.objects.filter(batch=batch)), "batch")


def ensure_cards(user: User) -> None:
    """Give the person a card for each question and each side of a number card that is open to drilling; those there
    stay as they are."""
    missing = [Card(user=user, question=question) for question in published().exclude(cards__user=user)]
    for side, notes in (
        (Direction.FORWARD, notes_for(user).exclude(kind=Note.Kind.CLOZE)),
        (Direction.REVERSE, notes_for(user).filter(reverse=True)),
    ):
        there = Card.objects.filter(user=user, note=OuterRef("pk"), direction=side)
        missing += [Card(user=user, note=note, direction=side) for note in notes.filter(~Exists(there))]
    if missing:
        Card.objects.bulk_create(missing, ignore_conflicts=True)
        kept.void(user.pk)


def open_card(card: Card, now: datetime) -> Draft:
    """The card's draft; the first look makes it and starts the clock, a reload finds both as they were.

    Who looked an hour ago or more and left nothing there begins afresh.
    """
    draft = _draft(card, now)
    if now - draft.opened_at > A_LOOK_LASTS and not any(getattr(draft, name) for name in Draft.TYPED):
        draft.opened_at = now
        update(draft, ["opened_at"])
    return draft


def save_draft(card: Card, ordinal: int, **fields: Any) -> bool:
    """Keep what is being typed (typed, said, outline, aloud, confidence, ticks); False from a page that is stale."""
    if unknown := set(fields) - set(Draft.TYPED):
        raise TypeError(f"a draft has no {', '.join(sorted(unknown))}")
    return bool(Draft.objects.filter(card=card, card__log_length=ordinal - 1).update(**fields))


def set_ticks(card: Card, ordinal: int, ticks: list[str]) -> bool:
    """Keep which rubric points are ticked; they become final with the grade. False from a page that is stale."""
    return save_draft(card, ordinal, ticks=ticks)


def committed(card: Card) -> Attempt | None:
    """The answer committed on the card as it stands and not yet graded, or None while it is still to be asked.

    It is found by the card's seed, which counts standing answers, so the answer that belongs to an undone grade is
    back with all that was typed, ready to be graded again. A commit older than the last standing answer was made on
    another course of events, which undoing and grading afresh has left; it does not come back. Nor does one that was
    left uncounted.
    """
    return _at_this_seed(card)[0]


def take_of(card: Card) -> int:
    """How often an answer on the card as it stands was left uncounted."""
    return card.attempts.filter(kind=Attempt.Kind.LEAVE, seed=card.seed).count()


def _at_this_seed(card: Card) -> tuple[Attempt | None, int]:
    """The answer committed on the card as it stands, None without one; and how often one was left uncounted."""
    attempts = AT_A_SEED.all(card=card.pk, seed=card.seed)
    take = sum(attempt.kind == Attempt.Kind.LEAVE for attempt in attempts)
    checks = [attempt for attempt in attempts if attempt.kind == Attempt.Kind.CHECK]
    latest = max(checks, key=lambda attempt: (attempt.take, attempt.ordinal), default=None)
    if latest is None or latest.take != take or latest.ordinal <= (latest.answered or 0):
        return None, take
    return latest, take


def draw_seed(card: Card) -> int | str:
    """What the card's numbers are drawn with now: fresh ones again once an answer was left uncounted."""
    take = take_of(card)
    return f"{card.seed}, take {take}" if take else card.seed


@transaction.atomic
def commit_attempt(card: Card, *, ordinal: int, now: datetime, **fields: Any) -> Attempt | None:
    """Commit an answer (values, digest, typed, said, outline, aloud, value, ratio, within, confidence).

    What comes back is the answer that stands: a second commit changes nothing and returns the first. None means that
    the page is stale: the log has moved past `ordinal`.
    """
    card = _locked(card)
    if ordinal != card.next_ordinal:
        return None
    standing, take = _at_this_seed(card)
    if standing is not None:
        return standing
    draft = _held_draft(card, now)
    attempt = Attempt(
        card=card, ordinal=ordinal, kind=Attempt.Kind.CHECK, at=now, seed=card.seed, take=take,
        seconds=_seconds(draft, now), **fields,
    )
    insert(attempt)
    return attempt


@transaction.atomic
def answer_card(
    card: Card, rating: Rating, *, ordinal: int, now: datetime, attempt: Attempt | None = None,
    shown: date | None = None, ticks: list[str] | None = None,
) -> bool:
    """Append one answer to the card's log and bring its memory up to date.

    The due day is the one that the button showed (`shown`), where it is one that the rules allow: what was answered
    since in another tab may have filled it.

    `ordinal` is the log position the learner's page offered. If it has been taken since (double click, second tab)
    nothing is written and the result is False. `attempt` is what was committed; with the ticks (as the draft has
    them, where none are given) it becomes the grade's own attempt, to which the log points.
    """
    card = _locked(card)
    if ordinal != card.next_ordinal:
        return False
    profile = card.user.profile
    remembered, due = queue.taken(card, rating, ordinal, now, profile, shown)
    insert(Review(
        card=card, ordinal=ordinal, kind=Review.Kind.ANSWER, rating=rating, at=now, was=card.state,
        attempt=attempt and _closed(Attempt.Kind.GRADE, attempt, card, now, ticks), due_day=due.day, due_at=due.at,
        **_place(card, now), **remembered.columns(),
    ))
    card.take(remembered, due, log_length=ordinal)
    card.buried_until = None
    update(card, Card.DERIVED)
    delete(Draft, "card", card.pk)
    return True


@transaction.atomic
def leave_uncounted(card: Card, *, ordinal: int, now: datetime, attempt_pk: int) -> bool:
    """Close the committed answer without a grade: it is kept, the log and the memory stay as they were.

    False, and nothing is written, when the page is stale: the log has moved past `ordinal`, or the answer that it
    shows is no longer the one that stands.
    """
    card = _locked(card)
    attempt = committed(card)
    if ordinal != card.next_ordinal or attempt is None or attempt.pk != attempt_pk:
        return False
    _closed(Attempt.Kind.LEAVE, attempt, card, now)
    delete(Draft, "card", card.pk)
    return True


@transaction.atomic
def add_to_drill(card: Card, *, ordinal: int, now: datetime) -> bool:
    """Have the card in today's line, before the others and whatever the limits say; a new one is begun out of turn.

    False, and nothing is written, from a stale page, for a suspended card, or when it was asked for already.
    """
    card = _locked(card)
    if ordinal != card.next_ordinal or card.suspended or card.asked:
        return False
    _move(card, Review.Kind.SET_DUE, now, _asked(card, now))
    return True


@transaction.atomic
def bring_more(user: User, kind: str, count: int, *, after: int, now: datetime) -> int:
    """Have so many more of what a limit of the day keeps back in today's line ("reviews", "new questions" or "new
    numbers"), in one act that one undo takes back; how many came.

    None come, and nothing is written, once more were brought since the page was made: `after` is the key of the
    person's latest row then.
    """
    SETTINGS.get(user=user.pk)  # of two that ask at once one comes first
    brought = Review.objects.filter(card__user=user, pk__gt=after, asked=True, batch__isnull=False)
    if brought.exists():
        return 0
    batch, cards = uuid4(), _locked_all(user, queue.held_back(user, now, kind, count))
    for card in cards:
        _move(card, Review.Kind.SET_DUE, now, _asked(card, now), batch)
    return len(cards)


@transaction.atomic
def set_due(card: Card, day: date, *, ordinal: int, now: datetime) -> bool:
    """Have a card that was begun come back on a study day, today's at the earliest; its memory stays, and
    where it was in learning steps it leaves them.

    False, and nothing is written, from a stale page or for a card that is new.
    """
    card = _locked(card)
    if ordinal != card.next_ordinal or card.state == State.NEW:
        return False
    _move(card, Review.Kind.SET_DUE, now, Due(day=max(day, _day(card, now))))
    return True


@transaction.atomic
def set_suspended(card: Card, suspended: bool, *, ordinal: int, now: datetime, batch: UUID | None = None) -> bool:
    """Take the card out of the drill, or back into it with the due that it has.

    False, and nothing is written, from a stale page or when it is so already.
    """
    card = _locked(card)
    if ordinal != card.next_ordinal or card.suspended == suspended:
        return False
    card.suspended = suspended
    _move(card, Review.Kind.SUSPEND if suspended else Review.Kind.UNSUSPEND, now, card.due, batch)
    return True


@transaction.atomic
def bury(card: Card, *, ordinal: int, now: datetime) -> bool:
    """Put the card off to tomorrow, whatever is due; its due day stays. False from a stale page."""
    card = _locked(card)
    today = _day(card, now)
    if ordinal != card.next_ordinal or (card.buried_until and card.buried_until > today):
        return False
    card.buried_until = today + memory.DAY
    _move(card, Review.Kind.BURY, now, card.due)
    return True


@transaction.atomic
def reset(card: Card, *, ordinal: int, now: datetime) -> bool:
    """Begin the card anew: its memory is that of a new card, its log stays. False from a stale page or for a new card.
    """
    card = _locked(card)
    if ordinal != card.next_ordinal or card.state == State.NEW:
        return False
    _replayed(card, Review(card=card, kind=Review.Kind.RESET, at=now, was=card.state), now)
    return True


@transaction.atomic
def amend(card: Card, review_pk: int, rating: Rating, *, ordinal: int, now: datetime) -> bool:
    """Let an earlier answer on the card, of any age, count as another grade; what came after is worked out anew.

    The due becomes what bare FSRS gives after the last answer. False, and nothing is written, from a stale page, for a
    row that is no answer that stands, or when it counts so already.
    """
    card = _locked(card)
    named = card.reviews.answers().filter(pk=review_pk).first()
    if ordinal != card.next_ordinal or named is None or named.rated == rating:
        return False
    _changed(card, Review(card=card, kind=Review.Kind.AMEND, names=named, rating=rating, at=now, was=card.state), now)
    return True


@transaction.atomic
def remove(card: Card, review_pk: int, *, ordinal: int, now: datetime) -> bool:
    """Leave an earlier answer on the card, of any age, out of its memory and out of every count; its row stays.

    Due and False as for `amend`.
    """
    card = _locked(card)
    named = card.reviews.answers().filter(pk=review_pk).first()
    if ordinal != card.next_ordinal or named is None:
        return False
    _changed(card, Review(card=card, kind=Review.Kind.REMOVE, names=named, at=now, was=card.state), now)
    return True


@transaction.atomic
def move_due(user: User, days: Mapping[int, date], *, now: datetime) -> int:
    """Give cards in review new due days, {card pk: study day}, in one act that one undo takes back; a day before today
    becomes today. How many moved: a card whose due stays gets no row."""
    batch, moved = uuid4(), 0
    for card in _locked_all(user, days):
        if card.state == State.REVIEW and (day := max(days[card.pk], _day(card, now))) != card.due_day:
            _move(card, Review.Kind.SET_DUE, now, Due(day=day), batch)
            moved += 1
    return moved


def reschedule(user: User, now: datetime) -> int:
    """Give every card in review that is not due yet the due day that the person's settings give now, counted from its
    last answer, tomorrow at the earliest; how many moved. One undo takes all of it back."""
    profile = Profile.objects.get(user=user)
    today = study_day(now, profile.zone, profile.day_start)
    earliest = today + memory.DAY
    days = {}
    for card in Card.objects.filter(user=user, state=State.REVIEW, due_day__gt=today, suspended=False):
        placing = queue.placing(card, card.next_ordinal, card.last_day, profile)
        wait = min(memory.interval(card.stability, queue.rules(profile, card)), placing.most)
        days[card.pk] = max(card.last_day + memory.DAY * wait, earliest)
    return move_due(user, days, now=now)


def save_memo(user: User, item: Question | Note, text: str, now: datetime) -> None:
    """Keep what the person notes down about a question or a number card; an empty note is none."""
    about = {"note" if isinstance(item, Note) else "question": item}
    if text.strip():
        Memo.objects.update_or_create(user=user, **about, defaults={"text": text, "changed_at": now})
    else:
        Memo.objects.filter(user=user, **about).delete()


def memo_on(user: User, item: Question | Note) -> str:
    """What the person noted down about it; empty without a note."""
    memo = item.memos.filter(user=user).first()
    return memo.text if memo else ""


def last_action(user: User) -> Review | None:
    """What an undo would take back: the person's latest action that stands, on any card and of any age; what was
    brought along from elsewhere was none."""
    return LAST_ACTION.first(user)


def history(user: User) -> QuerySet[Review]:
    """Everything that the person did to cards here, undone or not, the latest first; `undone` says whether it was."""
    undone = Review.objects.filter(kind=Review.Kind.UNDO, names=OuterRef("pk"))
    actions = Review.objects.of(user).exclude(kind__in=[Review.Kind.UNDO, Review.Kind.IMPORT])
    told = actions.select_related("card__question__topic", "card__note__topic", "names")
    return told.annotate(undone=Exists(undone)).order_by("-pk")


@transaction.atomic
def undo(user: User, review_pk: int, *, now: datetime) -> Review | None:
    """Take back the person's latest standing action by a row that names it; the result is that row.

    The card gets the memory, the due and the place in the drill that it had before, and the next log position
    (positions only grow). Of an answer the same drawn numbers are back, and what was typed and ticked is its draft,
    with the clock going on from where it was. What one act did to several cards is taken back on all of them. None,
    and nothing is written, when `review_pk` is not that latest action: undone already, or something came after it.
    """
    if (named := NAMED.first(user=user.pk, pk=review_pk)) is None:
        return None
    cards = _locked_act(user, named)
    if LAST_KEY.first(user) != (review_pk,):
        return None
    return _undone(named, cards, now)


@transaction.atomic
def undo_any(user: User, review_pk: int, *, now: datetime) -> Review | None:
    """Take back one of the person's actions, of any age.

    None, and nothing is written, when it is undone already, or when it moved a card's memory and something that stands
    moved it since: an answer in the middle of a log is changed or removed instead.
    """
    if (named := NAMED.first(user=user.pk, pk=review_pk)) is None:
        return None
    cards = _locked_act(user, named)
    standing = STANDING_IN_BATCH.all(batch=named.batch) if named.batch else STANDING.all(pk=named.pk)
    if named.pk not in {pk for pk, _, _ in standing}:  # undone before, or while this waited for the cards
        return None
    if any(kind in MOVES_MEMORY and moved for _, kind, moved in standing):
        return None
    return _undone(named, cards, now)


def _locked_act(user: User, named: Review) -> list[Card]:
    """The cards of the row and of all that the same act wrote, held until the transaction ends."""
    if not named.batch:
        return [_locked(Card(pk=named.card_id, user_id=user.pk))]
    return _locked_all(user, Review.objects.filter(batch=named.batch).values_list("card", flat=True))


def _undone(named: Review, cards: Collection[Card], now: datetime) -> Review:
    """An undo of this row, and of all that the same act wrote on these cards; the result is the undo of this row."""
    batch = named.batch and uuid4()
    rows = Review.objects.filter(batch=named.batch).standing().select_related("attempt") if named.batch else [named]
    undoing = None
    by_card = {row.card_id: row for row in rows}
    for card in cards:
        if (row := by_card.get(card.pk)) is None:
            continue
        written = _replayed(
            card, Review(card=card, kind=Review.Kind.UNDO, names=row, at=now, was=card.state, batch=batch), now)
        if row.kind == Review.Kind.ANSWER:
            _draft_again(card, row.attempt, now)
        undoing = written if row.pk == named.pk else undoing
    return undoing


@transaction.atomic
def rebuild_card(card: Card, *, write: bool) -> str:
    """Where the card's stored memory differs from its log ("stability 2.3, by the log 2.1"); "" when nowhere.

    With `write` the card becomes what the log says.
    """
    card = _locked(card)
    stored = {name: getattr(card, name) for name in Card.DERIVED}
    rows = list(card.reviews.order_by("ordinal"))
    remembered, due = memory.replay(rows, queue.parameters(card.user.profile))
    card.take(remembered, due, log_length=rows[-1].ordinal if rows else 0)
    card.suspended = memory.is_suspended(rows)
    card.buried_until = memory.buried_until(rows)
    differing = [name for name in Card.DERIVED if getattr(card, name) != stored[name]]
    if differing and write:
        card.save(update_fields=differing)
    return ", ".join(f"{name} {stored[name]}, by the log {getattr(card, name)}" for name in differing)


def _locked(card: Card) -> Card:
    """The card as it is now, held until the transaction ends, with its person's settings.

    These are held first, here and wherever a person's log grows: of two acts of one person the second begins when the
    first has ended, and so the keys of their rows rise in the order in which the rows come to be seen.
    """
    profile = SETTINGS.get(user=card.user_id)
    card = HELD.get(pk=card.pk)
    card.user = profile.user = User.from_db(DEFAULT_DB_ALIAS, ["id"], [card.user_id])
    return card


def _locked_all(user: User, pks: Collection[int]) -> list[Card]:
    """The person's cards with these keys, held until the transaction ends, in one order for all who hold several; the
    person's settings before them."""
    SETTINGS.get(user=user.pk)
    cards = Card.objects.select_for_update(of=("self",)).select_related("question", "note", "user")
    return list(cards.filter(user=user, pk__in=pks).prefetch_related("user__profile").order_by("pk"))


def _day(card: Card, now: datetime) -> date:
    profile = card.user.profile
    return study_day(now, profile.zone, profile.day_start)


def _place(card: Card, now: datetime) -> dict[str, Any]:
    """Where in the person's days a row falls: study day, and the zone and day start that say so."""
    profile = card.user.profile
    return {"study_day": _day(card, now), "zone": profile.zone, "day_start": profile.day_start}


def _asked(card: Card, now: datetime) -> Due:
    """The due of a card that is asked for out of turn."""
    today = _day(card, now)
    if card.state in (State.LEARNING, State.RELEARNING):
        return Due(at=min(card.due_at, now), asked=True)
    return Due(day=min(card.due_day or today, today), asked=True)


def _move(card: Card, kind: Review.Kind, now: datetime, due: Due, batch: UUID | None = None) -> None:
    """Append a row that is no answer, and save the card with this due; its memory stays."""
    remembered = card.memory
    if kind == Review.Kind.SET_DUE:
        card.buried_until = None
        remembered = memory.out_of_steps(remembered) if due.day else remembered
    insert(Review(
        card=card, ordinal=card.next_ordinal, kind=kind, at=now, was=card.state, due_day=due.day, due_at=due.at,
        asked=due.asked, batch=batch, **_place(card, now), **remembered.columns(),
    ))
    card.take(remembered, due, log_length=card.next_ordinal)
    update(card, Card.DERIVED)


def _changed(card: Card, row: Review, now: datetime) -> None:
    """Append a row that changes or removes an earlier answer."""
    remembered, due = memory.amended([*_log(card), row], queue.rules(card.user.profile, card))
    row.state, row.step, row.due_day, row.due_at = remembered.state, remembered.step, due.day, due.at
    _replayed(card, row, now)


def _replayed(card: Card, row: Review, now: datetime) -> Review:
    """Append a row after which the card is what its whole log says, and save both."""
    row.ordinal = card.next_ordinal
    rows = [*_log(card), row]
    remembered, due = memory.replay(rows, queue.parameters(card.user.profile))
    place = {**_place(card, now), "due_day": due.day, "due_at": due.at, "asked": due.asked}
    for name, value in {**place, **remembered.columns()}.items():
        setattr(row, name, value)
    insert(row)
    card.take(remembered, due, log_length=row.ordinal)
    card.suspended, card.buried_until = memory.is_suspended(rows), memory.buried_until(rows)
    update(card, Card.DERIVED)
    return row


def _log(card: Card) -> list[memory.Row]:
    """The card's log as far as replay reads it."""
    return list(starmap(LogRow, LOG.all(card=card.pk)))


def _closed(
    kind: Attempt.Kind, attempt: Attempt, card: Card, now: datetime, ticks: list[str] | None = None
) -> Attempt:
    """The attempt of the grade or of leaving it: what was committed, with the final ticks and the time taken in all."""
    draft = _held_draft(card, now)
    committed = {name: getattr(attempt, name) for name in Attempt.COMMITTED}
    closed = Attempt(
        card=card, ordinal=card.next_ordinal, kind=kind, at=now, ticks=draft.ticks if ticks is None else ticks,
        seconds=max(_seconds(draft, now), attempt.seconds), **committed,
    )
    insert(closed)
    return closed


def _draft(card: Card, now: datetime) -> Draft:
    if (there := DRAFT.first(card=card.pk)) is not None:
        return there
    draft = Draft(card=card, opened_at=now)
    with unhurried():
        made = insert(draft, unless_there=True)
    return draft if made else DRAFT.get(card=card.pk)


def _held_draft(card: Card, now: datetime) -> Draft:
    """The draft of a card that is held, with which it came."""
    return card._state.fields_cache["draft"] or _draft(card, now)


def _draft_again(card: Card, attempt: Attempt | None, now: datetime) -> None:
    fields = {name: getattr(attempt, name) for name in Draft.TYPED} if attempt else {}
    spent = timedelta(seconds=attempt.seconds if attempt else 0)
    draft = Draft(card=card, opened_at=now - spent, **fields)
    if not insert(draft, unless_there=True):
        draft.pk = DRAFT.get(card=card.pk).pk
        update(draft, ["opened_at", *fields])


def _seconds(draft: Draft, now: datetime) -> int:
    return min(max(int((now - draft.opened_at).total_seconds()), 0), MOST_SECONDS)
