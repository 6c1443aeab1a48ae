"""Prefill on one set of GPUs, decode on another: the KV that moves, how long it takes, and what it saves."""
from collections.abc import Iterator
from dataclasses import dataclass, replace

from calculators.models import catalogue
from calculators.models.base import Line, Refusal
from calculators.models.catalogue import BF16, FP8, FULL, MLA, Gpu, Model
from calculators.models.quantity import say

MODELS = catalogue.MODELS.only(lambda model: model.pattern in ((FULL,), (MLA,)))
GPUS = catalogue.GPUS
NOTICED_STEPS = 3  # of D: one or two until a finished read is seen, and the one that computes the last prompt token
PROMPTS = (2_048, 8_192, 32_768)
LINKS = ((12.5, "100 GbE"), (50.0, "400 Gb/s NIC"), (64.0, "PCIe 5 ×16"), (450.0, "NVLink 4"))


@dataclass(frozen=True, slots=True)
class Chunk:
    """A prefill chunk beside the decoders, the step that it makes, and whether that holds the gap between tokens."""

    tokens: int
    step_ms: float
    present: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """One link a GPU, and the ms that each of PROMPTS takes over one of it alone at its full rate."""

    name: str
    gb_per_s: float
    takes_ms: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Split:
    """One prompt prefilled on P and read by D, beside the same prompt prefilled among D's own decoders."""

    kv_bytes: int
    rank_bytes: float
    lanes: int
    read_ms: float
    prefill_ms: float
    decode_step_ms: float
    pinned_bytes: float
    chunks: tuple[Chunk, ...]
    links: tuple[Link, ...]
    limit_ms: float
    largest_chunk_tokens: int
    lines: tuple[Line, ...] = ()
    slips: tuple[tuple[float, str], ...] = ()

    @property
    def kv_gb(self) -> float:
        return self.kv_bytes / 1e9

    @property
    def pinned_gb(self) -> float:
        return self.pinned_bytes / 1e9

    @property
    def share_percent(self) -> float:
        """The read as a share of the prefill that it follows."""
        return 100 * self.read_ms / self.prefill_ms

    @property
    def break_even_gb_per_s(self) -> float:
        """All links together at which the read takes as long as the prefill."""
        return self.kv_bytes / self.prefill_ms / 1e6

    @property
    def noticed_ms(self) -> float:
        return NOTICED_STEPS * self.decode_step_ms

    @property
    def first_token_ms(self) -> float:
        """From the prompt at P to the first token from D, nobody else waiting."""
        return self.prefill_ms + self.read_ms + self.noticed_ms

    @property
    def chunk(self) -> Chunk:
        """The chunk at hand."""
        return next(chunk for chunk in self.chunks if chunk.present)

    @property
    def stretched(self) -> float:
        """How many times as long a decode step is with that chunk in it."""
        return self.chunk.step_ms / self.decode_step_ms

    @property
    def pays(self) -> bool:
        """Whether the chunk breaks the limit on the gap, so that the two had better part."""
        return self.chunk.step_ms > self.limit_ms

    @property
    def finding(self) -> str:
        """What moves, how that compares, and whether it is worth it."""
        moved = (f"The read takes {say(self.read_ms, 'ms')}, {say(self.share_percent, '%')} of the "
                 f"{say(self.prefill_ms, 'ms')} prefill before it.")
        with_chunk = f"a step with {self.chunk.tokens:,} prompt tokens takes {say(self.chunk.step_ms, 'ms')}"
        limit = say(self.limit_ms, "ms")
        if self.pays:
            return f"{moved} Together on one set of GPUs, {with_chunk} and breaks the {limit} limit: splitting pays."
        return f"{moved} Together, {with_chunk}, within {limit}: chunked prefill is enough."


def solve(*, model: str = "llama-3.1-70b", kv_dtype: str = BF16, prompt_tokens: int = 8_192, gpu: str = "h100",
          prefill_gpus: int = 4, decode_gpus: int = 4, link_gb_per_s: float = 50, efficiency: float = 0.8,
          mfu: float = 0.5, chunk_tokens: int = 2_048, gap_limit_ms: float = 50, rate_per_s: float = 10,
          wait_s: float = 0.5) -> Split:
    """Size the move of one prompt's KV, weights in bf16.

    read = bytes / (links * link * efficiency), links = the smaller of the two sides; each rank of D reads a latent
    model's whole cache. prefill = (2 P S + 2 S^2 d L) / (GPUs * FLOP/s * MFU).
    Exact: bytes. Rules: MFU, efficiency, and three steps of D until the first token.
    """
    shape, machine = MODELS[model], GPUS[gpu]
    kv_bytes = moved_bytes(shape, kv_dtype, prompt_tokens, decode_gpus)
    lanes = min(prefill_gpus, decode_gpus)
    read_ms = kv_bytes / lanes / (link_gb_per_s * efficiency) / 1e6
    if not machine.bf16_tflop_per_s:
        raise Refusal(f"{machine.name} has no bf16 rate in the catalogue.", "gpu")
    step_ms = floor_ms(shape, machine, decode_gpus)
    sizes = sorted({256, 512, 2_048, 8_192, chunk_tokens})
    result = Split(
        kv_bytes=kv_bytes, rank_bytes=kv_bytes / decode_gpus, lanes=lanes, read_ms=read_ms,
        prefill_ms=prefill_ms(shape, machine, prompt_tokens, prefill_gpus, mfu), decode_step_ms=step_ms,
        pinned_bytes=rate_per_s * kv_bytes * (read_ms / 1e3 + wait_s), limit_ms=gap_limit_ms,
        chunks=tuple(Chunk(size, max(step_ms, chunk_ms(shape, machine, size, decode_gpus, mfu)), size == chunk_tokens)
                     for size in sizes),
        links=tuple(Link(name, rate, tuple(moved_bytes(shape, kv_dtype, tokens, 1) / rate / 1e6 for tokens in PROMPTS))
                    for rate, name in LINKS),
        largest_chunk_tokens=int(gap_limit_ms / chunk_ms(shape, machine, 1, decode_gpus, mfu)),
    )
    inputs = Inputs(shape, kv_dtype, prompt_tokens, prefill_gpus, decode_gpus, link_gb_per_s, efficiency, mfu,
                    machine, rate_per_s, wait_s)
    return replace(result, lines=tuple(lines_of(result, inputs)), slips=tuple(slips_of(result, inputs)))


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the derivation fills in."""

    model: Model
    kv_dtype: str
    prompt_tokens: int
    prefill_gpus: int
    decode_gpus: int
    link_gb_per_s: float
    efficiency: float
    mfu: float
    machine: Gpu
    rate_per_s: float
    wait_s: float


def token_bytes(model: Model, kv_dtype: str) -> int:
    """Bytes of KV that a token keeps in all layers; fp8 is half of bf16."""
    return model.kv_bytes_per_token // (2 if kv_dtype == FP8 else 1)


def moved_bytes(model: Model, kv_dtype: str, tokens: int, decode_gpus: int) -> int:
    """Bytes that cross the network: a latent is whole on each rank of D, so each rank reads its own copy."""
    return tokens * token_bytes(model, kv_dtype) * (decode_gpus if model.latent else 1)


def floor_ms(model: Model, machine: Gpu, gpus: int) -> float:
    """A decode step's time at least: the weights read once, on all GPUs together."""
    return model.weight_bytes(BF16) / gpus / machine.tb_per_s / 1e9


def chunk_ms(model: Model, machine: Gpu, tokens: int, gpus: int, mfu: float) -> float:
    """The products of so many prompt tokens, attention left out."""
    return 2 * model.computed_parameters * tokens / (gpus * machine.bf16_tflop_per_s * 1e9 * mfu)


def prefill_ms(model: Model, machine: Gpu, tokens: int, gpus: int, mfu: float) -> float:
    """The whole prompt: products, and causal attention over half of the pairs."""
    attention = model.attention_flop_per_pair * tokens**2 / 2 / (gpus * machine.bf16_tflop_per_s * 1e9 * mfu)
    return chunk_ms(model, machine, tokens, gpus, mfu) + attention


def lines_of(result: Split, given: Inputs) -> Iterator[Line]:
    """The bytes, the read, the prefill before it, and what P keeps pinned."""
    each, ranks = token_bytes(given.model, given.kv_dtype), given.decode_gpus
    copies = f" × {ranks}" if given.model.latent else ""
    total, tflop = say(result.kv_gb, ""), given.machine.bf16_tflop_per_s
    yield Line("KV", f"{given.prompt_tokens:,} × {each:,} B{copies}", result.kv_gb, "GB")
    yield Line("each rank of D", f"{total} / {ranks}", result.rank_bytes / 1e9, "GB")
    yield Line("the read", f"{total} / ({result.lanes} × {given.link_gb_per_s:g} × {given.efficiency:g})",
               result.read_ms, "ms")
    rate = given.prefill_gpus * tflop * given.mfu  # TFLOP/s
    products = 2 * given.model.computed_parameters * given.prompt_tokens / 1e12
    needed = result.prefill_ms / 1e3 * rate
    yield Line("its products, and attention", f"2 × {given.model.computed_parameters / 1e9:.3g}e9 × "
               f"{given.prompt_tokens:,} + {say(needed - products, '')} T", needed, "TFLOP")
    yield Line("the prefill", f"{say(needed, '')} T / ({given.prefill_gpus} × {tflop:,.0f} T × {given.mfu:g})",
               result.prefill_ms, "ms")
    yield Line("share of it", f"{say(result.read_ms, '')} / {say(result.prefill_ms, '')}", result.share_percent, "%")
    yield Line("break-even, all links", f"{total} / {say(result.prefill_ms / 1e3, '')}", result.break_even_gb_per_s,
               "GB/s")
    yield Line("first token", f"{say(result.prefill_ms, '')} + {say(result.read_ms, '')} + {NOTICED_STEPS} × "
               f"{say(result.decode_step_ms, '')}", result.first_token_ms, "ms")
    yield Line("pinned on P", f"{given.rate_per_s:g}/s × {total} × ({say(result.read_ms / 1e3, '')} + "
               f"{given.wait_s:g})", result.pinned_gb, "GB")


def slips_of(result: Split, given: Inputs) -> Iterator[tuple[float, str]]:
    """Wrong times of the read, in ms, and what each is."""
    read = result.read_ms
    yield read * given.efficiency, "That is the link at its full rate; some of it is lost."
    yield read / 8, "That takes the link’s bits for bytes: 400 Gb/s are 50 GB/s."
    yield read * result.lanes, "That is one link for all ranks; each GPU has its own."
    yield read / 2, "That is K or V alone."
    yield result.prefill_ms, "That is the prefill; the read follows it."
    if given.model.latent:
        yield read / given.decode_gpus, "That moves the latent once; each rank of D reads a whole copy."
