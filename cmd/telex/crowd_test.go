package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"telex/standin/fault"
	"telex/standin/openai"
	"telex/standin/telegram"
)

// F12, F19, F20: many calls get a 429. No message may be lost, duplicated or sent too early.
func TestCrowdUnderRateLimits(t *testing.T) {
	t.Parallel()
	const chats = 20
	w := newWorld(t, telegram.Options{Latency: 30 * time.Millisecond}, openai.Options{Rate: 100})
	w.telegram.Fault(telegram.Fault{Method: "editMessageText", Every: 5, Action: fault.RateLimit, RetryAfter: 2})
	p := w.daemon(sections{})
	began := time.Now()
	questions := make(map[int64]string)
	for i := range int64(chats) {
		questions[2000+i] = fmt.Sprintf("words: %d", 120+i)
		w.telegram.Say(telegram.Incoming{User: 2000 + i, Text: questions[2000+i]})
	}
	p.awaitLog("turn ended", chats)
	took := time.Since(began)

	lastToken := make(map[string]time.Time)
	for _, r := range w.model.Requests() {
		lastToken[r.Question] = r.LastToken
	}
	var waits []time.Duration
	for id, question := range questions {
		w.wantTexts(id, openai.Answer(question))
		m := w.replies(id)[0]
		checkSteps(t, m, 2)
		waits = append(waits, m.Last().At.Sub(lastToken[question]).Round(time.Millisecond))
	}
	stats := w.telegram.Stats()
	if v := stats.Violations; v.Total() != 0 {
		t.Errorf("violations: %+v", v)
	}
	if stats.Forced == 0 || stats.TooManyRequests != stats.Forced {
		t.Errorf("%d calls answered 429, %d of them forced; want some, and only these", stats.TooManyRequests, stats.Forced)
	}
	if stats.Messages != chats {
		t.Errorf("%d messages were sent, want %d", stats.Messages, chats)
	}
	slices.Sort(waits)
	t.Logf("%d chats in %v: %d edits, %d forced 429s; last token to final: median %v, worst %v",
		chats, took.Round(time.Millisecond), stats.Edits, stats.Forced, waits[chats/2], waits[chats-1])
}
