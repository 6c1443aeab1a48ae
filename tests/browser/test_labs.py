"""The labs in a browser: steps and the back button, knobs, the map said first, a phone, no script."""
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESKTOP, PHONE

Visit = Callable[..., Page]
NARROW = {"width": 360, "height": 740}
STATES = (
    "/labs/", "/labs/scheduler?step=7", "/labs/scheduler?step=8&said_D=1&said_E=1&said_F=30",
    "/labs/scheduler?max_num_seqs=x", "/labs/scheduler?usable_blocks=3", "/labs/scheduler?step=16",
    "/labs/prefill-interference", "/labs/prefill-interference?ask=1", "/labs/prefill-interference?ask=1&said=250+ms",
    "/labs/engine-loop?view=hidden-sync&said=7.2", "/labs/engine-loop?view=placeholders&step=5",
    "/labs/detokenizer?step=4&said_emitted=1", "/labs/detokenizer?view=stop&step=7",
    "/labs/roofline?context_tokens=2048&said=590", "/labs/roofline?view=formats&batch=256",
    "/labs/cuda-graphs?said=1.5", "/labs/cuda-graphs?view=padding&sequences=513",
    "/labs/attention-backends?block_size=16&said=FLASHMLA",
    "/labs/gpu-count?said=22", "/labs/gpu-count?view=queueing&load=1.05&max_num_queued_reqs=20&said=3",
    "/labs/gpu-count?view=in-flight&said=500", "/labs/gpu-count?view=dashboard&pool_tokens=110500&said=seats",
    "/labs/kv-size?context_tokens=256&said=800", "/labs/kv-size?view=long-replies&said=53", "/labs/kv-size?view=fp8",
    "/labs/memory-ledger?model=llama-3.1-70b&tensor_parallel_size=2&said=7.1",
    "/labs/memory-ledger?view=phases&said=3", "/labs/leak-rate?view=suspects&said=hashes",
    "/labs/kv-size?view=paging", "/labs/kv-size?view=hybrid&said=15.5", "/labs/kv-size?view=siblings&said=1024",
    "/labs/sampling?step=4&said_vLLM+keeps=3", "/labs/sampling?view=determinism&said=260", "/labs/ngram?step=22",
    "/labs/acceptance?said=1.55", "/labs/acceptance?view=rejection&step=3",
    "/labs/grammar?step=4&said_allowed=6", "/labs/speculation?said=50",
    "/labs/epp?said=3.75", "/labs/epp?request=lora", "/labs/wide-ep?view=experts&said=0.29",
    "/labs/wide-ep?view=prefills&step=8&said_r0=1024",
    "/labs/kv-transfer?queue_s=45&fault=D+dies&step=19", "/labs/kv-transfer?view=sides&step=8&said_blocks=256",
)


def test_each_step_is_an_address_and_back_goes_one_step_back(page: Page) -> None:
    page.goto("/labs/scheduler")
    page.keyboard.press(".")
    expect(page.locator(".map-text")).to_have_text("{A: 1, B: 16, C: 15}")
    page.get_by_role("link", name="Step .").click()
    expect(page).to_have_url(page.url.split("?")[0] + "?step=2")
    expect(page.locator("#lab-step")).to_be_focused()
    page.go_back()
    expect(page.locator(".map-text")).to_have_text("{A: 1, B: 16, C: 15}")
    page.keyboard.press("End")
    expect(page.locator("#lab-jump")).to_have_value("16")
    page.keyboard.press(",")
    expect(page.locator("#lab-jump")).to_have_value("15")


def test_a_check_keeps_the_keyboard_where_it_is(page: Page) -> None:
    page.goto("/labs/scheduler?step=7")
    page.locator("[name=said_D]").press("Enter")
    expect(page.locator(".scored")).to_contain_text("Step 8:")
    expect(page.locator("#lab-check")).to_be_focused()
    page.locator(".predict input:not([type=hidden])").first.fill("x")
    page.keyboard.press("Enter")
    expect(page.locator("#said-fault")).to_be_visible()
    expect(page.locator(".predict [aria-invalid=true]")).to_be_focused()
    page.goto("/labs/kv-size?ask=1")
    page.locator("#lab-said").fill("100")
    page.locator("#lab-check").press("Enter")
    expect(page.locator(".verdict")).to_contain_text("You said")
    expect(page.locator("#lab-check")).to_be_focused()


def test_back_brings_a_knob_and_its_picture_back_together(page: Page) -> None:
    page.goto("/labs/scheduler?step=2")
    for budget, tokens in (("16", "{A: 1, B: 15}"), ("8", "{A: 8}")):
        page.get_by_label("max_num_batched_tokens").fill(budget)
        expect(page.locator(".map-text")).to_have_text(tokens)
        expect(page).to_have_url(page.url.split("?")[0] + f"?max_num_batched_tokens={budget}&step=2")
    page.go_back()
    expect(page.locator(".map-text")).to_have_text("{A: 1, B: 15}")
    expect(page.get_by_label("max_num_batched_tokens")).to_have_value("16")


def test_a_bad_knob_says_so_and_the_last_good_picture_stays(page: Page) -> None:
    page.goto("/labs/scheduler?step=2")
    knob = page.get_by_label("usable KV blocks")
    knob.fill("3")
    expect(page.get_by_text("the pool holds 3")).to_be_visible()
    expect(knob).to_have_attribute("aria-invalid", "true")
    expect(page.locator(".map-text")).to_have_text("{A: 1, B: 1, C: 30}")
    assert page.url.endswith("/labs/scheduler?step=2")
    knob.fill("24")
    expect(page.get_by_text("the pool holds 3")).to_have_count(0)
    expect(knob).not_to_have_attribute("aria-invalid", "true")


def test_the_next_step_is_said_before_it_is_seen(page: Page) -> None:
    page.goto("/labs/scheduler?step=7")
    for name, tokens in (("D", "1"), ("E", "1"), ("F", "thirty")):
        page.get_by_label(f"{name} in step 8, in tokens").fill(tokens)
    page.keyboard.press("Enter")
    expect(page.get_by_text("Nothing is shown yet")).to_be_visible()
    expect(page.locator("#lab-jump")).to_have_value("7")
    page.get_by_label("F in step 8, in tokens").fill("19")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Step 8: 3 of 3 right.")).to_be_visible()


def test_run_plays_step_by_step_and_a_second_press_stops_it(page: Page) -> None:
    page.goto("/labs/scheduler")
    page.get_by_role("link", name="Run", exact=True).click()
    expect(page.locator("#lab-jump")).to_have_value("3", timeout=8000)
    page.get_by_role("link", name="Stop").click()
    expect(page.get_by_role("link", name="Run", exact=True)).to_be_visible()
    step = page.locator("#lab-jump").input_value()
    page.wait_for_timeout(1500)
    expect(page.locator("#lab-jump")).to_have_value(step)


def test_everything_works_without_script(visit: Visit) -> None:
    page = visit(javascript=False)
    page.goto("/labs/scheduler")
    page.get_by_role("link", name="Step .").click()
    page.get_by_label("max_num_batched_tokens").fill("16")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".map-text")).to_have_text("{A: 8, B: 8}")
    page.get_by_role("link", name="Run to end").click()
    expect(page.locator("#lab-step")).to_have_attribute("aria-disabled", "true")
    page.goto("/labs/prefill-interference?ask=1")
    page.get_by_label("longest gap").fill("0.25 s")
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_text("3.9× too low")).to_be_visible()


@pytest.mark.parametrize("path", sorted({urlsplit(address).path for address in STATES}))
def test_labs_pass_axe_and_need_no_sideways_scroll(
    visit: Visit, check_access: Callable[[Page], None], path: str
) -> None:
    """Each address once, in turn on a desktop and on a phone in dark; a lab's addresses take turns too.

    Each is then made as narrow as a phone can be, with its folds open.
    """
    pages = [visit(), visit(phone=True, dark=True)]
    for place, address in enumerate(STATES):
        if urlsplit(address).path != path:
            continue
        page = pages[place % 2]
        page.set_viewport_size(PHONE if place % 2 else DESKTOP)
        page.goto(address)
        for fold in page.locator("details > summary").all():
            if fold.is_visible():
                fold.click()
        check_access(page)
        page.set_viewport_size(NARROW)
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"], address


def test_knobs_unfold_on_a_phone_and_the_steps_stay_at_hand(visit: Visit) -> None:
    page = visit(phone=True)
    page.goto("/labs/scheduler")
    expect(page.get_by_label("max_num_seqs")).to_be_hidden()
    page.get_by_text("Knobs", exact=True).click()
    expect(page.get_by_label("max_num_seqs")).to_be_visible()
    page.get_by_role("link", name="Step", exact=True).click()
    expect(page.locator("#lab-jump")).to_have_value("1")
