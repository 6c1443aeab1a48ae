"""What no input may do to a lab: break it, show a number that is none, or lose a token, a block or a byte."""
import json
import math
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from django import forms
from django.contrib.auth.models import AnonymousUser
from django.template.loader import render_to_string
from django.test import RequestFactory
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from calculators.answer import answer, is_record, names_of
from calculators.labs import LABS
from calculators.labs.base import Lab, View
from calculators.labs.row_field import RowField
from calculators.pictures import Drawing
from calculators.stage import Stage, stage_of
from tests.calculators.drawings import assert_within
from tests.calculators.laws import LAWS

VIEWS = [pytest.param(lab, view, id=f"{lab.slug}-{view.name}") for lab in LABS.values() for view in lab.views]
NO_NUMBER = re.compile(r"(?<![\w-])[-−+]?(?:nan|inf|infinity)(?![\w-])", re.IGNORECASE)
SEPARATORS = ("; ", ";", "\n", ",", " ")
STEPS = ("", "0", "1", "7", "999999999")
EXAMPLES = int(os.environ.get("LAB_EXAMPLES", "20"))  # of each view; more when one looks for new faults
PHASES = (Phase.generate, Phase.shrink) if EXAMPLES <= 20 else (Phase.generate,)
SLOW = {"scheduler steps": 4, "wide-ep prefills": 2}  # how much longer than other views' examples these views' take
GARBAGE = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)


def numbers(field: forms.IntegerField) -> st.SearchStrategy[str]:
    """What a number field takes: its bounds, and between them every order of magnitude as often as the next."""
    low, high = field.min_value, field.max_value
    span = math.log1p(high - low)

    def spread(share: float) -> float:
        return min(low + math.expm1(share * span), high)

    if not isinstance(field, forms.FloatField):
        within = st.floats(0, 1).map(lambda share: str(int(spread(share))))
    else:
        within = st.one_of(st.floats(0, 1).map(lambda share: f"{spread(share):.6g}"), st.floats(low, high).map(repr))
    return st.one_of(within, st.sampled_from((str(low), str(high))))


def beyond(field: forms.Field) -> st.SearchStrategy[str]:
    """What a field refuses, or is the next thing to it."""
    if isinstance(field, forms.IntegerField):
        low, high = field.min_value, field.max_value
        return st.sampled_from((str(low - 1), str(high + 1), "", "-0", "1e9", "nan", "inf", "1e400", f"{low}.5", "x"))
    return GARBAGE


def texts(view: View, name: str) -> st.SearchStrategy[str]:
    """Texts of a field's own grammar: the parts of what its presets hold, put together anew, their numbers changed."""
    known = {view.starts[name], *(view.texts(preset.values).get(name, "") for preset in view.presets)} - {""}
    longest = view.form.base_fields[name].max_length
    if not known:
        return st.lists(st.integers(0, 9_999)).map(lambda row: ",".join(map(str, row))[:longest])

    def put_together(text: str) -> st.SearchStrategy[str]:
        between = next((mark for mark in SEPARATORS if mark in text), "\n")
        part, most = st.sampled_from(text.split(between)), 2 * text.count(between) + 1
        lists = st.one_of(st.lists(part, min_size=1, max_size=most, unique=True), st.lists(part, max_size=most))
        mixed = lists.map(lambda parts: between.join(parts)[:longest])
        return st.one_of(mixed, st.builds(with_number, st.just(text), st.integers(0, 50), st.integers(0, 999)))

    return st.sampled_from(sorted(known)).flatmap(put_together)


def with_number(text: str, place: int, number: int) -> str:
    """The text with one of its numbers changed."""
    found = list(re.finditer(r"\d+", text))
    if not found:
        return text
    at = found[place % len(found)]
    return text[:at.start()] + str(number) + text[at.end():]


def rows(field: RowField) -> st.SearchStrategy[str]:
    """A listed row, or one with numbers of one's own."""
    parts = [part for part in field.rows.parts if not part.letters]
    listed = st.sampled_from([slug for slug, _ in field.choices])
    own = st.sampled_from(parts).flatmap(
        lambda part: st.builds("{},{}:{:g}".format, listed, st.just(part.name), st.sampled_from((part.low, part.high))))
    return st.one_of(listed, own)


def values(view: View, name: str) -> st.SearchStrategy[str]:
    """What the field takes, nearly always."""
    field = view.form.base_fields[name]
    if isinstance(field, RowField):
        return rows(field)
    if isinstance(field, forms.ChoiceField):
        return st.sampled_from([str(key) for key, _ in field.choices])
    if isinstance(field, forms.IntegerField):
        return numbers(field) if field.required else st.one_of(numbers(field), st.just(""))
    return texts(view, name)


def inputs(view: View) -> st.SearchStrategy[dict[str, str]]:
    """Some fields of the form with what they take, the rest at their start; now and then one with what it does not."""
    fields = view.form.base_fields
    takes = {name: values(view, name) for name in fields}
    refuses = {name: beyond(field) for name, field in fields.items()}

    @st.composite
    def drawn(draw: st.DrawFn) -> dict[str, str]:
        here = draw(st.integers(0, 2**len(fields) - 1))  # a bit a field
        given = {name: draw(takes[name]) for place, name in enumerate(takes) if here >> place & 1}
        if not draw(st.integers(0, 3)):
            name = draw(st.sampled_from(sorted(refuses)))
            given[name] = draw(refuses[name])
        return given

    return drawn()


def parts_of(value: Any) -> Iterator[Any]:
    """A result, and every record, number and text in it."""
    left = [value]
    while left:
        part = left.pop()
        yield part
        if isinstance(part, (str, int, float)):
            continue
        if is_record(part):
            left += [getattr(part, name) for name in names_of(part)]
        elif isinstance(part, Mapping):
            left += part.values()
        elif isinstance(part, (list, tuple)):
            left += part


def drawings(picture: Any) -> list[Drawing]:
    """Every drawing of a picture, however deep it lies."""
    return [part for part in parts_of(picture) if isinstance(part, Drawing)]


def assert_numbers(result: Any) -> None:
    """Each number in a result is one."""
    for part in parts_of(result):
        if isinstance(part, float):
            assert math.isfinite(part)


def assert_readable(lab: Lab, stage: Stage) -> None:
    """The page's own part says no "nan" and no "inf"."""
    request = RequestFactory().get("/")
    request.user = AnonymousUser()
    page = render_to_string(stage.fragment, {"lab": lab, "stage": stage, "embedded": True}, request)
    assert not NO_NUMBER.search(page)


@pytest.mark.parametrize(("lab", "view"), VIEWS)
def test_no_input_breaks_a_lab(lab: Lab, view: View) -> None:
    name = f"{lab.slug} {view.name}"
    law = LAWS[name]

    @seed(zlib.crc32(name.encode()))
    @settings(max_examples=EXAMPLES // SLOW.get(name, 1), phases=PHASES, database=None, deadline=None,
              suppress_health_check=list(HealthCheck))
    @given(values=inputs(view), step=st.sampled_from(STEPS), look=st.integers(0, 9))
    def holds(values: dict[str, str], step: str, look: int) -> None:
        stage = stage_of(lab, values | {"view": view.name, "step": step})
        assert all(stage.faults.values())
        if not look or stage.faults:
            said = answer(view, values, step)
            assert said["faults"] == stage.faults
            json.dumps(said, allow_nan=False)
        if stage.faults:
            return
        assert_numbers(stage.shown.result)
        assert law(stage.shown.result, stage.shown.inputs)
        for drawing in drawings(stage.shown.picture):
            assert_within(drawing, drawing.width)
        if not look:
            assert_readable(lab, stage)

    holds()


def test_each_view_has_a_law() -> None:
    assert set(LAWS) == {f"{lab.slug} {view.name}" for lab in LABS.values() for view in lab.views}
