package apiserver

import (
	"crypto/sha256"
	"net/http"
	"sync"
	"time"
)

// Bounds of what is kept of answered requests with an Idempotency-Key.
const (
	maxRepeats     = 1000
	maxRepeatBytes = 16 << 20
	repeatLife     = 24 * time.Hour
	maxRepeatKey   = 255
)

// repeats keeps the answers to requests with an Idempotency-Key, in memory. The oldest ones go first.
type repeats struct {
	mu    sync.Mutex
	known map[string]*repeat
	order []*repeat // answered ones, oldest first
	bytes int
}

// repeat is a request that may come again.
type repeat struct {
	key    string
	digest [sha256.Size]byte // of the request
	done   *exchange         // nil: it is being answered
	end    outcome
	at     time.Time
	size   int
}

func newRepeats() repeats { return repeats{known: make(map[string]*repeat)} }

// begin returns the earlier request with a key, or nil if this is the first one, which the caller must then end.
func (p *repeats) begin(key string, digest [sha256.Size]byte) (*repeat, *apiError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.order) > 0 && time.Since(p.order[0].at) > repeatLife {
		p.drop()
	}
	switch known := p.known[key]; {
	case known == nil:
		p.known[key] = &repeat{key: key, digest: digest}
		return nil, nil
	case known.digest != digest:
		return nil, &apiError{
			status: http.StatusUnprocessableEntity, kind: "idempotency_error", code: "idempotency_key_reused",
			message: "This Idempotency-Key was used for another request.",
		}
	case known.done == nil:
		return nil, &apiError{
			status: http.StatusConflict, kind: "idempotency_error", code: "idempotency_key_in_use", retryAfter: time.Second,
			message: "A request with this Idempotency-Key is being answered. Ask again in a moment.",
		}
	default:
		return known, nil
	}
}

// end keeps the answer to the first request with a key. A failed one, without an outcome, may be tried again.
func (p *repeats) end(key string, x *exchange, o *outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.known[key]
	if o == nil {
		delete(p.known, key)
		return
	}
	r.done = &exchange{Server: x.Server, head: head{id: x.id, created: x.created, query: &query{
		model: x.query.model, stream: x.query.stream, usage: x.query.usage, store: x.query.store, params: x.query.params, echo: x.query.echo,
	}}, api: x.api, said: x.said}
	r.end, r.at, r.size = *o, time.Now(), len(key)+x.said.size()+x.query.echo.size()
	p.order = append(p.order, r)
	p.bytes += r.size
	for len(p.order) > 1 && (len(p.order) > maxRepeats || p.bytes > maxRepeatBytes) {
		p.drop()
	}
}

// drop forgets the oldest answer.
func (p *repeats) drop() {
	p.bytes -= p.order[0].size
	delete(p.known, p.order[0].key)
	p.order = p.order[1:]
}

// size returns about how many bytes the echo takes.
func (e echo) size() int {
	n := 1024 + len(e.ToolChoice) + len(e.Text.Format)
	for _, t := range e.Tools {
		n += len(t)
	}
	if e.Instructions != nil {
		n += len(*e.Instructions)
	}
	return n
}

// once answers a request with an Idempotency-Key: the first time by a turn, then with the same answer.
func (s *Server) once(r *http.Request, c *client, key string, body []byte, x *exchange) *apiError {
	if len(key) > maxRepeatKey {
		return badRequest("Idempotency-Key", "Invalid Idempotency-Key: it is longer than %d bytes.", maxRepeatKey)
	}
	key = c.Name + "\x00" + key
	digest := sha256.Sum256(append([]byte(r.URL.Path+"\x00"+string(x.session.Thread)+"\x00"), body...))
	known, err := s.repeats.begin(key, digest)
	if err != nil {
		return err
	}
	if known != nil {
		x.head, x.said = known.done.head, answer{}
		x.replay(&known.done.said, known.end)
		return nil
	}
	var o *outcome
	defer func() { s.repeats.end(key, x, o) }() // after a panic too
	o, err = x.answer(r.Context())
	return err
}

// replay answers with an earlier answer.
func (x *exchange) replay(said *answer, o outcome) {
	x.reply.w.Header().Set("Idempotent-Replayed", "true")
	if x.query.stream {
		x.openStream()
	}
	for _, e := range said.events() {
		x.say(e)
	}
	x.finish(o)
}
