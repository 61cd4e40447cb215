package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"telex/gateway"
	"telex/gateway/preview"
	"telex/internal/chat"
)

// troubleCases returns the cases about calls that fail, and about people who change or delete messages during an
// answer.
func troubleCases() []testCase {
	return []testCase{
		{"D5: a first display of unknown outcome is not repeated if the platform can tell the outcome (F13)", func(s *scene) {
			s.unclear(answer{text: prose(300)}, "")
		}},
		{"D5: an answer in a single call of unknown outcome is not repeated if the platform can tell the outcome (F13)", func(s *scene) {
			s.unclear(answer{text: "Yes."}, "")
		}},
		{"D5, F51: a later part of unknown outcome is not repeated if the platform can tell the outcome", edited(func(s *scene) {
			s.unclear(flowing(prose(s.adapter.Profile(s.Private()).TextLimit*3/2)), "a full part")
		})},
		{"D5: edits of unknown outcome are repeated", with((*scene).editor, func(s *scene, _ preview.Editor) {
			h := s.newGateway(map[string]answer{"go": {text: prose(600), tail: 4 * time.Second}}, nil)
			for _, to := range h.both() {
				h.ask(to, "go")
				h.seen(to, "word")
				for _, f := range []Fault{CutBefore, CutAfter, ServerError} {
					h.Break(chat.OpEdit, f)
					pass(2 * time.Second)
				}
				pass(time.Second)
				h.Break(chat.OpEdit, CutAfter) // this is the edit that makes the reply final
				pass(settleTime)
				h.wantReply(to, prose(600))
			}
		})},
		{"F51: if the call for one part fails, only this call is repeated", edited(func(s *scene) {
			for i, to := range s.Crowd(4) {
				text := prose(s.adapter.Profile(to).TextLimit * 3 / 2)
				h := s.newGateway(map[string]answer{"go": flowing(text), "whole": {text: text, each: time.Microsecond}}, nil)
				word := []string{"go", "whole"}[i/2]
				h.ask(to, word)
				h.until("that the first part is nearly full", func() bool {
					list := h.Versions(to)
					return len(list) > 0 && len(list[len(list)-1].Text) > s.adapter.Profile(to).TextLimit/2
				})
				h.Break(chat.OpSend, []Fault{RateLimit, CutBefore}[i%2])
				pass(settleTime)
				h.wantJoined(to, text)
				if n := len(h.Shown(to)); n != 2 {
					h.Errorf("the text stands in %d messages, want two", n)
				}
				h.wantGrowth(to, text)
				h.end()
			}
		})},
		{"D6: a preview that a person deleted does not reappear, and the final is sent once", with((*scene).editor, func(s *scene, _ preview.Editor) {
			h := s.newGateway(map[string]answer{"go": {text: prose(600)}}, nil)
			for _, to := range h.both() {
				h.ask(to, "go")
				h.seen(to, "word20")
				list := h.Versions(to)
				h.Remove(chat.MessageRef{Target: to, ID: chat.MessageID(list[len(list)-1].Message)})
				pass(settleTime)
				h.wantReply(to, prose(600))
				for _, v := range h.Versions(to)[len(list):] {
					if v.Message != list[0].Message && v.Text != prose(600) {
						h.Errorf("after it was deleted a preview came back: %q", v.Text)
					}
				}
			}
		})},
		{"F47: deleting the question ends the answer if the platform reports the deletion, and changes nothing otherwise", people(func(s *scene) {
			whole := map[string]string{"go": prose(300), "late": "Yes."}
			h := s.newGateway(map[string]answer{"go": {text: whole["go"]}, "late": {text: whole["late"], tail: 3 * time.Second}}, nil)
			ended, stands := 0, 0
			for _, to := range h.both() {
				for _, word := range []string{"late", "go"} {
					before := len(h.Shown(to))
					h.ask(to, word)
					if word == "go" {
						h.seen(to, "word")
					} else {
						pass(time.Second)
					}
					asked := h.ledger.acceptedMessages()
					h.Remove(chat.MessageRef{Target: to, ID: asked[len(asked)-1].ID})
					pass(settleTime)
					switch shown := h.Shown(to)[before:]; {
					case slices.Equal(shown, []string{whole[word]}):
						stands++
					case word == "late" && len(shown) == 0,
						word == "go" && len(shown) == 1 && strings.HasPrefix(shown[0], "word0") && len(shown[0]) < len(whole[word]) && !strings.Contains(shown[0], "▌"):
						ended++
					default:
						h.Errorf("%s in %+v: shown are %q, want the answer or its beginning", word, to, shown)
					}
				}
			}
			if ended > 0 && stands > 0 {
				h.Errorf("%d answers ended and %d stand, want the same everywhere", ended, stands)
			}
		})},
	}
}

// endingCases returns the cases about answers that end early.
func endingCases() []testCase {
	return []testCase{
		{"D9: a stopped answer keeps its visible text, without a cursor", func(s *scene) {
			s.stopped(func(h *testGateway, to chat.Target) { h.command(to, "stop") })
		}},
		{"D9: a press on the stop button stops the answer, and removes the button and the cursor", with((*scene).presser, func(s *scene, w Presser) {
			s.stopped(func(h *testGateway, to chat.Target) {
				list := h.Versions(to)
				ref := chat.MessageRef{Target: to, ID: chat.MessageID(list[len(list)-1].Message)}
				buttons := w.Buttons(ref)
				if len(buttons) != 1 || buttons[0].Label != gateway.DefaultTexts()[gateway.TextStopButton] {
					h.Fatalf("below the preview stand %+v, want a button that stops it", buttons)
				}
				w.Press(ref, buttons[0].ID)
				pass(5 * time.Second)
				if got := w.Buttons(ref); len(got) != 0 {
					h.Errorf("below the answer that was stopped stand %+v, want nothing", got)
				}
				h.wantAcknowledged(w)
			})
		})},
		{"previews have a stop button only where commands can't be typed", editable(func(s *scene, w Presser, _ preview.Editor, to chat.Target) {
			h := s.newGateway(map[string]answer{"go": {text: prose(600)}}, func(h *testGateway) { h.button = gateway.ButtonAuto })
			h.ask(to, "go")
			h.seen(to, "word20")
			list := h.Versions(to)
			ref := chat.MessageRef{Target: to, ID: chat.MessageID(list[len(list)-1].Message)}
			if got, want := len(w.Buttons(ref)) > 0, s.adapter.Profile(to).NoCommands; got != want {
				h.Errorf("in %+v a button stands: %t, want %t", to, got, want)
			}
			pass(settleTime)
			h.wantReply(to, prose(600))
			h.wantButtons(w, ref)
			h.end()
		})},
		{"D9: a failed answer keeps its visible text, and one line reports the failure", func(s *scene) {
			h := s.newGateway(map[string]answer{
				"go":    {text: prose(300), fail: errors.New("the model went away")},
				"early": {fail: errors.New("the model was never there")},
			}, nil)
			for _, to := range h.both() {
				for word, text := range map[string]string{"go": prose(300), "early": ""} {
					before := len(h.Shown(to))
					h.ask(to, word)
					pass(settleTime)
					list := h.Shown(to)[before:]
					line, _, _ := strings.Cut(gateway.DefaultTexts()[gateway.TextModel], "{id}")
					if len(list) != 1 || !strings.HasPrefix(list[0], text) || strings.Contains(list[0], "▌") ||
						letters(strings.TrimPrefix(list[0], text))[:20] != letters(line)[:20] {
						h.Errorf("shown are %q, want %.20q… and below it %q", list, text, line)
					}
				}
			}
		}},
	}
}

// killCases returns the cases about killed processes.
func killCases() []testCase {
	return []testCase{
		{"D10: after a kill at any moment, the answer is finished in the same message, once", func(s *scene) {
			text := prose(240) // the model writes this text in two and a half seconds
			h := s.newGateway(map[string]answer{"go": {text: text, tail: 400 * time.Millisecond}}, nil)
			h.ask(h.Private(), "one") // after the first message, the adapter has a resume position
			pass(settleTime)
			for i, to := range h.places(32) {
				before := len(h.Shown(to))
				h.askLast(to, "go")
				pass(time.Duration(i)*110*time.Millisecond + time.Duration(i%7)*3*time.Millisecond)
				h.kill()
				pass(settleTime)
				h.wantSurvived(fmt.Sprintf("killed %d", i), to, before, text)
			}
			if n := strings.Count(h.log.String(), "continuing where the last process ended"); n < 10 {
				h.Errorf("%d kills met an answer under way, want many", n)
			}
		}},
		{"D10: after two kills during calls, the answer is finished once", func(s *scene) {
			text := prose(300)
			h := s.newGateway(map[string]answer{"go": {text: text, tail: time.Second}, "short": {text: "Yes."}}, nil)
			places := h.places(8)
			for i, to := range places[:4] { // kill the process while the call that makes the message runs
				word, want := "go", text
				if i%2 == 1 {
					word, want = "short", "Yes."
				}
				before, stood := h.Calls(chat.OpSend), len(h.Shown(to))
				h.Break(chat.OpSend, []Fault{Hang, CutAfter}[i/2])
				h.ask(to, word)
				h.until("the create", func() bool { return h.Calls(chat.OpSend) > before })
				h.kill()
				pass(100 * time.Millisecond)
				h.kill()
				pass(settleTime)
				h.wantSurvived(fmt.Sprintf("killed in create %d", i), to, stood, want)
			}
			if _, ok := h.editor(); !ok {
				return
			}
			for i, to := range places[4:] { // kill the process during an early edit, or during the last edit
				h.ask(to, "go")
				h.seen(to, []string{"word5", "word42"}[i/2])
				before, stood := h.Calls(chat.OpEdit), len(h.Shown(to))-1
				h.Break(chat.OpEdit, []Fault{Hang, CutAfter}[i%2])
				h.until("the edit", func() bool { return h.Calls(chat.OpEdit) > before })
				h.kill()
				pass(settleTime)
				h.wantSurvived(fmt.Sprintf("killed in edit %d", i), to, stood, text)
			}
		}},
		{"D9, D10: an orderly stop leaves no cursor, and the next process continues", func(s *scene) {
			h := s.newGateway(map[string]answer{"go": {text: prose(900)}, "nearly": {text: prose(300)}}, nil)
			for _, to := range h.both() {
				for word, text := range map[string]string{"go": prose(900), "nearly": prose(300)} {
					before := len(h.Shown(to))
					h.ask(to, word)
					h.seen(to, "word20")
					h.stopInOrder()
					for _, shown := range h.Shown(to)[before:] {
						begun, marked := strings.CutSuffix(shown, stopMark()) // only a stopped answer ends with the text "(stopped)"
						if strings.Contains(shown, "▌") || !strings.HasPrefix(text, begun) || marked == (begun == text) && begun != "" {
							h.Errorf("when it had stopped %q was shown", shown)
						}
					}
					h.restart()
					pass(settleTime)
					h.wantSince(word, to, before, text)
				}
			}
		}},
		{"D10: a question that arrives while the bot is down or dying is answered, once", people(func(s *scene) {
			h := s.newGateway(map[string]answer{"go": {text: prose(100)}}, nil)
			h.ask(h.Private(), "one")
			pass(settleTime) // after this time, the adapter has a resume position
			h.end()
			pass(time.Minute)
			h.ask(h.Private(), "two")
			pass(time.Minute)
			h.restart()
			pass(settleTime)
			h.ask(h.Private(), "three")
			h.kill()
			pass(settleTime)
			want := []string{"I was asked: one", "I was asked: two", "I was asked: three"}
			h.wantShown(h.Private(), want...)
		})},
	}
}

// reconciles reports whether a create call of unknown outcome can't lead to a second message, because telex can find
// out whether the call took effect, or can repeat the call safely.
func (s *scene) reconciles(to chat.Target) bool {
	return s.adapter.Capabilities().Find || s.adapter.Profile(to).KeyFor > 0
}

// unclear checks an answer during which the connection breaks in a create call. The function unclear tests a break
// before the create call takes effect, and a break after the create call has taken effect. If the parameter after is
// empty, the connection breaks in the answer's first create call. If after is not empty, the connection breaks in the
// create call that follows a nearly full message.
func (s *scene) unclear(a answer, after string) {
	s.Helper()
	h := s.newGateway(map[string]answer{"go": a}, nil)
	for _, f := range []Fault{CutBefore, CutAfter} {
		for _, to := range h.both() {
			before, logged := len(h.Shown(to)), strings.Count(h.log.String(), "a message of unknown outcome may stand")
			if after == "" {
				h.Break(chat.OpSend, f)
			}
			h.ask(to, "go")
			if after != "" {
				h.until("that the first part is nearly full", func() bool {
					list := h.Shown(to)[before:]
					return len(list) > 0 && len(list[len(list)-1]) > h.adapter.Profile(to).TextLimit*9/10
				})
				h.Break(chat.OpSend, f)
			}
			pass(2 * settleTime)
			list := h.Shown(to)[before:]
			doubled := !slices.Equal(list, cutTo(a.text, list))
			if f == CutAfter && !h.reconciles(to) {
				// The create call whose connection broke and the repeated create call may each have made a visible message. If both
				// calls made a message, the log must report the duplicate message.
				told := strings.Count(h.log.String(), "a message of unknown outcome may stand") - logged
				if !finishes(list, a.text) || doubled && told == 0 {
					h.Errorf("shown are %q, which the log tells %d times", list, told)
				}
				continue
			}
			if doubled {
				h.Errorf("after fault %d in %+v are shown %q, want %q", f, to, list, a.text)
			}
		}
	}
}

// cutTo cuts a text into pieces of the same lengths as the messages in list, and removes the space between two pieces.
func cutTo(text string, list []string) []string {
	var parts []string
	for _, m := range list {
		n := min(len(m), len(text))
		parts, text = append(parts, text[:n]), strings.TrimPrefix(text[n:], " ")
	}
	if text != "" {
		parts = append(parts, text)
	}
	return parts
}

// finishes reports whether the messages contain the whole text. The list may contain one duplicate message in addition.
func finishes(list []string, text string) bool {
	if slices.Equal(list, cutTo(text, list)) {
		return true
	}
	for i := range list {
		rest := slices.Delete(slices.Clone(list), i, i+1)
		if slices.Equal(rest, cutTo(text, rest)) {
			return true
		}
	}
	return false
}

// stopMark returns the empty line and the text "(stopped)" that telex appends to a stopped answer.
func stopMark() string { return "\n\n" + gateway.DefaultTexts()[gateway.TextStopMark] }

// stopped checks an answer that is stopped in the middle. The function stop stops the answer.
func (s *scene) stopped(stop func(h *testGateway, to chat.Target)) {
	s.Helper()
	if _, ok := s.editor(); !ok {
		return
	}
	text := prose(900)
	h := s.newGateway(map[string]answer{"go": {text: text, each: 60 * time.Millisecond}}, func(h *testGateway) { h.button = gateway.ButtonOn })
	if !h.adapter.Capabilities().Buttons {
		h.button = gateway.ButtonOff
	}
	for _, to := range h.both() {
		h.ask(to, "go")
		h.seen(to, "word20")
		stop(h, to)
		pass(settleTime)
		list := h.Shown(to)
		shown, marked := "", false
		if len(list) == 1 {
			shown, marked = strings.CutSuffix(list[0], stopMark())
		}
		if !marked || !strings.HasPrefix(text, shown) || !strings.Contains(shown, "word20") || shown == text {
			h.Errorf("shown are %q, want the text at the time of the stop, and the mark", list)
		}
	}
}

// wantSurvived checks an answer after a kill. The parameter before is the number of messages in the chat before the
// answer. The answer must be visible once, complete and without a cursor. One duplicate message is allowed if telex
// can't find out whether a create call that was running during the kill took effect. The log must report every
// duplicate message.
func (h *testGateway) wantSurvived(what string, to chat.Target, before int, text string) {
	h.Helper()
	list := h.Shown(to)[before:]
	if slices.Equal(list, []string{text}) {
		return
	}
	if len(list) == 2 && !h.reconciles(to) && (list[0] == text || list[1] == text) {
		h.excused++
		if told := strings.Count(h.log.String(), "unknown outcome"); told >= h.excused {
			return
		}
	}
	h.Errorf("%s: shown are %q, want %q", what, list, text)
}
