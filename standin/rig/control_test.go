package rig_test

import (
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/fault"
	"telex/standin/rig"
)

// call and event are the types of a test platform with one method.
type (
	call struct {
		rig.Call
		Text string `json:"text"`
	}
	event struct{ rig.EventHead[call] }
	// toy is a platform that answers every call with the call's path.
	toy struct {
		rig.Rig[call, event]
		mu     sync.Mutex
		resets int
	}
)

func newToy(t *testing.T) *toy {
	t.Helper()
	s := new(toy)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	length := rig.Posted(func(in struct {
		Text string `json:"text"`
	},
	) (any, error) {
		return len(in.Text), nil
	})
	rig.Init(&s.Rig, rig.Platform[call, event]{
		Name: "toy", Handler: s, Mutex: &s.mu,
		Serve: func(w http.ResponseWriter, r *http.Request, cut <-chan struct{}) {
			c := &call{Call: rig.Call{At: time.Now(), Method: "echo"}, Text: r.URL.Path}
			s.Answer(w, r, c, cut, nil, func() rig.Answer { return rig.Text(http.StatusOK, c.Text) })
		},
		Control: rig.Controls{
			Get: map[string]func(url.Values) (any, error){
				"info":     func(url.Values) (any, error) { return map[string]string{"got": "info"}, nil },
				"infinite": func(url.Values) (any, error) { return math.Inf(1), nil },
			},
			Post: map[string]func(*http.Request) (any, error){"x": length, "say": length},
			File: func(query url.Values) (string, []byte, error) {
				return "text/html", []byte("<b>"), rig.Found("file", query.Get("id") == "1")
			},
		},
		Reset:  func() { s.resets++ },
		Call:   func(c *call) *rig.Call { return &c.Call },
		Finish: func(*call, rig.Answer) []slog.Attr { return nil },
		Head:   func(e *event) *rig.EventHead[call] { return &e.EventHead },
		Place:  func(*event, *call) {}, Isolate: func(*event) {},
		Check: func(f *fault.Fault[call]) error {
			return f.Check(fault.PauseBefore, fault.CutBefore, fault.CutMiddle)
		},
		Chooses: func(*fault.Fault[call], *call) bool { return true },
		Act:     func(*fault.Fault[call], *call) (rig.Answer, bool) { return rig.Answer{}, false },
	})
	return s
}

func TestControl(t *testing.T) {
	t.Parallel()
	a := newToy(t)
	big := fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 2<<20))
	for _, tc := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "info", "", 200, `{"got":"info"}`},
		{"GET", "nothing", "", 404, `{"error":"GET /control/nothing: no such control"}`},
		{"GET", "infinite", "", 500, "unsupported value"},
		{"GET", "calls", "", 200, `[]`},
		{"GET", "file?id=1", "", 200, "<b>"},
		{"GET", "file?id=2", "", 400, `{"error":"no such file"}`},
		{"POST", "x", `{"text":"abc"}`, 200, "3"},
		{"POST", "x", "", 200, "0"},
		{"POST", "x", `{"texd":"abc"}`, 400, "unknown field"},
		{"POST", "x", `{`, 400, "decode request"},
		{"POST", "x", big, 400, "too large"},
		{"POST", "say", big, 200, "2097152"},
		{"GET", "paused?wait=0", "", 200, `[]`},
		{"GET", "paused?wait=x", "", 400, "seconds expected"},
		{"POST", "resume", `{"id":3}`, 200, `{"resumed":0}`},
		{"POST", "resume", `{"id":3,"drop":true}`, 200, `{"resumed":0}`},
		{"POST", "fault", `{"action":"cut_before"}`, 200, `{"id":1}`},
		{"POST", "fault", `{"action":"rain"}`, 400, `unknown fault action \"rain\"`},
		{"POST", "outage", `{"kind":"cut"}`, 400, "must last some time"},
		{"POST", "resume", `{"text":"abc"}`, 400, "unknown field"},
		{"POST", "nothing", "", 404, "no such control"},
		{"POST", "reset", "", 200, "{}"},
		{"POST", "restart", `{"down_ms":250}`, 200, `{"down_ms":250}`},
		{"DELETE", "fault", "", 200, "{}"},
		{"DELETE", "x", "", 404, "no such control"},
		{"PUT", "x", "", 404, "no such control"},
	} {
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), tc.method, "/control/"+tc.path, strings.NewReader(tc.body)))
		if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.want) {
			t.Errorf("%s %s: got %d %.200s, want %d %s", tc.method, tc.path, w.Code, w.Body.String(), tc.status, tc.want)
		}
		if strings.HasPrefix(tc.path, "file?id=1") && (w.Header().Get("Content-Disposition") != "attachment" || w.Header().Get("X-Content-Type-Options") != "nosniff") {
			t.Errorf("a file: got %v, which a browser may show", w.Header())
		}
	}
	if a.resets != 2 {
		t.Errorf("reset %d times, want at the beginning and once more", a.resets)
	}
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/control/x", http.NoBody)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if a.ServeHTTP(w, r); w.Code != http.StatusForbidden {
		t.Errorf("from a page of another site: got %d", w.Code)
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1500": "1970-01-01T00:00:01.5Z", "2026-01-02T15:04:05.5Z": "2026-01-02T15:04:05.5Z", "soon": "at: RFC 3339 or milliseconds expected",
	} {
		got, err := rig.Time(text)
		if said := fmt.Sprint(got.UTC().Format(time.RFC3339Nano), err); !strings.Contains(said, want) {
			t.Errorf("Time(%q): got %s, want %s", text, said, want)
		}
	}
	if got, err := rig.Time(""); err != nil || time.Since(got) > time.Minute {
		t.Errorf("Time of nothing: got %v %v, want now", got, err)
	}
	for text, want := range map[string]string{"": "0s<nil>", "30": "30s<nil>", "-1": "0swait: seconds expected", "x": "0swait: seconds expected"} {
		got, err := rig.Seconds(text)
		if said := got.String() + fmt.Sprint(err); !strings.HasPrefix(said, want) {
			t.Errorf("Seconds(%q): got %s, want %s", text, said, want)
		}
	}
	list := []int{1, 2, 3}
	for most, want := range map[string][]int{"": list, "2": {2, 3}, "9": list, "0": {}, "-1": list, "x": list} {
		if got := rig.Last(list, most); !slices.Equal(got, want) {
			t.Errorf("Last(%q): got %v, want %v", most, got, want)
		}
	}
}

// TestCalls checks that the rig records, holds and cuts the calls of the toy platform, and reports each of these events
// to a watcher.
func TestCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newToy(t)
		events := s.Watch(t.Context())
		get := func(path string) (text string, cut bool) {
			w := httptest.NewRecorder()
			defer func() { cut = recover() != nil }()
			s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
			return w.Body.String(), false
		}
		if got, cut := get("/one"); got != "/one" || cut {
			t.Errorf("got %q, cut is %t", got, cut)
		}
		s.Fault(fault.Fault[call]{Action: fault.PauseBefore})
		done := make(chan string)
		go func() { text, _ := get("/two"); done <- text }()
		synctest.Wait()
		if held := s.Paused(); len(held) != 1 || held[0].Call.Text != "/two" {
			t.Errorf("held are %+v", held)
		}
		s.ClearFaults()
		if got := <-done; got != "/two" {
			t.Errorf("after the pause: got %q", got)
		}
		s.Outage(fault.Outage{Kind: fault.OutageCut, For: time.Minute})
		if _, cut := get("/three"); !cut {
			t.Error("answered in an outage")
		}
		time.Sleep(time.Minute)
		s.Restart(time.Minute)
		if _, cut := get("/four"); !cut || len(s.Calls()) != 3 {
			t.Errorf("answered while it restarts, or recorded: %+v", s.Calls())
		}
		statuses := s.Counted.Clone(nil).ByStatus
		if calls := s.Calls(); calls[1].Fault != fault.PauseBefore || calls[2].Fault != fault.CutBefore || statuses[200] != 2 || statuses[0] != 1 {
			t.Errorf("recorded are %+v, counted %v", calls, statuses)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		var kinds []string
		for e := range events {
			kinds = append(kinds, e.Kind)
		}
		if want := []string{"call", "paused", "call", "outage", "call", "restart"}; !slices.Equal(kinds, want) {
			t.Errorf("told were %q, want %q", kinds, want)
		}
	})
}
