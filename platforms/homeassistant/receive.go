package homeassistant

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

// answerTimeout is how long the bot waits until an answer is complete. After answerTimeout, the bot sends the next
// message even if the answer is not complete. Answers normally take less than answerTimeout, because agent.limits and
// the deadline for delivering a final limit the time of an answer.
const answerTimeout = time.Hour

// Run receives changes until ctx ends, and passes messages about the changes to the function accept, one after the
// other. Home Assistant does not repeat changes, so Run misses the changes during an outage and has no resume cursor.
// If Run ends before accept has accepted a message, the next Run passes the same message to accept again.
//
// Run returns ctx's error if ctx ended, accept's error if accept failed, and a *chat.SendError if the connection
// failed: Auth if the token is refused, otherwise Temporary.
func (b *Bot) Run(ctx context.Context, _ chat.Resume, accept func(context.Context, chat.Inbound) error) error {
	b.heart.Beat()
	s, err := b.connect(ctx)
	if err != nil {
		return err
	}
	defer s.ws.CloseNow() //nolint:errcheck // nobody uses the connection any more
	run, running := errgroup.WithContext(ctx)
	run.Go(func() error { return b.receiveError(running, "receive", b.readChanges(running, s)) })
	run.Go(func() error { return b.receiveError(running, "ping", s.keepAlive(running)) })
	run.Go(func() error { return b.sendMessages(running, accept) })
	err = run.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// readChanges handles frames until the connection fails or ctx ends.
func (b *Bot) readChanges(ctx context.Context, s *socket) error {
	for {
		b.heart.Beat()
		data, err := s.read(ctx)
		if err == nil {
			err = b.handleFrame(ctx, s, data)
		} else if !errors.Is(err, errLarge) {
			return err
		}
		if err != nil {
			b.unread.Do(func() {
				b.log.WarnContext(ctx, "invalid message from Home Assistant", slog.Any("error", err))
			})
		}
	}
}

// handleFrame handles one frame. The caller logs the errors of handleFrame, so these errors do not contain the frame's
// content.
func (b *Bot) handleFrame(ctx context.Context, s *socket, data []byte) (err error) {
	defer receiving.Recover("read message", &err)
	f, err := decodeFrame(data)
	if err != nil {
		return err
	}
	switch f.Type {
	case typeResult:
		if !f.Success {
			b.log.WarnContext(ctx, "Home Assistant refused a command", slog.String("error", b.secrets.Redact(oneLine(f.Error.Code+": "+f.Error.Message, maxState))))
		}
	case typeEvent:
		s.lastEvent.Store(time.Now().UnixNano())
		if from, to, ok := f.change(); ok {
			b.addChange(ctx, from, to)
		}
	}
	return nil
}

// addChange passes a change to the watcher, which keeps the change until the bot reports the change.
func (b *Bot) addChange(ctx context.Context, from, to state) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.watcher.dropped
	if b.watcher.add(time.Now(), from, to) {
		b.signalChange()
	}
	if before == 0 && b.watcher.dropped > 0 {
		b.log.WarnContext(ctx, "too many entities change: some changes are dropped; watch fewer", slog.Int("entities", maxEntities))
	}
}

// sendMessages passes messages about changes to the function accept, until ctx ends or accept fails.
func (b *Bot) sendMessages(ctx context.Context, accept func(context.Context, chat.Inbound) error) error {
	for {
		in, wait := b.nextMessage(time.Now())
		if in == nil {
			timer := time.NewTimer(wait) //nolint:forbidigo // waits until the next message is due; nothing is sent here.
			select {
			case <-ctx.Done():
			case <-b.changed:
			case <-timer.C:
			}
			timer.Stop()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if in == nil {
			continue
		}
		if err := accept(ctx, *in); err != nil {
			return err
		}
		b.mu.Lock()
		b.undelivered = nil
		b.mu.Unlock()
	}
}

// nextMessage returns the message that must be passed to the function accept now. If no message is due, nextMessage
// returns nil and how long to wait for the next message.
func (b *Bot) nextMessage(now time.Time) (*chat.Inbound, time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.undelivered != nil {
		return b.undelivered, 0
	}
	if wait := b.nextAfter.Sub(now); wait > 0 {
		return nil, wait
	}
	at, ok := b.watcher.next()
	switch {
	case !ok:
		return nil, answerTimeout
	case at.After(now):
		return nil, at.Sub(now)
	}
	changes := b.watcher.takeDue(now)
	if len(changes) == 0 {
		return nil, 0
	}
	// If the gateway does not call Concluded before the time nextAfter, the bot stops waiting for the answer.
	b.answering, b.nextAfter = chat.MessageID(rand.Text()), now.Add(answerTimeout)
	b.undelivered = &chat.Inbound{
		To: chat.Target{Chat: Chat}, Sender: chat.Sender{ID: User, Name: "Home Assistant"}, ID: b.answering,
		Kind: chat.Text, Text: messageText(changes), Origin: chat.Reported, Addressed: true, At: now, Unattended: true,
	}
	return b.undelivered, 0
}
