"""Hot experts: how evenly ranks are loaded when experts lie in order, and after EPLB copies and repacks them."""
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from calculators.models.base import Line, Refusal
from calculators.models.quantity import say
from calculators.models.wide_ep import KV_BYTES_PER_TOKEN, SLOT_BYTES, TOY, Load, group_step, tokens_ms

MOST_EXPERTS = 256
LARGEST_LOAD = 1_000_000
MOST_SLOTS = 1_024
SIXTEEN = "400,120,80*2,60*4,40*4,30*4"


@dataclass(frozen=True, slots=True)
class Slot:
    """One expert in one place, with the share of its load that comes there."""

    expert: int
    load: float


@dataclass(frozen=True, slots=True)
class Placement:
    """Who holds what: each rank's slots, heaviest first, and what that comes to.

    `time_share` is the MoE time over that of experts in order, at equal total work.
    """

    name: str
    redundant: int
    ranks: tuple[tuple[Slot, ...], ...]
    time_share: float = 1.0
    present: bool = False

    @property
    def loads(self) -> tuple[float, ...]:
        return tuple(sum(slot.load for slot in slots) for slots in self.ranks)

    @property
    def held(self) -> tuple[tuple[float, tuple[Slot, ...]], ...]:
        """Each rank's load with its slots."""
        return tuple(zip(self.loads, self.ranks, strict=True))

    @property
    def max_load(self) -> float:
        return max(self.loads)

    @property
    def mean_load(self) -> float:
        return sum(self.loads) / len(self.loads)

    @property
    def balance(self) -> float:
        """Mean over largest rank load: 1 is even, 1/R all on one rank."""
        return self.mean_load / self.max_load

    @property
    def times_faster(self) -> float:
        return 1 / self.time_share


@dataclass(frozen=True, slots=True)
class SlotMemory:
    """What redundant experts of a DeepSeek-V3 take of each GPU: slots, bytes, and the KV tokens that no longer fit."""

    ranks: int
    redundant: int
    slots: float
    slot_bytes: float
    kv_tokens: float

    @property
    def slot_gb(self) -> float:
        return self.slot_bytes / 1e9


@dataclass(frozen=True, slots=True)
class HotExperts:
    """The placement asked for beside experts in order, other numbers of copies, and what they cost."""

    in_order: Placement
    placed: Placement
    placements: tuple[Placement, ...]
    memory: tuple[SlotMemory, ...]
    copies: tuple[int, ...]
    copies_needed: int
    bound: float
    in_order_step_ms: float
    step_ms: float
    even_step_ms: float
    keeps_to_nodes: bool
    lines: tuple[Line, ...] = ()
    slips: tuple[tuple[float, str], ...] = ()

    @property
    def balancedness(self) -> float:
        return self.placed.balance

    @property
    def times_faster(self) -> float:
        return self.placed.times_faster

    @property
    def twins(self) -> int:
        """Copies that share a rank with another of the same expert, and so balance nothing."""
        return sum(len(slots) - len({slot.expert for slot in slots}) for slots in self.placed.ranks)

    @property
    def finding(self) -> str:
        """Balancedness before and after, and what it gives."""
        before, after = self.in_order, self.placed
        if after.name == before.name:
            return (f"Experts in order: the busiest rank has {in_tokens(after.max_load)} tokens, the mean is "
                    f"{in_tokens(after.mean_load)}; balancedness {after.balance:.3f}.")
        kept = " Groups of experts stay within a node." if self.keeps_to_nodes else ""
        return (f"Balancedness {before.balance:.3f} → {after.balance:.3f}: the busiest rank has "
                f"{in_tokens(after.max_load)} tokens instead of {in_tokens(before.max_load)}, and the MoE part is "
                f"{after.times_faster:.2f}× as fast.{kept}")


def parse_loads(text: str) -> tuple[int, ...]:
    """Tokens by expert from "400,120,80*2": a number, and after * how many experts have it. Raises Refusal."""
    loads: list[int] = []
    for entry in filter(None, (part.strip() for part in text.split(","))):
        number, star, times = entry.partition("*")
        read = [part.strip() for part in (number, times)] if star else [number.strip(), "1"]
        if not all(part.isascii() and part.isdigit() and len(part) <= 7 for part in read):
            raise Refusal(f"“{entry[:20]}” is no load; one reads 400, or 60*4 for four experts with 60.")
        load, count = (int(part) for part in read)
        if load > LARGEST_LOAD or count > MOST_EXPERTS:
            raise Refusal(f"“{entry[:20]}” is too much: at most {LARGEST_LOAD:,} tokens and {MOST_EXPERTS} experts.")
        loads += [load] * count
    if not 2 <= len(loads) <= MOST_EXPERTS:
        raise Refusal(f"{len(loads)} experts; takes from 2 to {MOST_EXPERTS}.")
    if not sum(loads):
        raise Refusal("No expert has a token; one at least must.")
    return tuple(loads)


def format_loads(loads: Sequence[int]) -> str:
    """The same as a text that parses back, equal neighbours together."""
    runs: list[list[int]] = []
    for load in loads:
        if runs and runs[-1][0] == load:
            runs[-1][1] += 1
        else:
            runs.append([load, 1])
    return ",".join(f"{load}*{times}" if times > 1 else f"{load}" for load, times in runs)


def in_order(loads: Sequence[int], ranks: int) -> Placement:
    """Experts laid out in their order, the first ranks taking one more where they don't divide."""
    each, more = divmod(len(loads), ranks)
    start, held = 0, []
    for rank in range(ranks):
        end = start + each + (rank < more)
        held.append(tuple(Slot(expert, float(loads[expert])) for expert in range(start, end)))
        start = end
    return Placement("in order, no EPLB", 0, tuple(held))


def balanced(loads: Sequence[int], ranks: int, redundant: int) -> Placement:
    """EPLB's global policy: copy the expert with the most load a copy, again and again; then pack, heaviest first.

    Source: vllm/distributed/eplb/policy/default.py, replicate_experts and balanced_packing.
    """
    copies = copies_of(loads, redundant)
    slots = [Slot(expert, load / copies[expert]) for expert, load in enumerate(loads) for _ in range(copies[expert])]
    held = packed([slot.load for slot in slots], ranks)
    return Placement(f"EPLB, {redundant} redundant", redundant,
                     tuple(tuple(slots[place] for place in places) for places in held))


def packed(weights: Sequence[float], packs: int) -> list[list[int]]:
    """The places of the weights in each pack: the heaviest first, each to the lightest pack that has room."""
    room = len(weights) // packs
    held: list[list[int]] = [[] for _ in range(packs)]
    filled = [0.0] * packs
    for place in sorted(range(len(weights)), key=lambda place: -weights[place]):
        least = min((pack for pack in range(packs) if len(held[pack]) < room), key=filled.__getitem__)
        held[least].append(place)
        filled[least] += weights[place]
    return held


def by_node(loads: Sequence[int], ranks: int, redundant: int, nodes: int, groups: int) -> Placement:
    """EPLB's hierarchical policy: groups of experts are packed to nodes, then each node copies and packs its own.

    Source: vllm/distributed/eplb/policy/default.py, rebalance_experts_hierarchical.
    """
    size = len(loads) // groups
    of_group = [range(group * size, group * size + size) for group in range(groups)]
    ranks_held: list[tuple[Slot, ...]] = []
    for node in packed([sum(loads[expert] for expert in experts) for experts in of_group], nodes):
        experts = [expert for group in node for expert in of_group[group]]
        local = balanced([loads[expert] for expert in experts], ranks // nodes, redundant // nodes)
        ranks_held += [tuple(replace(slot, expert=experts[slot.expert]) for slot in slots) for slots in local.ranks]
    return Placement(f"EPLB, {redundant} redundant", redundant, tuple(ranks_held))


def copies_of(loads: Sequence[int], redundant: int) -> tuple[int, ...]:
    """How many places each expert gets."""
    copies = [1] * len(loads)
    for _ in range(redundant):
        hottest = max(range(len(loads)), key=lambda expert: loads[expert] / copies[expert])
        copies[hottest] += 1
    return tuple(copies)


def solve(*, expert_loads: tuple[int, ...] = parse_loads(SIXTEEN), ranks: int = 8, enable_eplb: bool = True,
          num_redundant_experts: int = 8, decodes: int = 128, nodes: int = 1, expert_groups: int = 1) -> HotExperts:
    """Place the experts and compare.

    balancedness = mean rank load / largest; in lockstep the busiest rank sets the MoE time. Groups of experts stay
    within a node where the nodes divide both groups and ranks; else EPLB places globally. Raises Refusal for redundant
    experts without EPLB, and where the slots don't divide among the ranks, as vLLM does.
    """
    experts = len(expert_loads)
    if ranks > experts:
        raise Refusal(f"{experts} experts can't be spread over {ranks} ranks.", "ranks")
    if num_redundant_experts and not enable_eplb:
        raise Refusal("Redundant experts need EPLB; without it vLLM refuses them.", "num_redundant_experts")
    if enable_eplb and (experts + num_redundant_experts) % ranks:
        raise Refusal(f"{experts} + {num_redundant_experts} slots don't divide among {ranks} ranks: vLLM fails when it "
                      "builds the model.", "num_redundant_experts")
    if experts % expert_groups:
        raise Refusal(f"{experts} experts don't divide into {expert_groups} groups.", "expert_groups")
    keeps_to_nodes = nodes > 1 and expert_groups % nodes == ranks % nodes == 0
    first = in_order(expert_loads, ranks)
    present = num_redundant_experts if enable_eplb else None
    tried = {redundant for redundant in (0, ranks, 2 * ranks) if (experts + redundant) % ranks == 0}
    tried |= {present} if present is not None else set()
    rows = [replace(first, present=present is None)]
    for redundant in sorted(tried):
        each = by_node(expert_loads, ranks, redundant, nodes, expert_groups) if keeps_to_nodes else balanced(
            expert_loads, ranks, redundant)
        rows.append(replace(each, time_share=first.balance / each.balance, present=redundant == present))
    placed = next(row for row in rows if row.present)
    result = HotExperts(
        first, placed, tuple(rows),
        tuple(memory_of(*pair) for pair in dict.fromkeys(((ranks, num_redundant_experts), (8, 32), (32, 32)))),
        copies_of(expert_loads, num_redundant_experts), ceil(max(expert_loads) / first.mean_load - 1e-9),
        min(first.mean_load / max(expert_loads), 1.0), step_of(first, decodes), step_of(placed, decodes),
        group_step([Load(decodes)]).step_ms, keeps_to_nodes and enable_eplb,
    )
    return replace(result, lines=tuple(lines_of(result, decodes)), slips=tuple(slips_of(result)))


def step_of(placement: Placement, decodes: int) -> float:
    """The toy's whole step in ms, half of its decode compute being MoE."""
    return group_step([Load(decodes, experts=load / placement.mean_load) for load in placement.loads]).step_ms


def memory_of(ranks: int, redundant: int) -> SlotMemory:
    slots = redundant / ranks
    return SlotMemory(ranks, redundant, slots, slots * SLOT_BYTES, slots * SLOT_BYTES / KV_BYTES_PER_TOKEN)


def lines_of(result: HotExperts, decodes: int) -> Iterator[Line]:
    """Balancedness, what it gives, the step, and the price."""
    before, after, memory = result.in_order, result.placed, result.memory[0]
    tokens = sum(slot.load for slots in before.ranks for slot in slots)
    yield Line("mean rank load", f"{tokens:,.0f} / {len(before.ranks)}", before.mean_load, "tokens")
    yield Line("busiest, in order", held_words(before), before.max_load, "tokens")
    yield Line("balancedness, in order", f"{in_tokens(before.mean_load)} / {in_tokens(before.max_load)}",
               before.balance)
    if after.name != before.name:
        yield Line("busiest, with EPLB", held_words(after), after.max_load, "tokens")
        yield Line("balancedness", f"{in_tokens(after.mean_load)} / {in_tokens(after.max_load)}", after.balance)
        yield Line("MoE time", f"{before.balance:.4f} / {after.balance:.4f}", after.time_share, "of before")
    heaviest = Load(decodes, experts=after.max_load / after.mean_load)
    floor = f"max({TOY.floor:g}, {tokens_ms(heaviest, TOY):.1f})"
    wire = f"{TOY.wire:g} + {TOY.wire_decode:g} × {decodes:,}"
    yield Line("step", f"{floor} + {TOY.fixed:g} + {wire}", result.step_ms, "ms")
    if memory.redundant:
        yield Line("slots cost a GPU", f"{memory.redundant} / {memory.ranks} × {SLOT_BYTES / 1e9:.3f}",
                   memory.slot_bytes / 1e9, "GB")


def held_words(placement: Placement) -> str:
    """The busiest rank's slots as a sum, a long one cut."""
    slots = placement.ranks[placement.loads.index(placement.max_load)]
    named = [in_tokens(slot.load) for slot in slots]
    return " + ".join(named if len(named) <= 4 else [*named[:3], "…"])


def slips_of(result: HotExperts) -> Iterator[tuple[float, str]]:
    """The wrong balancedness values that people reach, and what each is."""
    if result.placed.name != result.in_order.name:
        yield result.in_order.balance, "That is the experts in order, before EPLB."
        permuted = next((row for row in result.placements if "EPLB, 0" in row.name), None)
        if permuted and not permuted.present:
            yield permuted.balance, "That is EPLB without redundant experts: it can only permute."
    yield 1 / result.placed.balance, "That is largest over mean. Balancedness is mean over largest, at most 1."
    yield result.bound, "That is the bound without copies: the mean over the hottest expert alone."


def in_tokens(value: float) -> str:
    """A load to four figures, thousands apart: "1,600", "156.7"."""
    return say(value, "", 4)
