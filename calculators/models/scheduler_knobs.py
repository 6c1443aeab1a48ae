"""The engine's settings, and what vLLM refuses at its start."""
from dataclasses import dataclass

from calculators.models.base import Refusal
from calculators.models.scheduler_run import Request


@dataclass(frozen=True, slots=True)
class Knobs:
    """The engine's settings under vLLM's names, in tokens, blocks and steps."""

    max_num_batched_tokens: int
    max_num_seqs: int
    usable_blocks: int
    block_size: int
    max_model_len: int
    max_num_active_seqs: int | None = None
    enable_prefix_caching: bool = True
    enable_chunked_prefill: bool = True
    long_prefill_token_threshold: int = 0
    long_prefill_token_threshold_adaptive: bool = False
    prefill_schedule_interval: int = 1
    scheduler_reserve_full_isl: bool = True
    watermark: float = 0.0
    policy: str = "fcfs"
    async_scheduling: bool = False
    num_speculative_tokens: int = 0
    num_lookahead_tokens: int = 0
    accepted_drafts: int = 0

    @property
    def max_running(self) -> int:
        """The most requests that may run at once."""
        return self.max_num_seqs if self.max_num_active_seqs is None else self.max_num_active_seqs

    @property
    def watermark_blocks(self) -> int:
        """Blocks that an admission leaves free; vLLM takes the share of the pool with its null block."""
        return int(self.watermark * (self.usable_blocks + 1))


def check_knobs(knobs: Knobs) -> None:
    """Raise Refusal for settings that vLLM refuses at start, or that fail inside it later."""
    budget, length, cap = knobs.max_num_batched_tokens, knobs.max_model_len, knobs.long_prefill_token_threshold
    if budget < knobs.max_num_seqs:
        raise Refusal(
            f"{budget:,} tokens for up to {knobs.max_num_seqs:,} sequences: vLLM wants max_num_batched_tokens to be at "
            "least max_num_seqs.", "max_num_batched_tokens",
        )
    if knobs.max_running > knobs.max_num_seqs:
        raise Refusal(f"It can't be above max_num_seqs, {knobs.max_num_seqs:,}.", "max_num_active_seqs")
    if budget < length and not knobs.enable_chunked_prefill:
        raise Refusal(
            f"Without chunked prefill vLLM wants max_num_batched_tokens to be at least max_model_len, {length:,}.",
            "max_num_batched_tokens",
        )
    if cap > length:
        raise Refusal(f"It can't be above max_model_len, {length:,}.", "long_prefill_token_threshold")
    if 0 < cap <= knobs.num_speculative_tokens:
        raise Refusal(
            f"{cap:,} would cut a decode padded to {1 + knobs.num_speculative_tokens:,} tokens, and vLLM 0.33.0 stops "
            "there with a failed assertion: take 0 or more than the drafts.", "long_prefill_token_threshold",
        )


def check_request(request: Request, knobs: Knobs) -> None:
    """Raise Refusal for a request that vLLM rejects, or that can never run to its end in this pool."""
    if not 1 <= request.prompt_tokens < knobs.max_model_len:
        raise Refusal(
            f"{request.id} has a prompt of {request.prompt_tokens:,} tokens; below max_model_len it takes 1 to "
            f"{knobs.max_model_len - 1:,}.", "requests",
        )
    last = request.prompt_tokens + request.max_tokens - 1  # the last sampled token is never computed
    needed = -(-min(last + knobs.num_lookahead_tokens, knobs.max_model_len) // knobs.block_size)
    if needed > knobs.usable_blocks:
        raise Refusal(
            f"{request.id} needs {needed:,} blocks by its end; the pool holds {knobs.usable_blocks:,}.",
            "usable_blocks",
        )
