"""What a grammar's mask costs: its bytes, the naive walk over the vocabulary, and what compiling leaves of it."""
from dataclasses import dataclass

from calculators.models import mask_overlap
from calculators.models.base import Line
from calculators.models.catalogue import MODELS
from calculators.models.grammar import WORD_BYTES, bytes_of_row
from calculators.models.mask_overlap import MaskOverlap

MORE_DRAFTS = 3  # what the second way has where none are asked for
PCIE_SLOW = 0.5  # of the link's rate: what small copies reach
SLIP_APART = 0.03


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A published vocabulary and its row."""

    name: str
    tokens: int
    row_bytes: int


@dataclass(frozen=True, slots=True)
class GrammarCost:
    """A row and the engine's buffer in bytes, the naive and the compiled build in ms, and the step around them.

    `plain` is the loop without drafts, `drafted` with those given, or with three. `transfer_us` is the copy of a
    step's rows at the link's rate, `slow_transfer_us` at half of it.
    """

    row_words: int
    row_bytes: int
    float_mask_bytes: int
    rows: int
    step_bytes: int
    transfer_us: float
    slow_transfer_us: float
    buffer_rows: int
    buffer_mb: float
    naive_ms: float
    naive_step_ms: float
    uncertain_tokens: int
    compiled_ms: float
    compiled_step_ms: float
    serial_fill_ms: float
    compiled_bytes: int
    gain: float
    vocabularies: tuple[Vocabulary, ...]
    plain: MaskOverlap
    drafted: MaskOverlap
    drafts_drawn: int
    verdict: str
    finding: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]


def solve(*, vocabulary_size: int = 128_256, bytes_per_token: float = 4.0, ns_per_byte: float = 20.0,
          uncertain_percent: float = 1.0, lookup_us: float = 0.0, us_per_row: float = 40.0, structured: int = 64,
          drafts: int = 0, states: int = 18, max_num_seqs: int = 1_024, link_gb_per_s: float = 50.0,
          forward_ms: float = 8.8) -> GrammarCost:
    """Price one row of a mask, built by walking every token or only those that a compiled grammar leaves open.

    Row = 4 × ⌈V / 32⌉ bytes; naive = V × bytes a token × time a byte, for each row; compiled = its uncertain share of
    that + a lookup; a request has 1 + k rows. Bytes are exact, times are rules.
    Source: vllm 0.33.0, v1/structured_output/__init__.py, StructuredOutputManager; XGrammar, arXiv 2411.15100.
    """
    row, token_ns = bytes_of_row(vocabulary_size), bytes_per_token * ns_per_byte
    rows, naive = structured * (1 + drafts), vocabulary_size * token_ns / 1e6
    uncertain = round(vocabulary_size * uncertain_percent / 100)
    compiled = vocabulary_size * uncertain_percent / 100 * token_ns / 1e6 + lookup_us / 1e3
    more = drafts or MORE_DRAFTS
    plain, drafted = (mask_overlap.solve(structured=structured, batch=max(structured, 1), drafts=k,
                                         us_per_row=us_per_row, forward_ms=forward_ms) for k in (0, more))
    buffer_rows = max_num_seqs * (1 + drafts)
    return GrammarCost(
        row_words=row // WORD_BYTES, row_bytes=row, float_mask_bytes=4 * vocabulary_size, rows=rows,
        step_bytes=rows * row, transfer_us=rows * row / link_gb_per_s / 1e3,
        slow_transfer_us=rows * row / (link_gb_per_s * PCIE_SLOW) / 1e3, buffer_rows=buffer_rows,
        buffer_mb=buffer_rows * row / 1e6, naive_ms=naive, naive_step_ms=rows * naive, uncertain_tokens=uncertain,
        compiled_ms=compiled, compiled_step_ms=rows * compiled, serial_fill_ms=rows * us_per_row / 1e3,
        compiled_bytes=states * row, gain=naive / compiled if compiled else 0.0, vocabularies=published(),
        plain=plain, drafted=drafted, drafts_drawn=more, verdict=verdict(plain, drafted, more, naive, rows),
        finding=f"A row is {row:,} bytes; building it takes {naive:,.4g} ms token by token, {compiled:,.3g} ms once "
                "compiled.",
        lines=(
            Line("a row", f"4 × ⌈{vocabulary_size:,} / 32⌉", row, "bytes"),
            Line("naive, a row", f"{vocabulary_size:,} × {bytes_per_token:g} × {ns_per_byte:g} ns", naive, "ms"),
            Line(f"naive, {rows:,} rows", f"{rows:,} × {naive:.4g}", rows * naive, "ms"),
            Line("compiled, a row", f"{uncertain_percent:g}% × {vocabulary_size:,} × {token_ns:g} ns"
                 + (f" + {lookup_us:g} µs" if lookup_us else ""), compiled, "ms"),
            Line(f"{rows:,} rows at {us_per_row:g} µs", f"{rows:,} × {us_per_row:g} µs", rows * us_per_row / 1e3, "ms"),
            Line("kept for the grammar at most", f"{states:,} states × {row:,}", states * row, "bytes"),
            Line("the engine’s buffer", f"{max_num_seqs:,} × (1 + {drafts}) × {row:,}", buffer_rows * row / 1e6, "MB"),
            Line("copy of a step", f"{rows:,} × {row:,} B / {link_gb_per_s:g} GB/s", rows * row / link_gb_per_s / 1e3,
                 "µs"),
        ),
        slips=slips_of(naive, compiled, bytes_per_token, rows),
    )


def published() -> tuple[Vocabulary, ...]:
    """The vocabularies of the catalogue, each once, the smallest first."""
    by_size = {model.vocabulary: model.name for model in reversed(MODELS.values())}
    return tuple(Vocabulary(name, size, bytes_of_row(size)) for size, name in sorted(by_size.items()))


def verdict(plain: MaskOverlap, drafted: MaskOverlap, drafts: int, naive: float, rows: int) -> str:
    """Whether the mask is seen in a step, without drafts and with them, in sentences."""
    said = ["The mask hides under the forward" if not plain.stall_ms else
            f"Each step stands {plain.stall_ms:.3g} ms for its mask"]
    many = f"{drafts} drafts a request make {drafted.rows:,} rows"
    said.append(f"{many}, and it still does." if not drafted.stall_ms and not plain.stall_ms else
                f"{many}, filled one after another: a step stands {drafted.stall_ms:.3g} ms.")
    return (f"{said[0]}; {said[1]} Built token by token, {rows:,} row{'s' * (rows != 1)} would take "
            f"{rows * naive / 1e3:,.3g} s.")


def slips_of(naive: float, compiled: float, bytes_per_token: float, rows: int) -> tuple[tuple[float, str], ...]:
    """Wrong times of a naive row (ms) that people reach."""
    slips = (
        (naive / bytes_per_token, "That walks one byte of each token; each has several."),
        (naive / 32, "That takes a word at a time; each of its 32 bits is a token to walk."),
        (rows * naive, "That is all rows of the step; asked is one."),
        (compiled, "That is what compiling leaves."),
        (naive / 1e3, "That is a thousandth: tokens × ns are to be read as ms by dividing by a million."),
    )
    return tuple((value, sentence) for value, sentence in slips if value and abs(value / naive - 1) > SLIP_APART)
