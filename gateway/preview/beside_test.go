package preview

import (
	"testing"
	"time"

	"telex/internal/chat"
)

// A process ends before it has deleted a separate question. The process must report that the question may still be
// visible.
func TestSeparateQuestionIsNotDeletedInTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.fate = func(c *call) fate { return fate{hang: c.op == chat.OpDelete} }
		e := p.endpoint()
		e.Editor = nil
		l := live(t, p, e, streamed())
		l.slot.SetStatus(question("yes:1", "Really?"))
		time.Sleep(5 * time.Second)
		l.slot.Finish(Ending{Keep: true})
		time.Sleep(time.Second)
		l.cancel()
		<-l.ended
		if !l.out.Doubt {
			t.Errorf("got %+v, want doubt", l.out)
		}
	})
}

// The create call for a separate question gets no response. The failed question must not affect the reply: the draft of
// the reply must continue to grow.
func TestFailureOfAQuestionIsNotTheReplys(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		e.Editor = nil
		s := beginVia(t, p, e, Draft)
		s.says("one two three", 3*time.Second)
		p.fate = nth(map[int]fate{0: uncertain(false)})
		s.asks("yes:1", "Really?", time.Minute)
		s.slot.SetStatus(Status{})
		before := s.count(chat.OpDraft)
		s.says(" four five six", 10*time.Second)
		if before == 0 || s.count(chat.OpDraft) == before {
			t.Errorf("%d drafts, then %d", before, s.count(chat.OpDraft))
		}
		s.ends(Ending{Text: "one two three four five six"})
	})
}

// A chat gets a new id. The bot must not delete a question that an earlier process asked, because in the new chat, the
// question's message id may belong to another message.
func TestSeparateQuestionInAMovedChat(t *testing.T) {
	for chatID, deletes := range map[chat.ChatID]int{"a": 1, "before": 0} {
		t.Run(string(chatID), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				e := p.endpoint()
				e.Editor = nil
				s := live(t, p, e, streamed())
				s.asks("yes:1", "Really?", time.Minute)
				equal(t, "asked", s.sees(), []string{"Really?"})
				for i := range s.notes.parts {
					s.notes.parts[i].Ref.Target.Chat = chatID
				}
				s.again()
				s.waits(time.Minute)
				if n := s.count(chat.OpDelete); n != deletes {
					t.Errorf("%d messages were deleted, want %d", n, deletes)
				}
				s.ends(Ending{Text: "final"})
			})
		})
	}
}

// The slot reports when the current question became visible, even if people saw an earlier question before.
func TestVisibleSinceIsOfTheNewestQuestion(t *testing.T) {
	t.Parallel()
	s, now := NewSlot(), time.Now()
	first, second := question("yes:1", "Really?"), question("yes:2", "Really, really?")
	s.SetStatus(first)
	s.SetStatus(second)
	if s.markAsked(first, now); !s.Asked().IsZero() {
		t.Error("the second question was seen when the first one was shown")
	}
	if s.markAsked(second, now); s.Asked() != now {
		t.Errorf("seen since %v", s.Asked())
	}
	if s.markAsked(second, now.Add(time.Second)); s.Asked() != now {
		t.Errorf("when it was shown again, it is seen since %v", s.Asked())
	}
	if s.SetStatus(question("yes:3", "And this?")); !s.Asked().IsZero() {
		t.Error("another question was seen before it was shown")
	}
}
