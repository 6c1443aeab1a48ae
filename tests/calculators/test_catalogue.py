"""The catalogue: shapes against their published totals, rates against the step-time rule's figures."""
import pytest

from calculators.models.catalogue import BF16, FP8, GPUS, INT4, MODELS, NATIVE, NVFP4, Model, machine
from calculators.models.step_time import Machine


def parameters_of(model: Model) -> int:
    """A dense model's parameters from its shape: embedding, head, attention, a gated FFN, and the norms."""
    heads = model.head_dim * (2 * model.query_heads + 2 * model.kv_heads)
    layer = model.hidden * heads + 3 * model.hidden * model.ffn + 2 * model.hidden
    if model.name.startswith("Qwen3"):
        layer += 2 * model.head_dim  # a norm on the queries and one on the keys
    if model.name.startswith("Gemma"):
        layer += 2 * model.head_dim + 2 * model.hidden  # and norms behind attention and FFN
    return model.layers * layer + model.hidden + model.vocabulary * model.hidden * (1 if model.tied else 2)


@pytest.mark.parametrize("model", [m for m in MODELS.values() if not m.experts], ids=lambda model: model.name)
def test_a_dense_models_shape_adds_up_to_its_published_parameters(model: Model):
    assert parameters_of(model) == model.parameters


@pytest.mark.parametrize("model", [m for m in MODELS.values() if m.experts], ids=lambda model: model.name)
def test_the_experts_are_as_many_parameters_as_their_shape_says(model: Model):
    layers = model.layers - 3 * (model.name == "DeepSeek-V3")  # its first three layers have one FFN
    by_shape = layers * model.experts * 3 * model.hidden * model.ffn
    assert model.expert_parameters == pytest.approx(by_shape, rel=0.002)
    assert 0 < model.active_parameters < model.parameters


@pytest.mark.parametrize(("slug", "per_token"), [  # 2 × layers × KV heads × head size × 2 bytes, by hand
    ("qwen3-0.6b", 114_688), ("mistral-7b", 131_072), ("llama-3.1-8b", 131_072), ("qwen3-8b", 147_456),
    ("gpt-oss-20b", 49_152), ("gemma-3-27b", 507_904), ("qwen3-30b-a3b", 98_304), ("qwen3-32b", 262_144),
    ("mixtral-8x7b", 131_072), ("llama-3.1-70b", 327_680), ("gpt-oss-120b", 73_728), ("qwen3-235b-a22b", 192_512),
    ("llama-3.1-405b", 516_096), ("deepseek-v3", 70_272), ("llama-2-7b", 524_288),
])
def test_kv_bytes_per_token(slug: str, per_token: int):
    assert MODELS[slug].kv_bytes_per_token == per_token


@pytest.mark.parametrize(("slug", "form", "gb"), [
    ("llama-3.1-8b", BF16, 16.06), ("llama-3.1-8b", FP8, 9.08), ("llama-3.1-8b", INT4, 5.73),
    ("llama-3.1-8b", NVFP4, 6.03), ("llama-3.1-70b", FP8, 72.66), ("llama-3.1-70b", NVFP4, 42.71),
    ("gemma-3-27b", FP8, 28.42), ("deepseek-v3", NATIVE, 673), ("gpt-oss-120b", NATIVE, 65.25),
    ("qwen3-0.6b", NATIVE, 1.19),
])
def test_weight_bytes_keep_embedding_and_head_in_bf16(slug: str, form: str, gb: float):
    assert MODELS[slug].weight_bytes(form) / 1e9 == pytest.approx(gb, abs=0.006)


@pytest.mark.parametrize(("slug", "ridge"), [
    ("h100", 295), ("a100", 153), ("h200", 206), ("b200", 281), ("l40s", 419), ("mi300x", 247), ("l4", 403),
    ("a10", 208), ("rtx-4090", 164), ("a100-40", 201), ("h100-pcie", 378), ("h100-nvl", 214), ("gb200", 312),
])
def test_the_ridge_is_the_datasheets_rates_divided(slug: str, ridge: int):
    assert round(GPUS[slug].ridge) == ridge


def test_effective_rates_are_some_62_and_80_percent_of_the_peaks():
    for gpu in GPUS.values():
        assert gpu.effective_tflop_per_s / gpu.bf16_tflop_per_s == pytest.approx(0.62, abs=0.003)
        assert gpu.effective_tb_per_s / gpu.tb_per_s == pytest.approx(0.80, abs=0.002)


def test_the_8b_on_an_h100_is_the_step_time_rules_own_machine():
    assert machine("llama-3.1-8b", "h100") == Machine()
    assert machine("llama-3.1-8b", "h100", tflop_per_s=500, cpu_ms=0).flop_per_s == 500e12


def test_layers_of_a_mixed_model_repeat_their_pattern():
    gemma, oss = MODELS["gemma-3-27b"].kinds, MODELS["gpt-oss-120b"].kinds
    assert (gemma.count("full"), gemma.count("sliding"), gemma[5], gemma[-1]) == (10, 52, "full", "sliding")
    assert (oss.count("full"), oss.count("sliding"), oss[0]) == (18, 18, "sliding")


def test_a_gpu_without_a_format_multiplies_in_bf16():
    assert GPUS["a100"].tflop_per_s(FP8) == 312
    assert GPUS["h100"].tflop_per_s(FP8) == 1_979


def test_there_are_rows_enough_and_each_names_its_source():
    assert len(MODELS) >= 15 and len(GPUS) >= 12
    assert all("/" in model.source for model in MODELS.values())
    assert all(gpu.source.startswith("https://") for gpu in GPUS.values())
