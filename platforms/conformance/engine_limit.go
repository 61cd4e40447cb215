package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"telex/gateway/preview"
	"telex/internal/chat"
)

// limitCases returns the cases about rate limits.
func limitCases() []testCase {
	return []testCase{
		{"D3: several simultaneous answers keep within the published rates, with every transport", people(func(s *scene) {
			s.Enforce(Published)
			places := append(s.Crowd(6), s.both()...)
			for _, transport := range []preview.Transport{preview.Edit, preview.Draft, preview.Native} {
				if !slices.ContainsFunc(places, func(to chat.Target) bool {
					for _, t := range s.transports(to) {
						if t == transport {
							return true
						}
					}
					return false
				}) {
					continue
				}
				h := s.newGateway(map[string]answer{"go": {text: prose(2500), each: 40 * time.Millisecond}}, func(h *testGateway) { h.config.Transport = transport })
				before := map[chat.Target]int{}
				for _, to := range places {
					before[to] = len(h.Shown(to))
					h.ask(to, "go")
				}
				pass(5 * time.Minute)
				for _, to := range places {
					if got := strings.Join(h.Shown(to)[before[to]:], " "); got != prose(2500) {
						h.Errorf("transport %d: in %+v is shown %.200q…, want the whole text", transport, to, got)
					}
				}
				h.wantGood()
				h.end()
				pass(5 * time.Minute)
			}
		})},
		{"D3: long answers in parts keep within the published rates", people(func(s *scene) {
			s.Enforce(Published)
			places := append(s.Crowd(2), s.both()...)
			h := s.newGateway(map[string]answer{"go": {text: prose(14_000), each: 5 * time.Millisecond}}, func(h *testGateway) { h.config.MaxParts = 8 })
			for _, to := range places {
				h.ask(to, "go")
			}
			pass(5 * time.Minute)
			for _, to := range places {
				h.wantJoined(to, prose(14_000))
			}
			h.wantGood()
		})},
		{"D3: an interval shorter than the platform allows uses the platform's rate", people(func(s *scene) {
			s.Enforce(Published)
			places := append(s.Crowd(2), s.both()...)
			h := s.newGateway(map[string]answer{"go": {text: prose(1500), each: 200 * time.Millisecond}}, func(h *testGateway) { h.config.Interval = 100 * time.Millisecond })
			for round := range 2 {
				for _, to := range places {
					h.ask(to, "go")
				}
				pass(3 * time.Minute)
				for _, to := range places {
					want := strings.Join(slices.Repeat([]string{prose(1500)}, round+1), " ")
					h.wantJoined(to, want)
				}
			}
			for _, to := range places { // now each person asks many questions, one after the other
				for i := range 8 {
					h.ask(to, fmt.Sprint(i))
				}
			}
			pass(5 * time.Minute)
			for _, to := range places {
				if got, want := letters(h.joined(to)), "wasasked7"; !strings.HasSuffix(got, want) {
					h.Errorf("in %+v is shown …%.200q, want the last answer at the end", to, got)
				}
			}
			h.wantGood()
		})},
		{"D3: the bot learns a hidden rate of half the published one, and loses nothing", people(func(s *scene) {
			s.Enforce(Halved)
			places := append(s.Crowd(2), s.both()...)
			h := s.newGateway(map[string]answer{"go": {text: prose(3000), each: 60 * time.Millisecond}}, nil)
			for round, most := range []int{3, 1} { // allowed refusals per chat: first 3, then 1, since the rate is learned
				before := h.Refusals()
				for _, to := range places {
					h.ask(to, "go")
				}
				pass(5 * time.Minute)
				for _, to := range places {
					want := strings.Join(slices.Repeat([]string{prose(3000)}, round+1), " ")
					h.wantJoined(to, want)
				}
				if got := h.Refusals() - before; got > most*len(places) {
					h.Errorf("%d calls were refused in round %d, want at most %d in each place", got, round+1, most)
				}
			}
		})},
	}
}

// refusalCases returns the cases about calls that the platform refuses with 429.
func refusalCases() []testCase {
	return []testCase{
		{"D4: after a 429, nothing is sent in its scope until the wait is over, then the newest text (F03, F19, F20)", people(func(s *scene) {
			s.Enforce(Published)
			h := s.newGateway(map[string]answer{"go": {text: prose(800), each: 50 * time.Millisecond}, "short": {text: "Yes."}}, nil)
			ops := []chat.Op{chat.OpSend}
			if _, ok := h.editor(); ok {
				ops = append(ops, chat.OpEdit)
			}
			for i, to := range h.Crowd(2 * len(ops)) {
				word := []string{"go", "short"}[i/len(ops)]
				op := ops[i%len(ops)]
				if op == chat.OpEdit && word == "short" {
					continue // a short answer needs no edit
				}
				h.Break(op, RateLimit)
				before := h.Calls(op)
				h.ask(to, word)
				h.until("the refused call", func() bool { return h.Calls(op) > before })
				since, n := time.Now(), len(h.Versions(to))
				pass(h.retryAfter() - 100*time.Millisecond)
				if got := len(h.Versions(to)); got != n {
					h.Errorf("%d versions more were shown %v after the 429 that asked for %v", got-n, time.Since(since), h.retryAfter())
				}
				if word == "go" {
					pass(400 * time.Millisecond)
					if got := h.Versions(to); len(got) <= n || !strings.Contains(got[len(got)-1].Text, "word20") {
						h.Errorf("after the wait %.200v is shown, want the newest text", got[n:])
					}
				}
				pass(settleTime)
				want := map[string]string{"go": prose(800), "short": "Yes."}[word]
				h.wantReply(to, want)
			}
			h.wantGood()
		})},
		{"D4: a final waits as long as the 429 demands (F03)", with((*scene).editor, func(s *scene, _ preview.Editor) {
			s.Enforce(Published)
			h := s.newGateway(map[string]answer{"go": {text: prose(300), tail: 5 * time.Second}}, nil)
			to := h.Private()
			h.ask(to, "go")
			h.seen(to, "word40") // the last preview, or a preview shortly before the last one
			pass(3 * time.Second)
			before := h.Calls(chat.OpEdit)
			h.Break(chat.OpEdit, RateLimit)
			h.until("the final", func() bool { return h.Calls(chat.OpEdit) > before })
			pass(RetryAfter - 100*time.Millisecond)
			h.wantCalls(chat.OpEdit, before+1)
			pass(time.Second)
			h.wantReply(to, prose(300))
			h.wantGood()
		})},
		{"D4: the wait that a 429 demands continues after a restart", with((*scene).editor, func(s *scene, _ preview.Editor) {
			s.Enforce(Published)
			h := s.newGateway(map[string]answer{"go": {text: prose(300), each: 50 * time.Millisecond}}, nil)
			to := h.Private()
			h.ask(to, "go")
			h.seen(to, "word")
			before := h.Calls(chat.OpEdit)
			h.Break(chat.OpEdit, RateLimit)
			h.until("the refused call", func() bool { return h.Calls(chat.OpEdit) > before })
			pass(500 * time.Millisecond)
			n := len(h.Versions(to))
			h.kill()
			pass(RetryAfter - 3*time.Second)
			if got := len(h.Versions(to)); got != n {
				h.Errorf("%d versions more were shown before the wait was over", got-n)
			}
			pass(settleTime)
			h.wantReply(to, prose(300))
			h.wantGood()
		})},
	}
}

// turnCases returns the cases about the order in which the calls of several replies are made.
func turnCases() []testCase {
	return []testCase{
		{"D11: a final does not wait for previews", func(s *scene) {
			s.Enforce(Published)
			answers := map[string]answer{}
			for i := range 5 {
				answers[fmt.Sprintf("go%d", i)] = answer{text: prose(400 + 20*i), each: 180 * time.Millisecond, tail: time.Duration(i) * 370 * time.Millisecond}
			}
			h := s.newGateway(answers, nil)
			for _, to := range h.both() {
				for i := range 5 {
					word := fmt.Sprintf("go%d", i)
					h.ask(to, word)
					pass(time.Minute)
					ended, _ := h.model.lastAnswer(word)
					list := h.Versions(to)
					last := list[len(list)-1]
					if took := last.At.Sub(ended); last.Text != answers[word].text || took > maxFinalDelay {
						h.Errorf("in %+v %.100q… was there %v after the end of %s, want the final after at most %v", to, last.Text, took, word, maxFinalDelay)
					}
				}
			}
			h.wantGood()
		}},
		{"D12: many simultaneous answers are shown in turn, and none starves", edited(func(s *scene) {
			s.Enforce(Published)
			places := s.Crowd(s.crowd())
			h := s.newGateway(map[string]answer{"go": {text: prose(2000), each: 90 * time.Millisecond}}, nil)
			for _, to := range places {
				h.ask(to, "go")
			}
			pass(time.Minute) // after a minute, the model has written all answers
			least, most := 1<<30, 0
			for _, to := range places {
				n := len(h.Versions(to))
				least, most = min(least, n), max(most, n)
			}
			if least < 3 || most > 2*least+2 {
				h.Errorf("%d answers had between %d and %d versions after a minute, want about as many each", len(places), least, most)
			}
			pass(5 * time.Minute)
			for _, to := range places {
				h.wantJoined(to, prose(2000)) // the platform's length limit determines how many messages the text needs
			}
			h.wantGood()
		})},
	}
}

// maxFinalDelay is how soon the whole answer must be visible after the model has written its last piece. A call to a
// stand-in takes a few tens of milliseconds. The pause between two previews is longer than a second, so an answer that
// is delayed until the next preview is too late.
const maxFinalDelay = 300 * time.Millisecond

// crowd returns how many answers grow at the same time in a test. With the number of answers that crowd returns, the
// account's limits still allow each answer one edit every ten seconds. The number that crowd returns is at least 3 and
// at most 24.
func (s *scene) crowd() int {
	n := 24
	for _, l := range s.adapter.Profile(s.Private()).Limits {
		if l.Scope == chat.ScopeEndpoint && l.Ops&chat.OpEdit != 0 {
			n = min(n, int(10*time.Second)*l.Count/int(l.Window))
		}
	}
	return max(n, 3)
}
