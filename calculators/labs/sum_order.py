"""The determinism view of the sampling lab: one sum, cut by the batch, and a greedy text that parts for good."""
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms

from calculators.labs.base import Ask, Group, Preset, Shown, Switch, View
from calculators.labs.read_field import ReadField
from calculators.models.base import Refusal
from calculators.models.sum_order import FEW_SPLITS_FROM_BATCH, MOST_VALUES, SumOrder, count, solve
from calculators.pictures import NARROW, WIDE, Bar, Drawing, Scale, Shape, Text, line, polyline
from calculators.ruled import columns, round_unit, rows, width_of

VALUE = re.compile(r"[-+]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})(?:[eE][-+]?\d{1,2})?")
LARGEST = 1e9
ROW = 40


def parse_values(text: str) -> tuple[float, ...]:
    """Read "256,1,1"; raises Refusal naming a piece that is no number in range, or for too few and too many."""
    pieces = [piece.strip() for piece in text.replace("\n", ",").split(",") if piece.strip()]
    for piece in pieces:
        if not VALUE.fullmatch(piece) or abs(float(piece)) > LARGEST:
            raise Refusal(f"“{piece[:30]}” can't be used: write numbers up to {LARGEST:,.0f} with commas.")
    if not 2 <= len(pieces) <= MOST_VALUES:
        raise Refusal(f"Takes 2 to {MOST_VALUES} numbers with commas between them.")
    return tuple(map(float, pieces))


def format_values(values: tuple[float, ...]) -> str:
    """The text that parse_values reads back as the same numbers."""
    return ",".join(f"{number:.10g}" for number in values)


class SumOrderForm(forms.Form):
    """The numbers that make up a logit, how the batch cuts their sum, and the text that follows."""

    batch = forms.IntegerField(
        min_value=1, max_value=1024, initial=1, help_text=f"a kernel splits the sum below {FEW_SPLITS_FROM_BATCH}",
    )
    small_batch_splits = forms.IntegerField(label="splits then", min_value=1, max_value=MOST_VALUES, initial=2)
    batch_invariant = Switch(label="batch invariant", initial=False, help_text="VLLM_BATCH_INVARIANT=1: never split")
    values = ReadField(
        read=parse_values, write=format_values, max_length=400, label="terms of A's logit", initial="256,1,1,1,1",
        help_text="added in this order",
    )
    number_format = forms.ChoiceField(label="summed in", choices=[("bf16", "bf16"), ("fp32", "fp32")], initial="bf16")
    rival = forms.FloatField(
        label="B's logit", min_value=-LARGEST, max_value=LARGEST, initial=257, help_text="held in fp32",
    )
    flip_fraction = forms.FloatField(
        label="flips a token", min_value=0, max_value=0.01, initial=0.001, help_text="the chance that a near-tie turns",
    )
    text_tokens = forms.IntegerField(label="text", min_value=1, max_value=2_000, initial=500)

    units = {"text_tokens": "tok"}


@dataclass(frozen=True, slots=True)
class Picture:
    """What the fragment loops over: the ways to cut the sum, and the texts that agree by length."""

    wide: Drawing
    narrow: Drawing
    texts_wide: Drawing
    texts_narrow: Drawing
    table: tuple[tuple[str, str, str, str], ...]


def picture(shown: Shown) -> Picture:
    """Both drawings of each; what the reader said is a logit."""
    result = shown.result
    return Picture(
        wide=ways(result, WIDE, 110), narrow=ways(result, NARROW, 62),
        texts_wide=texts(result, WIDE), texts_narrow=texts(result, NARROW),
        table=tuple((count(way.splits), f"{way.sum:,.10g}", way.winner, "at hand" if way.present else "")
                    for way in result.ways),
    )


def ways(result: SumOrder, width: float, names: float) -> Drawing:
    """A row for each number of splits: its chunks with their partial sums, what they come to, who wins."""
    ends = 210 if width == WIDE else 104
    room = width - names - ends - 20
    shapes: list[Shape] = [Text(names, 14, "partial sums", "axis"), Text(width - ends, 14, "logit of A", "axis"),
                           Text(width - 2, 14, f"B {result.rival:,.7g}" if width == WIDE else "wins", "axis", "end")]
    terms = sum(len(chunk.values) for chunk in result.ways[0].chunks)
    for place, way in enumerate(result.ways):
        y, x = 26 + ROW * place, float(names)
        weight = "strong" if way.present else "value"
        shapes.append(Text(0, y + 20, count(way.splits), weight))
        for chunk in way.chunks:
            long = round(room * len(chunk.values) / terms, 2)
            partial = f"{chunk.partial:,.10g}"
            text = partial if width_of(partial) + 6 < long - 4 else ""
            shapes.append(Bar(round(x, 2), y, round(max(long - 4, 0.5), 2), 28, "solid" if way.present else "hollow",
                              text, "on-ink" if way.present else "value"))
            x += long
        shapes += [Text(width - ends, y + 20, f"{way.sum:,.10g}", weight),
                   Text(width - 2, y + 20, f"{way.winner} wins" if width == WIDE else way.winner, weight, "end")]
    return Drawing(width, 26 + ROW * len(result.ways), result.finding, tuple(shapes))


def texts(result: SumOrder, width: float) -> Drawing:
    """The share of texts that still agree, by their length in tokens."""
    left, right, top, foot = 48, width - 16, 30, 210
    longest = max(1_000, result.text_tokens)
    across, up = Scale(0, longest, left, right), Scale(0, 1, foot, top)
    points = [(across(longest * place / 60), up((1 - result.flip_fraction) ** (longest * place / 60)))
              for place in range(61)]
    x, y = across(result.text_tokens), up(result.agree_share)
    words = f"{result.agree_share:.3f} at {result.text_tokens:,}"
    at_left = x + width_of(words) + 16 < right
    unit = round_unit(longest, 10 if width == WIDE else 5)
    shapes = (
        Text(0, 14, "share of texts that agree, by length in tokens", "axis"),
        *columns(across, unit, top, foot, every=1), *rows(up, 0.25, left, right), polyline(points, "stepped"),
        line(x, y, x, foot, "edge"), Bar(x - 4, round(y - 4, 2), 8, 8, "present"),
        Text(x + 12 if at_left else x - 12, max(y - 8, 24), words, "strong halo", "start" if at_left else "end"),
    )
    title = (f"{result.agree_share:.3f} of texts of {result.text_tokens:,} tokens agree when a token flips with a "
             f"chance of {result.flip_fraction:g}.")
    return Drawing(width, foot + 24, title, shapes)


def summary(inputs: Mapping[str, Any]) -> str:
    """The scene in one line: "5 terms in bf16, batch 1, 2 splits"."""
    invariant = ", batch invariant" if inputs["batch_invariant"] else ""
    return f"{len(inputs['values'])} terms in {inputs['number_format']}, batch {inputs['batch']:,}{invariant}"


def tell(result: SumOrder) -> Iterator[str]:
    """Each way to cut the sum, then the texts."""
    for way in result.ways:
        yield f"{count(way.splits)}: {way.sum:,.10g}, {way.winner} wins"
    yield f"from the other end: {result.reversed_sum:,.10g}; exactly: {result.exact:,.10g}"
    yield f"(1 - {result.flip_fraction:g})^{result.text_tokens:,} = {result.agree_share:.3f} of texts agree"
    yield result.finding


VIEW = View(
    "determinism", SumOrderForm, solve, picture=picture, summary=summary, tell=tell, title="Same seed, other text",
    fragment="calculators/labs/_sum_order.html", ask=Ask(figure="sum", label="logit of A"),
    groups=(Group("The sum", ("values", "number_format", "rival")),
            Group("The text", ("flip_fraction", "text_tokens"))),
    presets=(
        Preset("at night, batch 1", {}, "Two splits: 256 + 1 + 1 stays 256, 1 + 1 is 2, and A wins with 258."),
        Preset("by day, batch 64", {"batch": 64}, "One go: every 1 is rounded away, 256 loses against 257."),
        Preset("batch invariant", {"batch_invariant": True}, "One order for every batch: always 256, always B."),
        Preset("one fp32 row", {"values": "100000000,1,-100000000,1", "number_format": "fp32", "rival": 1.5,
                                "batch": 64},
               "From the left 1: the first 1 is lost in 1e8. Grouped as 1e8 − 1e8, then 1 + 1, it is 2."),
        Preset("a long answer", {"text_tokens": 1_000}, "One flip in a thousand tokens: 0.368 of the texts agree."),
    ),
)
