"""Axe on a page as it stands, the contrast of its texts read once for each look that they have there."""
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

# A look is what decides whether words stand out from what they lie on: their own colours and size, the element's place
# and grounds, and whether it can be used (axe lets words of controls that can't be off). Of a look's texts the longest
# is read, as axe counts no single letter as a fault; and none in a picture, of which axe says that it can't tell.
VIOLATIONS = """async () => {
  const grounds = new Map([[null, ""]]);
  const groundOf = (element) => {
    if (!grounds.has(element)) {
      const style = getComputedStyle(element);
      grounds.set(element, [element.tagName, element.id.replace(/\\d+/g, ""), element.className, style.position,
        style.backgroundColor, style.backgroundImage, style.opacity, style.filter].join(" ")
        + " in " + groundOf(element.parentElement));
    }
    return grounds.get(element);
  };
  const lookOf = (element) => {
    const style = getComputedStyle(element), off = ":disabled, [aria-disabled=true]";
    const usable = [element.closest(off), element.closest("label")?.control?.matches(off)].some(Boolean);
    return [style.color, style.fontSize, style.fontWeight, style.textShadow, usable, groundOf(element)].join(" ");
  };
  const wordsOf = (element) => element.matches("input, select, textarea") ? element.value || element.placeholder || ""
    : [...element.childNodes].map((node) => node.nodeType === Node.TEXT_NODE ? node.data.trim() : "").join("");
  const texts = new Map();
  for (const element of document.querySelectorAll("body, body *:not(svg, svg *, script)")) {
    const length = wordsOf(element).length;
    if (!length || !element.checkVisibility()) continue;
    const look = lookOf(element);
    if (length > (texts.get(look)?.length ?? 0)) texts.set(look, {element, length});
  }
  for (const {element} of texts.values()) element.setAttribute("data-to-read", "");
  axe.configure({rules: [{id: "color-contrast", selector: "[data-to-read]"}]});
  const {violations} = await axe.run({resultTypes: ["violations"], preload: false});
  for (const {element} of texts.values()) element.removeAttribute("data-to-read");
  return violations.flatMap(({id, nodes}) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`));
}"""


def violations(page: Page) -> list[str]:
    """What breaks one of axe's rules, a line for each element."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    return page.evaluate(VIOLATIONS)
