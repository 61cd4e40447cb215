// This file draws the blocks of a rich message. It inserts foreign text only as text, never as HTML.

import { formula } from "./formula.js";

const make = (tag, className, ...children) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
};

const FORMATS = { bold: "b", italic: "i", underline: "u", strikethrough: "s", code: "code", marked: "mark" };

// text draws a rich text: a string, a list of texts, or a text with a format. link is a function that makes a link from a URL.
function text(t, link) {
  if (t == null) return "";
  if (typeof t === "string") return document.createTextNode(t);
  if (Array.isArray(t)) {
    const all = document.createDocumentFragment();
    all.append(...t.map((part) => text(part, link)));
    return all;
  }
  if (t.type === "mathematical_expression") return formula(t.expression, false);
  const node = t.type === "url" ? link(t.url) : make(FORMATS[t.type] || "span");
  node.append(text(t.text, link));
  return node;
}

function block(b, link) {
  switch (b.type) {
    case "heading": return make(`h${Math.min(Math.max(b.size || 1, 1), 6)}`, "", text(b.text, link));
    case "pre": {
      const box = make("span", "pre");
      if (b.language) box.append(make("span", "lang", b.language));
      box.append(make("code", "", text(b.text, link)));
      return box;
    }
    case "divider": return make("hr");
    case "thinking": return make("p", "", make("em", "", text(b.text, link)));
    case "mathematical_expression": return make("div", "wide", formula(b.expression, true));
    case "blockquote": return make("blockquote", "quote", ...blocks(b.blocks, link));
    case "details": {
      const box = make("details", "", make("summary", "", text(b.summary, link)), ...blocks(b.blocks, link));
      box.open = !!b.is_open;
      return box;
    }
    case "list": return make("ul", "", ...(b.items || []).map((item) => {
      const li = make("li", item.has_checkbox ? "task" : "");
      if (item.has_checkbox) {
        const box = make("input");
        box.type = "checkbox";
        box.checked = !!item.is_checked;
        box.disabled = true;
        li.append(box);
      }
      li.append(make("div", "", ...blocks(item.blocks, link)));
      return li;
    }));
    case "table": return make("div", "wide", make("table", "", ...(b.cells || []).map((row) => make("tr", "", ...row.map((cell) => {
      const td = make(cell.is_header ? "th" : "td", `align-${cell.align}`, text(cell.text, link));
      return td;
    })))));
  }
  return make("p", "", text(b.text, link));
}

export const blocks = (list, link) => (list || []).map((b) => block(b, link));
