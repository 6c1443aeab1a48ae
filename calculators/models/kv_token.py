"""KV of one token: the bytes that a layer keeps of it on one GPU, by what the model keeps and in which format."""
from dataclasses import replace
from fractions import Fraction
from math import floor, log2

from calculators.models.base import Line, Refusal
from calculators.models.catalogue import BF16, FP8, FULL, MLA, NVFP4, SLIDING, Model
from calculators.models.kv_blocks import Cache
from calculators.models.quantity import say

FP8_DS_MLA = "fp8_ds_mla"
FORMATS = {BF16: "bf16", FP8: "fp8", NVFP4: "nvfp4", FP8_DS_MLA: "fp8 MLA"}

# Bytes of one value with its scales: nvfp4 is half a byte and an 8-bit scale for each 16.
VALUE_BYTES = {BF16: Fraction(2), FP8: Fraction(1), NVFP4: Fraction(9, 16)}
# DeepSeek's own layout: 512 latent values in fp8, four 32-bit scales, and the rope key in 16 bit.
DS_MLA_BYTES = 512 + 16 + 128


def layer_bytes(model: Model, form: str, gpus: int = 1) -> int:
    """Bytes that one layer keeps of one token on each of `gpus` GPUs that split the heads.

    A GPU keeps at least one KV head. A latent has no heads, so each GPU keeps all of it.
    Raises Refusal for a format that the model can't have.
    Source: vllm 0.33.0, v1/kv_cache_interface.py, AttentionSpec and MLAAttentionSpec; utils/torch_utils.py,
    nvfp4_kv_cache_full_dim; v1/attention/backends/mla/flashmla_sparse.py.
    """
    if form == FP8_DS_MLA:
        if not model.latent:
            raise Refusal(f"{model.name} keeps no latent; the fp8 MLA layout is for models that do.", "kv_cache_dtype")
        return DS_MLA_BYTES
    values = model.kv_values if model.latent else 2 * heads_on(model, gpus) * model.head_dim
    return int(values * VALUE_BYTES[form])


def heads_on(model: Model, gpus: int) -> int:
    """KV heads on each of the GPUs that split them: at least one."""
    return max(1, model.kv_heads // gpus)


def replicas(model: Model, gpus: int) -> int:
    """How many of the GPUs keep the same bytes."""
    return gpus if model.latent else max(1, gpus // model.kv_heads)


def cache_of(model: Model, form: str, gpus: int = 1, **more: int | bool) -> Cache:
    """One GPU's cache of the model; `more` are the cache's other settings."""
    return Cache(kinds=model.kinds, token_bytes=layer_bytes(model, form, gpus), window=model.window, **more)


def reshaped(model: Model, *, layers: int | None = None, window_layers: int | None = None, window: int | None = None,
             kv_heads: int | None = None, head_dim: int | None = None) -> Model:
    """The model with what is given in place of its own; `window_layers` of its layers slide, the others keep all.

    Raises Refusal for more windowed layers than layers, and for heads of a model that keeps a latent.
    """
    if model.latent and (kv_heads or head_dim or window_layers):
        name = "kv_heads" if kv_heads else "head_dim" if head_dim else "window_layers"
        raise Refusal(f"{model.name} keeps one latent a layer, so it has neither KV heads nor windows to set.", name)
    count = layers or model.layers
    pattern, reach = model.pattern, window or model.window
    if window_layers is not None:
        if window_layers > count:
            raise Refusal(f"{window_layers:,} of {count:,} layers can't be windowed.", "window_layers")
        pattern = (SLIDING,) * window_layers + (FULL,) * (count - window_layers)
    if not reach and any(kind not in (FULL, MLA) for kind in pattern):
        raise Refusal(f"{model.name} has no window of its own; windowed layers need one.", "window")
    return replace(model, layers=count, pattern=pattern, window=reach, kv_heads=kv_heads or model.kv_heads,
                   head_dim=head_dim or model.head_dim)


def in_unit(size: float) -> tuple[float, str]:
    """Bytes in the largest binary unit of which there is at least one."""
    power = min(max(floor(log2(size) / 10), 0), 4) if size else 0
    return size / 1024**power, ("B", "KiB", "MiB", "GiB", "TiB")[power]


def binary(size: float) -> str:
    """Bytes in words, to three figures: "128 KiB", "68.6 KiB", "1.25 GiB"."""
    value, unit = in_unit(size)
    return say(value, unit)


def size_line(label: str, expression: str, size: float, *, total: bool = False) -> Line:
    """A line of a derivation whose value is a size."""
    value, unit = in_unit(size)
    return Line(label, expression, value, unit, total=total)
