package budget

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"telex/internal/chat"
)

// tier returns a limit like those of Slack. It allows as many calls per minute in the whole workspace as the parameter count
// says, and half of them as a burst.
func tier(count int, ops chat.Op) chat.Limit {
	return chat.Limit{Scope: chat.ScopeEndpoint, Ops: ops, Count: count, Window: time.Minute, Burst: count / 2}
}

// refuseOnce makes one call that the platform refuses, and waits until its block ends.
func refuseOnce(b *Budget, c chat.Call, scope chat.Scope, retryAfter time.Duration) {
	ticket := b.Request(c)
	<-ticket.Ready()
	b.Block(c, scope, 0, retryAfter)
	ticket.Done()
	time.Sleep(retryAfter)
}

// atOnce requests one call of a class in each of n chats at the same time, and returns how long it took until all calls
// were made.
func atOnce(b *Budget, n int, class chat.Class, limits ...chat.Limit) time.Duration {
	start := time.Now()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			c := call(chat.ChatID(fmt.Sprint(i)), class, limits...)
			c.Op = chat.OpEdit
			waited(b.Request(c))
		})
	}
	wg.Wait()
	return time.Since(start)
}

// D4: the platform refuses a few calls. After the blocks have ended, these refusals must not delay any final. After
// another minute, the refusals must not delay any call.
func TestEndedRefusalsSlowNothingDown(t *testing.T) {
	limit := tier(50, chat.OpEdit)
	for _, later := range []time.Duration{0, time.Minute, 15 * time.Minute} {
		for _, class := range []chat.Class{chat.ClassFinal, chat.ClassPreview} {
			if class == chat.ClassPreview && later < time.Minute {
				continue // previews may be slowed down for a minute
			}
			t.Run(fmt.Sprintf("%v, %v later", class, later), func(t *testing.T) {
				var without, with time.Duration
				for _, refusals := range []int{0, 4} {
					inBubbleOnce(t, func(b *Budget) {
						c := call("a", chat.ClassPreview, limit)
						c.Op = chat.OpEdit
						for range refusals {
							refuseOnce(b, c, chat.ScopeEndpoint, time.Second)
							time.Sleep(3 * time.Second)
						}
						time.Sleep(later)
						without, with = with, atOnce(b, 30, class, limit)
					})
				}
				// The four refused calls count toward the limit of fifty calls per minute, too. Each refused call therefore costs 1.2 s.
				if most := without*13/10 + 5*time.Second; with > most {
					t.Errorf("30 calls took %v after four refusals and %v without, want at most %v", with, without, most)
				}
			})
		}
	}
}

// D12: older finals have announced calls. Announced calls may delay a newer final only if the older finals could make
// these calls now. If each older final waits for the limit of its own chat, the newer final must not wait for the
// endpoint's limit, which nobody uses.
func TestAnnouncedCallsDoNotBlockAnIdleEndpoint(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Budget) {
		limits := []chat.Limit{perChat(20, 20*time.Second, 3), overall(30, time.Second, 30)}
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				parts(b, chat.Target{Chat: chat.ChatID(fmt.Sprint("long", i))}, 8, 400*time.Millisecond, limits...)
			})
		}
		short := make([]time.Duration, 20)
		for i := range short {
			time.Sleep(150 * time.Millisecond)
			wg.Go(func() { short[i] = waited(b.Request(call(chat.ChatID(fmt.Sprint(i)), chat.ClassFinal, limits...))) })
		}
		wg.Wait()
		if got := slices.Max(short); got > 100*time.Millisecond {
			t.Errorf("a short final waited %v beside eight long ones, want it to go at once; all: %v", got, short)
		}
	})
}

// D4: after a refusal, the budget must block only the kinds of calls that the platform names, and in any case the kind
// of the refused call.
func TestRefusalBlocksOnlyItsKinds(t *testing.T) {
	for _, c := range []struct {
		name    string
		scope   chat.Scope
		ops     chat.Op // the kinds of calls that the refusal names
		refused chat.Op // the kind of the refused call
		closed  chat.Op
	}{
		{"Slack: a method in the workspace", chat.ScopeEndpoint, chat.OpTyping, chat.OpTyping, chat.OpTyping},
		{"Discord: a bucket of two kinds", chat.ScopeChat, chat.OpSend | chat.OpEdit, chat.OpEdit, chat.OpSend | chat.OpEdit},
		{"Telegram: a chat", chat.ScopeChat, 0, chat.OpTyping, chat.OpAll},
		{"a helping call of another kind", chat.ScopeChat, chat.OpSend, chat.OpEdit, chat.OpSend | chat.OpEdit},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *Budget) {
				of := func(op chat.Op) chat.Call {
					made := call("a", chat.ClassFinal)
					made.Op = op
					return made
				}
				saved := b.Block(of(c.refused), c.scope, c.ops, 10*time.Second)
				restored := New()
				restored.Restore(saved)
				for _, budget := range []*Budget{b, restored} {
					for op := chat.OpSend; op&chat.OpAll != 0; op <<= 1 {
						ticket := budget.Request(of(op))
						if got, want := granted(ticket), c.closed&op == 0; got != want {
							t.Errorf("a call of kind %b is granted: %t, want %t", op, got, want)
						}
						ticket.Cancel()
					}
				}
				if got := b.BlockedUntil(of(chat.OpDelete)); got.IsZero() != (c.closed&chat.OpDelete == 0) {
					t.Errorf("deleting is blocked until %v", got)
				}
			})
		})
	}
}

// D4: during steady use, the platform refuses single calls now and then. Each refusal must slow previews down for only a
// minute, regardless of how many refusals came before. The calls that the platform accepts between two refusals show that
// its true limit is not lower than the declared limit. (If each refusal came right at the return to the full rate, the true
// limit would seem to be lower.)
func TestSingleRefusalsAreForgottenEachTime(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit chat.Limit
		each  time.Duration // interval between two previews that the platform's adapter uses
	}{
		{"Discord", perChat(5, 5*time.Second, 5), 1200 * time.Millisecond},
		{"Slack", tier(50, chat.OpAll), 1500 * time.Millisecond},
		{"Telegram group", perChat(18, time.Minute, 3), 3 * time.Second},
		{"Telegram", perChat(20, 20*time.Second, 3), 1500 * time.Millisecond},
	} {
		for _, apart := range []time.Duration{90 * time.Second, 5 * time.Minute} {
			t.Run(fmt.Sprint(c.name, " ", apart), func(t *testing.T) {
				previews := func(refusals int) (calls int) {
					inBubbleOnce(t, func(b *Budget) {
						preview := func() *Ticket {
							ticket := b.Request(call("a", chat.ClassPreview, c.limit))
							<-ticket.Ready()
							return ticket
						}
						steady := func(d time.Duration) (n int) {
							for end := time.Now().Add(d); time.Now().Before(end); n++ {
								began := time.Now()
								ticket := preview()
								time.Sleep(60 * time.Millisecond)
								ticket.Done()
								time.Sleep(time.Until(began.Add(c.each)))
							}
							return n
						}
						steady(2 * time.Minute)
						for range refusals {
							ticket := preview()
							b.Block(ticket.call, c.limit.Scope, 0, time.Second)
							ticket.Done()
							steady(apart)
						}
						steady(time.Minute)
						calls = steady(2 * time.Minute)
					})
					return calls
				}
				if without, with := previews(0), previews(4); with < without*9/10 {
					t.Errorf("%d previews in two minutes after four refusals %v apart, %d without", with, apart, without)
				}
			})
		}
	}
}
