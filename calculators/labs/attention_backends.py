"""The attention-backends lab: which backend the engine takes, and what graphs it then allows."""
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from calculators.labs.attention_backends_picture import picture, thumbnail
from calculators.labs.base import Ask, Group, Lab, Preset, Switch, View
from calculators.models.attention_backends import (
    BACKENDS,
    BF16,
    CAPABILITIES,
    FP8,
    FP8_E5M2,
    INT8,
    NVFP4,
    AttentionBackends,
    solve,
)

NAMES = [(name, name) for name in BACKENDS]
FORMATS = [(BF16, "bf16, fp16"), (FP8, "fp8"), (FP8_E5M2, "fp8_e5m2"), (NVFP4, "nvfp4"), (INT8, "int8 a token")]


class BackendForm(forms.Form):
    """The GPU, the model's attention, its cache, and what is asked for besides."""

    capability = forms.ChoiceField(label="GPU", choices=list(CAPABILITIES.items()), initial="9.0")
    use_mla = Switch(label="MLA", initial=True, help_text="DeepSeek: one latent a token")
    head_size = forms.IntegerField(label="head size", min_value=8, max_value=1_024, initial=576,
                                   help_text="of MLA latent + rope, 512 + 64")
    kv_cache_dtype = forms.ChoiceField(label="KV format", choices=FORMATS, initial=FP8)
    block_size = forms.IntegerField(label="--block-size", min_value=1, max_value=1_024, required=False,
                                    help_text="empty: the backend’s own")
    num_speculative_tokens = forms.IntegerField(label="drafts", min_value=0, max_value=16, initial=0)
    non_causal = Switch(label="non-causal", initial=False)
    batch_invariant = Switch(label="batch-invariant", initial=False)
    trtllm_kernels = Switch(label="TRT-LLM kernels", initial=True, help_text="off: no way to NVIDIA’s artifactory")
    backend = forms.ChoiceField(label="forced", choices=[("", "none"), *NAMES], required=False, initial="")

    units = {"block_size": "tok"}


def summary(inputs: Mapping[str, Any]) -> str:
    """"H100, H200 (9.0), MLA, head 576, KV fp8"."""
    kind = "MLA" if inputs["use_mla"] else "no MLA"
    return f"{CAPABILITIES[inputs['capability']]}, {kind}, head {inputs['head_size']}, KV {inputs['kv_cache_dtype']}"


def tell(result: AttentionBackends) -> Iterator[str]:
    """The list with its outcomes, the engine's line and the verdict, for a shell."""
    for each in result.candidates:
        yield f"{each.name}: {'chosen' if each.chosen else ', '.join(each.reasons) or 'would hold'}"
    yield result.log
    yield from filter(None, (result.warning, result.verdict, result.finding))


LLAMA = {"use_mla": False, "head_size": 128}
PRESETS = (
    Preset("DeepSeek-V3, FP8 KV, H100", {}, "The first of the list has no FP8 KV."),
    Preset("DeepSeek-V3, BF16 KV, H100", {"kv_cache_dtype": BF16}, "The first of the list holds."),
    Preset("DeepSeek-V3, B200", {"capability": "10.0"}, "Another list, and full graphs for any batch."),
    Preset("Llama, H100", LLAMA | {"kv_cache_dtype": BF16}, "FlashAttention 3."),
    Preset("Llama, FP8 KV, H100", LLAMA, "FlashAttention 3 reads FP8 KV as well."),
    Preset("Llama, B200", LLAMA | {"capability": "10.0", "kv_cache_dtype": BF16}, "FLASHINFER stands first there."),
    Preset("Llama, B200, air-gapped", LLAMA | {"capability": "10.0", "kv_cache_dtype": BF16, "trtllm_kernels": False,
                                               "num_speculative_tokens": 3},
           "The same backend without its TRT-LLM kernels: with drafts no full graph is left."),
    Preset("Llama, FP8 KV, L40S", LLAMA | {"capability": "8.9"}, "FlashAttention 2 can’t read it."),
    Preset("Llama, FP8 KV, A100", LLAMA | {"capability": "8.0"}, "The same list and outcome; check the log."),
    Preset("Llama, T4", LLAMA | {"capability": "7.5", "kv_cache_dtype": BF16}, "In fp16, below both floors of 8.0."),
    Preset("--block-size 16 with MLA", {"block_size": 16}, "A flag that costs a backend, and the engine says so."),
)

LAB = Lab(
    slug="attention-backends", title="Attention backends: the first that holds", topic="kernels",
    line="A list, and the first that holds", fragment="calculators/labs/_cuda_graphs.html",
    thumbnail=thumbnail,
    views=(
        View(
            "selector", BackendForm, solve, picture=picture, summary=summary, tell=tell, presets=PRESETS,
            ask=Ask(figure="backend", label="the backend", choices=tuple(NAMES)),
            groups=(
                Group("", ("capability", "use_mla", "head_size", "kv_cache_dtype", "block_size")),
                Group("Asked for besides", ("num_speculative_tokens", "non_causal", "batch_invariant",
                                            "trtllm_kernels")),
                Group("--attention-backend", ("backend",)),
            ),
        ),
    ),
    notes=("Exact for decoders in 16 bits without sinks, images or context parallelism, with FlashAttention 4 built. "
           "Sparse MLA backends and TURBOQUANT end the lists; neither serves these.",),
)
