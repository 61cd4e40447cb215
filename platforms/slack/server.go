package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/sync/semaphore"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

// serve answers Slack's requests until ctx ends or accept fails.
// https://docs.slack.dev/apis/events-api/using-http-request-urls
func (r *reception) serve(ctx context.Context) error {
	l, err := r.bot.opts.Listener(ctx)
	if err != nil {
		return &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("listen for events: %w", err)}
	}
	serving, end := context.WithCancelCause(ctx) // its end also ends requests that are still read or wait
	defer end(nil)
	requests := semaphore.NewWeighted(maxRequests)
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if serving.Err() != nil {
				http.Error(w, "try again later", http.StatusServiceUnavailable)
				return
			}
			if !requests.TryAcquire(1) {
				r.refuse(serving, w, requestError{http.StatusTooManyRequests, errors.New("too many requests at once")})
				return
			}
			defer requests.Release(1)
			if err := r.answer(serving, w, req); err != nil {
				end(err)
			}
		}),
		ReadHeaderTimeout: 3 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 15 * time.Second,
		IdleTimeout: 30 * time.Second, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(r.bot.log.Handler(), slog.LevelDebug),
	}
	r.isOpen(ctx) // what comes before Accept waits in the system
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := srv.Serve(netutil.LimitListener(l, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
			end(&chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("listen for events: %w", err)})
		}
	}()
	r.bot.await(serving)
	_ = requests.Acquire(context.WithoutCancel(ctx), maxRequests) // they finish what they have in hand, and are answered
	_ = srv.Close()                                               // Shutdown would wait for connections that nobody used yet
	<-done
	return context.Cause(serving)
}

// await returns when serving ends.
func (b *Bot) await(serving context.Context) {
	beat := time.NewTicker(chat.BeatEvery) //nolint:forbidigo // the watchdog wants to know that the loop turns.
	defer beat.Stop()
	for serving.Err() == nil {
		b.heart.Beat()
		select {
		case <-serving.Done():
		case <-beat.C:
		}
	}
}

// answer handles one request, and answers it once its content was accepted. The error is accept's; Slack then sends the request
// again.
func (r *reception) answer(ctx context.Context, w http.ResponseWriter, req *http.Request) error {
	arrived := time.Now()
	body, err := r.readRequest(ctx, w, req)
	if err != nil {
		r.refuse(ctx, w, err)
		return nil
	}
	if challenge := challengeIn(body); challenge != "" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, challenge) // Slack asks again
		return nil
	}
	r.hold(ctx)
	a, found, err := decodeRequest(req.Header.Get("Content-Type"), body, r.self)
	a.in.Missed = req.Header.Get("X-Slack-Retry-Num") != "" && r.waited(a.in)
	if a.arrived = arrived; found && a.ts != "" {
		defer r.line.enter(ctx, a.in.To.Chat, a.ts)()
	}
	says, err := r.settle(ctx, a, found, err)
	if err != nil {
		http.Error(w, "try again later", http.StatusServiceUnavailable)
		return err
	}
	if says != nil {
		w.Header().Set("Content-Type", "application/json")
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(says)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(says)                      // a connection that broke is seen by nobody but Slack
	_ = http.NewResponseController(w).Flush() // before the server may close; without it, it comes again
	return nil
}

// refuse answers an invalid request with an error, and closes its connection, so that nothing more of it is read.
func (r *reception) refuse(ctx context.Context, w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	if refused := (requestError{}); errors.As(err, &refused) {
		status = refused.status
	}
	level := slog.LevelDebug
	r.refused.Do(func() { level = slog.LevelWarn }) // seldom: anybody can send as many as they like
	r.bot.log.Log(ctx, level, "request refused", slog.Any("error", err))
	w.Header().Set("Connection", "close")
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, err.Error(), status)
}

// challengeIn returns the challenge that Slack sends to verify the request URL; empty for other requests.
// https://docs.slack.dev/reference/events/url_verification
func challengeIn(body []byte) string {
	c, err := receiving.Decode[callback](body)
	if err != nil || c.Type != "url_verification" {
		return ""
	}
	return c.Challenge
}

// decodeRequest decodes a request. Events are JSON; commands and buttons are forms.
func decodeRequest(contentType string, body []byte, self identity) (arrival, bool, error) {
	if kind, _, _ := mime.ParseMediaType(contentType); kind != "application/x-www-form-urlencoded" {
		return decodeEvent(body, self)
	}
	form, err := url.ParseQuery(string(body))
	switch {
	case err != nil:
		return arrival{}, false, errors.New("decode form: it is malformed")
	case form.Has("payload"):
		return decodeInteraction(json.RawMessage(form.Get("payload")))
	case form.Has("command"):
		c := command{
			Command: form.Get("command"), Text: form.Get("text"), Channel: form.Get("channel_id"),
			User: form.Get("user_id"), UserName: form.Get("user_name"), Trigger: form.Get("trigger_id"),
			Team: form.Get("team_id"),
		}
		return c.arrival()
	}
	return arrival{}, false, nil // ssl_check, and what else Slack may try
}
