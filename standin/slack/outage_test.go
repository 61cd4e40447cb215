package slack_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/fault"
	"telex/standin/slack"
)

// During an outage, the stand-in must not listen on its TCP port, so that the system refuses a client's connection. The
// connection that requested the outage must stay open. After the outage, the stand-in's address must be the same as
// before.
func TestOutageRefuses(t *testing.T) {
	t.Parallel()
	s := slack.New(slack.Options{})
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	app, control := &http.Client{Transport: &http.Transport{}}, &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		app.CloseIdleConnections()
		control.CloseIdleConnections()
		if err := errors.Join(s.Close(), <-done); err != nil {
			t.Error(err)
		}
	})
	ask := func(h *http.Client, method, path, body string) (int, error) {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+l.Addr().String()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := h.Do(req)
		if err != nil {
			return 0, err
		}
		_, err = io.Copy(io.Discard, res.Body)
		return res.StatusCode, errors.Join(err, res.Body.Close())
	}
	if status, err := ask(app, "GET", "/api/api.test", ""); status != 200 {
		t.Fatalf("before: got %d (%v), want 200", status, err)
	}
	if status, err := ask(control, "POST", "/control/outage", `{"kind":"refuse","for_ms":3600000}`); status != 200 {
		t.Fatalf("the outage: got %d (%v), want 200", status, err)
	}
	for range 3 {
		if _, err := ask(app, "GET", "/api/api.test", ""); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("during the outage: got %v, want %v", err, syscall.ECONNREFUSED)
		}
	}
	if status, err := ask(control, "DELETE", "/control/fault", ""); status != 200 {
		t.Fatalf("the end of the outage: got %d (%v), want 200", status, err)
	}
	for { // until the port accepts connections again
		status, err := ask(app, "GET", "/api/api.test", "")
		if status == 200 {
			break
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("after the outage: got %d (%v), want 200", status, err)
		}
	}
}

// The server is closed during an outage in which it does not listen. Close and Serve must return without an error.
func TestCloseDuringRefusal(t *testing.T) {
	t.Parallel()
	s := slack.New(slack.Options{})
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	s.Outage(fault.Outage{Kind: fault.OutageRefuse, For: time.Hour})
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := <-done; err != nil && !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("Serve: %v", err)
	}
}

// The server is closed while deliveries are running. Close must end these deliveries at once.
func TestCloseDuringDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slack.New(slack.Options{})
		for range 5 {
			s.Say(slack.Incoming{Text: "nobody is there"})
		}
		synctest.Wait()
		if got := s.Stats().Pending; got != 5 {
			t.Errorf("pending: got %d, want 5", got)
		}
		began := time.Now()
		if err := s.Close(); err != nil || time.Since(began) != 0 {
			t.Errorf("Close: got %v after %v, want it at once", err, time.Since(began))
		}
	})
}

func TestFaultChoice(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		fault slack.Fault
		want  string // a character for each of eight calls: "x" if the fault hits the call
	}{
		{"all", slack.Fault{}, "xxxxxxxx"},
		{"nth", slack.Fault{Nth: 3}, "..x....."},
		{"every", slack.Fault{Every: 3}, "..x..x.."},
		{"times", slack.Fault{Times: 2}, "xx......"},
		{"every, times", slack.Fault{Every: 2, Times: 2}, ".x.x...."},
		{"method", slack.Fault{Method: "auth.test|chat.postMessage"}, "xxxxxxxx"},
		{"other method", slack.Fault{Method: "auth.test"}, "........"},
		{"other channel", slack.Fault{Channel: "C5"}, "........"},
		{"contains", slack.Fault{Contains: "6"}, "......x."},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := free(t)
			c.server.Say(slack.Incoming{Text: "hi"})
			tc.fault.Action, tc.fault.Status = fault.Status, 500
			c.server.Fault(tc.fault)
			got := ""
			for i := range 8 {
				mark := "."
				if r := c.call("chat.postMessage", args{"channel": direct, "text": "n" + string(rune('0'+i))}); r.Status == 500 {
					mark = "x"
				}
				got += mark
			}
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			c.server.ClearFaults()
			c.ok("auth.test", nil)
		})
	}
}

// A fault has a time limit, and must stop hitting calls when the time is over. In the same test, another fault holds a
// call. When the server restarts, the held call must end.
func TestFaultEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		c.server.Fault(slack.Fault{Action: fault.Status, Status: 500, For: 5 * time.Second})
		pause(5*time.Second - 1)
		if r := c.call("auth.test", nil); r.Status != 500 {
			t.Errorf("just before its end: got %d, want 500", r.Status)
		}
		pause(1)
		c.ok("auth.test", nil)
		c.server.Fault(slack.Fault{Action: fault.PauseBefore})
		got := make(chan reply, 1)
		go func() { got <- c.call("auth.test", nil) }()
		synctest.Wait()
		c.server.Restart(0)
		r := <-got
		synctest.Wait() // the client notices the end of its connection before the server does
		if r.Err == nil || len(c.server.Paused()) != 0 {
			t.Errorf("held over a restart: got %+v and %v", r, c.server.Paused())
		}
	})
}
