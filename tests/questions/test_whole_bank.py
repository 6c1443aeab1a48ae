"""The bank as a whole: which questions there are, how each is made, and how they hang together."""
import re
from collections import Counter, defaultdict
from types import SimpleNamespace

import pytest

from flashcards.quiz_page import QuizDesk
from flashcards.quizzes import Place
from questions import loading
from questions.content import HEADINGS, QuestionFile
from questions.figures import FIGURE, Ran
from questions.markup import MARK, render
from questions.models import Question
from questions.runs import play
from questions.services import run_lab

KINDS = {
    "engine": {
        "explain": "process-map v1-speedup-source worker-state-diffs model-runner-v2",
        "trace": "async-scheduling stream-detokenize",
        "diagnose": "cpu-bound-server hidden-sync",
        "decide": "laptop-or-datacenter",
    },
    "scheduling": {
        "trace": "token-budget preemption-victim",
        "size": "prefill-damage three-ceilings recompute-or-move long-replies",
        "decide": "budget-dial long-prompt-fairness",
        "diagnose": "overload-queueing",
    },
    "kv-cache": {
        "trace": "block-identity eviction-order",
        "decide": "radix-or-hash fp8-kv shared-cache-privacy",
        "size": "beam-sharing paging-waste mla-and-gqa",
        "explain": "hybrid-cache",
    },
    "sizing": {
        "size": "memory-ledger three-flags in-flight gpu-count kv-concurrency",
        "diagnose": "refuses-to-start host-memory-growth",
        "decide": "parallelism-choice quantize-what",
    },
    "sampling": {
        "trace": "sampling-order ngram-drafter",
        "size": "acceptance-metrics grammar-mask draft-tokens-budget speculative-speedup",
        "diagnose": "mask-overlap same-seed-different-text",
        "decide": "many-adapters",
    },
    "kernels": {
        "explain": "piecewise-graphs",
        "size": "graph-padding launch-bound roofline-ridge",
        "diagnose": "ttft-after-deploy slower-after-upgrade cold-start metrics-that-matter",
        "decide": "attention-backends",
    },
    "scale-out": {
        "size": "lockstep hot-experts split-prefill-decode endpoint-picker",
        "decide": "two-batches aligned-prefills",
        "explain": "connector-sides",
        "trace": "nixl-pull",
        "diagnose": "sick-rank",
    },
}
SLUGS = sorted(slug for kinds in KINDS.values() for slugs in kinds.values() for slug in slugs.split())
SAID_WORDS, ANSWER_WORDS, RUN = 220, 700, 12


@pytest.fixture(scope="module")
def ran_by_slug(real_bank: loading.Bank) -> dict[str, dict[str, Ran]]:
    """Every question's runs with its file's own values."""
    return {slug: play(document.runs, {}, run_lab) for slug, document in real_bank.questions.items()}


def answer_of(document: QuestionFile) -> str:
    """The four parts of the answer, each figure as one word."""
    return "\n\n".join(bare(getattr(document, name)) for name in HEADINGS.values())


def bare(text: str) -> str:
    return FIGURE.sub("0", MARK.sub("", text))


def test_there_are_nine_questions_in_each_of_seven_topics_and_89_cards(real_bank: loading.Bank):
    assert len(SLUGS) == 63 and len(real_bank.notes) == 89
    found = defaultdict(lambda: defaultdict(set))
    for slug, document in real_bank.questions.items():
        found[document.topic][document.kind].add(slug)
    assert found == {
        topic: {kind: set(slugs.split()) for kind, slugs in kinds.items()} for topic, kinds in KINDS.items()
    }
    assert [len(topic.questions) for topic in real_bank.topics] == 7 * [9]
    assert not any(document.draft for document in real_bank.questions.values())


@pytest.mark.parametrize("slug", SLUGS)
def test_a_question_is_whole(real_bank: loading.Bank, slug: str):
    document = real_bank.questions[slug]
    assert all(getattr(document, name).strip() for name in HEADINGS.values())
    assert 4 <= len(document.rubric) <= 8
    assert all(point[anchor].strip() for point in document.rubric for anchor in ("named", "explained", "bounded"))
    assert len(document.hints) == 3 and document.traps and 2 <= len(document.follow_ups) <= 4 and document.sources


@pytest.mark.parametrize("slug", SLUGS)
def test_an_answer_keeps_within_its_words(real_bank: loading.Bank, slug: str):
    document = real_bank.questions[slug]
    assert len(bare(document.said_aloud).split()) < SAID_WORDS
    assert len(answer_of(document).split()) < ANSWER_WORDS


def test_no_answer_repeats_twelve_words_of_another(real_bank: loading.Bank):
    first: dict[tuple[str, ...], str] = {}
    again = set()
    for slug, document in real_bank.questions.items():
        for paragraph in re.split(r"\n\s*\n", answer_of(document)):
            said = re.findall(r"[a-z]+", paragraph.lower())
            for at in range(len(said) - RUN + 1):
                run = tuple(said[at:at + RUN])
                if first.setdefault(run, slug) != slug:
                    again.add((first[run], slug, " ".join(run)))
    assert again == set()


def test_what_is_sized_has_a_number_to_commit_and_can_be_drawn_anew(real_bank: loading.Bank):
    for document in real_bank.questions.values():
        if document.kind == "size":
            assert {"figure", "unit", "tolerance"} <= document.check.keys(), document.slug
            assert any(run.get("vary") for run in document.runs.values()), document.slug


def test_options_are_four_with_one_right_and_a_reason_for_each(real_bank: loading.Bank):
    offering = {slug: document.options for slug, document in real_bank.questions.items() if document.options}
    assert len(offering) >= 30 and set(loading.read_checks()) <= offering.keys()
    for slug, options in offering.items():
        assert (len(options), sum(option.get("right", False) for option in options)) == (4, 1), slug
        assert all(len(option["why"].split()) >= 4 for option in options), slug


def test_the_right_option_is_not_told_by_its_length(
        real_bank: loading.Bank, ran_by_slug: dict[str, dict[str, Ran]]):
    ranks = Counter()  # of the right one among the four, 1 for the longest
    for slug, document in real_bank.questions.items():
        if document.options:
            lengths = [len(re.sub(r"<.*?>", "", render(option["text"], ran_by_slug[slug], inline=True)))
                       for option in document.options]
            right = next(length for length, option in zip(lengths, document.options, strict=True)
                         if option.get("right"))
            ranks[1 + sum(length > right for length in lengths)] += 1
    assert max(ranks[1], ranks[4]) <= ranks.total() / 2, ranks


def test_the_right_option_may_stand_anywhere(real_bank: loading.Bank):
    for slug, document in real_bank.questions.items():
        if document.options:
            stands = Counter(place_of_right(document, seed) for seed in range(40))
            assert set(stands) == {0, 1, 2, 3}, slug


def place_of_right(document: QuestionFile, seed: int) -> int:
    """Where a quiz shows the right option, from 0."""
    quiz = SimpleNamespace(user=None, seed=seed, by_options=True)
    desk = QuizDesk(SimpleNamespace(quiz=quiz, now=None), Place(1, Question(options=document.options), None, None))
    desk.posed = SimpleNamespace(options=[{**option, "html": option["text"]} for option in document.options])
    return next(at for at, option in enumerate(desk.options) if option.right)


def test_from_any_question_every_other_can_be_reached(real_bank: loading.Bank):
    led_to = {slug: set(document.next) for slug, document in real_bank.questions.items()}
    for slug, there in led_to.items():
        assert there and there <= led_to.keys() - {slug}, slug
    for start in SLUGS:
        seen, ahead = {start}, [start]
        while ahead:
            ahead = [slug for slug in set().union(*(led_to[slug] for slug in ahead)) if slug not in seen]
            seen.update(ahead)
        assert seen == led_to.keys(), f"{start} never leads to {sorted(led_to.keys() - seen)}"
