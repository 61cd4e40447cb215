package preview

import (
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

const ms = time.Millisecond

func TestFirstDisplayWaitsForMinTokens(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := begin(t, newPerson(), streamed())
		s.says("one", 400*ms)
		s.says(" two", 400*ms)
		equal(t, "before", s.log(), nil)
		s.says(" three", 400*ms)
		s.delivers(Ending{Text: "one two three four"}, "one two three four")
		equal(t, "calls", s.log(), []string{"800ms send 1: one two three ▌", "1.2s edit 1: one two three four"})
	})
}

// If a model is slow, the bot shows the complete words after 5 s, even if there are fewer tokens than MinTokens.
func TestSlowModelIsShownInWholeWords(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := begin(t, newPerson(), Config{Enabled: true, MinTokens: 100, Cursor: " ▌"})
		s.says("two wor", 5500*ms)
		s.says("ds", 600*ms)
		s.delivers(Ending{Text: "two words"}, "two words")
		equal(t, "calls", s.log(), []string{"5s send 1: two ▌", "6s edit 1: two words ▌", "6.1s edit 1: two words"})
	})
}

func TestSlowModelHalfAWordIsNotShown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := begin(t, newPerson(), Config{Enabled: true, MinTokens: 100, Cursor: " ▌"})
		s.says("Donau", 7*time.Second)
		s.says("dampf", 500*ms)
		equal(t, "before", s.log(), nil)
		s.says("schiff\nahoi", 500*ms)
		s.delivers(Ending{Text: "Donaudampfschiff ahoi"}, "Donaudampfschiff ahoi")
		equal(t, "calls", s.log(), []string{"7.5s send 1: Donaudampfschiff ▌", "8s edit 1: Donaudampfschiff ahoi"})
	})
}

// If a reply is complete before its first preview, the bot sends only the final.
func TestCompleteReplyIsSentOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := begin(t, newPerson(), streamed())
		s.slot.Append("all at once", 3)
		s.delivers(Ending{Text: "all at once"}, "all at once")
		equal(t, "calls", s.log(), []string{"0s send 1: all at once"})
	})
}

// F24: the interval counts from the start of a call, not from its end.
func TestIntervalRunsFromTheCallsStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.latency = 600 * ms
		s := begin(t, p, streamed())
		s.says("1 2 3", 0)
		for range 40 {
			s.says(" x", 100*ms)
		}
		s.ends(Ending{Text: "done"})
		var got []time.Duration
		for _, c := range p.calls {
			got = append(got, c.at.Sub(p.began))
		}
		want := []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second, 4600 * ms}
		if len(got) != len(want) {
			t.Fatalf("calls at %v, want %v", got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("call %d at %v, want %v", i, got[i], want[i])
			}
		}
	})
}

// The last delta becomes visible when Config.Interval is over, although no other delta follows.
func TestLastDeltaIsShown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := begin(t, newPerson(), streamed())
		s.says("one two three", 200*ms)
		s.says(" four", 10*time.Second)
		equal(t, "calls", s.log(), []string{"0s send 1: one two three ▌", "1s edit 1: one two three four ▌"})
		s.delivers(Ending{Text: "one two three four"}, "one two three four")
	})
}

// F21: the bot does not send text that is already visible. Deltas that change nothing visible cause no call.
func TestUnchangedTextIsNotSent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := begin(t, newPerson(), streamed())
		s.says("one two three", 2*time.Second)
		for range 100 {
			s.says(" ", 30*ms)
		}
		s.says("\n\n", 3*time.Second)
		s.says("four", 2*time.Second)
		s.delivers(Ending{Text: "one two three\n\nfour"}, "one two three\n\nfour")
		equal(t, "calls", s.log(), []string{
			"0s send 1: one two three ▌", "8s edit 1: one two three\n\nfour ▌", "10s edit 1: one two three\n\nfour",
		})
	})
}

// D2: if the last preview equals the final, nothing more is sent.
func TestVisibleFinalIsNotSentAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := begin(t, newPerson(), Config{Enabled: true, MinTokens: 3})
		s.says("one two three", 2*time.Second)
		s.delivers(Ending{Text: "one two three"}, "one two three")
		equal(t, "calls", s.log(), []string{"0s send 1: one two three"})
	})
}

// F56: without streaming, the bot sends a single message, without a cursor.
func TestSingleSend(t *testing.T) {
	for name, change := range map[string]func(*Config, *Endpoint){
		"disabled":  func(c *Config, _ *Endpoint) { c.Enabled = false },
		"no editor": func(_ *Config, e *Endpoint) { e.Editor = nil },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p, c := newPerson(), streamed()
				e := p.endpoint()
				change(&c, &e)
				s := beginAt(t, p, e, c, "key")
				s.says("one two three", 10*time.Second)
				s.says(" four", 10*time.Second)
				s.delivers(Ending{Text: "one two three four five"}, "one two three four five")
				equal(t, "calls", s.log(), []string{"20s send 1: one two three four five"})
				if m := p.calls[len(p.calls)-1].m; m.Preview || m.ReplyTo != "asked" || m.Key != "key.0" {
					t.Errorf("got %+v, want no preview, a reply to the asking message, and the key", m)
				}
			})
		})
	}
}

// F45: the bot stops renewing the typing indicator at the first preview and at the end of the reply.
func TestTypingEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TypingEvery = 4 * time.Second
		s := begin(t, p, Config{Enabled: true, MinTokens: 3, Cursor: " ▌"})
		s.waits(9 * time.Second)
		equal(t, "before", p.logOf(chat.OpTyping), []string{"0s type", "4s type", "8s type"})
		s.says("one two three", time.Minute)
		s.delivers(Ending{Text: "one two three"}, "one two three")
		s.waits(time.Hour)
		equal(t, "after", p.logOf(chat.OpTyping), []string{"0s type", "4s type", "8s type"})

		q := newPerson()
		q.profile.TypingEvery = 4 * time.Second
		s = begin(t, q, Config{})
		s.waits(5 * time.Second)
		s.delivers(Ending{Text: "answer"}, "answer")
		s.waits(time.Hour)
		equal(t, "single send", q.logOf(chat.OpAll), []string{"0s type", "4s type", "5s send 1: answer"})
	})
}

// If a typing indicator fails, the bot does not repeat it, and the reply goes on as usual.
func TestTypingMayFail(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TypingEvery = 4 * time.Second
		p.fate = func(c *call) fate {
			if c.op == chat.OpTyping {
				return fail(chat.Forbidden)
			}
			return fate{}
		}
		s := begin(t, p, streamed())
		s.waits(20 * time.Second)
		s.says("one two three", time.Second)
		s.delivers(Ending{Text: "one two three"}, "one two three")
		equal(t, "typing", p.logOf(chat.OpTyping), []string{"0s type (forbidden)"})
	})
}

// F38: nothing is sent after the final.
func TestNothingAfterTheFinal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := begin(t, newPerson(), streamed())
		s.says("one two three", 100*ms)
		s.says(" four", 100*ms)
		s.delivers(Ending{Text: "done"}, "done")
		n := s.count(chat.OpAll)
		s.slot.Append(" late", 1)
		s.slot.Reset()
		s.slot.Finish(Ending{Text: "another"})
		s.waits(time.Hour)
		if got := s.count(chat.OpAll); got != n {
			t.Errorf("%d calls after the final, want none", got-n)
		}
	})
}

func TestContextEndsARunAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := begin(t, newPerson(), streamed())
		s.says("one two three", 100*ms)
		s.cancel()
		<-s.ended
		if s.out.Delivered || s.out.Err == nil || s.out.Shown != "one two three" {
			t.Errorf("outcome %+v, want an error and what was shown", s.out)
		}
		equal(t, "person sees", s.sees(), []string{"one two three ▌"})
	})
}

// If a preview waits for the budget, the bot must send the final without waiting for the preview.
func TestFinalOvertakesAWaitingPreview(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.Limits = []chat.Limit{{Scope: chat.ScopeChat, Ops: chat.OpSend | chat.OpEdit, Count: 3, Window: 30 * time.Second, Burst: 3}}
		s := begin(t, p, streamed())
		s.says("one two three", time.Second)
		s.says(" four", 2*time.Second)
		s.says(" five", 2*time.Second) // the third call shows the final text
		s.delivers(Ending{Text: "one two three four five six"}, "one two three four five six")
		equal(t, "calls", s.log(), []string{
			"0s send 1: one two three ▌", "1s edit 1: one two three four ▌", "5s edit 1: one two three four five six",
		})
	})
}

// A call that had to wait for the budget sends the newest text.
func TestNewestTextIsSent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.Limits = []chat.Limit{{Scope: chat.ScopeChat, Ops: chat.OpSend | chat.OpEdit, Count: 1, Window: 10 * time.Second, Burst: 1}}
		s := begin(t, p, streamed())
		s.says("one two three", time.Second)
		s.says(" four", 2*time.Second)
		s.says(" five", 10*time.Second)
		equal(t, "calls", s.log(), []string{"0s send 1: one two three ▌", "10s edit 1: one two three four five ▌"})
		s.delivers(Ending{Text: "one two three four five"}, "one two three four five")
	})
}

// The reply tells the budget how old the oldest text is that people can't see yet (D12).
func TestSinceIsTheAgeOfUnseenText(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := begin(t, newPerson(), streamed())
		since := func() time.Time { v, _ := s.slot.load(); return v.Since }
		if !since().IsZero() {
			t.Error("a reply without text is stale")
		}
		s.says("one two three", 200*ms)
		if !since().IsZero() {
			t.Error("a reply that is all visible is stale")
		}
		s.says(" four", 300*ms)
		if got := time.Since(since()); got != 300*ms {
			t.Errorf("stale for %v, want 300ms", got)
		}
		s.ends(Ending{Keep: true})
	})
}

// A typing indicator that waits for the budget must delay neither new text nor the end of the reply.
func TestTextOvertakesTyping(t *testing.T) {
	for _, c := range []struct {
		name string
		then func(s *story)
		want []string
	}{
		{"text that is not enough", func(s *story) { s.says("one", 30*time.Second) }, []string{"10s type", "20s type", "30s type"}},
		{"text", func(s *story) { s.says("one two three", time.Minute) }, []string{"0s send 1: one two three ▌"}},
		{"end", func(s *story) { s.slot.Finish(Ending{Text: "final"}) }, []string{"0s send 1: final"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.profile.TypingEvery = 4 * time.Second
				p.profile.Limits = []chat.Limit{{Scope: chat.ScopeChat, Ops: chat.OpTyping, Count: 2, Window: 10 * time.Second, Burst: 2}}
				e := p.endpoint()
				for range 2 { // other replies use the typing indicator in this chat
					other := e.Budget.Request(chat.Call{To: chat.Target{Chat: "a"}, Op: chat.OpTyping, Limits: p.profile.Limits})
					other.Done()
				}
				s := beginAt(t, p, e, Config{Enabled: true, MinTokens: 3, Cursor: " ▌"}, "key")
				c.then(s)
				s.waits(time.Millisecond)
				if got := p.logOf(chat.OpAll); len(got) < len(c.want) {
					t.Errorf("calls %v, want at least %v", got, c.want)
				} else {
					equal(t, "calls", got[:len(c.want)], c.want)
				}
				s.ends(Ending{Text: "final"})
			})
		})
	}
}

// When ctx ends, Run must return, even if the reply waits for the budget.
func TestContextEndsAWaitInTheBudget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		e := p.endpoint()
		e.Budget.Block(chat.Call{To: chat.Target{Chat: "a"}}, chat.ScopeChat, 0, time.Hour)
		s := beginAt(t, p, e, streamed(), "key")
		s.says("one two three", time.Second)
		s.cancel()
		s.waits(time.Second)
		select {
		case <-s.ended:
		default:
			t.Error("the reply waits on")
		}
		if n := s.count(chat.OpAll); n != 0 {
			t.Errorf("%d calls, want none", n)
		}
	})
}

// A preview without a cursor may already show all the text that fits into its message. When the text continues in the
// next message, the full message needs no further call.
func TestFullPartIsSealedWithoutACall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit = 23
		s := begin(t, p, Config{Enabled: true, MinTokens: 3})
		s.says("one two three four five", 2*time.Second)
		s.says(" six", 2*time.Second)
		s.delivers(Ending{Text: "one two three four five six"}, "one two three four five", "six")
		equal(t, "calls", s.log(), []string{"0s send 1: one two three four five", "2s send 2: six"})
	})
}

// Markdown that has no visible text yet causes no call, and is not laid out again for each delta.
func TestTextThatShowsNothingYet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		d := &counting{}
		p.dialect = d
		s := begin(t, p, Config{Enabled: true, Cursor: " ▌"})
		s.says("```", 2*time.Second)
		s.says("go", 2*time.Second)
		equal(t, "before", s.log(), nil)
		s.says("\nx := 1", 2*time.Second)
		before := d.renders
		for range 1000 {
			s.says(" ", 10*ms)
		}
		// The reply may lay out its text ten times per second, and each layout may render a few candidates.
		if n := d.renders - before; n > 500 {
			t.Errorf("%d renders for 1000 deltas that show nothing in 10 s", n)
		}
		s.delivers(Ending{Text: "```go\nx := 1\n```"}, "x := 1")
	})
}

// counting is a dialect that counts its calls of Render.
type counting struct {
	markup.Plain
	renders int
}

func (c *counting) Render(p markup.Piece) markup.Rendered {
	c.renders++
	return c.Plain.Render(p)
}

// A call that is granted at once needs only one layout.
func TestLayoutIsNotRepeated(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		d := &counting{}
		p.dialect = d
		s := begin(t, p, streamed())
		s.says("one two three", time.Second)
		if d.renders != 1 {
			t.Errorf("%d renders for one preview, want 1", d.renders)
		}
		s.says(" four", 10*time.Second)
		if d.renders != 2 {
			t.Errorf("%d renders for two previews, want 2", d.renders)
		}
		s.ends(Ending{Keep: true})
	})
}
