package marks

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxDepth  = 11          // how deeply Discord nests lists; Slack does not say
	maxNumber = 999_999_999 // how far it numbers for certain
	bullets   = "•◦▪"       // the marks of lists without numbers, as laid out; the boxes of tasks are none
)

// listed is a list: the number of its last item, or 0 if it has bullets, and the column where that item's text begins.
type listed struct{ number, column int }

// item writes the mark of a list's item, if the platform shows the item as it is laid out, and returns where the text goes on.
// Other marks are text like any other.
//
// Discord nests an item by its indentation, as long as no blank line, no code block and no line without indentation came
// since the item that it belongs to. It numbers the items of a list one after the other. CommonMark nests whatever is
// indented as far as the text of an item (https://spec.commonmark.org/0.31.2/#list-items).
func (w *writer) item(i int) int {
	f := w.items[0]
	if f.Start < i {
		w.items = w.items[1:]
		return i
	}
	gap := w.text[w.done:i]
	w.unlist(gap, i)
	level := f.Level
	if w.rules.CommonMark {
		return w.nested(f, gap)
	}
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
	return w.listItem(f, now)
}

// nested is item for CommonMark. Not every reader of it is known to begin a list with another number than 1, so that such
// numbers are text, and with them the rest of their list. Text ends the lists that it is not in, see unlist.
func (w *writer) nested(f format, gap string) int {
	lists := w.listed[:min(len(w.listed), f.Level)]
	now, ok := w.mark(f)
	ok = ok && f.Level <= maxDepth && len(lists) >= f.Level-1 && (len(w.out) == 0 || strings.Contains(gap, "\n"))
	column := 0
	if ok && len(lists) == f.Level && (lists[f.Level-1].number > 0) == (now.number > 0) {
		ok = now.number == 0 || now.number == lists[f.Level-1].number+1
	} else {
		ok = ok && now.number <= 1
	}
	if ok && f.Level > 1 {
		column = lists[f.Level-2].column
	}
	indent := spaces(gap)
	if !ok || indent < column || indent > column+3 { // beyond that it would be code
		w.items = w.items[1:]
		return w.plainItem(f.Start)
	}
	w.listed = lists
	now.column = indent + utf8.RuneCountInString(w.text[f.Start:f.End]) + 1
	return w.listItem(f, now)
}

// listItem writes the mark of an item of the list now.
func (w *writer) listItem(f format, now listed) int {
	w.arrive(f.Start, nil)
	w.items = w.items[1:]
	w.listed = append(w.listed[:f.Level-1], now)
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
		return listed{number: n}, err == nil && n > 0 && n <= maxNumber && digits[0] != '0'
	}
	r, size := utf8.DecodeRuneInString(text)
	return listed{}, size == len(text) && strings.ContainsRune(bullets, r)
}

// unlist notes that lists end with the white space in front of i, and reports whether there are any such lists.
func (w *writer) unlist(gap string, i int) bool {
	breaks, before := strings.Count(gap, "\n"), len(w.listed)
	switch {
	case before == 0 || breaks == 0:
	case w.quoteAt(i) != w.quote, breaks > 1 && !w.rules.CommonMark:
		w.listed = nil
	case len(w.items) > 0 && w.items[0].Start == i:
	case w.rules.CommonMark:
		indent := spaces(gap)
		for n := len(w.listed); n > 0 && w.listed[n-1].column > indent; n-- {
			w.listed = w.listed[:n-1]
		}
	case strings.HasSuffix(gap, "\n"):
		w.listed = nil
	}
	return len(w.listed) < before
}

// indent returns the indentation of the line at i: as far as it says which item the line is in, of spaces, beyond that of
// no-break spaces, since CommonMark shows none of the others.
func (w *writer) indent(indent string, i int) string {
	if !w.rules.CommonMark || len(w.items) > 0 && w.items[0].Start == i {
		return indent
	}
	column := 0
	if n := len(w.listed); n > 0 {
		column = min(w.listed[n-1].column, spaces("\n"+indent))
	}
	rest := strings.ReplaceAll(indent[column:], "\t", "    ")
	return indent[:column] + strings.ReplaceAll(rest, " ", "\u00a0")
}

// spaces returns how many spaces the last line of the white space gap has, which is 0 without a line break.
func spaces(gap string) int {
	line := gap[strings.LastIndexByte(gap, '\n')+1:]
	if len(line) == len(gap) {
		return 0
	}
	return len(line) - len(strings.TrimLeft(line, " "))
}
