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

// commentInterval is the time after which the server sends a comment if it has sent nothing else in the stream.
// Clients and proxies close connections on which they receive nothing for too long.
const commentInterval = 15 * time.Second

// reply writes the response to one request: a JSON document, or a stream of server-sent events. A stream of server-sent
// events begins with its first event or comment. If the request fails before the stream has begun, reply sends the
// error with an HTTP status. If the client does not read the response, writing the response blocks. If a write is
// blocked for writeTimeout, the write fails and the turn ends.
type reply struct {
	w       http.ResponseWriter
	control *http.ResponseController
	id      string // id of the request

	mu           sync.Mutex
	headerSent   bool            // the server has sent the header of the response
	closed       bool            // the handler has returned, or writing has failed
	buffer       bytes.Buffer    // events that the next flush writes
	deadline     time.Time       // the current deadline for writes
	lastWrite    time.Time       // when the last write ended
	commentTimer *time.Timer     // nil if the reply is not a stream
	onError      func(*apiError) // writes an error to the stream in the form of the API
}

// stream prepares the reply for a stream of events, and starts the timer for comments.
func (p *reply) stream(onError func(*apiError)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onError, p.lastWrite = onError, time.Now()
	p.commentTimer = time.AfterFunc(time.Hour, p.comment) //nolint:forbidigo // keeps the connection alive; close stops the timer.
	p.commentTimer.Reset(commentInterval)                 // start the timer only now, because comment reads the field commentTimer
}

// event adds a server-sent event to the buffer. If name is empty, the event has only data.
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
			panic(fmt.Errorf("encode an event: %w", err)) // encoding these types can't fail
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

// comment writes a comment if the reply wrote nothing for commentInterval. comment also sets the timer for the next
// call of comment.
func (p *reply) comment() {
	if !p.mu.TryLock() { // another goroutine uses the reply, and its write to the client may be blocked
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

// write sends the buffered events to the client. The caller of write must hold mu.
func (p *reply) write() {
	if p.closed || p.buffer.Len() == 0 {
		p.buffer.Reset()
		return
	}
	now := time.Now()
	if p.deadline.Sub(now) < writeTimeout*3/4 { // not for each piece of the answer, because setting a deadline is slow
		p.deadline = now.Add(writeTimeout)
		_ = p.control.SetWriteDeadline(p.deadline) // the writers in some tests do not support deadlines, so ignore the error
	}
	if !p.headerSent {
		p.headerSent = true
		h := p.w.Header()
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no") // nginx then passes on each event immediately
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

// json sends a JSON document with the status 200.
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
		panic(fmt.Errorf("encode a document: %w", err)) // encoding these types can't fail
	}
	_ = p.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	p.w.Header().Set("Content-Type", "application/json")
	p.w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	p.w.WriteHeader(status)
	_, _ = p.w.Write(body.Bytes()) // an error means that the client has disconnected, so nobody can get the document
}

// fail reports an error to the client. If the server has sent nothing of the reply yet, fail sends an HTTP status and a
// document. If the reply is a stream that has begun, fail sends an event.
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
			h.Set("X-Should-Retry", "false") // the official SDKs read this header
		}
		if err.status == http.StatusUnauthorized {
			h.Set("WWW-Authenticate", "Bearer")
		}
		p.document(err.status, err.envelope())
	}
}

// close prevents later writes to the response, because an HTTP handler must not write after the handler has returned.
func (p *reply) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.commentTimer != nil {
		p.commentTimer.Stop()
	}
}
