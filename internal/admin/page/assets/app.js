// Keeps the page as it is now: each second it fetches the sections and replaces those that have changed.
"use strict";
{
  const every = 1000;
  const main = document.getElementById("sections");
  const lost = document.getElementById("lost");

  const draw = (html) => {
    const next = new DOMParser().parseFromString(html, "text/html");
    for (const section of next.querySelectorAll("header[id], section[id]")) {
      const old = document.getElementById(section.id);
      if (!old || old.innerHTML === section.innerHTML || old.contains(document.activeElement) && document.activeElement !== document.body) continue;
      if (String(getSelection()) && getSelection().containsNode(old, true)) continue; // somebody copies from it
      const open = [...old.querySelectorAll("details[open]")].map((d) => d.id);
      const ends = [...old.querySelectorAll("pre.text")].map((p) => p.scrollTop + p.clientHeight >= p.scrollHeight - 4);
      old.replaceChildren(...section.childNodes);
      for (const id of open) document.getElementById(id)?.setAttribute("open", "");
      old.querySelectorAll("pre.text").forEach((p, i) => { if (ends[i] !== false) p.scrollTop = p.scrollHeight; });
    }
  };

  const look = async () => {
    if (!document.hidden) {
      try {
        const answer = await fetch("/fragment", { cache: "no-store", signal: AbortSignal.timeout(10000) });
        if (answer.status === 401) return location.reload();
        if (!answer.ok) throw new Error(answer.status);
        draw(await answer.text());
        lost.hidden = true;
        main.classList.remove("old");
      } catch {
        lost.hidden = false;
        main.classList.add("old");
      }
    }
    setTimeout(look, every);
  };
  setTimeout(look, every);
}
