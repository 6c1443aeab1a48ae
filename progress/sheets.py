"""Each report as a table: what stands folded under its picture, and what its CSV file holds."""
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from flashcards.leeches import is_leech as lapsed_so_often
from progress import reports
from progress.counts import Share
from progress.reading import Reading

FIGURE = re.compile(r"\[\[[^\]]*\]\]")  # of a text, filled in only where a question is posed
LEAST_OF_A_ROW = 10  # answers that one row of a picture is drawn from
Cell = str | int | float | date | None


@dataclass(frozen=True, slots=True)
class Sheet:
    """A report's name, what it counts, its heads, and its rows in the order of its file."""

    slug: str
    name: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    latest_first: bool = False  # on a page, as its picture may show the latest alone
    places: int = 3  # of its fractions, on a page

    @property
    def shown(self) -> Iterator[tuple[str, ...]]:
        """The rows as a page writes them."""
        for row in reversed(self.rows) if self.latest_first else self.rows:
            yield tuple(words(cell, self.places) for cell in row)


def words(cell: Cell, places: int = 3) -> str:
    """A cell as a page writes it: fractions to so many places, whole numbers with their thousands apart."""
    match cell:
        case None:
            return ""
        case date():
            return f"{cell.day} {cell:%b %Y}"
        case float():
            return f"{cell:,.{places}f}"
        case int():
            return f"{cell:,}"
    return cell


SHARE = ("recalled", "of", "share", "low", "high")


def share_cells(share: Share) -> tuple[Cell, ...]:
    """A share in the five columns of SHARE."""
    return share.hits, share.of, round(share.share, 4), round(share.low, 4), round(share.high, 4)


def retention(reading: Reading) -> Sheet:
    rows = ((week, *share_cells(share)) for week, share in reading.by_week)
    return _sheet("retention", "True retention by week", ("week of", *SHARE), rows, latest_first=True)


def topics(reading: Reading) -> Sheet:
    rows = [
        (name, share and share.hits, share and share.of, share and round(share.share, 4), recall and round(recall, 4),
         begun)
        for name, share, recall, begun in weakest(reading)
    ]
    heads = ("topic", "recalled", "of", "share", "recall today", "cards begun")
    return _sheet("topics", "True retention and predicted recall today by topic, the weakest first", heads, rows)


def weakest(reading: Reading) -> list[tuple[str, Share | None, float | None, int]]:
    """Each topic that was begun: its true retention, its mean predicted recall today and its cards begun; the lowest
    recall first, then what has no card in the drill any more."""
    rows = []
    for name in reading.topics.values():
        share, (recall, begun) = reading.by_topic.get(name), reading.recall_by_topic.get(name, (None, 0))
        if share or begun:
            rows.append((name, share, recall, begun))
    return sorted(rows, key=lambda row: (row[2] is None, row[2]))


def maturity(reading: Reading) -> Sheet:
    rows = ((name, *share_cells(share)) for name, share in reading.by_maturity.items())
    return _sheet("maturity", "True retention of young cards and of mature ones (an interval of 21 days or more)",
                  ("cards", *SHARE), rows)


def days(reading: Reading) -> Sheet:
    rows = ((day.day, day.answers, round(day.seconds / 60, 1) if day.timed else None) for day in reading.study_days)
    return _sheet("days", "Reviews and minutes by study day", ("day", "reviews", "minutes"), rows, latest_first=True,
                  places=1)


def minutes(reading: Reading) -> Sheet:
    rows = ((week, round(taken, 1), int(timed), int(answers))
            for week, taken, timed, answers in reading.weeks_of_minutes)
    heads = ("week of", "minutes", "reviews with a time", "reviews")
    return _sheet("minutes", "Minutes by week", heads, rows, latest_first=True, places=1)


def calibration(reading: Reading) -> Sheet:
    bins = reading.calibration.bins if reading.calibration else ()
    rows = ((f"{one.low:.2f} to {one.high:.2f}", round(one.predicted, 4), *share_cells(one.came)) for one in bins)
    return _sheet("calibration", "Predicted recall and recall", ("bin", "predicted", *SHARE), rows)


def confidence(reading: Reading) -> Sheet:
    rows = ((round(sure, 2), *share_cells(share)) for sure, share in reading.stated.items())
    return _sheet("confidence", "Stated confidence and being right", ("sure", "right", *SHARE[1:]), rows)


def forecast(reading: Reading) -> Sheet:
    return _sheet("forecast", "Cards falling due in the coming year", ("day", "due"), reading.forecast)


def lapses(reading: Reading) -> Sheet:
    rows = ((card.title, card.topic, card.lapses, card.answers, "leech" if is_leech(reading, card.lapses) else "")
            for card in reports.lapsing(reading.connection, reading.user.pk))
    return _sheet("lapses", "What lapses most", ("card", "topic", "lapses", "answers", "leech"), rows)


def is_leech(reading: Reading, lapses: int) -> bool:
    """Whether so many lapses make a leech, as its person has set it."""
    return lapsed_so_often(lapses, reading.profile.leech_lapses)


def rubric(reading: Reading) -> Sheet:
    rows = ((title, without_figures(point["text"]), share.hits, share.of) for _, title, point, share in reading.missed)
    return _sheet("rubric", "Rubric points most often missed", ("question", "point", "missed", "of"), rows)


def without_figures(text: str) -> str:
    """A text of the bank with a gap for each figure."""
    return FIGURE.sub("…", text)


def forecasts_held(reading: Reading) -> Sheet:
    rows = ((f"{low} to {high}" if high < 9999 else f"{low} or more", round(expected, 4), *share_cells(came))
            for low, high, expected, came in reading.held)
    return _sheet("forecasts", "Recall as forecast some days ahead, and as it came",
                  ("days ahead", "forecast", *SHARE), rows)


def _sheet(slug: str, name: str, heads: Iterable[str], rows: Iterable[Iterable[Cell]], **how: Any) -> Sheet:
    return Sheet(slug, name, tuple(heads), tuple(tuple(row) for row in rows), **how)


SHEETS: dict[str, Callable[[Reading], Sheet]] = {
    "retention": retention, "topics": topics, "maturity": maturity, "days": days, "minutes": minutes,
    "calibration": calibration, "confidence": confidence, "forecast": forecast, "lapses": lapses, "rubric": rubric,
    "forecasts": forecasts_held,
}
