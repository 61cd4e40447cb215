package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// modelKey is what daemons and the model know each other by. It protects nothing.
const modelKey = "killtest"

// latency is how long a call to the platform takes: long enough to be killed in it.
const latency = 20 * time.Millisecond

// world is what a daemon lives in, and what outlives it: a platform with its published limits, and a
// model provider that answers the same question always alike.
type world struct {
	telegram              *telegram.Server
	model                 *openai.Server
	telegramURL, modelURL string
	served                []chan error
}

func newWorld(ctx context.Context) (*world, error) {
	w := &world{
		telegram: telegram.New(telegram.Options{Latency: latency}),
		model:    openai.New(openai.Options{Key: modelKey}),
	}
	var err error
	if w.telegramURL, err = w.serve(ctx, w.telegram.Serve); err == nil {
		w.modelURL, err = w.serve(ctx, w.model.Serve)
	}
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *world) serve(ctx context.Context, serve func(net.Listener) error) (url string, err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	served := make(chan error, 1)
	w.served = append(w.served, served)
	go func() { served <- serve(l) }()
	return "http://" + l.Addr().String(), nil
}

// close ends both servers and waits for them.
func (w *world) close() error {
	err := errors.Join(w.telegram.Close(), w.model.Close())
	for _, served := range w.served {
		err = errors.Join(err, <-served)
	}
	return err
}

// ask tells the model its answers and lets people ask, in order.
func (w *world) ask(list []question) error {
	for _, q := range list {
		if q.help {
			continue
		}
		do := fmt.Sprintf("rate=%.0f say=%q", q.rate, q.answer)
		if err := w.model.Rule(openai.Rule{Match: q.text, Do: do}); err != nil {
			return err
		}
	}
	for _, q := range list {
		if q.chat < 0 {
			w.telegram.Say(telegram.Incoming{Chat: q.chat, User: q.user, Text: "@" + w.telegram.Bot().Username + " " + q.text})
			continue
		}
		w.telegram.Say(telegram.Incoming{User: q.chat, Text: q.text})
	}
	return nil
}

// standing returns the bot's messages of a chat that are there.
func (w *world) standing(chat int64) []telegram.Message {
	return slices.DeleteFunc(w.telegram.History(chat), func(m telegram.Message) bool { return !m.FromBot || !m.Alive() })
}

// seen is what a person sees of the bot in a chat, without cursors.
func (w *world) seen(chat int64) string {
	var texts []string
	for _, m := range w.standing(chat) {
		texts = append(texts, strings.TrimSuffix(m.Text(), cursor))
	}
	return flat(strings.Join(texts, " "))
}

// polled reports whether somebody has asked for messages since then.
func (w *world) polled(since time.Time) bool {
	return slices.ContainsFunc(w.telegram.Calls(), func(c telegram.Call) bool {
		return c.Method == "getUpdates" && c.At.After(since)
	})
}

// await waits until ok holds, for so long at most, or until given ends.
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

// pause waits, or returns why it could not.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
