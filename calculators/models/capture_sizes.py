"""The batch sizes that CUDA graphs are captured for, and the one that a batch is padded to."""
from bisect import bisect_left
from collections.abc import Iterable

from calculators.models.base import Refusal

CAP, BLACKWELL_CAP = 512, 1_024  # data-centre Blackwell is compute capability 10.x
FINE = 32  # every size up to here is captured when interactivity goes first
BALANCED, INTERACTIVITY = "balanced", "interactivity"


def capture_sizes(
    *, max_num_seqs: int, max_num_batched_tokens: int, num_speculative_tokens: int = 0,
    datacenter_blackwell: bool = False, performance_mode: str = BALANCED,
    user_capture_sizes: tuple[int, ...] | None = None, user_max_capture_size: int | None = None,
) -> tuple[int, ...]:
    """The sizes in tokens, ascending, as the engine completes its settings; empty when none of one's own fits a step.

    Cap = min(2 * sequences * (1 + drafts), 512 or 1,024), never more than a step's tokens. What a decode batch of a
    whole number of requests takes is added within the cap, unless a cap of one's own is given.
    Raises Refusal for sizes and a cap that contradict each other: the engine does not start.
    Source: vllm 0.33.0, config/vllm.py, VllmConfig._set_cudagraph_sizes.
    """
    platform_cap = BLACKWELL_CAP if datacenter_blackwell else CAP
    query_len = 1 + num_speculative_tokens
    cap = user_max_capture_size or min(max_num_seqs * query_len * 2, platform_cap)
    if user_capture_sizes is not None:
        return own_sizes(user_capture_sizes, user_max_capture_size, max_num_batched_tokens)
    decode_sizes: Iterable[int] = ()
    if user_max_capture_size is None:
        counts = [max_num_seqs] if query_len == 1 else request_counts(min(max_num_seqs, platform_cap))
        decode_sizes = (count * query_len for count in counts if count * query_len <= cap)
    cap = min(cap, max_num_batched_tokens)
    sizes = {*grid(cap, performance_mode), *(size for size in decode_sizes if size <= max_num_batched_tokens)}
    if max_num_batched_tokens <= cap:
        sizes.add(max_num_batched_tokens)
    return tuple(sorted(sizes))


def own_sizes(sizes: tuple[int, ...], cap: int | None, max_num_batched_tokens: int) -> tuple[int, ...]:
    """Sizes of one's own: each once, those that a step can hold."""
    kept = tuple(sorted({size for size in sizes if size <= max_num_batched_tokens}))
    largest = kept[-1] if kept else 0
    if cap is not None and cap != largest:
        raise Refusal(f"customized max_cudagraph_capture_size(={cap}) should be consistent with the max value of "
                      f"cudagraph_capture_sizes(={largest})")
    return kept


def grid(cap: int, performance_mode: str = BALANCED) -> list[int]:
    """1, 2, 4, then every 8 below 256 and every 16 above, up to the cap; interactivity starts with each up to 32."""
    small = range(1, FINE + 1) if performance_mode == INTERACTIVITY else (1, 2, 4)
    return [size for size in (*small, *range(8, 256, 8), *range(256, cap + 1, 16)) if size <= cap]


def request_counts(most: int) -> list[int]:
    """The requests of a decode batch that are captured when each brings drafts: the same grid, and the most."""
    return [*grid(most), most]


def padded_size(sizes: tuple[int, ...], tokens: int) -> int | None:
    """The smallest captured size that holds so many tokens; None above the largest, where no graph runs."""
    place = bisect_left(sizes, tokens)
    return sizes[place] if place < len(sizes) else None
