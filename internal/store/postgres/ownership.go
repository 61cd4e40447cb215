package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"telex/internal/chat"
)

// places contains chats as two query parameters: a list of endpoints and a list of chat ids.
type places struct{ endpoints, chats []string }

func (p *places) add(c chat.Conversation) {
	p.endpoints, p.chats = append(p.endpoints, cleanText(string(c.Endpoint))), append(p.chats, cleanText(string(c.Chat)))
}

func chatColumns(c *chat.Conversation) []any { return []any{&c.Endpoint, &c.Chat} }

// reset queues statements that reset the column "given" of these chats' unfinished work to 0, unless the work was given
// to the replica owner.
func (t *tx) reset(b *pgx.Batch, chats places, owner chat.ReplicaID) {
	for _, q := range []string{resetTurns, resetInbox, resetForwarded} {
		b.Queue(q, chats.endpoints, chats.chats, owner)
	}
}

// admit returns the row id of the conversation in which a message is to be accepted. Until the transaction ends, no
// other transaction can delete this row. admit fails with chat.ErrLost if this replica may not accept messages of the
// endpoint.
func (t *tx) admit(c chat.Conversation) int64 {
	b := &pgx.Batch{}
	t.fence(b, fenceAccept, c.Endpoint)
	return t.ensure(b, keepConversation, c)
}

// assign locks the row of a chat that has work, makes the live replica with the fewest chats the chat's owner, and
// returns this replica. The caller must have checked that the chat has no live owner. If several replicas have the
// fewest chats, and this replica is one of them, it becomes the owner. assign returns 0 if no live replica that is not
// leaving runs the endpoint, or if this process is not a replica.
func (t *tx) assign(c chat.Conversation) (owner chat.ReplicaID) {
	if t.self == 0 {
		return 0
	}
	var members []member
	var lives bool
	for found := false; !found; {
		b := &pgx.Batch{}
		b.Queue(makeChat, t.args([]any{c.Endpoint, c.Chat})...)
		t.row(b, &found, []any{&c.Chat, &owner, &lives}, holdChat, c.Endpoint, c.Chat)
		list(t, b, &members, memberColumns, listMembers)
		if t.send(b); t.err != nil {
			return 0
		}
	}
	if lives { // another transaction has meanwhile made a live replica the owner
		return owner
	}
	if owner = t.fewest(members, c.Endpoint); owner != 0 {
		var moved places
		moved.add(c)
		b := &pgx.Batch{}
		b.Queue(setOwner, t.args([]any{c.Endpoint, c.Chat, owner})...)
		t.reset(b, moved, owner)
		t.send(b)
	}
	return owner
}

// member is a registered replica, whether it is alive or dead.
type member struct {
	id        chat.ReplicaID
	lives     bool
	leaving   bool
	endpoints []string
}

func memberColumns(m *member) []any { return []any{&m.id, &m.lives, &m.leaving, &m.endpoints} }

// fewest returns the live replica that owns the fewest chats among those that run an endpoint and are not leaving. If
// there is no such replica, fewest returns 0. fewest counts one more chat for the returned replica, because the caller
// makes that replica the owner of a chat.
func (t *tx) fewest(members []member, e chat.EndpointID) (best chat.ReplicaID) {
	s := t.store
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

// count remembers how many chats each replica owns. Until this process renews its lease the next time, the method
// fewest only adds the chats that this process itself assigns. If this process counted all chats for each new chat,
// this would take longer and longer as the number of chats grows.
func (s *Store) count(living []chat.Replica) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.given)
	for _, r := range living {
		s.given[r.ID] = r.Chats
	}
}

// Take makes this replica the owner of chats that have unfinished work but no live owner. The parameter most is the
// maximum number of these chats. Take then returns the unfinished work in all chats of this replica, except for work
// that an earlier call of Take since the registration has returned. If Take is called again with the same number, it
// returns the same work again.
func (s *Store) Take(ctx context.Context, call int64, most int) (chat.Taken, error) {
	return resultOf(ctx, s.update, "take work", func(t *tx) (taken chat.Taken) {
		members := rows(t, memberColumns, listMembers)
		at := slices.IndexFunc(members, func(m member) bool { return m.id == t.self && m.lives })
		if at < 0 {
			t.fail(chat.ErrLost)
			return taken
		}
		if most > 0 && !members[at].leaving {
			t.takeOrphans(members, members[at].endpoints, most)
		}
		return t.give(call)
	})
}

// takeOrphans makes this replica the owner of chats that have unfinished work and no live owner. takeOrphans skips
// chats that another replica is taking at the same time.
func (t *tx) takeOrphans(members []member, endpoints []string, most int) {
	dead := []chat.ReplicaID{0} // 0 stands for work that was not given to any replica
	for _, m := range members {
		if !m.lives {
			dead = append(dead, m.id)
		}
	}
	var found []chat.Conversation
	b := &pgx.Batch{}
	b.Queue(makeOrphans, dead, endpoints, most)
	list(t, b, &found, chatColumns, holdOrphans, dead, endpoints, most)
	if t.send(b); len(found) == 0 {
		return
	}
	var taken places
	for _, c := range found {
		taken.add(c)
	}
	b = &pgx.Batch{}
	b.Queue(takeOrphans, taken.endpoints, taken.chats, t.self)
	t.reset(b, taken, t.self)
	t.send(b)
}

// give returns the work that a call of Take must return, and records that this call has returned it. give also deletes
// the forwarded messages that earlier calls have returned.
func (t *tx) give(call int64) (taken chat.Taken) {
	type place struct {
		chat.Conversation
		moved bool
	}
	var places []place
	var turns []string
	var messages, forwarded []int64
	b := &pgx.Batch{}
	b.Queue(dropForwarded, t.self, call)
	list(t, b, &places, func(p *place) []any { return append(chatColumns(&p.Conversation), &p.moved) }, tellMoved, t.self, call)
	list(t, b, &turns, value[string], giveTurns, t.self, call)
	list(t, b, &messages, value[int64], giveInbox, t.self, call)
	list(t, b, &forwarded, value[int64], giveForwarded, t.self, call)
	t.send(b)
	for _, p := range places {
		if p.moved {
			taken.Chats = append(taken.Chats, p.Conversation)
		}
	}
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

// Free ends this replica's ownership of chats, with all their threads. If unfinished is false, this replica stays the
// owner of those chats that have unfinished work. If unfinished is true, Free also gives up the chats with unfinished
// work, and signals the other replicas so that they take this work.
func (s *Store) Free(ctx context.Context, unfinished bool, chats ...chat.Conversation) error {
	return s.update(ctx, "free chats", func(t *tx) {
		var leaving bool
		var named, owned places
		for _, c := range chats {
			named.add(c)
		}
		var found []chat.Conversation
		b := &pgx.Batch{}
		t.lease(b, &leaving)
		list(t, b, &found, chatColumns, holdOwned, t.self, named.endpoints, named.chats)
		t.send(b)
		for _, c := range found {
			owned.add(c)
		}
		if !unfinished {
			t.queue(leaveChats, owned.endpoints, owned.chats)
			return
		}
		b = &pgx.Batch{}
		b.Queue(freeChats, owned.endpoints, owned.chats)
		t.reset(b, owned, 0)
		t.send(b)
		t.signal(0, chat.SignalWork)
	})
}

// Forward passes a message to the replica that owns the message's chat. The store deletes the forwarded message when
// the owner has received it. Forward returns false and does nothing if the chat has no owner. Forward also returns
// false if the chat's owner is dead and no live replica runs the endpoint.
func (s *Store) Forward(ctx context.Context, c chat.Conversation, in chat.Inbound) (bool, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return false, fmt.Errorf("forward message: %w", err)
	}
	return resultOf(ctx, s.add, "forward message", func(t *tx) bool {
		var owner chat.ReplicaID
		var leaving, owned, lives, runs bool
		b := &pgx.Batch{}
		if t.self != 0 {
			t.lease(b, &leaving)
		}
		t.row(b, &owned, []any{&owner, &lives, &runs}, findAnyOwner, c.Endpoint, c.Chat)
		if t.send(b); !owned || !lives && !runs {
			return false
		}
		t.queue(addForwarded, c.Chat, t.ensure(&pgx.Batch{}, keepConversation, c), body, t.now)
		if !lives {
			owner = 0
		}
		t.signal(owner, chat.SignalWork)
		return true
	})
}

// Owned is a chat and its owner, which is a replica with a lease.
type Owned struct {
	Replica chat.ReplicaID
	Name    string            // name of the replica that owns the chat
	Chat    chat.Conversation // without a thread
}

// Owned returns the chats that have a live owner, ordered by replica and chat.
func (s *Store) Owned(ctx context.Context) ([]Owned, error) {
	return resultOf(ctx, s.view, "list owners", func(t *tx) []Owned {
		return rows(t, func(o *Owned) []any { return append([]any{&o.Replica, &o.Name}, chatColumns(&o.Chat)...) }, listOwned)
	})
}

// Yield ends this replica's role as receiver of an endpoint, and signals the other replicas so that one of them takes
// over.
func (s *Store) Yield(ctx context.Context, e chat.EndpointID) error {
	_, err := s.write(ctx, &call{what: "give up receiving", kind: "write", prompt: true, do: func(t *tx) {
		if t.exec(yieldReceiver, e, t.self) > 0 {
			t.signal(0, chat.SignalWork)
		}
	}})
	return err
}

// Receive makes this replica the receiver of an endpoint, unless another live replica is its receiver. The result of
// Receive says whether this replica is the receiver now.
func (s *Store) Receive(ctx context.Context, e chat.EndpointID) (bool, error) {
	receive := &call{what: "become receiver", kind: "write", prompt: true}
	receive.do = func(t *tx) {
		var by chat.ReplicaID
		var leaving, found bool
		b := &pgx.Batch{}
		t.lease(b, &leaving)
		t.row(b, &found, []any{&by}, findReceiver, e)
		t.send(b)
		switch { // if another replica is the receiver, the row is not locked
		case found:
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
	is, _ := receive.result.(bool) // the type assertion can't fail: if the call succeeded, its result is a bool
	return is, nil
}
