package main

import "testing"

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
