package store

import (
	"context"
	"encoding/json"

	"telex/internal/chat"
)

// Erase deletes the entries of the turns that a person asked in a conversation, and fences the running ones; entries
// of which nobody knows who asked, which schema 4 and older stored, may be theirs and go as well. So does the summary,
// and what it stood for of others counts again; others' running turns know it and can't make summaries any more. What
// they approved there for good is asked again. What was used stays: nobody gets around a limit so. It returns how many
// entries went.
func (s *Store) Erase(ctx context.Context, c chat.Conversation, u chat.UserID) (int, error) {
	return resultOf(ctx, s.erase, "erase person", func(t *tx) int { return t.erase(t.take(c), u) })
}

func (t *tx) erase(conversation int64, u chat.UserID) int {
	n := t.exec(deletePersonEntries, conversation, u)
	t.all([]string{fencePersonTurns, deletePersonConsents}, conversation, u)
	t.all([]string{dropSummary, outdateTurns}, conversation)
	return n
}

// DeletePerson deletes what is stored of a person on their endpoint: it erases them in every conversation that has
// anything of them, or that has their id as a private chat has on some platforms, drops their messages that wait, and
// forgets what they asked to be remembered and that they were let in or given a code. What they used stays, without
// their id and without a chat that was theirs alone. It returns how many entries, messages and facts went. A decided reply to them is still delivered.
func (s *Store) DeletePerson(ctx context.Context, p chat.Person) (int, error) {
	return resultOf(ctx, s.erase, "delete person", func(t *tx) (n int) {
		n = t.dropWaiting(p)
		for _, id := range rows(t, value[int64], conversationsOf, p.Endpoint, p.User, p.User, p.User, p.User, p.User) {
			n += t.erasePerson(id, p)
		}
		n += t.exec(deleteFacts, p.Endpoint, p.User)
		t.all([]string{deleteFactNumbers, deletePairingRequest, deleteAdmission}, p.Endpoint, p.User)
		return n
	})
}

// erasePerson is erase for a person whose id goes as well. A conversation of theirs alone keeps nothing but the keys of
// messages, for a week.
func (t *tx) erasePerson(conversation int64, p chat.Person) int {
	var found int64
	own := t.first([]any{&found}, findOwn, conversation, p.User, p.User, p.User, p.User, p.User)
	n := t.erase(conversation, p.User)
	// What an unfinished turn uses is stored under the id that stands with it.
	t.all([]string{anonymizeTurns, anonymizeUsage}, conversation, p.User)
	if own {
		t.exec(moveUsage, t.nowhere(p.Endpoint), conversation)
		t.exec(deleteSession, conversation)
	}
	return n
}

// nowhere returns the conversation that has the usage of people who were deleted, if it was in a chat of theirs alone.
func (t *tx) nowhere(e chat.EndpointID) (id int64) {
	t.first([]any{&id}, ensureConversation, e, "", "")
	return id
}

// dropWaiting finishes the messages of a person that no turn has. One that can't be read can't be answered either,
// and who sent it can't be told: it goes too.
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
