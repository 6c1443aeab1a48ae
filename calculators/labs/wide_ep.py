"""The wide-ep lab: expert-parallel ranks that wait for each other, and what evens them out."""
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from calculators.labs import wide_ep_experts_picture, wide_ep_pictures, wide_ep_prefills_picture
from calculators.labs.base import Ask, Expected, Group, Lab, Preset, Switch, View
from calculators.labs.read_field import ReadField
from calculators.labs.row_field import GpuField
from calculators.models import aligned_prefills, ep_width, hot_experts, lockstep, sick_rank, two_batches
from calculators.models.catalogue import GPUS
from calculators.models.sick_rank import HUNG, SLOW
from calculators.models.wide_ep import DECODE_THRESHOLD

TOY = Group("Toy constants, ms", ("floor_ms", "decode_ms", "prefill_ms", "fixed_ms", "wire_ms", "wire_decode_ms",
                                  "wire_prefill_ms"), folded=True)
TOY_UNITS = {"floor_ms": "ms", "fixed_ms": "ms", "wire_ms": "ms", "handover_ms": "ms"}


def decodes_field(most: int = 1_024) -> forms.IntegerField:
    """Decode tokens on each rank."""
    return forms.IntegerField(label="decodes a rank", min_value=1, max_value=most, initial=128)


def rate_field(label: str, initial: float, most: float, help_text: str = "") -> forms.FloatField:
    """One of the toy's constants, in ms."""
    return forms.FloatField(label=label, min_value=0, max_value=most, initial=initial, help_text=help_text)


class LockstepForm(forms.Form):
    """The group, the chunk that one rank gets, and the toy's constants."""

    ranks = forms.IntegerField(min_value=2, max_value=256, initial=8)
    decodes = decodes_field()
    chunk_tokens = forms.IntegerField(label="prefill chunk", min_value=0, max_value=131_072, initial=4_096)
    chunk_rank = forms.IntegerField(label="on rank", min_value=0, max_value=255, initial=3)
    max_num_batched_tokens = forms.IntegerField(label="token budget", min_value=1, max_value=262_144, initial=8_192)
    every_steps = forms.IntegerField(label="once every", min_value=1, max_value=10_000, initial=8)
    floor_ms = forms.FloatField(label="weights", min_value=0.1, max_value=1_000, initial=18)
    decode_ms = rate_field("a decode", 0.42, 100)
    prefill_ms = rate_field("a prefill token", 0.1, 100)
    fixed_ms = rate_field("fixed", 4.6, 1_000)
    wire_ms = rate_field("all-to-all", 8, 1_000)
    wire_decode_ms = rate_field("a decode’s wire", 0.133, 100)
    wire_prefill_ms = rate_field("a prefill token’s", 0.01, 100)

    units = TOY_UNITS | {"chunk_tokens": "tok", "max_num_batched_tokens": "tok", "every_steps": "steps"}


class ExpertsForm(forms.Form):
    """How loaded each expert is, the ranks, and how EPLB is set."""

    ranks = forms.IntegerField(min_value=1, max_value=128, initial=8)
    enable_eplb = Switch(label="EPLB", initial=True)
    num_redundant_experts = forms.IntegerField(
        label="redundant experts", min_value=0, max_value=512, initial=8, help_text="vLLM’s default is 0",
    )
    decodes = decodes_field()
    nodes = forms.IntegerField(min_value=1, max_value=64, initial=1)
    expert_groups = forms.IntegerField(
        label="groups of experts", min_value=1, max_value=256, initial=1,
        help_text="where nodes divide them, a group’s copies stay within a node",
    )
    expert_loads = ReadField(
        read=hot_experts.parse_loads, write=hot_experts.format_loads, max_length=2_000, initial=hot_experts.SIXTEEN,
        help_text="tokens by expert in a window; 60*4 is four experts with 60",
    )


class OverlapForm(forms.Form):
    """The batch, the threshold, and how the wire and the weights weigh."""

    decodes = decodes_field()
    dbo_decode_token_threshold = forms.IntegerField(
        label="decode threshold", min_value=2, max_value=1_024, initial=DECODE_THRESHOLD,
    )
    wire_ms = rate_field("all-to-all", 8, 1_000, "fixed part: the fabric")
    wire_decode_ms = rate_field("a decode’s wire", 0.133, 100)
    floor_ms = forms.FloatField(label="weights", min_value=0.1, max_value=1_000, initial=18)
    decode_ms = rate_field("a decode", 0.42, 100)
    fixed_ms = rate_field("fixed", 4.6, 1_000)
    handover_ms = rate_field("handing over", 1, 1_000)

    units = TOY_UNITS


class PrefillsForm(forms.Form):
    """The prompts that come, and the interval at which they may start."""

    prefill_schedule_interval = forms.IntegerField(label="prefill interval", min_value=1, max_value=64, initial=8)
    ranks = forms.IntegerField(min_value=1, max_value=16, initial=8)
    decodes = forms.IntegerField(label="decodes a rank", min_value=0, max_value=1_024, initial=128)
    prompt_tokens = forms.IntegerField(label="each prompt", min_value=1, max_value=131_072, initial=1_024)
    arrivals = forms.ChoiceField(
        choices=[(aligned_prefills.STAGGERED, "staggered"), (aligned_prefills.TOGETHER, "all at once"),
                 (aligned_prefills.POISSON, "Poisson")], initial=aligned_prefills.STAGGERED,
    )
    every_steps = forms.IntegerField(label="one a rank every", min_value=1, max_value=1_000, initial=8)
    max_num_batched_tokens = forms.IntegerField(label="token budget", min_value=1, max_value=131_072, initial=8_192)
    saturation_guard = Switch(label="saturation guard", initial=True)
    step_count = forms.IntegerField(label="followed for", min_value=2, max_value=480, initial=240)
    seed = forms.IntegerField(min_value=1, max_value=9_999, initial=1, help_text="of the Poisson arrivals")

    units = {"prompt_tokens": "tok", "every_steps": "steps", "max_num_batched_tokens": "tok", "step_count": "steps",
             "prefill_schedule_interval": "steps"}


class SickForm(forms.Form):
    """The group, what is wrong with one rank, and how often GPUs fail."""

    ranks = forms.IntegerField(min_value=2, max_value=1_024, initial=32)
    decodes = decodes_field()
    sick_rank = forms.IntegerField(label="sick rank", min_value=0, max_value=1_023, initial=5)
    sickness = forms.ChoiceField(
        label="it is", choices=[(SLOW, "slow"), (HUNG, "hung")], initial=SLOW,
    )
    slow_factor = forms.FloatField(label="takes", min_value=1, max_value=5, initial=1.2)
    gpu_mtbf_h = forms.FloatField(
        label="a GPU fails every", min_value=100, max_value=10_000_000, initial=50_000,
        help_text="take your fleet’s own",
    )
    recovery_min = forms.FloatField(label="back after", min_value=0, max_value=10_000, initial=15)

    units = {"slow_factor": "×", "gpu_mtbf_h": "h", "recovery_min": "min"}


class WidthForm(forms.Form):
    """How many ways the experts are split, and the machine."""

    ep_ranks = forms.IntegerField(label="DP and EP", min_value=4, max_value=256, initial=32)
    gpu = GpuField(label="GPU", initial="h200")
    gpu_memory_utilization = forms.FloatField(label="memory utilization", min_value=0.05, max_value=1, initial=0.92)
    other_memory_gb = forms.FloatField(
        label="other memory", min_value=0, max_value=100, initial=8.8, help_text="activations, graphs, libraries",
    )
    expert_weights_gb = forms.FloatField(
        label="all experts", min_value=1, max_value=100_000, required=False, help_text="empty: DeepSeek-V3’s 653.9",
    )
    other_weights_gb = forms.FloatField(
        label="all other weights", min_value=0, max_value=10_000, required=False, help_text="empty: its 19.1",
    )
    kv_bytes_per_token = forms.IntegerField(
        label="KV a token", min_value=64, max_value=10_000_000, required=False, help_text="empty: its 70,272",
    )

    units = {"ep_ranks": "ranks", "other_memory_gb": "GB", "expert_weights_gb": "GB", "other_weights_gb": "GB",
             "kv_bytes_per_token": "B"}


def lockstep_summary(inputs: Mapping[str, Any]) -> str:
    return f"{inputs['ranks']} ranks, {inputs['decodes']:,} decodes each, {inputs['chunk_tokens']:,} on rank " \
           f"{inputs['chunk_rank']}"


def experts_summary(inputs: Mapping[str, Any]) -> str:
    eplb = f"EPLB, {inputs['num_redundant_experts']} redundant" if inputs["enable_eplb"] else "no EPLB"
    return f"{len(inputs['expert_loads'])} experts on {inputs['ranks']} ranks, {eplb}"


def overlap_summary(inputs: Mapping[str, Any]) -> str:
    return f"{inputs['decodes']:,} decodes a rank, threshold {inputs['dbo_decode_token_threshold']:,}"


def prefills_summary(inputs: Mapping[str, Any]) -> str:
    return f"interval {inputs['prefill_schedule_interval']}, {inputs['prompt_tokens']:,} tokens every " \
           f"{inputs['every_steps']:,} steps"


def sick_summary(inputs: Mapping[str, Any]) -> str:
    state = "hung" if inputs["sickness"] == HUNG else f"{inputs['slow_factor']:g}× as slow"
    return f"{inputs['ranks']:,} ranks, rank {inputs['sick_rank']} {state}"


def width_summary(inputs: Mapping[str, Any]) -> str:
    return f"EP{inputs['ep_ranks']} on {GPUS[inputs['gpu']].name}"


def tell(result: Any) -> Iterator[str]:
    """The finding, then the derivation, for a shell."""
    yield result.finding
    yield from map(str, result.lines)


def tell_prefills(run: aligned_prefills.Run) -> Iterator[str]:
    """The finding, and a line an interval."""
    yield from tell(run)
    for each in run.intervals:
        ttft = "no prompt finished" if each.ttft_ms is None else f"TTFT {each.ttft_ms:,.0f} ms"
        yield (f"N = {each.interval:>2}: mean {each.mean_ms:.1f} ms, median {each.median_ms:.1f}, largest "
               f"{each.max_ms:.1f}, {each.tokens_per_s:,.0f} tokens/s, {ttft}")


def expected(run: aligned_prefills.Run, inputs: Mapping[str, Any], step: int) -> tuple[Expected, ...]:
    """The prefill tokens that each rank takes in a step."""
    return tuple(Expected(f"r{rank}", tokens, aligned_prefills.why(run, step, rank))
                 for rank, tokens in enumerate(run.steps[step].prefill))


LOCKSTEP = (
    Preset("one long chunk", {}, "4,096 prefill tokens on rank 3: one user’s first token, a thousand users’ gap."),
    Preset("no chunk", {"chunk_tokens": 0}, "What all eight do when nobody prefills."),
    Preset("a short prompt", {"chunk_tokens": 256}, "It fits the captured graphs, so the others are padded to it."),
    Preset("a whole budget", {"chunk_tokens": 8_192, "max_num_batched_tokens": 8_320},
           "The decodes come first: such a chunk needs a budget of 8,320."),
    Preset("EP32", {"ranks": 32}, "The same chunk with 31 ranks to wait for it."),
    Preset("a budget of 2,048", {"chunk_tokens": 1_920, "max_num_batched_tokens": 2_048},
           "A smaller budget cuts the chunk, and the gap with it."),
)
EXPERTS = (
    Preset("eight copies", {}, "Sixteen experts, one of them with a third of all tokens; one more slot a rank."),
    Preset("no EPLB", {"enable_eplb": False, "num_redundant_experts": 0}, "Experts in their order."),
    Preset("EPLB, no copies", {"num_redundant_experts": 0}, "vLLM’s default: it can only permute."),
    Preset("sixteen copies", {"num_redundant_experts": 16}, "Twice the memory for 1.4% more."),
    Preset("EPLB’s own example", {
        "expert_loads": "90,132,40,61,104,165,39,4,73,56,183,86", "num_redundant_experts": 4,
    }, "Layer 0 of the published README: twelve experts in sixteen slots."),
    Preset("the same, two nodes", {
        "expert_loads": "90,132,40,61,104,165,39,4,73,56,183,86", "num_redundant_experts": 4, "nodes": 2,
        "expert_groups": 4,
    }, "As published: copies stay within a node, which balances less and spares the network."),
    Preset("256 experts, EP32", {
        "expert_loads": ",".join(str(round(10_000 / (7 * n % 256 + 1) ** 0.5)) for n in range(256)), "ranks": 32,
        "num_redundant_experts": 32,
    }, "A mild skew (Zipf, exponent 0.5) on a wide group: one more slot a rank evens it."),
)
OVERLAP = (
    Preset("128 a rank", {}, "A large batch on a slow fabric: the wire hides behind the other half."),
    Preset("8 a rank", {"decodes": 8}, "Off-peak: both halves read all the weights for nothing."),
    Preset("32 a rank", {"decodes": 32}, "The default threshold lets it on, and it loses."),
    Preset("NVLink, EP8", {"wire_ms": 2, "wire_decode_ms": 0.07}, "A fast fabric: little is left to hide."),
    Preset("a small model", {"floor_ms": 6, "decode_ms": 0.15}, "Weights cost little, so splitting pays earlier."),
)
PREFILLS = (
    Preset("interval 8", {}, "One prompt a rank every 8 steps, staggered; all start together."),
    Preset("off", {"prefill_schedule_interval": 1}, "Every step somebody prefills, and everybody waits."),
    Preset("interval 2", {"prefill_schedule_interval": 2}, "Half of the steps are short again."),
    Preset("interval 16", {"prefill_schedule_interval": 16}, "Past the arrivals’ period: no faster, twice the wait."),
    Preset("Poisson", {"arrivals": aligned_prefills.POISSON, "prefill_schedule_interval": 4},
           "The same rate at random times."),
    Preset("long prompts", {"prompt_tokens": 32_768, "prefill_schedule_interval": 4, "every_steps": 64},
           "Five chunks each, and each chunk waits for its turn."),
)
SICK = (
    Preset("20% slow", {}, "A hot or throttled GPU in a group of 32; no time-out ever sees it."),
    Preset("half as fast", {"slow_factor": 2}, "A degraded link or a clock stuck low."),
    Preset("hung", {"sickness": HUNG}, "A collective that never returns, and /health is green."),
    Preset("EP144", {"ranks": 144}, "DeepSeek’s own decode group, 18 nodes: fails 4.5 times as often as 32."),
    Preset("four groups of 8", {"ranks": 8}, "The same GPUs in groups of 8: a quarter is hit at a time."),
)
WIDTH = (
    Preset("EP32 on H200", {}, "DeepSeek-V3 in FP8, decode pool of four nodes."),
    Preset("EP8 on H200", {"ep_ranks": 8}, "One node: less free than under TP8, five times the tokens."),
    Preset("EP64 on H200", {"ep_ranks": 64}, "11% more KV a GPU than 32, for twice the blast radius."),
    Preset("EP32 on H100", {"gpu": "h100"}, "80 GB cards: at 8 it does not fit at all."),
)

LAB = Lab(
    slug="wide-ep", title="Expert-parallel ranks in lockstep", topic="scale-out",
    line="One slow rank, everybody waits", fragment="calculators/labs/_wide_ep.html",
    thumbnail=wide_ep_pictures.thumbnail,
    views=(
        View(
            "lockstep", LockstepForm, lockstep.solve, title="Lockstep", picture=wide_ep_pictures.lockstep,
            summary=lockstep_summary, tell=tell, presets=LOCKSTEP, gist=wide_ep_pictures.gist,
            ask=Ask(figure="step_ms", label="the step", unit="ms"), groups=(TOY,),
        ),
        View(
            "experts", ExpertsForm, hot_experts.solve, title="Hot experts", picture=wide_ep_experts_picture.picture,
            summary=experts_summary, tell=tell, presets=EXPERTS,
            ask=Ask(figure="balancedness", label="balancedness after"), 
            groups=(Group("Experts", ("expert_loads",)), Group("Nodes", ("nodes", "expert_groups"), folded=True)),
            fragment="calculators/labs/_wide_ep_experts.html",
        ),
        View(
            "overlap", OverlapForm, two_batches.solve, title="Two batches", picture=wide_ep_pictures.overlap,
            summary=overlap_summary, tell=tell, presets=OVERLAP,
            ask=Ask(figure="split_ms", label="the step in two", unit="ms"),
            groups=(Group("Toy constants, ms", ("wire_ms", "wire_decode_ms", "floor_ms", "decode_ms", "fixed_ms",
                                                "handover_ms")),),
            fragment="calculators/labs/_wide_ep_overlap.html",
        ),
        View(
            "prefills", PrefillsForm, aligned_prefills.simulate, title="Aligned prefills",
            picture=wide_ep_prefills_picture.picture, summary=prefills_summary, tell=tell_prefills, presets=PREFILLS,
            predict=expected, bulky=("arrived", "waiting"), fragment="calculators/labs/_wide_ep_prefills.html",
        ),
        View(
            "sick", SickForm, sick_rank.solve, title="Sick rank", picture=wide_ep_pictures.sick, summary=sick_summary,
            tell=tell, presets=SICK, ask=Ask(figure="lost_gpus", label="lost", unit="GPUs"),
            groups=(Group("How often", ("gpu_mtbf_h", "recovery_min")),),
            fragment="calculators/labs/_wide_ep_sick.html",
        ),
        View(
            "width", WidthForm, ep_width.solve, title="How wide", picture=wide_ep_pictures.width_of_group,
            summary=width_summary, tell=tell, presets=WIDTH,
            ask=Ask(figure="kv_tokens", label="KV of the group", unit="tokens"),
            groups=(Group("Another model", ("expert_weights_gb", "other_weights_gb", "kv_bytes_per_token"),
                          folded=True),),
            fragment="calculators/labs/_wide_ep_width.html",
        ),
    ),
    notes=("The milliseconds are a toy’s, chosen to give about 1,500 tokens/s a GPU at 128 decodes, and 2,200 with "
           "overlap. Who waits for whom, and every default, is the engine’s.",),
)
