package openai_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/memnet"
	"telex/standin/openai"
)

// hundred is a text of a hundred tokens for "say:". At the default rate, sending the hundred tokens takes 1.98 s.
const hundred = tenGos + tenGos + tenGos + tenGos + tenGos + tenGos + tenGos + tenGos + tenGos + tenGos

const tenGos = " go go go go go go go go go go"

// bubble serves in memory, inside a synctest bubble.
func bubble(t *testing.T, o openai.Options) *provider {
	t.Helper()
	s := openai.New(o)
	l := memnet.Listen()
	served := make(chan error, 1) // buffered, so that Serve never waits for the test
	go func() { served <- s.Serve(l) }()
	transport := &http.Transport{DialContext: l.Dial}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		transport.CloseIdleConnections()
	})
	return &provider{Server: s, t: t, url: "http://standin", client: &http.Client{Transport: transport}}
}

// open requests a streamed answer and returns the response with an unread body.
func (p *provider) open(ctx context.Context, question string) *http.Response {
	p.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/v1/chat/completions", strings.NewReader(request(p.t, question, true)))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp
}

// arrivals reads a stream and lists the time of each relevant line since the time begun.
func arrivals(body io.Reader, begun time.Time) []string {
	var list []string
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		line, what := lines.Text(), ""
		switch {
		case strings.HasPrefix(line, ":"):
			what = "comment"
		case strings.Contains(line, `"role"`):
			what = "role"
		case strings.Contains(line, `"delta":{"content"`):
			what = "token"
		case strings.Contains(line, `"finish_reason":"`):
			what = "finish"
		case line == "data: [DONE]":
			what = "done"
		default:
			continue
		}
		list = append(list, fmt.Sprintf("%v %s", time.Since(begun), what))
	}
	return list
}

func TestPace(t *testing.T) {
	for _, tc := range []struct{ question, want string }{
		{"words: 3", "0s role, 0s token, 20ms token, 40ms token, 40ms finish, 40ms done"},
		{"{{standin rate=10 first=2s}} words: 3", "2s role, 2s token, 2.1s token, 2.2s token, 2.2s finish, 2.2s done"},
		{"{{standin rate=10 delay=1s}} words: 2", "1s role, 1s token, 1.1s token, 1.1s finish, 1.1s done"},
		{"{{standin rate=10 stall=1 stall_for=5s}} words: 3", "0s role, 0s token, 5.1s token, 5.2s token, 5.2s finish, 5.2s done"},
		{"{{standin rate=0}} words: 2", "0s role, 0s token, 0s token, 0s finish, 0s done"},
		{
			"{{standin rate=10 stall=1 stall_for=5s comment_interval=2s}} words: 2",
			"0s role, 0s token, 2s comment, 4s comment, 5.1s token, 5.1s finish, 5.1s done",
		},
		{
			"{{standin first=5s comment_interval=2s}} words: 1",
			"2s comment, 4s comment, 5s role, 5s token, 5s finish, 5s done",
		},
		{"{{standin rate=10 chunk=2}} words: 5", "0s role, 0s token, 200ms token, 400ms token, 400ms finish, 400ms done"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := bubble(t, openai.Options{})
			begun := time.Now()
			resp := p.open(t.Context(), tc.question)
			defer func() { _ = resp.Body.Close() }()
			if got := strings.Join(arrivals(resp.Body, begun), ", "); got != tc.want {
				t.Errorf("%s\n got %s\nwant %s", tc.question, got, tc.want)
			}
		})
	}
}

func TestJitterIsRepeatable(t *testing.T) {
	runs := map[string]int{}
	for _, seed := range []uint64{1, 1, 2} {
		synctest.Test(t, func(t *testing.T) {
			p := bubble(t, openai.Options{Seed: seed})
			begun := time.Now()
			resp := p.open(t.Context(), "{{standin jitter=0.5}} say:"+hundred)
			defer func() { _ = resp.Body.Close() }()
			list := arrivals(resp.Body, begun)
			runs[strings.Join(list, " ")]++
			// There are 99 intervals of 20 ms, and the last token is up to half an interval early or late.
			if took := time.Since(begun); took < 1970*time.Millisecond || took > 1990*time.Millisecond {
				t.Errorf("100 tokens took %v, want about 1.98 s", took)
			}
		})
	}
	if len(runs) != 2 {
		t.Errorf("seeds 1, 1, 2 gave %d different runs, want 2", len(runs))
	}
}

func TestWholeTakesAsLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := bubble(t, openai.Options{})
		begun := time.Now()
		got := p.post("/v1/chat/completions", request(t, "{{standin first=1s comment_interval=1s}} say:"+hundred, false))
		if took := time.Since(begun); took != 3*time.Second || got.status != 200 {
			t.Errorf("status %d after %v, want 200 after 3s", got.status, took)
		}
		if !strings.HasPrefix(got.body, "\n\n{") {
			t.Errorf("body begins %q, want two empty lines as keep-alive", got.body[:10])
		}
	})
}

// A client closes its connection, as telex does when somebody cancels a turn. The test checks that the record of the
// request contains the exact time.
func TestClientLeaves(t *testing.T) {
	for _, question := range []string{
		"{{standin rate=2}} words: 100",            // between tokens
		"{{standin first=1h}} words: 1",            // the client leaves before the first token
		"{{standin hang=2}} words: 5",              // during a pause
		"{{standin hang=text}} words: 5",           // after the text
		"{{standin hang=finish}} words: 5",         // after finish_reason
		"{{standin hang=2 comment_interval=1s}} x", // the client leaves while comments are sent (failure F60)
		"{{standin stall=1 stall_for=1h}} words: 9",
	} {
		synctest.Test(t, func(t *testing.T) {
			p := bubble(t, openai.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			resp := p.open(ctx, question)
			go func() {
				time.Sleep(3*time.Second + 100*time.Millisecond)
				cancel()
			}()
			begun := p.Requests()[0].Time
			_, err := io.Copy(io.Discard, resp.Body)
			if err == nil {
				t.Errorf("%s: the answer came to an end", question)
			}
			_ = resp.Body.Close()
			synctest.Wait()
			r := p.Requests()[0]
			if took := r.Ended.Sub(begun); r.End != openai.EndClientClosed || took != 3100*time.Millisecond {
				t.Errorf("%s: record ends %q after %v, want %q after 3.1s", question, r.End, took, openai.EndClientClosed)
			}
			if s := p.Stats(); s.Cancelled != 1 || s.Active != 0 || s.MaxActive != 1 || s.Connections != 0 {
				t.Errorf("%s: stats %+v, want one cancelled and no connection", question, s)
			}
		})
	}
}

// The provider accepts a request, but never sends the headers of a response. The client gives up after a minute.
func TestHangBeforeHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := bubble(t, openai.Options{})
		p.client.Timeout = time.Minute
		begun := time.Now()
		if got := p.ask("{{standin hang=start}} x"); got.err == nil || time.Since(begun) != time.Minute {
			t.Errorf("status %d, %v after %v, want a timeout after 1m", got.status, got.err, time.Since(begun))
		}
		synctest.Wait()
		if r := p.Requests()[0]; r.End != openai.EndClientClosed || r.Status != 0 {
			t.Errorf("record ends %q with status %d", r.End, r.Status)
		}
	})
}

func TestCommentsGoOnWhileHanging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := bubble(t, openai.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+time.Millisecond)
		defer cancel()
		begun := time.Now()
		resp := p.open(ctx, "{{standin hang=1 comment_interval=5s}} words: 3")
		defer func() { _ = resp.Body.Close() }()
		want := "0s role, 0s token, 5s comment, 10s comment"
		if got := strings.Join(arrivals(resp.Body, begun), ", "); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := bubble(t, openai.Options{})
		const clients = 100
		done := make(chan string, clients) // buffered, so that all clients may end before the test reads one
		for range clients {
			go func() { done <- listen(t, p.ask("say:"+hundred).body).finish }()
		}
		begun := time.Now()
		for range clients {
			if finish := <-done; finish != "stop" {
				t.Errorf("finish %q, want stop", finish)
			}
		}
		if took := time.Since(begun); took != 1980*time.Millisecond {
			t.Errorf("all took %v, want 1.98s", took)
		}
		if s := p.Stats(); s.MaxActive != clients || s.MaxConnections != clients || s.Complete != clients {
			t.Errorf("stats %+v, want %d at once, all complete", s, clients)
		}
	})
}

func TestCloseEndsAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := bubble(t, openai.Options{})
		resp := p.open(t.Context(), "{{standin hang=1}} words: 3")
		defer func() { _ = resp.Body.Close() }()
		go func() {
			time.Sleep(time.Second)
			if err := p.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		}()
		begun := time.Now()
		_, err := io.Copy(io.Discard, resp.Body)
		if took := time.Since(begun); err == nil || took != time.Second {
			t.Errorf("answer ended with %v after %v, want an error after 1s", err, took)
		}
		synctest.Wait()
		if r := p.Requests()[0]; r.End != openai.EndServerClosed {
			t.Errorf("record ends %q, want %q", r.End, openai.EndServerClosed)
		}
		if p.Wait(t.Context(), func(openai.Stats) bool { return false }) {
			t.Error("Wait on a closed server said yes")
		}
	})
}

func TestResetWhileAnswering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := bubble(t, openai.Options{})
		resp := p.open(t.Context(), "say:"+hundred)
		defer func() { _ = resp.Body.Close() }()
		time.Sleep(500 * time.Millisecond)
		p.Reset()
		if s := p.Stats(); s.Active != 1 || s.Tokens != 0 || s.Connections != 1 {
			t.Errorf("stats after the reset %+v, want one active", s)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if s := p.Stats(); s.Active != 0 || s.Complete != 0 || s.Tokens != 0 {
			t.Errorf("stats at the end %+v, want nothing of before the reset", s)
		}
	})
}
