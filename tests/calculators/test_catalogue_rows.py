"""Rows with numbers of one's own: what is changed, what follows, and what is refused in words."""
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calculators.models.base import Refusal
from calculators.models.catalogue import GPUS, MODELS
from calculators.models.catalogue_rows import GPU_PARTS, MODEL_PARTS, joined


def test_a_number_changes_alone():
    own, listed = MODELS["llama-3.1-8b,layers:40,kv_heads:4"], MODELS["llama-3.1-8b"]
    assert own == replace(listed, name="Llama-3.1-8B*", layers=40, kv_heads=4)
    assert own.parameters == 8_030_261_248


def test_parameters_are_typed_in_billions_and_sizes_in_gb():
    own = MODELS["llama-3.1-8b,parameters:8.1,native_bytes:9.05"]
    assert (own.parameters, own.native_bytes) == (8_100_000_000, 9_050_000_000)


def test_what_is_reached_in_practice_follows_the_peak_unless_it_is_given():
    assert GPUS["h100,tb_per_s:4"].effective_tb_per_s == pytest.approx(3.2)  # 80%
    assert GPUS["h100,bf16_tflop_per_s:500"].effective_tflop_per_s == pytest.approx(310)  # 62%
    assert GPUS["h100,tb_per_s:4,effective_tb_per_s:3"].effective_tb_per_s == 3


def test_the_shortest_text_leaves_out_what_the_row_has_anyway():
    assert MODELS.shortest("llama-3.1-8b,layers:32,parameters:8.030261248") == "llama-3.1-8b"
    assert MODELS.shortest("llama-3.1-8b, window: 0 , kv_heads:04,layers:32") == "llama-3.1-8b,kv_heads:4"
    assert MODELS["llama-3.1-8b,layers:32"] == MODELS["llama-3.1-8b"]


@pytest.mark.parametrize("rows", [MODELS, GPUS], ids=["models", "gpus"])
def test_every_row_can_be_typed_whole(rows):
    for row in rows.values():
        typed = rows[rows.described(row)]
        assert replace(typed, name=row.name, source=row.source) == row


def test_a_part_of_the_rows_reads_what_the_whole_reads():
    dense = MODELS.only(lambda model: not model.experts)
    assert "mixtral-8x7b" not in dense and "llama-3.1-8b" in dense
    assert dense["llama-3.1-8b,layers:40"].layers == 40
    assert dense.only(lambda model: model.tied)["llama-3.1-8b,layers:40"].layers == 40


@pytest.mark.parametrize(("text", "sentence"), [
    ("llama-3.1-8b,layers:0", "layers takes a whole number from 1 to 512."),
    ("llama-3.1-8b,layers:1.5", "layers takes a whole number"),
    ("llama-3.1-8b,layers", "layers takes a whole number"),
    ("llama-3.1-8b,layers:-3", "layers takes a whole number"),
    ("llama-3.1-8b,layers:٣", "layers takes a whole number"),
    ("llama-3.1-8b,window:nan", "window takes a whole number"),
    ("llama-3.1-8b,depth:3", "A row has no depth; it has parameters, active_parameters, layers"),
    ("llama-3.1-8b,kv_heads:5", "5 KV heads don't divide 32 query heads."),
    ("llama-3.1-8b,vocabulary:4000000", "Embedding and head alone are 32.8B parameters, more than the 8.03B in all."),
    ("llama-3.1-8b,pattern:sf", "Windowed layers need a window of two tokens or more."),
    ("llama-3.1-8b,pattern:fx", "layers keep takes a letter for each layer that repeats"),
    ("llama-3.1-8b,pattern:m", "Latent layers need the size of their latent"),
    ("llama-3.1-8b,latent:512", "Latent layers need the size of their latent, and other layers have none."),
    ("deepseek-v3,pattern:mf", "Latent layers beside layers of another kind are not modelled here."),
    ("deepseek-v3,experts_per_token:256", "Of 256 experts a token takes at least one and not all."),
    ("deepseek-v3,active_parameters:0", "With experts, the active parameters are fewer than the parameters"),
    ("llama-3.1-8b,active_parameters:2", "Without experts every parameter is active"),
    ("own,layers:32", "Numbers of one's own still lack: parameters, query heads, KV heads, hidden, FFN"),
])
def test_what_cannot_be_is_refused_in_words(text: str, sentence: str):
    with pytest.raises(Refusal, match=sentence.replace(".", r"\.")):
        MODELS[text]


def test_an_unknown_slug_is_no_row():
    for text in ("no-such-model", "no-such-model,layers:3", "", ","):
        with pytest.raises(KeyError):
            MODELS[text]


@given(changes=st.dictionaries(
    st.sampled_from([part.name for part in MODEL_PARTS]) | st.text(max_size=8),
    st.integers(-3, 10**7).map(str) | st.floats().map(str) | st.text(max_size=8) | st.sampled_from(["fs", "m", "c"]),
    max_size=6), slug=st.sampled_from([*MODELS, "own"]))
def test_any_text_is_a_row_or_refused(changes: dict[str, str], slug: str):
    text = joined(slug, changes)
    try:
        model = MODELS[text]
    except (Refusal, KeyError):
        return
    assert model.weight_bytes("int4") > 0 and model.kv_bytes_per_token > 0 and model.expert_parameters >= 0
    again = MODELS[MODELS.shortest(text)]
    assert replace(again, name="") == replace(model, name="")


@given(part=st.sampled_from(GPU_PARTS), value=st.floats(0.01, 100_000))
def test_a_gpus_number_is_written_as_it_is_read(part, value: float):
    try:
        read = part.read(f"{value:.6f}")
    except Refusal:
        return
    assert part.read(part.write(read)) == read
