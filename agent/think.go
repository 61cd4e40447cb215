package agent

import (
	"strings"
)

// thinkFilter parts a model's text into what it says and what it thinks, for models whose
// server leaves the thinking in the text as <think>…</think>. It reads the text in any pieces
// and holds back what may still become a tag. Tags are compared without regard to case.
//
// A tag is only a tag where a model puts it, so that an answer about HTML or about models
// keeps its text:
//   - An opening tag counts at the start of a line (after white space) and right after a
//     closing tag, never inside code.
//   - Inside thinking every closing tag ends it; opening tags there do not nest, because models
//     repeat the tag that their template wrote and close it once.
//   - A closing tag in the text means that everything before it was thinking: when no thinking
//     came before (the template wrote the opening tag), when the thinking held opening tags of
//     its own that are still to be closed, or when it starts a line. Never inside code.
//   - Thinking that is not closed goes on to the end.
//
// White space before the first word of the text is dropped.
type thinkFilter struct {
	open, closing []string // tags in lower case
	held          string   // the beginning of what may be a tag

	thinking bool
	seen     bool // there was thinking
	nested   int  // opening tags inside thinking that are not closed yet
	begun    bool // the text has begun
	afterTag bool // only white space since a closing tag
	code     codeState

	// What the current write brought.
	text, reasoning, void strings.Builder
	reset                 bool
}

// parted is what a piece of the model's text turned out to be.
type parted struct {
	reset     bool   // all text before this piece was thinking
	void      string // and so was this, of the piece itself
	reasoning string
	text      string
}

func newThinkFilter(tags []string) *thinkFilter {
	f := &thinkFilter{}
	for _, t := range tags {
		t = strings.ToLower(t)
		f.open = append(f.open, "<"+t+">")
		f.closing = append(f.closing, "</"+t+">")
	}
	return f
}

// write takes the next piece.
func (f *thinkFilter) write(piece string) parted {
	rest := piece
	if f.held != "" {
		rest, f.held = f.held+piece, ""
	}
	for rest != "" {
		n := strings.IndexByte(rest, '<')
		if n < 0 {
			n = len(rest)
		}
		f.plain(rest[:n])
		rest = rest[n:]
		if rest == "" {
			break
		}
		tag, isOpen, partial := f.match(rest)
		switch {
		case partial:
			f.held, rest = rest, ""
		case tag > 0 && f.take(isOpen):
			rest = rest[tag:]
		default:
			f.plain(rest[:1])
			rest = rest[1:]
		}
	}
	return f.flush()
}

// close takes the end of the text: what was held back was no tag.
func (f *thinkFilter) close() parted {
	held := f.held
	f.held = ""
	f.plain(held)
	return f.flush()
}

func (f *thinkFilter) flush() parted {
	p := parted{reset: f.reset, void: f.void.String(), reasoning: f.reasoning.String(), text: f.text.String()}
	f.reset = false
	f.void.Reset()
	f.reasoning.Reset()
	f.text.Reset()
	return p
}

// match looks for a tag at the start of s. partial says that s may be the beginning of one.
func (f *thinkFilter) match(s string) (n int, isOpen, partial bool) {
	for i, tags := range [][]string{f.open, f.closing} {
		for _, tag := range tags {
			switch {
			case len(s) >= len(tag):
				if equalFoldASCII(s[:len(tag)], tag) {
					return len(tag), i == 0, false
				}
			case equalFoldASCII(s, tag[:len(s)]):
				partial = true
			}
		}
	}
	return 0, false, partial
}

// equalFoldASCII compares without regard to the case of ASCII letters; lower is in lower case.
// strings.EqualFold would also take the Kelvin sign for a k.
func equalFoldASCII(s, lower string) bool {
	for i := range len(lower) {
		c := s[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// take acts on a tag. It returns false if the tag has no meaning at this place.
func (f *thinkFilter) take(isOpen bool) bool {
	switch {
	case f.thinking && isOpen:
		f.nested++
		return false // the thinking keeps its words
	case f.thinking:
		f.endThinking()
		return true
	case isOpen:
		if !f.afterTag && !f.code.lineStart() || f.code.inside() {
			return false
		}
		f.thinking, f.seen = true, true
		return true
	default:
		if f.code.inside() || f.seen && f.nested == 0 && !f.code.lineStart() {
			return false
		}
		f.nested = max(f.nested-1, 0)
		f.voidText()
		f.endThinking()
		return true
	}
}

func (f *thinkFilter) endThinking() {
	f.thinking, f.seen, f.afterTag = false, true, true
	f.code.newLine()
}

// voidText turns all text so far into thinking.
func (f *thinkFilter) voidText() {
	f.reset = true
	f.void.WriteString(f.text.String())
	f.text.Reset()
	f.begun = false
	f.code = codeState{}
}

// plain takes what is certainly no tag.
func (f *thinkFilter) plain(s string) {
	if s == "" {
		return
	}
	if f.thinking {
		f.reasoning.WriteString(s)
		return
	}
	if !f.begun {
		// Spaces that indent the first line go with the rest of the white space.
		s = strings.TrimLeft(s, whiteSpace)
		if s == "" {
			return
		}
		f.begun = true
	}
	if f.afterTag && strings.Trim(s, whiteSpace) != "" {
		f.afterTag = false
	}
	f.code.read(s)
	f.text.WriteString(s)
}

// whiteSpace is what counts as empty in a model's text.
const whiteSpace = " \t\r\n"
