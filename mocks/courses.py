"""How somebody's interviews came out, one after the other: the share of all points in each."""
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from calculators.pictures import Drawing, Path, Scale, Shape, Text, line
from mocks.models import Interview
from mocks.report import standing
from mocks.room import MOST_SCORE, Room

LEAST_DRAWN, MOST_DRAWN = 4, 12  # places in a picture; of more interviews it has the latest


@dataclass(frozen=True, slots=True)
class Result:
    """What a candidate came to in an interview: points of all that were scored."""

    interview: Interview
    points: float
    of: int

    @property
    def share(self) -> float:
        return self.points / self.of


@dataclass(frozen=True, slots=True)
class Course:
    """Somebody's interviews, the earliest first."""

    name: str
    results: Sequence[Result]
    places: int  # the same for all that are seen beside each other

    @property
    def drawing(self) -> Drawing:
        shares = [one.share for one in self.results][-self.places:]
        return drawn(shares, self.places, f"{self.name}: {self.words}.")

    @property
    def words(self) -> str:
        """The first and the latest share: "62% of the points at first, 74% at last"."""
        shares = [f"{one.share:.0%}" for one in self.results]
        return f"{shares[0]} of the points" + (f" at first, {shares[-1]} at last" if len(shares) > 1 else "")


def result_of(interview: Interview, room: Room, scorers: Iterable[str]) -> Result:
    """What an interview came to: each point as agreed, else the mean of what these gave it."""
    who = list(scorers)
    scores = [
        score for position, item in enumerate(room.items) if item.opened for point in item.points
        if (score := standing(room, position, point, who)) is not None
    ]
    return Result(interview, sum(scores), MOST_SCORE * len(scores))


def places_for(courses: Iterable[Collection[Result]]) -> int:
    """How many places the pictures of these have, so that they share one scale."""
    return min(max((LEAST_DRAWN, *map(len, courses))), MOST_DRAWN)


def drawn(shares: Sequence[float], places: int, finding: str) -> Drawing:
    """A dot for each interview at its place, from none of the points at the foot to all at the top, the last in ink."""
    across, up = Scale(0, places - 1, 56, 228), Scale(0, 1, 68, 10)
    shapes: list[Shape] = [line(40, up(level), 244, up(level), "grid" if level else "edge") for level in (1, 0.5, 0)]
    shapes += [Text(32, up(1) + 4, "all", "axis", "end"), Text(32, up(0) + 4, "none", "axis", "end")]
    shapes += [dot(across(at), up(share), "other") for at, share in enumerate(shares[:-1])]
    shapes.append(dot(across(len(shares) - 1), up(shares[-1]), "present"))
    return Drawing(244, 76, finding, tuple(shapes))


def dot(x: float, y: float, css: str, radius: float = 3.5) -> Path:
    return Path(f"M{x - radius:g} {y:g}a{radius} {radius} 0 1 0 {2 * radius:g} 0a{radius} {radius} 0 1 0 "
                f"{-2 * radius:g} 0Z", css)
