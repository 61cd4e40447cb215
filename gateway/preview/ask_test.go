package preview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"telex/internal/chat"
)

// memoryRecorder is a Recorder in memory, which outlives the simulated processes that show the reply.
type memoryRecorder struct {
	parts []chat.Part
	first func()       // called once, while a part is being recorded; may be nil
	most  atomic.Int32 // number of calls that may still store something, plus one; 0: no limit
	moved chat.ChatID  // new id of the chat; empty: the chat keeps its id
}

func (n *memoryRecorder) Edited(p chat.Part) { _ = n.Record(context.Background(), p) }

func (n *memoryRecorder) Record(_ context.Context, parts ...chat.Part) error {
	if first := n.first; first != nil {
		n.first = nil
		first()
	}
	switch n.most.Load() {
	case 0:
	case 1:
		return errors.New("the process is dead")
	default:
		n.most.Add(-1)
	}
	for _, p := range parts {
		n.parts = slices.DeleteFunc(n.parts, func(q chat.Part) bool { return q.Index == p.Index })
		n.parts = append(n.parts, p)
	}
	return nil
}

func (n *memoryRecorder) Moved(_ context.Context, to chat.ChatID) error {
	n.moved = to
	return nil
}

// lives is a reply that several processes work on, one after the other.
type lives struct {
	*story
	notes  *memoryRecorder
	ep     Endpoint
	config Config
	shared bool          // the store is shared with processes that do not end when the next one starts
	stops  chan struct{} // closed when the process stops

	troubled atomic.Bool // the reply has reported trouble, so the conversation may continue before the ending is shown
}

func live(t *testing.T, p *person, e Endpoint, c Config) *lives {
	t.Helper()
	l := &lives{story: &story{person: p, t: t}, notes: &memoryRecorder{}, ep: e, config: c, stops: make(chan struct{})}
	l.again()
	return l
}

// The method again kills any running process and starts a new one, in which the turn sets only the statuses told.
func (l *lives) again(told ...Status) {
	if l.cancel != nil {
		l.cancel()
		<-l.ended
		l.reborn = len(l.calls)
	}
	ctx, cancel := context.WithCancel(l.t.Context())
	l.slot, l.cancel, l.ended = NewSlot(), cancel, make(chan struct{})
	var taken time.Time
	if l.shared {
		taken = time.Now()
	}
	r := New(Options{
		Taken: taken, Stopping: l.stops, Troubled: l.troubled.Store, Endpoint: l.ep, Config: l.config, To: chat.Target{Chat: cmp.Or(l.notes.moved, "a")}, Key: "key", Slot: l.slot,
		Recorder: l.notes, Parts: slices.Clone(l.notes.parts), Log: slog.New(slog.DiscardHandler),
	})
	for _, status := range told {
		l.slot.SetStatus(status)
	}
	ended := l.ended
	go func() {
		defer close(ended)
		l.out = r.Run(ctx)
	}()
	synctest.Wait()
}

// stopsAsShown stops a reply, keeps what is visible, and then waits for an hour. If restarts is true, a new process
// stops the reply, with the ending e. If restarts is false, the process that shows the final stops the reply.
func (l *lives) stopsAsShown(e Ending, restarts bool) {
	if e.Keep = true; restarts {
		l.again()
		l.slot.Finish(e)
	} else {
		l.slot.Cut()
	}
	l.waits(time.Hour)
}

// question returns a status that asks a person, with a button that has this id.
func question(id, text string) Status {
	return Status{Lines: strings.Split(text, "\n"), Since: time.Now(), Urgent: true, Actions: []chat.Action{{ID: id, Label: "Yes"}}}
}

// asks sets a question as the status of the turn and waits.
func (s *story) asks(id, text string, wait time.Duration) {
	s.slot.SetStatus(question(id, text))
	s.waits(wait)
}

// buttons returns the visible buttons, each with the text of its message.
func (p *person) buttons() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, m := range p.messages {
		for _, a := range m.now().Actions {
			if !m.deleted {
				out = append(out, a.ID)
			}
		}
	}
	return out
}

// Without streaming, the bot sends a message with the question, and later replaces the question with the final text.
func TestQuestionWithoutStreaming(t *testing.T) {
	for text, gone := range map[string]string{"one": "one", "": placeholder} {
		t.Run(text, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				s := begin(t, p, Config{Cursor: " ▌", Progress: true, Button: &chat.Action{ID: "stop"}, ButtonAlways: true})
				s.slot.Append(text, 10)
				s.waits(10 * time.Second)
				equal(t, "before it asks", s.sees(), nil)
				s.asks("yes:1", "Really?", time.Second)
				equal(t, "asked", s.sees(), []string{strings.TrimLeft(text+"\n\nReally?", "\n")})
				equal(t, "buttons", p.buttons(), []string{"yes:1"})
				s.slot.SetStatus(working("⚙ at work"))
				s.waits(10 * time.Second)
				equal(t, "decided", s.sees(), []string{gone})
				equal(t, "buttons", p.buttons(), nil)
				s.slot.Append(" and more", 10)
				s.waits(10 * time.Second)
				equal(t, "no other preview", s.sees(), []string{gone})
				s.delivers(Ending{Text: "the final"}, "the final")
				if n := s.count(chat.OpSend); n != 1 {
					t.Errorf("%d messages", n)
				}
			})
		})
	}
}

// If the platform can't edit messages, a question is shown in a message of its own, which is not part of the reply.
func TestQuestionWhereNothingCanBeEdited(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		e := Endpoint{Sender: p, Typer: p, Budget: p.endpoint().Budget}
		s := live(t, p, e, streamed())
		s.says("one two three", time.Second)
		s.asks("yes:1", "Really?", 10*time.Minute)
		equal(t, "asked", s.sees(), []string{"Really?"})
		s.slot.SetStatus(Status{})
		s.waits(time.Minute)
		s.asks("yes:2", "Really?", time.Minute) // the same words, but about another tool call
		equal(t, "buttons", p.buttons(), []string{"yes:1", "yes:2"})
		s.again()
		s.asks("yes:3", "Really?", time.Minute)
		s.delivers(Ending{Text: "one two three"}, "Really?", "Really?", "Really?", "one two three")
		if n := len(s.out.Refs); n != 1 {
			t.Errorf("the reply has %d messages, want 1", n)
		}
	})
}

// If the create call for a question gets no response, the question is sent once more. This failed call does not count
// toward the create calls that are allowed for the reply's text.
func TestQuestionOfUnknownOutcome(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.fate = nth(map[int]fate{0: uncertain(false), 1: uncertain(true)})
		s := live(t, p, Endpoint{Sender: p, Budget: p.endpoint().Budget}, streamed())
		s.asks("yes:1", "Really?", time.Minute)
		s.delivers(Ending{Text: "final"}, "Really?", "final")
		if !s.out.Doubt {
			t.Error("no doubt about the question that may be visible twice")
		}
	})
}

// Drafts can't show buttons, so the bot asks in a message, and later edits this message to show the final text.
func TestQuestionDuringADraft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		s := beginVia(t, p, e, Draft)
		s.says("one two three", 1200*ms)
		equal(t, "a draft", s.sees(), nil)
		s.asks("yes:1", "Really?", time.Minute)
		equal(t, "asked", s.sees(), []string{"one two three\n\nReally?"})
		equal(t, "buttons", p.buttons(), []string{"yes:1"})
		s.slot.SetStatus(Status{})
		s.says(" four", time.Minute)
		equal(t, "decided", s.sees(), []string{"one two three four ▌"})
		s.delivers(Ending{Text: "one two three four five"}, "one two three four five")
		if n := s.count(chat.OpDraft); n != 1 {
			t.Errorf("%d drafts, want none after the question", n)
		}
	})
}

// D12: a question replaces a draft. A person answers the question before any message could show the draft's text. The
// draft disappears, so a message must show the text, even though the question is already answered.
func TestDraftsEndForAQuestionThatIsAnsweredAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		p.fate = func(c *call) fate {
			if c.op == chat.OpSend && time.Since(p.began) < 3*time.Second {
				return tooMany(2 * time.Second)
			}
			return fate{}
		}
		s := beginVia(t, p, e, Draft)
		s.says("one two three", 1200*ms)
		s.asks("yes:1", "Really?", 500*ms)
		s.slot.SetStatus(Status{})
		s.waits(time.Minute)
		equal(t, "decided", s.sees(), []string{"one two three ▌"})
		s.delivers(Ending{Text: "one two three four"}, "one two three four")
	})
}

// When a question is asked, no new stream may begin, and a running stream is stopped.
func TestQuestionInsteadOfAStream(t *testing.T) {
	for name, text := range map[string]string{"not begun": "", "begun": "one two three ", "second part": strings.Repeat("word ", 30)} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p, e := fullPlatform()
				p.profile.TextLimit = 100
				s := beginVia(t, p, e, Native)
				s.says(text, 3*time.Second)
				s.asks("yes:1", "Really?", 3*time.Second)
				if all := s.sees(); !strings.Contains(all[len(all)-1], "Really?") || len(p.buttons()) != 1 {
					t.Errorf("a person sees %q, buttons %q", all, p.buttons())
				}
				for _, m := range p.messages {
					if m.live {
						t.Error("a stream goes on")
					}
				}
				s.slot.SetStatus(Status{})
				s.says("end", 3*time.Second)
				o := s.ends(Ending{Text: text + "end"})
				if got := strings.Join(s.sees(), " "); !o.Delivered || got != text+"end" {
					t.Errorf("outcome %+v, a person sees %q", o, got)
				}
			})
		})
	}
}

// When a question ends a stream, all of the text so far is shown above the question, because the person reads this text
// while the model waits.
func TestQuestionBelowTheWholeText(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		s := beginVia(t, p, e, Native)
		s.says("one two *three", 3*time.Second)
		equal(t, "the stream", s.sees(), []string{"one two"})
		s.asks("yes:1", "Really?", 3*time.Second)
		if all := s.sees(); len(all) != 1 || !strings.HasPrefix(all[0], "one two three\n\nReally?") {
			t.Errorf("a person sees %q", all)
		}
		s.slot.SetStatus(Status{})
		s.waits(3 * time.Second)
		equal(t, "once it is over", s.sees(), []string{"one two three ▌"})
		s.says("* four", 3*time.Second)
		s.delivers(Ending{Text: "one two *three* four five"}, "one two three four five")
	})
}

// A reply without previews shows its question in a separate message, which is deleted after the decision.
func TestQuestionOfAReplyWithoutPreviews(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("word ", 40))
	for _, c := range []struct {
		name    string
		deletes bool
		files   bool
		prepare func(*lives)
		left    []string
	}{
		{"taken over in its second part", true, false, func(l *lives) { l.again() }, nil},
		{"taken over, nothing can be deleted", false, false, func(l *lives) { l.again() }, []string{"Really?"}},
		{"started over behind a full part", true, false, func(l *lives) { l.slot.Reset() }, nil},
		{"as many parts as there may be", true, true, func(*lives) {}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p, e := fullPlatform()
				p.profile.TextLimit = 100
				if !c.deletes {
					e.Deleter = nil
				}
				config := streamed()
				if config.MaxParts = 1; !c.files {
					e.Filer = nil
				}
				s := live(t, p, e, config)
				s.says(long, 3*time.Second)
				c.prepare(s)
				s.asks("yes:1", "Really?", 3*time.Second)
				if all := s.sees(); all[len(all)-1] != "Really?" {
					t.Errorf("a person sees %q", all)
				}
				equal(t, "buttons", p.buttons(), []string{"yes:1"})
				s.slot.SetStatus(Status{})
				s.waits(3 * time.Second)
				equal(t, "buttons", p.buttons(), nil)
				if all := s.sees(); (all[len(all)-1] == "Really?") == c.deletes {
					t.Errorf("a person sees %q", all)
				}
				s.asks("yes:2", "Really?", 3*time.Second)
				if o := s.ends(Ending{Text: "final"}); !o.Delivered && c.deletes {
					t.Errorf("outcome %+v", o)
				}
				equal(t, "buttons", p.buttons(), nil)
				if c.deletes {
					equal(t, "seen", s.sees(), []string{"final"})
				}
			})
		})
	}
}

// A process dies while a question is visible. The test checks that the next process either deletes the question or
// shows it again in the same message.
func TestQuestionOfAnEarlierProcess(t *testing.T) {
	for _, c := range []struct {
		name   string
		config Config
		want   string
	}{{"streaming", streamed(), "one two three\n\nReally?"}, {"not streaming", Config{Cursor: " ▌"}, "one two three\n\nReally?"}} {
		t.Run(c.name, func(t *testing.T) {
			for _, again := range []bool{true, false} {
				t.Run("", func(t *testing.T) {
					bubble(t, func(t *testing.T) {
						p := newPerson()
						s := live(t, p, p.endpoint(), c.config)
						s.says("one two three", 1200*ms)
						s.asks("yes:1", "Really?", 3*time.Second)
						s.again()
						if again { // ask again while the new text is shorter than the text of the earlier process
							s.says("one", 3*time.Second)
							s.asks("yes:2", "Really?", 3*time.Second)
							equal(t, "asked again", s.sees(), []string{c.want})
							equal(t, "buttons", p.buttons(), []string{"yes:2"})
						}
						s.delivers(Ending{Text: "one two three"}, "one two three")
						equal(t, "buttons", p.buttons(), nil)
						if n := s.count(chat.OpSend); n != 1 {
							t.Errorf("%d messages", n)
						}
					})
				})
			}
		})
	}
}

// If the text of an earlier process leaves no room for a question below it, the question replaces this text.
func TestQuestionBelowALongTextOfAnEarlierProcess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit = 62
		s := live(t, p, p.endpoint(), streamed())
		text := strings.TrimSpace(strings.Repeat("word ", 11))
		s.says(text, 1200*ms)
		s.again()
		s.says("word", time.Second)
		s.asks("yes:1", "Really, all of them?", 3*time.Second)
		equal(t, "asked", s.sees(), []string{"Really, all of them?"})
		s.slot.SetStatus(Status{})
		s.says(text[4:], 3*time.Second)
		s.delivers(Ending{Text: text}, text)
	})
}

// The platform returns no message ids. The bot must send each question only once.
func TestQuestionWithoutMessageIDs(t *testing.T) {
	for name, c := range map[string]Config{"streaming": streamed(), "not streaming": {}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.fate = func(*call) fate { return fate{nameless: true} }
				s := begin(t, p, c)
				s.asks("yes:1", "Really?", time.Minute)
				s.asks("yes:2", "And this?", time.Minute)
				s.slot.SetStatus(Status{})
				s.waits(time.Minute)
				s.delivers(Ending{Text: "final"}, "Really?", "And this?", "final")
			})
		})
	}
}

// A process dies while a separate question is visible. The next process must find the question's message by its id, by
// repeating the create call or by a search, and delete the message.
func TestSeparateQuestionOfAnEarlierProcess(t *testing.T) {
	for name, learn := range map[string]func(*person, *Endpoint){
		"known": func(*person, *Endpoint) {},
		"by its key": func(p *person, _ *Endpoint) {
			p.profile.KeyFor, p.fate = time.Hour, nth(map[int]fate{0: {hang: true, applied: true}})
		},
		"by looking for it": func(p *person, e *Endpoint) {
			e.Finder, p.fate = channel{p}, nth(map[int]fate{0: {hang: true, applied: true}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				e := p.endpoint()
				e.Editor = nil
				learn(p, &e)
				s := live(t, p, e, streamed())
				s.asks("yes:1", "Really?", 3*time.Second)
				equal(t, "asked", s.sees(), []string{"Really?"})
				s.again()
				s.waits(time.Second)
				equal(t, "taken away", s.sees(), nil)
				s.asks("yes:2", "Really?", time.Second)
				equal(t, "buttons", p.buttons(), []string{"yes:2"})
				s.again()
				s.delivers(Ending{Text: "final"}, "final")
			})
		})
	}
}

// Somebody stops a reply while a question is visible. After that, only the reply's text must stay visible.
func TestInterruptedDuringAQuestion(t *testing.T) {
	for name, c := range map[string]Config{"streaming": streamed(), "not streaming": {}} {
		for _, text := range []string{"one two three", ""} {
			t.Run(name+" "+text, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					p := newPerson()
					s := begin(t, p, c)
					s.slot.Append(text, 5)
					s.asks("yes:1", "Really?", 3*time.Second)
					var want []string
					if text != "" {
						want = []string{text}
					}
					s.delivers(Ending{Keep: true}, want...)
					equal(t, "buttons", p.buttons(), nil)
				})
			})
		}
	}
}

// A question is shown at once, even if there are fewer tokens than MinTokens, the interval is not over, or a preview
// waits.
func TestQuestionIsShownAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		c := streamed()
		c.MinTokens, c.Interval = 30, 10*time.Second
		s := begin(t, p, c)
		s.says("one", 100*ms)
		s.asks("yes:1", "First?", 100*ms)
		s.says(" two", 100*ms) // this text has to wait for the interval
		s.asks("yes:2", "Second?", 100*ms)
		s.asks("yes:3", "Second?", 100*ms)
		equal(t, "calls", s.log(), []string{
			"100ms send 1: one\n\nFirst?", "300ms edit 1: one two\n\nSecond?", "400ms edit 1: one two\n\nSecond?",
		})
		equal(t, "buttons", p.buttons(), []string{"yes:3"})
		s.delivers(Ending{Text: "final"}, "final")
	})
}

// A preview that waits for the budget does not delay a question.
func TestQuestionOvertakesPreviews(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.Limits = []chat.Limit{{Scope: chat.ScopeChat, Ops: chat.OpSend | chat.OpEdit, Count: 4, Window: time.Minute, Burst: 4}}
		s := begin(t, p, streamed())
		for range 5 {
			s.says("one two three ", 1200*ms)
		}
		before := s.count(chat.OpEdit)
		s.asks("yes:1", "Really?", 100*ms)
		if got := p.buttons(); len(got) != 1 {
			t.Errorf("not asked behind %d edits: %q", before, s.log())
		}
		s.slot.SetStatus(Status{})
		s.ends(Ending{Text: "final"})
	})
}

// If the text leaves no room for a question, the question gets its own message below, and the text stays unchanged.
func TestLongQuestion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit = 200
		s := begin(t, p, streamed())
		text := strings.TrimSpace(strings.Repeat("word ", 30))
		s.says(text, 1200*ms)
		s.asks("yes:1", "Run this?\n"+strings.Repeat("details ", 100)+"\nAnswer yes or no.", 3*time.Second)
		all := s.sees()
		if len(all) != 2 || all[0] != text || !strings.HasPrefix(all[1], "Run this?\ndetails") || !strings.HasSuffix(all[1], "\nAnswer yes or no.") {
			t.Errorf("a person sees %q", all)
		}
		if n := len([]rune(all[1])); n != 198 {
			t.Errorf("%d characters of the question, there is room for 198 and a cursor", n)
		}
		s.slot.SetStatus(Status{})
		s.says(" and more", 3*time.Second)
		s.delivers(Ending{Text: text + " and more"}, text+" and more")
	})
}

// The platform refuses to edit a message that shows only a question. When the reply is interrupted, the message is
// deleted, and no other message replaces it.
func TestQuestionInAMessageThatCannotBeEdited(t *testing.T) {
	for name, next := range map[string]Status{"asked once more": question("yes:2", "And this?"), "decided": {}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.latency = 100 * time.Millisecond
				s := begin(t, p, streamed())
				p.fate = func(c *call) fate {
					if c.op == chat.OpEdit {
						return fail(chat.Frozen)
					}
					if c.attempt > 20 { // the reply repeats its calls in an endless loop
						s.cancel()
					}
					return fate{}
				}
				s.asks("yes:1", "Really?", time.Minute)
				s.slot.SetStatus(next)
				s.waits(time.Minute)
				s.delivers(Ending{Keep: true})
				if n := s.count(chat.OpSend); n > 2 {
					t.Errorf("%d messages", n)
				}
			})
		})
	}
}

// The create call of a stream gets no response, a question is created with the same key, and then the process dies. If
// the next process finds a stream with this key, it must stop the stream before it edits the message.
func TestQuestionUnderTheKeyOfAStream(t *testing.T) { // D13
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		p.profile.KeyFor, p.latency = time.Hour, 100*time.Millisecond
		p.fate = nth(map[int]fate{0: {err: &chat.SendError{Kind: chat.Uncertain}, applied: true}, 1: {hang: true}})
		c := streamed()
		c.Transport = Native
		s := live(t, p, e, c)
		s.says("one two three", 200*time.Millisecond)
		s.asks("yes:1", "Really?", 3*time.Second)
		s.again()
		s.slot.Append("one two three", 3)
		s.asks("yes:2", "Really?", 3*time.Second)
		equal(t, "asked", s.sees(), []string{"one two three\n\nReally?"})
		s.slot.SetStatus(Status{})
		s.delivers(Ending{Text: "one two three four"}, "one two three four")
	})
}

// A separate question that can't be edited any more is deleted before another one replaces it.
func TestSeparateQuestionThatCannotBeEdited(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit = 20
		e := p.endpoint()
		e.Finder = channel{p}
		c := streamed()
		c.MaxParts, e.Filer = 1, channel{p}
		p.fate = func(c *call) fate {
			switch {
			case c.op == chat.OpSend && c.attempt == 1:
				return fate{hang: true, applied: true}
			case c.op == chat.OpEdit && c.id == "2":
				return fail(chat.Frozen)
			}
			return fate{}
		}
		s := live(t, p, e, c)
		s.says("one two three four five six", 5*time.Second) // the rest of the text will be sent as a file at the end
		s.asks("yes:1", "Really?", time.Minute)
		equal(t, "buttons", p.buttons(), []string{"yes:1"})
		s.slot.SetStatus(Status{})
		s.waits(5 * time.Second)
		equal(t, "decided", p.buttons(), nil)
		equal(t, "stands", s.sees(), []string{"one two three four"})
	})
}

// If it can't delete messages, the bot removes the buttons of a decided question, even if the process dies meanwhile.
func TestSeparateQuestionLosesItsButtons(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.latency = 100 * time.Millisecond
		e := p.endpoint()
		e.Deleter = nil
		c := streamed()
		e.Filer = channel{p}
		p.profile.TextLimit, c.MaxParts = 20, 1
		s := live(t, p, e, c)
		s.says("one two three four five six", 5*time.Second)
		s.asks("yes:1", "Really?", time.Minute)
		equal(t, "buttons", p.buttons(), []string{"yes:1"})
		s.slot.SetStatus(Status{})
		s.waits(10 * time.Millisecond) // the call has not reached the platform yet
		s.again()
		s.waits(10 * time.Second)
		equal(t, "buttons", p.buttons(), nil)
	})
}

// If the platform can't delete messages, a second question is sent in a new message. The bot must remove the buttons of
// the first question, even if the platform refuses the second question.
func TestAnotherSeparateQuestion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		e := p.endpoint()
		e.Deleter = nil
		p.fate = func(c *call) fate {
			if strings.HasPrefix(c.m.Text, "And this?") {
				return fail(chat.Rejected)
			}
			return fate{}
		}
		c := streamed()
		e.Filer = channel{p}
		p.profile.TextLimit, c.MaxParts = 20, 1
		s := live(t, p, e, c)
		s.says("one two three four five six", 5*time.Second)
		s.asks("yes:1", "Really?", time.Minute)
		s.asks("yes:2", "And this?", time.Minute)
		equal(t, "buttons of the first", p.buttons(), nil)
		s.asks("yes:3", "And that?", time.Minute)
		equal(t, "buttons of the third", p.buttons(), []string{"yes:3"})
		equal(t, "stands", s.sees()[1:], []string{"Really?", "And that?"})
	})
}

// If the platform has no buttons, the next process shows an earlier question again in the same message. If the platform
// refuses to edit the earlier message, it is deleted before the question is sent again.
func TestSeparateQuestionWhoseEditIsRefused(t *testing.T) {
	for _, deletes := range []bool{true, false} {
		t.Run(fmt.Sprint("deletes ", deletes), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				e := p.endpoint()
				if !deletes {
					e.Deleter = nil
				}
				p.fate = func(c *call) fate {
					if c.op == chat.OpEdit && c.m.Text == "Really?" {
						return fail(chat.Rejected)
					}
					return fate{}
				}
				c := streamed()
				e.Filer = channel{p}
				p.profile.TextLimit, c.MaxParts = 20, 1
				s := live(t, p, e, c)
				s.says("one two three four five six", 5*time.Second)
				typed := Status{Lines: []string{"Really?"}, Urgent: true}
				s.slot.SetStatus(typed)
				s.waits(time.Minute)
				s.again(typed)
				s.waits(time.Minute)
				want := []string{"Really?", "Really?"}
				if deletes {
					want = want[1:]
				}
				equal(t, "stands", s.sees()[1:], want)
			})
		})
	}
}
