package preview

import (
	"fmt"
	"testing"
	"time"

	"telex/internal/chat"
)

// takenOver returns a reply that this process took over from another process two seconds ago. The create call with
// which the other process sent the final still hangs. The platform can be searched for the message.
func takenOver(t *testing.T, p *person, shared bool) *lives {
	t.Helper()
	e := p.endpoint()
	e.Finder = channel{p}
	l := live(t, p, e, Config{})
	l.shared = shared
	p.fate = nth(map[int]fate{0: {hang: true}})
	l.slot.Finish(Ending{Text: "the final"})
	l.waits(8 * time.Second)
	l.again()
	p.fate = nil
	l.slot.Finish(Ending{Text: "the final"})
	l.waits(2 * time.Second)
	return l
}

// getsLate makes the hanging create call for a reply's first message take effect.
func (p *person) getsLate(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.create(&call{to: "a"}, chat.Outgoing{Key: Key("key", 0), Text: text})
}

// A replica is paused during a create call and loses its lease. The next owner of the chat searches for the message,
// does not find it yet, and sends another one. When the first message appears later, this owner or the next one must
// find and delete it. If processes do not share the store, the earlier process is dead, so no create call can take
// effect late. Without a shared store, the next process must therefore search only once.
func TestMessageOfAPausedReplicaComesLate(t *testing.T) {
	for _, c := range []struct {
		name           string
		shared, comes  bool
		keys           time.Duration
		owners, expect int // the expected numbers of owners and of searches
	}{
		{"one owner", true, true, 0, 1, 2},
		{"one owner, the key is forgotten", true, true, time.Second, 1, 2},
		{"two owners", true, true, 0, 2, 2},
		{"it never comes", true, false, 0, 1, 2},
		{"not shared", false, false, 0, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.profile.KeyFor = c.keys
				l := takenOver(t, p, c.shared)
				for range c.owners - 1 {
					l.again()
					l.slot.Finish(Ending{Text: "the final"})
				}
				l.waits(10 * time.Second)
				equal(t, "messages before", p.sees(), []string{"the final"})
				if c.comes {
					p.getsLate("the final")
				}
				<-l.ended
				equal(t, "messages", p.sees(), []string{"the final"})
				if n := p.count(chat.OpFind); n != c.expect {
					t.Errorf("%d searches, want %d: %s", n, c.expect, fmt.Sprint(p.log()))
				}
			})
		})
	}
}

// A second search, or the repetition of an edit, is due later than a stopping process may wait. A stopping process must
// therefore leave the second search or the repeated edit to the next owner of the chat.
func TestLateChecksAreLeftToTheNextOwner(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		l := takenOver(t, p, true)
		close(l.stops)
		l.waits(0)
		select {
		case <-l.ended:
		default:
			t.Fatal("the process does not stop")
		}
		if !l.out.Unfinished || !l.out.Delivered {
			t.Errorf("outcome %+v, want it delivered, with something left to do", l.out)
		}
		p.getsLate("the final")
		l.stops = nil
		l.again()
		l.slot.Finish(Ending{Text: "the final"})
		<-l.ended
		equal(t, "messages", p.sees(), []string{"the final"})
	})
}

// A replica is paused during the edit for a preview and loses its lease. The next owner of the chat edits the message,
// so that it shows the final. The next owner repeats its edit when the paused replica's edit can no longer take effect.
// The conversation continues before the edit is repeated. If the platform refuses the repeated edit, the bot does not
// try again.
func TestEditOfAPausedReplicaComesLate(t *testing.T) {
	final := "one two three four."
	for _, c := range []struct {
		name   string
		shared bool
		says   time.Duration // time between the takeover and the end of the model's answer
		fate   fate          // the fate of the repeated edit
		want   []string
	}{
		{"at once", true, 0, fate{}, []string{"2s edit 1: " + final, "12s edit 1: " + final}},
		{"refused", true, 0, fail(chat.TooLong), []string{"2s edit 1: " + final, "12s edit 1: " + final + " (too long)"}},
		{"later than that", true, 11 * time.Second, fate{}, []string{"13s edit 1: " + final}},
		{"not shared", false, 0, fate{}, []string{"2s edit 1: " + final}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				l := live(t, p, p.endpoint(), streamed())
				l.says("one two three", 2*time.Second)
				l.shared = c.shared
				l.again()
				time.Sleep(c.says)
				n := 0
				p.fate = func(*call) fate {
					if n++; n == 2 {
						return c.fate
					}
					return fate{}
				}
				l.slot.Finish(Ending{Text: final})
				l.waits(time.Second)
				if parkable := l.troubled.Load(); parkable != (len(c.want) > 1) {
					t.Errorf("the conversation may go on: %t", parkable)
				}
				<-l.ended
				equal(t, "calls", l.log()[1:], c.want)
				equal(t, "messages", p.sees(), []string{final})
			})
		})
	}
}

// F41: a process that has lost its lease makes no calls.
func TestNoCallWithoutALease_F41(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		e := p.endpoint()
		e.MayCall = func() bool { return time.Since(p.began) < 1500*time.Millisecond }
		s := beginAt(t, p, e, streamed(), "key")
		s.says("one two three", time.Second)
		s.says(" four", 10*time.Second)
		s.slot.Finish(Ending{Text: "the final"})
		time.Sleep(10 * time.Second)
		s.cancel()
		<-s.ended
		equal(t, "calls", s.log(), []string{"0s send 1: one two three ▌", "1s edit 1: one two three four ▌"})
	})
}
