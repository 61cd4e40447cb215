//go:build browser

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// tool clicks one of the buttons beside a message; the parameter message is a JavaScript expression that selects this
// message.
func (p *page) tool(message, name string) {
	p.t.Helper()
	p.do("mark the message", chromedp.Evaluate[chromedp.Void](fmt.Sprintf(
		`(() => { document.querySelectorAll("[data-test]").forEach((n) => delete n.dataset.test); %s.querySelector(".tools [aria-label=%s]").dataset.test = ""; })()`, message, name)))
	p.do("click "+name, chromedp.Click(chromedp.CSS("[data-test]")))
}

// said checks that a JavaScript condition about the variable m holds, where m is the newest message that a person sent.
func (p *page) said(what, condition string) {
	p.t.Helper()
	p.do("ask for the history", chromedp.Evaluate[chromedp.Void](
		`fetch("control/history?chat=1001").then((r) => r.json()).then((h) => { window.m = h.messages.filter((m) => !m.from_bot).at(-1); })`, chromedp.EvalAwaitPromise))
	p.want(what, condition)
}

const strip = `document.getElementById("replying")`

func TestBrowserRepliesToAPart(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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

// A person edits a question while its answer grows. The answer must start over in the same message.
func TestBrowserEditsAQuestionThatIsAnswered(t *testing.T) {
	t.Parallel()
	p := openPage(t, desktop)
	p.ask("words: 900")
	p.await("the answer to grow", `look.answers().length === 1 && look.text(look.answers()[0]).endsWith("▌")`)
	message := value[string](p, `look.answers()[0].id`)
	p.tool(`look.questions()[0]`, "Edit")
	p.press(strings.Repeat(kb.Backspace, len("words: 900")) + "say: short" + kb.Enter)
	p.await("the new answer", `look.text(look.answers()[0]) === "short"`)
	p.want("one question and one answer, in the message that was there", fmt.Sprintf(`look.questions().length === 1 && look.answers().length === 1 && look.answers()[0].id === %q`, message))
}

// The page must show a stop button below a draft, and a reaction at a question that waits for its answer.
func TestBrowserStopsADraftAndShowsAReaction(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{Rate: 30})
	w.daemon(sections{streaming: "{telegram: {enabled: true, transport: draft}}", more: "conversations: {busy: queue}"})
	p := open(t, desktop, w.telegramURL)
	p.await("the page", `document.getElementById("title").textContent`)
	p.ask("words: 900")
	const draft, button, reaction = `document.querySelector("[data-draft]")`, "[data-draft] .keys button", `look.questions()[1].querySelector(".reaction")`
	p.await("the draft and its button", draft+`?.textContent.includes("one two three") && document.querySelector("`+button+`")?.checkVisibility()`)
	p.ask("say: second")
	p.await("the sign that the question waits", `look.questions().length === 2 && `+reaction+`?.textContent === "👀" && `+reaction+`.getAttribute("aria-label").endsWith("👀")`)
	p.do("focus the button", chromedp.Evaluate[chromedp.Void](`document.querySelector(`+"`"+button+"`"+`).focus(); window.seen = `+draft+`.textContent`))
	p.await("the draft to grow", draft+`.textContent.length > seen.length`)
	p.want("the button keeps the focus", `document.activeElement === document.querySelector("`+button+`")`)
	p.press(kb.Enter)
	p.await("the text to stay as a message, and nothing else", `look.answers().length === 1 && look.text(look.answers()[0]).startsWith("one two three") && look.text(look.answers()[0]).endsWith("(stopped)") && !`+draft)
	p.await("the sign to be gone", `!`+reaction)
	p.click("text")
	p.ask("say: third")
	p.await("the next answer", `look.answers().length === 2 && look.text(look.answers()[1]) === "third"`)
}
