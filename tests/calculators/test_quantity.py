"""Reading typed numbers. The expected values are worked by hand: 1 GiB = 2**30 bytes, 1 GB = 10**9 bytes."""
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calculators.models.quantity import COUNTS, RATIOS, SIZES, TIMES, Refusal, converted, forms_of, read, say

READ = [
    ("1k", "sequences", 1000),
    ("1,000", "sequences", 1000),
    ("1 000", "sequences", 1000),
    ("1\u202f000", "sequences", 1000),
    ("1'000", "sequences", 1000),
    ("1,234,567.5", "ms", 1_234_567.5),
    ("1000 seqs", "sequences", 1000),
    ("1000 sequences", "sequences", 1000),
    ("1.5k tokens", "tokens", 1500),
    ("2M", "tokens", 2_000_000),
    ("8B", "tokens", 8e9),
    ("2 million tokens", "tokens", 2_000_000),
    ("~1000", "tokens", 1000),
    ("about 1000", "tokens", 1000),
    ("2.2e3", "ms", 2200),
    ("2.2×10^3", "ms", 2200),
    ("2.2·10³ ms", "s", 2.2),
    ("2^30 bytes", "GiB", 1),
    ("1/4", "s", 0.25),
    ("0.5 s", "ms", 500),
    ("500ms", "s", 0.5),
    ("500 MS", "s", 0.5),
    ("250 µs", "ms", 0.25),
    ("250us", "ms", 0.25),
    ("2 min", "s", 120),
    ("40 ms.", "ms", 40),
    ("31.5 GiB", "GiB", 31.5),
    ("31.5 GiB", "GB", 33.822867456),
    ("1 GB", "MiB", 953.674316406),
    ("2048 b", "KiB", 2),
    ("10 Gbps", "GB/s", 1.25),
    ("98x", "×", 98),
    ("98×", "×", 98),
    ("25%", "×", 0.25),
    ("0.25x", "%", 25),
    ("50 rps", "requests/s", 50),
    ("50/s", "requests/s", 50),
    ("3000 tokens per min", "tokens/s", 50),
    ("2 TFLOP/s", "GFLOP/s", 2000),
    ("-5", "ms", -5),
    ("−5 ms", "ms", -5),
    ("1.000", "ms", 1),
]


@pytest.mark.parametrize(("text", "unit", "value"), READ)
def test_what_people_type_is_read(text: str, unit: str, value: float):
    assert read(text, unit).value == pytest.approx(value, rel=1e-11)


@pytest.mark.parametrize(
    ("text", "unit", "sentence"),
    [
        ("250 ms", "s", "read as 250 ms = 0.25 s"),
        ("1k", "sequences", "read as 1,000 sequences"),
        ("31.5 GiB", "GB", "read as 31.5 GiB = 33.82 GB"),
        ("98x", "×", "read as 98×"),
        ("25%", "%", "read as 25%"),
    ],
)
def test_the_reading_says_what_was_understood(text: str, unit: str, sentence: str):
    assert read(text, unit).reading == sentence


REFUSED = [
    ("", "ms", "Type a number, such as 250 ms."),
    ("5 GiB", "ms", "GiB is a size; this asks for a time, such as 250 ms."),
    ("1000 tokens", "sequences",
     "That is a number of tokens; this asks for a number of sequences, such as 1,000 sequences."),
    ("3 GB/s", "tokens/s", "GB/s is a rate (size per time)"),
    ("3 furlongs", "ms", "“furlongs” is no unit known here; this asks for a time, such as 250 ms."),
    ("2m", "s", "“m” is no unit known here"),
    ("2m", "ms", "“m” is no unit known here"),
    ("258 s", "", "s is a time; this asks for a ratio"),
    ("31.5G", "GiB", "“31.5G” could be GB or GiB, which differ; write which one."),
    ("1.000,5", "ms", "can be read in two ways; a comma groups thousands"),
    ("1,5", "ms", "a decimal takes a point, as in 1.5."),
    ("0,500", "ms", "a decimal takes a point, as in 1.5."),
    ("1.000.000", "ms", "write it as 1000, 1,000 or 1.5."),
    ("5-10 ms", "ms", "holds more than one number"),
    ("1 2", "ms", "holds more than one number"),
    ("1h 30min", "s", "holds more than one number"),
    ("inf", "ms", "can't be read as a number"),
    ("nan", "ms", "can't be read as a number"),
    ("1e999", "ms", "That is too large to be meant"),
    ("9^9999", "ms", "not a finite number"),
    ("1/0", "ms", "not a finite number"),
    ("9" * 61, "ms", "too long to be one number"),
    ("lots", "ms", "can't be read as a number"),
    ("<5", "ms", "can't be read as a number"),
]


@pytest.mark.parametrize(("text", "unit", "sentence"), REFUSED)
def test_what_cannot_be_read_is_refused_in_words(text: str, unit: str, sentence: str):
    with pytest.raises(Refusal) as refusal:
        read(text, unit)
    assert sentence in str(refusal.value)


ALL_UNITS = [*TIMES, *SIZES, *COUNTS, *RATIOS, "tokens/s", "GB/s", "blocks/step", "widgets"]


@given(value=st.floats(-1e12, 1e12), unit=st.sampled_from(ALL_UNITS), digits=st.integers(3, 12))
def test_what_we_print_reads_back(value: float, unit: str, digits: int):
    assert read(say(value, unit, digits), unit).value == pytest.approx(value, rel=10 ** (1 - digits), abs=1e-300)


@given(text=st.text(max_size=70), unit=st.sampled_from(ALL_UNITS))
def test_any_text_is_read_as_a_finite_number_or_refused(text: str, unit: str):
    try:
        value = read(text, unit).value
    except Refusal as refusal:
        assert str(refusal).endswith(".")
    else:
        assert abs(value) < float("inf")


@pytest.mark.parametrize(("unit", "forms"), [
    ("ms", "7.5 s, 500 ms"), ("s", "7.5 s, 500 ms"), ("GiB", "31.5 GiB, 32 GB"), ("bytes", "1,200 bytes, 1.2 kB"),
    ("MiB", "480 MiB, 0.5 GiB"), ("GB/s", "25 GB/s, 900 MB/s"),
    ("sequences", "1,200 sequences, 1.2k, 1.2e3"), ("tokens/s", "1,200 tokens/s, 1.2k, 1.2e3"),
    ("FLOP", "1,200 FLOP, 1.2k, 1.2e3"), ("×", "3.9×, 39/10"), ("%", "3.9%, 39/10"), ("", "3.9, 39/10"),
])
def test_every_form_that_is_offered_can_be_read(unit: str, forms: str):
    assert forms_of(unit) == forms
    # A comma with a space parts two forms, one without groups thousands.
    assert all(read(form, unit).value > 0 for form in forms.split(", "))


def test_a_value_goes_from_unit_to_unit_within_its_kind():
    assert converted(0.25, "s", "ms") == 250
    assert converted(1, "GiB", "MiB") == 1024
    assert converted(7, "seqs", "sequences") == 7
    assert converted(7, "s", "tokens") is None
    assert converted(7, "wheels", "wheels") == 7
    assert converted(7, "wheels", "s") is None
