package discord_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/gateway/access"
	"telex/gateway/preview"
	"telex/internal/chat"
	"telex/platforms/conformance"
	"telex/platforms/discord"
	standin "telex/standin/discord"
)

// These tests check features that only Discord has, with Discord's stand-in.

// The constant quiet is how long a test waits until the bot has completed its reactions.
const quiet = 30 * time.Second

// inBubble runs a test in virtual time. The stand-in of the test's world enforces Discord's own rate limits, unless
// the options o change the limits.
func inBubble(t *testing.T, o standin.Options, run func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorldWith(t, o)
		run(t, w)
		for _, v := range w.Violations() {
			t.Errorf("violation: %s", v)
		}
	})
}

// runs is a call of Bot.Run in a goroutine, together with the messages that the call has accepted.
type runs struct {
	t      *testing.T
	bot    *discord.Bot
	cancel context.CancelFunc
	done   chan error

	mu       sync.Mutex
	accepted []chat.Inbound
	resume   chat.Resume
	full     int // how many of the next messages the store refuses
	known    map[string]bool
}

// start calls the bot's Run in a goroutine. The call of Run ends when the method stop is called or the test ends.
func start(t *testing.T, bot *discord.Bot, from chat.Resume) *runs {
	t.Helper()
	return (&runs{t: t, bot: bot, resume: from, known: make(map[string]bool)}).again(bot)
}

// The method again calls Run again. The new call of Run continues where the previous call ended, and uses the same
// imitation of a store.
func (r *runs) again(bot *discord.Bot) *runs {
	r.t.Helper()
	from := r.from()
	ctx, cancel := context.WithCancel(r.t.Context())
	next := &runs{t: r.t, bot: bot, cancel: cancel, done: make(chan error, 1), resume: from, known: r.known}
	go func() { next.done <- bot.Run(ctx, from, next.accept) }()
	r.t.Cleanup(cancel)
	time.Sleep(time.Second)
	synctest.Wait()
	return next
}

var errFull = errors.New("disk full")

func (r *runs) accept(_ context.Context, in chat.Inbound) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full > 0 {
		r.full--
		return errFull
	}
	if in.Kind == chat.Edited || in.Kind == chat.Deleted { // the gateway does not store edits and deletions
		r.accepted = append(r.accepted, in)
		return nil
	}
	if id := fmt.Sprint(in.To, in.ID); !r.known[id] { // accept each message only once, as a store does
		r.known[id] = true
		r.accepted = append(r.accepted, in)
	}
	r.resume.Cursor = in.Resume
	r.resume.Places = slices.DeleteFunc(r.resume.Places, func(p chat.Target) bool { return p == in.To })
	r.resume.Places = slices.Insert(r.resume.Places, 0, in.To)
	return nil
}

// refuse makes the store refuse the next n messages, as if the store were full.
func (r *runs) refuse(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.full = n
}

// stop ends the call of Run and returns the error of Run.
func (r *runs) stop() error {
	r.t.Helper()
	r.cancel()
	return r.ended()
}

// ended waits until Run returns by itself, and returns the error of Run.
func (r *runs) ended() error {
	r.t.Helper()
	select {
	case err := <-r.done:
		return err
	case <-time.After(time.Hour):
		r.t.Fatal("the run does not end")
		return nil
	}
}

// The method from returns the position at which another call of Run would continue to receive.
func (r *runs) from() chat.Resume {
	r.mu.Lock()
	defer r.mu.Unlock()
	return chat.Resume{Cursor: r.resume.Cursor, Places: slices.Clone(r.resume.Places)}
}

// The method take returns the messages that were accepted since the previous call of take.
func (r *runs) take() []chat.Inbound {
	time.Sleep(quiet)
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.accepted
	r.accepted = nil
	return list
}

// wantTexts checks the texts of the messages that were accepted since the previous call of take.
func (r *runs) wantTexts(want ...string) {
	r.t.Helper()
	var got []string
	for _, in := range r.take() {
		got = append(got, in.Text)
	}
	if !slices.Equal(got, want) {
		r.t.Errorf("accepted %q, want %q", got, want)
	}
}

// The method one returns the only message that was accepted since the previous call of take.
func (r *runs) one() chat.Inbound {
	r.t.Helper()
	list := r.take()
	if len(list) != 1 {
		r.t.Fatalf("accepted %+v, want one message", list)
	}
	return list[0]
}

// say makes a person write a text. Except in a DM, the text mentions the bot.
func (w *world) say(channel, text string) string {
	w.t.Helper()
	if channel != w.direct && channel != "" {
		text = w.server.Mention() + " " + text
	}
	id, err := w.server.Say(standin.Incoming{Channel: channel, Text: text})
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

func discarded() *slog.Logger { return slog.New(slog.DiscardHandler) }

// house runs telex's gateway with a bot until the test ends or the returned function is called. If open is true, the
// bot answers everybody.
func house(t *testing.T, bot conformance.Adapter, s gateway.Store, r gateway.Runner, open bool) (end func()) {
	t.Helper()
	end = conformance.Start(t, gateway.Options{
		Endpoints: []gateway.Endpoint{{
			ID: "discord", Platform: bot,
			Streaming: preview.Config{Enabled: true, MinTokens: 3, Cursor: " ▌", MaxParts: 4},
		}},
		Runner: r, Store: s, Access: access.Rules{Open: open}, Busy: gateway.Queue, MaxQueued: 20,
		MaxAge: 24 * time.Hour, Grace: 10 * time.Second, Log: discarded(),
	})
	time.Sleep(5 * time.Second)
	synctest.Wait()
	return end
}

func contextFor(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), d)
}
