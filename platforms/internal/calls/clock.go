package calls

import (
	"net/http"
	"sync/atomic"
	"time"
)

// Clock tells the time of a platform's servers. telex needs this time because the times of messages come from the
// platform, and this machine's clock may be wrong. Until the first response, a Clock assumes that the platform's
// clock and this machine's clock agree.
type Clock struct {
	ahead atomic.Int64 // how far the platform's clock was ahead of this machine's clock at the last response; nanoseconds
}

// NewClock returns a clock, and changes the client's transport so that each response sets the clock.
func NewClock(client *http.Client) *Clock {
	c := new(Clock)
	client.Transport = timed{client.Transport, c}
	return c
}

// At converts a time of this machine's clock to the platform's time, with an error of about a second.
func (c *Clock) At(local time.Time) time.Time { return local.Add(time.Duration(c.ahead.Load())) }

// timed is a transport that sets a clock from the header Date of each response. The header Date contains whole seconds.
// https://www.rfc-editor.org/rfc/rfc9110#section-6.6.1
type timed struct {
	http.RoundTripper
	clock *Clock
}

// RoundTrip implements http.RoundTripper.
func (t timed) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if at, failed := http.ParseTime(resp.Header.Get("Date")); failed == nil {
		t.clock.ahead.Store(int64(time.Until(at.Add(time.Second / 2))))
	}
	return resp, nil
}

// CloseIdleConnections closes the idle connections of the wrapped transport. The method CloseIdleConnections of
// http.Client calls this method.
func (t timed) CloseIdleConnections() {
	if c, ok := t.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
