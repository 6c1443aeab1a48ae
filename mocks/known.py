"""What a plan can know of the bank's questions, of a team's interviews and of a candidate."""
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from statistics import mean

from accounts.models import User
from flashcards import memory, queue
from flashcards.models import Card
from mocks.models import Interview, Team
from mocks.plan import Known, asking_minutes
from mocks.room import Phase
from questions.access import published
from questions.models import Question

LEAST_OF_A_TOPIC = 3  # cards begun before a topic's mean recall says anything


def bank() -> list[Question]:
    """The questions that can be asked, with what a plan shows of them."""
    return list(published().only(
        "slug", "title", "topic__slug", "topic__position", "kind", "level", "minutes", "follow_ups", "position"))


def known_to_team(
    questions: Iterable[Question], team: Team, candidate: User | None, today: date, besides: str = "",
) -> list[Known]:
    """The questions as a team's planner knows them: what the candidate was asked in it, how often each was scored, and,
    if the candidate shares it, how their drill has them. The interview `besides` is left out: it is the one planned."""
    scores: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    planned: set[str] = set()
    rows = Interview.objects.filter(team=team).exclude(code=besides).exclude(phase=Phase.CALLED_OFF)
    for candidate_id, phase, plan, state in rows.values_list("candidate", "phase", "plan", "state").iterator():
        theirs = candidate is not None and candidate_id == candidate.pk
        if phase == Phase.LOBBY:
            planned |= {item["slug"] for item in plan} if theirs else set()
            continue
        opened = {item["slug"]: str(at) for at, item in enumerate(state["items"]) if item["opened"]}
        if theirs:
            asked.update(opened.keys())
        scores.update(slug for slug, at in opened.items() if is_scored(state, at))
    shares = candidate is not None and team.memberships.filter(user=candidate, shares_drill=True).exists()
    found = [
        replace(plain(one, place, minutes=asking_minutes(one.minutes, len(one.follow_ups))), asked=asked[one.slug],
                planned=one.slug in planned, scores=scores[one.slug])
        for place, one in enumerate(questions)
    ]
    return with_drill(found, candidate, today) if shares else found


def known_alone(questions: Iterable[Question], user: User, today: date) -> list[Known]:
    """The questions as somebody's own, who practises alone: what they were asked so, and their drill."""
    asked: Counter[str] = Counter()
    rows = Interview.objects.filter(team=None, candidate=user).exclude(phase=Phase.LOBBY)
    for (state,) in rows.values_list("state").iterator():
        asked.update({item["slug"] for item in state["items"] if item["opened"]})
    found = [
        replace(plain(one, place, minutes=one.minutes), asked=asked[one.slug]) for place, one in enumerate(questions)]
    return with_drill(found, user, today)


def plain(question: Question, place: int, minutes: int) -> Known:
    return Known(question.slug, question.topic.slug, question.kind, question.level, minutes, place)


def is_scored(state: dict, at: str) -> bool:
    """Whether some interviewer's scores of the question at a place are in."""
    return at in state["agreed"] or any(at in state["marks"].get(who, {}) for who in state["submitted"])


def with_drill(found: list[Known], user: User, today: date) -> list[Known]:
    """The same with how this person's drill has them on a study day."""
    parameters = queue.parameters(user.profile)
    recalls: dict[str, float] = {}
    lapses: dict[str, int] = {}
    begun = Card.objects.filter(user=user, question__isnull=False, stability__isnull=False)
    for slug, stability, last_day, lapsed in begun.values_list("question__slug", "stability", "last_day", "lapses"):
        since = max((today - last_day).days, 0)
        recalls[slug], lapses[slug] = float(memory.recall_after(since, stability, parameters)), lapsed
    topics: dict[str, list[float]] = defaultdict(list)
    for one in found:
        if one.slug in recalls:
            topics[one.topic].append(recalls[one.slug])
    means = {topic: mean(values) for topic, values in topics.items() if len(values) >= LEAST_OF_A_TOPIC}
    return [
        replace(one, recall=recalls.get(one.slug), lapses=lapses.get(one.slug, 0), topic_recall=means.get(one.topic))
        for one in found
    ]
