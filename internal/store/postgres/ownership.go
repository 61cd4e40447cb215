package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"telex/internal/chat"
)

// places are chats as two parameters of a query.
type places struct{ endpoints, chats []string }

func (p *places) add(c chat.Conversation) {
	p.endpoints, p.chats = append(p.endpoints, cleanText(string(c.Endpoint))), append(p.chats, cleanText(string(c.Chat)))
}

// chatsOf returns the chats of a query.
func (t *tx) chatsOf(query string, args ...any) (list places) {
	for _, c := range rows(t, func(c *chat.Conversation) []any { return []any{&c.Endpoint, &c.Chat} }, query, args...) {
		list.add(c)
	}
	return list
}

// reset gives nobody the unfinished work of chats that another replica has than their owner.
func (t *tx) reset(chats places, owner chat.ReplicaID) {
	t.all([]string{resetTurns, resetInbox, resetForwarded}, chats.endpoints, chats.chats, owner)
}

// admit returns the id of a conversation for whose chat a message is accepted, and keeps it from being deleted. It fails with
// chat.ErrLost if this replica must not accept messages of the endpoint.
func (t *tx) admit(c chat.Conversation) (id int64) {
	b := &pgx.Batch{}
	if t.self != 0 {
		t.fence(b, fenceAccept, c.Endpoint)
	}
	b.Queue(keepConversation, t.args([]any{c.Endpoint, c.Chat, c.Thread})...).QueryRow(func(r pgx.Row) error { return orNone(r.Scan(&id)) })
	if t.send(b); id == 0 {
		return t.ensure(keepConversation, c)
	}
	return id
}

// assign returns the owner of a chat in which there is work, and keeps it. If it has no live one, the live replica with the fewest
// chats becomes its owner, or this one if it has as few. 0: no replica runs the endpoint.
func (t *tx) assign(c chat.Conversation) (owner chat.ReplicaID) {
	if t.first([]any{&owner}, findLiveOwner, c.Endpoint, c.Chat) || t.self == 0 {
		return owner
	}
	var now chat.Conversation
	var lives bool
	for t.err == nil && !t.first([]any{&now.Chat, &owner, &lives}, holdChat, c.Endpoint, c.Chat) {
		t.exec(makeChat, c.Endpoint, c.Chat)
	}
	if lives { // it just got one
		return owner
	}
	if owner = t.fewest(c.Endpoint); owner != 0 {
		t.exec(setOwner, c.Endpoint, now.Chat, owner)
		now.Endpoint = c.Endpoint
		var moved places
		moved.add(now)
		t.reset(moved, owner)
	}
	return owner
}

// member is a replica, or was one.
type member struct {
	id        chat.ReplicaID
	lives     bool
	leaving   bool
	endpoints []string
}

func (t *tx) members() []member {
	return rows(t, func(m *member) []any { return []any{&m.id, &m.lives, &m.leaving, &m.endpoints} }, listMembers)
}

// fewest returns the replica that gets the next chat of an endpoint.
func (t *tx) fewest(e chat.EndpointID) (best chat.ReplicaID) {
	s := t.store
	members := t.members()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range members {
		if !m.lives || m.leaving || !slices.Contains(m.endpoints, cleanText(string(e))) {
			continue
		}
		if n, least := s.given[m.id], s.given[best]; best == 0 || n < least || n == least && m.id == t.self {
			best = m.id
		}
	}
	s.given[best]++
	return best
}

// count remembers how many chats each replica has. Until the next renewal, this replica adds those that it assigns: counting them
// for each new one would take longer the more there are.
func (s *Store) count(living []chat.Replica) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.given)
	for _, r := range living {
		s.given[r.ID] = r.Chats
	}
}

// Take makes this replica the owner of up to most chats with unfinished work that have no live owner. Then it returns what is
// unfinished in its own chats and was not given to this registration yet, and once more what this call gave.
func (s *Store) Take(ctx context.Context, call int64, most int) (chat.Taken, error) {
	return resultOf(ctx, s.update, "take work", func(t *tx) (taken chat.Taken) {
		members := t.members()
		at := slices.IndexFunc(members, func(m member) bool { return m.id == t.self && m.lives })
		if at < 0 {
			t.fail(chat.ErrLost)
			return taken
		}
		t.exec(dropForwarded, t.self, call)
		if most > 0 && !members[at].leaving {
			t.takeOrphans(members, members[at].endpoints, most)
		}
		return t.give(call)
	})
}

// takeOrphans makes this replica the owner of chats that have work and no live owner, unless another replica is just taking them.
func (t *tx) takeOrphans(members []member, endpoints []string, most int) {
	dead := []chat.ReplicaID{0} // nobody
	for _, m := range members {
		if !m.lives {
			dead = append(dead, m.id)
		}
	}
	t.exec(makeOrphans, dead, endpoints, most)
	found := t.chatsOf(holdOrphans, dead, endpoints, most)
	if len(found.chats) == 0 {
		return
	}
	t.exec(takeOrphans, found.endpoints, found.chats, t.self)
	t.reset(found, t.self)
}

// give marks what a call of Take gives, and returns it.
func (t *tx) give(call int64) (taken chat.Taken) {
	type place struct {
		chat.Conversation
		moved bool
	}
	for _, c := range rows(t, func(p *place) []any { return []any{&p.Endpoint, &p.Chat, &p.moved} }, tellMoved, t.self, call) {
		if c.moved {
			taken.Chats = append(taken.Chats, c.Conversation)
		}
	}
	var turns []string
	var messages, forwarded []int64
	b := &pgx.Batch{}
	collect(b.Queue(giveTurns, t.self, call), &turns)
	collect(b.Queue(giveInbox, t.self, call), &messages)
	collect(b.Queue(giveForwarded, t.self, call), &forwarded)
	t.send(b)
	if len(turns) > 0 {
		taken.Turns = t.turns(listTurns, turns)
	}
	if list := slices.Concat(messages, forwarded); len(list) > 0 {
		for _, m := range t.messages(listGiven, list) {
			taken.Messages = append(taken.Messages, m.Pending)
		}
	}
	return taken
}

// collect makes a queued query put its column into list.
func collect[T any](q *pgx.QueuedQuery, list *[]T) {
	q.Query(func(r pgx.Rows) (err error) {
		*list, err = pgx.CollectRows(r, pgx.RowTo[T])
		return err
	})
}

// Free gives up chats; their threads don't matter. It leaves out those with unfinished work, unless unfinished is set: then the
// other replicas are signalled to take them.
func (s *Store) Free(ctx context.Context, unfinished bool, chats ...chat.Conversation) error {
	return s.update(ctx, "free chats", func(t *tx) {
		t.lease()
		var named places
		for _, c := range chats {
			named.add(c)
		}
		owned := t.chatsOf(holdOwned, t.self, named.endpoints, named.chats)
		if !unfinished {
			t.exec(leaveChats, owned.endpoints, owned.chats)
			return
		}
		t.exec(freeChats, owned.endpoints, owned.chats)
		t.reset(owned, 0)
		t.signal(0, chat.SignalWork)
	})
}

// Forward passes a message that is not stored for long to the owner of its chat. Without an owner, dead or alive, nothing happens, and
// it returns false.
func (s *Store) Forward(ctx context.Context, c chat.Conversation, in chat.Inbound) (bool, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return false, fmt.Errorf("forward message: %w", err)
	}
	return resultOf(ctx, s.add, "forward message", func(t *tx) bool {
		if t.self != 0 {
			t.lease()
		}
		var owner chat.ReplicaID
		var lives bool
		if !t.first([]any{&owner, &lives}, findAnyOwner, c.Endpoint, c.Chat) {
			return false
		}
		t.exec(addForwarded, c.Chat, t.ensure(keepConversation, c), body, t.now)
		if !lives {
			owner = 0
		}
		t.signal(owner, chat.SignalWork)
		return true
	})
}

// Receive makes this replica the receiver of an endpoint if no other live replica is, and reports whether it is.
func (s *Store) Receive(ctx context.Context, e chat.EndpointID) (bool, error) {
	receive := &call{what: "become receiver", kind: "write", prompt: true}
	receive.do = func(t *tx) {
		leaving := t.lease()
		var by chat.ReplicaID
		switch { // while there is one, its row is not locked
		case t.first([]any{&by}, findReceiver, e):
			receive.result = by == t.self
		case leaving:
			receive.result = false
		default:
			receive.result = t.exec(takeReceiver, e, t.self) > 0
		}
	}
	if _, err := s.write(ctx, receive); err != nil {
		return false, err
	}
	is, _ := receive.result.(bool) // always is one after a success
	return is, nil
}
