"""Work that takes a while: begun by a page that may be left, done by a process of its own, its result kept.

All that is known of it stands in its row, so that any web process can show it and none needs to have begun it.
"""
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from threading import Thread
from time import monotonic
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.module_loading import import_string

from accounts.models import Profile, User
from calculators.models.base import Refusal
from flashcards.models import Work

SILENCE = timedelta(minutes=1)  # after which a process that says nothing is taken for dead
EVERY_S = 0.7  # the least time between two words of a process about how far it is
GENTLE = 10  # niceness: a page that somebody waits for comes first
STOPPED = "Its process stopped before it was done."

Tell = Callable[[float, str], None]  # how far it is, 0 to 1, and what is being done
Doer = Callable[[Work, Tell], dict[str, Any]]


class Closed(Exception):
    """Nobody waits for this work any more: it was taken for dead, or it is gone."""


def latest(user: User, kind: Work.Kind) -> Work | None:
    """The person's work of this kind that was asked for last."""
    return Work.objects.filter(user=user, kind=kind).order_by("-asked_at", "-pk").first()


def latest_done(user: User, kind: Work.Kind) -> Work | None:
    """The person's work of this kind that came to a result last."""
    done = Work.objects.filter(user=user, kind=kind, done_at__isnull=False, fault="")
    return done.order_by("-asked_at", "-pk").first()


def is_silent(work: Work, now: datetime) -> bool:
    """Whether the process of work not yet done can be taken for dead."""
    return work.done_at is None and now - (work.seen_at or work.asked_at) > SILENCE


def begin(user: User, kind: Work.Kind, *, now: datetime, given: dict[str, Any] | None = None) -> tuple[Work, bool]:
    """The person's work of this kind that is under way, else new work, and whether it is new: start that one.

    Work that went silent is closed as having come to nothing.
    """
    with transaction.atomic():
        Profile.objects.select_for_update().get(user=user)  # two clicks come one after the other
        work = latest(user, kind)
        if work and work.done_at is None:
            if not is_silent(work, now):
                return work, False
            Work.objects.filter(pk=work.pk, done_at=None).update(done_at=now, fault=STOPPED)
        return Work.objects.create(user=user, kind=kind, asked_at=now, given=given or {}), True


def start(work: Work) -> None:
    """Have the work done by a process that outlives this one."""
    process = subprocess.Popen(
        [sys.executable, str(settings.BASE_DIR / "manage.py"), "work", str(work.pk)],
        cwd=settings.BASE_DIR, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.setpriority(os.PRIO_PROCESS, process.pid, GENTLE)
    Thread(target=process.wait, daemon=True).start()  # so that it leaves no zombie


def do(pk: int) -> bool:
    """Do the work and keep its result, or the sentence that says why it came to nothing.

    False when another process has taken it already. What is a fault of the program is kept too, and raised.
    """
    if not Work.objects.filter(pk=pk, seen_at=None, done_at=None).update(seen_at=timezone.now()):
        return False
    work = Work.objects.select_related("user__profile").get(pk=pk)
    doer: Doer = import_string(settings.WORKS[work.kind])
    try:
        _end(work, result=doer(work, _teller(work)))
    except Refusal as refusal:
        _end(work, fault=str(refusal))
    except Closed:
        pass
    except Exception as fault:
        _end(work, fault=f"That is a fault of the program: {type(fault).__name__}, {fault}.")
        raise
    return True


def _teller(work: Work) -> Tell:
    """What writes down how far the work is, not too often; it stops work that nobody waits for."""
    told, stage_told = float("-inf"), None

    def tell(progress: float, stage: str) -> None:
        nonlocal told, stage_told
        if stage == stage_told and monotonic() - told < EVERY_S:
            return
        told, stage_told = monotonic(), stage
        waited_for = Work.objects.filter(pk=work.pk, done_at=None)
        if not waited_for.update(progress=progress, stage=stage, seen_at=timezone.now()):
            raise Closed

    return tell


def _end(work: Work, *, result: dict[str, Any] | None = None, fault: str = "") -> None:
    now = timezone.now()
    Work.objects.filter(pk=work.pk, done_at=None).update(
        progress=1, seen_at=now, done_at=now, result=result or {}, fault=fault)
