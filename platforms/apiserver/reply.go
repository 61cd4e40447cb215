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

// commentInterval is the maximum silence of a stream before a comment follows, because clients and proxies close
// connections that are silent for longer.
const commentInterval = 15 * time.Second

// reply writes the response to one request: a JSON document, or a stream of server-sent events. A stream begins with
// its first event or comment; until then, an error is sent as an HTTP status. If the client does not read, a write
// blocks its caller. After writeTimeout, the write fails and the turn ends.
type reply struct {
	w       http.ResponseWriter
	control *http.ResponseController
	id      string // of the request

	mu           sync.Mutex
	headerSent   bool            // the header was sent
	closed       bool            // the handler has returned, or writing has failed
	buffer       bytes.Buffer    // events that flush will write
	deadline     time.Time       // the current deadline for writes
	lastWrite    time.Time       // when the last write ended
	commentTimer *time.Timer     // nil: not a stream
	onError      func(*apiError) // writes an error into the stream in the API's form
}

// stream makes the reply a stream.
func (p *reply) stream(onError func(*apiError)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onError, p.lastWrite = onError, time.Now()
	p.commentTimer = time.AfterFunc(time.Hour, p.comment) //nolint:forbidigo // the server's protocol asks for a sign of life; close ends it.
	p.commentTimer.Reset(commentInterval)                 // The timer starts only after the field is set, because comment reads the field.
}

// event adds an event to the buffer. Without a name, it has only data.
func (p *reply) event(name string, data any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name != "" {
		p.buffer.WriteString("event: " + name + "\n")
	}
	p.buffer.WriteString("data: ")
	if text, ok := data.(string); ok {
		p.buffer.WriteString(text + "\n")
	} else {
		e := json.NewEncoder(&p.buffer)
		e.SetEscapeHTML(false)
		if err := e.Encode(data); err != nil {
			panic(fmt.Errorf("encode an event: %w", err)) // can't fail for these types
		}
	}
	p.buffer.WriteByte('\n')
}

// flush writes the buffered events.
func (p *reply) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.write()
}

// comment writes a comment if nothing was written for commentInterval, and sets the timer again.
func (p *reply) comment() {
	if !p.mu.TryLock() { // a write is in progress
		p.commentTimer.Reset(commentInterval)
		return
	}
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	rest := commentInterval - time.Since(p.lastWrite)
	if rest <= 0 {
		p.buffer.WriteString(": keep-alive\n\n")
		p.write()
		rest = commentInterval
	}
	p.commentTimer.Reset(rest)
}

// write writes the buffer. The caller holds mu.
func (p *reply) write() {
	if p.closed || p.buffer.Len() == 0 {
		p.buffer.Reset()
		return
	}
	now := time.Now()
	if p.deadline.Sub(now) < writeTimeout*3/4 { // do not set the deadline for each piece
		p.deadline = now.Add(writeTimeout)
		_ = p.control.SetWriteDeadline(p.deadline) // an error means that there are no deadlines, as with the writers of some tests
	}
	if !p.headerSent {
		p.headerSent = true
		h := p.w.Header()
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no") // makes nginx pass on each event at once
		p.w.WriteHeader(http.StatusOK)
	}
	_, err := p.w.Write(p.buffer.Bytes())
	p.buffer.Reset()
	if err == nil {
		err = p.control.Flush()
	}
	p.lastWrite = time.Now()
	p.closed = err != nil // net/http then cancels the request's context, which ends the turn
}

// json sends a document.
func (p *reply) json(document any) *apiError {
	p.document(http.StatusOK, document)
	return nil
}

func (p *reply) document(status int, document any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.headerSent || p.closed {
		return
	}
	p.headerSent = true
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	if err := e.Encode(document); err != nil {
		panic(fmt.Errorf("encode a document: %w", err)) // can't fail for these types
	}
	_ = p.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	p.w.Header().Set("Content-Type", "application/json")
	p.w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	p.w.WriteHeader(status)
	_, _ = p.w.Write(body.Bytes()) // an error means that the client has disconnected; it will ask again
}

// fail sends an error: as an HTTP status if nothing was sent yet, otherwise as an event.
func (p *reply) fail(err *apiError) {
	p.mu.Lock()
	begun, onError := p.headerSent, p.onError
	p.mu.Unlock()
	switch {
	case begun && err.clientGone:
	case begun && onError != nil:
		onError(err)
		p.flush()
	case !begun:
		h := p.w.Header()
		if err.retryAfter > 0 {
			h.Set("Retry-After", strconv.Itoa(int((err.retryAfter+time.Second-1)/time.Second)))
		}
		if err.noRetry {
			h.Set("X-Should-Retry", "false") // for the official SDKs
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
	if p.commentTimer != nil {
		p.commentTimer.Stop()
	}
}
