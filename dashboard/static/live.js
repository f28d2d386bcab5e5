// Keeps a page live: when the stream of events tells that something has changed, the
// page is fetched anew, and the parts marked data-live are exchanged. Without script, or
// without a stream, pages are as they were when they were loaded.
"use strict";

(() => {
  const address = document.body.dataset.events;
  const light = document.getElementById("live");
  if (!address || !light || !window.EventSource) return;

  const shortest = 2000; // milliseconds between two looks
  const longest = 20000; // after which times such as "3 min ago" are told anew
  let last = Date.now();
  let timer = 0;
  let busy = false;

  const show = (state) => {
    light.hidden = false;
    light.className = "live " + state;
    light.querySelector(".word").textContent = state === "on" ? "live" : "reconnecting";
  };

  // An element that somebody is at work in is left alone.
  const inUse = (element) =>
    element.contains(document.activeElement) && document.activeElement !== document.body ||
    element.querySelector("details.menu[open]") !== null;

  const exchange = (fresh) => {
    for (const old of document.querySelectorAll("[data-live]")) {
      const next = fresh.getElementById(old.id);
      if (!next || inUse(old) || old.innerHTML === next.innerHTML) continue;
      for (const details of old.querySelectorAll("details[id][open]")) {
        const same = next.querySelector("#" + CSS.escape(details.id));
        if (same) same.open = true;
      }
      old.replaceWith(document.importNode(next, true));
    }
  };

  const look = async () => {
    clearTimeout(timer);
    timer = 0;
    if (busy || document.hidden) return;
    busy = true;
    try {
      const here = new URL(location.href);
      here.searchParams.delete("notice");
      const response = await fetch(here, { headers: { Accept: "text/html" } });
      if (response.ok) {
        exchange(new DOMParser().parseFromString(await response.text(), "text/html"));
      }
    } catch (error) {
      // The stream tells whether the server is there.
    } finally {
      busy = false;
      last = Date.now();
      plan(longest);
    }
  };

  const plan = (wait) => {
    const due = Math.max(last + wait - Date.now(), 0);
    if (timer && wait === longest) return;
    clearTimeout(timer);
    timer = setTimeout(look, due);
  };

  const stream = new EventSource(address);
  stream.addEventListener("open", () => show("on"));
  stream.addEventListener("error", () => show("off"));
  stream.addEventListener("queues", () => plan(shortest));
  document.addEventListener("visibilitychange", () => { if (!document.hidden) plan(shortest); });
  window.addEventListener("pagehide", () => stream.close());
  plan(longest);
})();
