package gateway_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/gateway"
	"telex/internal/chat"
	"telex/internal/store/memory"
)

// counting is a model that answers slowly, and counts how many of its answers are written at the same time.
type counting struct {
	takes         time.Duration
	mu            sync.Mutex
	running, most int
	asked         []string
}

func (c *counting) Run(ctx context.Context, t agent.Turn, emit func(agent.Event)) (agent.Result, error) {
	question := t.Messages[len(t.Messages)-1].Text
	c.mu.Lock()
	c.running++
	c.most = max(c.most, c.running)
	c.asked = append(c.asked, question)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.running--
		c.mu.Unlock()
	}()
	select {
	case <-time.After(c.takes):
	case <-ctx.Done():
		return agent.Result{Stop: agent.StopCancelled}, context.Cause(ctx)
	}
	emit(agent.Text{Delta: "re: " + question})
	return agent.Result{Text: "re: " + question, Stop: agent.StopDone}, nil
}

// waitingIn stores waiting messages in the given number of conversations, as if an earlier process had died.
func waitingIn(t *testing.T, store *memory.Store, conversations int) {
	t.Helper()
	for i := range conversations {
		in := ask("question " + strconv.Itoa(i))
		in.ID, in.To.Chat, in.Sender.ID = "1", chat.ChatID(strconv.Itoa(1000+i)), chat.UserID(strconv.Itoa(1000+i))
		if _, err := store.Accept(t.Context(), chat.Conversation{Endpoint: "tg", Chat: in.To.Chat}, in); err != nil {
			t.Fatal(err)
		}
	}
}

// After a crash, 500 conversations are unfinished. Only a few of these conversations may be resumed at the same time,
// and those with the oldest messages must come first.
func TestRestartResumesAFewConversationsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const conversations = 500
		store, model := memory.New(), &counting{takes: 4 * time.Second}
		waitingIn(t, store, conversations)
		h := openWith(t, house{platform: newPlatform(), script: &script{}}, func(o *gateway.Options) {
			o.Store, o.Runner = store, model
		})
		later(time.Second)
		in := ask("something new") // in a conversation without unfinished work
		in.To.Chat, in.Sender.ID = "5", "5"
		h.say(t, in)
		later(5 * time.Second)
		if got := h.sees(); len(got) != 33 || got[32] != "re: something new" {
			t.Errorf("after 6 s people see %d answers, want 32 and one to what is new", len(got))
		}
		later(3 * time.Minute)
		if got := len(h.sees()); got != conversations+1 {
			t.Errorf("people see %d answers, want %d", got, conversations+1)
		}
		if model.most > 33 {
			t.Errorf("the model gave %d answers at once, want at most 33", model.most)
		}
		for i, question := range model.asked[:32] {
			if n, err := strconv.Atoi(question[len("question "):]); err != nil || n >= 32 {
				t.Errorf("question %d was %q, want one of the oldest 32", i, question)
			}
		}
	})
}

// A turn waits for a long time until its conversation is resumed. The turn must not become too old during this wait,
// because the age of a turn counts only until the start of the process.
func TestTurnThatWaitsToResumeIsNotTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const conversations = 200
		store, model := memory.New(), &counting{takes: 25 * time.Second}
		waitingIn(t, store, conversations)
		left, err := store.Pending(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range left {
			rec := chat.Turn{ID: "t" + string(p.Message.To.Chat), Conversation: p.Conversation, To: p.Message.To, Messages: []chat.Inbound{p.Message}}
			if err := store.Begin(t.Context(), rec); err != nil {
				t.Fatal(err)
			}
		}
		h := openWith(t, house{platform: newPlatform(), script: &script{}}, func(o *gateway.Options) {
			o.Store, o.Runner, o.MaxAge = store, model, time.Minute
		})
		later(5 * time.Minute)
		got := h.sees()
		for _, text := range got {
			if !strings.HasPrefix(text, "re: question ") {
				t.Errorf("somebody sees %q in place of the answer", text)
				break
			}
		}
		if len(got) != conversations {
			t.Errorf("people see %d answers, want %d", len(got), conversations)
		}
	})
}

// Some of the resumed conversations hang. Conversations that hang may delay the other conversations only for a limited time.
func TestHangingConversationsDoNotBlockTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, model := memory.New(), &counting{takes: time.Hour}
		waitingIn(t, store, 100)
		openWith(t, house{platform: newPlatform(), script: &script{}}, func(o *gateway.Options) {
			o.Store, o.Runner = store, model
		})
		later(2 * time.Minute)
		if model.running != 100 {
			t.Errorf("after two minutes the model gives %d answers, want 100", model.running)
		}
	})
}

// A conversation that waits to be resumed must execute commands at once, and must not delay the stop of the daemon.
func TestConversationThatWaitsToResumeObeysCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, model := memory.New(), &counting{takes: 20 * time.Second}
		waitingIn(t, store, 100)
		h := openWith(t, house{platform: newPlatform(), script: &script{}}, func(o *gateway.Options) {
			o.Store, o.Runner = store, model
		})
		later(time.Second)
		stop := command("stop")
		stop.ID, stop.To.Chat, stop.Sender.ID = "stop", "1099", "1099"
		h.say(t, stop)
		later(time.Second)
		equal(t, "messages", h.sees(), []string{gateway.DefaultTexts()[gateway.TextStopped]})
		began := time.Now()
		if err := h.stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("the gateway took %v to stop", took)
		}
		if left, _ := store.Pending(t.Context()); len(left) != 67 {
			t.Errorf("%d messages wait for the next process, want 67: those that had no place yet", len(left))
		}
	})
}
