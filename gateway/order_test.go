package gateway_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/gateway/access"
	"telex/internal/chat"
	"telex/internal/store/memory"
)

// stoppedMark is the line below the visible text of a stopped answer.
const stoppedMark = "\n\n(stopped)"

const long = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"

func TestANewMessageInterrupts(t *testing.T) { // F11, F39, D9
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.answers["a"] = long
		h.say(t, ask("a"))
		later(750 * time.Millisecond)
		h.say(t, ask("b"))
		later(5 * time.Second)
		got := h.sees()
		shown, marked := strings.CutSuffix(got[0], stoppedMark)
		if len(got) != 2 || !marked || !strings.HasPrefix(long, shown) || shown == "" || got[1] != "re: b" {
			t.Errorf("got %q, want a shown beginning with the mark, without cursor, and the new answer", got)
		}
		if len(h.ended) != 2 || h.ended[0] == nil {
			t.Errorf("the model of the first turn was not cancelled: %v", h.ended)
		}
		m := h.turns[1].Messages
		if len(m) != 3 || m[1].Text != strings.TrimSpace(shown) {
			t.Errorf("history: got %+v, want what was shown", m)
		}
	})
}

func TestMessagesBeforeAnythingWasShownAreOneQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.say(t, ask("a"))
		later(20 * time.Millisecond)
		h.say(t, ask("b"))
		h.say(t, ask("c"))
		later(5 * time.Second)
		qs := h.questions()
		if last := qs[len(qs)-1]; last != "a\n\nb\n\nc" {
			t.Errorf("asked %q, want the three as one", qs)
		}
		equal(t, "messages", h.sees(), []string{"re: a\n\nb\n\nc"})
	})
}

func TestInAGroupOnlyTheAskerInterrupts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.answers["a"] = long
		group := func(user chat.UserID, text string) chat.Inbound {
			in := ask(text)
			in.To, in.Sender.ID = chat.Target{Chat: "-5", Kind: chat.Group}, user
			return in
		}
		h.say(t, group("1", "a"))
		later(500 * time.Millisecond)
		h.say(t, group("2", "b"))
		later(10 * time.Second)
		equal(t, "messages", h.sees(), []string{long, "re: b"})
		h.say(t, group("1", "a"))
		later(500 * time.Millisecond)
		h.say(t, group("1", "c"))
		later(10 * time.Second)
		if got := h.sees(); got[2] == long || got[3] != "re: c" {
			t.Errorf("the asker did not interrupt: %q", got)
		}
	})
}

func TestQueueKeepsOrderAndSaysWhenItIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) { o.Busy = gateway.Queue })
		h.answers["a"] = long
		for _, q := range []string{"a", "b", "c", "d", "e", "f"} {
			h.say(t, ask(q))
			later(20 * time.Millisecond)
		}
		later(20 * time.Second)
		equal(t, "questions", h.questions(), []string{"a", "b", "c", "d"})
		full := 0
		for _, s := range h.sees() {
			if strings.HasPrefix(s, "Too many messages") {
				full++
			}
		}
		if full != 1 {
			t.Errorf("said %d times that the queue is full, want once: %q", full, h.sees())
		}
	})
}

func TestConversationsRunSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.answers["a"] = long
		began := time.Now()
		for _, c := range []chat.ChatID{"1", "2", "3"} {
			in := ask("a")
			in.To.Chat, in.ID = c, chat.MessageID("m"+c)
			h.say(t, in)
		}
		for len(h.sees()) < 3 || h.sees()[2] != long {
			later(100 * time.Millisecond)
		}
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("three conversations took %v, want the time of one", took)
		}
	})
}

func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.say(t, command("stop"))
		later(time.Second)
		equal(t, "idle", h.sees(), []string{"Nothing is running."})

		h.answers["a"] = long
		h.say(t, ask("a"))
		later(500 * time.Millisecond)
		h.say(t, command("stop"))
		later(5 * time.Second)
		got := h.sees()[1:]
		if shown, marked := strings.CutSuffix(got[0], stoppedMark); len(got) != 1 || !marked || !strings.HasPrefix(long, shown) || shown == long {
			t.Errorf("running: got %q, want the shown beginning with the mark alone", got)
		}

		h.say(t, ask("slow"))
		later(20 * time.Millisecond)
		h.say(t, command("stop"))
		later(5 * time.Second)
		equal(t, "nothing shown yet", h.sees()[2:], []string{"Stopped."})
	})
}

func TestStopDropsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) { o.Busy = gateway.Queue })
		h.answers["a"] = long
		h.say(t, ask("a"))
		h.say(t, ask("b"))
		later(500 * time.Millisecond)
		h.say(t, command("stop"))
		later(5 * time.Second)
		equal(t, "questions", h.questions(), []string{"a"})
	})
}

func TestNewForgets(t *testing.T) { // F37
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.answers["a"] = long
		h.say(t, ask("before"))
		later(3 * time.Second)
		h.say(t, ask("a"))
		later(500 * time.Millisecond)
		h.say(t, command("new"))
		later(3 * time.Second)
		h.say(t, ask("b"))
		later(3 * time.Second)
		got := h.sees()
		if !strings.HasPrefix(got[2], "New conversation.") || got[3] != "re: b" {
			t.Errorf("got %q", got)
		}
		if m := h.turns[2].Messages; len(m) != 1 {
			t.Errorf("the new conversation knows %+v, want only its own question", m)
		}
	})
}

func TestCommandsAnswerWhileATurnRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.answers["a"] = long
		h.say(t, ask("a"))
		later(500 * time.Millisecond)
		h.say(t, command("help"))
		later(200 * time.Millisecond)
		got := h.sees()
		if len(got) != 2 || !strings.Contains(got[1], "/new") {
			t.Fatalf("got %q, want the help beside the running answer", got)
		}
		later(5 * time.Second)
		if h.sees()[0] != long {
			t.Errorf("the turn was disturbed: %q", h.sees()[0])
		}
	})
}

func TestAnUnknownCommandGoesToTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.say(t, command("etc/passwd"))
		later(3 * time.Second)
		equal(t, "questions", h.questions(), []string{"/etc/passwd"})
	})
}

func TestShutdownMakesRepliesFinal(t *testing.T) { // D9, F08
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.answers["a"], h.answers["b"] = strings.Repeat("word ", 500)+"end", "quite short"
		h.say(t, ask("a"))
		in := ask("b")
		in.To.Chat = "8"
		h.say(t, in)
		later(150 * time.Millisecond)
		began := time.Now()
		if err := h.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("stopping took %v, want little more than the drain of 1 s", took)
		}
		for _, s := range h.sees() {
			if strings.Contains(s, "▌") {
				t.Errorf("a cursor stays: %q", s)
			}
		}
		if got := h.sees(); got[1] != "quite short" && got[0] != "quite short" {
			t.Errorf("the reply that was nearly done was not finished: %q", got)
		}
	})
}

// The gateway is stopped before it has read the unfinished work of earlier processes. Run must return without an error.
func TestStopDuringTheStart(t *testing.T) {
	g, err := gateway.New(gateway.Options{Store: memory.New(), Grace: time.Second, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Run(ctx, func() { t.Error("it says that it has started") }); err != nil {
		t.Errorf("got %v", err)
	}
}

// stopAtStart stops a gateway right after it has read the unfinished work of an earlier process.
type stopAtStart struct {
	gateway.Store
	stop context.CancelFunc
}

func (s stopAtStart) Pending(ctx context.Context) ([]chat.Pending, error) {
	defer s.stop()
	return s.Store.Pending(ctx)
}

// The gateway is stopped while it starts. After Run has returned, the gateway must not begin a turn, so that the next
// process answers the message.
func TestStopDuringTheStartBeginsNoTurnLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		store := memory.New()
		in := ask("a")
		in.More = true // the queue waits for the rest of a split message, so the turn would begin after Run has returned
		if _, err := store.Accept(ctx, chat.Conversation{Endpoint: "tg", Chat: "7"}, in); err != nil {
			t.Fatal(err)
		}
		p := newPlatform()
		g, err := gateway.New(gateway.Options{
			Endpoints: []gateway.Endpoint{{ID: "tg", Platform: p}}, Runner: &script{answers: map[string]string{}},
			Store: stopAtStart{store, cancel}, Access: access.Rules{Open: true}, Busy: gateway.Interrupt,
			MaxQueued: 3, Grace: 6 * time.Second, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Run(ctx, func() { t.Error("it reports that it has started") }); err != nil {
			t.Errorf("got %v", err)
		}
		later(10 * time.Second) // longer than a question waits for the rest of a split message
		if left, err := store.Pending(t.Context()); err != nil || len(left) != 1 {
			t.Errorf("%d messages wait for the next process, %v", len(left), err)
		}
	})
}

func TestShutdownEndsEvenWhenThePlatformHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.answers["a"] = long
		h.say(t, ask("a"))
		later(500 * time.Millisecond)
		h.platform.mu.Lock()
		h.platform.hangs = true
		h.platform.mu.Unlock()
		began := time.Now()
		err := h.stop()
		if err == nil {
			t.Error("Run: got no error for replies that are not final")
		}
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("stopping took %v, want the grace of 6 s", took)
		}
	})
}

func TestReceivingIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.runs = []error{
			&chat.SendError{Kind: chat.Temporary, Err: errors.New("no route")},
			&chat.SendError{Kind: chat.RateLimited, RetryAfter: 30 * time.Second},
			&chat.SendError{Kind: chat.Conflict, Err: errors.New("another poller")},
			nil,
		}
		p.panics = true
		h := openWith(t, house{platform: p, script: &script{}}, nil)
		later(2 * time.Minute)
		if p.started != 6 {
			t.Fatalf("ran %d times, want 6", p.started)
		}
		h.say(t, ask("hi"))
		later(3 * time.Second)
		equal(t, "messages", h.sees(), []string{"re: hi"})
	})
}

func TestRefusedCredentialsStopOneEndpointOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := newPlatform()
		refused := &chat.SendError{Kind: chat.Auth, Err: errors.New("401")}
		bad.runs = []error{refused, refused, refused, nil}
		h := open(t, func(o *gateway.Options) {
			o.Endpoints = append(o.Endpoints, gateway.Endpoint{ID: "bad", Platform: bad})
		})
		later(10 * time.Minute)
		if bad.started != 3 {
			t.Errorf("the refused endpoint ran %d times, want that its credentials are checked twice more, and then no run", bad.started)
		}
		h.say(t, ask("hi"))
		later(3 * time.Second)
		equal(t, "messages", h.sees(), []string{"re: hi"})
	})
}

// The platform refuses the credentials at two connections, which may be a mistake of the platform. The endpoint must
// connect again.
func TestOneRefusalOfCredentialsIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := &chat.SendError{Kind: chat.Auth, Err: errors.New("401")}
		p := newPlatform()
		p.runs = []error{refused, refused}
		h := openWith(t, house{platform: p, script: &script{}}, nil)
		later(time.Minute)
		h.say(t, ask("hi"))
		later(3 * time.Second)
		equal(t, "messages", h.sees(), []string{"re: hi"})
	})
}

func TestResumeBeginsWhereTheLastRunEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		h := open(t, func(o *gateway.Options) { o.Store = store })
		h.say(t, ask("hi"))
		later(3 * time.Second)
		_ = h.stop()
		again := openWith(t, house{platform: newPlatform(), script: &script{}}, func(o *gateway.Options) { o.Store = store })
		equal(t, "resume", again.resumes, []string{"1"})
	})
}

func TestCapabilitiesMustBeKept(t *testing.T) {
	_, err := gateway.New(gateway.Options{Endpoints: []gateway.Endpoint{{ID: "x", Platform: mute{newPlatform()}}}})
	if err == nil || !strings.Contains(err.Error(), "capability Edit") {
		t.Errorf("got %v, want an error about the capability Edit", err)
	}
	p := newPlatform()
	_, err = gateway.New(gateway.Options{Endpoints: []gateway.Endpoint{{ID: "x", Platform: p}, {ID: "x", Platform: p}}})
	if err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("got %v, want an error about the double endpoint", err)
	}
}

// mute is a platform that implements interfaces for capabilities that it does not report.
type mute struct{ *platform }

func (mute) Capabilities() chat.Capabilities { return chat.Capabilities{} }

func TestStoppedQuestionIsNotAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.say(t, ask("a"))
		later(20 * time.Millisecond)
		h.say(t, command("stop"))
		h.say(t, ask("b"))
		later(5 * time.Second)
		if qs := h.questions(); qs[len(qs)-1] != "b" {
			t.Errorf("asked %q, want b alone after the stop", qs)
		}
	})
}

// Each connection breaks off after it has worked for a few seconds. The endpoint must connect again soon, even after
// many interruptions.
func TestCutPollsAreRetriedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.lasts = 3 * time.Second
		for range 20 {
			p.runs = append(p.runs, &chat.SendError{Kind: chat.Temporary, Err: errors.New("cut")})
		}
		openWith(t, house{platform: p, script: &script{}}, nil)
		later(90 * time.Second)
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.started != 21 {
			t.Errorf("ran %d times in 90 s, want 21: after each cut about a second", p.started)
		}
	})
}

// A message arrives while the actor of its conversation has no more work and ends. The message must be answered at
// once, and not only after the next restart.
func TestMessageWhileItsActorEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		store := l.openMoody(t)
		l.steps = l.steps[1:]
		store.set(func(m *moody) { m.drops = 5 * time.Second })
		l.say(t, pressing("approve:none")) // after this press, there is nothing to do, so the actor ends
		later(time.Second)
		l.say(t, ask("light"))
		later(20 * time.Second)
		equal(t, "messages", l.sees(), []string{"It is on."})
	})
}

// watched is a store that records the messages that it received.
type watched struct {
	gateway.Store
	accepted []chat.Inbound
}

func (w *watched) Accept(ctx context.Context, c chat.Conversation, m chat.Inbound) (bool, error) {
	w.accepted = append(w.accepted, m)
	return w.Store.Accept(ctx, c, m)
}

// A message is longer than any person types. The text of the message must be neither stored nor shown to a model, and
// the sender must be told that the message is too long.
func TestTooLongMessageIsNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &watched{}
		l := newLab()
		l.open(t, func(o *gateway.Options) { store.Store, o.Store = o.Store, store })
		const most = 64 << 10
		l.steps = l.steps[1:]
		l.say(t, ask(strings.Repeat("x", most)))
		later(5 * time.Second)
		l.say(t, ask(strings.Repeat("x", most+1)))
		later(5 * time.Second)
		l.say(t, with(command("approve"), strings.Repeat("x", most+1)))
		later(5 * time.Second)
		refused := gateway.DefaultTexts()[gateway.TextTooLong]
		equal(t, "messages", l.sees(), []string{"It is on.", refused, refused})
		for i, want := range []int{most, 0, 0} {
			if m := store.accepted[i]; len(m.Text)+len(m.Args) != want {
				t.Errorf("of message %d %d bytes were stored, want %d", i, len(m.Text)+len(m.Args), want)
			}
		}
		if len(l.asked) != 1 {
			t.Errorf("the model was asked %d times", len(l.asked))
		}
	})
}
