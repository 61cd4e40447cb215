package ui

import (
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/clipperhouse/uax29/v2/graphemes"

	"telex/platforms/terminal"
)

// editor is the line in which the person types.
type editor struct {
	text  string
	at    int      // offset of the cursor, in bytes
	past  []string // earlier inputs, oldest first
	back  int      // how many inputs the person went back in the field past; 0: text is a new input
	draft string   // the new input, while the editor shows an earlier input
}

// insert inserts the text s, which may be pasted and have many lines, at the cursor.
func (e *editor) insert(s string) {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\t", "    ").Replace(s)
	s = terminal.Clean(s)
	e.text = e.text[:e.at] + s + e.text[e.at:]
	e.at += len(s)
}

// complete completes the name of a command in the input as far as the name is unambiguous. If complete can't add a
// letter, it returns the names of the commands that are possible.
func (e *editor) complete(names []string) string {
	begun, ok := strings.CutPrefix(e.text[:e.at], "/")
	if !ok || e.at < len(e.text) || strings.ContainsAny(begun, " \n") {
		return ""
	}
	var possible []string
	for _, n := range names {
		if strings.HasPrefix(n, begun) {
			possible = append(possible, n)
		}
	}
	if len(possible) == 0 {
		return ""
	}
	if len(possible) == 1 {
		e.insert(possible[0][len(begun):] + " ")
		return ""
	}
	same := possible[0]
	for _, n := range possible[1:] {
		for !strings.HasPrefix(n, same) {
			same = same[:len(same)-1]
		}
	}
	if same != begun {
		e.insert(same[len(begun):])
		return ""
	}
	return "/" + strings.Join(possible, " /")
}

// The method set replaces the text of the editor, and moves the cursor to the end.
func (e *editor) set(s string) { e.text, e.at = s, len(s) }

// The method take returns the text of the editor, adds the text to past, and clears the editor.
func (e *editor) take() string {
	text := e.text
	if n := len(e.past); n == 0 || e.past[n-1] != text {
		e.past = append(e.past, text)
	}
	e.set("")
	e.back, e.draft = 0, ""
	return text
}

// The method before returns the offset at which the character before the cursor starts.
func (e *editor) before() int {
	from, to := 0, 0
	for g := graphemes.FromString(e.text[:e.at]); g.Next(); {
		from, to = to, to+len(g.Value())
	}
	return from
}

// The method after returns the offset at which the character at the cursor ends.
func (e *editor) after() int {
	g := graphemes.FromString(e.text[e.at:])
	if !g.Next() {
		return e.at
	}
	return e.at + len(g.Value())
}

// cut removes the text between two offsets.
func (e *editor) cut(from, to int) { e.text, e.at = e.text[:from]+e.text[to:], from }

// lineStart returns the start of the line that contains the cursor, and lineEnd returns the end of that line.
func (e *editor) lineStart() int { return strings.LastIndexByte(e.text[:e.at], '\n') + 1 }

func (e *editor) lineEnd() int {
	if n := strings.IndexByte(e.text[e.at:], '\n'); n >= 0 {
		return e.at + n
	}
	return len(e.text)
}

// wordStart returns the start of the word before the cursor.
func (e *editor) wordStart() int {
	head := strings.TrimRightFunc(e.text[:e.at], unicode.IsSpace)
	return strings.LastIndexFunc(head, unicode.IsSpace) + 1
}

// up moves the cursor one line up. If the cursor is in the first line, up shows the previous input instead.
func (e *editor) up() {
	if start := e.lineStart(); start > 0 {
		e.at = start - 1
		return
	}
	if e.back < len(e.past) {
		e.recall(e.back + 1)
	}
}

// down moves the cursor one line down. If the cursor is in the last line, down shows the next input instead.
func (e *editor) down() {
	if end := e.lineEnd(); end < len(e.text) {
		e.at = end + 1
		return
	}
	if e.back > 0 {
		e.recall(e.back - 1)
	}
}

// recall shows an earlier input. The parameter back is the number of the shown input, counted back from the newest
// input. If back is 0, recall shows the new input again.
func (e *editor) recall(back int) {
	if e.back == 0 {
		e.draft = e.text
	}
	if e.back = back; back == 0 {
		e.set(e.draft)
	} else {
		e.set(e.past[len(e.past)-back])
	}
}

// view returns the visible rows of the text, and the position of the cursor in these rows. view returns at most as many
// rows as the parameter most allows.
func (e *editor) view(width, most int) (rows []string, x, y int) {
	room := max(1, width-len(prompt)-1) // the width minus a cell for the cursor after the text
	for line := range strings.SplitSeq(e.text, "\n") {
		rows = append(rows, strings.Split(ansi.Hardwrap(line, room, true), "\n")...)
	}
	head := strings.Split(e.text[:e.at], "\n")
	for _, line := range head[:len(head)-1] {
		y += len(strings.Split(ansi.Hardwrap(line, room, true), "\n"))
	}
	last := strings.Split(ansi.Hardwrap(head[len(head)-1], room, true), "\n")
	y += len(last) - 1
	x = ansi.StringWidth(last[len(last)-1])
	if from := max(0, min(y-most/2, len(rows)-most)); len(rows) > most {
		rows, y = rows[from:from+most], y-from
	}
	for i := range rows {
		mark := "  "
		if i == 0 {
			mark = prompt
		}
		rows[i] = mark + rows[i]
	}
	return rows, x + len(prompt), y
}
