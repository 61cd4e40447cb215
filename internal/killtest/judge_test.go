package main

import (
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	const want = "one two\n\nthree four"
	for _, tt := range []struct {
		name string
		list []shown
		want verdict
	}{
		{"one message", []shown{{id: 1, text: "one two\n\nthree four", nameless: false}}, verdict{}},
		{"two messages", []shown{{id: 1, text: "one two", nameless: false}, {id: 2, text: "three four", nameless: false}}, verdict{}},
		{"nothing", nil, verdict{Lost: 1}},
		{"the end is missing", []shown{{id: 1, text: "one two three", nameless: false}}, verdict{Lost: 1}},
		{"a word is missing", []shown{{id: 1, text: "one two four", nameless: false}}, verdict{Lost: 1}},
		{"out of order", []shown{{id: 1, text: "three four", nameless: false}, {id: 2, text: "one two", nameless: false}}, verdict{Lost: 1}},
		{"twice", []shown{{id: 1, text: "one two three four", nameless: false}, {id: 2, text: "one two three four", nameless: false}}, verdict{Doubled: 1}},
		{"a piece twice", []shown{{id: 1, text: "one two", nameless: false}, {id: 2, text: "one two three four", nameless: false}}, verdict{Doubled: 1}},
		{"a middle piece twice", []shown{{id: 1, text: "one two", nameless: false}, {id: 2, text: "three", nameless: false}, {id: 3, text: "three four", nameless: false}}, verdict{Lost: 1}},
		{"a cursor", []shown{{id: 1, text: "one two three four ▌", nameless: false}}, verdict{Cursors: 1}},
		{"a cursor beside it", []shown{{id: 1, text: "one ▌", nameless: false}, {id: 2, text: "one two three four", nameless: false}}, verdict{Cursors: 1}},
		{"lost behind a cursor", []shown{{id: 1, text: "one ▌", nameless: false}}, verdict{Lost: 1, Cursors: 1}},
		{"something else", []shown{{id: 1, text: "one two three four", nameless: false}, {id: 2, text: "⚠️ Something went wrong.", nameless: false}}, verdict{Doubled: 1}},
		{"an uncertain final", []shown{{id: 1, text: "one two three four", nameless: true}, {id: 2, text: "one two three four", nameless: false}}, verdict{Uncertain: 1, UncertainTwice: 1}},
		{"an uncertain preview", []shown{{id: 1, text: "one ▌", nameless: true}, {id: 2, text: "one two three four", nameless: false}}, verdict{Uncertain: 1, UncertainCursors: 1}},
		{"an uncertain whole preview", []shown{{id: 1, text: "one two three four ▌", nameless: true}, {id: 2, text: "one two three four", nameless: false}}, verdict{Uncertain: 1, UncertainTwice: 1, UncertainCursors: 1}},
		{"an uncertain part", []shown{{id: 1, text: "one two", nameless: false}, {id: 2, text: "three four", nameless: true}, {id: 3, text: "three four", nameless: false}}, verdict{Uncertain: 1, UncertainTwice: 1}},
		{"nameless, but the answer", []shown{{id: 1, text: "one two three four", nameless: true}}, verdict{}},
		{"nameless, and no answer", []shown{{id: 1, text: "one two ▌", nameless: true}}, verdict{Lost: 1}},
		{"twice beyond the uncertain one", []shown{
			{id: 1, text: "one two three four", nameless: true}, {id: 2, text: "one two three four", nameless: false}, {id: 3, text: "one two three four", nameless: false},
		}, verdict{Doubled: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := judge(want, tt.list)
			if got.bad() == (got.What == "") {
				t.Errorf("a violation must be explained, and nothing else: %+v", got)
			}
			if got.What = ""; got != tt.want {
				t.Errorf("got %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestJudgeClosed(t *testing.T) {
	t.Parallel()
	const answer, line = "one two three four", "⚠️ Something went wrong here. (error 0123abcd)"
	for _, tt := range []struct {
		name, before string
		list         []shown
		ok           bool
	}{
		{"nothing was shown", "", []shown{{id: 1, text: line, nameless: false}}, true},
		{"below what was shown", "one two", []shown{{id: 1, text: "one two\n\n" + line, nameless: false}}, true},
		{"in a message of its own", "one two", []shown{{id: 1, text: "one two", nameless: false}, {id: 2, text: line, nameless: false}}, true},
		{"more than was shown", "one", []shown{{id: 1, text: "one two\n\n" + line, nameless: false}}, true},
		{"beside an uncertain preview", "one two", []shown{{id: 1, text: "one two ▌", nameless: true}, {id: 2, text: "one two\n\n" + line, nameless: false}}, false},
		{"less than was shown", "one two", []shown{{id: 1, text: "one\n\n" + line, nameless: false}}, false},
		{"not the answer", "", []shown{{id: 1, text: "two\n\n" + line, nameless: false}}, false},
		{"no line", "one", []shown{{id: 1, text: "one", nameless: false}}, false},
		{"two lines", "one", []shown{{id: 1, text: "one\n\n" + line, nameless: false}, {id: 2, text: line, nameless: false}}, false},
		{"a cursor", "one", []shown{{id: 1, text: "one ▌", nameless: false}, {id: 2, text: line, nameless: false}}, false},
		{"another line", "one", []shown{{id: 1, text: "one\n\n⚠️ Something else.", nameless: false}}, false},
		{"nothing", "", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := judgeClosed(answer, tt.before, tt.list); got.bad() == tt.ok {
				t.Errorf("got %+v, want it accepted: %t", got, tt.ok)
			}
		})
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	markdown, visible := count(10_007, 202)
	if strings.Count(markdown, "**and on**") != 3 || strings.Contains(visible, "*") {
		t.Errorf("markdown %q\nvisible %q", markdown, visible)
	}
	for _, part := range []string{"Answer 10007 begins: 1 2 3 ", " 50 and on 51 ", " 199 200\n\nThen 201 202 and ends. (10007)"} {
		if !strings.Contains(visible, part) {
			t.Errorf("visible lacks %q: %q", part, visible)
		}
	}
}

// Two runs of killtest with the same seed must ask the same questions and make the same number of kills.
func TestSeeded(t *testing.T) {
	t.Parallel()
	for _, k := range kinds(30) {
		for number := range 6 {
			a, b := k.plan(seeded(7, k.name, number), number), k.plan(seeded(7, k.name, number), number)
			if len(a.questions) == 0 || len(a.questions) != len(b.questions) || len(a.strikes)+a.cuts == 0 || len(a.strikes) != len(b.strikes) {
				t.Fatalf("%s, trial %d: %d and %d questions, %d and %d strikes", k.name, number,
					len(a.questions), len(b.questions), len(a.strikes), len(b.strikes))
			}
			for i, q := range a.questions {
				if q != b.questions[i] {
					t.Errorf("%s, trial %d: got %+v and %+v", k.name, number, q, b.questions[i])
				}
			}
		}
	}
	if seeded(7, "random", 1).Uint64() == seeded(7, "random", 2).Uint64() || seeded(7, "a", 1).Uint64() == seeded(8, "a", 1).Uint64() {
		t.Error("two trials, or two seeds, draw the same")
	}
}
