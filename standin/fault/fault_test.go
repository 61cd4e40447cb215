package fault_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"telex/standin/fault"
)

func TestMatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table fault.Table[string]
		match := func() string {
			if hit := table.Match(time.Now(), func(string) bool { return true }); hit != nil {
				return *hit
			}
			return "-"
		}
		said := func(n int) string {
			var list []string
			for range n {
				list = append(list, match())
			}
			return strings.Join(list, " ")
		}
		for _, tc := range []struct {
			name  string
			rules []fault.When
			want  string // the expected results of six calls
		}{
			{"none", nil, "- - - - - -"},
			{"all", []fault.When{{}}, "0 0 0 0 0 0"},
			{"nth", []fault.When{{Nth: 2}}, "- 0 - - - -"},
			{"every", []fault.When{{Every: 2}}, "- 0 - 0 - 0"},
			{"times", []fault.When{{Times: 2}}, "0 0 - - - -"},
			{"every, twice", []fault.When{{Every: 2, Times: 2}}, "- 0 - 0 - -"},
			{"the first wins, all count", []fault.When{{Nth: 2}, {Every: 2}, {Nth: 3}}, "- 0 2 1 - 1"},
			{"what another hit does not use up", []fault.When{{Times: 1}, {Times: 1}}, "0 1 - - - -"},
		} {
			table.Reset()
			for i, when := range tc.rules {
				if id := table.Add(fmt.Sprint(i), when); id != i+1 {
					t.Errorf("%s: id %d, want %d", tc.name, id, i+1)
				}
			}
			if got := said(6); got != tc.want {
				t.Errorf("%s: got %s, want %s", tc.name, got, tc.want)
			}
		}

		table.Reset()
		table.Add("old", fault.When{Nth: 2})
		table.Add("short", fault.When{For: time.Minute})
		table.Shadow("outage", time.Now().Add(time.Second))
		if got := said(3); got != "outage outage outage" {
			t.Errorf("in the shadow: got %s", got)
		}
		time.Sleep(time.Second)
		if got := said(3); got != "short old short" {
			t.Errorf("after the shadow: got %s: what it hit does not count", got)
		}
		time.Sleep(time.Minute)
		if got := said(1); got != "-" {
			t.Errorf("later: got %s", got)
		}
		table.Add("next", fault.When{})
		table.Clear()
		if got := match(); got != "-" {
			t.Errorf("cleared: got %s", got)
		}
		if id := table.Add("x", fault.When{}); id != 5 {
			t.Errorf("ids after Clear go on: got %d, want 5", id)
		}
	})
}

// Several random rules match the same calls. A rule must never hit a call that its fields exclude.
func TestMatchCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table fault.Table[int]
		whens := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) fault.When {
			return fault.When{
				Nth: rapid.IntRange(0, 5).Draw(t, "nth"), Every: rapid.IntRange(0, 4).Draw(t, "every"), Times: rapid.IntRange(0, 3).Draw(t, "times"),
			}
		}), 1, 4).Draw(t, "rules")
		for i, when := range whens {
			table.Add(i, when)
		}
		hits := make([]int, len(whens))
		for call := 1; call <= 20; call++ {
			hit := table.Match(time.Now(), func(int) bool { return true })
			if hit == nil {
				continue
			}
			hits[*hit]++
			w := whens[*hit]
			if w.Nth > 0 && call != w.Nth || w.Every > 0 && call%w.Every != 0 || w.Times > 0 && hits[*hit] > w.Times {
				t.Fatalf("rule %+v hit call %d, its hit number %d", w, call, hits[*hit])
			}
		}
	})
}

func TestNamed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		list, name string
		want       bool
	}{
		{"", "a", true},
		{"a", "A", true},
		{"b | a", "a", true},
		{"ab", "a", false},
		{"|", "a", false},
	} {
		if got := fault.Named(tc.list, tc.name); got != tc.want {
			t.Errorf("Named(%q, %q): got %v", tc.list, tc.name, got)
		}
	}
}

func TestHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var holds fault.Holds[string]
		began := time.Now()
		if list := holds.Wait(t.Context(), time.Second, nil); list == nil || len(list) != 0 || time.Since(began) != time.Second {
			t.Errorf("nothing held: got %v after %v", list, time.Since(began))
		}
		seen := make(chan []fault.Paused[string], 1)
		go func() { seen <- holds.Wait(t.Context(), time.Hour, nil) }()
		synctest.Wait()
		hold := func(call string, cut chan struct{}) chan bool {
			on := make(chan bool, 1)
			go func() {
				on <- holds.Hold(call, fault.After, cut, func(p *fault.Paused[string]) {
					if list := holds.List(); list[len(list)-1] != *p {
						t.Errorf("told of %+v, which is not in %+v", p, list)
					}
				})
			}()
			synctest.Wait()
			return on
		}
		cut := make(chan struct{})
		a := hold("a", nil)
		if list := <-seen; len(list) != 1 || list[0] != (fault.Paused[string]{ID: 1, Stage: fault.After, Call: "a"}) {
			t.Errorf("waited for: got %+v", list)
		}
		b, c, d := hold("b", cut), hold("c", nil), hold("d", nil)
		if list := holds.Wait(t.Context(), 0, nil); len(list) != 4 {
			t.Errorf("held: got %+v", list)
		}
		close(cut)
		if <-b {
			t.Error("b was cut and goes on")
		}
		if n := holds.Release(3, false); n != 1 || <-c {
			t.Errorf("c was dropped: released %d", n)
		}
		if n := holds.Release(0, true); n != 2 || !<-a || !<-d {
			t.Errorf("all others: released %d", n)
		}
		if n := holds.Release(1, true); n != 0 || len(holds.List()) != 0 {
			t.Errorf("nothing is held any more: released %d, held %v", n, holds.List())
		}
		stopped := make(chan struct{})
		close(stopped)
		began = time.Now()
		if holds.Wait(t.Context(), time.Hour, stopped); time.Since(began) != 0 {
			t.Error("Wait outlives the cut")
		}
		e := hold("e", nil)
		holds.Release(0, true)
		<-e
		holds.Reset()
		hold("f", stopped)
	})
}

func TestGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const never = time.Hour
		for _, tc := range []struct {
			action string
			cut    time.Duration // when the call is cut
			resume bool          // whether the pause is released
			want   bool
			after  time.Duration
		}{
			{fault.Latency, never, false, true, time.Second},
			{fault.Latency, time.Millisecond, false, false, time.Millisecond},
			{fault.CutBefore, never, false, false, 0},
			{fault.Hang, time.Minute, false, false, time.Minute},
			{fault.PauseBefore, never, true, true, 0},
			{fault.PauseBefore, never, false, false, 0},
			{"another", never, false, true, 0},
		} {
			cut := make(chan struct{})
			stop := time.AfterFunc(tc.cut, func() { close(cut) })
			began := time.Now()
			step := fault.Step{Action: tc.action, Delay: time.Second, Cut: cut, Hold: func() bool { return tc.resume }}
			if got := step.GoesOn(t.Context()); got != tc.want || time.Since(began) != tc.after {
				t.Errorf("%s: got %v after %v, want %v after %v", tc.action, got, time.Since(began), tc.want, tc.after)
			}
			stop.Stop()
		}
	})
}

func TestOutage(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		outage fault.Outage
		action string
		status int
		fails  string
	}{
		{fault.Outage{Kind: fault.OutageRefuse, For: time.Second}, fault.CutBefore, 0, ""},
		{fault.Outage{Kind: fault.OutageCut, ForMS: 1000}, fault.CutBefore, 0, ""},
		{fault.Outage{Kind: fault.OutageHang, For: time.Second, ForMS: 7}, fault.Hang, 0, ""},
		{fault.Outage{Kind: fault.OutageError, For: time.Second}, fault.Status, 502, ""},
		{fault.Outage{Kind: fault.OutageError, For: time.Second, Status: 503}, fault.Status, 503, ""},
		{fault.Outage{Kind: fault.OutageError, For: time.Second, Status: 404}, "", 0, "404 is not a 5xx"},
		{fault.Outage{Kind: fault.OutageCut}, "", 0, "must last some time"},
		{fault.Outage{Kind: "rain", For: time.Second}, "", 0, `unknown kind of outage "rain"`},
	} {
		action, status, lasts, err := tc.outage.Effect()
		if tc.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("%+v: got %v, want %q", tc.outage, err, tc.fails)
			}
			continue
		}
		if action != tc.action || status != tc.status || lasts != time.Second || err != nil {
			t.Errorf("%+v: got %s %d %v %v", tc.outage, action, status, lasts, err)
		}
	}
}
