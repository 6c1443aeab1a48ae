"""The modes of CUDA graphs: what a backend allows of the one asked for, what it captures, and what each step then runs.
"""
from dataclasses import dataclass

from calculators.models.base import Line, Refusal
from calculators.models.capture_sizes import capture_sizes, padded_size
from calculators.models.graph_padding import FULL, NONE, PIECEWISE, decode_sizes

# A mode by what it runs for uniform decode batches and for mixed ones.
MODES = {
    "NONE": (NONE, NONE), "PIECEWISE": (PIECEWISE, PIECEWISE), "FULL": (FULL, FULL),
    "FULL_DECODE_ONLY": (FULL, NONE), "FULL_AND_PIECEWISE": (FULL, PIECEWISE),
}
# What an attention backend can be captured for, from least to most.
SUPPORT = {
    "NEVER": "never", "UNIFORM_SINGLE_TOKEN_DECODE": "one token each", "UNIFORM_BATCH": "equal tokens each",
    "ALWAYS": "always",
}
UNSUPPORTED = "{mode} is not supported with this backend (support: {support}); please try cudagraph_mode=PIECEWISE, " \
              "and make sure compilation mode is VLLM_COMPILE"


@dataclass(frozen=True, slots=True)
class Ran:
    """A kind of step: its tokens, whether full, piecewise or no graph runs, at which size, and with how many launches.
    """

    name: str
    tokens: int
    graph: str
    size: int | None
    launches: int


@dataclass(frozen=True, slots=True)
class Choice:
    """One mode that can be asked for under these conditions: what it becomes ("" when refused) and captures."""

    asked: str
    mode: str
    decode: str
    mixed: str
    graphs: int
    present: bool


@dataclass(frozen=True, slots=True)
class GraphModes:
    """The mode in force, why it is not the one asked for, its graphs, and what three kinds of step run."""

    layers: int
    kernels: int
    eager_ops: int
    mode: str
    reasons: tuple[str, ...]
    sizes: tuple[int, ...]
    piecewise_graphs: int
    full_graphs: int
    eager_launches: int
    piecewise_launches: int
    steps_run: tuple[Ran, ...]
    choices: tuple[Choice, ...]
    verdict: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]

    @property
    def graphs(self) -> int:
        """All graphs captured: a small one for each piece and size, and a whole one for each size of decode."""
        return self.piecewise_graphs + self.full_graphs

    @property
    def pieces(self) -> int:
        return self.layers + 1

    @property
    def finding(self) -> str:
        decode, mixed, long = self.steps_run
        return (f"{self.mode} captures {self.graphs:,} graphs; a decode step is {decode.launches:,} launch"
                f"{'es' * (decode.launches != 1)}, a mixed one {mixed.launches:,}, a full chunk {long.launches:,}.")


def solve(*, cudagraph_mode: str = "FULL_AND_PIECEWISE", support: str = "ALWAYS", compiled: bool = True,
          num_speculative_tokens: int = 0, layers: int = 32, kernels_per_layer: int = 10, kernels_outside: int = 8,
          eager_ops: int = 3, sequences: int = 64, chunk_tokens: int = 256, max_num_seqs: int = 1_024,
          max_num_batched_tokens: int = 8_192, datacenter_blackwell: bool = False) -> GraphModes:
    """Resolve the mode, count what is captured, and send a decode, a mixed and a full step through it.

    `support` is the least of the model's attention backends. `compiled` says whether torch.compile cut the model at
    attention, which piecewise graphs need. Pieces = layers + 1. A decode step runs a full graph when its requests fit
    one, else a piecewise one, else none. Exact; kernels a layer and eager operations are rules of thumb.
    Source: vllm 0.33.0, config/compilation.py, CUDAGraphMode and resolve_cudagraph_mode_and_sizes;
    v1/worker/gpu/cudagraph_utils.py, CudaGraphManager.
    Raises Refusal where the engine does, and for steps that can't be.
    """
    if eager_ops > kernels_per_layer:
        raise Refusal(f"A layer has {kernels_per_layer} kernels; takes at most so many.", "eager_ops")
    query_len = 1 + num_speculative_tokens
    if sequences > max_num_seqs:
        raise Refusal(f"At most {max_num_seqs:,} sequences run at once here.", "sequences")
    decoding = sequences * query_len
    if decoding + chunk_tokens > max_num_batched_tokens:
        raise Refusal(f"{decoding:,} decoding rows and this chunk are more than a step's {max_num_batched_tokens:,} "
                      "tokens.", "chunk_tokens")
    mode, reasons = resolve(cudagraph_mode, support, compiled, query_len)
    sizes = capture_sizes(
        max_num_seqs=max_num_seqs, max_num_batched_tokens=max_num_batched_tokens,
        num_speculative_tokens=num_speculative_tokens, datacenter_blackwell=datacenter_blackwell,
    )
    whole = decode_sizes(sizes, query_len, max_num_seqs)
    kernels = layers * kernels_per_layer + kernels_outside
    launches = {NONE: kernels, PIECEWISE: layers + 1 + eager_ops * layers, FULL: 1}

    def ran(name: str, tokens: int, decode_only: bool) -> Ran:
        graph, size = run(mode, tokens, sizes, whole, decode_only)
        return Ran(name, tokens, graph, size, launches[graph])

    steps_run = (ran("decode", decoding, True), ran("mixed", decoding + chunk_tokens, False),
                 ran("a full chunk", max_num_batched_tokens, False))
    in_pieces, in_full = captured(mode, layers + 1, len(sizes), len(whole))
    return GraphModes(
        layers=layers, kernels=kernels, eager_ops=eager_ops, mode=mode, reasons=reasons, sizes=sizes,
        piecewise_graphs=in_pieces, full_graphs=in_full, eager_launches=kernels,
        piecewise_launches=launches[PIECEWISE], steps_run=steps_run,
        choices=tuple(choice(asked, support, compiled, query_len, layers + 1, len(sizes), len(whole),
                             asked == cudagraph_mode) for asked in MODES),
        verdict=verdict(mode, reasons, steps_run), lines=lines_of(mode, layers, kernels_per_layer, kernels_outside,
                                                                   eager_ops, len(sizes), len(whole)),
        slips=slips_of(mode, in_pieces + in_full, layers, len(sizes)),
    )


def resolve(asked: str, support: str, compiled: bool, query_len: int) -> tuple[str, tuple[str, ...]]:
    """The mode in force, and why at each change on the way. Raises Refusal where the engine does not start."""
    mode, reasons, levels = asked, [], list(SUPPORT)
    uniform = levels.index(support) >= levels.index("UNIFORM_BATCH")
    if MODES[mode][1] == FULL and support != "ALWAYS":
        if support == "NEVER":
            raise Refusal(UNSUPPORTED.format(mode=mode, support=support), "support")
        mode = "FULL_AND_PIECEWISE" if compiled else "FULL_DECODE_ONLY"
        reasons.append(f"mixed batches can't be captured whole, so {mode}")
    if MODES[mode][0] == FULL and support == "NEVER":
        mode = "PIECEWISE" if compiled else "NONE"
        reasons.append(f"this backend can't be captured at all, so {mode}")
    if MODES[mode][0] == FULL and query_len > 1 and not uniform:
        mode = "PIECEWISE" if compiled else "NONE"
        reasons.append(f"with drafts a request brings {query_len} tokens and the backend takes one, so {mode}")
    if PIECEWISE in MODES[mode] and not compiled:
        mode = "FULL_DECODE_ONLY" if MODES[mode][0] == FULL else "NONE"
        reasons.append(f"nothing is compiled in pieces, so {mode}")
    return mode, tuple(reasons)


def run(mode: str, tokens: int, sizes: tuple[int, ...], whole: tuple[int, ...],
        decode_only: bool) -> tuple[str, int | None]:
    """What a step runs and at which size: full if it fits, else piecewise, else no graph."""
    decode, mixed = MODES[mode]
    if decode_only and decode == FULL and mixed != FULL and (size := padded_size(whole, tokens)):
        return FULL, size
    if mixed != NONE and (size := padded_size(sizes, tokens)):
        return mixed, size
    return NONE, None


def captured(mode: str, pieces: int, sizes: int, whole: int) -> tuple[int, int]:
    """Piecewise and full graphs: a mode that runs mixed batches whole has no decode routine of its own."""
    decode, mixed = MODES[mode]
    in_full = sizes if mixed == FULL else whole if decode == FULL else 0
    return (pieces * sizes if mixed == PIECEWISE else 0), in_full


def choice(asked: str, support: str, compiled: bool, query_len: int, pieces: int, sizes: int, whole: int,
           present: bool) -> Choice:
    """A mode as it would come out here."""
    try:
        mode, _ = resolve(asked, support, compiled, query_len)
    except Refusal:
        return Choice(asked, "", "", "", 0, present)
    return Choice(asked, mode, *MODES[mode], sum(captured(mode, pieces, sizes, whole)), present)


def verdict(mode: str, reasons: tuple[str, ...], steps_run: tuple[Ran, ...]) -> str:
    """What is in force, and what each kind of step runs, in sentences."""
    said = f"{mode} is in force" + (f": {'; '.join(reasons)}." if reasons else ".")
    names = {FULL: "one full graph", PIECEWISE: "a graph for each piece", NONE: "no graph"}
    each = ", ".join(f"{step.name} of {step.tokens:,} runs {names[step.graph]}" +
                     (f" at {step.size:,}" if step.size else "") for step in steps_run)
    return f"{said} {each[0].upper()}{each[1:]}."


def lines_of(mode: str, layers: int, per_layer: int, outside: int, eager_ops: int, sizes: int,
             whole: int) -> tuple[Line, ...]:
    """Launches of each kind, then the graphs, with their numbers filled in."""
    in_pieces, in_full = captured(mode, layers + 1, sizes, whole)
    return (
        Line("launches, no graph", f"{layers} × {per_layer} + {outside}", layers * per_layer + outside),
        Line("launches, piecewise", f"{layers + 1} + {layers} × {eager_ops}", layers + 1 + layers * eager_ops),
        Line("launches, full", "", 1),
        Line("piecewise graphs", f"{layers + 1} × {sizes}" if in_pieces else "", in_pieces),
        Line("full graphs", "", in_full),
        Line("graphs captured", f"{in_pieces:,} + {in_full}", in_pieces + in_full, total=True),
    )


def slips_of(mode: str, graphs: int, layers: int, sizes: int) -> tuple[tuple[float, str], ...]:
    """The wrong counts of graphs that people reach, and what each leaves out or counts too much."""
    pieces = (layers + 1) * sizes
    if PIECEWISE not in MODES[mode]:
        return ((float(pieces), "Nothing is captured in pieces in this mode."),)
    slips = (
        (layers * sizes, "That is a graph a layer. The cuts lie at attention, so there is one piece more than layers."),
        (pieces, "That leaves out the full graphs: each size of decode is captured whole as well."),
        (pieces + sizes, "That counts full graphs too; none is captured in this mode."),
        (sizes, "That is the sizes. In pieces each of them is a graph for every piece."),
        (2 * sizes, "That counts each size twice; in pieces a size is a graph for every piece."),
    )
    return tuple((float(value), words) for value, words in slips if value != graphs)
