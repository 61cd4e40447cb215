package agent

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
