package store

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	"telex/internal/chat"
)

// inboxPending is the state of a message that belongs to no turn.
const inboxPending = "pending"

// Accept stores a complete message and the endpoint's resume cursor. After it returns, the message may be
// acknowledged to the platform. fresh is false for a message that is already stored; its cursor is stored anyway. A
// message without a cursor leaves the endpoint's cursor unchanged.
func (s *Store) Accept(ctx context.Context, c chat.Conversation, in chat.Inbound) (fresh bool, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return false, fmt.Errorf("accept message: %w", err)
	}
	do := func(t *tx) {
		fresh = t.exec(acceptMessage, c.Endpoint, c.Chat, c.Thread, in.ID, t.ensure(c), string(body), t.now) > 0
		if in.Resume != "" {
			t.exec(saveResume, c.Endpoint, in.Resume)
		}
	}
	err = s.explain(ctx, "accept message", s.write(ctx, "accept", &call{do: do, accepts: true}))
	return fresh && err == nil, err
}

// MaxPlaces is the maximum number of chats returned to an endpoint that resumes. The endpoint can query that many in
// one or two minutes.
const MaxPlaces = 200

// MaxSent is the maximum number of sent messages returned to an endpoint that resumes. An endpoint sends fewer while
// the outcome of one create is unknown.
const MaxSent = 2000

// Resume returns the cursor of the last message that the endpoint accepted, the chats of its newest turns, and the
// messages of these turns.
func (r *Reader) Resume(ctx context.Context, e chat.EndpointID) (chat.Resume, error) {
	return resultOf(ctx, r.view, "read cursor", func(t *tx) (from chat.Resume) {
		t.first([]any{&from.Cursor}, findResume, e)
		from.Places = rows(t, func(to *chat.Target) []any { return []any{&to.Chat, &to.Thread, &to.Kind} }, listPlaces, e, MaxPlaces)
		from.Sent = rows(t, func(r *chat.MessageRef) []any {
			return []any{&r.Target.Chat, &r.Target.Thread, &r.Target.Kind, &r.ID}
		}, listSent, e, MaxSent)
		return from
	})
}

// Drop finishes messages without a turn: commands, and messages dropped by /stop. It ignores unknown messages
// and those that belong to a turn.
func (s *Store) Drop(ctx context.Context, c chat.Conversation, ids ...chat.MessageID) error {
	return s.update(ctx, "drop messages", func(t *tx) {
		conversation := t.ensure(c)
		for _, id := range ids {
			if m, ok := t.waitingMessage(conversation, id); ok {
				t.exec(finishMessage, t.now, m)
			}
		}
	})
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
		found := t.unfinishedMessages(t.ensure(c), in.ID)
		if len(found) == 0 {
			t.fail(ErrUnknown)
			return
		}
		var turn string
		if t.first([]any{&turn}, reviseMessage, string(body), found[0].id); turn != "" {
			t.all([]string{reviseSteps, reviseParts}, turn)
		}
	})
}

// Pending returns accepted, unfinished messages that belong to no unfinished turn, oldest first.
func (r *Reader) Pending(ctx context.Context) ([]chat.Pending, error) {
	return resultOf(ctx, r.view, "list pending messages", func(t *tx) []chat.Pending { return t.pending(listPending) })
}

// pending returns the messages of listPending or listTaken that can be read.
func (t *tx) pending(query string, args ...any) (list []chat.Pending) {
	columns := func(m *MessageRow) []any {
		c := &m.Conversation
		return []any{&m.Row, &c.Endpoint, &c.Chat, &c.Thread, &m.Origin, &m.Body, (*storedTime)(&m.Accepted), &m.Begun}
	}
	for m := range each(t, columns, query, args...) {
		if m.Decode(t.log) {
			list = append(list, m.Pending)
		}
	}
	return list
}

// MessageRow is an unfinished message as it is stored. Package postgres uses it, too.
type MessageRow struct {
	chat.Pending
	Row    int64
	Turn   string      // id of the turn that has the message, in a list for several turns
	Origin chat.ChatID // the chat's id when the message was accepted
	Body   []byte
}

// Decode reads the message from its body. It logs a message that can't be read and returns false; the caller skips
// that message, so that it does not block the others.
func (m *MessageRow) Decode(log *slog.Logger) bool {
	if err := json.Unmarshal(m.Body, &m.Message); err != nil {
		log.Error("accepted message can't be read", slog.Int64("row", m.Row),
			slog.String("conversation", m.Conversation.String()), slog.Any("error", err)) // the id is not logged, because it may contain a secret that allows answering
		return false
	}
	m.Message.At = m.Message.At.UTC()
	if m.Origin != m.Conversation.Chat && m.Message.To.Chat == m.Origin {
		m.Message.To.Chat = m.Conversation.Chat
		m.Message.Reply = false // in the new chat, the message's id belongs to another message
	}
	return true
}

// candidate is an unfinished message.
type candidate struct {
	id         int64
	state      string
	acceptedAt int64
}

// unfinishedMessages returns the messages that an id may refer to, the likeliest first. There can be two if two chats
// were merged by a move.
func (t *tx) unfinishedMessages(conversation int64, id chat.MessageID) []candidate {
	return rows(t, func(c *candidate) []any { return []any{&c.id, &c.state, &c.acceptedAt} }, findUnfinished, conversation, id)
}

// waitingMessage returns the row of a message that belongs to no turn.
func (t *tx) waitingMessage(conversation int64, id chat.MessageID) (row int64, ok bool) {
	found := t.unfinishedMessages(conversation, id)
	if len(found) == 0 || found[0].state != inboxPending {
		return 0, false
	}
	return found[0].id, true
}

// claim assigns messages to a turn and returns the acceptance time of the oldest one, or now if there are none.
func (t *tx) claim(turn string, conversation int64, messages []chat.Inbound) (acceptedAt int64) {
	acceptedAt = t.now
	var taken []int64
	for _, m := range messages {
		found := t.unfinishedMessages(conversation, m.ID)
		i := slices.IndexFunc(found, func(c candidate) bool { return !slices.Contains(taken, c.id) })
		if i < 0 {
			t.fail(fmt.Errorf("message: %w", ErrUnknown)) // without its id, which may contain a secret that allows answering
			return 0
		}
		t.exec(takeMessage, turn, found[i].id)
		taken = append(taken, found[i].id)
		acceptedAt = min(acceptedAt, found[i].acceptedAt)
	}
	return acceptedAt
}
