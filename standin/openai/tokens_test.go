package openai_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"telex/standin/openai"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"one two three", []string{"one", " two", " three"}},
		{"a  b", []string{"a", " ", " b"}},
		{"x\n\ny", []string{"x", "\n\n", "y"}},
		{"12345 6", []string{"123", "45", " 6"}},
		{"end ", []string{"end", " "}},
	} {
		if got := openai.Tokens(tc.text); !slices.Equal(got, tc.want) {
			t.Errorf("Tokens(%q) = %q, want %q", tc.text, got, tc.want)
		}
	}
}

// TestTokensAreLikeAModels checks what clients must handle: tokens that end inside a Markdown delimiter or a word. The
// test also checks that the average length of tokens is similar to the length of real tokens.
func TestTokensAreLikeAModels(t *testing.T) {
	t.Parallel()
	var tokens []string
	for _, q := range []string{"Explain the tides", "length: 5000", "one", "two"} {
		tokens = append(tokens, openai.Tokens(openai.Answer(q))...)
	}
	if n := float64(len(strings.Join(tokens, ""))) / float64(len(tokens)); n < 3 || n > 5 {
		t.Errorf("a token has %.1f bytes on average, want 3 to 5", n)
	}
	cut := false
	for i := 1; i < len(tokens); i++ {
		cut = cut || strings.HasSuffix(tokens[i-1], "*") && strings.HasPrefix(tokens[i], "*")
	}
	if !cut {
		t.Error("no ** is cut in two")
	}
	// The emoji shows one person and has several runes. A token never splits a rune, but may end between two runes of one
	// emoji.
	if got := openai.Tokens("👩🏽‍🚀"); len(got) < 2 {
		t.Errorf("Tokens of one emoji = %q, want it cut", got)
	}
}

func FuzzTokens(f *testing.F) {
	for _, seed := range []string{"", " ", "**bold** _x_", "日本語 text", "a\n\n  b", "👩🏽‍🚀e\u0301", "```go\n\tx := 1\n```", "\t \t"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokens := openai.Tokens(text)
		if got := strings.Join(tokens, ""); got != text {
			t.Fatalf("Tokens(%q) joined = %q", text, got)
		}
		for _, token := range tokens {
			if token == "" || utf8.ValidString(text) && !utf8.ValidString(token) {
				t.Fatalf("Tokens(%q) has the token %q", text, token)
			}
		}
	})
}
