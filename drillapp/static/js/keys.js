// Presses what the page shows for a key: the first visible element whose data-key names it is clicked, a field is focused.
(function () {
  "use strict";

  const NAMES = { " ": "Space", Escape: "Esc" };
  const TYPED_IN = "textarea, select, [contenteditable], input:not([type=checkbox], [type=radio], [type=submit], [type=button])";
  const OWN_KEYS = { Space: "a, button, summary, input", Enter: "a, button, summary, input" };
  const TAPPED = ["1", "2", "3", "4", "Space", "Enter", "Ctrl+Enter", "-", "@"]; // what a double tap would press again
  const A_DOUBLE_TAP = 350; // ms
  let pointed = false; // whether the focus came from a pointer, not from the keyboard

  function named(event) {
    if (event.key === "@") return "@"; // which some keyboards have behind Alt
    if (event.altKey) return null;
    if (event.ctrlKey || event.metaKey) return event.key === "Enter" && !event.shiftKey ? "Ctrl+Enter" : null;
    if (event.shiftKey && (event.key.length > 1 || event.key === " ")) return null;
    return NAMES[event.key] || event.key;
  }

  function pressable(element) {
    return element.getClientRects().length > 0 && !element.disabled && element.getAttribute("aria-disabled") !== "true";
  }

  let pressed = ""; // the last key that pressed something
  let shownAt = -Infinity; // when the card was last put in

  // The second tap of two is meant for the card that the first has sent away, not for the next one.
  function tappedTwice(key) {
    return TAPPED.includes(key) && key === pressed && performance.now() - shownAt < A_DOUBLE_TAP;
  }

  // Its person may have turned single keys off: then only keys with Ctrl do something.
  function singleOff() {
    return document.body.dataset.singleKeys === "off";
  }

  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target?.id === "card") shownAt = performance.now();
  });
  function isSecondTap(event) {
    return event.detail > 1 && performance.now() - shownAt < A_DOUBLE_TAP;
  }

  document.addEventListener("click", (event) => {
    if (isSecondTap(event) && event.target.closest("#card button")) {
      event.preventDefault();
      event.stopPropagation();
    }
  }, true);
  // Nor does it take the focus from the heading of what has come.
  document.addEventListener("mousedown", (event) => {
    if (isSecondTap(event) && event.target.closest("#card")) event.preventDefault();
  }, true);
  document.addEventListener("pointerdown", () => { pointed = true; }, true);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Tab" || event.key.startsWith("Arrow")) pointed = false;
    const key = named(event);
    if (!key || (singleOff() && key !== "Ctrl+Enter") || event.repeat || event.isComposing || event.defaultPrevented) return;
    // For a moment a field that is hidden with its dialog still has the focus.
    const shown = event.target instanceof Element && event.target.getClientRects().length > 0;
    const focused = shown ? event.target : document.body;
    if (focused.matches(TYPED_IN) && key !== "Ctrl+Enter" && key !== "Esc") return;
    // A control reached by Tab keeps its own Space and Enter; one just clicked gives them to the page.
    if (!pointed && OWN_KEYS[key] && focused.matches(OWN_KEYS[key])) return;
    if (tappedTwice(key)) {
      event.preventDefault();
      return;
    }
    const open = document.querySelector("dialog[open]");
    const found = Array.from((open || document).querySelectorAll("[data-key]"))
      .find((element) => element.dataset.key.split(" ").includes(key) && pressable(element));
    if (!found) {
      // A figure typed at large belongs into the field that waits for one.
      const field = /^[0-9]$/.test(key) && !open && document.querySelector('input[data-key~="c"]');
      if (field && pressable(field)) field.focus();
      return;
    }
    event.preventDefault();
    if (found.matches(TYPED_IN)) {
      found.focus();
      if (found.select) found.select();
    } else {
      pressed = key;
      found.click();
      // What a key opens may lie below the window's edge.
      if (found.matches("summary") && found.parentElement.open) found.scrollIntoView();
    }
  });
})();
