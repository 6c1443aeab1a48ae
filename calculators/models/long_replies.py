"""Long replies: what a pool holds when each request keeps growing, how a burst fills it, and what to promise."""
from dataclasses import dataclass, replace

from calculators.models import catalogue
from calculators.models.base import Line, Refusal
from calculators.models.catalogue import BF16
from calculators.models.kv_blocks import ceil_div
from calculators.models.kv_token import layer_bytes
from calculators.models.step_time import Machine, kv_read_ms, linear_ms, step_ms

# Models that fit one GPU, with layers that all keep every token.
MODELS = ("llama-3.1-8b", "llama-2-7b", "qwen3-8b", "qwen3-14b", "qwen3-32b")
BATCHES = (16, 32, 40, 53, 64, 103)
RECOMPUTED = (2_000, 8_000)  # contexts of a victim
MOST_PREFILL_STEPS = 5_000
SLIP_APART = 0.05  # a wrong value nearer to the right one than this is no slip


@dataclass(frozen=True, slots=True)
class AtBatch:
    """So many replies under way at the mean context: the gap, each user's and the total rate, and one reply's time."""

    sequences: int
    itl_ms: float
    user_tokens_per_s: float
    tokens_per_s: float
    reply_s: float
    fits: bool
    present: bool

    @property
    def replies_per_s(self) -> float:
        """How many replies end in a second, and so may begin."""
        return self.sequences / self.reply_s


@dataclass(frozen=True, slots=True)
class Recompute:
    """What the GPU spends on a preempted request of so many tokens when it comes back with nothing cached."""

    tokens: int
    takes_ms: float


@dataclass(frozen=True, slots=True)
class Fall:
    """From this decode step on, so many of the burst still run, each holding so many blocks."""

    step: int
    running: int
    blocks_each: int


@dataclass(frozen=True, slots=True)
class Burst:
    """All at once: the prefill, the steps until the pool is full, and who is left when the first replies end.

    `prefill_steps` counts the last one by its share. In phase every request needs its next block in one step,
    `first_preemption_step` (0: never). Spread over the block they would fill the pool after `mean_full_tokens` each.
    `falls` follows the last admitted being preempted; none comes back before a reply ends, since the others take each
    freed block: `stall_s` is what the first to go has waited by then (0: nobody goes). It waits on, since each victim
    is put in front of those before it.
    """

    admitted: int
    waiting: int
    prefill_steps: float
    prefill_s: float
    blocks_at_start: int
    blocks_per_step: float
    mean_full_tokens: float
    first_preemption_step: int
    full_s: float
    step_ms: float
    falls: tuple[Fall, ...]
    survivors: int
    preemptions: int
    recomputed_tokens: int
    recompute_s: float
    stall_s: float


@dataclass(frozen=True, slots=True)
class LongReplies:
    """Replies that grow: the sequences a pool holds staggered and in phase, the speed at each, and the burst.

    `staggered_sequences` and `burst_sequences` are the pool over p + o/2 and over p + o tokens, as fractions; `held` is
    the whole number for the present arrivals. `fp8` is the same batch with half the KV, `fp8_sequences` the batch that
    then takes as long.
    """

    prompt_tokens: int
    output_tokens: int
    mean_context: float
    final_context: int
    pool_tokens: int
    pool_blocks: int
    kv_bytes_per_token: int
    staggered_sequences: float
    burst_sequences: float
    held: int
    seen_at_admission: int
    at_batch: AtBatch
    at_held: AtBatch
    batches: tuple[AtBatch, ...]
    speed_gain: float
    throughput_loss: float
    replies_per_s: float
    limit_tokens_per_s: float
    fp8_itl_ms: float
    fp8_sequences: int
    burst: Burst
    recomputes: tuple[Recompute, ...]
    finding: str
    burst_verdict: str
    speed_verdict: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]

    @property
    def last_back_s(self) -> float:
        """When the burst's first victim is back, the last of them all: the others have ended, at the rate of a full
        pool, but for those that fill it. Good to some 30%; s."""
        return max(self.burst.admitted - self.held, 0) / self.replies_per_s


@dataclass(frozen=True, slots=True)
class Scene:
    """The inputs together, and the machine they run on."""

    machine: Machine
    prompt: int
    output: int
    blocks: int
    block_size: int
    requests: int
    budget: int
    flag: int

    @property
    def mean_context(self) -> float:
        """Tokens that a request holds, averaged over its life."""
        return self.prompt + self.output / 2

    @property
    def pool_tokens(self) -> int:
        return self.blocks * self.block_size


def solve(*, prompt_tokens: int = 256, output_tokens: int = 8_192, pool_gib: float = 55, staggered: bool = True,
          sequences: int = 103, requests: int = 2_000, max_num_seqs: int = 1_024, max_num_batched_tokens: int = 8_192,
          block_size: int = 16, model: str = "llama-3.1-8b", gpu: str = "h100", kv_cache_dtype: str = BF16,
          tflop_per_s: float | None = None, tb_per_s: float | None = None, cpu_ms: float = 0.9) -> LongReplies:
    """Size a service of long replies: p prompt tokens, then o output tokens, one a step.

    Staggered, requests are of every age and hold p + o/2 tokens on average; in phase they all come to p + o. Admission
    sees the prompt alone, so a burst is let in far past what its replies need. A step at a batch of B is
    max(W/BW, 2NB/F) + B * context * KV bytes / BW + t0. Blocks and counts are exact, times good to some 30%.
    An empty `tflop_per_s` or `tb_per_s` is the GPU's effective one.
    Raises Refusal when not one reply fits.
    Source: vllm 0.33.0, v1/core/kv_cache_manager.py, allocate_slots; v1/core/sched/scheduler.py, Scheduler.schedule.
    """
    shape = catalogue.MODELS[model]
    per_token = layer_bytes(shape, kv_cache_dtype) * shape.layers
    machine = replace(
        catalogue.machine(model, gpu, tflop_per_s=tflop_per_s, tb_per_s=tb_per_s, cpu_ms=cpu_ms),
        kv_bytes_per_token=per_token,
    )
    blocks = int(pool_gib * 2**30) // (per_token * block_size)
    scene = Scene(machine, prompt_tokens, output_tokens, blocks, block_size, requests, max_num_batched_tokens,
                  max_num_seqs)
    final = prompt_tokens + output_tokens
    needed = ceil_div(final, block_size)
    if needed >= blocks:
        raise Refusal(f"One reply ends at {final:,} tokens, {needed:,} blocks; the pool has {max(blocks - 1, 0):,} to "
                      "give.", "output_tokens")
    held = int(scene.pool_tokens / (scene.mean_context if staggered else final))
    speed = at_batch(scene, sequences, held, sequences)
    at_held = at_batch(scene, held, held, sequences)
    halved = replace(machine, kv_bytes_per_token=layer_bytes(shape, "fp8") * shape.layers)
    burst = burst_of(scene)
    result = LongReplies(
        prompt_tokens=prompt_tokens, output_tokens=output_tokens, mean_context=scene.mean_context, final_context=final,
        pool_tokens=scene.pool_tokens, pool_blocks=blocks, kv_bytes_per_token=per_token,
        staggered_sequences=scene.pool_tokens / scene.mean_context, burst_sequences=scene.pool_tokens / final,
        held=held, seen_at_admission=blocks // ceil_div(prompt_tokens, block_size), at_batch=speed, at_held=at_held,
        batches=tuple(at_batch(scene, batch, held, sequences) for batch in sorted({*BATCHES, held, sequences})),
        speed_gain=speed.user_tokens_per_s / at_held.user_tokens_per_s - 1,
        throughput_loss=1 - speed.tokens_per_s / at_held.tokens_per_s,
        replies_per_s=at_held.tokens_per_s / output_tokens,
        limit_tokens_per_s=machine.bytes_per_s / (scene.mean_context * per_token),
        fp8_itl_ms=itl_ms(halved, sequences, scene.mean_context),
        fp8_sequences=as_long_as(halved, scene.mean_context, speed.itl_ms),
        burst=burst, recomputes=tuple(Recompute(tokens, recompute_ms(machine, tokens)) for tokens in RECOMPUTED),
        finding="", burst_verdict="", speed_verdict="", lines=(), slips=(),
    )
    return replace(
        result, finding=finding(result, staggered), burst_verdict=burst_verdict(burst),
        speed_verdict=speed_verdict(result), lines=lines_of(scene, result, staggered),
        slips=slips_of(result, max_num_seqs),
    )


def itl_ms(machine: Machine, sequences: int, context: float) -> float:
    """The gap between two tokens of one reply with so many decoding at a mean context; ms."""
    return step_ms(machine, (), sequences, sequences * context)


def as_long_as(machine: Machine, context: float, limit_ms: float) -> int:
    """The largest batch whose step takes no longer than the limit."""
    low, high = 0, 1
    while itl_ms(machine, high, context) <= limit_ms * (1 + 1e-12):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if itl_ms(machine, middle, context) <= limit_ms * (1 + 1e-12) else (low, middle)
    return low


def recompute_ms(machine: Machine, tokens: int) -> float:
    """GPU time of prefilling so many tokens again in one go, beside others: products and attention; ms."""
    pairs = tokens * (tokens + 1) / 2
    return (2 * machine.parameters * tokens + machine.attention_flop_per_pair * pairs) / machine.flop_per_s * 1e3


def at_batch(scene: Scene, sequences: int, held: int, present: int) -> AtBatch:
    """The speed of so many replies at the mean context."""
    gap = itl_ms(scene.machine, sequences, scene.mean_context)
    return AtBatch(sequences, gap, 1e3 / gap, sequences / gap * 1e3, scene.output * gap / 1e3, sequences <= held,
                   sequences == present)


def burst_of(scene: Scene) -> Burst:
    """Follow a burst from its first prefill to the first finished reply, all in phase.

    Raises Refusal when its prefill takes more steps than the lab follows.
    """
    usable = scene.blocks - 1  # block 0 is the null block
    admitted = min(scene.requests, scene.flag, usable // ceil_div(scene.prompt, scene.block_size))
    if admitted * scene.prompt > MOST_PREFILL_STEPS * (scene.budget - admitted):
        raise Refusal(f"At a budget of {scene.budget:,} a burst of {admitted:,} prompts takes more than "
                      f"{MOST_PREFILL_STEPS:,} steps to prefill, more than the lab follows.", "max_num_batched_tokens")
    steps, prefill_ms = prefill_of(scene, admitted)
    falls = falls_of(scene, admitted, usable)
    first = falls[1].step if len(falls) > 1 else 0
    until = first or scene.output
    machine = scene.machine
    context = admitted * (scene.prompt + until / 2)
    lost = [
        (before.running - after.running, scene.prompt + after.step - 1)
        for before, after in zip(falls, falls[1:], strict=False)
    ]
    return Burst(
        admitted=admitted, waiting=scene.requests - admitted, prefill_steps=steps, prefill_s=prefill_ms / 1e3,
        blocks_at_start=admitted * falls[0].blocks_each, blocks_per_step=admitted / scene.block_size,
        mean_full_tokens=scene.pool_tokens / admitted - scene.prompt, first_preemption_step=first,
        full_s=until * step_ms(machine, (), admitted, context) / 1e3,
        step_ms=step_ms(machine, (), admitted, admitted * (scene.prompt + until)),
        falls=falls, survivors=falls[-1].running, preemptions=admitted - falls[-1].running,
        recomputed_tokens=sum(count * tokens for count, tokens in lost),
        recompute_s=sum(count * recompute_ms(machine, tokens) for count, tokens in lost) / 1e3,
        stall_s=stall_ms(scene, falls[1:]) / 1e3,
    )


def stall_ms(scene: Scene, falls: tuple[Fall, ...]) -> float:
    """From the first of these falls to the end of the first replies; ms."""
    ends = (*(fall.step for fall in falls[1:]), scene.output)
    return sum(
        (end - fall.step) * step_ms(scene.machine, (), fall.running,
                                    fall.running * (scene.prompt + (fall.step + end) / 2))
        for fall, end in zip(falls, ends, strict=False)
    )


def prefill_of(scene: Scene, admitted: int) -> tuple[float, float]:
    """Steps and ms until every prompt is prefilled; who is done decodes beside the others and takes a token each."""
    left, steps, spent_ms = admitted * scene.prompt, 0.0, 0.0
    while left > 0:
        done = admitted - ceil_div(left, scene.prompt)
        room = scene.budget - done
        chunk = min(left, room)
        whole = chunk // scene.prompt
        prefills = ((scene.prompt, 0),) * whole + ((chunk - whole * scene.prompt, 0),) * (chunk > whole * scene.prompt)
        spent_ms += step_ms(scene.machine, prefills, done, done * scene.prompt)
        left, steps = left - chunk, steps + chunk / room
    return steps, spent_ms


def falls_of(scene: Scene, admitted: int, usable: int) -> tuple[Fall, ...]:
    """How many still run from each decode step on: as many as the blocks they then need allow, never more again."""
    each = ceil_div(scene.prompt, scene.block_size)
    falls = [Fall(0, admitted, each)]
    for blocks in range(each + 1, ceil_div(scene.prompt + scene.output, scene.block_size) + 1):
        running = min(falls[-1].running, usable // blocks)
        if running < falls[-1].running:
            falls.append(Fall((blocks - 1) * scene.block_size + 1 - scene.prompt, running, blocks))
    return tuple(falls)


def finding(result: LongReplies, staggered: bool) -> str:
    """The whole result in one sentence."""
    how = "staggered" if staggered else "in phase"
    return (f"The pool holds {result.held:,} replies {how}; a burst admits {result.burst.admitted:,}, since admission "
            "sees the prompt alone.")


def burst_verdict(burst: Burst) -> str:
    """What becomes of the burst, in sentences."""
    if not burst.first_preemption_step:
        return f"All {burst.admitted:,} replies end without a preemption."
    return (f"The first preemption comes at decode step {burst.first_preemption_step:,}. When the first replies end, "
            f"{burst.survivors:,} of {burst.admitted:,} still run; the others were preempted and stream nothing.")


def speed_verdict(result: LongReplies) -> str:
    """What fewer or more replies at once change, in a sentence."""
    here, full = result.at_batch, result.at_held
    if here.sequences == full.sequences:
        return (f"At {here.sequences:,} a user gets {here.user_tokens_per_s:.0f} tokens/s and all together "
                f"{here.tokens_per_s:,.0f}.")
    if here.sequences < full.sequences:
        return (f"From {full.sequences:,} to {here.sequences:,} costs {result.throughput_loss:.0%} of the throughput "
                f"and gives each user {result.speed_gain:.0%} more speed.")
    return f"The pool does not hold {here.sequences:,} of these replies at once: some are preempted."


def lines_of(scene: Scene, result: LongReplies, staggered: bool) -> tuple[Line, ...]:
    """Context, sequences and gap with their numbers filled in."""
    machine, speed = scene.machine, result.at_batch
    context = (Line("mean context", f"{scene.prompt:,} + {scene.output:,} / 2", result.mean_context, "tokens")
               if staggered else
               Line("last context", f"{scene.prompt:,} + {scene.output:,}", result.final_context, "tokens"))
    weights = linear_ms(machine, speed.sequences)
    kv = kv_read_ms(machine, speed.sequences * scene.mean_context)
    read = f"{machine.bytes_per_s / 1e12:g}e12"
    return (
        context,
        Line("pool", f"{result.pool_blocks:,} × {scene.block_size:,}", result.pool_tokens, "tokens"),
        Line("sequences", f"{result.pool_tokens:,} / {context.value:,.10g}",
             result.staggered_sequences if staggered else result.burst_sequences, "", total=True),
        Line("weights", f"{machine.weight_bytes / 1e9:g}e9 / {read}", weights, "ms")
        if weights == machine.weight_bytes / machine.bytes_per_s * 1e3 else
        Line("products", f"2 × {machine.parameters / 1e9:g}e9 × {speed.sequences:,} / {machine.flop_per_s / 1e12:g}e12",
             weights, "ms"),
        Line("KV", f"{speed.sequences:,} × {scene.mean_context:,.10g} × {machine.kv_bytes_per_token:,} / {read}", kv,
             "ms"),
        Line("CPU", "", machine.cpu_ms, "ms"),
        Line(f"gap at {speed.sequences:,}", "", speed.itl_ms, "ms", total=True),
        Line("a user", f"1,000 / {speed.itl_ms:.1f}", speed.user_tokens_per_s, "tok/s"),
        Line("all", f"{speed.sequences:,} × {speed.user_tokens_per_s:.1f}", speed.tokens_per_s, "tok/s"),
    )


def slips_of(result: LongReplies, flag: int) -> tuple[tuple[float, str], ...]:
    """The wrong numbers of sequences that people reach and what each leaves out; none near the right one."""
    slips = (
        (result.seen_at_admission, "That counts the prompts alone. Each request then grows by its whole reply."),
        (flag, "That is max_num_seqs. It caps what is admitted and reserves nothing for the replies."),
        (result.pool_tokens / result.output_tokens, "That leaves out the prompts, and takes every reply at its end."),
        (result.pool_tokens / (result.output_tokens / 2), "That leaves out the prompts."),
        (result.burst_sequences, "That takes every reply at its full length. Staggered ones are of every age, so half "
                                 "the machine would stand idle."),
        (result.staggered_sequences, "That takes replies of every age. In phase they all come to their full length at "
                                     "once."),
    )
    return tuple((value, sentence) for value, sentence in slips if abs(value / result.held - 1) > SLIP_APART)
