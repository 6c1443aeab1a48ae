"""Long work: begun once, done once, its result kept, and what stopped can be begun again."""
import subprocess
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.models import User
from calculators.models.base import Refusal
from flashcards import works
from flashcards.models import Work
from flashcards.works import Closed, Tell

SECOND = timedelta(seconds=1)


@pytest.fixture
def work(ada: User, settings: LazySettings) -> Work:
    settings.WORKS = {"fit": f"{__name__}.doubled"}
    return works.begin(ada, Work.Kind.FIT, now=timezone.now(), given={"number": 21})[0]


def doubled(work: Work, tell: Tell) -> dict[str, Any]:
    tell(0.5, "Doubling")
    seen = Work.objects.get()
    assert (seen.progress, seen.stage, seen.done_at) == (0.5, "Doubling", None)
    return {"doubled": work.given["number"] * 2}


def refused(work: Work, tell: Tell) -> dict[str, Any]:
    raise Refusal("Your log is empty.")


def broken(work: Work, tell: Tell) -> dict[str, Any]:
    raise ZeroDivisionError("by nothing")


def test_work_is_done_once_and_its_result_kept(work: Work) -> None:
    assert works.do(work.pk)
    assert not works.do(work.pk)
    work.refresh_from_db()
    assert (work.result, work.fault, work.progress) == ({"doubled": 42}, "", 1)
    assert work.done_at is not None


def test_the_command_does_it_and_says_when_there_is_nothing_to_do(work: Work) -> None:
    call_command("work", work.pk)
    with pytest.raises(CommandError, match=f"no work {work.pk} that waits"):
        call_command("work", work.pk)


def test_a_second_click_begins_nothing(work: Work, ada: User, ben: User) -> None:
    assert works.begin(ada, Work.Kind.FIT, now=work.asked_at + SECOND) == (work, False)
    assert works.begin(ben, Work.Kind.FIT, now=work.asked_at + SECOND)[1]
    assert works.begin(ada, Work.Kind.WHAT_IF, now=work.asked_at + SECOND)[1]
    assert Work.objects.count() == 3


def test_after_it_is_done_it_can_be_begun_anew(work: Work, ada: User) -> None:
    works.do(work.pk)
    again, is_new = works.begin(ada, Work.Kind.FIT, now=timezone.now())
    assert is_new
    assert works.latest(ada, Work.Kind.FIT) == again
    assert Work.objects.get(pk=work.pk).result == {"doubled": 42}


def test_work_that_went_silent_is_closed_and_begun_again(work: Work, ada: User) -> None:
    at = work.asked_at + works.SILENCE
    assert not works.is_silent(work, at)
    assert works.begin(ada, Work.Kind.FIT, now=at) == (work, False)
    again, is_new = works.begin(ada, Work.Kind.FIT, now=at + SECOND)
    assert is_new
    assert works.is_silent(work, at + SECOND)
    work.refresh_from_db()
    assert (work.fault, work.done_at) == (works.STOPPED, again.asked_at)


def test_a_word_of_its_process_keeps_it_alive(work: Work, settings: LazySettings) -> None:
    Work.objects.update(seen_at=work.asked_at + works.SILENCE)
    work.refresh_from_db()
    assert not works.is_silent(work, work.asked_at + works.SILENCE + SECOND)


def test_a_process_taken_for_dead_stops_and_overwrites_nothing(work: Work) -> None:
    tell = works._teller(work)
    tell(0.1, "Reading")
    Work.objects.update(done_at=timezone.now(), fault=works.STOPPED)
    tell(0.2, "Reading")  # too soon after the last word to say anything
    with pytest.raises(Closed):
        tell(0.3, "Writing")
    works._end(work, result={"late": True})
    assert Work.objects.get().result == {}


def test_a_refusal_is_kept_as_its_sentence(work: Work, settings: LazySettings) -> None:
    settings.WORKS = {"fit": f"{__name__}.refused"}
    assert works.do(work.pk)
    assert Work.objects.get().fault == "Your log is empty."


def test_a_fault_of_the_program_is_kept_and_raised(work: Work, settings: LazySettings) -> None:
    settings.WORKS = {"fit": f"{__name__}.broken"}
    with pytest.raises(ZeroDivisionError):
        works.do(work.pk)
    assert Work.objects.get().fault == "That is a fault of the program: ZeroDivisionError, by nothing."


def test_it_is_started_in_a_session_of_its_own(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def popen(command: list[str], **how: Any) -> subprocess.Popen:
        started.append((command[1:], how["start_new_session"], how["stdout"]))
        return real(["true"])

    real = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", popen)
    works.start(work)
    manage = str(works.settings.BASE_DIR / "manage.py")
    assert started == [([manage, "work", str(work.pk)], True, subprocess.DEVNULL)]
