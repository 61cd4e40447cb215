package preview

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"telex/gateway/budget"
	"telex/internal/chat"
	"telex/internal/markup"
)

// nth returns a function that chooses the fate of each call except typing indicators. The keys of the map fates are the
// numbers of these calls, counted from 0.
func nth(fates map[int]fate) func(*call) fate {
	n := -1
	return func(c *call) fate {
		if c.op == chat.OpTyping {
			return fate{}
		}
		n++
		return fates[n]
	}
}

// F04, F19, F20: after a 429 on a preview, no call is made until retry_after has passed. After this time, the newest
// text must appear in the same message.
func TestPreviewHonoursRetryAfter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.fate = nth(map[int]fate{1: tooMany(7 * time.Second)})
		s := begin(t, p, streamed())
		s.says("one two three", time.Second)
		for _, w := range []string{" four", " five", " six", " seven", " eight"} {
			s.says(w, 2*time.Second)
		}
		s.delivers(Ending{Text: "one two three four five six seven eight"}, "one two three four five six seven eight")
		equal(t, "calls", s.log(), []string{
			"0s send 1: one two three ▌",
			"1s edit 1: one two three four ▌ (rate limited)",
			"8s edit 1: one two three four five six seven ▌",
			"9s edit 1: one two three four five six seven eight ▌",
			"11s edit 1: one two three four five six seven eight",
		})
	})
}

// F03, F12, F22: the final text waits exactly for retry_after, even if that is long, and then appears in the same
// message.
func TestFinalHonoursRetryAfter(t *testing.T) {
	for _, wait := range []time.Duration{time.Second, 37 * time.Second, 3 * time.Hour} {
		t.Run(wait.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.fate = nth(map[int]fate{1: tooMany(wait), 2: tooMany(wait)})
				s := begin(t, p, streamed())
				s.says("one two three", time.Second)
				s.delivers(Ending{Text: "the final"}, "the final")
				equal(t, "calls", s.log(), []string{
					"0s send 1: one two three ▌",
					"1s edit 1: the final (rate limited)",
					fmt.Sprintf("%v edit 1: the final (rate limited)", time.Second+wait),
					fmt.Sprintf("%v edit 1: the final", time.Second+2*wait),
				})
			})
		})
	}
}

// The bot tries for a whole day to send the final message while the platform is unreachable.
func TestFinalOutlastsAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.fate = func(c *call) fate {
			if c.at.Sub(p.began) < 20*time.Hour {
				return fail(chat.Temporary)
			}
			return fate{}
		}
		s := begin(t, p, Config{})
		s.delivers(Ending{Text: "final"}, "final")
		if n := len(p.calls); n > 1500 {
			t.Errorf("%d calls in 20 hours", n)
		}
	})
}

// D4: the bot gives up a final message 15 minutes after the end of the last rate limit, or after a day if the platform
// is unreachable.
func TestDeadlineOfAFinal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.fate = func(c *call) fate {
			if c.op == chat.OpSend && c.attempt == 1 {
				return tooMany(time.Hour)
			}
			return fail(chat.Temporary)
		}
		s := begin(t, p, Config{})
		o := s.ends(Ending{Text: "final"})
		if o.Delivered || chat.AsSendError(o.Err).Kind != chat.Temporary {
			t.Errorf("outcome %+v, want it undelivered for a temporary failure", o)
		}
		last := p.calls[len(p.calls)-1].at.Sub(p.began)
		if last < maxOutage-slowBackoff || last > maxOutage+slowBackoff {
			t.Errorf("last try after %v, want about a day", last)
		}
		for i, c := range p.calls[3:] {
			most := maxBackoff
			if i+3 > slowAfterFailures {
				most = slowBackoff
			}
			if gap := c.at.Sub(p.calls[i+2].at); gap > most {
				t.Errorf("try %d came %v after the one before, want at most %v", i+3, gap, most)
			}
		}
	})
}

// D4, D14: a message that fails while other calls succeed is given up after 15 minutes, not after a day, whatever the
// errors are.
func TestDeadlineOfOneBadMessage(t *testing.T) {
	for _, c := range []struct {
		name  string
		fails func(c *call) bool
		kind  chat.ErrorKind
		other bool // calls of another reply succeed; false: only this reply's typing indicators succeed
	}{
		{"an edit, while others succeed", func(c *call) bool { return c.op == chat.OpEdit }, chat.Uncertain, true},
		{"an edit, alone", func(c *call) bool { return c.op == chat.OpEdit }, chat.Uncertain, false},
		{"an edit, surely not done", func(c *call) bool { return c.op == chat.OpEdit }, chat.Temporary, false},
		{"a create, alone", func(c *call) bool { return c.op == chat.OpSend }, chat.Temporary, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.fate = func(call *call) fate {
					if call.to == "a" && c.fails(call) {
						return fail(c.kind)
					}
					return fate{}
				}
				e := p.endpoint()
				if e.Pulse = new(Pulse); c.other {
					e.Typer = nil
				}
				s := beginAt(t, p, e, streamed(), "key")
				s.says("one two three", time.Second)
				began := time.Now()
				s.slot.Finish(Ending{Text: "final"})
				for c.other && time.Since(began) < 20*time.Minute {
					e.Pulse.Beat() // by another reply
					s.waits(time.Minute)
				}
				o := s.ends(Ending{})
				if o.Delivered || !o.Unfinished {
					t.Errorf("outcome %+v, want it undone", o)
				}
				last := p.calls[len(p.calls)-1].at.Sub(began)
				if last < 14*time.Minute || last > 17*time.Minute {
					t.Errorf("last try after %v, want a quarter of an hour", last)
				}
			})
		})
	}
}

// If all searches for the message of a create call fail, the deadline is the same as without searches.
func TestDeadlineOfACreateThatIsSearched(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.fate = func(c *call) fate {
			if c.op == chat.OpSend {
				return uncertain(false)
			}
			return fate{}
		}
		e := p.endpoint()
		e.Finder = channel{p}
		s := beginAt(t, p, e, Config{}, "key")
		o := s.ends(Ending{Text: "final"})
		if took := time.Since(p.began); o.Delivered || took > 20*time.Minute {
			t.Errorf("outcome %+v after %v, want it given up after a quarter of an hour", o, took)
		}
		if n := s.count(chat.OpAll); n > 500 {
			t.Errorf("%d calls", n)
		}
	})
}

// Neither a new process nor a wait for the budget restarts the deadline of a final message.
func TestDeadlineSurvivesTheProcess(t *testing.T) {
	now := time.Now()
	for _, c := range []struct{ ago, want time.Duration }{
		{0, finalDeadline}, {10 * time.Minute, 5 * time.Minute}, {time.Hour, lastChance}, {-time.Hour, finalDeadline},
	} {
		s := &state{place: place{dialect: markup.Plain{}, limit: 100}}
		s.end(&Ending{Text: "final", At: now.Add(-c.ago)}, now)
		if got := s.deadline.Sub(now); got != c.want {
			t.Errorf("decided %v ago: it is tried for %v, want %v", c.ago, got, c.want)
		}
	}
}

// D4: a 429 to a call of another reply extends the deadline too, even if it arrives while the final message waits in
// the queue.
func TestDeadlineCountsFromAnyReplysBlock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.Limits = []chat.Limit{{Scope: chat.ScopeChat, Ops: chat.OpAll, Count: 1, Window: 10 * time.Second, Burst: 1}}
		p.fate = func(c *call) fate {
			if time.Since(p.began) < 70*time.Minute {
				return fail(chat.Temporary)
			}
			return fate{}
		}
		e := p.endpoint()
		s := beginAt(t, p, e, Config{}, "key")
		s.slot.Finish(Ending{Text: "final"})
		s.waits(5 * time.Second) // the final message failed once and waits for its next try
		e.Budget.Block(chat.Call{To: chat.Target{Chat: "a"}}, chat.ScopeChat, 0, time.Hour)
		s.waits(time.Minute)
		s.delivers(Ending{}, "final")
		for _, c := range p.calls {
			if at := c.at.Sub(p.began); at > 5*time.Second && at < time.Hour+5*time.Second {
				t.Errorf("call at %v, want none while blocked", at)
			}
		}
	})
}

// After a 429 without retry_after, the reply pauses as well.
func Test429WithoutRetryAfter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.fate = func(c *call) fate {
			if time.Since(p.began) < time.Minute {
				return tooMany(0)
			}
			return fate{}
		}
		s := begin(t, p, Config{})
		s.delivers(Ending{Text: "final"}, "final")
		if n := s.count(chat.OpAll); n > 61 {
			t.Errorf("%d calls in a minute, want at most one a second", n)
		}
	})
}

// D3, D11, D12: many chats share one limit that the platform enforces. No call may get a 429, and every final text must
// be correct. All replies together must take about as long as the limit requires for their calls.
func TestManyRepliesUnderOneLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const replies, rate = 40, 10
		limit := chat.Limit{Scope: chat.ScopeEndpoint, Ops: chat.OpAll, Count: rate, Window: time.Second, Burst: rate}
		shared := budgetAdapter{budget.New()}
		var mu sync.Mutex
		var refused int
		var arrivals []time.Time
		enforce := func(*call) fate {
			mu.Lock()
			defer mu.Unlock()
			now := time.Now()
			n := 0
			for _, a := range arrivals {
				if now.Sub(a) < limit.Window {
					n++
				}
			}
			if n >= rate {
				refused++
				return tooMany(time.Second)
			}
			arrivals = append(arrivals, now)
			return fate{}
		}
		var stories []*story
		for i := range replies {
			p := newPerson()
			p.profile.Limits = []chat.Limit{limit}
			p.latency, p.fate = 60*ms, enforce
			e := p.endpoint()
			e.Budget = shared
			stories = append(stories, beginAt(t, p, e, streamed(), fmt.Sprint(i)))
		}
		for range 200 {
			for _, s := range stories {
				s.slot.Append("word ", 1)
			}
			stories[0].waits(100 * ms)
		}
		end := time.Now()
		for _, s := range stories {
			s.slot.Finish(Ending{Text: "the final of " + s.out.Shown})
		}
		for _, s := range stories {
			s.delivers(Ending{}, "the final of")
			if n := s.count(chat.OpEdit); n < 2 {
				t.Errorf("a reply was edited %d times in 20 s, want none to starve", n)
			}
		}
		if got, most := time.Since(end), 5*time.Second; got > most {
			t.Errorf("finals took %v, want at most %v", got, most)
		}
		if refused > 0 {
			t.Errorf("%d calls were refused, want none", refused)
		}
	})
}

// If many calls in a row fail, the log contains only one warning.
func TestFailuresInARowAreOneWarning(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.fate = func(c *call) fate {
			if c.attempt < 20 {
				return fail(chat.Temporary)
			}
			return fate{}
		}
		var warnings int
		slot := NewSlot()
		slot.Finish(Ending{Text: "final"})
		r := New(Options{Endpoint: p.endpoint(), To: chat.Target{Chat: "a"}, Slot: slot, Log: slog.New(counter{&warnings})})
		if o := r.Run(t.Context()); !o.Delivered {
			t.Errorf("outcome %+v, want it delivered", o)
		}
		if warnings != 1 {
			t.Errorf("%d warnings, want 1", warnings)
		}
	})
}

// While the store records a create call, the platform may answer another call with a 429. The create call must then
// wait for the end of this rate limit (F04).
func TestBlockWhileTheStoreIsSlow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		e := p.endpoint()
		s := live(t, p, e, streamed())
		s.notes.first = func() {
			time.Sleep(2 * time.Second)
			e.Budget.Block(chat.Call{To: chat.Target{Chat: "a"}, Op: chat.OpSend}, chat.ScopeChat, 0, 5*time.Second)
		}
		s.slot.Finish(Ending{Text: "the final"})
		time.Sleep(time.Minute)
		equal(t, "calls", s.log(), []string{"7s send 1: the final"})
	})
}
