package preview

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"telex/internal/chat"
	"telex/internal/markup"
)

// maxName is how much of a file's name stands in a line, in characters.
const maxName = 60

// fileOf returns the file that part i of the final is; nil when it is text.
func (s *state) fileOf(i int) *chat.File {
	switch n := i - s.filesAt; {
	case s.rest != nil && i == s.restAt:
		return s.rest
	case n >= 0 && n < len(s.files):
		return &s.files[n]
	}
	return nil
}

// layoutNote returns what stands below the text from part at on: the ending's note, and which files can't be sent. What can
// is in files from now on.
func (s *state) layoutNote(at int) []markup.Part {
	var left, escaped []string
	s.files = nil
	for _, f := range s.ending.Files {
		if s.can(chat.OpFile) && (s.fileLimit <= 0 || int64(len(f.Content)) <= s.fileLimit) {
			s.files = append(s.files, f)
			continue
		}
		name := shortName(f.Name)
		left, escaped = append(left, name), append(escaped, escape(name))
	}
	source := s.ending.Note
	if s.remark = source; len(left) > 0 && s.cfg.FilesLine != "" {
		s.remark = below(s.remark, strings.ReplaceAll(s.cfg.FilesLine, "{files}", strings.Join(left, ", ")))
		source = below(source, strings.ReplaceAll(s.cfg.FilesLine, "{files}", strings.Join(escaped, ", ")))
	}
	return s.layoutBelow(at, source)
}

// layoutBelow returns the parts of a text that begins with part at. Those that stand already are cut as they were.
func (s *state) layoutBelow(at int, text string) []markup.Part {
	o := markup.Options{Dialect: s.dialect, Limit: s.limit}
	return layoutBehind(layoutCuts(s.cuts[min(at, len(s.cuts)):], text, o), text, o)
}

// below returns two paragraphs, or the second alone.
func below(text, line string) string { return strings.TrimLeft(text+"\n\n"+line, "\n") }

// shortName returns a file's name as it can stand in a line.
func shortName(name string) string {
	name = strings.Join(strings.FieldsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	return clip(name, func(s string) bool { return utf8.RuneCountInString(s) <= maxName })
}

// escape returns Markdown that shows text as it is.
func escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < utf8.RuneSelf && (unicode.IsPunct(r) || unicode.IsSymbol(r)) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
