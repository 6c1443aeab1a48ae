"""Models and GPUs by slug: the shapes and rates that every lab starts from, each row with its source."""
from calculators.models.catalogue_rows import (
    BF16,
    BITS,
    CHUNKED_LOCAL,
    FP8,
    FULL,
    GPU_PARTS,
    INT4,
    LINEAR,
    MLA,
    MODEL_PARTS,
    NATIVE,
    NVFP4,
    OWN,
    SLIDING,
    Gpu,
    Model,
    Rows,
    own_gpu,
    own_model,
)
from calculators.models.step_time import Machine

__all__ = ["BF16", "BITS", "CHUNKED_LOCAL", "FP8", "FULL", "GPUS", "INT4", "LINEAR", "MLA", "MODELS", "NATIVE", "NVFP4",
           "OWN", "SLIDING", "Gpu", "Model", "machine"]

MODELS: Rows[Model] = Rows({
    "qwen3-0.6b": Model(
        name="Qwen3-0.6B", source="Qwen/Qwen3-0.6B", parameters=596_049_920, layers=28, query_heads=16, kv_heads=8,
        hidden=1_024, ffn=3_072, vocabulary=151_936, tied=True, longest_context=40_960,
    ),
    "llama-2-7b": Model(
        name="Llama-2-7B", source="meta-llama/Llama-2-7b-hf", parameters=6_738_415_616, layers=32, query_heads=32,
        kv_heads=32, hidden=4_096, ffn=11_008, vocabulary=32_000, longest_context=4_096,
    ),
    "mistral-7b-v0.1": Model(
        name="Mistral-7B-v0.1", source="mistralai/Mistral-7B-v0.1", parameters=7_241_732_096, layers=32,
        query_heads=32, kv_heads=8, hidden=4_096, ffn=14_336, vocabulary=32_000, pattern=(SLIDING,), window=4_096,
        longest_context=32_768,
    ),
    "mistral-7b": Model(
        name="Mistral-7B-v0.3", source="mistralai/Mistral-7B-v0.3", parameters=7_248_023_552, layers=32,
        query_heads=32, kv_heads=8, hidden=4_096, ffn=14_336, vocabulary=32_768, longest_context=32_768,
    ),
    "llama-3.1-8b": Model(
        name="Llama-3.1-8B", source="meta-llama/Llama-3.1-8B", parameters=8_030_261_248, layers=32, query_heads=32,
        kv_heads=8, hidden=4_096, ffn=14_336, vocabulary=128_256,
    ),
    "qwen3-8b": Model(
        name="Qwen3-8B", source="Qwen/Qwen3-8B", parameters=8_190_735_360, layers=36, query_heads=32, kv_heads=8,
        hidden=4_096, ffn=12_288, vocabulary=151_936, longest_context=40_960,
    ),
    "qwen3-14b": Model(
        name="Qwen3-14B", source="Qwen/Qwen3-14B", parameters=14_768_307_200, layers=40, query_heads=40, kv_heads=8,
        hidden=5_120, ffn=17_408, vocabulary=151_936, longest_context=40_960,
    ),
    "gpt-oss-20b": Model(
        name="gpt-oss-20b", source="openai/gpt-oss-20b", parameters=20_914_757_184, active_parameters=4_190_000_000,
        layers=24, query_heads=64, kv_heads=8, head_dim=64, hidden=2_880, ffn=2_880, vocabulary=201_088, experts=32,
        experts_per_token=4, pattern=(SLIDING, FULL), window=128, native_bytes=13.76e9,
    ),
    "gemma-3-27b": Model(
        name="Gemma-3-27B", source="google/gemma-3-27b-it", parameters=27_009_346_304, layers=62, query_heads=32,
        kv_heads=16, hidden=5_376, ffn=21_504, vocabulary=262_208, tied=True, pattern=(SLIDING,) * 5 + (FULL,),
        window=1_024,
    ),
    "qwen3-30b-a3b": Model(
        name="Qwen3-30B-A3B", source="Qwen/Qwen3-30B-A3B", parameters=30_532_122_624, active_parameters=3_350_000_000,
        layers=48, query_heads=32, kv_heads=4, hidden=2_048, ffn=768, vocabulary=151_936, experts=128,
        experts_per_token=8, longest_context=40_960,
    ),
    "qwen3-32b": Model(
        name="Qwen3-32B", source="Qwen/Qwen3-32B", parameters=32_762_123_264, layers=64, query_heads=64, kv_heads=8,
        hidden=5_120, ffn=25_600, vocabulary=151_936, longest_context=40_960,
    ),
    "mixtral-8x7b": Model(
        name="Mixtral-8x7B", source="mistralai/Mixtral-8x7B-v0.1", parameters=46_702_792_704,
        active_parameters=12_880_000_000, layers=32, query_heads=32, kv_heads=8, hidden=4_096, ffn=14_336,
        vocabulary=32_000, experts=8, experts_per_token=2, longest_context=32_768,
    ),
    "llama-3.1-70b": Model(
        name="Llama-3.1-70B", source="meta-llama/Llama-3.1-70B", parameters=70_553_706_496, layers=80, query_heads=64,
        kv_heads=8, hidden=8_192, ffn=28_672, vocabulary=128_256,
    ),
    "llama-4-scout": Model(
        name="Llama-4-Scout", source="meta-llama/Llama-4-Scout-17B-16E-Instruct", parameters=107_769_861_120,
        active_parameters=17_170_000_000, layers=48, query_heads=40, kv_heads=8, hidden=5_120, ffn=8_192,
        vocabulary=202_048, experts=16, experts_per_token=1, pattern=(CHUNKED_LOCAL,) * 3 + (FULL,), window=8_192,
        longest_context=10_485_760,
    ),
    "gpt-oss-120b": Model(
        name="gpt-oss-120b", source="openai/gpt-oss-120b", parameters=116_829_156_672, active_parameters=5_710_000_000,
        layers=36, query_heads=64, kv_heads=8, head_dim=64, hidden=2_880, ffn=2_880, vocabulary=201_088, experts=128,
        experts_per_token=4, pattern=(SLIDING, FULL), window=128, native_bytes=65.25e9,
    ),
    "qwen3-235b-a22b": Model(
        name="Qwen3-235B-A22B", source="Qwen/Qwen3-235B-A22B", parameters=235_093_634_560,
        active_parameters=22_190_000_000, layers=94, query_heads=64, kv_heads=4, hidden=4_096, ffn=1_536,
        vocabulary=151_936, experts=128, experts_per_token=8, longest_context=40_960,
    ),
    "llama-3.1-405b": Model(
        name="Llama-3.1-405B", source="meta-llama/Llama-3.1-405B", parameters=405_853_388_800, layers=126,
        query_heads=128, kv_heads=8, hidden=16_384, ffn=53_248, vocabulary=128_256,
    ),
    "deepseek-v3": Model(
        name="DeepSeek-V3", source="deepseek-ai/DeepSeek-V3", parameters=671_026_419_200,
        active_parameters=37_550_000_000, layers=61, query_heads=128, kv_heads=1, head_dim=192, v_head_dim=128,
        hidden=7_168, ffn=2_048, vocabulary=129_280, experts=256, experts_per_token=8, pattern=(MLA,), latent=512,
        rope=64, longest_context=163_840, native_bytes=673e9,
    ),
}, MODEL_PARTS, own_model)

NVIDIA = "https://www.nvidia.com/en-us/data-center/"
# Rates are of the vendors' pages; visible memory is the total that torch printed in public out-of-memory messages.
GPUS: Rows[Gpu] = Rows({
    "l4": Gpu(
        name="L4", source=f"{NVIDIA}l4/", nominal_gb=24, visible_gib=22.05, multiprocessors=58, tb_per_s=0.30,
        bf16_tflop_per_s=121, fp8_tflop_per_s=242, effective_tflop_per_s=75, effective_tb_per_s=0.24, pcie_gb_per_s=32,
    ),
    "a10": Gpu(
        name="A10", source=f"{NVIDIA}products/a10-gpu/", nominal_gb=24, visible_gib=22.06, multiprocessors=72,
        tb_per_s=0.6, bf16_tflop_per_s=125, effective_tflop_per_s=77.5, effective_tb_per_s=0.48, pcie_gb_per_s=32,
    ),
    "rtx-4090": Gpu(
        name="RTX 4090", source="https://www.nvidia.com/en-us/geforce/graphics-cards/40-series/rtx-4090/",
        nominal_gb=24, visible_gib=23.6, multiprocessors=128, tb_per_s=1.008, bf16_tflop_per_s=165, fp8_tflop_per_s=330,
        effective_tflop_per_s=102, effective_tb_per_s=0.806, pcie_gb_per_s=32,
    ),
    "l40s": Gpu(
        name="L40S", source=f"{NVIDIA}l40s/", nominal_gb=48, visible_gib=44.4, multiprocessors=142, tb_per_s=0.864,
        bf16_tflop_per_s=362, fp8_tflop_per_s=733, effective_tflop_per_s=224, effective_tb_per_s=0.691,
        pcie_gb_per_s=32,
    ),
    "rtx-pro-6000": Gpu(
        name="RTX PRO 6000", source="https://www.nvidia.com/en-us/products/workstations/professional-desktop-gpus/"
        "rtx-pro-6000/", nominal_gb=96, visible_gib=94.97, multiprocessors=188, tb_per_s=1.792, bf16_tflop_per_s=504,
        fp8_tflop_per_s=1_008, fp4_tflop_per_s=2_015, effective_tflop_per_s=312, effective_tb_per_s=1.434,
    ),
    "a100-40": Gpu(
        name="A100 40GB", source=f"{NVIDIA}a100/", nominal_gb=40, visible_gib=39.5, multiprocessors=108, tb_per_s=1.555,
        bf16_tflop_per_s=312, effective_tflop_per_s=193, effective_tb_per_s=1.244, nvlink_gb_per_s=600,
        pcie_gb_per_s=32,
    ),
    "a100": Gpu(
        name="A100", source=f"{NVIDIA}a100/", nominal_gb=80, visible_gib=79.2, multiprocessors=108, tb_per_s=2.04,
        bf16_tflop_per_s=312, effective_tflop_per_s=193, effective_tb_per_s=1.63, nvlink_gb_per_s=600, pcie_gb_per_s=32,
    ),
    "h100-pcie": Gpu(
        name="H100 PCIe", source=f"{NVIDIA}h100/", nominal_gb=80, visible_gib=79.1, multiprocessors=114, tb_per_s=2.0,
        bf16_tflop_per_s=756, fp8_tflop_per_s=1_513, effective_tflop_per_s=469, effective_tb_per_s=1.6,
        nvlink_gb_per_s=600,
    ),
    "h100": Gpu(
        name="H100", source=f"{NVIDIA}h100/", nominal_gb=80, visible_gib=79.19, multiprocessors=132, tb_per_s=3.35,
        bf16_tflop_per_s=989, fp8_tflop_per_s=1_979, effective_tflop_per_s=615, effective_tb_per_s=2.68,
        nvlink_gb_per_s=900,
    ),
    "h100-nvl": Gpu(
        name="H100 NVL", source=f"{NVIDIA}h100/", nominal_gb=94, visible_gib=93.0, multiprocessors=132, tb_per_s=3.9,
        bf16_tflop_per_s=835, fp8_tflop_per_s=1_671, effective_tflop_per_s=518, effective_tb_per_s=3.12,
        nvlink_gb_per_s=600,
    ),
    "h200": Gpu(
        name="H200", source=f"{NVIDIA}h200/", nominal_gb=141, visible_gib=139.8, multiprocessors=132, tb_per_s=4.8,
        bf16_tflop_per_s=989, fp8_tflop_per_s=1_979, effective_tflop_per_s=615, effective_tb_per_s=3.84,
        nvlink_gb_per_s=900,
    ),
    "b200": Gpu(
        name="B200", source=f"{NVIDIA}hgx/", nominal_gb=180, visible_gib=178.35, multiprocessors=148, tb_per_s=8.0,
        bf16_tflop_per_s=2_250, fp8_tflop_per_s=4_500, fp4_tflop_per_s=9_000, effective_tflop_per_s=1_395,
        effective_tb_per_s=6.4, nvlink_gb_per_s=1_800,
    ),
    "gb200": Gpu(
        name="GB200", source=f"{NVIDIA}gb200-nvl72/", nominal_gb=186, visible_gib=184.31, multiprocessors=148,
        tb_per_s=8.0, bf16_tflop_per_s=2_500, fp8_tflop_per_s=5_000, fp4_tflop_per_s=10_000,
        effective_tflop_per_s=1_550, effective_tb_per_s=6.4, nvlink_gb_per_s=1_800,
    ),
    "mi300x": Gpu(
        name="MI300X", source="https://www.amd.com/en/products/accelerators/instinct/mi300/mi300x.html", nominal_gb=192,
        visible_gib=191.98, multiprocessors=304, tb_per_s=5.3, bf16_tflop_per_s=1_307, fp8_tflop_per_s=2_615,
        effective_tflop_per_s=810, effective_tb_per_s=4.24, nvlink_gb_per_s=896,
    ),
}, GPU_PARTS, own_gpu)


def machine(model: str, gpu: str, *, tflop_per_s: float | None = None, tb_per_s: float | None = None,
            cpu_ms: float = 0.9) -> Machine:
    """The step-time rule's view of a model in bf16 on a GPU; an empty rate is the GPU's effective one.

    Parameters are taken to three figures, as they are said aloud.
    """
    chosen, card = MODELS[model], GPUS[gpu]
    parameters, computed = (float(f"{count:.3g}") for count in (chosen.parameters, chosen.computed_parameters))
    return Machine(
        parameters=computed, weight_bytes=2 * parameters, kv_bytes_per_token=chosen.kv_bytes_per_token,
        attention_flop_per_pair=chosen.attention_flop_per_pair,
        flop_per_s=(tflop_per_s or card.effective_tflop_per_s) * 1e12,
        bytes_per_s=(tb_per_s or card.effective_tb_per_s) * 1e12, cpu_ms=cpu_ms,
    )
