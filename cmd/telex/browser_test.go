//go:build browser

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// chromium is the name of the browser that these tests control.
const chromium = "chromium"

// rate is the usual number of tokens that the model writes per second.
const rate = 100

// telegramPage is where the demo serves the page of the Telegram stand-in.
const telegramPage = "/telegram/"

// lookers are JavaScript functions with which the tests read the page. The page's own functions are in a module, so the
// tests can't call them.
const lookers = `window.look = {
  scroll: () => document.getElementById("scroll"),
  field: () => document.getElementById("text"),
  messages: () => [...document.querySelectorAll("#messages > li[id]")],
  questions: () => look.messages().filter((li) => li.classList.contains("mine")),
  answers: () => look.messages().filter((li) => !li.classList.contains("mine")),
  // text is what a message says, without its time.
  text: (li) => {
    const body = li.querySelector(".body").cloneNode(true);
    body.querySelectorAll(".meta, .lang").forEach((n) => n.remove());
    return body.textContent;
  },
  // shown is whether all of an element is in sight.
  shown: (node) => {
    if (!node?.checkVisibility()) return false;
    const frame = node.closest("#scroll, #suggest")?.getBoundingClientRect() ?? { top: 0, bottom: innerHeight };
    const box = node.getBoundingClientRect();
    return box.height > 0 && box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1;
  },
  atEnd: () => look.scroll().scrollTop + look.scroll().clientHeight > look.scroll().scrollHeight - 2,
  chosen: () => document.querySelector("#suggest [aria-selected=true]"),
  // until resolves as soon as a frame is drawn in which the condition holds.
  until: (condition) => new Promise((resolve) => {
    const check = () => {
      const value = condition();
      if (value) resolve(value); else requestAnimationFrame(check);
    };
    check();
  }),
};`

// screen is the size of a window.
type screen struct{ width, height int64 }

var (
	desktop     = screen{1280, 800}
	smallScreen = screen{390, 844}
)

// page is a page of telex in a browser of its own.
type page struct {
	t    *testing.T
	ctx  context.Context //nolint:containedctx // chromedp keeps the browser's tab in a context
	url  string
	demo *process
}

// openPage starts the demo and opens the page of its Telegram stand-in.
func openPage(t *testing.T, size screen) *page {
	t.Helper()
	demo, url := startDemo(t, "127.0.0.1:0", rate)
	p := open(t, size, url+telegramPage)
	p.demo = demo
	p.await("the page", `document.getElementById("title").textContent`)
	return p
}

// open opens a page in a browser.
func open(t *testing.T, size screen, url string) *page {
	t.Helper()
	path, err := exec.LookPath(chromium)
	if err != nil {
		t.Fatalf("%v: install the Debian package %s", err, chromium)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.Env("HOME="+t.TempDir()))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses to run as root with its sandbox
	}
	ctx, closeBrowser := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(closeBrowser)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	if err := chromedp.Do(ctx); err != nil { // the browser runs until this context ends
		t.Fatalf("start %s: %v", path, err)
	}
	p := &page{t: t, ctx: ctx, url: url}
	t.Cleanup(p.report)
	p.do("open the page", chromedp.EmulateViewport(size.width, size.height), chromedp.Navigate(url))
	p.do("prepare the page", chromedp.Evaluate[chromedp.Void](lookers))
	return p
}

// startDemo starts the demo with its page at address, and returns the page's URL. The model writes tokens at rate, in
// tokens per second.
func startDemo(t *testing.T, address string, rate int) (demo *process, url string) {
	t.Helper()
	demo = launch{env: []string{streamingVariable + "=true"}}.start(t, "demo", "--listen", address, "--rate", strconv.Itoa(rate))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if !demo.stdout.await(ctx, func(text string) bool {
		_, err := fmt.Sscanf(text, "Open %s in", &url)
		return err == nil
	}) {
		t.Fatal("the demo prints no address")
	}
	t.Cleanup(func() { // stop the demo gracefully, because a killed demo leaves its directory behind
		select {
		case <-demo.ended:
		default:
			demo.stop()
		}
	})
	return demo, url
}

// report logs the content of the page after a failed test.
func (p *page) report() {
	if !p.t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText`))
	p.t.Logf("on the page (%v):\n%s", err, text)
}

// picture takes a picture of the page.
func (p *page) picture(take chromedp.Action[[]byte]) []byte {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, take)
	if err != nil {
		p.t.Fatalf("take a picture: %v", err)
	}
	return picture
}

func (p *page) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
}

// await waits until the condition, an expression in JavaScript, holds.
func (p *page) await(what, condition string) {
	p.t.Helper()
	p.do("wait for "+what, chromedp.Evaluate[chromedp.Void]("look.until(() => "+condition+")", chromedp.EvalAwaitPromise))
}

// value returns the value of a JavaScript expression.
func value[T any](p *page, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("evaluate %s: %v", expression, err)
	}
	return v
}

// want fails the test unless the condition holds now.
func (p *page) want(what, condition string) {
	p.t.Helper()
	if !value[bool](p, "Boolean("+condition+")") {
		p.t.Errorf("not so: %s", what)
	}
}

// press presses keys one by one. Each key event contains the text that the key enters, as with a real keyboard.
// chromedp.KeyEvent would send the text as a separate event, even if the page has handled the key.
func (p *page) press(keys string) {
	p.t.Helper()
	p.do(fmt.Sprintf("press %q", keys), chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		for _, key := range keys {
			events := kb.Encode(key) // key down, the text if the key enters one, key up
			down, up := events[0], events[len(events)-1]
			if len(events) == 3 {
				down.Text = events[1].Text
			}
			for _, event := range []*input.DispatchKeyEventParams{down, up} {
				if _, err := chromedp.Call(ctx, input.DispatchKeyEvent, *event); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

// ask types a question and sends it.
func (p *page) ask(question string) {
	p.t.Helper()
	p.press(question + kb.Enter)
}

// paste puts a text into the input field in one step.
func (p *page) paste(text string) {
	p.t.Helper()
	p.do("paste", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, input.InsertText, input.InsertTextParams{Text: text})
		return err
	}))
}

// click clicks the middle of the element with an id.
func (p *page) click(id string) {
	p.t.Helper()
	p.do("click "+id, chromedp.Click(chromedp.ID(id)))
}

// letters returns a text without white space and the lines of tables, which the page draws differently.
func letters(text string) string {
	return strings.NewReplacer("-", "", "python", "").Replace(strings.Join(strings.Fields(text), ""))
}

// The page must draw a table as a table and a formula in a readable way, and people must be able to fold details.
func TestBrowserDrawsRichMessages(t *testing.T) {
	t.Parallel()
	p := openPage(t, desktop)
	p.paste("say: The roots are $x_{1,2} = \\frac{-b \\pm \\sqrt{b^2 - 4ac}}{2a}$:\n\n$$\n\\sum_{i=1}^{n} i = \\frac{n(n+1)}{2}\n$$\n\n" +
		"| **n** | `sum` |\n|--:|:-:|\n| 1 | 1 |\n| 2 | [3](https://example.org) |\n\n- [x] done\n- [ ] open\n\n" +
		"<details>\n<summary>Why?</summary>\n\nBy **induction**.\n\n</details>\n\nThat is $5 or $6.")
	p.press(kb.Enter)
	p.await("the answer", `look.answers().length && look.text(look.answers().at(-1)).endsWith("That is $5 or $6.")`)
	p.want("formulas", `look.answers()[0].querySelectorAll("math").length === 2 && look.answers()[0].querySelectorAll("mfrac, msqrt, munderover").length === 4`)
	p.want("a table with formats", `["th b", "th code", "td a[href^='https://example.org']"].every((s) => look.answers()[0].querySelector("table " + s))`)
	p.want("tasks", `[...look.answers()[0].querySelectorAll("input[type=checkbox]")].map((b) => b.checked).join() === "true,false"`)
	p.want("folded details", `!look.answers()[0].querySelector("details").open && !look.answers()[0].querySelector("details p b").checkVisibility()`)
	p.do("unfold them", chromedp.Click("details summary"))
	p.want("unfolded details", `look.answers()[0].querySelector("details p b").checkVisibility() && look.answers()[0].querySelector("details p b").textContent === "induction"`)
}

func TestBrowserShowsTheAnswerGrow(t *testing.T) {
	t.Parallel()
	p := openPage(t, desktop)
	p.do("watch the answer", chromedp.Evaluate[chromedp.Void](`window.seen = [];
new MutationObserver(() => {
  const text = look.answers().length ? look.text(look.answers().at(-1)) : "";
  if (text && text !== seen.at(-1)) seen.push(text);
}).observe(document.getElementById("messages"), { childList: true, subtree: true });`))
	p.ask("Explain the tides")
	p.await("the answer to grow", `seen.length > 2 && seen.at(-1).endsWith("▌")`)
	p.await("the answer to end", `seen.length && !seen.at(-1).endsWith("▌")`)
	seen := value[[]string](p, `seen`)
	for i, text := range seen[:len(seen)-1] {
		if !strings.HasSuffix(text, strings.TrimSpace(cursor)) { // after a code block, the cursor is on its own line
			t.Errorf("step %d of %d has no cursor: %q", i+1, len(seen), text)
		}
		if i > 0 && len(text) <= len(seen[i-1]) {
			t.Errorf("step %d of %d does not grow: %q after %q", i+1, len(seen), text, seen[i-1])
		}
	}
	answer, _ := tides(t)
	if got, want := letters(seen[len(seen)-1]), letters(answer); got != want {
		t.Errorf("the page shows\n%q\nwant\n%q", got, want)
	}
	p.want("a table", `[...look.answers()[0].querySelectorAll("table tr")].map((row) => [...row.cells].map((c) => c.textContent).join("=")).join() ===
		"Place=Greatest range,Bay of Fundy, Canada=16 m,Severn Estuary, Britain=14 m,Venice, Italy=1 m,Baltic Sea=0.2 m"`)
	p.want("one question and one answer", `look.questions().length === 1 && look.answers().length === 1`)
	p.want("the end of the answer is in sight", `look.atEnd()`)
	t.Logf("%d steps", len(seen))
}

// The page redraws itself every second. A line that says that a message was not sent must stay visible.
func TestBrowserKeepsNotSentInSight(t *testing.T) {
	t.Parallel()
	p := openPage(t, desktop)
	p.do("watch the page", chromedp.Evaluate[chromedp.Void](`window.redrawn = 0;
new MutationObserver(() => redrawn++).observe(document.getElementById("state"), { childList: true });`))
	p.ask("say: before")
	p.await("an answer", `look.answers().length === 1`)
	p.demo.stop()
	p.ask("say: after all")
	const notSent = `/not sent/i.test(document.body.innerText)`
	p.await("the page to say that nothing was sent", notSent)
	p.do("count from here", chromedp.Evaluate[chromedp.Void](`redrawn = 0`))
	p.await("the page to be redrawn", `redrawn > 1`)
	p.want("the page still says that nothing was sent", notSent)
	p.want("the text is still in the field", `look.field().value === "say: after all"`)

	startDemo(t, strings.TrimSuffix(strings.TrimPrefix(p.url, "http://"), telegramPage), rate)
	p.await("what the new demo does not know to be gone", `!look.messages().length`)
	p.press(kb.Enter)
	p.await("the question to be sent", `look.questions().some((li) => look.text(li) === "say: after all")`)
	p.await("the answer", `look.answers().some((li) => look.text(li) === "after all")`)
	p.want("nothing is said to be missing", `!(`+notSent+`)`)
	p.want("the field is empty", `look.field().value === ""`)
}

func TestBrowserFoldsLongPastes(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]screen{"desktop": desktop, "phone": smallScreen} {
		t.Run(name, func(t *testing.T) {
			p := openPage(t, size)
			pasted := `{{standin say="It is long."}}` + strings.Repeat("\none more line of it", 150)
			p.paste(pasted)
			p.want("the field leaves room for the messages", `look.scroll().clientHeight > innerHeight / 2`)
			p.press(kb.Enter)
			p.await("the answer", `look.answers().length && look.text(look.answers()[0]) === "It is long."`)
			p.await("question and answer to be in sight together", `look.shown(look.questions()[0]) && look.shown(look.answers()[0])`)

			const body = `look.questions()[0].querySelector(".body")`
			p.want("a part of the text is hidden", body+`.clientHeight < `+body+`.scrollHeight`)
			unfold := chromedp.Click(chromedp.CSS("#messages .mine .more"))
			p.do("unfold", unfold)
			p.await("all of the text", body+`.clientHeight === `+body+`.scrollHeight`)
			p.do("fold", unfold)
			p.await("a part of the text to be hidden again", body+`.clientHeight < `+body+`.scrollHeight`)
		})
	}
}

func TestBrowserChoosesCommandsByKeys(t *testing.T) {
	t.Parallel()
	p := openPage(t, desktop)
	p.press("/")
	p.await("the list of commands", `look.chosen() && look.shown(look.chosen())`)
	commands := value[[]string](p, `[...document.querySelectorAll("#suggest b")].map((b) => b.textContent)`)
	if len(commands) < 3 {
		t.Fatalf("commands %q, want more", commands)
	}
	chosen := func(want string) {
		t.Helper()
		p.want(want+" is chosen and in sight", fmt.Sprintf(`look.shown(look.chosen()) && look.chosen().querySelector("b").textContent === %q`, want))
	}
	last := commands[len(commands)-1]
	chosen(commands[0])
	p.press(kb.ArrowDown + kb.ArrowDown)
	chosen(commands[2])
	p.press(kb.ArrowUp)
	chosen(commands[1])
	p.press(kb.ArrowUp + kb.ArrowUp)
	chosen(last)
	p.press(kb.ArrowDown)
	chosen(commands[0])

	p.press(kb.ArrowDown + kb.Tab)
	p.want("Tab completes the command", fmt.Sprintf(`look.field().value === %q`, commands[1]))
	p.press(kb.Escape)
	p.want("Escape closes the list", `!document.getElementById("suggest").checkVisibility()`)

	p.press(strings.Repeat(kb.Backspace, len(commands[1])) + "/")
	chosen(commands[0])
	p.press(kb.ArrowUp + kb.Enter)
	p.await("Enter to send the chosen command", `look.questions().length === 1`)
	p.want(last+" is sent", fmt.Sprintf(`look.text(look.questions()[0]) === %q && look.field().value === ""`, last))
	p.want("the list is closed", `!document.getElementById("suggest").checkVisibility()`)
}

func TestBrowserOffersTheWayToTheBottom(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]screen{"desktop": desktop, "phone": smallScreen} {
		t.Run(name, func(t *testing.T) {
			p := openPage(t, size)
			p.want("there is no way to where one is", `!document.getElementById("bottom").checkVisibility()`)
			p.ask("{{standin rate=1000}} length: 9000") // this answer does not fit into one message
			p.await("the first message to fill the window", `look.answers().length === 1 && look.scroll().scrollHeight > look.scroll().clientHeight + 200`)
			p.want("the page follows the answer", `look.atEnd()`)
			p.do("scroll up", chromedp.Evaluate[chromedp.Void](`look.scroll().scrollTop = 30`))
			p.await("the way to the bottom", `look.shown(document.getElementById("bottom"))`)
			p.await("another message and its end", `look.answers().length > 1 && look.answers().every((li) => !look.text(li).endsWith("▌"))`)
			p.want("the page stays where it was scrolled to", `look.scroll().scrollTop === 30`)
			p.click("bottom")
			p.await("the bottom", `look.atEnd()`)
			p.await("the way to be gone", `!document.getElementById("bottom").checkVisibility()`)
			p.press("/")
			p.await("the list of commands and the bottom above it", `look.chosen() && look.atEnd()`)
		})
	}
}
