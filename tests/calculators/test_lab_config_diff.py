"""The config-diff lab's pages: what they draw, what is pasted, and that any pair can be drawn."""
import pytest
from django.test import Client

from calculators.labs import LABS
from calculators.labs.base import View
from tests.calculators.drawings import assert_within, words

LAB = LABS["config-diff"]
DIFF, SUSPECTS, EVIDENCE = LAB.views
LONG = "; ".join(f"a_rather_long_name_of_a_setting_{n}={'value' * 3}{n}" for n in range(24))


def parts(view: View, values: dict, step: str | None = None):
    return view.drawn(view.show(view.bind(values), step)).picture.parts


def test_what_costs_and_what_helps_stand_on_either_side() -> None:
    (part,) = parts(DIFF, {})
    assert {"kv_tokens", "440k → 405k", "costs", "helps"} <= set(words(part.wide))
    assert {swatch.says for swatch in part.legend} == {"can cost throughput", "helps"}


def test_nothing_is_judged_before_the_reader_has() -> None:
    (before,), (after,) = (parts(SUSPECTS, {}, step) for step in "01")
    assert "costs" not in words(before.wide) and "costs" in words(after.wide)
    assert not before.legend


@pytest.mark.parametrize(("before", "after"), [("a=1", "a=1"), (LONG, "b=2"), ("seed=1", "seed=2"),
                                               ("kv_tokens=1", f"attention_backend={'x' * 400}")])
def test_any_pair_is_drawn_inside_its_picture(before: str, after: str) -> None:
    for view, step in ((DIFF, None), (SUSPECTS, "0"), (SUSPECTS, "1")):
        for part in parts(view, {"before": before, "after": after}, step):
            for drawing in (part.wide, part.narrow):
                assert_within(drawing, drawing.width)


@pytest.mark.parametrize("values", [{"runs": 1_000, "noise_percent": 0.01, "drop_percent": 100},
                                    {"before_tokens": 1, "after_tokens": 100_000_000}])
def test_any_evidence_is_drawn_inside_its_picture(values: dict) -> None:
    for part in parts(EVIDENCE, values):
        for drawing in (part.wide, part.narrow):
            assert_within(drawing, drawing.width)


@pytest.mark.django_db
def test_two_starts_become_an_address(client: Client) -> None:
    line = "INFO x Initializing a V1 LLM engine (v0.33.0) with config: model='m', enforce_eager={}, max_seq_len=4096"
    text = f"{line.format(False)}\n{line.format(True)}"
    response = client.post("/labs/config-diff/paste", {"pasted": text})
    assert response.status_code == 302 and len(response["Location"]) < 8_000
    html = client.get(response["Location"]).content.decode()
    assert "False → True" in html and "each kernel is launched by the CPU" in html
    faulty = client.post("/labs/config-diff/paste", {"pasted": f"{text}\n<b>hm</b>"}).content.decode()
    assert "Line 3: “&lt;b&gt;hm&lt;/b&gt;” is no setting" in faulty and "False → True" in faulty
