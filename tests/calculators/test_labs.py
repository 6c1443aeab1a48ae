"""What every lab promises: its state is its address, and no address breaks it."""
import inspect
import json
import re
from io import StringIO
from itertools import cycle
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import AnonymousUser
from django.core.management import CommandError, call_command
from django.http import HttpRequest, JsonResponse
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from calculators.answer import answer
from calculators.labs import LABS
from calculators.labs.base import Lab, Refusal, View
from calculators.labs.commit import how_far
from calculators.models.scheduler import simulate
from calculators.stage import stage_of

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


@pytest.fixture
def stranger(rf: RequestFactory) -> HttpRequest:
    """What a fragment is rendered for outside a request."""
    request = rf.get("/")
    request.user = AnonymousUser()
    return request


@pytest.mark.parametrize(("lab", "view"), VIEWS)
def test_form_fields_are_the_models_parameters(lab: Lab, view: View) -> None:
    parameters = inspect.signature(view.solve).parameters
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters.values())
    assert set(view.form.base_fields) == set(parameters) - RECORDED.get(view.solve, set())


@pytest.mark.parametrize(("lab", "view", "preset"), PRESETS)
def test_a_note_that_may_tell_the_result_waits_with_it(lab: Lab, view: View, preset: object) -> None:
    given = view.texts(view.starts | preset.values) | {"view": view.name}
    first, last = stage_of(lab, given | {"ask": "1"}), stage_of(lab, given | {"step": "9" * 8})
    waits = first.shown is None or (view.predict and first.step)
    early, late = (next(link.note for link in stage.presets if link.current) for stage in (first, last))
    assert early == ("" if waits and "?" not in preset.note else preset.note)
    assert late == preset.note


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
def test_no_value_breaks_a_page(lab: Lab, view: View, client: Client, stranger: HttpRequest) -> None:
    """Each text in each knob alone, in all knobs at once, and beside each other in one page.

    The rest of a page does not know what was typed: it shows the first preset.
    """
    for text in GARBAGE:
        stage = stage_of(lab, dict.fromkeys(view.form.base_fields, text) | {"view": view.name})
        assert all(stage.faults.values()), text
        for name in view.form.base_fields.keys() - stage.faults.keys():
            assert JsonResponse(answer(view, {name: text})).content, (name, text)
        shown = render_to_string("calculators/_knobs.html", {"lab": lab, "stage": stage})
        if not stage.instead:
            shown += render_to_string(stage.fragment, {"lab": lab, "stage": stage}, stranger)
        assert "<script>alert" not in shown, text
    assert_pages_hold(client, lab, dict(zip(view.form.base_fields, cycle(GARBAGE))) | {"view": view.name})


@pytest.mark.parametrize("lab", LABS.values(), ids=LABS)
def test_nothing_beside_the_knobs_breaks_a_page(lab: Lab, client: Client, stranger: HttpRequest) -> None:
    """Each text in all of them, and beside each other in two pages; a page shows of them only what its stage does."""
    for text in GARBAGE:
        given = dict.fromkeys(BESIDE, text)
        assert client.get(f"/labs/{lab.slug}.json", given).status_code == 200, text
        stage = stage_of(lab, given)
        shown = render_to_string(stage.fragment, {"lab": lab, "stage": stage}, stranger)
        assert "<script>alert" not in shown, text
    for beside in (GARBAGE, reversed(GARBAGE)):
        assert_pages_hold(client, lab, dict(zip(BESIDE, beside, strict=False)))


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
def test_page_fragment_and_embedded_lab_agree_and_leave_no_trace(
    lab: Lab, view: View, client: Client, django_assert_num_queries: CaptureQueriesContext
) -> None:
    address = lab.address(view, {})
    elsewhere = HTMX | {"HX-Current-URL": "http://testserver/review/"}
    with django_assert_num_queries(2):  # the questions that the lab answers, the numbers it computes
        page = client.get(address)
    with django_assert_num_queries(0):
        fragment, embedded = (client.get(address, headers=headers) for headers in (HTMX, elsewhere))
        answered = client.get(f"/labs/{lab.slug}.json", {"view": view.name})
    assert not any(response.cookies for response in (page, fragment, embedded, answered))
    assert fragment["HX-Push-Url"] == address
    assert b"<html" in page.content and b"<html" not in fragment.content
    drawings = re.findall(rb"<title>.*?</title>", fragment.content)[:3]
    assert all(drawing in page.content and drawing in embedded.content for drawing in drawings)
    # In another page a lab leaves its address alone.
    assert "HX-Push-Url" not in embedded
    assert b"hx-swap-oob" not in embedded.content and b'form="knobs"' not in embedded.content
    assert b'hx-target="#lab"' in embedded.content


@pytest.mark.parametrize("lab", LABS.values(), ids=LABS)
def test_a_restored_history_gets_the_whole_page(lab: Lab, client: Client) -> None:
    """One view of each lab: which of the two is answered is no view's own."""
    address = lab.address(lab.views[0], {})
    assert client.get(address)["Vary"].startswith("HX-Request, HX-History-Restore-Request")
    restored = client.get(address, headers=HTMX | {"HX-History-Restore-Request": "true"})
    assert b"<html" in restored.content and "HX-Push-Url" not in restored


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


def test_the_way_to_the_knobs_holds_what_the_fold_held(client: Client) -> None:
    held = client.get("/labs/prefill-interference?decoders=16&ask=1").context["stage"].full
    assert dict(parse_qsl(urlsplit(held).query)) == {"decoders": "16", "ask": "1"}
    assert client.get(held).context["stage"].shown is None
    told = client.get("/labs/prefill-interference?ask=1&said=250+ms").context["stage"].full
    assert client.get(told).context["stage"].verdict.said == "250 ms"
    assert client.get("/labs/prefill-interference").context["stage"].full == "/labs/prefill-interference"


def test_a_number_may_be_committed_without_being_asked(client: Client) -> None:
    page = client.get("/labs/prefill-interference")
    assert page.context["stage"].shown is not None
    assert "Commit a number first" in page.content.decode()


def test_a_stale_guess_is_kept_when_a_knob_moves(client: Client) -> None:
    address = client.get("/labs/prefill-interference?decoders=16&ask=1&said=0.25+s").context["stage"].here
    assert dict(parse_qsl(urlsplit(address).query)) == {"decoders": "16", "ask": "1", "said": "0.25 s"}
