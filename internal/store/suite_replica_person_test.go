package store_test

import (
	"errors"
	"time"

	"telex/internal/chat"
)

// personal makes all writes that need a lease but concern no conversation, and returns the error of each write. If the
// store accepts one of these writes, the write changes something.
func personal(p *process) map[string]error {
	ctx := p.Context()
	stranger := chat.Person{Endpoint: "tg", User: "stranger"}
	out := map[string]error{
		"SavePairingRequest": p.SavePairingRequest(ctx, chat.PairingRequest{Person: stranger, Code: "C", At: time.Now()}),
		"Admit":              p.Admit(ctx, chat.Admission{Person: stranger, At: time.Now()}),
		"Move":               p.Move(ctx, "tg", "1", "7"),
	}
	_, out["Revoke"] = p.Revoke(ctx, eve())
	_, out["Remember"] = p.Remember(ctx, ada(), "new", 10)
	_, out["ForgetFact"] = p.ForgetFact(ctx, ada(), "1")
	_, out["ForgetFacts"] = p.ForgetFacts(ctx, ada())
	_, out["CountTurn"] = p.CountTurn(ctx, ada(), 1)
	return out
}

func testReplicaExpiredPeople(c *cluster) {
	a := c.process()
	ctx, to := a.Context(), private("1")
	_, err := a.Remember(ctx, ada(), "a", 10)
	a.must(err)
	a.must(a.Admit(ctx, chat.Admission{Person: eve(), At: time.Now()}))
	c.sleep(chat.LeaseTime + time.Second)
	for name, err := range personal(a) {
		if !errors.Is(err, chat.ErrLost) {
			c.Errorf("%s after the lease: %v", name, err)
		}
	}
	a.knows(ada(), "1 a")
	admitted, err := a.Admitted(ctx)
	a.must(err)
	requests, err := a.PairingRequests(ctx)
	a.must(err)
	moves, err := a.Moves(ctx)
	a.must(err)
	if len(admitted) != 1 || admitted[0].Person != eve() || len(requests)+len(moves) > 0 {
		c.Errorf("got %v, %v, %v, want no trace of what was refused", admitted, requests, moves)
	}

	// Some writes must succeed even without a lease, because they record something that has already happened: a rate
	// limit that the platform has reported, and a response that a client of the API server has received.
	a.must(a.SaveBlock(ctx, "tg", chat.Block{Scope: chat.ScopeEndpoint, Until: time.Now().Add(time.Hour)}))
	a.must(a.exchanges().SaveExchange(ctx, chat.Exchange{Turn: "x", Conversation: to, User: "u", Growth: growth("said")}))

	// A process that never registered, such as an operator's command, needs no lease.
	s, err := c.open(ctx)
	a.must(err)
	command := &process{fixture: &fixture{T: c.T, Store: s}, shared: s}
	for name, err := range personal(command) {
		if err != nil {
			c.Errorf("%s of an operator: %v", name, err)
		}
	}
	_, err = a.Register(ctx, a.self)
	a.must(err)
	_, err = a.Remember(ctx, ada(), "b", 10)
	a.must(err)
}

func testReplicaFacts(c *cluster) {
	a, b := c.process(), c.process()
	a.rememberAtOnce(a, b)
}
