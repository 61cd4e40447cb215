package telegram_test

import (
	"context"
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
	"telex/standin/telegram"
)

// TestOutage causes an outage of each kind. During the outage, calls must have no effect, and running calls must be
// cut. After the outage, everything must work as before.
func TestOutage(t *testing.T) {
	for _, tc := range []struct {
		outage fault.Outage
		status int // status of a call; 0: no response
		hangs  bool
	}{
		{fault.Outage{Kind: fault.OutageCut, For: 10 * time.Second}, 0, false},
		{fault.Outage{Kind: fault.OutageRefuse, For: 10 * time.Second}, 0, false},
		{fault.Outage{Kind: fault.OutageError, For: 10 * time.Second}, 502, false},
		{fault.Outage{Kind: fault.OutageError, ForMS: 10_000, Status: 503}, 503, false},
		{fault.Outage{Kind: fault.OutageHang, For: 10 * time.Second}, 0, true},
	} {
		t.Run(tc.outage.Kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := free(t)
				send := args{"chat_id": "1001", "text": "x"}
				c.server.Fault(telegram.Fault{Method: "sendMessage", Nth: 2, Action: fault.Status, Status: 500})
				poll := make(chan reply, 1)
				go func() { poll <- c.call("getUpdates", args{"timeout": "50", "offset": "999999999"}) }()
				synctest.Wait()
				c.server.Outage(tc.outage)
				if r := <-poll; r.Err == nil {
					t.Errorf("the poll in flight: got %s, want it cut", r.Raw)
				}
				for range 9 {
					began := time.Now()
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					r := c.callContext(ctx, "sendMessage", send)
					cancel()
					if r.Status != tc.status || (r.Status == 0) != (r.Err != nil) || errors.Is(r.Err, context.DeadlineExceeded) != tc.hangs {
						t.Errorf("after %v: got %d (%v), want %d", time.Since(began), r.Status, r.Err, tc.status)
					}
					pause(time.Second - time.Since(began))
				}
				pause(time.Second)
				if r := c.call("sendMessage", send); !r.OK {
					t.Errorf("after the outage: got %d %s (%v), want ok", r.Status, r.Raw, r.Err)
				}
				if r := c.call("sendMessage", send); r.Status != 500 {
					t.Errorf("the fault for the second call: got %d, want 500: what the outage hit does not count", r.Status)
				}
				if got := len(c.server.History(person)); got != 2 {
					t.Errorf("messages: got %d, want the person's and one", got)
				}
			})
		})
	}
}

func TestOutageEndsWithTheFaults(t *testing.T) {
	t.Parallel()
	c := free(t)
	c.server.Outage(fault.Outage{Kind: fault.OutageRefuse, For: time.Hour})
	if r := c.call("getMe", nil); r.Err == nil {
		t.Errorf("during the outage: got %s, want an error", r.Raw)
	}
	c.server.ClearFaults()
	if r := c.call("getMe", nil); !r.OK {
		t.Errorf("after ClearFaults: got %s (%v), want ok", r.Raw, r.Err)
	}
}

// During an outage, the stand-in must not listen on its TCP port, so that the system refuses a client's connection. The
// connection that requested the outage must stay open. After the outage, the address must be the same.
func TestOutageRefuses(t *testing.T) {
	t.Parallel()
	c := &client{t: t, server: telegram.New(telegram.Options{}), http: &http.Client{Transport: &http.Transport{}}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- c.server.Serve(l) }()
	t.Cleanup(func() {
		c.http.CloseIdleConnections()
		if err := errors.Join(c.server.Close(), <-done); err != nil {
			t.Error(err)
		}
	})
	control := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(control.CloseIdleConnections)
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
	me := "/bot" + c.server.Token() + "/getMe"
	if status, err := ask(c.http, "GET", me, ""); status != 200 {
		t.Fatalf("before: got %d (%v), want 200", status, err)
	}
	if status, err := ask(control, "POST", "/control/outage", `{"kind":"refuse","for_ms":3600000}`); status != 200 {
		t.Fatalf("the outage: got %d (%v), want 200", status, err)
	}
	for range 3 {
		if _, err := ask(c.http, "GET", me, ""); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("during the outage: got %v, want %v", err, syscall.ECONNREFUSED)
		}
	}
	if status, err := ask(control, "DELETE", "/control/fault", ""); status != 200 {
		t.Fatalf("the end of the outage: got %d (%v), want 200", status, err)
	}
	for { // until the port accepts connections again
		status, err := ask(c.http, "GET", me, "")
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
	s := telegram.New(telegram.Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
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

// A fault has a time limit. When the time is over, the fault must stop hitting calls.
func TestFaultEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		c.server.Fault(telegram.Fault{Action: fault.Status, Status: 500, For: 5 * time.Second})
		pause(5*time.Second - 1)
		if r := c.call("getMe", nil); r.Status != 500 {
			t.Errorf("just before its end: got %d, want 500", r.Status)
		}
		pause(1)
		if r := c.call("getMe", nil); !r.OK {
			t.Errorf("at its end: got %s, want ok", r.Raw)
		}
	})
}
