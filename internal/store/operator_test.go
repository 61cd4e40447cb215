package store_test

import (
	"context"
	"testing"

	"telex/internal/chat"
	"telex/internal/store"
)

// operable is a store with the methods that the operator's commands use.
type operable interface {
	durable
	Sessions(ctx context.Context) ([]store.SessionInfo, error)
	Transcript(ctx context.Context, c chat.Conversation) (chat.Session, []chat.Entry, error)
	Account(ctx context.Context, o store.AccountOptions) (store.Account, error)
	DeletePerson(ctx context.Context, p chat.Person) (int, error)
	Check(ctx context.Context) (store.Report, error)
}

// kept is a persistent store. old adds entries without a turn and without a person to a history. Older versions of
// telex stored entries without a turn and a person.
type kept struct {
	operable
	old func(c chat.Conversation, entries ...string) error
}

// newKept creates an empty store with a clock.
type newKept func(*testing.T) (*fixture, kept, *clock)

// operatorTests returns the tests of the methods that the operator's commands use. Each persistent store must pass
// these tests.
func operatorTests() map[string]func(*testing.T, newKept) {
	return map[string]func(*testing.T, newKept){
		"SessionsAndTranscript": testSessionsAndTranscript, "DeletePerson": testDeletePerson, "Account": testAccount,
		"SweepOfSessionsAndUsage": testSweepOfSessionsAndUsage, "DeletePersonLeavesNoChat": testDeletePersonLeavesNoChat,
	}
}

func runOperatorTests(t *testing.T, new newKept) {
	t.Helper()
	for name, run := range operatorTests() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, new)
		})
	}
}

func TestSQLiteForOperators(t *testing.T) {
	t.Parallel()
	runOperatorTests(t, func(t *testing.T) (*fixture, kept, *clock) {
		t.Helper()
		f, s, clock := newFixture(t)
		return f, kept{s, func(c chat.Conversation, entries ...string) error { return store.Append(t.Context(), s, c, entries...) }}, clock
	})
}
