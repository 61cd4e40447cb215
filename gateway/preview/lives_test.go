package preview

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"telex/internal/chat"
)

// Somebody stops a reply, and the platform refuses its texts as too long, so the bot sends them again in shorter
// messages. The process dies while it sends one of the shorter messages. The next process must find all words in the
// records (D7).
func TestKilledWhileSentAgainInShorterMessages(t *testing.T) {
	const first = "one two three four five six seven eight nine ten eleven twelve thirteen"
	const second = "fourteen fifteen sixteen"
	for killed := 1; killed <= 4; killed++ {
		for _, applied := range []bool{false, true} {
			t.Run(fmt.Sprint("call ", killed, ", applied ", applied), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					p := newPerson()
					p.profile.TextLimit, p.profile.KeyFor = 80, time.Hour
					l := live(t, p, p.endpoint(), streamed())
					l.says(first+" "+second, 10*time.Second)
					equal(t, "the previews", p.sees(), []string{first, second + " ▌"})
					l.again() // the new process does not know for certain what the first message shows
					calls := 0
					p.fate = func(c *call) fate {
						switch calls++; {
						case len(c.m.Text) > 40:
							calls--
							return fail(chat.TooLong)
						case calls == killed:
							return fate{hang: true, applied: applied}
						}
						return fate{}
					}
					l.slot.Finish(Ending{Keep: true})
					l.waits(10 * time.Second)
					l.again()
					l.slot.Finish(Ending{Keep: true})
					l.waits(time.Hour)
					if got := strings.Join(p.sees(), " "); got != first+" "+second {
						t.Errorf("a person sees %q", p.sees())
					}
				})
			})
		}
	}
}

// The platform refuses the final text of a message as too long, and the bot sends the next message. Then the process
// dies, and somebody stops the reply. The next process must know which text the first message shows, even if the
// platform refuses this text as too long (D1).
func TestRefusedAsTooLongBeforeARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit = 80
		const first, second = "one two three four five six seven eight", "nine ten eleven twelve thirteen fourteen"
		config := streamed()
		config.Cursor = ""
		l := live(t, p, p.endpoint(), config)
		l.says(first, 10*time.Second)
		p.fate = func(c *call) fate {
			switch {
			case len(c.m.Text) > 40:
				return fail(chat.TooLong)
			case strings.HasPrefix(c.m.Text, "sixteen"):
				return tooMany(time.Minute)
			}
			return fate{}
		}
		l.slot.Finish(Ending{Text: first + " " + second + " sixteen seventeen"})
		l.waits(10 * time.Second)
		l.again()
		l.slot.Finish(Ending{Keep: true})
		l.waits(time.Hour)
		if got := strings.Join(p.sees(), " "); got != first+" "+second {
			t.Errorf("a person sees %q", p.sees())
		}
	})
}

// The first of two messages already shows the final when somebody stops the reply. The records no longer contain the
// Markdown of this message. The platform refuses the text of the first message as too long, so the bot must send this
// text and the text of the second message again (D7).
func TestRefusedAsTooLongWhereOneMessageShowsTheFinal(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprint("restarts ", restarts), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.profile.TextLimit = 60
				const first, second = "one two three four five six seven eight nine ten eleven", "twelve thirteen fourteen"
				l := live(t, p, p.endpoint(), streamed())
				l.says(first+" "+second, 10*time.Second)
				equal(t, "the previews", p.sees(), []string{first, second + " ▌"})
				edits := 0
				p.fate = func(c *call) fate {
					switch edits++; {
					case edits == 1:
						return fate{hang: true, applied: true}
					case len(c.m.Text) > 40:
						return fail(chat.TooLong)
					}
					return fate{}
				}
				e := Ending{Text: strings.ToUpper(first) + " " + second}
				l.slot.Finish(e)
				l.waits(time.Second)
				l.stopsAsShown(e, restarts)
				if got := strings.Join(p.sees(), " "); !strings.EqualFold(got, first+" "+second) {
					t.Errorf("a person sees %q", p.sees())
				}
			})
		})
	}
}

// Somebody stops the reply while the create call for the second message has no response. The bot repeats this create
// call, and the platform refuses it as too long. The first message can't be edited but stays visible, so its words must
// not be sent again (D1).
func TestSentAgainBehindWhatCannotBeEdited(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit, p.profile.KeyFor = 80, time.Hour
		e := p.endpoint()
		e.Editor = nil
		const first = "one two three four five six seven eight nine ten"
		second := strings.Repeat("long", 18)
		p.fate = func(c *call) fate {
			switch {
			case strings.HasPrefix(c.m.Text, "long") && len(p.calls) == 2:
				return fate{hang: true}
			case strings.HasPrefix(c.m.Text, "long") && len(c.m.Text) > 40:
				return fail(chat.TooLong)
			}
			return fate{}
		}
		s := beginAt(t, p, e, streamed(), "key")
		s.slot.Finish(Ending{Text: first + "\n\n" + second})
		s.waits(time.Second)
		s.slot.Cut()
		s.waits(time.Hour)
		equal(t, "a person sees", p.sees(), []string{first, second[:40], second[40:]})
	})
}

// killSchedule describes a reply during which processes die, on a platform where no call fails.
type killSchedule struct {
	schedule
	kills []bool // for each delta, whether the process dies after it
}

func killSchedules(t *rapid.T) killSchedule {
	c := killSchedule{schedule: schedules(t)}
	c.fates, c.removes, c.profile.Limits, c.profile.KeyFor = nil, 0, nil, 0
	switch c.finds = c.edits && rapid.Bool().Draw(t, "finds always"); {
	case c.finds:
	case c.edits && c.config.Transport != Native && rapid.Bool().Draw(t, "keyed"):
		c.profile.KeyFor = 24 * time.Hour
	default:
		c.latency = 0 // no process dies during a call, so no call has an unknown outcome
	}
	for range c.deltas {
		c.kills = append(c.kills, rapid.IntRange(0, 7).Draw(t, "kill") == 7)
	}
	if n := len(c.kills); n > 0 {
		c.kills[rapid.IntRange(0, n-1).Draw(t, "surely")] = true
	}
	return c
}

// play plays the reply and returns the errors in what people see at the end. play can expect exact messages, because
// the outcome of every call can be learned.
func (c killSchedule) play(t *testing.T) (wrong []string) {
	p := newPerson()
	p.profile, p.dialect, p.latency = c.profile, c.dialect, c.latency
	e := p.endpoint()
	e.Drafter, e.Streamer = channel{p}, channel{p}
	if !c.edits {
		e.Editor, e.Drafter, e.Streamer = nil, nil, nil
	}
	if !c.deletes {
		e.Deleter = nil
	}
	if c.finds {
		e.Finder = channel{p}
	}
	if c.files {
		e.Filer = channel{p}
	}
	l := live(t, p, e, c.config)
	for i, d := range c.deltas {
		c.tell(l.slot, i, d.works)
		l.says(d.text, d.after)
		if c.kills[i] {
			l.again()
		}
	}
	l.slot.Finish(c.ending)
	<-l.ended
	l.cancel()
	synctest.Wait()
	wrong = append(wrong, p.wrong...)
	var got []chat.Outgoing
	for _, m := range p.messages {
		if m.deleted || isQuestion(m.versions[0].Key) && !c.deletes {
			continue
		}
		if got = append(got, m.now()); len(m.now().Actions) > 0 {
			wrong = append(wrong, fmt.Sprintf("buttons stand below %q", m.now().Text))
		}
	}
	switch {
	case !l.out.Delivered:
		wrong = append(wrong, fmt.Sprintf("not delivered: %+v", l.out))
	case c.ending.Keep:
		wrong = append(wrong, c.judgeKept(p, got, l.out, false)...)
	default:
		again := c.judgeFinal(p, got, false, false)
		if len(again) > 0 && c.config.Transport == Native {
			again = c.judgeFinal(p, got, false, true)
		}
		if len(again) > 0 && squeeze(got) == squeeze(c.wanted()) { // the text may be split as before the restart
			again = nil
		}
		wrong = append(wrong, again...)
	}
	if len(wrong) > 0 {
		wrong = append(wrong, "calls:\n\t"+strings.Join(p.logOf(chat.OpAll&^chat.OpTyping), "\n\t"))
	}
	return wrong
}

// wanted returns the messages of the final text.
func (c killSchedule) wanted() (list []chat.Outgoing) {
	for _, w := range c.final(false) {
		list = append(list, chat.Outgoing{Text: w.Rendered.Text})
	}
	return list
}

// The method tell sets the status that the turn has during delta i. Each question has its own button.
func (killSchedule) tell(slot *Slot, i, works int) {
	switch works {
	case 6:
		slot.SetStatus(Status{Thought: "Hmm, *let* me @see.", ThoughtSince: time.Now()})
	case 7:
		slot.SetStatus(working("⚙ a tool", "⚙ another"))
	case 8:
		slot.SetStatus(question(fmt.Sprint("yes:", i), "Really?"))
	case 9:
		slot.SetStatus(Status{})
	}
}

// D1, D9, D10: processes die at random times. No question, thought or file of an earlier process may stay, or block the
// next process.
func TestProcessesThatDieAnywhere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := killSchedules(rt)
		var wrong []string
		synctest.Test(t, func(t *testing.T) { wrong = c.play(t) })
		if len(wrong) > 0 {
			rt.Fatal(strings.Join(wrong, "\n"))
		}
	})
}

// After a crash, the next process gets the text from its beginning. The next process must make no call until its text
// is longer than the visible text. After a call, the process would have to wait for an interval before it could show
// new text.
func TestNoCallForTheTextThatAnEarlierProcessShowed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		s := live(t, p, p.endpoint(), streamed())
		s.says("one two three", 5*time.Second)
		s.again()
		calls := len(s.calls)
		for _, word := range []string{"one", " two", " three"} { // with the last word, the new text equals the visible text
			s.says(word, 3*time.Second)
		}
		if more := len(s.calls) - calls; more > 0 {
			t.Errorf("%d calls before there was more to show", more)
		}
		s.says(" four", 200*time.Millisecond)
		equal(t, "at once a person sees", s.sees(), []string{"one two three four ▌"})
		if o := s.ends(Ending{Text: "one two three four"}); !o.Delivered {
			t.Errorf("outcome %+v", o)
		}
	})
}

// The model writes another text in the next process. It is unknown where in this text the message after a full message
// begins. Therefore, the full message gets no more previews, and only the final may edit it.
func TestPartThatAnEarlierProcessSealed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit, p.profile.KeyFor = 100, time.Hour
		sends := 0
		p.fate = func(c *call) fate {
			if c.op == chat.OpSend {
				sends++
			}
			return fate{hang: c.op == chat.OpSend && sends == 2} // the process dies while it creates the second message
		}
		s := live(t, p, p.endpoint(), streamed())
		s.says(strings.TrimSpace(strings.Repeat("word ", 40)), 10*time.Second)
		sealed := s.sees()
		if len(sealed) != 1 || len(sealed[0]) < 90 || strings.Contains(sealed[0], "▌") {
			t.Fatalf("before it dies a person sees %q", sealed)
		}
		s.again()
		other := strings.TrimSpace(strings.Repeat("other ", 25))
		s.says(other, 10*time.Second)
		equal(t, "while the next process writes", s.sees(), sealed)
		if o := s.ends(Ending{Text: other}); !o.Delivered || strings.Join(s.sees(), " ") != other {
			t.Errorf("outcome %+v, sees %q", o, s.sees())
		}
	})
}

// D5: create calls for a message get no response. The bot must make at most two create calls for this message, even if
// the process dies afterwards and later messages are already visible.
func TestAbandonedPartIsNotRepeatedByTheNextProcess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit = 20
		e := p.endpoint()
		e.Editor, e.Deleter, e.Typer = nil, nil, nil
		creates := 0
		p.fate = func(c *call) fate {
			if strings.HasPrefix(c.m.Text, "one") {
				creates++
				return fail(chat.Uncertain)
			}
			return fate{hang: strings.HasPrefix(c.m.Text, "seven")} // the process dies here
		}
		l := live(t, p, e, Config{})
		final := Ending{Text: "one two three four five six seven eight nine ten"}
		l.slot.Finish(final)
		l.waits(20 * time.Second)
		l.again()
		l.slot.Finish(final)
		l.waits(time.Minute)
		if creates != 2 {
			t.Errorf("the first part was sent %d times, want 2", creates)
		}
	})
}
