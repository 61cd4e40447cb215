package main

import (
	"testing"
	"time"
)

func TestTalkJudge(t *testing.T) {
	t.Parallel()
	first, second := counting("A1x0z", 5), counting("A1x1z", 300)
	half := len(second) / 2
	for _, tt := range []struct {
		name  string
		texts []string
		want  talkVerdict
	}{
		{"complete", []string{first, second}, talkVerdict{}},
		{"several messages", []string{first, second[:half-half%10], second[half-half%10:]}, talkVerdict{}},
		{"one is missing", []string{second}, talkVerdict{Lost: 1}},
		{"one is cut off", []string{first, second[:half]}, talkVerdict{Lost: 1}},
		{"twice", []string{first, second, first}, talkVerdict{Doubled: 1}},
		{"a part twice", []string{first, second[:half], second}, talkVerdict{Doubled: 1}},
		{"a cursor", []string{first + " " + cursor, second}, talkVerdict{Cursors: 1}},
		{"the wrong order", []string{second, first}, talkVerdict{Disordered: 1}},
		{"an error beside it", []string{first, second, "Something went wrong"}, talkVerdict{Other: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			talk := talk{place: telegramPlace{}, asked: []asked{{mark: "A1x0z", want: first}, {mark: "A1x1z", want: second}}}
			var posts []post
			for _, text := range tt.texts {
				posts = append(posts, post{versions: []sight{{text: text}}})
			}
			got := talk.judge(posts)
			if said := got.What != ""; said != tt.want.bad() {
				t.Errorf("words %q, want some: %t", got.What, tt.want.bad())
			}
			if got.What = ""; got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestTalkJudgesTheMemory(t *testing.T) {
	t.Parallel()
	first, second := counting("A1x0z", 5), counting("A1x1z", 5)
	talk := talk{place: telegramPlace{}, asked: []asked{{mark: "A1x0z", want: first}, {mark: "A1x1z", want: second}}}
	for name, tt := range map[string]struct {
		texts []string
		other int
	}{
		"each once":       {[]string{"say A1x0z", first, "say A1x1z", second}, 0},
		"one is missing":  {[]string{"say A1x0z", first}, 1},
		"one twice":       {[]string{"say A1x0z", first, "say A1x0z", first, "say A1x1z", second}, 1},
		"the wrong order": {[]string{"say A1x1z", second, "say A1x0z", first}, 1},
		"a part":          {[]string{"say A1x0z", first[:20], "say A1x1z", second}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := talk.judgeMemory(tt.texts); got.Other != tt.other || got.bad() != (got.What != "") {
				t.Errorf("got %+v, want %d wrong", got, tt.other)
			}
		})
	}
}

// The reply that grew at the moment of a kill, the daemon that wrote it, and the time until it went on.
func TestClusterRecovery(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	posts := []post{
		{versions: []sight{{at(0), counting("A1x0z", 3)}}},
		{versions: []sight{{at(2), "Answer A1x1z begins: 1 " + cursor}, {at(9), counting("A1x1z", 3)}}},
	}
	if mark, ok := growing(posts, at(1)); ok {
		t.Errorf("at 1 s %s grows, want none", mark)
	}
	if mark, ok := growing(posts, at(3)); !ok || mark != "A1x1z" {
		t.Errorf("at 3 s %q grows, want A1x1z", mark)
	}
	if got := nextChange(posts, at(3)); got != 6*time.Second {
		t.Errorf("it went on after %v, want 6s", got)
	}
	runs := []modelRun{{at(1), "r0"}, {at(8), "r1"}}
	if got := owner(runs, at(3)); got != "r0" {
		t.Errorf("the owner is %q, want r0", got)
	}
	c := &cluster{events: []event{{At: at(3), Replica: "r0", What: killed}}}
	if gap, since, calm := c.longestGap(posts[1]); gap != 7*time.Second || !since.Equal(at(2)) || calm {
		t.Errorf("got a pause of %v from %v, calm %t, want 7s, not calm", gap, since, calm)
	}
	if _, _, calm := c.longestGap(posts[0]); !calm {
		t.Error("the first reply was complete before the kill, want it calm")
	}
	if got := spreadOf([]time.Duration{3 * time.Second, time.Second, 2 * time.Second}); got != (spread{3, 2, 3, 3}) {
		t.Errorf("got the spread %+v", got)
	}
}
