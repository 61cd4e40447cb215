package telegram

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"telex/internal/markup"
)

// Rich says which messages telex sends as rich messages. Rich messages support tables, task lists, formulas and
// <details> (https://core.telegram.org/bots/api#rich-messages). telex sends all other messages as texts with entities.
type Rich string

// These are the values of Rich. The zero value of Rich means RichOff.
const (
	RichOff    Rich = "off"
	RichAuto   Rich = "auto"   // messages with a table, a task list, a formula or <details>
	RichAlways Rich = "always" // all messages
)

// These are the kinds of spans that only rich messages have. A span of kindRich makes telex send the message as a rich
// message. The spans of the other kinds describe the message's blocks. If telex sends a message as a text with
// entities, telex leaves out all spans of the kinds in this block.
const (
	kindRich    = "rich"
	kindHeading = "heading" // Span.Language is the level of the heading
	kindRow     = "row"     // Span.Language is "head" for the head row of a table
	kindCell    = "cell"    // Span.Language is the column and the alignment of the cell
	kindTask    = "task"    // Span.Language is "done" for a finished task
	kindURL     = "url"     // a URL that Telegram turns into a link by itself in a text with entities
	kindFormula = "formula" // a formula with delimiters, such as $; Span.Language is "block" if no other text is on its lines
	kindDetails = "details" // Span.Language is "open" if the details are unfolded
	kindSummary = "summary" // the summary of details

	inCell = "cell " // prefix of the kinds of formats, such as bold, in a cell
)

// limit returns the maximum length of a message.
func (r Rich) limit() int {
	if r == RichAlways {
		return richLimit
	}
	return textLimit
}

// blockSpans returns the spans that describe the blocks of a text, or nil if telex sends the text without blocks.
func (r Rich) blockSpans(text string, formats []markup.Format) []byteSpan {
	if r != RichAuto && r != RichAlways {
		return nil
	}
	list, needed := []byteSpan{{kind: kindRich, end: len(text)}}, r == RichAlways
	wide := wideTables(formats)
	var cell byteSpan
	for _, f := range formats {
		e := byteSpan{start: max(f.Start, 0), end: min(f.End, len(text))}
		if e.start >= e.end || slices.ContainsFunc(wide, func(t byteSpan) bool { return e.start >= t.start && e.end <= t.end }) {
			continue
		}
		switch f.Style {
		case markup.Cell:
			cell = e
		case markup.Detail: // if an earlier message contains the summary, the rest of the details becomes text
			if !slices.ContainsFunc(formats, func(s markup.Format) bool { return s.Style == markup.Summary && s.Start == f.Start }) {
				continue
			}
		}
		within := cell.end > 0 && e.start >= cell.start && e.end <= cell.end
		if e, ok := blockSpanOf(e, f, text, within); ok {
			list = append(list, e)
			needed = needed || slices.Contains([]string{kindRow, kindTask, kindFormula, kindDetails}, e.kind)
		}
	}
	if !needed {
		return nil
	}
	return list
}

// blockSpanOf returns the span for a format of a rich message, or false if the format needs no span.
func blockSpanOf(e byteSpan, f markup.Format, text string, inTable bool) (byteSpan, bool) {
	first := func(word string) string { // the function first returns word if the format's level is 1, and otherwise ""
		if f.Level != 1 {
			return ""
		}
		return word
	}
	switch f.Style {
	case markup.Heading:
		e.kind, e.lang = kindHeading, strconv.Itoa(f.Level)
	case markup.Row:
		e.kind, e.lang = kindRow, first("head")
	case markup.Cell:
		e.kind, e.lang = kindCell, strconv.Itoa(f.Level)+" "+cmp.Or(f.Align, "left")
	case markup.Task:
		e.kind, e.lang = kindTask, first("done")
	case markup.Formula:
		e.kind, e.lang = kindFormula, first("block")
		return e, expression(text[e.start:e.end]) != ""
	case markup.Detail:
		e.kind, e.lang = kindDetails, first("open")
	case markup.Summary:
		e.kind = kindSummary
	case markup.Link:
		switch {
		case inTable:
			e.kind, e.url = inCell+kindLink, f.URL
		case isAutoLinked(f.URL, text[e.start:e.end]):
			e.kind, e.url = kindURL, f.URL
		default:
			return e, false
		}
	default:
		kind := map[markup.Style]string{markup.Bold: kindBold, markup.Italic: kindItalic, markup.Strike: kindStrike, markup.Code: kindCode}[f.Style]
		e.kind = inCell + kind
		return e, inTable && kind != ""
	}
	return e, true
}

// expression returns the text between the delimiters of a formula, or "" if the delimiters are missing.
func expression(formula string) string {
	for _, marks := range [][2]string{{"$$", "$$"}, {"$", "$"}, {`\(`, `\)`}, {`\[`, `\]`}} {
		if inner, ok := strings.CutPrefix(formula, marks[0]); ok {
			if inner, ok = strings.CutSuffix(inner, marks[1]); !ok {
				return ""
			}
			return strings.TrimSpace(inner)
		}
	}
	return ""
}

// wideTables returns the tables that have too many columns for a rich message. telex sends these tables as code
// blocks.
func wideTables(formats []markup.Format) (wide []byteSpan) {
	for _, f := range formats {
		if f.Style != markup.Cell || f.Level <= maxColumns {
			continue
		}
		i := slices.IndexFunc(formats, func(p markup.Format) bool { return p.Style == markup.Pre && p.Start <= f.Start && p.End >= f.End })
		if i >= 0 {
			wide = append(wide, byteSpan{kind: kindPre, start: formats[i].Start, end: formats[i].End})
		}
	}
	return wide
}

// blockWeight returns the maximum number of blocks that the spans can produce, including the paragraphs after these
// blocks.
func blockWeight(spans []markup.Span) (n int) {
	for _, s := range spans {
		switch s.Kind {
		case kindRow:
			n++
		case kindHeading, kindPre, kindFormula:
			n += 2
		case kindDetails:
			n += 3
		case kindTask, kindQuote:
			n += 4
		}
	}
	return n
}

// richLink reports whether a rich message can have a link to a URL. One invalid link makes Telegram refuse the whole
// message.
func richLink(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || strings.ContainsAny(address, " \n\t<>\"'`{}|\\^") {
		return false
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		return strings.Contains(strings.Trim(u.Hostname(), "."), ".") && !strings.ContainsAny(u.Host, "%[]")
	}
	return false
}
