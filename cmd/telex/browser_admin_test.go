//go:build browser

package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"telex/standin/fault"
	"telex/standin/openai"
	"telex/standin/telegram"
)

// statusPage opens the status page of a daemon and logs in by keyboard: it types the token and presses Enter. After the
// login, the page records everything that its content security policy blocks.
func statusPage(t *testing.T, size screen, base string) *page {
	t.Helper()
	p := open(t, size, base)
	p.do("note what is refused", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, cdpage.AddScriptToEvaluateOnNewDocument, cdpage.AddScriptToEvaluateOnNewDocumentParams{
			Source: `window.refused = []; addEventListener("securitypolicyviolation", (e) => refused.push(e.violatedDirective + " " + e.blockedURI));`,
		})
		return err
	}))
	p.want("the field for the token has the focus", `document.activeElement.id === "token"`)
	p.press(adminToken + kb.Enter)
	p.do("see the status", chromedp.WaitVisible(chromedp.CSS("#replies")))
	p.do("prepare the page", chromedp.Evaluate[chromedp.Void](lookers))
	p.await("the page", `document.querySelector("#top .state")`)
	p.do("mark this loading of the page", chromedp.Evaluate[chromedp.Void](`void (window.first = true)`))
	return p
}

// A person without a mouse logs in, unfolds the metrics, and reads while an answer grows. The piece of the page that
// the person reads must not move. The page must show when the daemon has ended, and continue with the next daemon.
func TestBrowserStatusPage(t *testing.T) {
	t.Parallel()
	for _, size := range []screen{desktop, smallScreen} {
		w := newWorld(t, telegram.Options{}, openai.Options{Rate: 60})
		base, daemon := w.adminDaemon(fmt.Sprintf("show_text: true, token: %q", adminToken), sections{})
		w.ask("say: before")
		daemon.awaitLog("turn ended", 1)
		p := statusPage(t, size, base)
		p.await("the tokens of today", `document.querySelector("#figures summary")`)

		var stops []string
		for range 8 {
			p.press(kb.Tab)
			stop := value[string](p, `(() => { const e = document.activeElement; return e.matches(":focus-visible") ? e.nodeName + " " + e.textContent.slice(0, 7) : "hidden " + e.nodeName; })()`)
			if stops = append(stops, stop); stop == "SUMMARY Figures" {
				break
			}
		}
		if stops[0] != "BUTTON Log out" || stops[len(stops)-1] != "SUMMARY Figures" {
			t.Fatalf("%v: Tab leads to %q", size, stops)
		}
		p.press(kb.Enter)
		p.await("the figures", `document.querySelector("#figures table").checkVisibility()`)

		w.ask(answerInWords)
		p.await("an answer", `document.querySelector("pre.text")?.textContent.length > 20`)
		p.await("more of it", `document.querySelector("pre.text")?.textContent.length > 100`)
		p.want("the same loading of the page", `window.first`)
		p.want("the page fits the window", `document.documentElement.scrollWidth <= window.innerWidth`)
		p.want("the focus is where it was", `document.activeElement.textContent === "Figures" && document.activeElement.parentElement.open`)
		p.await("its end", `document.querySelector("#replies .empty")`)
		p.want("nothing was refused by the policy", `refused.length === 0`)
		if text := value[string](p, `document.body.innerText`); strings.Contains(text, testToken) || strings.Contains(text, testKey) {
			t.Errorf("the page shows a secret:\n%s", text)
		}
		daemon.stop()
		p.await("the end of the daemon", `!document.getElementById("lost").hidden && document.getElementById("sections").classList.contains("old")`)
		daemon = daemon.again()
		daemon.awaitLog("receiving", 1)
		p.awaitLoading("the next daemon", `!window.first && document.getElementById("lost")?.hidden && document.querySelector(".state.ready")`)
		daemon.stop()
	}
}

// awaitLoading is like await, but it also works if the page reloads during the wait. A reload of the page ends the
// script that the method await runs.
func (p *page) awaitLoading(what, condition string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	for {
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+condition+")"))
		if err == nil && ok {
			return
		}
		if ctx.Err() != nil {
			p.t.Fatalf("wait for %s: %v", what, err)
		}
	}
}

// This test takes pictures that people can look at.
func TestBrowserDrawsTheStatusPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, telegram.Options{}, openai.Options{Rate: 25})
	base, daemon := w.adminDaemon(fmt.Sprintf("show_text: true, token: %q", adminToken), sections{
		models: fmt.Sprintf("[{name: main, base_url: %q, api_key: %q, model: standin}, {name: spare, base_url: %q, api_key: wrong, model: standin}]", w.modelURL+"/v1", testKey, w.modelURL+"/v1"),
		platforms: fmt.Sprintf("{telegram: {token: %q, api_base: %q}, support-bot: {kind: telegram, token: %q, api_base: %q}}",
			testToken, w.telegramURL, "1:wrong", w.telegramURL),
	})
	daemon.awaitLog("endpoint stopped", 1)
	for i := range 4 {
		w.telegram.Say(telegram.Incoming{User: ada + int64(i), FirstName: "Ada", Text: "{{standin rate=2000}} length: 1200"})
	}
	daemon.awaitLog("turn ended", 4)
	w.telegram.Fault(telegram.Fault{Method: "editMessageText", Chat: ada + 1, Nth: 3, Action: fault.RateLimit, RetryAfter: 60})
	for i := range 3 {
		w.telegram.Say(telegram.Incoming{User: ada + int64(i), FirstName: "Ada", Text: "Explain the tides " + strings.Repeat("in detail ", i)})
	}
	for name, size := range map[string]screen{"desktop": desktop, "phone": smallScreen} {
		p := statusPage(t, size, base)
		p.await("a wait for the rate limit", `document.querySelector("#replies .wait") && document.querySelector("#endpoints .wait")`)
		for _, scheme := range []string{"light", "dark"} {
			p.scheme(scheme)
			p.want("the page fits the window", `document.documentElement.scrollWidth <= window.innerWidth`)
			p.keep(fmt.Sprintf("status-%s-%s", name, scheme), chromedp.FullScreenshot(100))
		}
	}
}
