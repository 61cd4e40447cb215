package gateway_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/internal/chat"
)

// slow is a platform whose response to a send comes a second after the send took effect.
type slow struct{ *platform }

func (p slow) Send(ctx context.Context, to chat.Target, m chat.Outgoing) (chat.Receipt, error) {
	r, err := p.platform.Send(ctx, to, m)
	time.Sleep(time.Second)
	return r, err
}

// Every process dies after a create call took effect, and before it could store the record of the call. The answer may
// be repeated a few times, but not forever (D5).
func TestKilledInEveryCreate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		slowly := func(o *gateway.Options) {
			o.Endpoints[0].Platform = slow{l.platform}
			o.Endpoints[0].Streaming.Enabled = false
		}
		l.begin(t, slowly)
		l.say(t, ask("hi"))
		for range 9 {
			later(700 * time.Millisecond)
			l.kill()
			l.begin(t, slowly)
		}
		later(time.Minute)
		left, _ := l.store.Unfinished(t.Context())
		if got := l.sees(); len(got) > 4 || len(left) > 0 {
			t.Errorf("the answer stands %d times, %d turns are left", len(got), len(left))
		}
	})
}

// narrow is a platform that allows one call per second in a chat.
type narrow struct{ *platform }

func (p narrow) Profile(to chat.Target) chat.Profile {
	r := p.platform.Profile(to)
	r.Limits = []chat.Limit{{Scope: chat.ScopeChat, Ops: chat.OpAll, Count: 1, Window: time.Second, Burst: 1}}
	return r
}

// A call to the platform panics. The call must end its ticket in the budget, so that later calls are not delayed forever.
func TestPanicReturnsItsBudget(t *testing.T) {
	for _, where := range []string{"send", "edit"} {
		synctest.Test(t, func(t *testing.T) {
			h := openWith(t, house{platform: newPlatform(), script: &script{answers: map[string]string{"a": long}}}, func(o *gateway.Options) {
				o.Endpoints[0].Platform = narrow{o.Endpoints[0].Platform.(*platform)}
			})
			if where == "send" {
				h.sendPanics = 1
			} else {
				h.editPanics = 1
			}
			h.say(t, ask("a"))
			later(time.Minute)
			h.say(t, ask("b"))
			later(time.Minute)
			if got := h.sees(); len(got) == 0 || got[len(got)-1] != "re: b" {
				t.Errorf("after a panic in %s: person sees %q, want an answer to the next message", where, got)
			}
		})
	}
}

// shy is a platform that panics when a message is edited to the complete text, with or without a cursor.
type shy struct{ *platform }

func (p shy) Edit(ctx context.Context, ref chat.MessageRef, m chat.Outgoing) (chat.Receipt, error) {
	if strings.Contains(m.Text, "END") {
		panic("the end")
	}
	return p.platform.Edit(ctx, ref, m)
}

// D9: the edit that shows the final panics. The cursor must still be removed.
func TestAPanicInTheFinalLeavesNoCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openWith(t, house{platform: newPlatform(), script: &script{answers: map[string]string{"a": strings.Repeat("word ", 30) + "END"}}}, func(o *gateway.Options) {
			o.Endpoints[0].Platform = shy{o.Endpoints[0].Platform.(*platform)}
		})
		h.say(t, ask("a"))
		later(20 * time.Second)
		got := h.sees()
		if len(got) != 2 || strings.Contains(got[0], "▌") || !strings.Contains(got[1], "Something went wrong here.") {
			t.Errorf("person sees %q, want what was shown without a cursor, and the line", got)
		}
	})
}

// A process resumes a turn, and the delivery of the answer panics. The person must be told that something went wrong.
func TestPanicAfterARestartIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.platform.fail = &chat.SendError{Kind: chat.Temporary}
		l.say(t, ask("hi"))
		later(2 * time.Second)
		l.kill()
		l.platform.fail, l.platform.sendPanics = nil, 1
		l.begin(t, nil)
		later(time.Minute)
		if got := l.sees(); len(got) != 1 || !strings.Contains(got[0], "Something went wrong here.") {
			t.Errorf("person sees %q, want the line", got)
		}
	})
}
