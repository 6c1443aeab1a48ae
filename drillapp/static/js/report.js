// What is settled brings the scores up to date: the folds of the questions stay as their reader left them, and the
// keyboard keeps its place, or has the field at fault. Without it the page works the same.
(function () {
  "use strict";

  const PLACES = ["scores", "compared", "report"];
  let folds = new Map(); // id: whether it was open
  let at = "";
  let sent = ""; // the form whose answer is put in, by what it is named
  let had = false; // whether the focus was in what is replaced

  function all() {
    return document.querySelectorAll("details.criterion[id]");
  }

  document.addEventListener("htmx:beforeSwap", (event) => {
    if (!PLACES.includes(event.detail.target.id)) return;
    folds = new Map(Array.from(all(), (fold) => [fold.id, fold.open]));
    const focused = document.activeElement;
    at = focused.closest(".criterion")?.id || "";
    had = event.detail.target.contains(focused);
    sent = event.detail.requestConfig?.elt.matches("form") ? event.detail.requestConfig.elt.getAttribute("action") : "";
  });

  document.addEventListener("htmx:afterSwap", () => {
    for (const fold of all()) if (folds.has(fold.id)) fold.open = folds.get(fold.id);
    folds = new Map();
  });

  function faulty(form) {
    const fault = form?.querySelector(".fault");
    const place = fault?.closest("fieldset, .field, label, .missing-points");
    return place?.querySelector("input:checked") || place?.querySelector("input, textarea, a");
  }

  document.addEventListener("htmx:afterSettle", () => {
    if (!had) return;
    const fault = sent && faulty(document.querySelector('form[action="' + sent + '"]'));
    const lost = document.activeElement === document.body;
    const title = document.querySelector("h1");
    const next = fault || lost && (document.getElementById(at)?.firstElementChild || title);
    had = false;
    if (next === title) title.tabIndex = -1;
    if (next) next.focus({ preventScroll: !fault && next !== title });
  });
})();
