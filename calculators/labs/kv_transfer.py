"""The kv-transfer lab: KV that one instance computes and another one reads, call by call and in sums."""
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms

from calculators.labs import kv_transfer_calls_picture as rows
from calculators.labs import kv_transfer_picture as drawn
from calculators.labs.base import Ask, Expected, Group, Lab, Preset, Shown, View
from calculators.labs.kv_size_parts import Part, Table
from calculators.labs.row_field import GpuField, ModelField
from calculators.models import connector_sides, kv_lease, kv_transfer, nixl_parts, nixl_pull, pd_ratio
from calculators.models.kv_transfer import MODELS

POLICIES = [(nixl_pull.FAIL, "fail"), (nixl_pull.RECOMPUTE, "recompute")]
WORDS = {"P": "P’s", "D": "D’s", "router": "the router", "network": "the network", "client": "the client"}
HALVES = {"engine": "the engine’s", "store": "the store", "client": "the client"}
LEASE_HELP = "a heartbeat every sixth of it; each is worth two thirds, from when it comes"


def model_field() -> ModelField:
    """A model whose layers are all of one kind, weights in bf16."""
    return ModelField(MODELS, initial="llama-3.1-70b")


def gpu_field() -> GpuField:
    return GpuField(label="GPU", initial="h100")


def gpus_field(label: str) -> forms.TypedChoiceField:
    return forms.TypedChoiceField(label=label, choices=[(n, str(n)) for n in (1, 2, 4, 8)], coerce=int, initial=4)


def prompt_field(initial: int = 8_192, most: int = 131_072) -> forms.IntegerField:
    return forms.IntegerField(label="prompt", min_value=1, max_value=most, initial=initial)


def link_field() -> forms.FloatField:
    return forms.FloatField(label="link a GPU", min_value=0.1, max_value=2_000, initial=50,
                            help_text="a 400 Gb/s NIC is 50 GB/s")


def share_field(label: str, initial: float, help_text: str = "") -> forms.FloatField:
    return forms.FloatField(label=label, min_value=0.01, max_value=1, initial=initial, help_text=help_text)


class NixlForm(forms.Form):
    """The request, the two instances and their link, and what goes wrong."""

    prompt_tokens = prompt_field()
    local_hit_tokens = forms.IntegerField(label="local hit on D", min_value=0, max_value=131_072, initial=0)
    queue_s = forms.FloatField(label="wait at D", min_value=0, max_value=600, initial=0,
                               help_text="until D’s scheduler has a slot for it")
    peer = forms.ChoiceField(
        label="P is to D", choices=[(nixl_parts.KNOWN, "known"), (nixl_parts.NEW, "new")], initial=nixl_parts.KNOWN,
        help_text="a new peer shakes hands first",
    )
    kv_lease_duration = forms.IntegerField(label="lease", min_value=6, max_value=600, initial=30, help_text=LEASE_HELP)
    kv_load_failure_policy = forms.ChoiceField(label="load failure", choices=POLICIES, initial=nixl_pull.FAIL)
    fault = forms.ChoiceField(choices=[
        (nixl_pull.NONE, "none"), (nixl_pull.HANDSHAKE, "handshake refused"), (nixl_pull.READ_FAILS, "read fails"),
        (nixl_pull.P_DIES, "P dies in the read"), (nixl_pull.D_DIES, "D dies, queued"),
        (nixl_pull.ABORT, "abort in the read"), (nixl_pull.ABORT_QUEUED, "abort, queued"),
        (nixl_pull.STALL, "D stands still"),
    ], initial=nixl_pull.NONE)
    dies_s = forms.FloatField(label="D dies after", min_value=0, max_value=600, initial=22,
                              help_text="from the end of the prefill; for that fault alone")
    model = model_field()
    gpu = gpu_field()
    prefill_gpus = gpus_field("TP of P")
    decode_gpus = gpus_field("TP of D")
    link_gb_per_s = link_field()
    efficiency = share_field("link reached", 0.8)
    mfu = share_field("MFU of prefill", 0.5)
    block_size = forms.IntegerField(min_value=1, max_value=256, initial=16)

    units = {"prompt_tokens": "tok", "local_hit_tokens": "tok", "queue_s": "s", "kv_lease_duration": "s",
             "dies_s": "s", "link_gb_per_s": "GB/s", "block_size": "tok"}


class SidesForm(forms.Form):
    """The prompt, what is where, and how the connector loads and saves."""

    prompt_tokens = prompt_field(4_096)
    local_hit_tokens = forms.IntegerField(label="local hit", min_value=0, max_value=131_072, initial=1_024)
    store_tokens = forms.IntegerField(label="the store holds", min_value=0, max_value=131_072, initial=4_024)
    load = forms.ChoiceField(
        choices=[(connector_sides.SYNC, "in the step"), (connector_sides.ASYNC, "beside the steps")],
        initial=connector_sides.SYNC, help_text="synchronous or asynchronous",
    )
    unknown_steps = forms.IntegerField(label="not known for", min_value=0, max_value=5, initial=0,
                                       help_text="steps in which the connector answers None")
    save = forms.ChoiceField(label="saved", choices=[
        (connector_sides.NONE, "by the end"), (connector_sides.LATER, "after the end"),
    ], initial=connector_sides.NONE, help_text="after the end: its blocks are kept until then")
    fault = forms.ChoiceField(choices=[
        (connector_sides.NONE, "none"), (connector_sides.BAD_BLOCKS, "a bad block"),
        (connector_sides.FAILED, "all of it fails"), (connector_sides.ABORT, "abort"),
    ], initial=connector_sides.NONE)
    first_bad_block = forms.IntegerField(label="the bad block", min_value=0, max_value=131_072, initial=100,
                                         help_text="counted from 0 in the load")
    kv_load_failure_policy = forms.ChoiceField(label="load failure", choices=POLICIES, initial=nixl_pull.FAIL)
    block_size = forms.IntegerField(min_value=1, max_value=256, initial=16)
    kv_bytes_per_token = forms.IntegerField(label="KV a token", min_value=1, max_value=10_000_000, initial=327_680)
    waiting = forms.IntegerField(label="waiting requests", min_value=0, max_value=10_000, initial=20)
    lookup_ms = forms.FloatField(label="a remote lookup", min_value=0, max_value=1_000, initial=0.5)

    units = {"prompt_tokens": "tok", "local_hit_tokens": "tok", "store_tokens": "tok", "unknown_steps": "steps",
             "block_size": "tok", "kv_bytes_per_token": "B", "lookup_ms": "ms"}


class SplitForm(forms.Form):
    """The prompt, both pools and their link, and what users bear without the split."""

    model = model_field()
    kv_dtype = forms.ChoiceField(label="KV in", choices=[("bf16", "bf16"), ("fp8", "fp8")], initial="bf16")
    prompt_tokens = prompt_field(most=1_000_000)
    gpu = gpu_field()
    prefill_gpus = gpus_field("GPUs of P")
    decode_gpus = gpus_field("GPUs of D")
    link_gb_per_s = link_field()
    efficiency = share_field("link reached", 0.8, "what a real read gets of it, a share")
    mfu = share_field("MFU of prefill", 0.5)
    chunk_tokens = forms.IntegerField(label="chunk together", min_value=1, max_value=131_072, initial=2_048)
    gap_limit_ms = forms.FloatField(label="limit on a step", min_value=1, max_value=10_000, initial=50,
                                    help_text="the gap between two tokens that users accept")
    rate_per_s = forms.FloatField(label="requests", min_value=0.01, max_value=10_000, initial=10)
    wait_s = forms.FloatField(label="wait at D", min_value=0, max_value=600, initial=0.5)

    units = {"prompt_tokens": "tok", "link_gb_per_s": "GB/s", "chunk_tokens": "tok", "gap_limit_ms": "ms",
             "rate_per_s": "/s", "wait_s": "s"}


class RatioForm(forms.Form):
    """The traffic, and what a node of either kind does in a second."""

    input_tokens = forms.IntegerField(label="prompt", min_value=1, max_value=1_000_000, initial=4_000)
    output_tokens = forms.IntegerField(label="answer", min_value=1, max_value=1_000_000, initial=500)
    hit_share = forms.FloatField(label="cache hits", min_value=0, max_value=0.99, initial=0, help_text="a share")
    rate_per_s = forms.FloatField(label="requests", min_value=0.01, max_value=100_000, initial=20)
    prefill_node_tokens_per_s = forms.FloatField(
        label="P node, tokens", min_value=1, max_value=100_000_000, initial=73_700,
        help_text="DeepSeek’s average of an 8 × H800 node, its cache hits counted",
    )
    decode_node_tokens_per_s = forms.FloatField(
        label="D node, tokens", min_value=1, max_value=100_000_000, initial=14_800,
    )

    units = {"input_tokens": "tok", "output_tokens": "tok", "rate_per_s": "/s", "prefill_node_tokens_per_s": "/s",
             "decode_node_tokens_per_s": "/s"}


class LeaseForm(forms.Form):
    """The lease, when D reads or dies, and what is held meanwhile."""

    kv_lease_duration = forms.IntegerField(label="lease", min_value=6, max_value=600, initial=30, help_text=LEASE_HELP)
    ends_by = forms.ChoiceField(label="D", choices=[(kv_lease.DIES, "dies"), (kv_lease.READS, "reads")],
                                initial=kv_lease.DIES)
    ends_s = forms.FloatField(label="at", min_value=0, max_value=3_600, initial=22,
                              help_text="seconds after the prefill")
    arrives_s = forms.FloatField(label="reaches D at", min_value=0, max_value=3_600, initial=0)
    model = model_field()
    kv_dtype = forms.ChoiceField(label="KV in", choices=[("bf16", "bf16"), ("fp8", "fp8")], initial="bf16")
    prompt_tokens = prompt_field()
    rate_per_s = forms.FloatField(label="requests", min_value=0.01, max_value=10_000, initial=10)

    units = {"kv_lease_duration": "s", "ends_s": "s", "arrives_s": "s", "prompt_tokens": "tok", "rate_per_s": "/s"}


@dataclass(frozen=True, slots=True)
class Picture:
    """The calls so far, the parts below them, the heading of the sums, all in tables, and first of all the story.

    `later` says when the sums come, "" once they stand there.
    """

    calls: rows.CallPicture
    parts: tuple[Part, ...]
    heading: str
    tables: tuple[Table, ...]
    story: str
    later: str = ""


BEATS_END = {nixl_pull.HANDSHAKE: "refused", nixl_pull.READ_FAILS: "the read fails", nixl_pull.STALL: "D stands still"}
OUTSIDE = Table("Calls outside a request’s life", ("call", "half", "when"), connector_sides.OUTSIDE)

NIXL_STORY = (
    "P, the prefill instance, computes the prompt’s KV and keeps its blocks under a lease. The router then sends the "
    "request to D, the decode instance. D’s workers read the blocks out of P’s memory while D’s other requests go on; "
    "D says so, P frees the blocks, and D decodes."
)
NIXL_LATER = "How it ends, when P frees the blocks and what the read comes to: with the last call."
SIDES_STORY = (
    "A connector brings KV from outside, a store or another engine, and has two halves. The scheduler’s half decides "
    "which tokens are loaded instead of computed, before a block is taken; the workers’ half copies around the forward "
    "pass. A step’s metadata goes down from the first to the second, what was done comes back with the outputs."
)


def nixl_picture(shown: Shown) -> Picture:
    """The calls of both instances; after the last one where the time went, and P's lease if there was time for it."""
    result: nixl_pull.NixlPull = shown.result
    parts = []
    if result.waited_ms is not None:
        parts.append(drawn.wait_part(result.prefill_ms, result.read_ms, result.waited_ms))
    if result.lease.frees_s >= 1 and shown.inputs["fault"] != nixl_pull.P_DIES:
        parts.append(drawn.lease_part(result.lease, BEATS_END.get(shown.inputs["fault"], "D dies")))
    calls, ended = rows.calls(shown, rows.TWO_WIDE, rows.TWO_NARROW, WORDS), shown.step == shown.last_step
    return Picture(calls, tuple(parts) if ended else (), "What it comes to", (calls.table,),
                   "" if shown.step else NIXL_STORY, "" if ended else NIXL_LATER)


def sides_picture(shown: Shown) -> Picture:
    """The calls of one engine's two halves."""
    calls = rows.calls(shown, rows.ONE_WIDE, rows.ONE_NARROW, HALVES)
    return Picture(calls, (), "What is loaded, and what asking costs", (calls.table, OUTSIDE),
                   "" if shown.step else SIDES_STORY)


def nixl_expected(result: nixl_pull.NixlPull, inputs: Mapping[str, Any], at: int) -> tuple[Expected, ...]:
    """The blocks that the request holds on P and on D after a call."""
    return rows.blocks_held({"blocks on P": "P", "on D": "D"}, result.steps[at])


def sides_expected(result: connector_sides.ConnectorSides, inputs: Mapping[str, Any], at: int) -> tuple[Expected, ...]:
    """The blocks held after a call, and the tokens that count as computed."""
    step = result.steps[at]
    computed = Expected("computed", step.held_by[connector_sides.ENGINE].computed, step.says)
    return *rows.blocks_held({"blocks": connector_sides.ENGINE}, step), computed


def nixl_summary(inputs: Mapping[str, Any]) -> str:
    fault = "" if inputs["fault"] == nixl_pull.NONE else f", {inputs['fault']}"
    return (f"{MODELS[inputs['model']].name}, {inputs['prompt_tokens']:,} tokens, TP {inputs['prefill_gpus']} and "
            f"{inputs['decode_gpus']}, {inputs['link_gb_per_s']:g} GB/s{fault}")


def sides_summary(inputs: Mapping[str, Any]) -> str:
    return (f"{inputs['prompt_tokens']:,} tokens, {inputs['local_hit_tokens']:,} here, {inputs['store_tokens']:,} in "
            f"the store, {inputs['load']}")


def split_summary(inputs: Mapping[str, Any]) -> str:
    return (f"{MODELS[inputs['model']].name}, {inputs['prompt_tokens']:,} tokens, {inputs['prefill_gpus']} to "
            f"{inputs['decode_gpus']} GPUs, {inputs['link_gb_per_s']:g} GB/s")


def ratio_summary(inputs: Mapping[str, Any]) -> str:
    return f"{inputs['rate_per_s']:g}/s, {inputs['input_tokens']:,} in, {inputs['output_tokens']:,} out"


def lease_summary(inputs: Mapping[str, Any]) -> str:
    return f"lease {inputs['kv_lease_duration']} s, D {inputs['ends_by']} at {inputs['ends_s']:g} s"


def tell(result: Any) -> Iterator[str]:
    """The finding, then the derivation, for a shell."""
    yield result.finding
    yield from map(str, result.lines)


def tell_calls(result: Any) -> Iterator[str]:
    """A line a call, then the sums."""
    for number, step in enumerate(result.steps):
        back = f" -> {step.returned}" if step.returned else ""
        yield f"{number:>3}  {step.engine} {step.lane:<9}  {step.name}{back}"
    yield from tell(result)


NIXL = (
    Preset("nothing fails", {}, "8,192 tokens of a 70B, TP4 to TP4: from the router’s request to D’s first token."),
    Preset("a new peer", {"peer": nixl_parts.NEW}, "The first request to a P pays the handshake."),
    Preset("a local hit on D", {"local_hit_tokens": 4_096}, "D reads only what its own prefix cache lacks."),
    Preset("a long queue at D", {"queue_s": 45}, "Heartbeats keep the lease of 30 s for 45 s."),
    Preset("D dies, queued", {"queue_s": 45, "fault": nixl_pull.D_DIES},
           "D dies at 22 s. When does P give its blocks free?"),
    Preset("P dies in the read", {"fault": nixl_pull.P_DIES}, "The client sees an error, by default."),
    Preset("read fails, recompute", {"fault": nixl_pull.READ_FAILS,
                                     "kv_load_failure_policy": nixl_pull.RECOMPUTE},
           "D prefills the prompt among its own decoders, and P holds on until its lease ends."),
    Preset("handshake refused", {"peer": nixl_parts.NEW, "fault": nixl_pull.HANDSHAKE},
           "Two versions of vLLM in one pair of pools."),
    Preset("abort in the read", {"fault": nixl_pull.ABORT}, "Why D’s blocks are not freed at once."),
    Preset("abort, queued", {"fault": nixl_pull.ABORT_QUEUED}, "How P learns that nobody will read."),
    Preset("D stands still", {"fault": nixl_pull.STALL}, "The lease ends first, and D reads all the same."),
)
SIDES = (
    Preset("load in the step", {}, "An offloading connector: the layers wait for their KV."),
    Preset("load beside the steps", {"load": connector_sides.ASYNC},
           "The request waits with its blocks; the others’ steps go on."),
    Preset("the store has it all", {"load": connector_sides.ASYNC, "store_tokens": 4_096},
           "One token is computed again, for its logits."),
    Preset("not known yet", {"load": connector_sides.ASYNC, "unknown_steps": 2},
           "The lookup is slow, so the connector says None and is asked again."),
    Preset("saved after the end", {"save": connector_sides.LATER}, "Blocks that outlive their request."),
    Preset("a bad block, recompute", {"load": connector_sides.ASYNC, "fault": connector_sides.BAD_BLOCKS,
                                      "kv_load_failure_policy": nixl_pull.RECOMPUTE},
           "What came before it is kept."),
    Preset("a bad block, fail", {"fault": connector_sides.BAD_BLOCKS}, "The default policy, in a synchronous load."),
    Preset("abort in the load", {"load": connector_sides.ASYNC, "fault": connector_sides.ABORT},
           "Freed only when the load has ended."),
)
SPLIT = (
    Preset("70B, TP4 to TP4", {}, "8,192 tokens over one 400 Gb/s NIC a GPU."),
    Preset("8B on one GPU", {"model": "llama-3.1-8b", "prompt_tokens": 2_048, "prefill_gpus": 1, "decode_gpus": 1,
                             "efficiency": 1, "chunk_tokens": 512},
           "A short prompt on a small model: chunks of 512 would do."),
    Preset("MLA, 4K", {"model": "deepseek-v3", "prompt_tokens": 4_096, "gpu": "h200", "prefill_gpus": 8,
                       "decode_gpus": 8},
           "A latent is small, and each rank of D reads a whole one."),
    Preset("chunks of 512", {"chunk_tokens": 512}, "A smaller budget holds the limit without a split."),
    Preset("100 GbE", {"link_gb_per_s": 12.5}, "A quarter of the link: still small beside the prefill."),
    Preset("FP8 KV", {"kv_dtype": "fp8"}, "Half the bytes; both sides must keep it so."),
    Preset("D’s queue of 5 s", {"wait_s": 5}, "What P keeps pinned while D is behind."),
)
RATIO = (
    Preset("4,000 in, 500 out", {}, "20 requests/s on DeepSeek-class nodes."),
    Preset("chat", {"input_tokens": 1_000, "output_tokens": 1_000}, "Mostly decoding."),
    Preset("long documents", {"input_tokens": 8_000, "output_tokens": 200}, "Mostly prefill."),
    Preset("reasoning", {"input_tokens": 500, "output_tokens": 2_000}, "Twenty decode nodes for one."),
    Preset("half of it cached", {"hit_share": 0.56}, "DeepSeek’s own share of cache hits."),
)
LEASE = (
    Preset("D dies at 22 s", {}, "The last heartbeat came at 20 s."),
    Preset("D dies at 12 s", {"ends_s": 12}, "No beat before 15 s moves a deadline of 30 s."),
    Preset("a queue of 45 s", {"ends_by": kv_lease.READS, "ends_s": 45}, "Held all the time, for every request."),
    Preset("the router is slow", {"ends_by": kv_lease.READS, "ends_s": 40, "arrives_s": 35},
           "The request reaches D after the lease: nobody sent a beat."),
    Preset("a lease of 60 s", {"kv_lease_duration": 60}, "A beat every 10 s, worth 40 s."),
)

LAB = Lab(
    slug="kv-transfer", title="KV transfer: D pulls what P computed", topic="scale-out",
    line="Who holds the blocks, call by call", fragment="calculators/labs/_kv_transfer.html",
    thumbnail=drawn.thumbnail,
    views=(
        View(
            "nixl", NixlForm, nixl_pull.simulate, title="NIXL pull", picture=nixl_picture, predict=nixl_expected,
            summary=nixl_summary, tell=tell_calls, presets=NIXL, bulky=("held_by",),
            groups=(
                Group("", ("prompt_tokens", "local_hit_tokens", "queue_s", "peer", "kv_lease_duration")),
                Group("What goes wrong", ("fault", "dies_s", "kv_load_failure_policy")),
                Group("Machines", ("model", "gpu", "prefill_gpus", "decode_gpus", "link_gb_per_s", "efficiency", "mfu",
                                   "block_size"), folded=True),
            ),
        ),
        View(
            "sides", SidesForm, connector_sides.simulate, title="Connector’s two sides", picture=sides_picture,
            predict=sides_expected, summary=sides_summary, tell=tell_calls, presets=SIDES, bulky=("held_by",),
            groups=(
                Group("", ("prompt_tokens", "local_hit_tokens", "store_tokens", "load", "unknown_steps", "save")),
                Group("What goes wrong", ("fault", "first_bad_block", "kv_load_failure_policy")),
                Group("What asking costs", ("waiting", "lookup_ms", "kv_bytes_per_token", "block_size"), folded=True),
            ),
        ),
        View(
            "split", SplitForm, kv_transfer.solve, title="Split or not", picture=drawn.split, summary=split_summary,
            tell=tell, presets=SPLIT, gist=drawn.gist, ask=Ask(figure="read_ms", label="the read", unit="ms"),
            fragment="calculators/labs/_parts.html",
            groups=(
                Group("", ("model", "kv_dtype", "prompt_tokens", "gpu", "prefill_gpus", "decode_gpus")),
                Group("The move", ("link_gb_per_s", "efficiency", "mfu")),
                Group("Together instead", ("chunk_tokens", "gap_limit_ms")),
                Group("Pinned on P", ("rate_per_s", "wait_s"), folded=True),
            ),
        ),
        View(
            "ratio", RatioForm, pd_ratio.solve, title="P:D ratio", picture=drawn.ratio, summary=ratio_summary,
            tell=tell, presets=RATIO, ask=Ask(figure="ratio", label="P:D"), fragment="calculators/labs/_parts.html",
        ),
        View(
            "lease", LeaseForm, kv_lease.solve, title="The lease", picture=drawn.lease, summary=lease_summary,
            tell=tell, presets=LEASE, ask=Ask(figure="frees_s", label="P frees at", unit="s"),
            fragment="calculators/labs/_parts.html",
        ),
    ),
    notes=("Calls and their order are vLLM 0.33.0’s, compared with a record of its own scheduler and connectors. With "
           "async scheduling the next step comes before the last one’s results; each half’s own order stays.",
           "Times are sums: MFU, the share of a link, and three steps of D are rules; measure yours."),
)
