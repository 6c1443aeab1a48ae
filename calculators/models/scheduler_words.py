"""A scheduler step in sentences, entry by entry."""
from collections.abc import Iterator
from dataclasses import dataclass

from calculators.models.scheduler_run import Request, Run, Step


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a step; `who` are the requests it opens with, "" for one about the step as a whole."""

    who: str
    says: str


@dataclass(frozen=True, slots=True)
class Limits:
    """What a step's entries are cut by, in tokens, and the sizes that a prefix hit is counted in."""

    max_num_batched_tokens: int
    block_size: int
    shared_prefix_tokens: int
    long_prefill_token_threshold: int = 0


def sentences(run: Run, at: int, limits: Limits) -> tuple[Sentence, ...]:
    """What happened in a step beyond one token each: preemptions, admissions, cuts, ends, lost cache entries."""
    step = run.steps[at]
    parts = (preemptions, admissions, cut_prefills, left_out, ends, lost_entries)
    return tuple(sentence for part in parts for sentence in part(run, step, limits))


def preemptions(run: Run, step: Step, limits: Limits) -> Iterator[Sentence]:
    for victim in run.victims_of(step):
        cause = "asks for a block, none is free, and it is its own victim" if victim.id == victim.asked_by else (
            f"is preempted: {victim.asked_by} asks for a block and none is free"
        )
        yield Sentence(
            victim.id, f"{cause}. Its {counted(victim.freed_blocks, 'block')} go back, its {victim.lost_tokens:,} "
                       "computed tokens must be computed again or hit the cache; what it has sampled is kept.",
        )


def admissions(run: Run, step: Step, limits: Limits) -> Iterator[Sentence]:
    """One sentence for each request that came from the waiting queue."""
    for name in step.tokens:
        if name not in step.prefix_hit:
            continue
        hit, known, got = step.prefix_hit[name], step.looked_up[name], step.tokens[name]
        request = called(run, name)
        verb = "resumes" if name in step.resumed else "is admitted"
        rest = computes(step, name, limits)
        if hit and prefix_alone(request, known, limits):
            hits = f"is the shared prefix itself, yet hits only {hit:,} of {known:,}"
            yield Sentence(name, f"{hits}: the last token must run.")
        elif hit:
            yield Sentence(name, f"{verb}: needs {known:,}, finds {hit:,} in the cache, {rest}.")
        elif got < step.needs[name]:
            yield Sentence(name, f"{verb}: {rest}.")
        else:
            yield Sentence(name, f"{verb}: computes all of its {known:,}; nothing of it is cached.")


def cut_prefills(run: Run, step: Step, limits: Limits) -> Iterator[Sentence]:
    """Running requests that asked for more than they got."""
    for name, got in step.tokens.items():
        if name not in step.prefix_hit and got < step.needs[name]:
            yield Sentence(name, f"{computes(step, name, limits)}.")


def left_out(run: Run, step: Step, limits: Limits) -> Iterator[Sentence]:
    """Running requests that the budget did not reach."""
    names = [name for name in step.after.running if name not in step.tokens and step.running_stop == "budget"]
    if names:
        verbs = "is running and gets" if len(names) == 1 else "are running and get"
        yield Sentence(listed(names), f"{verbs} nothing: the budget is gone.")


def ends(run: Run, step: Step, limits: Limits) -> Iterator[Sentence]:
    free = step.after.free
    if len(step.finished) == 1:
        name = step.finished[0]
        tokens = sum(len(each.sampled.get(name, ())) for each in run.steps[: step.step + 1])
        yield Sentence(name, f"samples its {nth(tokens)} token and finishes; its blocks go back, {free:,} free.")
    elif step.finished:
        yield Sentence(listed(step.finished), f"finish; their blocks go back, {free:,} free.")
    for name in step.aborted:
        yield Sentence(name, "is aborted; its blocks go back.")


def lost_entries(run: Run, step: Step, limits: Limits) -> Iterator[Sentence]:
    """Blocks whose cached content was overwritten, and by whom."""
    if not step.evicted or not step.pool or not step.step:
        return
    before = run.steps[step.step - 1].pool
    taken = [f"block {id} ({before[id - 1].label}) to {step.pool[id - 1].owner}" for id in step.evicted[:4]]
    more = f", and {len(step.evicted) - 4} more" if len(step.evicted) > 4 else ""
    yield Sentence("", f"Cached content is overwritten: {', '.join(taken)}{more}.")


def computes(step: Step, name: str, limits: Limits) -> str:
    """"computes 12", or what it was cut to and by what: "gets 11 of its 30: the budget is gone"."""
    got, asked = step.tokens[name], step.needs[name]
    if got == asked:
        return f"computes {got:,}"
    return f"gets {got:,} of its {asked:,}: {cut_by(step, name, limits)}"


def cut_by(step: Step, name: str, limits: Limits) -> str:
    """Why an entry is smaller than what its request asked for."""
    if step.tokens[name] == left_for(step, name, limits):
        return "the budget is gone"
    if limits.long_prefill_token_threshold:
        return "the long-prefill threshold caps it"
    # A victim of this step has given its tokens back, too late for those that were served before.
    return "the budget was gone when its turn came" if step.preempted else "max_model_len ends there"


def left_for(step: Step, name: str, limits: Limits) -> int:
    """The budget left when this entry's turn came, in tokens."""
    served = list(step.tokens)
    return limits.max_num_batched_tokens - sum(step.tokens[other] for other in served[: served.index(name)])


def why(run: Run, at: int, name: str, limits: Limits) -> str:
    """The reason for one entry of a step's map, 0 for a request that got nothing included."""
    step = run.steps[at]
    if name in step.tokens:
        return why_served(run, step, name, limits)
    if name in step.preempted:
        return "it is preempted in this step, since a running request needs its blocks"
    if step.states[name] in ("running", "finished"):
        return "it runs, and the budget is gone before its turn" if step.running_stop == "budget" else (
            "it runs, and its next token is still on the way"
        )
    waiting = step.after_schedule.waiting
    return "nobody overtakes the head of the queue" if waiting and waiting[0] != name else why_waiting(step, limits)


def why_served(run: Run, step: Step, name: str, limits: Limits) -> str:
    got, asked, left = step.tokens[name], step.needs[name], left_for(step, name, limits)
    if got < asked and got == left:
        return f"it asks for {asked:,}; {left:,} of {limits.max_num_batched_tokens:,} tokens were left"
    if got < asked:
        return f"it asks for {asked:,}; {cut_by(step, name, limits)}"
    if name in step.prefix_hit:
        hit, known = step.prefix_hit[name], step.looked_up[name]
        return f"{hit:,} of its {known:,} come from the cache" if hit else f"all of its {known:,}, none cached"
    if drafts := step.scheduled_drafts.get(name, 0):
        return f"one token and {drafts} to verify"
    return "it decodes: one token" if got == 1 else f"the last {got:,} of its prefill"


def stop_words(step: Step, limits: Limits) -> str:
    """Why the step ended where it did, after its sum: "nothing left for the next in line"."""
    if step.waiting_stop == "budget":
        return "nothing left for the next in line"
    if step.waiting_stop == "none_waiting":
        return "nobody waits"
    return why_waiting(step, limits)


def why_waiting(step: Step, limits: Limits) -> str:
    """Why the head of the waiting queue was not admitted."""
    waiting = step.after_schedule.waiting
    head = waiting[0] if waiting else "the next"
    return {
        "budget": f"no token is left for {head}",
        "max_num_seqs": f"{head} waits: every one of the {len(step.after_schedule.running):,} places is taken",
        "no_blocks": f"{head} does not fit in the {counted(free_at_stop(step), 'free block')}, and nobody overtakes it",
        "preemption": "a step that preempted admits nobody",
        "whole_prompt": f"{head} does not fit in the rest of the budget, and chunking is off",
        "prefill_held": f"{head} is held back by the prefill interval",
        "padded_decode": f"{head} with its padding drafts does not fit in the rest of the budget",
    }.get(step.waiting_stop, "nobody waits")


def free_at_stop(step: Step) -> int:
    failed = [call.free_before for call in step.alloc if not call.ok]
    return failed[-1] if failed else step.after_schedule.free


def prefix_alone(request: Request, known: int, limits: Limits) -> bool:
    """Whether the request is nothing but the shared prefix, full blocks of it, so that only the last-token rule keeps
    it from a hit on all of it."""
    whole = request.shares_prefix and known <= limits.shared_prefix_tokens and known % limits.block_size == 0
    return whole and known == request.prompt_tokens


def called(run: Run, name: str) -> Request:
    return next(request for request in run.requests if request.id == name)


def listed(names: tuple[str, ...] | list[str]) -> str:
    """"A", "A and B", "A, B and C"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def counted(count: int, noun: str) -> str:
    """"1 block", "2 blocks"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def nth(number: int) -> str:
    """"1st", "2nd", "13th"."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"
