"""The Fit page: each way a fit can stand, taking it, and going back."""
import csv
import io
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Profile, User
from flashcards import adoption, works
from flashcards.memory import DEFAULT_PARAMETERS
from flashcards.models import Adoption, Work

HTMX = {"HX-Request": "true"}
OWN = [0.3, *DEFAULT_PARAMETERS[1:]]
SCORE = {"loss": 0.4659, "rmse": 0.0364}


def gain(mean: float = 0.0069, error: float = 0.0026, predictions: int = 3_120) -> dict[str, Any]:
    return {"mean": mean, "error": error, "predictions": predictions}


def judged(*, worth_it: bool, latest: float = 0.0051) -> dict[str, Any]:
    return {
        "scored": 3_746, "gain": gain(), "latest": gain(latest, 0.0035, 1_248), "worth_it": worth_it,
        "splits": [gain(predictions=624)] * 5, "answers": 7_382, "parameters": OWN, "later_loss": 0.4712,
        "seen": {"defaults": SCORE, "yours": SCORE, "fitted": {"loss": 0.4547, "rmse": 0.0338}},
    }


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Work]]:
    """The work that would have been started."""
    begun: list[Work] = []
    monkeypatch.setattr(works, "start", begun.append)
    return begun


def made(user: User, **fields: Any) -> Work:
    return Work.objects.create(user=user, kind=Work.Kind.FIT, **{"asked_at": timezone.now(), **fields})


def done(user: User, **result: Any) -> Work:
    return made(user, done_at=timezone.now(), progress=1, result=result)


def text(client: Client, **how: Any) -> str:
    response = client.get("/progress/fit/", **how)
    assert response.status_code == 200
    return response.content.decode()


def test_before_the_first_fit_the_page_says_what_it_would_do(as_ada: Client) -> None:
    page = text(as_ada)
    assert "From 400 of your own reviews on" in page
    assert "the defaults" in page
    assert "hx-get" not in page


def test_a_double_click_starts_one(as_ada: Client, started: list[Work]) -> None:
    for _ in range(2):
        assert as_ada.post("/progress/fit/start/").url == "/progress/fit/"
    assert started == [Work.objects.get()]


def test_while_it_runs_the_page_says_how_far_it_is_and_asks_again(as_ada: Client, ada: User) -> None:
    made(ada, progress=0.37, stage="Trying it", seen_at=timezone.now())
    page = text(as_ada)
    assert "Trying it: 37%" in page
    assert 'hx-get="/progress/fit/"' in page
    assert '<noscript><meta http-equiv="refresh"' in page
    assert "<form" not in page[page.index('<div id="fit"'):page.index('id="use-heading"')]


def test_the_page_that_waited_is_told_once_when_it_is_done(as_ada: Client, ada: User) -> None:
    work = made(ada, seen_at=timezone.now())
    assert "hx-swap-oob" not in text(as_ada, headers=HTMX)
    Work.objects.filter(pk=work.pk).update(done_at=timezone.now(), result=judged(worth_it=False))
    page = text(as_ada, headers=HTMX)
    assert "The fit is done. The defaults are as good for you." in page
    assert "hx-get" not in page
    assert "<html" not in page


def test_a_process_that_went_silent_can_be_started_again(as_ada: Client, ada: User, started: list[Work]) -> None:
    made(ada, asked_at=timezone.now() - timedelta(minutes=3), seen_at=timezone.now() - timedelta(minutes=2))
    page = text(as_ada)
    assert "The fit stopped before it was done." in page
    assert "hx-get" not in page
    as_ada.post("/progress/fit/start/")
    assert len(started) == 1
    assert Work.objects.count() == 2


def test_an_earlier_fit_stays_while_a_later_one_came_to_nothing(as_ada: Client, ada: User) -> None:
    done(ada, **judged(worth_it=True))
    made(ada, done_at=timezone.now(), fault=works.STOPPED)
    page = text(as_ada)
    assert "The fit stopped before it was done." in page
    assert "before and after" in page
    assert "Schedule by them" not in page


def test_too_few_reviews_are_told_from_a_verdict(as_ada: Client, ada: User) -> None:
    done(ada, scored=312, gain=None, latest=None, worth_it=False, splits=[])
    page = text(as_ada)
    assert "312 reviews are too few for a fit." in page
    assert "400 are needed" in page


def test_a_fault_is_a_sentence(as_ada: Client, ada: User) -> None:
    made(ada, done_at=timezone.now(), fault="That is a fault of the program: ValueError, no.")
    assert "a fault of the program: ValueError, no. Your log and your schedule are as they were." in text(as_ada)


def test_defaults_as_good_offer_nothing_to_take(as_ada: Client, ada: User) -> None:
    work = done(ada, **judged(worth_it=False, latest=0.0003))
    page = text(as_ada)
    assert "The defaults are as good for you." in page
    assert "but on the latest 1,248 of them they saved 0.0003" in page
    assert "Schedule by them" not in page
    as_ada.post("/progress/fit/adopt/", {"fit": work.pk})
    assert not Adoption.objects.exists()
    assert "Nothing was changed" in text(as_ada)


def test_before_and_after_are_of_reviews_not_seen_and_of_all(as_ada: Client, ada: User) -> None:
    done(ada, **judged(worth_it=True))
    page = text(as_ada)
    for figure in ("0.4712", "0.4643", "0.4659", "0.4547", "0.036", "0.034"):  # 0.4643 = 0.4712 - 0.0069
        assert f'<td class="num">{figure}</td>' in page
    assert "<title>On 3,120 later reviews the fit gained 0.0069 nats" in page


def test_a_fit_is_taken_and_the_defaults_restored(as_ada: Client, ada: User) -> None:
    work = done(ada, **judged(worth_it=True))
    assert "Schedule by them" in text(as_ada)
    as_ada.post("/progress/fit/adopt/", {"fit": work.pk})
    assert Profile.objects.get(user=ada).fsrs_parameters == OWN
    assert Adoption.objects.get().fit == work
    page = text(as_ada)
    assert "Your cards go by your own parameters." in page
    assert "to 3,746 reviews" in page
    as_ada.post("/progress/fit/adopt/", {"fit": work.pk})
    assert Adoption.objects.count() == 1
    as_ada.post("/progress/fit/restore/", {"adoption": "0"})
    assert Profile.objects.get(user=ada).fsrs_parameters == []
    assert "go by the defaults again" in text(as_ada)
    as_ada.post("/progress/fit/restore/", {"adoption": Adoption.objects.earliest("pk").pk})
    assert Profile.objects.get(user=ada).fsrs_parameters == OWN


def test_each_set_of_parameters_is_listed_once(as_ada: Client, ada: User) -> None:
    for parameters in (OWN, [], OWN):
        adoption.adopt(ada, parameters, now=timezone.now())
    page = text(as_ada)
    assert page.count('name="adoption"') == 1
    assert page.count("<th scope=\"row\">the defaults</th>") == 1


def test_what_is_anothers_is_unknown(as_ada: Client, eve: User) -> None:
    work = done(eve, **judged(worth_it=True))
    row = adoption.adopt(eve, OWN, now=timezone.now())
    assert as_ada.post("/progress/fit/adopt/", {"fit": work.pk}).status_code == 404
    assert as_ada.post("/progress/fit/restore/", {"adoption": row.pk}).status_code == 404
    for nonsense in ("", "x", "9" * 30):
        assert as_ada.post("/progress/fit/adopt/", {"fit": nonsense}).status_code == 404
        assert as_ada.post("/progress/fit/restore/", {"adoption": nonsense}).status_code == 404
    assert "too few" not in text(as_ada)


def test_each_table_of_a_fit_is_a_file_too(as_ada: Client, ada: User, eve: User) -> None:
    done(ada, **judged(worth_it=True))
    page, files = text(as_ada), {}
    for slug in ("gains", "scores", "parameters"):
        assert f'href="/progress/fit/{slug}.csv"' in page
        files[slug] = list(csv.reader(io.StringIO(as_ada.get(f"/progress/fit/{slug}.csv").content.decode())))
    assert files["gains"][-1] == ["all five", "3120", "0.0069", "0.0026"]
    assert files["scores"][-1][2:] == ["0.4547", "0.0338"]
    assert len(files["parameters"]) == 22 and files["parameters"][1][3] == "0.3"
    assert as_ada.get("/progress/fit/nothing.csv").status_code == 404
    as_ada.force_login(eve)
    assert as_ada.get("/progress/fit/gains.csv").status_code == 404


def switched(user: User, **fields: Any) -> Work:
    given = {"parameters": OWN, "fit": None}
    return Work.objects.create(
        user=user, kind=Work.Kind.ADOPT, **{"asked_at": timezone.now(), "given": given, **fields})


def test_a_long_log_is_switched_by_a_process_of_its_own(
    as_ada: Client, ada: User, started: list[Work], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adoption, "is_long", lambda user: True)
    fit = done(ada, **judged(worth_it=True))
    for _ in range(2):
        assert as_ada.post("/progress/fit/adopt/", {"fit": fit.pk}).url == "/progress/fit/"
    [work] = started
    assert work.given == {"parameters": OWN, "fit": fit.pk}
    Work.objects.filter(pk=work.pk).update(progress=0.37, stage="37 of 100 cards replayed", seen_at=timezone.now())
    page = text(as_ada)
    assert "Switching your cards to other parameters" in page
    assert "37 of 100 cards replayed: 37%" in page
    assert 'hx-get="/progress/fit/"' in page
    assert "Schedule by them" not in page and 'name="adoption"' not in page


def test_the_page_that_waited_for_a_switch_is_loaded_anew_and_told_once(as_ada: Client, ada: User) -> None:
    done(ada, **judged(worth_it=True))
    work = switched(ada, seen_at=timezone.now())
    assert "HX-Refresh" not in as_ada.get("/progress/fit/", headers=HTMX).headers
    Work.objects.filter(pk=work.pk).update(done_at=timezone.now(), result={"switched": True})
    assert as_ada.get("/progress/fit/", headers=HTMX).headers["HX-Refresh"] == "true"
    assert "Your cards are switched. What is due stays where it is." in text(as_ada)
    assert "Your cards are switched" not in text(as_ada)


def test_a_switch_that_came_to_nothing_says_so_until_a_fit_comes(as_ada: Client, ada: User) -> None:
    long_ago = timezone.now() - timedelta(minutes=5)
    made(ada, asked_at=long_ago, done_at=long_ago, progress=1, result=judged(worth_it=True))
    switched(ada, asked_at=long_ago + timedelta(minutes=1), seen_at=long_ago + timedelta(minutes=2))
    page = text(as_ada)
    assert "stopped before it was done. Nothing was switched" in page
    assert "Schedule by them" in page
    done(ada, **judged(worth_it=True))
    assert "Nothing was switched" not in text(as_ada)
