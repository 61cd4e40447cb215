package watch_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/watch"
)

func publish(h *watch.Hub[int], values ...int) {
	for _, v := range values {
		h.Publish(func(int64) int { return v })
	}
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h watch.Hub[int]
		h.Publish(func(int64) int { t.Error("built although nobody watches"); return 0 })
		all, first := h.Watch(t.Context()), h.Watch(t.Context())
		ctx, cancel := context.WithCancel(t.Context())
		gone := h.Watch(ctx)
		publish(&h, 1, 2)
		for v := range first {
			if v != 1 {
				t.Errorf("first: got %d, want 1", v)
			}
			break
		}
		cancel()
		synctest.Wait()
		publish(&h, 3)
		h.Close()
		if got := slices.Collect(all); !slices.Equal(got, []int{1, 2, 3}) {
			t.Errorf("all: got %v, want what was published before the end", got)
		}
		if got := slices.Collect(gone); slices.Contains(got, 3) {
			t.Errorf("a watcher that went: got %v", got)
		}
		if got := slices.Collect(h.Watch(t.Context())); got != nil {
			t.Errorf("after the end: got %v, want nothing", got)
		}
	})
}

func TestServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h watch.Hub[int]
		serve := func(cut chan struct{}) (told *httptest.ResponseRecorder, aborted chan any) {
			told, aborted = httptest.NewRecorder(), make(chan any, 1)
			go func() {
				defer func() { aborted <- recover() }()
				h.Serve(told, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/control/events", http.NoBody), cut)
			}()
			synctest.Wait()
			return told, aborted
		}
		cut := make(chan struct{})
		broken, aborted := serve(cut)
		publish(&h, 7)
		synctest.Wait()
		publish(&h, 8)
		synctest.Wait()
		close(cut)
		if why, ok := (<-aborted).(error); !ok || !errors.Is(why, http.ErrAbortHandler) {
			t.Errorf("cut: got %v, want %v", why, http.ErrAbortHandler)
		}
		if got, want := broken.Body.String(), ": connected\n\nid: 1\ndata: 7\n\nid: 2\ndata: 8\n\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		ended := make(chan struct{})
		silent, aborted := serve(ended)
		time.Sleep(16 * time.Second)
		h.Close()
		close(ended)
		if why := <-aborted; why != nil {
			t.Errorf("the end of the hub: got %v, want nothing", why)
		}
		if got := silent.Body.String(); !strings.HasSuffix(got, ": alive\n\n") {
			t.Errorf("after a silence: got %q", got)
		}
	})
}
