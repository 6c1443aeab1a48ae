"""LoRA adapters in one batch: who is admitted under max_loras, what distinct adapters cost a step, what slots hold."""
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from heapq import heappop, heappush
from math import ceil

from calculators.models.base import Line, Refusal
from calculators.models.catalogue import GPUS, MODELS, Model

TOGETHER, BUSY, SPREAD = "together", "busy", "spread"
ARRIVALS = {TOGETHER: "all at once", BUSY: "one keeps coming", SPREAD: "each at a pace"}
RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)  # that max_lora_rank may be
SLIP_APART = 0.05


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time of one tenant, in s, through which so many of its requests run and so many wait."""

    starts_s: float
    ends_s: float
    running: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Tenant:
    """What one tenant saw. `passed_over` counts admissions from behind its foremost waiting request.

    `starved` says whether some of those had not even arrived when that request did.
    """

    name: str
    requests: int
    first_wait_s: float
    mean_wait_s: float
    longest_wait_s: float
    done_s: float
    passed_over: int
    starved: bool
    stretches: tuple[Stretch, ...]


@dataclass(frozen=True, slots=True)
class Served:
    """One run of all requests: its end and rate, steps, adapters read from disk and the stalls that they made."""

    max_loras: int
    makespan_s: float
    tokens_per_s: float
    decode_steps: int
    mean_batch: float
    first_step_ms: float
    first_batch: int
    first_adapters: int
    most_adapters: int
    disk_loads: int
    stalled_s: float
    tenants: tuple[Tenant, ...]


@dataclass(frozen=True, slots=True)
class Slots:
    """What the slots of one max_lora_rank hold on the GPU, and the KV tokens that this memory would be."""

    slot_rank: int
    adapter_bytes: int
    all_bytes: int
    kv_tokens: int


@dataclass(frozen=True, slots=True)
class Lora:
    """The run as set and with a slot for each tenant, what an adapter is and what each further one adds to a step.

    `adapter_bytes` is an adapter at its own rank, `slot_bytes` at max_lora_rank, as it is kept and read.
    """

    served: Served
    in_one_batch: Served
    makespan_s: float
    tokens_per_s: float
    gain: float
    adapter_parameters: int
    adapter_bytes: int
    slot_bytes: int
    all_slots_bytes: int
    slot_kv_tokens: int
    weight_bytes: float
    flop_percent: float
    one_adapter_ms: float
    one_adapter_percent: float
    all_adapters_ms: float
    all_adapters_percent: float
    by_rank: tuple[Slots, ...]
    starved: int
    finding: str
    verdict: str
    slots_verdict: str
    lines: tuple[Line, ...]
    slips: tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True)
class Costs:
    """Bytes that a step reads, the rate it reads them at, and what else takes time in it."""

    weight_bytes: float
    sequence_bytes: float
    slot_bytes: float
    bytes_per_s: float
    launch_s: float
    disk_load_s: float

    def step_s(self, batch: int, distinct: int) -> float:
        read = self.weight_bytes + batch * self.sequence_bytes + distinct * self.slot_bytes
        return read / self.bytes_per_s + distinct * self.launch_s

    def said(self, batch: int, distinct: int) -> str:
        """A step's time as a sum: weights, each sequence's KV and each adapter, over the bandwidth; then launches."""
        weights, sequence, slot = (size / 1e9 for size in (self.weight_bytes, self.sequence_bytes, self.slot_bytes))
        launches = f" + {distinct:,} × {self.launch_s * 1e6:,.4g} µs" if self.launch_s else ""
        return (f"({weights:,.4g} + {batch:,} × {sequence:,.3g} + {distinct:,} × {slot:,.3g}) GB / "
                f"{self.bytes_per_s / 1e12:.4g} TB/s{launches}")


@dataclass(slots=True)
class Queue:
    """One tenant while requests are served: places in the queue of those waiting, and how many run."""

    waiting: deque[int]
    running: int = 0


def admit(queues: Mapping[int, Queue], max_loras: int, seats: int) -> Iterator[tuple[int, int]]:
    """Admit while there are seats: (tenant, place in the queue), first come first served among those who may.

    Once max_loras adapters run, a request with another one is skipped, and those behind it are looked at.
    Source: vllm 0.33.0, v1/core/sched/scheduler.py, schedule (scheduled_loras, skip_request).
    """
    for _ in range(seats):
        full = sum(queue.running > 0 for queue in queues.values()) >= max_loras
        heads = [(queue.waiting[0], tenant) for tenant, queue in queues.items()
                 if queue.waiting and (queue.running or not full)]
        if not heads:
            return
        place, tenant = min(heads)
        queues[tenant].waiting.popleft()
        queues[tenant].running += 1
        yield tenant, place


def solve(*, tenants: int = 8, requests_per_tenant: int = 8, output_tokens: int = 300, context_tokens: int = 1_000,
          arrivals: str = TOGETHER, gap_s: float = 0.2, busy_requests: int = 40, rank: int = 16,
          max_lora_rank: int = 16, max_loras: int = 1, max_cpu_loras: int | None = None, max_num_seqs: int = 1_024,
          disk_load_ms: float = 0.0, launch_us: float = 0.0, model: str = "llama-3.1-8b", gpu: str = "h100",
          bandwidth_share: float = 0.8, tb_per_s: float | None = None, weight_gb: float | None = None,
          kv_bytes_per_token: int | None = None, in_plus_out: int | None = None) -> Lora:
    """Serve tenants with an adapter each, as set and with a slot for each, by one rule for a decode step's time.

    step = (weights + batch × context × KV + distinct adapters × slot) / (bandwidth × share) + distinct × launch; an
    adapter that main memory does not hold is read inside the step, which waits for it. Contexts do not grow.
    The admission is exact, the time a bound of reading; prefills are left out.
    Raises Refusal for settings that the engine rejects.
    Source: vllm 0.33.0, config/lora.py, LoRAConfig; lora/worker_manager.py, LRUCacheWorkerLoRAManager.add_adapter.
    """
    cached = max_loras if max_cpu_loras is None else max_cpu_loras
    if cached < max_loras:
        raise Refusal(f"The engine does not start: max_cpu_loras ({cached:,}) must be at least max_loras "
                      f"({max_loras:,}).", "max_cpu_loras")
    if rank > max_lora_rank:
        raise Refusal(f"The adapter is refused when it is loaded: its rank {rank} is greater than max_lora_rank "
                      f"{max_lora_rank}.", "max_lora_rank")
    chosen, card = MODELS[model], GPUS[gpu]
    width = in_plus_out or adapted_width(chosen)
    weights = weight_gb * 1e9 if weight_gb else 2 * (chosen.parameters - looked_up(chosen))
    kv = kv_bytes_per_token or chosen.kv_bytes_per_token
    slot, bytes_per_s = 2 * max_lora_rank * width, (tb_per_s or card.tb_per_s) * 1e12 * bandwidth_share
    costs = Costs(weights, context_tokens * kv, slot, bytes_per_s, launch_us / 1e6, disk_load_ms / 1e3)
    asked = requests_of(tenants, requests_per_tenant, arrivals, gap_s, busy_requests)
    served = serve(asked, tenants, output_tokens, max_loras, cached, max_num_seqs, costs)
    together = serve(asked, tenants, output_tokens, tenants, max(cached, tenants), max_num_seqs, costs)
    gain = served.makespan_s / together.makespan_s
    distinct = min(tenants, max_loras)
    return Lora(
        served=served, in_one_batch=together, makespan_s=served.makespan_s, tokens_per_s=served.tokens_per_s, gain=gain,
        adapter_parameters=rank * width, adapter_bytes=2 * rank * width, slot_bytes=slot,
        all_slots_bytes=max_loras * slot, slot_kv_tokens=round(max_loras * slot / kv), weight_bytes=weights,
        flop_percent=100 * 2 * rank * width / weights, one_adapter_ms=slot / bytes_per_s * 1e3,
        one_adapter_percent=100 * slot / weights, all_adapters_ms=tenants * slot / bytes_per_s * 1e3,
        all_adapters_percent=100 * tenants * slot / weights,
        by_rank=tuple(Slots(each, 2 * each * width, max_loras * 2 * each * width,
                            round(max_loras * 2 * each * width / kv)) for each in RANKS[1:6]),
        starved=sum(tenant.starved for tenant in served.tenants),
        finding=f"{tenants:,} adapter{'s' * (tenants != 1)}, max_loras {max_loras:,}: all done after "
                f"{served.makespan_s:,.4g} s at {served.tokens_per_s:,.0f} tokens/s; with a slot for each "
                f"{together.makespan_s:,.4g} s.",
        verdict=verdict(served, gain, tenants, max_loras),
        slots_verdict=slots_verdict(max_loras, slot, kv, rank, max_lora_rank, tenants, distinct),
        lines=lines_of(served, together, costs, width, rank, max_lora_rank, max_loras, kv, len(asked) * output_tokens),
        slips=slips_of(served, together, costs, len(asked), output_tokens),
    )


def adapted_width(model: Model) -> int:
    """In plus out of every linear layer of a dense model, summed over its layers: an adapter has rank times as many."""
    heads, kv = model.query_heads * model.head_dim, model.kv_heads * model.head_dim
    attention = 2 * (model.hidden + heads) + 2 * (model.hidden + kv)
    return model.layers * (attention + 3 * (model.hidden + model.ffn))


def looked_up(model: Model) -> int:
    """Parameters that a decode step does not read through: the embedding, where the head is not the same matrix."""
    return 0 if model.tied else model.vocabulary * model.hidden


def requests_of(tenants: int, each: int, arrivals: str, gap_s: float, busy: int) -> list[tuple[float, int]]:
    """(time, tenant) of every request in the order of the queue."""
    if arrivals == SPREAD:
        asked = [(gap_s * (number + tenant / tenants), tenant) for number in range(each) for tenant in range(tenants)]
    elif arrivals == BUSY:
        stream = [(gap_s * number, 0) for number in range(busy)]
        asked = [*stream, *((0.0, tenant) for _ in range(each) for tenant in range(1, tenants))]
    else:
        asked = [(0.0, tenant) for _ in range(each) for tenant in range(tenants)]
    return sorted(asked, key=lambda request: request[0])


def serve(asked: list[tuple[float, int]], tenants: int, tokens: int, max_loras: int, cached: int, seats: int,
          costs: Costs) -> Served:
    """Step until all are served. Between two arrivals or ends nothing changes, so those steps are taken at once."""
    queues: dict[int, Queue] = {tenant: Queue(deque()) for tenant in range(tenants)}
    in_memory: OrderedDict[int, None] = OrderedDict()
    ends: list[tuple[int, int]] = []  # (the step after a request's last, its tenant)
    marks: dict[int, list[tuple[float, int, int]]] = {tenant: [] for tenant in range(tenants)}
    waits: dict[int, list[float]] = {tenant: [] for tenant in range(tenants)}
    done, passed, starved = [0.0] * tenants, [0] * tenants, [False] * tenants
    now_s, step, arrived, loads, rows, most = 0.0, 0, 0, 0, 0, 0
    first_batch = first_adapters = 0
    while arrived < len(asked) or ends or any(queue.waiting for queue in queues.values()):
        if not ends and arrived < len(asked) and not any(queue.waiting for queue in queues.values()):
            now_s = max(now_s, asked[arrived][0])
        while arrived < len(asked) and asked[arrived][0] <= now_s:
            queues[asked[arrived][1]].waiting.append(arrived)
            arrived += 1
        for tenant, place in admit(queues, max_loras, seats - len(ends)):
            heappush(ends, (step + tokens, tenant))
            waits[tenant].append(now_s - asked[place][0])
            for other, queue in queues.items():
                if queue.waiting and queue.waiting[0] < place:
                    passed[other] += 1
                    starved[other] |= asked[queue.waiting[0]][0] < asked[place][0]
        active = [tenant for tenant, queue in queues.items() if queue.running]
        missed = read_missing(in_memory, active, cached)
        loads += missed
        for tenant, queue in queues.items():
            mark(marks[tenant], now_s, queue)
        step_s = costs.step_s(len(ends), len(active))
        if not first_batch:
            first_batch, first_adapters = len(ends), len(active)
        now_s += missed * costs.disk_load_s
        most = max(most, len(active))
        count = ends[0][0] - step
        if arrived < len(asked):
            count = max(min(count, ceil((asked[arrived][0] - now_s) / step_s)), 1)
        rows += count * len(ends)
        step, now_s = step + count, now_s + count * step_s
        while ends and ends[0][0] == step:
            tenant = heappop(ends)[1]
            queues[tenant].running -= 1
            done[tenant] = now_s
    return Served(
        max_loras=max_loras, makespan_s=now_s, tokens_per_s=rows / now_s, decode_steps=step, mean_batch=rows / step,
        first_step_ms=costs.step_s(first_batch, first_adapters) * 1e3, first_batch=first_batch,
        first_adapters=first_adapters, most_adapters=most, disk_loads=loads, stalled_s=loads * costs.disk_load_s,
        tenants=tuple(
            Tenant(name_of(tenant), len(waits[tenant]), waits[tenant][0], sum(waits[tenant]) / len(waits[tenant]),
                   max(waits[tenant]), done[tenant], passed[tenant], starved[tenant],
                   stretches(marks[tenant], now_s))
            for tenant in range(tenants)
        ),
    )


def read_missing(in_memory: MutableMapping[int, None], active: list[int], cached: int) -> int:
    """Adapters of a step that main memory does not hold and that are read into it, the least recently used going."""
    missed = 0
    for tenant in active:
        missed += tenant not in in_memory
        in_memory.pop(tenant, None)
        in_memory[tenant] = None
        if len(in_memory) > cached:
            in_memory.pop(next(iter(in_memory)))
    return missed


def mark(marks: list[tuple[float, int, int]], now_s: float, queue: Queue) -> None:
    """Note a tenant's counts where they differ from the last noted."""
    counts = (queue.running, len(queue.waiting))
    if not marks or marks[-1][1:] != counts:
        marks.append((now_s, *counts))


def stretches(marks: list[tuple[float, int, int]], end_s: float) -> tuple[Stretch, ...]:
    """The times between marks in which there is anything of the tenant."""
    ends = [starts for starts, _, _ in marks[1:]] + [end_s]
    return tuple(Stretch(starts, ends_s, running, waiting)
                 for (starts, running, waiting), ends_s in zip(marks, ends, strict=True) if running or waiting)


def name_of(tenant: int) -> str:
    """A tenant by its letter: A to Z, then A2, B2, …"""
    letter, round_ = chr(ord("A") + tenant % 26), tenant // 26
    return f"{letter}{round_ + 1}" if round_ else letter


def verdict(served: Served, gain: float, tenants: int, max_loras: int) -> str:
    """What the cap does to the batch, who starves, and what stalls."""
    if tenants <= max_loras:
        said = [f"Every adapter has a slot: up to {served.most_adapters:,} run in one batch."]
    else:
        said = [f"At most {max_loras:,} adapter{'s' * (max_loras != 1)} of {tenants:,} "
                f"run{'s' * (max_loras == 1)} at a time, in batches of {served.mean_batch:.3g}: "
                f"{gain:.3g}× the time of one batch for all."]
        passed = sum(tenant.passed_over for tenant in served.tenants)
        if passed:
            said.append("A skipped request is not put first later: those behind it with an adapter that runs go past.")
    names = [tenant.name for tenant in served.tenants if tenant.starved]
    if names:
        longest = max(tenant.longest_wait_s for tenant in served.tenants if tenant.starved)
        who = ", ".join(names[:8]) + (" and more" if len(names) > 8 else "")
        said.append(f"{who} starve{'s' * (len(names) == 1)}, up to {longest:,.3g} s: requests that came later go first "
                    "for as long as the slot is never free. Nothing is preempted for fairness.")
    if served.stalled_s:
        said.append(f"Adapters were read from disk {served.disk_loads:,}×, each inside a step; everyone waited "
                    f"{served.stalled_s:,.3g} s.")
    return " ".join(said)


def slots_verdict(max_loras: int, slot: int, kv: int, rank: int, max_lora_rank: int, tenants: int,
                  distinct: int) -> str:
    """What is set aside at start, whether it is used, and how deep the kernels' grid is."""
    tokens = round(max_loras * slot / kv)
    many = max_loras != 1
    said = [f"{max_loras:,} slot{'s' * many} of rank {max_lora_rank} hold{'s' * (not many)} "
            f"{max_loras * slot / 1e9:,.3g} GB from the start, {tokens:,} tokens of KV."]
    if rank < max_lora_rank:
        said.append(f"An adapter of rank {rank} is padded to {max_lora_rank}, and read so.")
    if max_loras > tenants:
        said.append(f"{max_loras - tenants:,} of them stay empty.")
    said.append(f"The kernels’ grid is {max_loras + 1:,} deep, also where {distinct:,} "
                f"{'are' if distinct != 1 else 'is'} active, unless --specialize-active-lora.")
    return " ".join(said)


def lines_of(served: Served, together: Served, costs: Costs, width: int, rank: int, max_lora_rank: int, max_loras: int,
             kv: int, tokens: int) -> tuple[Line, ...]:
    """The adapter, its slots, a step's reads and both runs with their numbers filled in."""
    slot, read = costs.slot_bytes, costs.weight_bytes
    return (
        Line("parameters of an adapter", f"{rank} × {width:,}", rank * width / 1e6, "M"),
        Line("a slot, bf16", f"2 B × {max_lora_rank} × {width:,}", slot / 1e6, "MB"),
        Line("all slots", f"{max_loras:,} × {slot / 1e6:,.4g} MB", max_loras * slot / 1e9, "GB"),
        Line("that is, of KV", f"{max_loras * slot / 1e6:,.4g} MB / {kv:,} B", max_loras * slot / kv, "tokens"),
        Line("each adapter adds", f"{slot / 1e6:,.4g} MB / {read / 1e9:,.4g} GB", 100 * slot / read, "%"),
        Line("and to a step", f"{slot / 1e6:,.4g} MB / {costs.bytes_per_s / 1e12:.4g} TB/s",
             slot / costs.bytes_per_s * 1e3, "ms"),
        Line("first step, as set", costs.said(served.first_batch, served.first_adapters), served.first_step_ms, "ms"),
        Line("as set", f"{served.decode_steps:,} steps, {served.mean_batch:.4g} sequences in each on average",
             served.makespan_s, "s", total=True),
        Line("tokens", f"{tokens:,} / {served.makespan_s:,.4g} s", served.tokens_per_s, "tokens/s"),
        Line("first step, a slot for each", costs.said(together.first_batch, together.first_adapters),
             together.first_step_ms, "ms"),
        Line("with a slot for each", f"{together.decode_steps:,} steps, {together.mean_batch:.4g} in each",
             together.makespan_s, "s"),
        Line("ratio", f"{served.makespan_s:,.4g} / {together.makespan_s:,.4g}",
             served.makespan_s / together.makespan_s, "×"),
    )


def slips_of(served: Served, together: Served, costs: Costs, requests: int, tokens: int
             ) -> tuple[tuple[float, str], ...]:
    """Wrong times that people reach, and what each gets wrong; none that lies near the right one."""
    weights_s = costs.weight_bytes / costs.bytes_per_s
    slips = (
        (together.makespan_s, "That is with a slot for each adapter; max_loras lets fewer into the batch."),
        (requests * tokens * costs.step_s(1, 1),
         "That serves one request at a time; those of one adapter run together."),
        (served.decode_steps * weights_s, "That reads the weights alone; KV of each sequence is read in every step."),
        (tokens * weights_s, "That is one batch for all with the weights alone."),
    )
    return tuple((value, sentence) for value, sentence in slips if abs(value / served.makespan_s - 1) > SLIP_APART)
