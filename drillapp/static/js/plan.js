// A plan as it is changed: a button that its own press takes away leaves the focus to the last of its kind, else to the
// plan's title, which says what has come of it. Without it the page works the same.
(function () {
  "use strict";

  let pressed = "";
  document.addEventListener("htmx:beforeRequest", () => { pressed = document.activeElement.id; });
  document.addEventListener("htmx:afterSettle", () => {
    if (!pressed || document.activeElement !== document.body) return;
    const title = document.querySelector("#plan-desk h1");
    const next = pressed.startsWith("out-") && Array.from(document.querySelectorAll("[id^=out-]")).pop() || title;
    pressed = "";
    title.tabIndex = -1;
    next.focus({ preventScroll: true });
  });
})();
