// Says so when a request could not reach the server, and takes it back once one does. What has gone from the page awaits
// no answer any more. What the page was opened with is read out.
(function () {
  "use strict";
  const said = document.createElement("div");
  said.className = "message failed";
  said.innerHTML = "<b>No connection.</b> What you typed stays on this page, and nothing was recorded. Try again when you are back.";

  document.addEventListener("htmx:sendError", (event) => {
    if (event.target.id === "feed") return; // a room says so itself, and asks again
    document.getElementById("messages").replaceChildren(said);
  });
  document.addEventListener("htmx:afterOnLoad", () => said.remove());

  // A screen reader passes over what a live region holds as its page opens; put in anew, it is read out.
  const messages = document.getElementById("messages");
  const first = messages.firstElementChild;
  setTimeout(() => {
    if (first?.isConnected && !messages.contains(document.activeElement)) messages.replaceChildren(...messages.childNodes);
  }, 300);

  document.addEventListener("htmx:beforeCleanupElement", (event) => {
    event.target.addEventListener("htmx:beforeOnLoad", (answer) => answer.preventDefault());
  });
})();
