//go:build browser

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// wide is a window that is wide enough to show all chats side by side.
var wide = screen{1400, 900}

// placeLookers are JavaScript functions with which the tests read the demo's page.
const placeLookers = `Object.assign(look, {
  chats: ["telegram", "discord", "slack", "whatsapp"],
  places: ["telegram", "discord", "slack", "whatsapp", "api"],
  list: (place) => document.getElementById("list-" + place),
  state: (place) => document.getElementById("state-" + place).textContent.trim(),
  // last are the bot's messages after the person's newest one.
  last: (place) => {
    const all = [...look.list(place).querySelectorAll(".message")];
    return all.slice(all.findLastIndex((li) => li.classList.contains("mine")) + 1);
  },
  said: (place) => look.last(place).map((li) => {
    const body = li.querySelector(".body").cloneNode(true);
    body.querySelectorAll("ol").forEach((list) => [...list.children].forEach((item, i) => item.prepend(i + list.start + ". ")));
    return body.textContent;
  }).join("\n"),
  mine: (place) => look.list(place).querySelectorAll(".mine").length,
  // words are the letters and digits of the bot's last answer, because only these are the same on all platforms: some
  // show a URL in parentheses, and others hide it behind its text.
  words: (place) => look.said(place).replace(/\(https?:\/\/[^)]*\)/g, "").replace(/\x60{3}python/g, "").replace(/[^\p{L}\p{Nd}]/gu, ""),
  complete: (n) => look.places.every((place) => look.mine(place) >= n && look.state(place) === "complete"),
});`

// openDemo starts the demo and opens its page. The model writes slowly, so that a busy machine draws at least one frame
// in which the answer grows in the chats of all platforms at once.
func openDemo(t *testing.T, size screen) *page {
	t.Helper()
	demo, url := startDemo(t, "127.0.0.1:0", rate/3)
	p := open(t, size, url)
	p.demo = demo
	p.do("prepare the page", chromedp.Evaluate[chromedp.Void](placeLookers))
	return p
}

// scheme makes the page light or dark.
func (p *page) scheme(name string) {
	p.t.Helper()
	p.do("choose "+name, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
		})
		return err
	}))
}

// shoot takes pictures of the page: in the light and the dark scheme, in a wide window and in one of a phone's size.
// shoot fails if the page is wider than the window.
func (p *page) shoot(name string) {
	p.t.Helper()
	for width, size := range map[string]screen{"desktop": wide, "phone": smallScreen} {
		p.do("resize the window", chromedp.EmulateViewport(size.width, size.height))
		p.want("nothing is wider than a window of "+width, `document.documentElement.scrollWidth <= innerWidth`)
		for _, scheme := range []string{"light", "dark"} {
			p.scheme(scheme)
			p.do("see it drawn", chromedp.Evaluate[chromedp.Void](`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`, chromedp.EvalAwaitPromise))
			p.keep(strings.Join([]string{name, width, scheme}, "-"), chromedp.CaptureScreenshot())
		}
	}
	p.do("resize the window", chromedp.EmulateViewport(wide.width, wide.height))
}

// keep takes a picture, and stores it in the directory that $SCREENSHOTS names.
func (p *page) keep(name string, take chromedp.Action[[]byte]) {
	p.t.Helper()
	picture := p.picture(take)
	folder := os.Getenv("SCREENSHOTS")
	if folder == "" {
		return
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// awaitTides waits until each platform's chat on the page shows the whole answer about the tides, once. The state
// "complete" alone is not enough: if an answer needs two messages, the page also shows "complete" between the first and
// the second message.
func (p *page) awaitTides() {
	p.t.Helper()
	text, _ := tides(p.t)
	words := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
	p.await("the answers", fmt.Sprintf(`look.complete(1) && look.places.every((place) => look.words(place) === %q)`, words))
}

// step is a text that was visible in one of the chats.
type step struct {
	Text string  `json:"text"`
	At   float64 `json:"at"` // in seconds
}

// checkGrowth fails if a text is shorter than an earlier one, with two exceptions. The daemon stores only about once a
// second what its edits showed. After a kill of the daemon, a text may therefore be shorter than the texts of the last
// few seconds. Each text may also lack the delimiters that close an unfinished format.
func checkGrowth(t *testing.T, place string, steps []step, killed float64) {
	t.Helper()
	const stored, marks = 3, 200 // seconds, bytes
	for i, later := range steps {
		for _, s := range steps[:i] {
			durable := later.At < killed || s.At < killed-stored
			if durable && len(later.Text)+len(cursor)+marks < len(s.Text) {
				t.Errorf("%s: the answer shrinks from %q to %q", place, s.Text, later.Text)
			}
		}
	}
}

// The daemon is killed while an answer grows on all platforms that have edits. In the end, each platform must show the
// complete answer once.
func TestBrowserDemoSurvivesAKill(t *testing.T) {
	t.Parallel()
	p := openDemo(t, wide)
	p.do("watch the places", chromedp.Evaluate[chromedp.Void](`window.seen = Object.fromEntries(look.places.map((place) => [place, []]));
for (const place of look.places) new MutationObserver(() => {
  const text = look.said(place);
  if (text && text !== seen[place].at(-1)?.text) seen[place].push({ text, at: performance.now() / 1000 });
}).observe(look.list(place), { childList: true, subtree: true });`))
	p.click("text")
	p.ask("Explain the tides")
	p.await("the answer to grow where it can be edited", `["telegram", "discord", "slack"].every((place) => seen[place].length > 2 && seen[place].at(-1).text.trim().endsWith("▌"))`)
	p.await("WhatsApp to tell that somebody types", `look.state("whatsapp") === "typing…" && !look.said("whatsapp")`)
	p.await("the program to read a stream", `seen.api.length > 5`)
	p.shoot("demo")
	process := value[string](p, `document.getElementById("daemon").textContent.match(/process (\d+)/)[1]`)
	p.do("kill the daemon", chromedp.Click(chromedp.CSS("button.danger")))
	killed := value[float64](p, `performance.now() / 1000`)
	p.await("the daemon to be killed", `document.getElementById("daemon").textContent.includes("killed")`)
	p.await("another process", fmt.Sprintf(`document.getElementById("daemon").textContent.includes("running") && !document.getElementById("daemon").textContent.includes(%q)`, process))
	p.awaitTides()
	for place, steps := range value[map[string][]step](p, `seen`) {
		t.Logf("%s: %d steps", place, len(steps))
		if place != "api" { // after the kill, the API's client requests the whole stream again
			checkGrowth(t, place, steps, killed)
		}
	}
	p.want("a table is a table where there are tables", `["telegram", "slack"].every((place) => look.list(place).querySelectorAll("table tr").length === 5)`)
	p.want("markup is drawn", `look.chats.every((place) => look.list(place).querySelector(".body strong") && look.list(place).querySelector(".body pre code") && look.list(place).querySelector(".body blockquote") && look.list(place).querySelector(".body a"))`)
	p.want("the program sees Markdown", `look.said("api").includes("**gravity**")`)
	p.want("no platform limit was broken, and no cursor is left", `/0 cursors left0 limits broken1 kills/.test(document.getElementById("score").textContent)`)
	p.want("an edit is marked as the clients do it", `look.list("telegram").querySelector(".edited").textContent === "edited" && look.list("discord").querySelector(".edited").textContent === "(edited)" && !look.list("slack").querySelector(".edited")`)
}

// The person approves a tool call in each chat, and the light turns on. The person also sends pictures and documents on
// all platforms.
func TestBrowserDemoApprovesAndAttaches(t *testing.T) {
	t.Parallel()
	p := openDemo(t, wide)
	p.do("ask for light", chromedp.Click(chromedp.CSS(`[data-text="Turn the kitchen light on"]`)))
	p.await("the questions", `look.chats.every((place) => look.state(place) === "needs you" && look.last(place).at(-1).querySelectorAll(".keys button").length >= 2)`)
	p.await("the refusal of a program's call", `look.said("api").includes("approval")`)
	p.want("the light is off", `document.querySelector(".lamp.off")`)
	for _, place := range []string{"telegram", "discord", "slack", "whatsapp"} {
		p.do("approve in "+place, chromedp.Click(chromedp.CSS("#list-"+place+" .keys button")))
		p.await("the answer in "+place, fmt.Sprintf(`look.said(%q).includes("The tools answered") && look.state(%q) === "complete"`, place, place))
	}
	p.await("the light", `document.querySelector(".lamp.on")`)
	p.await("one action for each approval", `document.getElementById("house").textContent.includes("4 actions")`)

	p.do("attach the sample picture", chromedp.Click(chromedp.CSS("#attach summary")), chromedp.Click(chromedp.CSS(`[name=sample][value="harbour.jpg"]`)))
	p.await("it above the field", `look.shown(document.getElementById("attached"))`)
	p.ask("What is in this picture?")
	p.await("the answers to the picture", `look.complete(2) && look.places.every((place) => look.said(place).includes("640x400 jpeg"))`)
	p.await("the picture itself", `look.places.every((place) => [...look.list(place).querySelectorAll(".mine img")].some((img) => img.naturalWidth === 640))`)
	p.want("it is not sent again", `!look.shown(document.getElementById("attached"))`)
	p.do("ask about the document", chromedp.Click(chromedp.CSS(`[data-sample="tides.pdf"]`)))
	p.await("the answers to the document", `look.complete(3) && look.places.every((place) => look.said(place).includes("high water on Saturday is at 09:40"))`)
	own := filepath.Join(t.TempDir(), "own.txt")
	if err := os.WriteFile(own, []byte("Please remember: the sea is wide."), 0o600); err != nil {
		t.Fatal(err)
	}
	p.do("attach an own file", chromedp.Click(chromedp.CSS("#attach summary")), chromedp.SetUploadFiles(chromedp.ID("file"), []string{own}))
	p.await("it above the field", `document.getElementById("attached").textContent.includes("own.txt")`)
	p.ask("Summarize the document")
	p.await("the answers to the own file", `look.complete(4) && look.places.every((place) => look.said(place).includes("the sea is wide"))`)

	p.do("leave out all but Slack", chromedp.Evaluate[chromedp.Void](`void document.querySelectorAll(".to input:not([value=slack])").forEach((box) => box.click())`))
	p.want("the field says so", `document.getElementById("text").placeholder === "Ask Slack"`)
	p.do("go to the field", chromedp.Focus(chromedp.ID("text")))
	p.paste("say: only here")
	p.press(kb.Enter)
	p.await("the answer in Slack", `look.said("slack") === "only here" || look.said("slack").trim() === "only here"`)
	p.want("nobody else was asked", `look.mine("telegram") === 4 && look.mine("slack") === 5`)
	p.checkNames()
}

// The page must show failures, and the answer must still arrive: from the second model, after a few 429s, after an
// outage, or over a slow network.
func TestBrowserDemoSwitchboard(t *testing.T) {
	t.Parallel()
	p := openDemo(t, wide)
	choose := func(what, option string) {
		p.do("choose "+option, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(
			`(() => { const s = document.querySelector('[value=%s] ~ label select'); s.value = %q; s.dispatchEvent(new Event("change", { bubbles: true })); })()`, what, option)))
	}
	choose("model", "refuses")
	p.await("the first model to refuse", `document.getElementById("models").textContent.includes("refuses")`)
	choose("latency", "300ms")
	p.do("begin a 429 storm", chromedp.Click(chromedp.CSS("#discord [value=storm]")))
	p.await("the storm", `document.getElementById("limit-discord").textContent.includes("429 storm")`)
	p.do("ask", chromedp.Click(chromedp.CSS(`[data-text="Explain the tides"]`)))
	p.await("the answer in Slack", `look.state("slack") === "writing"`)
	p.do("begin an outage", chromedp.Click(chromedp.CSS("#slack [value=outage]")))
	p.await("the outage", `look.state("slack").startsWith("no network")`)
	p.await("calls to be refused", `/[1-9]\d* × 429/.test(document.getElementById("limit-discord").textContent)`)
	p.awaitTides()
	p.want("the second model was asked", `/second [1-9]\d* asked/.test(document.getElementById("models").textContent)`)
	p.want("no platform limit was broken", `document.getElementById("score").textContent.includes("0 limits broken")`)
}

// checkNames fails if a control has no accessible name for people who can't see it.
func (p *page) checkNames() {
	p.t.Helper()
	if nameless := value[[]string](p, `[...document.querySelectorAll("button, input:not([type=hidden]), select, textarea, summary, a, img, meter")]
  .filter((n) => !(n.textContent.trim() || n.getAttribute("aria-label") || n.alt || n.labels?.length || n.querySelector("img[alt]"))).map((n) => n.outerHTML)`); len(nameless) > 0 {
		p.t.Errorf("without a name: %q", nameless)
	}
}
