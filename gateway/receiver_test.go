package gateway_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/gateway/access"
	"telex/internal/chat"
)

// In these tests, one replica receives messages, and other replicas may answer them.

// On some platforms, only the replica that receives can answer, so this replica must own all chats. When the replica
// stops, the next receiver must take over all chats.
func TestOnlyTheReceiverCanAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleet(t, 2, true, func(o *gateway.Options) { o.Endpoints[0].Platform.(*branch).owns = true })
		for i := range 6 {
			r[0].say(t, in(chat.ChatID(fmt.Sprint("c", i)), ask("a")))
		}
		later(10 * time.Second)
		if !r[1].last().IsZero() {
			t.Error("a replica answered that does not receive")
		}
		if err := r[0].stop(); err != nil {
			t.Fatal(err)
		}
		before := r[0].last()
		later(time.Second)
		for i := range 6 {
			r[1].say(t, in(chat.ChatID(fmt.Sprint("c", i)), ask("b")))
		}
		later(10 * time.Second)
		if !r[0].last().Equal(before) || r[1].last().IsZero() {
			t.Error("the next receiver does not answer")
		}
	})
}

// A person writes in chats of several replicas. The limit of turns per minute must count the person's turns at all replicas.
func TestReplicasCountTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleet(t, 3, true, func(o *gateway.Options) { o.Limits = access.Limits{TurnsPerMinute: 2} })
		for i := range 6 { // each replica owns two of the chats
			r[0].say(t, in(chat.ChatID(fmt.Sprint("c", i)), ask("a")))
			later(time.Second)
		}
		if begun, _ := r[0].runs(); begun != 2 {
			t.Errorf("%d turns began in a minute, want 2", begun)
		}
		later(time.Minute)
		r[0].say(t, in("c1", ask("b")))
		later(time.Second)
		if begun, _ := r[0].runs(); begun != 3 {
			t.Errorf("%d turns began, want one more a minute later", begun)
		}
	})
}

// adopter is an adapter that must get each message before it is answered, and that has work to do while another replica
// receives.
type adopter struct {
	*branch
	mu      sync.Mutex
	adopted []chat.MessageID
	working bool
	both    bool // the adapter received while it was on standby
}

func (a *adopter) Adopt(in chat.Inbound) chat.Inbound {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.adopted = append(a.adopted, in.ID)
	if in.Text == "a" {
		in.Text = "adopted"
	}
	return in
}

func (a *adopter) StandBy(ctx context.Context, _ func()) error {
	a.works(true)
	<-ctx.Done()
	a.works(false)
	return ctx.Err()
}

func (a *adopter) works(yes bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.working = yes
}

func (a *adopter) Run(ctx context.Context, from chat.Resume, accept func(context.Context, chat.Inbound) error) error {
	a.mu.Lock()
	a.both = a.both || a.working
	a.mu.Unlock()
	return a.branch.Run(ctx, from, accept)
}

// One replica receives all messages. The adapter of the replica that answers must get each message through Adopt, and
// the adapter that does not receive must be on standby.
func TestReplicasAdoptMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var adapters []*adopter
		r := fleet(t, 2, true, func(o *gateway.Options) {
			a := &adopter{branch: o.Endpoints[0].Platform.(*branch)}
			adapters, o.Endpoints[0].Platform = append(adapters, a), a
		})
		later(5 * time.Second)
		states := func() (yes []string) {
			for _, a := range adapters {
				a.mu.Lock()
				yes = append(yes, fmt.Sprint(a.working))
				a.mu.Unlock()
			}
			return yes
		}
		equal(t, "who stands by", states(), []string{"false", "true"})
		for _, c := range []chat.ChatID{"c0", "c1"} { // one chat for each replica
			one := ask("a")
			one.ID = chat.MessageID("m" + c)
			r[0].say(t, in(c, one))
		}
		later(5 * time.Second)
		for i, a := range adapters {
			a.mu.Lock()
			if len(a.adopted) != 1 {
				t.Errorf("replica %d adopted %q", i, a.adopted)
			}
			a.mu.Unlock()
		}
		if got := r[0].sees(); !slices.Equal(got, []string{"re: adopted", "re: adopted"}) {
			t.Errorf("people see %q", got)
		}
		if err := r[0].stop(); err != nil {
			t.Fatal(err)
		}
		later(time.Second)
		equal(t, "who stands by", states(), []string{"false", "false"})
		if adapters[0].both || adapters[1].both {
			t.Error("an adapter received while it stood by")
		}
	})
}

// A replica stops while a turn runs in a chat whose id has changed. The replica must keep this chat until the turn has
// ended (F54).
func TestReplicaKeepsAMovedChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleet(t, 2, true, nil)
		r[0].answers["a"] = strings.Repeat("word ", 150)
		r[0].say(t, in("old", ask("b")))
		later(10 * time.Second)
		r[0].say(t, in("old", chat.Inbound{Kind: chat.Migration, MovedTo: "new"}))
		r[0].say(t, in("new", ask("a")))
		later(time.Second)
		stopped := make(chan error, 1)
		go func() { stopped <- r[0].stop() }()
		later(500 * time.Millisecond)
		if !r[1].last().IsZero() {
			t.Error("the other replica has taken over what goes on")
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}
