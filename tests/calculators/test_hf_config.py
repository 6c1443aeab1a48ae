"""A config.json read: written by hand in the files' real form, against the catalogue's rows, whose parameters are the
published checkpoints' own."""
import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.answer import answer
from calculators.labs import LABS
from calculators.labs.base import MODEL_PASTE
from calculators.labs.row_field import RowField
from calculators.models.base import Refusal
from calculators.models.catalogue import MODELS
from calculators.models.hf_config import model_of, read, text_for
from calculators.stage import stage_of

CONFIGS = json.loads((Path(__file__).parents[1] / "golden/hf_configs.json").read_text())
LLAMA, DEEPSEEK, GPT_OSS = CONFIGS["llama-3.1-8b"], CONFIGS["deepseek-v3"], CONFIGS["gpt-oss-20b"]
VIEWS = [pytest.param(lab, view, id=f"{lab.slug}-{view.name}")
         for lab in LABS.values() for view in lab.views if MODEL_PASTE in view.pastes]
# Of Qwen/Qwen2.5-7B, whose checkpoint holds 7,615,616,512 parameters; the catalogue has no row of it.
QWEN_25 = {
    "architectures": ["Qwen2ForCausalLM"], "hidden_size": 3584, "intermediate_size": 18944, "model_type": "qwen2",
    "max_position_embeddings": 131072, "max_window_layers": 28, "num_attention_heads": 28, "num_hidden_layers": 28,
    "num_key_value_heads": 4, "sliding_window": 131072, "tie_word_embeddings": False, "use_sliding_window": False,
    "vocab_size": 152064,
}


def parsed(config: dict, **changes: object):
    return model_of(json.dumps(config | changes))


@pytest.mark.parametrize("slug", CONFIGS)
def test_the_catalogues_models_are_known_by_their_file(slug: str):
    model, row = parsed(CONFIGS[slug]), MODELS[slug]
    assert text_for(model) == slug
    assert (model.parameters, model.kinds, model.kv_bytes_per_token) == (
        row.parameters, row.kinds, row.kv_bytes_per_token)
    assert model.active_parameters == pytest.approx(row.active_parameters, rel=0.002)


def test_a_model_without_a_row_brings_all_its_numbers():
    model = MODELS[read(json.dumps(QWEN_25)).values["model"]]
    assert model.parameters == 7_615_616_512  # with a bias on Q, K and V
    assert (model.layers, model.kv_heads, model.pattern, model.name) == (28, 4, ("full",), "own 7.62B")
    assert model.kv_bytes_per_token == 57_344  # 2 × 28 × 4 × 128 × 2, by hand


@pytest.mark.parametrize(("told", "form", "gb"), [
    (None, "bf16", 0), ({"quant_method": "fp8"}, "fp8", 8.71), ({"quant_method": "awq", "bits": 4}, "int4", 5.57),
    ({"quant_method": "compressed-tensors", "config_groups": {"a": {"weights": {"num_bits": 8, "type": "float"}}}},
     "fp8", 8.71),
])
def test_the_weights_format_is_taken_along(told: dict | None, form: str, gb: float):
    pasted = read(json.dumps(QWEN_25 | {"quantization_config": told}))
    assert pasted.values["weights"] == form
    # embedding and head, 1.09B, in bf16; the other 6.53B at 8 or 4.15625 bits, by hand
    assert MODELS[pasted.values["model"]].native_bytes / 1e9 == pytest.approx(gb, abs=0.006)


def test_packed_experts_come_to_the_published_checkpoint():
    assert parsed(GPT_OSS).native_bytes / 1e9 == pytest.approx(13.76, abs=0.02)  # openai/gpt-oss-20b
    assert read(json.dumps(GPT_OSS)).values == {"model": "gpt-oss-20b", "weights": "native"}


def test_weights_that_are_not_sized_are_said_and_the_model_is_taken():
    pasted = read(json.dumps(LLAMA | {"quantization_config": {"quant_method": "bitsandbytes"}}))
    assert pasted.values == {"model": "llama-3.1-8b"}
    assert pasted.faults == ("Weights packed by bitsandbytes are not sized here; choose their format.",)


def test_another_context_is_the_row_with_another_context():
    text = text_for(parsed(LLAMA, max_position_embeddings=8_192))
    assert text == "llama-3.1-8b,longest_context:8192"


def test_the_upper_layers_of_a_windowed_qwen_have_the_window():
    model = parsed(QWEN_25, use_sliding_window=True, sliding_window=4_096, max_window_layers=20)
    assert (model.kinds.count("full"), model.kinds.count("sliding"), model.window) == (20, 8, 4_096)


def test_listed_layers_count_before_the_familys_own():
    listed = ["full_attention"] * 3 + ["sliding_attention"]
    model = parsed(GPT_OSS, layer_types=listed * 6)
    assert model.pattern == ("full", "full", "full", "sliding")


def test_the_first_layers_of_a_latent_model_have_one_ffn():
    less = parsed(DEEPSEEK).parameters - parsed(DEEPSEEK, first_k_dense_replace=4).parameters
    # one layer's experts, router with its bias and shared expert against an FFN 18,432 wide, by hand
    assert less == 257 * 3 * 7168 * 2048 + 7168 * 256 + 256 - 3 * 7168 * 18432


@pytest.mark.parametrize(("text", "sentence"), [
    ("", "This is no JSON: it breaks in line 1, column 1."),
    ('{"a": 1,\n "b" 2}', "This is no JSON: it breaks in line 2, column 6."),
    ("[1]", "A config.json is an object"),
    ("{}", "It lacks “architectures”"),
    ('{"architectures": "LlamaForCausalLM"}', "It lacks “architectures”"),
    ('{"architectures": ["FalconMambaForCausalLM"]}', "FalconMambaForCausalLM is not modelled here; LlamaForCausalLM,"),
    ('{"architectures": ["LlamaForCausalLM"]}',
     "LlamaForCausalLM also needs num_hidden_layers, hidden_size, num_attention_heads, vocab_size, intermediate_size, "
     "max_position_embeddings, which the file lacks."),
    ("[" * 100_000, "This is nested too deeply"),
    ('{"a": ' + "9" * 5_000 + "}", "A number in it is too long to be read."),
])
def test_what_is_no_config_is_said(text: str, sentence: str):
    (fault,) = read(text).faults
    assert fault.startswith(sentence) and read(text).values == {}


@pytest.mark.parametrize(("config", "changes", "sentence"), [
    (LLAMA, {"num_hidden_layers": None}, "LlamaForCausalLM also needs num_hidden_layers, which the file lacks."),
    (LLAMA, {"num_hidden_layers": "32"}, "num_hidden_layers is no whole number."),
    (LLAMA, {"num_hidden_layers": 1e9}, "num_hidden_layers is no whole number."),
    (LLAMA, {"num_hidden_layers": 10**9}, "num_hidden_layers is 1,000,000,000; at most 512 are modelled."),
    (LLAMA, {"num_hidden_layers": 0}, "num_hidden_layers is 0."),
    (LLAMA, {"hidden_size": True}, "hidden_size is no whole number."),
    (LLAMA, {"num_key_value_heads": 5}, "5 KV heads don't divide 32 query heads."),
    (LLAMA, {"num_attention_heads": 5_000}, "query heads takes a whole number from 1 to 1,024."),
    (DEEPSEEK, {"kv_lora_rank": None}, "DeepseekV3ForCausalLM also needs kv_lora_rank, which the file lacks."),
    (CONFIGS["mixtral-8x7b"], {"num_experts_per_tok": 8}, "Of 8 experts a token takes at least one and not all."),
    (GPT_OSS, {"layer_types": ["linear_attention"] * 24}, "Layers of type linear_attention are not modelled here"),
    (GPT_OSS, {"layer_types": ["full_attention"]}, "layer_types lists 1 layers and num_hidden_layers says 24."),
    (GPT_OSS, {"layer_types": [1]}, "layer_types is no list of names."),
    (CONFIGS["qwen3-30b-a3b"], {"mlp_only_layers": [0]}, "Some layers of it have no experts"),
])
def test_what_is_missing_or_odd_is_named(config: dict, changes: dict, sentence: str):
    with pytest.raises(Refusal, match=sentence.replace(".", r"\.").replace("(", r"\(")):
        parsed(config, **changes)


ANY = st.none() | st.booleans() | st.integers(-5, 10**6) | st.floats() | st.text(max_size=5) | st.lists(
    st.sampled_from(["full_attention", "sliding_attention", 0, 1, None]), max_size=30)


@given(slug=st.sampled_from(list(CONFIGS)), data=st.data())
def test_any_change_is_read_or_refused(slug: str, data: st.DataObject):
    config = CONFIGS[slug]
    inner = config.get("text_config", config)
    changes = data.draw(st.dictionaries(st.sampled_from([*inner, "layer_types", "no_rope_layers", "head_dim",
                                                         "sliding_window_pattern"]), ANY, max_size=3))
    pasted = read(json.dumps(config | {"text_config": inner | changes} if "text_config" in config else inner | changes))
    assert pasted.faults or MODELS[pasted.values["model"]].parameters > 0


@pytest.mark.parametrize(("lab", "view"), VIEWS)
def test_every_lab_with_a_model_takes_a_config(lab, view, client: Client):
    sent = {"view": view.name, "paste": "config", "pasted": json.dumps(QWEN_25)}
    response = client.post(f"/labs/{lab.slug}/paste", sent)
    assert response.status_code == 302 and "model=own,parameters:7.615616512,layers:28" in response["Location"]
    form = view.bind({"model": read(sent["pasted"]).values["model"]})
    assert view.show(form) or set(form.errors) == {"checkpoint"}  # serve-command asks which one it is


@pytest.mark.django_db
def test_a_model_that_a_lab_cannot_follow_is_refused_there(client: Client):
    sent = {"paste": "config", "pasted": json.dumps(CONFIGS["gemma-3-27b"])}
    html = client.post("/labs/batch-ceilings/paste", sent).content.decode()
    assert "Here a layer keeps every token; layers of this model keep a sliding window." in html
    assert "Gemma3ForConditionalGeneration" in html  # what was pasted stays


@pytest.mark.django_db
def test_a_config_that_cannot_be_read_is_said_beside_it_and_not_beside_the_log(client: Client):
    html = client.post("/labs/memory-ledger/paste", {"paste": "config", "pasted": "{<b>}"}).content.decode()
    assert "This is no JSON: it breaks in line 1, column 2." in html and "{&lt;b&gt;}" in html
    assert html.count('id="paste-faults"') == 1 and html.count("{&lt;b&gt;}") == 1
    assert client.post("/labs/memory-ledger/paste", {"paste": "nonsense", "pasted": "{}"}).status_code == 404


def test_the_command_takes_a_file(tmp_path: Path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps(QWEN_25))
    out = StringIO()
    call_command("lab", "kv-size", "--model-config", str(file), "--set", "pool_gib=20", stdout=out)
    assert out.getvalue().startswith("own 7.62B keeps 56 KiB a token")


@pytest.mark.parametrize(("lab", "content", "sentence"), [
    ("kv-size", b"{}", "It lacks “architectures”"), ("kv-size", b"\xff\xfe", "can't be read: it is no text"),
    ("kv-size", None, "can't be read: No such file"), ("scheduler", b"{}", "asks for no model"),
])
def test_the_command_says_what_is_wrong_with_the_file(lab: str, content: bytes | None, sentence: str, tmp_path: Path):
    file = tmp_path / "config.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(CommandError, match=sentence):
        call_command("lab", lab, "--model-config", str(file))


def test_numbers_typed_beside_a_choice_reach_the_page_and_the_command(client: Client):
    given_ = {"model": "llama-3.1-8b", "model.layers": "40", "gpu.tb_per_s": "4", "gpu.nominal_gb": ""}
    answer = client.get("/labs/kv-size.json", given_).json()
    assert answer["inputs"]["model"] == "llama-3.1-8b,layers:40" and answer["inputs"]["gpu"] == "h100,tb_per_s:4"
    out = StringIO()
    call_command("lab", "kv-size", "--set", "model.layers=40", "--set", "gpu.tb_per_s=4", "--json", stdout=out)
    assert json.loads(out.getvalue()) == answer


@pytest.mark.django_db
def test_a_typed_number_stays_in_its_field_and_in_the_links(client: Client):
    page = client.get("/labs/kv-size", {"model.layers": "4,0"})
    html = page.content.decode()
    assert page.context["stage"].here == "/labs/kv-size?model=llama-3.1-8b,layers:40"
    assert 'name="model.layers" value="40"' in html
    assert "Llama-3.1-8B: parameters 8.03 B, layers 32" in html and "From meta-llama/Llama-3.1-8B." in html
    fault = client.get("/labs/kv-size", {"model.layers": "many"})
    assert "layers takes a whole number from 1 to 512." in fault.content.decode()
    assert 'name="model.layers" value="many"' in fault.content.decode()


WITH_ROWS = [(lab, view) for lab in LABS.values() for view in lab.views
             if any(isinstance(field, RowField) for field in view.form.base_fields.values())]


@given(place=st.integers(0, len(WITH_ROWS) - 1), data=st.data())
@settings(max_examples=40)
def test_any_numbers_of_ones_own_are_drawn_or_refused(place: int, data: st.DataObject):
    lab, view = WITH_ROWS[place]
    values: dict[str, str] = {}
    for name, field in view.form.base_fields.items():
        if isinstance(field, RowField):
            values[name] = data.draw(st.sampled_from(list(field.rows)))
            parts = {part.name: part for part in field.rows.parts}
            for part in map(parts.get, data.draw(st.lists(st.sampled_from(sorted(parts)), max_size=3, unique=True))):
                number = data.draw(st.sampled_from([part.low, part.high]) | st.floats(part.low, part.high))
                letters = data.draw(st.text("fscm", min_size=1, max_size=4))
                typed = letters if part.letters else str(int(number)) if part.whole else f"{number:.4f}"
                values[f"{name}.{part.name}"] = typed
    form = view.bind(values)
    if (shown := view.show(form)) is None:
        assert form.errors
        return
    assert view.drawn(shown) and view.summary(shown.inputs) is not None
    said = json.dumps(answer(view, values))
    assert "NaN" not in said and '"inf"' not in said and '"nan"' not in said
    assert stage_of(lab, values | {"view": view.name}).here == lab.address(view, shown.inputs)
