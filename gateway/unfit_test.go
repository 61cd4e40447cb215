package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/internal/chat"
)

// In these tests one replica can't reach its platform or is refused by it.

// prober is a branch that tests the connection to the platform while it is on standby.
type prober struct{ *branch }

func (a prober) StandBy(ctx context.Context, works func()) error {
	news, broken := a.trouble()
	if broken != nil {
		return broken
	}
	works()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-news:
		_, broken = a.trouble()
		return broken
	}
}

func probes(o *gateway.Options) { o.Endpoints[0].Platform = prober{o.Endpoints[0].Platform.(*branch)} }

var (
	errCut     = &chat.SendError{Kind: chat.Temporary, Err: errors.New("no route to the platform")}
	errRefused = &chat.SendError{Kind: chat.Auth, Err: errors.New("the token is refused")}
)

// serves lets people in several chats write to a replica, and compares the number of answers.
func serves(t *testing.T, r *fellow, of string, chats, want int) {
	t.Helper()
	before := len(r.sees())
	for i := range chats {
		r.say(t, in(chat.ChatID(fmt.Sprint(of, i)), ask("a")))
	}
	later(15 * time.Second)
	if n := len(r.sees()) - before; n != want {
		t.Errorf("%s: %d of %d are answered", of, n, want)
	}
}

// receiving returns the replicas that receive.
func receiving(list []*fellow) (yes []string) {
	for i, r := range list {
		if r.receives() {
			yes = append(yes, fmt.Sprint(i))
		}
	}
	return yes
}

// A receiver that can't reach the platform stops being the receiver, and new chats go to the others. Once the former
// receiver reaches the platform again, it answers again.
func TestReplicaThatCanNotReceiveGivesUp(t *testing.T) {
	for name, change := range map[string]func(*gateway.Options){"with a check": probes, "without a check": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := fleet(t, 2, true, change)
				later(5 * time.Second)
				r[0].fails(errCut)
				later(5 * time.Second)
				if receives := receiving(r); len(receives) != 0 {
					t.Errorf("after 5 s, %q receive", receives)
				}
				later(7 * time.Second)
				equal(t, "who receives", receiving(r), []string{"1"})
				e := r[0].gateway.Overview().Endpoints[0]
				if e.State != gateway.Standby || !errors.Is(e.Err, errCut) {
					t.Errorf("got state %s, error %v", e.State, e.Err)
				}
				serves(t, r[1], "new", 6, 6)
				r[0].fails(nil)
				later(2 * time.Minute)
				equal(t, "who receives", receiving(r), []string{"1"})
				before := r[0].last()
				serves(t, r[1], "later", 6, 6)
				if r[0].last().Equal(before) {
					t.Error("the replica that can reach the platform again answers nobody")
				}
			})
		})
	}
}

// While no replica can reach the platform, each of them is the receiver for a while in turn, and one replica always
// tries.
func TestReplicasThatAllCanNotReceiveKeepTrying(t *testing.T) {
	for name, owns := range map[string]bool{"any replica answers": false, "the receiver answers": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := fleet(t, 2, true, func(o *gateway.Options) {
					o.Endpoints[0].Platform.(*branch).owns = owns
					probes(o)
				})
				later(5 * time.Second)
				r[0].fails(errCut)
				r[1].fails(errCut)
				for range 5 {
					later(time.Minute)
					tries := 0
					for _, one := range r {
						if len(one.gateway.Overview().Replica.Peers) != 2 {
							t.Error("a replica has lost its lease")
						}
						if one.gateway.Overview().Endpoints[0].State == gateway.Retrying {
							tries++
						}
					}
					if tries != 1 {
						t.Errorf("%d replicas try", tries)
					}
				}
				r[1].fails(nil)
				later(3 * time.Minute)
				equal(t, "who receives", receiving(r), []string{"1"})
				serves(t, r[1], "new", 3, 3)
			})
		})
	}
}

// If only one replica is left, it keeps trying to receive, even if another replica has just left.
func TestReplicaThatIsAloneKeepsTrying(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleet(t, 2, true, probes)
		later(5 * time.Second)
		r[0].fails(errCut)
		later(15 * time.Second)
		equal(t, "who receives", receiving(r), []string{"1"})
		if err := r[1].stop(); err != nil {
			t.Fatal(err)
		}
		r[0].fails(nil)
		later(2 * time.Second)
		equal(t, "who receives", receiving(r), []string{"0"})
		serves(t, r[0], "new", 3, 3)
	})
}

// A replica whose token the platform refuses answers nobody and does not receive. The other replicas answer and
// receive, even if the refused replica was the receiver before, and they get its chats.
func TestReplicaWithRefusedTokenAnswersNobody(t *testing.T) {
	for _, c := range []struct {
		name    string
		one     bool
		refused int
	}{{"receiver", true, 0}, {"standby", true, 1}, {"all receive", false, 1}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				good, bad := 1-c.refused, c.refused
				var options []gateway.Options
				r := fleet(t, 2, c.one, func(o *gateway.Options) {
					probes(o)
					if len(options) == bad {
						o.Endpoints[0].Platform.(prober).fails(errRefused)
					}
					options = append(options, *o)
				})
				if c.name == "standby" { // it gets no chats before the refusal of its token is confirmed
					later(time.Second)
					serves(t, r[good], "early", 6, 6)
				}
				later(10 * time.Second)
				want := []string{fmt.Sprint(good)}
				equal(t, "who receives", receiving(r), want)
				serves(t, r[good], "new", 6, 6)
				e := r[bad].gateway.Overview().Endpoints[0]
				if e.State != gateway.Stopped || !errors.Is(e.Err, errRefused) {
					t.Errorf("got state %s, error %v", e.State, e.Err)
				}
				peers := r[good].gateway.Overview().Replica.Peers
				if len(peers) != 2 || len(peers[bad].Endpoints) != 0 || !slices.Equal(peers[good].Endpoints, []chat.EndpointID{"tg"}) {
					t.Errorf("got %+v", peers)
				}
				r[bad].fails(nil)
				if err := r[bad].gateway.Reload(t.Context(), options[bad]); err != nil {
					t.Fatal(err)
				}
				later(5 * time.Second)
				if got := r[good].gateway.Overview().Replica.Peers[bad].Endpoints; len(got) != 1 {
					t.Errorf("after a reload with a good token, it runs %v", got)
				}
			})
		})
	}
}

// A replica that stands by and can't reach the platform gets no chats there until it can reach the platform again.
// This holds whether it lost the connection at the start or later. After an interruption of a few seconds, the
// replica still counts as able to answer.
func TestStandbyThatCanNotReachThePlatform(t *testing.T) {
	for name, after := range map[string]time.Duration{"from the start": 0, "later": 10 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := fleet(t, 2, true, probes)
				later(after)
				r[1].fails(errCut)
				runs := func() int { return len(r[0].gateway.Overview().Replica.Peers[1].Endpoints) }
				later(5 * time.Second)
				if runs() != 1 {
					t.Error("an interruption of five seconds counts")
				}
				later(25 * time.Second)
				if runs() != 0 {
					t.Error("it counts as able to answer")
				}
				serves(t, r[0], "new", 6, 6)
				equal(t, "who receives", receiving(r), []string{"0"})
				r[1].fails(nil)
				later(2 * time.Minute)
				if runs() != 1 {
					t.Error("it does not count as able to answer again")
				}
			})
		})
	}
}
