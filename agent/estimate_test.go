package agent

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEstimateTokens(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text     string
		min, max int // bounds around the number of tokens according to the tokenizer o200k
	}{
		{"", 0, 0},
		{"a", 1, 1},
		{"Hello, world!", 3, 5},
		{"The tides are the rise and fall of sea levels caused by the Moon.", 12, 20},
		{"潮汐是由月球引起的", 7, 10},
		{"Прилив вызван Луной", 5, 11},
		{"2026-11-21", 4, 6},
		{"😀😀", 2, 4},
		{strings.Repeat("word ", 1000), 1000, 1300},
	} {
		if got := EstimateTokens(tt.text); got < tt.min || got > tt.max {
			t.Errorf("EstimateTokens(%.20q) = %d, want %d to %d", tt.text, got, tt.min, tt.max)
		}
	}
}

func TestTokenCounterAddsUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.String()).Draw(t, "pieces")
		var c TokenCounter
		for _, p := range pieces {
			c.Add(p)
		}
		if got, want := c.Tokens(), EstimateTokens(strings.Join(pieces, "")); got != want {
			t.Fatalf("got %d, want %d", got, want)
		}
	})
}
