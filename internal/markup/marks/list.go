package marks

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxDepth  = 11          // maximum nesting of lists on Discord; Slack's is unknown
	maxNumber = 999_999_999 // the largest number that is known to work in a list
	bullets   = "•◦▪"       // markers of items in lists without numbers, but not the boxes of tasks
)

// listed is a list. The field number is the number of the list's last item, or 0 for a list with bullets. The field
// column is the column at which the text of the list's last item begins.
type listed struct{ number, column int }

// item writes the Markdown marker of a list item if the platform then shows the item as it was laid out. If the
// platform would show the item differently, item writes the marker as text. item returns the offset of the text after
// the marker.
//
// Discord nests a list item according to its indentation. Discord does not nest a list item if a blank line, a code
// block or an unindented line is between the item and its parent item. Discord numbers the items of a list
// consecutively. CommonMark nests an item in its parent item if the item is indented as far as the parent item's text
// (https://spec.commonmark.org/0.31.2/#list-items).
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
	case len(w.listed) == level: // the item continues an open list
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

// nested does the work of item for platforms that follow CommonMark. Some platforms may not support lists that begin
// with a number other than 1, so nested writes the markers of such a list as text. A line that belongs to no list ends
// all lists; see unlist.
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
	if !ok || indent < column || indent > column+3 { // CommonMark reads a more deeply indented line as code
		w.items = w.items[1:]
		return w.plainItem(f.Start)
	}
	w.listed = lists
	now.column = indent + utf8.RuneCountInString(w.text[f.Start:f.End]) + 1
	return w.listItem(f, now)
}

// listItem writes the marker of the list item f. The parameter now is the list to which the item belongs.
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

// plainItem writes the first character of a list item's marker as text.
func (w *writer) plainItem(i int) int {
	_, size := utf8.DecodeRuneInString(w.text[i:])
	return w.char(i, size)
}

// mark returns the list that an item's marker begins or continues. mark returns false if no text follows the marker in
// its line, or if the marker can't be written as a list marker.
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

// unlist removes the lists that end in the white space gap before the offset i, and reports whether there are any.
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

// indent returns the indentation of the line that begins at the offset i. Up to the column at which the text of the
// list item begins, the indentation consists of spaces. Indentation beyond this column consists of no-break spaces,
// because CommonMark drops ordinary spaces.
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

// spaces returns the number of spaces in the last line of the white space gap, or 0 if gap has no line break.
func spaces(gap string) int {
	line := gap[strings.LastIndexByte(gap, '\n')+1:]
	if len(line) == len(gap) {
		return 0
	}
	return len(line) - len(strings.TrimLeft(line, " "))
}
