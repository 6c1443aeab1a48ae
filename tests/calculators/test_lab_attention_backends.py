"""The attention-backends lab's page: the walk in words, the slip that is named, and that any list can be drawn."""
import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs import LABS
from calculators.labs.cuda_graphs_picture import Picture
from calculators.models.base import Refusal
from calculators.pictures import NARROW, WIDE, Bar
from tests.calculators.drawings import assert_within, words

VIEW = LABS["attention-backends"].views[0]


def page(client: Client, query: str = "") -> str:
    response = client.get(f"/labs/attention-backends?{query}")
    assert response.status_code == 200
    return response.content.decode()


def drawn(values: dict) -> Picture:
    return VIEW.drawn(VIEW.show(VIEW.bind(values))).picture


@pytest.mark.django_db
def test_the_page_says_what_is_chosen_and_why(client: Client):
    html = page(client)
    assert "FLASHMLA, since FLASH_ATTN_MLA is ruled out: kv_cache_dtype not supported." in html
    assert '<th scope="row">FLASH_ATTN_MLA</th><td class="num">kv_cache_dtype not supported</td>' in html


@pytest.mark.django_db
def test_a_wrong_backend_is_told_what_speaks_against_it(client: Client):
    assert "FLASH_ATTN_MLA is ruled out: kv_cache_dtype not supported." in page(client, "said=FLASH_ATTN_MLA")
    assert "TRITON_MLA would hold; FLASHMLA stands before it." in page(client, "said=TRITON_MLA")


@pytest.mark.django_db
def test_the_engines_words_stand_on_the_page(client: Client):
    assert "--block-size 16 precluded higher-priority backend(s) FLASHMLA." in page(client, "block_size=16")
    assert "Selected backend CUTLASS_MLA is not valid for this configuration." in page(client, "backend=CUTLASS_MLA")


def test_one_box_a_candidate_and_one_of_them_chosen():
    ladder = drawn({}).parts[0].wide
    looks = [shape.css for shape in ladder.shapes if isinstance(shape, Bar)]
    assert looks == ["never", "result", "never", "hollow"]
    assert {"FLASHMLA", "chosen", "would hold"} <= set(words(ladder))


@pytest.mark.parametrize(("name", "backend", "mode"), [
    ("DeepSeek-V3, FP8 KV, H100", "FLASHMLA", "FULL_AND_PIECEWISE"),
    ("DeepSeek-V3, B200", "FLASHINFER_MLA", "FULL_AND_PIECEWISE"),
    ("Llama, B200, air-gapped", "FLASHINFER", "PIECEWISE"), ("Llama, FP8 KV, L40S", "FLASHINFER", "FULL_AND_PIECEWISE"),
    ("Llama, T4", "TRITON_ATTN", "FULL_AND_PIECEWISE"),
    ("--block-size 16 with MLA", "TRITON_MLA", "FULL_AND_PIECEWISE"),
])
def test_presets_show_what_their_notes_claim(name: str, backend: str, mode: str):
    _, result = VIEW.run(next(preset for preset in VIEW.presets if preset.name == name).values)
    assert (result.backend, result.mode) == (backend, mode)


@settings(max_examples=40, deadline=None)
@given(
    capability=st.sampled_from(("7.5", "8.9", "9.0", "10.0", "12.0")), use_mla=st.booleans(),
    head_size=st.integers(8, 1_024), kv_cache_dtype=st.sampled_from(("bfloat16", "fp8", "nvfp4")),
    block_size=st.none() | st.integers(1, 1_024), non_causal=st.booleans(), batch_invariant=st.booleans(),
)
def test_every_list_is_drawn_inside_its_picture(**values: object):
    try:
        VIEW.run(values)
    except Refusal:
        return
    made = drawn(values)
    for part in (*made.parts, made.side):
        assert_within(part.wide, WIDE)
        assert_within(part.narrow, NARROW)
