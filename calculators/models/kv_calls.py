"""What a KV connector is asked, in the order that the engine asks: rows of calls, and whose blocks are held after each.

Source of every name and of the order: vllm 0.33.0, v1/core/sched/scheduler.py; v1/worker/gpu/kv_connector.py;
distributed/kv_transfer/kv_connector/v1/base.py. tests/golden/kv_transfer_calls.json is a record of that code running.
"""
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

FREE, COMPUTING, HELD, HASHED, GONE = "free", "computing", "held", "hashed", "gone"
SCHEDULER, WORKERS = "scheduler", "workers"

# Runs of calls that always follow each other.
BIND = ("handle_preemptions", "bind_connector_metadata")
LAYERS = ("wait_for_layer_load", "save_kv_layer")
REPORT = ("get_transfer_results", "get_block_ids_with_load_errors", "get_kv_connector_stats",
          "get_kv_connector_kv_cache_events", "build_connector_worker_meta", "clear_connector_metadata")
LOAD_AFTER = (*BIND, *LAYERS, "finish_forward", "start_load_kv", "wait_for_save", *REPORT)
NO_FORWARD = (*BIND, "finish_forward", "start_load_kv", "wait_for_save", *REPORT)
UPDATE = ("_update_from_kv_xfer_finished", "update_connector_output")
COLLECT = ("get_kv_connector_stats", "take_events")
FREE_BLOCKS = ("_free_blocks", "free")

GIVEN = {  # what a call is given, where that is no number of this request's
    "on_new_request": "request", "get_computed_blocks": "request", "get_loaded_kv_cache_group_ids": "request",
    "build_connector_meta": "scheduler_output", "handle_preemptions": "metadata", "bind_connector_metadata": "metadata",
    "start_load_kv": "forward_context", "wait_for_layer_load": "layer_name",
    "save_kv_layer": "layer_name, kv_layer, attn_metadata", "get_transfer_results": "finished_req_ids",
    "update_connector_output": "kv_connector_output", "request_finished_all_groups": "request, block_ids",
    "_free_blocks": "request", "free": "request", "_handle_failed_recving": "failed_req_ids",
    "_handle_invalid_blocks": "invalid_block_ids, num_scheduled_tokens", "evict_blocks": "block_ids",
}

WAITING, LOADING, RUNNING = "WAITING", "WAITING_FOR_REMOTE_KVS", "RUNNING"
LENGTH_CAPPED, ABORTED, ERROR = "FINISHED_LENGTH_CAPPED", "FINISHED_ABORTED", "FINISHED_ERROR"


@dataclass(frozen=True, slots=True)
class Holding:
    """A request on one engine: its status, the tokens that count as computed, and its blocks.

    `held` are the request's own blocks; `looks` says what they are to everybody else: free, computing, held (nobody
    computes on them), hashed (free, still found by the prefix cache), or gone with the process.
    """

    status: str = ""
    computed: int = 0
    held: int = 0
    looks: str = FREE


@dataclass(frozen=True, slots=True)
class Step:
    """One row: the call that is looked at, on which lane of which engine, and what is so after it.

    `before` are calls of that engine since its last row that bring nothing new; `calls` are the row's own, in order.
    A row without calls is the router, the network or the client.
    """

    engine: str
    lane: str
    name: str
    given: str
    before: tuple[str, ...]
    calls: tuple[str, ...]
    returned: str
    says: str
    at_ms: float
    held_by: dict[str, Holding]

    @property
    def written(self) -> str:
        """The call with what it is given; the bare name of what is none."""
        return f"{self.name}({self.given})" if self.name in self.calls else self.name

    @property
    def also(self) -> tuple[str, ...]:
        """The row's calls besides the one that it is named after."""
        return tuple(call for call in self.calls if call != self.name)


@dataclass(slots=True)
class Trace:
    """Rows as they are written down: a clock, and for each engine its request and the calls that nothing came of."""

    held_by: dict[str, Holding]
    at_ms: float = 0.0
    steps: list[Step] = field(default_factory=list)
    quiet: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def row(self, engine: str, lane: str, name: str, says: str, *, calls: Iterable[str] = (), given: str = "",
            returned: str = "", **changed: str | int) -> None:
        """Add a row; `changed` is what it alters of the engine's holding."""
        before = self.quiet.pop(engine, ()) if calls else ()
        if changed:
            self.held_by = self.held_by | {engine: replace(self.held_by[engine], **changed)}
        self.steps.append(Step(engine, lane, name, given or GIVEN.get(name, ""), before, tuple(calls), returned, says,
                               self.at_ms, self.held_by))

    def schedules(self, engine: str, name: str, says: str, *more: str, given: str = "", returned: str = "",
                  **changed: str | int) -> None:
        """A row of the scheduler's side; `more` are all its calls, in order, when they are not `name` alone."""
        self.row(engine, SCHEDULER, name, says, calls=more or (name,), given=given, returned=returned, **changed)

    def works(self, engine: str, name: str, says: str, *more: str, returned: str = "", **changed: str | int) -> None:
        """A row of the workers' side."""
        self.row(engine, WORKERS, name, says, calls=more or (name,), returned=returned, **changed)

    def later(self, engine: str, name: str, says: str, *more: str, returned: str = "") -> None:
        """A row of the workers' side in a step for which the scheduler had nothing to say."""
        self.unnoticed(engine, "build_connector_meta")
        self.works(engine, name, says, *more, returned=returned)

    def gone(self, engine: str) -> None:
        """An engine's process has died, and its blocks with it."""
        self.held_by = self.held_by | {engine: Holding(looks=GONE)}

    def unnoticed(self, engine: str, *calls: str) -> None:
        """Calls of an engine that bring nothing new; they are told with its next row."""
        self.quiet[engine] = self.quiet.get(engine, ()) + calls


def matched(hit: int) -> str:
    """What get_num_new_matched_tokens is given: the request, and the tokens that are here already."""
    return f"request, {hit:,}"


def slots(tokens: int, loaded: int = 0, later: bool = False) -> str:
    """What allocate_slots is given: the tokens of this step, those that a load brings, and whether they are cached."""
    external = f", num_external_computed_tokens={loaded:,}" if loaded else ""
    return f"request, {tokens:,}{external}{', delay_cache_blocks=True' if later else ''}"


def told_blocks(loaded: int) -> str:
    """What update_state_after_alloc is given: the blocks, and how many tokens are to be loaded into them."""
    return f"request, blocks, {loaded:,}"


def calls_of(steps: Iterable[Step], engine: str) -> list[str]:
    """Every call of one engine in order, the quiet ones included."""
    return [call for step in steps if step.engine == engine for call in (*step.before, *step.calls)]


def whole_blocks(tokens: int, block_size: int) -> int:
    """Tokens in whole blocks."""
    return tokens // block_size * block_size


def blocks_of(tokens: int, block_size: int) -> int:
    """Blocks that so many tokens take."""
    return -(-tokens // block_size)
