"""One request through a prefill and a decode instance with NIXL pull: each call in order, and who holds the blocks."""
from dataclasses import dataclass

from calculators.models import kv_lease, kv_transfer
from calculators.models.base import Line, Refusal
from calculators.models.kv_calls import (
    ABORTED,
    COLLECT,
    COMPUTING,
    ERROR,
    FREE,
    FREE_BLOCKS,
    LOAD_AFTER,
    NO_FORWARD,
    RUNNING,
    UPDATE,
    WAITING,
    Holding,
    Step,
    Trace,
    matched,
    slots,
    whole_blocks,
)
from calculators.models.kv_lease import Lease
from calculators.models.nixl_parts import (
    CLIENT,
    KNOWN,
    NETWORK,
    NEW,
    ROUTER,
    D,
    P,
    Scene,
    admit,
    hand_over,
    last_token,
    polled,
    prefill,
    reads,
    released,
    waits,
    wire,
)
from calculators.models.quantity import say, span

P_DIES, D_DIES, NONE, HANDSHAKE, READ_FAILS = "P dies", "D dies", "none", "handshake", "read"
ABORT, ABORT_QUEUED, STALL = "abort", "abort queued", "stall"
FAILS = (HANDSHAKE, READ_FAILS, P_DIES)
FAIL, RECOMPUTE = "fail", "recompute"
HANDSHAKE_TIMEOUT_S = 5


@dataclass(frozen=True, slots=True)
class NixlPull:
    """Every call for one request, where its time goes, and the lease that P's blocks are under."""

    steps: tuple[Step, ...]
    blocks: int
    read_blocks: int
    ranks: tuple[int, int]
    prefill_ms: float
    read_ms: float
    decode_step_ms: float
    first_token_ms: float | None
    waited_ms: float | None
    lease: Lease
    kv_bytes: int
    expired: bool
    finding: str
    lines: tuple[Line, ...]

    @property
    def rank_gb(self) -> float:
        """GB of the prompt that one rank of D holds."""
        return self.kv_bytes / self.ranks[1] / 1e9


def simulate(*, model: str = "llama-3.1-70b", prompt_tokens: int = 8_192, local_hit_tokens: int = 0, gpu: str = "h100",
             prefill_gpus: int = 4, decode_gpus: int = 4, link_gb_per_s: float = 50, efficiency: float = 0.8,
             mfu: float = 0.5, block_size: int = 16, kv_lease_duration: int = 30, queue_s: float = 0,
             peer: str = KNOWN, kv_load_failure_policy: str = FAIL, fault: str = NONE, dies_s: float = 22) -> NixlPull:
    """Follow one prompt whose blocks P computes and D reads, nobody else on P and somebody decoding on D.

    P computes the prompt in one step. The reads start once D's scheduler admits the request, `queue_s` after P is done.
    Calls and their order are exact for a plain transformer. Times are those of kv_transfer.solve.
    Source: vllm 0.33.0, kv_connector/v1/nixl/pull_scheduler.py, pull_worker.py, base_worker.py; tests/golden.
    """
    if fault == HANDSHAKE and peer == KNOWN:
        raise Refusal("A known peer has shaken hands already; choose a new one.", "fault")
    if fault == D_DIES and dies_s >= queue_s:
        raise Refusal(f"By then D has read it: it waits {queue_s:g} s. Let it wait longer, or die sooner.", "dies_s")
    sized = kv_transfer.solve(model=model, prompt_tokens=prompt_tokens, gpu=gpu, prefill_gpus=prefill_gpus,
                              decode_gpus=decode_gpus, link_gb_per_s=link_gb_per_s, efficiency=efficiency, mfu=mfu)
    hit = whole_blocks(min(local_hit_tokens, prompt_tokens - 1), block_size)
    read_ms = sized.read_ms * (prompt_tokens - hit) / prompt_tokens
    lease = lease_of(fault, kv_lease_duration, queue_s, dies_s, read_ms, model, prompt_tokens)
    trace = Trace({P: Holding(), D: Holding(looks=FREE)})
    own_ms = sized.prefill_ms * prefill_gpus / decode_gpus
    scene = Scene(trace, prompt_tokens, hit, block_size, sized.prefill_ms, own_ms, read_ms, sized.decode_step_ms, lease,
                  kv_load_failure_policy)
    prefill(scene)
    hand_over(scene)
    first_token_ms, expired = ENDS[fault](scene, queue_s, peer, fault)
    return NixlPull(
        steps=tuple(trace.steps), blocks=scene.blocks, read_blocks=scene.read_blocks,
        ranks=(prefill_gpus, decode_gpus), prefill_ms=sized.prefill_ms, read_ms=read_ms,
        decode_step_ms=sized.decode_step_ms, first_token_ms=first_token_ms,
        waited_ms=None if fault != NONE or queue_s else first_token_ms - sized.prefill_ms - read_ms,
        lease=lease, kv_bytes=sized.kv_bytes, expired=expired,
        finding=finding_of(fault, scene, first_token_ms), lines=lines_of(scene, sized, first_token_ms),
    )


def lease_of(fault: str, lease_s: int, queue_s: float, dies_s: float, read_ms: float, model: str,
             prompt_tokens: int) -> Lease:
    """The lease of P's blocks: D reads them, or its heartbeats end without a word."""
    beats_end = {D_DIES: dies_s, HANDSHAKE: 0.0, READ_FAILS: queue_s, STALL: 0.0}
    ends_by = kv_lease.DIES if fault in beats_end else kv_lease.READS
    ends_s = beats_end.get(fault, queue_s + (0 if fault == ABORT_QUEUED else read_ms / 1e3))
    return kv_lease.solve(kv_lease_duration=lease_s, ends_by=ends_by, ends_s=ends_s, model=model,
                          prompt_tokens=prompt_tokens)


def goes_well(scene: Scene, queue_s: float, peer: str, fault: str) -> tuple[float, bool]:
    """Nothing fails."""
    peer = waits(scene, queue_s, peer)
    admit(scene, peer)
    reads(scene, peer)
    wire(scene)
    released(scene, "The notification names the request and how many readers there are; when all have sent it, the "
             "request is done.")
    return last_token(scene), False


def read_fails(scene: Scene, queue_s: float, peer: str, fault: str) -> tuple[float | None, bool]:
    """The handshake or the read fails; D ends the request or computes the prompt itself."""
    trace = scene.trace
    late = fault == HANDSHAKE and queue_s > scene.lease.frees_s  # then P gives up before D has asked
    if late:
        runs_out(scene)
    peer = waits(scene, queue_s, peer, refused=fault == HANDSHAKE)
    admit(scene, peer)
    if fault == HANDSHAKE:
        trace.row(NETWORK, NETWORK, "handshake refused", "Another vLLM version, KV dtype or attention backend: the "
                  f"hashes differ. No answer at all is given up after {HANDSHAKE_TIMEOUT_S} s.")
    else:
        reads(scene, peer)
        if fault == P_DIES:
            trace.gone(P)
            trace.row(NETWORK, NETWORK, "P dies", "The READ cannot end; NIXL reports an error.")
        else:
            trace.row(NETWORK, NETWORK, "READ fails", "NIXL reports an error. P is not notified.")
    polled(scene, "The request is reported received and failed at once, with its blocks as not to be trusted.",
           f"failed_recving, {scene.read_blocks:,} bad")
    if scene.policy == RECOMPUTE:
        first = computes_itself(scene)
    else:
        first = None
        trace.schedules(D, "_handle_failed_recving", "Policy fail, the default: the request is to end with an error.",
                        "_handle_failed_recving", "_handle_invalid_blocks")
        trace.schedules(D, "request_finished_all_groups", "The connector has nothing to keep; its heartbeats end.",
                        "finish_requests", "request_finished_all_groups", returned="(False, None)", status=ERROR,
                        computed=0)
        trace.schedules(D, "_free_blocks", "The transfer has ended, so its blocks can go.", *UPDATE, *FREE_BLOCKS,
                        *COLLECT, held=0, looks=FREE)
        trace.row(CLIENT, CLIENT, "error", "The client gets an error. The router may try another D while P’s lease "
                  "lasts." if fault != P_DIES else "The client gets an error; the router must drop P.")
    if fault == P_DIES:
        return first, False
    if not late:
        runs_out(scene)
    return first, True


def computes_itself(scene: Scene) -> float:
    """Policy recompute: D prefills the prompt among its own decoders."""
    trace, left = scene.trace, scene.prompt - scene.hit
    trace.schedules(D, "_handle_failed_recving", "Policy recompute: computed is cut to 0, for NIXL fails a request as "
                    "a whole.", "_handle_failed_recving", "_handle_invalid_blocks", *UPDATE, *COLLECT, computed=0)
    trace.schedules(D, "free", "Nothing valid was read: the blocks are given back first.",
                    "_update_waiting_for_remote_kv", "free", status=WAITING, held=0, looks=FREE)
    trace.schedules(D, "get_num_new_matched_tokens", "do_remote_prefill is cleared, so D does not ask P again; its own "
                    f"prefix cache is looked up again: {scene.hit:,}.", "get_computed_blocks_for_connector",
                    "get_num_new_matched_tokens", given=matched(scene.hit), returned="(0, False)")
    trace.schedules(D, "allocate_slots", f"The {left:,} tokens are D’s to compute.", "allocate_slots",
                    "update_state_after_alloc", "build_connector_meta", given=slots(left),
                    returned=f"{scene.blocks:,} blocks", held=scene.blocks, status=RUNNING, computed=scene.prompt,
                    looks=COMPUTING)
    trace.at_ms += scene.own_prefill_ms * left / scene.prompt
    trace.works(D, "forward", f"{left:,} prompt tokens among D’s decoders: what the split was to spare them.",
                *LOAD_AFTER, returned=f"{left:,} tokens")
    trace.row(CLIENT, CLIENT, "first token", "Late, but there.")
    return trace.at_ms


def runs_out(scene: Scene) -> None:
    """Nobody reads: the lease ends."""
    scene.trace.at_ms = max(scene.trace.at_ms, scene.prefill_ms + scene.lease.frees_s * 1e3)
    released(scene, f"{scene.lease.frees_s:g} s after the prefill the lease is over: nixl_num_kv_expired_reqs + 1 from "
             "each of P’s workers.", "finished_sending, expired")


def d_dies(scene: Scene, queue_s: float, peer: str, fault: str) -> tuple[None, bool]:
    """D dies while the request waits in its queue."""
    waits(scene, scene.lease.end_s, peer)
    trace = scene.trace
    trace.gone(D)
    trace.row(ROUTER, ROUTER, "D dies", "No more heartbeats. The router may send the request to another D while the "
              "lease lasts.")
    runs_out(scene)
    return None, True


def aborted(scene: Scene, queue_s: float, peer: str, fault: str) -> tuple[None, bool]:
    """The client goes away while the read runs."""
    trace = scene.trace
    peer = waits(scene, queue_s, peer)
    admit(scene, peer)
    reads(scene, peer)
    trace.row(CLIENT, CLIENT, "abort", "The client has gone away.")
    trace.schedules(D, "request_finished_all_groups", "The connector does not ask for time, but the scheduler does: a "
                    "read is under way, and freed blocks would be written by the NIC after they are somebody else’s.",
                    "finish_requests", "request_finished_all_groups", returned="(False, None)", status=ABORTED)
    wire(scene)
    released(scene, "P does not know of the abort; the read has ended, and that is what it waits for.")
    polled(scene, "The read has ended.", "finished_recving")
    trace.schedules(D, "_free_blocks", "Freed only now that nothing writes to them.", *UPDATE, *FREE_BLOCKS, *COLLECT,
                    held=0, looks=FREE)
    return None, False


def aborted_early(scene: Scene, queue_s: float, peer: str, fault: str) -> tuple[None, bool]:
    """The client goes away before D has admitted the request."""
    trace = scene.trace
    peer = waits(scene, queue_s, peer)
    trace.row(CLIENT, CLIENT, "abort", "The client goes away while the request waits in D’s queue.")
    trace.schedules(D, "request_finished_all_groups", "do_remote_prefill still stands, so P holds blocks for it: a "
                    "receive without blocks is put on the list.", "finish_requests", "request_finished_all_groups",
                    *FREE_BLOCKS, returned="(False, None)", status=ABORTED)
    trace.schedules(D, "build_connector_meta", "The receive list, with no blocks.")
    if peer == NEW:
        trace.works(D, "start_load_kv", "A handshake first.", *LOAD_AFTER)
        trace.unnoticed(D, *UPDATE, *COLLECT)
    notifies = trace.later if peer == NEW else trace.works
    notifies(D, "start_load_kv", "Nothing to read: only the notification is sent.", *LOAD_AFTER)
    trace.row(NETWORK, NETWORK, "notification", "What would have followed a read.")
    released(scene, "To P that is the same as a read: it is done.")
    return None, False


def stalls(scene: Scene, queue_s: float, peer: str, fault: str) -> tuple[float, bool]:
    """D stands still past the lease, then reads."""
    trace = scene.trace
    trace.row(ROUTER, ROUTER, "D stands still", f"D’s process is frozen for over {scene.lease.lease_s} s: no step, "
              "so no heartbeat.")
    runs_out(scene)
    admit(scene, peer)
    reads(scene, peer)
    wire(scene, "Those blocks may be somebody else’s by now; nothing on the data path checks.")
    trace.later(P, "get_transfer_results", "A notification for a request that P no longer knows: an error in the log "
                "and nixl_num_notifications_after_expiry + 1.", *NO_FORWARD)
    return last_token(scene, "It may be wrong, and the client cannot know."), True


ENDS = {NONE: goes_well, HANDSHAKE: read_fails, READ_FAILS: read_fails, P_DIES: read_fails, D_DIES: d_dies,
        ABORT: aborted, ABORT_QUEUED: aborted_early, STALL: stalls}


def finding_of(fault: str, scene: Scene, first_token_ms: float | None) -> str:
    """How it ends, for everybody."""
    frees = f"P’s blocks go free {span(scene.lease.frees_s)} after its prefill"
    if fault in FAILS and first_token_ms is None:
        blocks = "P’s blocks are gone with it" if fault == P_DIES else f"{frees}, when the lease ends"
        return f"The request ends with an error (policy fail). {blocks}."
    if fault in FAILS:
        return f"D computes the prompt itself: first token at {span(first_token_ms / 1e3)}."
    if fault == D_DIES:
        return f"The request is lost. {frees}: the later of the lease, {scene.lease.lease_s} s, and the last " \
               f"heartbeat, at {scene.lease.beats[-1].at_s:g} s, + {scene.lease.extension_s} s."
    if fault == ABORT:
        return "D frees only once the read has ended, or the NIC would write into somebody else’s blocks."
    if fault == ABORT_QUEUED:
        return "D’s empty receive tells P to free at once; without it P would hold the blocks to the lease’s end."
    if fault == STALL:
        return "P frees, D reads too late: detected and counted, not prevented."
    return (f"First token at {span(first_token_ms / 1e3)}; the read is "
            f"{100 * scene.read_ms / scene.prefill_ms:.1f}% of the prefill.")


def lines_of(scene: Scene, sized: kv_transfer.Split, first_token_ms: float | None) -> tuple[Line, ...]:
    """Blocks and bytes, the read, and what P held for how long."""
    size, left, frees = sized.kv_bytes / 1e9, scene.prompt - scene.hit, scene.lease.frees_s
    ranks = round(sized.kv_bytes / sized.rank_bytes)
    lines = [
        Line("blocks a rank", f"{scene.prompt:,} / {scene.block_size}", scene.blocks, "blocks"),
        Line("of them to read", f"{left:,} / {scene.block_size}", scene.read_blocks, "blocks"),
        Line("each rank reads", f"{left:,} / {scene.prompt:,} × {say(size, '')} / {ranks}",
             left / scene.prompt * size / ranks, "GB"),
        Line("the read", f"{say(100 * scene.read_ms / scene.prefill_ms, '')}% of the prefill", scene.read_ms, "ms"),
        Line("held by P after it", f"{say(frees, '')} s × {say(size, '')}", frees * size, "GB·s"),
    ]
    if first_token_ms is not None:
        lines.append(Line("first token", "", first_token_ms, "ms"))
    return tuple(lines)
