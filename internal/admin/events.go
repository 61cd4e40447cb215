package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"
)

const (
	// drawEvery is the interval at which the server renders the parts of an open page anew.
	drawEvery = 500 * time.Millisecond
	// quietFor is the maximum time for which a stream sends nothing. A proxy could close a connection on which nothing was sent
	// for longer than quietFor.
	quietFor = 15 * time.Second
	// maxStreams is how many pages may be open at the same time. Because of this limit, some of the server's connections stay free
	// for /healthz, /readyz and Prometheus.
	maxStreams = 16
)

// sections returns the names of the parts of the status page. A part's name is also the name of its template and the
// id of its HTML element.
func sections() []string {
	return []string{"top", "replies", "endpoints", "replicas", "problems", "tokens", "conversations"}
}

// update is the data of one server-sent event: the parts of the page that have changed. update is encoded as JSON,
// because a line break in HTML would end the data line of the event.
type update struct {
	Started  int64             `json:"started"` // start time of the process; the page detects a restart when this time changes
	Sections map[string]string `json:"sections"`
}

// events keeps an open page up to date with server-sent events. events returns when the client disconnects, the cookie
// expires, or the server stops.
// https://html.spec.whatwg.org/multipage/server-sent-events.html
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}
	conn := http.NewResponseController(w)
	if err := conn.SetReadDeadline(time.Time{}); err != nil { // otherwise, the server's read deadline would end this long request
		s.Log.Debug("the status page can't be kept open", slog.Any("error", err))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	sent, at := make(map[string]string), time.Time{}
	ticker := time.NewTicker(drawEvery)
	defer ticker.Stop()
	for s.allows(r) {
		event, err := s.event(r, sent)
		if err != nil {
			s.Log.Error("the status page can't be drawn", slog.Any("error", err))
			return
		}
		if len(event) == 0 && time.Since(at) >= quietFor {
			event = []byte(": nothing has changed\n\n")
		}
		if len(event) > 0 {
			at = time.Now()
			_ = conn.SetWriteDeadline(at.Add(writeTime)) // can't fail, because setting the read deadline succeeded
			if _, err := w.Write(event); err != nil || conn.Flush() != nil {
				return // the client has disconnected
			}
		}
		select {
		case <-ticker.C:
		case <-r.Context().Done():
			return
		}
	}
}

// event returns an event with those parts of the page that have changed since the client got the parts in sent. event
// also updates sent. If no part has changed, the event is empty.
func (s *Server) event(r *http.Request, sent map[string]string) ([]byte, error) {
	v := s.view(r)
	u := update{Started: v.Started.UnixMilli(), Sections: make(map[string]string)}
	for _, name := range sections() {
		var part bytes.Buffer
		if err := s.pages.templates.ExecuteTemplate(&part, name, v); err != nil {
			return nil, err
		}
		if text := part.String(); text != sent[name] {
			sent[name], u.Sections[name] = text, text
		}
	}
	if len(u.Sections) == 0 {
		return nil, nil
	}
	data, err := json.Marshal(u)
	return fmt.Appendf(nil, "data: %s\n\n", data), err
}
