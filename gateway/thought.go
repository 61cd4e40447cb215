package gateway

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	maxThought = 2 << 10 // number of bytes that are kept of the model's thoughts; people see a part near the end
	shownOf    = 160     // maximum length of the visible part, in characters
)

// thought holds the newest thoughts of the model and the part that people see: the newest heading, or the newest
// complete sentence.
type thought struct {
	tail  string
	shown string
	since time.Time // time of the first thought
}

// add appends a piece of the model's thoughts, and reports whether the visible part has changed.
func (t *thought) add(delta string, now time.Time) bool {
	if t.since.IsZero() {
		t.since = now
	}
	t.tail += delta
	if n := len(t.tail) - maxThought; n > 0 {
		if space := strings.IndexAny(t.tail[n:], " \n"); space >= 0 {
			n += space
		}
		t.tail = strings.ToValidUTF8(t.tail[n:], "")
	}
	if !strings.ContainsAny(delta, "\n.!?。！？…*:") { // this piece ends no heading and no sentence
		return false
	}
	shown := gist(t.tail)
	changed := shown != "" && shown != t.shown
	if changed {
		t.shown = shown
	}
	return changed
}

// gist returns the newest heading in a model's thoughts. Providers that summarize thoughts write each heading in bold
// on its own line. If there is no heading, gist returns the newest complete sentence or line.
func gist(tail string) string {
	lines := strings.Split(tail, "\n")
	for i, line := range slices.Backward(lines) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "**"); ok && i < len(lines)-1 {
			if title, ok = strings.CutSuffix(title, "**"); ok && title != "" && !strings.Contains(title, "**") {
				return clipTo(title, shownOf)
			}
		}
	}
	whole := tail[:lastEnd(tail)]
	sentence := whole
	if end := lastEnd(strings.TrimRight(whole, " \t\n.!?。！？…")); end > 0 {
		sentence = whole[end:]
	}
	if !strings.ContainsFunc(sentence, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) }) {
		return ""
	}
	return clipTo(sentence, shownOf)
}

// lastEnd returns the index at which the last complete sentence or line of a text ends, or 0 if none is complete.
func lastEnd(text string) int {
	for i := len(text); i > 0; {
		c, size := utf8.DecodeLastRuneInString(text[:i])
		next, _ := utf8.DecodeRuneInString(text[i:])
		switch {
		case c == '\n', strings.ContainsRune("。！？", c):
			return i
		case strings.ContainsRune(".!?…", c) && (next == ' ' || next == '\n'):
			return i
		}
		i -= size
	}
	return 0
}
