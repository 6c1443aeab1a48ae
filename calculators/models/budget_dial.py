"""The budget dial: how long a step gets at each token budget, and the largest budget that keeps an ITL target."""
from dataclasses import dataclass

from calculators.models import catalogue
from calculators.models.base import Line, Refusal
from calculators.models.step_time import Machine, attention_ms, kv_read_ms, linear_ms, step_ms

BUDGETS = (256, 512, 1_024, 2_048, 4_096, 8_192, 16_384)
MOST_TOKENS = 2**24  # no step of so many is within the longest target
MOST_STEPS = 20_000  # of one prompt's prefill
SLIP_APART = 0.05  # a wrong value nearer to the right one than this is no slip


@dataclass(frozen=True, slots=True)
class Scene:
    """Who decodes on what machine, beside prompts of at most `prompt` tokens, and the gap they may see; ms."""

    machine: Machine
    decoders: int
    context: int
    prompt: int
    target_ms: float

    @property
    def beside_ms(self) -> float:
        """What a step takes besides products and attention: the decoders' KV and the CPU."""
        return kv_read_ms(self.machine, self.decoders * self.context) + self.machine.cpu_ms

    def gap_ms(self, budget: int, prefix: int) -> float:
        """The length of a step whose chunk takes what the decoders leave, behind `prefix` computed tokens."""
        chunks = ((budget - self.decoders, prefix),)
        return step_ms(self.machine, chunks, self.decoders, self.decoders * self.context)

    def largest_budget(self, prefix: int) -> int:
        """The most tokens a step can hold within the target; the decoders alone when no chunk fits."""
        fits, breaks = self.decoders, MOST_TOKENS
        while breaks - fits > 1:
            middle = (fits + breaks) // 2
            fits, breaks = (middle, breaks) if self.gap_ms(middle, prefix) <= self.target_ms else (fits, middle)
        return fits

    def can_follow(self, budget: int) -> bool:
        """Whether the budget leaves a chunk, and one that ends the longest prompt in MOST_STEPS."""
        return self.prompt <= MOST_STEPS * (budget - self.decoders)

    def chunks(self, budget: int) -> list[tuple[int, int]]:
        """The longest prompt's prefill alone beside the decoders: (chunk, prefix) of each step."""
        full = budget - self.decoders
        return [(min(full, self.prompt - done), done) for done in range(0, self.prompt, full)]


@dataclass(frozen=True, slots=True)
class Setting:
    """One budget: the gap it makes behind no prefix, behind the longest prompt and behind four times that.

    `attention_ms` is what the chunk's attention takes of `gap_ms`, the one behind the longest prompt.
    `prefill_tokens_per_s` are those of a full step behind no prefix; `prompt_steps` and `prompt_ttft_s` are of the
    longest prompt, alone beside the decoders.
    """

    budget: int
    short_gap_ms: float
    gap_ms: float
    attention_ms: float
    far_gap_ms: float
    prefill_tokens_per_s: float
    prompt_steps: int
    prompt_ttft_s: float
    fits: bool
    present: bool


@dataclass(frozen=True, slots=True)
class Dial:
    """What the token budget buys and costs: gaps in ms, rates in tokens/s, and the same in words.

    `short_budget` and `far_budget` are the largest ones behind no prefix and behind `far_tokens`, four times the
    longest prompt. `chosen` is the largest power of two that keeps the target (the largest budget when none does),
    `best` the one of BUDGETS that prefills fastest, `loss_share` what `chosen` gives up against it.
    """

    largest_budget: int
    largest_chunk: int
    short_budget: int
    far_budget: int
    far_tokens: int
    base_gap_ms: float
    beside_ms: float
    linear_us_per_token: float
    attention_us_per_token: float
    attention_flop_per_pair: int
    effective_tflop_per_s: float
    knee_tokens: int
    doubling_tokens: int
    present: Setting
    chosen: Setting
    best: Setting
    loss_share: float
    settings: tuple[Setting, ...]
    finding: str
    present_verdict: str
    prefix_verdict: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]


def solve(*, itl_target_ms: float = 50, longest_prompt_tokens: int = 8_192, decoders: int = 32,
          context_tokens: int = 2_000, max_num_batched_tokens: int = 8_192, model: str = "llama-3.1-8b",
          gpu: str = "h100", cpu_ms: float = 0.9) -> Dial:
    """Find the largest budget whose longest step stays within the target, and what other budgets do.

    A decoder's gap is the step's length, and a step's chunk takes budget - decoders tokens. It is weighed behind the
    whole of the longest prompt, where attention costs most: a bound that the prompt's own last chunk comes near.
    Chunks and steps are exact, times good to some 30%.
    Raises Refusal for a target that one prompt token breaks and a budget without room.
    Source: vllm 0.33.0, v1/core/sched/scheduler.py, Scheduler.schedule; config/scheduler.py, SchedulerConfig.
    """
    machine = catalogue.machine(model, gpu, cpu_ms=cpu_ms)
    scene = Scene(machine, decoders, context_tokens, longest_prompt_tokens, itl_target_ms)
    base = step_ms(machine, (), decoders, decoders * context_tokens)
    largest = refuse_or_largest(scene, max_num_batched_tokens)
    prompt, far = longest_prompt_tokens, 4 * longest_prompt_tokens
    rivals = [budget for budget in BUDGETS if scene.can_follow(budget)]
    chosen = max((budget for budget in rivals if budget <= largest), default=largest)
    budgets = sorted({*rivals, max_num_batched_tokens, largest})
    settings = {budget: setting(scene, budget, max_num_batched_tokens) for budget in budgets}
    best = max((settings[budget] for budget in rivals), key=lambda at: at.prefill_tokens_per_s)
    loss = 1 - settings[chosen].prefill_tokens_per_s / best.prefill_tokens_per_s
    return Dial(
        largest_budget=largest, largest_chunk=largest - decoders, short_budget=scene.largest_budget(0),
        far_budget=scene.largest_budget(far), far_tokens=far, base_gap_ms=base, beside_ms=scene.beside_ms,
        linear_us_per_token=linear_us(machine), attention_us_per_token=attention_us(machine, prompt),
        attention_flop_per_pair=machine.attention_flop_per_pair, effective_tflop_per_s=machine.flop_per_s / 1e12,
        knee_tokens=int(machine.weight_bytes / machine.bytes_per_s * 1e6 / linear_us(machine)),
        doubling_tokens=round(2 * machine.parameters / machine.attention_flop_per_pair),
        present=settings[max_num_batched_tokens], chosen=settings[chosen], best=best, loss_share=loss,
        settings=tuple(settings.values()),
        finding=f"The largest budget within {itl_target_ms:g} ms behind {prompt:,} tokens is {largest:,}.",
        present_verdict=present_verdict(scene, settings[max_num_batched_tokens]),
        prefix_verdict=prefix_verdict(scene, largest),
        lines=lines_of(scene, largest), slips=slips_of(scene, largest),
    )


def refuse_or_largest(scene: Scene, budget: int) -> int:
    """The largest budget behind the longest prompt.

    Raises Refusal when no chunk at all fits the target, the budget in hand leaves no chunk, or slices the prompt into
    more steps than can be followed.
    """
    if budget <= scene.decoders:
        raise Refusal(f"{scene.decoders:,} decoders take a token each: a budget of {budget:,} leaves nothing to "
                      f"prefill with. Takes more than {scene.decoders:,}.", "max_num_batched_tokens")
    if (largest := scene.largest_budget(scene.prompt)) <= scene.decoders:
        shortest = scene.gap_ms(scene.decoders + 1, scene.prompt)
        raise Refusal(f"A step with one prompt token takes {shortest:.2f} ms here, so no budget keeps a target of "
                      f"{scene.target_ms:g} ms.", "itl_target_ms")
    if not scene.can_follow(min(budget, largest)):
        raise Refusal(f"{min(budget, largest) - scene.decoders:,} tokens a step slice the prompt into more than "
                      f"{MOST_STEPS:,} steps.", "longest_prompt_tokens")
    return largest


def linear_us(machine: Machine) -> float:
    """The products' time of one token where they outlast the reading of the weights; µs."""
    return 2 * machine.parameters / machine.flop_per_s * 1e6


def attention_us(machine: Machine, keys: float) -> float:
    """The attention's time of one token over `keys` tokens; µs."""
    return machine.attention_flop_per_pair * keys / machine.flop_per_s * 1e6


def setting(scene: Scene, budget: int, present: int) -> Setting:
    """One budget's figures."""
    chunks = scene.chunks(budget)
    contexts = [scene.decoders * (scene.context + step) for step in range(len(chunks))]
    prefill = [step_ms(scene.machine, (chunk,), scene.decoders, context)
               for chunk, context in zip(chunks, contexts, strict=True)]
    short, gap = scene.gap_ms(budget, 0), scene.gap_ms(budget, scene.prompt)
    return Setting(
        budget=budget, short_gap_ms=short, gap_ms=gap,
        attention_ms=attention_ms(scene.machine, budget - scene.decoders, scene.prompt),
        far_gap_ms=scene.gap_ms(budget, 4 * scene.prompt),
        prefill_tokens_per_s=(budget - scene.decoders) / short * 1e3, prompt_steps=len(chunks),
        prompt_ttft_s=sum(prefill) / 1e3, fits=gap <= scene.target_ms, present=budget == present,
    )


def present_verdict(scene: Scene, now: Setting) -> str:
    """Whether the budget in hand keeps the target, in a sentence."""
    gap = f"{now.gap_ms:,.0f} ms" if now.gap_ms >= 100 else f"{now.gap_ms:.1f} ms"
    if now.fits:
        return f"A budget of {now.budget:,} keeps the target: {gap} behind {scene.prompt:,} tokens."
    return (f"A budget of {now.budget:,} breaks the target: {gap} behind {scene.prompt:,} tokens, "
            f"{now.gap_ms / scene.target_ms:.1f} times as long.")


def prefix_verdict(scene: Scene, largest: int) -> str:
    """What a longer prompt does to the budget found, in a sentence."""
    far = scene.gap_ms(largest, 4 * scene.prompt)
    return f"Behind {4 * scene.prompt:,} tokens the same budget makes a gap of {far:,.0f} ms."


def lines_of(scene: Scene, largest: int) -> tuple[Line, ...]:
    """The inversion with its numbers filled in: what the target leaves, the price of a token, how many fit."""
    machine, chunk = scene.machine, largest - scene.decoders
    flop, read = f"{machine.flop_per_s / 1e12:g}e12", f"{machine.bytes_per_s / 1e12:g}e12"
    kv = Line("", "", kv_read_ms(machine, scene.decoders * scene.context))
    keys = scene.prompt + (chunk + 1) / 2  # the mean over the chunk's tokens of what each attends to
    left = Line("for the chunk", f"{scene.target_ms:,g} − {kv.figure} − {machine.cpu_ms:g} ms",
                (scene.target_ms - scene.beside_ms) * 1e3, "µs")
    attends = Line("attention", f"{machine.attention_flop_per_pair:,} × {keys:,.10g} / {flop}",
                   attention_us(machine, keys), "µs/token")
    if linear_ms(machine, largest) > linear_ms(machine, 0):
        costs = Line("linear", f"2 × {machine.parameters / 1e9:g}e9 / {flop}", linear_us(machine), "µs/token")
        takes = f"({left.figure} − {scene.decoders:,} × {costs.figure}) / ({costs.figure} + {attends.figure})"
    else:
        costs = Line("reading the weights", f"{machine.weight_bytes / 1e9:g}e9 / {read}", linear_ms(machine, 0) * 1e3,
                     "µs")
        takes = f"({left.figure} − {costs.figure}) / {attends.figure}"
    return (
        left, costs, attends, Line("largest chunk", takes, chunk, "tokens"),
        Line("largest budget", f"{chunk:,} + {scene.decoders:,}", largest, "tokens", total=True),
    )


def slips_of(scene: Scene, largest: int) -> tuple[tuple[float, str], ...]:
    """The wrong largest budgets that people reach, and what each leaves out; none that lies near the right one."""
    machine, own = scene.machine, attention_ms(scene.machine, 1, scene.prompt) * 1e3
    linear = linear_us(machine)
    slips = (
        (scene.target_ms * 1e3 / linear,
         "That is the target over the linear cost of a token. It leaves out attention, the decoders' KV and the CPU."),
        ((scene.target_ms - scene.beside_ms) * 1e3 / linear,
         f"That is the linear cost alone. Behind {scene.prompt:,} tokens each token's attention costs {own:.1f} µs "
         "more."),
        (scene.largest_budget(0), "That holds behind no prefix. The longest step is the last one of a long prompt."),
        (scene.largest_budget(4 * scene.prompt), f"That is the budget behind {4 * scene.prompt:,} tokens, four times "
                                                 "the longest prompt here."),
        (scene.target_ms * 1e3 / (linear + own),
         "That gives all of the target to the chunk. Reading the decoders' KV and the CPU's part come first."),
        (machine.weight_bytes / machine.bytes_per_s * 1e6 / linear,
         "That is the knee, where the products take as long as reading the weights. The target allows more."),
    )
    return tuple((value, sentence) for value, sentence in slips if abs(value / largest - 1) > SLIP_APART)
