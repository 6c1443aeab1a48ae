"""Every lab's pictures as a browser draws them: no words on each other, on a wall or outside, none too small."""
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.template.loader import render_to_string
from django.test import RequestFactory
from playwright.sync_api import Browser, Page

from calculators.labs import LABS
from calculators.labs.base import Lab, Shown, View
from calculators.pictures import Bar, Drawing, Text
from calculators.pictures import Path as PathShape
from calculators.stage import stage_of

STYLES = Path(settings.BASE_DIR) / "drillapp" / "static" / "css"
SAID = (0.4, 0.95)  # what a reader commits, as shares of the right number: far from it, and beside it
LEAST = 11.5  # px of a figure on an axis, as drawn
WIDTHS = [pytest.param(360, id="phone"), pytest.param(1440, id="desktop")]

# A text's box without the room above its capitals and below its foot; "words, what is wrong" for each fault.
MEASURE = """(holders) => holders.flatMap((holder) => {
  const svg = holder.querySelector("svg"), frame = svg.getBoundingClientRect(), found = [];
  const texts = [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim()).map((text) => {
    const box = text.getBoundingClientRect(), words = text.textContent;
    const size = parseFloat(getComputedStyle(text).fontSize);
    const foot = (box.top + box.bottom) / 2 + size * 0.28;
    const low = /[gjpqy,;()|_Q{}\\[\\]$]/.test(words) ? size * 0.2 : 0;
    return {text, words, left: box.left, right: box.right, top: foot - size * 0.74, bottom: foot + low};
  });
  const common = (a, b) => Math.min(Math.min(a.right, b.right) - Math.max(a.left, b.left),
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));
  const outside = (a, b) => Math.max(b.left - a.left, a.right - b.right, b.top - a.top, a.bottom - b.bottom);
  const covers = (rect, line, text) => line.compareDocumentPosition(rect) & Node.DOCUMENT_POSITION_FOLLOWING
    && outside(text, rect.getBoundingClientRect()) <= 1;
  for (const [place, one] of texts.entries()) {
    if (outside(one, frame) > 1) found.push(`“${one.words}” leaves the picture`);
    if (/[^\\s…]\\s?…$/.test(one.words)) found.push(`“${one.words}” is cut`);
    for (const other of texts.slice(place + 1)) {
      if (common(one, other) > 1) found.push(`“${one.words}” lies on “${other.words}”`);
    }
  }
  for (const wall of svg.querySelectorAll("rect.wall, path.s-limit")) {
    const {left, right, top, bottom} = wall.getBoundingClientRect();
    if (wall.tagName === "path" && right - left > 3 && bottom - top > 3) continue;
    const line = {left: left - 1, right: right + 1, top: top - 1, bottom: bottom + 1};
    for (const text of texts) {
      if (common(text, line) < 1.5) continue;
      const plates = svg.querySelectorAll("rect.plate, rect.present, rect.solid, rect.other, rect.s-running");
      if (![...plates].some((plate) => covers(plate, wall, text))) found.push(`“${text.words}” crosses a wall`);
    }
  }
  return found.map((fault) => `${holder.title}: ${fault}`);
})"""
SMALL = f"""(svgs) => svgs.filter((svg) => svg.getBoundingClientRect().width).flatMap((svg) =>
  [...svg.querySelectorAll("text")].map((text) => [parseFloat(getComputedStyle(text).fontSize) * svg.getScreenCTM().a,
    `${{svg.closest("[title]").title}}: “${{text.textContent}}”`]).filter(([size, words]) => size < {LEAST}))"""


@pytest.fixture(scope="module")
def sheet(browser: Browser) -> Iterator[Page]:
    """One page for all: opening one takes longer than measuring a lab."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    yield page
    page.close()


def drawings(picture: object) -> Iterator[Drawing]:
    """Every drawing in a view's picture or gist."""
    if isinstance(picture, Drawing):
        yield picture
    elif isinstance(picture, (tuple, list)):
        for part in picture:
            yield from drawings(part)
    elif is_dataclass(picture):
        for field in fields(picture):
            yield from drawings(getattr(picture, field.name))


def measured(drawing: Drawing) -> Drawing:
    """The same without its title and without what no words are held against, which is most of its shapes."""
    walled = any(isinstance(shape, Bar) and shape.css == "wall" for shape in drawing.shapes)
    shapes = tuple(
        shape for shape in drawing.shapes
        if isinstance(shape, Text) or ("s-limit" in shape.css if isinstance(shape, PathShape) else shape.text or walled)
    )
    return replace(drawing, title="", shapes=shapes)


def states(view: View) -> Iterator[tuple[str, Shown]]:
    """Each preset at its first, a middle and its last step, and with what a reader may have said."""
    for preset in view.presets:
        inputs, result = view.run(preset.values)
        last = len(result.steps) - 1 if hasattr(result, "steps") else 0
        for step in sorted({0, last // 2, last}):
            yield f"{preset.name}, step {step}", Shown(inputs, result, step, last)
        right = getattr(result, view.ask.figure) if view.ask and not view.ask.choices else None
        for share in SAID if right else ():
            yield f"{preset.name}, {share} of it said", Shown(inputs, result, 0, last, said=share * right)


def page_of(parts: Iterable[tuple[str, str]]) -> str:
    """A page with the site's styles and these parts, each titled, at the place of a lab's result."""
    names = ("tokens", "base", "components", "pictures", "lab")
    styles = "".join((STYLES / f"{name}.css").read_text() for name in names)
    body = "".join(f'<div class="lab-grid"><div class="body lab-body" title="{title}">{html}</div></div>'
                   for title, html in parts)
    return (f'<!doctype html><meta name="viewport" content="width=device-width"><style>{styles}</style>'
            f'<main class="page wide lab-page">{body}</main>')


@pytest.mark.parametrize("lab", LABS.values(), ids=LABS)
def test_no_words_lie_on_each_other_on_a_wall_or_outside(sheet: Page, lab: Lab) -> None:
    drawn: dict[Drawing, str] = {}
    for view in lab.views:
        for name, shown in states(view):
            gist = view.gist(shown) if not shown.step else None
            for drawing in drawings((view.picture(shown), gist)):
                drawn.setdefault(replace(drawing, title=""), f"{view.name}, {name}, {drawing.width} wide")
    parts = [
        (title, f'<div style="width: {drawing.width}px">'
         f'{render_to_string("calculators/_drawing.html", {"drawing": drawing})}</div>')
        for drawing, title in drawn.items()
    ]
    sheet.set_content(page_of(parts))
    assert sheet.locator(".lab-body").evaluate_all(MEASURE) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_every_picture_is_shown_large_enough_to_read(sheet: Page, width: int) -> None:
    request = RequestFactory().get("/")
    request.user = AnonymousUser()
    parts = []
    for lab in LABS.values():
        for view in lab.views:
            stage = stage_of(lab, {"view": view.name})
            context = {"lab": lab, "stage": stage, "embedded": True, "request": request}
            parts.append((f"{lab.slug} {view.name}", render_to_string(stage.fragment, context)))
            if gist := view.gist(stage.shown):
                gist_html = render_to_string("calculators/_gist.html", {"gist": gist})
                parts.append((f"{lab.slug} {view.name}, gist", gist_html))
    sheet.set_viewport_size({"width": width, "height": 900})
    sheet.set_content(page_of(parts))
    sheet.locator("details").evaluate_all("(folds) => folds.forEach((fold) => { fold.open = true; })")
    assert sheet.locator("svg.picture").evaluate_all(SMALL) == []
    assert sheet.evaluate("document.documentElement.scrollWidth") <= width
