"""What the What if page shows: a year at each desired retention, and where one stands now."""
from datetime import datetime
from functools import cached_property

from accounts.models import Profile, User
from calculators.pictures import MEASURE, NARROW, Drawing
from flashcards.models import Work
from progress import what_if_pictures
from progress.sheets import Sheet
from progress.what_if import GRID, Outcome
from progress.work_state import WorkState

ASIDE = 0.05  # of desired retention, to either side of one's own, that the words compare


class WhatIfPage:
    """The page as it stands at `now`."""

    def __init__(self, user: User, now: datetime) -> None:
        self.profile = Profile.objects.get(user=user)
        self.state = WorkState(user, Work.Kind.WHAT_IF, now)
        self.result = self.state.result
        self.lowest, self.highest = GRID[0], GRID[-1]

    @cached_property
    def outcomes(self) -> list[Outcome]:
        return [Outcome.of(given) for given in self.result["outcomes"]]

    @cached_property
    def own(self) -> Outcome:
        """The year at what was asked for when it was played."""
        return next(one for one in self.outcomes if one.retention == self.result["asked"])

    @property
    def has_changed(self) -> bool:
        """Whether another retention is asked for now than when the year was played."""
        return self.profile.desired_retention != self.result["asked"]

    @property
    def lead(self) -> str:
        """The page's title: what the year asks and brings as things stand."""
        if self.state.is_under_way:
            return "Playing the year"
        if self.state.has_stopped:
            return "It stopped before it was done."
        if self.state.fault:
            return "It came to nothing."
        if not self.state.is_done:
            return "What if I asked for more, or less?"
        return f"At {self.own.retention:.2f}, {minutes(self.own)} a day, and {self.own.known.middle:,.0f} cards " \
               "known in a year."

    @property
    def outcome(self) -> str:
        """What a page that waited for it says once."""
        return f"The year is played. {self.lead}" if self.state.is_done else self.lead

    @cached_property
    def comparisons(self) -> list[str]:
        """What a bit more and a bit less would do."""
        words = []
        for way in (ASIDE, -ASIDE):
            wanted = self.own.retention + way
            other = min(self.outcomes, key=lambda one: abs(one.retention - wanted))
            if (other.retention - self.own.retention) * way > 0:
                words.append(self._beside(other))
        return words

    def _beside(self, other: Outcome) -> str:
        cards = round(other.known.middle - self.own.known.middle)
        difference = f"{abs(cards):,} {'more' if cards > 0 else 'fewer'} known" if cards else "as many known"
        apart = abs(other.known.middle - self.own.known.middle)
        within = apart <= self.own.known.high - self.own.known.low
        return f"{other.retention:.2f} would take {minutes(other)} a day, with {difference}" \
               f"{', which is within what chance does' if within and cards else ''}."

    @cached_property
    def drawings(self) -> dict[str, Drawing]:
        given = self.outcomes, self.own.retention, self.result["cards"]
        widths = {"wide": MEASURE, "narrow": NARROW}
        return {name: what_if_pictures.year(*given, width=width) for name, width in widths.items()}

    @property
    def band_words(self) -> str:
        """What the lines of the picture reach over."""
        low, middle, high = self.result.get("strength", (1, 1, 1))
        if low == middle == high:
            return "The lines hold chance alone: too few reviews say how well you remember, so FSRS is believed."
        return "The lines hold chance, and how sure your reviews leave it how well you remember: by " \
               f"{self.result['scored']:,} of them, their cards drawn anew for each play, what you know lasts " \
               f"{middle:.2f} times as long as FSRS takes it to ({low:.2f} to {high:.2f})."

    @property
    def sheet(self) -> Sheet | None:
        """The year's table as its CSV file holds it; None while no year was played."""
        if not self.result:
            return None
        heads = ("desired retention", "minutes a day", "low", "high", "cards known", "low", "high",
                 "days past the limit")
        rows = [(one.retention, *(round(value, 3) for spread in (one.minutes, one.known)
                                  for value in (spread.middle, spread.low, spread.high)), round(one.held, 4))
                for one in self.outcomes]
        return Sheet("what-if", "A year at each desired retention", heads, tuple(rows))

    @property
    def some_held(self) -> bool:
        """Whether the limit of reviews held something back often at one of them."""
        return any(one.is_held for one in self.outcomes)


def minutes(outcome: Outcome) -> str:
    """The minutes a day, in words: "9 min", below two "0.8 min"."""
    middle = outcome.minutes.middle
    return f"{middle:.0f} min" if middle >= 2 else f"{middle:.1f} min"
