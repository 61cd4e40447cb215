package queue_test

import (
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway/queue"
)

func TestPacer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p queue.Pacer
		granted := 0
		var tickets []*queue.Ticket
		for range 100 {
			tickets = append(tickets, p.Enter(func() { granted++ }))
		}
		if granted != 32 || tickets[31].Waits() || !tickets[32].Waits() {
			t.Errorf("%d conversations go on, want the first 32", granted)
		}
		tickets[0].Leave()
		tickets[0].Leave() // the second call must change nothing
		tickets[33].Leave()
		tickets[1].Leave()
		if granted != 34 || tickets[32].Waits() || tickets[34].Waits() || !tickets[35].Waits() {
			t.Errorf("%d conversations went on after two have left, want 34, without the one that did not wait", granted)
		}
		time.Sleep(2 * time.Minute) // a conversation that hangs must delay the others no longer than this
		synctest.Wait()
		if granted != 99 {
			t.Errorf("%d conversations went on, want all that waited", granted)
		}
		for _, one := range tickets {
			one.Leave()
		}
		var none *queue.Ticket
		if none.Leave(); none.Waits() {
			t.Error("a conversation without a ticket waits")
		}
	})
}
