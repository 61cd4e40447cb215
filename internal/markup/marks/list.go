package marks

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxDepth  = 11          // how deeply Discord nests lists
	maxNumber = 999_999_999 // how far it numbers for certain
	bullets   = "•◦▪"       // the marks of lists without numbers, as laid out; the boxes of tasks are none
)

// listed is a list on Discord: the number of its last item, or 0 if it has bullets.
type listed struct{ number int }

// item writes the mark of a list's item, if Discord shows the item as it is laid out, and returns where the text goes on.
// Other marks are text like any other.
//
// Discord nests an item by its indentation, as long as no blank line, no code block and no line without indentation came
// since the item that it belongs to. It numbers the items of a list one after the other.
func (w *writer) item(i int) int {
	f := w.items[0]
	if f.Start < i {
		w.items = w.items[1:]
		return i
	}
	gap := w.text[w.done:i]
	w.unlist(gap, i)
	level := f.Level
	w.listed = w.listed[:min(len(w.listed), level)]
	now, ok := w.mark(f)
	switch {
	case !ok, level > maxDepth, len(w.listed) < level-1, level == 1 && strings.HasSuffix(gap, " "):
		ok = false
	case len(w.listed) == level: // it continues a list
		last := w.listed[level-1]
		ok = now.number == 0 && last.number == 0 || last.number > 0 && now.number == last.number+1
	}
	if !ok {
		w.items = w.items[1:]
		w.listed = w.listed[:min(len(w.listed), level-1)]
		return w.plainItem(i)
	}
	w.arrive(i, nil)
	w.items = w.items[1:]
	w.listed = append(w.listed[:level-1], now)
	if now.number > 0 {
		w.out = append(strconv.AppendInt(w.out, int64(now.number), 10), '.')
	} else {
		w.out = append(w.out, '-')
	}
	w.start, w.line, w.done = false, f.End+1, f.End
	return f.End
}

// plainItem writes the first character of a mark as text.
func (w *writer) plainItem(i int) int {
	_, size := utf8.DecodeRuneInString(w.text[i:])
	return w.char(i, size)
}

// mark returns what list the mark of an item makes, and false if it makes none: it needs something behind it in its line.
func (w *writer) mark(f format) (listed, bool) {
	text := w.text[f.Start:f.End]
	if f.End+1 >= len(w.text) || w.text[f.End] != ' ' || len(w.blocks) > 0 && w.blocks[0].Start == f.End+1 {
		return listed{}, false
	}
	if r, _ := utf8.DecodeRuneInString(w.text[f.End+1:]); unicode.IsSpace(r) {
		return listed{}, false
	}
	if digits, ordered := strings.CutSuffix(text, "."); ordered {
		n, err := strconv.Atoi(digits)
		return listed{n}, err == nil && n > 0 && n <= maxNumber && digits[0] != '0'
	}
	r, size := utf8.DecodeRuneInString(text)
	return listed{}, size == len(text) && strings.ContainsRune(bullets, r)
}

// unlist notes that lists end with the white space in front of i.
func (w *writer) unlist(gap string, i int) {
	breaks := strings.Count(gap, "\n")
	switch {
	case len(w.listed) == 0 || breaks == 0:
	case breaks > 1, w.quoteAt(i) != w.quote:
		w.listed = nil
	case strings.HasSuffix(gap, "\n") && (len(w.items) == 0 || w.items[0].Start != i):
		w.listed = nil
	}
}
