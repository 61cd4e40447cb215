package store

import (
	"context"
	"encoding/json"

	"telex/internal/chat"
)

// Erase deletes the entries of turns that a person asked in a conversation, and fences the person's running turns:
// they can no longer decide. It also deletes entries of unknown people, stored by schema 4 and older, and the
// summary. Summarized entries of other people become part of the history again, and the store no longer accepts
// summaries of their running turns. The person's permanent approvals in the conversation are deleted. Usage stays, so
// that nobody can evade a limit. Erase returns the number of deleted entries.
func (s *Store) Erase(ctx context.Context, c chat.Conversation, u chat.UserID) (int, error) {
	return resultOf(ctx, s.erase, "erase person", func(t *tx) int { return t.erase(t.ensure(c), u) })
}

func (t *tx) erase(conversation int64, u chat.UserID) int {
	n := t.exec(deletePersonEntries, conversation, u)
	t.all([]string{fencePersonTurns, deletePersonConsents}, conversation, u)
	t.all([]string{dropSummary, outdateTurns}, conversation)
	return n
}

// DeletePerson deletes a person's data on their endpoint. It calls erase for every conversation with their data, and
// for chats with their user id, which private chats have on some platforms. It drops their waiting messages and
// deletes their facts, stored responses, admission and pairing request. Usage stays, without their id, and without
// the id of a chat that only they used. A decided reply to them is still delivered. DeletePerson returns the number
// of deleted entries, messages, facts and responses.
func (s *Store) DeletePerson(ctx context.Context, p chat.Person) (int, error) {
	return resultOf(ctx, s.erase, "delete person", func(t *tx) (n int) {
		n = t.dropWaiting(p)
		for _, id := range rows(t, value[int64], conversationsOf, p.Endpoint, p.User, p.User, p.User, p.User, p.User) {
			n += t.erasePerson(id, p)
		}
		n += t.exec(deleteFacts, p.Endpoint, p.User) + t.exec(deleteResponses, p.Endpoint, p.User)
		t.all([]string{deleteFactNumbers, deletePairingRequest, deleteAdmission}, p.Endpoint, p.User)
		return n
	})
}

// erasePerson is like erase, and also deletes the person's id. If only this person used the conversation, nothing of
// it remains except the keys of messages, for a week.
func (t *tx) erasePerson(conversation int64, p chat.Person) int {
	var found int64
	own := t.first([]any{&found}, findOwn, conversation, p.User, p.User, p.User, p.User, p.User)
	n := t.erase(conversation, p.User)
	// The usage of an unfinished turn will be stored under the person id in the turn's row.
	t.all([]string{anonymizeTurns, anonymizeUsage}, conversation, p.User)
	if own {
		t.exec(moveUsage, t.anonymous(p.Endpoint), conversation)
		t.exec(deleteSession, conversation)
	}
	return n
}

// anonymous returns the conversation to which the usage of deleted people moves if nobody else used their chat.
func (t *tx) anonymous(e chat.EndpointID) (id int64) {
	t.first([]any{&id}, ensureConversation, e, "", "")
	return id
}

// dropWaiting finishes a person's messages that belong to no turn. It also finishes messages that can't be read:
// nobody can answer them, and their sender is unknown.
func (t *tx) dropWaiting(p chat.Person) (dropped int) {
	type message struct {
		id   int64
		body []byte
	}
	for _, m := range rows(t, func(m *message) []any { return []any{&m.id, &m.body} }, listWaitingBodies, p.Endpoint) {
		var in chat.Inbound
		if json.Unmarshal(m.body, &in) != nil || in.Sender.ID == p.User {
			dropped += t.exec(finishMessage, t.now, m.id)
		}
	}
	return dropped
}
