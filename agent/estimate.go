package agent

import (
	"fmt"
	"unicode/utf8"
)

// These constants are the weights of characters, in twelfths of a token. The weights are averages over chat text, for
// byte-pair tokenizers with vocabularies of 100,000 to 200,000 entries. The estimate is close enough to decide when to show
// text and how full the context window is. If the provider reports no usage, telex uses the estimate instead.
const (
	weightUnit        = 12
	weightASCII       = 3  // letters and white space: 4 characters per token
	weightDigit       = 4  // 3 digits per token
	weightPunctuation = 6  // punctuation and ASCII control characters
	weightAlphabet    = 6  // accented Latin, Greek, Cyrillic, Hebrew, Arabic, …: 2 characters per token
	weightIdeograph   = 12 // CJK, kana, Hangul and all else from U+0900
	weightAstral      = 24 // emoji and rare scripts
)

const (
	// tokensPerMessage is the number of tokens for the role and the end of each message. OpenAI's cookbook says 3 or 4
	// (https://github.com/openai/openai-cookbook, How_to_count_tokens_with_tiktoken.ipynb).
	tokensPerMessage = 4
	// tokensPerImage is about how many tokens an image costs after the provider has scaled it down. OpenAI counts 765 tokens for
	// 1024×1024 pixels (https://platform.openai.com/docs/guides/images-vision), Anthropic up to 1,600
	// (https://docs.claude.com/en/docs/build-with-claude/vision).
	tokensPerImage = 1000
	// tokensPerFile and bytesPerToken estimate what a file costs. A provider makes an image of each page, and also reads the
	// text (https://platform.openai.com/docs/guides/pdf-files). A scanned page takes about 100 KB.
	tokensPerFile = 1000
	bytesPerToken = 100 // bytes of a file that count as one token
)

// EstimateTokens estimates how many tokens s has: 0 for an empty text, else at least 1. EstimateTokens allocates no memory.
func EstimateTokens(s string) int {
	var c TokenCounter
	c.Add(s)
	return c.Tokens()
}

// TokenCounter estimates the tokens of a text that arrives in pieces. The estimate does not depend on how the text is cut into
// pieces, as long as no character is cut in two. A zero TokenCounter has counted nothing.
type TokenCounter struct{ weight int }

// Add adds the text s to the estimate.
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

// tokens estimates the tokens of a message, including its overhead.
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

// tokens estimates the tokens of the request's prompt.
func (r Request) tokens() int {
	sum := EstimateTokens(r.System) + tokensPerMessage + toolTokens(r.Tools)
	for _, m := range r.Messages {
		sum += m.tokens()
	}
	return sum
}

// toolTokens estimates the tokens of the definitions of tools.
func toolTokens(tools []ToolSpec) int {
	sum := 0
	for _, t := range tools {
		sum += EstimateTokens(t.Name) + EstimateTokens(t.Description) + EstimateTokens(string(t.Parameters)) + tokensPerMessage
	}
	return sum
}

// leftOutTokens is about the size of the note that shorten puts in place of removed text.
const leftOutTokens = 16

// shorten cuts a text to at most maxTokens by estimate. shorten keeps the beginning of the text, and half as much of its end.
// Between these two parts, shorten puts a note about the missing text, even if the note alone has more than maxTokens.
func shorten(text string, maxTokens int) string {
	if EstimateTokens(text) <= maxTokens {
		return text
	}
	room := max(0, maxTokens-leftOutTokens) * weightUnit
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
