package access

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"telex/internal/chat"
)

// Limits contains the usage limits; 0 means no limit.
type Limits struct {
	TurnsPerMinute    int // limit of each person
	TokensPerDay      int // limit of each person, from midnight to midnight local time
	TokensPerDayTotal int // limit of all people together, per day
}

// maxTurns is the maximum number of turns per minute in one conversation. maxTurns is far above what people need, and
// stops two programs that answer each other forever.
const maxTurns = 30

// maxMeters bounds the memory of a Meter. If a Meter knows maxMeters people and a new person asks something, the Meter first
// forgets the people without a turn in the last minute. A Meter that knows maxMeters conversations forgets conversations in
// the same way.
const maxMeters = 4096

// Verdict says whether a turn may begin, or which limit it would exceed.
type Verdict uint8

// A Meter returns one of these verdicts. Each verdict except Fine names the limit that the turn would exceed.
const (
	Fine     Verdict = iota
	TooFast          // the person's limit of turns per minute is reached
	TooMany          // the conversation's limit of turns per minute is reached
	DaySpent         // the person's limit of tokens per day is reached
	AllSpent         // the limit of tokens per day for all people together is reached
)

// Ledger returns how many tokens a person, or all people, used in a period.
type Ledger interface {
	Used(ctx context.Context, of chat.UsageOf) (chat.Used, error)
}

// Counter counts the turns of people over all processes that share a store.
type Counter interface {
	// CountTurn counts a turn of the person p that begins now, and returns true. If p has already begun as many turns within the
	// last minute as the parameter limit allows, by the store's clock, CountTurn returns false and does not count the turn.
	CountTurn(ctx context.Context, p chat.Person, limit int) (bool, error)
}

// A Meter decides whether a turn may begin without exceeding the Limits. The limits per minute use the monotonic
// clock, so setting the system clock does not affect them.
type Meter struct {
	limits atomic.Pointer[Limits]
	rules  Rules
	ledger Ledger
	shared Counter // nil: no other process shares the store

	mu            sync.Mutex
	people        meters[chat.Person]
	conversations meters[chat.Conversation]
}

// NewMeter returns a Meter with the limits l. The Meter uses the rules r only to exempt operators from all limits.
// The parameter shared is nil if no other process shares the store.
func NewMeter(l Limits, r Rules, ledger Ledger, shared Counter) *Meter {
	m := &Meter{rules: r, ledger: ledger, shared: shared, people: meters[chat.Person]{}, conversations: meters[chat.Conversation]{}}
	m.SetLimits(l)
	return m
}

// SetLimits replaces the usage limits. Turns that the Meter has already counted still count.
func (m *Meter) SetLimits(l Limits) { m.limits.Store(&l) }

// Look returns whether a turn of the person p in the conversation c could begin now, without counting the turn. The gateway
// calls Look before a new message interrupts a running turn, because a message over the limit must not interrupt the turn.
func (m *Meter) Look(c chat.Conversation, p chat.Person) Verdict {
	if m.rules.isOperator(p.Endpoint) {
		return Fine
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now, limit := time.Now(), m.limits.Load().TurnsPerMinute
	switch {
	case limit > 0 && m.people.of(p).prune(now) >= limit:
		return TooFast
	case m.conversations.of(c).prune(now) >= maxTurns:
		return TooMany
	}
	return Fine
}

// Begin counts a turn of the person p in the conversation c that begins now, if the limits allow the turn. Begin
// returns the errors of the ledger and of the counter.
func (m *Meter) Begin(ctx context.Context, c chat.Conversation, p chat.Person) (Verdict, error) {
	if v := m.Look(c, p); v != Fine || m.rules.isOperator(p.Endpoint) {
		return v, nil
	}
	if v, err := m.checkDay(ctx, p); v != Fine || err != nil {
		return v, err
	}
	limit := m.limits.Load().TurnsPerMinute
	if m.shared != nil && limit > 0 {
		counted, err := m.shared.CountTurn(ctx, p, limit)
		if err != nil {
			return Fine, fmt.Errorf("count turn: %w", err)
		}
		if !counted {
			return TooFast, nil
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if limit > 0 {
		m.people.of(p).count(now)
	}
	m.conversations.of(c).count(now)
	return Fine, nil
}

// checkDay compares today's usage, of the person and of all people, with the limits per day.
func (m *Meter) checkDay(ctx context.Context, p chat.Person) (Verdict, error) {
	from, to := Day(time.Now())
	limits := m.limits.Load()
	for _, l := range []struct {
		limit  int
		of     chat.Person
		beyond Verdict
	}{
		{limits.TokensPerDay, p, DaySpent},
		{limits.TokensPerDayTotal, chat.Person{}, AllSpent},
	} {
		if l.limit == 0 {
			continue
		}
		used, err := m.ledger.Used(ctx, chat.UsageOf{Person: l.of, From: from, To: to})
		if err != nil {
			return Fine, fmt.Errorf("read usage: %w", err)
		}
		if used.Prompt+used.Completion >= l.limit {
			return l.beyond, nil
		}
	}
	return Fine, nil
}

// Day returns the midnights before and after t, in local time. Today's usage is the usage that was recorded between the two
// midnights around the present time. Records with a future date, which were made while the clock was ahead, don't count today.
func Day(t time.Time) (from, to time.Time) {
	y, month, d := t.Date()
	return time.Date(y, month, d, 0, 0, 0, 0, t.Location()), time.Date(y, month, d+1, 0, 0, 0, 0, t.Location())
}

// turnLog holds the start times of the turns in the last minute, oldest first. A turnLog counts exactly, while a
// token bucket would allow twice the limit in the first minute.
type turnLog struct{ began []time.Time }

// prune removes turns that began more than a minute ago, and returns the number of remaining turns.
func (m *turnLog) prune(now time.Time) int {
	m.began = slices.DeleteFunc(m.began, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
	return len(m.began)
}

func (m *turnLog) count(now time.Time) { m.began = append(m.began, now) }

// meters holds the turnLog of each person or conversation.
type meters[K comparable] map[K]*turnLog

// The method of returns the turnLog for the key k, and creates the turnLog on first use.
func (m meters[K]) of(k K) *turnLog {
	if one := m[k]; one != nil {
		return one
	}
	if len(m) >= maxMeters {
		now := time.Now()
		maps.DeleteFunc(m, func(_ K, one *turnLog) bool { return one.prune(now) == 0 })
	}
	one := new(turnLog)
	m[k] = one
	return one
}
