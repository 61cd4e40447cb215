package discord

import (
	"fmt"
	"net/http"
	"time"
)

// keepAlive is how often a silent event stream says that it lives.
const keepAlive = 15 * time.Second

// serveEvents streams everything that happens as server-sent events.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	cut := s.cut
	s.mu.Unlock()
	watch, leave := s.enter()
	defer leave()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	out := http.NewResponseController(w)
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	line := ": connected\n\n"
	for {
		if _, err := fmt.Fprint(w, line); err != nil {
			return
		}
		if err := out.Flush(); err != nil {
			return
		}
		line = ""
		select {
		case <-watch.wake:
			events, ended := watch.drain()
			for _, e := range events {
				line += fmt.Sprintf("id: %d\ndata: %s\n\n", e.Seq, encode(e))
			}
			if ended {
				return
			}
		case <-tick.C:
			line = ": alive\n\n"
		case <-r.Context().Done():
			return
		case <-cut:
			panic(http.ErrAbortHandler)
		case <-s.closed:
			return
		}
	}
}
