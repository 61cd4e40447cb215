// The chat page of the stand-in. It shows the events of /control/events, and sends
// what a person types. The page inserts foreign text only as text, never as HTML.

import { cancel, edit, editing, fields, give, marked, reply, take } from "./compose.js";
import { blocks } from "./rich.js";

const $ = (id) => document.getElementById(id);
const ME = 1001;
const EMPTY = [
  { id: ME, type: "private", title: "" },
  { id: -1001, type: "group", title: "Kitchen table" },
];

const state = {
  bot: { id: 0, first_name: "Bot", username: "bot" },
  chats: new Map(), // id → {info, messages: Map, drafts, action}
  current: ME, commands: [], calls: [], unfolded: new Set(), chosen: 0,
};

const el = (tag, className, ...children) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
};

const icon = (path) => {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  const p = document.createElementNS("http://www.w3.org/2000/svg", "path");
  p.setAttribute("d", path);
  svg.append(p);
  return svg;
};

async function get(name) {
  const res = await fetch(`control/${name}`);
  if (!res.ok) throw new Error(`${name}: ${res.status}`);
  return res.json();
}

async function post(name, body) {
  const res = await fetch(`control/${name}`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  if (!res.ok) throw new Error((await res.json()).error || res.status, { cause: "refused" });
  return res.json();
}

function chatFor(id, info) {
  let chat = state.chats.get(id);
  if (!chat) {
    chat = { info: info || { id, type: id > 0 ? "private" : "group" }, messages: new Map(), drafts: new Map(), action: null };
    state.chats.set(id, chat);
  }
  if (info) chat.info = info;
  return chat;
}

const last = (m) => m.versions[m.versions.length - 1];
const clock = (t) => new Date(t).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
const day = (t) => new Date(t).toLocaleDateString([], { day: "numeric", month: "long" });
const titleOf = (info) => (info.type === "private" ? state.bot.first_name : info.title || `Group ${-info.id}`);
const nameOf = (m) => (m.from_bot ? state.bot.first_name : m.from.id === ME ? "You" : m.from.first_name);
const preview = (m) => m.service || last(m).text || m.file_name || m.media || "";

function safeLink(url) {
  try {
    const parsed = new URL(/^[a-z][a-z0-9+.-]*:/i.test(url) ? url : `https://${url}`);
    return ["http:", "https:", "tg:", "mailto:"].includes(parsed.protocol) ? parsed.href : "";
  } catch { return ""; }
}

function wrap(entity, text) {
  switch (entity.type) {
    case "bold": return el("b");
    case "italic": return el("i");
    case "underline": return el("u");
    case "strikethrough": return el("s");
    case "code": return el("code");
    case "pre": {
      const code = el("code");
      const box = el("span", "pre");
      if (entity.language) box.append(el("span", "lang", entity.language));
      box.append(code);
      box.inner = code;
      return box;
    }
    case "blockquote": case "expandable_blockquote": return el("span", "quote");
    case "spoiler": {
      const box = el("span", "spoiler");
      const inner = el("span");
      box.append(inner);
      box.inner = inner;
      box.addEventListener("click", () => box.classList.toggle("shown"));
      return box;
    }
    case "text_link": case "url": {
      const href = safeLink(entity.url || text);
      if (!href) return el("span");
      const a = el("a");
      a.href = href;
      a.target = "_blank";
      a.rel = "noopener noreferrer";
      return a;
    }
    case "mention": case "hashtag": case "bot_command": case "text_mention": {
      const a = el("a");
      if (entity.type === "bot_command") {
        a.href = "#";
        a.addEventListener("click", (e) => { e.preventDefault(); say(text); });
      }
      return a;
    }
  }
  return el("span");
}

// formatted renders a text with entities. The offsets of entities count UTF-16 units, like the indexes of a JavaScript
// string.
function formatted(text, entities) {
  const root = document.createDocumentFragment();
  const sorted = [...(entities || [])].sort((a, b) => a.offset - b.offset || b.length - a.length);
  const build = (parent, start, end, list) => {
    let at = start;
    for (let i = 0; i < list.length; i++) {
      const e = list[i];
      const stop = Math.min(e.offset + e.length, end);
      if (e.offset < at || stop <= at) continue;
      if (e.offset > at) parent.append(text.slice(at, e.offset));
      const node = wrap(e, text.slice(e.offset, stop));
      const inside = list.slice(i + 1).filter((x) => x.offset >= e.offset && x.offset < stop);
      build(node.inner || node, e.offset, stop, inside);
      parent.append(node);
      at = stop;
      // A block element already begins a new line.
      if ((e.type === "pre" || e.type.endsWith("blockquote")) && text[at] === "\n") at++;
    }
    if (at < end) parent.append(text.slice(at, end));
  };
  build(root, 0, text.length, sorted);
  return root;
}

// content returns the elements that show a message or a draft.
const content = (v) => (v.rich ? el("div", "body rich", ...blocks(v.rich, (url) => wrap({ type: "text_link", url }, "")))
  : el("div", "body", formatted(v.text, [...(v.entities || []), ...(v.detected || [])])));

function bubble(chat, m) {
  const v = last(m);
  const box = el("div", "bubble");
  if (chat.info.type !== "private" && m.from.id !== ME) box.append(el("div", "name", nameOf(m)));
  const target = m.reply_to && chat.messages.get(m.reply_to);
  if (target) {
    const quote = el("button", "answers", el("strong", "", nameOf(target)), el("span", "", m.quote || preview(target)));
    quote.addEventListener("click", () => document.getElementById(`m${target.id}`)?.scrollIntoView({ block: "center", behavior: "smooth" }));
    box.append(quote);
  }
  if (m.media) {
    const kinds = { photo: "🖼", document: "📄", voice: "🎤" };
    const name = el(m.from_bot && m.file_size ? "a" : "span", "", m.file_name || m.media);
    if (name.tagName === "A") {
      name.href = `control/file?chat=${chat.info.id}&message_id=${m.id}`;
      name.download = m.file_name;
    }
    box.append(el("div", "file", el("i", "", kinds[m.media] || "📎"),
      el("div", "", name, el("small", "", m.file_size ? `${m.file_size} bytes` : ""))));
  }
  const body = content(v);
  const meta = el("span", "meta", (m.versions.length > 1 ? "edited " : "") + clock(m.versions[0].at));
  meta.title = m.versions.length > 1 ? `${m.versions.length - 1} edits, the last at ${new Date(v.at).toLocaleTimeString()}` : new Date(v.at).toLocaleString();
  body.append(meta);
  box.append(body);
  if (m.from.id === ME && isLong(v.text)) box.append(folding(body, m));
  if (m.reaction) {
    const reaction = el("span", "reaction", m.reaction);
    reaction.setAttribute("role", "img");
    reaction.setAttribute("aria-label", `${state.bot.first_name} reacted with ${m.reaction}`);
    box.append(reaction);
  }
  box.append(tools(chat, m));
  return box;
}

// The page folds a long text that a person wrote, so that the answer below the text stays on the screen.
const isLong = (text) => text.length > 1200 || text.split("\n").length > 14;

function folding(body, m) {
  const more = el("button", "more", "");
  const draw = () => {
    const shown = state.unfolded.has(m.id);
    body.classList.toggle("folded", !shown);
    more.textContent = shown ? "Show less" : "Show all";
    more.setAttribute("aria-expanded", shown);
  };
  more.addEventListener("click", () => {
    if (!state.unfolded.delete(m.id)) state.unfolded.add(m.id);
    draw();
  });
  draw();
  return more;
}

function tool(name, path, act) {
  const button = el("button", "icon", icon(path));
  button.title = name;
  button.setAttribute("aria-label", name);
  button.addEventListener("mousedown", (e) => e.preventDefault()); // a click must not clear the selection of text
  button.addEventListener("click", act);
  return button;
}

function tools(chat, m) {
  const list = [tool("Reply", "M10 8l-5 4 5 4M5 12h9a5 5 0 015 5", () => setReply(m))];
  if (m.from.id === ME && !m.forward) list.push(tool("Edit", "M5 19l1-4L16 5l3 3L9 18z", () => setEdit(m)));
  list.push(tool("Delete", "M7 7l10 10M17 7L7 17", () => post("delete", { chat: chat.info.id, message_id: m.id })));
  return el("div", "tools", ...list);
}

function keyboard(chat, m) {
  const rows = last(m).keyboard;
  if (!rows) return [];
  return [el("div", "keys", ...rows.map((row) => el("div", "", ...row.map((b) => {
    const key = el("button", "", b.text);
    key.addEventListener("click", () => {
      if (b.callback_data) post("press", { chat: chat.info.id, user: ME, message_id: m.id, data: b.callback_data });
      else if (safeLink(b.url || "")) window.open(safeLink(b.url), "_blank", "noopener");
    });
    return key;
  }))))];
}

function item(chat, m) {
  const li = el("li");
  li.id = `m${m.id}`;
  fill(li, chat, m);
  return li;
}

function fill(li, chat, m) {
  if (m.service) {
    li.className = "service";
    li.replaceChildren(el("span", "pill", m.service));
    return;
  }
  li.className = m.from.id === ME ? "mine first" : "first";
  li.replaceChildren(bubble(chat, m), ...keyboard(chat, m));
}

const atBottom = () => $("scroll").scrollHeight - $("scroll").scrollTop - $("scroll").clientHeight < 80;
const toBottom = () => { $("scroll").scrollTop = $("scroll").scrollHeight; };

// If the person has scrolled up, the page does not scroll to new messages. Instead, it shows a button that scrolls to
// the bottom.
let following = true;
let height = 0; // the height of the scroll area when following was set
const drawWay = () => {
  if ($("scroll").clientHeight === height) following = atBottom();
  $("bottom").hidden = following;
};

// The scroll area shrinks when the input field grows, or when something appears above the field.
new ResizeObserver(() => {
  height = $("scroll").clientHeight;
  if (following) toBottom();
  drawWay();
}).observe($("scroll"));

function drawMessages(follow = true) {
  const top = $("scroll").scrollTop;
  const chat = chatFor(state.current);
  const list = $("messages");
  const alive = [...chat.messages.values()].filter((m) => !m.deleted).sort((a, b) => a.versions[0].at < b.versions[0].at ? -1 : a.versions[0].at > b.versions[0].at ? 1 : a.id - b.id);
  if (!alive.length) {
    const hint = chat.info.type === "private" ? "Write something: the bot answers here, as it would in Telegram."
      : `Groups have privacy mode on: mention @${state.bot.username}, reply to the bot, or use a command.`;
    list.replaceChildren(el("li", "service", el("div", "empty", hint)));
  } else {
    const rows = [];
    let previous = "";
    for (const m of alive) {
      const date = day(m.versions[0].at);
      if (date !== previous) rows.push(el("li", "day", el("span", "pill", date)));
      previous = date;
      rows.push(item(chat, m));
    }
    list.replaceChildren(...rows);
  }
  drawLive();
  if (follow) toBottom();
  else $("scroll").scrollTop = top;
  drawWay();
}

// draftRow shows a draft. It keeps the draft's elements while the text grows, so that no press on the stop button is lost.
function draftRow(chat, d) {
  let li = document.querySelector(`[data-draft="${d.id}"]`);
  if (!li) {
    const stop = el("button", "", "Stop");
    stop.addEventListener("click", () => post("stop_draft", { chat: chat.info.id, draft_id: d.id }));
    li = el("li", "live draft first", el("div", "bubble"), el("div", "keys", el("div", "", stop)));
    li.dataset.draft = d.id;
  }
  li.firstChild.replaceChildren(d.text || d.rich ? content(d) : el("div", "body", "Thinking…"));
  li.lastChild.hidden = !d.can_stop;
  return li;
}

// drawLive shows the typing indicator and drafts, which disappear after some time.
function drawLive() {
  const chat = chatFor(state.current);
  const now = Date.now();
  const stick = atBottom();
  const drafts = [...chat.drafts.values()].filter((d) => new Date(d.ended) > now).map((d) => draftRow(chat, d));
  document.querySelectorAll(".live").forEach((n) => { if (!drafts.includes(n)) n.remove(); });
  $("messages").append(...drafts.filter((li) => !li.isConnected));
  const typing = chat.action && new Date(chat.action.to) > now;
  if (typing) {
    const dots = el("div", "dots", el("i"), el("i"), el("i"));
    dots.setAttribute("aria-label", "typing");
    $("messages").append(el("li", "live first", el("div", "bubble", dots)));
  }
  const what = { typing: "typing…", upload_document: "sending a file…" };
  $("state").className = typing ? "busy" : "";
  $("state").textContent = typing ? what[chat.action.action] || `${chat.action.action}…`
    : chat.info.type === "private" ? "bot" : chat.info.is_forum ? "forum" : "group";
  if (stick) toBottom();
  drawWay();
}

function drawChats() {
  const list = [...state.chats.values()].sort((a, b) => order(b) - order(a));
  $("chats").replaceChildren(...list.map((chat) => {
    const m = newest(chat);
    const row = el("button", "chat", avatar(chat.info), el("strong", "", titleOf(chat.info)),
      el("time", "", m ? clock(m.versions[0].at) : ""), el("span", "last", m ? `${m.from.id === ME ? "You: " : ""}${preview(m)}` : "No messages yet"));
    row.setAttribute("aria-current", chat.info.id === state.current);
    row.addEventListener("click", () => open(chat.info.id));
    return row;
  }));
}

const newest = (chat) => [...chat.messages.values()].filter((m) => !m.deleted).reduce((a, b) => (!a || b.versions[0].at >= a.versions[0].at ? b : a), null);
const order = (chat) => { const m = newest(chat); return m ? Date.parse(m.versions[0].at) : chat.info.id === ME ? 1 : 0; };

function avatar(info) {
  const kind = info.type === "private" ? "" : info.is_forum ? " forum" : " group";
  return el("span", `avatar${kind}`, (titleOf(info)[0] || "?").toUpperCase());
}

// loadMenu requests the commands of the open chat. Then it updates the suggestions, because the person may have typed a slash
// already.
async function loadMenu() {
  const id = state.current;
  const commands = (await get(`menu?chat=${id}`)) || [];
  if (state.current !== id || JSON.stringify(commands) === JSON.stringify(state.commands)) return;
  state.commands = commands;
  suggest();
}

function open(id) {
  state.current = id;
  state.commands = [];
  loadMenu();
  stopEditing();
  const chat = chatFor(id);
  $("app").classList.remove("list");
  $("title").textContent = titleOf(chat.info);
  const face = avatar(chat.info);
  face.id = "avatar";
  $("avatar").replaceWith(face);
  drawChats();
  drawMessages();
  $("text").focus();
}

// setReply begins a reply to a message, or to the part of the message that is selected.
function setReply(m) {
  if (editing()) stopEditing();
  reply(m.id, nameOf(m), preview(m), marked(document.querySelector(`#m${m.id} .body`), last(m).text || ""));
  getSelection().removeAllRanges();
  $("text").blur(); // without blur, the next line does not move the selection into the field
  $("text").focus();
}

function setEdit(m) {
  edit(m.id, preview(m));
  write(last(m).text);
}

function stopEditing() {
  if (editing()) write("");
  cancel();
}

// write replaces the text in the field.
function write(text) {
  $("text").value = text;
  grow();
  suggest();
  $("text").focus();
}

// send sends the text in the field with its file and reply. If the request fails, send puts the text back in front of the
// text that the person has typed meanwhile.
async function send() {
  const text = $("text").value.trim();
  const taken = take();
  if (!text && !taken.file) { give(taken); return; }
  write("");
  if (await say(text, taken)) return;
  write([text, $("text").value].filter(Boolean).join("\n"));
  give(taken);
}

// say sends a text with the file and reply that take returned, and reports whether it was sent.
async function say(text, taken = {}) {
  const chat = chatFor(state.current);
  const body = { chat: state.current, user: ME, first_name: "You", text };
  if (chat.info.title) body.title = chat.info.title;
  try {
    await post("say", { ...body, ...await fields(taken) });
    $("trouble").hidden = true;
    return true;
  } catch (e) {
    const why = e.cause === "refused" ? e.message : "the stand-in does not answer";
    $("trouble").textContent = `Not sent: ${why}. Your text is still here.`;
    $("trouble").hidden = false;
    return false;
  }
}

function apply(e) {
  switch (e.kind) {
    case "reset": location.reload(); return;
    case "chat": chatFor(e.chat, e.info); drawChats(); return;
    case "message": case "edit": case "delete": case "reaction": show(e); return;
    case "draft": { const c = chatFor(e.chat); c.drafts.set(e.draft.thread_id || 0, e.draft); break; }
    case "action": chatFor(e.chat).action = e.action; break;
    case "call":
      count(e.call);
      if (["setMyCommands", "deleteMyCommands"].includes(e.call.method)) loadMenu();
      return;
    case "violation": count(null); return;
    default: return;
  }
  if (e.chat === state.current) drawLive();
}

function show(e) {
  const chat = chatFor(e.chat);
  const m = e.message;
  chat.messages.set(m.id, m);
  if (m.from_bot && e.kind === "message") { chat.action = null; chat.drafts.clear(); }
  drawChats();
  if (e.chat !== state.current) return;
  const stick = atBottom() || m.from.id === ME && e.kind === "message";
  const old = document.getElementById(`m${m.id}`);
  if ((e.kind === "edit" || e.kind === "reaction") && old) fill(old, chat, m);
  else {
    drawMessages(stick);
    if (e.kind === "message") document.getElementById(`m${m.id}`)?.classList.add("fresh");
  }
  drawLive();
  if (stick) toBottom();
}

let counting = 0;
function drawCalls() {
  state.calls.length = Math.min(state.calls.length, 14);
  $("calls").replaceChildren(...state.calls.map((c) => {
    const li = el("li", c.status === 200 ? "" : "bad", el("span", "", new Date(c.at).toLocaleTimeString()),
      el("span", "", c.method), el("span", "", c.status || "cut"));
    li.title = c.description || "";
    return li;
  }));
}

function count(call) {
  if (call && call.method !== "getUpdates") {
    state.calls.unshift(call);
    drawCalls();
  }
  if (!counting) counting = setTimeout(drawStats, 200);
}

async function drawStats() {
  counting = 0;
  const st = await get("stats");
  const v = st.violations;
  const rows = [
    ["Messages", st.messages], ["Edits", st.edits], ["Drafts", st.drafts], ["Deletions", st.deletes],
    ["Answers 429", st.too_many_requests, st.too_many_requests > 0],
    ["Violations", v.over_limit + v.blocked_calls + v.surplus_entities, v.over_limit + v.blocked_calls + v.surplus_entities > 0],
  ];
  $("stats").replaceChildren(...rows.map(([name, n, bad]) => el("div", bad ? "bad" : "", el("dd", "", String(n)), el("dt", "", name))));
}

async function load() {
  const [info, chats] = await Promise.all([get("info"), get("chats")]);
  state.bot = info.bot;
  const histories = await Promise.all(chats.map((c) => get(`history?chat=${c.id}`)));
  state.chats.clear(); // after a restart, the stand-in no longer has the old chats
  for (const c of EMPTY) chatFor(c.id, c);
  histories.forEach((h, i) => {
    const chat = chatFor(chats[i].id, h.chat);
    chat.messages = new Map((h.messages || []).map((m) => [m.id, m]));
    chat.action = (h.typing || []).at(-1) || null;
    for (const d of h.drafts || []) chat.drafts.set(d.thread_id || 0, d);
  });
  state.calls = (await get("calls?last=40")).filter((c) => c.method !== "getUpdates" && c.done).reverse();
  drawCalls();
  open([Number(location.hash.slice(1)), state.current, ME].find((id) => state.chats.has(id)));
  drawStats();
}

function suggest() {
  const text = $("text").value;
  const fits = /^\/\w*$/.test(text) ? state.commands.filter((c) => `/${c.command}`.startsWith(text)) : [];
  $("suggest").hidden = !fits.length;
  state.chosen = 0;
  $("suggest").replaceChildren(...fits.map((c) => {
    const b = el("button", "", el("b", "", `/${c.command}`), el("span", "", c.description));
    b.type = "button";
    b.dataset.command = `/${c.command}`;
    b.setAttribute("role", "option");
    b.addEventListener("click", () => { $("text").value = ""; suggest(); say(`/${c.command}`); });
    return b;
  }));
  if (fits.length) choose(0);
}

// choose selects one of the suggested commands. The key Enter then uses this command.
function choose(at) {
  const list = [...$("suggest").children];
  state.chosen = (at + list.length) % list.length;
  list.forEach((b, i) => b.setAttribute("aria-selected", i === state.chosen));
  list[state.chosen].scrollIntoView({ block: "nearest" });
}

// suggestKey handles a pressed key while the page suggests commands. It reports whether it handled the key.
function suggestKey(key) {
  if ($("suggest").hidden) return false;
  switch (key) {
    case "ArrowDown": choose(state.chosen + 1); return true;
    case "ArrowUp": choose(state.chosen - 1); return true;
    case "Enter": $("suggest").children[state.chosen].click(); return true;
    case "Tab": $("text").value = $("suggest").children[state.chosen].dataset.command; suggest(); return true;
    case "Escape": $("suggest").hidden = true; return true;
  }
  return false;
}

function grow() {
  $("text").style.height = "auto";
  $("text").style.height = `${$("text").scrollHeight}px`;
}

$("compose").addEventListener("submit", (e) => {
  e.preventDefault();
  send();
});
$("text").addEventListener("input", () => { grow(); suggest(); });
$("text").addEventListener("focus", loadMenu);
$("text").addEventListener("keydown", (e) => {
  if (!e.isComposing && !e.shiftKey && suggestKey(e.key)) { e.preventDefault(); return; }
  if (e.key === "Escape") stopEditing();
  if (e.key === "Enter" && !e.shiftKey && !e.isComposing) { e.preventDefault(); $("compose").requestSubmit(); }
});
$("reply-cancel").addEventListener("click", () => { stopEditing(); $("text").focus(); });
$("scroll").addEventListener("scroll", drawWay, { passive: true });
$("bottom").addEventListener("click", () => { toBottom(); drawWay(); });
$("bottom").addEventListener("mousedown", (e) => e.preventDefault()); // keep the focus in the field
$("back").addEventListener("click", () => $("app").classList.add("list"));
$("toggle").addEventListener("click", () => {
  $("toggle").setAttribute("aria-expanded", $("app").classList.toggle("open"));
});
if (matchMedia("(min-width: 75rem)").matches) $("toggle").click();
setInterval(drawLive, 1000);

// Events that arrive while the page reads the history are applied after the history. Each event contains the newest
// state of its message, so it may be applied twice.
let early = [];
async function connect() {
  early = [];
  await load();
  const missed = early;
  early = null;
  missed.forEach(apply);
}
const source = new EventSource("control/events");
source.onopen = connect;
source.onmessage = (e) => { if (early) early.push(JSON.parse(e.data)); else apply(JSON.parse(e.data)); };
