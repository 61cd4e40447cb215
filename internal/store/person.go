package store

import (
	"context"
	"database/sql"
	"encoding/json"

	"telex/internal/chat"
)

// Erase deletes the entries of the turns that a person asked in a conversation, and fences the running ones; entries
// of which nobody knows who asked, which schema 4 and older stored, may be theirs and go as well. So does the summary,
// and what it stood for of others counts again; others' running turns know it and can't make summaries any more. What
// they approved there for good is asked again. What was used stays: nobody gets around a limit so. It returns how many
// entries went.
func (s *Store) Erase(ctx context.Context, c chat.Conversation, u chat.UserID) (n int, err error) {
	err = s.erase(ctx, "erase person", func(t *tx) error {
		id, err := t.take(ctx, c)
		if err != nil {
			return err
		}
		n, err = t.erase(ctx, id, u)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

func (t *tx) erase(ctx context.Context, conversation int64, u chat.UserID) (int, error) {
	n, err := t.exec(ctx, deletePersonEntries, conversation, u)
	if err != nil {
		return 0, err
	}
	if err := t.all(ctx, []string{fencePersonTurns, deletePersonConsents}, conversation, u); err != nil {
		return 0, err
	}
	return int(n), t.all(ctx, []string{dropSummary, outdateTurns}, conversation)
}

// DeletePerson deletes what is stored of a person on their endpoint: it erases them in every conversation that has
// anything of them, or that has their id as a private chat has on some platforms, drops their messages that wait, and
// forgets what they asked to be remembered and that they were let in or given a code. What they used stays, without
// their id and without a chat that was theirs alone. It returns how many entries, messages and facts went. A decided reply to them is still delivered.
func (s *Store) DeletePerson(ctx context.Context, p chat.Person) (n int, err error) {
	err = s.erase(ctx, "delete person", func(t *tx) error {
		n, err = t.dropWaiting(ctx, p)
		if err != nil {
			return err
		}
		var conversations []int64
		err := t.each(ctx, func(rows *sql.Rows) error {
			var id int64
			err := rows.Scan(&id)
			conversations = append(conversations, id)
			return err
		}, conversationsOf, p.Endpoint, p.User, p.User, p.User, p.User, p.User)
		if err != nil {
			return err
		}
		for _, id := range conversations {
			erased, err := t.erasePerson(ctx, id, p)
			if err != nil {
				return err
			}
			n += erased
		}
		facts, err := t.exec(ctx, deleteFacts, p.Endpoint, p.User)
		if err != nil {
			return err
		}
		n += int(facts)
		return t.all(ctx, []string{deleteFactNumbers, deletePairingRequest, deleteAdmission}, p.Endpoint, p.User)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// erasePerson is erase for a person whose id goes as well. A conversation of theirs alone keeps nothing but the keys of
// messages, for a week.
func (t *tx) erasePerson(ctx context.Context, conversation int64, p chat.Person) (int, error) {
	var found int64
	own, err := t.first(ctx, []any{&found}, findOwn, conversation, p.User, p.User, p.User, p.User, p.User)
	if err != nil {
		return 0, err
	}
	n, err := t.erase(ctx, conversation, p.User)
	if err != nil {
		return 0, err
	}
	// What an unfinished turn uses is stored under the id that stands with it.
	if err := t.all(ctx, []string{anonymizeTurns, anonymizeUsage}, conversation, p.User); err != nil || !own {
		return n, err
	}
	nowhere, err := t.nowhere(ctx, p.Endpoint)
	if err != nil {
		return n, err
	}
	if _, err := t.exec(ctx, moveUsage, nowhere, conversation); err != nil {
		return n, err
	}
	_, err = t.exec(ctx, deleteSession, conversation)
	return n, err
}

// nowhere returns the conversation that has the usage of people who were deleted, if it was in a chat of theirs alone.
func (t *tx) nowhere(ctx context.Context, e chat.EndpointID) (id int64, err error) {
	_, err = t.first(ctx, []any{&id}, ensureConversation, e, "", "")
	return id, err
}

// dropWaiting finishes the messages of a person that no turn has. One that can't be read can't be answered either,
// and who sent it can't be told: it goes too.
func (t *tx) dropWaiting(ctx context.Context, p chat.Person) (int, error) {
	var found []int64
	err := t.each(ctx, func(rows *sql.Rows) error {
		var id int64
		var body []byte
		if err := rows.Scan(&id, &body); err != nil {
			return err
		}
		var in chat.Inbound
		if json.Unmarshal(body, &in) != nil || in.Sender.ID == p.User {
			found = append(found, id)
		}
		return nil
	}, listWaitingBodies, p.Endpoint)
	if err != nil {
		return 0, err
	}
	for _, id := range found {
		if _, err := t.exec(ctx, finishMessage, t.now, id); err != nil {
			return 0, err
		}
	}
	return len(found), nil
}
