"""The prefix-cache lab: what hits, what is taken, what a tree would find instead, and what salts cost and keep."""
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from calculators.labs import cache_salt_picture, eviction_order_picture, radix_tree_picture
from calculators.labs.base import Ask, Expected, Group, Lab, Preset, Switch, View
from calculators.labs.prefix_cache_picture import picture, thumbnail
from calculators.labs.read_field import ReadField
from calculators.models import cache_salt, eviction_order, radix_tree
from calculators.models.prefix_cache import PrefixRun, format_prompts, parse_prompts, simulate

FIVE = parse_prompts("r1:64,r2:64=r1,r3:65=r1:64,r4:70=r1:62,r5:64=r1*3")
SALTS = "r1:65,r2:65=r1~A,r3:65=r1~B,r4:65=r1~A"
TURNS = "t1:420/140,t2:600/200=t1,t3:830/160=t2,t4:1030/40=t3"
CHAIN = "A:128,N:48,A2:128=A"
ORDER_CHOICES = [
    (eviction_order.LRU_TAIL, "LRU, tail"), (eviction_order.LRU_HEAD, "LRU, head"),
    (eviction_order.EACH_HEAD, "each head"), (eviction_order.EACH_TAIL, "each tail"),
]
SALT_CHOICES = [(cache_salt.NONE, "none"), (cache_salt.TENANT, "each tenant"), (cache_salt.GROUP, "each group")]
TOGETHER = "g1:1000,g2:1000=g1,g3:1000=g1,g4:1000=g1"


class LookupForm(forms.Form):
    """The pool and the requests that come to it."""

    requests = ReadField(
        read=parse_prompts, write=format_prompts, max_length=800, initial=FIVE,
        help_text="id : tokens / output = like : shared * token that differs ~ salt",
    )
    block_size = forms.IntegerField(label="block size", min_value=1, max_value=1_024, initial=16)
    usable_blocks = forms.IntegerField(
        label="usable blocks", min_value=1, max_value=2_048, initial=63, help_text="without the null block",
    )
    prompt_logprobs = Switch(label="prompt logprobs", initial=False, help_text="on: reads are skipped")
    in_one_step = Switch(label="all in one step", initial=False, help_text="off: one after another")

    units = {"block_size": "tok"}


class EvictionForm(forms.Form):
    """The idle prompts, what is taken of them, and the order looked at."""

    chains = forms.IntegerField(label="idle prompts", min_value=1, max_value=100_000, initial=1)
    chain_blocks = forms.IntegerField(label="blocks each", min_value=1, max_value=100_000, initial=8)
    taken_blocks = forms.IntegerField(label="blocks taken", min_value=0, max_value=1_000_000, initial=3)
    order = forms.ChoiceField(label="taken first", choices=ORDER_CHOICES, initial=eviction_order.LRU_HEAD)
    block_size = forms.IntegerField(label="block size", min_value=1, max_value=1_024, initial=16)
    block_mib = forms.FloatField(label="a block", min_value=0.001, max_value=1_024, initial=2.0,
                                 help_text="8B in bf16, 16 tokens")

    units = {"block_size": "tok", "block_mib": "MiB"}


class RadixForm(forms.Form):
    """The requests, what they share, and the grain of either cache."""

    requests = forms.IntegerField(min_value=1, max_value=200, initial=20)
    prompt_tokens = forms.IntegerField(label="prompt", min_value=2, max_value=100_000, initial=2_048)
    shared_low = forms.IntegerField(label="shared, from", min_value=0, max_value=100_000, initial=1_900)
    shared_high = forms.IntegerField(label="shared, to", min_value=0, max_value=100_000, initial=2_047)
    block_size = forms.IntegerField(label="vLLM’s block", min_value=1, max_value=1_024, initial=16)
    page_size = forms.IntegerField(label="SGLang’s page", min_value=1, max_value=1_024, initial=1)
    seed = forms.IntegerField(min_value=0, max_value=999_999, initial=1)

    units = dict.fromkeys(("prompt_tokens", "shared_low", "shared_high", "block_size", "page_size"), "tok")


class TenantsForm(forms.Form):
    """The tenants and their load, the pool, and who shares a salt."""

    tenants = forms.IntegerField(min_value=1, max_value=100_000, initial=50)
    policy = forms.ChoiceField(label="salt", choices=SALT_CHOICES, initial=cache_salt.TENANT)
    group_tenants = forms.IntegerField(label="tenants a group", min_value=1, max_value=100_000, initial=10)
    requests_per_s = forms.FloatField(label="load", min_value=0.01, max_value=10_000, initial=10)
    shared_tokens = forms.IntegerField(label="shared prefix", min_value=1, max_value=200_000, initial=1_500)
    unique_tokens = forms.IntegerField(label="unique", min_value=1, max_value=200_000, initial=500)
    pool_tokens = forms.IntegerField(label="pool, tokens", min_value=16, max_value=100_000_000, initial=450_560)
    own_every_s = forms.FloatField(label="a tenant asks every", min_value=0.1, max_value=1_000_000, initial=60)

    units = {"requests_per_s": "req/s", "shared_tokens": "tok", "unique_tokens": "tok", "own_every_s": "s"}


class TimingForm(forms.Form):
    """The prompt that is sent, the noise, and how often each guess is looked at."""

    prompt_tokens = forms.IntegerField(label="prompt", min_value=2, max_value=100_000, initial=2_048)
    block_size = forms.IntegerField(label="block size", min_value=1, max_value=1_024, initial=16,
                                    help_text="1: guessed token by token")
    guesses = forms.IntegerField(label="guesses a block", min_value=2, max_value=100, initial=8)
    noise_ms = forms.FloatField(label="noise of one look", min_value=0, max_value=1_000, initial=1)
    probes = forms.IntegerField(label="looks averaged", min_value=1, max_value=1_000_000, initial=64)
    salted = Switch(label="salt per tenant", initial=False)
    seed = forms.IntegerField(min_value=0, max_value=999_999, initial=1)

    units = {"prompt_tokens": "tok", "block_size": "tok", "noise_ms": "ms"}


def expected(run: PrefixRun, inputs: Mapping[str, Any], step: int) -> tuple[Expected, ...]:
    """What the next request hits and computes; nothing is asked of a step without a request."""
    now = run.steps[step]
    if now.request is None:
        return ()
    return (Expected("hit", now.hit_tokens, f"{now.request.id}. {now.says}"),
            Expected("computed", now.computed_tokens))


def lookup_summary(inputs: Mapping[str, Any]) -> str:
    """The knobs in one line: "5 requests, 63 blocks of 16"."""
    together = ", all in one step" if inputs["in_one_step"] else ""
    return f"{len(inputs['requests'])} requests, {inputs['usable_blocks']:,} blocks of {inputs['block_size']}{together}"


def eviction_summary(inputs: Mapping[str, Any]) -> str:
    """The knobs in one line: "1 × 8 blocks, 3 taken"."""
    return f"{inputs['chains']:,} × {inputs['chain_blocks']:,} blocks, {inputs['taken_blocks']:,} taken"


def radix_summary(inputs: Mapping[str, Any]) -> str:
    """The knobs in one line: "20 requests of 2,048, blocks of 16, pages of 1"."""
    return (f"{inputs['requests']} requests of {inputs['prompt_tokens']:,}, blocks of {inputs['block_size']}, pages of "
            f"{inputs['page_size']}")


def tenants_summary(inputs: Mapping[str, Any]) -> str:
    """The knobs in one line: "50 tenants, a salt per tenant, 10 req/s"."""
    return f"{inputs['tenants']:,} tenants, {cache_salt.POLICIES[inputs['policy']]}, {inputs['requests_per_s']:g} req/s"


def timing_summary(inputs: Mapping[str, Any]) -> str:
    """The knobs in one line: "blocks of 16, noise 1 ms, 64 looks"."""
    return f"blocks of {inputs['block_size']}, noise {inputs['noise_ms']:g} ms, {cache_salt.looks(inputs['probes'])}"


def tell_steps(run: PrefixRun) -> Iterator[str]:
    """A line a request, then the totals."""
    for step in run.steps:
        counts = f"hit {step.hit_tokens:,}, computed {step.computed_tokens:,}"
        yield f"{step.step:>4}  {f'{step.request.id}: {counts}. ' if step.request else ''}{step.says}"
    yield run.finding


def tell(result: Any) -> Iterator[str]:
    """The derivation, then the finding."""
    for line in result.lines:
        yield f"{line.label}: {line.expression} = {line.figure} {line.unit}".rstrip()
    yield result.finding


LOOKUP = View(
    "lookup", LookupForm, simulate, title="Lookup", picture=picture, predict=expected, summary=lookup_summary,
    tell=tell_steps, bulky=("pool", "free_queue", "probes", "own"),
    aside="calculators/labs/_prefix_cache_requests.html",
    presets=(
        Preset("five requests", {}, "The same again, one token more, eight others last, the third token changed."),
        Preset("salts none, A, B, A", {"requests": SALTS}, "The same 65 tokens four times: only the last hits."),
        Preset("a chat of four turns", {"requests": TURNS, "usable_blocks": 511},
               "Each turn sends the history back: the answers hit too, but for the last, part-filled block."),
        Preset("one chain, one taker", {"requests": CHAIN, "usable_blocks": 8},
               "N takes three blocks of A’s tail. A again still hits 80 tokens, though it then takes N’s blocks."),
        Preset("a group in one step", {"requests": TOGETHER, "in_one_step": True, "usable_blocks": 511},
               "Four samples of one prompt scheduled together: the first one’s blocks are in the map before they run."),
    ),
    groups=(Group("", ("block_size", "usable_blocks", "in_one_step", "prompt_logprobs")),
            Group("Requests", ("requests",))),
)

EVICTION = View(
    "eviction", EvictionForm, eviction_order.solve, title="Eviction order", picture=eviction_order_picture.picture,
    summary=eviction_summary, tell=tell,
    ask=Ask(figure="stranded_mib", label="stranded, out of reach", unit="MiB"),
    fragment="calculators/labs/_parts.html",
    presets=(
        Preset("eight blocks, three taken", {}, "Five blocks stay either way; tail first they hit, head first none."),
        Preset("11 prompts, 11 blocks taken", {"chains": 11, "taken_blocks": 11, "order": eviction_order.EACH_HEAD},
               "A pool of 88: four orders, the same 77 blocks resident, 77, 72, 0 and 77 of them good."),
        Preset("a 55 GiB pool", {"chains": 220, "chain_blocks": 128, "taken_blocks": 220,
                                 "order": eviction_order.EACH_HEAD},
               "220 prompts of 2,048 tokens: 440 MiB are taken. How much can still be hit?"),
        Preset("one chain of 4 GiB", {"chain_blocks": 2_048, "taken_blocks": 1},
               "32,768 tokens: the head costs all of it, the tail nothing that a resend could hit."),
    ),
)

RADIX = View(
    "radix", RadixForm, radix_tree.solve, title="Tree or hash", picture=radix_tree_picture.picture,
    summary=radix_summary, tell=tell, ask=Ask(figure="points_apart", label="hit rates apart, in points"),
    fragment="calculators/labs/_parts.html",
    presets=(
        Preset("2K chat, blocks of 16", {}, "Less than one point apart, whatever the shared length."),
        Preset("blocks of 128", {"block_size": 128}, "Now the grain shows: up to 6.2 points."),
        Preset("both in pages of 64", {"block_size": 64, "page_size": 64},
               "Backends such as FlashMLA force a page on the tree too: no difference is left."),
        Preset("short prompts", {"prompt_tokens": 40, "shared_low": 20, "shared_high": 31},
               "The workload where it matters: of 31 shared tokens a block of 16 keeps half."),
    ),
)

TENANTS = View(
    "tenants", TenantsForm, cache_salt.solve, title="Tenants and salts", picture=cache_salt_picture.tenants,
    summary=tenants_summary, tell=tell, ask=Ask(figure="token_hit_percent", label="tokens hit", unit="%"),
    fragment="calculators/labs/_parts.html",
    presets=(
        Preset("50 tenants, a salt each", {}, "9.2 GiB of copies in a 55 GiB pool: nothing is lost."),
        Preset("50 tenants, no salt", {"policy": cache_salt.NONE}, "One copy for all, and a timing channel."),
        Preset("1,000 tenants, a salt each", {"tenants": 1_000}, "The copies no longer fit: 16% instead of 75%."),
        Preset("1,000 tenants in groups of 20", {"tenants": 1_000, "policy": cache_salt.GROUP, "group_tenants": 20},
               "Isolation by organisation instead of user: 50 copies, all kept."),
        Preset("a prompt of 10K, 45 tenants", {"tenants": 45, "shared_tokens": 10_000},
               "The same cliff much earlier: 45 copies are the whole pool."),
    ),
)

TIMING = View(
    "timing", TimingForm, cache_salt.probe, title="Timing probe", picture=cache_salt_picture.timing,
    summary=timing_summary, tell=tell, ask=Ask(figure="probes_needed", label="looks that tell a hit from a miss"),
    fragment="calculators/labs/_parts.html",
    presets=(
        Preset("64 looks", {}, "0.42 ms a block against 1 ms of noise: averaged away."),
        Preset("one look", {"probes": 1}, "A single look proves nothing at the grain of one block."),
        Preset("10 ms of noise added", {"noise_ms": 10, "probes": 10_000}, "A hundred times the looks undo it."),
        Preset("a salt per tenant", {"salted": True}, "The probe hits only its own tenant’s blocks: chance."),
    ),
)

LAB = Lab(
    slug="prefix-cache", title="Prefix cache: what hits, what is taken", topic="kv-cache",
    line="Keys, lookups, eviction order", fragment="calculators/labs/_prefix_cache.html", thumbnail=thumbnail,
    views=(LOOKUP, EVICTION, RADIX, TENANTS, TIMING),
    notes=("Hits, blocks and the queue are exact for full attention, as the engine’s own block pool gives them. Keys "
           "are shown as SHA-256 of a plain text, so their digits are not the engine’s. Times rest on 26.1 µs a token, "
           "an 8B model on one H100.",),
)
