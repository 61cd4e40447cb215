package gateway

import (
	"slices"
	"time"

	"telex/gateway/replica"
	"telex/internal/chat"
)

// ReplicaState is the state of this process as a replica.
type ReplicaState struct {
	ID        chat.ReplicaID // 0: the process has not registered as a replica yet
	Holds     bool           // the lease of the process is valid, so the process may answer
	Renewed   time.Time      // when the process requested the newest renewal of its lease; zero: never
	Err       error          // why the last registration or renewal failed; nil: it succeeded
	Peers     []chat.Replica // all replicas with a lease, as far as this process knows, including this one; oldest first
	Chats     int            // number of chats that this process owns, as far as it knows
	Lost      int64          // number of leases that this process has lost
	Forwarded int64          // number of messages that this process answers and another replica received
}

// The method replica returns the state of this process as a replica, or nil if the store is not shared.
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

// The method receives returns the endpoints from which a replica receives messages, sorted by name. The result contains
// the endpoints for which the replica was elected as the only receiver, and the endpoints that allow several receivers.
// The configuration of this process decides which endpoints allow several receivers.
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

// countForwarded counts those of the given messages that another replica received. The method Take has returned the
// given messages to this replica.
func (m *member) countForwarded(messages []chat.Pending) {
	for _, p := range messages {
		if !m.accepted.Remove(replica.Key(p.Conversation, p.Message)) {
			m.g.forwarded.Add(1)
		}
	}
}
