//go:build browser

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"telex/standin/telegram"
)

// tool clicks one of the buttons that are beside a message, an expression in JavaScript.
func (p *page) tool(message, name string) {
	p.t.Helper()
	p.do("mark the message", chromedp.Evaluate[chromedp.Void](fmt.Sprintf(
		`(() => { document.querySelectorAll("[data-test]").forEach((n) => delete n.dataset.test); %s.querySelector(".tools [aria-label=%s]").dataset.test = ""; })()`, message, name)))
	p.do("click "+name, chromedp.Click(chromedp.CSS("[data-test]")))
}

// bot calls a method of the Bot API as the bot would.
func (p *page) bot(method, body string) {
	p.t.Helper()
	p.do("call "+method, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(
		`fetch("/bot%s/%s", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(%s) }).then((r) => r.json()).then((r) => { if (!r.ok) throw new Error(r.description); })`,
		telegram.DefaultToken, method, body), chromedp.EvalAwaitPromise))
}

// said evaluates an expression about the newest message m of a person, as the stand-in has it.
func (p *page) said(what, condition string) {
	p.t.Helper()
	p.do("ask for the history", chromedp.Evaluate[chromedp.Void](
		`fetch("/control/history?chat=1001").then((r) => r.json()).then((h) => { window.m = h.messages.filter((m) => !m.from_bot).at(-1); })`, chromedp.EvalAwaitPromise))
	p.want(what, condition)
}

const strip = `document.getElementById("replying")`

func TestBrowserRepliesToAPart(t *testing.T) {
	p := openPage(t, desktop)
	p.ask("say: The sea rises twice.")
	p.await("the answer", `look.answers().length === 1 && look.text(look.answers()[0]) === "The sea rises twice."`)
	p.do("mark a part of it", chromedp.Evaluate[chromedp.Void](`(() => {
  const text = look.answers()[0].querySelector(".body").firstChild;
  getSelection().setBaseAndExtent(text, 4, text, 7);
})()`))
	p.tool(`look.answers()[0]`, "Reply")
	p.want("the part is above the field", strip+`.checkVisibility() && document.getElementById("reply-text").textContent === "sea"`)
	p.ask("say: It does.")
	p.await("the second answer", `look.answers().length === 2`)
	p.want("the question shows the part", `look.questions()[1].querySelector(".answers span").textContent === "sea"`)
	p.want("the reply is over", `!`+strip+`.checkVisibility()`)
	p.said("the part is quoted", `m.quote === "sea" && m.reply_to > 0`)

	p.do("mark nothing", chromedp.Evaluate[chromedp.Void](`getSelection().removeAllRanges()`))
	p.tool(`look.answers()[0]`, "Reply")
	p.press(kb.Escape)
	p.want("Escape ends the reply", `!`+strip+`.checkVisibility()`)
	p.tool(`look.answers()[0]`, "Reply")
	p.ask("say: Whole.")
	p.await("the third answer", `look.answers().length === 3`)
	p.said("the whole message is replied to", `!m.quote && m.reply_to > 0`)
}

func TestBrowserEditsAQuestion(t *testing.T) {
	p := openPage(t, desktop)
	p.ask("say: one")
	p.await("the answer", `look.answers().length === 1 && look.text(look.answers()[0]) === "one"`)
	p.want("people can't edit what the bot wrote", `!look.answers()[0].querySelector(".tools [aria-label=Edit]")`)
	p.tool(`look.questions()[0]`, "Edit")
	p.want("the text is in the field", `look.field().value === "say: one" && `+strip+`.checkVisibility()`)
	p.press(kb.Escape)
	p.want("Escape ends the edit", `look.field().value === "" && !`+strip+`.checkVisibility()`)
	p.tool(`look.questions()[0]`, "Edit")
	p.press(" more" + kb.Enter)
	p.await("the new text", `look.text(look.questions()[0]) === "say: one more"`)
	p.want("it says that it was edited", `look.questions()[0].querySelector(".meta").textContent.startsWith("edited")`)
	p.want("no other question", `look.questions().length === 1 && look.field().value === ""`)
	p.said("the message has two versions", `m.versions.length === 2 && m.versions[1].text === "say: one more"`)
}

func TestBrowserAttachesAFile(t *testing.T) {
	p := openPage(t, smallScreen)
	file := filepath.Join(t.TempDir(), "tides & <b>.txt")
	if err := os.WriteFile(file, []byte("The sea rises twice a day."), 0o600); err != nil {
		t.Fatal(err)
	}
	choose := chromedp.SetUploadFiles(chromedp.ID("file"), []string{file})
	p.do("choose a file", choose)
	p.await("the file above the field", `look.shown(document.getElementById("attached")) && document.getElementById("file-name").textContent === "tides & <b>.txt"`)
	p.click("file-cancel")
	p.await("the file to be gone", `!document.getElementById("attached").checkVisibility()`)
	p.do("choose it again", choose)
	p.await("the file above the field", `document.getElementById("attached").checkVisibility()`)
	p.click("text")
	p.ask("say: Read.")
	p.await("an answer by a model that has read it", `look.answers().length === 1 && look.text(look.answers()[0]).includes("The sea rises twice a day.")`)
	p.want("the question shows the file", `look.questions()[0].querySelector(".file").textContent.includes("tides & <b>.txt")`)
	p.want("no file is left", `!document.getElementById("attached").checkVisibility()`)
	p.said("the file was sent", `m.media === "document" && m.file_size === 26 && m.mime_type === "text/plain" && m.versions[0].text === "say: Read."`)
}

func TestBrowserStopsADraftAndShowsAReaction(t *testing.T) {
	p := openPage(t, desktop)
	p.ask("say: one")
	p.await("the answer", `look.answers().length === 1 && look.text(look.answers()[0]) === "one"`)
	p.do("lift the limits", chromedp.Evaluate[chromedp.Void](
		`fetch("/control/limits", { method: "POST", body: JSON.stringify({ off: true }) }).then((r) => r.text())`, chromedp.EvalAwaitPromise))
	p.bot("setMessageReaction", `{ chat_id: 1001, message_id: Number(look.questions()[0].id.slice(1)), reaction: [{ type: "emoji", emoji: "👀" }] }`)
	const reaction = `look.questions()[0].querySelector(".reaction")`
	p.await("the reaction", reaction+`?.textContent === "👀" && `+reaction+`.getAttribute("aria-label").endsWith("👀")`)
	p.bot("setMessageReaction", `{ chat_id: 1001, message_id: Number(look.questions()[0].id.slice(1)), reaction: [] }`)
	p.await("the reaction to be gone", `!`+reaction)

	const draft, button = `document.querySelector("[data-draft]")`, "[data-draft] .keys button"
	p.bot("sendMessageDraft", `{ chat_id: 1001, draft_id: 5, text: "The sea", can_stop: true, keep_on_stop: true }`)
	p.await("the draft", draft+`?.textContent.includes("The sea")`)
	p.do("focus its button", chromedp.Evaluate[chromedp.Void](`document.querySelector(`+"`"+button+"`"+`).focus()`))
	p.bot("sendMessageDraft", `{ chat_id: 1001, draft_id: 5, text: "The sea rises", can_stop: true, keep_on_stop: true }`)
	p.await("the draft to grow", draft+`?.textContent.includes("The sea rises")`)
	p.want("the button keeps the focus", `document.activeElement === document.querySelector("`+button+`")`)
	p.press(kb.Enter)
	p.await("the button to be gone, the text not", `!document.querySelector("`+button+`").checkVisibility() && `+draft+`.textContent.includes("The sea rises")`)
	p.await("the bot to hear of it, and the draft to end with its message", `look.answers().length === 2 && !`+draft)
}
