package main

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// at returns the time that is the given number of milliseconds after the beginning of the test's answer.
func at(ms int) time.Time {
	return time.Unix(1_800_000_000, 0).Add(time.Duration(ms) * time.Millisecond)
}

// message returns a message of the bot. versions are pairs of a time in milliseconds and a text.
func message(deleted int, versions ...any) telegram.Message {
	m := telegram.Message{FromBot: true}
	for pair := range slices.Chunk(versions, 2) {
		m.Versions = append(m.Versions, telegram.Version{At: at(pair[0].(int)), Text: pair[1].(string)})
	}
	if deleted > 0 {
		m.Deleted = at(deleted)
	}
	return m
}

func TestAnswerVisible(t *testing.T) {
	t.Parallel()
	a := newAnswer("## ab **cd** ef")
	for _, tt := range []struct {
		shown string
		bytes int
		exact bool
	}{
		{"", 3, true}, // the platform hides the characters "## "
		{"a", 4, true},
		{"ab", 8, true},      // the hidden stars after "ab" count too
		{"ab\ncd", 13, true}, // a line break in the visible text does not matter
		{"ab cd ef", 15, true},
		{"ab cx", 9, false},
		{"ab cd ef ab", 15, false},
		{"…", 3, false},
	} {
		bytes, exact := a.visible(letters(tt.shown))
		if bytes != tt.bytes || exact != tt.exact {
			t.Errorf("visible(%q) = %d, %t, want %d, %t", tt.shown, bytes, exact, tt.bytes, tt.exact)
		}
	}
}

func TestAnswerTokens(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 60, 400, 1500} {
		if got := len(openai.Tokens(plainAnswer(7, n).text)); got != n {
			t.Errorf("plainAnswer(7, %d) has %d tokens", n, got)
		}
	}
	if got := len(plainAnswer(7, 1500).text); got != 9999 {
		t.Errorf("1,500 tokens have %d characters, want 9,999", got)
	}
	for _, n := range []int{500, 5000} {
		if got := len(openai.Tokens(markdownAnswer(7, n).text)); got < n || got > n*5/4 {
			t.Errorf("markdownAnswer(7, %d) has %d tokens, want a few more", n, got)
		}
	}
	if first, again := plainAnswer(1, 50), plainAnswer(1, 50); first.text == plainAnswer(2, 50).text || first.text != again.text {
		t.Error("want answers that differ by their seeds and by nothing else")
	}
}

// The model writes an answer of four tokens, one every 100 ms. The bot shows the tokens after 150 ms, 250 ms and 400 ms. The
// test compares the measurements of tell with values computed by hand.
func TestTell(t *testing.T) {
	t.Parallel()
	a := newAnswer("aa bb cc dd")
	request := openai.Request{
		Tokens: 4, LastToken: at(300),
		Marks: []openai.Mark{{Time: at(0), Bytes: 2}, {Time: at(100), Bytes: 5}, {Time: at(200), Bytes: 8}, {Time: at(300), Bytes: 11}},
	}
	type want struct {
		final, frozen time.Duration
		mean          float64 // mean staleness in seconds
		lost, doubled bool
		twice         int
	}
	for _, tt := range []struct {
		name    string
		history []telegram.Message
		want    want
	}{
		{
			// The staleness in the 20 samples adds up to 820 ms. Until 150 ms, nothing is visible, and the oldest invisible token is 0
			// to 140 ms old (8 samples). From 160 ms on, all written tokens are visible. From 200 ms on, the token cc is not visible
			// yet, and the staleness is 0 to 40 ms (3 samples). From 300 ms on, the token dd is not visible yet, and the staleness is 0
			// to 80 ms (5 samples).
			"in time",
			[]telegram.Message{message(0, 150, "aa bb"+cursor, 250, "aa bb cc"+cursor, 400, "aa bb cc dd")},
			want{final: 100 * time.Millisecond, frozen: 150 * time.Millisecond, mean: 0.041},
		},
		{
			"in two messages",
			[]telegram.Message{message(0, 150, "aa bb"), message(0, 250, "cc"+cursor, 400, "cc dd")},
			want{final: 100 * time.Millisecond, frozen: 150 * time.Millisecond, mean: 0.041},
		},
		{
			"cursor taken away later", // from 400 ms on, the whole text is visible, so the staleness until 500 ms is 0
			[]telegram.Message{message(0, 150, "aa bb"+cursor, 250, "aa bb cc"+cursor, 400, "aa bb cc dd"+cursor, 500, "aa bb cc dd")},
			want{final: 200 * time.Millisecond, frozen: 150 * time.Millisecond, mean: 0.82 / 25},
		},
		{
			"never shown", nil, // the age of the token aa, which nobody sees, grows from 0 to 980 ms
			want{frozen: time.Second, mean: 0.49, lost: true},
		},
		{
			"cursor stays",
			[]telegram.Message{message(0, 150, "aa bb cc dd"+cursor)},
			want{frozen: 150 * time.Millisecond, mean: 0.56 / 50, lost: true},
		},
		{
			"end missing", []telegram.Message{message(0, 150, "aa bb cc")}, // the age of dd grows from 0 to 680 ms (35 samples)
			want{frozen: 700 * time.Millisecond, mean: (0.56 + 0.34*35) / 50, lost: true},
		},
		{
			"sent twice",
			[]telegram.Message{message(0, 400, "aa bb cc dd"), message(0, 500, "aa bb cc dd")},
			want{frozen: 400 * time.Millisecond, mean: 3.8 / 50, doubled: true, twice: 1},
		},
		{
			"twice for a moment",
			[]telegram.Message{message(0, 400, "aa bb cc dd"), message(450, 420, "aa")},
			want{final: 150 * time.Millisecond, frozen: 400 * time.Millisecond, mean: 3.8 / 23, twice: 1},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := tell(a, request, tt.history, at(1000))
			if fmt.Sprint(got.lost, got.doubled, got.twice) != fmt.Sprint(tt.want.lost, tt.want.doubled, tt.want.twice) {
				t.Errorf("lost %t, doubled %t, wrong moments %d, want %t, %t, %d",
					got.lost, got.doubled, got.twice, tt.want.lost, tt.want.doubled, tt.want.twice)
			}
			if got.final != tt.want.final || got.frozen != tt.want.frozen {
				t.Errorf("final after %v, frozen for %v, want %v, %v", got.final, got.frozen, tt.want.final, tt.want.frozen)
			}
			if m := mean(got.staleness); math.Abs(m-tt.want.mean) > 1e-6 {
				t.Errorf("staleness %v, want %v (%v)", m, tt.want.mean, got.staleness)
			}
		})
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	values := []float64{5, 1, 4, 2, 3}
	for percent, want := range map[int]float64{1: 1, 20: 1, 50: 3, 80: 4, 95: 5, 100: 5} {
		if got := percentile(values, percent); got != want {
			t.Errorf("percentile(%v, %d) = %v, want %v", values, percent, got, want)
		}
	}
	if got := percentile(nil, 95); got != 0 {
		t.Errorf("percentile of nothing = %v, want 0", got)
	}
}
