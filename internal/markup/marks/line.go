package marks

import "strings"

// What stands in front of each line of a quote.
const quoteMark = "> "

// space writes the white space in front of i.
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
	for n := breaks; n > 1; n-- { // blank lines
		at += strings.IndexByte(w.text[at:], '\n') + 1
		w.out = append(w.out, '\n')
		if at += strings.IndexByte(w.text[at:], '\n'); w.quoteAt(at) >= 0 {
			w.out = append(w.out, quoteMark...)
		}
	}
	w.out = append(w.out, '\n')
	w.beginLine(i)
	if len(w.blocks) > 0 && w.blocks[0].Start == i {
		return // has its own indentation
	}
	indent := gap[strings.LastIndexByte(gap, '\n')+1:]
	if w.head < 0 {
		w.out = append(w.out, w.indent(indent, i)...)
	}
}

// part keeps the line that ends apart from the one that begins at i, which CommonMark would
// join: a single line break is a space to it, unless two spaces stand before it
// (https://spec.commonmark.org/0.31.2/#hard-line-breaks), and the line below a quote or a list, which ended, goes on
// with it (https://spec.commonmark.org/0.31.2/#paragraph-continuation-text).
func (w *writer) part(i int, ended bool) {
	quote := w.quoteAt(i)
	switch {
	case w.tabled: // the next line would be a row
		w.out = append(w.out, '\n')
		if quote == w.quote && quote >= 0 {
			w.out = append(w.out, quoteMark...)
		}
	case w.quote >= 0 && quote != w.quote:
		w.out = append(w.out, '\n')
	case quote != w.quote, w.fenced, w.head >= 0, w.headAt(i) >= 0, len(w.blocks) > 0 && w.blocks[0].Start == i:
		// Each of these is a block of its own.
	case len(w.items) > 0 && w.items[0].Start == i: // and so is the item of a list
	case ended:
		w.out = append(w.out, '\n')
		if quote >= 0 {
			w.out = append(w.out, quoteMark...)
		}
	default:
		w.out = append(w.out, "  "...)
	}
}

// beginLine writes the marks in front of the line that shows its first character at i.
func (w *writer) beginLine(i int) {
	w.start, w.line, w.fenced, w.tabled = true, i, false, false
	if w.quote = w.quoteAt(i); w.quote >= 0 {
		w.out = append(w.out, quoteMark...)
	}
	if w.head = w.headAt(i); w.head >= 0 {
		w.out = append(w.out, strings.Repeat("#", w.heads[w.head].Level)+" "...)
	}
}

// endLine keeps a heading from losing the number signs at its end.
func (w *writer) endLine(finished bool) {
	if w.head >= 0 && finished && !w.rules.CommonMark && w.out[len(w.out)-1] == '#' {
		w.out = append(w.out, Joiner...)
	}
}

// quoteAt returns the quote that covers a place, or -1. Places must not go back.
func (w *writer) quoteAt(at int) int { return find(w.quotes, &w.nextQuote, at) }

// headAt returns the heading that covers a place, or -1. Places must not go back.
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

// finish closes what does not go on in text that comes later.
func (w *writer) finish() {
	for n := len(w.marks); n > 0 && !w.inline[w.marks[n-1]].Open; n-- {
		w.close(false)
	}
	if len(w.marks) == 0 {
		w.endLine(w.head >= 0 && !w.heads[w.head].Open)
	}
}

// block writes a code block and returns where the text goes on.
func (w *writer) block(f format) int {
	content := w.text[f.Start:f.End]
	if strings.TrimSpace(content) == "" {
		return f.End
	}
	w.arrive(f.Start, nil)
	w.listed = nil // the fence is not indented
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
		language = "" // it would be a line of the code
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
			if ticks == 2 { // a third would be a fence
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
