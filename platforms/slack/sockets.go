package slack

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"telex/internal/chat"
)

const (
	// If the last socket ends after at least minStableLife, Run opens the next socket at once. If the last socket ends
	// before minStableLife, Run returns, and the caller of Run waits before the next Run.
	minStableLife = 10 * time.Second
	// If Slack asks to replace a socket less than minLife after the socket was opened, the socket counts as flapping.
	minLife = 2 * time.Second
	// firstRetry and maxRetry are the first and the longest wait between two attempts to replace a socket that still
	// works.
	firstRetry = time.Second
	maxRetry   = 30 * time.Second
)

// socketEvent is an event that a socket reports to its manager.
type socketEvent struct {
	socket  *socket
	leaving bool  // true: Slack wants to replace the socket; false: the socket has ended
	err     error // why the socket ended
}

// runSockets keeps a socket open. runSockets returns when ctx ends, or when the last socket has closed and no other
// socket can be opened. If Slack asks to replace a socket, runSockets opens a new socket while it still reads the old
// socket.
func (r *receiver) runSockets(ctx context.Context) error {
	var work sync.WaitGroup
	defer work.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	k := socketManager{sockets: make(map[*socket]bool), events: make(chan socketEvent), delay: firstRetry}
	beat := time.NewTicker(chat.BeatEvery) //nolint:forbidigo // the watchdog checks that the loop runs.
	defer beat.Stop()
	for {
		r.bot.heart.Beat()
		if k.needsSocket() {
			l, err := r.connect(ctx)
			switch {
			case err == nil:
				k.sockets[l] = false
				r.markOpen(ctx)
				work.Go(func() { r.runSocket(ctx, l, k.events) })
			case ctx.Err() != nil, len(k.sockets) == 0, chat.AsSendError(err).Kind == chat.Auth:
				return err
			default:
				r.bot.log.WarnContext(ctx, "a new socket can't be opened yet", slog.Any("error", err))
				k.postpone(chat.AsSendError(err).RetryAfter)
			}
		}
		select {
		case n := <-k.events:
			flaps := k.isFlapping(n)
			if err := k.handle(n); err != nil {
				return err
			}
			if flaps {
				k.postpone(0)
			}
			r.bot.log.DebugContext(ctx, "socket", slog.Bool("leaving", n.leaving), slog.Any("error", n.err), slog.Int("sockets", len(k.sockets)))
		case <-k.retryAt:
			k.retryAt = nil
		case <-beat.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// socketManager is the state of runSockets.
type socketManager struct {
	sockets   map[*socket]bool // the value is true if Slack wants to replace the socket
	events    chan socketEvent
	retryAt   <-chan time.Time // when to try again to open a socket; nil: at once
	delay     time.Duration
	flapping  int       // number of sockets in a row that Slack asked to replace right after they were opened
	notBefore time.Time // end of a rate limit: no socket may be requested earlier
}

// needsSocket reports whether runSockets must open a socket now. runSockets needs a new socket if Slack has asked to
// replace all existing sockets, and may open the socket if no wait is running.
func (k *socketManager) needsSocket() bool {
	for _, leaving := range k.sockets {
		if !leaving {
			return false
		}
	}
	return k.retryAt == nil
}

// postpone delays the next attempt to open a socket.
func (k *socketManager) postpone(least time.Duration) {
	k.retryAt = time.After(max(k.delay, least)) //nolint:forbidigo // only receiving waits; no call of the gateway waits.
	k.delay, k.notBefore = min(maxRetry, 2*k.delay), time.Now().Add(least)
}

// isFlapping reports whether Slack asked to replace both this socket and the previous socket right after they were
// opened. If isFlapping returns true, runSockets waits before it opens the next socket, because the next socket would
// probably not last either.
func (k *socketManager) isFlapping(n socketEvent) bool {
	switch {
	case k.sockets[n.socket]: // Slack has asked to replace this socket before
		return false
	case time.Since(n.socket.born) >= minLife:
		k.flapping, k.delay = 0, firstRetry
	case n.leaving:
		k.flapping++
	}
	return n.leaving && k.flapping > 1
}

// The method handle handles an event of a socket. The method fails if the event reports that the function accept has
// failed. If the last socket has ended, the method also fails if a rate limit forbids opening another socket, or if the
// last socket ended so early that the next socket would probably end as early.
func (k *socketManager) handle(n socketEvent) error {
	if n.leaving {
		k.sockets[n.socket] = true
		return nil
	}
	delete(k.sockets, n.socket)
	if _, refused := errors.AsType[acceptError](n.err); refused {
		return n.err
	}
	if len(k.sockets) > 0 {
		return nil
	}
	if wait := time.Until(k.notBefore); wait > 0 {
		return &chat.SendError{Kind: chat.RateLimited, RetryAfter: wait, Err: n.err}
	}
	if k.retryAt = nil; time.Since(n.socket.born) < minStableLife {
		return &chat.SendError{Kind: chat.Temporary, Err: n.err}
	}
	return nil
}
