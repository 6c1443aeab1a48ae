"""The kv-transfer lab: its drawings keep their frames, and its pages say what the models found."""
import pytest
from django.test import Client

from calculators.labs import kv_transfer_picture as drawn
from calculators.labs.kv_transfer import LAB
from calculators.pictures import NARROW, WIDE
from tests.calculators.drawings import assert_within, walls, words

STEPPED, SUMMED = LAB.views[:2], LAB.views[2:]
EVERY = [pytest.param(view, preset, id=f"{view.name}-{preset.name}") for view in LAB.views for preset in view.presets]


def shown_of(view: object, values: dict, step: str | None = None, said: object = None) -> object:
    return view.drawn(view.show(view.bind(values), step), said)


@pytest.mark.parametrize(("view", "preset"), EVERY)
def test_every_shape_keeps_within_its_drawing(view: object, preset: object) -> None:
    for step in ("9", "999"):
        picture = shown_of(view, preset.values, step).picture
        parts = [(part.wide, part.narrow) for part in picture.parts]
        if view in STEPPED:
            parts.append((picture.calls.wide, picture.calls.narrow))
        for wide, narrow in parts:
            assert_within(wide, WIDE)
            assert_within(narrow, NARROW)


@pytest.mark.parametrize(("values", "said"), [({}, 13.4), ({}, None), ({"efficiency": 0.01}, 1e9)])
def test_the_gist_keeps_within_its_drawing(values: dict, said: float | None) -> None:
    for small, width in zip(drawn.gist(shown_of(LAB.view("split"), values, said=said)), (720, 350), strict=True):
        assert_within(small, width)


def test_the_last_step_shows_every_call_and_the_others_the_latest() -> None:
    view = LAB.view("nixl")
    last = shown_of(view, {}, "999")
    assert last.picture.calls.left_out == 0 and len(last.picture.calls.table.rows) == 31
    before = shown_of(view, {}, "29")
    assert before.picture.calls.left_out == 14
    assert "build_connector_meta" in words(before.picture.calls.wide)
    assert "on_new_request" in words(before.picture.calls.wide)  # D's; P's was 13 calls earlier


def test_the_lease_says_what_ended_the_heartbeats() -> None:
    for fault, said in (("read", "the read fails at 0 s"), ("stall", "D stands still at 0 s")):
        picture = shown_of(LAB.view("nixl"), {"fault": fault}, "999").picture
        assert said in words(picture.parts[0].narrow)


def test_a_dead_decode_instance_is_a_wall_and_the_lease_is_drawn() -> None:
    picture = shown_of(LAB.view("nixl"), {"fault": "D dies", "queue_s": 45}, "999").picture
    assert walls(picture.calls.wide) == 1
    assert "P frees at 40 s" in words(picture.parts[0].wide)


def test_predict_asks_who_holds_how_many_blocks() -> None:
    view = LAB.view("nixl")
    run = shown_of(view, {}).result
    read = next(place for place, step in enumerate(run.steps) if step.name == "READ")
    assert [(entry.name, entry.value) for entry in view.predict(run, {}, read)] == [
        ("blocks on P", 512), ("on D", 512)]
    sides = LAB.view("sides")
    run = shown_of(sides, {"load": "async"}).result
    parked = next(place for place, step in enumerate(run.steps) if step.held_by["engine"].status.endswith("_KVS"))
    assert [(entry.name, entry.value) for entry in sides.predict(run, {}, parked)] == [
        ("blocks", 251), ("computed", 4_016)]


def test_what_was_said_is_judged_and_a_slip_is_named(client: Client, db: None) -> None:
    page = client.get("/labs/kv-transfer", {"view": "split", "said": "13.4 ms"}).content.decode()
    assert "That is the link at its full rate" in page
    page = client.get("/labs/kv-transfer", {"step": "3", "said_blocks on P": "512", "said_on D": "1"}).content.decode()
    assert "Step 3: 1 of 2 right." in page
    page = client.get("/labs/kv-transfer", {"view": "lease", "said": "42"}).content.decode()
    assert "the last heartbeat came before it" in page


def test_the_command_lists_the_calls() -> None:
    view = LAB.view("nixl")
    told = list(view.tell(shown_of(view, {"fault": "read"}).result))
    assert any("_handle_failed_recving" in line for line in told)
    assert told[-1].startswith("held by P after it")


def test_the_end_is_not_told_before_the_last_call(client: Client, db: None) -> None:
    given = {"queue_s": "45", "fault": "D dies", "dies_s": "38"}
    for step in ("0", "18"):
        page = client.get("/labs/kv-transfer", given | {"step": step}).content.decode()
        assert "with the last call" in page and "is lost" not in page and "GB·s" not in page
    # By hand: beats every 30 / 6 = 5 s, the last before 38 s at 35 s, each worth 30 × 2 / 3 = 20 s.
    page = client.get("/labs/kv-transfer", given | {"step": "19"}).content.decode()
    assert "P’s blocks go free 55 s after its prefill" in page
    assert "the later of the lease, 30 s, and the last heartbeat, at 35 s, + 20 s" in page


def test_a_beat_on_arrival_does_not_shorten_the_lease() -> None:
    view = LAB.view("nixl")
    dies_at_once = shown_of(view, {"queue_s": 45, "fault": "D dies", "dies_s": 0}).result
    assert "free 30 s after its prefill: the later of the lease, 30 s, and the last heartbeat, at 0 s, + 20 s" in (
        dies_at_once.finding)
