"""What --max-num-batched-tokens and --max-num-seqs are when they aren't given: by GPU, and by who asks."""
from typing import NamedTuple

OFFLINE, SERVER = "LLM_CLASS", "OPENAI_API_SERVER"
SMALL = ("a100", "gb10")  # much memory, and still on the lowest tier
NO_CONTEXT = (2_048, 128)  # of a scheduler config that is built by hand
# By the memory from which it holds, in GiB: tokens offline, tokens of the server, sequences of either.
TIERS = ((160, 16_384, 16_384, 1_024), (70, 16_384, 8_192, 1_024), (0, 8_192, 2_048, 256))


class BatchDefaults(NamedTuple):
    """Tokens of one step, and sequences that run at once."""

    max_num_batched_tokens: int
    max_num_seqs: int


def batch_defaults(
    *, device_name: str, device_memory_gib: float, max_model_len: int, usage_context: str | None = SERVER,
    enable_chunked_prefill: bool = True, performance_mode: str = "balanced",
    max_num_batched_tokens: int | None = None, max_num_seqs: int | None = None,
) -> BatchDefaults:
    """Both settings as the engine completes them; what is given stays as it is.

    An A100 is kept on the lowest tier however much memory it has: large steps were slower on it. Without chunked
    prefill a step must take a whole prompt.
    Source: vllm 0.33.0, engine/arg_utils.py, EngineArgs.get_batch_defaults and
    _set_default_max_num_seqs_and_batched_tokens_args.
    """
    tokens, seats = tier(device_name, device_memory_gib, usage_context)
    more = 2 if performance_mode == "throughput" else 1
    seqs = max_num_seqs or seats * more
    if max_num_batched_tokens is None:
        least = 0 if enable_chunked_prefill else max_model_len
        max_num_batched_tokens = min(max(tokens * more, least), seqs * max_model_len)
    return BatchDefaults(max_num_batched_tokens, max_num_seqs or min(seqs, max_num_batched_tokens))


def tier(device_name: str, device_memory_gib: float, usage_context: str | None) -> tuple[int, int]:
    """Tokens and sequences before anything else is looked at."""
    if usage_context not in (OFFLINE, SERVER):
        return NO_CONTEXT
    memory_gib = device_memory_gib
    if memory_gib < TIERS[0][0] and any(name in device_name.lower() for name in SMALL):
        memory_gib = 0
    _, offline, server, seats = next(row for row in TIERS if memory_gib >= row[0])
    return (offline if usage_context == OFFLINE else server), seats
