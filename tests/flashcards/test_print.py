"""Questions on paper: what the filters leave, and no answer that was not committed on."""
import re

from django.test import Client

from flashcards.models import Attempt, Card
from flashcards.print_page import MOST_PRINTED
from tests.flashcards.conftest import NOON, write_questions

CLOSED = "Closed until you commit"


def sheets(client: Client, query: str) -> dict[str, str]:
    """The sheets on the page by their question's slug."""
    response = client.get(f"/questions/print/{query}")
    assert response.status_code == 200
    found = re.findall(r'<article class="sheet" aria-labelledby="([^"]+)">(.*?)</article>', response.content.decode(),
                       re.DOTALL)
    return dict(found)


def commit(card: Card) -> None:
    Attempt(card=card, ordinal=1, kind="check", seed=1, at=NOON, seconds=5).save()


def test_paper_shows_an_answer_only_where_one_was_committed(as_ada: Client, deck: dict[str, Card]):
    commit(deck["token-budget"])
    found = sheets(as_ada, "?topic=scheduling&kind=trace")
    assert list(found) == ["token-budget", "preemption-victim"]
    assert "That <code" in found["token-budget"]
    assert CLOSED not in found["token-budget"]
    closed = found["preemption-victim"]
    assert CLOSED in closed
    assert deck["preemption-victim"].question.catch.split(".")[0] not in closed
    assert "said aloud" not in closed


def test_somebody_elses_commit_opens_nothing(as_ada: Client, deck: dict[str, Card], eve: object):
    commit(Card.objects.create(user=eve, question=deck["token-budget"].question))
    assert CLOSED in sheets(as_ada, "?q=token-budget")["token-budget"]


def test_the_asks_alone_close_every_answer(as_ada: Client, deck: dict[str, Card]):
    commit(deck["token-budget"])
    assert "That <code" not in sheets(as_ada, "?q=token-budget&answers=none")["token-budget"]


def test_more_than_fits_is_said_and_topics_are_offered(as_ada: Client):
    write_questions(MOST_PRINTED + 1)
    page = as_ada.get("/questions/print/").content.decode()
    assert f"At most {MOST_PRINTED} go on paper at once." in page
    assert '<a href="?topic=scheduling">' in page
    assert sheets(as_ada, "") == {}
