package sim

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"telex/internal/chat"
)

// judgeVersion checks that the new content of a message is well-formed (D7).
func (w *world) judgeVersion(m *message) {
	w.judgeText(m.now().Outgoing)
	w.look(m)
	if n := len(m.versions); n > 1 {
		old := m.versions[n-2]
		if old.Preview && m.live && !strings.HasPrefix(m.text(), old.Text) {
			w.complain("D13: a stream changes from %q to %q", old.Text, m.text())
		}
	}
}

// judgeDraft checks that the content of a draft is well-formed.
func (w *world) judgeDraft(m chat.Outgoing) { w.judgeText(m) }

func (w *world) judgeText(m chat.Outgoing) {
	if slices.ContainsFunc(m.Spans, func(s chat.Span) bool { return s.Kind == "rich" }) {
		w.counts.add("rich messages", 1)
	}
	text := strings.TrimSuffix(m.Text, w.s.config.Cursor)
	if !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
		w.complain("D7: broken text %q", text)
	}
	text, note, _ := strings.Cut(text, "\n\n⚠️")
	if bad := brokenGrapheme(text + note); bad != "" {
		w.complain("D7: %s in %q", bad, text)
	}
	if w.s.style == formed && strings.ContainsAny(strings.ReplaceAll(text, "_", ""), "*`~#") {
		w.complain("D7: raw marks in %q", text)
	}
	for _, marks := range []string{"~~~~", "****", "````"} {
		if strings.Contains(text, marks) {
			w.complain("D7: marks that nobody wrote in %q", text)
		}
	}
	if w.s.style != nasty && strings.Contains(text, "late ") {
		w.complain("F37: late text is shown: %q", text)
	}
	if w.s.measure == entities || w.s.measure == blocks {
		for _, bad := range badSpans(m) {
			w.complain("D7: %s", bad)
		}
	} else if len(m.Spans) > 0 {
		w.complain("D7: spans in a dialect without them: %v", m.Spans)
	}
	if strings.Count(m.Text, "▌") > 1 || !m.Preview && strings.Contains(m.Text, "▌") {
		w.complain("a cursor where none may be: %q", m.Text)
	}
}

// brokenGrapheme returns the part of a split grapheme that a text contains, if any.
func brokenGrapheme(text string) string {
	for _, whole := range []string{"👨‍👩‍👧", "é̂", "🇩🇪"} {
		text = strings.ReplaceAll(text, whole, " ")
	}
	for _, r := range text {
		switch {
		case r == 0x200D, r >= 0x300 && r < 0x370, r >= 0x1F1E6 && r <= 0x1F1FF, strings.ContainsRune("👨👩👧é", r):
			return fmt.Sprintf("a piece %U of a grapheme", r)
		}
	}
	return ""
}

// badSpans returns the errors in the spans of a message for which a strict platform would refuse the message.
func badSpans(m chat.Outgoing) (wrong []string) {
	text := utf16.Encode([]rune(m.Text))
	for i, sp := range m.Spans {
		end := sp.Offset + sp.Length
		if sp.Offset < 0 || sp.Length <= 0 || end > len(text) {
			wrong = append(wrong, fmt.Sprintf("%+v is outside of %q", sp, m.Text))
			continue
		}
		for _, at := range []int{sp.Offset, end} {
			if at < len(text) && text[at] >= 0xDC00 && text[at] < 0xE000 {
				wrong = append(wrong, fmt.Sprintf("%+v cuts a character of %q", sp, m.Text))
			}
		}
		for _, o := range m.Spans[:i] {
			if oEnd := o.Offset + o.Length; oEnd > sp.Offset && oEnd < end && o.Offset < sp.Offset {
				wrong = append(wrong, fmt.Sprintf("%+v overlaps %+v in %q", sp, o, m.Text))
			}
		}
	}
	return wrong
}
