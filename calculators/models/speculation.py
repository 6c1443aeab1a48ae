"""Speculation by batch: what a verify step costs against a plain one, and from which batch on drafts lose."""
from dataclasses import dataclass, replace
from math import floor

from calculators.models.base import Line
from calculators.models.catalogue import GPUS, MODELS
from calculators.models.draft_length import SEQUENTIAL, draft_steps, expected_tokens, geometric_words

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
NEVER = 0  # a batch that no batch reaches
MOST_SEQUENCES = 2**30  # what loses only beyond it never loses
MOST_TRIED = 8  # draft lengths compared at each batch
LONGER = 4  # times the context, drawn beside it
SLIP_APART = 0.06


@dataclass(frozen=True, slots=True)
class AtBatch:
    """One batch: a plain step, the verify step and the drafts before it in ms, and how many times as fast it gets.

    `tokens` are rows of the step's budget, `best_k` the draft length that is fastest here, 0 for none.
    """

    sequences: int
    plain_ms: float
    verify_ms: float
    draft_ms: float
    speed_up: float
    longer_speed_up: float
    tokens: int
    best_k: int
    binds: str

    @property
    def spec_ms(self) -> float:
        """Drafts and the verify step together."""
        return self.draft_ms + self.verify_ms


@dataclass(frozen=True, slots=True)
class Speculation:
    """Tokens a step yields, the batch where the gain begins to shrink and the one where it is lost (0: never).

    `ridge_batch` is the datasheet's ridge by the rows of a sequence. `budget_sequences` fill the token budget with
    decodes; `budget_left` of it are left at the batch given. `losing_context` is the context beyond which drafts never
    lose, None when they do at any.
    """

    expected_tokens: float
    drafts_cost: float
    small: AtBatch
    large: AtBatch
    at_batches: tuple[AtBatch, ...]
    shrinks_at: int
    break_even: int
    ridge_batch: int
    losing_context: float | None
    budget_sequences: int
    budget_left: int
    read_gb: float
    params_b: float
    verdict: str
    budget_verdict: str
    finding: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]

    @property
    def length_verdict(self) -> str:
        """How the best draft length moves with the batch, in a sentence; "" where it stays."""
        first, last = self.at_batches[0], self.at_batches[-1]
        if first.best_k == last.best_k:
            return ""
        return (f"The best length falls from {first.best_k} at batch {first.sequences:,} to {last.best_k or 'none'} at "
                f"{last.sequences:,}: num_speculative_tokens_per_batch_size can follow it.")


@dataclass(frozen=True, slots=True)
class Target:
    """Rates in FLOP/s and B/s; weights, KV of one sequence in bytes, and parameters each token is multiplied by."""

    flop_per_s: float
    bytes_per_s: float
    weight_bytes: float
    kv_bytes: float
    parameters: float

    def read_s(self, sequences: float) -> float:
        return (self.weight_bytes + sequences * self.kv_bytes) / self.bytes_per_s

    def multiply_s(self, rows: float) -> float:
        return 2 * self.parameters * rows / self.flop_per_s

    def step_s(self, sequences: float, rows_each: int) -> float:
        """A step of that many sequences; KV is read once for all rows of one."""
        return max(self.read_s(sequences), self.multiply_s(sequences * rows_each))

    def speed_up(self, sequences: float, k: int, expected: float, drafts: float) -> float:
        """Against plain decoding; `drafts` is what all drafts cost, in plain steps."""
        plain = self.step_s(sequences, 1)
        return expected * plain / (self.step_s(sequences, 1 + k) + drafts * plain)

    def meeting(self, rows_each: int) -> float:
        """The batch at which products take as long as reading; NEVER when reading KV stays ahead."""
        slope = self.multiply_s(rows_each) - self.kv_bytes / self.bytes_per_s
        return self.weight_bytes / self.bytes_per_s / slope if slope > 0 else NEVER


def solve(*, num_speculative_tokens: int = 5, acceptance: float = 0.7, draft_cost_percent: float = 5.0,
          drafter: str = SEQUENTIAL, model: str = "llama-3.1-8b", gpu: str = "h100", context_tokens: int = 512,
          batch: int = 8, large_batch: int = 256, max_num_batched_tokens: int = 8_192, bandwidth_share: float = 0.8,
          compute_share: float = 0.6, read_gb: float | None = None, params_b: float | None = None,
          kv_bytes_per_token: int | None = None, tb_per_s: float | None = None,
          tflop_per_s: float | None = None) -> Speculation:
    """Compare a step with drafts to a plain one over the batch.

    plain = max((W + b × context × KV) / bandwidth, 2 P b / peak), verify the same with b (1 + k) rows to multiply,
    speed-up = E × plain / (verify + drafts × plain) with E = 1 + a + … + aᵏ. A budget counts 1 + k tokens a sequence.
    Exact for the model; acceptance, the drafter's cost and both shares are rules.
    Source: vllm 0.33.0, v1/core/sched/scheduler.py, schedule (num_tokens_with_spec); arXiv 2211.17192.
    """
    k, chosen, card = num_speculative_tokens, MODELS[model], GPUS[gpu]
    read = read_gb * 1e9 if read_gb else chosen.read_bytes
    target = Target(
        flop_per_s=(tflop_per_s or card.bf16_tflop_per_s) * 1e12 * compute_share,
        bytes_per_s=(tb_per_s or card.tb_per_s) * 1e12 * bandwidth_share, weight_bytes=read,
        kv_bytes=float(context_tokens * (kv_bytes_per_token or chosen.kv_bytes_per_token)),
        parameters=params_b * 1e9 if params_b else chosen.read_bytes / 2,
    )
    cost = draft_cost_percent / 100
    expected, drafts = expected_tokens(acceptance, k), draft_steps(k, drafter) * cost
    longer = replace(target, kv_bytes=LONGER * target.kv_bytes)

    def at(sequences: int) -> AtBatch:
        plain, verify = target.step_s(sequences, 1), target.step_s(sequences, 1 + k)
        best = max(range(MOST_TRIED + 1), key=lambda tried: target.speed_up(
            sequences, tried, expected_tokens(acceptance, tried), draft_steps(tried, drafter) * cost))
        return AtBatch(
            sequences, plain * 1e3, verify * 1e3, drafts * plain * 1e3, target.speed_up(sequences, k, expected, drafts),
            longer.speed_up(sequences, k, expected, drafts), sequences * (1 + k), best,
            "reading" if target.read_s(sequences) >= target.multiply_s(sequences * (1 + k)) else "products",
        )

    lost, shrinks = first_loss(target, k, expected, drafts), first_shrinking(target, k)
    ridge = (tflop_per_s or card.bf16_tflop_per_s) / (tb_per_s or card.tb_per_s)
    small, large = at(batch), at(large_batch)
    return Speculation(
        expected_tokens=expected, drafts_cost=drafts, small=small, large=large,
        at_batches=tuple(at(sequences) for sequences in BATCHES), shrinks_at=shrinks, break_even=lost,
        ridge_batch=round(ridge / (1 + k)), losing_context=losing_context(target, k, expected, drafts, context_tokens),
        budget_sequences=max_num_batched_tokens // (1 + k), budget_left=max(max_num_batched_tokens - small.tokens, 0),
        read_gb=read / 1e9, params_b=target.parameters / 1e9, verdict=verdict(lost, shrinks, small, large, k),
        budget_verdict=budget_verdict(max_num_batched_tokens, k, small),
        finding=f"{k} draft{'s' * (k != 1)} at {acceptance:g}: {expected:.3g} tokens a step, {small.speed_up:.2f}× at "
                f"batch {batch:,}; {'a loss from ' + format(lost, ',') + ' on' if lost else 'never a loss'}.",
        lines=lines_of(target, at(lost or large_batch), k, acceptance, draft_cost_percent, drafter, expected,
                       context_tokens),
        slips=slips_of(target, lost, ridge, k, expected, drafts),
    )


def first_loss(target: Target, k: int, expected: float, drafts: float) -> int:
    """The smallest batch that drafts make slower, NEVER when none does; the gain only falls with the batch."""
    if target.speed_up(MOST_SEQUENCES, k, expected, drafts) >= 1:
        return NEVER
    low, high = 0, MOST_SEQUENCES
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if target.speed_up(middle, k, expected, drafts) < 1 else (middle, high)
    return high


def first_shrinking(target: Target, k: int) -> int:
    """The last batch whose verify step is still bound by reading; NEVER when it always is."""
    meeting = target.meeting(1 + k)
    return floor(meeting) if meeting < MOST_SEQUENCES else NEVER


def losing_context(target: Target, k: int, expected: float, drafts: float, context: int) -> float | None:
    """The context in tokens from which on reading KV keeps ahead; None when drafts lose at any, or KV is nothing."""
    if expected <= drafts or not target.kv_bytes or expected <= 1 + drafts:
        return None
    return target.multiply_s(1 + k) * target.bytes_per_s / (target.kv_bytes / context * (expected - drafts))


def verdict(lost: int, shrinks: int, small: AtBatch, large: AtBatch, k: int) -> str:
    """Where drafts ride along and where they are paid, in sentences."""
    if lost == 1:
        return "Drafts cost more than they bring at any batch: lower k, or a cheaper drafter."
    if not shrinks:
        return ("Reading KV keeps every verify step ahead of its products: the extra rows ride along at any batch, and "
                "the gain stays.")
    rides = f"Up to batch {shrinks:,} the verify step waits for weights and KV, and {1 + k} rows cost what one does."
    if not lost:
        return f"{rides} Past it the gain shrinks and never falls below 1: KV is most of what is read."
    return (f"{rides} Past it each row is paid, and from {lost:,} on a step with drafts is the slower way. At "
            f"{large.sequences:,} it is {large.speed_up:.2f}×.")


def budget_verdict(budget: int, k: int, small: AtBatch) -> str:
    """What the drafts take of the step's token budget."""
    full = budget // (1 + k)
    if small.tokens > budget:
        return (f"{small.sequences:,} sequences ask for {small.tokens:,} tokens and the budget has {budget:,}: the "
                "last of the running list get none.")
    return (f"Each decode asks for {1 + k} of {budget:,} tokens: {full:,} sequences fill the budget and leave no "
            f"prefill a token; {small.sequences:,} leave {budget - small.tokens:,}.")


def lines_of(target: Target, here: AtBatch, k: int, acceptance: float, cost_percent: float, drafter: str,
             expected: float, context: int) -> tuple[Line, ...]:
    """The speed-up at one batch with its numbers filled in."""
    rows, tb_per_s, tflop_per_s = here.sequences * (1 + k), target.bytes_per_s / 1e12, target.flop_per_s / 1e12
    kv = target.kv_bytes / context / 1e9 if context else 0.0
    read = f"({target.weight_bytes / 1e9:.4g} + {here.sequences:,} × {context:,} × {kv:.4g}) GB / {tb_per_s:.4g} TB/s"
    multiplied = f"2 × {target.parameters / 1e9:.4g}e9 × {rows:,} / {tflop_per_s:,.4g} TFLOP/s"
    plain_rows = f"2 × {target.parameters / 1e9:.4g}e9 × {here.sequences:,} / {tflop_per_s:,.4g} TFLOP/s"
    plain_reads = target.read_s(here.sequences) >= target.multiply_s(here.sequences)
    return (
        Line("tokens a step", geometric_words(acceptance, k), expected, "tokens"),
        Line("drafts", f"{draft_steps(k, drafter)} × {cost_percent:g}%", here.draft_ms / here.plain_ms, "plain steps"),
        Line(f"plain step at {here.sequences:,}", read if plain_reads else plain_rows, here.plain_ms, "ms"),
        Line(f"verify step at {here.sequences:,}", read if here.binds == "reading" else multiplied, here.verify_ms,
             "ms"),
        Line(f"speed-up at {here.sequences:,}",
             f"{expected:.4g} × {here.plain_ms:.4g} / ({here.verify_ms:.4g} + {here.draft_ms:.4g})", here.speed_up, "×",
             total=True),
        Line("rows of the budget", f"{here.sequences:,} × (1 + {k})", rows, "tokens"),
    )


def slips_of(target: Target, lost: int, ridge: float, k: int, expected: float,
             drafts: float) -> tuple[tuple[float, str], ...]:
    """Wrong batches that people reach, and what each is; none near the right one."""
    bare = replace(target, kv_bytes=0.0)
    slips = (
        (ridge / (1 + k), "That is the ridge by the rows of a sequence: there the gain begins to shrink, and it is "
                          "lost later."),
        (ridge, "That is the ridge of plain decoding."),
        (first_shrinking(target, k), "There the gain begins to shrink; it is lost later."),
        (first_loss(bare, k, expected, drafts), "That leaves out the KV: reading it keeps the step bound by memory for "
                                                "longer."),
        (first_loss(target, k, expected, 0.0), "That takes drafts as free; the drafter runs as well."),
    )
    if not lost:
        never = "No batch loses: reading the KV of each sequence stays ahead of its products."
        return tuple((float(value), never) for value, _ in slips if value)
    return tuple((float(value), sentence) for value, sentence in slips
                 if value and abs(value / lost - 1) > SLIP_APART)
