"""Prefix caching: what a block's key covers, how a prompt is looked up, and which blocks a request takes."""
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256

from calculators.models.base import Line, Refusal
from calculators.models.kv_cache import Block, KvCache, KvSequence

HIT, LAST, LOST, MISS, UNASKED = "hit", "last", "lost", "miss", "unasked"
KEY_DIGITS = 8
MOST_PROMPTS, MOST_TOKENS, MOST_ALL_TOKENS = 12, 10_000, 12_000  # a run is computed at every look
PROMPT = re.compile(
    r"([A-Za-z][A-Za-z0-9_]{0,7}):([0-9]{1,6})(?:/([0-9]{1,6}))?"
    r"(?:=([A-Za-z][A-Za-z0-9_]{0,7})(?::([0-9]{1,6}))?)?(?:\*([0-9]{1,6}))?(?:~([A-Za-z0-9_-]{1,16}))?"
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request: its tokens begin with the first `shared` of the earlier request `like`, but for token `unlike`.

    `unlike` counts from 1; 0 leaves every shared token as it is. With `shared` None as many are shared as there are.
    """

    id: str
    prompt_tokens: int
    output_tokens: int = 1
    like: str = ""
    shared: int | None = None
    unlike: int = 0
    salt: str = ""


def parse_prompts(text: str) -> tuple[Prompt, ...]:
    """Read "r1:64,r2:64=r1,r4:70=r1:62,r5:64=r1*3~A": id : prompt / output = like : shared * unlike ~ salt.

    Raises Refusal naming the first piece that can't be read, an id used twice, or a request too long to follow.
    """
    pieces = ["".join(piece.split()) for piece in text.replace("\n", ",").split(",") if piece.strip()]
    prompts: list[Prompt] = []
    for piece in pieces:
        prompts.append(_parse_prompt(piece, [prompt.id for prompt in prompts]))
    if not prompts:
        raise Refusal("No request: write at least one, like r1:64.")
    if len(prompts) > MOST_PROMPTS:
        raise Refusal(f"{len(prompts)} requests; the picture holds {MOST_PROMPTS}.")
    tokens = sum(prompt.prompt_tokens + prompt.output_tokens for prompt in prompts)
    if tokens > MOST_ALL_TOKENS:
        raise Refusal(f"The requests are {tokens:,} tokens together; the lab follows at most {MOST_ALL_TOKENS:,}.")
    return tuple(prompts)


def _parse_prompt(piece: str, earlier: list[str]) -> Prompt:
    if not (found := PROMPT.fullmatch(piece)):
        raise Refusal(f"“{piece}” can't be read: write id:tokens, then =like:shared, *token that differs, ~salt.")
    id, prompt, output, like, shared, unlike, salt = found.groups()
    made = Prompt(id, int(prompt), int(output or 1), like or "", int(shared) if shared else None, int(unlike or 0),
                  salt or "")
    if not 1 <= made.prompt_tokens <= MOST_TOKENS or not 1 <= made.output_tokens <= MOST_TOKENS:
        raise Refusal(f"“{piece}”: a prompt and an output take 1 to {MOST_TOKENS:,} tokens each.")
    if id in earlier:
        raise Refusal(f"Two requests are called {id}: each needs an id of its own.")
    if like and like not in earlier:
        raise Refusal(f"“{piece}”: {like} has to come before {id}.")
    if made.unlike > made.prompt_tokens:
        raise Refusal(f"“{piece}”: token {made.unlike:,} lies past the prompt's {made.prompt_tokens:,}.")
    return made


def format_prompts(prompts: Iterable[Prompt]) -> str:
    """The text that parse_prompts reads back as the same requests."""
    return ",".join(
        f"{p.id}:{p.prompt_tokens}" + (f"/{p.output_tokens}" if p.output_tokens > 1 else "")
        + (f"={p.like}" if p.like else "") + (f":{p.shared}" if p.like and p.shared is not None else "")
        + (f"*{p.unlike}" if p.unlike else "") + (f"~{p.salt}" if p.salt else "")
        for p in prompts
    )


@dataclass(frozen=True, slots=True)
class Probe:
    """One full block of a prompt: its key, the block that holds it, and what the lookup met there.

    `hit`: found. `last`: in the map, past the last-token rule. `lost`: its key left the map. `miss`: never in the map.
    `unasked`: the lookup had stopped, or was skipped.
    """

    place: int
    key: str
    block: int
    outcome: str


@dataclass(frozen=True, slots=True)
class Step:
    """One request's way through the cache, and the pool once it is over; step 0 is the empty cache.

    `matching` are the leading full blocks in the map; `agree` is how many tokens of the block where the lookup stopped
    equal those of the request it is like. `copies` are the new blocks whose key the map held already. `lost` are the
    cached blocks that were handed out again, by the name they had. `stranded` are resident blocks that no lookup
    reaches, since one before them has left the map. `own` are the tokens, from 0, that differ from the request it is
    like.
    """

    step: int
    request: Prompt | None = None
    probes: tuple[Probe, ...] = ()
    matching: int = 0
    hit_tokens: int = 0
    computed_tokens: int = 0
    hit_blocks: tuple[int, ...] = ()
    new_blocks: tuple[int, ...] = ()
    copies: tuple[int, ...] = ()
    lost: tuple[str, ...] = ()
    agree: int = 0
    own: tuple[int, ...] = ()
    says: str = ""
    lines: tuple[Line, ...] = ()
    free_queue: tuple[int, ...] = ()
    pool: tuple[Block, ...] = ()
    stranded: tuple[int, ...] = ()

    @property
    def blocks(self) -> tuple[int, ...]:
        """Its block table."""
        return self.hit_blocks + self.new_blocks


@dataclass(frozen=True, slots=True)
class PrefixRun:
    """All requests in turn, and their totals."""

    block_size: int
    steps: tuple[Step, ...]

    @property
    def hit_tokens(self) -> int:
        return sum(step.hit_tokens for step in self.steps)

    @property
    def computed_tokens(self) -> int:
        """Prompt tokens that were computed."""
        return sum(step.computed_tokens for step in self.steps)

    @property
    def hit_rate(self) -> float:
        """Hit tokens over prompt tokens: what the engine logs."""
        asked = self.hit_tokens + self.computed_tokens
        return self.hit_tokens / asked if asked else 0.0

    @property
    def stranded_blocks(self) -> int:
        return len(self.steps[-1].stranded)

    @property
    def slips(self) -> tuple[tuple[float, str], ...]:
        """The wrong numbers of computed tokens that people reach and what each leaves out."""
        asked = [step for step in self.steps if step.request]
        values = (
            (sum(step.request.prompt_tokens - step.matching * self.block_size for step in asked),
             "That lets a prompt hit to its end. Its last token is computed for the logits; hits are whole blocks."),
            (sum(len(step.own) if step.request.like else step.computed_tokens for step in asked),
             "That counts the tokens that differ. Only whole blocks hit, and none behind one that differs."),
            (self.hit_tokens, "That is what hits; computed is the rest of the prompts."),
        )
        return tuple((value, sentence) for value, sentence in values if value != self.computed_tokens)

    @property
    def finding(self) -> str:
        """The totals in a sentence."""
        return (f"{self.hit_tokens:,} of {self.hit_tokens + self.computed_tokens:,} prompt tokens hit "
                f"({self.hit_rate:.1%}), {self.computed_tokens:,} are computed.")


def simulate(*, requests: tuple[Prompt, ...], block_size: int, usable_blocks: int, prompt_logprobs: bool = False,
             in_one_step: bool = False) -> PrefixRun:
    """Serve the requests one after another, or all prompts in one engine step.

    Hit = block_size * min(leading blocks in the map, floor((prompt - 1) / block_size)). A finished request's blocks go
    back tail first. The last sampled token has no KV, so it fills no block. With `prompt_logprobs` nothing is looked
    up, while blocks still enter the map.
    Raises Refusal when the pool can't hold what is served at once.
    Source: vllm 0.33.0, v1/core/kv_cache_manager.py, get_computed_blocks; v1/core/block_pool.py; v1/request.py.
    """
    cache = KvCache(usable_blocks, block_size, MOST_ALL_TOKENS, enable_prefix_caching=True)
    ids = token_ids(requests)
    served = [Served(request, ids[request.id], block_size) for request in requests]
    steps = [seen(Step(0, says="Nothing is cached yet: every block is free and without a key."), cache)]
    for place, each in enumerate(served):
        step = admit(each, served[:place], cache, skip=prompt_logprobs, step=len(steps))
        if not in_one_step:
            decode([each], cache)
        steps.append(seen(step, cache))
    if in_one_step:
        decode(served, cache)
        steps.append(seen(Step(len(steps), says="All have ended, and their blocks went back, each tail first."), cache))
    return PrefixRun(block_size, tuple(steps))


def token_ids(requests: tuple[Prompt, ...]) -> dict[str, tuple[int, ...]]:
    """Every request's tokens, outputs included; equal ids are equal tokens."""
    made: dict[str, tuple[int, ...]] = {}
    next_id = 1
    for request in requests:
        count = request.prompt_tokens + request.output_tokens
        own = range(next_id, next_id + count)
        next_id += count
        most = request.prompt_tokens if request.shared is None else min(request.shared, request.prompt_tokens)
        head = made.get(request.like, ())[:most]
        tokens = [*head, *own[len(head):]]
        if request.unlike:
            tokens[request.unlike - 1] = own[request.unlike - 1]
        made[request.id] = tuple(tokens)
    return made


class Served:
    """A request in the cache: its sequence, all its tokens, and the key of each block that its tokens fill."""

    def __init__(self, request: Prompt, tokens: tuple[int, ...], block_size: int) -> None:
        self.request = request
        self.tokens = tokens
        self.sequence = KvSequence(request.id, list(tokens[: request.prompt_tokens]), request.salt)
        self.keys = tuple(keys_of(tokens, block_size, request.salt))

    @property
    def with_kv(self) -> int:
        """Tokens that are computed in the end: all but the last sampled one."""
        return self.request.prompt_tokens + self.request.output_tokens - 1


def keys_of(tokens: tuple[int, ...], block_size: int, salt: str) -> Iterator[str]:
    """The key of each full block: SHA-256 over the key before it, the block's tokens, and in the first the salt."""
    parent, extra = "none", salt
    for start in range(0, len(tokens) - block_size + 1, block_size):
        block = ",".join(map(str, tokens[start: start + block_size]))
        parent = sha256(f"{parent};{block};{extra}".encode()).hexdigest()
        extra = ""
        yield parent


def admit(each: Served, earlier: list[Served], cache: KvCache, *, skip: bool, step: int) -> Step:
    """Look the prompt up, and give it room; what came of it, without the pool."""
    request, size = each.request, cache.block_size
    full = request.prompt_tokens // size
    uncapped = KvSequence(request.id, each.sequence.tokens + [0], request.salt)  # as if one more token followed
    matching = min(len(cache.lookup(uncapped)), full)
    hits = [] if skip else cache.lookup(each.sequence)
    before, gone = dict(cache.blocks), len(cache.evicted)
    computed = request.prompt_tokens - len(hits) * size
    new = cache.allocate(each.sequence, computed, hits)
    if new is None:
        raise Refusal(f"{request.id} needs {-(-request.prompt_tokens // size):,} blocks and there is no room for them: "
                      f"{cache.free_blocks:,} of {len(cache.blocks):,} are free.", "usable_blocks")
    each.sequence.computed = request.prompt_tokens
    each.sequence.tokens.append(each.tokens[request.prompt_tokens])
    known = {key for other in earlier for key in other.keys[: other.with_kv // size]}
    probes = tuple(
        Probe(place + 1, each.keys[place][:KEY_DIGITS], each.sequence.blocks[place],
              outcome(place, len(hits), matching, skip, each.keys[place] in known))
        for place in range(full)
    )
    like = next((other.tokens for other in earlier if other.request.id == request.like), ())
    own = tuple(place for place in range(request.prompt_tokens)
                if like and (place >= len(like) or each.tokens[place] != like[place]))
    stop = range(len(hits) * size, min((len(hits) + 1) * size, request.prompt_tokens))
    made = Step(
        step, request, probes, matching, len(hits) * size, computed, tuple(hits), tuple(new),
        copies=tuple(each.sequence.blocks[place] for place in range(len(hits), full)
                     if len(cache.entries[each.sequence.identities[place]]) > 1),
        lost=tuple(named(before[id]) for id in cache.evicted[gone:]),
        agree=len(set(stop).difference(own)) if like else 0, own=own, lines=lines(request, matching, hits, size),
    )
    return replace(made, says=why(made, each, earlier, size, skip) + taken_again(made.lost))


def outcome(place: int, hits: int, matching: int, skip: bool, known: bool) -> str:
    """What the lookup met at this place (from 0)."""
    if skip or place > hits:
        return LAST if not skip and place < matching else UNASKED
    if place < hits:
        return HIT
    if place < matching:
        return LAST
    return LOST if known else MISS


def named(block: Block) -> str:
    """A block by whose it was and which: "r1·4"."""
    return f"{block.owner}·{block.index}" if block.owner else str(block.id)


def decode(running: list[Served], cache: KvCache) -> None:
    """Let requests that have their first token decode to their end, a token each a step; blocks go back as each ends.

    Raises Refusal when there is no block for a token.
    """
    sampled = 1
    while running:
        for each in [each for each in running if each.request.output_tokens == sampled]:
            cache.free(each.sequence)
        running = [each for each in running if each.request.output_tokens > sampled]
        sampled += 1
        for each in running:
            if cache.allocate(each.sequence, 1) is None:
                raise Refusal(f"{each.request.id} needs one more block for its output and none is free.",
                              "usable_blocks")
            each.sequence.computed += 1
            each.sequence.tokens.append(each.tokens[each.sequence.computed])


def seen(step: Step, cache: KvCache) -> Step:
    """The step with the pool as it is now."""
    return replace(step, free_queue=tuple(cache.queue), pool=tuple(cache.blocks.values()),
                   stranded=tuple(cache.unreachable()))


def lines(request: Prompt, matching: int, hits: list[int], size: int) -> tuple[Line, ...]:
    """The hit's derivation."""
    may = (request.prompt_tokens - 1) // size
    return (
        Line("match from the left", "full blocks in the map", matching, "blocks"),
        Line("may hit", f"⌊({request.prompt_tokens:,} − 1) / {size}⌋", may, "blocks"),
        Line("hit", f"{size} × {len(hits)}", len(hits) * size, "tokens", total=True),
        Line("computed", f"{request.prompt_tokens:,} − {len(hits) * size:,}",
             request.prompt_tokens - len(hits) * size, "tokens"),
    )


def why(step: Step, each: Served, earlier: list[Served], size: int, skip: bool) -> str:
    """Why the lookup went as far as it did."""
    request, hits = step.request, len(step.hit_blocks)
    full, rest = len(step.probes), step.computed_tokens
    if skip:
        return "Prompt logprobs are asked, so nothing is looked up; its full blocks enter the map all the same."
    if not earlier:
        return f"The map is empty: {rest:,} tokens computed into {count(len(step.new_blocks), 'new block')}."
    if not full:
        return "Not one full block, so there is nothing to look up."
    if step.matching > hits:
        place = step.probes[hits]
        return (f"Block {place.place} is in the map, yet past the wall: computed again into block {place.block}, same "
                "key, a copy.")
    if hits == full:
        return f"All {count(full, 'full block')} hit; {count(rest, 'token')} after them computed."
    stop = step.probes[hits]
    if stop.outcome == LOST:
        return f"Block {stop.place}’s key was in the map once and has left it: stop, and never look further."
    key = each.keys[hits]
    if owner := next((other.request.id for other in earlier if key in other.keys), ""):
        return (f"Block {stop.place} holds {owner}’s tokens, but a sampled one among them has no KV: it is not in the "
                "map.")
    first = each.tokens[:size]
    if not hits and any(other.tokens[:size] == first and other.request.salt != request.salt for other in earlier):
        return "The same first tokens under another salt: another first key, so no block after it can match."
    if step.agree:
        return (f"{step.agree} of block {stop.place}’s {size} tokens agree; the key does not: stop, and never look "
                "further.")
    return f"Block {stop.place} holds other tokens: stop, and never look further."


def taken_again(lost: tuple[str, ...]) -> str:
    """The sentence about cached blocks that were handed out again; empty when none were."""
    if not lost:
        return ""
    names = ", ".join(lost[:6]) + f" and {len(lost) - 6:,} more" * (len(lost) > 6)
    return f" Taken again: {names}, which {'leave' if len(lost) > 1 else 'leaves'} the map."


def count(number: int, noun: str) -> str:
    """A number with its noun: "1 token", "4 new blocks"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"
