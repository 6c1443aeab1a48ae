"""The report of an interview and its score sheet, as their pages show them."""
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from urllib.parse import urlsplit

from django.http import QueryDict

from accounts.models import User
from calculators.labs import LABS
from calculators.pictures import Drawing
from flashcards.hits import words_of
from flashcards.models import Card
from flashcards.study_day import study_day
from mocks import pictures, report
from mocks.access import Presence, releasers_of
from mocks.models import Interview
from mocks.report import LabRow, PointRow, QuestionRow, Reader, Report, Spread, TeamScores
from mocks.room import LEVELS, MOST_SCORE, PARTS, VERDICTS, Call, Phase, Role, Room
from questions.access import published

MOST_COMPARED = 200  # of a team's interviews, the latest
LAB_ADDRESS = re.compile(r"/labs/(?P<slug>[a-z0-9-]+)/?(\?.*)?", re.DOTALL)
PART_WORDS = {"scores": "Scores", "answers": "Staff answers", "comments": "Comments and evidence"}


def reader_of(presence: Presence) -> Reader:
    """Who reads, as the report knows them."""
    return Reader(presence.who, rates=presence.leads, alone=presence.is_alone, is_candidate=presence.is_candidate)


def names_in(row: Interview, state: Room) -> dict[str, str]:
    """The names of all who took a part or did something that a report tells of, by their number."""
    who = {*state.submitted, *state.marks, *state.calls, *(one.by for one in state.remarks)}
    who |= {lab.by for item in state.items for lab in item.labs}
    who |= {str(pk) for pk in row.seats.values_list("user", flat=True)}
    return {str(user.pk): user.name for user in User.objects.filter(pk__in=who)}


def interviewers_of(row: Interview) -> list[str]:
    """Who takes the interviewer's part, by their number."""
    return [str(pk) for pk in row.seats.filter(role=Role.INTERVIEWER).values_list("user", flat=True)]


def team_scores_for(row: Interview) -> TeamScores | None:
    """What the same team's ended interviews came to that asked any of the same; None for one of nobody's team."""
    if row.team_id is None:
        return None
    ended = Interview.objects.filter(team=row.team_id, phase=Phase.OVER)
    slugs = {posed["slug"] for posed in row.asked}
    plans = ended.order_by("-pk").values_list("pk", "plan")
    same = [pk for pk, plan in plans if slugs & {item["slug"] for item in plan}][:MOST_COMPARED]
    states = ended.filter(pk__in=same).values_list("state", flat=True)
    return report.team_scores(Room.from_json(state) for state in states)


def report_of(presence: Presence, *, with_team: bool = True) -> Report:
    """The report as this person may see it."""
    row = presence.interview
    state = row.folded()
    return report.of(
        state, row.asked, reader_of(presence), names_in(row, state), interviewers=interviewers_of(row),
        team=team_scores_for(row) if with_team else None)


@dataclass(frozen=True, slots=True)
class ToDrill:
    """A question with missed points, and how it stands in the candidate's drill, where its reader is that."""

    title: str
    slug: str
    findings: tuple[report.Finding, ...]
    stands: str  # "" where the bank no longer has it
    is_taken: bool


class CallChoices:
    """What an overall call is chosen from."""

    verdicts, levels = VERDICTS, LEVELS


class ReportPage(CallChoices):
    """The report's page for one reader."""

    def __init__(self, presence: Presence, now: datetime, sent: Mapping[str, str] | None = None) -> None:
        self.presence, self.now = presence, now
        self.interview = presence.interview
        self.state = self.interview.folded()
        self.report = report_of(presence)
        self.in_print = "print" in (sent or {})
        named = (sent or {}).get("open", "")
        self.just_settled = {int(named)} if named.isascii() and named.isdecimal() and len(named) < 4 else set()
        self.call_is_set = "called" in (sent or {})  # just now, on this page
        self.typed_call = self.state.agreed_call
        self.faults: dict[str, str] = {}

    @property
    def candidate(self) -> str:
        return self.interview.candidate.name

    @property
    def is_own(self) -> bool:
        """Whether its reader is who was interviewed."""
        return self.presence.is_candidate

    @property
    def held_at(self) -> datetime:
        """When it began, on the reader's clock."""
        return self.presence.user.profile.local(self.interview.started_at)

    @property
    def may_agree(self) -> bool:
        return self.presence.leads and self.presence.who in self.state.submitted and not self.in_print

    @property
    def shows_standing(self) -> bool:
        """Whether the score that stands has a column of its own."""
        told = self.report
        return told.reads_scores and not told.is_blind and (len(told.raters) != 1 or self.may_agree)

    @property
    def to_settle(self) -> int:
        """How many points the interviewers gave different scores and agreed on none."""
        return sum(point.differs and not point.is_agreed for row in self.report.questions for point in row.points)

    @property
    def choices(self) -> tuple[int, ...]:
        return tuple(range(MOST_SCORE + 1))

    @property
    def agreed_call(self) -> Call:
        return self.state.agreed_call

    @property
    def releases(self) -> bool:
        return self.presence.releases and not self.in_print

    @property
    def releasers(self) -> str:
        """Who can release it, in words."""
        return " or ".join(one.name for one in releasers_of(self.interview))

    @property
    def parts(self) -> list[tuple[str, str, bool]]:
        """What can be released: its name, its words, and whether it is."""
        return [(part, PART_WORDS[part], part in self.state.released) for part in PARTS]

    @property
    def released_words(self) -> list[str]:
        return [PART_WORDS[part].lower() for part in self.state.released]

    @property
    def left_closed(self) -> bool:
        return set(self.state.released) != set(PARTS)

    @cached_property
    def asked(self) -> list[QuestionRow]:
        return [question for question in self.report.questions if question.was_asked]

    @property
    def not_asked(self) -> list[QuestionRow]:
        return [question for question in self.report.questions if not question.was_asked]

    @cached_property
    def rows(self) -> list[tuple[QuestionRow, Drawing | None]]:
        """The questions asked, each with its team's picture where one is shown."""
        return [(row, self.picture(row.spread, row.share, 1)) for row in self.asked]

    @cached_property
    def criteria(self) -> list[tuple[QuestionRow, list[tuple[PointRow, Drawing | None]]]]:
        """The questions with their points, those that differ most first opened."""
        return [
            (row, [(point, self.picture(point.spread, point.score, MOST_SCORE)) for point in row.points])
            for row in self.asked if row.points
        ]

    def picture(self, spread: Spread | None, own: float | None, high: float) -> Drawing | None:
        if spread is None or not spread.values:
            return None
        return pictures.rings(spread.values, own, high=high, who=self.candidate)

    @property
    def has_team(self) -> bool:
        """Whether anything is said of the team's other interviews."""
        return any(row.spread for row in self.asked)

    @property
    def has_spread(self) -> bool:
        """Whether any picture of the team is shown."""
        return any(drawing for _, drawing in self.rows) or any(
            drawing for _, points in self.criteria for _, drawing in points)

    @property
    def team_interviews(self) -> int | None:
        """How many interviews each picture is of, where all are of as many."""
        counts = {row.spread.interviews for row in self.asked if row.spread and row.spread.values}
        return counts.pop() if len(counts) == 1 else None

    @cached_property
    def opened(self) -> set[int]:
        """The numbers of the questions whose points stand open: those with something to settle and the one that was
        just settled; else the one with most to see. On paper all."""
        rows = [row for row in self.asked if row.points and not self.report.is_blind]
        if self.in_print:
            return {row.number for row in rows}
        named = {row.number for row in rows if row.number in self.just_settled or (self.may_agree and any(
            point.differs and not point.is_agreed for point in row.points))}
        if named or not rows:
            return named
        return {max(rows, key=lambda row: (
            row.differing_points, sum(point.is_missed for point in row.points), -row.number)).number}

    @cached_property
    def to_drill(self) -> list[ToDrill]:
        """The questions with missed points."""
        slugs = self.report.missed_slugs
        stands = drill_words(self.presence.user, slugs, self.now) if self.is_own else {}
        return [
            ToDrill(gaps[0].title, slug, gaps, stands.get(slug, ""), slug in self.state.drilled)
            for slug in slugs if (gaps := tuple(gap for gap in self.report.gaps if gap.slug == slug))
        ]

    @property
    def left_to_take(self) -> list[str]:
        return [one.slug for one in self.to_drill if one.stands and not one.is_taken]

    @property
    def has_lost_some(self) -> bool:
        """Whether some of these questions are no longer in the bank."""
        return self.is_own and not all(one.stands for one in self.to_drill)

    @cached_property
    def labs(self) -> list[tuple[LabRow, str, str]]:
        """The lab states used, each with its address, empty where it leads to no lab, and its words."""
        return [(row, *lab_link(row.address)) for row in self.report.labs]


def drill_words(user: User, slugs: Collection[str], now: datetime) -> dict[str, str]:
    """How each of these questions stands in this person's drill: "due today", "in 4 d", "new"; none for one that is
    drilled no longer."""
    today = study_day(now, user.profile.zone, user.profile.day_start)
    cards = {card.question_id: card for card in Card.objects.filter(user=user, question__slug__in=slugs)}
    found = {}
    for question in published().filter(slug__in=slugs):
        card = cards.get(question.pk)
        found[question.slug] = "due today" if card and card.asked else words_of(card, today, now) or "new"
    return found


def lab_link(address: str) -> tuple[str, str]:
    """Where a kept lab state leads, and its words: the lab and the step. Empty for what is no lab's address."""
    match = LAB_ADDRESS.fullmatch(address)
    lab = LABS.get(match["slug"]) if match else None
    if lab is None:
        return "", address[:80]
    values = QueryDict(urlsplit(address).query, mutable=True)
    values.pop("ask", None)
    step = values.get("step", "")
    words = f"{lab.title}, step {step}" if step.isdecimal() else lab.title
    return f"/labs/{lab.slug}" + (f"?{values.urlencode()}" if values else ""), words
