package watch

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// keepAlive is the interval at which Serve sends a comment while there are no events, so that the connection stays
// open.
const keepAlive = 15 * time.Second

// Serve streams all events as server-sent events, until the client disconnects or the hub closes. If cut is closed
// first, Serve drops the connection.
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
			if _, ended := watch.drain(); ended { // closing the hub also closes the channel cut
				return
			}
			panic(http.ErrAbortHandler)
		}
	}
}

// lines encodes events for the stream. lines leaves out events that can't be encoded as JSON.
func lines[E any](events []event[E]) string {
	var text strings.Builder
	for _, e := range events {
		if data, err := json.Marshal(e.what); err == nil {
			fmt.Fprintf(&text, "id: %d\ndata: %s\n\n", e.seq, data)
		}
	}
	return text.String()
}
