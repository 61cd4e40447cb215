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

// Accept stores a complete message and the endpoint's resume cursor. Once it returns, the message may be acknowledged
// to the platform. fresh is false for a message that is already stored; its cursor is stored anyway. A message
// without a cursor leaves the endpoint's cursor unchanged. If an earlier call stored the message but its response was
// lost, this call reports fresh. If a replica can own the chat of a new message, the chat then has an owner, which is
// signalled.
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
	fresh, _ = done.result.(bool) // it always is a bool after a success
	return fresh, nil
}

// maxTurns is the number of newest turns whose chats are returned to an endpoint that resumes.
const maxTurns = 10 * store.MaxPlaces

// maxReceived is the maximum number of received messages returned to an endpoint that resumes. People write fewer
// while the outcome of one create is unknown.
const maxReceived = 500

// Resume returns the cursor of the last message that the endpoint accepted, the places of its newest turns, and the
// messages that it sent and received.
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

// Drop finishes messages without a turn: commands, and messages dropped by /stop. It ignores unknown messages and
// messages that belong to a turn.
func (s *Store) Drop(ctx context.Context, c chat.Conversation, ids ...chat.MessageID) error {
	return s.update(ctx, "drop messages", func(t *tx) { t.queue(dropMessages, t.now, t.take(c), texts(ids)) })
}

// Revise replaces an unfinished message by its edited version. If a turn has the message, the turn's journal keeps
// only the usage. The turn's parts lose their source text, because it answers another question. Revise fails with
// ErrUnknown if there is no such message.
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

// Pending returns accepted, unfinished messages that belong to no unfinished turn, oldest first.
func (s *Store) Pending(ctx context.Context) ([]chat.Pending, error) {
	return resultOf(ctx, s.view, "list pending messages", func(t *tx) (list []chat.Pending) {
		for _, m := range t.messages(listWaiting) {
			list = append(list, m.Pending)
		}
		return list
	})
}

// messages returns the messages of listWaiting or listTaken that can be read.
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

// candidate is an unfinished message.
type candidate struct {
	id         int64
	waits      bool
	acceptedAt time.Time
}

// unfinished returns the messages that an id may refer to, the likeliest first. There can be two only if two chats
// were merged by a move.
func (t *tx) unfinished(conversation int64, id chat.MessageID) []candidate {
	return rows(t, func(c *candidate) []any { return []any{&c.id, &c.waits, &c.acceptedAt} }, findUnfinished, conversation, id)
}

// claim assigns messages to a turn and returns the acceptance time of the oldest one, or now if there are none.
func (t *tx) claim(turn string, conversation int64, messages []chat.Inbound) (acceptedAt time.Time) {
	acceptedAt = t.now
	var taken []int64
	for _, m := range messages {
		found := t.unfinished(conversation, m.ID)
		i := slices.IndexFunc(found, func(c candidate) bool { return !slices.Contains(taken, c.id) })
		if i < 0 {
			t.fail(fmt.Errorf("message: %w", store.ErrUnknown)) // without its id, which may contain a secret that allows answering
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

// texts converts ids to a query parameter.
func texts[T ~string](ids []T) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = cleanText(string(id))
	}
	return list
}
