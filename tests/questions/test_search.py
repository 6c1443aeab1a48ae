"""The search over the bank as it is: what candidates type finds the right question, and nothing is given away."""
from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.db import transaction
from django.test import Client

from accounts.models import User
from calculators.models.serve_flags import FLAGS
from questions import access, loading, search
from questions.models import Note, Question, SearchDocument
from questions.notes import shown_value
from questions.search import find

pytestmark = pytest.mark.django_db  # what a test changes is as it was afterwards

# What a candidate would type, and the question that is meant: it is among the first three.
PHRASES = {
    "why is my GPU idle": "cpu-bound-server",
    "kv cache oom": "refuses-to-start",
    "max num seqs default": "three-ceilings",
    "emoji broken stream": "stream-detokenize",
    "server gets oom killed after a few hours": "host-memory-growth",
    "temperature 0 gives different answers": "same-seed-different-text",
    "how many gpus do I need": "gpu-count",
    "one long prompt makes everybody's stream stutter": "prefill-damage",
    "p99 ttft went up after we deployed": "ttft-after-deploy",
    "speculative decoding is slower under load": "draft-tokens-budget",
    "fp8 or int4 weights for prefill": "quantize-what",
    "tp 8 or two replicas of tp 4": "parallelism-choice",
    "who gets preempted when blocks run out": "preemption-victim",
    "vllm upgrade made it slower": "slower-after-upgrade",
    "why is decode memory bound": "roofline-ridge",
    "json schema output stalls the batch": "mask-overlap",
    "can another tenant see my cached prompt": "shared-cache-privacy",
    "decode instance died, blocks not freed": "nixl-pull",
    "one slow gpu in the expert parallel group": "sick-rank",
    "flashinfer or flash attention": "attention-backends",
    "which process does tokenization": "process-map",
    "--async-scheduling disabled when": "async-scheduling",
    "nsys shows cudaMemcpy blocking between steps": "hidden-sync",
    "can i serve this from a mac studio": "laptop-or-datacenter",
    "kv offload to dram over pcie": "recompute-or-move",
    "lower itl without killing throughput": "budget-dial",
    "server saturated, should we shed load": "overload-queueing",
    "why last token is always recomputed even with full prefix hit": "block-identity",
    "prefix cache hit rate 0 but cache is full": "eviction-order",
    "vllm or sglang for chat": "radix-or-hash",
    "block_size 16 or 128": "paging-waste",
    "does fp8 kv cache hurt acuracy": "fp8-kv",
    "max_model_len too large error, estimated maximum model length": "three-flags",
    "avg concurrent requests from qps and latency": "in-flight",
    "vllm:spec_decode_num_accepted_tokens": "acceptance-metrics",
    "lots of fine tunes on one base model": "many-adapters",
    "regex constrained decoding cost per token": "grammar-mask",
    "eager mode gpu starved": "launch-bound",
    "redundant experts balancedness": "hot-experts",
    "thinking models run out of kv mid generation": "long-replies",
}
OTHER_WORDS = ["math", "unavailable", "rollback"]  # each a letter or two from a word of the bank
SLIPS = {
    "kv cahce oom": ("kv cache oom", "refuses-to-start"),
    "preemtion victim": ("preemption victim", "preemption-victim"),
    "speculatve decodng speedup": ("speculative decoding speedup", "speculative-speedup"),
    "qantization of weights": ("quantization of weights", "quantize-what"),
}


@pytest.fixture(scope="module")
def reader(django_db_setup: None, django_db_blocker: object, real_bank: loading.Bank) -> Iterator[User]:
    """Somebody who searches the whole bank; it is loaded once for all tests here, which leave it as it is."""
    with django_db_blocker.unblock(), transaction.atomic():
        loading.load_bank(real_bank)
        search.rebuild()
        yield User.objects.create_user("reader@example.org", "a long password", first_name="Rea")
        transaction.set_rollback(True)


@pytest.fixture
def page(reader: User) -> Client:
    client = Client()
    client.force_login(reader)
    return client


def slugs(user: User, text: str, kind: str) -> list[str]:
    return [hit.document.slug for group in find(user, text, kind).groups for hit in group.hits]


def test_before_anything_is_loaded_nothing_is_found(ada: User):
    assert find(ada, "kv cache").groups == []


@pytest.mark.parametrize("phrase", PHRASES)
def test_the_right_question_is_among_the_first_three(reader: User, phrase: str):
    assert PHRASES[phrase] in find(reader, phrase).questions[:3]


@pytest.mark.parametrize("typed", SLIPS)
def test_a_slip_is_read_as_what_was_meant(reader: User, typed: str):
    found = find(reader, typed)
    assert (found.read_as, SLIPS[typed][1] in found.questions[:3]) == (SLIPS[typed][0], True)


@pytest.mark.parametrize("word", OTHER_WORDS)
def test_another_word_is_no_slip(reader: User, word: str):
    assert find(reader, f"{word} kv cache").read_as == ""


def test_a_unit_may_stand_right_behind_its_number(reader: User):
    assert find(reader, "where did my 80gb go").questions == find(reader, "where did my 80 gb go").questions


def test_a_question_is_first_by_its_title(reader: User):
    every_third = list(access.published())[::3]
    found = {question.slug: find(reader, question.title).questions[:1] for question in every_third}
    assert found == {slug: [slug] for slug in found}


def test_every_kind_is_found(reader: User):
    assert slugs(reader, "--max-num-seqs", "flags")[0] == "max-num-seqs"
    assert slugs(reader, "gpu memory utilization", "flags")[0] == "gpu-memory-utilization"
    assert slugs(reader, "prefix cache", "labs")[0] == "prefix-cache"
    assert slugs(reader, "time to first token", "terms")[0] == "ttft"
    assert slugs(reader, "default max-num-seqs on an H100", "numbers")[0] == "def-seqs-h100"
    assert SearchDocument.objects.filter(kind="flags").count() == len(FLAGS)


def test_a_flag_leads_to_its_knob(reader: User):
    (hit, *_), *_ = (group.hits for group in find(reader, "--max-num-seqs", "flags").groups)
    assert hit.address == "/labs/serve-command#knob-max_num_seqs"


def test_the_last_word_may_be_begun_only(reader: User):
    found = find(reader, "beam sear")
    assert (found.questions[0], found.read_as) == ("beam-sharing", "")


ODD = ["", "  ", "?!", "\0", "xyzzyqwertz", "'; DROP TABLE x; --", '"', "* OR kv:", "é" * 120]


@pytest.mark.parametrize("text", ODD)
def test_odd_texts_find_something_or_nothing(reader: User, text: str):
    assert find(reader, text).text == " ".join(text.replace("\0", "").split())[:search.MOST_TEXT]


@pytest.mark.parametrize("kept_back", [{"draft": True}, {"retired": True}])
def test_a_draft_and_what_is_retired_are_not_found(reader: User, kept_back: dict[str, bool]):
    assert find(reader, "emoji broken stream").questions[0] == "stream-detokenize"
    Question.objects.filter(slug="stream-detokenize").update(**kept_back)
    assert "stream-detokenize" not in slugs(reader, "emoji broken stream", "questions")
    Note.objects.update(**kept_back)
    assert slugs(reader, "default max-num-seqs on an H100", "numbers") == []


def test_somebody_elses_own_card_is_not_found(reader: User):
    own = Note.objects.get(slug="def-seqs-h100")
    own.pk, own.slug, own.ask = None, "own-card", "Sevenfold zebra latency"
    own.owner = User.objects.create_user("other@example.org", "a long password")
    own.save()
    search.refresh(own)
    assert find(reader, "zebra").total == 0
    assert slugs(own.owner, "zebra", "cards") == ["own-card"]


def test_a_hit_gives_no_answer_away(reader: User):
    """The line of a hit is the ask's; no card says its value, and no answer's text is stored to be shown."""
    for document in SearchDocument.objects.filter(kind="numbers").select_related("note"):
        value = shown_value(document.note)
        assert document.line == "said on the card, not here"
        assert value not in document.title or value in document.note.ask
    for document in SearchDocument.objects.filter(kind="questions").select_related("question"):
        said = document.question.said_aloud.split(".")[0]
        assert len(said) < 12 or said not in document.line


def test_an_edit_is_found_at_once_and_a_second_look_changes_nothing(reader: User):
    assert search.rebuild() == 0
    question = Question.objects.select_related("topic").get(slug="in-flight")
    question.title = "Kangaroos in flight"
    question.save()
    search.refresh(question)
    assert find(reader, "kangaroo").questions == ["in-flight"]
    assert find(reader, "kangarop").read_as == "kangaroos"
    assert search.rebuild() == 0


def test_a_new_synonym_is_a_word_though_no_document_changed(reader: User, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(search, "field_words", lambda: replace(search.read_words(), synonyms=(("cahce", "kv"),)))
    assert find(reader, "cahce oom").read_as == "cache oom"
    assert search.rebuild() == 0
    assert find(reader, "cahce oom").read_as == ""


def test_what_is_gone_is_not_found(reader: User):
    Question.objects.filter(slug="in-flight").delete()
    search.rebuild()
    assert "in-flight" not in slugs(reader, "sequences in flight", "questions")


def test_the_page_marks_words_and_leads_on(page: Client):
    text = page.get("/search/?q=kv+cahce+oom").content.decode()
    assert "Read as <b>kv cache oom</b>." in text
    assert '<a href="/questions/refuses-to-start/">' in text
    assert "<b>KV</b>" in text
    assert 'href="/search/?q=kv%20cahce%20oom&amp;of=' in text


def test_a_flag_stays_whole_with_its_words_marked():
    assert search.marked("set by --max-num-seqs & <b>", frozenset({"seq"})) == (
        'set by <span class="flag">--max-num-<b>seqs</b></span> &amp; &lt;b&gt;')


def test_a_typed_text_comes_back_as_text(page: Client):
    text = page.get("/search/", {"q": "<script>alert(1)</script> kv"}).content.decode()
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; kv" in text


def test_the_sheet_is_the_pages_own_part(page: Client):
    text = page.get("/search/?q=emoji", headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in text
    assert '<div id="hits"' in text


def test_the_glossary_names_the_questions_that_use_a_term(page: Client, reader: User):
    def row(slug: str) -> str:
        return page.get("/glossary/").content.decode().partition(f'id="{slug}"')[2].partition("</section>")[0]

    assert '<a href="/questions/preemption-victim/">' in row("preemption")
    Question.objects.filter(slug="preemption-victim").update(draft=True)
    assert '<a href="/questions/preemption-victim/">' not in row("preemption")


def test_what_candidates_call_a_question_names_one_that_is_there(reader: User):
    assert set(search.read_words().asked_as) <= {question.slug for question in access.published()}
