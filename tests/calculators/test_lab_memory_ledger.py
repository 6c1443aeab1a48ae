"""The memory-ledger lab's pages: what they say, what they hold back, and that any setting can be drawn."""
import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from calculators.labs import LABS
from calculators.labs.base import Preset, View
from calculators.models.base import Refusal
from calculators.models.catalogue import GPUS, MODELS
from calculators.pictures import NARROW, WIDE
from tests.calculators.drawings import assert_within, walls, words

LAB = LABS["memory-ledger"]
LEDGER, PHASES, COLD_START = LAB.views
PAIR = {"model": "llama-3.1-70b", "tensor_parallel_size": 2}


def page(client: Client, query: str = "") -> str:
    response = client.get(f"/labs/memory-ledger?{query}")
    assert response.status_code == 200
    return response.content.decode()


def drawn(view: View, values: dict, said: float | str | None = None):
    return view.drawn(view.show(view.bind(values)), said).picture


@pytest.mark.django_db
def test_the_ledger_names_every_gib(client: Client):
    html = page(client)
    for figure in ("72.85 − 14.96 − 0.60 − 0.25 − 1.78 − 0.86", "27,852 blocks = 445,632 tokens", "estimated",
                   "never charged", "3.40 fit", "KV within 53.9 to 54.9 GiB"):
        assert figure in html


@pytest.mark.django_db
def test_a_held_ledger_shows_nothing_of_itself(client: Client):
    html = page(client, "ask=1")
    for figure in ("54.4", "445,632", "27,852", "72.85"):
        assert figure not in html


@pytest.mark.django_db
def test_a_number_that_leaves_out_the_peak_marks_its_line(client: Client):
    html = page(client, "said=56.2")
    assert '<tr class=" missed"><th scope="row">activation peak' in html
    assert "That leaves out the peak of the dummy step" in html
    assert 'class=" missed"' not in page(client, "said=54.4")


@pytest.mark.django_db
def test_a_refusal_is_in_the_engines_words(client: Client):
    html = page(client, "model=llama-3.1-70b&tensor_parallel_size=2")
    assert "the estimated maximum model length is 5952" in html and "Short by 19.09 GiB" in html


def test_the_bar_has_its_wall_and_its_small_terms_larger():
    picture = drawn(LEDGER, {}, 57)
    assert walls(picture.wide) == walls(picture.narrow) == 1
    said = words(picture.wide)
    assert "3.50 GiB, drawn 10 times larger" in said
    assert "your 57 would end here, past the budget" in said and "your 57" in words(picture.narrow)


def test_a_refused_start_draws_no_kv():
    assert "no KV: -4.63 GiB" in words(drawn(LEDGER, PAIR | {"gpu_memory_utilization": 0.85}).wide)


@given(
    model=st.sampled_from(sorted(MODELS)), gpu=st.sampled_from(sorted(GPUS)),
    tensor_parallel_size=st.sampled_from([1, 2, 4, 8, 16]), gpu_memory_utilization=st.floats(0.01, 1),
    max_num_batched_tokens=st.integers(1, 131_072), max_num_seqs=st.integers(1, 65_536),
    max_model_len=st.integers(1, 10_485_760), said=st.none() | st.floats(-10, 2_000),
    weights_gib=st.none() | st.floats(0, 900), visible_gib=st.none() | st.floats(1, 1_000),
)
@settings(max_examples=60, deadline=None)
def test_any_ledger_can_be_drawn(said: float | None, **values: object):
    try:
        LEDGER.run(values)
    except Refusal:
        return
    picture = drawn(LEDGER, values, said)
    for drawing, width in ((picture.wide, WIDE), (picture.narrow, NARROW)):
        assert drawing.width == width
        assert_within(drawing, width)


@pytest.mark.django_db
def test_the_log_is_there_before_the_phase_is_named(client: Client):
    unnamed = page(client, "view=phases")
    assert "Available KV cache memory: 0.91 GiB" in unnamed and "phase 4 ends it.</p>" not in unnamed
    assert '<details class="fold">' in unnamed
    wrong = page(client, "view=phases&said=3")
    assert "not that" in wrong and "is its last good line" in wrong and '<details class="fold" open>' in wrong
    assert "not that" not in page(client, "view=phases&said=4")


@pytest.mark.django_db
def test_a_cold_start_without_the_weights_is_known_for_the_engines_line(client: Client):
    html = page(client, "view=cold-start&said=90")
    assert "That is what “init engine took” covers." in html and "2.7× too low" in html
    assert "What meets it: NVMe and compile cache." in html


@pytest.mark.parametrize("preset", PHASES.presets, ids=lambda preset: preset.name)
def test_every_check_has_its_wall(preset: Preset):
    picture = drawn(PHASES, preset.values, "4")
    for drawing, width in ((picture.wide, WIDE), (picture.narrow, NARROW)):
        assert walls(drawing) == 5
        assert_within(drawing, width)


@given(
    weight_gb=st.floats(0.1, 10_000), read_gb_per_s=st.floats(0.01, 1_000), target_s=st.floats(1, 36_000),
    level=st.sampled_from(["O0", "O1", "O2"]), compile_cache=st.booleans(), capture_sizes=st.integers(0, 1_024),
    said=st.none() | st.floats(-5, 1e6),
)
@settings(max_examples=40, deadline=None)
def test_any_cold_start_can_be_drawn(said: float | None, **values: object):
    picture = drawn(COLD_START, values, said)
    for drawing, width in ((picture.wide, WIDE), (picture.narrow, NARROW)):
        assert_within(drawing, width)


LOG = "Model loading took 14.99 GiB memory and 9.1 seconds\nAvailable KV cache memory: 54.10 GiB"


@pytest.mark.django_db
def test_pasted_lines_become_knobs_and_an_address(client: Client):
    response = client.post("/labs/memory-ledger/paste", {"pasted": LOG, "max_num_seqs": "512"})
    assert response.status_code == 302
    assert response["Location"] == "/labs/memory-ledger?max_num_seqs=512&weights_gib=14.99&available_gib=54.1"
    assert not response.cookies
    assert "54.10 GiB = 27,699 blocks" in client.get(response["Location"]).content.decode()


@pytest.mark.django_db
def test_a_line_that_cannot_be_read_is_named_and_the_text_stays(client: Client):
    response = client.post("/labs/memory-ledger/paste", {"pasted": f"{LOG}\nEstimated CUDA graph memory: <b>some</b>"})
    html = response.content.decode()
    assert response.status_code == 200
    assert "Line 3: no figure can be read after “Estimated CUDA graph memory”." in html
    assert "54.10 GiB = 27,699 blocks" in html and "&lt;b&gt;some&lt;/b&gt;" in html


@pytest.mark.django_db
@pytest.mark.parametrize("text", [
    "", "x", "\x00", "Available KV cache memory: 99999 GiB", "Model loading took 5 GiB" * 99,
])
def test_no_paste_breaks_the_page(client: Client, text: str):
    assert client.post("/labs/memory-ledger/paste", {"pasted": text}).status_code in (200, 302)


@pytest.mark.django_db
def test_figures_that_do_not_add_up_are_refused_beside_their_field(client: Client):
    text = ("Memory profiling takes 1 seconds. Total non KV cache memory: 17.12GiB; torch peak memory increase: "
            "1.89GiB; non-torch forward increase memory: 0.25GiB; weights memory: 14.99GiB.\n"
            "Available KV cache memory: 12.00 GiB\nEstimated CUDA graph memory: 0.36 GiB total")
    address = client.post("/labs/memory-ledger/paste", {"pasted": text})["Location"]
    html = client.get(address).content.decode()
    assert "These figures leave" in html and "one of them is of another start" in html


@pytest.mark.django_db
def test_nothing_can_be_pasted_where_nothing_is_read(client: Client):
    assert client.post("/labs/kv-size/paste", {"pasted": LOG}).status_code == 404


@pytest.mark.django_db
def test_the_address_of_a_paste_leads_back_to_the_lab(client: Client):
    assert client.get("/labs/memory-ledger/paste")["Location"] == "/labs/memory-ledger"


@pytest.mark.django_db
def test_strangers_paste_nothing_where_labs_are_closed(client: Client, settings: object):
    settings.DRILL_PUBLIC_LABS = False
    response = client.post("/labs/memory-ledger/paste", {"pasted": LOG})
    assert response["Location"].startswith("/accounts/login/")
