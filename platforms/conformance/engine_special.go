package conformance

import (
	"strings"
	"time"

	"telex/gateway/preview"
	"telex/internal/chat"
)

// specialCases returns the cases about features that only some platforms have, and about bugs that telex once had on
// these platforms.
func specialCases() []testCase {
	return []testCase{
		{"D13: a stream shows only text that does not change, and ends as a message with the complete text", native(func(s *scene, w StreamWorld, to chat.Target) {
			for _, c := range []struct{ text, want string }{{prose(900), prose(900)}, {Sample, s.Sample()}} {
				h := s.newGateway(map[string]answer{"go": {text: c.text}}, byStreams)
				before, seen, starts := len(h.Shown(to)), len(h.Versions(to)), h.Calls(chat.OpStart)
				h.ask(to, "go")
				h.until("that a stream grows", func() bool { return len(w.Streaming(to)) == 1 })
				pass(settleTime)
				h.wantStreams(w, to)
				h.wantSince("", to, before, c.want)
				if got := h.Calls(chat.OpStart) - starts; got != 1 {
					h.Errorf("%d streams were begun, want one", got)
				}
				for _, v := range h.Versions(to)[seen:] {
					if strings.Contains(v.Text, "▌") {
						h.Errorf("a stream shows a cursor: %q", v.Text)
					}
				}
				h.wantValid(to)
				h.end()
			}
		})},
		{"D13, F48: a stream with a long silence becomes a message in time, with the complete text", native(func(s *scene, w StreamWorld, to chat.Target) {
			s.Enforce(Published)
			text, life := prose(600), w.StreamLife()
			h := s.newGateway(map[string]answer{
				"tail":  {text: text, tail: life + time.Minute},
				"slow":  {text: text, each: 2 * life / 200},
				"never": {text: text[:11], tail: life + time.Minute},
			}, byStreams)
			for _, word := range []string{"tail", "slow", "never"} {
				before := len(h.Shown(to))
				h.ask(to, word)
				h.until("that a stream grows for "+word, func() bool { return len(w.Streaming(to)) == 1 })
				for range 4 * int(life/time.Minute) {
					pass(time.Minute)
					h.wantNone(w.Broken(to), "broken are")
				}
				if got, want := h.Shown(to)[before:], h.model.answers[word].text; len(got) != 1 || got[0] != want {
					h.Errorf("%s: shown are %q, want %q", word, got, want)
				}
			}
			h.wantGood()
		})},
		{"D13: after a stream breaks, the complete text appears", native(func(s *scene, w StreamWorld, to chat.Target) {
			for _, op := range []chat.Op{chat.OpStart, chat.OpAppend, chat.OpStop} {
				for _, f := range []Fault{CutBefore, CutAfter, ServerError, RateLimit} {
					h := s.newGateway(map[string]answer{"go": {text: prose(600)}}, byStreams)
					before := len(h.Shown(to))
					if op == chat.OpStart {
						h.Break(op, f)
					}
					h.ask(to, "go")
					h.until("that something is shown", func() bool { return len(h.Shown(to)) > before })
					if op != chat.OpStart {
						h.Break(op, f)
					}
					pass(2 * settleTime)
					got := h.Shown(to)[before:]
					switch {
					case op == chat.OpStart && f == CutAfter && !h.found(to):
						if !finishes(got, prose(600)) {
							h.Errorf("after fault %d of call %b are shown %q", f, op, got)
						}
					case len(got) != 1 || got[0] != prose(600):
						h.Errorf("after fault %d of call %b are shown %q", f, op, got)
					}
					h.wantNone(w.Broken(to), "after fault %d of call %b are broken", f, op)
					h.wantStreams(w, to)
					h.end()
				}
			}
		})},
		{"D10, D13: after a kill during a stream, the answer is finished in the same message", native(func(s *scene, w StreamWorld, to chat.Target) {
			pass(settleTime) // wait, because some adapters receive again what people wrote shortly before a kill
			h := s.newGateway(map[string]answer{"go": {text: prose(600)}}, byStreams)
			for _, word := range []string{"word5", "word40"} {
				before := len(h.Shown(to))
				h.ask(to, "go")
				h.seen(to, word)
				h.kill()
				pass(2 * settleTime)
				h.wantSince("", to, before, prose(600))
				h.wantStreams(w, to)
			}
		})},
	}
}

// commandCases returns the cases about questions that people ask with a slash command.
func commandCases() []testCase {
	return []testCase{
		{"F50: a message that is delivered twice, or as two events, is answered once", people(func(s *scene) {
			h := s.newGateway(nil, nil)
			if w, ok := s.World.(Repeater); ok {
				w.Repeat()
			}
			for _, to := range h.both() {
				h.ask(to, "one")
				pass(settleTime)
				h.ask(to, "two")
				pass(settleTime)
				got := h.Shown(to)
				if len(got) != 2 || !strings.HasSuffix(got[0], "one") || !strings.HasSuffix(got[1], "two") {
					h.Errorf("shown are %q, want one answer to each question", got)
				}
			}
			if want := 2 * len(h.both()); len(h.ledger.acceptedMessages()) != want {
				h.Errorf("accepted %+v, want %d messages", h.ledger.acceptedMessages(), want)
			}
		})},
		{"a question in a command is answered in the command's response, and nothing else remains", asked(func(s *scene, w Asker, to chat.Target) {
			h := s.newGateway(map[string]answer{"go": {text: prose(600)}, "long": {text: prose(s.adapter.Profile(to).TextLimit * 5 / 2), each: 10 * time.Millisecond}}, nil)
			for _, word := range []string{"go", "long", "at-once"} {
				before := len(h.Shown(to))
				w.Ask(to, word)
				pass(5 * time.Second)
				if word == "at-once" && w.Dangling() != 0 {
					h.Error("a question looks unanswered")
				}
				pass(settleTime)
				want := h.model.answers[word].text
				if want == "" {
					want = "I was asked: " + word
				}
				if got := strings.Join(h.Shown(to)[before:], " "); !strings.HasSuffix(got, want) || strings.Count(got, want) != 1 || len(got) > len(want)+40 {
					h.Errorf("%s: shown is %q, want %q", word, got, want)
				}
				h.wantNoneDangling(w, word)
			}
			h.end()
		})},
		{"F53: an answer that outlasts the command's token continues in its message", asked(func(s *scene, w Asker, to chat.Target) {
			s.Enforce(Published)
			h := s.newGateway(map[string]answer{"go": {text: prose(600), each: 25 * time.Minute / 200}, "late": {text: prose(100), tail: 20 * time.Minute}}, nil)
			for _, word := range []string{"go", "late"} {
				before := len(h.Shown(to))
				w.Ask(to, word)
				pass(40 * time.Minute)
				h.wantSince(word, to, before, h.model.answers[word].text)
				h.wantNoneDangling(w, word)
			}
			h.wantGood()
			h.end()
		})},
		{"a command whose process or connection dies is still answered, once", asked(func(s *scene, w Asker, to chat.Target) {
			h := s.newGateway(map[string]answer{"go": {text: prose(600)}}, nil)
			for _, moment := range []time.Duration{0, 30 * time.Millisecond, 500 * time.Millisecond, 3 * time.Second, 6 * time.Second} {
				before := len(h.Shown(to))
				w.Ask(to, "go")
				pass(moment)
				if moment > 0 && len(h.ledger.acceptedMessages()) == 0 {
					continue // telex did not accept the question
				}
				h.kill()
				pass(2 * settleTime)
				got := h.Shown(to)[before:]
				if moment > 0 && (len(got) != 1 || got[0] != prose(600)) {
					h.Errorf("killed after %v: shown are %q, want the text once", moment, got)
				}
			}
			h.end()
		})},
		{"a command of a person without access gets a response, too", asked(func(s *scene, w Asker, to chat.Target) {
			h := s.newGateway(nil, func(h *testGateway) { h.closed = true })
			w.Ask(to, "one")
			pass(settleTime)
			h.wantNoneDangling(w, "one")
			h.wantShown(to)
			h.end()
		})},
	}
}

// byStreams makes a gateway show its replies as native streams.
func byStreams(h *testGateway) { h.config.Transport = preview.Native }

// native runs a case in each chat that supports native streams.
func native(run func(s *scene, w StreamWorld, to chat.Target)) func(*scene) {
	return streams(func(s *scene, _ preview.Streamer, w StreamWorld, _ chat.Outgoing, to chat.Target) { run(s, w, to) })
}

// wantNoneDangling checks that the platform shows no slash command as still unanswered. The parameter what describes
// the situation in the error message.
func (s *scene) wantNoneDangling(w Asker, what string) {
	s.Helper()
	if got := w.Dangling(); got != 0 {
		s.Errorf("%s: %d questions look unanswered", what, got)
	}
}

// found reports whether telex can find out the outcome of every create call in a chat, including the starts of streams.
func (s *scene) found(to chat.Target) bool { return s.adapter.Profile(to).KeyFor > 0 }

// asked runs a case in the private chat and in the group, on each platform where people ask questions with a slash
// command.
func asked(run func(s *scene, w Asker, to chat.Target)) func(*scene) {
	return inBoth(func(s *scene) (Asker, bool) {
		w, ok := s.World.(Asker)
		if !ok {
			s.lacks = "Asks"
		}
		return w, ok
	}, run)
}
