package access

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"telex/internal/chat"
)

// ledger holds how many tokens each person has used today. The zero chat.Person means all people together.
type ledger struct {
	used map[chat.Person]int
	fail error
	from time.Time
}

func (l *ledger) Used(_ context.Context, of chat.UsageOf) (chat.Used, error) {
	l.from = of.From
	return chat.Used{Usage: chat.Usage{Prompt: l.used[of.Person], Completion: 1}}, l.fail
}

func begins(t *testing.T, m *Meter, c chat.Conversation, p chat.Person) Verdict {
	t.Helper()
	looked := m.Look(c, p)
	v, err := m.Begin(t.Context(), c, p)
	if err != nil {
		t.Fatal(err)
	}
	if looked != Fine && v != looked {
		t.Errorf("looked %v and got %v", looked, v)
	}
	return v
}

func TestTurnsOfAPersonInAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMeter(Limits{TurnsPerMinute: 10}, Rules{Operators: "cli"}, &ledger{}, nil)
		fine := 0
		for range 25 {
			if begins(t, m, private(person(1)), person(1)) == Fine {
				fine++
			}
		}
		if fine != 10 {
			t.Errorf("%d turns began at once, want 10", fine)
		}
		if v := begins(t, m, private(person(2)), person(2)); v != Fine {
			t.Errorf("another person: got %v", v)
		}
		for range 100 {
			if v := begins(t, m, chat.Conversation{Endpoint: "cli"}, chat.Person{Endpoint: "cli"}); v != Fine {
				t.Fatalf("an operator: got %v", v)
			}
		}
		time.Sleep(59 * time.Second)
		if v := begins(t, m, private(person(1)), person(1)); v != TooFast {
			t.Errorf("after 59 s: got %v", v)
		}
		time.Sleep(time.Second)
		if v := begins(t, m, private(person(1)), person(1)); v != Fine {
			t.Errorf("after a minute: got %v", v)
		}
	})
}

func TestAConversationThatLoopsIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMeter(Limits{}, Rules{Operators: "cli"}, &ledger{}, nil)
		c := chat.Conversation{Endpoint: "tg", Chat: "-5"}
		fine := 0
		for i := range 100 {
			if v := begins(t, m, c, person(i)); v == Fine {
				fine++
			} else if v != TooMany {
				t.Fatalf("got %v", v)
			}
		}
		if fine != maxTurns {
			t.Errorf("%d turns began, want %d", fine, maxTurns)
		}
	})
}

func TestTokensOfADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{used: map[chat.Person]int{person(1): 99, person(2): 98, {}: 500}}
		m := NewMeter(Limits{TokensPerDay: 100, TokensPerDayTotal: 1000}, Rules{Operators: "cli"}, l, nil)
		if a, b := begins(t, m, private(person(1)), person(1)), begins(t, m, private(person(2)), person(2)); a != DaySpent || b != Fine {
			t.Errorf("got %v and %v, want the first to have spent the day", a, b)
		}
		if y, mo, d := time.Now().Date(); !l.from.Equal(time.Date(y, mo, d, 0, 0, 0, 0, time.Local)) {
			t.Errorf("the day begins at %v", l.from)
		}
		l.used[chat.Person{}] = 999
		if v := begins(t, m, private(person(2)), person(2)); v != AllSpent {
			t.Errorf("got %v, want that everybody has spent the day", v)
		}
		l.fail = errors.New("disk")
		if _, err := m.Begin(t.Context(), private(person(2)), person(2)); !errors.Is(err, l.fail) {
			t.Errorf("got %v, want the ledger's error", err)
		}
	})
}

func TestAMeterIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMeter(Limits{TurnsPerMinute: 10}, Rules{Operators: "cli"}, &ledger{}, nil)
		for i := range 3 * maxMeters {
			begins(t, m, private(person(i)), person(i))
			time.Sleep(time.Second)
		}
		if n := max(len(m.people), len(m.conversations)); n > maxMeters {
			t.Errorf("it remembers %d", n)
		}
	})
}

func TestDay(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	from, to := Day(time.Date(2026, 3, 29, 12, 0, 0, 0, berlin)) // the clocks go forward that night, so the day has 23 hours
	if to.Sub(from) != 23*time.Hour || from.Hour() != 0 || to.Hour() != 0 {
		t.Errorf("the day is from %v to %v", from, to)
	}
}
