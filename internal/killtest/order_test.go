package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"telex/standin/slack"
)

// orderedPlace is a place that can claim that the platform delivered the second message before the first one.
type orderedPlace struct {
	telegramPlace
	late bool
}

func (p orderedPlace) overtaken(earlier, later string) bool {
	return p.late && earlier == "A1x0z" && later == "A1x1z"
}

func TestOrderOfAnswers(t *testing.T) {
	t.Parallel()
	first, second, third := counting("A1x0z", 5), counting("A1x1z", 5), counting("A1x2z", 5)
	for name, tt := range map[string]struct {
		late       bool
		answers    []string
		disordered int
	}{
		"in order":                       {false, []string{first, second, third}, 0},
		"in order although overtaken":    {true, []string{first, second, third}, 0},
		"out of order":                   {false, []string{second, first, third}, 1},
		"out of order, excused":          {true, []string{second, first, third}, 0},
		"only another pair is excused":   {true, []string{first, third, second}, 1},
		"one after it is not excused":    {true, []string{second, third, first}, 1},
		"all in the opposite order":      {false, []string{third, second, first}, 2},
		"a missing one has no place":     {false, []string{third, second}, 1},
		"an unfinished one has no place": {false, []string{second, first[:20]}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			talk := talk{place: orderedPlace{late: tt.late}, asked: []asked{{mark: "A1x0z", want: first}, {mark: "A1x1z", want: second}, {mark: "A1x2z", want: third}}}
			var posts []post
			var remembered []string
			for _, text := range tt.answers {
				posts = append(posts, post{versions: []sight{{text: text}}})
				remembered = append(remembered, "say: "+text, text)
			}
			if got := talk.judge(posts); got.Disordered != tt.disordered {
				t.Errorf("got %d out of order, want %d: %s", got.Disordered, tt.disordered, got.What)
			}
			if got := talk.judgeMemory(remembered); len(tt.answers) == 3 && got.Other != tt.disordered {
				t.Errorf("got %d out of order in what is remembered, want %d: %s", got.Other, tt.disordered, got.What)
			}
		})
	}
}

func TestAckedAfter(t *testing.T) {
	t.Parallel()
	acked := func(seconds int64) *slack.Delivery {
		return &slack.Delivery{Acked: time.Unix(seconds, 0), Attempts: []slack.Attempt{{At: time.Unix(1, 0)}}}
	}
	never := &slack.Delivery{Attempts: []slack.Attempt{{At: time.Unix(1, 0)}}}
	for name, tt := range map[string]struct {
		earlier, later *slack.Delivery
		want           bool
	}{
		"in order":              {acked(2), acked(3), false},
		"at the same time":      {acked(2), acked(2), false},
		"delivered again":       {acked(5), acked(3), true},
		"never acknowledged":    {never, acked(3), true},
		"the later one never":   {acked(2), never, false},
		"neither":               {never, never, false},
		"no event is known":     {nil, acked(3), false},
		"no event of the later": {acked(5), nil, false},
	} {
		if got := ackedAfter(tt.earlier, tt.later); got != tt.want {
			t.Errorf("%s: got %t, want %t", name, got, tt.want)
		}
	}
}

// Slack's stand-in delivers three events, and the test acknowledges the second and the third event before the first one. The
// method overtaken must notice this.
func TestOvertakenOnSlack(t *testing.T) {
	t.Parallel()
	overtaken := make(chan struct{})
	app := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read: %v", err)
		}
		if bytes.Contains(body, []byte("A1x0z")) {
			<-overtaken
		}
	}))
	defer app.Close()
	server := slack.New(slack.Options{RequestURL: app.URL})
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	p := slackPlace{server, "1001"}
	events := server.Watch(t.Context())
	for _, mark := range []string{"A1x0z", "A1x1z", "A1x2z"} {
		if err := p.say("Count: " + mark); err != nil {
			t.Fatal(err)
		}
	}
	acked := 0
	for e := range events {
		if e.Delivery == nil {
			continue
		}
		if acked++; acked == 2 { // so far, Slack got acknowledgments of the second and the third event
			close(overtaken)
		}
		if acked == 3 {
			break
		}
	}
	for _, tt := range []struct {
		earlier, later string
		want           bool
	}{{"A1x0z", "A1x1z", true}, {"A1x0z", "A1x2z", true}, {"A1x1z", "A1x0z", false}, {"A1x0z", "A1x7z", false}} {
		if got := p.overtaken(tt.earlier, tt.later); got != tt.want {
			t.Errorf("%s overtaken by %s: got %t, want %t", tt.earlier, tt.later, got, tt.want)
		}
	}
}
