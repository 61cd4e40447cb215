package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"telex/internal/chat"
)

// goneAfter is the minimum time for which the row of a dead replica is kept.
const goneAfter = time.Hour

// Register makes this process a replica with a new id and a lease. After Register, the store checks the lease at every
// write.
func (s *Store) Register(ctx context.Context, self chat.Replica) (chat.ReplicaID, error) {
	register := &call{what: "register replica", kind: "write", once: true, prompt: true}
	register.do = func(t *tx) {
		// Register must not wait for a migration, because the migration may have to wait until all transactions have ended.
		var stays bool
		if t.first([]any{&stays}, trySchema, lockClass, lockSchema); t.err == nil && !stays {
			t.fail(errMigrating)
		}
		var needs int64
		t.first([]any{&needs}, findOldest) // since this process opened the store, a migration may have raised this number
		if err := s.newer(needs); err != nil {
			t.fail(err)
		}
		t.forgetGone()
		var id chat.ReplicaID
		var began time.Time
		asked, start := s.now(), time.Now()
		t.first([]any{&id, &began}, addReplica, self.Name, self.Version, s.knows.newest, texts(self.Endpoints), chat.LeaseTime)
		t.compareClocks(asked, time.Since(start), began)
		if t.err == nil {
			register.result = id
		}
	}
	done, err := s.write(ctx, register)
	if err != nil {
		return 0, err
	}
	id, _ := done.result.(chat.ReplicaID) // the type assertion can't fail: if the call succeeded, its result is an id
	s.self.Store(int64(id))
	s.count(nil)
	return id, nil
}

// forgetGone deletes replicas that died more than goneAfter ago. The store then treats unfinished work that was given
// to these replicas as if it had been given to no replica.
func (t *tx) forgetGone() {
	if gone := rows(t, value[chat.ReplicaID], listGone, goneAfter); len(gone) > 0 {
		t.all([]string{
			forgetOwner, forgetGivenTurns, forgetGivenInbox, forgetGivenOthers, forgetReceiver, forgetClaims, forgetReplica,
		}, gone)
	}
}

// Renew prolongs this replica's lease, so that it lasts chat.LeaseTime from now, and returns all replicas with a
// lease. Renew fails with chat.ErrLost if the lease has already ended. If this replica is leaving, Renew ends its role
// as receiver for all endpoints.
func (s *Store) Renew(ctx context.Context, self chat.Replica) ([]chat.Replica, error) {
	renew := &call{what: "renew lease", kind: "write", prompt: true}
	renew.do = func(t *tx) {
		if self.Leaving {
			t.stopReceiving()
		}
		var holds bool
		var renewed time.Time
		var living []chat.Replica
		b, asked, start := &pgx.Batch{}, s.now(), time.Now()
		t.row(b, &holds, []any{&renewed}, renewReplica, t.self, chat.LeaseTime, texts(self.Endpoints), self.Leaving)
		list(t, b, &living, func(r *chat.Replica) []any {
			return []any{&r.ID, &r.Name, &r.Version, &r.Endpoints, &r.Receives, &r.Leaving, &r.Began, &r.Renewed, &r.Chats}
		}, listLiving)
		if t.send(b); !holds {
			t.fail(chat.ErrLost)
		}
		t.compareClocks(asked, time.Since(start), renewed)
		renew.result = living
	}
	done, err := s.write(ctx, renew)
	if err != nil {
		return nil, err
	}
	living, _ := done.result.([]chat.Replica) // the type assertion can't fail: if the call succeeded, its result is a list
	s.count(living)
	return living, nil
}

// Unregister ends this replica's lease at once, and signals the other replicas so that they take over its chats.
func (s *Store) Unregister(ctx context.Context) error {
	_, err := s.write(ctx, &call{what: "give up lease", kind: "write", prompt: true, do: func(t *tx) {
		t.queue(endReplica, t.self)
		t.stopReceiving()
	}})
	return err
}

// stopReceiving ends this replica's role as receiver for all endpoints, and signals the other replicas.
func (t *tx) stopReceiving() {
	t.queue(forgetReceiver, []chat.ReplicaID{t.self})
	t.signal(0, chat.SignalWork)
}

// compareClocks compares this process's clock with the server's clock. The parameter asked is when this process sent a
// request, took is the time until the response, and answer is the server's time in the response. compareClocks changes
// the stored difference of the clocks only if the response proves this difference wrong. If every response changed the
// stored difference, the converted times would vary with the delay of the responses.
func (t *tx) compareClocks(asked time.Time, took time.Duration, answer time.Time) {
	if t.err != nil {
		return
	}
	least := asked.Sub(answer.Add(-t.ahead)) // the smallest possible difference: that of a server that answered at once
	if most := least + took; t.ahead < least || t.ahead > most {
		t.store.ahead.Store(int64((least + most) / 2))
	}
}

// lease queues a query that reports whether this replica is leaving. If this replica's lease has ended, the transaction
// fails with chat.ErrLost.
func (t *tx) lease(b *pgx.Batch, leaving *bool) {
	b.Queue(findLease, t.self).QueryRow(func(r pgx.Row) error {
		err := r.Scan(leaving)
		if errors.Is(err, pgx.ErrNoRows) {
			return chat.ErrLost
		}
		return err
	})
}

// fence queues a query that checks whether this replica may write. If this replica may not write, the transaction fails
// with chat.ErrLost. A process that is not a replica may always write.
func (t *tx) fence(b *pgx.Batch, query string, args ...any) {
	if t.self == 0 {
		return
	}
	b.Queue(query, t.args(append([]any{t.self}, args...))...).QueryRow(func(r pgx.Row) error {
		var may bool
		err := r.Scan(&may)
		if err == nil && !may {
			return chat.ErrLost
		}
		return err
	})
}

// fenced returns a batch with a query that makes the transaction fail with chat.ErrLost if this replica's lease has
// ended. fenced is for writes that concern no conversation. Such writes have no owner that must be checked.
func (t *tx) fenced() *pgx.Batch {
	b := &pgx.Batch{}
	t.fence(b, fenceLease)
	return b
}

// Share calls the function decide with the claims of the other replicas on the rate limits of an endpoint. The claims
// that the function decide returns replace this replica's claims. Share may call the function decide more than once.
func (s *Store) Share(ctx context.Context, e chat.EndpointID, decide func(others []chat.Claim) []chat.Claim) error {
	_, err := s.write(ctx, &call{what: "share limits", kind: "write", prompt: true, do: func(t *tx) {
		var leaving bool
		var claims, others, mine []chat.Claim
		b := &pgx.Batch{}
		b.Queue(lockEndpoint, t.args([]any{lockShares, e})...)
		t.lease(b, &leaving)
		list(t, b, &claims, claimColumns, listClaims, e, t.self)
		t.send(b)
		for _, c := range claims {
			if c.Replica == t.self {
				mine = append(mine, c)
			} else {
				others = append(others, c)
			}
		}
		if t.err == nil {
			t.saveClaims(e, mine, decide(others))
		}
	}})
	return err
}

func claimColumns(c *chat.Claim) []any {
	return []any{&c.Replica, &c.Ops, &c.Window, &c.Count, &c.Share, &c.Held, &c.Wanted, &c.Waiting, &c.Dead}
}

// saveClaims replaces this replica's claims, but only if they have changed, so that an idle replica writes nothing.
func (t *tx) saveClaims(e chat.EndpointID, old, claims []chat.Claim) {
	b := &pgx.Batch{}
	b.Queue(deleteClaims, t.args([]any{e, t.self})...)
	same := len(old) == len(claims)
	for _, c := range claims {
		c.Replica, c.Dead = t.self, false
		same = same && slices.Contains(old, c)
		b.Queue(addClaim, t.args([]any{
			e, c.Replica, int64(c.Ops), int64(c.Window), c.Count, c.Share, c.Held, c.Wanted, int64(c.Waiting),
		})...)
	}
	if !same {
		t.send(b)
	}
}

// CountTurn counts a turn of a person that begins now, and returns true. If limit turns of the person began in the last
// minute, CountTurn counts nothing and returns false. If the server's response is lost, CountTurn may count the turn
// twice.
func (s *Store) CountTurn(ctx context.Context, p chat.Person, limit int) (bool, error) {
	count := &call{what: "count turn", kind: "write", prompt: true}
	count.do = func(t *tx) { count.result = t.execBehind(t.fenced(), countTurn, p.Endpoint, p.User, limit) > 0 }
	done, err := s.write(ctx, count)
	if err != nil {
		return false, err
	}
	counted, _ := done.result.(bool) // the type assertion can't fail: if the call succeeded, its result is a bool
	return counted, nil
}

// Ahead returns by how much this process's clock is ahead of the server's clock, according to the last comparison.
func (s *Store) Ahead() time.Duration { return time.Duration(s.ahead.Load()) }
