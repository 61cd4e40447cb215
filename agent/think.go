package agent

import (
	"strings"
)

// thinkFilter separates a model's thinking from its text, for servers that leave the thinking in the text as
// <think>…</think>. The text may arrive in pieces of any length. If a piece ends with a possible beginning of a tag,
// thinkFilter holds this beginning back until the next piece arrives. thinkFilter ignores the case of tags.
//
// thinkFilter recognizes tags only at places where models write them. So an answer about HTML or about models keeps its text:
//   - An opening tag is recognized at the start of a line (after white space) and right after
//     a closing tag, but never inside code.
//   - Inside thinking, the first closing tag ends the thinking. Opening tags inside thinking do not nest, because some models
//     repeat the opening tag of their prompt template and close it only once.
//   - A closing tag outside thinking turns all text before it into thinking in three cases: if there was no thinking before
//     (the prompt template contained the opening tag), if the thinking before contained opening tags that are not closed yet,
//     or if the closing tag starts a line. Inside code, a closing tag never turns text into thinking.
//   - Thinking that is not closed extends to the end of the text.
//
// thinkFilter removes white space before the first word of the text.
type thinkFilter struct {
	openTags, closeTags []string // tags in lower case
	held                string   // a possible beginning of a tag

	thinking      bool
	hadThinking   bool // the filter has already found thinking
	nestedOpen    int  // opening tags inside thinking that are not closed yet
	textBegan     bool // text other than white space has been added
	afterCloseTag bool // only white space since a closing tag
	code          codeState

	// text, reasoning and void are the results of the current call of write.
	text, reasoning, void strings.Builder
	reset                 bool
}

// thinkParts is a piece of the model's output, separated into text and thinking.
type thinkParts struct {
	reset     bool   // all text before this piece turned out to be thinking
	void      string // text of this piece that turned out to be thinking, too
	reasoning string
	text      string
}

func newThinkFilter(tags []string) *thinkFilter {
	f := &thinkFilter{}
	for _, t := range tags {
		t = strings.ToLower(t)
		f.openTags = append(f.openTags, "<"+t+">")
		f.closeTags = append(f.closeTags, "</"+t+">")
	}
	return f
}

// write reads the next piece of the model's output.
func (f *thinkFilter) write(piece string) thinkParts {
	rest := piece
	if f.held != "" {
		rest, f.held = f.held+piece, ""
	}
	for rest != "" {
		n := strings.IndexByte(rest, '<')
		if n < 0 {
			n = len(rest)
		}
		f.writePlain(rest[:n])
		rest = rest[n:]
		if rest == "" {
			break
		}
		tag, isOpen, partial := f.match(rest)
		switch {
		case partial:
			f.held, rest = rest, ""
		case tag > 0 && f.handleTag(isOpen):
			rest = rest[tag:]
		default:
			f.writePlain(rest[:1])
			rest = rest[1:]
		}
	}
	return f.flush()
}

// close ends the text. If the text ends with a possible beginning of a tag, that beginning becomes text.
func (f *thinkFilter) close() thinkParts {
	held := f.held
	f.held = ""
	f.writePlain(held)
	return f.flush()
}

func (f *thinkFilter) flush() thinkParts {
	p := thinkParts{reset: f.reset, void: f.void.String(), reasoning: f.reasoning.String(), text: f.text.String()}
	f.reset = false
	f.void.Reset()
	f.reasoning.Reset()
	f.text.Reset()
	return p
}

// match looks for a tag at the start of s. partial says that s may be the beginning of a tag.
func (f *thinkFilter) match(s string) (n int, isOpen, partial bool) {
	for i, tags := range [][]string{f.openTags, f.closeTags} {
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

// equalFoldASCII compares two texts without regard to the case of ASCII letters; lower is in lower case. strings.EqualFold
// would also accept the Kelvin sign as a k.
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

// handleTag processes a tag that was just read. handleTag returns false if the tag is ordinary text at this place.
func (f *thinkFilter) handleTag(isOpen bool) bool {
	switch {
	case f.thinking && isOpen:
		f.nestedOpen++
		return false // the tag stays in the thinking
	case f.thinking:
		f.endThinking()
		return true
	case isOpen:
		if !f.afterCloseTag && !f.code.lineStart() || f.code.inside() {
			return false
		}
		f.thinking, f.hadThinking = true, true
		return true
	default:
		if f.code.inside() || f.hadThinking && f.nestedOpen == 0 && !f.code.lineStart() {
			return false
		}
		f.nestedOpen = max(f.nestedOpen-1, 0)
		f.voidText()
		f.endThinking()
		return true
	}
}

func (f *thinkFilter) endThinking() {
	f.thinking, f.hadThinking, f.afterCloseTag = false, true, true
	f.code.newLine()
}

// voidText declares all text so far to be thinking.
func (f *thinkFilter) voidText() {
	f.reset = true
	f.void.WriteString(f.text.String())
	f.text.Reset()
	f.textBegan = false
	f.code = codeState{}
}

// writePlain adds a piece that contains no tag.
func (f *thinkFilter) writePlain(s string) {
	if s == "" {
		return
	}
	if f.thinking {
		f.reasoning.WriteString(s)
		return
	}
	if !f.textBegan {
		// Trimming also removes the indentation of the first line.
		s = strings.TrimLeft(s, whiteSpace)
		if s == "" {
			return
		}
		f.textBegan = true
	}
	if f.afterCloseTag && strings.Trim(s, whiteSpace) != "" {
		f.afterCloseTag = false
	}
	f.code.read(s)
	f.text.WriteString(s)
}

// whiteSpace lists the characters that are trimmed from a model's text.
const whiteSpace = " \t\r\n"
