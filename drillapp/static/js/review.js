// The stopwatch on “I said it out loud”: counts on from the seconds that the server says have passed.
(function () {
  "use strict";

  let shown = null; // the stopwatch on the page now
  let started = 0;

  function tick() {
    const watch = document.querySelector(".stopwatch");
    if (!watch) return;
    if (watch !== shown) {
      shown = watch;
      started = Date.now() - 1000 * Number(watch.dataset.elapsed);
    }
    const seconds = Math.floor((Date.now() - started) / 1000);
    watch.textContent = Math.floor(seconds / 60) + ":" + String(seconds % 60).padStart(2, "0");
  }

  tick();
  setInterval(tick, 1000);
})();
