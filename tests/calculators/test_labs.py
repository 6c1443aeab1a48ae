"""What every lab promises: its state is its address, and no address breaks it."""
import inspect
import json
import re
from io import StringIO
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from calculators.labs import LABS
from calculators.labs.base import Lab, Refusal, View
from calculators.labs.commit import how_far
from calculators.models.scheduler import simulate

VIEWS = [pytest.param(lab, view, id=f"{lab.slug}-{view.name}") for lab in LABS.values() for view in lab.views]
PRESETS = [
    pytest.param(lab, view, preset, id=f"{lab.slug}-{preset.name}")
    for lab in LABS.values() for view in lab.views for preset in view.presets
]
RECORDED = {simulate: {"drafts", "accepted", "aborts"}}  # what only a recorded run gives, and no form asks for
GARBAGE = [
    "", " ", "x", "-1", "0", "9" * 5000, "1e309", "nan", "inf", "٣", "<script>alert(1)</script>", "\x00", "1;2", "💥",
]
BESIDE = ["step", "view", "ask", "said", "said_A", "score", "unknown"]
HTMX = {"HX-Request": "true", "HX-Current-URL": "http://testserver/labs/scheduler"}


@pytest.fixture(autouse=True)
def reads_the_bank(db: None) -> None:
    """A lab's page names the questions it answers."""


@pytest.mark.parametrize(("lab", "view"), VIEWS)
def test_form_fields_are_the_models_parameters(lab: Lab, view: View) -> None:
    parameters = inspect.signature(view.solve).parameters
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters.values())
    assert set(view.form.base_fields) == set(parameters) - RECORDED.get(view.solve, set())


@pytest.mark.parametrize(("lab", "view", "preset"), PRESETS)
def test_every_preset_holds(lab: Lab, view: View, preset: object, client: Client) -> None:
    inputs, result = view.run(preset.values)
    address = lab.address(view, preset.values)
    page = client.get(address)
    assert page.status_code == 200
    assert page.context["stage"].faults == {}
    assert page.context["stage"].shown.result == result
    assert lab.address(view, inputs) == address


@pytest.mark.parametrize(("lab", "view"), VIEWS)
def test_starting_values_make_the_shortest_address(lab: Lab, view: View) -> None:
    inputs, _ = view.run({})
    assert view.query(inputs) == ""
    assert view.query(view.starting_values()) == ""


@pytest.mark.parametrize(("lab", "view"), VIEWS)
@pytest.mark.parametrize("text", GARBAGE)
def test_no_value_breaks_a_page(lab: Lab, view: View, text: str, client: Client) -> None:
    faults = {name: view.bind({name: text}).errors for name in view.form.base_fields}
    assert all(sentences for fault in faults.values() for sentences in fault.values())
    for name in [name for name in faults if not faults[name]]:
        assert client.get(f"/labs/{lab.slug}.json", {"view": view.name, name: text}).status_code == 200, name
    assert_pages_hold(client, lab, dict.fromkeys(view.form.base_fields, text) | {"view": view.name})


@pytest.mark.parametrize("lab", LABS.values(), ids=LABS)
@pytest.mark.parametrize("text", GARBAGE)
def test_nothing_beside_the_knobs_breaks_a_page(lab: Lab, text: str, client: Client) -> None:
    for name in BESIDE:
        assert client.get(f"/labs/{lab.slug}.json", {name: text}).status_code == 200, name
    assert_pages_hold(client, lab, dict.fromkeys(BESIDE, text))


def assert_pages_hold(client: Client, lab: Lab, given: dict[str, str]) -> None:
    for headers in ({}, HTMX):
        page = client.get(f"/labs/{lab.slug}", given, headers=headers)
        assert page.status_code == 200
        assert b"<script>alert" not in page.content


@pytest.mark.parametrize(("lab", "view"), VIEWS)
def test_a_fault_stands_beside_its_field_and_the_typed_text_stays(lab: Lab, view: View, client: Client) -> None:
    name = next(name for name, field in view.form.base_fields.items() if getattr(field, "min_value", None) is not None)
    page = client.get(f"/labs/{lab.slug}", {"view": view.name, name: "quite a lot"})
    sentence = page.context["stage"].faults[name]
    assert re.match(r"Takes a (whole )?number from ", sentence)
    html = page.content.decode()
    assert 'value="quite a lot"' in html and sentence in html
    assert "Shown is the preset" in html
    assert page.context["stage"].shown.result == view.run(view.presets[0].values)[1]


@pytest.mark.parametrize(("lab", "view"), VIEWS)
def test_htmx_keeps_the_last_good_picture_on_a_fault(lab: Lab, view: View, client: Client) -> None:
    name = next(name for name, field in view.form.base_fields.items() if getattr(field, "min_value", None) is not None)
    response = client.get(f"/labs/{lab.slug}", {"view": view.name, name: "x"}, headers=HTMX)
    assert response.status_code == 200
    assert response["HX-Reswap"] == "none"
    assert "HX-Push-Url" not in response
    marks = response.content.decode()
    assert f'id="mark-{name}" hx-swap-oob="true"><span class="fault">Takes' in marks
    assert 'id="lab"' not in marks


@pytest.mark.parametrize(("lab", "view"), VIEWS)
def test_the_fragment_is_what_the_page_holds(lab: Lab, view: View, client: Client) -> None:
    address = lab.address(view, {})
    page, fragment = client.get(address), client.get(address, headers=HTMX)
    assert page["Vary"].startswith("HX-Request, HX-History-Restore-Request")
    assert fragment["HX-Push-Url"] == address
    assert b"<html" in page.content and b"<html" not in fragment.content
    for drawing in re.findall(r"<title>.*?</title>", fragment.content.decode())[:3]:
        assert drawing in page.content.decode()
    restored = client.get(address, headers=HTMX | {"HX-History-Restore-Request": "true"})
    assert b"<html" in restored.content and "HX-Push-Url" not in restored


@pytest.mark.parametrize(("lab", "view"), VIEWS)
def test_a_lab_embedded_in_another_page_leaves_its_address_alone(lab: Lab, view: View, client: Client) -> None:
    headers = HTMX | {"HX-Current-URL": "http://testserver/review/"}
    fragment = client.get(lab.address(view, {}), headers=headers)
    assert "HX-Push-Url" not in fragment
    assert b"hx-swap-oob" not in fragment.content and b'form="knobs"' not in fragment.content
    assert b'hx-target="#lab"' in fragment.content


@pytest.mark.parametrize(("lab", "view"), VIEWS)
def test_a_stranger_leaves_no_trace(
    lab: Lab, view: View, client: Client, django_assert_num_queries: CaptureQueriesContext
) -> None:
    with django_assert_num_queries(0):
        fragment = client.get(lab.address(view, {}), headers=HTMX)
        answer = client.get(f"/labs/{lab.slug}.json", {"view": view.name})
    with django_assert_num_queries(1):  # the questions that the lab answers
        page = client.get(lab.address(view, {}))
    assert not (fragment.cookies or answer.cookies or page.cookies)


@pytest.mark.parametrize(("lab", "view"), VIEWS)
def test_json_and_the_command_give_one_answer(lab: Lab, view: View, client: Client) -> None:
    name, field = next((n, f) for n, f in view.form.base_fields.items() if getattr(f, "min_value", None) is not None)
    value = str(view.run({})[0][name])
    out = StringIO()
    call_command("lab", lab.slug, "--view", view.name, "--set", f"{name}={value}", "--json", stdout=out)
    answer = client.get(f"/labs/{lab.slug}.json", {"view": view.name, name: value}).json()
    assert json.loads(out.getvalue()) == answer
    assert answer["faults"] == {} and answer["result"]


@pytest.mark.parametrize(("lab", "view"), VIEWS)
def test_json_and_the_command_name_one_fault(lab: Lab, view: View, client: Client) -> None:
    name = next(n for n, f in view.form.base_fields.items() if getattr(f, "min_value", None) is not None)
    answer = client.get(f"/labs/{lab.slug}.json", {"view": view.name, name: "x"}).json()
    assert answer["result"] is None
    with pytest.raises(CommandError, match=re.escape(f"{name}: {answer['faults'][name]}")):
        call_command("lab", lab.slug, "--view", view.name, "--set", f"{name}=x")
    with pytest.raises(Refusal, match=re.escape(answer["faults"][name])):
        view.run({name: "x"})


@pytest.mark.parametrize(("lab", "view"), VIEWS)
def test_the_command_prints_readable_lines(lab: Lab, view: View) -> None:
    out = StringIO()
    call_command("lab", lab.slug, "--view", view.name, stdout=out)
    lines = out.getvalue().splitlines()
    assert len(lines) > 3 and "{" not in lines[-1]


def test_the_command_names_what_there_is() -> None:
    with pytest.raises(CommandError, match="scheduler"):
        call_command("lab", "no-such-lab")
    with pytest.raises(CommandError, match="max_num_seqs"):
        call_command("lab", "scheduler", "--set", "max_num_seq=4")
    with pytest.raises(CommandError, match="NAME=VALUE"):
        call_command("lab", "scheduler", "--set", "4")


def test_an_unknown_lab_is_a_page_that_is_not_found(client: Client) -> None:
    assert client.get("/labs/no-such-lab").status_code == 404
    assert client.get("/labs/no-such-lab.json").status_code == 404
    assert client.post("/labs/scheduler").status_code == 405


def test_a_slash_too_many_leads_to_the_lab_as_it_was_set(client: Client) -> None:
    response = client.get("/labs/scheduler/?step=3")
    assert (response.status_code, response.url) == (301, "/labs/scheduler?step=3")


def test_the_index_shows_every_lab_once(client: Client) -> None:
    page = client.get("/labs/").content.decode()
    for slug, lab in LABS.items():
        assert page.count(f'href="/labs/{slug}"') == 1
        assert lab.line in page
    assert page.count('class="picture thumbnail"') == len(LABS)


def test_closed_labs_ask_a_stranger_to_sign_in(client: Client, as_ada: Client, settings: LazySettings) -> None:
    settings.DRILL_PUBLIC_LABS = False
    for address in ("/labs/", "/labs/scheduler?step=3", "/labs/scheduler.json"):
        refused = client.get(address)
        assert refused.status_code == 302 and "next=/labs/" in refused["Location"]
        assert as_ada.get(address).status_code == 200


def test_a_signed_in_reader_sees_the_same_lab(client: Client, as_ada: Client, ada: User) -> None:
    pages = [each.get("/labs/scheduler?step=7").content.decode() for each in (client, as_ada)]
    titles = [re.findall(r"<title>.*?</title>", page) for page in pages]
    assert titles[0] == titles[1]


def test_grouped_thousands_are_read_in_a_knob(client: Client) -> None:
    stage = client.get("/labs/prefill-interference", {"prompt_tokens": "114,240"}).context["stage"]
    assert stage.shown.inputs["prompt_tokens"] == 114_240
    assert stage.here == "/labs/prefill-interference"


@pytest.mark.parametrize(("said", "expected", "words"), [
    (250, 984, "3.9× too low"),  # 984 / 250 = 3.936
    (57, 55.47, "1.03× too high"),  # 57 / 55.47 = 1.0276
    (984, 984, "right"),
    (984.1, 984, "right"),
    (0, 984, "too low"),
    (-5, 984, "too low"),
    (98_400, 984, "100× too high"),
])
def test_how_far_off_is_said_as_a_ratio(said: float, expected: float, words: str) -> None:
    assert how_far(said, expected) == words


def test_a_calculator_opened_from_a_question_holds_its_result(client: Client) -> None:
    held = client.get("/labs/prefill-interference?ask=1")
    assert held.context["stage"].shown is None
    assert "984" not in held.content.decode()
    unread = client.get("/labs/prefill-interference?ask=1&said=31.5+GiB")
    assert unread.context["stage"].shown is None
    assert "GiB is a size" in unread.content.decode() and 'value="31.5 GiB"' in unread.content.decode()
    shown = client.get("/labs/prefill-interference?ask=1&said=250+ms").content.decode()
    assert "You said <b class=\"pen\">250 ms</b>. It is <b>984 ms</b>" in shown and "3.9× too low" in shown


def test_a_number_may_be_committed_without_being_asked(client: Client) -> None:
    page = client.get("/labs/prefill-interference")
    assert page.context["stage"].shown is not None
    assert "Commit a number first" in page.content.decode()


def test_a_stale_guess_is_kept_when_a_knob_moves(client: Client) -> None:
    address = client.get("/labs/prefill-interference?decoders=16&ask=1&said=0.25+s").context["stage"].here
    assert dict(parse_qsl(urlsplit(address).query)) == {"decoders": "16", "ask": "1", "said": "0.25 s"}
