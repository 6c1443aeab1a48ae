// The room's page: asks for news each second, keeps what is typed, lets clocks run. Without it forms and links do the work.
(function () {
  "use strict";

  const room = document.querySelector("[data-room]");
  if (!room) return;
  document.documentElement.classList.add("scripted");

  // News. htmx asks each second; a page that nobody looks at asks less often, and so does one without a connection.

  const HIDDEN_EVERY = 5000; // ms
  const LOST_EVERY = 2000;
  const ASLEEP = 10000; // a tick this late means that the device slept
  let asked = 0; // when news was last asked for
  let lost = false;
  let known = -1; // how many events the page knows of

  function isRoom(event) {
    const path = event.detail.requestConfig?.path || event.detail.path || event.detail.pathInfo?.requestPath || "";
    return path.startsWith(room.dataset.room);
  }

  document.addEventListener("htmx:configRequest", (event) => {
    if (!isRoom(event)) return;
    const at = document.getElementById("feed-at");
    const look = at.elements.look;
    if (look && !("look" in event.detail.parameters)) event.detail.parameters.look = look.value;
    event.detail.parameters.seen = Array.from(document.querySelectorAll("[data-region]")).map(seenOf).join(",");
  });

  // A lab that its reader sets tells itself what it shows by then.
  function seenOf(region) {
    const inside = region.querySelector("[data-seen-now]");
    return region.dataset.region + ":" + (inside || region).dataset[inside ? "seenNow" : "seen"];
  }

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.target.id !== "feed") return;
    const now = performance.now();
    const every = document.hidden ? HIDDEN_EVERY : lost ? LOST_EVERY : 0;
    if (now - asked < every) event.preventDefault();
    else asked = now;
  });

  // News that is refused means that this page is another one now; a server at fault is asked again later.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const status = event.detail.xhr.status;
    if (event.target.id !== "feed" || status < 400) return;
    event.detail.shouldSwap = false;
    if (status < 500) window.location.reload();
    else connection(false);
  });

  // An answer that left before a newer one tells of an older room.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const length = Number(event.detail.xhr.getResponseHeader("Room-Length") ?? NaN);
    if (!isRoom(event) || Number.isNaN(length)) return;
    if (length < known) event.detail.shouldSwap = false;
    else known = length;
  });

  function connection(up) {
    lost = !up;
    document.getElementById("room-lost").hidden = up;
    markConnection();
    if (up) keepAll();
  }

  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, (event) => { if (isRoom(event)) connection(false); });
  }
  document.addEventListener("htmx:afterOnLoad", (event) => {
    if (lost && isRoom(event) && event.detail.xhr.status < 500) connection(true);
  });

  function askForAll() {
    for (const region of document.querySelectorAll("[data-region]")) if (!region.querySelector("[data-seen-now]")) region.dataset.seen = "";
    const at = document.getElementById("feed-at");
    at.elements.after.value = "";
    asked = 0;
  }
  document.addEventListener("visibilitychange", () => { if (!document.hidden) asked = 0; });

  // Swaps. What is typed stays: a region about the same thing is brought up to date in place; what another takes the
  // place of is carried over, or kept at once when there is no place for it.

  let carried = [];

  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const region = event.detail.target;
    if (!region.dataset.region) return;
    const fresh = event.detail.fragment.querySelector("[data-region]") || event.detail.fragment.firstElementChild;
    if (!fresh) return;
    const clock = fresh.querySelector("[data-clock], [data-left]");
    if (!clock && fresh.dataset.seen === seenOf(region).split(":")[1]) {
      event.detail.shouldSwap = false;
    } else if (fresh.dataset.patch && fresh.dataset.patch === region.dataset.patch) {
      patch(region, fresh);
      event.detail.shouldSwap = false;
    } else {
      carry(region, fresh);
      leave(region);
    }
  });

  let newsAsked = 0; // when the news that is being swapped in was asked for
  document.addEventListener("htmx:beforeSend", (event) => { event.detail.xhr.asked = performance.now(); });
  document.addEventListener("htmx:beforeSwap", (event) => { newsAsked = event.detail.xhr.asked ?? 0; });

  const keptAt = new WeakMap(); // form: when the server last said that it has what is typed there
  const typedHere = new Set(); // fields that hold what was typed on this device

  function patch(region, fresh) {
    // News that left before something was kept may not have it yet: what is typed is newer, and news is asked for again.
    for (const form of region.querySelectorAll("form[id]")) if ((keptAt.get(form) ?? -1) > newsAsked) return;
    for (const there of fresh.querySelectorAll("input[id], textarea[id]")) {
      const mine = document.getElementById(there.id);
      if (!mine || isWaiting(mine)) continue;
      if (mine.type === "radio") mine.checked = there.defaultChecked;
      else if (mine.value !== there.value) {
        if (typedHere.delete(mine.id) && !there.value.includes(mine.value.trim())) other(mine.form, mine.name, mine.value, "before");
        setValue(mine, there.value);
      }
    }
    for (const there of fresh.querySelectorAll("form[id]")) {
      const mine = document.getElementById(there.id);
      if (!mine) continue;
      mine.className = there.className + (mine.classList.contains("current") ? " current" : "");
      if (waiting.has(mine)) continue;
      for (const mark of mine.querySelectorAll('[name^="mark-"]')) mark.value = there.elements[mark.name].value;
    }
    region.dataset.seen = fresh.dataset.seen;
  }

  // What a page wrote itself is no news to it, unless more happened. Its region comes again with the next that is.
  function hasAll(form, before, now) {
    const after = document.getElementById("feed-at").elements.after;
    if (!form.isConnected || after.value !== String(before)) return;
    after.value = now;
    form.closest("[data-region]").dataset.seen = "";
  }

  function setValue(field, text) {
    const at = document.activeElement === field ? [field.selectionStart, field.selectionEnd] : null;
    field.value = text;
    if (at) field.setSelectionRange(at[0], at[1]);
  }

  function foldName(fold) {
    return fold.dataset.fold || fold.firstElementChild.textContent;
  }

  function carry(region, fresh) {
    const open = Array.from(region.querySelectorAll("details[open]"), foldName);
    for (const fold of fresh.querySelectorAll("details")) if (open.includes(foldName(fold))) fold.open = true;
    for (const field of region.querySelectorAll("input[id], textarea[id]")) {
      if (field.type === "radio" || field.value === field.defaultValue || field.value === sent.get(field.form)) continue;
      const there = fresh.querySelector("#" + CSS.escape(field.id));
      if (there) carried.push([field.id, field.value]);
    }
    for (const [form] of waiting) if (region.contains(form) && !fresh.querySelector("#" + CSS.escape(form.id))) keep(form);
    for (const form of region.querySelectorAll("form[data-refused]")) if (!fresh.querySelector("#" + CSS.escape(form.id))) showRefused(form);
  }

  // What a region says anew is read out once, by a live region that is never swapped itself; and a button that was
  // pressed and swapped away leaves the focus to the one that takes its place.

  let left = null; // of the region that is about to be swapped

  function linesOf(region) {
    const saying = region.dataset.live === undefined ? region.querySelectorAll("[data-say]") : [region];
    return Array.from(saying, (place) => place.innerText.split("\n")).flat().map((line) => line.trim()).filter(Boolean);
  }

  function leave(region) {
    const had = region.contains(document.activeElement) ? document.activeElement : null;
    left = { name: region.dataset.region, lines: linesOf(region), had, button: had?.closest("button, a") };
  }

  function nameOf(button) {
    return button.getAttribute("aria-label") || button.textContent;
  }

  let toSay = [];

  function announce(lines) {
    if (!toSay.length) setTimeout(() => {
      const said = document.getElementById("room-said"), text = toSay.join(" ");
      said.textContent = text;
      toSay = [];
      setTimeout(() => { if (said.textContent === text) said.textContent = ""; }, 5000); // it stands in its own place
    }, 100); // what one answer changes in several regions is one announcement
    toSay.push(...lines);
  }

  document.addEventListener("htmx:oobAfterSwap", () => {
    const region = left && document.querySelector('[data-region="' + left.name + '"]');
    if (!region) return;
    const { name, lines, had, button } = left;
    left = null;
    const fresh = linesOf(region).filter((line) => !lines.includes(line));
    if (fresh.length) announce(fresh);
    if (had) setTimeout(() => refocus(name, button)); // once all that one answer changes is there
  });

  function isInView(element) {
    const { top, bottom } = element.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
  }

  // In a list of things to reveal a second press must not reveal the next, so its heading has the focus instead; and
  // what takes a pressed button's place (Resume that of Pause) has it before the button that leads on. A question that
  // comes has it where the button would be out of sight.
  function refocus(name, pressed) {
    const region = document.querySelector('[data-region="' + name + '"]');
    if (document.activeElement !== document.body) return;
    const buttons = Array.from(region.querySelectorAll("button, a")).filter((button) => button.getClientRects().length);
    const same = (button) => nameOf(button) === nameOf(pressed) || pressed.dataset.undoes && button.dataset.undoes === pressed.dataset.undoes;
    let next = pressed && (["acts", "onward"].includes(name) && buttons.find(same) || buttons.find((button) => button.dataset.key)
        || buttons.find((button) => button.matches(".room-acts .button")))
      || region.querySelector("h2") || pressed && buttons[0] || document.querySelector("[data-room] h1");
    const question = document.querySelector(".at-ask h1");
    if (next && question && !isInView(next)) next = question;
    if (next && !next.matches("button, a")) next.tabIndex = -1;
    next?.focus({ preventScroll: true });
    if (next && next !== question && !isInView(next)) next.scrollIntoView({ block: "nearest" });
    if (!pressed) quietUntil = performance.now() + A_PAUSE;
  }

  // Whoever types on into a field that has just closed presses no keys of the page, until their hands rest.
  const A_PAUSE = 1000; // ms
  let quietUntil = 0;
  document.addEventListener("keydown", (event) => {
    if (performance.now() > quietUntil || event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.("input, textarea, select")) return;
    quietUntil = performance.now() + A_PAUSE;
    if (event.key.length > 1 && event.key !== "Enter") return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);

  document.addEventListener("htmx:oobAfterSwap", () => {
    const fields = carried;
    carried = [];
    for (const [id, value] of fields) {
      const field = document.getElementById(id);
      if (!field || field.value === value) continue;
      field.value = value;
      if (field.dataset.kept) noteChange(field);
    }
  });

  const sent = new Map(); // what a form that empties itself was sent with
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.target.matches("[data-clears]")) sent.set(event.target, event.target.elements[event.target.dataset.clears].value);
  });

  // Kept fields: what is typed goes to the server after a moment, again and again until it has it.

  const waiting = new Map(); // form: names of the fields that the server has not yet
  const oldest = new Map(); // form: when the first was typed of what is yet to be sent
  const LONGEST_WAIT = 1000; // ms: whoever types without a rest is kept, and read along, all the same
  const busy = new Set();
  const timers = new Map();

  function isWaiting(field) {
    return field.form && waiting.has(field.form) && waiting.get(field.form).has(field.name);
  }

  function draftName(form, name) {
    return "room " + form.getAttribute("action") + " " + form.id + " " + name;
  }

  function noteChange(field) {
    const form = field.form;
    if (!waiting.has(form)) waiting.set(form, new Set());
    waiting.get(form).add(field.name);
    typedHere.add(field.id);
    if (field.type !== "radio") remember(form, field.name);
    tell(form, "");
    if (!oldest.has(form)) oldest.set(form, performance.now());
    keepIn(form, Math.min(Number(field.dataset.kept), Math.max(0, oldest.get(form) + LONGEST_WAIT - performance.now())));
  }

  // With a draft stands the mark of what it goes on from, so that it takes no other device's place untold.
  function remember(form, name) {
    const draft = form.elements["mark-" + name].value + " " + valueOf(form, name);
    try { sessionStorage.setItem(draftName(form, name), draft); } catch { /* full or forbidden: the field has it */ }
  }

  function remembered(key) {
    let draft = null;
    try { draft = sessionStorage.getItem(key); } catch { /* none is remembered */ }
    const end = draft === null ? -1 : draft.indexOf(" ");
    return end < 0 ? null : { mark: draft.slice(0, end), text: draft.slice(end + 1) };
  }

  function valueOf(form, name) {
    return form.elements[name].value;
  }

  function keepIn(form, ms) {
    clearTimeout(timers.get(form));
    timers.set(form, setTimeout(() => keep(form), ms));
  }

  function keepAll() {
    for (const [form] of waiting) keep(form);
  }

  async function keep(form, leaving) {
    clearTimeout(timers.get(form));
    const names = waiting.has(form) ? Array.from(waiting.get(form)) : [];
    if (!names.length || (busy.has(form) && !leaving)) return;
    const body = new URLSearchParams();
    for (const field of form.querySelectorAll("input[type=hidden]")) body.append(field.name, field.value);
    const values = Object.fromEntries(names.map((name) => [name, valueOf(form, name)]));
    for (const name of names) body.append(name, values[name]);
    busy.add(form);
    oldest.delete(form);
    let again = 0;
    try {
      const response = await fetch(form.getAttribute("action"), {
        method: "POST", body, headers: { Accept: "application/json" }, keepalive: Boolean(leaving) && body.toString().length < 60000,
      });
      if (!response.ok || response.redirected) {
        tell(form, "Not kept: the server did not take it. It stays here and is tried again.");
        again = 5000;
      } else {
        const answer = await response.json();
        if (answer.leave) return window.location.assign(answer.leave);
        if (answer.fault) {
          tell(form, "Not kept: " + answer.fault);
          if (form.dataset.refused !== answer.fault && form.isConnected) announce(["Not kept: " + answer.fault]);
          form.dataset.refused = answer.fault;
          if (!form.isConnected) showRefused(form);
          for (const name of names) if (valueOf(form, name) === values[name]) settle(form, name, false);
        } else {
          for (const name of names) if (valueOf(form, name) === values[name]) settle(form, name, true);
          for (const [name, mark] of Object.entries(answer.marks || {})) form.elements["mark-" + name].value = mark;
          for (const [name, text] of Object.entries(answer.others || {})) other(form, name, text, "meanwhile");
          if (answer.after) hasAll(form, ...answer.after);
          keptAt.set(form, performance.now());
          delete form.dataset.refused;
          if (!waiting.has(form)) tell(form, "kept");
          again = 300;
        }
        if (lost) connection(true);
      }
    } catch {
      connection(false);
      tell(form, "not sent yet");
      again = 2000;
    } finally {
      busy.delete(form);
    }
    if (waiting.has(form)) keepIn(form, again || 300);
  }

  function settle(form, name, isKept) {
    waiting.get(form).delete(name);
    if (!waiting.get(form).size) waiting.delete(form);
    const field = form.elements[name];
    if (isKept) {
      try { sessionStorage.removeItem(draftName(form, name)); } catch { /* nothing was remembered */ }
      if (field.type !== undefined) field.defaultValue = field.value;
    }
  }

  function tell(form, words) {
    const told = form.querySelector("[data-told]");
    if (told) told.textContent = words;
  }

  // Two devices of the same person wrote at once: the text that gave way is shown on both, to be taken in or left.
  function other(form, name, text, when) {
    const place = form?.querySelector('[data-other="' + name + '"]');
    if (!place || !text.trim()) return;
    const shown = place.querySelector("[data-other-text]");
    const earlier = place.hidden || text.includes(shown.textContent) ? "" : shown.textContent + "\n\n";
    shown.textContent = earlier + text;
    for (const words of place.querySelectorAll("[data-other-words]")) words.hidden = words.dataset.otherWords !== when;
    place.hidden = false;
  }

  // What came too late and has no field any more stays in view until its writer puts it away.
  function showRefused(form) {
    for (const field of form.querySelectorAll("[data-kept]:not([type=radio])")) if (field.value !== field.defaultValue) showUnkept(field.value, form.dataset.refused);
  }

  function showUnkept(text, why) {
    const place = document.getElementById("room-unkept");
    const shown = place.querySelector("pre");
    if (!text.trim() || (!place.hidden && shown.textContent.includes(text))) return;
    place.querySelector("[data-why]").textContent = why;
    shown.textContent = (place.hidden || !shown.textContent ? "" : shown.textContent + "\n\n") + text;
    place.hidden = false;
  }

  function draftsOfNoField() {
    const names = [];
    try { names.push(...Object.keys(sessionStorage)); } catch { /* none is remembered */ }
    return names.filter((name) => name.startsWith("room " + room.dataset.room + "do/scratch/ ") && !document.getElementById(name.split(" ")[2]));
  }

  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-put-away]")) return;
    document.getElementById("room-unkept").hidden = true;
    for (const name of draftsOfNoField()) sessionStorage.removeItem(name);
  });

  document.addEventListener("input", (event) => {
    if (event.target.dataset?.kept && event.target.form?.dataset.keep !== undefined) noteChange(event.target);
  });
  document.addEventListener("submit", (event) => {
    if (event.target.dataset.keep === undefined) return;
    event.preventDefault();
    for (const field of event.target.querySelectorAll("[data-kept]:not([type=radio])")) if (field.value !== field.defaultValue) noteChange(field);
    keep(event.target);
  });
  window.addEventListener("pagehide", () => { for (const [form] of waiting) keep(form, true); });
  window.addEventListener("online", () => { asked = 0; keepAll(); });

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-take-other], [data-leave-other]");
    if (!button) return;
    const place = button.closest("[data-other]");
    const field = button.form.elements[place.dataset.other];
    if (button.matches("[data-take-other]")) {
      const between = field.tagName === "TEXTAREA" ? "\n\n" : "; ";
      field.value = [field.value, place.querySelector("[data-other-text]").textContent].filter(Boolean).join(between);
      noteChange(field);
    }
    place.hidden = true;
    field.focus();
  });

  // What an earlier look at this page could not send any more.
  function restore() {
    for (const field of document.querySelectorAll("[data-keep] [data-kept]:not([type=radio])")) {
      const draft = remembered(draftName(field.form, field.name));
      if (draft && draft.text !== field.value) {
        field.value = draft.text;
        field.form.elements["mark-" + field.name].value = draft.mark;
        noteChange(field);
      }
    }
  }

  // Scores by key: 0 to 3 for the row in hand, the arrows move; the chosen one pressed again is taken back.

  function rows() {
    return Array.from(document.querySelectorAll("[data-points] .point[id]")).filter((row) => row.getClientRects().length);
  }

  function current() {
    const all = rows();
    return all.find((row) => row.contains(document.activeElement)) || all.find((row) => row.classList.contains("current"));
  }

  function makeCurrent(row) {
    for (const each of document.querySelectorAll(".point.current")) each.classList.remove("current");
    if (row) row.classList.add("current");
  }

  document.addEventListener("focusin", (event) => {
    const row = event.target.closest?.(".point[id]");
    if (row) makeCurrent(row);
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || document.querySelector("dialog[open]")) return;
    const typing = event.target.matches?.("textarea, select, input:not([type=radio])");
    const off = document.body.dataset.singleKeys === "off";
    const all = rows();
    if (typing || off || !all.length) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      const at = all.indexOf(current());
      const next = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + step))];
      makeCurrent(next);
      (next.querySelector("input:checked") || next.querySelector("input[type=radio]")).focus({ preventScroll: true });
      next.scrollIntoView({ block: "nearest" });
    } else if (/^[0-3]$/.test(event.key)) {
      const row = current() || all[0];
      makeCurrent(row);
      choose(row.querySelector('input[type=radio][value="' + event.key + '"]'), true);
      row.scrollIntoView({ block: "nearest" });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }, true);

  function choose(radio, pressed) {
    if (!radio || radio.disabled) return;
    radio.checked = pressed;
    if (pressed) radio.focus({ preventScroll: true });
    noteChange(radio);
  }

  // The row in hand stays as high as it is until a press on another has ended, or that would move away under the finger.
  document.addEventListener("pointerdown", () => {
    for (const row of document.querySelectorAll(".point.current, .point:focus-within")) row.classList.add("stays");
  }, true);
  for (const name of ["pointerup", "pointercancel"]) {
    document.addEventListener(name, () => setTimeout(() => {
      for (const row of document.querySelectorAll(".point.stays")) row.classList.remove("stays");
    }, 100), true);
  }

  let wasChecked = null;
  document.addEventListener("pointerdown", (event) => {
    const radio = event.target.closest?.(".anchor")?.querySelector("input");
    wasChecked = radio?.checked ? radio : null;
  });
  document.addEventListener("click", (event) => {
    if (wasChecked && event.target === wasChecked) {
      choose(wasChecked, false);
      wasChecked = null;
    }
  });

  // Clocks run on from what the server said, by a clock that nobody sets.

  const begun = new WeakMap();
  let ticked = performance.now();

  function words(ms) {
    const seconds = Math.floor(Math.max(0, ms) / 1000);
    const pad = (number) => String(number).padStart(2, "0");
    const minutes = Math.floor(seconds / 60);
    return minutes >= 60
      ? Math.floor(minutes / 60) + ":" + pad(minutes % 60) + ":" + pad(seconds % 60)
      : minutes + ":" + pad(seconds % 60);
  }

  function tick() {
    const now = performance.now();
    for (const clock of document.querySelectorAll("[data-clock], [data-left]")) {
      if (!begun.has(clock)) begun.set(clock, now);
      const runs = clock.dataset.runs !== undefined;
      const spent = Number(clock.dataset.spent) + (runs ? now - begun.get(clock) : 0);
      const allowed = Number(clock.dataset.allowed);
      if (clock.dataset.left !== undefined) {
        say(clock, Math.max(0, Math.ceil((allowed - spent) / 60000)) + " min left");
        continue;
      }
      say(clock.querySelector("[data-figures]"), words(spent));
      say(clock.querySelector("[data-past]"), spent > allowed ? words(spent - allowed) + " over" : "");
      clock.classList.toggle("over", spent > allowed);
      const bar = clock.querySelector("[data-bar]");
      if (bar) bar.setAttribute("width", (176 * Math.min(1, spent / Math.max(1, allowed))).toFixed(1));
    }
    if (now - ticked > ASLEEP) askForAll();
    ticked = now;
  }

  function say(place, text) {
    if (place && place.textContent !== text) place.textContent = text;
  }

  document.addEventListener("htmx:oobAfterSwap", () => { tick(); restore(); markConnection(); });

  function markConnection() {
    for (const mark of document.querySelectorAll("[data-connection]")) {
      say(mark, lost ? mark.dataset.down : mark.dataset.up);
      mark.classList.toggle("down", lost);
    }
  }

  tick();
  for (const name of draftsOfNoField()) showUnkept(remembered(name).text, "The question was over before it could be sent.");
  restore();
  markConnection();
  setInterval(tick, 250);
})();
