"""Models by the name that a log gives: the catalogue's, and the shapes of further dense ones."""
import re

from calculators.models.catalogue import MODELS, Model


def dense(source: str, layers: int, hidden: int, ffn: int, heads: tuple[int, int], vocabulary: int,
          longest_context: int, *, head_dim: int = 128, tied: bool = False, biased: bool = False,
          normed: bool = False) -> Model:
    """A dense model from its config.json: embedding, head, attention with its biases or norms, a gated FFN, norms."""
    queries, keys = heads
    layer = hidden * head_dim * 2 * (queries + keys) + 3 * hidden * ffn + 2 * hidden
    layer += head_dim * (queries + 2 * keys) if biased else 2 * head_dim if normed else 0
    return Model(
        name=source.rpartition("/")[2], source=source, layers=layers, query_heads=queries, kv_heads=keys,
        head_dim=head_dim, hidden=hidden, ffn=ffn, vocabulary=vocabulary, tied=tied, longest_context=longest_context,
        parameters=layers * layer + hidden + vocabulary * hidden * (1 if tied else 2),
    )


FURTHER = (
    dense("meta-llama/Llama-3.2-1B", 16, 2_048, 8_192, (32, 8), 128_256, 131_072, head_dim=64, tied=True),
    dense("meta-llama/Llama-3.2-3B", 28, 3_072, 8_192, (24, 8), 128_256, 131_072, tied=True),
    dense("codellama/CodeLlama-7b", 32, 4_096, 11_008, (32, 32), 32_016, 16_384),
    dense("codellama/CodeLlama-34b", 48, 8_192, 22_016, (64, 8), 32_000, 16_384),
    dense("meta-llama/Llama-2-13b", 40, 5_120, 13_824, (40, 40), 32_000, 4_096),
    dense("meta-llama/Llama-2-70b", 80, 8_192, 28_672, (64, 8), 32_000, 4_096),
    dense("Qwen/Qwen2.5-0.5B", 24, 896, 4_864, (14, 2), 151_936, 32_768, head_dim=64, tied=True, biased=True),
    dense("Qwen/Qwen2.5-1.5B", 28, 1_536, 8_960, (12, 2), 151_936, 32_768, tied=True, biased=True),
    dense("Qwen/Qwen2.5-3B", 36, 2_048, 11_008, (16, 2), 151_936, 32_768, tied=True, biased=True),
    dense("Qwen/Qwen2.5-7B", 28, 3_584, 18_944, (28, 4), 152_064, 32_768, biased=True),
    dense("Qwen/Qwen2.5-14B", 48, 5_120, 13_824, (40, 8), 152_064, 32_768, biased=True),
    dense("Qwen/Qwen2.5-32B", 64, 5_120, 27_648, (40, 8), 152_064, 32_768, biased=True),
    dense("Qwen/Qwen2.5-72B", 80, 8_192, 29_568, (64, 8), 152_064, 32_768, biased=True),
    dense("moonshotai/Kimi-Dev-72B", 80, 8_192, 29_568, (64, 8), 152_064, 131_072, biased=True),
    dense("Qwen/Qwen3-1.7B", 28, 2_048, 6_144, (16, 8), 151_936, 40_960, tied=True, normed=True),
    dense("Qwen/Qwen3-4B", 36, 2_560, 9_728, (32, 8), 151_936, 40_960, tied=True, normed=True),
    dense("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", 28, 3_584, 18_944, (28, 4), 152_064, 131_072, biased=True),
    dense("deepseek-ai/DeepSeek-R1-Distill-Qwen-14B", 48, 5_120, 13_824, (40, 8), 152_064, 131_072, biased=True),
    dense("deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", 64, 5_120, 27_648, (40, 8), 152_064, 131_072, biased=True),
    dense("deepseek-ai/DeepSeek-R1-Distill-Llama-8B", 32, 4_096, 14_336, (32, 8), 128_256, 131_072),
    dense("deepseek-ai/DeepSeek-R1-Distill-Llama-70B", 80, 8_192, 28_672, (64, 8), 128_256, 131_072),
    dense("Qwen/QwQ-32B", 64, 5_120, 27_648, (40, 8), 152_064, 40_960, biased=True),
    dense("mistralai/Mistral-7B-v0.2", 32, 4_096, 14_336, (32, 8), 32_000, 32_768),
    dense("mistralai/Mistral-Nemo-2407", 40, 5_120, 14_336, (32, 8), 131_072, 131_072),
    dense("mistralai/Mistral-Small-24B-2501", 40, 5_120, 32_768, (32, 8), 131_072, 32_768),
    dense("microsoft/phi-4", 40, 5_120, 17_920, (40, 10), 100_352, 16_384),
    dense("microsoft/Phi-3-mini-4k", 32, 3_072, 8_192, (32, 32), 32_064, 4_096, head_dim=96),
    dense("microsoft/Phi-3-medium-4k", 40, 5_120, 17_920, (40, 10), 32_064, 4_096),
    dense("ibm-granite/granite-3.1-2b", 40, 2_048, 8_192, (32, 8), 49_155, 131_072, head_dim=64, tied=True),
    dense("ibm-granite/granite-3.3-2b", 40, 2_048, 8_192, (32, 8), 49_159, 131_072, head_dim=64, tied=True),
    dense("ibm-granite/granite-3.1-8b", 40, 4_096, 12_800, (32, 8), 49_155, 131_072, tied=True),
    dense("ibm-granite/granite-3.3-8b", 40, 4_096, 12_800, (32, 8), 49_159, 131_072, tied=True),
    dense("01-ai/Yi-34B", 60, 7_168, 20_480, (56, 8), 64_000, 4_096),
    Model(
        name="DeepSeek-V2-Lite", source="deepseek-ai/DeepSeek-V2-Lite", parameters=15_706_484_224,
        active_parameters=2_660_000_000, layers=27, query_heads=16, kv_heads=16, head_dim=192, v_head_dim=128,
        hidden=2_048, ffn=1_408, vocabulary=102_400, experts=64, experts_per_token=6, pattern=("mla",), latent=512,
        rope=64, longest_context=163_840,
    ),
)
# Parts of a repository's name that tell how it was tuned, packed or written, not how it is shaped.
TUNED = re.compile(r"-(instruct|chat)(?=-|$)")
ENDINGS = re.compile(
    r"[-_.](it|hf|base|bf16|fp16|[0-9]{4}|fp8|dynamic|block|quantized|w[48]a(8|16)|awq|gptq|int[48]|nvfp4|marlin)$"
)
RELATED = {"meta-llama-3.1": "llama-3.1", "llama-3.3": "llama-3.1", "meta-llama-3": "llama-3.1", "llama-3": "llama-3.1"}


def stem(name: str) -> str:
    """A repository's name without its owner and without the parts that don't change the shape."""
    bare = TUNED.sub("", name.lower().rpartition("/")[2])
    while (shorter := ENDINGS.sub("", bare)) != bare:
        bare = shorter
    return bare


BY_STEM = {stem(model.source): model for model in (*FURTHER, *MODELS.values())}


def shape_called(name: str) -> Model | None:
    """The model that a log's name stands for; None when its shape isn't known here."""
    bare = stem(name)
    for own, listed in RELATED.items():
        if bare.startswith(f"{own}-") and (found := BY_STEM.get(bare.replace(own, listed, 1))):
            return found
    return BY_STEM.get(bare)
