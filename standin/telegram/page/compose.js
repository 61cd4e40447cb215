// This file manages what a person will send besides the text: the message to reply to or to edit, and a file.

const $ = (id) => document.getElementById(id);

// MOST is the maximum size of a file in bytes. /control/say refuses the base64 of larger files.
const MOST = 90 * 2 ** 20;

const NONE = { replyTo: 0, quote: "", editing: 0, who: "", about: "", file: null };
let composing = { ...NONE };

const size = (n) => (n < 1024 ? `${n} bytes` : n < 2 ** 20 ? `${Math.round(n / 1024)} KB` : `${(n / 2 ** 20).toFixed(1)} MB`);

function draw() {
  const { who, about, file, editing } = composing;
  $("replying").hidden = !who;
  $("reply-who").textContent = who;
  $("reply-text").textContent = about;
  $("reply-cancel").setAttribute("aria-label", editing ? "Cancel the edit" : "Cancel the reply");
  $("attached").hidden = !file;
  $("file-name").textContent = file ? file.name : "";
  $("file-size").textContent = file ? size(file.size) : "";
  $("attach").disabled = Boolean(editing);
}

function set(change) {
  Object.assign(composing, change);
  draw();
}

export const editing = () => composing.editing;

// cancel removes the message to reply to or to edit, but keeps the file.
export const cancel = () => set({ ...NONE, file: composing.file });

export const reply = (id, name, text, quote) => set({
  replyTo: id, quote, editing: 0, who: quote ? `Reply to a part of ${name}'s message` : `Reply to ${name}`, about: quote || text,
});

export const edit = (id, text) => set({ ...NONE, editing: id, who: "Edit your message", about: text });

// take returns the reply, the edit and the file that will be sent, and removes them from the page.
export function take() {
  const taken = composing;
  composing = { ...NONE };
  draw();
  return taken;
}

// give puts back what take returned, if the request failed. If the person has meanwhile begun another reply or edit, or
// chosen a file, give does nothing.
export function give(taken) {
  if (!composing.who && !composing.file) composing = taken;
  draw();
}

// marked returns the text that is selected in a message, or "" if it is not a part of the message's text.
export function marked(body, text) {
  const chosen = getSelection();
  if (!body || chosen.isCollapsed || !body.contains(chosen.getRangeAt(0).commonAncestorContainer)) return "";
  const part = [...chosen.toString().trim()].slice(0, 1024).join("");
  return text.includes(part) ? part : "";
}

// media returns the kind of media that Telegram's clients use for a file of this type.
const media = (type) => (type === "image/jpeg" ? "photo" : /^(audio|video)\//.test(type) ? type.slice(0, 5) : "document");

const base64 = (file) => new Promise((resolve, reject) => {
  const reader = new FileReader();
  reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
  reader.onerror = () => reject(reader.error);
  reader.readAsDataURL(file);
});

// fields returns the fields of /control/say for what take returned.
export async function fields({ replyTo, quote, editing, file }) {
  if (editing) return { edit_of: editing };
  const said = {};
  if (replyTo) said.reply_to = replyTo;
  if (quote) said.quote = quote;
  if (!file) return said;
  return { ...said, media: media(file.type), file_name: file.name, mime_type: file.type, content: await base64(file) };
}

// choose attaches the file that a person chose; file is undefined if there is none.
function choose(file) {
  const wrong = !file ? "" : file.size > MOST ? `“${file.name}” is too large: the page takes files of up to ${size(MOST)}.`
    : file.size === 0 ? `“${file.name}” is empty.` : "";
  $("trouble").hidden = !wrong;
  $("trouble").textContent = wrong;
  if (file && !wrong) set({ file });
  $("file").value = ""; // without this, the person could not choose the same file again
  $("text").focus();
}

$("attach").addEventListener("click", () => $("file").click());
$("file").addEventListener("change", () => choose($("file").files[0]));
$("file-cancel").addEventListener("click", () => { set({ file: null }); $("text").focus(); });
