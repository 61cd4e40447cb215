package whatsapp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/fault"
	"telex/standin/whatsapp"
)

func TestFaults(t *testing.T) {
	cases := []struct {
		name   string
		fault  whatsapp.Fault
		status int  // status of the response; 0: the connection was cut
		effect bool // whether the message must arrive
		answer string
		took   time.Duration
	}{
		{name: "latency", fault: whatsapp.Fault{Action: fault.Latency, Delay: 3 * time.Second}, status: 200, effect: true, answer: "wamid.", took: 3 * time.Second},
		{name: "rate limit", fault: whatsapp.Fault{Action: fault.RateLimit}, status: 400, answer: `"code":130429`},
		{name: "app's rate limit", fault: whatsapp.Fault{Action: fault.RateLimit, Code: 4}, status: 400, answer: `"code":4,`},
		{name: "status", fault: whatsapp.Fault{Action: fault.Status, Status: 502}, status: 502, answer: "<h1>502 Bad Gateway</h1>"},
		{name: "status after effect", fault: whatsapp.Fault{Action: fault.Status, Status: 500, AfterEffect: true}, status: 500, effect: true, answer: "<html>"},
		{name: "temporary error", fault: whatsapp.Fault{Action: fault.Error, Code: 2}, status: 503, answer: `"code":2,`},
		{name: "error of the API", fault: whatsapp.Fault{Action: fault.Error, Code: 131000}, status: 500, answer: `(#131000) Something went wrong`},
		{name: "error after effect", fault: whatsapp.Fault{Action: fault.Error, Code: 131016, AfterEffect: true}, status: 500, effect: true, answer: `"code":131016`},
		{name: "token", fault: whatsapp.Fault{Action: fault.Error, Code: 190}, status: 401, answer: `"code":190`},
		{name: "media that can't be loaded", fault: whatsapp.Fault{Action: fault.Error, Code: 131052}, status: 400, answer: `"code":131052`},
		{name: "cut before", fault: whatsapp.Fault{Action: fault.CutBefore}},
		{name: "cut after", fault: whatsapp.Fault{Action: fault.CutAfter}, effect: true},
		{name: "malformed", fault: whatsapp.Fault{Action: fault.Malformed}, status: 200, effect: true},
		{name: "text", fault: whatsapp.Fault{Action: fault.CutBefore, Contains: "new"}},
		{name: "another text", fault: whatsapp.Fault{Action: fault.CutBefore, Contains: "other"}, status: 200, effect: true},
		{name: "person", fault: whatsapp.Fault{Action: fault.CutBefore, Channel: user}},
		{name: "another person", fault: whatsapp.Fault{Action: fault.CutBefore, Channel: "US.9"}, status: 200, effect: true},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := free(t)
				c.say(whatsapp.Incoming{Text: "hi"})
				tc.fault.Method = "sendMessage"
				c.server.Fault(tc.fault)
				began := time.Now()
				r := c.post(text("new"))
				if r.Status != tc.status || !strings.Contains(r.Raw, tc.answer) || time.Since(began) != tc.took {
					t.Errorf("got %d %q after %v, want %d %q after %v", r.Status, r.Raw, time.Since(began), tc.status, tc.answer, tc.took)
				}
				if tc.status == 0 && !errors.Is(r.Err, io.EOF) {
					t.Errorf("error: got %v, want %v", r.Err, io.EOF)
				}
				if got := len(c.server.History(user)) == 2; got != tc.effect {
					t.Errorf("effect: got %v, want %v", got, tc.effect)
				}
				calls := c.server.Calls()
				if got := calls[len(calls)-1]; got.Status != tc.status || got.Effect != tc.effect || got.Done.IsZero() || got.User != user || got.Text != "new" {
					t.Errorf("record: got %+v", got)
				}
			})
		})
	}
}

// TestDownloadFaults lets faults break off a download of media, or slow it down.
func TestDownloadFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		link := c.get("/v26.0/" + c.upload("image/png", make([]byte, 1000)).ID).URL
		c.server.Fault(whatsapp.Fault{Method: "download", Nth: 1, Action: fault.CutMiddle})
		c.server.Fault(whatsapp.Fault{Method: "download", Nth: 2, Action: fault.Drip, Rate: 100})
		if r := c.get(link); !errors.Is(r.Err, io.ErrUnexpectedEOF) || len(r.Raw) != 500 {
			t.Errorf("broken off: got %d bytes, %v", len(r.Raw), r.Err)
		}
		began := time.Now()
		if r := c.get(link); len(r.Raw) != 1000 || time.Since(began) != 10*time.Second {
			t.Errorf("slow: got %d bytes after %v", len(r.Raw), time.Since(began))
		}
	})
}

// TestPauses holds calls at each moment at which a test may kill a client.
func TestPauses(t *testing.T) {
	for _, tc := range []struct {
		action, stage    string
		effect, answered bool
	}{
		{fault.PauseBefore, "before", false, false},
		{fault.PauseAfter, "after", true, false},
		{fault.PauseAnswered, "answered", true, true},
	} {
		t.Run(tc.stage, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := free(t)
				c.say(whatsapp.Incoming{Text: "hi"})
				c.server.Fault(whatsapp.Fault{Method: "sendMessage", Times: 1, Action: tc.action})
				got := make(chan reply, 1)
				go func() { got <- c.post(text("x")) }()
				synctest.Wait()
				held := c.server.Paused()
				if len(held) != 1 || held[0].Stage != tc.stage || held[0].Call.Effect != tc.effect || len(got) == 1 != tc.answered {
					t.Errorf("held: got %+v, answered %v", held, len(got) == 1)
				}
				if n := c.server.Drop(0); n != 1 {
					t.Errorf("dropped: got %d, want 1", n)
				}
				if r := <-got; (r.Status == http.StatusOK) != tc.answered {
					t.Errorf("answer: got %+v", r)
				}
				if n := len(c.server.History(user)); (n == 2) != tc.effect {
					t.Errorf("effect: got %d messages", n)
				}
			})
		})
	}
}

func TestOutages(t *testing.T) {
	for _, kind := range []string{fault.OutageRefuse, fault.OutageCut, fault.OutageError, fault.OutageHang} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := free(t)
				c.say(whatsapp.Incoming{Text: "hi"})
				c.server.Outage(fault.Outage{Kind: kind, For: 10 * time.Second})
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
				defer cancel()
				r := c.requestWithin(ctx, http.MethodPost, base+"/messages", c.server.Token(), "application/json", text("x"))
				if r.Status == http.StatusOK || (kind == fault.OutageError) != (r.Status == 502) || (kind == fault.OutageHang) != errors.Is(r.Err, context.DeadlineExceeded) {
					t.Errorf("during the outage: got %d %s %v", r.Status, r.Raw, r.Err)
				}
				c.say(whatsapp.Incoming{Text: "webhooks come all the same"})
				synctest.Wait()
				if n := len(c.app.inbound()); n != 2 {
					t.Errorf("got %d webhooks, want 2", n)
				}
				pause(10 * time.Second)
				c.ok(text("x"))
			})
		})
	}
}

func TestLatencyAndRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, whatsapp.Options{Latency: 200 * time.Millisecond})
		c.say(whatsapp.Incoming{Text: "hi"})
		began := time.Now()
		c.ok(text("x"))
		if took := time.Since(began); took != 200*time.Millisecond {
			t.Errorf("took %v, want 200ms", took)
		}
		got := make(chan reply, 1)
		go func() { got <- c.post(text("y")) }()
		pause(150 * time.Millisecond)
		c.server.Restart(time.Second)
		if r := <-got; r.Err == nil {
			t.Errorf("in flight: got %+v, want it cut", r)
		}
		if r := c.get(base); r.Err == nil {
			t.Errorf("while down: got %+v, want an error", r)
		}
		pause(time.Second)
		if n := len(c.server.History(user)); n != 3 || c.get(base).Status != http.StatusOK {
			t.Errorf("got %d messages, want the one in flight too", n)
		}
	})
}

func TestBadFaults(t *testing.T) {
	t.Parallel()
	s := whatsapp.New(whatsapp.Options{})
	for _, f := range []whatsapp.Fault{
		{Action: "fly"},
		{Action: whatsapp.ActDrop},
		{Action: fault.CutAfter, Method: "message"},
		{Action: fault.Error},
		{Action: fault.Error, Code: 7},
		{Action: fault.RateLimit, Code: 131000},
		{Action: fault.Status, Status: 200},
		{Action: fault.CutMiddle, Method: "sendMessage"},
		{Action: fault.DeleteFirst},
		{Action: fault.Hang, Nth: -1},
		{Action: fault.Hang, Chat: 1},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v: got no panic", f)
				}
			}()
			s.Fault(f)
		}()
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
