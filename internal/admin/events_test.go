package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// stream is the event stream of an open page.
type stream struct {
	t      *testing.T
	lines  *bufio.Scanner
	status int
	end    context.CancelFunc
}

func openStream(t *testing.T, address string, change ...func(*http.Request)) *stream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(r)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	return &stream{t, lines, resp.StatusCode, cancel}
}

// next returns the next event, or false if the stream has ended.
func (s *stream) next() (u update, ok bool) {
	s.t.Helper()
	for s.lines.Scan() {
		if data, found := strings.CutPrefix(s.lines.Text(), "data: "); found {
			if err := json.Unmarshal([]byte(data), &u); err != nil {
				s.t.Fatalf("%v: %s", err, data)
			}
			return u, true
		}
	}
	return u, false
}

func serveAdmin(t *testing.T, s *Server) string {
	t.Helper()
	h := httptest.NewUnstartedServer(s.handler())
	h.Config.ReadTimeout, h.Config.WriteTimeout = 300*time.Millisecond, 300*time.Millisecond // the test's streams take longer
	h.Start()
	t.Cleanup(h.Close)
	return h.URL
}

// The first event of a stream must contain all parts of the page. A later event must contain only the parts that have
// changed. The server must not end the stream when the time limits of a normal request have passed.
func TestEvents(t *testing.T) {
	t.Parallel()
	o := options()
	var now atomic.Pointer[Status]
	first := busy()
	first.Replies[0].Text = "line\rdata: \n\nevent: x"
	first.Days, first.Conversations = nil, nil // the page shows the ages of this data, so it would change
	now.Store(&first)
	o.Status = func(context.Context) Status { return *now.Load() }
	page := openStream(t, serveAdmin(t, server(t, o)))
	u, ok := page.next()
	if names := slices.Sorted(maps.Keys(u.Sections)); !ok || !slices.Equal(names, slices.Sorted(slices.Values(sections()))) || u.Started != first.Started.UnixMilli() {
		t.Fatalf("the first event has %v, started %d", names, u.Started)
	}
	if !strings.Contains(u.Sections["replies"], "line\rdata: \n\nevent: x") {
		t.Errorf("the text with line breaks came as %q", u.Sections["replies"])
	}
	second := first
	second.Endpoints = []EndpointStatus{{Endpoint: Endpoint{Name: "slack", State: "connected"}}}
	second.Replies = nil
	next := make(map[string]string)
	for n := 0; !strings.Contains(next["endpoints"], "slack") || !strings.Contains(next["replies"], "Nobody waits"); n++ {
		u, ok := page.next()
		if !ok {
			t.Fatalf("the stream has ended: %v", page.lines.Err())
		}
		maps.Copy(next, u.Sections)
		if n == 2 { // the ages of the replies have changed twice, so both of the server's time limits have passed
			now.Store(&second)
		}
	}
	if _, also := next["tokens"]; also {
		t.Errorf("the next events have what had not changed: %q", next["tokens"])
	}
}

// While the maximum number of pages is open, /healthz must still respond. When the cookie of a page expires, the server
// must end the stream of the page.
func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	o := options()
	o.Token = token
	o.Status = func(context.Context) Status { return Status{} }
	s := server(t, o)
	address := serveAdmin(t, s)
	if page := openStream(t, address); page.status != http.StatusUnauthorized {
		t.Errorf("without the token: %d", page.status)
	}
	var pages []*stream
	for range maxStreams {
		pages = append(pages, openStream(t, address, bearer(token)))
	}
	if page := openStream(t, address, bearer(token)); page.status != http.StatusServiceUnavailable {
		t.Errorf("one page too many: %d", page.status)
	}
	if w := ask(t, s, "/healthz"); w.Code != http.StatusOK {
		t.Errorf("healthz beside the pages: %d", w.Code)
	}
	pages[0].end()
	page := &stream{}
	for until := time.Now().Add(10 * time.Second); page.status != http.StatusOK; {
		if time.Now().After(until) {
			t.Fatal("a closed page still counts")
		}
		old := s.cookie(time.Now().Add(2*time.Second - cookieFor))
		page = openStream(t, address, func(r *http.Request) { r.AddCookie(old) })
	}
	for ok := true; ok; { // the loop ends when the cookie has expired
		_, ok = page.next()
	}
	if err := page.lines.Err(); err != nil {
		t.Errorf("a page whose cookie ends: %v", err)
	}
}
