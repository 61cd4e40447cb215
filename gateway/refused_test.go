package gateway_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/gateway/access"
	"telex/internal/chat"
)

// refuses reports whether the given call must fail now, as if the lease had ended.
func (s *severed) refuses(call string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.once != call {
		return false
	}
	s.once = ""
	return true
}

func (s *severed) ForgetFacts(ctx context.Context, p chat.Person) (int, error) {
	if s.refuses("ForgetFacts") {
		return 0, chat.ErrLost
	}
	return s.Store.ForgetFacts(ctx, p)
}

func (s *severed) SavePairingRequest(ctx context.Context, k chat.PairingRequest) error {
	if s.refuses("SavePairingRequest") {
		return chat.ErrLost
	}
	return s.Store.SavePairingRequest(ctx, k)
}

func (s *severed) CountTurn(ctx context.Context, p chat.Person, limit int) (bool, error) {
	if s.refuses("CountTurn") {
		return false, chat.ErrLost
	}
	return s.Store.CountTurn(ctx, p, limit)
}

// The store refuses a write because the lease has ended. People must not see an error, and must get one answer from the
// next owner of the chat.
func TestReplicaWithoutLeaseShowsNoError_F41(t *testing.T) {
	stranger := ask("let me in")
	stranger.Sender.ID = "20"
	for call, said := range map[string]chat.Inbound{
		"ForgetFacts": with(command("memory"), "forget all"), "CountTurn": ask("a"), "SavePairingRequest": in("20", stranger),
	} {
		t.Run(call, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := fleet(t, 1, true, func(o *gateway.Options) {
					o.Remembers, o.Limits.TurnsPerMinute = true, 5
					if said.Sender.ID == stranger.Sender.ID {
						o.Access = access.Rules{Pair: true, Admins: o.Access.Admins}
					}
				})[0]
				r.store.once = call
				r.say(t, said)
				later(30 * time.Second)
				if r.store.refuses(call) {
					t.Fatal("the call was not made")
				}
				got := r.sees()
				if len(got) != 1 || strings.Contains(got[0], "went wrong") {
					t.Errorf("people see %q, want one answer", got)
				}
				if begun, _ := r.runs(); begun > 1 {
					t.Errorf("the model was asked %d times", begun)
				}
			})
		})
	}
}
