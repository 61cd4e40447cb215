package gateway

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	maxThought = 2 << 10 // bytes of thinking that are kept; the visible part is near the end
	shownOf    = 160     // maximum number of visible characters
)

// thought is the part of the model's thoughts that people see: the newest heading, or the newest complete
// sentence.
type thought struct {
	tail  string
	shown string
	since time.Time // time of the first thought
}

// add appends a piece of thinking, and reports whether the visible part changed.
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
	if !strings.ContainsAny(delta, "\n.!?。！？…*:") { // no heading or sentence can have ended
		return false
	}
	shown := gist(t.tail)
	changed := shown != "" && shown != t.shown
	if changed {
		t.shown = shown
	}
	return changed
}

// gist returns the newest heading of a model's thoughts: providers that summarize thoughts write headings in
// bold on their own line. Without a heading, it returns the newest complete sentence or line.
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

// lastEnd returns the end of the last complete sentence or line of a text; 0 if there is none.
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
