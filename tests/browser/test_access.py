"""What the other tests here find on a page that some people could not use."""
import pytest
from playwright.sync_api import Page

from tests.browser import access

PAPER = """<!doctype html><html lang="en"><title>A page</title>
<style>body { background: #fff; color: #222 } .pale { color: #ccc } .card { background: #ddd } label { color: #888 }
</style><main><h1>A page</h1><p>All in order.</p>%s</main></html>"""


@pytest.mark.parametrize(("part", "found"), [
    ("<p class='card'>Dark on a card.</p>", []),
    ("<p class='pale'>Pale.</p>", ["color-contrast"]),
    ("<p class='pale'>i</p><p class='pale'>Pale.</p><p class='pale'>i</p>", ["color-contrast"]),  # no letter alone is
    ("<p class='pale'>Pale.</p><p class='card pale'>Paler.</p>", ["color-contrast", "color-contrast"]),
    ("<label>Can't be set <input disabled></label>", []),
    ("<label>Can't be set for now <input disabled></label><label>Can be set <input></label>", ["color-contrast"]),
    ("<svg role='img' aria-label='A'><text y='9' class='pale'>Pale.</text></svg>", []),
    ("<img src='data:,'>", ["image-alt"]),
    ("<input>", ["label"]),
])
def test_each_fault_is_found_where_it_is(page: Page, part: str, found: list[str]) -> None:
    page.set_content(PAPER % part)
    for _ in range(2):  # the page is left as it was
        assert [fault.split(":")[0] for fault in access.violations(page)] == found
    assert "data-to-read" not in page.content()
