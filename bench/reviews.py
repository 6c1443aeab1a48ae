"""How long a review takes, in process beside Anki's own backend and over HTTP.

    ANKI_PYTHON=…/bin/python .venv/bin/python bench/reviews.py [CARDS…]

For 10,000 and 100,000 cards unless told otherwise: medians of both, taken in turns in one run. ANKI_PYTHON is a Python
with the package `anki`; without it only this project's own times are told.
"""
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import Any

ROUNDS = 5
NEW_PER_DAY, REVIEWS_PER_DAY = 20, 999
ALLOWED = {  # times what Anki takes
    "fetch + answer": 6, "queue build": 1, "due counts": 1, "a year's graphs": 1, "undo": 10, "undo of any age": 10,
}
GRAPHS = (  # of progress.reading.Reading: what the Progress page draws
    "by_week", "by_topic", "by_maturity", "calibration", "held", "stated", "recall_by_topic", "missed", "study_days",
    "weeks_of_minutes", "forecast", "lapsing",
)
ANKI_SIDE = Path(__file__).with_name("anki_side.py")


def main(sizes: list[str]) -> None:
    print(f"{'cards':>8}  {'what':<18}{'here':>10}{'Anki':>10}{'times':>8}{'allowed':>9}")
    for size in map(int, sizes or ("10000", "100000")):
        with tempfile.TemporaryDirectory() as folder:
            compare(size, Path(folder))


def compare(size: int, folder: Path) -> None:
    from django.utils import timezone

    from accounts.models import User
    from bench import deck
    from flashcards.study_day import study_day

    user = User.objects.create_user(f"bench{size}@example.org")
    user.profile.new_numbers_per_day, user.profile.reviews_per_day = NEW_PER_DAY, REVIEWS_PER_DAY
    user.profile.save()
    deck.deal(user, size, study_day(timezone.now(), user.profile.zone, user.profile.day_start))
    ours = Ours(user)
    with anki(folder) as ask:
        print(f"{size:>8}  {ours.told()}; Anki: {ask('set_up', NEW_PER_DAY, REVIEWS_PER_DAY)}")
        random = Random(1)
        taken: dict[str, tuple[list[float], list[float]]] = {what: ([], []) for what in ALLOWED}

        def note(what: str, here: list[float], there: list[float]) -> None:
            taken[what][0].extend(here)
            taken[what][1].extend(there)

        for _ in range(ROUNDS):
            ratings = random.choices((1, 2, 3, 4), (8, 12, 70, 10), k=20)
            note("queue build", ours.queue(3), ask("queue", 3))
            note("due counts", ours.due(3), ask("due", 3))
            note("fetch + answer", ours.answer(ratings), ask("answer", ratings))
            there = ask("undo", 10)
            note("undo", ours.undo(10), there)
            note("undo of any age", ours.undo_old(10), there)
            note("a year's graphs", ours.graphs(1), ask("graphs", 1))
    for what, (here, there) in taken.items():
        print(line(size, what, here, there), flush=True)
    ours.forget()


def line(size: int, what: str, here: list[float], there: list[float]) -> str:
    mine, theirs = median(here) * 1e3, median(there) * 1e3
    return f"{size:>8}  {what:<18}{mine:>7.2f} ms{theirs:>7.2f} ms{mine / theirs:>8.2f}{ALLOWED[what]:>9}"


class Ours:
    """What is timed of this project, on one person's deck; all times are in seconds."""

    def __init__(self, user: Any) -> None:
        self.user, self.random = user, Random(2)

    def told(self) -> str:
        from django.utils import timezone

        from flashcards import queue
        from flashcards.models import Review

        left = queue.plan(self.user, timezone.now())
        return (f"queued {len(left.new_today)} new, {len(left.due)} due; {left.overdue} overdue; "
                f"{Review.objects.filter(card__user=self.user).count()} reviews")

    def answer(self, ratings: list[int]) -> list[float]:
        return [timed(lambda: self.fetch_and_answer(rating)) for rating in ratings]  # noqa: B023

    def fetch_and_answer(self, rating: int) -> None:
        """All that the pages ask of the models for one card: look, commit, see the buttons, grade."""
        from django.utils import timezone

        from flashcards import queue, services

        now = timezone.now()
        card = queue.next_card(self.user, now)
        services.open_card(card, now)
        attempt = services.commit_attempt(card, ordinal=card.next_ordinal, now=now, aloud=True)
        shown = queue.offer(card, card.next_ordinal, now, self.user.profile)[rating]
        assert services.answer_card(
            card, rating, ordinal=card.next_ordinal, now=now, attempt=attempt, shown=shown.due_day)

    def queue(self, times: int) -> list[float]:
        """Look the day up as a process does that has kept nothing of it."""
        from django.utils import timezone

        from flashcards import kept, queue

        return [timed(lambda: queue.line(self.user, timezone.now()), kept.forget) for _ in range(times)]

    def due(self, times: int) -> list[float]:
        from django.utils import timezone

        from flashcards import kept, queue

        return [timed(lambda: queue.due_count(self.user, timezone.now()), kept.forget) for _ in range(times)]

    def undo(self, times: int) -> list[float]:
        from django.utils import timezone

        from flashcards import services

        return [timed(lambda: services.undo(self.user, services.last_action(self.user).pk, now=timezone.now()))
                for _ in range(times)]

    def undo_old(self, times: int) -> list[float]:
        """Take back answers from anywhere in the log, each the last one on its card."""
        from django.utils import timezone

        from flashcards import services
        from flashcards.models import Card

        begun = Card.objects.filter(user=self.user, log_length__gt=2, due_day__gt=timezone.now().date())
        pks = self.random.sample(list(begun.values_list("pk", flat=True)), times)
        rows = [Card.objects.get(pk=pk).reviews.filter(kind="answer").order_by("-ordinal").first().pk for pk in pks]
        return [timed(lambda: services.undo_any(self.user, row, now=timezone.now())) for row in rows]  # noqa: B023

    def graphs(self, times: int) -> list[float]:
        return [timed(self.report) for _ in range(times)]

    def report(self) -> None:
        from django.utils import timezone

        from progress.engine import connect
        from progress.reading import Reading

        with connect() as connection:
            reading = Reading(connection, self.user, timezone.now())
            for graph in GRAPHS:
                getattr(reading, graph)

    def forget(self) -> None:
        from django.core.management import call_command

        call_command("flush", verbosity=0, interactive=False)


@contextmanager
def anki(folder: Path) -> Iterator[Callable[..., Any]]:
    """A function that has Anki's side do something and returns what it says."""
    from django.conf import settings

    command = [os.environ["ANKI_PYTHON"], str(ANKI_SIDE), settings.DATABASES["default"]["NAME"],
               str(folder / "collection.anki2")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as side:
        assert json.loads(side.stdout.readline()) == "ready"

        def ask(*words: Any) -> Any:
            side.stdin.write(json.dumps(words) + "\n")
            side.stdin.flush()
            return json.loads(side.stdout.readline())

        yield ask
        side.stdin.close()


def timed(act: Callable[[], object], before: Callable[[], object] = lambda: None) -> float:
    """The seconds that an act takes; not what comes before it."""
    before()
    started = perf_counter()
    act()
    return perf_counter() - started


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    with tempfile.TemporaryDirectory() as data:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "drillapp.settings", "DRILL_DATA": data}
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        main(sys.argv[1:])
