package apiserver

import (
	"crypto/sha256"
	"net/http"
	"sync"
	"time"
)

// These constants limit the answers that the server remembers for requests with an Idempotency-Key.
const (
	maxCached         = 1000
	maxCachedBytes    = 16 << 20
	cacheLifetime     = 24 * time.Hour
	maxIdempotencyKey = 255
)

// idempotencyCache keeps the answers to requests with an Idempotency-Key in memory, so that the server can answer a
// repeated request with the same answer. When an idempotencyCache is full, it drops the oldest answers first.
type idempotencyCache struct {
	mu      sync.Mutex
	entries map[string]*cachedAnswer
	order   []*cachedAnswer // finished requests, oldest first
	bytes   int
}

// cachedAnswer is a request with an Idempotency-Key, and its answer.
type cachedAnswer struct {
	key      string
	digest   [sha256.Size]byte // hash of the request
	exchange *exchange         // nil: the request is still running
	end      outcome
	at       time.Time
	size     int
}

func newRepeats() idempotencyCache { return idempotencyCache{entries: make(map[string]*cachedAnswer)} }

// begin returns the earlier request with the same Idempotency-Key. If there is no earlier request, begin returns nil,
// and the caller must call end when the new request has ended.
func (p *idempotencyCache) begin(key string, digest [sha256.Size]byte) (*cachedAnswer, *apiError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.order) > 0 && time.Since(p.order[0].at) > cacheLifetime {
		p.dropOldest()
	}
	switch known := p.entries[key]; {
	case known == nil:
		p.entries[key] = &cachedAnswer{key: key, digest: digest}
		return nil, nil
	case known.digest != digest:
		return nil, &apiError{
			status: http.StatusUnprocessableEntity, kind: "idempotency_error", code: "idempotency_key_reused",
			message: "This Idempotency-Key was used for another request.",
		}
	case known.exchange == nil:
		return nil, &apiError{
			status: http.StatusConflict, kind: "idempotency_error", code: "idempotency_key_in_use", retryAfter: time.Second,
			message: "A request with this Idempotency-Key is being answered. Ask again in a moment.",
		}
	default:
		return known, nil
	}
}

// end stores the answer to the first request with an Idempotency-Key. If o is nil, the request failed. If the request
// failed, end removes the Idempotency-Key, so that the client can repeat the request with the same key.
func (p *idempotencyCache) end(key string, x *exchange, o *outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.entries[key]
	if o == nil {
		delete(p.entries, key)
		return
	}
	r.exchange = &exchange{Server: x.Server, answerHead: answerHead{id: x.id, created: x.created, query: &query{
		model: x.query.model, stream: x.query.stream, usage: x.query.usage, store: x.query.store, params: x.query.params, echoed: x.query.echoed,
	}}, api: x.api, answer: x.answer}
	r.end, r.at, r.size = *o, time.Now(), len(key)+x.answer.size()+x.query.echoed.size()
	p.order = append(p.order, r)
	p.bytes += r.size
	for len(p.order) > 1 && (len(p.order) > maxCached || p.bytes > maxCachedBytes) {
		p.dropOldest()
	}
}

// dropOldest removes the oldest answer.
func (p *idempotencyCache) dropOldest() {
	p.bytes -= p.order[0].size
	delete(p.entries, p.order[0].key)
	p.order = p.order[1:]
}

// size returns the approximate size of the fields in e in bytes.
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

// runOnce answers a request with an Idempotency-Key. For the first request with a key, runOnce runs a turn. For a
// repeated request, runOnce sends the answer of the first request again.
func (s *Server) runOnce(r *http.Request, c *client, key string, body []byte, x *exchange) *apiError {
	if len(key) > maxIdempotencyKey {
		return badRequest("Idempotency-Key", "Invalid Idempotency-Key: it is longer than %d bytes.", maxIdempotencyKey)
	}
	key = c.Name + "\x00" + key
	digest := sha256.Sum256(append([]byte(r.URL.Path+"\x00"+string(x.session.Thread)+"\x00"), body...))
	known, err := s.repeats.begin(key, digest)
	if err != nil {
		return err
	}
	if known != nil {
		x.answerHead, x.answer = known.exchange.answerHead, answer{}
		x.replay(&known.exchange.answer, known.end)
		return nil
	}
	var o *outcome
	defer func() { s.repeats.end(key, x, o) }() // deferred, so that end is also called after a panic
	o, err = x.run(r.Context())
	return err
}

// replay sends the answer of an earlier request again.
func (x *exchange) replay(said *answer, o outcome) {
	x.reply.w.Header().Set("Idempotent-Replayed", "true")
	if x.query.stream {
		x.openStream()
	}
	for _, e := range said.events() {
		x.emit(e)
	}
	x.send(o)
}
