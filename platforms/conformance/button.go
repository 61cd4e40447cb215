package conformance

import (
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"telex/gateway/preview"
	"telex/internal/chat"
)

// maxAckDelay is how soon the adapter must acknowledge the press of a button. Platforms allow three seconds or more for
// the acknowledgement of a button press.
const maxAckDelay = 2 * time.Second

// buttonCases returns the cases about buttons below messages.
func buttonCases() []testCase {
	both := []chat.Action{{ID: "stop:1a2b3c4d", Label: "Stop"}, {ID: strings.Repeat("x-9:", 16), Label: "Go <on> & *on* 🦊"}}
	return []testCase{
		{"buttons appear below a message, and an edit changes them", editable(func(s *scene, w Presser, e preview.Editor, to chat.Target) {
			ref := s.offer(to, "one", both...)
			s.wantButtons(w, ref, both...)
			for _, list := range [][]chat.Action{both[:1], both, both[1:]} {
				m := outgoing("one two")
				m.Actions = list
				s.edit(e, ref, m)
				s.wantButtons(w, ref, list...)
				s.wantShown(to, "one two")
			}
		})},
		{"an edit without buttons removes them and keeps the text", editable(func(s *scene, w Presser, e preview.Editor, to chat.Target) {
			for _, text := range []string{"one", "changed", "a *b* _c_ `d` <g> & h."} {
				ref := s.offer(to, "one", both...)
				for range 2 {
					s.edit(e, ref, outgoing(text))
					s.wantButtons(w, ref)
				}
				if list := s.Shown(to); list[len(list)-1] != text {
					s.Errorf("shown is %q, want %q", list[len(list)-1], text)
				}
			}
		})},
		{"an edit can add buttons to a message", editable(func(s *scene, w Presser, e preview.Editor, to chat.Target) {
			ref := s.send(to, "one")
			s.wantButtons(w, ref)
			m := outgoing("one")
			m.Actions = both
			s.edit(e, ref, m)
			s.wantButtons(w, ref, both...)
			s.wantShown(to, "one")
		})},
		{"a text at the limit can have buttons", buttons(func(s *scene, w Presser, e preview.Editor, to chat.Target) {
			longest := strings.Repeat("x", s.adapter.Profile(to).TextLimit)
			if short, ok := s.World.(Brief); ok { // the adapter shows a text without buttons if the text is longer than ButtonText
				s.offer(to, longest, both...)
				s.wantShown(to, longest)
				longest = longest[:short.ButtonText()]
			}
			ref := s.offer(to, longest, both...)
			if list := s.Shown(to); list[len(list)-1] != longest {
				s.Errorf("shown is %.40q…, want all of the text", list[len(list)-1])
			}
			s.wantButtons(w, ref, both...)
			if e == nil {
				return
			}
			longest = strings.Repeat("y", len(longest))
			m := outgoing(longest)
			m.Actions = both
			s.edit(e, ref, m)
			s.wantShown(to, longest)
		})},
		{"a press arrives once, names its button, and is acknowledged", buttons(func(s *scene, w Presser, _ preview.Editor, to chat.Target) {
			ref := s.offer(to, "one", both...)
			r := s.start("")
			r.take()
			ids := map[chat.MessageID]bool{}
			for _, a := range both {
				w.Press(ref, a.ID)
				synctest.Wait()
				pass(maxAckDelay)
				s.wantAcknowledged(w)
				in := s.one(r)
				if in.Kind != chat.Button || in.Action != a.ID || in.To != to || !in.Addressed || in.Reply ||
					in.Sender.ID == "" || in.Sender.Bot || in.ID == "" || in.Text != "" {
					s.Errorf("got %+v, want a press on %s", in, a.ID)
				}
				if off := time.Since(in.At).Abs(); off > 2*time.Minute {
					s.Errorf("the press is of %v, %v ago", in.At, off)
				}
				ids[in.ID] = true
			}
			w.Press(ref, both[0].ID) // press the same button again
			ids[s.one(r).ID] = true
			if len(ids) != 3 {
				s.Errorf("three presses have %d ids", len(ids))
			}
			r.stop(s)
			again := s.start(r.resume)
			if list := again.take(); len(list) != 0 {
				s.Errorf("a press arrived again: %+v", list)
			}
			again.stop(s)
			s.wantButtons(w, ref, both...)
		})},
		{"a press has the same sender as that person's messages", buttons(func(s *scene, w Presser, _ preview.Editor, to chat.Target) {
			if to.Kind == chat.Group {
				return // in a group, another person may press the button, so don't compare the people
			}
			ref := s.offer(to, "one", both...)
			r := s.start("")
			r.take()
			s.Say(to, Saying{Text: "it's me"})
			said := s.one(r)
			w.Press(ref, both[0].ID)
			if in := s.one(r); in.Sender.ID != said.Sender.ID || in.ID == said.ID {
				s.Errorf("the press is by %+v, the message by %+v", in, said)
			}
			r.stop(s)
		})},
	}
}

// buttons runs a case in each chat that supports buttons. If the platform does not support edits, the parameter e is
// nil, and a message keeps its buttons forever.
func buttons(run func(s *scene, w Presser, e preview.Editor, to chat.Target)) func(*scene) {
	return inBoth((*scene).presser, func(s *scene, w Presser, to chat.Target) {
		s.Helper()
		e, _ := s.adapter.(preview.Editor)
		run(s, w, e, to)
	})
}

// editable runs a case in each chat that supports buttons and edits.
func editable(run func(s *scene, w Presser, e preview.Editor, to chat.Target)) func(*scene) {
	return buttons(func(s *scene, w Presser, e preview.Editor, to chat.Target) {
		s.Helper()
		if _, ok := s.editor(); ok {
			run(s, w, e, to)
		}
	})
}

// presser returns the World as a Presser. presser returns false if the platform has no buttons.
func (s *scene) presser() (Presser, bool) {
	s.Helper()
	w, ok := s.World.(Presser)
	switch has := s.can().Buttons; {
	case !has:
		s.lacks = "Buttons"
	case !ok:
		s.Fatal("the adapter has buttons, and the world can't press them")
	}
	return w, s.can().Buttons
}

// wantAcknowledged checks that every press was acknowledged.
func (s *scene) wantAcknowledged(w Presser) {
	s.Helper()
	if got := w.Unanswered(); got != 0 {
		s.Errorf("%d presses are not acknowledged", got)
	}
}

// offer sends a text with buttons. If sending fails, the case fails.
func (s *scene) offer(to chat.Target, text string, actions ...chat.Action) chat.MessageRef {
	s.Helper()
	m := outgoing(text)
	m.Actions = actions
	m.Key = "offered " + text + " after " + time.Now().String()
	receipt, err := s.adapter.Send(s.Context(), to, m)
	return s.shown(to, receipt, err)
}

func (s *scene) wantButtons(w Presser, ref chat.MessageRef, want ...chat.Action) {
	s.Helper()
	if got := w.Buttons(ref); !slices.Equal(got, want) {
		s.Errorf("the buttons are %+v, want %+v", got, want)
	}
}
