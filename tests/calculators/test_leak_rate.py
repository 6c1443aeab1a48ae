"""Growing memory: the regression by hand, the suspects by CPython's object sizes, and samples that can't be read."""
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calculators.labs.leak_rate import BOUNDED, BY_TIME, SMALL
from calculators.models.base import Refusal
from calculators.models.leak_rate import NONE, THREE_HOURS, rule_out, solve


def test_the_slope_of_three_hours():  # ordinary least squares by hand: 24,556 ± 47 B, 9.80 GiB at zero, 4.13 GiB grown
    found = solve()
    assert found.driver == "requests" and round(found.slope_bytes) == 24_556
    assert 47 <= found.error_bytes < 48
    assert (round(found.intercept_gib, 2), round(found.growth_gib, 2)) == (9.80, 4.13)
    assert round(found.r_squared, 5) == 0.99994
    assert {fit.name: round(fit.r_squared, 3) for fit in found.fits} == {"min": 0.972, "requests": 1.0, "aborts": 0.986}


def test_what_follows_from_the_slope():  # (32 − 13.93) GiB / (24,556 B × 17/s); 24,556 / 600
    found = solve()
    assert round(found.hours_left, 1) == 12.9 and round(found.bytes_per_token, 1) == 40.9
    assert not found.bounded and found.fits[1].halves == pytest.approx(1, abs=0.02)


# Bytes a request by CPython's sizes, by hand: 600 tokens as ints in a list, 38 blocks of 16, 37 of
# them full and hashed, 100 replies' logprobs.
SIZES = {"tokens": (21_600, 24_000), "hashes": (2_701, 2_701), "blocks": (304, 1_520), "logprobs": (420_000, 630_000)}


@pytest.mark.parametrize(("slug", "sizes"), SIZES.items())
def test_what_a_suspect_would_keep(slug: str, sizes: tuple[float, float]):
    suspect = next(each for each in solve(top_logprobs=20).suspects if each.slug == slug)
    assert (suspect.low_bytes, suspect.high_bytes) == sizes


def test_object_sizes_are_this_interpreters():
    assert sys.getsizeof(10**6) == 28 and sys.getsizeof(b"\0" * 32) == 65
    assert sys.getsizeof([]) == 56 and sys.getsizeof([0] * 600) == 4_856


def test_only_token_lists_are_left():
    found = solve()
    assert [each.slug for each in found.suspects if each.survives] == ["tokens"] and found.suspect == "tokens"
    reasons = {each.slug: each.reason for each in found.suspects}
    assert "16× too small" in reasons["blocks"] and "9× too small" in reasons["hashes"]
    assert reasons["queue"] and reasons["pinned"] and reasons["logprobs"] == "Nobody asked for logprobs."
    assert "17× too large" in {each.slug: each.reason for each in solve(top_logprobs=20).suspects}["logprobs"]


def test_a_cache_that_is_smaller_than_the_growth_is_out():
    images = THREE_HOURS.replace("aborts", "images")
    reasons = {each.slug: each.reason for each in solve(samples=images, images_per_request=1).suspects}
    assert reasons["mm-cache"] == "It stops at 4 GiB; the growth is 4.13."


def test_a_queue_that_does_not_come_back_is_left():
    left = [each.slug for each in solve(queue_returns=False).suspects if each.survives]
    assert left == ["tokens", "queue"]


def test_a_plateau_is_no_leak():
    found = solve(samples=BOUNDED)
    assert found.bounded and found.hours_left is None and "a plateau" in found.shape_verdict


def test_growth_by_the_minute_is_nobodys_request():
    found = solve(samples=BY_TIME, limit_gib=128)
    assert found.driver == "min" and found.slope_bytes / 2**20 == pytest.approx(400, rel=0.01)
    assert found.suspect == NONE and "look at native memory" in found.suspects_verdict
    assert found.hours_left == pytest.approx((128 - 48_020 / 1024) * 1024 / 400 / 60, rel=0.01)


def test_some_hundred_bytes_a_request():  # 3.8 MB of 4 million requests: the order of a dozen list slots
    assert solve(samples=SMALL).slope_bytes == pytest.approx(94, rel=0.02)


def test_flat_memory_has_no_driver():
    flat = "min,requests,rss; 0,0,5000; 1,10,5000; 2,20,5000; 3,30,5000"
    found = solve(samples=flat)
    assert found.finding.startswith("No counter explains") and found.hours_left is None
    assert not any(each.survives for each in found.suspects)


def test_every_choice_has_its_sentence():
    found = rule_out()
    said = dict(found.slips)
    assert set(said) == {each.slug for each in found.suspects} | {NONE} and all(said.values())


@pytest.mark.parametrize(("samples", "sentence"), [
    ("", "Takes rows of numbers"), ("0,1,2,3", "there are 1"), ("min,rss; 1,2; 2,x; 3,4; 4,5", "Row 2, “2,x”"),
    ("min,rss; 1,2; 2,3,4; 3,4; 4,5", "Row 2"), ("requests,rss; 1,2; 2,3; 3,4; 4,5", "min first"),
    ("min,requests; 1,2; 2,3; 3,4; 4,5", "one of them rss"), ("min,rss; 1,2; 1,3; 3,4; 4,5", "must rise"),
    ("min,rss,rss; 1,2,3; 2,3,4; 3,4,5; 4,5,6", "The first row names"), (";".join(["1,1,1,1"] * 501), "there are 501"),
    ("min,rss; 1,1e9; 2,3; 3,4; 4,5", "Row 1"), ("min,rss; 1,-5; 2,3; 3,4; 4,5", "Row 1"),
])
def test_samples_that_cannot_be_read_say_which_row(samples: str, sentence: str):
    with pytest.raises(Refusal, match=sentence) as refused:
        solve(samples=samples)
    assert refused.value.field == "samples"


def test_rows_may_stand_on_lines_and_without_names():
    rows = "\n".join(part.strip() for part in THREE_HOURS.split(";")[1:])
    assert solve(samples=rows).slope_bytes == solve().slope_bytes


@given(st.lists(st.integers(0, 10**6), min_size=4, max_size=30))
def test_a_line_is_found_again_whatever_the_load(arrivals: list[int]):
    counts = [sum(arrivals[:place]) for place in range(len(arrivals))]
    rows = [f"{minute},{count},{1000 + count * 0.001:.6f}" for minute, count in enumerate(counts)]
    found = solve(samples="min,requests,rss;" + ";".join(rows))
    fit = next(each for each in found.fits if each.name == "requests")
    assert fit.moved == (counts[-1] > 0)
    if fit.moved:
        assert fit.slope_bytes == pytest.approx(0.001 * 2**20, rel=0.01)
    assert 0 <= found.r_squared <= 1 + 1e-9
