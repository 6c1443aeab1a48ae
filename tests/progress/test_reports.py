"""What reports count, by a connection of their own: figures of recorded logs, and every act that changes a log."""
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any
from unittest.mock import patch

import pytest
import sqlalchemy as sa
from django.apps import apps
from django.conf import settings
from django.db import connection as django_connection
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.extra.django import TransactionTestCase

from accounts.models import User
from flashcards import memory, services
from flashcards.models import Attempt, Card, Rating, Review
from progress import kept, reports
from progress.engine import connect, engine_for
from progress.reading import Reading
from progress.sheets import SHEETS
from progress.tables import METADATA
from questions.models import Note, Question, Topic
from tests.progress.conftest import recorded, write_log

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)  # a Monday
KINDS = {
    "BigAutoField": sa.BigInteger, "ForeignKey": sa.BigInteger, "OneToOneField": sa.BigInteger,
    "BigIntegerField": sa.BigInteger, "PositiveIntegerField": sa.Integer, "PositiveSmallIntegerField": sa.SmallInteger,
    "CharField": sa.String, "SlugField": sa.String, "TextField": sa.String, "FloatField": sa.Float,
    "BooleanField": sa.Boolean, "DateField": sa.Date, "DateTimeField": sa.DateTime, "JSONField": sa.JSON,
}


@pytest.mark.parametrize("table", METADATA.sorted_tables, ids=str)
def test_a_table_is_what_djangos_model_says(table: sa.Table) -> None:
    model = next(model for model in apps.get_models() if model._meta.db_table == table.name)
    fields = {field.column: field for field in model._meta.concrete_fields}
    for column in table.columns:
        field = fields[column.name]
        assert type(column.type) is KINDS[field.get_internal_type()], column
        assert column.nullable == field.null, column
        assert column.primary_key == field.primary_key, column
        for key in column.foreign_keys:
            assert key.target_fullname == f"{field.related_model._meta.db_table}.id"


@pytest.mark.django_db(transaction=True)
def test_reports_can_write_nothing(ada: User) -> None:
    with connect() as connection, pytest.raises(sa.exc.DBAPIError):
        connection.execute(sa.text("UPDATE accounts_user SET first_name = 'Eve'"))
    ada.refresh_from_db()
    assert ada.first_name == "Ada"


@pytest.mark.django_db(transaction=True)
def test_reports_read_a_replica_when_one_is_named(ada: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    replica = {"ENGINE": "django.db.backends.sqlite3", "NAME": tmp_path / "a replica.sqlite3"}
    writer = sa.create_engine(f"sqlite:///{replica['NAME']}")
    METADATA.create_all(writer)
    writer.dispose()
    monkeypatch.setattr(settings, "REPORTS_DATABASE", replica)
    with connect() as connection:
        assert connection.scalar(sa.text("SELECT count(*) FROM questions_topic")) == 0
        assert not connection.dialect.has_table(connection, "accounts_user")


def test_postgresql_is_told_to_let_nothing_be_written() -> None:
    engine = engine_for({"ENGINE": "django.db.backends.postgresql", "NAME": "drill", "USER": "ada", "HOST": "/tmp/none",
                         "OPTIONS": {"connect_timeout": 1, "options": "-c search_path=drill"}})
    assert engine.dialect.driver == "psycopg"
    with pytest.raises(sa.exc.OperationalError, match="/tmp/none"):
        engine.connect()


@pytest.mark.django_db(transaction=True)
def test_a_recorded_log_scores_as_published(ada: User, reading_of: Callable[[User, datetime], Reading]) -> None:
    # By the reference implementation: 0.3529 and 0.023 by the default parameters; 5,125 counted from the file by hand.
    log, scored = recorded("simulated_four_button.csv"), 5_820
    write_log(ada, log, zone="America/New_York", topics=("sizing", "kernels"))
    reading = reading_of(ada, log[-1][1])
    calibration = reading.calibration
    assert (calibration.answers, reading.retention.hits) == (scored, 5_125)
    assert (round(calibration.log_loss, 4), round(calibration.rmse_bins, 3)) == (0.3529, 0.023)
    # However it is cut, each of them is counted once.
    assert reading.retention.of == scored
    for shares in (dict(reading.by_week), reading.by_topic, reading.by_maturity):
        assert sum(share.of for share in shares.values()) == scored
        assert sum(share.hits for share in shares.values()) == reading.retention.hits
    assert sum(one.came.of for one in calibration.bins) == sum(came.of for *_, came in reading.held) == scored
    assert sum(day.answers for day in reading.study_days) == len(log)
    assert len(SHEETS["retention"](reading).rows) == len(reading.by_week)


@pytest.mark.django_db(transaction=True)
def test_only_the_first_answer_of_a_later_day_counts_and_only_of_a_card_in_review(
    ada: User, reading_of: Callable[[User, datetime], Reading],
) -> None:
    days = timedelta(days=1)
    write_log(ada, [
        (1, NOON, 3),  # new
        (1, NOON + days / 24, 1),  # the same day
        (1, NOON + 2 * days, 1),  # counts: forgotten
        (1, NOON + 2 * days + days / 24, 3),  # again on that day
        (1, NOON + 9 * days, 3),  # counts
        (2, NOON, 3),  # new
    ])
    reading = reading_of(ada, NOON + 10 * days)
    assert (reading.retention.hits, reading.retention.of) == (1, 2)
    assert [(week, share.hits, share.of) for week, share in reading.by_week] == [
        (date(2026, 3, 2), 0, 1), (date(2026, 3, 9), 1, 1)]
    # Predicted by what the card's answer before had left: stability after the Good of day 2, seven days on.
    left = Review.objects.get(ordinal=4).stability
    assert reading.predicted[-1] == pytest.approx(memory.recall_after(7, left))


@pytest.mark.django_db(transaction=True)
def test_a_card_begun_anew_is_not_predicted_by_what_it_was(
    ada: User, reading_of: Callable[[User, datetime], Reading],
) -> None:
    write_log(ada, [(1, NOON, 3), (1, NOON + timedelta(days=3), 3)])
    card = Card.objects.get(user=ada)
    assert services.reset(card, ordinal=3, now=NOON + timedelta(days=4))
    card.refresh_from_db()
    assert services.answer_card(card, Rating.AGAIN, ordinal=4, now=NOON + timedelta(days=9))
    reading = reading_of(ada, NOON + timedelta(days=9))
    assert (reading.retention.hits, reading.retention.of) == (1, 1)


@pytest.mark.django_db(transaction=True)
def test_nothing_of_a_stranger_is_read(
    ada: User, eve: User, reading_of: Callable[[User, datetime], Reading],
) -> None:
    write_log(eve, [(1, NOON, 3), (1, NOON + timedelta(days=3), 1)])
    reading = reading_of(ada, NOON + timedelta(days=4))
    for name, sheet in SHEETS.items():
        rows = [row for row in sheet(reading).rows if name != "forecast" or row[1]]
        assert rows == [], name
    assert len(SHEETS["days"](reading_of(eve, NOON + timedelta(days=4))).rows) == 2


@pytest.mark.django_db(transaction=True)
def test_minutes_and_stated_confidence_come_from_the_grades_own_attempts(
    ada: User, reading_of: Callable[[User, datetime], Reading],
) -> None:
    write_log(ada, [(1, NOON, 3), (2, NOON, 3), (3, NOON + timedelta(days=1), 1)])
    for row, (seconds, confidence, within) in zip(
            Review.objects.order_by("pk")[:2], ((90, 90, True), (30, 90, False)), strict=True):
        attempt = Attempt.objects.create(card=row.card, ordinal=1, kind="grade", at=NOON, seed=1, seconds=seconds,
                                         confidence=confidence, within=within)
        Review.objects.filter(pk=row.pk).order_by()._raw_delete("default")
        row.attempt = attempt
        row.pk = None
        row._state.adding = True
        row.save()
    Attempt.objects.create(card=row.card, ordinal=1, kind="check", at=NOON, seed=1, seconds=5_000, confidence=50,
                           within=True)  # only its grade counts
    reading = reading_of(ada, NOON + timedelta(days=2))
    assert [(day.day, day.answers, day.timed, day.seconds) for day in reading.study_days] == [
        (date(2026, 3, 2), 2, 2, 120), (date(2026, 3, 3), 1, 0, 0)]
    assert {sure: (share.hits, share.of) for sure, share in reading.stated.items()} == {0.9: (1, 2)}
    assert [tuple(week[:3]) for week in reading.weeks_of_minutes] == [(date(2026, 3, 2), 2.0, 2)]
    assert reading.seconds_an_answer == 60


@pytest.mark.django_db(transaction=True)
def test_points_left_unticked_are_counted_where_the_rubric_was_used(
    ada: User, reading_of: Callable[[User, datetime], Reading],
) -> None:
    topic = Topic.objects.create(slug="sizing", title="Sizing", position=1)
    question = Question.objects.create(
        slug="q", topic=topic, title="Q", kind="explain", level="staff", minutes=3, ask="?", said_aloud="a", catch="c",
        measure="m", rubric=[{"id": "one", "text": "One."}, {"id": "two", "text": "Two [[run.x]]."}])
    card = Card.objects.create(user=ada, question=question)
    for at, (rating, ticks) in enumerate(((3, ["one"]), (1, []), (3, []), (3, ["one", "two", "gone"])), start=1):
        now = NOON + timedelta(days=7 * at)
        attempt = Attempt.objects.create(card=card, ordinal=at, kind="check", at=now, seed=1, seconds=60)
        services.open_card(card, now)
        services.set_ticks(card, at, ticks)
        assert services.answer_card(card, Rating(rating), ordinal=at, now=now, attempt=attempt)
        card.refresh_from_db()
    reading = reading_of(ada, NOON + timedelta(days=40))
    assert [(slug, point["id"], share.hits, share.of) for slug, _, point, share in reading.missed] == [
        ("q", "two", 2, 3), ("q", "one", 1, 3)]  # of the four answers one ticks nothing and was not forgotten
    assert SHEETS["rubric"](reading).rows[0] == ("Q", "Two ….", 2, 3)


ACTS = st.lists(st.tuples(
    st.sampled_from(("answer", "answer", "answer", "undo", "undo_any", "amend", "remove", "reset", "suspend")),
    st.sampled_from(Rating), st.integers(0, 3), st.integers(0, 9)), min_size=4, max_size=14)


def played(user: User, acts: list[tuple[str, Rating, int, int]]) -> Iterator[None]:
    """Do each act in turn, on one of the person's cards."""
    now = NOON
    for act, rating, days, place in acts:
        now += timedelta(days=days, minutes=11)
        cards = list(Card.objects.filter(user=user).order_by("pk"))
        card = cards[(days + place) % len(cards)]
        rows = list(card.reviews.values_list("pk", flat=True)) or [0]
        named, at = rows[place % len(rows)], {"ordinal": card.next_ordinal, "now": now}
        match act:
            case "answer":
                services.answer_card(card, rating, **at)
            case "undo":
                last = services.last_action(user)
                services.undo(user, last.pk if last else 0, now=now)
            case "undo_any":
                services.undo_any(user, named, now=now)
            case "amend":
                services.amend(card, named, rating, **at)
            case "remove":
                services.remove(card, named, **at)
            case "reset":
                services.reset(card, **at)
            case "suspend":
                services.set_suspended(card, not card.suspended, **at)
        yield


class StandingAnswers(TransactionTestCase):
    """The one rule of which answers count, in SQL and in Django."""

    @hypothesis_settings(max_examples=8)
    @given(acts=ACTS)
    def test_the_reports_count_what_the_log_counts(self, acts: list[tuple[str, Rating, int, int]]) -> None:
        user = User.objects.create_user("ada@example.org")
        topic = Topic.objects.create(slug="sizing", title="Sizing", position=1)
        Card.objects.create(user=user, note=Note.objects.create(
            slug="n", topic=topic, ask="?", value=1, accept=[1, 1], origin="a test"))
        for _ in played(user, acts):
            pass
        counted = list(Review.objects.filter(card__user=user).answers().order_by("card", "ordinal").values_list(
            "pk", "rated"))
        with connect() as connection:
            given_rows = connection.execute(reports.standing(reports.own_cards(user.pk)).order_by("card_id", "ordinal"))
            assert [(row.id, row.rated) for row in given_rows] == counted
            answers = reports.answers(connection, user.pk)
        assert answers.rated.tolist() == [rated for _, rated in counted]

    @hypothesis_settings(max_examples=5)
    @given(acts=ACTS)
    def test_what_is_kept_is_what_the_log_says(self, acts: list[tuple[str, Rating, int, int]]) -> None:
        user = User.objects.create_user("ada@example.org")
        write_log(user, [(card, NOON - timedelta(days=9 * card), 3) for card in range(1, 5)])
        key = user.date_joined
        with patch.object(kept, "LEAST_KEPT", 0):
            for at, _ in enumerate(played(user, acts)):
                with connect() as connection:
                    told = kept.answers(connection, user.pk, reports.cards_of(connection, user.pk), key)
                    fresh = reports.answers(connection, user.pk)
                for name in kept.NAMES:
                    assert getattr(told, name).tolist() == getattr(fresh, name).tolist(), (at, name)


@pytest.mark.django_db(transaction=True)
def test_days_are_counted_as_python_does(ada: User) -> None:
    days = [date(1970, 1, 1), date(2000, 2, 29), date(2026, 11, 29), date(2100, 3, 1)]
    write_log(ada, [(at, datetime(day.year, day.month, day.day, 12, tzinfo=UTC), 3) for at, day in enumerate(days)])
    with connect() as connection:
        assert sorted(reports.answers(connection, ada.pk).day.tolist()) == [day.toordinal() for day in days]


@pytest.mark.django_db(transaction=True)
def test_reports_leave_djangos_own_connection_alone(ada: User) -> None:
    before = id(django_connection.connection)
    with connect() as connection:
        assert connection.scalar(sa.text("SELECT count(*) FROM accounts_user")) == 1
    assert id(django_connection.connection) == before
    assert django_connection.in_atomic_block is False

