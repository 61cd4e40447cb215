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

// In these tests, one replica can't reach its platform, or the platform refuses the replica's token.

// prober is a branch that tests its connection to the platform while it is on standby.
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

// The function serves lets people in several chats write to a replica, and checks how many answers there are.
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

// The function receiving returns the indices of the replicas that receive.
func receiving(list []*fellow) (yes []string) {
	for i, r := range list {
		if r.receives() {
			yes = append(yes, fmt.Sprint(i))
		}
	}
	return yes
}

// The replica that receives can't reach the platform any more. This replica must stop being the receiver, and new chats
// must go to the other replicas. Once the replica reaches the platform again, it must answer again.
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

// No replica can reach the platform. The replicas must take turns as the receiver, each for a while, so that one of
// them always tries to connect.
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

// A replica can't receive, so another replica becomes the receiver and then stops. The replica that is left must try to
// receive again.
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

// The platform refuses the token of one replica. The refused replica must answer nobody and must not receive, even if
// it was the receiver before. The other replicas must receive, answer and take over the chats of the refused replica.
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
				if c.name == "standby" { // the replica must get no chats, even before the refusal of its token is confirmed
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

// A replica on standby can't reach the platform, from its start or later. The replica must get no chats of this
// endpoint until it can reach the platform again. An interruption of only a few seconds must not change anything.
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
