package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	"telex/internal/chat"
)

// inboxPending is the state of a message that no turn has.
const inboxPending = "pending"

// Accept stores a message, whole, and where its endpoint continues. Once it returns, the message may be
// acknowledged upstream. fresh is false for a message that is known already; what it resumes at is stored all
// the same. A message without a cursor leaves the endpoint's as it is.
func (s *Store) Accept(ctx context.Context, c chat.Conversation, in chat.Inbound) (fresh bool, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return false, fmt.Errorf("accept message: %w", err)
	}
	do := func(t *tx) error {
		id, err := t.take(ctx, c)
		if err != nil {
			return err
		}
		n, err := t.exec(ctx, acceptMessage, c.Endpoint, c.Chat, c.Thread, in.ID, id, string(body), t.now)
		if err != nil {
			return err
		}
		fresh = n > 0
		if in.Resume == "" {
			return nil
		}
		_, err = t.exec(ctx, saveResume, c.Endpoint, in.Resume)
		return err
	}
	err = s.explain(ctx, "accept message", s.by.run(ctx, &call{do: do, accepts: true}))
	return fresh && err == nil, err
}

// maxPlaces is how many places an endpoint is told of that goes on receiving: as many as it can ask in
// a minute or two.
const maxPlaces = 200

// Resume returns the cursor of the last message that the endpoint accepted, and where its last turns began.
func (r *Reader) Resume(ctx context.Context, e chat.EndpointID) (from chat.Resume, err error) {
	err = r.view(ctx, "read cursor", func(t *tx) error {
		from = chat.Resume{}
		if _, err := t.first(ctx, []any{&from.Cursor}, findResume, e); err != nil {
			return err
		}
		return t.each(ctx, func(rows *sql.Rows) error {
			var to chat.Target
			err := rows.Scan(&to.Chat, &to.Thread, &to.Kind)
			from.Places = append(from.Places, to)
			return err
		}, listPlaces, e, maxPlaces)
	})
	return from, err
}

// Drop finishes messages that get no turn: commands, and what /stop throws away. It leaves alone what a turn
// has and what is unknown.
func (s *Store) Drop(ctx context.Context, c chat.Conversation, ids ...chat.MessageID) error {
	return s.update(ctx, "drop messages", func(t *tx) error {
		conversation, err := t.take(ctx, c)
		if err != nil {
			return err
		}
		for _, id := range ids {
			found, err := t.unfinished(ctx, conversation, id)
			if err != nil {
				return err
			}
			if len(found) == 0 || found[0].state != inboxPending {
				continue
			}
			if _, err := t.exec(ctx, finishMessage, t.now, found[0].id); err != nil {
				return err
			}
		}
		return nil
	})
}

// Pending returns what was accepted, is not finished and belongs to no unfinished turn, oldest first.
func (r *Reader) Pending(ctx context.Context) (pending []chat.Pending, err error) {
	err = r.view(ctx, "list pending messages", func(t *tx) error {
		pending = nil
		return t.each(ctx, func(rows *sql.Rows) error {
			p, ok, err := t.scanPending(rows)
			if ok {
				pending = append(pending, p)
			}
			return err
		}, listPending)
	})
	return pending, err
}

// scanPending reads a row of listPending or listTaken. One message that can't be read must not keep the others
// from being answered: it is logged and passed over.
func (t *tx) scanPending(rows *sql.Rows) (p chat.Pending, ok bool, err error) {
	var row, at int64
	var origin chat.ChatID
	var message chat.MessageID
	var body []byte
	err = rows.Scan(&row, &p.Conversation.Endpoint, &p.Conversation.Chat, &p.Conversation.Thread,
		&origin, &message, &body, &at, &p.Begun)
	if err != nil {
		return p, false, err
	}
	if err := json.Unmarshal(body, &p.Message); err != nil {
		t.log.Error("accepted message can't be read", slog.Int64("row", row),
			slog.String("conversation", p.Conversation.String()), slog.Any("error", err)) // not its id: what answers it may be in there
		return p, false, nil
	}
	p.Accepted = instant(at)
	p.Message.At = p.Message.At.UTC()
	if origin != p.Conversation.Chat && p.Message.To.Chat == origin {
		p.Message.To.Chat = p.Conversation.Chat
		p.Message.Reply = false // the id is another message's there
	}
	return p, true, nil
}

// candidate is an unfinished message.
type candidate struct {
	id         int64
	state      string
	acceptedAt int64
}

// unfinished returns what a message id can mean, the likeliest first. It means two messages only in a chat
// that moved.
func (t *tx) unfinished(ctx context.Context, conversation int64, id chat.MessageID) (found []candidate, err error) {
	err = t.each(ctx, func(rows *sql.Rows) error {
		var c candidate
		err := rows.Scan(&c.id, &c.state, &c.acceptedAt)
		found = append(found, c)
		return err
	}, findUnfinished, conversation, id)
	return found, err
}

// claim gives messages to a turn and returns when the oldest was accepted; now when there are none.
func (t *tx) claim(ctx context.Context, turn string, conversation int64, messages []chat.Inbound) (acceptedAt int64, err error) {
	acceptedAt = t.now
	var taken []int64
	for _, m := range messages {
		found, err := t.unfinished(ctx, conversation, m.ID)
		if err != nil {
			return 0, err
		}
		i := slices.IndexFunc(found, func(c candidate) bool { return !slices.Contains(taken, c.id) })
		if i < 0 {
			return 0, fmt.Errorf("message: %w", ErrUnknown) // without its id, which may hold what answers it
		}
		if _, err := t.exec(ctx, takeMessage, turn, found[i].id); err != nil {
			return 0, err
		}
		taken = append(taken, found[i].id)
		acceptedAt = min(acceptedAt, found[i].acceptedAt)
	}
	return acceptedAt, nil
}
