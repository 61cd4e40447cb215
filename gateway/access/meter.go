package access

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"telex/internal/chat"
)

// Limits bound what people may use; 0 is no limit.
type Limits struct {
	TurnsPerMinute    int // of one person
	TokensPerDay      int // of one person, from midnight to midnight by the machine's clock
	TokensPerDayTotal int // of everybody
}

// mostTurns is how many turns one conversation may have in a minute. It is far above what people
// need, and ends a loop of programs that answer each other.
const mostTurns = 30

// mostMeters is how many people or conversations a Meter remembers; beyond that it forgets those
// that have used nothing for a while.
const mostMeters = 4096

// Verdict says whether a turn may begin, and if not, what it would exceed.
type Verdict uint8

// The verdicts.
const (
	Fine     Verdict = iota
	TooFast          // the person's turns in a minute
	TooMany          // the conversation's turns in a minute
	DaySpent         // the person's tokens of today
	AllSpent         // everybody's tokens of today
)

// Ledger knows what was used.
type Ledger interface {
	Used(ctx context.Context, of chat.UsageOf) (chat.Used, error)
}

// Meter bounds what people use. What it counts by the minute follows the monotonic clock, which
// nobody sets.
type Meter struct {
	limits Limits
	rules  Rules
	ledger Ledger

	mu     sync.Mutex
	people meters[chat.Person]
	places meters[chat.Conversation]
}

// NewMeter returns a meter. Of the rules it heeds whom no limit bounds.
func NewMeter(l Limits, r Rules, ledger Ledger) *Meter {
	return &Meter{
		limits: l, rules: r, ledger: ledger,
		people: meters[chat.Person]{}, places: meters[chat.Conversation]{},
	}
}

// Look says whether a turn of p in c might begin now, and counts none: who would be refused must
// not interrupt anything.
func (m *Meter) Look(c chat.Conversation, p chat.Person) Verdict {
	if m.rules.operates(p.Endpoint) {
		return Fine
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	switch {
	case m.limits.TurnsPerMinute > 0 && m.people.of(p).since(now) >= m.limits.TurnsPerMinute:
		return TooFast
	case m.places.of(c).since(now) >= mostTurns:
		return TooMany
	}
	return Fine
}

// Begin counts a turn of p in c that is to begin now, unless it must not. It asks the ledger, and
// fails when that does.
func (m *Meter) Begin(ctx context.Context, c chat.Conversation, p chat.Person) (Verdict, error) {
	if v := m.Look(c, p); v != Fine || m.rules.operates(p.Endpoint) {
		return v, nil
	}
	if v, err := m.today(ctx, p); v != Fine || err != nil {
		return v, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if m.limits.TurnsPerMinute > 0 {
		m.people.of(p).count(now)
	}
	m.places.of(c).count(now)
	return Fine, nil
}

// today compares what was used today with the limits.
func (m *Meter) today(ctx context.Context, p chat.Person) (Verdict, error) {
	from, to := Day(time.Now())
	for _, l := range []struct {
		limit  int
		of     chat.Person
		beyond Verdict
	}{
		{m.limits.TokensPerDay, p, DaySpent},
		{m.limits.TokensPerDayTotal, chat.Person{}, AllSpent},
	} {
		if l.limit == 0 {
			continue
		}
		used, err := m.ledger.Used(ctx, chat.UsageOf{Person: l.of, From: from, To: to})
		if err != nil {
			return Fine, fmt.Errorf("read what was used: %w", err)
		}
		if used.Prompt+used.Completion >= l.limit {
			return l.beyond, nil
		}
	}
	return Fine, nil
}

// Day returns the midnights around t, by the machine's clock. Both bound what counts as today, so
// that a clock which once ran ahead does not count for ever.
func Day(t time.Time) (from, to time.Time) {
	y, month, d := t.Date()
	return time.Date(y, month, d, 0, 0, 0, 0, t.Location()), time.Date(y, month, d+1, 0, 0, 0, 0, t.Location())
}

// minute is when the turns of the last minute began, oldest first. It is exact, where a bucket that
// fills again would let twice as many through in its first minute.
type minute struct{ began []time.Time }

// since forgets what is over, and returns how many turns are left.
func (m *minute) since(now time.Time) int {
	m.began = slices.DeleteFunc(m.began, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
	return len(m.began)
}

func (m *minute) count(now time.Time) { m.began = append(m.began, now) }

// meters are the minutes of many.
type meters[K comparable] map[K]*minute

// of returns the minute of one.
func (m meters[K]) of(k K) *minute {
	if one := m[k]; one != nil {
		return one
	}
	if len(m) >= mostMeters {
		now := time.Now()
		maps.DeleteFunc(m, func(_ K, one *minute) bool { return one.since(now) == 0 })
	}
	one := new(minute)
	m[k] = one
	return one
}
