package gateway

import (
	"slices"
	"time"

	"telex/gateway/replica"
	"telex/internal/chat"
)

// ReplicaState is the state of this process as a replica.
type ReplicaState struct {
	ID        chat.ReplicaID // 0: the process has not joined the replicas yet
	Holds     bool           // the process holds its lease, so it may answer
	Renewed   time.Time      // when the newest renewal of the lease was requested; zero: never
	Err       error          // why joining or renewing fails; nil: neither failed last time
	Peers     []chat.Replica // all replicas with a lease, as far as this process knows, itself included; oldest first
	Chats     int            // number of chats that this process owns, as far as it knows
	Lost      int64          // number of leases that this process has lost
	Forwarded int64          // number of messages that another replica received and this process answers
}

// replica returns the state of this process as a replica; nil if the store is not shared.
func (g *Gateway) replica() *ReplicaState {
	if g.shared == nil {
		return nil
	}
	s := &ReplicaState{Lost: g.lostLeases.Load(), Forwarded: g.forwarded.Load()}
	if err := g.leaseErr.Load(); err != nil {
		s.Err = *err
	}
	m := g.member.Load()
	if m == nil {
		return s
	}
	s.ID, s.Holds, s.Renewed, s.Chats = m.id, m.lease.Holds(), m.lease.Requested(), m.chats.Len()
	if peers := m.peers.Load(); peers != nil {
		s.Peers = slices.DeleteFunc(slices.Clone(*peers), func(r chat.Replica) bool { return time.Since(r.Renewed) >= chat.LeaseTime })
		for i := range s.Peers {
			s.Peers[i].Receives = g.receives(s.Peers[i])
		}
	}
	return s
}

// receives returns the endpoints for which a replica receives, sorted by name: the endpoints with one receiver for
// which the replica was elected, and those for which all replicas receive. Which endpoints allow only one receiver
// is read from this process's own configuration.
func (g *Gateway) receives(r chat.Replica) (list []chat.EndpointID) {
	list = slices.Clone(r.Receives)
	for _, id := range r.Endpoints {
		if e := g.current().endpoints[id]; e != nil && !r.Leaving && !e.account().Platform.Capabilities().OneReceiver {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// countForwarded counts the messages of a call of Take that other replicas received.
func (m *member) countForwarded(messages []chat.Pending) {
	for _, p := range messages {
		if !m.accepted.Remove(replica.Key(p.Conversation, p.Message)) {
			m.g.forwarded.Add(1)
		}
	}
}
