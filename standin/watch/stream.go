package watch

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// keepAlive is how often a silent event stream says that it lives.
const keepAlive = 15 * time.Second

// Serve streams everything that is published as server-sent events, until the client goes or the hub closes. When
// cut is closed first the connection breaks off.
func (h *Hub[E]) Serve(w http.ResponseWriter, r *http.Request, cut <-chan struct{}) {
	watch, leave := h.enter()
	defer leave()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
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
			if ended {
				return
			}
			line = lines(events)
		case <-tick.C:
			line = ": alive\n\n"
		case <-r.Context().Done():
			return
		case <-cut:
			if _, ended := watch.drain(); ended { // the end of the hub cuts too
				return
			}
			panic(http.ErrAbortHandler)
		}
	}
}

// lines are events as they go over the wire. What can't be JSON is left out.
func lines[E any](events []event[E]) string {
	var text strings.Builder
	for _, e := range events {
		if data, err := json.Marshal(e.what); err == nil {
			fmt.Fprintf(&text, "id: %d\ndata: %s\n\n", e.seq, data)
		}
	}
	return text.String()
}
