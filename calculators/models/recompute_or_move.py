"""Recompute or move: bringing KV back over a link against computing it again, and where the two cost the same."""
from dataclasses import dataclass, replace

from calculators.models import catalogue
from calculators.models.base import Line, Refusal
from calculators.models.catalogue import FULL, GPUS, MLA, Model, machine
from calculators.models.quantity import say
from calculators.models.step_time import Machine, attention_ms

MODELS = catalogue.MODELS.only(lambda model: model.pattern in ((FULL,), (MLA,)))
COMPARED = ("llama-2-7b", "llama-3.1-8b", "llama-3.1-70b", "deepseek-v3")
COPY_BYTES = tuple(kib * 1024 for kib in (16, 32, 64, 512, 2_048))
MOST_COPIES = 10_000_000
UNITS = ((30, "GiB"), (20, "MiB"), (10, "KiB"))
LITTLE_MS = 5  # below this either way is lost in the steps that a request waits anyway
SLIP_APART = 0.05  # a wrong value nearer to the right one than this is no slip


@dataclass(frozen=True, slots=True)
class Copies:
    """The move in copies of one size: how many, ms in all, and the GB/s that one of them reaches."""

    bytes: int
    count: int
    takes_ms: float
    gb_per_s: float
    present: bool


@dataclass(frozen=True, slots=True)
class OtherModel:
    """Another model on this GPU at short context: µs a token, and the one-way bandwidth at which moving is equal."""

    name: str
    kv_bytes_per_token: int
    us_per_token: float
    gb_per_s: float
    present: bool


@dataclass(frozen=True, slots=True)
class Move:
    """So many bytes over a link, each copy with its overhead; `trips` is 2 when they were also brought out."""

    kv_bytes: int
    link_gb_per_s: float
    overhead_us: float
    trips: int

    @property
    def wire_ms(self) -> float:
        """The link's own time, without any overhead."""
        return self.trips * self.kv_bytes / self.link_gb_per_s / 1e6

    def in_copies(self, bytes: int, present: bool = False) -> Copies:
        count = -(-self.kv_bytes // bytes)
        takes = self.trips * count * self.overhead_us / 1e3 + self.wire_ms
        return Copies(bytes, count, takes, bytes / (self.overhead_us * 1e3 + bytes / self.link_gb_per_s), present)

    def copy_reaching(self, gb_per_s: float) -> float | None:
        """Bytes of the copy that reaches this bandwidth; None when the link doesn't."""
        if gb_per_s >= self.link_gb_per_s:
            return None
        return self.overhead_us * 1e3 * gb_per_s / (1 - gb_per_s / self.link_gb_per_s)


@dataclass(frozen=True, slots=True)
class RecomputeOrMove:
    """Both costs of one request's missing KV in ms, and where they are equal.

    `break_even_gb_per_s` is one way at short context, without attention; `context_gb_per_s` counts the attention of
    these tokens. `break_even_copy_bytes` and `crossing_bytes` are the copies that reach the one and the other (of a
    round trip twice it), None when the link itself is slower. `rank` is one GPU's share as the step-time rule sees it.
    """

    rank: Machine
    layers: int
    missing_tokens: int
    kv_bytes_per_token: int
    kv_bytes: int
    linear_us_per_token: float
    us_per_token: float
    linear_ms: float
    attention_ms: float
    recompute_ms: float
    break_even_gb_per_s: float
    context_gb_per_s: float
    move: Move
    copy_bytes: int
    copies: int
    overhead_ms: float
    wire_ms: float
    move_ms: float
    copy_gb_per_s: float
    break_even_copy_bytes: float | None
    crossing_bytes: float | None
    sizes: tuple[Copies, ...]
    others: tuple[OtherModel, ...]
    lines: tuple[Line, ...] = ()
    slips: tuple[tuple[float, str], ...] = ()

    @property
    def token_bytes(self) -> int:
        """The KV that one token keeps on a rank."""
        return self.kv_bytes_per_token

    @property
    def billion_parameters(self) -> float:
        """The parameters that a token is computed with."""
        return self.rank.parameters / 1e9

    @property
    def compute_tflop_per_s(self) -> float:
        return self.rank.flop_per_s / 1e12

    @property
    def both_ways_gb_per_s(self) -> float:
        """The break-even bandwidth when KV is paid for out and in."""
        return 2 * self.break_even_gb_per_s

    @property
    def move_us_per_token(self) -> float:
        """What the link alone takes for a token, one way."""
        return self.kv_bytes_per_token / self.move.link_gb_per_s / 1e3

    @property
    def paper_ratio(self) -> float:
        """How many times cheaper moving is on paper: one way, no overhead, no attention."""
        return self.linear_us_per_token / self.move_us_per_token

    @property
    def winner(self) -> str:
        return "move" if self.move_ms < self.recompute_ms else "recompute"

    @property
    def times(self) -> float:
        """How many times dearer the loser is."""
        return max(self.move_ms, self.recompute_ms) / min(self.move_ms, self.recompute_ms)

    @property
    def finding(self) -> str:
        """The whole result in one sentence."""
        one = self.missing_tokens == 1
        copies = "1 copy" if self.copies == 1 else f"{self.copies:,} copies"
        return (f"{self.missing_tokens:,} token{'s' * (not one)} take{'s' * one} {say(self.recompute_ms, 'ms')} to "
                f"recompute and {say(self.move_ms, 'ms')} to move in {copies} of {in_bytes(self.copy_bytes)}.")

    @property
    def copy_verdict(self) -> str:
        """What a copy of this size reaches of the link, and from which size on moving wins, in a sentence."""
        reaches = (f"A copy of {in_bytes(self.copy_bytes)} reaches {self.copy_gb_per_s:.3g} GB/s of the link's "
                   f"{self.move.link_gb_per_s:g}")
        if self.crossing_bytes is None:
            return f"{reaches}."
        if not self.crossing_bytes:
            return f"{reaches}: without overhead the size of a copy does not matter."
        return f"{reaches}; moving wins from {in_bytes(self.crossing_bytes)} on."

    @property
    def link_verdict(self) -> str:
        """Whether the link itself is fast enough, in a sentence."""
        link, needed = self.move.link_gb_per_s, self.move.trips * self.context_gb_per_s
        ways = "out and in" if self.move.trips == 2 else "one way"
        equal = f"Attention counted, moving {ways} is equal at {needed:.3g} GB/s"
        if needed >= link:
            return f"{equal}, more than the link's {link:g}: no size of copy helps."
        return f"{equal}; the link alone is {link / needed:.1f}× as fast."

    @property
    def choice_verdict(self) -> str:
        """Who wins, why, and whether it matters, in a sentence."""
        if max(self.recompute_ms, self.move_ms) < LITTLE_MS:
            return (f"Either takes less than {LITTLE_MS} ms for the {self.missing_tokens:,} tokens that are missing: "
                    "the choice stops mattering.")
        if self.winner == "move":
            return f"Moving wins, {self.times:.1f}×."
        wire = f"the link itself takes {say(self.wire_ms, 'ms')}."
        if self.overhead_ms > self.wire_ms:
            return f"Recomputing wins, {self.times:.1f}×: the copies' overhead is {say(self.overhead_ms, 'ms')}, {wire}"
        return f"Recomputing wins, {self.times:.1f}×: {wire}"


def solve(*, tokens: int = 2_000, hit_fraction: float = 0, model: str = "llama-3.1-8b", gpu: str = "h100",
          tensor_parallel_size: int = 1, link_gb_per_s: float = 25, overhead_us: float = 10, block_size: int = 16,
          layers_per_copy: int = 1, k_and_v: str = "apart", trips: int = 1,
          tflop_per_s: float | None = None) -> RecomputeOrMove:
    """Compare recomputing `tokens` with moving their KV; what prefix caching still holds is neither.

    Recompute = 2N * c / F + attention of c tokens behind the hit; move = trips * (copies * overhead + bytes / link),
    a copy being one block of so many layers, K and V apart or together. Equal at bandwidth b = KV bytes * F / 2N, and
    at copy size s = overhead * b / (1 - b / link). Under tensor parallelism each rank computes its share and moves its
    own heads over its own link; a latent is whole on every rank. Bytes and counts are exact, F, link and overhead rules
    of thumb; an empty rate is the GPU's effective one.
    Raises Refusal for more layers a copy than the model has, or too many copies to draw.
    """
    shape = MODELS[model]
    if layers_per_copy > shape.layers:
        raise Refusal(f"{shape.name} has {shape.layers} layers; takes at most so many.", "layers_per_copy")
    rig = rank_of(model, gpu, tensor_parallel_size, tflop_per_s)
    hit = min(round(tokens * hit_fraction), tokens - 1)  # the last token is always computed
    missing = tokens - hit
    copy_bytes = copy_of(shape, rig, block_size, layers_per_copy, k_and_v)
    kv_bytes = missing * rig.kv_bytes_per_token
    if kv_bytes > MOST_COPIES * copy_bytes:
        raise Refusal(f"{-(-kv_bytes // copy_bytes):,} copies of {in_bytes(copy_bytes)} are more than the lab follows: "
                      f"at most {MOST_COPIES:,}.", "tokens")

    linear_us = 2 * rig.parameters / rig.flop_per_s * 1e6
    linear, attention = missing * linear_us / 1e3, attention_ms(rig, missing, hit)
    us = (linear + attention) / missing * 1e3
    even, context_even = rig.kv_bytes_per_token / linear_us / 1e3, rig.kv_bytes_per_token / us / 1e3
    move = Move(kv_bytes, link_gb_per_s, overhead_us, trips)
    present = move.in_copies(copy_bytes, True)
    result = RecomputeOrMove(
        rank=rig, layers=shape.layers, missing_tokens=missing, kv_bytes_per_token=rig.kv_bytes_per_token,
        kv_bytes=kv_bytes, linear_us_per_token=linear_us, us_per_token=us, linear_ms=linear, attention_ms=attention,
        recompute_ms=linear + attention, break_even_gb_per_s=even, context_gb_per_s=context_even, move=move,
        copy_bytes=copy_bytes, copies=present.count, overhead_ms=trips * present.count * overhead_us / 1e3,
        wire_ms=move.wire_ms, move_ms=present.takes_ms, copy_gb_per_s=present.gb_per_s,
        break_even_copy_bytes=move.copy_reaching(trips * even), crossing_bytes=move.copy_reaching(trips * context_even),
        sizes=tuple(move.in_copies(bytes, bytes == copy_bytes) for bytes in sorted({*COPY_BYTES, copy_bytes})),
        others=tuple(other_model(slug, gpu, tensor_parallel_size, tflop_per_s, slug == model)
                     for slug in dict.fromkeys((*COMPARED, model))),
    )
    return replace(result, lines=lines_of(result, rig, hit), slips=slips_of(result, shape, gpu))


def rank_of(model: str, gpu: str, ranks: int, tflop_per_s: float | None) -> Machine:
    """One rank's view: the GPUs compute together, and each keeps its KV heads, at least one, or the whole latent."""
    shape, rig = MODELS[model], machine(model, gpu, tflop_per_s=tflop_per_s)
    kept = 1.0 if shape.latent else -(-shape.kv_heads // ranks) / shape.kv_heads
    return replace(rig, kv_bytes_per_token=int(rig.kv_bytes_per_token * kept), flop_per_s=rig.flop_per_s * ranks)


def copy_of(shape: Model, rig: Machine, block_size: int, layers: int, k_and_v: str) -> int:
    """Bytes of one copy: a block of so many layers; K and V apart halve it, and a latent is never apart."""
    whole = block_size * layers * rig.kv_bytes_per_token // shape.layers
    return whole if shape.latent or k_and_v == "together" else whole // 2


def other_model(slug: str, gpu: str, ranks: int, tflop_per_s: float | None, present: bool) -> OtherModel:
    rig = rank_of(slug, gpu, ranks, tflop_per_s)
    us = 2 * rig.parameters / rig.flop_per_s * 1e6
    return OtherModel(MODELS[slug].name, rig.kv_bytes_per_token, us, rig.kv_bytes_per_token / us / 1e3, present)


def lines_of(result: RecomputeOrMove, rig: Machine, hit: int) -> tuple[Line, ...]:
    """The break-even bandwidth and copy, then both costs, with their numbers filled in."""
    move = result.move
    flop, missing = f"{rig.flop_per_s / 1e12:g}e12", result.missing_tokens
    parameters, even = f"{rig.parameters / 1e9:g}e9", f"{move.trips * result.break_even_gb_per_s:.3g}"
    twice, megabytes = "2 × " * (move.trips == 2), Line("", "", result.kv_bytes / 1e6).figure
    lines = [
        Line("recompute a token", f"2 × {parameters} / {flop}", result.linear_us_per_token, "µs"),
        Line("break-even", f"{result.kv_bytes_per_token:,} B / {result.linear_us_per_token:.3g} µs",
             result.break_even_gb_per_s, "GB/s", total=True),
    ]
    if result.break_even_copy_bytes is not None:
        copy = f"{move.overhead_us:g} µs × {even} / (1 − {even} / {move.link_gb_per_s:g})"
        lines.append(Line("break-even copy", copy, result.break_even_copy_bytes / 1024, "KiB"))
    return (
        *lines,
        Line("linear", f"2 × {parameters} × {missing:,} / {flop}", result.linear_ms, "ms"),
        Line("attention", f"{rig.attention_flop_per_pair:,} × {missing:,} × {hit + (missing + 1) / 2:,.10g} / {flop}",
             result.attention_ms, "ms"),
        Line("recompute", "", result.recompute_ms, "ms", total=True),
        Line("copies", f"{missing:,} × {result.kv_bytes_per_token:,} / {result.copy_bytes:,}", result.copies),
        Line("their overhead", f"{twice}{result.copies:,} × {move.overhead_us:g} µs", result.overhead_ms, "ms"),
        Line("link", f"{twice}{megabytes} MB / {move.link_gb_per_s:g} GB/s", result.wire_ms, "ms"),
        Line("move", "", result.move_ms, "ms", total=True),
    )


def slips_of(result: RecomputeOrMove, shape: Model, gpu: str) -> tuple[tuple[float, str], ...]:
    """The wrong break-even bandwidths (GB/s) that people reach, and what each is; none that lies near the right one."""
    even, card = result.break_even_gb_per_s, GPUS[gpu]
    slips = [
        (2 * even, "That is twice it: what out and in need together, or one FLOP a parameter instead of two."),
        (even / 2, "That is half of it: a token keeps K and V."),
        (even * card.bf16_tflop_per_s / card.effective_tflop_per_s,
         "That recomputes at the datasheet's peak; prefill reaches some 62% of it."),
        (result.context_gb_per_s, "That counts the attention of these tokens too, so it holds at this context only."),
        (result.move.link_gb_per_s,
         "That is the link. Break-even is where moving a token takes as long as computing it."),
        (result.copy_gb_per_s, f"That is what a copy of {in_bytes(result.copy_bytes)} reaches. Break-even does not "
                               "depend on the link or the copies."),
    ]
    if not shape.latent and shape.kv_heads < shape.query_heads:
        slips.append((even * shape.query_heads / shape.kv_heads,
                      f"That counts {shape.query_heads} query heads: only the {shape.kv_heads} KV heads are kept."))
    return tuple((value, words) for value, words in slips if abs(value / even - 1) > SLIP_APART)


def in_bytes(value: float) -> str:
    """A copy to three figures: "512 bytes", "58.9 KiB", "2 MiB"."""
    power, unit = next(((power, unit) for power, unit in UNITS if value >= 2**power), (0, "bytes"))
    return say(value / 2**power, unit)
