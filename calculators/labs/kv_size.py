"""The kv-size lab: what a token keeps, how many sequences fit, and what grows, shrinks, wastes or shares the pool."""
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from calculators.labs import (
    kv_size_fp8_picture,
    kv_size_hybrid_picture,
    kv_size_paging_picture,
    kv_size_picture,
    kv_size_replies_gist,
    kv_size_replies_picture,
)
from calculators.labs.base import Ask, Group, Lab, Preset, Switch, View
from calculators.labs.row_field import GpuField, ModelField
from calculators.models import fp8_kv, hybrid_cache, kv_size, long_replies, paging_waste, prefix_checkpoints
from calculators.models.catalogue import BF16, FP8, MODELS, NVFP4
from calculators.models.kv_token import FORMATS

POWERS = [(n, str(n)) for n in (1, 2, 4, 8, 16)]


class RatesForm(forms.Form):
    """The GPU and what of its peaks is reached."""

    gpu = GpuField(label="GPU", initial="h100")
    cpu_ms = forms.FloatField(label="CPU left, t0", min_value=0, max_value=100, initial=0.9)
    tflop_per_s = forms.FloatField(
        label="compute", min_value=0.1, max_value=20_000, required=False, help_text="empty: 62% of the GPU’s peak",
    )
    tb_per_s = forms.FloatField(
        label="bandwidth", min_value=0.01, max_value=100, required=False, help_text="empty: 80% of the GPU’s peak",
    )


RATE_UNITS = {"tflop_per_s": "TF/s", "tb_per_s": "TB/s", "cpu_ms": "ms"}


class ShapeForm(forms.Form):
    """The block, and a shape of one's own in place of the model's."""

    block_size = forms.IntegerField(label="block size", min_value=1, max_value=256, initial=16)
    window_layers = forms.IntegerField(label="windowed", min_value=0, max_value=512, required=False)
    window = forms.IntegerField(min_value=2, max_value=1_048_576, required=False)
    kv_heads = forms.IntegerField(label="KV heads", min_value=1, max_value=256, required=False)
    head_dim = forms.IntegerField(
        label="head size", min_value=16, max_value=1_024, required=False, help_text="empty: the model’s",
    )


class ConcurrencyForm(ShapeForm):
    """The model and its cache, the sequences, how GPUs share the work, and a shape of one's own."""

    model = ModelField(initial="llama-3.1-8b")
    kv_cache_dtype = forms.ChoiceField(label="KV format", choices=list(FORMATS.items()), initial=BF16)
    context_tokens = forms.IntegerField(label="tokens each", min_value=1, max_value=10_485_760, initial=2_048)
    pool_gib = forms.FloatField(label="KV pool", min_value=0.1, max_value=4_096, initial=54.4, help_text="on each GPU")
    max_num_seqs = forms.IntegerField(min_value=1, max_value=65_536, initial=1_024)
    gpu = GpuField(label="GPU", initial="h100", help_text="for the ridge")
    tensor_parallel_size = forms.TypedChoiceField(label="tensor", choices=POWERS, coerce=int, initial=1)
    data_parallel_size = forms.IntegerField(label="data", min_value=1, max_value=256, initial=1)
    decode_context_parallel_size = forms.TypedChoiceField(label="decode context", choices=POWERS, coerce=int, initial=1)
    max_num_batched_tokens = forms.IntegerField(label="token budget", min_value=1, max_value=131_072, initial=8_192)
    async_scheduling = Switch(label="async scheduling", initial=True)
    hybrid_kv_cache_manager = Switch(label="hybrid manager", initial=True)
    layers = forms.IntegerField(min_value=1, max_value=512, required=False)

    units = {"pool_gib": "GiB", "block_size": "tok", "window": "tok"}


class LongRepliesForm(RatesForm):
    """Prompts and replies, the pool, how they arrive, and the machine."""

    prompt_tokens = forms.IntegerField(label="prompt", min_value=1, max_value=200_000, initial=256)
    output_tokens = forms.IntegerField(label="reply", min_value=1, max_value=200_000, initial=8_192)
    staggered = Switch(initial=True, help_text="off: all in phase")
    sequences = forms.IntegerField(label="replies at once", min_value=1, max_value=65_536, initial=103)
    pool_gib = forms.FloatField(label="KV pool", min_value=0.5, max_value=4_096, initial=55)
    requests = forms.IntegerField(label="in the burst", min_value=1, max_value=1_000_000, initial=2_000)
    max_num_seqs = forms.IntegerField(min_value=1, max_value=4_096, initial=1_024)
    max_num_batched_tokens = forms.IntegerField(label="token budget", min_value=256, max_value=131_072, initial=8_192)
    block_size = forms.IntegerField(label="block size", min_value=1, max_value=256, initial=16)
    model = ModelField(long_replies.MODELS, initial="llama-3.1-8b")
    kv_cache_dtype = forms.ChoiceField(
        label="KV format", choices=[(BF16, "bf16"), (FP8, "fp8"), (NVFP4, "nvfp4")], initial=BF16,
    )

    units = RATE_UNITS | {"prompt_tokens": "tok", "output_tokens": "tok", "pool_gib": "GiB", "block_size": "tok"}


class Fp8Form(RatesForm):
    """The format to change to, the batch, and the machine."""

    kv_cache_dtype = forms.ChoiceField(
        label="KV format", choices=[(FP8, "fp8"), (NVFP4, "nvfp4"), (BF16, "bf16")], initial=FP8,
    )
    sequences = forms.IntegerField(min_value=1, max_value=65_536, initial=32)
    context_tokens = forms.IntegerField(label="tokens each", min_value=1, max_value=1_000_000, initial=512)
    pool_gib = forms.FloatField(label="KV pool", min_value=0.1, max_value=4_096, initial=55)
    block_size = forms.IntegerField(label="block size", min_value=1, max_value=256, initial=16)
    model = ModelField(fp8_kv.MODELS, initial="llama-3.1-8b")

    units = RATE_UNITS | {"pool_gib": "GiB", "block_size": "tok"}


class PagingForm(forms.Form):
    """The block, the sequences and their lengths, and what they are compared with."""

    block_size = forms.IntegerField(label="block size", min_value=1, max_value=256, initial=16)
    sequences = forms.IntegerField(min_value=1, max_value=5_000, initial=220)
    lengths = forms.ChoiceField(
        choices=[(name, name) for name in (paging_waste.UNIFORM, paging_waste.FIXED, paging_waste.EXPONENTIAL,
                                           paging_waste.LISTED)],
        initial=paging_waste.UNIFORM,
    )
    mean_tokens = forms.IntegerField(label="mean length", min_value=1, max_value=200_000, initial=2_048)
    listed = forms.CharField(label="or listed", max_length=5_000, required=False, help_text="lengths apart by spaces")
    seed = forms.IntegerField(min_value=0, max_value=999_999, initial=1)
    reserved_tokens = forms.IntegerField(label="reserved, unpaged", min_value=1, max_value=1_000_000, initial=8_192)
    shared_prefix_tokens = forms.IntegerField(label="shared prefix", min_value=0, max_value=200_000, initial=20)
    pool_gib = forms.FloatField(label="KV pool", min_value=0.1, max_value=4_096, initial=55)
    model = ModelField(paging_waste.MODELS, initial="llama-3.1-8b")
    kv_cache_dtype = forms.ChoiceField(
        label="KV format", choices=[(BF16, "bf16"), (FP8, "fp8"), (NVFP4, "nvfp4")], initial=BF16,
    )

    units = {"block_size": "tok", "mean_tokens": "tok", "reserved_tokens": "tok", "shared_prefix_tokens": "tok",
             "pool_gib": "GiB"}


class HybridForm(ShapeForm):
    """The model's layers by what they keep, the request, and what is in flight."""

    model = ModelField(hybrid_cache.MODELS, initial="gemma-3-27b")
    context_tokens = forms.IntegerField(label="tokens", min_value=1, max_value=10_485_760, initial=32_768)
    kv_cache_dtype = forms.ChoiceField(
        label="KV format", choices=[(BF16, "bf16"), (FP8, "fp8"), (NVFP4, "nvfp4")], initial=BF16,
    )
    tensor_parallel_size = forms.TypedChoiceField(label="GPUs (TP)", choices=POWERS, coerce=int, initial=1)
    max_num_batched_tokens = forms.IntegerField(label="token budget", min_value=1, max_value=131_072, initial=8_192)
    async_scheduling = Switch(label="async scheduling", initial=True)
    full_layers = forms.IntegerField(label="full", min_value=0, max_value=512, required=False)
    state_layers = forms.IntegerField(label="with a state", min_value=0, max_value=512, initial=0)
    state_kib = forms.FloatField(label="state, each layer", min_value=0, max_value=65_536, initial=0)

    units = {"block_size": "tok", "window": "tok", "state_kib": "KiB"}


class SiblingsForm(forms.Form):
    """Prompts that share a beginning, and which blocks a windowed layer keeps."""

    prompt_tokens = forms.IntegerField(label="prompt", min_value=2, max_value=131_072, initial=2_048)
    shared_tokens = forms.IntegerField(label="shared", min_value=0, max_value=131_072, initial=1_024)
    window = forms.IntegerField(min_value=2, max_value=131_072, initial=64)
    block_size = forms.IntegerField(label="block size", min_value=1, max_value=256, initial=16)
    prefix_cache_retention_interval = forms.ChoiceField(
        label="retention interval",
        choices=[(prefix_checkpoints.SPARSE, "0"), *((str(n), f"{n:,}") for n in (256, 512, 1_024)),
                 (prefix_checkpoints.DENSE, "none")],
        initial=prefix_checkpoints.SPARSE, help_text="none keeps every block",
    )

    units = {"prompt_tokens": "tok", "shared_tokens": "tok", "window": "tok", "block_size": "tok"}


def tell(result: Any) -> Iterator[str]:
    """The finding, the derivation and the verdicts of any view, for a shell."""
    yield result.finding
    yield from map(str, result.lines)
    verdicts = (getattr(result, name) for name in type(result).__slots__ if name.endswith("_verdict"))
    yield from filter(None, verdicts)


def concurrency_summary(inputs: Mapping[str, Any]) -> str:
    """"Llama-3.1-8B in bf16, 2,048 tokens each, pool 54.4 GiB"."""
    name, form = MODELS[inputs["model"]].name, FORMATS[inputs["kv_cache_dtype"]]
    return f"{name} in {form}, {inputs['context_tokens']:,} tokens each, pool {inputs['pool_gib']:g} GiB"


def replies_summary(inputs: Mapping[str, Any]) -> str:
    """"256 + 8,192 tokens, pool 55 GiB, 103 at once"."""
    return (f"{inputs['prompt_tokens']:,} + {inputs['output_tokens']:,} tokens, pool {inputs['pool_gib']:g} GiB, "
            f"{inputs['sequences']:,} at once")


def fp8_summary(inputs: Mapping[str, Any]) -> str:
    """"bf16 to fp8, 32 sequences of 512 tokens"."""
    sequences, context = inputs["sequences"], inputs["context_tokens"]
    return f"bf16 to {inputs['kv_cache_dtype']}, {sequences:,} sequences of {context:,} tokens"


def paging_summary(inputs: Mapping[str, Any]) -> str:
    """"220 sequences of some 2,048 tokens in blocks of 16"."""
    if inputs["lengths"] == paging_waste.LISTED:
        return f"listed lengths in blocks of {inputs['block_size']:,}"
    return (f"{inputs['sequences']:,} sequences of some {inputs['mean_tokens']:,} tokens in blocks of "
            f"{inputs['block_size']:,}")


def hybrid_summary(inputs: Mapping[str, Any]) -> str:
    """"Gemma-3-27B, one request of 32,768 tokens"."""
    return f"{MODELS[inputs['model']].name}, one request of {inputs['context_tokens']:,} tokens"


def siblings_summary(inputs: Mapping[str, Any]) -> str:
    """"2,048 tokens, 1,024 of them shared, interval 0"."""
    return (f"{inputs['prompt_tokens']:,} tokens, {inputs['shared_tokens']:,} of them shared, interval "
            f"{inputs['prefix_cache_retention_interval']}")


RATES = Group("Rates", ("tflop_per_s", "tb_per_s", "cpu_ms"), folded=True)

CONCURRENCY = View(
    "concurrency", ConcurrencyForm, kv_size.solve, picture=kv_size_picture.picture, summary=concurrency_summary,
    tell=tell, ask=Ask(figure="sequences", label="sequences", unit="sequences"),
    presets=(
        Preset("8B on an H100", {}, "The pool that vllm serve’s defaults leave on 80 GB."),
        Preset("256 tokens each", {"context_tokens": 256}, "Short turns: the ridge comes before the pool is full."),
        Preset("a round 55 GiB", {"pool_gib": 55}, "The pool that the scheduling questions give."),
        Preset("70B, TP 8", {"model": "llama-3.1-70b", "tensor_parallel_size": 8, "context_tokens": 32_768,
                             "pool_gib": 50}, "Eight KV heads on eight GPUs: one each."),
        Preset("DeepSeek-V3, TP 8", {"model": "deepseek-v3", "tensor_parallel_size": 8, "gpu": "h200",
                                     "context_tokens": 32_768, "pool_gib": 42},
               "A latent can’t be split by heads, so the node holds it eight times."),
        Preset("DeepSeek-V3, DP 8", {"model": "deepseek-v3", "data_parallel_size": 8, "gpu": "h200",
                                     "context_tokens": 32_768, "pool_gib": 42},
               "Each rank with requests of its own: the same latent once, eight times the requests."),
        Preset("Gemma-3-27B, 8K", {"model": "gemma-3-27b", "context_tokens": 8_192, "pool_gib": 20},
               "Windows save most of a decoding request, and nothing while it prefills."),
    ),
    groups=(
        Group("", ("model", "kv_cache_dtype", "context_tokens", "pool_gib", "block_size", "max_num_seqs", "gpu")),
        Group("GPUs", ("tensor_parallel_size", "data_parallel_size", "decode_context_parallel_size")),
        Group("In flight", ("max_num_batched_tokens", "async_scheduling", "hybrid_kv_cache_manager"), folded=True),
        Group("Its own shape", ("layers", "window_layers", "window", "kv_heads", "head_dim"), folded=True),
    ),
)

REPLIES = View(
    "long-replies", LongRepliesForm, long_replies.solve, title="long replies", picture=kv_size_replies_picture.picture,
    summary=replies_summary, tell=tell, ask=Ask(figure="held", label="replies it holds", unit="sequences"),
    gist=kv_size_replies_gist.gist,
    presets=(
        Preset("a burst of 2,000", {}, "1,024 are admitted; the wall comes at decode step 177."),
        Preset("in phase", {"staggered": False, "sequences": 53}, "All at full length together: half as many."),
        Preset("promise 65 tokens/s", {"sequences": 40},
               "Two fifths of the batch: a quarter less throughput, nearly twice the speed."),
        Preset("fp8 KV", {"kv_cache_dtype": FP8, "sequences": 206}, "Twice the replies at the same gap."),
        Preset("chat, not essays", {"prompt_tokens": 1_500, "output_tokens": 300, "sequences": 64, "requests": 400},
               "Replies shorter than the prompt: admission sees nearly all there is."),
    ),
    groups=(
        Group("A burst", ("requests", "max_num_seqs", "max_num_batched_tokens")),
        Group("Machine", ("model", "kv_cache_dtype", "gpu", "block_size")), RATES,
    ),
)

FP8_KV = View(
    "fp8", Fp8Form, fp8_kv.solve, title="smaller KV", picture=kv_size_fp8_picture.picture, summary=fp8_summary,
    tell=tell, ask=Ask(figure="after_ms", label="gap after", unit="ms"),
    presets=(
        Preset("32 of 512", {}, "KV is a tenth of the step, so halving it is worth nothing here."),
        Preset("103 of 4,352", {"sequences": 103, "context_tokens": 4_352},
               "Long replies: KV is three quarters of the step."),
        Preset("220 of 2,048", {"sequences": 220, "context_tokens": 2_048},
               "Twice this batch passes the ridge, so it brings less than twice the tokens."),
        Preset("nvfp4", {"kv_cache_dtype": NVFP4, "sequences": 103, "context_tokens": 4_352},
               "Half a byte and its scales: 3.6 times less, not four."),
    ),
    groups=(Group("Machine", ("model", "gpu", "block_size")), RATES),
)

PAGING = View(
    "paging", PagingForm, paging_waste.solve, title="paging waste", picture=kv_size_paging_picture.picture,
    summary=paging_summary, tell=tell, ask=Ask(figure="expected_tokens", label="expected waste", unit="tokens"),
    presets=(
        Preset("220 of some 2,048", {}, "A third of a percent: no reason to go below 16."),
        Preset("1,760 of some 256", {"sequences": 1_760, "mean_tokens": 256},
               "The same waste each, eight times the share."),
        Preset("blocks of 128", {"block_size": 128}, "What some MLA kernels want: a twentieth of a short request."),
        Preset("a list of one’s own", {"lengths": paging_waste.LISTED, "listed": "20 250 900 1200 3100 8192"},
               "Paste lengths from a log."),
    ),
    groups=(Group("Compared with", ("reserved_tokens", "shared_prefix_tokens")),
            Group("Machine", ("pool_gib", "model", "kv_cache_dtype"))),
)

HYBRID = View(
    "hybrid", HybridForm, hybrid_cache.solve, title="hybrid layers", picture=kv_size_hybrid_picture.hybrid,
    summary=hybrid_summary, tell=tell, ask=Ask(figure="decode_gib", label="one request, decoding", unit="GiB"),
    presets=(
        Preset("Gemma-3-27B, 32K", {}, "Ten full layers and 52 windowed ones in seven groups."),
        Preset("at 128K", {"context_tokens": 131_072}, "The longer the request, the more the windows save."),
        Preset("gpt-oss-120b", {"model": "gpt-oss-120b"}, "Half and half, so two groups and nothing empty."),
        Preset("a state of 2 MiB", {"model": "qwen3-30b-a3b", "full_layers": 12, "state_layers": 36,
                                    "state_kib": 2_048},
               "The attention block grows to 1,024 tokens, and with it the least prefix that can be found again."),
    ),
    groups=(
        Group("", ("model", "context_tokens", "block_size", "kv_cache_dtype", "tensor_parallel_size")),
        Group("In flight", ("max_num_batched_tokens", "async_scheduling")),
        Group("Its own layers", ("full_layers", "window_layers", "window", "state_layers", "state_kib", "kv_heads",
                                 "head_dim"), folded=True),
    ),
)

SIBLINGS = View(
    "siblings", SiblingsForm, prefix_checkpoints.solve, title="siblings", picture=kv_size_hybrid_picture.siblings,
    summary=siblings_summary, tell=tell, ask=Ask(figure="first_hit", label="first sibling hits", unit="tokens"),
    presets=(
        Preset("interval 0", {}, "The default: the first sibling hits nothing and leaves a checkpoint for the next."),
        Preset("every 256", {"prefix_cache_retention_interval": "256"},
               "A checkpoint each 256 tokens, paid by every prompt."),
        Preset("parts at 1,000", {"prefix_cache_retention_interval": "256", "shared_tokens": 1_000},
               "The first sibling hits at the last checkpoint before the junction."),
        Preset("keep all", {"prefix_cache_retention_interval": prefix_checkpoints.DENSE},
               "Every block stays findable and takes room from other prefixes."),
    ),
)

LAB = Lab(
    slug="kv-size", title="What the KV cache holds", topic="kv-cache",
    line="Bytes a token, sequences", fragment="calculators/labs/_kv_size.html", thumbnail=kv_size_picture.thumbnail,
    views=(CONCURRENCY, REPLIES, FP8_KV, PAGING, HYBRID, SIBLINGS),
    notes=("Bytes, blocks and counts are exact for the pool. Every time rests on 62% of the peak FLOP/s and 80% of the "
           "peak bandwidth, a rule of thumb: good to some 30%, right about shape.",),
)
