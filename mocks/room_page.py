"""A room's page as its person sees it: a layout for each part, and regions that are sent anew when they change."""
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.http import Http404
from django.urls import reverse

from accounts.models import User
from calculators.labs import LABS
from calculators.models.base import Refusal
from mocks import lab_address, services, sides
from mocks.access import Presence, owner_apart
from mocks.alone import AloneSide, alone_side
from mocks.glance import Glance, glance_at
from mocks.models import Interview, in_ms
from mocks.report import in_words
from mocks.room import Phase, Role, Room
from mocks.sides import CandidateSide, InterviewerSide, ObserverSide, Person, digest_of
from questions.models import Question

Made = Callable[[Any], object]
NEXT_WORDS = {
    Phase.FOLLOW_UPS: "follow-ups", Phase.SCORE: "score", Phase.DEBRIEF: "debrief",
}


@dataclass(frozen=True, slots=True)
class Region:
    """A part of the page that is swapped as a whole. `seen` names what it was made from; `patch` what it is about:
    while that stays, what its person types there stays too, and only the other values are brought up to date."""

    name: str
    template: str
    seen: str
    patch: str = ""
    live: bool = False  # read out when it changes


@dataclass(frozen=True, slots=True)
class Plan:
    """How a region is made: its template, and of the side what it is made from, and what it is about."""

    template: str
    of: Made
    about: Callable[[Any], str] = lambda side: ""
    live: bool = False


def about_scratch(side: CandidateSide) -> str:
    return f"{side.scratch.position}:{side.scratch.open}" if side.scratch else ""


def about_score(side: InterviewerSide | AloneSide) -> str:
    return f"{side.looked}:{side.submitted}" if side.points else ""


CANDIDATE: Mapping[str, Plan] = {
    "strip": Plan("mocks/room/_strip.html", lambda side: (side.place, side.whole)),
    "who": Plan("mocks/room/_who.html", lambda side: (side.people, side.place, side.question)),
    "ask": Plan("mocks/room/_ask.html", lambda side: (side.place, side.ask), live=True),
    "shown": Plan("mocks/room/_shown.html", lambda side: side.shown, live=True),
    "lab": Plan("mocks/room/_lab_place.html", lambda side: side.lab),
    "scratch": Plan("mocks/room/_scratch.html", lambda side: side.scratch, about_scratch),
}
OBSERVER: Mapping[str, Plan] = {
    name: Plan(plan.template, lambda side, of=plan.of: of(side.seen), live=plan.live)
    for name, plan in CANDIDATE.items() if name not in ("lab", "scratch")
} | {
    "lab": Plan("mocks/room/_lab_seen.html", lambda side: side.seen.lab),
    "scratch": Plan("mocks/room/_scratch_seen.html", lambda side: side.seen.scratch),
    "notes": Plan("mocks/room/_notes.html", lambda side: side.notes),
}
INTERVIEWER: Mapping[str, Plan] = {
    "strip": Plan("mocks/room/_clock_strip.html", lambda side: (side.seen.place, side.seen.question, side.seen.whole)),
    "who": Plan("mocks/room/_led.html", lambda side: (side.seen.people, side.seen.place, side.seen.question,
                                                 side.seen.whole)),
    "acts": Plan("mocks/room/_acts.html", lambda side: (side.stamp, side.seen.place, side.rows, side.looked,
                                                   len(side.follow_ups))),
    "sees": Plan("mocks/room/_sees.html", lambda side: (side.seen.place, side.looked, side.looked_back, side.ask)),
    "answer": Plan("mocks/room/_answer.html", lambda side: (side.looked, side.staff)),
    "score": Plan("mocks/room/_score.html", lambda side: (side.looked, side.points, side.submitted), about_score),
    "hints": Plan("mocks/room/_hints.html", lambda side: (side.looked, side.hints, side.seen.place.asking)),
    "follow_ups": Plan("mocks/room/_follow_ups.html", lambda side: (side.looked, side.follow_ups,
                                                                    side.seen.place.asking)),
    "traps": Plan("mocks/room/_traps.html", lambda side: (side.looked, side.traps)),
    "lab": Plan("mocks/room/_lab_led.html", lambda side: (side.looked, side.lab_uses, side.seen.lab, side.own_lab,
                                                     side.seen.place.asking)),
    "scratch": Plan("mocks/room/_scratch_seen.html", lambda side: side.scratch),
    "notes": Plan("mocks/room/_notes.html", lambda side: side.notes),
}
ALONE: Mapping[str, Plan] = {
    name: Plan(plan.template, lambda side, of=plan.of: of(side.seen), plan.about, plan.live)
    for name, plan in CANDIDATE.items() if name not in ("ask", "scratch")
} | {
    "ask": Plan("mocks/room/_alone_ask.html", lambda side: (side.seen.place, side.seen.ask, side.time_was_up),
                live=True),
    "acts": Plan("mocks/room/_alone_acts.html", lambda side: (side.stamp, side.seen.place, side.next_hint,
                                                              side.own_lab, side.seen.lab is None, side.coming)),
    "scratch": Plan("mocks/room/_scratch.html", lambda side: side.seen.scratch, lambda side: about_scratch(side.seen)),
    "staff": Plan("mocks/room/_alone_staff.html", lambda side: (side.looked, side.staff)),
    "score": Plan("mocks/room/_alone_score.html", lambda side: (side.looked, side.points), about_score),
    "further": Plan("mocks/room/_alone_further.html", lambda side: (side.looked, side.traps, side.follow_ups)),
    "onward": Plan("mocks/room/_alone_onward.html", lambda side: (side.stamp, side.seen.place, side.coming,
                                                                  side.unscored)),
}
PLANS = {
    Role.CANDIDATE.value: CANDIDATE, Role.OBSERVER.value: OBSERVER, Role.INTERVIEWER.value: INTERVIEWER, "alone": ALONE,
}


class RoomPage:
    """What a room's page shows to one person now. The templates take the room from `side` alone."""

    def __init__(
        self, presence: Presence, now: datetime, *, look: int | None = None, failed: Mapping[str, str] | None = None,
        glance: Glance | None = None,
    ) -> None:
        self.presence, self.now, self.look = presence, now, look
        self.known = glance
        self.failed = failed or {}  # an act that was refused: its kind, why, and what was typed
        self.state: Room = services.look(presence.interview, now)
        self.part = "alone" if presence.is_alone else sides.part_of(presence.role)

    @property
    def interview(self) -> Interview:
        return self.presence.interview

    @property
    def now_ms(self) -> int:
        return in_ms(self.now)

    @property
    def address(self) -> str:
        return reverse("mocks:room", args=[self.interview.code])

    @property
    def layout(self) -> str:
        return f"mocks/room/_{self.part}.html"

    @property
    def is_led(self) -> bool:
        return self.part == Role.INTERVIEWER

    @property
    def readers(self) -> str:
        """Who may read what is kept, in words: its interviewers, and the team's owner where that is none of them."""
        names = [one.name for one in self.interviewers] or ["the interviewers"]
        apart = owner_apart(self.interview, [int(one.who) for one in self.interviewers])
        return in_words([*names, "the team’s owner"] if apart else names)

    @property
    def takes_notes(self) -> bool:
        """Whether this person may write notes: an owner without a part may not."""
        return self.presence.role in (Role.INTERVIEWER, Role.OBSERVER)

    @cached_property
    def glance(self) -> Glance:
        """How the room stands, as the next question for news names it."""
        found = self.known or glance_at(self.presence.user, self.interview.code, self.now)
        if found is None:
            raise Http404("no such interview")  # their part ended a moment ago
        return found

    @property
    def length(self) -> int:
        """How many events this page shows of those that it may know of: those of its state, so that none that comes
        meanwhile is passed over."""
        knows_all = self.is_led or self.presence.is_alone
        return self.state.length if knows_all else self.state.open_length

    @property
    def is_over(self) -> bool:
        return self.state.is_over or self.state.is_called_off

    @cached_property
    def people(self) -> tuple[Person, ...]:
        """Who takes a part as things stand, the candidate last."""
        here = self.glance.here.split("-")
        people = [Person(str(one.user), one.name, one.role, str(one.user) in here) for one in self.glance.seated]
        return tuple(sorted(people, key=lambda one: one.role == Role.CANDIDATE))

    @cached_property
    def side(self) -> CandidateSide | ObserverSide | InterviewerSide | AloneSide:
        """All of the room that the templates get."""
        asked, who = self.interview.asked, self.presence.who
        if self.presence.is_alone:
            return alone_side(self.state, asked, self.people, who)
        if self.part == Role.INTERVIEWER:
            return sides.interviewer_side(self.state, asked, self.people, who, self.look)
        if self.part == Role.OBSERVER:
            return sides.observer_side(self.state, asked, self.people, who)
        return sides.candidate_side(self.state, asked, self.people)

    @property
    def seen(self) -> CandidateSide:
        """What the candidate sees, which is on every side."""
        return self.side if isinstance(self.side, CandidateSide) else self.side.seen

    @cached_property
    def regions(self) -> dict[str, Region]:
        return {
            name: Region(name, plan.template, digest_of(plan.of(self.side)), plan.about(self.side), plan.live)
            for name, plan in PLANS[self.part].items()
        }

    def changed(self, seen: str) -> list[Region]:
        """The regions that the page has not as they are now; it names what it has as "name:seen,name:seen"."""
        there = dict(pair.split(":", 1) for pair in seen.split(",") if ":" in pair)
        return [region for name, region in self.regions.items() if there.get(name) != region.seen]

    @property
    def unkept(self) -> Mapping[str, str]:
        """What was typed into a scratchpad that is closed by now; empty otherwise."""
        scratch = getattr(self.seen, "scratch", None)
        has_field = scratch is not None and scratch.open and self.failed.get("position") == str(scratch.position)
        return self.failed if self.failed.get("kind") == "scratch" and not has_field else {}

    @property
    def fault_has_place(self) -> bool:
        """Whether the page has a place beside the field for what was refused; the rest is told above it alone."""
        phase = self.state.phase
        places = {
            "note": self.takes_notes, "start": self.is_led and phase == Phase.LOBBY,
            "push_lab": self.is_led and phase in sides.ASKING and not self.side.looked_back,
        }
        return places.get(self.failed.get("kind", ""), False)

    @property
    def candidate(self) -> User:
        return self.interview.candidate

    @property
    def others(self) -> list[Person]:
        return [one for one in self.people if one.role != Role.CANDIDATE]

    @property
    def interviewers(self) -> list[Person]:
        return [one for one in self.people if one.role == Role.INTERVIEWER]

    @property
    def observers(self) -> list[Person]:
        return [one for one in self.people if one.role == Role.OBSERVER]

    @property
    def planned(self) -> list[tuple[str, float]]:
        """The plan before it is begun, for who may see it: titles and minutes."""
        titles = dict(Question.objects.filter(slug__in=[one["slug"] for one in self.interview.plan])
                      .values_list("slug", "title"))
        return [(titles.get(one["slug"], one["slug"]), one["minutes"]) for one in self.interview.plan]

    @property
    def next_act(self) -> tuple[str, str, dict[str, Any]] | None:
        """The one next act for who leads: its kind, its words, and its form's fields."""
        side, phase = self.side, self.state.phase
        if phase == Phase.BRIEF or phase == Phase.SCORE:
            if side.next_position is not None:
                return "ask", f"question {side.next_position + 1}", {"position": side.next_position}
            return "debrief", "debrief", {}
        if phase == Phase.ANSWER and self.state.item.follow_ups:
            return "phase", "follow-ups", {"to": "follow-ups"}
        if phase in (Phase.ANSWER, Phase.FOLLOW_UPS):
            return "phase", "score", {"to": "score"}
        return None

    @property
    def labs(self) -> list[tuple[str, str]]:
        """Every lab's address and name, to choose from."""
        return [(reverse("calculators:lab_page", args=[slug]), lab.title) for slug, lab in LABS.items()]

    @property
    def lab_now(self) -> "LabWords | None":
        """The lab in front of the candidate, in words."""
        return words_of(self.seen.lab.address) if self.seen.lab else None

    @property
    def lab_uses(self) -> list[tuple[Any, "LabWords"]]:
        """How the labs of the question shown stood, the latest first."""
        return [(use, words_of(use.address)) for use in reversed(self.side.lab_uses)]


@dataclass(frozen=True, slots=True)
class LabWords:
    """A lab's state in words."""

    title: str
    summary: str
    step: int


def words_of(address: str) -> LabWords:
    """A kept lab address in words; the address itself where the lab is there no longer."""
    try:
        found = lab_address.opened(address)
    except Refusal:
        return LabWords(address, "", 0)
    return LabWords(found.lab.title, found.summary, found.step)
