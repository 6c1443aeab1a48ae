"""Which attention backend the engine takes: an ordered list by architecture, and what rules each candidate out."""
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from calculators.models.base import Line, Refusal
from calculators.models.graph_modes import resolve

BF16, FP8, FP8_E5M2, NVFP4, INT8 = "bfloat16", "fp8", "fp8_e5m2", "nvfp4", "int8_per_token_head"
CAPABILITIES = {
    "7.5": "T4 (7.5)", "8.0": "A100 (8.0)", "8.9": "L40S, 4090 (8.9)", "9.0": "H100, H200 (9.0)", "10.0": "B200 (10.0)",
    "12.0": "RTX 5090 (12.0)",
}
ALWAYS, UNIFORM, SINGLE = "ALWAYS", "UNIFORM_BATCH", "UNIFORM_SINGLE_TOKEN_DECODE"
MLA_HEADS = (320, 512, 576)
FA4_PAGE = 128  # tokens of a block that the kernel for heads of 256 takes
FA4_FP8_PAGE = 64  # and the one for heads of 512 on Hopper, with FP8 KV


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a backend."""

    capability: tuple[int, int]
    use_mla: bool
    head_size: int
    kv_cache_dtype: str
    block_size: int | None
    non_causal: bool
    batch_invariant: bool
    trtllm_kernels: bool

    @property
    def major(self) -> int:
        return self.capability[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """One backend as its class declares it."""

    name: str
    mla: bool = False
    runs_on: Callable[[Asked], bool]
    head_sizes: Callable[[Asked], bool]
    kv_dtypes: Callable[[Asked], tuple[str, ...]]
    blocks: Callable[[Asked], tuple[int, ...]]
    non_causal: bool = False
    batch_invariant: bool = False
    more: Callable[[Asked], str] = lambda asked: ""
    graphs: Callable[[Asked], str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A place in the list, with the engine's words for what rules it out; `graphs` is what it can be captured for."""

    name: str
    reasons: tuple[str, ...]
    chosen: bool
    graphs: str


@dataclass(frozen=True, slots=True)
class AttentionBackends:
    """The list in order, the first that holds, and the graph mode that the engine's default becomes with it."""

    backend: str
    candidates: tuple[Candidate, ...]
    fa_version: int
    graphs: str
    mode: str
    full_becomes: str
    log: str
    warning: str
    verdict: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[str, str], ...]

    @property
    def chosen(self) -> str:
        """The backend in use, forced or not (`backend` is also the name of what forces one)."""
        return self.backend

    @property
    def rejected(self) -> int:
        """How many stand before the one chosen, each ruled out."""
        return next(place for place, each in enumerate(self.candidates) if each.chosen)

    @property
    def finding(self) -> str:
        before = f" after {self.rejected} ruled out" if self.rejected else ", the first of the list"
        return f"{self.backend} is chosen{before}; captured {self.graphs}, the default mode is {self.mode}."


def flash_version(asked: Asked) -> int:
    """The FlashAttention kernels that serve this: 3 on Hopper, 4 on data-centre Blackwell, else 2."""
    if asked.major == 9:
        return 4 if asked.head_size > 256 and not asked.batch_invariant else 2 if asked.head_size > 256 else 3
    if asked.major != 10 or asked.batch_invariant:
        return 2
    if asked.head_size == 256:
        return 4 if asked.kv_cache_dtype == BF16 else 2
    return 4 if asked.head_size <= 128 else 2


def flash_kv_dtypes(asked: Asked) -> tuple[str, ...]:
    """FP8 where the architecture's own kernels, whatever the head, read it."""
    return (BF16, FP8) if asked.major == 9 or asked.major == 10 and not asked.batch_invariant else (BF16,)


def flash_kv(asked: Asked) -> str:
    """KV in fewer bits needs kernels for this head that read it; none reads e5m2."""
    version = flash_version(asked)
    reads = asked.major == 9 and (version == 3 or version == 4 and asked.head_size == 512) or (
        asked.major == 10 and version == 4)
    return "" if asked.kv_cache_dtype == BF16 or reads and asked.kv_cache_dtype != FP8_E5M2 else (
        "FP8 KV cache requires FA3 on SM90, FA4 with head_size=512 on SM90, or FA4 on SM100")


def flash_blocks(asked: Asked) -> tuple[int, ...]:
    """Multiples of 16, but where the kernels for this head have pages of their own size."""
    if flash_version(asked) == 4 and asked.head_size == 256:
        return (FA4_PAGE,)
    if flash_version(asked) == 4 and asked.head_size == 512 and asked.kv_cache_dtype == FP8:
        return (FA4_FP8_PAGE,)
    return (16,)


def flashinfer_graphs(asked: Asked) -> str:
    """Uniform batches where a TRT-LLM kernel, or below 9.0 the fa2 decode, serves them; else one token each."""
    if asked.major < 9:
        return SINGLE if asked.non_causal else UNIFORM
    served = asked.trtllm_kernels and not asked.batch_invariant
    if asked.major in (9, 12):
        served = served and asked.head_size <= 256 and (asked.kv_cache_dtype != NVFP4 or asked.major == 12)
    elif asked.non_causal:
        served = False
    return UNIFORM if served else SINGLE


def flashinfer_kv_dtypes(asked: Asked) -> tuple[str, ...]:
    """NVFP4 through the fa2 kernels, or on data-centre Blackwell through the TRT-LLM ones."""
    served = asked.trtllm_kernels and not asked.batch_invariant if asked.major == 10 else asked.major > 7
    return (BF16, FP8, FP8_E5M2, NVFP4) if served else (BF16, FP8, FP8_E5M2)


def flashinfer_kv(asked: Asked) -> str:
    misread = asked.kv_cache_dtype == NVFP4 and asked.head_size == 64 and asked.major in (8, 9, 12)
    return "fa2 prefill misreads an NVFP4 KV cache at head_size 64" if misread else ""


def majors(*numbers: int) -> Callable[[Asked], bool]:
    return lambda asked: asked.major in numbers


def heads(*sizes: int) -> Callable[[Asked], bool]:
    return lambda asked: asked.head_size in sizes


def of(*sizes: int) -> Callable[[Asked], tuple[int, ...]]:
    return lambda asked: sizes


def stores(*dtypes: str) -> Callable[[Asked], tuple[str, ...]]:
    return lambda asked: dtypes


def captured(level: str) -> Callable[[Asked], str]:
    return lambda asked: level


def anything(asked: Asked) -> bool:
    return True


BACKENDS = {each.name: each for each in (
    Backend(
        name="FLASH_ATTN", runs_on=lambda asked: asked.major >= 8, blocks=flash_blocks, kv_dtypes=flash_kv_dtypes,
        head_sizes=lambda asked: asked.head_size in range(8, 513 if asked.major in (9, 10) else 257, 8),
        non_causal=True, batch_invariant=True, more=flash_kv,
        graphs=lambda asked: ALWAYS if asked.major == 9 or asked.major == 10 and not asked.batch_invariant else UNIFORM,
    ),
    Backend(
        name="FLASHINFER", runs_on=lambda asked: (8, 0) <= asked.capability <= (12, 1),
        head_sizes=heads(64, 128, 256, 512), kv_dtypes=flashinfer_kv_dtypes, blocks=of(16, 32, 64),
        non_causal=True, more=flashinfer_kv, graphs=flashinfer_graphs,
    ),
    Backend(
        name="TRITON_ATTN", runs_on=anything, head_sizes=lambda asked: asked.head_size >= 32,
        kv_dtypes=stores(BF16, FP8, FP8_E5M2, INT8), blocks=of(16), non_causal=True, batch_invariant=True,
        graphs=captured(ALWAYS),
    ),
    Backend(
        name="FLEX_ATTENTION", runs_on=anything, head_sizes=anything, kv_dtypes=stores(BF16), blocks=of(16),
        non_causal=True, batch_invariant=True, graphs=captured(ALWAYS),
    ),
    Backend(
        name="FLASH_ATTN_MLA", mla=True, runs_on=majors(9), head_sizes=heads(*MLA_HEADS), kv_dtypes=stores(BF16),
        blocks=of(16), batch_invariant=True, graphs=captured(UNIFORM),
        more=lambda asked: "" if asked.major == 9 else "FlashAttention MLA not supported on this device",
    ),
    Backend(
        name="FLASHMLA", mla=True, runs_on=majors(9, 10), head_sizes=heads(*MLA_HEADS), kv_dtypes=stores(BF16, FP8),
        blocks=of(64), graphs=captured(UNIFORM),
        more=lambda asked: "" if asked.major == 9 else "FlashMLA Dense is only supported on Hopper devices.",
    ),
    Backend(
        name="FLASHINFER_MLA", mla=True, runs_on=majors(10), head_sizes=heads(*MLA_HEADS), kv_dtypes=stores(BF16, FP8),
        blocks=of(32, 64), non_causal=True, graphs=captured(ALWAYS),
    ),
    Backend(
        name="TOKENSPEED_MLA", mla=True, runs_on=majors(10), head_sizes=heads(*MLA_HEADS), kv_dtypes=stores(FP8),
        blocks=of(32, 64), non_causal=True, graphs=captured(UNIFORM),
    ),
    Backend(
        name="CUTLASS_MLA", mla=True, runs_on=majors(10), head_sizes=heads(*MLA_HEADS), kv_dtypes=stores(BF16, FP8),
        blocks=of(128), graphs=captured(SINGLE),
    ),
    Backend(
        name="TRITON_MLA", mla=True, runs_on=anything, head_sizes=anything, kv_dtypes=stores(BF16, FP8), blocks=of(16),
        non_causal=True, batch_invariant=True, graphs=captured(UNIFORM),
    ),
)}


def priorities(asked: Asked) -> tuple[str, ...]:
    """The candidates in the engine's order, up to those for sparse attention and for turboquant."""
    if not asked.use_mla:
        first = ("FLASHINFER", "FLASH_ATTN") if asked.major == 10 and not asked.non_causal else (
            "FLASH_ATTN", "FLASHINFER")
        return (*first, "TRITON_ATTN", "FLEX_ATTENTION")
    if asked.major == 10:
        return ("FLASHINFER_MLA", "TOKENSPEED_MLA", "CUTLASS_MLA", "FLASH_ATTN_MLA", "FLASHMLA", "TRITON_MLA")
    if asked.major == 12:
        return ("TRITON_MLA",)
    return "FLASH_ATTN_MLA", "FLASHMLA", "FLASHINFER_MLA", "TRITON_MLA"


def reasons(backend: Backend, asked: Asked) -> Iterator[str]:
    """What rules a backend out, in the engine's words and order; nothing when it holds."""
    if not backend.head_sizes(asked):
        yield "head_size not supported"
    if asked.kv_cache_dtype not in backend.kv_dtypes(asked):
        yield "kv_cache_dtype not supported"
    if asked.block_size and all(asked.block_size % size for size in backend.blocks(asked)):
        yield "block_size not supported"
    if asked.use_mla != backend.mla:
        yield "MLA not supported" if asked.use_mla else "non-MLA not supported"
    if not backend.runs_on(asked):
        yield "compute capability not supported"
    if asked.non_causal and not backend.non_causal:
        yield "non-causal attention not supported"
    if asked.batch_invariant and not backend.batch_invariant:
        yield "batch invariance not supported"
    if more := backend.more(asked):
        yield more


def solve(*, capability: str = "9.0", use_mla: bool = True, head_size: int = 576, kv_cache_dtype: str = FP8,
          block_size: int | None = None, non_causal: bool = False, batch_invariant: bool = False,
          trtllm_kernels: bool = True, num_speculative_tokens: int = 0, backend: str = "") -> AttentionBackends:
    """Walk the list and take the first backend that nothing rules out, then see what graphs it allows.

    `backend` forces one, which raises where it can't serve this. `trtllm_kernels` says whether NVIDIA's kernels can be
    fetched. Decoder attention without sinks, sliding windows, images or context parallelism; FA4 is taken as built.
    Source: vllm 0.33.0, platforms/cuda.py, _get_backend_priorities and get_attn_backend_cls; v1/attention/backend.py,
    AttentionBackend.validate_configuration; v1/attention/backends/fa_utils.py, get_flash_attn_version.
    Raises Refusal where the engine finds none, or the one forced does not hold.
    """
    major, minor = capability.split(".")
    asked = Asked((int(major), int(minor)), use_mla, head_size, kv_cache_dtype, block_size, non_causal, batch_invariant,
                  trtllm_kernels)
    named = priorities(asked)
    found = {name: tuple(reasons(BACKENDS[name], asked)) for name in {*named, backend} - {""}}
    if backend and found[backend]:
        raise Refusal(f"Selected backend {backend} is not valid for this configuration. Reason: "
                      f"{list(found[backend])}", "backend")
    valid = [name for name in named if not found[name]]
    chosen = backend or next(iter(valid), "")
    if not chosen:
        said = "; ".join(f"{name}: {', '.join(found[name])}" for name in named)
        raise Refusal(f"No valid attention backend found. {said}.")
    graphs = BACKENDS[chosen].graphs(asked)
    query_len = 1 + num_speculative_tokens
    mode, _ = resolve("FULL_AND_PIECEWISE", graphs, True, query_len)
    full, _ = resolve("FULL", graphs, True, query_len)
    shown = named if chosen in named else (chosen, *named)
    candidates = tuple(Candidate(name, found[name], name == chosen, BACKENDS[name].graphs(asked)) for name in shown)
    version = flash_version(asked) if chosen == "FLASH_ATTN" else 3 if chosen == "FLASH_ATTN_MLA" else 0
    return AttentionBackends(
        backend=chosen, candidates=candidates, fa_version=version, graphs=graphs, mode=mode, full_becomes=full,
        log=f"Using {chosen} backend." if backend else (
            f"Using {chosen} attention backend out of potential backends: {valid}."),
        warning=precluded(named, found, chosen, block_size) if not backend else "",
        verdict=verdict(chosen, version, graphs, mode, query_len, candidates, BACKENDS[chosen].blocks(asked)),
        lines=(Line("ruled out before it", "", next(place for place, each in enumerate(candidates) if each.chosen)),
               Line("that hold", "", len(valid)), Line("query length, 1 + drafts", f"1 + {query_len - 1}", query_len)),
        slips=tuple((each.name, f"{each.name} is ruled out: {', '.join(each.reasons)}." if each.reasons else
                     f"{each.name} would hold; {chosen} stands before it.") for each in candidates if not each.chosen),
    )


def precluded(named: tuple[str, ...], found: dict[str, tuple[str, ...]], chosen: str, block_size: int | None) -> str:
    """The engine's warning when a block size alone ruled out what stands before."""
    before = [name for name in named[:named.index(chosen)] if found[name] == ("block_size not supported",)]
    return (f"--block-size {block_size} precluded higher-priority backend(s) {', '.join(before)}. Using {chosen} "
            "instead, which may result in reduced performance.") if before else ""


def verdict(chosen: str, version: int, graphs: str, mode: str, query_len: int, candidates: tuple[Candidate, ...],
            blocks: tuple[int, ...]) -> str:
    """What is chosen and why, and what its graphs allow, in sentences."""
    kernels = f" with FlashAttention {version}" if version else ""
    first = candidates[0]
    why = "the first of the list" if first.chosen else f"since {first.name} is ruled out: {', '.join(first.reasons)}"
    if not first.chosen and not first.reasons:
        why = "as asked"
    allows = {ALWAYS: "any batch", UNIFORM: "decode batches with equal tokens a request",
              SINGLE: "decode batches of one token a request"}[graphs]
    sized = "" if 16 in blocks else f" Its kernels take blocks of {' or '.join(map(str, blocks))} tokens."
    after = f" With {query_len - 1} drafts that makes the mode {mode}." if query_len > 1 else ""
    return f"{chosen}{kernels}, {why}. It can be captured whole for {allows}.{after}{sized}"
