package main

import (
	"cmp"
	"slices"
	"testing"
	"time"
)

// A growing reply is interrupted if it stands still for longer than expected. The test checks how much longer some replies
// stood still. Usually the expected time is telex's own edit interval. If many replies grow at once, the expected time is
// longer: the time between two edits that the platform's limit leaves to each reply.
func TestInterruption(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	at := func(s float64) time.Time { return start.Add(seconds(s)) }
	reply := func(times ...float64) (p post) {
		for _, s := range times {
			p.versions = append(p.versions, sight{at: at(s), text: "text"})
		}
		return p
	}
	crowd := func(n int) (list []post) {
		for range n {
			list = append(list, reply(0, 100))
		}
		return list
	}
	person, group := telegramPlace{chat: 5}, telegramPlace{chat: -5}
	slackPerson := slackPlace{}
	for name, tt := range map[string]struct {
		place place
		reply post
		among []post
		event float64
		want  float64
		calm  bool
	}{
		"at its pace":                  {person, reply(0, 1.5, 3, 4.5), nil, 1, 0, false},
		"it stands still":              {person, reply(0, 1.5, 5, 8.5, 9), nil, 2, 2, false},
		"long before the next event":   {person, reply(0, 1.5, 5), nil, 6, 2, true},
		"a group is slower":            {group, reply(0, 3, 6.5), nil, 2, 0.5, false},
		"many share the limit":         {person, reply(0, 1.5, 5), crowd(89), 2, 0.5, false},
		"Slack alone":                  {slackPerson, reply(0, 1.5, 3.5), nil, 2, 0.5, false},
		"Slack's limit is a workspace": {slackPerson, reply(0, 1.5, 6.8), crowd(3), 2, 0.5, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &cluster{replicas: make([]*replica, 3), events: []event{{At: at(tt.event), What: restarted}}}
			got := slices.MaxFunc(c.interruptionsOf(&talk{place: tt.place}, tt.reply, append(tt.among, tt.reply)), func(x, y interruption) int {
				return cmp.Compare(x.Duration, y.Duration)
			})
			if (got.Duration-seconds(tt.want)).Abs() > time.Millisecond || got.calm != tt.calm {
				t.Errorf("got %v, calm %t; want %v s, calm %t", got.Duration, got.calm, tt.want, tt.calm)
			}
		})
	}
	if got := together([]post{reply(0, 1), reply(2, 3), reply(4, 5), reply(0, 9)}, at(1.5), at(3.5)); got != 2 {
		t.Errorf("%d grow together, want 2", got)
	}
}

// The test computes the verdict from made-up times for which replies stood still. A graceful restart may make a reply stand
// still for at most two seconds more than the 99th percentile without a restart, on the same platform.
func TestInterruptionBar(t *testing.T) {
	t.Parallel()
	quiet := map[string]spread{"telegram": {P99: 0.5, Max: 9}, "slack": {P99: 3}}
	for _, tt := range []struct {
		telegram, slack float64
		late            bool
	}{{2.5, 5, false}, {2.6, 0, true}, {0, 5.1, true}} {
		r := clusterResult{rolling: true, Quiet: quiet, Disturbed: map[string]spread{"telegram": {Max: tt.telegram}, "slack": {Max: tt.slack}}}
		if r.late() != tt.late {
			t.Errorf("%v s on Telegram and %v s on Slack: got late %t", tt.telegram, tt.slack, !tt.late)
		}
	}
}
