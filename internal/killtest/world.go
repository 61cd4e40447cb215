package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"telex/internal/outside"
	"telex/standin/openai"
	"telex/standin/telegram"
)

// modelKey is the API key of the model's stand-in. The key is not a secret.
const modelKey = "killtest"

// latency is the duration of a call to the platform. latency is long enough for the test to kill a daemon during a
// call.
const latency = 20 * time.Millisecond

// world is the environment of the daemons: a platform that enforces its published limits, and a model provider that
// always gives the same answer to the same question.
type world struct{ *outside.World }

func newWorld(ctx context.Context) (*world, error) {
	w, err := outside.NewWorld(ctx, telegram.Options{Latency: latency}, openai.Options{Key: modelKey})
	return &world{w}, err
}

// underWay is the maximum time after a daemon's death at which a connection that the daemon has opened can still
// arrive at the stand-in.
const underWay = 50 * time.Millisecond

// settle waits until all calls of a killed daemon have arrived and taken effect. The next daemon must not start before these
// calls have taken effect. telex can't prevent that an old call takes effect late, so the test must not count this as a mistake
// of telex.
func (w *world) settle(ctx context.Context) error {
	if err := outside.Pause(ctx, underWay); err != nil {
		return err
	}
	over, err := await(ctx, 20*time.Second, nil, func() bool { return w.Open() == 0 })
	if err == nil && !over {
		err = errors.New("connections of a dead daemon stay open")
	}
	return err
}

// ask configures the answers in the model's stand-in, and then sends the people's questions in order.
func (w *world) ask(list []question) error {
	for _, q := range list {
		if q.help {
			continue
		}
		do := fmt.Sprintf("rate=%.0f say=%q", q.rate, q.answer)
		if err := w.Model.Rule(openai.Rule{Match: q.text, Do: do}); err != nil {
			return err
		}
	}
	for _, q := range list {
		if q.chat < 0 {
			w.Telegram.Say(telegram.Incoming{Chat: q.chat, User: q.user, Text: "@" + w.Telegram.Bot().Username + " " + q.text})
			continue
		}
		w.Telegram.Say(telegram.Incoming{User: q.chat, Text: q.text})
	}
	return nil
}

// standing returns those of the bot's messages in a chat that nobody has deleted.
func (w *world) standing(chat int64) []telegram.Message {
	return slices.DeleteFunc(w.Telegram.History(chat), func(m telegram.Message) bool { return !m.FromBot || !m.Alive() })
}

// polled reports whether a daemon has asked the platform for new messages since the given time.
func (w *world) polled(since time.Time) bool {
	return slices.ContainsFunc(w.Telegram.Calls(), func(c telegram.Call) bool {
		return c.Method == "getUpdates" && c.At.After(since)
	})
}

// searchFor is slightly longer than the time between the first two searches of a daemon for the same message.
const searchFor = 13 * time.Second

// searching reports whether a daemon may still be searching for a message, because the outcome of its create is unknown. The
// parameter since is when the daemon started.
func (w *world) searching(since time.Time) bool {
	var missed, last time.Time
	for _, c := range w.Telegram.Calls() {
		switch {
		case c.At.Before(since) || c.Method != sendCall && c.Method != editCall:
			continue
		case strings.Contains(c.Description, "message to edit not found"), strings.Contains(c.Description, "message can't be edited"):
			missed = c.At
		}
		last = c.At
	}
	return !missed.IsZero() && time.Since(last) < searchFor
}

// await waits until the function ok returns true, the channel given is closed, or the time most has passed. await returns the
// last result of ok.
func await(ctx context.Context, most time.Duration, given <-chan struct{}, ok func() bool) (bool, error) {
	deadline := time.After(most)
	for {
		if ok() {
			return true, nil
		}
		select {
		case <-time.After(3 * time.Millisecond):
		case <-given:
			return ok(), nil
		case <-deadline:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}
