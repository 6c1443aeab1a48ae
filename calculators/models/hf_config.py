"""A model's config.json from Hugging Face, read: its shape, its parameters counted, and the catalogue's row of it."""
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from calculators.models.base import Refusal
from calculators.models.catalogue import BF16, CHUNKED_LOCAL, FP8, FULL, INT4, MLA, MODELS, NATIVE, SLIDING, Model
from calculators.models.catalogue_rows import MODEL_PARTS, joined
from calculators.models.startup_log import Pasted

Json = Mapping[str, Any]
LARGEST = 10**15
MOST_LAYERS = 512
MXFP4_BITS = 4.25  # of a weight with its share of the 8-bit scale of 32
LAYER_TYPES = {"full_attention": FULL, "sliding_attention": SLIDING, "chunked_attention": CHUNKED_LOCAL}
# What tells two shapes apart; how many parameters there are follows from them.
SHAPE = ("layers", "query_heads", "kv_heads", "head_dim", "v_head_dim", "hidden", "ffn", "vocabulary", "tied",
         "experts", "experts_per_token", "kinds", "window", "latent", "rope")


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What an architecture has that its config.json doesn't say, and the fields' values where it leaves them out.

    `attention_bias` and `qk_norm` are of Q, K and V; `layer_norms` stand in each layer; `defaults` are those of its
    configuration class in transformers.
    """

    defaults: Json
    qkv_bias: bool = False
    qk_norm: bool = False
    layer_norms: int = 2
    experts: str = ""  # the field that counts them
    expert_ffn: str = "intermediate_size"
    pattern: Callable[[Json], tuple[str, ...]] = lambda config: (FULL,)
    window: str = "sliding_window"
    latent: bool = False


def of_layer_types(config: Json) -> tuple[str, ...] | None:
    """What the layers keep where the file lists it; None where it doesn't."""
    listed = config.get("layer_types")
    if listed is None:
        return None
    if not isinstance(listed, list) or not all(isinstance(kind, str) for kind in listed):
        raise Refusal("layer_types is no list of names.")
    if unknown := sorted({kind for kind in listed if kind not in LAYER_TYPES}):
        raise Refusal(f"Layers of type {', '.join(unknown)[:80]} are not modelled here; "
                      f"{', '.join(LAYER_TYPES)} are.")
    if len(listed) != config["num_hidden_layers"]:
        raise Refusal(f"layer_types lists {len(listed):,} layers and num_hidden_layers says "
                      f"{config['num_hidden_layers']:,}.")
    return tuple(LAYER_TYPES[kind] for kind in listed)


def all_sliding(config: Json) -> tuple[str, ...]:
    """Mistral: every layer has the window, if there is one."""
    return (SLIDING,) if config.get("sliding_window") else (FULL,)


def sliding_above(config: Json) -> tuple[str, ...]:
    """Qwen: the layers from max_window_layers on have the window, where it is in use."""
    if not config.get("use_sliding_window") or not config.get("sliding_window"):
        return (FULL,)
    layers = config["num_hidden_layers"]
    below = min(whole(config, "max_window_layers", layers), layers)
    return (FULL,) * below + (SLIDING,) * (layers - below)


def alternating(config: Json) -> tuple[str, ...]:
    """Gemma 2 and gpt-oss: every other layer has the window, the first one first."""
    return (SLIDING, FULL)


def one_full_in(config: Json) -> tuple[str, ...]:
    """Gemma 3: the last of every six layers keeps every token, the others a window."""
    every = max(min(whole(config, "sliding_window_pattern", 6), MOST_LAYERS), 1)
    return (SLIDING,) * (every - 1) + (FULL,)


def chunked_with_rope(config: Json) -> tuple[str, ...]:
    """Llama 4: layers with rotary positions keep their chunk, each fourth has none and keeps every token."""
    rotary = config.get("no_rope_layers")
    if isinstance(rotary, list) and rotary:
        return tuple(CHUNKED_LOCAL if has else FULL for has in rotary[:MOST_LAYERS])
    every = max(min(whole(config, "no_rope_layer_interval", 4), MOST_LAYERS), 1)
    return (CHUNKED_LOCAL,) * (every - 1) + (FULL,)


GEMMA_3 = Family(
    defaults={"vocab_size": 262_208, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
              "max_position_embeddings": 131_072, "tie_word_embeddings": True, "sliding_window": 4_096},
    qk_norm=True, layer_norms=4, pattern=one_full_in,
)
LLAMA_4 = Family(
    defaults={"vocab_size": 202_048, "head_dim": 128, "max_position_embeddings": 131_072, "attention_chunk_size": 8_192,
              "interleave_moe_layer_step": 1, "num_local_experts": 16, "num_experts_per_tok": 1},
    experts="num_local_experts", pattern=chunked_with_rope, window="attention_chunk_size",
)
DEEPSEEK = Family(
    defaults={"first_k_dense_replace": 0, "n_shared_experts": 0, "moe_layer_freq": 1}, latent=True,
    experts="n_routed_experts", expert_ffn="moe_intermediate_size", pattern=lambda config: (MLA,),
)
FAMILIES: dict[str, Family] = {
    "LlamaForCausalLM": Family(defaults={}),
    "MistralForCausalLM": Family(defaults={"sliding_window": 4_096, "num_key_value_heads": 8}, pattern=all_sliding),
    "MixtralForCausalLM": Family(defaults={"num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2},
                                 experts="num_local_experts", pattern=all_sliding),
    "Qwen2ForCausalLM": Family(defaults={}, qkv_bias=True, pattern=sliding_above),
    "Qwen3ForCausalLM": Family(defaults={"head_dim": 128}, qk_norm=True, pattern=sliding_above),
    "Qwen3MoeForCausalLM": Family(defaults={"head_dim": 128}, qk_norm=True, experts="num_experts",
                                  expert_ffn="moe_intermediate_size", pattern=sliding_above),
    "GemmaForCausalLM": Family(defaults={"head_dim": 256, "tie_word_embeddings": True}),
    "Gemma2ForCausalLM": Family(defaults={"head_dim": 256, "tie_word_embeddings": True, "sliding_window": 4_096},
                                layer_norms=4, pattern=alternating),
    "Gemma3ForCausalLM": GEMMA_3,
    "Gemma3ForConditionalGeneration": GEMMA_3,
    "GptOssForCausalLM": Family(defaults={"head_dim": 64, "sliding_window": 128, "num_local_experts": 128},
                                qkv_bias=True, experts="num_local_experts", pattern=alternating),
    "Llama4ForCausalLM": LLAMA_4,
    "Llama4ForConditionalGeneration": LLAMA_4,
    "DeepseekV2ForCausalLM": DEEPSEEK,
    "DeepseekV3ForCausalLM": DEEPSEEK,
}
NEEDED = ("num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size", "intermediate_size",
          "max_position_embeddings")
OF_A_LATENT = ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
OF_EXPERTS = ("num_experts_per_tok",)


def read(text: str) -> Pasted:
    """The catalogue's text for the model of a config.json and its weights' format, under the names of the labs' inputs.

    Weights packed in a way that isn't sized leave the format as it is, with a sentence.
    """
    try:
        model = text_for(model_of(text))
    except Refusal as refusal:
        return Pasted({}, (str(refusal),))
    form, method = packed(config_of(text)[0])
    if not form:
        return Pasted({"model": model}, (f"Weights packed by {method} are not sized here; choose their format.",))
    return Pasted({"model": model, "weights": form}, ())


def packed(config: Json) -> tuple[str, str]:
    """The weights' format as the labs name it, "" for one that isn't sized; and what the file calls it."""
    told = config.get("quantization_config")
    if not isinstance(told, dict):
        return BF16, ""
    method, groups = str(told.get("quant_method"))[:40], told.get("config_groups")
    group = next(iter(groups.values()), None) if isinstance(groups, dict) else None
    weights = group.get("weights") if isinstance(group, dict) else None
    kind = (weights.get("type"), weights.get("num_bits")) if isinstance(weights, dict) else None
    if method == "fp8" or (method == "compressed-tensors" and kind == ("float", 8)):
        return FP8, method
    if method in ("awq", "gptq") and told.get("bits") == 4 or method == "compressed-tensors" and kind == ("int", 4):
        return INT4, method
    return (NATIVE if method == "mxfp4" else ""), method


def model_of(text: str) -> Model:
    """The model that a config.json describes; raises Refusal with what it lacks, or for an unknown architecture."""
    config, family = config_of(text)
    layers = config["num_hidden_layers"]
    pattern = shortest(of_layer_types(config) or family.pattern(config), layers)
    heads = config["num_attention_heads"]
    head_dim = config.get("head_dim") or config["hidden_size"] // heads
    shape: dict[str, Any] = {
        "layers": layers, "query_heads": heads, "kv_heads": config.get("num_key_value_heads") or heads,
        "head_dim": head_dim, "hidden": config["hidden_size"], "ffn": config["intermediate_size"],
        "vocabulary": config["vocab_size"], "tied": bool(config.get("tie_word_embeddings")), "pattern": pattern,
        "window": config.get(family.window) or 0 if {SLIDING, CHUNKED_LOCAL} & set(pattern) else 0,
        "longest_context": config["max_position_embeddings"],
    }
    if family.latent:
        shape |= {
            "kv_heads": 1, "head_dim": config["qk_nope_head_dim"] + config["qk_rope_head_dim"],
            "v_head_dim": config["v_head_dim"], "latent": config["kv_lora_rank"], "rope": config["qk_rope_head_dim"],
        }
    total, each, layers_with = counted(config, family, shape)
    if experts := experts_of(config, family):
        shape |= {"experts": experts, "experts_per_token": config["num_experts_per_tok"],
                  "ffn": config[family.expert_ffn]}
        idle = (experts - config["num_experts_per_tok"]) * each * layers_with
        shape["active_parameters"] = total - idle
    model = Model(name=config["architecture"], source="a config.json", parameters=total, **shape)
    form, _ = packed(config)
    if form == NATIVE:  # only the experts are packed
        packed_bytes = experts * each * layers_with * MXFP4_BITS / 8
        model = replace(model, native_bytes=2 * (total - experts * each * layers_with) + packed_bytes)
    elif form in (FP8, INT4):
        model = replace(model, native_bytes=max(model.weight_bytes(form), 0))
    return checked(model)


def config_of(text: str) -> tuple[dict[str, Any], Family]:
    """The part of the file that describes the text model, with what its class sets, and its family.

    Raises Refusal for what is no config.json, an unknown architecture, and fields that it lacks.
    """
    try:
        whole_file = json.loads(text)
    except RecursionError:
        raise Refusal("This is nested too deeply to be a config.json.") from None
    except json.JSONDecodeError as fault:
        raise Refusal(f"This is no JSON: it breaks in line {fault.lineno}, column {fault.colno}.") from None
    except ValueError:
        raise Refusal("A number in it is too long to be read.") from None
    if not isinstance(whole_file, dict):
        raise Refusal("A config.json is an object, {…}; this is something else.")
    named = whole_file.get("architectures")
    names = [str(name)[:60] for name in named] if isinstance(named, list) else []
    if not names:
        raise Refusal("It lacks “architectures”, the list that names the model's class.")
    name = next((name for name in names if name in FAMILIES), None)
    if name is None:
        raise Refusal(f"{', '.join(names[:3])} is not modelled here; {', '.join(FAMILIES)} are.")
    inner = whole_file.get("text_config")
    config = whole_file | inner if isinstance(inner, dict) else dict(whole_file)
    family = FAMILIES[name]
    config = dict(family.defaults) | {key: value for key, value in config.items() if value is not None or key in
                                      ("sliding_window", "q_lora_rank")}
    needed = [*NEEDED, *(OF_A_LATENT if family.latent else ())]
    if family.experts and (family.experts in config or not family.latent):
        needed += [family.experts, family.expert_ffn, *OF_EXPERTS]
    if lacking := [key for key in dict.fromkeys(needed) if key not in config]:
        raise Refusal(f"{name} also needs {', '.join(lacking)}, which the file lacks.")
    for key in (*needed, "num_key_value_heads", "head_dim", "sliding_window", "attention_chunk_size", "q_lora_rank",
                "n_shared_experts", "first_k_dense_replace", "interleave_moe_layer_step", "moe_layer_freq",
                "intermediate_size_mlp", "max_window_layers"):
        if config.get(key) is not None:
            whole(config, key)
    if config.get("mlp_only_layers") or config.get("decoder_sparse_step", 1) != 1:
        raise Refusal("Some layers of it have no experts (mlp_only_layers, decoder_sparse_step); that is not modelled.")
    for key in ("num_hidden_layers", "hidden_size", "num_attention_heads"):
        if not config[key]:
            raise Refusal(f"{key} is 0.")
    if config["num_hidden_layers"] > MOST_LAYERS:
        raise Refusal(f"num_hidden_layers is {config['num_hidden_layers']:,}; at most {MOST_LAYERS} are modelled.")
    return config | {"architecture": name}, family


def whole(config: Json, key: str, default: int = 0) -> int:
    """A field's whole number; raises Refusal for anything else."""
    value = config.get(key, default)
    if type(value) is not int or not 0 <= value <= LARGEST:
        raise Refusal(f"{key} is no whole number.")
    return value


def experts_of(config: Json, family: Family) -> int:
    """How many routed experts a layer with experts has."""
    return config.get(family.experts, 0) if family.experts else 0


def counted(config: Json, family: Family, shape: Json) -> tuple[int, int, int]:
    """Parameters in all, of one expert, and the layers that have experts.

    Embedding and head (one if tied), attention with its biases and norms, gated FFNs, routers, norms.
    """
    hidden, layers, ffn = shape["hidden"], shape["layers"], config["intermediate_size"]
    gpt_oss = config["architecture"].startswith("GptOss")
    total = shape["vocabulary"] * hidden * (1 if shape["tied"] else 2) + hidden
    total += layers * (attention(config, family, shape, gpt_oss) + family.layer_norms * hidden)
    experts = experts_of(config, family)
    if not experts:
        return total + layers * 3 * hidden * ffn, 0, 0
    each = 3 * hidden * config[family.expert_ffn] + (2 * config[family.expert_ffn] + hidden if gpt_oss else 0)
    first = min(config.get("first_k_dense_replace", 0), layers)
    step = max(config.get("interleave_moe_layer_step", 1), config.get("moe_layer_freq", 1), 1)
    with_experts = (layers - first) // step
    router = hidden * experts + (experts if gpt_oss or config.get("topk_method") == "noaux_tc" else 0)
    shared = config.get("n_shared_experts", 0) or int(config["architecture"].startswith("Llama4"))
    total += with_experts * (router + experts * each + shared * 3 * hidden * config[family.expert_ffn])
    dense_ffn = config.get("intermediate_size_mlp", ffn)
    return total + (layers - with_experts) * 3 * hidden * dense_ffn, each, with_experts


def attention(config: Json, family: Family, shape: Json, gpt_oss: bool) -> int:
    """Parameters of one layer's attention."""
    hidden, heads, wide = shape["hidden"], shape["query_heads"], shape["head_dim"]
    if family.latent:
        latent, rope, rank = shape["latent"], shape["rope"], config.get("q_lora_rank")
        queries = hidden * rank + rank + rank * heads * wide if rank else hidden * heads * wide
        keys = hidden * (latent + rope) + latent + latent * heads * (wide - rope + shape["v_head_dim"])
        return queries + keys + heads * shape["v_head_dim"] * hidden
    kv = shape["kv_heads"]
    found = 2 * hidden * wide * (heads + kv)
    found += wide * (heads + 2 * kv) if family.qkv_bias or config.get("attention_bias") else 0
    found += hidden if gpt_oss or (config.get("attention_bias") and not family.qkv_bias) else 0
    found += heads if gpt_oss else 0  # a sink for each head
    return found + (2 * wide if family.qk_norm else 0)


def shortest(pattern: tuple[str, ...], layers: int) -> tuple[str, ...]:
    """The shortest pattern that gives each layer what this one gives it."""
    kinds = [pattern[place % len(pattern)] for place in range(layers)]
    for period in range(1, layers + 1):
        if all(kinds[place] == kinds[place % period] for place in range(layers)):
            return tuple(kinds[:period])
    return pattern


def checked(model: Model) -> Model:
    """The model, if each of its numbers is one that a row takes and they go together; else Refusal."""
    text = MODELS.described(model)
    read_back = MODELS[text]
    return replace(read_back, name=model.name, source=model.source)


def text_for(model: Model) -> str:
    """The slug of the catalogue's row with that shape, with the longest context if it differs; else every number."""
    for slug, row in MODELS.items():
        if all(getattr(row, name) == getattr(model, name) for name in SHAPE):
            longest = next(part for part in MODEL_PARTS if part.name == "longest_context")
            same = row.longest_context == model.longest_context
            return slug if same else joined(slug, {longest.name: longest.write(model.longest_context)})
    return MODELS.described(model)
