package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"telex/internal/chat"
)

// Erase deletes a person's data in a conversation: the history entries of turns that answered the person, the summary,
// and the person's permanent approvals. Erase also deletes entries that were stored without a person. Erase fences the
// person's running turns, so that their results can no longer be stored. Entries of other people that the summary
// covered become part of the history again. If a turn of another person is running, the store no longer accepts a
// summary from this turn. Erase keeps usage, so that nobody can evade a usage limit by erasing data. Erase returns the
// number of deleted entries.
func (s *Store) Erase(ctx context.Context, c chat.Conversation, u chat.UserID) (int, error) {
	return resultOf(ctx, s.erase, "erase person", func(t *tx) int { return t.erase(t.take(c), u) })
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
		n = t.exec(dropWaitingOf, t.now, p.Endpoint, p.User)
		conversations := rows(t, value[int64], conversationsOf, p.Endpoint, p.User)
		var held int64
		t.first([]any{&held}, holdConversations, conversations)
		for _, id := range conversations {
			n += t.erasePerson(id, p)
		}
		n += t.exec(deleteFacts, p.Endpoint, p.User) + t.exec(deleteResponses, p.Endpoint, p.User)
		t.all([]string{deleteFactNumbers, deletePairingRequest, deleteAdmission, deletePace}, p.Endpoint, p.User)
		t.signal(0, chat.SignalAccess)
		return n
	})
}

// erasePerson is like erase, but also deletes the person's id from usage and turns. If only this person used the
// conversation, erasePerson deletes the whole conversation, except for the ids of messages, which stay for a week.
func (t *tx) erasePerson(conversation int64, p chat.Person) int {
	var own bool
	t.first([]any{&own}, isOwn, conversation, p.User)
	n := t.erase(conversation, p.User)
	// A turn that has not ended will store its usage later, with the person's id from the row of the turn. So delete the
	// person's id in the rows of turns, too.
	t.all([]string{anonymizeTurns, anonymizeUsage}, conversation, p.User)
	if own {
		t.queue(moveUsage, t.nowhere(p.Endpoint), conversation)
		t.queue(deleteSession, conversation)
	}
	return n
}

// nowhere returns the row id of an artificial conversation of the endpoint. The artificial conversation contains the
// usage of deleted people in chats that nobody else used.
func (t *tx) nowhere(e chat.EndpointID) int64 {
	return t.ensure(&pgx.Batch{}, keepConversation, chat.Conversation{Endpoint: e})
}

// PairingRequests returns all pairing requests, oldest first, including expired ones.
func (s *Store) PairingRequests(ctx context.Context) ([]chat.PairingRequest, error) {
	return resultOf(ctx, s.view, "list codes", func(t *tx) []chat.PairingRequest {
		return rows(t, func(k *chat.PairingRequest) []any { return []any{&k.Endpoint, &k.User, &k.Name, &k.Code, &k.At} }, listPairingRequests)
	})
}

// SavePairingRequest stores a request, which replaces an earlier request of the same person. SavePairingRequest fails
// with chat.ErrManyRequests if other people already have the maximum number of valid requests for the endpoint. With an
// advisory lock, SavePairingRequest also counts requests that other processes store at the same time.
func (s *Store) SavePairingRequest(ctx context.Context, k chat.PairingRequest) error {
	return s.update(ctx, "store code", func(t *tx) {
		t.exec(lockEndpoint, lockPairing, k.Endpoint)
		if t.execBehind(t.fenced(), savePairingRequest, k.Endpoint, k.User, k.Name, k.Code, k.At, k.At.Add(-chat.PairingLife), chat.MaxPairingRequests) == 0 {
			t.fail(chat.ErrManyRequests)
		}
		t.signal(0, chat.SignalAccess)
	})
}

// Admit stores an admission, which replaces an earlier admission of the same person. Admit also deletes the person's
// pairing request.
func (s *Store) Admit(ctx context.Context, a chat.Admission) error {
	return s.update(ctx, "admit person", func(t *tx) {
		t.execBehind(t.fenced(), saveAdmission, a.Endpoint, a.User, a.Name, a.By, a.At)
		t.queue(deletePairingRequest, a.Endpoint, a.User)
		t.signal(0, chat.SignalAccess)
	})
}

// Admitted returns all admissions, oldest first.
func (s *Store) Admitted(ctx context.Context) ([]chat.Admission, error) {
	return resultOf(ctx, s.view, "list admitted people", func(t *tx) []chat.Admission {
		return rows(t, func(a *chat.Admission) []any { return []any{&a.Endpoint, &a.User, &a.Name, &a.By, &a.At} }, listAdmitted)
	})
}

// Revoke deletes the admission of a person, and reports whether the person was admitted.
func (s *Store) Revoke(ctx context.Context, p chat.Person) (bool, error) {
	return resultOf(ctx, s.update, "revoke admission", func(t *tx) bool {
		t.signal(0, chat.SignalAccess)
		return t.execBehind(t.fenced(), deleteAdmission, p.Endpoint, p.User) > 0
	})
}

// Consent stores a permanent approval: from now on, when this person asks something in this conversation, the tool may
// run without a question for approval. The method Forget deletes the approvals of everybody in the conversation. The
// methods Erase and DeletePerson delete the approvals of a person.
func (s *Store) Consent(ctx context.Context, c chat.Conversation, u chat.UserID, tool string) error {
	return s.update(ctx, "store consent", func(t *tx) { t.queue(saveConsent, t.take(c), u, tool) })
}

// Consented reports whether a permanent approval is stored. If a permanent approval is stored, the tool may run without
// a question for approval when this person asks something in this conversation.
func (s *Store) Consented(ctx context.Context, c chat.Conversation, u chat.UserID, tool string) (bool, error) {
	return resultOf(ctx, s.view, "read consent", func(t *tx) (may bool) {
		t.first([]any{&may}, findConsent, c.Endpoint, c.Chat, c.Thread, u, tool)
		return may
	})
}

// Facts returns the facts that a person asked to be remembered, oldest first.
func (s *Store) Facts(ctx context.Context, p chat.Person) ([]chat.Fact, error) {
	return resultOf(ctx, s.view, "read facts", func(t *tx) []chat.Fact { return t.facts(&pgx.Batch{}, p) })
}

// facts first runs the queries in the batch b, and then reads and returns the facts of a person.
func (t *tx) facts(b *pgx.Batch, p chat.Person) (facts []chat.Fact) {
	type fact struct {
		chat.Fact
		body []byte
	}
	var found []fact
	list(t, b, &found, func(f *fact) []any { return []any{&f.ID, &f.body, &f.At} }, listFacts, p.Endpoint, p.User)
	t.send(b)
	for _, f := range found {
		f.Text = string(f.body)
		facts = append(facts, f.Fact)
	}
	return facts
}

// Remember stores a fact for a person, with an id and the time. Remember stores nothing if the person already has a
// fact with this text, or already has the maximum number of facts. The parameter most is this number. The facts that
// Remember stores do not expire. The ids of a person's facts are increasing numbers. The id of a deleted fact is not
// used again, unless DeletePerson deletes all data of the person. Remember first locks the row that contains the newest
// number that a fact of the person got, so that no other transaction can add a fact of this person at the same time.
func (s *Store) Remember(ctx context.Context, p chat.Person, text string, most int) (chat.Remembered, error) {
	return resultOf(ctx, s.add, "remember fact", func(t *tx) chat.Remembered {
		t.queue(holdFacts, p.Endpoint, p.User)
		r := chat.Remember(t.facts(t.fenced(), p), text, most)
		if r.IsNew() {
			r.Text, r.At = text, t.now
			t.first([]any{&r.ID}, addFact, p.Endpoint, p.User, []byte(text), t.now)
		}
		return r
	})
}

// ForgetFact deletes a fact of a person, and reports whether the fact existed.
func (s *Store) ForgetFact(ctx context.Context, p chat.Person, id string) (bool, error) {
	return resultOf(ctx, s.erase, "forget fact", func(t *tx) bool { return t.execBehind(t.fenced(), deleteFact, p.Endpoint, p.User, id) > 0 })
}

// ForgetFacts deletes all facts of a person, and returns how many it has deleted.
func (s *Store) ForgetFacts(ctx context.Context, p chat.Person) (int, error) {
	return resultOf(ctx, s.erase, "forget facts", func(t *tx) int { return t.execBehind(t.fenced(), deleteFacts, p.Endpoint, p.User) })
}
