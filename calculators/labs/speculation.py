"""The speculation lab: where drafts pay by batch, how many to draft, and what they are in the scheduler's books."""
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from calculators.labs import draft_rows_picture, speculation_picture
from calculators.labs.base import Ask, Expected, Group, Lab, Preset, View
from calculators.labs.read_field import ReadField
from calculators.labs.row_field import GpuField, ModelField
from calculators.models import draft_length, draft_rows, speculation
from calculators.models.base import Refusal
from calculators.models.catalogue import FULL, GPUS, MODELS
from calculators.models.draft_length import MOST_DRAFTS, PARALLEL, SEQUENTIAL
from calculators.models.scheduler import format_requests, parse_requests

DENSE = MODELS.only(lambda model: set(model.pattern) == {FULL} and not model.experts)
DRAFTERS = [(SEQUENTIAL, "one after another"), (PARALLEL, "all at once")]
SHARE = {"min_value": 0.05, "max_value": 1}
FOUR = "A:12/16@0,B:8/12@0,C:16/20@0,D:6/16@0"
DECODERS = "A:1/20@0,B:1/20@0,C:1/20@0,D:1/20@0"


def chances(text: str) -> tuple[float, ...]:
    """Read "0.76, 0.66, 0.58", a chance for each position; raises Refusal for anything else."""
    pieces = [piece for piece in text.replace(",", " ").split() if piece]
    try:
        read = tuple(float(piece) for piece in pieces)
    except ValueError:
        read = (-1.0,)
    if len(read) > MOST_DRAFTS or not all(0 <= chance <= 1 for chance in read):
        raise Refusal(f"Takes up to {MOST_DRAFTS} chances from 0 to 1, one for each position.", "per_position")
    return read


def drafts_field(initial: int) -> forms.IntegerField:
    return forms.IntegerField(label="drafts a step, k", min_value=1, max_value=MOST_DRAFTS, initial=initial)


def acceptance_field(initial: float) -> forms.FloatField:
    return forms.FloatField(
        label="acceptance, a", min_value=0, max_value=1, initial=initial,
        help_text="of a draft whose forerunners were accepted",
    )


def cost_field() -> forms.FloatField:
    return forms.FloatField(label="a draft costs, c", min_value=0, max_value=200, initial=5.0,
                            help_text="of a plain step")


class BatchForm(forms.Form):
    """The drafts, the target on its GPU, and the two batches that are looked at."""

    num_speculative_tokens = drafts_field(5)
    acceptance = acceptance_field(0.7)
    draft_cost_percent = cost_field()
    drafter = forms.ChoiceField(label="drafts come", choices=DRAFTERS, initial=SEQUENTIAL)
    model = ModelField(DENSE, initial="llama-3.1-8b")
    gpu = GpuField(label="GPU", initial="h100")
    context_tokens = forms.IntegerField(label="context", min_value=0, max_value=2_000_000, initial=512)
    batch = forms.IntegerField(label="batch shown", min_value=1, max_value=65_536, initial=8)
    large_batch = forms.IntegerField(label="and a larger one", min_value=1, max_value=65_536, initial=256,
                                     help_text="the two whose steps stand side by side")
    max_num_batched_tokens = forms.IntegerField(label="token budget", min_value=1, max_value=1_000_000, initial=8_192)
    bandwidth_share = forms.FloatField(label="bandwidth reached", initial=0.8, **SHARE)
    compute_share = forms.FloatField(label="FLOP/s reached", initial=0.6, help_text="shares of the peaks", **SHARE)
    read_gb = forms.FloatField(
        label="weights read", min_value=0.01, max_value=10_000, required=False,
        help_text="empty: its bf16 weights without the input embedding",
    )
    params_b = forms.FloatField(label="parameters", min_value=0.01, max_value=10_000, required=False,
                                help_text="empty: the same ones")
    kv_bytes_per_token = forms.IntegerField(label="KV a token", min_value=64, max_value=10_000_000, required=False,
                                            help_text="empty: its own in bf16")
    tb_per_s = forms.FloatField(label="bandwidth", min_value=0.01, max_value=100, required=False,
                                help_text="empty: the GPU’s")
    tflop_per_s = forms.FloatField(label="peak, dense", min_value=1, max_value=100_000, required=False,
                                   help_text="empty: its bf16 peak")

    units = {
        "num_speculative_tokens": "tok", "draft_cost_percent": "%", "context_tokens": "tok", "batch": "seqs",
        "large_batch": "seqs", "max_num_batched_tokens": "tok", "read_gb": "GB", "params_b": "B",
        "kv_bytes_per_token": "B", "tb_per_s": "TB/s", "tflop_per_s": "TF/s",
    }


class LengthForm(forms.Form):
    """What a draft brings and what it costs, in plain steps."""

    acceptance = acceptance_field(0.8)
    num_speculative_tokens = drafts_field(5)
    draft_cost_percent = cost_field()
    verify_percent = forms.FloatField(
        label="a row more to verify, v", min_value=0, max_value=100, initial=0.0,
        help_text="of a plain step: 0 bound by memory, 100 by products",
    )
    drafter = forms.ChoiceField(label="drafts come", choices=DRAFTERS, initial=SEQUENTIAL)
    per_position = ReadField(
        read=chances, write=lambda read: ", ".join(f"{chance:g}" for chance in read), max_length=200, required=False,
        initial="", label="by position", widget=forms.TextInput, help_text="empty: a for all; else a chance for each",
    )

    units = {"num_speculative_tokens": "tok", "draft_cost_percent": "%", "verify_percent": "%"}


class RowsForm(forms.Form):
    """Some requests, the drafts each decode brings, and the budget they share."""

    num_speculative_tokens = drafts_field(3)
    acceptance = acceptance_field(0.7)
    max_num_batched_tokens = forms.IntegerField(label="token budget", min_value=1, max_value=4_096, initial=32)
    seed = forms.IntegerField(label="draw", min_value=0, max_value=1_000_000, initial=1,
                              help_text="another number, other drafts held")
    requests = ReadField(read=parse_requests, write=format_requests, max_length=200, initial=FOUR,
                         help_text="id:prompt/output@0, up to six")

    units = {"num_speculative_tokens": "tok", "max_num_batched_tokens": "tok"}


def expected_rows(result: draft_rows.DraftRows, inputs: Mapping[str, Any], step: int) -> tuple[Expected, ...]:
    """Each request's tokens of the step; one that is done is only named."""
    now, k = result.steps[step], inputs["num_speculative_tokens"]
    done = tuple(Expected(id, 0, note="done") for id in now.done)
    return done + tuple(Expected(row.id, row.given, draft_rows_picture.why(row, k, now.left)) for row in now.rows)


def batch_summary(inputs: Mapping[str, Any]) -> str:
    return (f"k {inputs['num_speculative_tokens']}, a {inputs['acceptance']:g}, {MODELS[inputs['model']].name} on "
            f"{GPUS[inputs['gpu']].name}, context {inputs['context_tokens']:,}")


def length_summary(inputs: Mapping[str, Any]) -> str:
    chance = "by position" if inputs["per_position"] else f"a {inputs['acceptance']:g}"
    return f"k {inputs['num_speculative_tokens']}, {chance}, c {inputs['draft_cost_percent']:g}%"


def rows_summary(inputs: Mapping[str, Any]) -> str:
    return (f"{len(inputs['requests'])} requests, k {inputs['num_speculative_tokens']}, budget "
            f"{inputs['max_num_batched_tokens']:,}")


def tell(result: Any) -> Iterator[str]:
    """The finding, the derivation and the verdict, for a shell."""
    yield result.finding
    yield from map(str, result.lines)
    yield result.verdict


def tell_rows(result: draft_rows.DraftRows) -> Iterator[str]:
    """A line a step: tokens given, and where each pointer went; then the totals."""
    for step in result.steps:
        rows = ", ".join(f"{row.id} {row.given} ({row.before}→{row.after})" for row in step.rows)
        yield f"{step.step:>4}  {rows}; {step.used} used, {step.rejected} rejected"
    yield from map(str, result.lines)
    yield result.finding


BATCH = (
    Preset("8B on an H100, short contexts", {}, "2.35× at batch 8: say the batch from which drafts lose."),
    Preset("contexts of 2,048", {"context_tokens": 2_048}, "Reading KV keeps every step bound by memory: no loss."),
    Preset("three drafts", {"num_speculative_tokens": 3}, "Fewer rows to pay: a smaller gain, and a later loss."),
    Preset("at datasheet peaks", {"bandwidth_share": 1, "compute_share": 1}, "Both rates whole: 325 instead of 179."),
    Preset("MTP, one token at 0.85", {"num_speculative_tokens": 1, "acceptance": 0.85, "draft_cost_percent": 3},
           "Two rows a sequence, and a head of the model’s own as the drafter."),
    Preset("70B on a B200", {"model": "llama-3.1-70b", "gpu": "b200", "context_tokens": 1_024},
           "A larger target: the drafter costs relatively as much, the ridge stays."),
)
LENGTH = (
    Preset("a 0.8, c 5%", {}, "Say the best length. Is it the one to run?"),
    Preset("a dear drafter", {"draft_cost_percent": 20}, "The same acceptance at four times the cost."),
    Preset("half are refused, dear", {"acceptance": 0.5, "draft_cost_percent": 20},
           "Five drafts are slower than none."),
    Preset("bound by products", {"verify_percent": 100}, "Every row is paid: no length can win below a = 1."),
    Preset("all at once", {"drafter": PARALLEL}, "A drafter that gives all k in one pass pays c once."),
    Preset("measured by position", {"per_position": "0.763, 0.656, 0.575", "num_speculative_tokens": 3},
           "The chances of a window in the acceptance lab: they fall."),
)
ROWS = (
    Preset("four requests, k 3", {}, "Each decode asks for four tokens. Who gets how many in the next step?"),
    Preset("a budget of 8", {"requests": DECODERS, "max_num_batched_tokens": 8, "acceptance": 0},
           "Four decodes want 16 tokens, and drafts count like any: two of the four starve."),
    Preset("all hold", {"acceptance": 1}, "Nothing comes back: four tokens a step each."),
    Preset("a long draft, k 7", {"num_speculative_tokens": 7, "acceptance": 0.5},
           "Eight rows a decode: the budget is full with four, and half of it is thrown away."),
)

LAB = Lab(
    slug="speculation", title="Draft tokens: when they pay", topic="sampling", line="Drafts against batch and budget",
    fragment="calculators/labs/_parts.html", thumbnail=speculation_picture.thumbnail,
    views=(
        View("batch", BatchForm, speculation.solve, title="by batch", picture=speculation_picture.batch_picture,
             summary=batch_summary, tell=tell, presets=BATCH,
             ask=Ask(figure="break_even", label="it starts to lose at batch (0: never)", unit="sequences"),
             gist=speculation_picture.batch_gist,
             groups=(
                 Group("Drafts", ("num_speculative_tokens", "acceptance", "draft_cost_percent", "drafter")),
                 Group("Target", ("model", "gpu", "context_tokens", "batch", "large_batch", "max_num_batched_tokens",
                                  "bandwidth_share", "compute_share")),
                 Group("Its own figures", ("read_gb", "params_b", "kv_bytes_per_token", "tb_per_s", "tflop_per_s"),
                       folded=True),
             )),
        View("length", LengthForm, draft_length.solve, title="how many", picture=speculation_picture.length_picture,
             summary=length_summary, tell=tell, presets=LENGTH,
             ask=Ask(figure="best_k", label="best draft length (0: none)", unit="tokens"),
             gist=speculation_picture.length_gist),
        View("rows", RowsForm, draft_rows.simulate, title="in the budget", picture=draft_rows_picture.strip_picture,
             summary=rows_summary, tell=tell_rows, presets=ROWS, predict=expected_rows,
             groups=(Group("Requests", ("requests",)),)),
    ),
    notes=("Acceptance, the drafter’s cost and the two shares of peak are rules of thumb; the rest follows. KV is read "
           "once for all rows of a sequence.",),
)
