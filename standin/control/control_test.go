package control_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"telex/standin/control"
)

// api is one that tells what it was asked for.
func api(restarted *time.Duration) control.API {
	return control.API{
		Get: func(_ *http.Request, name string) (any, error) {
			switch name {
			case "infinite":
				return math.Inf(1), nil
			case "nothing":
				return nil, control.ErrUnknown
			}
			return map[string]string{"got": name}, nil
		},
		Post: func(r *http.Request, name string) (any, error) {
			var in struct {
				Text string `json:"text"`
			}
			if err := control.Decode(r.Body, &in); err != nil {
				return nil, err
			}
			if name == "nothing" {
				return nil, control.ErrUnknown
			}
			return len(in.Text), nil
		},
		File: func(r *http.Request) (string, []byte, error) {
			if id := r.URL.Query().Get("id"); id != "1" {
				return "", nil, errors.New("no such file")
			}
			return "text/html", []byte("<b>"), nil
		},
		Events:      func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "events") },
		ClearFaults: func() {},
		Paused:      func(_ context.Context, most time.Duration) any { return most.String() },
		Release:     func(id int, on bool) int { return id + map[bool]int{true: 100}[on] },
		Reset:       func(*http.Request) { *restarted = 0 },
		Restart:     func(_ *http.Request, down time.Duration) { *restarted = down },
		Log:         slog.New(slog.DiscardHandler),
	}
}

func TestAPI(t *testing.T) {
	t.Parallel()
	var restarted time.Duration
	a := api(&restarted)
	big := fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 2<<20))
	for _, tc := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "info", "", 200, `{"got":"info"}`},
		{"GET", "nothing", "", 404, `{"error":"GET /control/nothing: no such control"}`},
		{"GET", "infinite", "", 500, "unsupported value"},
		{"GET", "events", "", 200, "events"},
		{"GET", "file?id=1", "", 200, "<b>"},
		{"GET", "file?id=2", "", 400, `{"error":"no such file"}`},
		{"POST", "x", `{"text":"abc"}`, 200, "3"},
		{"POST", "x", "", 200, "0"},
		{"POST", "x", `{"texd":"abc"}`, 400, "unknown field"},
		{"POST", "x", `{`, 400, "decode request"},
		{"POST", "x", big, 400, "too large"},
		{"POST", "say", big, 200, "2097152"},
		{"GET", "paused?wait=7", "", 200, `"7s"`},
		{"GET", "paused?wait=x", "", 400, "seconds expected"},
		{"POST", "resume", `{"id":3}`, 200, `{"resumed":103}`},
		{"POST", "resume", `{"id":3,"drop":true}`, 200, `{"resumed":3}`},
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
	if restarted != 250*time.Millisecond {
		t.Errorf("restarted for %v", restarted)
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
		got, err := control.Time(text)
		if said := fmt.Sprint(got.UTC().Format(time.RFC3339Nano), err); !strings.Contains(said, want) {
			t.Errorf("Time(%q): got %s, want %s", text, said, want)
		}
	}
	if got, err := control.Time(""); err != nil || time.Since(got) > time.Minute {
		t.Errorf("Time of nothing: got %v %v, want now", got, err)
	}
	for text, want := range map[string]string{"": "0s<nil>", "30": "30s<nil>", "-1": "0swait: seconds expected", "x": "0swait: seconds expected"} {
		got, err := control.Wait(text)
		if said := got.String() + fmt.Sprint(err); !strings.HasPrefix(said, want) {
			t.Errorf("Wait(%q): got %s, want %s", text, said, want)
		}
	}
	list := []int{1, 2, 3}
	for most, want := range map[string][]int{"": list, "2": {2, 3}, "9": list, "0": {}, "-1": list, "x": list} {
		if got := control.Last(list, most); !slices.Equal(got, want) {
			t.Errorf("Last(%q): got %v, want %v", most, got, want)
		}
	}
}
