package gateway_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/internal/chat"
	"telex/internal/store/memory"
)

// marking is a platform that can show a sign on messages that wait.
type marking struct {
	*platform
	signs map[chat.MessageID]bool
	ever  int
}

func (m *marking) Mark(ctx context.Context, ref chat.MessageRef, waits bool) error {
	if err := m.pass(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if delete(m.signs, ref.ID); waits {
		m.signs[ref.ID] = true
		m.ever++
	}
	return nil
}

// The process is killed at some moment. After the next process has answered all messages, none of them may still show
// the sign of a waiting message.
func TestWaitingMarksAreRemovedAfterAKill(t *testing.T) {
	ever := 0
	for at := time.Duration(0); at < 9*time.Second; at += 130 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			p := &marking{platform: newPlatform(), signs: make(map[chat.MessageID]bool)}
			l := life{store: memory.New(), platform: p.platform}
			begin := func() {
				l.begin(t, func(o *gateway.Options) { o.Busy, o.Endpoints[0].Platform = gateway.Queue, p })
			}
			begin()
			for _, text := range []string{"a", "b", "c"} {
				l.say(t, ask(text))
				later(300 * time.Millisecond)
			}
			later(at)
			l.kill()
			begin()
			later(time.Minute)
			equal(t, "messages", l.sees(), []string{long, "re: b", "re: c"})
			if len(p.signs) > 0 {
				t.Errorf("killed after %v: there are signs on %v", at, p.signs)
			}
			ever += p.ever
		})
	}
	if ever == 0 {
		t.Error("no message ever had a sign")
	}
}
