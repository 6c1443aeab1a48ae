"""The sampling lab's pages: what they say at each step, and that any setting can be drawn."""
import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs import LABS
from calculators.labs.sampling_picture import Picture
from calculators.models.base import Refusal
from calculators.pictures import NARROW, WIDE
from tests.calculators.drawings import assert_within, walls, words

ORDER, SUMS = LABS["sampling"].views


def page(client: Client, query: str = "") -> str:
    response = client.get(f"/labs/sampling?{query}")
    assert response.status_code == 200
    return response.content.decode()


def drawn(values: dict, step: int = 4) -> Picture:
    return ORDER.drawn(ORDER.show(ORDER.bind(values), str(step))).picture


@pytest.mark.django_db
def test_the_last_step_says_what_each_order_can_sample(client: Client):
    html = page(client, "step=4")
    assert "vLLM leaves A and B; Transformers leaves A, B and C." in html
    assert '<td data-name="A" class="num">0.7538</td>' in html
    assert '<th scope="row">llama.cpp <code>k p m T</code></th>' in html


@pytest.mark.django_db
def test_earlier_steps_hold_back_what_comes(client: Client):
    html = page(client, "step=1")
    assert "0.7538" not in html and "not shown yet" in html and "What can be sampled" not in html


@pytest.mark.django_db
def test_a_said_count_is_judged_and_explained(client: Client):
    html = page(client, "step=2&said_vLLM+keeps=4&said_Transformers+keeps=4")
    assert "Step 2: 1 of 2 right." in html
    assert "you said 4; it is 3</span>: min-p 0.1, at least 0.1 × 0.6562 = 0.0656 wide: A, B and C." in html


@pytest.mark.django_db
def test_tokens_that_cannot_be_read_are_named_beside_their_field(client: Client):
    html = page(client, "tokens=A:0.5,B:zero")
    assert "“B:zero” can&#x27;t be read" in html and "A:0.5,B:zero" in html.replace(", ", ",")


@pytest.mark.django_db
def test_the_sum_is_said_with_what_would_turn_it(client: Client):
    html = page(client, "view=determinism")
    assert "In 2 splits the logit comes to 258 and A wins; in one go or 5 splits the other token wins." in html


@pytest.mark.django_db
def test_the_exact_sum_is_known_as_a_slip(client: Client):
    assert "every partial sum is rounded to the format" in page(client, "view=determinism&ask=1&said=260")


def test_a_wall_stands_where_a_stage_cuts():
    made = drawn({})
    assert walls(made.wide) == 4  # min-p and top-p at the left; top-k and top-p at the right
    assert {"0.0656", "0.0696", "A, B", "A, B, C"} <= set(words(made.wide))


def test_a_bar_at_the_right_edge_keeps_its_figure_inside():
    # top-p leaves A alone, so min-p's bar stands at the whole width of the strip
    made = drawn({"min_p": 1, "top_k": 0, "top_p": 0.01})
    for drawing, width in ((made.wide, WIDE), (made.narrow, NARROW)):
        assert_within(drawing, width)
        assert "1.0000" in words(drawing)
        assert all(shape.anchor == "end" for shape in drawing.shapes if getattr(shape, "text", "") == "1.0000")



@pytest.mark.parametrize("preset", [*ORDER.presets, *SUMS.presets], ids=lambda preset: preset.name)
def test_every_preset_shows_what_its_note_claims(preset):
    view = ORDER if preset in ORDER.presets else SUMS
    _, result = view.run(preset.values)
    claims = {
        "six tokens": lambda: [len(chain.kept) for chain in result.known] == [2, 3, 4],
        "hot, top-k before top-p": lambda: (len(result.left.kept), len(result.right.kept)) == (3, 4),
        "a penalty moves the greedy token": lambda: result.left.kept == ("D",),
        "a tie at the k-th": lambda: len(result.left.kept) == 4,
        "bias and repetition": lambda: round(result.logits["A"], 3) == 1.1,
        "a grammar rules out the favourite": lambda: "A" not in result.left.kept,
        "at night, batch 1": lambda: (result.sum, result.winner) == (258, "A"),
        "by day, batch 64": lambda: (result.sum, result.winner) == (256, "B"),
        "batch invariant": lambda: (result.sum, result.winner) == (256, "B"),
        "one fp32 row": lambda: result.sum == 1 and result.exact == 2,
        "a long answer": lambda: round(result.agree_share, 3) == 0.368,
    }
    assert claims[preset.name]()


@settings(max_examples=50, deadline=None)
@given(
    step=st.integers(0, 5), count=st.integers(2, 12), temperature=st.floats(0, 10), min_p=st.floats(0, 1),
    top_k=st.integers(0, 100), top_p=st.floats(0.01, 1), left_order=st.permutations("Tmkp").map("".join),
    repetition_penalty=st.floats(0.1, 10), mark=st.sampled_from(("", "/3", "+P", "!-100", "!off")),
)
def test_every_setting_is_drawn_inside_its_picture(step: int, count: int, mark: str, **values: object):
    tokens = ",".join(f"T{at}:{1 / 2 ** (at + 1):.6f}{mark if at % 3 == 0 else ''}" for at in range(count))
    made = drawn(values | {"tokens": tokens, "draws": 10}, step)
    assert_within(made.wide, WIDE)
    assert_within(made.narrow, NARROW)


@settings(max_examples=40, deadline=None)
@given(values=st.lists(st.floats(-1e9, 1e9).map(lambda value: f"{value:.3f}"), min_size=2, max_size=24),
       number_format=st.sampled_from(("bf16", "fp32")), rival=st.floats(-1e9, 1e9), batch=st.integers(1, 1024),
       small_batch_splits=st.integers(1, 24), flip_fraction=st.floats(0, 0.01), text_tokens=st.integers(1, 2_000))
def test_every_sum_is_drawn_inside_its_picture(values: list[str], **knobs: object):
    given_values = {"values": ",".join(values)} | knobs
    try:
        SUMS.run(given_values)
    except Refusal:
        return
    made = SUMS.drawn(SUMS.show(SUMS.bind(given_values))).picture
    for drawing, width in ((made.wide, WIDE), (made.narrow, NARROW), (made.texts_wide, WIDE),
                           (made.texts_narrow, NARROW)):
        assert_within(drawing, width)
