package budget

import (
	"testing"
	"time"
)

func TestSpeed(t *testing.T) {
	t.Parallel()
	type step struct {
		after      time.Duration // since the step before
		news       bool
		used       int // of 20, with the refused call; 0: no refusal
		percent    int
		what       string
		ceiling    int
		notRefused bool
	}
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"a hidden half is found and left alone for an hour", []step{
			{what: "refused", news: true, used: 11, percent: 50, ceiling: 50},
			{what: "not yet", after: time.Hour - time.Second, notRefused: true, percent: 50, ceiling: 50},
			{what: "probed after an hour", after: 2 * time.Minute, notRefused: true, percent: 60, ceiling: 50},
			{what: "refused again", news: true, used: 11, percent: 30, ceiling: 50},
			{what: "back to what was taken", after: 4 * time.Minute, notRefused: true, percent: 50, ceiling: 50},
			{what: "and no further", after: 50 * time.Minute, notRefused: true, percent: 50, ceiling: 50},
		}},
		{"one refusal near the limit", []step{
			{what: "refused", news: true, used: 20, percent: 50, ceiling: 90},
			{what: "one step", after: recoverAfter, notRefused: true, percent: 60, ceiling: 90},
			{what: "three more", after: 3 * recoverAfter, notRefused: true, percent: 90, ceiling: 90},
			{what: "below what was refused", after: 50 * time.Minute, notRefused: true, percent: 90, ceiling: 90},
			{what: "as declared", after: 10 * time.Minute, notRefused: true, percent: 100, ceiling: 90},
		}},
		{"many at once are one piece of news and show what was taken", []step{
			{what: "first", news: true, used: 20, percent: 50, ceiling: 90},
			{what: "second", used: 20, percent: 50, ceiling: 90},
			{what: "third", used: 20, percent: 50, ceiling: 85},
			{what: "fourth", used: 20, percent: 50, ceiling: 80},
		}},
		{"lower and lower, but not to nothing", []step{
			{news: true, used: 3, percent: 50, ceiling: 50},
			{after: time.Minute, news: true, used: 3, percent: 25, ceiling: 25},
			{after: time.Minute, news: true, used: 3, percent: 12, ceiling: 12},
			{after: time.Minute, news: true, used: 3, percent: 10, ceiling: 10},
			{after: time.Minute, news: true, used: 3, percent: 10, ceiling: 10},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			now := time.Now()
			s := speed{percent: fullSpeed}
			for i, st := range c.steps {
				now = now.Add(st.after)
				s.recover(now)
				if !st.notRefused {
					s.refuse(st.news, st.used, 20, now)
				}
				if s.percent != st.percent || s.ceiling != st.ceiling {
					t.Fatalf("step %d (%s): %d %%, ceiling %d; want %d, %d", i, st.what, s.percent, s.ceiling, st.percent, st.ceiling)
				}
			}
		})
	}
}
