"""A lab's state is its address, and a server takes 8,190 bytes of it: no text that a form takes makes it longer."""
from urllib.parse import urlencode

import pytest
from django.test import Client

from bench.labs import repeated
from calculators.labs import LABS
from calculators.labs.base import Lab, View
from calculators.stage import stage_of

LONGEST_LINE = 8_190  # gunicorn's limit_request_line, the most it allows
TEXTS = {
    (lab.slug, view.name): [name for name, field in view.form.base_fields.items() if getattr(field, "max_length", None)]
    for lab in LABS.values() for view in lab.views
}
VIEWS = [pytest.param(LABS[slug], LABS[slug].view(name), id=f"{slug}-{name}")
         for (slug, name), texts in TEXTS.items() if texts]


@pytest.fixture(autouse=True)
def reads_the_bank(db: None) -> None:
    """A lab's page names the questions it answers."""


def sent_line(lab: Lab, values: dict[str, str]) -> str:
    """The line with which a browser asks for what the knobs hold: it encodes every sign, and ends lines with two."""
    return f"GET /labs/{lab.slug}?{urlencode(values)} HTTP/1.1"


@pytest.mark.parametrize(("lab", "view"), VIEWS)
def test_the_longest_texts_fit_an_address(lab: Lab, view: View) -> None:
    values = view.starting_values() | {"view": view.name}
    for name in TEXTS[lab.slug, view.name]:
        longest = view.form.base_fields[name].max_length
        given = [view.starts[name] or "1024", *(view.texts(preset.values).get(name) for preset in view.presets)]
        made = [repeated(text, longest) for text in given if text]
        values[name] = max(made, key=lambda text: len(urlencode({name: text})))
    assert len(sent_line(lab, values)) <= LONGEST_LINE


@pytest.mark.parametrize(("slug", "row"), [("leak-rate", "1, 2, 3\r\n"), ("scheduler", "A:1/1@0+S\r\n")])
def test_short_rows_on_lines_of_their_own_fit_too(slug: str, row: str) -> None:
    view = LABS[slug].views[0]
    name = TEXTS[slug, view.name][0]
    rows = view.form.base_fields[name].max_length // (len(row) - 1)  # a field counts the end of a line once
    assert len(sent_line(LABS[slug], view.starting_values() | {name: row * rows})) <= LONGEST_LINE


@pytest.mark.parametrize(("slug", "name", "limit"), [("leak-rate", "samples", 3_600), ("scheduler", "requests", 2_000)])
def test_a_field_says_how_long_a_text_it_takes(slug: str, name: str, limit: int, client: Client) -> None:
    html = client.get(f"/labs/{slug}").content.decode()
    assert f'name="{name}" rows="4" maxlength="{limit}"' in html and f"at most {limit:,} characters" in html
    page = client.get(f"/labs/{slug}", {name: "0,1,2;" * limit})
    assert page.status_code == 200
    assert page.context["stage"].faults[name] == f"Takes a text of at most {limit:,} characters."


def test_the_spaces_between_parts_make_no_text_too_long() -> None:
    rows = ";".join(f"{minute},{minute * 90},{9_000 + minute}" for minute in range(10, 260))
    samples = f"min,requests,rss;{rows}"[:3_600].rpartition(";")[0]
    stage = stage_of(LABS["leak-rate"], {"samples": samples})
    shown = next(knob for group in stage.knobs for knob in group.knobs if knob.name == "samples")
    assert stage.faults == {} and len(samples) > 3_500 and shown.value == samples
