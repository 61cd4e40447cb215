package agent

import (
	"fmt"
	"unicode/utf8"
)

// Weights of characters in twelfths of a token. They are the averages of byte-pair
// vocabularies of 100,000 to 200,000 entries on chat text: close enough for "has enough come
// to show", "how full is the context", and for a usage figure when the provider sends none.
const (
	weightUnit        = 12
	weightASCII       = 3  // letters, white space: 4 to a token
	weightDigit       = 4  // digits come in threes
	weightPunctuation = 6  // and ASCII control characters
	weightAlphabet    = 6  // accented Latin, Greek, Cyrillic, Hebrew, Arabic, …: 2 to a token
	weightIdeograph   = 12 // CJK, kana, Hangul, and what else begins at U+0900
	weightAstral      = 24 // emoji and rare scripts
)

const (
	// tokensPerMessage is what stands around a message: its role and where it ends
	// (https://github.com/openai/openai-cookbook, How_to_count_tokens_with_tiktoken.ipynb: 3 or 4).
	tokensPerMessage = 4
	// tokensPerImage is about what an image costs that was not made larger than models look at:
	// 765 for one of 1024×1024 pixels (https://platform.openai.com/docs/guides/images-vision),
	// up to 1,600 elsewhere (https://docs.claude.com/en/docs/build-with-claude/vision).
	tokensPerImage = 1000
	// A provider makes an image of each page of a file, and reads its text besides
	// (https://platform.openai.com/docs/guides/pdf-files). A scanned page has about 100 KB.
	tokensPerFile = 1000
	bytesPerToken = 100 // of a file
)

// EstimateTokens estimates how many tokens s is. It costs one pass and allocates nothing. The
// estimate of the empty text is 0, of any other at least 1.
func EstimateTokens(s string) int {
	var c TokenCounter
	c.Add(s)
	return c.Tokens()
}

// TokenCounter estimates the tokens of a text that comes in pieces: however it is cut (between
// characters), the sum is the estimate of the whole. The zero value has counted nothing.
type TokenCounter struct{ weight int }

// Add counts s.
func (c *TokenCounter) Add(s string) {
	for _, r := range s {
		c.weight += weightOf(r)
	}
}

// Tokens returns the estimate for everything that was added.
func (c *TokenCounter) Tokens() int { return (c.weight + weightUnit - 1) / weightUnit }

func weightOf(r rune) int {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == ' ', r == '\n', r == '\t':
		return weightASCII
	case r >= '0' && r <= '9':
		return weightDigit
	case r < 0x80:
		return weightPunctuation
	case r < 0x900:
		return weightAlphabet
	case r < 0x10000:
		return weightIdeograph
	default:
		return weightAstral
	}
}

// tokens estimates a message with what stands around it.
func (m Message) tokens() int {
	var c TokenCounter
	c.Add(m.Text)
	c.Add(m.Name)
	c.Add(m.ToolCallID)
	c.Add(m.Reasoning)
	for _, call := range m.ToolCalls {
		c.Add(call.ID)
		c.Add(call.Name)
		c.Add(call.Arguments)
		c.Add(string(call.Extra))
	}
	files := 0
	for _, f := range m.Files {
		files += tokensPerFile + len(f.Content)/bytesPerToken
	}
	return c.Tokens() + tokensPerMessage*(1+len(m.ToolCalls)) + tokensPerImage*len(m.Images) + files
}

// tokens estimates what the request's prompt is.
func (r Request) tokens() int {
	sum := EstimateTokens(r.System) + tokensPerMessage + toolTokens(r.Tools)
	for _, m := range r.Messages {
		sum += m.tokens()
	}
	return sum
}

// toolTokens estimates what the descriptions of tools are.
func toolTokens(tools []ToolSpec) int {
	sum := 0
	for _, t := range tools {
		sum += EstimateTokens(t.Name) + EstimateTokens(t.Description) + EstimateTokens(string(t.Parameters)) + tokensPerMessage
	}
	return sum
}

// leftOutTokens is about what shorten says in place of what it leaves out.
const leftOutTokens = 16

// shorten returns at most so many tokens of a text by estimate, but no less than that something
// was left out: its beginning and, half as much of it, its end.
func shorten(text string, most int) string {
	if EstimateTokens(text) <= most {
		return text
	}
	room := max(0, most-leftOutTokens) * weightUnit
	head := 0
	for end, left := 0, room*2/3; end < len(text); head = end {
		r, size := utf8.DecodeRuneInString(text[end:])
		if left -= weightOf(r); left < 0 {
			break
		}
		end += size
	}
	tail := len(text)
	for begin, left := len(text), room/3; begin > head; tail = begin {
		r, size := utf8.DecodeLastRuneInString(text[head:begin])
		if left -= weightOf(r); left < 0 {
			break
		}
		begin -= size
	}
	return fmt.Sprintf("%s\n[… %d characters left out …]\n%s",
		text[:head], utf8.RuneCountInString(text[head:tail]), text[tail:])
}
