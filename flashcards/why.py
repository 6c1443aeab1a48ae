"""Why an interval is what it is, in one line, when it matters: a cap, an answer long overdue, a day that was full."""
from collections.abc import Mapping
from datetime import date, timedelta

from flashcards.spread import Placed, Placing

NAMES = {2: "Hard", 3: "Good", 4: "Easy"}
OVERDUE_FROM = 3  # days: less moves an interval by a day or two


def why(
    placed: Mapping[int, Placed], by: Placing, *, chosen: int | None = None, interview: date | None = None,
    overdue: int = 0,
) -> str:
    """One sentence on the intervals of Hard, Good and Easy; empty when they are as bare FSRS and a punctual person have
    them.

    A cap says most, then being overdue (by days, and by half the last interval or more), then where a day was left for
    a freer one, told of the grade that is `chosen` before the others.
    """
    if capped := _capped(placed):
        which = "Capped" if len(capped) == len(placed) else f"{_listed(capped)} capped"
        return f"{which}: {_cap(by, interview)}."
    if placed and overdue >= OVERDUE_FROM and 2 * overdue >= (by.before or 0):
        return f"Overdue {overdue} days; remembered, that counts for more."
    moved = [rating for rating in _in_order(chosen) if rating in placed and _was_moved(placed, rating)]
    return f"{_moved(moved[0], placed[moved[0]], by)}." if moved else ""


def day_name(day: date, today: date) -> str:
    """A day as it is spoken of: "Tuesday", a week or more away "Tuesday 22 December", "12 March 2028" in another year.
    """
    if 0 <= (day - today).days < 7:
        return f"{day:%A}"
    return f"{day:%A} {day.day} {day:%B}" if day.year == today.year else f"{day.day} {day:%B} {day.year}"


def _capped(placed: Mapping[int, Placed]) -> list[int]:
    """The grades whose interval the cap cuts, or keeps from being a day longer than the one before."""
    days = [one.days for one in placed.values()]
    return [rating for rating, one in sorted(placed.items())
            if one.moved == "capped" or days.count(one.days) > 1]


def _cap(by: Placing, interview: date | None) -> str:
    last = by.base + timedelta(days=by.most)
    if interview == last:
        return f"interview on {last.day} {last:%B}" + (f" {last.year}" if last.year != by.base.year else "")
    return f"your longest interval is {by.most:,} d"


def _in_order(chosen: int | None) -> list[int]:
    return sorted(NAMES, key=lambda rating: (rating != chosen, rating != 3, rating))


def _was_moved(placed: Mapping[int, Placed], rating: int) -> bool:
    """Whether it left its day for a freer one, and not only to be longer than the grade before."""
    one, before = placed[rating], placed.get(rating - 1)
    return bool(one.moved) and not (before and one.bare <= before.days)


def _moved(rating: int, one: Placed, by: Placing) -> str:
    left = day_name(by.base + timedelta(days=one.bare), by.base)
    reason = f"{left} is an easy day" if one.moved == "easy" else f"{left} is fuller"
    return f"{NAMES[rating]} {one.bare:,} to {one.days:,} d: {reason}"


def _listed(ratings: list[int]) -> str:
    return " and ".join(NAMES[rating] for rating in ratings)
