package store

import (
	"context"
	"encoding/json"

	"telex/internal/chat"
)

// Erase deletes a person's data in a conversation: the history entries of turns that answered the person, the summary,
// and the person's permanent approvals. Erase also deletes entries that a store with schema 4 or older has stored
// without a person. Erase fences the person's running turns, so that their results can no longer be stored. Entries of
// other people that the summary covered become part of the history again. If a turn of another person is running, the
// store no longer accepts a summary from this turn. Erase keeps usage, so that nobody can evade a usage limit by
// erasing data. Erase returns the number of deleted entries.
func (s *Store) Erase(ctx context.Context, c chat.Conversation, u chat.UserID) (int, error) {
	return resultOf(ctx, s.erase, "erase person", func(t *tx) int { return t.erase(t.ensure(c), u) })
}

func (t *tx) erase(conversation int64, u chat.UserID) int {
	n := t.exec(deletePersonEntries, conversation, u)
	t.all([]string{fencePersonTurns, deletePersonConsents}, conversation, u)
	t.all([]string{dropSummary, outdateTurns}, conversation)
	return n
}

// DeletePerson deletes a person's data on the person's endpoint. In every conversation with data of the person,
// DeletePerson does what Erase does. The conversations always include the chat whose id is the person's user id: on
// some platforms, this is the private chat. DeletePerson also drops the person's waiting messages, but keeps their ids
// for some time. DeletePerson also deletes the person's facts, stored responses, admission and pairing request.
// DeletePerson keeps usage, but without the person's id, and without the id of a chat that only this person used. If
// the result of a reply to the person is already stored, the reply is still delivered. DeletePerson returns the number
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

// erasePerson is like erase, but also deletes the person's id from usage and turns. If only this person used the
// conversation, erasePerson deletes the whole conversation, except for the ids of messages, which stay for a week.
func (t *tx) erasePerson(conversation int64, p chat.Person) int {
	var found int64
	own := t.first([]any{&found}, findOwn, conversation, p.User, p.User, p.User, p.User, p.User)
	n := t.erase(conversation, p.User)
	// A turn that has not ended will store its usage later, with the person's id from the row of the turn. So delete the
	// person's id in the rows of turns, too.
	t.all([]string{anonymizeTurns, anonymizeUsage}, conversation, p.User)
	if own {
		t.exec(moveUsage, t.anonymous(p.Endpoint), conversation)
		t.exec(deleteSession, conversation)
	}
	return n
}

// anonymous returns the row id of an artificial conversation of the endpoint. The artificial conversation contains the
// usage of deleted people in chats that nobody else used.
func (t *tx) anonymous(e chat.EndpointID) (id int64) {
	t.first([]any{&id}, ensureConversation, e, "", "")
	return id
}

// dropWaiting marks a person's messages that belong to no turn as finished. dropWaiting also marks messages that can't
// be decoded: they may be this person's, and telex can't answer them anyway.
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
