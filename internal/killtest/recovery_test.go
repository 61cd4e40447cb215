package main

import (
	"testing"
	"time"

	"telex/standin/openai"
)

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// A daemon is killed after 3 s, while its reply grows. From the visible texts and the requests to the model,
// recoveries must compute how the reply continued.
func TestRecovery(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	at := func(s float64) time.Time { return start.Add(seconds(s)) }
	before := post{versions: []sight{{at(0), counting("A1x0z", 3)}}}
	const begun = "Answer A1x1z begins: 1 "
	again := func(began, caughtUp float64) modelRun {
		return modelRun{at: at(began), replica: "r1", marks: []openai.Mark{{Time: at(began), Bytes: len(begun)}, {Time: at(caughtUp), Bytes: len(begun) + 1}}}
	}
	for name, tt := range map[string]struct {
		grows float64 // time in seconds at which people saw more text of the reply
		runs  []modelRun
		want  recovery
	}{
		"the model writes everything again": {12, []modelRun{again(8, 11)}, recovery{TakenUp: seconds(5), Grown: seconds(9), Rewriting: seconds(3)}},
		"the rest was stored":               {8, nil, recovery{TakenUp: seconds(5), Grown: seconds(5)}},
		"the second daemon dies, too":       {22, []modelRun{again(8, 11), again(16, 19)}, recovery{TakenUp: seconds(5), Grown: seconds(19), Rewriting: seconds(3), Again: true}},
		"a later answer does not count":     {8, []modelRun{again(20, 21)}, recovery{TakenUp: seconds(5), Grown: seconds(5)}},
		"the call of the killed one":        {12, []modelRun{again(8, 11)}, recovery{TakenUp: seconds(5), Grown: seconds(9), Rewriting: seconds(3)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			growing := post{versions: []sight{{at(2), begun + cursor}, {at(tt.grows), counting("A1x1z", 3)}}}
			if name == "the call of the killed one" {
				growing.versions = []sight{growing.versions[0], {at(3.01), begun + cursor}, growing.versions[1]}
			}
			talk := &talk{place: telegramPlace{}}
			tt.want.Place, tt.want.Mark, tt.want.At = "telegram", "A1x1z", at(3)
			runs := map[string][]modelRun{"A1x1z": append([]modelRun{{at: at(1), replica: "r0"}}, tt.runs...)}
			c := &cluster{events: []event{
				{At: at(1), Replica: "r0", What: killed}, // a kill at a time when no reply is growing
				{At: at(3), Replica: "r0", What: killed},
				{At: at(3), Replica: "r2", What: killed}, // a kill of a daemon to which the growing reply does not belong
				{At: at(2.5), Replica: "r0", What: paused},
				{At: at(21), Replica: "r1", What: paused},
			}}
			got := c.recoveries(talk, []post{before, growing}, runs)
			if len(got) != 1 || got[0] != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// If a reply consists of several messages, growing returns the sum of their visible lengths.
func TestGrowing(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	posts := []post{
		{versions: []sight{{at, counting("A1x0z", 3)}}},
		{versions: []sight{{at, "Answer A1x1z begins: 1 2"}}},
		{versions: []sight{{at, "3 4 " + cursor}, {at.Add(time.Hour), "3 4 5"}}},
	}
	if mark, shown, ok := growing(posts, at.Add(time.Second)); mark != "A1x1z" || shown != len("Answer A1x1z begins: 1 2")+len("3 4 ") || !ok {
		t.Errorf("got %q, %d bytes, %t", mark, shown, ok)
	}
	if mark, _, ok := growing(posts, at.Add(-time.Second)); ok {
		t.Errorf("got %q before the first message, want none", mark)
	}
	if mark, _, ok := growing(posts, at.Add(2*time.Hour)); ok {
		t.Errorf("got %q at the end, want none", mark)
	}
}

func TestSpread(t *testing.T) {
	t.Parallel()
	if got := spreadOf([]time.Duration{3 * time.Second, time.Second, 2 * time.Second}); got != (spread{3, 2, 3, 3, 3}) {
		t.Errorf("got the spread %+v", got)
	}
}
