// Answers said aloud in a room of one's own: recorded where the browser allows it, kept in this browser alone (IndexedDB),
// played back and deleted here. Nothing of them is sent. Without it there is the scratchpad.
(function () {
  "use strict";

  if (!window.indexedDB) return;

  // The store: one piece of a take each, by room, question, take and number; a take is its pieces in their order.

  const opened = new Promise((resolve, reject) => {
    const request = indexedDB.open("drillapp recordings", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("pieces", { keyPath: ["code", "at", "take", "number"] });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

  async function within(mode, work) {
    const transaction = (await opened).transaction("pieces", mode);
    const request = work(transaction.objectStore("pieces"));
    return new Promise((resolve, reject) => {
      transaction.oncomplete = () => resolve(request && request.result);
      transaction.onerror = transaction.onabort = () => reject(transaction.error);
    });
  }

  function range(code, at, take) {
    const from = take === undefined ? [code, at] : [code, at, take];
    return IDBKeyRange.bound(from, [...from, []]);
  }

  async function takes(code, at) {
    const found = new Map();
    for (const piece of await within("readonly", (store) => store.getAll(range(code, at)))) {
      if (!found.has(piece.take)) found.set(piece.take, []);
      found.get(piece.take).push(piece.sound);
    }
    return found;
  }

  // The takes of a question with what plays and what deletes each; `besides` is one that is still being made.
  function fill(list, code, found, besides, then) {
    for (const old of list.querySelectorAll("audio")) URL.revokeObjectURL(old.src);
    list.replaceChildren();
    for (const [take, pieces] of found) {
      if (take === besides) continue;
      const row = document.createElement("li");
      const sound = document.createElement("audio");
      sound.controls = true;
      sound.setAttribute("aria-label", "Recording " + (list.children.length + 1));
      sound.src = URL.createObjectURL(new Blob(pieces, { type: pieces[0].type }));
      const remove = document.createElement("button");
      remove.type = "button";
      remove.className = "quiet";
      remove.textContent = "Delete";
      remove.setAttribute("aria-label", "Delete recording " + (list.children.length + 1));
      remove.addEventListener("click", async () => {
        await within("readwrite", (store) => store.delete(range(code, Number(list.dataset.takesOf), take)));
        then();
      });
      row.append(sound, remove);
      list.append(row);
    }
  }

  // On a report: what was said to each question.
  async function fillOne(list) {
    const code = list.dataset.room;
    fill(list, code, await takes(code, Number(list.dataset.takesOf)), null, () => fillOne(list));
  }
  for (const list of document.querySelectorAll("[data-takes-of][data-room]")) fillOne(list).catch(() => {});

  // Where one begins another: how many there are on this device, and a way to be rid of them.
  async function tellAll() {
    const there = document.querySelector("[data-recordings]");
    if (!there) return;
    const keys = await within("readonly", (store) => store.getAllKeys());
    const count = new Set(keys.map(([code, at, take]) => code + " " + at + " " + take)).size;
    there.hidden = !count;
    there.querySelector("[data-recordings-told]").textContent = count === 1 ? "One recording is kept on this device." : count + " recordings are kept on this device.";
  }
  document.addEventListener("click", async (event) => {
    if (!event.target.closest?.("[data-forget]")) return;
    await within("readwrite", (store) => store.clear());
    tellAll();
  });
  document.addEventListener("htmx:afterSwap", () => tellAll().catch(() => {}));
  tellAll().catch(() => {});

  // In the room

  const place = document.querySelector("[data-recorder]");
  if (!place || !window.MediaRecorder || !navigator.mediaDevices) return;
  const button = place.querySelector("[data-record]");
  const time = place.querySelector("[data-record-time]");
  const fault = place.querySelector("[data-record-fault]");
  const list = place.querySelector("[data-takes]");
  const code = place.dataset.recorder;
  const PIECE = 1000; // ms of sound that a closed window loses at most

  let recording = null; // {recorder, stream, at, take, begun}
  let shown; // the question whose takes are listed
  let asking = false; // whether the browser asks for the microphone now

  // Where the room stands: which question is in hand, and whether its answer is open.

  function now() {
    const mark = document.querySelector("[data-record-at]");
    return mark ? { at: Number(mark.dataset.recordAt), open: mark.dataset.recordOpen !== undefined } : null;
  }

  function say(words) {
    fault.textContent = words;
  }

  async function listTakes() {
    const stands = now();
    const at = stands ? stands.at : null;
    shown = at;
    const found = at === null ? new Map() : await takes(code, at).catch(() => new Map());
    if (shown !== at) return;
    list.dataset.takesOf = at;
    fill(list, code, found, recording && recording.at === at ? recording.take : null, listTakes);
    follow();
  }

  // Recording

  async function start() {
    const stands = now();
    if (!stands || !stands.open || asking) return;
    say("");
    asking = true;
    let stream = null;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    } catch {
      say("This browser does not let the page use a microphone. Typing does as well.");
      return;
    } finally {
      asking = false;
    }
    const after = now();
    if (!after || !after.open || after.at !== stands.at) {
      for (const track of stream.getTracks()) track.stop();
      return;
    }
    const recorder = new MediaRecorder(stream);
    const mine = { recorder, stream, at: stands.at, take: Date.now(), begun: performance.now(), number: 0, kept: Promise.resolve() };
    recorder.addEventListener("dataavailable", (event) => {
      if (!event.data.size) return;
      const piece = { code, at: mine.at, take: mine.take, number: mine.number++, sound: event.data };
      mine.kept = mine.kept.then(() => within("readwrite", (store) => store.put(piece)))
        .catch(() => { say("The recording can’t be kept: this browser has no room for it."); stop(); });
    });
    recorder.addEventListener("stop", async () => {
      await mine.kept;
      listTakes();
    });
    recorder.start(PIECE);
    recording = mine;
    follow();
  }

  function stop() {
    if (!recording) return;
    const ended = recording;
    recording = null;
    if (ended.recorder.state !== "inactive") ended.recorder.stop();
    for (const track of ended.stream.getTracks()) track.stop();
    follow();
  }

  function follow() {
    const stands = now();
    if (recording && (!stands || !stands.open || stands.at !== recording.at)) return stop();
    button.hidden = !(stands && stands.open);
    button.textContent = recording ? "Stop" : list.childElementCount ? "Record another" : "Record";
    place.hidden = !stands || (!stands.open && !list.childElementCount);
    if (!recording) time.textContent = "";
    if ((stands ? stands.at : null) !== shown) listTakes();
  }

  button.addEventListener("click", () => (recording ? stop() : start()));
  document.addEventListener("htmx:oobAfterSwap", follow);
  window.addEventListener("pagehide", stop);
  setInterval(() => {
    if (!recording) return;
    const seconds = Math.floor((performance.now() - recording.begun) / 1000);
    time.textContent = "recording " + Math.floor(seconds / 60) + ":" + String(seconds % 60).padStart(2, "0");
  }, 250);
  listTakes();
})();
