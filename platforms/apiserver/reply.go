package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// silence is how long a stream may be silent before a comment says that it goes on: clients and proxies take longer ones for dead.
const silence = 15 * time.Second

// reply writes the answer to one request: a JSON document, or a stream of server-sent events that begins with its first event or its
// first comment. Until then an error is an HTTP status. What the client does not take stays in the buffers of the connection: a write
// blocks its caller, and after writeTime it fails and ends the turn.
type reply struct {
	w       http.ResponseWriter
	control *http.ResponseController
	id      string // of the request

	mu       sync.Mutex
	begun    bool            // the header was sent
	closed   bool            // the handler has returned, or nothing more may be written
	out      bytes.Buffer    // what flush will write
	deadline time.Time       // of the writes
	written  time.Time       // when the last write ended
	beat     *time.Timer     // for comments; nil: it is no stream
	onError  func(*apiError) // writes an error into the stream, as the API does
}

// stream makes the reply a stream.
func (p *reply) stream(onError func(*apiError)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onError, p.written = onError, time.Now()
	p.beat = time.AfterFunc(time.Hour, p.comment) //nolint:forbidigo // the server's protocol asks for a sign of life; close ends it.
	p.beat.Reset(silence)                         // once comment may see it
}

// event adds an event to what flush will write. Without a name, it is data alone.
func (p *reply) event(name string, data any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name != "" {
		p.out.WriteString("event: " + name + "\n")
	}
	p.out.WriteString("data: ")
	if text, ok := data.(string); ok {
		p.out.WriteString(text + "\n")
	} else {
		e := json.NewEncoder(&p.out)
		e.SetEscapeHTML(false)
		if err := e.Encode(data); err != nil {
			panic(fmt.Errorf("encode an event: %w", err)) // our own types
		}
	}
	p.out.WriteByte('\n')
}

// flush writes the events.
func (p *reply) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.write()
}

// comment writes a comment after a silence, and waits for the next one.
func (p *reply) comment() {
	if !p.mu.TryLock() { // something is being written
		p.beat.Reset(silence)
		return
	}
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	rest := silence - time.Since(p.written)
	if rest <= 0 {
		p.out.WriteString(": keep-alive\n\n")
		p.write()
		rest = silence
	}
	p.beat.Reset(rest)
}

// write sends the buffer. The caller holds mu.
func (p *reply) write() {
	if p.closed || p.out.Len() == 0 {
		p.out.Reset()
		return
	}
	now := time.Now()
	if p.deadline.Sub(now) < writeTime*3/4 { // not for each piece
		p.deadline = now.Add(writeTime)
		_ = p.control.SetWriteDeadline(p.deadline) // a writer without deadlines is a test's
	}
	if !p.begun {
		p.begun = true
		h := p.w.Header()
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no") // nginx passes each event on
		p.w.WriteHeader(http.StatusOK)
	}
	_, err := p.w.Write(p.out.Bytes())
	p.out.Reset()
	if err == nil {
		err = p.control.Flush()
	}
	p.written = time.Now()
	p.closed = err != nil // net/http then ends the request's context, and the turn with it
}

// json answers with a document.
func (p *reply) json(document any) *apiError {
	p.document(http.StatusOK, document)
	return nil
}

func (p *reply) document(status int, document any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.begun || p.closed {
		return
	}
	p.begun = true
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	if err := e.Encode(document); err != nil {
		panic(fmt.Errorf("encode a document: %w", err)) // our own types
	}
	_ = p.control.SetWriteDeadline(time.Now().Add(writeTime))
	p.w.Header().Set("Content-Type", "application/json")
	p.w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	p.w.WriteHeader(status)
	_, _ = p.w.Write(body.Bytes()) // a client that is gone asks again
}

// fail answers with an error: a status if nothing was sent yet, else an event.
func (p *reply) fail(err *apiError) {
	p.mu.Lock()
	begun, onError := p.begun, p.onError
	p.mu.Unlock()
	switch {
	case begun && err.clientIsGone:
	case begun && onError != nil:
		onError(err)
		p.flush()
	case !begun:
		h := p.w.Header()
		if err.retryAfter > 0 {
			h.Set("Retry-After", strconv.Itoa(int((err.retryAfter+time.Second-1)/time.Second)))
		}
		if err.noRetry {
			h.Set("X-Should-Retry", "false") // the official SDKs obey it
		}
		if err.status == http.StatusUnauthorized {
			h.Set("WWW-Authenticate", "Bearer")
		}
		p.document(err.status, err.envelope())
	}
}

// close ends the reply before the handler returns.
func (p *reply) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.beat != nil {
		p.beat.Stop()
	}
}
