"""An interview of one's own before it begins: how long and on what; what will be asked stays unseen until it is."""
from collections import Counter
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from secrets import randbelow

from django.http import QueryDict
from django.utils.crypto import salted_hmac

from accounts.models import User
from flashcards.study_day import study_day
from flashcards.templatetags.flashcards_tags import number_word
from mocks import plan
from mocks.known import known_alone
from mocks.models import Interview
from mocks.plan import Known, Pick
from mocks.plan_forms import USUAL_ALONE, SpecForm
from mocks.plan_page import SPEC, Desk, changed, topic_slugs
from mocks.room import RUNNING
from questions.models import Question

AFTER = 2  # minutes to score an answer oneself


class SoloDesk(Desk):
    """The set that some minutes, topics, kinds and levels give with a seed; its address names no question."""

    after, usual_minutes = AFTER, USUAL_ALONE

    def __init__(self, user: User, now: datetime, sent: QueryDict) -> None:
        self.user, self.now = user, now
        self.form = SpecForm(topic_slugs(), sent)
        self.form.is_valid()
        super().__init__(sent)

    @cached_property
    def known(self) -> list[Known]:
        today = study_day(self.now, self.user.profile.zone, self.user.profile.day_start)
        return known_alone(self.questions, self.user, today)

    def read_picks(self) -> list[Pick]:
        return plan.propose(self.known, self.spec, seed=self.seed)

    def state(self, **more: str) -> QueryDict:
        kept = QueryDict(mutable=True)
        kept["minutes"], kept["seed"] = self.sent.get("minutes", "")[:40], str(self.seed)
        for name in SPEC:
            kept.setlist(name, self.sent.getlist(name)[:200])
        for name, value in more.items():
            kept[name] = value
        return kept

    @property
    def others_query(self) -> str:
        """The same with another seed."""
        return self.state(seed=str((self.seed + 1) % 2**31)).urlencode()

    @property
    def kinds_asked(self) -> list[tuple[Question, int, str]]:
        """Of each question what may be told before it is asked, in the plan's order: the question (for its topic, kind
        and level), its minutes, and why it is there."""
        return [(row.question, row.pick.minutes, row.why) for row in self.rows]

    @property
    def summary(self) -> str:
        """"two on scheduling, one on sizing"."""
        counts = Counter(row.question.topic.slug for row in self.rows)
        return ", ".join(f"{number_word(count)} on {topic}" for topic, count in counts.items())

    @cached_property
    def unfinished(self) -> list[Interview]:
        """Those that were begun and go on, the latest first; another one that begins ends them."""
        return list(Interview.objects.filter(team=None, candidate=self.user, phase__in=RUNNING).order_by("-pk"))

    @property
    def code(self) -> str:
        """What it is known by once it is begun: the form sent twice begins one."""
        slugs = sha256(" ".join(pick.slug for pick in self.picks).encode()).hexdigest()
        told = f"{self.user.pk} {self.seed} {self.minutes} {slugs}"
        return salted_hmac("mocks.solo", told, algorithm="sha256").hexdigest()[:22]


def fresh_alone(given: QueryDict) -> QueryDict:
    """What is usual, where the address does not say."""
    start = changed(QueryDict(mutable=True), minutes=str(USUAL_ALONE), seed=str(randbelow(2**31)))
    for name in ("minutes", *SPEC):
        if name in given:
            start.setlist(name, given.getlist(name))
    return start
