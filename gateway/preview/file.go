package preview

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"telex/internal/chat"
	"telex/internal/markup"
)

// maxName is the maximum length of a file name in a line of text, in characters.
const maxName = 60

// fileOf returns the file that is part i of the final, or nil if the part is text.
func (s *state) fileOf(i int) *chat.File {
	switch n := i - s.filesAt; {
	case s.restFile != nil && i == s.restAt:
		return s.restFile
	case n >= 0 && n < len(s.files):
		return &s.files[n]
	}
	return nil
}

// layoutNote returns the parts below the text, which show the ending's note and the names of files that can't be sent.
// The parameter at is the index of the first of these parts. layoutNote sets s.files to the files that can be sent.
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
	if s.noteText = source; len(left) > 0 && s.cfg.FilesLine != "" {
		s.noteText = below(s.noteText, strings.ReplaceAll(s.cfg.FilesLine, "{files}", strings.Join(left, ", ")))
		source = below(source, strings.ReplaceAll(s.cfg.FilesLine, "{files}", strings.Join(escaped, ", ")))
	}
	return s.layoutBelow(at, source)
}

// layoutBelow divides text, which follows the answer, into parts. The parameter at is the index of the first of these
// parts. Parts that an earlier process sent are cut at the same places as before.
func (s *state) layoutBelow(at int, text string) []markup.Part {
	o := markup.Options{Dialect: s.dialect, Limit: s.limit}
	return layoutBehind(layoutCuts(s.cuts[min(at, len(s.cuts)):], text, o), text, o)
}

// below returns text and line as two paragraphs, or only line if text is empty.
func below(text, line string) string { return strings.TrimLeft(text+"\n\n"+line, "\n") }

// shortName returns a file's name as one line without unprintable characters, with at most maxName characters.
func shortName(name string) string {
	name = strings.Join(strings.FieldsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	return clip(name, func(s string) bool { return utf8.RuneCountInString(s) <= maxName })
}

// escape returns Markdown that shows text literally.
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
