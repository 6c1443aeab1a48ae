"""Fit FSRS-6 to a review log in a file and say how well defaults and fit predict it, as the Fit page does of one's own.

The file is CSV with the columns card_id, review_time (ISO 8601; UTC where it names no zone) and rating (1 to 4).
"""
import csv
import json
from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import UTC, datetime, time
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from accounts.models import check_zone
from flashcards.study_day import study_day
from progress import fit
from progress.fit import Answer, Array, Gain, Log

TRAINED_ON = 0.7  # of what is scored, the share that the second fit sees
COLUMNS = {"card_id", "review_time", "rating"}


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--zone", default="UTC", help="whose days are counted: an IANA name, UTC by default")
        parser.add_argument("--day-start", default="04:00", help="when a day starts there, 04:00 by default")
        parser.add_argument("--parameters", type=Path, help="JSON with 21 numbers, to be scored as well")
        parser.add_argument("--json", action="store_true", help="print the fitted parameters and all figures as JSON")

    def handle(self, *, file: Path, zone: str, day_start: str, parameters: Path | None, **options: Any) -> None:
        try:
            check_zone(zone)
            log = fit.log_of(read(file, zone, time.fromisoformat(day_start)))
            given = read_parameters(parameters) if parameters else None
        except ValidationError as fault:
            raise CommandError(fault.messages[0]) from None
        except (OSError, ValueError) as fault:
            raise CommandError(f"That can’t be read: {fault}") from None
        if not log.scored.any():
            raise CommandError("No review in it is a study day or more after its card’s last one.")
        report = figures(log, given)
        self.stdout.write(as_json(report) if options["json"] else "\n".join(in_words(report)))


def read(file: Path, zone: str, day_start: time) -> list[Answer]:
    """The file's answers in the order they were given. Raises ValueError for a row that is none."""
    rows, cards = [], {}
    with file.open(newline="") as lines:
        reader = csv.DictReader(lines)
        if missing := COLUMNS - set(reader.fieldnames or ()):
            raise ValueError(f"it has no column {', '.join(sorted(missing))}")
        for row in reader:
            at, rating = datetime.fromisoformat(row["review_time"]), int(row["rating"])
            if rating not in (1, 2, 3, 4):
                raise ValueError(f"line {reader.line_num}: {rating} is no rating from 1 to 4")
            at = at if at.tzinfo else at.replace(tzinfo=UTC)
            card = cards.setdefault(row["card_id"], len(cards))
            rows.append((at, Answer(card, study_day(at, zone, day_start).toordinal(), rating)))
    return [answer for _, answer in sorted(rows, key=lambda row: row[0])]


def read_parameters(file: Path) -> Array:
    """21 numbers from a JSON list, or from the first list that a JSON object holds."""
    found = json.loads(file.read_text())
    lists = [found] if isinstance(found, list) else [value for value in found.values() if isinstance(value, list)]
    if not lists or len(lists[0]) != len(fit.DEFAULTS):
        raise ValueError(f"{file} holds no list of {len(fit.DEFAULTS)} numbers")
    return np.array(lists[0], float)


def figures(log: Log, given: Array | None) -> dict[str, Any]:
    """All that is said of a log: scores as (reviews, log loss, RMSE over bins)."""
    places = fit.predictions(log, fit.DEFAULTS)[2]
    started = perf_counter()
    w = fit.fitted(log, fit.before(log, log.place.size))
    seconds = perf_counter() - started
    cut = int(places[int(len(places) * TRAINED_ON)])
    early = fit.fitted(log, fit.before(log, cut))
    verdict = fit.judged(log)
    return {
        "defaults": score(log, fit.DEFAULTS), "fitted": score(log, w),
        **({"given": score(log, given)} if given is not None else {}),
        "defaults on the last 30%": score(log, fit.DEFAULTS, cut),
        "fitted to 70%, on the last 30%": score(log, early, cut),
        "parameters": [round(float(number), 4) for number in w], "seconds": round(seconds, 2), "verdict": verdict,
    }


def score(log: Log, w: Array, since: int = 0) -> tuple[int, float, float]:
    """Reviews scored from a place in the log on, their mean log loss and their RMSE over bins."""
    recall, remembered, place = fit.predictions(log, w)
    later = place >= since
    losses = fit.log_losses(recall[later], remembered[later])
    return int(later.sum()), float(losses.mean()), fit.rmse_bins(recall[later], remembered[later])


def in_words(report: dict[str, Any]) -> Iterator[str]:
    """The report, a line at a time."""
    yield f"{'':32}{'reviews':>8}{'log loss':>10}{'RMSE(bins)':>12}"
    for name, row in report.items():
        if isinstance(row, tuple):
            yield f"{name:32}{row[0]:>8,}{row[1]:>10.4f}{row[2]:>12.3f}"
    yield f"Fitted in {report['seconds']} s: {', '.join(f'{number:g}' for number in report['parameters'])}"
    verdict = report["verdict"]
    if verdict.gain is None:
        yield f"{verdict.scored:,} reviews are too few to judge a fit: {fit.LEAST_SCORED} are needed."
        return
    yield f"Gain in log loss on later reviews, five expanding splits: {gain_words(verdict.gain)}"
    yield f"Of these on the latest third of the log: {gain_words(verdict.latest)}"
    yield "The fit is worth taking." if verdict.worth_it else "The fit is not worth taking: the defaults are as good."


def gain_words(gain: Gain) -> str:
    return f"{gain.mean:+.4f} (standard error {gain.error:.4f}, {gain.predictions:,} reviews)"


def as_json(report: dict[str, Any]) -> str:
    return json.dumps(report, default=lambda value: {name: getattr(value, name) for name in value.__slots__}, indent=1)
