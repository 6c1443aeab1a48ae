// What a lab's page does beyond links and forms: Run plays, Copy link copies, a field at fault says so to a screen reader.
(function () {
  "use strict";

  const PACE = matchMedia("(prefers-reduced-motion: reduce)").matches ? 2000 : 900;
  let timer = 0;

  function label() {
    const run = document.querySelector("[data-run]");
    if (run) run.textContent = timer ? "Stop" : "Run";
  }

  function stop() {
    clearInterval(timer);
    timer = 0;
    label();
  }

  function next() {
    const step = document.querySelector("a#lab-step");
    if (step) step.click();
    else stop();
  }

  document.addEventListener("click", (event) => {
    const run = event.target.closest("a[data-run]");
    if (run && event.isTrusted) { // not the End key, which jumps
      event.preventDefault();
      event.stopPropagation();
      if (timer) return stop();
      timer = setInterval(next, PACE);
      label();
      return next();
    }
    const copy = event.target.closest("a[data-copy]");
    if (copy && navigator.clipboard) {
      event.preventDefault();
      navigator.clipboard.writeText(copy.href).then(() => { copy.textContent = "Copied"; });
    }
    const button = event.target.closest("button[data-copy-from]");
    if (button && navigator.clipboard) {
      const text = document.getElementById(button.dataset.copyFrom).value;
      navigator.clipboard.writeText(text).then(() => { button.textContent = "Copied"; });
    }
  }, true);

  document.addEventListener("htmx:afterSwap", label);
  document.addEventListener("htmx:afterSettle", () => {
    for (const mark of document.querySelectorAll(".knob-mark")) {
      const field = mark.closest(".knob").querySelector("input, select, textarea");
      if (mark.querySelector(".fault")) field.setAttribute("aria-invalid", "true");
      else field.removeAttribute("aria-invalid");
    }
  });

  // What a Check takes away leaves the focus to a field at fault, else to the next Check, else to the steps.
  let said = false;
  document.addEventListener("htmx:beforeSwap", (event) => {
    said = Boolean(document.activeElement.closest(".predict")) && event.detail.target.contains(document.activeElement);
  });
  document.addEventListener("htmx:afterSettle", () => {
    const fault = document.querySelector('.predict [aria-invalid="true"]');
    if (!said || (document.activeElement !== document.body && !fault)) return;
    said = false;
    (fault || document.getElementById("lab-check") || document.querySelector(".steps a, #lab-jump"))?.focus({ preventScroll: true });
  });

  document.documentElement.classList.add("scripted");
  label();
})();
