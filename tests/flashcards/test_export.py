"""Everything of a person as one file: into an account in use, and what is refused."""
import copy
import json
import random
from datetime import timedelta
from pathlib import Path

import pytest

from accounts.models import User
from accounts.rows import BadExport
from flashcards import services
from flashcards.models import Adoption, Attempt, Card, Memo, Prediction, Quiz, QuizAnswer, Rating, Review, Work
from flashcards.transfer import everything
from questions.models import Note
from tests.flashcards.conftest import NOON, write_questions
from tests.flashcards.test_numbers import write_notes

DAY = timedelta(days=1)
GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "export.json"


def live(user: User, seed: int = 5, acts: int = 150) -> None:
    """Weeks of a person who does everything that can be done to a card, and leaves something of each kind."""
    draw = random.Random(seed)
    write_questions(4)
    write_notes(3)
    Note.objects.create(owner=user, slug="own-1", guid="mine", kind="basic", ask="Mine", front="**Mine**", back="Yes",
                        tags=["a"], reverse=False)
    user.profile.desired_retention, user.profile.zone = 0.93, "Asia/Kolkata"
    user.profile.save()
    services.ensure_cards(user)
    pks = list(Card.objects.filter(user=user).values_list("pk", flat=True))
    now = NOON
    for _ in range(acts):
        now += timedelta(hours=draw.choice((1, 5, 30)))
        card = Card.objects.select_related("user__profile").get(pk=draw.choice(pks))
        how = {"ordinal": card.next_ordinal, "now": now}
        answered = list(card.reviews.answers().values_list("pk", flat=True))
        match draw.randrange(12):
            case 0:
                services.set_due(card, now.date() + draw.randrange(9) * DAY, **how)
            case 1:
                services.set_suspended(card, not card.suspended, **how)
            case 2:
                services.bury(card, **how)
            case 3:
                services.reset(card, **how)
            case 4 if answered:
                services.amend(card, draw.choice(answered), Rating(draw.randint(1, 4)), **how)
            case 5 if answered:
                services.remove(card, draw.choice(answered), **how)
            case 6 if last := services.last_action(user):
                services.undo(user, last.pk, now=now)
            case 7:
                due = {pk: now.date() + draw.randrange(9) * DAY for pk in draw.sample(pks, 3)}
                services.move_due(user, due, now=now)
            case _:
                attempt = services.commit_attempt(card, now=now, ordinal=card.next_ordinal, typed="12", confidence=70)
                services.answer_card(card, Rating(draw.randint(1, 4)), attempt=attempt, **how)
    card = Card.objects.filter(user=user).first()
    services.open_card(card, now)
    services.save_draft(card, card.next_ordinal, outline="half a tho")
    services.save_memo(user, Card.objects.filter(user=user, note=None).first().question, "Mind the ridge.", now)
    for slug, words in (("n1", "Two of eight."), ("own-1", "Mine all along.")):
        services.save_memo(user, Note.objects.get(slug=slug), words, now)
    Prediction.objects.create(user=user, lab="scheduler", state="s", address="/labs/", step=2, field="A", predicted=1,
                              actual=2, right=False, at=now)
    quiz = Quiz.objects.create(user=user, title="Two", questions=[one.question_id for one in Card.objects.filter(
        user=user, note=None)[:2]], seed=9, started_at=now)
    QuizAnswer.objects.create(quiz=quiz, place=1, kind="check", question_id=quiz.questions[0], chosen=2, within=False,
                              at=now, seconds=9)
    fit = Work.objects.create(user=user, kind=Work.Kind.FIT, asked_at=now, done_at=now, result={"scored": 7})
    Adoption.objects.create(user=user, at=now, fit=fit)


def comparable(user: User) -> dict:
    """What an export holds, but for what is each account's own: its address, and how a batch is numbered."""
    document = everything.of(user, NOON)
    del document["accounts"]["person"]
    without_batches(document["flashcards"])
    return document


def without_batches(part: dict) -> dict:
    batches = {}
    for row in part["reviews"]:
        row["batch"] = row["batch"] and batches.setdefault(row["batch"], len(batches))
    return part


def through_a_file(user: User) -> dict:
    return dict(everything.read(everything.written(user, NOON)))


def test_replay_is_equal_on_the_other_side(ada: User, eve: User):
    live(ada, seed=6)
    everything.put(eve, through_a_file(ada), NOON)
    eve.refresh_from_db()
    shadows = Card.objects.filter(log_length__gt=0).order_by("question", "note__ask", "direction")
    columns = ("question", "note__ask", "direction", *Card.DERIVED)
    assert list(shadows.filter(user=eve).values_list(*columns)) == list(shadows.filter(user=ada).values_list(*columns))
    assert {services.rebuild_card(card, write=False) for card in eve.cards.all()} == {""}


def test_what_was_done_since_is_added_to_what_is_there(ada: User, eve: User, deal):
    card = deal(1)[0]
    services.answer_card(card, Rating.GOOD, ordinal=1, now=NOON)
    everything.put(eve, through_a_file(ada), NOON)
    card.refresh_from_db()
    services.answer_card(card, Rating.EASY, ordinal=2, now=NOON + 9 * DAY)
    taken = everything.put(eve, through_a_file(ada), NOON)
    assert (taken.new["log rows"], taken.known["log rows"]) == (1, 1)
    card.refresh_from_db()
    assert eve.cards.get(log_length=2).stability == card.stability


def test_a_card_that_went_another_way_stays_as_it_is(ada: User, eve: User, deal):
    card = deal(1)[0]
    services.answer_card(card, Rating.GOOD, ordinal=1, now=NOON)
    services.ensure_cards(eve)
    mine = eve.cards.get()
    services.answer_card(mine, Rating.AGAIN, ordinal=1, now=NOON)
    taken = everything.put(eve, through_a_file(ada), NOON)
    assert taken.left_out == ["1 card that went another way here: what is here stays."]
    assert [review.rating for review in mine.reviews.all()] == [Rating.AGAIN]


def test_settings_that_someone_chose_are_kept(ada: User, eve: User):
    ada.profile.reviews_per_day = 99
    ada.profile.save()
    eve.profile.reviews_per_day = 11
    eve.profile.save()
    taken = everything.put(eve, through_a_file(ada), NOON)
    eve.profile.refresh_from_db()
    assert eve.profile.reviews_per_day == 11
    assert taken.left_out == ["The settings: this account has its own."]


def test_what_the_bank_lacks_is_left_out_and_said(ada: User, eve: User, deal):
    services.answer_card(deal(1)[0], Rating.GOOD, ordinal=1, now=NOON)
    document = through_a_file(ada)
    document["flashcards"]["cards"][0][1] = "gone"
    taken = everything.put(eve, document, NOON)
    assert taken.left_out == ["1 card whose question or number this bank does not have."]
    assert not Review.objects.filter(card__user=eve).exists()


def test_a_file_written_on_sqlite_is_read_on_either_database(ada: User):
    """tests/golden/export.json was written from an SQLite file by live()."""
    write_questions(4)
    write_notes(3)
    document = everything.read(GOLDEN.read_text())
    everything.put(ada, copy.deepcopy(document), NOON)
    assert Attempt.objects.count() == len(document["flashcards"]["attempts"]) > 0
    assert without_batches(everything.of(ada, NOON)["flashcards"]) == without_batches(document["flashcards"])
    assert [services.rebuild_card(card, write=False) for card in ada.cards.all()] == [""] * ada.cards.count()


@pytest.mark.parametrize(("text", "words"), [
    ("", "no JSON"),
    ("PK\x03\x04", "no JSON"),
    ("[" * 100_000, "no JSON"),
    ('{"format": "anki"}', "no export"),
    ("[]", "no export"),
    ('{"format": "drillapp", "version": NaN}', "no JSON"),
    ('{"format": "drillapp", "version": 2}', "Update drillapp"),
])
def test_what_is_not_ours_is_refused_in_words(text: str, words: str):
    with pytest.raises(BadExport, match=words):
        everything.read(text)


def spoil_card(part: dict) -> None:
    part["cards"][0] = ["question", "q1"]


def spoil_side(part: dict) -> None:
    part["cards"][0] = ["number", "n1", "c0"]


def spoil_gap(part: dict) -> None:
    part["reviews"][0]["ordinal"] = 7


def spoil_rating(part: dict) -> None:
    part["reviews"][0]["rating"] = 9


def spoil_names(part: dict) -> None:
    part["reviews"][0] |= {"kind": "undo", "names": 5}


def spoil_instant(part: dict) -> None:
    part["reviews"][0]["at"] = "2026-03-02T12:00:00"  # in no zone


def spoil_memory(part: dict) -> None:
    part["reviews"][0] |= {"kind": "import", "rating": None, "stability": -1}


def spoil_list(part: dict) -> None:
    part["reviews"] = {"a": 1}


def spoil_row(part: dict) -> None:
    part["memos"] = [{"question": "q1", "text": "No date"}]


def spoil_place(part: dict) -> None:
    part["reviews"][0]["card"] = -1


def spoil_fields(part: dict) -> None:
    part["predictions"] = [{"lab": "scheduler"}]


def spoil_far_day(part: dict) -> None:
    part["reviews"][0]["due_day"] = "9999-12-31"


def spoil_first_instant(part: dict) -> None:
    part["reviews"][0]["at"] = "0001-01-01T00:00:00+14:00"


def spoil_due(part: dict) -> None:
    part["reviews"][0]["due_day"] = None


def spoil_character(part: dict) -> None:
    part["memos"] = [{"question": "q1", "text": "\ud800", "changed_at": "2026-03-02T12:00:00+00:00"}]


def spoil_bounds(part: dict) -> None:
    part["predictions"] = [{"lab": "scheduler", "predicted": float("inf")}]


def spoil_ungraded(part: dict) -> None:
    part["reviews"][0]["attempt"] = [1, "check", 0]


def spoil_number_side(part: dict) -> None:
    part["cards"].append(["number", "n1", "c5"])


def spoil_fit(part: dict) -> None:
    part["works"] = [{"kind": "fit", "asked_at": "2026-03-02T12:00:00+00:00", "done_at": "2026-03-02T12:00:00+00:00",
                      "result": {"gain": 0.1}}]


def spoil_year(part: dict) -> None:
    part["works"] = [{"kind": "what_if", "asked_at": "2026-03-02T12:00:00+00:00",
                      "done_at": "2026-03-02T12:00:00+00:00", "result": {"outcomes": [1]}}]


def spoil_import(part: dict) -> None:
    part["works"] = [{"kind": "import", "asked_at": "2026-03-02T12:00:00+00:00",
                      "done_at": "2026-03-02T12:00:00+00:00", "result": {"new": 5}}]


def spoil_time(part: dict) -> None:
    part["quizzes"] = [{"title": "One", "seed": 1, "started_at": "2026-03-02T12:00:00+00:00",
                        "seconds_allowed": 2**60, "questions": ["q1"]}]


def spoil_parameters(part: dict) -> None:
    part["adoptions"] = [{"at": "2026-03-02T12:00:00+00:00", "parameters": [0.0] * 21}]


@pytest.mark.parametrize("spoil", [
    spoil_far_day, spoil_first_instant, spoil_due, spoil_character, spoil_bounds, spoil_ungraded, spoil_number_side,
    spoil_fit, spoil_year, spoil_import, spoil_time, spoil_parameters,
    spoil_card, spoil_side, spoil_gap, spoil_rating, spoil_names, spoil_instant, spoil_memory, spoil_list, spoil_row,
    spoil_place, spoil_fields,
])
def test_a_spoilt_file_is_refused_whole(ada: User, eve: User, deal, spoil):
    services.answer_card(deal(1)[0], Rating.GOOD, ordinal=1, now=NOON)
    document = json.loads(everything.written(ada, NOON))
    spoil(document["flashcards"])
    with pytest.raises(BadExport) as refused:
        everything.put(eve, document, NOON)
    assert eve.email not in str(refused.value)
    assert not eve.cards.exists()
    assert not Memo.objects.filter(user=eve).exists()


@pytest.mark.parametrize(("name", "value"), [
    ("easy_days", ""), ("fsrs_parameters", [0.0] * 21), ("fsrs_parameters", [1, 2, 3]), ("question_steps", "9999d"),
    ("interview_day", "9999-12-31"),
])
def test_settings_that_no_page_could_bear_are_refused(ada: User, eve: User, name: str, value: object):
    document = json.loads(everything.written(ada, NOON))
    document["accounts"]["settings"][name] = value
    with pytest.raises(BadExport):
        everything.put(eve, document, NOON)


def test_a_gap_has_no_side_of_a_plain_card(ada: User, eve: User):
    Note.objects.create(owner=ada, slug="own-1", guid="g", kind="cloze", ask="A gap", front="A {{c1::gap}}", tags=[])
    document = json.loads(everything.written(ada, NOON))
    document["flashcards"]["cards"] = [["own", "g", "forward"]]
    with pytest.raises(BadExport, match="no side forward"):
        everything.put(eve, document, NOON)
    document["flashcards"]["cards"] = [["own", "g", "c1"]]
    document["questions"]["notes"][0]["reverse"] = True
    everything.put(eve, document, NOON)
    services.ensure_cards(eve)
    assert [card.direction for card in eve.cards.all()] == ["c1"]
