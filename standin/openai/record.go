package openai

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// These are the values of Request.End. These values describe how a request ended.
const (
	EndNone         = ""              // the request is still being answered
	EndComplete     = "complete"      // the server sent the whole planned answer
	EndRefused      = "refused"       // the server answered with an error status
	EndCut          = "cut"           // the server dropped the connection because of the setting cut
	EndEOF          = "eof"           // the server ended the stream early because of the setting eof
	EndFailed       = "failed"        // the server ended the stream by an error event because of the setting fail
	EndClientClosed = "client_closed" // the client disconnected before the answer was complete
	EndServerClosed = "server_closed" // the server was closed before the answer was complete
)

// Request is the record of one request for an answer.
type Request struct {
	ID      int             `json:"id"` // number of the request, counted from 1 in the order of arrival
	Time    time.Time       `json:"time"`
	Method  string          `json:"method"`
	Path    string          `json:"path"`
	Header  http.Header     `json:"header"` // headers of the request, with secrets masked
	Body    json.RawMessage `json:"body,omitempty"`
	Invalid string          `json:"invalid_body,omitempty"` // the body, if it is not JSON

	Model    string  `json:"model,omitempty"`
	Question string  `json:"question,omitempty"` // the last user message without directives, or the recording's file name
	Stream   bool    `json:"stream"`
	Rule     int     `json:"rule,omitempty"`   // number of the rule that applied, counted from 1; 0: no rule
	Images   []Image `json:"images,omitempty"` // the images in all messages of the request
	File     *File   `json:"file,omitempty"`   // the recording to transcribe

	Documents []Document `json:"documents,omitempty"` // the files in all messages of the request

	Status     int       `json:"status,omitempty"`
	Error      string    `json:"error,omitempty"` // the message of an error answer
	Planned    string    `json:"planned"`         // the whole planned content of the answer
	Sent       string    `json:"sent"`            // the content that the server has written to the client
	Tokens     int       `json:"tokens"`          // number of written tokens, including reasoning and calls
	FirstToken time.Time `json:"first_token,omitzero"`
	LastToken  time.Time `json:"last_token,omitzero"`
	End        string    `json:"end"`
	Ended      time.Time `json:"ended,omitzero"`
	Marks      []Mark    `json:"marks,omitempty"`
}

// File describes an uploaded recording.
type File struct {
	Name  string `json:"name"`
	Type  string `json:"type"` // the media type that the client declared
	Bytes int    `json:"bytes"`
}

// Mark records the length of Request.Sent at one moment.
type Mark struct {
	Time  time.Time `json:"time"`
	Bytes int       `json:"bytes"`
}

// Stats are counters since the start or the last reset.
type Stats struct {
	Requests       int `json:"requests"`        // requests for an answer, including refused ones
	Active         int `json:"active"`          // requests that the server is answering now
	MaxActive      int `json:"max_active"`      // maximum number of requests that were answered at the same time
	Complete       int `json:"complete"`        // ended with EndComplete
	Refused        int `json:"refused"`         // ended with EndRefused
	Cancelled      int `json:"cancelled"`       // ended with EndClientClosed
	Broken         int `json:"broken"`          // requests that ended with EndCut, EndEOF or EndFailed
	Tokens         int `json:"tokens"`          // tokens written in all answers
	Connections    int `json:"connections"`     // connections accepted by Serve that are open now
	MaxConnections int `json:"max_connections"` // maximum number of connections that were open at the same time
}

// These constants limit the memory that records need. The server drops the oldest records to stay within these limits.
const (
	maxRecords = 5000
	// maxBodies limits the size in bytes of the bodies of all records together. Images make the bodies of requests large.
	maxBodies = 256 << 20
)

// remember adds the record of a request, and drops old records if there are too many. s.mu must be held.
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

// forget drops the n oldest records of requests. s.mu must be held.
func (s *Server) forget(n int) {
	for _, r := range s.records[:n] {
		s.bodies -= r.size()
	}
	s.records = slices.Delete(s.records, 0, n)
}

// size returns the size of a request's body in bytes.
func (r *Request) size() int { return len(r.Body) + len(r.Invalid) }

// Requests returns copies of the records of the last 5,000 requests, oldest first. If the bodies of the requests are
// large, Requests returns fewer records.
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

// sentBytes returns the number of bytes of Planned that the server has written.
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

// Wait blocks until ok returns true for the counters, and then returns true. Wait returns false if ctx ends or the
// server is closed before that. Wait calls the function ok after every change. The function ok must not call the
// server.
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

// Reset removes rules and records, and sets the counters to zero. After Reset, running answers continue, and the new
// counters count them.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules, s.used, s.records, s.bodies = nil, map[string]int{}, nil, 0
	s.epoch++
	s.stats = Stats{Active: s.stats.Active, Connections: s.stats.Connections}
	s.stats.MaxActive, s.stats.MaxConnections = s.stats.Active, s.stats.Connections
	s.notify()
}

// notify wakes the callers of Wait after a change. s.mu must be held.
func (s *Server) notify() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// mask returns a copy of the header in which secrets are hidden.
func mask(h http.Header) http.Header {
	h = h.Clone()
	for _, name := range []string{"Authorization", "Proxy-Authorization", "Api-Key", "X-Api-Key", "Cookie"} {
		if h.Get(name) != "" {
			h.Set(name, "***")
		}
	}
	return h
}
