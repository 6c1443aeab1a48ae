"""The lora lab's pages: what they draw, and that any setting can be drawn."""
import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs import LABS
from calculators.labs.base import View
from calculators.models.lora import ARRIVALS
from tests.calculators.drawings import assert_within, words

LAB = LABS["lora"]
TENANTS, STEPS = LAB.views


def parts(view: View, values: dict, step: str | None = None, said: float | None = None):
    return view.drawn(view.show(view.bind(values), step), said).picture.parts


def test_turns_and_one_batch_stand_on_one_clock() -> None:
    alone, together, *_ = parts(TENANTS, {}, said=3)
    assert {"14.46 s", "8", "you", "H"} <= set(words(alone.wide))
    assert {"2.694 s", "8"} <= set(words(together.wide)) and "you" not in words(together.wide)
    assert len(parts(TENANTS, {"max_loras": 8})) == 3


@settings(max_examples=15, deadline=None)
@given(values=st.fixed_dictionaries({
    "tenants": st.sampled_from([1, 8, 64]), "requests_per_tenant": st.sampled_from([1, 8]),
    "output_tokens": st.sampled_from([1, 300, 20_000]), "arrivals": st.sampled_from(sorted(ARRIVALS)),
    "gap_s": st.sampled_from([0.001, 0.2, 3_600]), "max_loras": st.sampled_from([1, 3, 256]),
    "max_num_seqs": st.sampled_from([1, 1_024]), "disk_load_ms": st.sampled_from([0, 60_000]),
    "max_lora_rank": st.sampled_from([16, 512]),
}), said=st.none() | st.floats(-10, 1e9))
def test_any_tenants_are_drawn_inside_their_picture(values: dict, said: float | None) -> None:
    for part in parts(TENANTS, values, said=said):
        for drawing in (part.wide, part.narrow):
            assert_within(drawing, drawing.width)


@pytest.mark.parametrize("requests", ["A:1", "A:50@100", ",".join(f"{tenant}:9@{7 * n}" for n, tenant in
                                                                   enumerate("ABCDEFGH" * 3) if 7 * n <= 100)])
@pytest.mark.parametrize("step", ["0", "1", "19", "20", "21", "99999"])
def test_any_step_is_drawn_inside_its_picture(requests: str, step: str) -> None:
    (part,) = parts(STEPS, {"requests": requests}, step)
    for drawing in (part.wide, part.narrow):
        assert_within(drawing, drawing.width)


@pytest.mark.django_db
def test_the_next_step_is_said_first_and_told_why(client: Client) -> None:
    html = client.get("/labs/lora?view=steps&step=1&said_A=1&said_B=1&said_C=0").content.decode()
    assert "Step 1: 2 of 3 right." in html and "max_loras is 1, taken by A: B is skipped." in html


@pytest.mark.django_db
def test_one_batch_for_all_is_named_as_a_slip(client: Client) -> None:
    html = client.get("/labs/lora?said=2.7").content.decode()
    assert "5.4× too low" in html and "That is with a slot for each adapter" in html
