package preview

import (
	"strings"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
	"telex/platforms/telegram"
)

// If the text of a draft must stay, the bot sends it as a message, or as plain text if the platform refuses its markup
// (D9).
func TestKeptDraftWhoseMarkupIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		p.dialect = telegram.Dialect{}
		p.fate = func(c *call) fate {
			if c.op == chat.OpSend && len(c.m.Spans) > 0 {
				return fail(chat.Rejected)
			}
			return fate{}
		}
		s := beginVia(t, p, e, Draft)
		s.says("one **two** three", 1200*ms)
		s.delivers(Ending{Keep: true}, "one two three")
	})
}

// Somebody stops a reply, so its visible text must stay (D9). The platform no longer accepts the text in one message,
// so the bot must send the text in several messages, without a cursor.
func TestKeptTextThatIsTooLongNow(t *testing.T) {
	for _, cut := range []bool{false, true} {
		bothWays(t, func(t *testing.T, rated bool) {
			p := newPerson()
			p.fate = func(c *call) fate {
				switch {
				case c.op != chat.OpEdit:
				case rated && c.attempt == 0:
					return tooMany(1000 * ms)
				case p.dialect.Len(markup.Rendered{Text: c.m.Text}) > 40:
					return fail(chat.TooLong)
				}
				return fate{}
			}
			s := begin(t, p, streamed())
			s.says(strings.Repeat("word ", 10), 1200*ms)
			if cut {
				s.slot.Cut()
			}
			s.delivers(Ending{Keep: true}, "word word word word word word", "word word word word")
		})
	}
}

// Somebody stops a reply whose first message was sent before the length limit was known. The first message shows less
// text than planned, and the platform refuses its edit as too long. No word at the border between two messages may be
// lost.
func TestKeptTextThatWasCutBeforeTheLimitWasKnown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit, p.profile.KeyFor = 2*minLimit, time.Hour
		l := live(t, p, p.endpoint(), streamed())
		p.fate = nth(map[int]fate{0: {hang: true, applied: true}})
		l.says("one two three ", 5*time.Second)
		l.again() // the create call is repeated with its key, and the platform returns the existing message
		p.fate = func(c *call) fate {
			if p.dialect.Len(markup.Rendered{Text: c.m.Text}) > minLimit && !strings.HasPrefix(c.m.Text, "one") || c.op == chat.OpEdit && len(c.m.Text) > 40 {
				return fail(chat.TooLong)
			}
			return fate{}
		}
		l.says("one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen", 10*time.Second)
		l.slot.Finish(Ending{Keep: true})
		<-l.ended
		const text = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen"
		if got := strings.Join(p.sees(), " "); !strings.HasPrefix(text, got) || len(got) < 60 {
			t.Errorf("person sees %q", p.sees())
		}
	})
}

// D9: a search does not find the message of a create call. Somebody stops the reply before the bot sends another
// message. If the first message appears later, it must stay and lose its cursor, because people may have read it.
func TestALateMessageOfAStoppedReplyStays(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.LateFor, p.latency, p.fate = 10*time.Second, 200*ms, nth(map[int]fate{0: uncertain(false)})
		e := p.endpoint()
		e.Finder = channel{p}
		s := beginAt(t, p, e, streamed(), "key")
		s.says("one two three", 1800*ms) // the search for the message is running
		s.slot.Finish(Ending{Keep: true})
		s.waits(4 * time.Second)
		p.mu.Lock()
		p.create(&call{to: "a"}, chat.Outgoing{Key: Key("key", 0), Text: "one two three ▌"})
		p.mu.Unlock()
		<-s.ended
		equal(t, "person sees", s.sees(), []string{"one two three"})
		if n := s.count(chat.OpSend | chat.OpDelete); n != 1 || !s.out.Delivered {
			t.Errorf("%d messages were sent or deleted, outcome %+v", n, s.out)
		}
	})
}

// Somebody stops a reply whose message may still appear late, and the process ends before the second search. The field
// Outcome.Doubt must report that a message may exist. If the field did not report this, the gateway would answer the
// turn's messages again, and no process would search for the late message.
func TestAReplyWhoseMessageMayAppearLateIsInDoubt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.LateFor, p.fate = 10*time.Second, nth(map[int]fate{0: uncertain(false)})
		e := p.endpoint()
		e.Finder = channel{p}
		s := beginAt(t, p, e, streamed(), "key")
		s.says("one two three", 1400*ms) // the search for the message is about to begin
		s.slot.Finish(Ending{Keep: true})
		s.waits(4 * time.Second) // the search for the message has found nothing
		s.cancel()
		<-s.ended
		if n := s.count(chat.OpSend); n != 1 || s.count(chat.OpFind) == 0 || !s.out.Doubt {
			t.Errorf("%q, outcome %+v", s.log(), s.out)
		}
	})
}

// A search does not find the message of a question, so the bot sends the question again. Somebody stops the reply after
// the bot has sent the question again. The bot must delete both questions, including the one that appears late.
func TestLateQuestionOfAStoppedReplyIsDeleted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.LateFor, p.fate = 10*time.Second, nth(map[int]fate{0: {nameless: true}, 1: uncertain(false)}) // so that the question gets its own message
		e := p.endpoint()
		e.Finder = channel{p}
		c := streamed()
		c.Cursor = ""
		s := beginAt(t, p, e, c, "key")
		s.says("one two three", 2*time.Second)
		s.asks("yes:1", "Really?", 4*time.Second)
		p.mu.Lock()
		p.create(&call{to: "a"}, chat.Outgoing{Key: "key.q0", Text: "Really?"})
		p.mu.Unlock()
		s.slot.Finish(Ending{Keep: true})
		<-s.ended
		equal(t, "person sees", s.sees(), []string{"one two three"})
	})
}

// Somebody stops a reply while a question is visible below the text, and the platform refuses the text without the
// question. A shorter text must replace both the text and the question. If the text is a single word, an ellipsis must
// replace the word, because the bot never deletes a message with text (F05).
func TestTextWithoutItsQuestionIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		restarts   bool
		want       []string
	}{
		{"its first half is taken", "one two", true, []string{"one"}},
		{"its first half is taken by the same process", "one two", false, []string{"one"}},
		{"its first word is taken", "onetwothree four", true, []string{"onetwothree"}},
		{"a single word is replaced", "one", true, []string{shortest}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				l := live(t, p, p.endpoint(), streamed())
				l.says(tt.text+" ", 5*time.Second)
				l.slot.SetStatus(question("yes:1", "May I?"))
				time.Sleep(5 * time.Second)
				equal(t, "before", p.sees(), []string{tt.text + "\n\nMay I?"})
				if tt.restarts {
					l.again()
				}
				p.fate = func(c *call) fate {
					if c.m.Text == tt.text {
						return fail(chat.Rejected)
					}
					return fate{}
				}
				l.slot.Finish(Ending{Keep: true})
				<-l.ended
				equal(t, "stands", p.sees(), tt.want)
			})
		})
	}
}

// The create call for a final gets no response, and the process dies. Somebody stops the reply in the next process. The
// search finds the message, but the platform refuses its text. Neither the next process nor a later one may delete the
// message (F05).
func TestFoundMessageOfAStoppedReplyIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.fate = nth(map[int]fate{0: uncertain(true)})
		e := p.endpoint()
		e.Finder = channel{p}
		l := live(t, p, e, streamed())
		l.slot.Finish(Ending{Text: "one"})
		l.waits(50 * ms)
		p.fate = func(c *call) fate {
			switch c.m.Text {
			case "one":
				return fail(chat.Rejected)
			case shortest:
				return fate{hang: true, applied: true}
			}
			return fate{}
		}
		for range 3 {
			l.again()
			l.slot.Finish(Ending{Keep: true})
			l.waits(10 * time.Second)
			equal(t, "stands", p.sees(), []string{shortest})
		}
	})
}

// A search finds the message of a stopped reply. The platform now refuses the text of this message as too long, so the
// bot sends the text again in two messages. The next process must delete neither of the two messages (F05).
func TestFoundMessageOfAStoppedReplyIsTooLong(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit, p.fate = 60, nth(map[int]fate{0: uncertain(true)})
		e := p.endpoint()
		e.Finder = channel{p}
		l := live(t, p, e, streamed())
		final := "one two three four five six seven eight nine ten"
		l.slot.Finish(Ending{Text: final})
		l.waits(50 * ms)
		p.fate = func(c *call) fate {
			if c.m.Text == final {
				return fail(chat.TooLong)
			}
			return fate{}
		}
		for range 3 {
			l.again()
			l.slot.Finish(Ending{Keep: true, Text: final})
			l.waits(10 * time.Second)
			equal(t, "stands", p.sees(), []string{"one two three four five six", "seven eight nine ten"})
		}
	})
}

// The platform refuses the text of a preview while the process stops. The next process runs the turn again, and the
// model writes more text. The final must contain all words of the new text (D1).
func TestRefusedPreviewOfAStoppingProcess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.KeyFor = time.Hour
		p.fate = func(c *call) fate {
			if c.m.Preview {
				return uncertain(false)
			}
			return fail(chat.Rejected)
		}
		l := live(t, p, p.endpoint(), streamed())
		l.says("one two three", 3*time.Second)
		l.slot.Finish(Ending{Keep: true})
		l.waits(time.Minute)
		if n := l.count(chat.OpSend); n < 2 {
			t.Fatalf("%d calls were made, so this tests nothing", n)
		}
		l.again()
		p.fate = nil
		l.says("one two three", 3*time.Second)
		l.delivers(Ending{Text: "one two three four"}, "one two three four")
	})
}
