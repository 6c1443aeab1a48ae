// What is settled by another brings the scores up to date: the folds of the questions stay as their reader left them, and
// the keyboard keeps its place. Without it the page works the same.
(function () {
  "use strict";

  const PLACES = ["compared", "report"];
  let folds = new Map(); // id: whether it was open
  let at = "";

  function all() {
    return document.querySelectorAll("details.criterion[id]");
  }

  document.addEventListener("htmx:beforeSwap", (event) => {
    if (!PLACES.includes(event.detail.target.id)) return;
    folds = new Map(Array.from(all(), (fold) => [fold.id, fold.open]));
    const focused = document.activeElement;
    at = focused.matches(".criterion > summary") ? focused.parentElement.id : "";
  });

  document.addEventListener("htmx:afterSwap", () => {
    for (const fold of all()) if (folds.has(fold.id)) fold.open = folds.get(fold.id);
    folds = new Map();
    if (at) document.getElementById(at)?.firstElementChild.focus({ preventScroll: true });
    at = "";
  });
})();
