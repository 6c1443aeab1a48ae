"""Prefill interference: what one long prompt does to requests that decode beside it and to those that arrive."""
from dataclasses import dataclass, replace
from itertools import accumulate

from calculators.models import catalogue
from calculators.models.base import Line, Refusal
from calculators.models.quantity import span
from calculators.models.step_time import Machine, attention_ms, kv_read_ms, linear_ms, step_ms

MOST_STEPS = 2_000
MOST_WAITS = 10  # arrivals listed: more lanes than this can't be told apart
LONGEST_S = 3_600  # of prefill
MOST_WAITING = 20_000  # prompts
MINUTE_S = 60
SLIP_APART = 0.05  # a wrong value nearer to the right one than this is no slip


@dataclass(frozen=True, slots=True)
class Scene:
    """What stands before the long prompt arrives: the machine, the prompt, the scheduler's knobs and the decoders."""

    machine: Machine
    prompt: int
    cached: int
    budget: int
    threshold: int
    decoders: int
    context: int

    @property
    def chunk(self) -> int:
        """Tokens of a full chunk."""
        return min(self.budget - self.decoders, self.threshold or self.budget, self.prompt - self.cached)

    @property
    def left(self) -> int:
        """Tokens that a full step leaves for arrivals; none without a threshold."""
        return self.budget - self.decoders - self.chunk if self.threshold else 0


@dataclass(slots=True)
class Queue:
    """Prompts of one length that come at a steady rate and are served in their order, counted in tokens."""

    per_s: float
    each: int
    served: int = 0

    def waiting(self, at_s: float) -> int:
        """Tokens that have come by `at_s` and are not served; the k-th prompt comes at k / rate."""
        return int(self.per_s * at_s + 1e-9) * self.each - self.served

    def take(self, tokens: int) -> tuple[tuple[int, int], ...]:
        """Serve `tokens` and return the (chunk, prefix) of each prompt they touch."""
        pieces, end = [], self.served + tokens
        while self.served < end:
            prefix = self.served % self.each
            pieces.append((min(self.each - prefix, end - self.served), prefix))
            self.served += pieces[-1][0]
        return tuple(pieces)


@dataclass(frozen=True, slots=True)
class Chunk:
    """One step that prefills: the long prompt's tokens behind a prefix, those of arrivals, and the gap it makes.

    `served` counts the arrivals' tokens prefilled since the start; `room` says whether arrivals could be served.
    """

    tokens: int
    prefix: int
    others: tuple[tuple[int, int], ...]
    served: int
    room: bool
    gap_ms: float


@dataclass(frozen=True, slots=True)
class Prefill:
    """The long prompt's prefill: a gap for each chunk in ms, and when each ends in seconds from the arrival.

    `attentions_ms` is what the long prompt's own attention takes of each gap.
    """

    chunks: int
    full_chunk: int
    gaps_ms: tuple[float, ...]
    attentions_ms: tuple[float, ...]
    ends_s: tuple[float, ...]
    first_gap_ms: float
    mean_gap_ms: float
    takes_s: float
    peak_chunk: int
    peak_tokens: int
    peak_prefix: int
    peak_linear_ms: float
    peak_attention_ms: float
    peak_attention_share: float
    first_attention_share: float
    slope_ms: float
    decoders_kv_ms: float
    beside_ms: float
    left: int


@dataclass(frozen=True, slots=True)
class Wait:
    """One arrival: when it comes, when the step that ends its prefill is over (both from the long prompt's arrival)."""

    at_s: float
    first_token_s: float
    ttft_s: float


@dataclass(frozen=True, slots=True)
class Backlog:
    """Who waits when the prefill is over, and the full steps that prefill them.

    `load` is what arrives over what full steps can prefill; `drained_s` counts later arrivals too, None if never.
    `waits` lists one arrival in `one_in`; the longest and shortest times to first token are over all of them.
    """

    prompts: int
    tokens: int
    steps: float
    gap_ms: float
    gaps_ms: tuple[float, ...]
    takes_s: float
    load: float
    offered_tokens_per_s: float
    served_tokens_per_s: float
    drained_s: float | None
    one_in: int
    waits: tuple[Wait, ...]
    longest_ttft_s: float
    shortest_ttft_s: float


@dataclass(frozen=True, slots=True)
class After:
    """The long request's decoding: what its KV adds to every step until its last output token at `ends_s`.

    `gap_ms` and the two spans hold the contexts as they were at the start; `first_gap_ms`, `last_gap_ms` and
    `settled_gap_ms` (once it has gone) let them grow.
    """

    extra_ms: float
    gap_ms: float
    takes_s: float
    excess_s: float
    from_s: float
    tokens: int
    first_gap_ms: float
    last_gap_ms: float
    ends_s: float
    settled_gap_ms: float
    kv_held_bytes: int
    pool_share: float


@dataclass(frozen=True, slots=True)
class Minute:
    """The gaps that one decoder sees in the minute from the arrival, and how many of them are prefill or backlog.

    `p99_verdict` says whether the 99th percentile of these gaps "shows them" or "misses them".
    """

    gaps: int
    mean_ms: float
    slow: int
    slow_share: float
    p99_verdict: str


@dataclass(frozen=True, slots=True)
class Rival:
    """The same prompt under another budget or threshold, with no arrival served beside it; no lockout is 0 s."""

    budget: int
    threshold: int
    chunks: int
    first_gap_ms: float
    peak_gap_ms: float
    takes_s: float
    lockout_s: float
    left: int
    present: bool


@dataclass(frozen=True, slots=True)
class Interference:
    """The course of one long prompt among decoders: gaps in ms, spans in seconds, and the same in words.

    `two_lockouts_s` is for two such prompts in a row; `nine_tenths` of the prompt in tokens is what a second question
    about the same document may find cached.
    """

    base_gap_ms: float
    peak_gap_ms: float
    peak_over_base: float
    peak_over_first: float
    lockout_s: float
    two_lockouts_s: float
    nine_tenths: int
    linear_us_per_token: float
    attention_flop_per_pair: int
    effective_tflop_per_s: float
    effective_tb_per_s: float
    prefill: Prefill
    backlog: Backlog
    after: After
    minute: Minute
    rivals: tuple[Rival, ...]
    capped: Rival
    finding: str
    gap_verdict: str
    lockout_verdict: str
    backlog_verdict: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]


def solve(*, prompt_tokens: int = 114_240, cached_prefix_tokens: int = 0, max_num_batched_tokens: int = 8_192,
          long_prefill_token_threshold: int = 0, decoders: int = 32, context_tokens: int = 2_000,
          arrivals_per_s: float = 5, arrival_prompt_tokens: int = 1_000, output_tokens: int = 500,
          model: str = "llama-3.1-8b", gpu: str = "h100", tflop_per_s: float | None = None,
          tb_per_s: float | None = None, cpu_ms: float = 0.9, pool_gib: float = 55) -> Interference:
    """Follow one long prompt from its arrival among `decoders` to its last output token.

    Running requests come first, so a step is the decoders' tokens and a chunk
    min(prompt left, budget - decoders, threshold if set); a decoder's gap is the step's length. Without a threshold
    arrivals queue until the prefill is over; with one, a step serves them from what it leaves. Then the backlog is
    prefilled in full steps while the long request decodes. Left out: what a short last chunk leaves free, the decoding
    of the arrivals, and who arrives after the prefill. An empty `tflop_per_s` or `tb_per_s` is the GPU's.
    Counts and bytes are exact, times good to some 30%.
    Raises Refusal for a budget without room, a prompt the pool can't hold, or what is too long to follow.
    Source: vllm 0.33.0, v1/core/sched/scheduler.py, Scheduler.schedule; config/scheduler.py, SchedulerConfig.
    """
    machine = catalogue.machine(model, gpu, tflop_per_s=tflop_per_s, tb_per_s=tb_per_s, cpu_ms=cpu_ms)
    scene = Scene(machine, prompt_tokens, cached_prefix_tokens, max_num_batched_tokens, long_prefill_token_threshold,
                  decoders, context_tokens)
    pool_bytes = int(pool_gib * 2**30)
    refuse_impossible(scene, pool_bytes)

    queue = Queue(arrivals_per_s, arrival_prompt_tokens)
    chunks = run_prefill(scene, queue)
    prefill = prefill_of(scene, chunks)
    lockout_s = lockout_of(chunks)
    rest = run_backlog(scene, queue, prefill, output_tokens)
    backlog = backlog_of(scene, arrivals_per_s, arrival_prompt_tokens, prefill, chunks, rest)
    after = after_of(scene, prefill, backlog, output_tokens, pool_bytes)
    base = step_ms(machine, (), decoders, decoders * context_tokens)
    peak = max(prefill.gaps_ms)
    rivals = rivals_of(scene)
    return Interference(
        base_gap_ms=base, peak_gap_ms=peak, peak_over_base=peak / base, peak_over_first=peak / prefill.first_gap_ms,
        lockout_s=lockout_s, two_lockouts_s=2 * lockout_s + after.extra_ms * prefill.chunks / 1e3,
        nine_tenths=prompt_tokens * 9 // 10,
        linear_us_per_token=2 * machine.parameters / machine.flop_per_s * 1e6,
        attention_flop_per_pair=machine.attention_flop_per_pair,
        effective_tflop_per_s=machine.flop_per_s / 1e12, effective_tb_per_s=machine.bytes_per_s / 1e12,
        prefill=prefill, backlog=backlog, after=after, minute=minute_of(prefill, backlog, after),
        rivals=rivals, capped=rivals[-1],
        finding=finding(scene, base, peak, lockout_s), gap_verdict=gap_verdict(prefill, peak),
        lockout_verdict=lockout_verdict(scene, lockout_s), backlog_verdict=backlog_verdict(backlog),
        lines=lines_of(scene, chunks, prefill, after, lockout_s), slips=slips_of(scene, prefill, base, peak),
    )


def refuse_impossible(scene: Scene, pool_bytes: int) -> None:
    """Raise Refusal when the inputs, each in range, can't go together."""
    busy = scene.decoders + 1
    if scene.budget <= busy:
        raise Refusal(f"{scene.decoders:,} decoders and the long request take a token each: a budget of "
                      f"{scene.budget:,} leaves nothing to prefill with. Takes more than {busy:,}.",
                      "max_num_batched_tokens")
    if scene.cached >= scene.prompt:
        raise Refusal(f"The last token of a prompt is always computed: at most {scene.prompt - 1:,} of "
                      f"{scene.prompt:,} can come from the cache.", "cached_prefix_tokens")
    needed = (scene.prompt + scene.decoders * scene.context) * scene.machine.kv_bytes_per_token
    if needed > pool_bytes:
        raise Refusal(f"The prompt and the decoders' contexts need {needed / 2**30:,.1f} GiB of KV; the pool holds "
                      f"{pool_bytes / 2**30:,.1f} GiB, so the prompt would not be admitted.", "pool_gib")
    steps = -(-(scene.prompt - scene.cached) // scene.chunk)
    if steps > MOST_STEPS:
        cause = "long_prefill_token_threshold" if scene.chunk == scene.threshold else "max_num_batched_tokens"
        raise Refusal(f"{scene.chunk:,} tokens a step make {steps:,} steps of this prompt; the lab follows at most "
                      f"{MOST_STEPS:,}.", cause)


def run_prefill(scene: Scene, queue: Queue) -> tuple[Chunk, ...]:
    """The steps from the long prompt's arrival to its last chunk; arrivals are served where a threshold leaves room.

    Raises Refusal past LONGEST_S.
    """
    chunks: list[Chunk] = []
    done, at_s = scene.cached, 0.0
    while done < scene.prompt:
        waiting = queue.waiting(at_s)
        alone = not scene.decoders and not waiting  # vLLM lifts the threshold for the only eligible request
        cap = scene.budget if alone or not scene.threshold else scene.threshold
        tokens = min(scene.prompt - done, scene.budget - scene.decoders, cap)
        left = scene.budget - scene.decoders - tokens if scene.threshold else 0
        others = queue.take(min(waiting, left))
        context = scene.decoders * (scene.context + len(chunks))
        gap = step_ms(scene.machine, ((tokens, done), *others), scene.decoders, context)
        room = left > 0 or alone and scene.left > 0  # the cap is back as soon as somebody comes
        chunks.append(Chunk(tokens, done, others, queue.served, room, gap))
        done += tokens
        at_s += gap / 1e3
        if at_s > LONGEST_S:
            raise Refusal(f"{done:,} of {scene.prompt:,} tokens take an hour already; the lab follows no longer.",
                          "prompt_tokens")
    return tuple(chunks)


def run_backlog(scene: Scene, queue: Queue, prefill: Prefill, output_tokens: int) -> tuple[Chunk, ...]:
    """The full steps that prefill who waits when the prefill is over, beside the decoders and the long request.

    Raises Refusal when they would be more than MOST_STEPS, or serve more than MOST_WAITING prompts.
    """
    waiting = queue.waiting(prefill.takes_s)
    if waiting > min(MOST_STEPS * (scene.budget - scene.decoders - 1), MOST_WAITING * queue.each):
        raise Refusal(f"{waiting // queue.each:,} prompts would wait when the prefill is over, more than the lab can "
                      "follow: lower the arrivals or their length.", "arrivals_per_s")
    chunks: list[Chunk] = []
    while waiting:
        decoding = len(chunks) < output_tokens - 1  # the first output token came with the last chunk
        taken = min(waiting, scene.budget - scene.decoders - decoding)
        others = queue.take(taken)
        context = scene.decoders * (scene.context + prefill.chunks + len(chunks))
        context += (scene.prompt + len(chunks) + 1) * decoding
        gap = step_ms(scene.machine, others, scene.decoders + decoding, context)
        chunks.append(Chunk(0, 0, others, queue.served, True, gap))
        waiting -= taken
    return tuple(chunks)


def prefill_of(scene: Scene, chunks: tuple[Chunk, ...]) -> Prefill:
    """The prefill's figures; its peak is the longest step, the first of equals. The decoders' KV is as at the start."""
    machine, gaps = scene.machine, tuple(chunk.gap_ms for chunk in chunks)
    ends = tuple(accumulate(gap / 1e3 for gap in gaps))
    peak = max(range(len(gaps)), key=gaps.__getitem__)
    worst, first = chunks[peak], chunks[0]
    tokens = scene.decoders + worst.tokens + sum(tokens for tokens, _ in worst.others)
    attention = attention_ms(machine, worst.tokens, worst.prefix)
    kv_ms = kv_read_ms(machine, scene.decoders * scene.context)
    return Prefill(
        chunks=len(chunks), full_chunk=max(chunk.tokens for chunk in chunks), gaps_ms=gaps,
        attentions_ms=tuple(attention_ms(machine, chunk.tokens, chunk.prefix) for chunk in chunks), ends_s=ends,
        first_gap_ms=gaps[0], mean_gap_ms=sum(gaps) / len(gaps), takes_s=ends[-1],
        peak_chunk=peak + 1, peak_tokens=worst.tokens, peak_prefix=worst.prefix,
        peak_linear_ms=linear_ms(machine, tokens), peak_attention_ms=attention,
        peak_attention_share=attention / gaps[peak],
        first_attention_share=attention_ms(machine, first.tokens, first.prefix) / gaps[0],
        slope_ms=attention_ms(machine, first.tokens, first.tokens) - attention_ms(machine, first.tokens, 0),
        decoders_kv_ms=kv_ms, beside_ms=kv_ms + machine.cpu_ms, left=scene.left,
    )


def lockout_of(chunks: tuple[Chunk, ...]) -> float:
    """Seconds from the long prompt's arrival until a step has tokens for others; the whole prefill when none has."""
    spent_ms = 0.0
    for chunk in chunks:
        if chunk.room:
            break
        spent_ms += chunk.gap_ms
    return spent_ms / 1e3


def backlog_of(scene: Scene, per_s: float, each: int, prefill: Prefill, chunks: tuple[Chunk, ...],
               rest: tuple[Chunk, ...]) -> Backlog:
    """Who waits when the prefill is over, how long that takes, and what an arrival waits for its first token."""
    tokens = sum(size for chunk in rest for size, _ in chunk.others)
    gaps = tuple(chunk.gap_ms for chunk in rest)
    takes_s = sum(gaps) / 1e3
    full = scene.budget - scene.decoders - 1
    full_ms = step_ms(scene.machine, Queue(per_s, each).take(full), scene.decoders + 1,
                      scene.decoders * scene.context + scene.prompt)
    offered, served = per_s * each, full / full_ms * 1e3
    load = offered / served
    waits = waits_of(per_s, each, chunks + rest, prefill.takes_s)
    round_counts = (n * 10**power for power in range(9) for n in (1, 2, 5))
    one_in = next(n for n in round_counts if len(waits[::n]) <= MOST_WAITS)
    ttfts = [wait.ttft_s for wait in waits] or [0.0]
    return Backlog(
        prompts=-(-tokens // each), tokens=tokens, steps=tokens / full, gap_ms=full_ms, gaps_ms=gaps, takes_s=takes_s,
        load=load, offered_tokens_per_s=offered, served_tokens_per_s=served,
        drained_s=prefill.takes_s + takes_s / (1 - load) if load < 1 else None,
        one_in=one_in, waits=waits[::one_in], longest_ttft_s=max(ttfts), shortest_ttft_s=min(ttfts),
    )


def waits_of(per_s: float, each: int, steps: tuple[Chunk, ...], until_s: float) -> tuple[Wait, ...]:
    """Each arrival until `until_s`, with the end of the step that computes its last prompt token."""
    waits: list[Wait] = []
    at_s = 0.0
    for step in steps:
        at_s += step.gap_ms / 1e3
        while len(waits) < step.served // each:
            came_s = (len(waits) + 1) / per_s
            waits.append(Wait(came_s, at_s, at_s - came_s))
    return tuple(wait for wait in waits if wait.at_s <= until_s)


def after_of(scene: Scene, prefill: Prefill, backlog: Backlog, output_tokens: int, pool_bytes: int) -> After:
    """The long request's decode steps once the backlog is prefilled; each reads its whole KV."""
    machine, d = scene.machine, scene.decoders
    past = len(backlog.gaps_ms)
    left = max(output_tokens - 1 - past, 0)

    def gap(k: int) -> float:
        context = d * (scene.context + prefill.chunks + past + k) + scene.prompt + past + 1 + k
        return step_ms(machine, (), d + 1, context)

    first, last = gap(0), gap(max(left - 1, 0))
    from_s = prefill.takes_s + backlog.takes_s
    extra = kv_read_ms(machine, scene.prompt)
    calm = step_ms(machine, (), d + 1, d * scene.context + scene.prompt)
    held = scene.prompt * machine.kv_bytes_per_token
    return After(
        extra_ms=extra, gap_ms=calm, takes_s=output_tokens * calm / 1e3, excess_s=output_tokens * extra / 1e3,
        from_s=from_s, tokens=left, first_gap_ms=first, last_gap_ms=last, ends_s=from_s + left * (first + last) / 2e3,
        settled_gap_ms=step_ms(machine, (), d, d * (scene.context + prefill.chunks + past + left)),
        kv_held_bytes=held, pool_share=held / pool_bytes,
    )


def minute_of(prefill: Prefill, backlog: Backlog, after: After) -> Minute:
    """Walk the minute from the arrival gap by gap until it is full; decode gaps at their mean."""
    slow, spent_s = 0, 0.0
    for gap in (*prefill.gaps_ms, *backlog.gaps_ms):
        if spent_s >= MINUTE_S:
            break
        slow, spent_s = slow + 1, spent_s + gap / 1e3
    decode_s = (after.first_gap_ms + after.last_gap_ms) / 2e3
    decoded = min(after.tokens, int(max(MINUTE_S - spent_s, 0) / decode_s))
    settled = int(max(MINUTE_S - spent_s - decoded * decode_s, 0) * 1e3 / after.settled_gap_ms)
    gaps = slow + decoded + settled
    return Minute(gaps=gaps, mean_ms=max(spent_s, MINUTE_S) * 1e3 / gaps, slow=slow, slow_share=slow / gaps,
                  p99_verdict="shows them" if slow / gaps > 0.01 else "misses them")


def rivals_of(scene: Scene) -> tuple[Rival, ...]:
    """The present budget and its halves down to a sixteenth, all without threshold, then the threshold at this budget.

    With the threshold off the last one is a quarter of the budget. What can't be run is left out, never the last.
    """
    budgets = [(scene.budget >> halved, 0) for halved in range(5)]
    threshold = scene.threshold or max(scene.budget // 4, -(-(scene.prompt - scene.cached) // MOST_STEPS))
    rivals = []
    for budget, cap in (*budgets, (scene.budget, threshold)):
        other = replace(scene, budget=budget, threshold=cap)
        if budget <= scene.decoders + 1 or (scene.prompt - scene.cached) > other.chunk * MOST_STEPS:
            continue
        chunks = run_prefill(other, Queue(0, 1))
        gaps = [chunk.gap_ms for chunk in chunks]
        rivals.append(Rival(
            budget=budget, threshold=cap, chunks=len(gaps), first_gap_ms=gaps[0], peak_gap_ms=max(gaps),
            takes_s=sum(gaps) / 1e3, lockout_s=lockout_of(chunks), left=other.left,
            present=(budget, cap) == (scene.budget, scene.threshold),
        ))
    return tuple(rivals)


def finding(scene: Scene, base: float, peak: float, lockout_s: float) -> str:
    """The whole result in one sentence."""
    who = "one decoder" if scene.decoders == 1 else f"{scene.decoders:,} decoders"
    gap = f"One prompt of {scene.prompt:,} tokens takes the gap of {who} from {in_ms(base)} to {in_ms(peak)}"
    if lockout_s:
        return f"{gap} and locks arrivals out for {span(lockout_s)}."
    return f"{gap}; arrivals are served beside it."


def gap_verdict(prefill: Prefill, peak: float) -> str:
    """How the gap moves from chunk to chunk, in a sentence."""
    if prefill.chunks == 1:
        return "The prompt fits one step, so there is one long gap."
    if prefill.peak_chunk == 1:
        return f"{prefill.chunks:,} chunks; the first makes the longest gap."
    return (f"{prefill.chunks:,} chunks; chunk {prefill.peak_chunk:,} makes the longest gap, "
            f"{peak / prefill.first_gap_ms:.1f}× the first.")


def lockout_verdict(scene: Scene, lockout_s: float) -> str:
    """Whether arrivals are served beside the prefill, in a sentence."""
    if not lockout_s:
        return f"A full step leaves {scene.left:,} tokens for arrivals, so nobody is locked out."
    if scene.threshold:
        return f"The threshold leaves nothing of a full step, so arrivals are locked out for {span(lockout_s)}."
    return f"The long prompt takes all that the decoders leave, so arrivals are locked out for {span(lockout_s)}."


def backlog_verdict(backlog: Backlog) -> str:
    """What waits when the prefill is over and whether the queue empties, in a sentence."""
    never = (f"Arrivals bring {backlog.offered_tokens_per_s:,.0f} tokens/s and full steps prefill "
             f"{backlog.served_tokens_per_s:,.0f}, so the queue never empties.")
    if not backlog.prompts:
        return "Nobody waits when the prefill is over." if backlog.load < 1 else never
    waits = "1 prompt waits" if backlog.prompts == 1 else f"{backlog.prompts:,} prompts wait"
    served = f"{waits} when the prefill is over: {backlog.steps:.1f} full steps, {span(backlog.takes_s)}."
    return served if backlog.load < 1 else f"{served} {never}"


def lines_of(scene: Scene, chunks: tuple[Chunk, ...], prefill: Prefill, after: After,
             lockout_s: float) -> tuple[Line, ...]:
    """The longest gap as a sum with its numbers filled in, then the lockout and what stays."""
    machine, worst = scene.machine, chunks[prefill.peak_chunk - 1]
    flop, read = f"{machine.flop_per_s / 1e12:g}e12", f"{machine.bytes_per_s / 1e12:g}e12"
    tokens = scene.decoders + worst.tokens + sum(size for size, _ in worst.others)
    products = f"2 × {machine.parameters / 1e9:g}e9 × {tokens:,} / {flop}"
    weights = f"{machine.weight_bytes / 1e9:g}e9 / {read}"
    multiplies = 2 * machine.parameters * tokens / machine.flop_per_s >= machine.weight_bytes / machine.bytes_per_s
    last = prefill.peak_chunk == prefill.chunks
    which = "last" if last else f"chunk {prefill.peak_chunk:,}"
    keys = worst.prefix + (worst.tokens + 1) / 2  # the mean over the chunk's tokens of what each attends to
    kv_ms = kv_read_ms(machine, scene.decoders * (scene.context + prefill.peak_chunk - 1))
    lines = [
        Line("linear" if multiplies else "reading the weights", products if multiplies else weights,
             prefill.peak_linear_ms, "ms"),
        Line(f"attention, {which}",
             f"{machine.attention_flop_per_pair:,} × {worst.tokens:,} × {keys:,.10g} / {flop}",
             prefill.peak_attention_ms, "ms"),
    ]
    if worst.others:
        served = sum(attention_ms(machine, size, prefix) for size, prefix in worst.others)
        lines.append(Line("attention, arrivals", f"{len(worst.others):,} beside it", served, "ms"))
    lines += [
        Line(f"KV of the {scene.decoders:,}, CPU",
             f"{Line('', '', kv_ms).figure} + {machine.cpu_ms:g}", kv_ms + machine.cpu_ms, "ms"),
        Line("longest gap", "", max(prefill.gaps_ms), "ms", total=True),
        Line("lockout" if lockout_s else "prefill", spans(prefill), lockout_s or prefill.takes_s, "s"),
        Line("after, every step", f"{scene.prompt:,} × {machine.kv_bytes_per_token:,} / {read}", after.extra_ms, "ms"),
    ]
    return tuple(lines)


def spans(prefill: Prefill) -> str:
    """The prefill's gaps in words: "14 gaps, 0.246 to 0.984 s"."""
    low, high = min(prefill.gaps_ms) / 1e3, max(prefill.gaps_ms) / 1e3
    return f"{prefill.chunks:,} gaps, {low:.3f} to {high:.3f} s" if prefill.chunks > 1 else "1 gap"


def slips_of(scene: Scene, prefill: Prefill, base: float, peak: float) -> tuple[tuple[float, str], ...]:
    """The wrong longest gaps (ms) that people reach, and what each leaves out; none that lies near the right one."""
    machine, full = scene.machine, prefill.full_chunk
    linear = linear_ms(machine, full + scene.decoders)
    context = scene.decoders * scene.context
    whole = step_ms(machine, ((scene.prompt - scene.cached, scene.cached),), scene.decoders, context)
    own = attention_ms(machine, prefill.peak_tokens, 0)
    slips = (
        (base, "That is the gap without the long prompt. Chunking bounds the tokens of a step and not its time: a "
               "decoder waits for the whole step."),
        (linear, "That is the linear part alone. It leaves out the attention of the chunk to everything prefilled "
                 "before it."),
        (linear + prefill.beside_ms,
         "That is a step without its prefill attention: the linear part, the decoders' KV and the CPU. The chunk's "
         "attention to everything prefilled before it is left out."),
        (linear + own + prefill.beside_ms,
         "That is a full chunk with no prefix behind it. The longest one attends to "
         f"{prefill.peak_prefix:,} tokens already prefilled as well."),
        (prefill.mean_gap_ms,
         f"That is the mean of the {prefill.chunks:,} gaps. They climb, so the longest stands well above it."),
        (prefill.peak_attention_ms,
         "That is the attention alone. It leaves out the linear part of the chunk's tokens."),
        (linear + prefill.peak_attention_ms / 2 + prefill.beside_ms,
         "That counts half of the attention: QKᵀ and PV are two products of the same size."),
        (prefill.takes_s * 1e3,
         f"That is the whole prefill. Chunking cuts it into {prefill.chunks:,} steps, with a token for each decoder "
         "after every one."),
        (whole, "That is the whole prompt in one step, as without chunking."),
    )
    return tuple((value, sentence) for value, sentence in slips if abs(value / peak - 1) > SLIP_APART)


def in_ms(value: float) -> str:
    """A gap to three figures: "10.0 ms", "984 ms", "1,210 ms"."""
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.1f} ms"
