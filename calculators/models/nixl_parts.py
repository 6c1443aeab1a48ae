"""The stretches of calls that every pull over NIXL is made of: prefill, hand-over, queue, admission, read, release."""
from dataclasses import dataclass

from calculators.models.kv_calls import (
    BIND,
    COLLECT,
    COMPUTING,
    FREE_BLOCKS,
    HASHED,
    HELD,
    LAYERS,
    LENGTH_CAPPED,
    LOAD_AFTER,
    LOADING,
    NO_FORWARD,
    REPORT,
    RUNNING,
    UPDATE,
    WAITING,
    Trace,
    blocks_of,
    matched,
    slots,
    told_blocks,
)
from calculators.models.kv_lease import Lease
from calculators.models.quantity import span

P, D, ROUTER, NETWORK, CLIENT = "P", "D", "router", "network", "client"
KNOWN, NEW = "known", "new"
START = ("start_load_kv", "wait_for_save")


@dataclass(slots=True)
class Scene:
    """What stays as it is while the calls are written down; `own_prefill_ms` is D's for the whole prompt."""

    trace: Trace
    prompt: int
    hit: int
    block_size: int
    prefill_ms: float
    own_prefill_ms: float
    read_ms: float
    step_ms: float
    lease: Lease
    policy: str

    @property
    def blocks(self) -> int:
        return blocks_of(self.prompt, self.block_size)

    @property
    def read_blocks(self) -> int:
        return self.blocks - self.hit // self.block_size


def prefill(scene: Scene) -> None:
    """P takes the prompt, computes it and leases its blocks."""
    trace, blocks = scene.trace, scene.blocks
    trace.row(ROUTER, ROUTER, "request to P", "With do_remote_decode and max_tokens 1: P is to prefill, no more.")
    trace.schedules(P, "on_new_request", "Nothing to note. (A model with state-space layers would drop its last prompt "
                    "token here, for D to compute.)", status=WAITING)
    trace.schedules(P, "get_num_new_matched_tokens", "P loads nothing from elsewhere.",
                    "get_computed_blocks_for_connector", "get_num_new_matched_tokens", given=matched(0),
                    returned="(0, False)")
    trace.schedules(P, "allocate_slots", f"{scene.prompt:,} tokens are scheduled; the request runs.",
                    given=slots(scene.prompt), returned=f"{blocks:,} blocks", held=blocks, looks=COMPUTING,
                    status=RUNNING, computed=scene.prompt)
    trace.schedules(P, "update_state_after_alloc", "The request is noted as part of this batch.", given=told_blocks(0))
    trace.schedules(P, "build_connector_meta", "The note goes down with the step: reqs_in_batch.")
    trace.works(P, "bind_connector_metadata", "The workers take the step’s message.", *BIND)
    trace.at_ms += scene.prefill_ms
    trace.works(P, "forward", f"{scene.prompt:,} tokens in {span(scene.prefill_ms / 1e3)}. The hooks of each layer are "
                "called and do nothing: NIXL moves nothing layer by layer.", *LAYERS, "finish_forward",
                returned=f"{scene.prompt:,} tokens")
    trace.works(P, "start_load_kv", "Nothing to read. The workers note the request as one that D may read.",
                *START)
    trace.works(P, "get_transfer_results", "Nobody has read anything yet.", *REPORT, returned="nothing")
    trace.schedules(P, "request_finished_all_groups", "One token was sampled, which ends the request by length. The "
                    f"connector says not to free: the blocks are leased for {scene.lease.lease_s} s.",
                    "request_finished_all_groups", *UPDATE, *COLLECT, returned="(True, params)",
                    status=LENGTH_CAPPED, looks=HELD)
    trace.schedules(P, "build_connector_meta", "reqs_to_send, with the deadline on the scheduler’s clock.")
    trace.works(P, "start_load_kv", "A step without tokens still calls the connector. The workers put the deadline on "
                "their own clock.", *NO_FORWARD)
    trace.unnoticed(P, *COLLECT)


def hand_over(scene: Scene) -> None:
    """The router carries P's parameters to D."""
    scene.trace.row(ROUTER, ROUTER, "request to D", "The original prompt with P’s kv_transfer_params: engine, request "
                    "and block ids, host and port, sizes. P and D have not spoken yet.")
    scene.trace.schedules(D, "on_new_request", "On arrival, not when it is scheduled: from now D’s steps carry a "
                          f"heartbeat for P’s request, every {scene.lease.interval_s} s.", status=WAITING)


def waits(scene: Scene, seconds: float, peer: str, refused: bool = False) -> str:
    """D's queue: no call for this request but the heartbeats, which P's workers turn into a later deadline.

    What P is to D after it: the first heartbeat makes a new peer known, unless it is refused.
    """
    trace = scene.trace
    beats = [beat for beat in scene.lease.beats if 0 < beat.at_s <= seconds and not refused]
    trace.at_ms = max(trace.at_ms, scene.prefill_ms + seconds * 1e3)
    if not seconds or not beats and peer == KNOWN:
        return peer
    many = "a heartbeat" if len(beats) == 1 else f"{len(beats)} heartbeats" if beats else "no heartbeat"
    shakes = " A heartbeat needs the handshake too: " if peer == NEW else ""
    met = "it is refused." if refused else "by the first one D knows P." if shakes else ""
    trace.later(D, "start_load_kv", f"No slot is free, so the connector is not asked. In {span(seconds)} D sends "
                f"{many}.{shakes}{met}", *LOAD_AFTER)
    trace.unnoticed(D, *UPDATE, *COLLECT)
    if beats:
        moves = any(beat.moves for beat in beats)
        trace.later(P, "get_transfer_results", "A beat moves the deadline to its arrival + "
                    f"{scene.lease.extension_s} s, never back: it is at {beats[-1].deadline_s:g} s"
                    f"{'' if moves else ' still'}.", *NO_FORWARD)
        trace.unnoticed(P, *COLLECT)
    return NEW if refused else KNOWN


def admit(scene: Scene, peer: str, late: bool = False) -> None:
    """D's scheduler parks the request, and its workers post the read, after a handshake with a new peer."""
    trace, hit, left = scene.trace, scene.hit, scene.prompt - scene.hit
    trace.schedules(D, "get_num_new_matched_tokens", f"{hit:,} tokens are here already; the other {left:,} can be "
                    "read, beside the steps.", "get_computed_blocks_for_connector", "get_num_new_matched_tokens",
                    given=matched(hit), returned=f"({left:,}, True)")
    trace.schedules(D, "allocate_slots", "Room for the whole prompt before a byte has come, and 0 tokens scheduled; "
                    "not in the prefix cache yet.", "get_loaded_kv_cache_group_ids", "allocate_slots",
                    given=slots(0, left, later=True), returned=f"{scene.blocks:,} blocks", held=scene.blocks,
                    looks=HELD)
    trace.schedules(D, "update_state_after_alloc", "The connector learns which blocks to fill. do_remote_prefill is "
                    "cleared: one transfer a request.", "update_state_after_alloc", "get_external_cache_hit_sources",
                    given=told_blocks(left), status=LOADING, computed=scene.prompt)
    trace.schedules(D, "build_connector_meta", "The receive list, and a heartbeat if one is due.")
    trace.works(D, "bind_connector_metadata", "The others’ forward is launched before anything is read.",
                *BIND, *LAYERS, "finish_forward")
    if peer == NEW:
        trace.works(D, "start_load_kv", "P’s engine is unknown: a thread asks P’s side channel for its NIXL metadata; "
                    "the request waits.", *START, *REPORT)
        trace.unnoticed(D, *UPDATE, *COLLECT)


def reads(scene: Scene, peer: str) -> None:
    """The read is posted."""
    if peer == NEW:
        scene.trace.at_ms += scene.step_ms
        scene.trace.row(NETWORK, NETWORK, "handshake", "P’s listener answers; hash and engine id agree, the remote "
                        "agent is added.")
        scene.trace.later(D, "start_load_kv", "A step later the request is taken from the ready queue and the READ is "
                          "posted.", *LOAD_AFTER)
    else:
        scene.trace.works(D, "start_load_kv", "The READ is posted, with a notification to P for when it has ended.",
                          *START, *REPORT)
    scene.trace.unnoticed(D, *UPDATE, *COLLECT)


def wire(scene: Scene, says: str = "One-sided: P’s CPU and GPU take no part. Both sides hold the blocks.",
         name: str = "READ") -> None:
    """The network's row."""
    scene.trace.at_ms += scene.read_ms
    scene.trace.row(NETWORK, NETWORK, name, says, returned=f"{scene.read_blocks:,} blocks, {span(scene.read_ms / 1e3)}")


def released(scene: Scene, says: str, returned: str = "finished_sending") -> None:
    """P's workers report, and its scheduler frees."""
    trace = scene.trace
    trace.later(P, "get_transfer_results", says, *NO_FORWARD, returned=returned)
    trace.schedules(P, "_free_blocks", "Free for anybody, and still found by the prefix cache until they are taken.",
                    *UPDATE, *FREE_BLOCKS, *COLLECT, held=0, looks=HASHED)


def polled(scene: Scene, says: str, returned: str) -> None:
    """A later step of D whose workers find the transfer ended."""
    trace = scene.trace
    trace.at_ms += scene.step_ms
    trace.later(D, "get_transfer_results", says, *LOAD_AFTER, returned=returned)


def last_token(scene: Scene, says: str = "The first token, sampled by D; P’s was thrown away.") -> float:
    """D's blocks enter its prefix cache, and the last prompt token is computed again for its logits."""
    trace = scene.trace
    polled(scene, "One or two steps later all ranks say so.", "finished_recving")
    trace.schedules(D, "update_connector_output", "Every rank has it: heartbeats for it end, and the next step may "
                    "take it.", *UPDATE, *COLLECT)
    trace.schedules(D, "cache_blocks", "The blocks enter D’s prefix cache. The last prompt token is computed again, "
                    "for its logits.", "_update_waiting_for_remote_kv", "cache_blocks",
                    given=f"request, {scene.prompt:,}", status=WAITING,
                    computed=scene.prompt - 1)
    trace.schedules(D, "allocate_slots", "It runs, with one token.", "allocate_slots", "update_state_after_alloc",
                    given=slots(1), status=RUNNING, computed=scene.prompt, looks=COMPUTING)
    trace.schedules(D, "build_connector_meta", "Nothing for the connector to do.")
    trace.at_ms += 2 * scene.step_ms
    trace.works(D, "forward", f"One token beside the others’, {span(scene.step_ms / 1e3)}.", *LOAD_AFTER,
                returned="1 token")
    trace.row(CLIENT, CLIENT, "first token", says)
    return trace.at_ms
