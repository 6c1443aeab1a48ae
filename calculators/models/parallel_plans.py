"""How a node is split among replicas: what each width of tensor parallelism leaves for KV, and how fast it decodes."""
from collections.abc import Iterator
from dataclasses import dataclass

from calculators.models.base import Line
from calculators.models.catalogue import BF16, FP8, GPUS, MODELS, Gpu, Model
from calculators.models.kv_token import replicas as copies_of
from calculators.models.serve_builder import solve as serve
from calculators.models.serve_fit import ledger_for
from calculators.models.serve_scene import Scene

REDUCES_PER_LAYER = 2
WIDTHS = (1, 2, 4, 8, 16)
QUANTIZATION = {BF16: "", FP8: "fp8_per_tensor"}  # of a bf16 checkpoint; one that is packed needs no flag


@dataclass(frozen=True, slots=True)
class Plan:
    """One width: replicas on the node, GiB of one GPU, what the node holds, and its decode step at the users given.

    `why_not` says what rules it out, "" for one that serves the users; `warnings` what it costs all the same.
    `step_ms` and `tokens_per_s` are of the node, as if its KV fitted.
    """

    width: int
    replicas: int
    weights_gib: float
    overhead_gib: float
    kv_gib: float
    replica_tokens: int
    node_tokens: int
    sequences_each: int
    sequences: int
    longest_tokens: int
    users_each: int
    step_ms: float
    tokens_per_s: float
    why_not: str
    warnings: tuple[str, ...]
    command: str

    @property
    def name(self) -> str:
        return f"TP {self.width} × {self.replicas}"


@dataclass(frozen=True, slots=True)
class Plans:
    """Every width that divides the node and the query heads.

    `chosen` is the narrowest that serves the users, its width as text, and `holds` how many requests of full length the
    node then holds; "" and 0 for none.
    """

    budget_gib: float
    total_gib: float
    plans: tuple[Plan, ...]
    chosen: str
    holds: int
    command: str
    verdict: str
    finding: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]


def solve(*, model: str = "llama-3.1-70b", weights: str = BF16, gpu: str = "h100", gpus: int = 8,
          context_tokens: int = 4_096, users: int = 64, held_tokens: int = 2_048, bandwidth_share: float = 0.7,
          reduce_us: float = 15) -> Plans:
    """Compare the widths of tensor parallelism on one node: replicas multiply weights, width divides them.

    Memory is the ledger's at vLLM's own settings. A decode step reads the weights but the embedding, and `held_tokens`
    of KV for each sequence, at a share of the peak bandwidth; each layer adds two all-reduces of `reduce_us`.
    """
    shape, card = MODELS[model], GPUS[gpu]
    plans = tuple(plan(shape, card, model, weights, gpu, gpus, width, context_tokens, users, held_tokens,
                       bandwidth_share, reduce_us)
                  for width in WIDTHS if gpus % width == 0 and shape.query_heads % width == 0)
    chosen = next((each for each in plans if not each.why_not), None)
    made = chosen or plans[-1]
    return Plans(
        budget_gib=0.92 * card.visible_gib, total_gib=card.visible_gib, plans=plans,
        chosen=str(chosen.width) if chosen else "", holds=chosen.sequences if chosen else 0,
        command=made.command, verdict=verdict(chosen, plans, users),
        finding=finding(chosen, shape, users, context_tokens), lines=lines(made, context_tokens, users),
        slips=tuple(slips(plans, chosen)),
    )


def plan(shape: Model, card: Gpu, model: str, weights: str, gpu: str, gpus: int, width: int, context_tokens: int,
         users: int, held_tokens: int, bandwidth_share: float, reduce_us: float) -> Plan:
    """One width on the node."""
    quantization = "" if shape.native_bytes else QUANTIZATION[weights]
    values = {"tensor_parallel_size": width} | ({"quantization": quantization} if quantization else {})
    ledger = ledger_for(Scene(values=values, model=shape, gpu=card, gpus=gpus))
    replicas, users_each = gpus // width, -(-users // (gpus // width))
    step_ms = decode_ms(shape, card, weights, width, users_each, held_tokens, bandwidth_share, reduce_us)
    tokens = ledger.kv_tokens
    each = tokens // context_tokens
    return Plan(
        width=width, replicas=replicas, weights_gib=ledger.loaded_gib,
        overhead_gib=ledger.budget_gib - ledger.loaded_gib - ledger.kv_gib, kv_gib=ledger.kv_gib, replica_tokens=tokens,
        node_tokens=tokens * replicas, sequences_each=each, sequences=each * replicas,
        longest_tokens=min(ledger.longest_tokens, shape.longest_context), users_each=users_each, step_ms=step_ms,
        tokens_per_s=users / step_ms * 1e3,
        why_not=why_not(ledger.kv_gib, ledger.longest_tokens, each, users_each, context_tokens),
        warnings=tuple(warnings(shape, card, width)),
        command=serve(model=model, gpu=gpu, gpus=gpus, tensor_parallel_size=width, max_model_len=context_tokens,
                      quantization=quantization, gpu_memory_utilization=None, kv_cache_dtype="",
                      max_num_batched_tokens=None, max_num_seqs=None).command,
    )


def decode_ms(shape: Model, card: Gpu, weights: str, width: int, users: int, held_tokens: int, bandwidth_share: float,
              reduce_us: float) -> float:
    """Milliseconds of one decode step of a replica with so many users."""
    table = 0 if shape.tied else 2 * shape.vocabulary * shape.hidden
    kv = shape.kv_bytes_per_token * copies_of(shape, width)
    read = shape.weight_bytes(weights) - table + users * held_tokens * kv
    reduces = REDUCES_PER_LAYER * shape.layers * reduce_us / 1e6 if width > 1 else 0
    return (read / (width * card.tb_per_s * 1e12 * bandwidth_share) + reduces) * 1e3


def why_not(kv_gib: float, longest: int, each: int, users_each: int, context_tokens: int) -> str:
    """What rules a width out, "" where nothing does."""
    if kv_gib <= 0:
        return "nothing is left for KV"
    if longest < context_tokens:
        return f"not one request of {context_tokens:,} tokens fits"
    if each < users_each:
        return f"a replica holds {each:,} of its {users_each:,} users"
    return ""


def warnings(shape: Model, card: Gpu, width: int) -> tuple[str, ...]:
    """What a width costs whatever the memory says."""
    said = []
    if shape.latent and width > 1:
        said.append(f"the latent KV is kept {width} times")
    elif width > shape.kv_heads:
        said.append(f"{shape.kv_heads} KV heads, so each is kept {width // shape.kv_heads} times")
    if width > 1 and not card.nvlink_gb_per_s:
        said.append("all-reduces over PCIe")
    return tuple(said)


def verdict(chosen: Plan | None, plans: tuple[Plan, ...], users: int) -> str:
    """Why that width, and what a wider one would buy."""
    if chosen is None:
        return f"No width on this node serves {users:,} users; fewer tokens, smaller weights or a second node would."
    wider = next((each for each in plans if each.width > chosen.width), None)
    base = (f"{chosen.name} is the narrowest that holds them: {chosen.sequences:,} sequences, "
            f"{plural(chosen.replicas, 'failure domain')}.")
    if wider is None:
        return base
    return (f"{base} {wider.name} would hold {wider.sequences:,} and take {wider.step_ms:.1f} ms a step in place of "
            f"{chosen.step_ms:.1f}, in {plural(wider.replicas, 'failure domain')} and with all-reduces twice as wide.")


def plural(count: int, words: str) -> str:
    return f"{count} {words}{'s' * (count != 1)}"


def finding(chosen: Plan | None, shape: Model, users: int, context_tokens: int) -> str:
    """The result in a sentence."""
    plan = f"{chosen.name} serves" if chosen else "no width serves"
    return f"{shape.name}: {plan} {users:,} users of {context_tokens:,} tokens."


def slips(plans: tuple[Plan, ...], chosen: Plan | None) -> Iterator[tuple[float, str]]:
    """What another width holds, and what speaks against it; then what one replica of the chosen one does."""
    for each in plans:
        if each is chosen or not each.sequences:
            continue
        against = each.why_not or "it works, and is wider than it need be"
        yield each.sequences, f"That is what {each.name} would hold: {against}."
    if chosen and chosen.replicas > 1:
        yield chosen.sequences_each, f"That is one replica; the node has {chosen.replicas}."


def lines(made: Plan, context_tokens: int, users: int) -> tuple[Line, ...]:
    """The chosen width, said aloud."""
    free = made.weights_gib + made.kv_gib
    return (
        Line("budget less the rest", f"{free + made.overhead_gib:,.2f} − {made.overhead_gib:,.2f}", free, "GiB"),
        Line("less a share of the weights", f"{free:,.2f} − {made.weights_gib:,.2f}", made.kv_gib, "GiB of KV a GPU"),
        Line("tokens of a replica", f"{made.width} × {max(made.kv_gib, 0):,.2f} GiB", made.replica_tokens),
        Line("sequences of a replica", f"{made.replica_tokens:,} / {context_tokens:,}", made.sequences_each),
        Line("sequences of the node", f"{made.sequences_each:,} × {made.replicas}", made.sequences, total=True),
        Line("a decode step", f"{made.users_each:,} users a replica", made.step_ms, "ms"),
        Line("tokens of the node", f"{users:,} / {made.step_ms:.1f} ms", made.tokens_per_s, "/s"),
    )
