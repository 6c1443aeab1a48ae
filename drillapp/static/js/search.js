// The search opens as a sheet over the page; arrows go through the hits. Without this the link leads to its own page.
(function () {
  "use strict";

  const sheet = document.getElementById("search-sheet");
  if (!sheet || !sheet.showModal || !window.htmx) return;

  function field() {
    return document.querySelector("#search-text");
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-search]");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0) {
      event.preventDefault();
      if (sheet.open) return;
      const menu = link.closest("details");
      if (menu) menu.open = false;
      // Open before its field is here: a key pressed meanwhile presses nothing on the page below.
      sheet.classList.toggle("at-top", window.scrollY > 8);
      sheet.showModal();
      htmx.ajax("GET", link.getAttribute("href"), { target: sheet, swap: "innerHTML" }).catch(() => {}).then(() => {
        if (!sheet.open) sheet.replaceChildren();
        else if (field()) field().focus();
        else sheet.close();
      });
    } else if (event.target.closest("[data-close]") || event.target === sheet) {
      sheet.close();
    }
  });

  // What was found goes when the sheet closes, so that no name stands twice on the page. Told late, it may be open again.
  sheet.addEventListener("close", () => { if (!sheet.open) sheet.replaceChildren(); });

  document.addEventListener("keydown", (event) => {
    const text = field();
    if (!text || event.isComposing || event.altKey || event.ctrlKey || event.metaKey) return;
    const links = Array.from(document.querySelectorAll("#hits .hit > a"));
    const at = links.indexOf(document.activeElement);
    if (at < 0 && document.activeElement !== text) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      // The first hit is chosen while one types, so from the field the second is next.
      const from = at < 0 ? 0 : at;
      const to = from + (event.key === "ArrowDown" ? 1 : -1);
      event.preventDefault();
      if (to < 0) text.focus();
      else if (links[to] || at < 0) (links[to] || links[0] || text).focus();
    } else if (event.key === "Enter" && at < 0 && links.length) {
      const hits = document.getElementById("hits");
      if (hits.dataset.text !== text.value.trim().replace(/\s+/g, " ")) return; // what stands there is of another text
      event.preventDefault();
      links[0].click();
    }
  });
})();
