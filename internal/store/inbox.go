package store

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	"telex/internal/chat"
)

// inboxPending is the state of a received message that belongs to no turn yet.
const inboxPending = "pending"

// Accept stores a received message and the endpoint's resume cursor, which is the position from which the endpoint
// continues to receive after a restart. After Accept has returned, the adapter may acknowledge the message to the
// platform. If the message was already stored, fresh is false, and Accept stores only the cursor. If the message has no
// cursor, the endpoint's stored cursor does not change.
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

// MaxPlaces is the maximum number of chats that Resume returns. On some platforms, an endpoint must query each of these
// chats for missed messages. For MaxPlaces chats, this takes one or two minutes.
const MaxPlaces = 200

// MaxSent is the maximum number of sent messages that Resume returns. After a call that sent a message, it can stay
// unknown for some time whether the message exists. During this time, an endpoint sends fewer messages than MaxSent.
const MaxSent = 2000

// Resume returns the position from which an endpoint continues to receive: the cursor of the last accepted message, the
// chats in which turns began most recently, and the messages that the bot sent in the newest turns.
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

// Drop marks messages that belong to no turn as finished: messages with a command, and messages that the command /stop
// drops. Drop ignores messages that the store does not know, and messages that belong to a turn.
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

// Pending returns the unfinished messages that belong to no unfinished turn, oldest first.
func (r *Reader) Pending(ctx context.Context) ([]chat.Pending, error) {
	return resultOf(ctx, r.view, "list pending messages", func(t *tx) []chat.Pending { return t.pending(listPending) })
}

// pending returns the messages that a query finds. The query is listPending or listTaken. pending leaves out messages
// that can't be decoded.
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

// MessageRow is an unfinished message as the store contains it. The package postgres uses this type, too.
type MessageRow struct {
	chat.Pending
	Row    int64
	Turn   string      // id of the turn that answers the message; set only in lists for several turns
	Origin chat.ChatID // the chat's id when the message was accepted
	Body   []byte
}

// Decode decodes the message from its body. If decoding fails, Decode logs the error and returns false. The caller then
// skips the message that can't be decoded, so that it does not block other messages.
func (m *MessageRow) Decode(log *slog.Logger) bool {
	if err := json.Unmarshal(m.Body, &m.Message); err != nil {
		log.Error("accepted message can't be read", slog.Int64("row", m.Row),
			slog.String("conversation", m.Conversation.String()), slog.Any("error", err)) // the message's id may contain a secret, so don't log it
		return false
	}
	m.Message.At = m.Message.At.UTC()
	if m.Origin != m.Conversation.Chat && m.Message.To.Chat == m.Origin {
		m.Message.To.Chat = m.Conversation.Chat
		m.Message.Reply = false // in the new chat, this id may belong to another message, so the answer must not refer to it
	}
	return true
}

// candidate is the row of an unfinished message that may be the one that a caller refers to by its id.
type candidate struct {
	id         int64
	state      string
	acceptedAt int64
}

// unfinishedMessages returns the unfinished messages with the given id. The first of the returned messages is the one
// that the caller most likely means. Two messages can have the same id only if two chats were merged by a move.
func (t *tx) unfinishedMessages(conversation int64, id chat.MessageID) []candidate {
	return rows(t, func(c *candidate) []any { return []any{&c.id, &c.state, &c.acceptedAt} }, findUnfinished, conversation, id)
}

// waitingMessage returns the row id of a message that belongs to no turn yet.
func (t *tx) waitingMessage(conversation int64, id chat.MessageID) (row int64, ok bool) {
	found := t.unfinishedMessages(conversation, id)
	if len(found) == 0 || found[0].state != inboxPending {
		return 0, false
	}
	return found[0].id, true
}

// claim assigns messages to a turn. claim returns the time at which the oldest of these messages was accepted, or the
// current time if there are no messages.
func (t *tx) claim(turn string, conversation int64, messages []chat.Inbound) (acceptedAt int64) {
	acceptedAt = t.now
	var taken []int64
	for _, m := range messages {
		found := t.unfinishedMessages(conversation, m.ID)
		i := slices.IndexFunc(found, func(c candidate) bool { return !slices.Contains(taken, c.id) })
		if i < 0 {
			t.fail(fmt.Errorf("message: %w", ErrUnknown)) // the message's id may contain a secret, so don't show it
			return 0
		}
		t.exec(takeMessage, turn, found[i].id)
		taken = append(taken, found[i].id)
		acceptedAt = min(acceptedAt, found[i].acceptedAt)
	}
	return acceptedAt
}
