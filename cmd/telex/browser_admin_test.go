//go:build browser

package main

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// The status page lets people in by its form, shows an answer grow without being loaded again, and says so when the daemon is gone.
func TestBrowserStatusPage(t *testing.T) {
	t.Parallel()
	for _, size := range []screen{desktop, smallScreen} {
		w := newWorld(t, telegram.Options{}, openai.Options{Rate: 100})
		base, daemon := w.adminDaemon(fmt.Sprintf("show_text: true, token: %q", adminToken), sections{})
		p := open(t, size, base)
		p.do("log in", chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`void (document.getElementById("token").value = %q, document.querySelector("button").click())`, adminToken)))
		p.do("see the status", chromedp.WaitVisible("#replies"))
		p.do("prepare the page", chromedp.Evaluate[chromedp.Void](lookers))
		p.await("the page", `document.querySelector("#replies .empty")`)
		p.do("mark this loading of the page", chromedp.Evaluate[chromedp.Void](`void (window.first = true)`))
		w.ask(answerInWords)
		p.await("an answer", `document.querySelector("pre.text")?.textContent.length > 20`)
		p.await("more of it", `document.querySelector("pre.text")?.textContent.length > 100`)
		if !value[bool](p, `window.first && document.documentElement.scrollWidth <= window.innerWidth`) {
			t.Errorf("%v: the page was loaded again, or is wider than the window", size)
		}
		p.await("its end", `document.querySelector("#replies .empty") && document.querySelector("#conversations")`)
		daemon.stop()
		p.await("the end of the daemon", `!document.getElementById("lost").hidden`)
	}
}
