"""What a real server acknowledged is there, and once: killed without warning, asked twice at once, asked again later.

The suite does a little of each; KILLS=50 PAIRS=200 REPLAY_AFTER=30 does as much as is claimed.
"""
import os
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import NamedTuple

import pytest

from tests.drillapp.served import Site, served

KILLS, PAIRS = int(os.environ.get("KILLS", "2")), int(os.environ.get("PAIRS", "5"))
REPLAY_AFTER = float(os.environ.get("REPLAY_AFTER", "0"))  # seconds
NOTES = 250
MOVED_ON = "Nothing was recorded twice"
PREPARE = f"""
from django.test import Client
from accounts.models import User
from drillapp import startup
from questions.models import Note, Topic
startup.migrate(), startup.collect_static()
topic = Topic.objects.create(slug="counting", title="Counting", position=1)
Note.objects.bulk_create(
    Note(slug=f"n{{at}}", topic=topic, position=at, ask=f"Number {{at}}?", value=at, accept=[at, at], origin="Counted.",
         reverse=False) for at in range({NOTES}))
ada = User.objects.create_user("ada@example.org")
ada.profile.new_numbers_per_day = 200
ada.profile.save()
client = Client()
client.force_login(ada)
print(client.cookies["sessionid"].value)
"""
ANSWERS = "SELECT card_id, ordinal, rating FROM flashcards_review WHERE kind = 'answer'"


class Turn(NamedTuple):
    """A card as a page shows it."""

    card: int
    ordinal: int


class Drill(Site):
    """The served site as one person drills there."""

    def answers(self) -> list[tuple[int, int, int]]:
        """The answers in the log: card, ordinal, rating."""
        return self.select(ANSWERS)

    def show_next(self) -> Turn:
        """The next card of the day, turned over."""
        page = self.read("GET", "/review/")
        card, ordinal = re.search(r'/cards/(\d+)/check/.*?name="ordinal" value="(\d+)"', page, re.DOTALL).groups()
        turn = Turn(int(card), int(ordinal))
        assert 'name="rating"' in self.read("POST", f"/cards/{turn.card}/check/", ordinal=turn.ordinal, aloud=1)
        return turn

    def grade(self, turn: Turn, rating: int) -> int:
        """The status by which an answer is acknowledged."""
        return self.send("POST", f"/cards/{turn.card}/answer/", ordinal=turn.ordinal, rating=rating)[0]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drill]:
    with served(Drill, tmp_path_factory.mktemp("site"), PREPARE) as running:
        yield running


@pytest.mark.race
def test_a_server_killed_after_an_answer_has_it(site: Drill) -> None:
    given = []
    for at in range(KILLS):
        turn, rating = site.show_next(), at % 4 + 1
        assert site.grade(turn, rating) == 302
        site.kill()
        given.append((*turn, rating))
        site.start()
    kept = site.answers()
    assert [answer for answer in given if kept.count(answer) != 1] == []
    assert "DATABASE_URL" in site.more or site.select("PRAGMA integrity_check") == [("ok",)]


@pytest.mark.race
def test_of_two_answers_to_the_card_shown_one_counts(site: Drill) -> None:
    before, barrier = len(site.answers()), Barrier(2)

    def send(turn: Turn, rating: int) -> int:
        barrier.wait()
        return site.grade(turn, rating)

    shown = []
    with ThreadPoolExecutor(2) as both:
        for _ in range(PAIRS):
            shown.append(turn := site.show_next())
            assert list(both.map(send, [turn] * 2, [3, 4])) == [302, 302]
    kept = [answer[:2] for answer in site.answers()]
    assert len(kept) == before + PAIRS
    assert [turn for turn in shown if kept.count(turn) != 1] == []


@pytest.mark.race
@pytest.mark.parametrize("rating", [3, 1])
def test_an_answer_sent_again_is_refused_calmly(site: Site, rating: int) -> None:
    turn = site.show_next()
    assert site.grade(turn, 3) == 302
    kept = site.answers()
    time.sleep(REPLAY_AFTER)
    page = site.read("POST", f"/cards/{turn.card}/answer/", ordinal=turn.ordinal, rating=rating)
    assert MOVED_ON in page
    assert site.answers() == kept


@pytest.mark.race
def test_back_and_answered_again_shows_the_next_card(site: Drill) -> None:
    turn = site.show_next()
    assert site.grade(turn, 3) == 302
    kept = site.answers()
    assert MOVED_ON in site.read("GET", f"/review/?card={turn.card}&ordinal={turn.ordinal}")
    assert MOVED_ON in site.read("POST", f"/cards/{turn.card}/check/", ordinal=turn.ordinal, aloud=1)
    assert MOVED_ON in site.read("POST", f"/cards/{turn.card}/answer/", ordinal=turn.ordinal, rating=3)
    assert site.answers() == kept
