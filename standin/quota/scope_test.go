package quota_test

import (
	"testing"
	"time"

	"telex/standin/quota"
)

func TestScopes(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	perMinute := func(size int) quota.Meter { return quota.NewWindow(size, time.Minute, 0) }
	scopes := quota.NewScopes(2, -1)
	check := func(what string, published, hidden, closed time.Duration) {
		t.Helper()
		sc := scopes.Scope("a", perMinute)
		if p, h := sc.Wait(now); p != published || h != hidden || sc.Closed(now) != closed {
			t.Errorf("%s: got %v, %v and closed for %v, want %v, %v and %v", what, p, h, sc.Closed(now), published, hidden, closed)
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
	scopes.Scope("a", perMinute).Close(now.Add(time.Hour))
	scopes.Scope("a", perMinute).Close(now.Add(time.Second))
	check("closed", time.Minute, 0, time.Hour)
	scopes.Renew(-1, 1)
	if scopes.Published() != -1 {
		t.Errorf("published: got %d", scopes.Published())
	}
	check("renewed", 0, 0, time.Hour)
	scopes.Scope("a", perMinute).Take(now)
	check("the hidden limit", 0, time.Minute, time.Hour)
	now = now.Add(2 * time.Hour)
	check("later", 0, 0, 0)
}

func TestStats(t *testing.T) {
	t.Parallel()
	all := map[string]*quota.Stats{}
	quota.Of(all, "a").Counted++
	kept := quota.Copy(all)
	quota.Of(all, "a").Counted++
	if all["a"].Counted != 2 || kept["a"].Counted != 1 || len(kept) != 1 {
		t.Errorf("counted %d, the copy %d", all["a"].Counted, kept["a"].Counted)
	}
}
