package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
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
	open                  *atomic.Int64 // connections to the platform
	served                []chan error
}

func newWorld(ctx context.Context) (*world, error) {
	w := &world{
		telegram: telegram.New(telegram.Options{Latency: latency}),
		model:    openai.New(openai.Options{Key: modelKey}),
		open:     new(atomic.Int64),
	}
	var err error
	counted := func(l net.Listener) error { return w.telegram.Serve(countingListener{l, w.open}) }
	if w.telegramURL, err = w.serve(ctx, counted); err == nil {
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

// underWay is how long a new connection may take to arrive that a daemon had opened before it died.
const underWay = 50 * time.Millisecond

// settle waits until all that a dead daemon had sent has arrived and taken effect. Its successor is
// not started before: no client can prevent that a call is carried out late.
func (w *world) settle(ctx context.Context) error {
	if err := pause(ctx, underWay); err != nil {
		return err
	}
	over, err := await(ctx, 20*time.Second, nil, func() bool { return w.open.Load() == 0 })
	if err == nil && !over {
		err = errors.New("connections of a dead daemon stay open")
	}
	return err
}

// countingListener counts the connections that are open. The server closes one when it has answered
// what came through it.
type countingListener struct {
	net.Listener
	open *atomic.Int64
}

// Accept implements net.Listener.
func (l countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.open.Add(1)
	return &countedConn{Conn: c, open: l.open}, nil
}

type countedConn struct {
	net.Conn
	open *atomic.Int64
	once sync.Once
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
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
