"""Step time: how long one engine step takes, from its tokens (the model shared by the scheduling labs)."""
from dataclasses import dataclass

US_PER_TOKEN = 26.1  # prefill of a token at short context: 2 * parameters / FLOP/s of the machine below


@dataclass(frozen=True, slots=True)
class Machine:
    """A model on a GPU, as the step-time rule sees them.

    Defaults: Llama-3.1-8B in bf16 on an H100 SXM (model card: 32 layers, 32 query and 8 KV heads of 128;
    datasheet peaks 989 TFLOP/s and 3.35 TB/s). The effective rates, 62% and 80% of peak, and the 0.9 ms that the CPU
    leaves on the critical path are rules of thumb.
    """

    parameters: float = 8.03e9
    weight_bytes: float = 16.06e9
    kv_bytes_per_token: int = 131_072  # 2 (K and V) * 32 layers * 8 heads * 128 * 2 bytes
    attention_flop_per_pair: int = 524_288  # 4 (QK^T and PV, multiply and add) * 32 layers * 32 heads * 128
    flop_per_s: float = 615e12
    bytes_per_s: float = 2.68e12
    cpu_ms: float = 0.9


def linear_ms(machine: Machine, tokens: int) -> float:
    """Time of the matrix products over `tokens` tokens, or of reading the weights when that is longer; ms."""
    read = machine.weight_bytes / machine.bytes_per_s
    multiply = 2 * machine.parameters * tokens / machine.flop_per_s
    return max(read, multiply) * 1e3


def attention_ms(machine: Machine, chunk: int, prefix: int) -> float:
    """Time of attention for a prefill chunk of `chunk` tokens behind `prefix` computed ones; ms."""
    pairs = chunk * (prefix + (chunk + 1) / 2)
    return machine.attention_flop_per_pair * pairs / machine.flop_per_s * 1e3


def kv_read_ms(machine: Machine, context_tokens: float) -> float:
    """Time to read the KV of `context_tokens` tokens, summed over the decoding requests; ms."""
    return context_tokens * machine.kv_bytes_per_token / machine.bytes_per_s * 1e3


def step_ms(machine: Machine, prefills: tuple[tuple[int, int], ...], decodes: int, context_tokens: float) -> float:
    """Time of one step; ms.

    `prefills`: (chunk, prefix) for each request that prefills; `decodes`: requests that add one token, over
    `context_tokens` of KV in all. Weights and products overlap (the longer counts), attention is a kernel of its own
    and adds. Good to some 30%, right about shape.
    """
    tokens = decodes + sum(chunk for chunk, _ in prefills)
    attention = sum(attention_ms(machine, chunk, prefix) for chunk, prefix in prefills)
    return linear_ms(machine, tokens) + attention + kv_read_ms(machine, context_tokens) + machine.cpu_ms
