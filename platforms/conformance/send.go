package conformance

import (
	"slices"
	"strings"

	"telex/gateway"
	"telex/gateway/preview"
	"telex/internal/chat"
)

// is reports whether v implements the interface I.
func is[I any](v any) bool {
	_, ok := v.(I)
	return ok
}

// typed returns those of the two chats, the private chat and the group, that have typing indicators.
func (s *scene) typed() []chat.Target {
	return slices.DeleteFunc(s.both(), func(to chat.Target) bool {
		return s.adapter.Profile(to).TypingEvery == 0
	})
}

// sendCases returns the cases about sending messages.
func sendCases() []testCase {
	return []testCase{
		{"a text is shown unchanged, character by character", func(s *scene) {
			texts := []string{"hello", "a *b* _c_ `d` [e](f) <g> & h.", "🦊👩‍👧 ünïcödé", "two\nlines", `back\slash %20 "quoted"`}
			for _, to := range s.both() {
				for _, text := range texts {
					s.send(to, text)
				}
				s.wantShown(to, texts...)
			}
			s.wantCalls(chat.OpSend, len(s.both())*len(texts))
		}},
		{"every message has its own id", func(s *scene) {
			if a, b := s.send(s.Private(), "same"), s.send(s.Private(), "other"); a == b {
				s.Errorf("two messages are both %+v", a)
			}
		}},
		{"a reply to a missing message is shown (F47)", func(s *scene) {
			for _, to := range s.both() {
				ref := s.send(to, "gone soon")
				s.Remove(ref)
				m := outgoing("answer")
				m.ReplyTo = ref.ID
				if _, err := s.adapter.Send(s.Context(), to, m); err != nil {
					s.Errorf("Send: %v", err)
				}
				s.wantShown(to, "answer")
			}
		}},
		{"a text at the limit is shown, a longer one is reported as too long (F06, F30, F49)", both(func(s *scene, to chat.Target) {
			limit := s.adapter.Profile(to).TextLimit
			longest := strings.Repeat("x", limit)
			ref := s.send(to, longest)
			_, err := s.adapter.Send(s.Context(), to, outgoing(longest+"x"))
			s.wantKind(err, chat.TooLong)
			if e, ok := s.adapter.(preview.Editor); ok {
				_, err := e.Edit(s.Context(), ref, outgoing(longest+"x"))
				s.wantKind(err, chat.TooLong)
				s.wantShown(to, longest)
				longest = strings.Repeat("y", limit)
				s.edit(e, ref, outgoing(longest)) // the new text of an edit may be as long as a new message
			}
			s.wantShown(to, longest)
		})},
		{"typing is shown", with((*scene).typer, func(s *scene, y preview.Typer) {
			places := s.typed()
			if len(places) == 0 {
				s.Error("being at work is shown neither in the private chat nor in the group")
			}
			for _, to := range places {
				if err := y.Typing(s.Context(), to); err != nil {
					s.Errorf("Typing: %v", err)
				}
			}
			s.wantCalls(chat.OpTyping, len(places))
		})},
		{"the adapter implements exactly the capabilities that it declares", func(s *scene) {
			c := s.adapter.Capabilities()
			for _, a := range []struct {
				name           string
				promised, kept bool
			}{
				{"Edit", c.Edit, is[preview.Editor](s.adapter)},
				{"Delete", c.Delete, is[preview.Deleter](s.adapter)},
				{"Typing", c.Typing, is[preview.Typer](s.adapter)},
				{"File", c.File, is[preview.Filer](s.adapter)},
				{"Draft", c.Draft, is[preview.Drafter](s.adapter)},
				{"Stream", c.Stream, is[preview.Streamer](s.adapter)},
				{"Find", c.Find, is[preview.Finder](s.adapter)},
				{"Fetch", c.Fetch, is[gateway.Fetcher](s.adapter)},
				{"Menu", c.Menu, is[gateway.Menu](s.adapter)},
				{"Concludes", c.Concludes, is[gateway.Concluder](s.adapter)},
				{"Pane", c.Pane, is[gateway.Pane](s.adapter)},
			} {
				if a.promised != a.kept {
					s.Errorf("capability %s is %t, but its interface is implemented: %t", a.name, a.promised, a.kept)
				}
			}
		}},
		{"the profile states plausible limits", both(func(s *scene, to chat.Target) {
			p := s.adapter.Profile(to)
			if p.TextLimit <= 0 || s.adapter.Dialect(to) == nil {
				s.Errorf("text limit %d, dialect %v", p.TextLimit, s.adapter.Dialect(to))
			}
			if p.KeyFor < 0 || p.StreamFor < 0 || p.DraftFor < 0 || p.TypingEvery < 0 {
				s.Errorf("a time is negative: %+v", p)
			}
			if !s.adapter.Capabilities().Draft && p.DraftFor != 0 || !s.adapter.Capabilities().Stream && p.StreamFor != 0 ||
				!s.adapter.Capabilities().Typing && p.TypingEvery != 0 {
				s.Errorf("the profile promises more than the capabilities: %+v", p)
			}
			if s.adapter.Capabilities().Edit && p.EditInterval <= 0 {
				s.Errorf("edit interval = %v", p.EditInterval)
			}
			for _, l := range p.Limits {
				if l.Scope == 0 || l.Ops == 0 || l.Count <= 0 || l.Window <= 0 || l.Burst <= 0 || l.Burst > l.Count {
					s.Errorf("limit %+v makes no sense", l)
				}
			}
		})},
	}
}

// editCases returns the cases about editing messages.
func editCases() []testCase {
	return []testCase{
		{"an edit replaces the text", inBoth((*scene).editor, func(s *scene, e preview.Editor, to chat.Target) {
			ref := s.send(to, "one")
			s.send(to, "another")
			for _, text := range []string{"one two", "one two", "1"} { // an edit must also succeed if the text is the same
				receipt, err := e.Edit(s.Context(), ref, outgoing(text))
				if err != nil || receipt.Ref != ref {
					s.Errorf("Edit = %+v, %v, want %+v", receipt, err, ref)
				}
				s.wantShown(to, text, "another")
			}
		})},
		{"an edit of a removed message reports that it is gone (D6)", with((*scene).editor, func(s *scene, e preview.Editor) {
			ref := s.send(s.Private(), "one")
			s.Remove(ref)
			_, err := e.Edit(s.Context(), ref, outgoing("two"))
			s.wantKind(err, chat.Gone)
			_, err = e.Edit(s.Context(), chat.MessageRef{Target: s.Private()}, outgoing("two"))
			s.wantKind(err, chat.Gone)
			s.wantShown(s.Private())
		})},
		{"a deleted message is gone, and deleting it again succeeds (F18)", inBoth((*scene).deleter, func(s *scene, d preview.Deleter, to chat.Target) {
			ref := s.send(to, "one")
			s.send(to, "two")
			for range 2 {
				s.delete(d, ref)
			}
			s.wantShown(to, "two")
		})},
	}
}
