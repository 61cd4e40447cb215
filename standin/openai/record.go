package openai

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// Ways in which a request ended, as in Request.End.
const (
	EndNone         = ""              // Still being answered.
	EndComplete     = "complete"      // Answered in full, as far as the request and its settings go.
	EndRefused      = "refused"       // Answered with an error status.
	EndCut          = "cut"           // The connection was cut by the server, as told.
	EndEOF          = "eof"           // The stream was ended early by the server, as told.
	EndFailed       = "failed"        // The stream was ended by an error event, as told.
	EndClientClosed = "client_closed" // The client went away before the answer was complete.
	EndServerClosed = "server_closed" // Close came first.
)

// Request is what the server knows about one request for an answer.
type Request struct {
	ID      int             `json:"id"` // From 1 up, in the order of arrival.
	Time    time.Time       `json:"time"`
	Method  string          `json:"method"`
	Path    string          `json:"path"`
	Header  http.Header     `json:"header"` // Secrets masked.
	Body    json.RawMessage `json:"body,omitempty"`
	Invalid string          `json:"invalid_body,omitempty"` // The body, when it isn't JSON.

	Model    string  `json:"model,omitempty"`
	Question string  `json:"question,omitempty"` // The last user message without directives, or the recording's file name.
	Stream   bool    `json:"stream"`
	Rule     int     `json:"rule,omitempty"`   // The number of the rule that applied, from 1 up.
	Images   []Image `json:"images,omitempty"` // In all messages of the request.
	File     *File   `json:"file,omitempty"`   // The recording to transcribe.

	Documents []Document `json:"documents,omitempty"` // The files in all messages of the request.

	Status     int       `json:"status,omitempty"`
	Error      string    `json:"error,omitempty"` // The message of an error answer.
	Planned    string    `json:"planned"`         // The whole content of the answer.
	Sent       string    `json:"sent"`            // The content that was written.
	Tokens     int       `json:"tokens"`          // Tokens written, reasoning and calls included.
	FirstToken time.Time `json:"first_token,omitzero"`
	LastToken  time.Time `json:"last_token,omitzero"`
	End        string    `json:"end"`
	Ended      time.Time `json:"ended,omitzero"`
	Marks      []Mark    `json:"marks,omitempty"`
}

// File is what the server knows about an uploaded recording.
type File struct {
	Name  string `json:"name"`
	Type  string `json:"type"` // As declared by the client.
	Bytes int    `json:"bytes"`
}

// Mark says how much content had been written at a time: len(Sent) was Bytes.
type Mark struct {
	Time  time.Time `json:"time"`
	Bytes int       `json:"bytes"`
}

// Stats counts what happened since the start or the last reset.
type Stats struct {
	Requests       int `json:"requests"`        // Requests for an answer, refused ones included.
	Active         int `json:"active"`          // Being answered now.
	MaxActive      int `json:"max_active"`      // The most at the same time.
	Complete       int `json:"complete"`        // Ended with EndComplete.
	Refused        int `json:"refused"`         // Ended with EndRefused.
	Cancelled      int `json:"cancelled"`       // Ended with EndClientClosed.
	Broken         int `json:"broken"`          // Ended with EndCut, EndEOF or EndFailed.
	Tokens         int `json:"tokens"`          // Written in all.
	Connections    int `json:"connections"`     // Network connections open now, of Serve.
	MaxConnections int `json:"max_connections"` // The most at the same time.
}

// Bounds of the memory of a server that runs for long: older records are dropped.
const (
	maxRecords = 5000
	// maxBodies is for the bodies of all records together, in bytes; images make them large.
	maxBodies = 256 << 20
)

// remember adds a record, and drops old ones where there are too many; s.mu is held.
func (s *Server) remember(rec *Request) {
	if len(s.records) == maxRecords {
		s.forget(maxRecords / 10)
	}
	s.bodies += rec.size()
	for len(s.records) > 0 && s.bodies > maxBodies {
		s.forget(1)
	}
	s.records = append(s.records, rec)
}

// forget drops the n oldest records; s.mu is held.
func (s *Server) forget(n int) {
	for _, r := range s.records[:n] {
		s.bodies -= r.size()
	}
	s.records = slices.Delete(s.records, 0, n)
}

// size is what the body of a request takes, in bytes.
func (r *Request) size() int { return len(r.Body) + len(r.Invalid) }

// Requests returns copies of the records, oldest first, of at most the last 5,000 requests, and
// of fewer when their bodies are large.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Request, len(s.records))
	for i, r := range s.records {
		list[i] = *r
		list[i].Sent = r.Planned[:min(r.sentBytes(), len(r.Planned))]
		list[i].Marks = slices.Clone(r.Marks)
	}
	return list
}

// sentBytes returns how much of Planned was written.
func (r *Request) sentBytes() int {
	if len(r.Marks) == 0 {
		return 0
	}
	return r.Marks[len(r.Marks)-1].Bytes
}

// Stats returns the counters.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Wait blocks until the counters satisfy ok, or the context or the server ends. It returns
// whether they did. Ok is called with every change and must not call the server.
func (s *Server) Wait(ctx context.Context, ok func(Stats) bool) bool {
	for {
		s.mu.Lock()
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		stats, changed := s.stats, s.changed
		s.mu.Unlock()
		if ok(stats) {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		case <-s.ctx.Done():
			return false
		}
	}
}

// Reset forgets rules, records and counters; what is being answered goes on, and is counted
// from zero.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules, s.used, s.records, s.bodies = nil, map[string]int{}, nil, 0
	s.epoch++
	s.stats = Stats{Active: s.stats.Active, Connections: s.stats.Connections}
	s.stats.MaxActive, s.stats.MaxConnections = s.stats.Active, s.stats.Connections
	s.notify()
}

// notify wakes those who wait for a change; s.mu is held.
func (s *Server) notify() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// mask hides secrets in a copy of the header.
func mask(h http.Header) http.Header {
	h = h.Clone()
	for _, name := range []string{"Authorization", "Proxy-Authorization", "Api-Key", "X-Api-Key", "Cookie"} {
		if h.Get(name) != "" {
			h.Set(name, "***")
		}
	}
	return h
}
