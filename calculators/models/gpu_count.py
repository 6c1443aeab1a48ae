"""GPU count: from users to replicas, one constraint after the other, and the line that decides."""
from collections.abc import Callable
from dataclasses import dataclass, replace

from calculators.models.base import Line, Refusal, rounded_up
from calculators.models.catalogue import BF16, FP8, GPUS, MODELS, Gpu, Model
from calculators.models.kv_pool import GIB, KvPool, kv_bytes_on_each, pool_of

MOST_REPLICAS = 100_000
BLOCK_TOKENS = 16
SLIP_APART = 0.05
VALUE_BYTES = {BF16: 2, FP8: 1}


@dataclass(frozen=True, slots=True)
class Traffic:
    """What comes at peak and what it was promised; `hit` is the share of prompt tokens that need no computing."""

    rate: float
    prompt: float
    hit: float
    output: float
    ttft_s: float
    tpot_s: float

    @property
    def computed(self) -> float:
        """Prompt tokens per second to compute."""
        return self.rate * self.prompt * (1 - self.hit)

    @property
    def in_flight(self) -> float:
        return self.rate * (self.ttft_s + (self.output - 1) * self.tpot_s)

    @property
    def resident(self) -> float:
        """Tokens that a sequence holds, on average over its stay."""
        return self.prompt + self.output / 2


@dataclass(frozen=True, slots=True)
class Replica:
    """What one replica of `gpus` GPUs can do: bytes and FLOP per second as used, tokens of KV, seats."""

    model: Model
    gpus: int
    bits: float  # bytes of one weight, scales included
    weight_bytes: float
    kv_bytes: float
    pool_tokens: int
    seats: int
    bytes_per_s: float
    flop_per_s: float

    @property
    def prefills(self) -> float:
        """Tokens per second of a replica that does nothing else."""
        return self.flop_per_s / (2 * self.model.computed_parameters)

    def read_bytes(self, batch: float) -> float:
        """Weight bytes read by a step: all of them, or of the experts the share that so many tokens touch."""
        if not self.model.experts:
            return self.weight_bytes
        experts = self.model.expert_parameters * self.bits
        untouched = (1 - self.model.experts_per_token / self.model.experts) ** batch
        return self.weight_bytes - experts * untouched

    def step_s(self, batch: float, resident: float) -> float:
        """A decode step of so many sequences: bytes read or FLOP, whichever takes longer."""
        reading = (self.read_bytes(batch) + batch * resident * self.kv_bytes) / self.bytes_per_s
        return max(reading, 2 * self.model.computed_parameters * batch / self.flop_per_s)


@dataclass(frozen=True, slots=True)
class Constraint:
    """One line of the argument: replicas it asks for (fractions where nothing rounds), and whether it decides."""

    name: str
    words: str
    asks: float
    binds: bool


@dataclass(frozen=True, slots=True)
class Shared:
    """One replica's seconds at so many replicas: prefill and decode shares, their sum, the batch, the step in ms."""

    count: int
    prefill_share: float
    decode_share: float
    busy: float
    batch: float
    step_ms: float
    needed: bool


@dataclass(frozen=True, slots=True)
class Sway:
    """The count after one input moves; 0 GPUs where the lab can't say."""

    change: str
    count: int
    gpus: int


@dataclass(frozen=True, slots=True)
class GpuCount:
    """Replicas and GPUs for a service, and each step on the way: rates per second, KV in GiB, times in ms."""

    rate_per_s: float
    offered_tokens_per_s: float
    computed_tokens_per_s: float
    output_tokens_per_s: float
    sequences: float
    resident_tokens: float
    kv_tokens: float
    kv_gib: float
    kv_bytes_per_token: float
    weights_gb: float
    pool: KvPool
    pool_gib: float
    pool_tokens: int
    prefill_tokens_per_s: float
    for_kv: float
    for_prefill: float
    for_tpot: int
    for_seats: float
    for_time: int
    for_larger_share: int
    replicas: int
    replicas_with_spare: int
    gpus: int
    shares: tuple[Shared, ...]
    constraints: tuple[Constraint, ...]
    sways: tuple[Sway, ...]
    finding: str
    binding: str
    time_verdict: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]


def solve(*, users: int = 12_000, think_s: float = 60, prompt_tokens: int = 1_500, hit_percent: float = 60,
          output_tokens: int = 300, ttft_s: float = 0.5, ms_per_token: float = 40, model: str = "llama-3.1-70b",
          weights: str = FP8, kv_dtype: str = FP8, gpu: str = "h100", gpus_per_replica: int = 2,
          max_num_seqs: int = 1_024, bandwidth_share: float = 0.7, compute_share: float = 0.45,
          busy_share: float = 0.85, fill_share: float = 0.9, spare_percent: float = 10) -> GpuCount:
    """Ask each constraint how many replicas it wants, take the most, add the spare, count the GPUs.

    Constraints: KV, prefill alone, the step within the promised time per token, seats, and prefill and decode sharing
    the same seconds. Adding the two shares is cautious: where decode rides in a compute-bound step the larger counts,
    as `for_larger_share` does. A step reads all weights, cautiously with the input embedding; of experts those touched.
    Given its inputs the count is exact; the shares of peak are rules of thumb.
    Raises Refusal when the model doesn't fit, or no number of replicas keeps the promise.
    """
    card, shape = GPUS[gpu], MODELS[model]
    traffic = Traffic(users / think_s, prompt_tokens, hit_percent / 100, output_tokens, ttft_s, ms_per_token / 1e3)
    weight_bytes = round(shape.weight_bytes(weights), -7)  # as it is said, 72.66 GB: quantised sizes are estimates
    pool = pool_of(shape, card, gpus=gpus_per_replica, weight_bytes=weight_bytes, max_num_seqs=max_num_seqs)
    one = replica_of(shape, card, weights, kv_dtype, gpus_per_replica, max_num_seqs, weight_bytes, pool,
                     bandwidth_share, compute_share)
    refuse_impossible(traffic, one, pool, busy_share)

    for_kv = traffic.in_flight * traffic.resident / (one.pool_tokens * fill_share)
    for_prefill = traffic.computed / one.prefills
    for_seats = traffic.in_flight / one.seats
    for_tpot = fewest(lambda count: step_at(traffic, one, count) <= traffic.tpot_s)
    for_time = fewest(lambda count: sum(shares_at(traffic, one, count)) <= busy_share)
    asked = {"seats": for_seats, "TPOT": for_tpot, "prefill": for_prefill, "KV": for_kv, "time": for_time}
    replicas = rounded_up(max(asked.values()))
    if replicas > MOST_REPLICAS:
        raise Refusal(f"That takes {replicas:,} replicas; the lab counts up to {MOST_REPLICAS:,}.", "users")
    binding = max(asked, key=lambda name: (asked[name], name == "time"))
    spared = with_spare(replicas, spare_percent)
    larger = fewest(lambda count: max(shares_at(traffic, one, count)) <= busy_share)
    counts = sorted({max(round(replicas * part), 1) for part in (0.35, 0.5 - 1e-9, 0.7)} | {replicas, spared})
    kv_gib = traffic.in_flight * traffic.resident * one.kv_bytes / GIB
    lines = lines_of(traffic, one, pool, users, think_s, busy_share, fill_share, spare_percent, asked, replicas, spared,
                     kv_gib)
    return GpuCount(
        rate_per_s=traffic.rate, offered_tokens_per_s=traffic.rate * prompt_tokens,
        computed_tokens_per_s=traffic.computed, output_tokens_per_s=traffic.rate * output_tokens,
        sequences=traffic.in_flight, resident_tokens=traffic.resident,
        kv_tokens=traffic.in_flight * traffic.resident, kv_gib=kv_gib, kv_bytes_per_token=one.kv_bytes,
        weights_gb=weight_bytes / 1e9, pool=pool, pool_gib=one.pool_tokens * one.kv_bytes / GIB,
        pool_tokens=one.pool_tokens, prefill_tokens_per_s=one.prefills, for_kv=for_kv, for_prefill=for_prefill,
        for_tpot=for_tpot, for_seats=for_seats, for_time=for_time, for_larger_share=larger, replicas=replicas,
        replicas_with_spare=spared, gpus=one.gpus * spared,
        shares=tuple(shared(traffic, one, count, count == replicas) for count in counts),
        constraints=constraints_of(traffic, one, asked, busy_share, fill_share, binding),
        sways=sways_of(traffic, one, busy_share, fill_share, spare_percent),
        finding=finding(one, spared, replicas, binding), binding=binding,
        time_verdict=time_verdict(asked, for_time, larger, binding), lines=lines,
        slips=slips_of(traffic, one, users, fill_share, spare_percent, asked, replicas, larger),
    )


def replica_of(model: Model, card: Gpu, weights: str, kv_dtype: str, gpus: int, seats: int, weight_bytes: float,
               pool: KvPool, bandwidth_share: float, compute_share: float) -> Replica:
    """A replica of `gpus` GPUs; its pool holds whole blocks, as many as each GPU has room for."""
    each = kv_bytes_on_each(model, gpus, VALUE_BYTES[kv_dtype])
    blocks = int(pool.left_gib * GIB // (each * BLOCK_TOKENS))
    return Replica(
        model, gpus, weight_bytes / model.parameters, weight_bytes, each * gpus, max(blocks, 0) * BLOCK_TOKENS, seats,
        gpus * card.tb_per_s * 1e12 * bandwidth_share, gpus * card.tflop_per_s(weights) * 1e12 * compute_share,
    )


def refuse_impossible(traffic: Traffic, one: Replica, pool: KvPool, busy_share: float) -> None:
    """Raise Refusal when no number of replicas serves this traffic."""
    if one.pool_tokens < traffic.prompt + traffic.output:
        raise Refusal(f"{pool.left_gib:,.1f} GiB a GPU are left for KV, not enough for one sequence of "
                      f"{traffic.prompt + traffic.output:,} tokens. Take more GPUs a replica or smaller weights.",
                      "gpus_per_replica")
    alone = one.step_s(min(traffic.in_flight, 1) / MOST_REPLICAS, traffic.resident) / traffic.tpot_s
    if alone >= busy_share:
        raise Refusal(f"A step that only reads the weights takes {alone * traffic.tpot_s * 1e3:.1f} ms, {alone:.0%} of "
                      f"the promised {traffic.tpot_s * 1e3:g} ms: no number of replicas is enough. Takes at least "
                      f"{alone * traffic.tpot_s / busy_share * 1e3:.1f} ms.", "ms_per_token")


def step_at(traffic: Traffic, one: Replica, count: int) -> float:
    return one.step_s(traffic.in_flight / count, traffic.resident)


def shares_at(traffic: Traffic, one: Replica, count: int) -> tuple[float, float]:
    """Shares of a replica's time that prefill and decode take at so many replicas."""
    return traffic.computed / count / one.prefills, step_at(traffic, one, count) / traffic.tpot_s


def fewest(holds: Callable[[int], bool]) -> int:
    """The fewest replicas for which it holds, at most MOST_REPLICAS + 1; more replicas never make it worse."""
    low, high = 1, MOST_REPLICAS + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def with_spare(replicas: int, spare_percent: float) -> int:
    return rounded_up(replicas * (1 + spare_percent / 100))


def needed(traffic: Traffic, one: Replica, busy_share: float, fill_share: float) -> int:
    """Replicas that all constraints together ask for. The time constraint implies those of prefill and of TPOT."""
    for_time = fewest(lambda count: sum(shares_at(traffic, one, count)) <= busy_share)
    for_kv = traffic.in_flight * traffic.resident / (one.pool_tokens * fill_share)
    return max(for_time, rounded_up(for_kv), rounded_up(traffic.in_flight / one.seats))


def shared(traffic: Traffic, one: Replica, count: int, is_needed: bool) -> Shared:
    prefill, decode = shares_at(traffic, one, count)
    return Shared(count, prefill, decode, prefill + decode, traffic.in_flight / count,
                  step_at(traffic, one, count) * 1e3, is_needed)


def sways_of(traffic: Traffic, one: Replica, busy_share: float, fill_share: float,
             spare_percent: float) -> tuple[Sway, ...]:
    """How the count moves with the inputs that are known least."""
    moved = {
        "no prefix hits": (replace(traffic, hit=0), one),
        "prefix hits 80%": (replace(traffic, hit=0.8), one),
        "replies twice as long": (replace(traffic, output=2 * traffic.output), one),
        "promise 10 ms longer": (replace(traffic, tpot_s=traffic.tpot_s + 0.01), one),
        "a fifth more users": (replace(traffic, rate=1.2 * traffic.rate), one),
    }
    if not one.model.tied:
        embedding = one.model.vocabulary * one.model.hidden * 2
        moved["input embedding not read"] = traffic, replace(one, weight_bytes=one.weight_bytes - embedding)
    counts = {change: needed(*at, busy_share, fill_share) for change, at in moved.items()}
    counts = {change: count if count <= MOST_REPLICAS else 0 for change, count in counts.items()}
    return tuple(Sway(change, count, one.gpus * with_spare(count, spare_percent)) for change, count in counts.items())


def constraints_of(traffic: Traffic, one: Replica, asked: dict[str, float], busy_share: float, fill_share: float,
                   binding: str) -> tuple[Constraint, ...]:
    """The constraints in the order drawn, with what makes each."""
    words = {
        "seats": f"{traffic.in_flight:,.0f} / {one.seats:,} seats",
        "TPOT": f"step alone under {traffic.tpot_s * 1e3:g} ms",
        "prefill": f"{traffic.computed:,.0f} tok/s / {one.prefills:,.0f}",
        "KV": f"{say(traffic.in_flight * traffic.resident)} tokens / {one.pool_tokens * fill_share:,.0f}",
        "time": f"busy at most {busy_share:g}",
    }
    return tuple(Constraint(name, words[name], asks, name == binding) for name, asks in asked.items())


def finding(one: Replica, spared: int, replicas: int, binding: str) -> str:
    """The whole result in one sentence."""
    why = {"time": "prefill and decode share the same seconds", "TPOT": "the step must fit the promise",
           "KV": "KV fills", "seats": "seats run out", "prefill": "prompts must be computed"}[binding]
    spare = f", {spared:,} with spare" if spared > replicas else ""
    count = f"{counted(replicas, 'replica')} of {counted(one.gpus, 'GPU')}{spare}"
    return f"{count}: {one.gpus * spared:,} GPUs, because {why}."


def time_verdict(asked: dict[str, float], for_time: int, larger: int, binding: str) -> str:
    """How cautious the sum is, in a sentence."""
    if binding != "time":
        asks = rounded_up(asked[binding])
        return f"{binding} decides: it asks for {asks:,}, prefill and decode time for {for_time:,}."
    if larger == for_time:
        return f"{for_time:,} either way: the larger share alone asks for as many as the two together."
    return (f"{for_time:,} is the safe answer: it adds the two shares. If decode rides free inside compute-bound steps "
            f"the larger share alone counts, and {larger:,} would do for time.")


def lines_of(traffic: Traffic, one: Replica, pool: KvPool, users: int, think_s: float, busy_share: float,
             fill_share: float, spare_percent: float, asked: dict[str, float], replicas: int, spared: int,
             kv_gib: float) -> tuple[Line, ...]:
    """Every step aloud; the two shares at the time constraint's count stand above its sum."""
    flight, tpot_ms = traffic.in_flight, traffic.tpot_s * 1e3
    at = int(asked["time"])
    prefill, decode = shares_at(traffic, one, at)
    left = " − ".join(f"{term:.2f}" for term in (pool.budget_gib, pool.weights_gib, pool.buffers_gib,
                                                 pool.non_torch_gib, pool.transient_gib, pool.graphs_gib))
    return (
        Line("requests", f"{users:,} / {think_s:g} s", traffic.rate, "a second"),
        Line("prompt tokens to compute", f"{traffic.rate:,.4g} × {traffic.prompt:,} × {1 - traffic.hit:.3g}",
             traffic.computed, "a second"),
        Line("in flight, L",
             f"{traffic.rate:,.4g} × ({traffic.ttft_s:g} + {traffic.output - 1:,} × {traffic.tpot_s:g})", flight,
             "sequences"),
        Line("tokens they hold", f"{flight:,.0f} × ({traffic.prompt:,} + {traffic.output:,} / 2)",
             flight * traffic.resident, f"tokens, {kv_gib:,.0f} GiB"),
        Line("a replica holds", f"{one.gpus} × ({left}) GiB", one.pool_tokens, "tokens"),
        Line("for KV", f"{say(flight * traffic.resident)} / ({one.pool_tokens:,} × {fill_share:g})", asked["KV"],
             "replicas"),
        Line("a replica prefills",
             f"{one.flop_per_s / 1e12:,.4g}e12 / (2 × {one.model.computed_parameters / 1e9:.4g}e9)", one.prefills,
             "tokens/s"),
        Line("for prefill", f"{traffic.computed:,.0f} / {one.prefills:,.0f}", asked["prefill"], "replicas"),
        Line("for TPOT", f"step(R) ≤ {tpot_ms:g} ms from R", asked["TPOT"], "replicas"),
        Line("for seats", f"{flight:,.0f} / {one.seats:,}", asked["seats"], "replicas"),
        Line(f"prefill share at {at:,}", f"{traffic.computed:,.0f} / {at:,} / {one.prefills:,.0f}", prefill, "busy"),
        Line(f"decode share at {at:,}", f"{decode * tpot_ms:.1f} ms / {tpot_ms:g} ms", decode, "busy"),
        Line("for time", f"{prefill:.3f} + {decode:.3f} ≤ {busy_share:g} from R", at, "replicas", total=True),
        Line("with spare", f"{replicas:,} × {1 + spare_percent / 100:.2f} → {spared:,} replicas × {one.gpus}",
             one.gpus * spared, "GPUs"),
    )


def slips_of(traffic: Traffic, one: Replica, users: int, fill_share: float, spare_percent: float,
             asked: dict[str, float], replicas: int, larger: int) -> tuple[tuple[float, str], ...]:
    """The wrong GPU counts that people reach, and what each leaves out; none that lies near the right one."""
    held = one.pool_tokens * fill_share
    gpus = one.gpus * with_spare(replicas, spare_percent)

    def of(count: float) -> int:
        return one.gpus * rounded_up(count)

    whole = traffic.in_flight * (traffic.prompt + traffic.output) / held
    prompts = traffic.in_flight * traffic.prompt / held
    kv, prefill, tpot = asked["KV"], asked["prefill"], asked["TPOT"]
    slips = (
        (of(kv), "That is KV alone. It leaves out the time: prefill and decode share the same seconds."),
        (of(prefill), "That is prefill alone. It leaves out the decode steps that the same GPUs run."),
        (of(tpot), "That is the step alone within the promise. It leaves out prefill, which takes its share of time."),
        (of(larger), "That takes the larger of the two shares. It is the lower bound, when decode rides free in "
                     "compute-bound steps."),
        (of(replicas), "That has no spare for a lost replica or a deploy."),
        (replicas, "That is replicas. Each has several GPUs, and some are spare."),
        (with_spare(replicas, spare_percent), "That is replicas with the spare. Each has several GPUs."),
        (of(users * traffic.resident / held), "That takes every user for a sequence in flight. Little’s law says how "
                                              "many are there at once."),
        (of(prompts), "That is KV alone, and it leaves out the KV of the replies."),
        (of(whole), "That is KV alone, with every sequence at its full length. On average half of the reply is there."),
    )
    seen: dict[int, str] = {}
    for value, sentence in slips:
        seen[value] = f"{seen[value]} Or: {sentence}" if value in seen else sentence
    return tuple((value, sentence) for value, sentence in seen.items() if abs(value / gpus - 1) > SLIP_APART)


def counted(number: int, noun: str) -> str:
    """"1 replica", "29 replicas"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def say(tokens: float) -> str:
    """A number of tokens, in millions from a million on: "4.11 M"."""
    return f"{tokens / 1e6:,.2f} M" if tokens >= 1e6 else f"{tokens:,.0f}"
