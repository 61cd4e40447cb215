package preview

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"telex/internal/chat"
)

// The simulation in package sim found the violations that this file tests. Each comment begins with the number of the
// violated promise.

// D1: a message above a question is full and ends in the middle of a paragraph. The model's next text leaves an
// emphasis in that paragraph open, so the paragraph is laid out differently. The next message must still continue after
// the last word of the full message. If the reply is then stopped, every word must be visible exactly once.
func TestRegressionPartContinuesAfterAQuestion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit = 60
		s := begin(t, p, streamed())
		s.says("one **two three four five six seven eight nine", 2*time.Second)
		s.asks("yes:1", "Do you really want that?", 2*time.Second)
		s.slot.SetStatus(Status{})
		s.says(" ten.\n\neleven", 5*time.Second)
		s.ends(Ending{Keep: true})
		got := strings.Fields(strings.ReplaceAll(strings.Join(s.sees(), " "), "*", ""))
		equal(t, "person sees", got, strings.Fields("one two three four five six seven eight nine ten. eleven"))
	})
}

// D7: the bot must not show an incomplete emoji. If half of an emoji were visible, a later process could put a question
// below it. If a tool call follows an emoji immediately, the emoji counts as complete.
func TestRegressionHalfAnEmojiIsNotShown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		s := live(t, p, p.endpoint(), streamed())
		s.says("one two three 👨\u200d👩", 2*time.Second)
		equal(t, "half of it came", s.sees(), []string{"one two three ▌"})
		s.again()
		s.asks("yes:1", "Really?", 2*time.Second)
		equal(t, "asked by the next process", s.sees(), []string{"one two three\n\nReally?"})
		s.slot.SetStatus(Status{})
		s.says("one two three 👨\u200d👩\u200d👧", 2*time.Second)
		s.asks("yes:2", "Really?", 2*time.Second)
		equal(t, "asked again", s.sees(), []string{"one two three 👨\u200d👩\u200d👧\n\nReally?"})
		s.slot.SetStatus(Status{})
		s.waits(2 * time.Second)
		equal(t, "decided", s.sees(), []string{"one two three 👨\u200d👩\u200d👧 ▌"})
		s.delivers(Ending{Text: "one two three 👨\u200d👩\u200d👧", Cut: true, Note: "Broken."}, "one two three 👨\u200d👩\u200d👧\n\nBroken.")
	})
}

// D12: a question does not fit into the last message before the file with the rest of the text, so the question needs
// its own message. The question must not end the last message before the file, because that message has room for more
// text.
func TestRegressionQuestionDoesNotFillTheLastPart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		e.Drafter, e.Streamer = nil, nil
		p.profile.TextLimit = 60
		c := streamed()
		c.MaxParts = 1
		s := live(t, p, e, c)
		s.says("one two three four five six seven ", 2*time.Second)
		s.asks("yes:1", "Do you really want that?", 2*time.Second)
		equal(t, "asked", s.sees(), []string{"one two three four five six seven ▌", "Do you really want that?"})
		s.slot.SetStatus(Status{})
		s.says("eight", 5*time.Second)
		equal(t, "decided", s.sees(), []string{"one two three four five six seven eight ▌"})
		s.delivers(Ending{Text: "one two three four five six seven eight"}, "one two three four five six seven eight")
	})
}

// F05: the create call for a text gets no response. The next process sends a question with the same key, and its create
// call gets no response either. The message must not be deleted as if it showed only the question.
func TestRegressionTextIsNotDeletedForAQuestionUnderItsKey(t *testing.T) {
	for name, transport := range map[string]Transport{"a message": Edit, "a stream": Native} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p, e := fullPlatform()
				p.profile.KeyFor = time.Hour
				p.fate = nth(map[int]fate{0: {hang: true, applied: true}, 1: {hang: true, applied: true}})
				c := streamed()
				c.Transport = transport
				s := live(t, p, e, c)
				s.says("one two three ", 2*time.Second)
				s.again()
				s.asks("yes:1", "Really?", 2*time.Second)
				s.again()
				s.ends(Ending{Keep: true})
				if got := s.sees(); len(got) != 1 || !strings.HasPrefix("one two three", got[0]) || got[0] == "" {
					t.Errorf("a person sees %q, want the text", got)
				}
				if n := s.count(chat.OpDelete); n > 0 {
					t.Errorf("%d messages were deleted", n)
				}
			})
		})
	}
}

// The call that begins a stream gets no response. Another create call with the same key makes a message with a
// question, but gets no response either. The next process must stop the possible stream and still remove the question.
func TestRegressionQuestionUnderTheKeyOfAStreamGoes(t *testing.T) {
	for name, cursor := range map[string]string{"with a cursor": " ▌", "without a cursor": ""} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p, e := fullPlatform()
				p.profile.KeyFor = time.Hour
				p.fate = nth(map[int]fate{0: {hang: true}, 1: {hang: true, applied: true}})
				c := streamed()
				c.Transport, c.Cursor = Native, cursor
				s := live(t, p, e, c)
				s.says("one two three ", 2*time.Second)
				s.again()
				s.says("one ", 0) // not enough text for a preview, if there is no question
				s.asks("yes:1", "Really?", 2*time.Second)
				if got := s.sees(); len(got) != 1 || !strings.HasSuffix(got[0], "Really?") {
					t.Fatalf("a person sees %q, want a question", got)
				}
				s.again()
				s.delivers(Ending{Keep: true}, "one")
			})
		})
	}
}

// D1: somebody stops a reply that consists of several messages. The create call for the first message got no response,
// so the bot must edit this message, but the edit fails. A new message replaces the first message and appears below the
// other messages. The bot must therefore send the other messages again, after the new one.
func TestRegressionStoppedWhereTheFirstPartCannotBeEdited(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		p.profile.TextLimit, p.profile.KeyFor = 60, time.Hour
		e.Drafter, e.Streamer, e.Filer = nil, nil, nil
		p.fate = func(c *call) fate {
			switch {
			case c.op == chat.OpSend && c.attempt == 0:
				return uncertain(true)
			case c.op == chat.OpEdit && c.id == "1":
				return fail(chat.Frozen)
			}
			return fate{}
		}
		s := beginAt(t, p, e, streamed(), "key")
		s.says("one two three", 100*ms)
		const text = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
		s.says(strings.TrimPrefix(text, "one two three"), 10*time.Second)
		if n := len(s.sees()); n != 3 {
			t.Fatalf("%d messages: %q", n, s.sees())
		}
		s.ends(Ending{Keep: true})
		equal(t, "person sees", strings.Fields(strings.Join(s.sees(), " ")), strings.Fields(text))
	})
}

// A question counts as visible once the platform has confirmed its message. A person's message from before that time
// can't be an answer to the question.
func TestRegressionQuestionIsVisibleOnceConfirmed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.fate = nth(map[int]fate{1: uncertain(false)})
		s := begin(t, p, streamed())
		s.says("one two three", 2*time.Second)
		s.asks("yes:1", "Really?", 100*ms)
		if !s.slot.Asked().IsZero() {
			t.Error("seen, though nobody knows whether it stands")
		}
		s.waits(5 * time.Second)
		if s.slot.Asked().IsZero() {
			t.Error("not seen, though it stands")
		}
		s.slot.SetStatus(Status{})
		s.delivers(Ending{Text: "final"}, "final")
	})
}

// The platform can't delete messages, and refuses once to edit a decided question. The bot must still remove the
// buttons of the question.
func TestRegressionButtonsAreRemovedAfterARefusal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		e := p.endpoint()
		e.Deleter = nil
		p.fate = func(c *call) fate {
			switch {
			case c.op == chat.OpSend && c.attempt == 0:
				return uncertain(true) // so that the question gets its own message
			case c.op == chat.OpEdit && c.attempt == 0:
				return fail(chat.Rejected)
			}
			return fate{}
		}
		s := live(t, p, e, streamed())
		s.says("one two three", 2*time.Second)
		s.asks("yes:1", "Really?", 2*time.Second)
		equal(t, "asked", p.buttons(), []string{"yes:1"})
		s.slot.SetStatus(Status{})
		s.waits(5 * time.Second)
		equal(t, "decided", p.buttons(), nil)
		s.ends(Ending{Keep: true})
	})
}

// D1: the platform refuses one part of a note as too long, and can't edit messages. The parts above the refused part
// must stay as they are. The rest of the note must appear below these parts, even if the next process sends it.
func TestRegressionNoteStaysAsItWasCut(t *testing.T) {
	for name, killed := range map[string]bool{"one process": false, "two": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.profile.TextLimit = 70
				fates := map[int]fate{2: fail(chat.TooLong)}
				if killed {
					fates[4] = tooMany(time.Hour)
				}
				p.fate = nth(fates)
				e := p.endpoint()
				e.Editor, e.Deleter = nil, nil
				s := live(t, p, e, Config{})
				ending := Ending{Text: "one two", Note: words + " " + words}
				if killed {
					s.slot.Finish(ending)
					s.waits(5 * time.Second)
					s.again()
				}
				s.delivers(ending,
					"one two", "one two three four five six seven eight nine ten eleven twelve",
					"thirteen fourteen one two three", "four five six seven eight nine ten", "eleven twelve thirteen fourteen")
			})
		})
	}
}

// D1: a chat got a new id, and only the second message of a reply is in the new chat. The next process sends the first
// message again in the new chat. The next process must therefore send the second message again, too, after the first.
func TestRegressionMessageOfTheNewChatFollowsWhatIsSentAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit = 20
		s := live(t, p, p.endpoint(), streamed())
		s.says("one two three four five", 5*time.Second)
		s.says(" six", 5*time.Second)
		old := s.sees()[0]
		for i := range s.notes.parts {
			if s.notes.parts[i].Index == 0 {
				s.notes.parts[i].Ref.Target.Chat = "before"
			}
		}
		s.again()
		s.ends(Ending{Text: "one two three four five six"})
		equal(t, "stands", s.sees(), []string{old, "one two three four", "five six"})
	})
}

// D1: a chat gets a new id while the last create call of a reply has no response. Somebody stops the reply when only
// its first message is in the new chat. The bot must not send the last message again in the new chat, because the
// message before it is missing there.
func TestRegressionCreateInTheOldChatIsNotRepeatedInTheNewOne(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprint("restarts ", restarts), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.profile.TextLimit, p.profile.KeyFor = 20, time.Hour
				moved := false
				p.fate = func(c *call) fate {
					switch {
					case moved && c.to == "a":
						return fate{err: &chat.SendError{Kind: chat.Moved, Moved: "b"}}
					case c.to == "b" && strings.HasPrefix(c.m.Text, "five"):
						return tooMany(time.Minute)
					case c.to == "a" && strings.HasPrefix(c.m.Text, "nine"):
						moved = true
						return uncertain(false)
					}
					return fate{}
				}
				l := live(t, p, p.endpoint(), streamed())
				l.says("one two three four five six seven nine ten eleven", 100*ms)
				e := Ending{Text: "One two three four five six seven nine ten eleven"}
				l.slot.Finish(e)
				l.waits(10 * time.Second)
				want := []string{"one two three four", "five six seven", "One two three four"}
				equal(t, "before", p.sees(), want)
				l.stopsAsShown(e, restarts)
				equal(t, "stands", p.sees(), want)
			})
		})
	}
}

// Somebody stops a reply while the bot edits its first message to a shorter final. The platform refuses this edit
// permanently. The stream at the end of the reply must not stay open.
func TestRegressionStoppedWhileTheLastMessageStreams(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		p.profile.TextLimit, p.latency = 36, 200*ms
		c := streamed()
		c.Transport = Native
		p.fate = func(c *call) fate {
			if c.op == chat.OpEdit && c.id == "1" {
				return fail(chat.Frozen)
			}
			return fate{}
		}
		s := beginAt(t, p, e, c, "key")
		const text = "one two three four five six seven eight nine"
		s.says(text+" ", 10*time.Second)
		s.slot.Finish(Ending{Text: "one two"})
		s.waits(100 * ms) // the edit of the first message has not arrived yet
		s.slot.Cut()
		s.waits(time.Hour)
		for _, m := range p.messages {
			if m.live && !m.deleted {
				t.Errorf("message %s still streams: %q", m.id, p.log())
			}
		}
		equal(t, "a person sees", strings.Fields(strings.Join(s.sees(), " ")), strings.Fields(text))
	})
}

// A chat got a new id. A superseded message is in the old chat. The next process must not try to delete this message.
// The next process must still delete the superseded message in the new chat.
func TestRegressionSupersededInBothChats(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit, p.profile.KeyFor = 20, time.Hour
		moved, refused := false, ""
		p.fate = func(c *call) fate {
			switch {
			case moved && c.to == "a":
				return fate{err: &chat.SendError{Kind: chat.Moved, Moved: "b"}}
			case c.op == chat.OpEdit && (c.to == "a" || string(c.id) == refused):
				moved = true
				return fail(chat.Frozen)
			case c.to == "b" && strings.HasPrefix(c.m.Text, "five") && refused == "":
				return tooMany(time.Minute)
			}
			return fate{}
		}
		l := live(t, p, p.endpoint(), streamed())
		l.says("one two three four", 100*ms)
		e := Ending{Text: "one two three four five six"}
		l.slot.Finish(e)
		l.waits(10 * time.Second)
		equal(t, "before", p.sees(), []string{"one two three four ▌", "one two three four"})
		refused = "2"
		l.again()
		l.delivers(e, "one two three four ▌", "one two three four", "five six")
	})
}

// A person stops a reply of which only a draft is visible. The draft's text turns out to be too long for one message,
// so it needs two. The process dies after it has sent the first. The next process knows the whole text, so it must keep
// the first message and send the second.
func TestRegressionKeptDraftInTwoMessages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		p.profile.TextLimit = 60
		p.fate = func(c *call) fate {
			switch {
			case c.op == chat.OpSend && len(c.m.Text) > 40:
				return fail(chat.TooLong)
			case c.op == chat.OpSend && c.attempt == 3: // the second message
				return fate{hang: true}
			}
			return fate{}
		}
		c := streamed()
		c.Transport = Draft
		l := live(t, p, e, c)
		l.says("one two three four\n\nfive six seven eight nine ten eleven ", 2*time.Second)
		stopped := Ending{Keep: true, Stopped: true}
		l.slot.Finish(stopped)
		l.waits(time.Second)
		l.again()
		l.delivers(stopped, "one two three four\n\nfive six", "seven eight nine ten eleven")
	})
}

// A person deletes the first message while the create call for the second message has no response. The process dies
// before it has sent the first message again. The next process sends the first message below the second. The next
// process must therefore send the second message again, below the first.
func TestRegressionDeletedAboveAnUncertainCreate(t *testing.T) {
	for name, again := range map[string]fate{"dies before the create": {err: &chat.SendError{Kind: chat.Temporary}}, "dies during the create": {hang: true}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.profile.TextLimit, p.profile.KeyFor = 20, time.Hour
				lives := 0
				p.fate = func(c *call) fate {
					switch {
					case c.op == chat.OpSend && lives == 1 && strings.HasPrefix(c.m.Text, "five"):
						return fate{hang: true, applied: true}
					case c.op == chat.OpSend && lives == 2:
						return again
					}
					return fate{}
				}
				e := p.endpoint()
				e.Finder = channel{p}
				lives = 1
				l := live(t, p, e, streamed())
				ending := Ending{Text: "one two three four five six"}
				l.says("one two three four", 100*ms)
				l.slot.Finish(ending)
				l.waits(3 * time.Second)
				p.removes("1")
				lives = 2
				l.again()
				l.slot.Finish(ending)
				l.waits(2 * time.Second)
				lives = 3
				l.again()
				l.slot.Finish(ending)
				<-l.ended
				equal(t, "person sees", p.sees(), []string{"one two three four", "five six"})
			})
		})
	}
}
