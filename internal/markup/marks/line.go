package marks

import "strings"

// quoteMark precedes each line of a quote.
const quoteMark = "> "

// space writes the white space gap, which precedes the offset i.
func (w *writer) space(gap string, i int) {
	breaks := strings.Count(gap, "\n")
	if breaks == 0 && !w.fenced {
		w.out = append(w.out, gap...)
		return
	}
	ended := w.unlist(gap, i)
	w.endLine(true)
	if breaks <= 1 && w.rules.CommonMark {
		w.part(i, ended)
	}
	at := w.done
	for n := breaks; n > 1; n-- { // write the blank lines
		at += strings.IndexByte(w.text[at:], '\n') + 1
		w.out = append(w.out, '\n')
		if at += strings.IndexByte(w.text[at:], '\n'); w.quoteAt(at) >= 0 {
			w.out = append(w.out, quoteMark...)
		}
	}
	w.out = append(w.out, '\n')
	w.beginLine(i)
	if len(w.blocks) > 0 && w.blocks[0].Start == i {
		return // don't indent code here, because it has its own indentation
	}
	indent := gap[strings.LastIndexByte(gap, '\n')+1:]
	if w.head < 0 {
		w.out = append(w.out, w.indent(indent, i)...)
	}
}

// part separates the previous line from the line that begins at i, because CommonMark would otherwise join the two
// lines. CommonMark reads a single line break as a space, except if two spaces precede it
// (https://spec.commonmark.org/0.31.2/#hard-line-breaks). A line directly below a quote or a list would become a part
// of the quote or the list (https://spec.commonmark.org/0.31.2/#paragraph-continuation-text). If ended is true, a list
// ended with the previous line.
func (w *writer) part(i int, ended bool) {
	quote := w.quoteAt(i)
	switch {
	case w.tabled: // without a blank line, the next line would become a row of the table
		w.out = append(w.out, '\n')
		if quote == w.quote && quote >= 0 {
			w.out = append(w.out, quoteMark...)
		}
	case w.quote >= 0 && quote != w.quote:
		w.out = append(w.out, '\n')
	case quote != w.quote, w.fenced, w.head >= 0, w.headAt(i) >= 0, len(w.blocks) > 0 && w.blocks[0].Start == i:
		// In this case, the two lines belong to different blocks, so CommonMark does not join them.
	case len(w.items) > 0 && w.items[0].Start == i: // a list item is a block, too
	case ended:
		w.out = append(w.out, '\n')
		if quote >= 0 {
			w.out = append(w.out, quoteMark...)
		}
	default:
		w.out = append(w.out, "  "...)
	}
}

// beginLine writes the markers of a quote and a heading at the start of the line whose first visible character is at i.
func (w *writer) beginLine(i int) {
	w.start, w.line, w.fenced, w.tabled = true, i, false, false
	if w.quote = w.quoteAt(i); w.quote >= 0 {
		w.out = append(w.out, quoteMark...)
	}
	if w.head = w.headAt(i); w.head >= 0 {
		w.out = append(w.out, strings.Repeat("#", w.heads[w.head].Level)+" "...)
	}
}

// endLine writes a joiner after number signs at the end of a heading. Without the joiner, the platform would drop the
// number signs.
func (w *writer) endLine(finished bool) {
	if w.head >= 0 && finished && !w.rules.CommonMark && w.out[len(w.out)-1] == '#' {
		w.out = append(w.out, Joiner...)
	}
}

// quoteAt returns the index of the quote that covers a place, or -1. Each call of quoteAt must pass a later place than
// the call before.
func (w *writer) quoteAt(at int) int { return find(w.quotes, &w.nextQuote, at) }

// headAt returns the index of the heading that covers a place, or -1. Each call of headAt must pass a later place than
// the call before.
func (w *writer) headAt(at int) int { return find(w.heads, &w.nextHead, at) }

func find(list []format, next *int, at int) int {
	for *next < len(list) && list[*next].End <= at {
		*next++
	}
	if *next < len(list) && list[*next].Start <= at {
		return *next
	}
	return -1
}

// finish closes the formats that are still open at the end of the piece, except those that later text may continue.
func (w *writer) finish() {
	for n := len(w.marks); n > 0 && !w.inline[w.marks[n-1]].Open; n-- {
		w.close(false)
	}
	if len(w.marks) == 0 {
		w.endLine(w.head >= 0 && !w.heads[w.head].Open)
	}
}

// block writes a code block or a table, and returns the offset at which it ends.
func (w *writer) block(f format) int {
	content := w.text[f.Start:f.End]
	if strings.TrimSpace(content) == "" {
		return f.End
	}
	w.arrive(f.Start, nil)
	w.listed = nil // the fence is not indented, so it ends all lists
	if !w.start {
		w.out = append(w.out, '\n')
		w.beginLine(f.Start)
	}
	prefix := ""
	if w.quote >= 0 {
		prefix = quoteMark
	}
	if len(f.rows) > 0 {
		w.table(f, prefix)
		return f.End
	}
	language := f.Language
	if w.rules.Language != nil && !w.rules.Language.MatchString(language) {
		language = "" // a language that the platform does not support would become a line of the code
	}
	w.out = append(w.out, "```"+language+"\n"+prefix...)
	ticks := 0
	for i, r := range content {
		switch r {
		case '\n':
			w.out = append(w.out, '\n')
			w.out = append(w.out, prefix...)
			ticks = 0
		case '`':
			if ticks == 2 { // three backticks would end the code block
				w.out = append(w.out, Joiner...)
				ticks = 0
			}
			w.out = append(w.out, '`')
			ticks++
		default:
			w.codeChar(f.Start+i, r)
			ticks = 0
		}
	}
	if !f.Open {
		w.out = append(w.out, "\n"+prefix+"```"...)
	}
	w.start, w.fenced = false, true
	w.done = f.End
	return f.End
}
