package gateway

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"telex/gateway/budget"
	"telex/internal/chat"
)

// divide begins to share an endpoint's rate limits with the other replicas. Further calls of divide after the same
// registration have no effect.
func (g *Gateway) divide(e *endpoint) {
	m := g.member.Load()
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.divided[e.ID] {
		return
	}
	m.divided[e.ID] = true
	known := slices.DeleteFunc(slices.Clone(e.account().Platform.Profile(chat.Target{}).Limits), func(l chat.Limit) bool {
		return l.Scope != chat.ScopeEndpoint
	})
	e.budget.Divide(known, func() {
		select {
		case m.shareNow <- struct{}{}:
		default:
		}
	})
}

// The method shares renews this replica's shares of the rate limits every second, until ctx ends or the lease is lost.
// If the store can't be reached, the replica keeps its current shares.
func (m *member) shares(ctx context.Context) {
	ticks := time.NewTicker(renewEvery)
	defer ticks.Stop()
	for failing := false; ; {
		err := m.share(ctx)
		if m.g.CheckLease(err); err != nil && !failing && ctx.Err() == nil {
			m.g.Log.Error("the shares of limits can't be updated", slog.Any("error", err))
		}
		failing = err != nil
		select {
		case <-ticks.C:
		case <-m.shareNow:
		case <-ctx.Done():
			return
		case <-m.lease.Lost():
			return
		}
	}
}

// The method share renews this replica's shares of the rate limits of all endpoints.
func (m *member) share(ctx context.Context) error {
	var failed error
	for id, e := range m.g.current().endpoints {
		mine := e.budget.Claims()
		if len(mine) == 0 {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, renewWait)
		var granted, others []chat.Claim
		err := m.store.Share(ctx, id, func(theirs []chat.Claim) []chat.Claim {
			for i := range mine {
				mine[i].Replica = m.id
			}
			granted, others = budget.Divided(mine, theirs), theirs
			return slices.Clone(granted)
		})
		if cancel(); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		e.budget.Grant(granted, others)
	}
	return failed
}

// retireShares gives the unused part of this replica's shares to the other replicas. After retireShares, this replica
// makes no more calls to platforms. If retireShares fails, the other replicas get the unused shares only when the
// claims of this replica have expired.
func (m *member) retireShares(ctx context.Context) {
	for id, e := range m.g.current().endpoints {
		left := e.budget.Retire()
		if len(left) == 0 {
			continue
		}
		if err := m.store.Share(ctx, id, func([]chat.Claim) []chat.Claim { return slices.Clone(left) }); err != nil {
			m.g.Log.Warn("this replica's shares of the limits were not given up; they expire later", slog.Any("error", err))
		}
	}
}
