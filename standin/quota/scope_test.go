package quota_test

import (
	"testing"
	"time"

	"telex/standin/quota"
)

func TestScopes(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	perMinute := func(size int) quota.Meter { return quota.NewWindow(size, time.Minute) }
	scopes := quota.NewScopes(2, -1, time.Second)
	check := func(what string, published, hidden, closed time.Duration) {
		t.Helper()
		sc := scopes.Scope("a", perMinute)
		var left time.Duration
		if r := scopes.Closed(now, sc); r != nil {
			left = r.Wait
		}
		if p, h := sc.Wait(now); p != published || h != hidden || left != closed {
			t.Errorf("%s: got %v, %v and closed for %v, want %v, %v and %v", what, p, h, left, published, hidden, closed)
		}
	}
	check("new", 0, 0, 0)
	scopes.Scope("a", perMinute).Take(now)
	check("one call", 0, 0, 0)
	scopes.Scope("a", perMinute).Take(now)
	check("full", time.Minute, 0, 0)
	if p, _ := scopes.Scope("b", perMinute).Wait(now); p != 0 {
		t.Errorf("another scope: got %v", p)
	}
	if r := scopes.Charge(now, scopes.Scope("b", perMinute), scopes.Scope("a", perMinute)); r == nil || r.Hidden || r.String() != "a is full for another 1m0s" {
		t.Errorf("both scopes: got %v", r)
	}
	now = now.Add(59 * time.Second)
	check("too early by the jitter", 0, 0, 0)
	now = now.Add(-59 * time.Second)
	scopes.Scope("a", perMinute).Close(now.Add(time.Hour), "why")
	scopes.Scope("a", perMinute).Close(now.Add(time.Second), "else")
	check("closed", time.Minute, 0, time.Hour)
	if r := scopes.Closed(now, scopes.Scope("b", perMinute), scopes.Scope("a", perMinute)); r.Reason != "why" || r.String() != "a is closed for another 1h0m0s" {
		t.Errorf("closed: got %v", r)
	}
	scopes.Renew(-1, 1, 0)
	if scopes.Limits() != -1 {
		t.Errorf("published: got %d", scopes.Limits())
	}
	check("renewed", 0, 0, time.Hour)
	if r := scopes.Charge(now, scopes.Scope("a", perMinute)); r != nil {
		t.Errorf("renewed: got %v", r)
	}
	check("the hidden limit", 0, time.Minute, time.Hour)
	if r := scopes.Charge(now, scopes.Scope("a", perMinute)); r == nil || !r.Hidden {
		t.Errorf("the hidden limit: got %v", r)
	}
	if got := scopes.Stats(); len(got) != 1 || got["a"] != (quota.Stats{Counted: 3, TooManyRequests: 2}) {
		t.Errorf("counted %+v", got)
	}
	scopes.Open()
	check("opened", 0, time.Minute, 0)
	now = now.Add(2 * time.Hour)
	check("later", 0, 0, 0)
}

func TestFixed(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	w := quota.Fixed{Size: 3, Period: time.Minute}
	check := func(what string, wait time.Duration, calls int, ends time.Duration) {
		t.Helper()
		if left, in := w.Left(now); w.Wait(now) != wait || left != calls || in != ends {
			t.Errorf("%s: got %v, %d left for %v, want %v, %d for %v", what, w.Wait(now), left, in, wait, calls, ends)
		}
	}
	check("new", 0, 3, 0)
	w.Take(now)
	now = now.Add(20 * time.Second)
	check("one call", 0, 2, 40*time.Second)
	if got := w.WaitFor(now, 3); got != 40*time.Second {
		t.Errorf("three more: got %v", got)
	}
	w.Take(now)
	w.Take(now)
	check("full", 40*time.Second, 0, 40*time.Second)
	now = now.Add(39 * time.Second)
	w.Take(now)
	check("too early", 0, 2, time.Minute)
	now = now.Add(time.Hour)
	check("later", 0, 3, 0)
}

func TestFill(t *testing.T) {
	t.Parallel()
	type limits struct {
		A, B int
		C    time.Duration
		D    map[string]int
	}
	if got := quota.Fill(limits{A: 1, D: map[string]int{"x": 2}}, limits{A: 5, B: -1, C: 7}); got.A != 1 || got.B != -1 || got.C != 7 || got.D["x"] != 2 {
		t.Errorf("got %+v", got)
	}
}
