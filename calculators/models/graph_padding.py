"""Padding to a captured size: which graph a batch runs, what its empty rows cost, and what capturing it all takes."""
from dataclasses import dataclass

from calculators.models.base import Line, Refusal
from calculators.models.batch_defaults import batch_defaults
from calculators.models.capture_sizes import BALANCED, capture_sizes, padded_size
from calculators.models.catalogue import FP8, GPUS
from calculators.models.launch_bound import MODELS, compute_ms, kv_gb, weight_gb
from calculators.models.quantity import say

BLACKWELL = ("b200",)  # compute capability 10.x
COMPARED = (9, 129)  # sequences beside those at hand
CAPTURE_S = (0.1, 0.3)  # a size, by rule
FULL, PIECEWISE, NONE = "full", "piecewise", "none"
SLIP_APART = 0.03


@dataclass(frozen=True, slots=True)
class Padded:
    """A decode batch and the graph it runs; `size` is None without one. Times in ms, at the datasheet's peaks."""

    sequences: int
    tokens: int
    size: int | None
    graph: str
    memory_ms: float
    compute_ms: float
    padded_compute_ms: float
    present: bool

    @property
    def rows(self) -> int:
        """Rows that are computed for nobody."""
        return (self.size or self.tokens) - self.tokens

    @property
    def percent(self) -> float:
        """Their share of what is computed."""
        return 100 * self.rows / (self.size or self.tokens)

    @property
    def step_ms(self) -> float:
        return max(self.memory_ms, self.compute_ms)

    @property
    def padded_step_ms(self) -> float:
        return max(self.memory_ms, self.padded_compute_ms)

    @property
    def cost_ms(self) -> float:
        """What the empty rows add to the step."""
        return self.padded_step_ms - self.step_ms


@dataclass(frozen=True, slots=True)
class GraphPadding:
    """The captured sizes, the batch at hand, and what the capture takes.

    `decode_sizes` are those of the full graphs, which hold whole requests only. `worst` is the batch with the largest
    share of empty rows, `mean_rows` the mean over every batch up to the largest size.
    """

    max_num_seqs: int
    max_num_batched_tokens: int
    sizes: tuple[int, ...]
    decode_sizes: tuple[int, ...]
    batch: Padded
    compared: tuple[Padded, ...]
    worst: tuple[int, int]
    worst_percent: float
    mean_rows: float
    piecewise_graphs: int
    capture_s: tuple[float, float]
    verdict: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]

    @property
    def cap(self) -> int:
        return self.sizes[-1]

    @property
    def size_count(self) -> int:
        return len(self.sizes)

    @property
    def full_graphs(self) -> int:
        return len(self.decode_sizes)

    @property
    def graphs(self) -> int:
        return self.piecewise_graphs + self.full_graphs

    @property
    def size(self) -> int:
        """The size that runs; without a graph the batch itself."""
        return self.batch.size or self.batch.tokens

    @property
    def cost_percent(self) -> float:
        """How much longer the empty rows make the step."""
        return 100 * self.batch.cost_ms / self.batch.step_ms

    @property
    def finding(self) -> str:
        """What runs and what it costs in one sentence."""
        batch = self.batch
        if batch.size is None:
            return (f"{batch.tokens:,} rows run without a graph: {self.cap:,} is the largest of {len(self.sizes)} "
                    "captured sizes.")
        return (f"{batch.tokens:,} rows run at {batch.size:,}, one of {len(self.sizes)} captured sizes: "
                f"{batch.percent:.1f}% of what is computed is empty. The step takes {say(batch.padded_step_ms, 'ms')}, "
                f"{say(batch.cost_ms, 'ms')} more than without padding.")


def solve(*, gpu: str = "h100", sequences: int = 9, context_tokens: int = 1_024, num_speculative_tokens: int = 0,
          model: str = "llama-3.1-8b", weight_bits: int = 16, max_num_seqs: int | None = None,
          max_num_batched_tokens: int | None = None, performance_mode: str = BALANCED,
          cudagraph_capture_sizes: str = "", max_cudagraph_capture_size: int | None = None) -> GraphPadding:
    """List the captured sizes, pad a decode batch to one of them, and price the empty rows.

    Rows = sequences * (1 + drafts). A full graph serves a decode batch that fits one of its sizes, a piecewise one any
    batch up to the largest; above it none runs. Step = max(weights and KV / bandwidth, 2 * parameters * rows / FLOP/s):
    an empty row reads no KV, so it adds products alone. Sizes are exact, times the roofline's for the linear layers,
    capture 0.1 to 0.3 s a size a rule. Empty limits are what `vllm serve` takes on this GPU.
    Source: vllm 0.33.0, config/vllm.py, VllmConfig._set_cudagraph_sizes; v1/worker/gpu/cudagraph_utils.py,
    CudaGraphManager._init_candidates.
    Raises Refusal for more sequences than run at once, more rows than a step holds, or sizes that can't be used.
    """
    card, query_len = GPUS[gpu], 1 + num_speculative_tokens
    limits = batch_defaults(
        device_name=card.name, device_memory_gib=card.visible_gib, max_model_len=MODELS[model].longest_context,
        performance_mode=performance_mode, max_num_batched_tokens=max_num_batched_tokens, max_num_seqs=max_num_seqs,
    )
    if sequences > limits.max_num_seqs:
        raise Refusal(f"At most {limits.max_num_seqs:,} sequences run at once here.", "sequences")
    if sequences * query_len > limits.max_num_batched_tokens:
        raise Refusal(f"{sequences * query_len:,} rows are more than the {limits.max_num_batched_tokens:,} tokens of a "
                      "step.", "sequences")
    sizes = capture_sizes(
        max_num_seqs=limits.max_num_seqs, max_num_batched_tokens=limits.max_num_batched_tokens,
        num_speculative_tokens=num_speculative_tokens, datacenter_blackwell=gpu in BLACKWELL,
        performance_mode=performance_mode, user_capture_sizes=read_sizes(cudagraph_capture_sizes),
        user_max_capture_size=max_cudagraph_capture_size,
    )
    if not sizes:
        raise Refusal(f"A step holds {limits.max_num_batched_tokens:,} tokens: none of these sizes fits, and nothing "
                      "is captured.", "cudagraph_capture_sizes")
    decode = decode_sizes(sizes, query_len, limits.max_num_seqs)

    def padded(count: int, present: bool) -> Padded:
        rows = count * query_len
        size, graph = padded_size(decode, rows), FULL
        if size is None:
            size = padded_size(sizes, rows)
            graph = PIECEWISE if size else NONE
        shape = MODELS[model]
        read = (weight_gb(shape, weight_bits) + kv_gb(shape, 1, count * context_tokens)) / card.tb_per_s
        compute = [compute_ms(shape, gpu, weight_bits, 1, number) for number in (rows, size or rows)]
        return Padded(count, rows, size, graph, read, *compute, present)

    batch = padded(sequences, True)
    others = {count for count in COMPARED if count <= limits.max_num_seqs} - {sequences}
    compared = sorted([batch, *(padded(count, False) for count in others)], key=lambda each: each.sequences)
    gaps = [padded_size(sizes, rows) - rows for rows in range(1, sizes[-1] + 1)]
    worst = max(range(len(gaps)), key=lambda place: gaps[place] / (place + 1 + gaps[place]))
    pieces = MODELS[model].layers + 1
    return GraphPadding(
        max_num_seqs=limits.max_num_seqs, max_num_batched_tokens=limits.max_num_batched_tokens, sizes=sizes,
        decode_sizes=decode, batch=batch, compared=tuple(compared), worst=(worst + 1, worst + 1 + gaps[worst]),
        worst_percent=100 * gaps[worst] / (worst + 1 + gaps[worst]), mean_rows=sum(gaps) / len(gaps),
        piecewise_graphs=pieces * len(sizes), capture_s=tuple(each * len(sizes) for each in CAPTURE_S),
        verdict=verdict(batch, sizes),
        lines=lines_of(batch, sizes, decode, pieces, gpu, model, weight_bits, context_tokens), slips=slips_of(batch),
    )


def read_sizes(text: str) -> tuple[int, ...] | None:
    """Sizes of one's own, apart by spaces or commas; None for none. Raises Refusal for what is no size."""
    words = text.replace(",", " ").split()
    for word in words:
        if not (word.isascii() and word.isdigit() and 0 < int(word) <= 100_000):
            raise Refusal(f"“{word}” is no size; takes whole numbers from 1 to 100,000, apart by spaces.",
                          "cudagraph_capture_sizes")
    return tuple(map(int, words)) or None


def decode_sizes(sizes: tuple[int, ...], query_len: int, max_num_seqs: int) -> tuple[int, ...]:
    """The sizes of the full graphs: rounded up to whole requests, within the cap and the requests that run at once."""
    rounded = {-(-size // query_len) * query_len for size in sizes}
    return tuple(sorted(size for size in rounded if size <= min(sizes[-1], max_num_seqs * query_len)))


def verdict(batch: Padded, sizes: tuple[int, ...]) -> str:
    """What the padding costs and why, in sentences."""
    if batch.graph == NONE:
        return (f"{batch.tokens:,} rows are above {sizes[-1]:,}, the largest size: compiled code with ordinary "
                "launches. With so many rows the kernels are long, so it shows only with a tiny model.")
    served = ("a full graph" if batch.graph == FULL else
              "a piecewise graph, since no full one holds so many whole requests")
    if not batch.rows:
        return f"The batch is a captured size: {served}, and not one empty row."
    if not batch.cost_ms:
        empty = f"{batch.rows} empty row{'s' * (batch.rows != 1)} of {batch.size:,}, {batch.percent:.1f}%"
        return (f"It runs {served}. {empty}: free, since the step waits for memory, {say(batch.memory_ms, 'ms')}, and "
                f"the products take {say(batch.padded_compute_ms, 'ms')} beside it.")
    return (f"It runs {served}. The step is bound by its products, so {batch.rows} empty rows cost "
            f"{say(batch.cost_ms, 'ms')} of {say(batch.padded_step_ms, 'ms')}.")


def lines_of(batch: Padded, sizes: tuple[int, ...], decode: tuple[int, ...], pieces: int, gpu: str, model: str,
             weight_bits: int, context: int) -> tuple[Line, ...]:
    """The step with and without padding, then the graphs, with their numbers filled in."""
    card, shape = GPUS[gpu], MODELS[model]
    rate = card.tflop_per_s(FP8) if weight_bits == 8 else card.bf16_tflop_per_s
    size = batch.size or batch.tokens
    product = f"2 × {shape.parameters / 1e9:.3g}e9 ×"
    weights = f"{weight_gb(shape, weight_bits):.4g} GB"
    kv = f"{batch.sequences:,} × {context:,} × {shape.kv_bytes_per_token:,} B"
    read = f"({weights} + {kv})" if context else weights
    return (
        Line("empty rows", f"({size:,} − {batch.tokens:,}) / {size:,}", batch.percent, "%"),
        Line("memory", f"{read} / {card.tb_per_s:g} TB/s", batch.memory_ms, "ms"),
        Line("compute", f"{product} {batch.tokens:,} / {rate:,g} TFLOP/s", batch.compute_ms, "ms"),
        Line("compute, padded", f"{product} {size:,} / {rate:,g} TFLOP/s", batch.padded_compute_ms, "ms"),
        Line("step", f"max({batch.memory_ms:.3g}, {batch.compute_ms:.3g})", batch.step_ms, "ms", total=True),
        Line("step, padded", f"max({batch.memory_ms:.3g}, {batch.padded_compute_ms:.3g})", batch.padded_step_ms, "ms"),
        Line("graphs captured", f"{pieces} × {len(sizes)} + {len(decode)}", pieces * len(sizes) + len(decode),
             total=True),
    )


def slips_of(batch: Padded) -> tuple[tuple[float, str], ...]:
    """The wrong sizes that people name, and what each is."""
    size = batch.size or batch.tokens
    power = 1 << (batch.tokens - 1).bit_length()
    slips = (
        (power, "That is the next power of two; sizes lie 8 apart below 256 and 16 apart above."),
        (batch.tokens, "That is the batch itself: it runs at the next captured size."),
        (512, "That is the largest size; the smallest that holds the batch runs."),
    )
    return tuple((float(value), words) for value, words in slips if abs(value / size - 1) > SLIP_APART)
