"""Recorded runs of vLLM's own scheduler, replayed: run the model on their inputs and name the first difference."""
import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, NamedTuple

from calculators.models.scheduler import Knobs, Request, Scheduler, Step

Json = Any
MISSING = "no such field"
STATES = {
    "after_schedule": ("running", "waiting", "computed", "blocks", "free"),
    "after": ("running", "waiting", "computed", "tokens", "free", "used", "free_queue", "cached"),
}


def recognise(document: Json) -> bool:
    """Whether the document is a recorded scheduler run."""
    if not isinstance(document, dict) or not isinstance(config := document.get("config"), dict):
        return False
    has_lists = all(isinstance(document.get(part), list) for part in ("requests", "steps"))
    return has_lists and {"scheduler", "num_gpu_blocks", "max_num_batched_tokens"} <= config.keys()


def cases(document: Json, name: str) -> Iterator[tuple[str, str | None]]:
    """The one case of the file with its first difference, or None if every field of every step is equal."""
    yield document.get("name", name), first_difference(document)


def first_difference(document: Json) -> str | None:
    """Where the model and the record differ first: "step 4 after.free: ours 3, theirs 2"; None if nowhere."""
    scheduler = scheduler_of(document)
    for number, theirs in enumerate(document["steps"]):
        if scheduler.all_ended and not scheduler.in_flight:
            return f"steps: ours {number}, theirs {len(document['steps'])}"
        ours = recorded_form(scheduler.step(), scheduler.knobs)
        if difference := difference_between(ours, theirs, ""):
            return f"step {number} {difference}"
    if not scheduler.all_ended:
        return f"steps: ours more than {scheduler.next_step}, theirs {len(document['steps'])}"
    return None


def scheduler_of(document: Json) -> Scheduler:
    """The model at step 0 of a recorded run, with the run's inputs."""
    config = dict(document["config"])
    known = {knob.name for knob in fields(Knobs)} - {"usable_blocks", "async_scheduling"}
    knobs = Knobs(
        usable_blocks=config["num_gpu_blocks"] - 1,  # block 0 is the null block
        async_scheduling=config["scheduler"] == "AsyncScheduler",
        **{name: value for name, value in config.items() if name in known},
    )
    requests = [
        Request(
            id=r["id"], prompt_tokens=len(r["prompt_token_ids"]), max_tokens=r["max_tokens"],
            arrival_step=r["arrival_step"], priority=r.get("priority", 0), salt=r.get("cache_salt") or "",
            stop_after=r.get("stop_after"), prompt_token_ids=tuple(r["prompt_token_ids"]),
        )
        for r in document["requests"]
    ]
    aborts = [(abort["step"], abort["id"]) for abort in document.get("aborts", [])]
    drafts = [step.get("drafts", {}) for step in document["steps"]]
    accepted = [step.get("accepted", {}) for step in document["steps"]]
    return Scheduler(knobs, requests, drafts, accepted, aborts)


def recorded_form(step: Step, knobs: Knobs) -> dict[str, Json]:
    """A step as a recorded file has it, down to the fields that only some runs have."""
    form: dict[str, Json] = {
        name: getattr(step, name)
        for name in ("step", "arrived", "scheduled", "total_scheduled", "new", "resumed", "preempted", "prefix_hit",
                     "waiting_stop", "evicted", "sampled", "finished")
    }
    form["alloc"] = step.alloc
    for name, parts in STATES.items():
        state = getattr(step, name)
        form[name] = {part: getattr(state, part) for part in parts}
        if knobs.async_scheduling:
            form[name]["placeholders"] = state.placeholders
    if step.aborted:
        form["aborted"] = step.aborted
    if knobs.num_speculative_tokens:
        form |= {name: getattr(step, name) for name in ("scheduled_drafts", "accepted", "drafts")}
    if knobs.async_scheduling:
        form["processed_step"] = step.processed_step
        if step.not_called:
            form["not_called"] = True
    return form


class Difference(NamedTuple):
    """One field that is not the same: its path, and what stands there on either side, as JSON."""

    path: str
    ours: str
    theirs: str

    def __str__(self) -> str:
        return f"{self.path}: ours {self.ours}, theirs {self.theirs}"


def difference_between(ours: Json, theirs: Json, where: str) -> str | None:
    """The first difference as "path: ours …, theirs …", None without."""
    first = next(differences(ours, theirs, where), None)
    return str(first) if first else None


def differences(ours: Json, theirs: Json, where: str = "") -> Iterator[Difference]:
    """Every difference, field by field; a tuple equals a list, and types count (1 is not true)."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in [*ours, *(key for key in theirs if key not in ours)]:
            path = f"{where}.{key}" if where else key
            yield from differences(ours.get(key, MISSING), theirs.get(key, MISSING), path)
        return
    mine, other = (value if value is MISSING else json.dumps(value) for value in (ours, theirs))
    if mine != other:
        yield Difference(where, mine, other)
