package preview

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/internal/chat"
)

// The function reports runs a reply whose ending is known from the start, and returns each value that the reply passed
// to Options.Troubled, with its time.
func reports(t *testing.T, p *person) (got []string, o Outcome) {
	t.Helper()
	began := time.Now()
	slot := NewSlot()
	slot.Finish(Ending{Text: "final"})
	r := New(Options{
		Endpoint: p.endpoint(), To: chat.Target{Chat: "a"}, Slot: slot, Log: slog.New(slog.DiscardHandler),
		Troubled: func(trouble bool) {
			line := time.Since(began).String() + " over"
			if trouble {
				line = time.Since(began).String() + " trouble"
			}
			got = append(got, line)
		},
	})
	o = r.Run(t.Context())
	return got, o
}

// D14: if the bot can't show a reply, the reply reports this, so that the conversation can continue. The reply does not
// report failures that affect every reply, such as a rate limit, nor failures that another call corrects at once.
func TestFailureIsReported(t *testing.T) {
	for _, c := range []struct {
		name  string
		fates map[int]fate
		want  []string
	}{
		{"none", nil, nil},
		{"a failure", map[int]fate{0: fail(chat.Temporary), 1: fail(chat.Forbidden)}, []string{"0s trouble", "1.5s over"}},
		{"a call that hangs", map[int]fate{0: {latency: 10 * time.Second}}, []string{"3s trouble", "10s over"}},
		{"a rate limit", map[int]fate{0: tooMany(time.Minute)}, nil},
		{"a refused text", map[int]fate{0: fail(chat.TooLong)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.fate = nth(c.fates)
				got, o := reports(t, p)
				equal(t, "told", got, c.want)
				if !o.Delivered {
					t.Errorf("outcome %+v", o)
				}
			})
		})
	}
}

// If the messages of a reply stay as they are (Ending.Stand), the reply reports no failure, even if a search for a late
// message is still planned.
func TestReplyThatStaysAsItIsReportsNoFailure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, slot := newPerson(), NewSlot()
		p.profile.LateFor, p.fate = 10*time.Second, nth(map[int]fate{0: uncertain(false)})
		e := p.endpoint()
		e.Finder = channel{p}
		r := New(Options{
			Endpoint: e, Config: Config{Enabled: true, MinTokens: 3}, To: chat.Target{Chat: "a"}, Key: "key", Slot: slot, Log: slog.New(slog.DiscardHandler),
			Troubled: func(trouble bool) { t.Errorf("told of trouble: %t", trouble) },
		})
		slot.Append("one two three", 3)
		time.AfterFunc(5*time.Second, func() { slot.Finish(Ending{Keep: true, Stand: true}) })
		r.Run(t.Context())
		if n := p.count(chat.OpFind); n != 1 {
			t.Errorf("%d searches, want that the second is still to come", n)
		}
	})
}

// inRow runs two replies with known endings in one chat. The second reply may create its message only after the first
// reply has created its own.
func inRow(t *testing.T, p *person, first Ending, wait time.Duration) (earlier, later *story) {
	t.Helper()
	e := p.endpoint()
	earlier = beginAt(t, p, e, Config{}, "first")
	earlier.slot.Finish(first)
	earlier.waits(wait)
	return earlier, p.after(t, e, earlier, "second")
}

// The method after runs a reply with a known text. The message of this reply must come after the messages of an earlier
// reply.
func (p *person) after(t *testing.T, e Endpoint, earlier *story, text string) *story {
	t.Helper()
	later := &story{person: p, t: t, slot: NewSlot(), cancel: func() {}, ended: make(chan struct{})}
	r := New(Options{
		Endpoint: e, To: chat.Target{Chat: "a"}, Key: text, Slot: later.slot, Before: []*Slot{earlier.slot}, Log: slog.New(slog.DiscardHandler),
	})
	later.slot.Finish(Ending{Text: text})
	go func() {
		defer close(later.ended)
		later.out = r.Run(t.Context())
	}()
	synctest.Wait()
	return later
}

// An earlier reply pauses after a failed call. When the next reply wants to create its message, the earlier reply must
// end its pause and create its own message first.
func TestEarlierMessagesComeFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.fate = func(*call) fate {
			if time.Since(p.began) < 10*time.Minute {
				return fail(chat.Temporary)
			}
			return fate{}
		}
		earlier, later := inRow(t, p, Ending{Text: "first"}, 5*time.Minute)
		<-later.ended
		<-earlier.ended
		equal(t, "person sees", p.sees(), []string{"first", "second"})
	})
}

// The platform refuses a reply again and again. After a few seconds, the next reply must no longer wait for the refused
// reply. The bot must deliver the refused reply as soon as the platform accepts it.
func TestARefusedReplyIsOvertaken(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.fate = func(c *call) fate {
			if c.m.Text == "first" && time.Since(p.began) < time.Minute {
				return fail(chat.Forbidden)
			}
			return fate{}
		}
		earlier, later := inRow(t, p, Ending{Text: "first"}, 0)
		<-later.ended
		if took := time.Since(p.began); took < 2*time.Second || took > 10*time.Second {
			t.Errorf("the next reply came after %v, want a few seconds", took)
		}
		<-earlier.ended
		equal(t, "person sees", p.sees(), []string{"second", "first"})
	})
}

// If all messages of a reply exist, or if the reply has ended, it delays no other reply, even if its edits fail.
func TestOnlyRepliesThatNeedAMessageAreWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.fate = func(c *call) fate {
			if c.op == chat.OpEdit {
				return fate{hang: true}
			}
			return fate{}
		}
		e := p.endpoint()
		earlier := beginAt(t, p, e, streamed(), "first")
		earlier.says("one two three", time.Second)
		earlier.slot.Finish(Ending{Text: "first"})
		earlier.waits(time.Second)
		over := NewSlot()
		over.Release()
		slot := NewSlot()
		slot.Finish(Ending{Text: "second"})
		began := time.Now()
		r := New(Options{
			Endpoint: e, To: chat.Target{Chat: "a"}, Key: "second", Slot: slot, Before: []*Slot{over, earlier.slot}, Log: slog.New(slog.DiscardHandler),
		})
		if o := r.Run(t.Context()); !o.Delivered || time.Since(began) > time.Second {
			t.Errorf("outcome %+v after %v, want it at once", o, time.Since(began))
		}
		earlier.cancel()
		<-earlier.ended
	})
}

// The time for which a reply waits for earlier replies does not count toward the reply's deadline.
func TestWaitingDoesNotCountTowardTheDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.fate = func(c *call) fate {
			switch {
			case c.m.Text == "first" && c.attempt == 0:
				return tooMany(time.Hour)
			}
			return fate{}
		}
		earlier, later := inRow(t, p, Ending{Text: "first"}, 0)
		<-earlier.ended
		<-later.ended
		equal(t, "person sees", p.sees(), []string{"first", "second"})
	})
}

// Somebody stops a reply. Later replies must wait until the stopped reply knows which of its messages exist, even if it
// makes other calls first.
func TestStoppedReplyMayStillCreateMessages(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := &state{place: place{ops: chat.OpSend | chat.OpEdit, keyFor: time.Hour}}
	s.parts = []message{
		{phase: standing, ref: chat.MessageRef{ID: "1"}, shown: display{body: payload{plain: "one"}, cursor: true}},
		{attempt: attempt{resolution: byKey, firstAt: now}},
	}
	s.end(&Ending{Keep: true}, now)
	if a := s.next(now); a.kind != doEdit {
		t.Fatalf("next action %d, want the edit of the first message", a.kind)
	}
	if !s.needsMessages(now) {
		t.Error("others need not wait, although the second message is to be sent again under its key")
	}
}

// F39: the next reply waits for a rate limit when the platform refuses an edit of the earlier reply as too long. The
// earlier reply now needs another message, and must create this message before the next reply creates its messages.
func TestAnotherMessageOfAnEarlierReplyComesFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit = 100
		p.profile.Limits = []chat.Limit{{Scope: chat.ScopeChat, Ops: chat.OpAll, Count: 1, Window: time.Second, Burst: 1}}
		refused := fail(chat.TooLong)
		refused.latency = 3 * time.Second
		p.fate = nth(map[int]fate{1: refused})
		e := p.endpoint()
		earlier := beginAt(t, p, e, Config{Enabled: true, MinTokens: 1}, "first")
		earlier.says("one", 2*time.Second)
		start, end := strings.Repeat("one ", 11)+"one", strings.Repeat("two ", 8)+"two"
		earlier.slot.Finish(Ending{Text: start + "\n\n" + end})
		earlier.waits(time.Second)
		later := p.after(t, e, earlier, "second")
		<-later.ended
		<-earlier.ended
		equal(t, "person sees", p.sees(), []string{start, end, "second"})
	})
}
