"""A start of vLLM in its five phases: what each checks, the line that it logs, and which one ends it."""
from dataclasses import dataclass

from calculators.models import memory_ledger
from calculators.models.catalogue import BF16, GPUS, MODELS
from calculators.models.memory_ledger import CAPTURE, CONFIG, FREE, LENGTH, LOAD, NONE, OUTCOMES, STARTS, Ledger

READ_GB_PER_S = 1.0  # of the weights, for the seconds in the log
CAPTURE_S, WARM_UP_S = 20, 90
PHASES = {
    "1": "1, configuration and processes", "2": "2, the GPU and its memory", "3": "3, loading the model",
    "4": "4, profile and KV plan", "5": "5, KV, graphs, warm-up", "0": "none, it starts",
}
FAILS = {CONFIG: "1", FREE: "2", LOAD: "3", NONE: "4", LENGTH: "4", CAPTURE: "5", STARTS: "0"}
DONE, FAILED, UNREACHED = "passed", "failed", "not reached"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must fit, in GiB on each GPU: what is asked, what there is, and how it ended."""

    phase: str
    name: str
    asked_gib: float
    has_gib: float
    state: str


@dataclass(frozen=True, slots=True)
class StartUp:
    """How far a start comes: `fails` is the phase that ends it, "0" when none does; `log` is what the engine logs."""

    fails: str
    outcome: str
    weight_gb: float
    card_gb: float
    total_gib: float
    cards_gib: float
    budgets_gib: float
    loaded_gib: float
    kv_gib: float
    request_gib: float
    bare_gib: float
    head_room_gib: float
    longest_tokens: int
    checks: tuple[Check, ...]
    log: tuple[str, ...]
    finding: str
    fix_verdict: str
    never_verdict: str
    slips: tuple[tuple[str, str], ...]


def solve(*, model: str = "llama-3.1-70b", weights: str = BF16, gpu: str = "h100", tensor_parallel_size: int = 2,
          data_parallel_size: int = 1, gpu_memory_utilization: float = 0.92, max_num_batched_tokens: int = 8_192,
          max_num_seqs: int = 1_024, max_model_len: int = 131_072, other_gib: float = 0,
          graphs_actual_gib: float | None = None) -> StartUp:
    """Start an engine and see which of its checks fails first. Data-parallel ranks each hold all the weights.

    Source: vllm 0.33.0, v1/engine/core.py, EngineCore.__init__; v1/worker/gpu_worker.py, Worker.init_device;
    v1/core/kv_cache_planning.py, _check_enough_kv_cache_memory.
    """
    ledger = memory_ledger.solve(
        model=model, weights=weights, gpu=gpu, tensor_parallel_size=tensor_parallel_size,
        gpu_memory_utilization=gpu_memory_utilization, max_num_batched_tokens=max_num_batched_tokens,
        max_num_seqs=max_num_seqs, max_model_len=max_model_len, other_gib=other_gib,
        graphs_actual_gib=graphs_actual_gib,
    )
    fails = FAILS[ledger.outcome]
    cards = tensor_parallel_size * data_parallel_size
    name = MODELS[model].name
    gb = MODELS[model].weight_bytes(weights) / 1e9
    return StartUp(
        fails=fails, outcome=ledger.outcome, weight_gb=gb, card_gb=cards * GPUS[gpu].nominal_gb,
        total_gib=ledger.total_gib, cards_gib=cards * ledger.total_gib, budgets_gib=cards * ledger.budget_gib,
        loaded_gib=ledger.loaded_gib, kv_gib=ledger.kv_gib, request_gib=ledger.request_gib,
        bare_gib=ledger.total_gib - ledger.loaded_gib, head_room_gib=ledger.head_room_gib,
        longest_tokens=ledger.longest_tokens,
        checks=checks_of(ledger, fails, graphs_actual_gib),
        log=log_of(ledger, fails, name, tensor_parallel_size, data_parallel_size, max_model_len),
        finding=f"{gb:,.0f} GB of weights on {cards:,} × {GPUS[gpu].nominal_gb:g} GB: "
                f"{'it starts' if fails == '0' else f'phase {fails} ends it'}.",
        fix_verdict=ledger.fix_verdict, never_verdict=never_verdict(ledger), slips=slips_of(ledger, fails),
    )


def checks_of(ledger: Ledger, fails: str, graphs_actual_gib: float | None) -> tuple[Check, ...]:
    """The checks in their order; those behind the one that fails are not reached."""
    used = ledger.budget_gib - ledger.kv_gib
    late = 0 if graphs_actual_gib is None else graphs_actual_gib - ledger.graph_gib  # what they take less gives room
    asked = (
        ("2", "the budget, of what is free", ledger.budget_gib, ledger.free_at_start_gib, ledger.outcome == FREE),
        ("3", "the weights, of what is free", ledger.loaded_gib, ledger.free_at_start_gib, ledger.outcome == LOAD),
        ("4", "all but KV, of the budget", used, ledger.budget_gib, ledger.outcome == NONE),
        ("4", "one request, of what is left", ledger.request_gib, max(ledger.kv_gib, 0), ledger.outcome == LENGTH),
        ("5", "graphs past their estimate, of the head-room", max(late, 0), ledger.head_room_gib + max(-late, 0),
         ledger.outcome == CAPTURE),
    )
    ended, made = fails == "1", []
    for phase, name, wanted, has, failed in asked:
        made.append(Check(phase, name, wanted, has, UNREACHED if ended else FAILED if failed else DONE))
        ended = ended or failed
    return tuple(made)


def log_of(ledger: Ledger, fails: str, name: str, tensor: int, data: int, max_model_len: int) -> tuple[str, ...]:
    """What the engine logs, down to the message that ends it; the seconds are examples."""
    lines = [f"Initializing a V1 LLM engine (v0.33.0) with config: model='{name}', max_seq_len={max_model_len}, "
             f"tensor_parallel_size={tensor}, data_parallel_size={data}, …"]
    if fails == "1":
        return (f"ValueError: {ledger.message}",)
    lines.append("Using V2 Model Runner")
    if fails == "2":
        return (*lines, f"ValueError: {ledger.message}")
    lines.append("Loading model from scratch...")
    if fails == "3":
        return (*lines, f"{ledger.message} (in load_model, before a file is read)")
    seconds = ledger.loaded_gib * tensor * 2**30 / 1e9 / READ_GB_PER_S
    lines += [f"Model loading took {ledger.loaded_gib:.2f} GiB memory and {seconds:.6f} seconds",
              f"Available KV cache memory: {ledger.kv_gib:.2f} GiB"]
    if fails == "4":
        return (*lines, f"ValueError: {ledger.message}")
    lines.append(f"GPU KV cache size: {ledger.kv_tokens:,} tokens, Maximum concurrency for {max_model_len:,} tokens "
                 f"per request: {ledger.concurrency:.2f}x")
    if fails == "5":
        return (*lines, f"{ledger.message} (in capture_model)")
    return (*lines, f"Graph capturing finished in {CAPTURE_S} secs, took {ledger.graph_gib:.2f} GiB",
            f"init engine (profile, create kv cache, warmup model) took {WARM_UP_S:.2f} s")


def never_verdict(ledger: Ledger) -> str:
    """Whether any utilization could make it start, with the numbers; "" when it starts."""
    if ledger.outcome in (STARTS, CONFIG, CAPTURE):
        return ""
    bare = ledger.total_gib - ledger.loaded_gib
    if bare < 0:
        return f"It never could: {ledger.loaded_gib:,.2f} GiB of weights on a GPU of {ledger.total_gib:,.2f}."
    if bare < ledger.request_gib:
        return (f"It never could: {ledger.total_gib:,.2f} − {ledger.loaded_gib:,.2f} = {bare:,.2f} GiB of each GPU are "
                f"left by the weights alone, and one request of full length needs {ledger.request_gib:,.2f}.")
    return (f"It could: the weights leave {bare:,.2f} GiB of each GPU, one request needs {ledger.request_gib:,.2f}; "
            "the rest of the ledger decides.")


def slips_of(ledger: Ledger, fails: str) -> tuple[tuple[str, str], ...]:
    """What speaks against each phase that isn't the one that ends it."""
    passed = {
        "1": "Phase 1 passed: the engine logged its configuration.",
        "2": f"Phase 2 passed: {ledger.free_at_start_gib:,.2f} GiB were free, the budget is "
             f"{ledger.budget_gib:,.2f}; after it the model began to load.",
        "3": f"Phase 3 passed: “Model loading took {ledger.loaded_gib:,.2f} GiB” is its last good line.",
        "4": "Phase 4 passed: the size of the KV cache was logged after its checks.",
        "5": "Phase 5 passed: graphs were captured and the engine was ready.",
    }
    if fails == "0":
        return tuple((phase, f"It starts. {sentence}") for phase, sentence in passed.items())
    before = [(phase, sentence) for phase, sentence in passed.items() if phase < fails]
    behind = [(phase, "That phase was not reached: its line is missing, and so is that of the one before it.")
              for phase in passed if phase > fails]
    return (*before, *behind, ("0", f"It does not start: {OUTCOMES[ledger.outcome]}."))
