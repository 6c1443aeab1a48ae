"""The two halves of a KV connector: every call on the scheduler's and the workers' side while one prompt is loaded."""
from collections.abc import Iterator
from dataclasses import dataclass

from calculators.models.base import Line, Refusal
from calculators.models.kv_calls import (
    ABORTED,
    BIND,
    COLLECT,
    COMPUTING,
    ERROR,
    FREE,
    FREE_BLOCKS,
    HASHED,
    HELD,
    LAYERS,
    LENGTH_CAPPED,
    LOAD_AFTER,
    LOADING,
    REPORT,
    RUNNING,
    UPDATE,
    WAITING,
    Holding,
    Step,
    Trace,
    blocks_of,
    matched,
    slots,
    told_blocks,
    whole_blocks,
)

ENGINE, STORE, CLIENT = "engine", "store", "client"
SYNC, ASYNC = "sync", "async"
NONE, BAD_BLOCKS, FAILED, ABORT = "none", "bad blocks", "failed", "abort"
LATER = "later"
FAIL, RECOMPUTE = "fail", "recompute"
BLOCK_ID_BYTES = 4
OUTSIDE = (  # what a connector is asked outside a request's life: the call, whose half, and when
    ("register_kv_caches", "workers", "at start, once the KV tensors are there"),
    ("set_host_xfer_buffer_ops", "workers", "right after, for connectors that go through host memory"),
    ("bind_kv_cache_manager", "scheduler", "at start, once the scheduler has its cache manager"),
    ("get_finished_count", "scheduler", "at start: how many workers make a transfer complete; None is all"),
    ("get_handshake_metadata", "workers", "at start: what a peer must know to reach this worker’s memory"),
    ("set_xfer_handshake_metadata_pp_aware", "scheduler", "then: all workers’ metadata, to be served to peers"),
    ("reset_capture_state", "workers", "while CUDA graphs are captured"),
    ("has_pending_block_frees", "scheduler", "when a running request finds no block: may some come soon?"),
    ("has_pending_push_work", "scheduler", "before the engine goes idle: is anything still to be sent?"),
    ("reset_cache", "scheduler", "when the prefix cache is reset, the connector’s included"),
    ("unregister_kv_caches", "workers", "going to sleep; restore_kv_caches on waking"),
    ("shutdown", "both", "at the end"),
)
SAID = {
    "handle_preemptions": "First of all: preempted requests’ blocks that are still being saved are seen to before "
                          "anybody writes over them.",
    "bind_connector_metadata": "The message from the scheduler’s half is all that the workers’ half knows.",
    "wait_for_layer_load": "Entering each attention layer.",
    "save_kv_layer": "Leaving each attention layer, its new KV in place.",
    "finish_forward": "The model reads this step’s KV no more.",
    "wait_for_save": "What was saved layer by layer must have left before its blocks can be written again.",
    "get_transfer_results": "Which requests have been sent, received, or have failed.",
    "get_block_ids_with_load_errors": "Blocks whose load failed.",
    "get_kv_connector_stats": "Numbers for the metrics.",
    "get_kv_connector_kv_cache_events": "Events for routers.",
    "build_connector_worker_meta": "Anything else for the scheduler’s half.",
    "clear_connector_metadata": "The step’s message is forgotten.",
}


@dataclass(frozen=True, slots=True)
class ConnectorSides:
    """Every call of one request, what was loaded, and what asking and telling cost."""

    steps: tuple[Step, ...]
    count: int
    load_blocks: int
    left_tokens: int
    asking_ms: float
    message_bytes: int
    kv_bytes: int
    ended: str
    finding: str
    lines: tuple[Line, ...]


@dataclass(slots=True)
class Scene:
    """What stays as it is while the calls are written down."""

    trace: Trace
    prompt: int
    hit: int
    count: int
    load: str
    block_size: int
    policy: str
    first_bad: int
    save: str

    @property
    def blocks(self) -> int:
        return blocks_of(self.prompt, self.block_size)

    @property
    def loaded_blocks(self) -> int:
        """Blocks of the request once its load has room: local and loaded ones."""
        return blocks_of(self.hit + self.count, self.block_size)

    @property
    def asynchronous(self) -> bool:
        return self.load == ASYNC and self.count > 0

    @property
    def valid(self) -> int:
        """Tokens before the first block that failed to load."""
        return self.hit + self.first_bad * self.block_size


def simulate(*, prompt_tokens: int = 4_096, local_hit_tokens: int = 1_024, store_tokens: int = 4_024,
             block_size: int = 16, load: str = SYNC, unknown_steps: int = 0, save: str = NONE, fault: str = NONE,
             first_bad_block: int = 100, kv_load_failure_policy: str = FAIL, kv_bytes_per_token: int = 327_680,
             waiting: int = 20, lookup_ms: float = 0.5) -> ConnectorSides:
    """Load what a remote store holds of one prompt that wants one token, while somebody else decodes.

    The connector offers whole blocks beyond the local hit. A synchronous load leaves at least one token to compute.
    Calls and their order are exact, for a connector with SupportsHMA and one worker.
    Source: vllm 0.33.0, v1/core/sched/scheduler.py; v1/worker/gpu/kv_connector.py; tests/golden.
    """
    hit = whole_blocks(min(local_hit_tokens, prompt_tokens - 1), block_size)
    count = max(whole_blocks(min(store_tokens, prompt_tokens), block_size) - hit, 0)
    if load == SYNC and hit + count == prompt_tokens:
        count -= 1
    refuse(load, fault, count, first_bad_block, block_size)
    trace = Trace({ENGINE: Holding()})
    scene = Scene(trace, prompt_tokens, hit, count, load, block_size, kv_load_failure_policy, first_bad_block, save)
    trace.schedules(ENGINE, "on_new_request", "The request is queued; the connector hears of it.", status=WAITING)
    for _ in range(unknown_steps):
        asks(scene, "(None, False)", "The store has not answered. The request keeps its place and is asked for again "
             "in the next step.")
        repeats(scene, "The others’ step; nothing for this request.")
    (loads_beside if scene.asynchronous else loads_first)(scene, fault)
    now = trace.held_by[ENGINE]
    if save == LATER and now.looks == HELD and now.status == LENGTH_CAPPED:
        sent_later(scene)
    asking, message = waiting * lookup_ms, blocks_of(count, block_size) * BLOCK_ID_BYTES
    left = prompt_tokens - hit - count
    return ConnectorSides(
        steps=tuple(trace.steps), count=count, load_blocks=blocks_of(count, block_size), left_tokens=max(left, 1),
        asking_ms=asking, message_bytes=message, kv_bytes=count * kv_bytes_per_token,
        ended=trace.held_by[ENGINE].status, finding=finding_of(scene, fault),
        lines=tuple(lines_of(scene, store_tokens, waiting, lookup_ms, kv_bytes_per_token)),
    )


def refuse(load: str, fault: str, count: int, first_bad_block: int, block_size: int) -> None:
    """Faults that the load at hand can't have."""
    if fault != NONE and not count:
        raise Refusal("Nothing is loaded, so nothing can fail; let the store hold more than the local hit.", "fault")
    if fault in (FAILED, ABORT) and load == SYNC:
        raise Refusal("A synchronous load is over within its step; choose an asynchronous one.", "fault")
    if fault == BAD_BLOCKS and first_bad_block >= blocks_of(count, block_size):
        raise Refusal(f"{blocks_of(count, block_size):,} blocks are loaded, numbered from 0.", "first_bad_block")


def asks(scene: Scene, answer: str, says: str) -> None:
    """The local prefix cache, then the connector."""
    scene.trace.schedules(ENGINE, "get_computed_blocks", "What is here already, in whole blocks.",
                          returned=f"{scene.hit:,} tokens")
    scene.trace.schedules(ENGINE, "get_num_new_matched_tokens", says, given=matched(scene.hit), returned=answer)


def offers(scene: Scene) -> None:
    """The connector says how much it can load, blocks are taken for it, and it is told which."""
    trace, count, left = scene.trace, scene.count, scene.prompt - scene.hit - scene.count
    asks(scene, f"({count:,}, {scene.asynchronous})", "How many tokens beyond the local hit, and beside the steps or "
         "not. A question without effect: it may be asked again." if count else "Nothing beyond the local hit.")
    if scene.asynchronous:
        trace.schedules(ENGINE, "get_loaded_kv_cache_group_ids", "Which cache groups the load fills; those blocks need "
                        "no zeroing.", returned="all")
        trace.schedules(ENGINE, "allocate_slots", f"Blocks for {scene.hit + count:,} tokens and 0 tokens scheduled; "
                        "they are not in the prefix cache yet.", given=slots(0, count, later=True),
                        returned=f"{scene.loaded_blocks:,} blocks",
                        held=scene.loaded_blocks, looks=HELD)
    else:
        trace.schedules(ENGINE, "allocate_slots", f"Blocks for the whole prompt: {left:,} tokens are computed in this "
                        "step.", given=slots(left, count), returned=f"{scene.blocks:,} blocks", held=scene.blocks,
                        looks=COMPUTING, status=RUNNING, computed=scene.prompt)
    trace.schedules(ENGINE, "update_state_after_alloc", "The connector learns the block ids to fill."
                    if count else "Nothing to fill.", given=told_blocks(count))
    if count:
        more = {"status": LOADING, "computed": scene.hit + count} if scene.asynchronous else {}
        trace.schedules(ENGINE, "get_external_cache_hit_sources", "Where the hit came from, for the metrics."
                        + (" Then the request is parked." if more else ""), **more)
    trace.schedules(ENGINE, "build_connector_meta", "All of the step’s work for the workers’ half in one message, and "
                    "the notes are cleared.")


def loads_first(scene: Scene, fault: str) -> None:
    """A synchronous load (or none): the request runs in this step, and the layers wait for their KV."""
    trace = scene.trace
    offers(scene)
    if not scene.count:
        repeats(scene, "The prompt is computed here.", scheduled=True)
        ends(scene)
        return
    for call in BIND:
        worker(scene, call)
    worker(scene, "start_load_kv", "Before the forward, since the step needs what is loaded (has_sync_kv_loads).")
    worker(scene, "wait_for_layer_load", "Entering each attention layer: wait until its KV has come.")
    worker(scene, "save_kv_layer")
    worker(scene, "finish_forward")
    worker(scene, "wait_for_save")
    worker(scene, "get_transfer_results", "Nothing: a synchronous load is not reported.", returned="nothing")
    if fault == NONE:
        reports(scene, "")
        ends(scene)
        return
    reports(scene, "1 block")
    valid = scene.valid
    trace.schedules(ENGINE, "_handle_invalid_blocks", f"Block {scene.first_bad:,} of the load is bad: computed is cut "
                    f"to {valid:,}, and this step’s token is thrown away.", computed=valid)
    if scene.policy == FAIL:
        trace.schedules(ENGINE, "evict_blocks", "The bad block and all after it leave the prefix cache.")
        errs(scene, *FREE_BLOCKS)
        return
    trace.unnoticed(ENGINE, *UPDATE, *COLLECT)
    trace.schedules(ENGINE, "allocate_slots", f"It runs on with {scene.prompt - valid:,} tokens to compute again, in "
                    "the blocks that it has.", given=slots(scene.prompt - valid), computed=scene.prompt)
    trace.schedules(ENGINE, "build_connector_meta", "Nothing to load.")
    repeats(scene, "The bad part is computed here.", scheduled=True)
    ends(scene)


def loads_beside(scene: Scene, fault: str) -> None:
    """An asynchronous load: the request waits with its blocks while the others' steps go on."""
    trace = scene.trace
    offers(scene)
    for call in (*BIND, *LAYERS, "finish_forward"):
        worker(scene, call, {"wait_for_layer_load": "Entering each attention layer, for the others: nothing is waited "
                             "for."}.get(call, ""))
    worker(scene, "start_load_kv", "After the forward is launched, so that posting the load costs the GPU nothing.")
    worker(scene, "wait_for_save")
    worker(scene, "get_transfer_results", "Not yet.", returned="nothing")
    reports(scene, "")
    trace.unnoticed(ENGINE, *UPDATE, *COLLECT)
    if fault == ABORT:
        gives_up(scene)
        return
    trace.row(STORE, STORE, "the load", f"{blocks_of(scene.count, scene.block_size):,} blocks come while the others "
              "decode.")
    results = {NONE: "finished_recving", BAD_BLOCKS: "finished_recving, 1 block bad", FAILED: "failed_recving"}
    trace.later(ENGINE, "get_transfer_results", "A later step: every worker has to say so before it counts.",
                *LOAD_AFTER, returned=results[fault])
    if fault == NONE:
        trace.schedules(ENGINE, "update_connector_output", "The scheduler’s half hears of it; the next step may take "
                        "the request.", *UPDATE, *COLLECT)
        trace.schedules(ENGINE, "cache_blocks", "Only now do the blocks enter the prefix cache.",
                        "_update_waiting_for_remote_kv", "cache_blocks", given=f"request, {scene.hit + scene.count:,}",
                        status=WAITING, computed=min(scene.hit + scene.count, scene.prompt - 1))
        resumes(scene, scene.hit + scene.count)
        return
    handler = "_handle_invalid_blocks" if fault == BAD_BLOCKS else "_handle_failed_recving"
    if scene.policy == FAIL:
        trace.schedules(ENGINE, handler, "Policy fail, the default: the request is to end with an error.",
                        computed=scene.valid if fault == BAD_BLOCKS else scene.hit + scene.count)
        errs(scene, *UPDATE, *FREE_BLOCKS)
        return
    valid = scene.valid if fault == BAD_BLOCKS else 0
    trace.schedules(ENGINE, handler, f"Policy recompute: computed is cut to {valid:,}."
                    + ("" if fault == BAD_BLOCKS else " A request that failed as a whole keeps nothing."),
                    handler, *UPDATE, *COLLECT, computed=valid)
    if valid:
        trace.schedules(ENGINE, "cache_blocks", "What did come enters the prefix cache.",
                        "_update_waiting_for_remote_kv", "cache_blocks", given=f"request, {valid:,}", status=WAITING)
        resumes(scene, valid)
        return
    trace.schedules(ENGINE, "free", "Nothing valid: the blocks go back, and it starts anew.",
                    "_update_waiting_for_remote_kv", "free", status=WAITING, held=0, looks=FREE)
    asks(scene, "(0, False)", "The connector is asked again and must not offer the same.")
    resumes(scene, scene.hit)


def resumes(scene: Scene, valid: int) -> None:
    """The rest of the prompt is computed."""
    left = max(scene.prompt - valid, 1)
    scene.trace.schedules(ENGINE, "allocate_slots", f"It runs, with the {left:,} "
                          f"{'token that is' if left == 1 else 'tokens that are'} left.",
                          given=slots(left), returned=f"{scene.blocks:,} blocks", status=RUNNING, held=scene.blocks,
                          looks=COMPUTING, computed=scene.prompt)
    scene.trace.schedules(ENGINE, "update_state_after_alloc", "Called again, with nothing to load.",
                          given=told_blocks(0))
    scene.trace.schedules(ENGINE, "build_connector_meta", "Nothing to load.")
    repeats(scene, "The rest of the prompt beside the others.", scheduled=True)
    ends(scene)


def gives_up(scene: Scene) -> None:
    """The client goes away while the load runs."""
    trace = scene.trace
    trace.row(CLIENT, CLIENT, "abort", "The client has gone away.")
    trace.schedules(ENGINE, "request_finished_all_groups", "Its blocks stay: a load may still write them.",
                    "finish_requests", "request_finished_all_groups", returned="(False, None)", status=ABORTED)
    trace.later(ENGINE, "get_transfer_results", "The load has ended.", *LOAD_AFTER, returned="finished_recving")
    trace.schedules(ENGINE, "_free_blocks", "Freed only now that nothing writes to them.", *UPDATE, *FREE_BLOCKS,
                    *COLLECT, held=0, looks=FREE)


def worker(scene: Scene, call: str, says: str = "", returned: str = "") -> None:
    """One call on the workers' side."""
    scene.trace.works(ENGINE, call, says or SAID[call], returned=returned)


def reports(scene: Scene, bad: str) -> None:
    """What the workers' half is asked after the transfer results."""
    for call in REPORT[1:]:
        worker(scene, call, returned=bad if call == "get_block_ids_with_load_errors" else "")


def repeats(scene: Scene, says: str, scheduled: bool = False) -> None:
    """A step whose calls on the workers' side have been seen, in one row."""
    if scheduled:
        scene.trace.works(ENGINE, "forward", says, *LOAD_AFTER, returned="with this request")
    else:
        scene.trace.later(ENGINE, "forward", says, *LOAD_AFTER, returned="the others")
        scene.trace.unnoticed(ENGINE, *UPDATE, *COLLECT)


def ends(scene: Scene) -> None:
    """The token that was wanted is there: what becomes of the blocks is the connector's to say."""
    keeps = scene.save == LATER
    scene.trace.schedules(
        ENGINE, "request_finished_all_groups", "The request has ended. The connector still saves its blocks: they are "
        "not freed." if keeps else "The request has ended. The connector needs nothing of it.",
        returned=f"({keeps}, None)", status=LENGTH_CAPPED, looks=HELD,
    )
    if keeps:
        scene.trace.unnoticed(ENGINE, *UPDATE, *COLLECT)
        return
    scene.trace.schedules(ENGINE, "_free_blocks", "Free for anybody, and still found by the prefix cache.",
                          *FREE_BLOCKS, held=0, looks=HASHED)
    scene.trace.schedules(ENGINE, "update_connector_output", "After the requests’ outputs, what the workers said of "
                          "transfers; then events for routers.", *UPDATE, *COLLECT)


def sent_later(scene: Scene) -> None:
    """The save has ended some steps after the request."""
    scene.trace.later(ENGINE, "get_transfer_results", "Steps later the save has ended.", *LOAD_AFTER,
                      returned="finished_sending")
    scene.trace.schedules(ENGINE, "_free_blocks", "Only now are they freed.", *UPDATE, *FREE_BLOCKS, *COLLECT, held=0,
                          looks=HASHED)


def errs(scene: Scene, *frees: str) -> None:
    """The request ends with an error."""
    scene.trace.schedules(ENGINE, "request_finished_all_groups", "The connector hears of the end.", "finish_requests",
                          "request_finished_all_groups", returned="(False, None)", status=ERROR)
    scene.trace.schedules(ENGINE, "_free_blocks", "The client gets an error.", *frees,
                          *(() if UPDATE[0] in frees else UPDATE), *COLLECT, held=0, looks=FREE)


def finding_of(scene: Scene, fault: str) -> str:
    """What was loaded and what was computed."""
    left = max(scene.prompt - scene.hit - scene.count, 1)
    loaded = f"{scene.count:,} tokens are loaded and {left:,} computed"
    if fault == NONE:
        return f"{loaded}; the scheduler decided it once, before a block was taken."
    if fault == ABORT:
        return "An aborted request keeps its blocks until the load has ended."
    if scene.policy == FAIL:
        return "The load failed and the policy is fail: the request ends with an error."
    again = scene.prompt - (scene.valid if fault == BAD_BLOCKS else scene.hit)
    return f"The load failed and the policy is recompute: {again:,} tokens are computed here instead of {left:,}."


def lines_of(scene: Scene, store_tokens: int, waiting: int, lookup_ms: float, kv_bytes_per_token: int
             ) -> Iterator[Line]:
    """The count, its blocks, what is left, and what asking and telling cost."""
    size, count = scene.block_size, scene.count
    blocks = blocks_of(count, size)
    yield Line("the store has", f"⌊{store_tokens:,} / {size}⌋ × {size}", whole_blocks(store_tokens, size), "tokens")
    yield Line("to load", f"{scene.hit + count:,} − {scene.hit:,}", count, "tokens")
    yield Line("in blocks", f"{count:,} / {size}", blocks, "blocks")
    yield Line("left to compute", f"{scene.prompt:,} − {scene.hit + count:,}",
               max(scene.prompt - scene.hit - count, 1), "tokens")
    yield Line("asking, in one step", f"{waiting} × {lookup_ms:g} ms", waiting * lookup_ms, "ms")
    yield Line("block ids sent down", f"{blocks:,} × {BLOCK_ID_BYTES} B", blocks * BLOCK_ID_BYTES, "B")
    yield Line("KV that never passes", f"{count:,} × {kv_bytes_per_token:,} B", count * kv_bytes_per_token / 1e9, "GB")
