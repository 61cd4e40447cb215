// This is the script of the demo's page. The script inserts the parts that the server renders, and sends a person's
// actions to the server. The script trusts the server's HTML, because the server escapes all foreign text in it.

const $ = (id) => document.getElementById(id);

// atEnd reports whether the end of a list is visible. If the end is visible, the page scrolls to new messages.
const atEnd = (list) => list.scrollHeight - list.scrollTop - list.clientHeight < 60;
const toEnd = (list) => { list.scrollTop = list.scrollHeight; };

// put inserts a part that the server has rendered. The element with the focus keeps the focus.
function put({ id, in: into, after, html }) {
  const focused = document.activeElement?.id;
  const old = $(id);
  if (!into) { old.innerHTML = html; return; }
  const list = $(into);
  const stays = atEnd(list);
  const box = document.createElement("template");
  box.innerHTML = html;
  const item = box.content.firstElementChild;
  if (old) old.replaceWith(item);
  else {
    item.classList.add("fresh");
    const before = after && $(after);
    if (before) before.after(item); else list.prepend(item);
  }
  if (focused && document.activeElement?.id !== focused) $(focused)?.focus({ preventScroll: true });
  if (stays) toEnd(list);
}

function apply({ all, parts = [], gone = [] }) {
  parts.forEach(put);
  gone.forEach((id) => $(id)?.remove());
  if (!all) return;
  const here = new Set(parts.map((p) => p.id)); // a restarted demo does not have the old messages
  document.querySelectorAll(".messages > li").forEach((li) => { if (!here.has(li.id)) li.remove(); });
}

const source = new EventSource("/events");
source.onmessage = (e) => { $("lost").hidden = true; apply(JSON.parse(e.data)); };
source.onerror = () => { $("lost").hidden = false; };
document.querySelectorAll(".messages").forEach(toEnd);

// post sends a form, and shows the error if the server refuses the form.
async function post(form, button) {
  const data = new FormData(form, button);
  try {
    const res = await fetch(form.action, { method: "POST", body: data, headers: { Accept: "text/plain" } });
    $("trouble").textContent = res.ok ? "" : `Not done: ${await res.text()}`;
  } catch {
    $("trouble").textContent = "Not done: the demo does not answer. Your text is still here.";
  }
  $("trouble").hidden = !$("trouble").textContent;
  return $("trouble").hidden;
}

document.addEventListener("submit", (e) => {
  if (!e.target.matches("[data-act]")) return;
  e.preventDefault();
  post(e.target, e.submitter);
});
document.addEventListener("change", (e) => e.target.closest("[data-now]")?.requestSubmit());

// compose is the form in which the person writes the question.
const compose = $("compose"), text = $("text");
const grow = () => { text.style.height = "auto"; text.style.height = `${text.scrollHeight}px`; };

const choose = (sample) => { compose.querySelector(`[name=sample][value="${sample}"]`).checked = true; };

function showFile() {
  const own = $("file").files[0]?.name, sample = compose.elements.sample.value;
  $("attached").hidden = !(sample || own);
  $("attached").firstElementChild.textContent = sample || own || "";
}

function dropFile() {
  choose("");
  $("file").value = "";
  showFile();
}

async function ask() {
  const kept = text.value;
  if (!await post(compose)) return;
  if (text.value === kept) text.value = "";
  dropFile();
  grow();
  document.querySelectorAll(".messages").forEach(toEnd);
}

compose.addEventListener("submit", (e) => { e.preventDefault(); ask(); });
text.addEventListener("input", grow);
text.addEventListener("keydown", (e) => {
  if (e.key === "Enter" && !e.shiftKey && !e.isComposing) { e.preventDefault(); compose.requestSubmit(); }
});
$("attach").addEventListener("change", (e) => {
  if (e.target.type === "file") choose("");
  else $("file").value = "";
  showFile();
  $("attach").open = false;
  text.focus();
});
$("attached").querySelector("button").addEventListener("click", () => { dropFile(); text.focus(); });
document.addEventListener("click", (e) => { if (!$("attach").contains(e.target)) $("attach").open = false; });
document.addEventListener("keydown", (e) => { if (e.key === "Escape" && $("attach").open) { $("attach").open = false; $("attach").firstElementChild.focus(); } });
compose.querySelectorAll("[data-text]").forEach((idea) => idea.addEventListener("click", () => {
  text.value = idea.dataset.text;
  choose(idea.dataset.sample || "");
  ask();
}));

// The placeholder names the places to which the question goes.
const drawTo = () => {
  const names = [...compose.querySelectorAll(".to input:checked")].map((box) => box.parentElement.textContent.trim());
  text.placeholder = names.length === 5 ? "Ask all of them" : names.length ? `Ask ${names.join(", ")}` : "Choose where to ask";
};
compose.querySelector(".to").addEventListener("change", drawTo);
drawTo();

// On a narrow screen, only one place is visible. The tabs scroll to the other places.
const tabs = [...document.querySelectorAll(".tabs a")];
const seen = new IntersectionObserver((list) => {
  for (const one of list) if (one.isIntersecting) tabs.forEach((tab) => tab.toggleAttribute("aria-current", tab.dataset.place === one.target.id));
}, { root: $("places"), threshold: 0.6 });
document.querySelectorAll(".place").forEach((place) => seen.observe(place));
tabs.forEach((tab) => tab.addEventListener("click", (e) => {
  e.preventDefault();
  $(tab.dataset.place).scrollIntoView({ inline: "center", block: "nearest" });
}));
