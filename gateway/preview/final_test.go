package preview

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// D9: after an interruption, the visible text stays and loses its cursor.
func TestInterrupted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := begin(t, newPerson(), streamed())
		s.says("one **two** three", 500*ms)
		s.says(" four", 100*ms)
		s.delivers(Ending{Keep: true, Text: "ignored"}, "one two three")
		equal(t, "calls", s.log(), []string{"0s send 1: one two three ▌", "600ms edit 1: one two three"})
		if s.out.Shown != "one **two** three" {
			t.Errorf("shown %q, want the Markdown of what stands", s.out.Shown)
		}
	})
}

func TestInterruptedBeforeAnything(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := begin(t, newPerson(), streamed())
		s.says("one", time.Second)
		s.delivers(Ending{Keep: true})
		if s.out.Shown != "" || len(s.out.Refs) != 0 || s.count(chat.OpAll) != 0 {
			t.Errorf("outcome %+v after %v, want nothing shown", s.out, s.log())
		}
	})
}

// D9, D5: an edit without a response may have made more text visible. If somebody then stops the reply, this text
// stays.
func TestInterruptedAfterAnEditOfUnknownOutcome(t *testing.T) {
	for _, applied := range []bool{true, false} {
		t.Run(map[bool]string{true: "applied", false: "not applied"}[applied], func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.fate = nth(map[int]fate{1: uncertain(applied), 2: fail(chat.Rejected)})
				s := begin(t, p, streamed())
				s.says("one two three", time.Second)
				s.says(" four", 100*ms)
				if o := s.ends(Ending{Keep: true}); o.Delivered {
					t.Errorf("outcome %+v, want it undelivered: its only edit was refused", o)
				}

				q := newPerson()
				q.fate = nth(map[int]fate{1: uncertain(applied), 2: tooMany(time.Minute)})
				s = begin(t, q, streamed())
				s.says("one two three", time.Second)
				s.says(" four", 100*ms)
				s.delivers(Ending{Keep: true}, "one two three four")
			})
		})
	}
}

// If the platform refuses the edit that removes the cursor, the bot repeats the edit as plain text.
func TestInterruptedAndMarkupRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.dialect = spanned{}
		p.fate = func(c *call) fate {
			if c.op == chat.OpEdit && len(c.m.Spans) > 0 {
				return fail(chat.Rejected)
			}
			return fate{}
		}
		s := begin(t, p, streamed())
		s.says("one **two** three", time.Second)
		s.delivers(Ending{Keep: true}, "one two three")
	})
}

// D9: after an error, the visible text stays. A note below the text says that the answer broke off. The note is outside
// any code block that the text left open.
func TestFailureHasANote(t *testing.T) {
	const note = "The answer broke off (7f3a)."
	for _, c := range []struct {
		name, text string
		limit      int
		want       []string
	}{
		{"below the text", "one two", 60, []string{"one two\n\n" + note}},
		{"behind an open fence", "```go\nx := 1", 60, []string{"x := 1\n\n" + note}},
		{"behind open emphasis", "one **two", 60, []string{"one two\n\n" + note}},
		{"alone", "", 60, []string{note}},
		{"of its own where it does not fit", "one two three four", 32, []string{"one two three four", note}},
		{"below the last part", "one two three four five six seven eight nine", 40, []string{"one two three four five six seven eight", "nine\n\n" + note}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.profile.TextLimit = c.limit
				s := begin(t, p, Config{})
				s.delivers(Ending{Text: c.text, Cut: true, Note: note}, c.want...)
			})
		})
	}
}

// A note with formatting appears below the text like any other note.
func TestFormattedNoteStandsBelow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.dialect = spanned{}
		s := begin(t, p, Config{})
		s.delivers(Ending{Text: "text", Note: "**note**"}, "text\n\nnote")
	})
}

// If the Markdown of a text renders to nothing, the bot shows the Markdown source.
func TestTextThatShowsNothing(t *testing.T) {
	for _, text := range []string{"[a]: https://example.org", "```\n```", "~~~~~~\n~~~~~~", "~~~~~~~~\n~~~~~~~~"} {
		t.Run(text, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := begin(t, newPerson(), Config{})
				s.delivers(Ending{Text: text}, text)
			})
		})
	}
}

func TestEmptyFinal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := begin(t, newPerson(), streamed())
		s.delivers(Ending{Text: " \n"})
	})
}

// F01, F02, F36: the final replaces the last preview, even if it is shorter or different.
func TestFinalReplacesThePreview(t *testing.T) {
	for _, final := range []string{"one", "quite another text", "one two three"} {
		t.Run(final, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := begin(t, newPerson(), streamed())
				s.says("one two three", time.Second)
				s.delivers(Ending{Text: final}, final)
			})
		})
	}
}

// F10: a text that starts over replaces the visible text in the same message.
func TestResetReplaces(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := begin(t, newPerson(), streamed())
		s.says("one two three", 1500*ms)
		s.slot.Reset()
		s.says("uno", 1500*ms)
		s.says(" due", 200*ms)
		s.delivers(Ending{Text: "uno due tre"}, "uno due tre")
		equal(t, "calls", s.log(), []string{
			"0s send 1: one two three ▌", "1.5s edit 1: uno ▌", "3s edit 1: uno due ▌", "3.2s edit 1: uno due tre",
		})
	})
}

// A text that starts over counts as new even if it has as many bytes as the earlier text.
func TestResetToTheSameLength(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := begin(t, newPerson(), streamed())
		s.says("one two three", 2*time.Second)
		s.slot.Reset()
		s.says("eno owt eerht", 2*time.Second)
		equal(t, "person sees", s.sees(), []string{"eno owt eerht ▌"})
		s.delivers(Ending{Text: "eno owt eerht"}, "eno owt eerht")
	})
}

// If the model discards its text before the first preview, people notice nothing.
func TestResetBeforeTheFirstDisplay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := begin(t, newPerson(), streamed())
		s.says("one two", time.Second)
		s.slot.Reset()
		s.says("three", time.Second)
		s.delivers(Ending{Text: "three four"}, "three four")
		equal(t, "calls", s.log(), []string{"2s send 1: three four"})
	})
}

const words = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"

// D8, F16: text that does not fit into one message continues in the next message at once. Full messages are not edited
// again.
func TestLongTextContinuesInTheNextMessage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit = 26 // room for 24 characters and the cursor
		s := begin(t, p, streamed())
		for w := range strings.SplitSeq(words, " ") {
			s.says(w+" ", 250*ms)
		}
		s.delivers(Ending{Text: words},
			"one two three four five", "six seven eight nine ten", "eleven twelve thirteen", "fourteen")
		equal(t, "calls", s.log(), []string{
			"500ms send 1: one two three ▌",
			"1.5s edit 1: one two three four five",
			"1.5s send 2: six ▌",
			"2.5s edit 2: six seven eight nine ten ▌",
			"3.5s edit 2: six seven eight nine ten",
			"3.5s send 3: eleven twelve thirteen",
			"3.5s send 4: fourteen ▌",
			"3.5s edit 4: fourteen",
		})
	})
}

// If the final text of a full part differs from the visible text, the bot edits this part again.
func TestFinalMayChangeASealedPart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit = 26
		s := begin(t, p, streamed())
		s.says(words, 2*time.Second)
		s.delivers(Ending{Text: strings.Replace(words, "two", "TWO", 1)},
			"one TWO three four five", "six seven eight nine ten", "eleven twelve thirteen", "fourteen")
		if got := s.count(chat.OpEdit); got != 2 {
			t.Errorf("%d edits, want the first part's and the cursor's:\n%s", got, strings.Join(s.log(), "\n"))
		}
	})
}

// D1: messages that a shorter final text does not need are deleted, after the other messages are correct (F05).
func TestSurplusPartsAreDeleted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit = 26
		p.fate = func(c *call) fate {
			if c.op == chat.OpDelete && c.attempt == 0 {
				return uncertain(false) // F18: a failed delete is repeated
			}
			return fate{}
		}
		s := begin(t, p, streamed())
		s.says(words, 5*time.Second)
		s.delivers(Ending{Text: "short"}, "short")
		equal(t, "calls", s.log()[4:], []string{
			"5s edit 1: short", "5s delete 2 (uncertain)", "5.5s delete 2", "5.5s delete 3", "5.5s delete 4",
		})
	})
}

// If a person has already deleted a surplus message, the bot's deletion fails, but the reply must still count as
// delivered.
func TestSurplusPartIsGone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit = 26
		p.fate = func(c *call) fate {
			if c.op == chat.OpDelete {
				return fail(chat.Gone)
			}
			return fate{}
		}
		s := begin(t, p, streamed())
		s.says("one two three four five six", 5*time.Second)
		s.removes("2")
		s.delivers(Ending{Text: "short"}, "short")
	})
}

// If a surplus message can't be deleted, at least its cursor is removed, and the reply does not count as delivered.
func TestSurplusWithoutDelete(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit = 26
		e := p.endpoint()
		e.Deleter = nil
		s := beginAt(t, p, e, streamed(), "key")
		s.says("one two three four five six", 5*time.Second)
		if o := s.ends(Ending{Text: "short"}); o.Delivered {
			t.Errorf("outcome %+v, want it undelivered", o)
		}
		equal(t, "person sees", s.sees(), []string{"short", "six"})
	})
}

func TestSurplusRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit = 26
		p.fate = func(c *call) fate {
			if c.op == chat.OpDelete {
				return fail(chat.Rejected)
			}
			return fate{}
		}
		s := begin(t, p, streamed())
		s.says("one two three four five six", 5*time.Second)
		if o := s.ends(Ending{Text: "short"}); o.Delivered || o.Err == nil {
			t.Errorf("outcome %+v, want it undelivered", o)
		}
		if n := s.count(chat.OpDelete); n != 1 {
			t.Errorf("%d deletes, want 1", n)
		}
	})
}

// If the model starts over after a message became full, there are no more previews, because only the final text may
// change full messages.
func TestResetAfterASeal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit = 26
		s := begin(t, p, streamed())
		s.says("one two three four five six", 2*time.Second)
		n := s.count(chat.OpAll)
		s.slot.Reset()
		s.says("a b c d e f g h i j k l m n o p", time.Minute)
		if got := s.count(chat.OpAll); got != n {
			t.Errorf("%d previews after the reset, want none", got-n)
		}
		s.delivers(Ending{Text: "a b c d e f g h i j k l m n o p"}, "a b c d e f g h i j k l", "m n o p")
	})
}

// F15: if the call for one of several messages fails, the bot sends only this message again.
func TestOnlyTheFailedPartIsRepeated(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit = 24
		p.fate = nth(map[int]fate{1: tooMany(time.Minute), 2: fail(chat.Temporary)})
		s := begin(t, p, Config{})
		s.delivers(Ending{Text: words},
			"one two three four five", "six seven eight nine ten", "eleven twelve thirteen", "fourteen")
		equal(t, "calls", s.log(), []string{
			"0s send 1: one two three four five",
			"0s send: six seven eight nine ten (rate limited)",
			"1m0s send: six seven eight nine ten (temporary)",
			"1m1s send 2: six seven eight nine ten",
			"1m1s send 3: eleven twelve thirteen",
			"1m1s send 4: fourteen",
		})
		if c := p.calls[5].m; c.Key != "key.3" || c.ReplyTo != "" {
			t.Errorf("last part has key %q and replies to %q, want its own key and no reply", c.Key, c.ReplyTo)
		}
	})
}

// F16: the call that sends the second piece of a long text fails. The bot must send the same piece again, and not begin
// at the start of the text.
func TestFailedContinuation(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit = 26
		p.fate = nth(map[int]fate{1: fail(chat.Temporary)})
		s := begin(t, p, streamed())
		s.says("one two three four five six", 5*time.Second)
		s.delivers(Ending{Text: "one two three four five six"}, "one two three four five", "six")
		equal(t, "calls", s.log(), []string{
			"0s send 1: one two three four five",
			"0s send: six ▌ (temporary)",
			"1s send 2: six ▌",
			"5s edit 2: six",
		})
	})
}

// F06, F15: a message that is too long, and the messages after it, become shorter. The visible messages before this
// message stay unchanged, even if the platform can't edit messages.
func TestTooLongPartIsCutAlone(t *testing.T) {
	for _, note := range []string{"", "note"} {
		t.Run(note, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.profile.TextLimit = 70
				p.fate = nth(map[int]fate{1: fail(chat.TooLong)})
				e := p.endpoint()
				e.Editor, e.Deleter = nil, nil
				s := beginAt(t, p, e, Config{}, "key")
				want := []string{
					"one two three four five six seven eight nine ten eleven twelve",
					"thirteen fourteen one two three", "four five six seven eight nine ten", "eleven twelve thirteen fourteen",
				}
				if note != "" {
					want = append(want, note)
				}
				s.delivers(Ending{Text: words + " " + words, Note: note}, want...)
			})
		})
	}
}

// A note that is too long is shortened, and the text above it stays unchanged.
func TestTooLongNote(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit = 70
		p.fate = nth(map[int]fate{1: fail(chat.TooLong)})
		s := begin(t, p, Config{})
		s.delivers(Ending{Text: "one two three four five six", Note: "one two three four five six seven eight nine"},
			"one two three four five six", "one two three four five six seven", "eight nine")
	})
}

// D6: a message that a person deleted is not sent again below later messages. If a person deleted all messages, all are
// sent again.
func TestDeletedParts(t *testing.T) {
	for _, c := range []struct {
		name    string
		removed []chat.MessageID
		want    []string
	}{
		{"first", []chat.MessageID{"1"}, []string{"SIX"}},
		{"last", []chat.MessageID{"2"}, []string{"ONE two three four five", "SIX"}},
		{"all", []chat.MessageID{"1", "2"}, []string{"ONE two three four five", "SIX"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.profile.TextLimit = 26
				s := begin(t, p, streamed())
				s.says("one two three four five six", 5*time.Second)
				for _, id := range c.removed {
					s.removes(id)
				}
				s.delivers(Ending{Text: "ONE two three four five SIX"}, c.want...)
			})
		})
	}
}

// Sending to a deleted thread fails. The reply must not conclude from this failure that a person deleted its preview.
func TestSendToADeletedThread(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.fate = func(*call) fate { return fail(chat.Gone) }
		s := begin(t, p, streamed())
		s.says("one two three", time.Minute)
		if o := s.ends(Ending{Text: "final"}); o.Delivered || chat.AsSendError(o.Err).Kind != chat.Gone {
			t.Errorf("outcome %+v, want it undelivered", o)
		}
		if n := s.count(chat.OpAll); n != 2 {
			t.Errorf("%d calls, want 2", n)
		}
	})
}

func TestSlot(t *testing.T) {
	t.Parallel()
	s := NewSlot()
	if s.Text() != "" || !reflect.DeepEqual(s.Ending(), Ending{}) {
		t.Errorf("a new slot has %q and %+v", s.Text(), s.Ending())
	}
	s.Append("a", 1)
	s.Append("b", 2)
	if v, e := s.load(); v.Text != "ab" || v.Tokens != 3 || e != nil || s.Text() != "ab" {
		t.Errorf("got %+v and %v, want ab, 3 tokens, no ending", v, e)
	}
	s.Reset()
	s.Finish(Ending{Text: "first"})
	s.Finish(Ending{Text: "second"})
	if v, _ := s.load(); v.Text != "" || v.Tokens != 0 || v.Resets != 1 || s.Ending().Text != "first" {
		t.Errorf("got %+v and %+v, want no text and the first ending", v, s.Ending())
	}
}

// An earlier process already showed the whole final text. The next process must send nothing, whatever the last line of
// the text is.
func TestNothingFollowsAWholeFinal(t *testing.T) { // D1
	t.Parallel()
	const text = "&amp; *- [ ] task\n*<b>```\n\\**👨‍👩‍👧 ===\nwords and more of them, words and more of them, ```\n| 1 | 2 |\n" +
		"[link](https://example.org) ```go\n*\n|---|---|"
	s := state{place: place{dialect: markup.Plain{}, limit: 109}, ending: &Ending{Text: text}}
	want := s.layoutText()
	if s.cuts = []int{109}; len(want) != 1 {
		t.Fatalf("it has %d parts, so this tests nothing", len(want))
	}
	if got := s.layoutText(); len(got) != 1 || got[0].Rendered.Text != want[0].Rendered.Text {
		t.Errorf("sent once: %d parts, the last is %q", len(got), got[len(got)-1].Rendered.Text)
	}
}

// The platform refuses the final text. Somebody stops the reply while its message still has a cursor. The bot must
// remove the cursor, although the platform refused the final text.
func TestStoppedAfterARefusal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.Limits = []chat.Limit{{Scope: chat.ScopeMessage, Ops: chat.OpEdit, Count: 1, Window: 5 * time.Second, Burst: 1}}
		p.fate = func(c *call) fate {
			if strings.HasSuffix(c.m.Text, "four") {
				return fail(chat.Rejected)
			}
			return fate{}
		}
		s := begin(t, p, streamed())
		s.says("one two three", 6*time.Second)
		s.slot.Finish(Ending{Text: "one two three four"})
		s.waits(time.Second)
		s.slot.Cut()
		s.waits(time.Minute)
		equal(t, "stands", s.sees(), []string{"one two three"})
	})
}

// The first message can't be edited, so a new message replaces it. To keep the order, a new message must also replace
// the second message. The platform refuses this new message, so the bot only removes the cursor of the second message.
func TestReplacementIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit = 20
		p.fate = func(c *call) fate {
			switch {
			case c.op == chat.OpEdit && strings.HasPrefix(c.m.Text, "ONE"):
				return fail(chat.Frozen)
			case c.op == chat.OpSend && !c.m.Preview && strings.HasPrefix(c.m.Text, "five"):
				return fail(chat.Rejected)
			}
			return fate{}
		}
		s := begin(t, p, streamed())
		s.says("one two three four five", 5*time.Second)
		s.says(" six", 5*time.Second)
		s.ends(Ending{Text: "ONE two three four five six seven eight"})
		equal(t, "stands", s.sees(), []string{"five six", "ONE two three four", "eight"})
	})
}

// A new process knows the text only from the records of an earlier process. Somebody stops the reply after the edit of
// the first message, which then shows the whole final text. The bot must delete the second message.
func TestStoppedAtASeamAfterARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit, p.latency = 40, time.Second
		l := live(t, p, p.endpoint(), streamed())
		l.says("one two three", 5*time.Second)
		l.slot.SetStatus(question("yes:1", "May I do this for you now?")) // the question is shown in its own message
		time.Sleep(5 * time.Second)
		l.slot.SetStatus(Status{})
		l.says(" four five", 5*time.Second)
		l.again()
		l.slot.Reset()
		l.slot.Finish(Ending{Text: "one two three four five"})
		time.Sleep(700 * time.Millisecond) // the edit of the first message has not arrived yet
		l.slot.Cut()
		<-l.ended
		equal(t, "stands", p.sees(), []string{"one two three four five"})
	})
}

// D7: the edit to the final text gets no response, and then the platform refuses that text permanently. The earlier
// text must stay visible and lose its cursor.
func TestAFinalOfUnknownOutcomeIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		s := begin(t, p, streamed())
		s.says("one ", 5*time.Second)
		kind := chat.Uncertain
		p.fate = func(c *call) fate {
			if c.op != chat.OpEdit || !strings.Contains(c.m.Text, "three") {
				return fate{}
			}
			defer func() { kind = chat.Rejected }()
			return fail(kind)
		}
		s.ends(Ending{Text: "one two three"})
		equal(t, "stands", s.sees(), []string{"one"})
	})
}

// The platform refuses the edit to the final text temporarily. After the refusal, somebody stops the reply, and the
// process dies. The next process must know that people still see the previews.
func TestStoppedBeforeTheFinalWasShown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit = 40
		l := live(t, p, p.endpoint(), streamed())
		l.says("one two three", 5*time.Second)
		l.slot.SetStatus(question("yes:1", "May I do this for you now?")) // the question is shown in its own message
		time.Sleep(5 * time.Second)
		l.slot.SetStatus(Status{})
		l.says(" four five", 5*time.Second)
		p.fate = func(*call) fate { return tooMany(time.Minute) }
		l.slot.Finish(Ending{Text: "one two three four five"})
		time.Sleep(time.Second)
		l.slot.Cut()
		time.Sleep(time.Second)
		p.fate = nil
		l.again()
		l.slot.Finish(Ending{Keep: true})
		<-l.ended
		equal(t, "stands", p.sees(), []string{"one two three", "four five"})
	})
}

// Somebody stops the reply when some messages show the final text and later messages still show previews. The process
// dies before it can lay out the later messages again, so the next process must do this.
func TestStoppedAtASeamBeforeARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit = 40
		l := live(t, p, p.endpoint(), streamed())
		l.says("one two three", 5*time.Second)
		l.slot.SetStatus(question("yes:1", "May I do this for you now?")) // the question is shown in its own message
		time.Sleep(5 * time.Second)
		l.slot.SetStatus(Status{})
		l.says(" four five", 5*time.Second)
		p.fate = func(c *call) fate {
			if c.op == chat.OpEdit && c.m.Text == "one two three four five" {
				return fate{}
			}
			return tooMany(time.Minute)
		}
		l.slot.Finish(Ending{Text: "one two three four five"})
		time.Sleep(time.Second)
		l.slot.Cut()
		time.Sleep(time.Second)
		p.fate = nil
		l.again()
		l.slot.Finish(Ending{Keep: true})
		<-l.ended
		equal(t, "stands", p.sees(), []string{"one two three four five"})
	})
}

// A rate limit delays the final text, and the process dies. Then somebody stops the reply, and the platform refuses the
// final text, which is already in the message's record. The bot must show a shorter text instead, so that the cursor
// disappears.
func TestARecordedFinalIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		l := live(t, p, p.endpoint(), streamed())
		l.says("one two ", 5*time.Second)
		p.fate = func(*call) fate { return tooMany(time.Minute) }
		l.slot.Finish(Ending{Text: "one two three four five six"})
		time.Sleep(time.Second)
		l.again()
		p.fate = func(c *call) fate {
			if strings.Contains(c.m.Text, "six") {
				return fail(chat.Rejected)
			}
			return fate{}
		}
		l.slot.Finish(Ending{Keep: true})
		<-l.ended
		equal(t, "stands", p.sees(), []string{"one two"})
	})
}

// Somebody stops a reply while it is unknown whether its first message shows the final text. The bot must edit that
// message and all later messages again.
func TestStoppedAtAPossibleSeam(t *testing.T) {
	bothWays(t, func(t *testing.T, applied bool) {
		p := newPerson()
		p.profile.TextLimit = 20
		s := begin(t, p, streamed())
		s.says("one two three", 5*time.Second)
		s.asks("yes:1", "May I do this?", 5*time.Second) // the question is shown in its own message
		s.slot.SetStatus(Status{})
		s.says("fourteen five", 5*time.Second)
		p.fate = func(c *call) fate {
			if c.op == chat.OpEdit && c.m.Text == "one two" && !s.slot.IsCut() {
				s.slot.Cut()
				return fate{err: &chat.SendError{Kind: chat.Uncertain}, applied: applied}
			}
			return fate{}
		}
		s.slot.Finish(Ending{Text: "one two threefourteen five"})
		s.waits(time.Minute)
		equal(t, "stands", s.sees(), []string{"one two", "threefourteen five"})
	})
}
