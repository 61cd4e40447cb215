package store_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/store"
)

// A sweep deletes thousands of expired rows. The sweep must use many transactions, so that other writes can run
// between them.
func TestSweepOfMuch(t *testing.T) {
	t.Parallel()
	messages := 3000
	if raced {
		messages = 600
	}
	f, s, clock := newFixture(t)
	var writing sync.WaitGroup
	for n := range 30 { // in parallel, so that several writes share one sync
		writing.Go(func() {
			c := private(chat.ChatID(strconv.Itoa(n)))
			for i := range messages / 30 {
				id := strconv.Itoa(i)
				if _, err := f.Accept(t.Context(), c, message(c, chat.MessageID(id))); err != nil {
					t.Error(err)
				}
				if err := f.Drop(t.Context(), c, chat.MessageID(id)); err != nil {
					t.Error(err)
				}
			}
			if err := store.Append(t.Context(), s, c, "old", "old"); err != nil {
				t.Error(err)
			}
		})
	}
	writing.Wait()
	clock.advance(1000 * 24 * time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	between := 0
	writing.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			if _, err := f.Accept(t.Context(), private("new"), message(private("new"), chat.MessageID(strconv.Itoa(i)))); err != nil {
				t.Error(err)
			}
			between++
		}
	})
	before := store.Erasures(s)
	swept, err := s.Sweep(t.Context(), clock.now(), time.Hour)
	transactions := store.Erasures(s) - before // some of these transactions also contain other writes
	cancel()
	writing.Wait()
	f.must(err)
	if want := (store.Swept{Messages: int64(messages), Entries: 60}); swept != want {
		t.Errorf("got %+v, want %+v", swept, want)
	}
	if transactions < messages/200 || between < messages/200 {
		t.Errorf("got %d transactions, and %d writes of others, want many, and others between them", transactions, between)
	}
	rep, err := s.Check(t.Context())
	f.must(err)
	if rep.Conversations != 1 || rep.Entries != 0 || int(rep.Keys) != between {
		t.Errorf("got %+v, want what was accepted meanwhile alone", rep)
	}
}
