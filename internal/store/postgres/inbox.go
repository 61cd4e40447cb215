package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"telex/internal/chat"
	"telex/internal/store"
)

// Accept stores a received message and the endpoint's resume cursor, which is the position from which the endpoint
// continues to receive after a restart. After Accept has returned, the adapter may acknowledge the message to the
// platform. If the message was already stored, fresh is false, and Accept stores only the cursor. If the message has no
// cursor, the endpoint's stored cursor does not change. If an earlier call stored the message but the response to this
// call was lost, fresh is true. If the chat of a new message has no live owner, Accept chooses a replica that runs the
// endpoint as the chat's owner. Accept sends a signal to the chat's owner.
func (s *Store) Accept(ctx context.Context, c chat.Conversation, in chat.Inbound) (fresh bool, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return false, fmt.Errorf("accept message: %w", err)
	}
	accept := &call{what: "accept message", kind: "accept", once: true, key: "accept " + c.String() + " " + string(in.ID)}
	accept.do = func(t *tx) {
		conversation := t.admit(c)
		var fresh, owned bool
		var owner chat.ReplicaID
		b := &pgx.Batch{}
		b.Queue(acceptMessage, t.args([]any{c.Endpoint, c.Chat, c.Thread, in.ID, conversation, in.Sender.ID, body, t.now})...).Exec(func(tag pgconn.CommandTag) error {
			fresh = tag.RowsAffected() > 0
			return nil
		})
		if in.Resume != "" {
			b.Queue(saveResume, t.args([]any{c.Endpoint, in.Resume, t.self})...).Exec(func(tag pgconn.CommandTag) error {
				if tag.RowsAffected() == 0 {
					return chat.ErrLost
				}
				return nil
			})
		}
		t.row(b, &owned, []any{&owner}, findLiveOwner, c.Endpoint, c.Chat)
		t.send(b)
		if fresh {
			if !owned {
				owner = t.assign(c)
			}
			t.signal(owner, chat.SignalWork)
		}
		if t.err == nil {
			accept.result = fresh
		}
	}
	done, err := s.write(ctx, accept)
	if err != nil {
		return false, err
	}
	fresh, _ = done.result.(bool) // the type assertion can't fail: if the call succeeded, its result is a bool
	return fresh, nil
}

// maxTurns is a number of turns: Resume looks for recently used chats only in this number of the newest turns.
const maxTurns = 10 * store.MaxPlaces

// maxReceived is the maximum number of received messages that Resume returns. After a call that sent a message, it can
// stay unknown for some time whether the message exists. During this time, people write fewer messages than
// maxReceived.
const maxReceived = 500

// Resume returns the position from which an endpoint continues to receive: the cursor of the last accepted message,
// the chats in which turns began most recently, and the newest sent and received messages.
func (s *Store) Resume(ctx context.Context, e chat.EndpointID) (chat.Resume, error) {
	return resultOf(ctx, s.view, "read cursor", func(t *tx) (from chat.Resume) {
		t.first([]any{&from.Cursor}, findResume, e)
		from.Places = rows(t, func(to *chat.Target) []any { return []any{&to.Chat, &to.Thread, &to.Kind} }, listPlaces, e, store.MaxPlaces, maxTurns)
		from.Sent = rows(t, func(r *chat.MessageRef) []any {
			return []any{&r.Target.Chat, &r.Target.Thread, &r.Target.Kind, &r.ID}
		}, listSent, e, store.MaxSent)
		from.Received = rows(t, func(r *chat.MessageRef) []any { return []any{&r.Target.Chat, &r.Target.Thread, &r.ID} }, listReceived, e, maxReceived)
		return from
	})
}

// Drop marks messages that belong to no turn as finished: messages with a command, and messages that the command /stop
// drops. Drop ignores messages that the store does not know, and messages that belong to a turn.
func (s *Store) Drop(ctx context.Context, c chat.Conversation, ids ...chat.MessageID) error {
	return s.update(ctx, "drop messages", func(t *tx) { t.queue(dropMessages, t.now, t.take(c), texts(ids)) })
}

// Revise replaces an unfinished message by its edited version. If a turn already answers the message, Revise also
// deletes that turn's journal, except for the usage in the journal. If a turn already answers the message, Revise also
// deletes the source text of the turn's parts. The journal and the source text belong to the question before it was
// edited. Revise fails with ErrUnknown if the store has no such unfinished message.
func (s *Store) Revise(ctx context.Context, c chat.Conversation, in chat.Inbound) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("revise message: %w", err)
	}
	return s.update(ctx, "revise message", func(t *tx) {
		found := t.unfinished(t.take(c), in.ID)
		if len(found) == 0 {
			t.fail(store.ErrUnknown)
			return
		}
		var turn string
		if t.first([]any{&turn}, reviseMessage, found[0].id, body); turn != "" {
			t.all([]string{reviseSteps, reviseParts}, turn)
		}
	})
}

// Pending returns the unfinished messages that belong to no unfinished turn, oldest first.
func (s *Store) Pending(ctx context.Context) ([]chat.Pending, error) {
	return resultOf(ctx, s.view, "list pending messages", func(t *tx) (list []chat.Pending) {
		for _, m := range t.messages(listWaiting) {
			list = append(list, m.Pending)
		}
		return list
	})
}

// messages returns the messages that a query finds. The query is listWaiting or listTaken. messages leaves out messages
// that can't be decoded.
func (t *tx) messages(query string, args ...any) []store.MessageRow {
	list := rows(t, func(m *store.MessageRow) []any {
		c := &m.Conversation
		return []any{&m.Turn, &m.Row, &c.Endpoint, &c.Chat, &c.Thread, &m.Origin, &m.Body, &m.Accepted, &m.Begun}
	}, query, args...)
	readable := list[:0]
	for _, m := range list {
		if m.Decode(t.log) {
			readable = append(readable, m)
		}
	}
	return readable
}

// candidate is the row of an unfinished message that may be the one that a caller refers to by its id.
type candidate struct {
	id         int64
	waits      bool
	acceptedAt time.Time
}

// unfinished returns the unfinished messages with the given id. The first of the returned messages is the one that the
// caller most likely means. Two messages can have the same id only if two chats were merged by a move.
func (t *tx) unfinished(conversation int64, id chat.MessageID) []candidate {
	return rows(t, func(c *candidate) []any { return []any{&c.id, &c.waits, &c.acceptedAt} }, findUnfinished, conversation, id)
}

// claim assigns messages to a turn. claim returns the time at which the oldest of these messages was accepted, or the
// current time if there are no messages.
func (t *tx) claim(turn string, conversation int64, messages []chat.Inbound) (acceptedAt time.Time) {
	acceptedAt = t.now
	var taken []int64
	for _, m := range messages {
		found := t.unfinished(conversation, m.ID)
		i := slices.IndexFunc(found, func(c candidate) bool { return !slices.Contains(taken, c.id) })
		if i < 0 {
			t.fail(fmt.Errorf("message: %w", store.ErrUnknown)) // the message's id may contain a secret, so don't show it
			return acceptedAt
		}
		taken = append(taken, found[i].id)
		if found[i].acceptedAt.Before(acceptedAt) {
			acceptedAt = found[i].acceptedAt
		}
	}
	t.queue(takeMessages, turn, taken)
	return acceptedAt
}

// texts converts ids to strings, so that they can be a query parameter.
func texts[T ~string](ids []T) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = cleanText(string(id))
	}
	return list
}
