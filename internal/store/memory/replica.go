package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"telex/internal/chat"
)

// Several Stores may share the same data, as if each Store belonged to another process. Each call of a Store's method
// is one transaction. All Stores that share data use the same clock.

// members contains what the store knows about the replicas that share its data.
type members struct {
	registered chat.ReplicaID              // the newest replica id that was assigned
	replicas   map[chat.ReplicaID]*replica // includes dead replicas, because their claims on rate limits still count for some time
	chats      map[place]*ownership
	receivers  map[chat.EndpointID]chat.ReplicaID
	claims     map[chat.EndpointID][]chat.Claim
	paces      map[chat.Person][]time.Time // for each person, the times at which the person's turns of the last minute began
}

func newMembers() members {
	return members{
		replicas: make(map[chat.ReplicaID]*replica), chats: make(map[place]*ownership),
		receivers: make(map[chat.EndpointID]chat.ReplicaID), claims: make(map[chat.EndpointID][]chat.Claim),
		paces: make(map[chat.Person][]time.Time),
	}
}

// replica is a process that has registered.
type replica struct {
	chat.Replica
	expires time.Time
	heard   []*func(chat.Signal)
}

// ownership says which replica owns a chat.
type ownership struct {
	owner chat.ReplicaID
	free  bool  // the owner gave the chat up although it has unfinished work
	moved bool  // the chat had another owner before, and Take must tell this to the new owner
	told  int64 // number of the call of Take that has told the new owner; 0: the new owner was not told yet
}

// gift says which replica has received a piece of unfinished work, and in which of this replica's calls of Take.
type gift struct {
	to   chat.ReplicaID
	call int64
}

// due reports whether Take must return the work to the replica that makes the call with the given number. Take must
// return the work if the replica has not received it yet, or if the replica repeats the call that has returned it.
func (g gift) due(to chat.ReplicaID, call int64) bool { return g.to != to || g.call == call }

// Register implements gateway.Membership.
func (s *Store) Register(_ context.Context, self chat.Replica) (chat.ReplicaID, error) {
	defer s.lock()()
	now := time.Now()
	s.registered++
	s.self = s.registered
	s.replicas[s.self] = &replica{expires: now.Add(chat.LeaseTime), Replica: chat.Replica{
		ID: s.self, Name: self.Name, Version: self.Version, Endpoints: slices.Clone(self.Endpoints), Began: now, Renewed: now,
	}}
	return s.self, nil
}

// Renew implements gateway.Membership.
func (s *Store) Renew(_ context.Context, self chat.Replica) ([]chat.Replica, error) {
	defer s.lock()()
	r := s.alive(s.self)
	if r == nil {
		return nil, chat.ErrLost
	}
	r.Renewed = time.Now()
	r.expires = r.Renewed.Add(chat.LeaseTime)
	r.Endpoints, r.Leaving = slices.Clone(self.Endpoints), self.Leaving
	if r.Leaving {
		s.stopReceiving(r.ID)
	}
	return s.living(), nil
}

// living returns the replicas that have a lease, oldest first.
func (s *Store) living() (list []chat.Replica) {
	for _, id := range slices.Sorted(maps.Keys(s.replicas)) {
		if r := s.alive(id); r != nil {
			one := r.Replica
			one.Endpoints, one.Receives, one.Chats = slices.Clone(one.Endpoints), s.received(id), s.owned(id)
			list = append(list, one)
		}
	}
	return list
}

// Unregister implements gateway.Membership.
func (s *Store) Unregister(context.Context) error {
	defer s.lock()()
	if r := s.alive(s.self); r != nil {
		r.expires = time.Now()
		s.stopReceiving(r.ID)
	}
	return nil
}

// Listen implements gateway.Membership.
func (s *Store) Listen(ctx context.Context, heard func(chat.Signal)) error {
	unlock := s.lock()
	r := s.replicas[s.self]
	if r != nil {
		r.heard = append(r.heard, &heard)
	}
	unlock()
	if r == nil {
		return chat.ErrLost
	}
	heard(chat.SignalAll)
	<-ctx.Done()
	defer s.lock()()
	r.heard = slices.DeleteFunc(r.heard, func(f *func(chat.Signal)) bool { return f == &heard })
	return ctx.Err()
}

// signal sends the signal in the parameter what to all other replicas.
func (s *Store) signal(what chat.Signal) {
	for id, r := range s.replicas {
		if id != s.self {
			r.tell(what)
		}
	}
}

// signalOwner tells the owner of a chat that the chat has work. If the chat has no live owner, signalOwner tells all
// other replicas.
func (s *Store) signalOwner(o *ownership) {
	if r := s.ownerOf(o); r != nil {
		r.tell(chat.SignalWork)
		return
	}
	s.signal(chat.SignalWork)
}

func (r *replica) tell(what chat.Signal) {
	for _, heard := range r.heard {
		(*heard)(what)
	}
}

// alive returns the replica with the given id, or nil if the replica has no lease.
func (s *Store) alive(id chat.ReplicaID) *replica {
	if r := s.replicas[id]; r != nil && r.expires.After(time.Now()) {
		return r
	}
	return nil
}

// ownerOf returns the owner of a chat, or nil if the chat has no owner with a lease.
func (s *Store) ownerOf(o *ownership) *replica {
	if o == nil || o.free {
		return nil
	}
	return s.alive(o.owner)
}

// Owner returns the owner of a chat, or 0 if no replica with a lease owns the chat. Only tests call Owner.
func (s *Store) Owner(c chat.Conversation) chat.ReplicaID {
	defer s.lock()()
	if r := s.ownerOf(s.chats[s.home(c)]); r != nil {
		return r.ID
	}
	return 0
}

// IsAlive reports whether a replica has a lease. Only tests call IsAlive.
func (s *Store) IsAlive(id chat.ReplicaID) bool {
	defer s.lock()()
	return s.alive(id) != nil
}

// owned returns the number of chats that a replica owns.
func (s *Store) owned(id chat.ReplicaID) (n int) {
	for _, o := range s.chats {
		if o.owner == id && !o.free {
			n++
		}
	}
	return n
}

// received returns the endpoints for which a replica is the receiver, by name.
func (s *Store) received(id chat.ReplicaID) (list []chat.EndpointID) {
	for e, by := range s.receivers {
		if by == id {
			list = append(list, e)
		}
	}
	slices.Sort(list)
	return list
}

// home returns the chat of a conversation, under the chat's newest id.
func (s *Store) home(c chat.Conversation) place {
	c = s.now(c)
	return place{c.Endpoint, c.Chat}
}

// fence returns chat.ErrLost if this process may not write data of a conversation.
func (s *Store) fence(c chat.Conversation) error {
	if s.self == 0 {
		return nil
	}
	o := s.chats[s.home(c)]
	if s.alive(s.self) == nil || o != nil && (o.owner != s.self || o.free) {
		return chat.ErrLost
	}
	return nil
}

// fenceLease returns chat.ErrLost if this process has lost its lease. fenceLease guards writes that concern no
// conversation.
func (s *Store) fenceLease() error {
	if s.self != 0 && s.alive(s.self) == nil {
		return chat.ErrLost
	}
	return nil
}

// mayAccept returns chat.ErrLost if this process may not accept messages of an endpoint.
func (s *Store) mayAccept(e chat.EndpointID) error {
	if s.self == 0 {
		return nil
	}
	receiver := s.alive(s.receivers[e])
	if s.alive(s.self) == nil || receiver != nil && receiver.ID != s.self {
		return chat.ErrLost
	}
	return nil
}

// assign returns the ownership of a chat. If the chat has no live owner, the live replica with the fewest chats becomes
// its owner. If several replicas have the fewest chats, and this process is one of them, this process becomes the
// owner.
func (s *Store) assign(p place) *ownership {
	o := s.chats[p]
	if s.self == 0 || s.ownerOf(o) != nil {
		return o
	}
	var best chat.ReplicaID
	for _, r := range s.living() {
		if r.Leaving || !slices.Contains(r.Endpoints, p.endpoint) {
			continue
		}
		if n, least := s.owned(r.ID), s.owned(best); best == 0 || n < least || n == least && r.ID == s.self {
			best = r.ID
		}
	}
	if best == 0 {
		return o
	}
	return s.own(p, best)
}

// own makes a replica the owner of a chat.
func (s *Store) own(p place, by chat.ReplicaID) *ownership {
	o := &ownership{owner: by, moved: s.chats[p] != nil}
	s.chats[p] = o
	return o
}

// inherit makes the owner of a chat's old id the owner of its new id. If the chat's new id already has a live owner,
// this owner stays.
func (s *Store) inherit(from, to place) {
	old, now := s.chats[from], s.chats[to]
	delete(s.chats, from)
	switch {
	case old == nil:
	case s.ownerOf(now) == nil:
		s.chats[to] = old
	case now.owner != old.owner:
		now.moved, now.told = true, 0
	}
}

// Receive implements gateway.Ownership.
func (s *Store) Receive(_ context.Context, e chat.EndpointID) (bool, error) {
	defer s.lock()()
	r := s.alive(s.self)
	if r == nil {
		return false, chat.ErrLost
	}
	if s.alive(s.receivers[e]) == nil && !r.Leaving {
		s.receivers[e] = r.ID
	}
	return s.receivers[e] == r.ID, nil
}

// Yield implements gateway.Ownership.
func (s *Store) Yield(_ context.Context, e chat.EndpointID) error {
	defer s.lock()()
	if s.receivers[e] == s.self {
		delete(s.receivers, e)
		s.signal(chat.SignalWork)
	}
	return nil
}

// stopReceiving ends a replica's role as receiver for all endpoints, and signals the other replicas.
func (s *Store) stopReceiving(id chat.ReplicaID) {
	maps.DeleteFunc(s.receivers, func(_ chat.EndpointID, by chat.ReplicaID) bool { return by == id })
	s.signal(chat.SignalWork)
}

// Share implements gateway.Shares.
func (s *Store) Share(_ context.Context, e chat.EndpointID, decide func(others []chat.Claim) []chat.Claim) error {
	defer s.lock()()
	me := s.alive(s.self)
	if me == nil {
		return chat.ErrLost
	}
	now := time.Now()
	var others []chat.Claim
	for _, c := range s.claims[e] {
		if until := s.replicas[c.Replica].expires; c.Replica != me.ID && until.Add(c.Window).After(now) {
			c.Dead = !until.After(now)
			others = append(others, c)
		}
	}
	mine := decide(slices.Clone(others))
	for i := range mine {
		mine[i].Replica = me.ID
	}
	s.claims[e] = append(others, mine...)
	return nil
}

// CountTurn implements access.Counter.
func (s *Store) CountTurn(_ context.Context, p chat.Person, limit int) (bool, error) {
	defer s.lock()()
	if err := s.fenceLease(); err != nil {
		return false, err
	}
	now := time.Now()
	began := slices.DeleteFunc(s.paces[p], func(at time.Time) bool { return now.Sub(at) >= time.Minute })
	if s.paces[p] = began; len(began) >= limit {
		return false, nil
	}
	s.paces[p] = append(began, now)
	return true, nil
}

// Ahead implements gateway.Membership. Ahead returns 0, because all processes use the same clock.
func (*Store) Ahead() time.Duration { return 0 }
