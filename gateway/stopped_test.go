package gateway_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/internal/chat"
	"telex/internal/store/memory"
)

// A person stops an answer. The configured text for stopped answers must appear below the visible text of the answer, and the
// model must read the answer without it.
func TestAStoppedAnswerIsMarkedForPeopleOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) {
			o.Texts = gateway.DefaultTexts().With(map[string]string{"stopped_mark": "(angehalten)"})
		})
		h.answers["a"] = long
		h.say(t, ask("a"))
		later(750 * time.Millisecond)
		h.say(t, command("stop"))
		later(3 * time.Second)
		h.say(t, ask("b"))
		later(3 * time.Second)
		shown, marked := strings.CutSuffix(h.sees()[0], "\n\n(angehalten)")
		if !marked || shown == "" || !strings.HasPrefix(long, shown) {
			t.Fatalf("people see %q, want a beginning and the mark", h.sees()[0])
		}
		equal(t, "the next turn", h.told(1), []string{"user: a", "assistant: " + shown, "user: b"})
	})
}

// A person stops an answer before any text is visible. The bot must answer /stop with a line, and must not add "(stopped)" to
// any message.
func TestAnAnswerThatShowedNothingIsNotMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) { o.Endpoints[0].Streaming.MinTokens = 1000 })
		h.answers["a"] = long
		h.say(t, ask("a"))
		later(750 * time.Millisecond)
		h.say(t, command("stop"))
		later(3 * time.Second)
		equal(t, "messages", h.sees(), []string{"Stopped."})
	})
}

// A shutdown interrupts an answer, below which people must then see "(stopped)". The next process must complete the answer
// and remove the text "(stopped)".
func TestAnAnswerIsMarkedWhileTheDaemonIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		answer := strings.Repeat(long+" ", 10) + "end"
		change := func(*gateway.Options) { l.script.answers["a"] = answer }
		l.begin(t, change)
		l.say(t, ask("a"))
		later(time.Second)
		_ = l.stop()
		if got := l.sees(); len(got) != 1 || !strings.HasSuffix(got[0], stoppedMark) {
			t.Fatalf("while the daemon is down people see %q, want a beginning and the mark", got)
		}
		l.begin(t, change)
		later(time.Minute)
		equal(t, "messages", l.sees(), []string{answer})
	})
}

// A person sends /new during an answer. People must see "(stopped)" below the ended answer.
func TestAnAnswerThatNewEndsIsMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.answers["a"] = long
		h.say(t, ask("a"))
		later(750 * time.Millisecond)
		h.say(t, command("new"))
		later(3 * time.Second)
		if got := h.sees(); len(got) != 2 || !strings.HasSuffix(got[0], stoppedMark) {
			t.Errorf("people see %q, want a beginning with the mark and a line", got)
		}
	})
}

// slowToRevise is a store that is slow to store an edited question.
type slowToRevise struct{ gateway.Store }

func (s slowToRevise) Revise(ctx context.Context, c chat.Conversation, in chat.Inbound) error {
	time.Sleep(100 * time.Millisecond)
	return s.Store.Revise(ctx, c, in)
}

// toldOnce checks that people are told exactly once that an answer was stopped: by the text "(stopped)" below the answer, or
// by a line of its own.
func toldOnce(t *testing.T, when string, sees []string) {
	t.Helper()
	line, marked := slices.Contains(sees, "Stopped."), len(sees) > 0 && strings.HasSuffix(sees[0], stoppedMark)
	if len(sees) != 1 || line == marked {
		t.Errorf("%s: people see %q", when, sees)
	}
}

// Because a person edits a question, its answer starts over; then the person stops the answer. People must be told exactly
// once that the answer was stopped.
func TestStopAfterAnEditIsMarkedOnce(t *testing.T) {
	for shown := time.Duration(0); shown < 1300*time.Millisecond; shown += 50 * time.Millisecond {
		for after := time.Duration(0); after < 250*time.Millisecond; after += 15 * time.Millisecond {
			synctest.Test(t, func(t *testing.T) {
				h := open(t, func(o *gateway.Options) { o.OnEdit, o.Store = gateway.Restart, slowToRevise{memory.New()} })
				h.answers["a"], h.answers["b"] = long, long
				h.say(t, revised(chat.Text, "m1", "a"))
				later(shown)
				h.say(t, revised(chat.Edited, "m1", "b"))
				later(after)
				h.say(t, command("stop"))
				later(10 * time.Second)
				toldOnce(t, fmt.Sprintf("edited after %v, stopped after %v", shown, after), h.sees())
			})
		}
	}
}

// A process is killed, and a person stops the answer before the next process has resumed its turn. People must be told
// exactly once that the answer was stopped.
func TestStopAfterAKillIsMarkedOnce(t *testing.T) {
	for _, shown := range []time.Duration{0, 500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			l := newLife()
			l.begin(t, nil)
			for i := range 40 { // more conversations than may be resumed at the same time
				in := ask("a")
				in.To.Chat = chat.ChatID(strconv.Itoa(100 + i))
				l.say(t, in)
			}
			later(50 * time.Millisecond)
			l.say(t, ask("a"))
			later(shown)
			l.kill()
			l.begin(t, nil)
			l.say(t, command("stop"))
			later(time.Minute)
			var sees []string
			for _, m := range l.platform.messages {
				if m.to.Chat == "7" {
					sees = append(sees, m.text())
				}
			}
			toldOnce(t, "shown for "+shown.String(), sees)
		})
	}
}
