"""What is proposed: cases by hand, and what holds of any plan."""
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calculators.models.base import Refusal
from mocks.plan import (
    MOST_PICKS,
    Known,
    Pick,
    Spec,
    add,
    asking_minutes,
    coverable,
    left,
    move,
    pin,
    propose,
    refit,
    set_aside,
    swap,
    taken,
    uncovered,
    why,
)


def one(slug: str, topic: str = "sizing", minutes: int = 10, **more: object) -> Known:
    return Known(slug, topic, **{"kind": "size", "level": "staff", "minutes": minutes, "place": ord(slug[0])} | more)


def slugs(picks: list[Pick]) -> list[str]:
    return [pick.slug for pick in picks]


def test_a_question_takes_its_answer_and_two_follow_ups():
    assert (asking_minutes(5, 4), asking_minutes(5, 1), asking_minutes(3, 0)) == (9, 7, 3)


def test_brief_and_debrief_are_set_aside():
    # 45 minutes leave 42: four tens fit and two minutes are to spare; 60 leave 55.
    plan = propose([one(name) for name in "abcdefg"], Spec(45))
    assert (len(plan), left(plan, Spec(45))) == (4, 2)
    assert set_aside(60) == (2, 3)


def test_what_was_not_asked_comes_before_what_was():
    known = [one("a", asked=1), one("b", asked=2), one("c", planned=True), one("d")]
    assert slugs(propose(known, Spec(13))) == ["d"]
    assert slugs(propose(known[:3], Spec(13))) == ["c"]
    assert slugs(propose(known[:2], Spec(13))) == ["a"]


@pytest.mark.parametrize("seed", range(20))
def test_what_the_drill_shows_forgotten_comes_before_what_it_shows_kept(seed: int):
    known = [one("a", recall=0.95), one("b", recall=0.4), one("c", recall=0.9)]
    assert slugs(propose(known, Spec(13), seed=seed)) == ["b"]


def test_each_topic_gets_a_question_even_where_better_ones_must_wait():
    known = [one("a", recall=0.1), one("b", recall=0.1), one("c", "engine"), one("d", "kernels")]
    plan = propose(known, Spec(33, topics=("sizing", "engine", "kernels")))
    assert uncovered(plan, known, Spec(33, topics=("sizing", "engine", "kernels"))) == []


def test_where_not_all_topics_fit_the_shortest_do():
    known = [one("a", "sizing", 12), one("b", "engine", 5), one("c", "kernels", 6)]
    spec = Spec(15, topics=("sizing", "engine", "kernels"))
    plan = propose(known, spec)
    assert (slugs(plan), uncovered(plan, known, spec)) == (["b", "c"], ["sizing"])


def test_for_other_minutes_what_is_in_stays_while_it_fits():
    known = [one(name) for name in "abcdef"]
    now = [Pick("f", 10), Pick("b", 10, pinned=True), Pick("a", 10)]
    assert refit(known, Spec(25), now=now) == [Pick("f", 10), Pick("b", 10, pinned=True)]
    assert refit(known, Spec(15), now=now) == [Pick("b", 10, pinned=True)]
    longer = refit(known, Spec(45), now=now)
    assert (set(now) < set(longer), len(longer)) == (True, 4)


def test_kinds_and_levels_are_kept_to():
    known = [one("a", kind="trace"), one("b", level="principal"), one("c")]
    assert slugs(propose(known, Spec(60, kinds=("size",), levels=("staff",)))) == ["c"]


def test_a_pinned_question_keeps_its_place_though_it_is_of_no_chosen_topic():
    known = [one("a"), one("b"), one("c"), one("z", "engine", 7)]
    now = [Pick("a", 10), Pick("z", 20, pinned=True), Pick("b", 10)]
    plan = propose(known, Spec(45, topics=("sizing",)), now=now, passed=("a", "b"))
    assert plan[1] == Pick("z", 20, pinned=True)
    assert taken(plan, Spec(45)) == 40


def test_pinned_ones_that_are_over_the_minutes_stand_alone():
    plan = propose([one("a"), one("b")], Spec(15), now=[Pick("a", 30, pinned=True)])
    assert (slugs(plan), left(plan, Spec(15))) == (["a"], -18)


def test_others_are_proposed_until_all_were_seen():
    known = [one(name) for name in "abcd"]
    seen: list[str] = []
    plan: list[Pick] = []
    for _ in range(4):
        plan = propose(known, Spec(13), now=plan, passed=seen)
        seen += slugs(plan)
    assert sorted(seen) == list("abcd")
    assert slugs(propose(known, Spec(13), passed=seen)) == seen[:1]


def test_a_swap_keeps_the_place_and_the_topic():
    known = [one("a"), one("b", "engine"), one("c", "engine", recall=0.99), one("d", recall=0.1)]
    spec = Spec(45, topics=("sizing", "engine"))
    assert slugs(swap([Pick("a", 10), Pick("b", 10)], 1, known, spec)) == ["a", "c"]


def test_a_swap_without_another_that_fits_says_so():
    known = [one("a"), one("b", minutes=30)]
    with pytest.raises(Refusal, match="No other question"):
        swap([Pick("a", 10)], 0, known, Spec(13))


def test_moved_past_an_end_it_stays():
    picks = [Pick("a", 1), Pick("b", 1)]
    assert (slugs(move(picks, 1, -1)), move(picks, 0, -1), move(picks, 1, 1)) == (["b", "a"], picks, picks)


def test_what_is_added_by_hand_is_pinned_and_there_once():
    assert add([], one("a")) == [Pick("a", 10, pinned=True)]
    with pytest.raises(Refusal, match="already"):
        add([Pick("a", 10)], one("a"))
    with pytest.raises(Refusal, match="at most 12"):
        add([Pick(str(n), 1) for n in range(MOST_PICKS)], one("a"))


def test_a_reason_says_what_is_known_and_no_more():
    plain, weak = one("a"), one("b", recall=0.81, asked=1, scores=4)
    picks = [Pick("a", 10), Pick("b", 10)]
    assert why(plain, picks, [plain, weak], Spec(45)) == "not yet asked"
    assert why(weak, picks, [plain, weak], Spec(45)) == (
        "asked once before; recall 0.81 in the drill; the team has 4 scores")
    sole = one("c", "engine", topic_recall=0.6)
    spec = Spec(45, topics=("engine",))
    assert why(sole, [Pick("c", 10)], [sole, one("d", topic_recall=0.8)], spec) == (
        "not yet asked; weakest topic in the drill; covers engine")


TOPICS, KINDS, LEVELS = ("engine", "sizing", "kernels"), ("size", "trace"), ("staff", "senior")
KNOWN = st.lists(
    st.builds(
        Known, slug=st.sampled_from([f"q{n}" for n in range(30)]), topic=st.sampled_from(TOPICS),
        kind=st.sampled_from(KINDS), level=st.sampled_from(LEVELS), minutes=st.integers(3, 14),
        place=st.integers(0, 99), asked=st.integers(0, 2), planned=st.booleans(), lapses=st.integers(0, 4),
        recall=st.none() | st.floats(0, 1), topic_recall=st.none() | st.floats(0, 1), scores=st.integers(0, 6)),
    unique_by=lambda known: known.slug, max_size=30)
SPECS = st.builds(
    Spec, minutes=st.integers(10, 120), topics=st.lists(st.sampled_from(TOPICS), unique=True).map(tuple),
    kinds=st.lists(st.sampled_from(KINDS), unique=True).map(tuple),
    levels=st.lists(st.sampled_from(LEVELS), unique=True).map(tuple), after=st.integers(0, 2))


@given(KNOWN, SPECS, st.data())
def test_of_any_plan(known: list[Known], spec: Spec, data: st.DataObject):
    names = [question.slug for question in known] or ["gone"]
    now = data.draw(st.lists(
        st.builds(Pick, st.sampled_from(names), st.integers(1, 20), st.booleans()), max_size=6,
        unique_by=lambda pick: pick.slug))
    passed = data.draw(st.lists(st.sampled_from(names), unique=True))
    seed = data.draw(st.integers(0, 99))
    plan = propose(known, spec, now=now, passed=passed, seed=seed)
    assert plan == propose(known, spec, now=now, passed=passed, seed=seed)

    pinned = [pick for pick in now if pick.pinned]
    fresh = [pick for pick in plan if pick not in pinned]
    # It fits; where the pinned ones alone are over, nothing is added to them.
    assert left(plan, spec) >= 0 or not fresh
    assert len(set(slugs(plan))) == len(plan) <= max(MOST_PICKS, len(pinned))
    # What is pinned stays, in its order, and at its place where enough is before it.
    assert [pick for pick in plan if pick in pinned] == pinned
    for pick in pinned:
        assert plan.index(pick) <= now.index(pick)
    # Only what was asked for is proposed.
    found = {question.slug: question for question in known}
    for pick in fresh:
        question = found[pick.slug]
        assert question.topic in (spec.topics or TOPICS) and question.kind in (spec.kinds or KINDS)
        assert question.level in (spec.levels or LEVELS) and pick.minutes == question.minutes
    # Each chosen topic is covered when one question of each fits together.
    pool = [
        question for question in known if question.slug not in {pick.slug for pick in pinned}
        and question.kind in (spec.kinds or KINDS) and question.level in (spec.levels or LEVELS)
    ]
    missing = [topic for topic in uncovered(pinned, known, spec) if any(q.topic == topic for q in pool)]
    needed = sum(min(q.minutes for q in pool if q.topic == topic) + spec.after for topic in missing)
    if needed <= left(pinned, spec) and len(pinned) + len(missing) <= MOST_PICKS:
        assert not set(uncovered(plan, known, spec)) & set(missing)
    # And nothing that still fits is left out.
    rest = [q for q in pool if q.slug not in slugs(plan) and q.topic in (spec.topics or TOPICS)]
    assert len(plan) >= MOST_PICKS or all(q.minutes + spec.after > left(plan, spec) for q in rest)


@given(KNOWN, SPECS, st.integers(0, 99))
def test_of_any_swap(known: list[Known], spec: Spec, seed: int):
    plan = propose(known, spec, seed=seed)
    for at, pick in enumerate(plan):
        try:
            other = swap(plan, at, known, spec, seed=seed)
        except Refusal:
            continue
        assert pick.slug not in slugs(other) and left(other, spec) >= 0
        assert len(set(slugs(other))) == len(plan)
        assert set(uncovered(other, known, spec)) <= set(uncovered(plan, known, spec)) or all(
            q.topic != next(k.topic for k in known if k.slug == pick.slug) or q.slug in slugs(plan)
            or q.minutes + spec.after > left(without_place(plan, at), spec)
            or q.kind not in (spec.kinds or KINDS) or q.level not in (spec.levels or LEVELS) for q in known)


def without_place(plan: list[Pick], at: int) -> list[Pick]:
    return plan[:at] + plan[at + 1:]


def test_as_many_topics_are_covered_as_fit():
    known = [one("a", "sizing", 6), one("b", "engine", 5), one("c", "kernels", 9)]
    assert coverable(("kernels", "sizing", "engine"), known, Spec(30), 12, 12) == ["sizing", "engine"]
    assert coverable(("kernels", "sizing", "engine"), known, Spec(30), 30, 1) == ["engine"]
    assert pin([Pick("a", 6)], 0, True) == [Pick("a", 6, True)]
