// This script keeps the page up to date. The server sends the sections that have changed, and the script changes only the
// elements that differ. So the focus, the selection, and what the person has scrolled or unfolded do not change.
"use strict";
{
  const main = document.getElementById("sections");
  const lost = document.getElementById("lost");

  const attributes = (old, next) => {
    for (const { name } of [...old.attributes]) {
      if (!next.hasAttribute(name) && name !== "open") old.removeAttribute(name); // people unfold details
    }
    for (const { name, value } of next.attributes) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
  };

  const children = (old, next) => {
    let at = old.firstChild;
    for (const child of [...next.childNodes]) {
      const moved = child.id && [...old.children].find((c) => c.id === child.id);
      if (moved && moved !== at) old.insertBefore(moved, at);
      const here = moved || at;
      if (here && alike(here, child)) {
        at = here.nextSibling;
        become(here, child);
      } else {
        old.insertBefore(child, at);
      }
    }
    while (at) {
      const gone = at;
      at = at.nextSibling;
      gone.remove();
    }
  };

  const alike = (a, b) => a.nodeName === b.nodeName && (a.id || "") === (b.id || "");

  const become = (old, next) => {
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.data !== next.data) old.data = next.data;
      return;
    }
    const atEnd = old.matches("pre.text") && old.scrollTop + old.clientHeight >= old.scrollHeight - 4;
    attributes(old, next);
    children(old, next);
    if (atEnd) old.scrollTop = old.scrollHeight;
  };

  const show = (working) => {
    lost.hidden = working;
    main.classList.toggle("old", !working);
  };

  let started;
  const connect = () => {
    const events = new EventSource("/events");
    events.onopen = () => show(true);
    events.onmessage = ({ data }) => {
      const update = JSON.parse(data);
      if (started && started !== update.started) return location.reload(); // another process, maybe of another version
      started = update.started;
      for (const [id, html] of Object.entries(update.sections)) {
        const next = new DOMParser().parseFromString(html, "text/html").body.firstElementChild;
        become(document.getElementById(id), next);
      }
    };
    events.onerror = () => {
      show(false);
      // The browser connects again by itself, unless the server has refused it. Then load the page again: it may show the login form.
      if (events.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 3000);
    };
    addEventListener("pagehide", () => events.close());
  };
  for (const text of document.querySelectorAll("pre.text")) text.scrollTop = text.scrollHeight;
  connect();
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
}
