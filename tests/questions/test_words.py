"""Words as the search compares them: forms of a word, near spellings, and who answers better."""
import pytest

from questions.words import Bag, closeness, counted, distance, nearest, scores, stem, stems_of, terms_of, words_of

SYNONYMS = [("oom", "out of memory"), ("idle", "low utilization")]


def bag(title: str = "", asked_as: str = "", ask: str = "", text: str = "") -> Bag:
    counts, lengths = counted((title, asked_as, ask, text))
    return Bag(counts, lengths, [stems_of(title)])


@pytest.mark.parametrize("forms", [
    "preempt preempts preempted preemption", "schedule scheduler scheduling", "cache caches cached caching",
    "evict evicted eviction", "quantize quantized quantization quantising", "queue queued queueing queuing",
    "batch batches batching", "latency latencies", "swap swapped swapping", "gpu gpus",
])  # fmt: skip
def test_forms_of_a_word_have_one_stem(forms: str):
    assert len({stem(word) for word in forms.split()}) == 1


def test_different_words_keep_apart():
    words = ["prefill", "preempt", "prefix", "process", "decode", "draft", "drain", "latency", "evict", "event"]
    assert len({stem(word) for word in words}) == len(words)


def test_a_flag_falls_into_its_words_and_a_number_stays_whole():
    assert words_of("--max-num-seqs=1024, 0.92 of H100") == ["max", "num", "seqs", "1024", "0.92", "of", "h100"]
    assert words_of("Überlauf, naïve") == ["uberlauf", "naive"]


@pytest.mark.parametrize(("one", "other", "slips"), [
    ("cahce", "cache", 1), ("cache", "cache", 0), ("preemtion", "preemption", 1), ("speculatve", "speculative", 1),
    ("kittens", "sitting", 3), ("a", "abcd", 3),
])  # fmt: skip
def test_slips_are_counted(one: str, other: str, slips: int):
    # Kitten and sitting are the textbook's three edits, and the s makes the same count here; a swap is one.
    assert distance(one, other, 3) == slips


def test_more_slips_than_asked_are_not_counted_out():
    assert distance("kittens", "sitting", 1) == 2


def test_a_slip_is_read_as_the_nearest_word_and_an_abbreviation_as_it_stands():
    vocabulary = {"cache": 40, "chance": 3, "preemption": 9, "itl": 5, "2048": 1}
    assert nearest("cahce", vocabulary) == "cache"
    assert nearest("preemtoin", vocabulary) == "preemption"
    assert nearest("otl", vocabulary) == ""
    assert nearest("2047", vocabulary) == ""
    assert nearest("xylophone", vocabulary) == ""


def test_another_first_letter_makes_another_word_and_a_swapped_one_does_not():
    vocabulary = {"picked": 9, "available": 9}
    assert nearest("kicked", vocabulary) == nearest("unavailable", vocabulary) == ""
    assert nearest("ipcked", vocabulary) == "picked"


def test_what_was_typed_goes_before_what_a_slip_was_read_as():
    terms = terms_of("beam thruoghput", [], {"thruoghput": "throughput"})
    beam, throughput = scores(terms, [bag(ask="beam"), bag(ask="throughput")], 10)
    assert beam > throughput > 0


def test_a_unit_right_behind_its_number_is_a_word():
    assert words_of("80GB, 1.5 gib/s, 30ms, H100, 8b, 0.92") == [
        "80", "gb", "1.5", "gib", "s", "30", "ms", "h100", "8b", "0.92"]


def test_other_words_for_it_count_half():
    (term, *rest) = terms_of("oom", SYNONYMS, {})
    assert rest == []
    assert term.weights == {"oom": 1.0, "out": pytest.approx(0.354, abs=1e-3), "memory": pytest.approx(0.354, abs=1e-3)}


def test_words_of_any_text_count_only_alone():
    assert [term.typed for term in terms_of("why is my gpu idle", [], {})] == ["gpu", "idl"]
    assert [term.typed for term in terms_of("why is it", [], {})] == ["why", "is", "it"]


def test_title_before_ask_before_text():
    documents = [bag(text="preempted once"), bag(ask="preempted once"), bag(title="preempted once")]
    text, ask, title = scores(terms_of("preemption", [], {}), documents, 10)
    assert title > ask > text > 0


def test_who_says_all_of_it_goes_before_who_repeats_a_part():
    documents = [bag(ask="cache cache cache cache cache cache"), bag(ask="the cache and its salt")]
    repeats, all_of_it = scores(terms_of("cache salt", [], {}), documents, 10)
    assert all_of_it > repeats


def test_a_phrase_that_is_just_what_was_typed_is_nearest():
    terms = terms_of("kv cache oom", [], {})
    rarity = [1.0, 1.0, 1.0]
    assert closeness(terms, rarity, stems_of("kv cache oom")) == 1
    assert closeness(terms, rarity, stems_of("kv cache")) == pytest.approx(2 / 3)
    assert closeness(terms, rarity, stems_of("kv cache oom at start")) == pytest.approx(3 / 4)
    assert closeness(terms, rarity, []) == 0


def test_nothing_to_score_scores_nothing():
    assert scores(terms_of("cache", [], {}), [], 10) == []
