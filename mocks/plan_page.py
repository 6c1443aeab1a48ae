"""A plan while it is made: its state is the page's address, so a reload, Back and a second tab keep all of it."""
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from secrets import randbelow
from typing import Any

from django.conf import settings
from django.http import QueryDict
from django.utils.crypto import salted_hmac

from accounts.models import User
from calculators.models.base import Refusal
from calculators.pictures import Drawing
from flashcards.quiz_page import in_words
from flashcards.study_day import study_day
from flashcards.templatetags.flashcards_tags import number_word
from mocks import plan
from mocks.access import owner_apart, releasers_of
from mocks.known import bank, known_to_team
from mocks.models import Interview, Team, Template
from mocks.plan import Known, Pick, Spec
from mocks.plan_forms import USUAL_MINUTES, PlanForm, SpecForm
from mocks.plan_pictures import plan_bar
from mocks.room import Role
from questions.models import Question, Topic

MOST_PASSED = 40  # questions turned down that an address remembers
MOST_TYPED = 40  # characters of a field
WIDE, NARROW = 1068, 336
SPEC = ("topic", "kind", "level")
MANY = (*SPEC, "interviewer", "observer", "pick", "for", "pin")
PEOPLE = ("candidate", "interviewer", "observer", "day", "at")
ONE = ("candidate", "minutes", "day", "at", "seed", "of", "was", "passed", "seal")


@dataclass(frozen=True, slots=True)
class Row:
    """A question of the plan, as the page shows it."""

    pick: Pick
    question: Question
    why: str
    typed: str  # its minutes as they were typed
    fault: str = ""


@dataclass(frozen=True, slots=True)
class PartChoice:
    """Who takes a part beside the candidate's: (number, name, chosen) of each who can."""

    name: str
    legend: str
    people: list[tuple[str, str, bool]]
    fault: str


@dataclass(frozen=True, slots=True)
class TopicChoice:
    slug: str
    chosen: bool
    fresh: int  # questions not yet asked
    total: int


class Desk:
    """What a team's plan and one's own have in common. `sent` is the address, or a form that was sent."""

    after, usual_minutes = 0, USUAL_MINUTES
    form: SpecForm

    def __init__(self, sent: QueryDict) -> None:
        self.sent = sent
        self.questions = bank()
        self.passed = [slug for slug in sent.get("passed", "").split(",") if slug][-MOST_PASSED:]
        text = sent.get("seed", "")
        self.seed = int(text) if text.isascii() and text.isdecimal() and len(text) < 11 else 0
        self.faults: dict[str, str] = {}  # {slug: what is wrong with its minutes}
        self.gone: list[str] = []  # questions of the plan that are no longer in the bank
        self.picks = self.read_picks()

    def read_picks(self) -> list[Pick]:
        """The plan as it was sent, each question once; minutes that can't be read leave the question's own."""
        usual = {one.slug: one.minutes for one in self.known}
        pinned, minutes = set(self.sent.getlist("pin")), self.sent.getlist("for")
        picks: dict[str, Pick] = {}
        for at, slug in enumerate(self.sent.getlist("pick")[:plan.MOST_PICKS]):
            if slug not in usual:
                self.gone.append(slug[:MOST_TYPED])
            if slug not in usual or slug in picks:
                continue
            text = minutes[at].strip() if at < len(minutes) else str(usual[slug])
            good = text.isascii() and text.isdecimal() and len(text) < 4 and 1 <= int(text) <= plan.MOST_EACH
            if not good:
                self.faults[slug] = f"1 to {plan.MOST_EACH}"
            picks[slug] = Pick(slug, int(text) if good else usual[slug], slug in pinned)
        return list(picks.values())

    @cached_property
    def known(self) -> list[Known]:
        """The questions with what is known of each."""
        raise NotImplementedError

    @property
    def minutes(self) -> int:
        """The interview's, or what is usual while they can't be read."""
        return self.form.cleaned_data.get("minutes") or self.usual_minutes

    @property
    def spec(self) -> Spec:
        return Spec(self.minutes, *(tuple(self.form.cleaned_data.get(name) or ()) for name in SPEC), after=self.after)

    @property
    def spec_digest(self) -> str:
        """What the plan is proposed from beside its minutes, in short: a plan of another is proposed anew."""
        spec = self.spec
        told = f"{spec.topics} {spec.kinds} {spec.levels} {self.form.cleaned_data.get('candidate', '')}"
        return sha256(told.encode()).hexdigest()[:8]

    # What can be done

    def propose(self) -> None:
        self.picks = plan.propose(self.known, self.spec, now=self.picks, passed=self.passed, seed=self.seed)
        self.sent = changed(self.sent, of=self.spec_digest, was=str(self.minutes))

    def follow(self) -> None:
        """Propose anew when topics, kinds, levels or candidate have changed; with other minutes drop or add what it
        takes; else nothing."""
        if self.of != self.spec_digest:
            self.propose()
        elif self.was != str(self.minutes):
            self.picks = plan.refit(self.known, self.spec, now=self.picks, passed=self.passed, seed=self.seed)
            self.sent = changed(self.sent, was=str(self.minutes))

    @property
    def of(self) -> str:
        return self.sent.get("of") or self.spec_digest

    @property
    def was(self) -> str:
        return self.sent.get("was") or str(self.minutes)

    def propose_others(self) -> None:
        self.turn_down(*(pick.slug for pick in self.picks if not pick.pinned))
        self.propose()

    def turn_down(self, *slugs: str) -> None:
        self.passed = ([slug for slug in self.passed if slug not in slugs] + list(slugs))[-MOST_PASSED:]

    # What is shown

    @property
    def drawings(self) -> tuple[Drawing, Drawing]:
        """The bar, for a wide page and for a phone."""
        brief, debrief = plan.set_aside(self.minutes)
        minutes = [pick.minutes for pick in self.picks]
        wide, narrow = (
            plan_bar(minutes, brief, debrief, self.minutes, width=width, after=self.after) for width in (WIDE, NARROW))
        return wide, narrow

    @property
    def left(self) -> int:
        return plan.left(self.picks, self.spec)

    @property
    def title(self) -> str:
        """"Four questions, 44 of 45 minutes"."""
        if not self.picks:
            return f"No question yet for {self.minutes} minutes"
        count = len(self.picks)
        words = "One question" if count == 1 else f"{number_word(count).capitalize()} questions"
        return f"{words}, {self.minutes - self.left} of {self.minutes} minutes"

    @property
    def spare_words(self) -> str:
        if self.left < 0:
            return f"It is {-self.left} over."
        return "None is spare" if not self.left else f"{number_word(self.left).capitalize()} " + (
            "is spare" if self.left == 1 else "are spare")

    @property
    def fits_some(self) -> bool:
        """Whether there is anything to propose."""
        return bool(plan.propose(self.known, self.spec, passed=self.passed, seed=self.seed))

    @property
    def missing(self) -> str:
        """The chosen topics that nothing is asked of: "kernels and sizing"."""
        return in_words(plan.uncovered(self.picks, self.known, self.spec))

    @property
    def rows(self) -> list[Row]:
        found, known = {one.slug: one for one in self.questions}, {one.slug: one for one in self.known}
        typed = dict(zip(self.sent.getlist("pick"), self.sent.getlist("for"), strict=False))
        return [
            Row(pick, found.get(pick.slug), plan.why(known[pick.slug], self.picks, self.known, self.spec),
                typed[pick.slug][:MOST_TYPED] if pick.slug in self.faults else str(pick.minutes),
                self.faults.get(pick.slug, ""))
            for pick in self.picks
        ]

    @property
    def topics(self) -> list[TopicChoice]:
        """Each topic, and how many of its questions were not asked yet."""
        chosen = self.form.cleaned_data.get("topic") or []
        total = Counter(one.topic for one in self.known)
        fresh = Counter(one.topic for one in self.known if not one.asked)
        return [TopicChoice(slug, slug in chosen, fresh[slug], total[slug]) for slug in topic_slugs()]

    @property
    def levels(self) -> list[tuple[str, bool]]:
        return self.ticks("level")

    @property
    def kinds(self) -> list[tuple[str, bool]]:
        return self.ticks("kind")

    def ticks(self, name: str) -> list[tuple[str, bool]]:
        chosen = self.form.cleaned_data.get(name) or []
        return [(value, value in chosen) for value, _ in self.form.fields[name].choices]

    @property
    def hidden(self) -> list[tuple[str, str]]:
        """What the form carries unseen."""
        kept = self.state()
        return [(name, kept[name]) for name in ("seed", "of", "was", "passed", "seal") if name in kept]

    @property
    def all_faults(self) -> str:
        """Everything that is wrong with the form, as sentences."""
        return " ".join(str(told) for faults in self.form.errors.values() for told in faults)

    def state(self, **more: str) -> QueryDict:
        """All of the plan as its address keeps it; a field as it was typed, readable or not."""
        kept = QueryDict(mutable=True)
        for name in ONE:
            if value := self.sent.get(name, "")[:MOST_TYPED]:
                kept[name] = value
        for name in (*SPEC, "interviewer", "observer"):
            if values := self.sent.getlist(name)[:200]:
                kept.setlist(name, [value[:MOST_TYPED] for value in values])
        kept["seed"], kept["of"], kept["was"] = str(self.seed), self.of, self.was
        kept.pop("passed", None)
        if self.passed:
            kept["passed"] = ",".join(self.passed)
        rows = self.rows
        kept.setlist("pick", [row.pick.slug for row in rows])
        kept.setlist("for", [row.typed for row in rows])
        kept.setlist("pin", [row.pick.slug for row in rows if row.pick.pinned])
        for name, value in more.items():
            kept[name] = value
        return kept

    @property
    def query(self) -> str:
        return self.state().urlencode(safe=",:")

    def plan_json(self) -> list[dict[str, Any]]:
        """The plan as an interview keeps it."""
        return [
            {"slug": row.pick.slug, "minutes": row.pick.minutes, "pinned": row.pick.pinned, "why": row.why}
            for row in self.rows
        ]

    def spec_json(self) -> dict[str, Any]:
        """What it was proposed from, as an interview or a template keeps it."""
        spec = self.spec
        return {
            "topics": list(spec.topics), "kinds": list(spec.kinds), "levels": list(spec.levels), "seed": self.seed}


class PlanDesk(Desk):
    """A team's interview as it is planned, or as it stands and is changed when there is a `row` of it."""

    def __init__(
        self, team: Team, planner: User, now: datetime, sent: QueryDict, row: Interview | None = None,
    ) -> None:
        self.team, self.planner, self.now, self.row = team, planner, now, row
        self.members = list(team.memberships.select_related("user__profile").order_by("user__first_name", "user"))
        if row is not None:
            sent = changed(sent, candidate=str(row.candidate_id))
        self.form = PlanForm(
            topic_slugs(), self.members, planner, now, sent, candidate=row.candidate if row else None)
        self.form.is_valid()
        super().__init__(sent)

    @property
    def candidate(self) -> User | None:
        return self.row.candidate if self.row else self.form.candidate_user

    @cached_property
    def known(self) -> list[Known]:
        profile = (self.candidate or self.planner).profile
        today = study_day(self.now, profile.zone, profile.day_start)
        return known_to_team(self.questions, self.team, self.candidate, today, self.row.code if self.row else "")

    @property
    def parts(self) -> list[PartChoice]:
        taken = str(self.candidate.pk) if self.candidate else ""
        told = []
        for name, legend in (("interviewer", "Interviewers"), ("observer", "Observers")):
            chosen = self.sent.getlist(name)
            people = [
                (key, "you" if key == str(self.planner.pk) else label, key in chosen)
                for key, label in self.form.fields[name].choices if key != taken or key in chosen]
            told.append(PartChoice(name, legend, people, " ".join(self.form.errors.get(name, ()))))
        return told

    @property
    def fresh_words(self) -> str:
        return f"not yet asked of {self.candidate.name}" if self.candidate else "not yet asked"

    @property
    def typed_day(self) -> str:
        return self.sent.get("day", "")[:MOST_TYPED]

    @property
    def typed_at(self) -> str:
        return self.sent.get("at", "")[:MOST_TYPED]

    @property
    def people_query(self) -> str:
        """Who and when, for a template that is used: it says the rest."""
        kept = self.state()
        for name in [*kept]:
            if name not in PEOPLE:
                del kept[name]
        return kept.urlencode()

    @property
    def shares_drill(self) -> bool:
        return any(one.user == self.candidate and one.shares_drill for one in self.members)

    @property
    def templates(self) -> list[Template]:
        return list(self.team.templates.all())

    @property
    def others(self) -> Iterator[tuple[str, list[Question]]]:
        """By topic, the questions that are not in, to add by hand."""
        there = {pick.slug for pick in self.picks}
        for slug in topic_slugs():
            if found := [one for one in self.questions if one.topic.slug == slug and one.slug not in there]:
                yield slug, found

    @property
    def code(self) -> str:
        """What an interview of this plan is known by: sent again as it was, the form makes no second one."""
        kept = self.state()
        kept.pop("tried", None)
        return salted_hmac("mocks.plan", f"{self.planner.pk} {kept.urlencode()}", algorithm="sha256").hexdigest()[:22]

    def act(self, act: str) -> str:
        """Do what a button of the page says; what comes back tells why it could not be, or is empty."""
        verb, _, text = act.partition(":")
        at = int(text) if text.isascii() and text.isdecimal() and len(text) < 3 else -1
        try:
            if verb == "others":
                self.propose_others()
            elif verb == "propose" and not self.picks:
                self.propose()
            elif verb in ("", "propose"):
                self.follow()
            elif verb == "add":
                self.add(self.sent.get("add", ""))
            elif 0 <= at < len(self.picks):
                self.change(verb, at)
        except Refusal as refusal:
            return str(refusal)
        return ""

    def add(self, slug: str) -> None:
        if (found := next((one for one in self.known if one.slug == slug), None)) is None:
            raise Refusal("Choose a question to add first.")
        self.picks = plan.add(self.picks, found)

    def change(self, verb: str, at: int) -> None:
        """Something done to the question at a place."""
        if verb == "swap":
            old = self.picks[at].slug
            self.picks = plan.swap(self.picks, at, self.known, self.spec, passed=self.passed, seed=self.seed)
            self.turn_down(old)
        elif verb in ("pin", "unpin"):
            self.picks = plan.pin(self.picks, at, verb == "pin")
        elif verb in ("up", "down"):
            self.picks = plan.move(self.picks, at, -1 if verb == "up" else 1)
        elif verb == "out":
            self.turn_down(self.picks[at].slug)
            self.picks = plan.without(self.picks, at)

    def can_be_saved(self) -> bool:
        """Whether it can; the form and the rows say what is missing."""
        return self.form.check_to_save() and not self.faults and bool(self.picks)


def topic_slugs() -> list[str]:
    """The bank's topics in its order."""
    return list(Topic.objects.values_list("slug", flat=True))


def changed(sent: QueryDict, **values: Any) -> QueryDict:
    """The same with some values in place of others; a list is several of one name."""
    made = sent.copy()
    for name, value in values.items():
        if isinstance(value, list):
            made.setlist(name, value)
        else:
            made[name] = value
    return made


def fresh(planner: User, given: QueryDict, template: Template | None = None) -> QueryDict:
    """What a plan begins with: what is usual, then what a template or an address says."""
    start = changed(
        QueryDict(mutable=True), minutes=str(USUAL_MINUTES), interviewer=[str(planner.pk)],
        seed=str(randbelow(2**31)))
    for name in (*MANY, *ONE):
        if name in given:
            start.setlist(name, given.getlist(name))
    return with_template(start, template.spec) if template else start


def with_template(start: QueryDict, spec: Mapping[str, Any]) -> QueryDict:
    pinned = spec.get("pinned", [])
    return changed(
        start, minutes=str(spec.get("minutes", USUAL_MINUTES)), topic=spec.get("topics", []),
        kind=spec.get("kinds", []), level=spec.get("levels", []), pick=[one["slug"] for one in pinned],
        pin=[one["slug"] for one in pinned], **{"for": [str(one["minutes"]) for one in pinned]})


def template_spec(desk: PlanDesk) -> dict[str, Any]:
    """A plan as a template keeps it: what it is made from, and its pinned questions."""
    pinned = [{"slug": pick.slug, "minutes": pick.minutes} for pick in desk.picks if pick.pinned]
    return desk.spec_json() | {"minutes": desk.minutes, "pinned": pinned}


def standing(row: Interview, planner: User, seal: str) -> QueryDict:
    """A planned interview as its page's address would have it."""
    seats = {role: [str(one.user_id) for one in row.seats.all() if one.role == role] for role in Role}
    at = planner.profile.local(row.scheduled_at) if row.scheduled_at else None
    return changed(
        QueryDict(mutable=True), minutes=str(row.minutes), interviewer=seats[Role.INTERVIEWER],
        observer=seats[Role.OBSERVER], day=f"{at:%Y-%m-%d}" if at else "", at=f"{at:%H:%M}" if at else "",
        topic=row.spec.get("topics", []), kind=row.spec.get("kinds", []), level=row.spec.get("levels", []),
        pick=[one["slug"] for one in row.plan], pin=[one["slug"] for one in row.plan if one.get("pinned")],
        seal=seal, seed=str(row.spec.get("seed", 0)), **{"for": [str(one["minutes"]) for one in row.plan]})


@dataclass(frozen=True, slots=True)
class Invitation:
    """What the candidate is sent: where, when and what is recorded; nothing of what will be asked."""

    address: str
    subject: str
    text: str


def invitation(row: Interview, address: str) -> Invitation:
    """The invitation to an interview, on the candidate's own clock."""
    seats = list(row.seats.select_related("user"))
    asking, watching = (
        in_words([one.user.name for one in seats if one.role == role]) for role in (Role.INTERVIEWER, Role.OBSERVER))
    reading = [one.user for one in seats if one.role == Role.INTERVIEWER]
    apart = owner_apart(row, [one.pk for one in reading])
    readers = in_words([*(one.name for one in reading), *(["the team’s owner"] if apart else [])])
    releasing = " or ".join(one.name for one in releasers_of(row)) or "the team’s owner"
    profile = row.candidate.profile
    when = ""
    if row.scheduled_at:
        local = profile.local(row.scheduled_at)
        when = f", on {local:%A} {local.day} {local:%B %Y} at {local:%H:%M} ({profile.zone})"
    watched = f" {watching} observe{'' if ' and ' in watching else 's'} until it ends." if watching else ""
    verb = "interview" if " and " in asking else "interviews"
    text = (
        f"{asking} {verb} you for practice, {row.minutes} minutes{when}.{watched}\n\n"
        f"The room: {settings.SITE_URL}{address}\n\n"
        "Kept is what you type into the scratchpad, how you set a lab, and when what was shown. "
        f"{readers} may read it. No sound or picture is recorded. While it runs, the bank’s staff "
        f"answers are closed to you; scores and answers you get once {releasing} releases them.\n")
    return Invitation(settings.SITE_URL + address, f"Mock interview, {row.team.name}{when}", text)
