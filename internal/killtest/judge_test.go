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
		{"one message", []shown{{1, "one two\n\nthree four", false}}, verdict{}},
		{"two messages", []shown{{1, "one two", false}, {2, "three four", false}}, verdict{}},
		{"nothing", nil, verdict{Lost: 1}},
		{"the end is missing", []shown{{1, "one two three", false}}, verdict{Lost: 1}},
		{"a word is missing", []shown{{1, "one two four", false}}, verdict{Lost: 1}},
		{"out of order", []shown{{1, "three four", false}, {2, "one two", false}}, verdict{Lost: 1}},
		{"twice", []shown{{1, "one two three four", false}, {2, "one two three four", false}}, verdict{Doubled: 1}},
		{"a piece twice", []shown{{1, "one two", false}, {2, "one two three four", false}}, verdict{Doubled: 1}},
		{"a middle piece twice", []shown{{1, "one two", false}, {2, "three", false}, {3, "three four", false}}, verdict{Lost: 1}},
		{"a cursor", []shown{{1, "one two three four ▌", false}}, verdict{Cursors: 1}},
		{"a cursor beside it", []shown{{1, "one ▌", false}, {2, "one two three four", false}}, verdict{Cursors: 1}},
		{"lost behind a cursor", []shown{{1, "one ▌", false}}, verdict{Lost: 1, Cursors: 1}},
		{"something else", []shown{{1, "one two three four", false}, {2, "⚠️ Something went wrong.", false}}, verdict{Doubled: 1}},
		{"an uncertain final", []shown{{1, "one two three four", true}, {2, "one two three four", false}}, verdict{Uncertain: 1, UncertainTwice: 1}},
		{"an uncertain preview", []shown{{1, "one ▌", true}, {2, "one two three four", false}}, verdict{Uncertain: 1, UncertainCursors: 1}},
		{"an uncertain whole preview", []shown{{1, "one two three four ▌", true}, {2, "one two three four", false}}, verdict{Uncertain: 1, UncertainTwice: 1, UncertainCursors: 1}},
		{"an uncertain part", []shown{{1, "one two", false}, {2, "three four", true}, {3, "three four", false}}, verdict{Uncertain: 1, UncertainTwice: 1}},
		{"nameless, but the answer", []shown{{1, "one two three four", true}}, verdict{}},
		{"nameless, and no answer", []shown{{1, "one two ▌", true}}, verdict{Lost: 1}},
		{"twice beyond the uncertain one", []shown{
			{1, "one two three four", true}, {2, "one two three four", false}, {3, "one two three four", false},
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
		{"nothing was shown", "", []shown{{1, line, false}}, true},
		{"below what was shown", "one two", []shown{{1, "one two\n\n" + line, false}}, true},
		{"in a message of its own", "one two", []shown{{1, "one two", false}, {2, line, false}}, true},
		{"more than was shown", "one", []shown{{1, "one two\n\n" + line, false}}, true},
		{"beside an uncertain preview", "one two", []shown{{1, "one two ▌", true}, {2, "one two\n\n" + line, false}}, true},
		{"less than was shown", "one two", []shown{{1, "one\n\n" + line, false}}, false},
		{"not the answer", "", []shown{{1, "two\n\n" + line, false}}, false},
		{"no line", "one", []shown{{1, "one", false}}, false},
		{"two lines", "one", []shown{{1, "one\n\n" + line, false}, {2, line, false}}, false},
		{"a cursor", "one", []shown{{1, "one ▌", false}, {2, line, false}}, false},
		{"another line", "one", []shown{{1, "one\n\n⚠️ Something else.", false}}, false},
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

// The same seed asks the same and strikes at the same instants.
func TestSeeded(t *testing.T) {
	t.Parallel()
	for _, k := range kinds(30) {
		for number := range 6 {
			a, b := k.plan(seeded(7, k.name, number), number), k.plan(seeded(7, k.name, number), number)
			if len(a.questions) == 0 || len(a.questions) != len(b.questions) || len(a.strikes) == 0 || len(a.strikes) != len(b.strikes) {
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
