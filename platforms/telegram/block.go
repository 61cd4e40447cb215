package telegram

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"telex/internal/chat"
)

// The parts of a rich message that are used here, https://core.telegram.org/bots/api#inputrichmessage. They are objects, so
// that no text can be taken for markup. An expression of the API's type RichText is a string, a list, or a richText.
type (
	richMessage struct {
		Blocks []richBlock `json:"blocks"`
		// SkipDetection keeps Telegram from reading mentions, commands and links in the text.
		SkipDetection bool `json:"skip_entity_detection"`
	}
	richBlock struct {
		Type       string       `json:"type"`
		Text       any          `json:"text,omitempty"`
		Size       int          `json:"size,omitempty"`
		Language   string       `json:"language,omitempty"`
		Blocks     []richBlock  `json:"blocks,omitempty"`
		Items      []richItem   `json:"items,omitempty"`
		Cells      [][]richCell `json:"cells,omitempty"`
		Bordered   bool         `json:"is_bordered,omitempty"`
		Expression string       `json:"expression,omitempty"`
		Summary    any          `json:"summary,omitempty"`
		Open       bool         `json:"is_open,omitempty"`
	}
	richItem struct {
		Blocks   []richBlock `json:"blocks"`
		Checkbox bool        `json:"has_checkbox,omitempty"`
		Checked  bool        `json:"is_checked,omitempty"`
	}
	richCell struct {
		Text   any    `json:"text"`
		Header bool   `json:"is_header,omitempty"`
		Align  string `json:"align"`
		VAlign string `json:"valign"`
	}
	richText struct {
		Type       string `json:"type"`
		Text       any    `json:"text,omitempty"`
		URL        string `json:"url,omitempty"`
		Expression string `json:"expression,omitempty"`
	}
)

const typeFormula = "mathematical_expression"

// nothing is the text of a block that has no text of its own: Telegram requires one.
const nothing = "\u00a0"

// richContent returns a message as blocks.
func richContent(m chat.Outgoing) richMessage {
	w := blockWriter{text: m.Text, spans: byteSpans(m.Text, m.Spans), paragraphs: maxParagraphs}
	blocks := w.blocks(0, len(m.Text), false)
	if len(blocks) == 0 {
		blocks = []richBlock{{Type: "paragraph", Text: m.Text}} // Telegram says what is wrong with it
	}
	return richMessage{Blocks: blocks, SkipDetection: true}
}

// byteSpans returns spans with their offsets in bytes, in order. It leaves out what is not within the text.
func byteSpans(text string, spans []chat.Span) []styled {
	at := make([]int, 0, len(text)+1) // by the offset in UTF-16 code units
	for i, r := range text {
		at = append(at, i)
		if r > 0xffff {
			at = append(at, i)
		}
	}
	at = append(at, len(text))
	var out []styled
	for _, s := range spans {
		if s.Offset < 0 || s.Length <= 0 || s.Offset >= len(at) || s.Length >= len(at)-s.Offset || s.Kind == kindRich {
			continue
		}
		out = append(out, styled{kind: s.Kind, start: at[s.Offset], end: at[s.Offset+s.Length], url: s.URL, lang: s.Language})
	}
	inOrder(out)
	return out
}

// blockWriter makes blocks of a text, line by line.
type blockWriter struct {
	text       string
	spans      []styled
	paragraphs int // how many more may begin before the rest becomes one
	within     int // how many details are around what is written
}

// find returns the first span of a kind that begins between two places, or false.
func (w *blockWriter) find(kind string, from, to int) (styled, bool) {
	first, _ := slices.BinarySearchFunc(w.spans, from, func(s styled, at int) int { return s.start - at })
	for _, s := range w.spans[first:] {
		if s.start > to {
			break
		}
		if s.kind == kind {
			return s, true
		}
	}
	return styled{}, false
}

// line returns the end of the line at a place, and where its text begins.
func (w *blockWriter) line(at, to int) (first, end int) {
	end = to
	if n := strings.IndexByte(w.text[at:to], '\n'); n >= 0 {
		end = at + n
	}
	return end - len(strings.TrimLeft(w.text[at:end], " ")), end
}

// blocks returns the blocks of the text between two places. Whatever stands behind a block on its line, such as the cursor,
// stays behind it.
func (w *blockWriter) blocks(from, to int, quoted bool) (out []richBlock) {
	paragraph := from
	end := func(at int) {
		if text := strings.TrimSpace(w.text[paragraph:at]); text != "" {
			start := paragraph + strings.Index(w.text[paragraph:at], text)
			if line := strings.LastIndexByte(w.text[:start], '\n') + 1; line >= paragraph { // with its indentation
				start = line
			}
			out = append(out, richBlock{Type: "paragraph", Text: w.inline(start, start+len(strings.TrimRightFunc(w.text[start:at], unicode.IsSpace)), false)})
		}
	}
	for at := from; at < to; {
		first, stop := w.line(at, to)
		block, next := w.block(at, first, stop, to, quoted)
		switch {
		case next > at:
			end(at)
			out = append(out, block)
			at, paragraph = next, next
			continue
		case first == stop && w.paragraphs > 0: // a blank line
			if strings.TrimSpace(w.text[paragraph:at]) != "" {
				w.paragraphs--
			}
			end(at)
			paragraph = min(stop+1, to)
		}
		at = stop + 1
	}
	if paragraph < to {
		end(to)
	}
	return out
}

// block returns the block that begins with a line, and where the text goes on behind it. It returns 0 for a paragraph.
func (w *blockWriter) block(at, first, stop, to int, quoted bool) (richBlock, int) {
	behind := func(end int) int { // the line break belongs to the block
		if end < to && w.text[end] == '\n' {
			end++
		}
		return end
	}
	if q, ok := w.find(kindQuote, at, first); ok && !quoted {
		_, end := w.line(min(q.end, to), to)
		if inner := w.blocks(at, end, true); len(inner) > 0 {
			return richBlock{Type: "blockquote", Blocks: inner}, behind(end)
		}
	}
	if d, ok := w.find(kindDetails, at, first); ok && w.within < maxDetails {
		if s, ok := w.find(kindSummary, d.start, d.start); ok {
			_, end := w.line(min(d.end, to), to)
			return w.details(d, s, end, quoted), behind(end)
		}
	}
	if m, ok := w.find(kindFormula, at, first); ok && m.lang == "block" && m.end <= to {
		if e := expression(w.text[m.start:m.end]); e != "" {
			return richBlock{Type: typeFormula, Expression: e}, behind(m.end)
		}
	}
	if p, ok := w.find(kindPre, at, first); ok {
		end := min(p.end, to)
		if table, ok := w.table(p.start, end); ok {
			return table, behind(end)
		}
		return richBlock{Type: "pre", Text: w.text[at:end], Language: p.lang}, behind(end)
	}
	if h, ok := w.find(kindHeading, at, first); ok && first < stop {
		size, err := strconv.Atoi(h.lang)
		if err == nil {
			return richBlock{Type: "heading", Text: w.inline(first, stop, false), Size: min(max(size, 1), 6)}, behind(stop)
		}
	}
	if tasks, next := w.tasks(at, to); len(tasks) > 0 {
		return taskList(tasks, 1), next
	}
	return richBlock{}, 0
}

// details returns the details that end at a place.
func (w *blockWriter) details(d, summary styled, end int, quoted bool) richBlock {
	w.within++
	b := richBlock{Type: "details", Summary: w.inline(summary.start, min(summary.end, end), false), Open: d.lang == "open"}
	b.Blocks = w.blocks(min(summary.end, end), end, quoted)
	w.within--
	if len(b.Blocks) == 0 {
		b.Blocks = []richBlock{{Type: "paragraph", Text: nothing}}
	}
	return b
}

// table returns the table between two places, or false if there are no rows.
func (w *blockWriter) table(from, to int) (richBlock, bool) {
	t := richBlock{Type: "table", Bordered: true}
	columns := 0
	for row, ok := w.find(kindRow, from, to-1); ok; row, ok = w.find(kindRow, row.end, to-1) {
		var cells []richCell
		for c, ok := w.find(kindCell, row.start, row.end-1); ok; c, ok = w.find(kindCell, c.end, row.end-1) {
			column, align, _ := strings.Cut(c.lang, " ")
			n, err := strconv.Atoi(column)
			if err != nil || n <= len(cells) || n > maxColumns {
				continue
			}
			cells = widened(cells, n, row.lang)
			cells[n-1].Text, cells[n-1].Align = w.inline(c.start, c.end, true), align
		}
		columns = max(columns, len(cells))
		t.Cells = append(t.Cells, widened(cells, 1, row.lang))
	}
	for i := range t.Cells { // Telegram refuses a table whose rows differ in length
		head := ""
		if t.Cells[i][0].Header {
			head = "head"
		}
		t.Cells[i] = widened(t.Cells[i], columns, head)
	}
	return t, len(t.Cells) > 0
}

// widened returns a row with at least n cells.
func widened(cells []richCell, n int, row string) []richCell {
	for len(cells) < n {
		cells = append(cells, richCell{Text: nothing, Header: row == "head", Align: "left", VAlign: "middle"})
	}
	return cells
}

// inline returns the text between two places with its formats.
func (w *blockWriter) inline(from, to int, cell bool) any {
	inner := w.formats(from, to, cell)
	cuts := []int{from, to}
	for _, s := range inner {
		cuts = append(cuts, max(s.start, from), min(s.end, to))
	}
	slices.Sort(cuts)
	cuts = slices.DeleteFunc(slices.Compact(cuts), func(at int) bool {
		return slices.ContainsFunc(inner, func(s styled) bool { return s.kind == kindFormula && s.start < at && at < s.end })
	})
	var list []any
	for i, start := range cuts[:len(cuts)-1] {
		list = append(list, w.piece(start, cuts[i+1], inner))
	}
	switch len(list) {
	case 0:
		return nothing
	case 1:
		return list[0]
	}
	return list
}

// formats returns the formats of the text between two places. There are none within formulas.
func (w *blockWriter) formats(from, to int, cell bool) (list []styled) {
	var formula styled // the last one
	for _, s := range w.spans {
		if s.start >= to || s.end <= from {
			continue
		}
		var ok bool
		switch kind, inside := strings.CutPrefix(s.kind, inCell); {
		case s.kind == kindFormula:
			if ok = s.start >= max(from, formula.end) && s.end <= to && expression(w.text[s.start:s.end]) != ""; ok {
				formula = s
			}
		case cell:
			s.kind, ok = kind, inside
		default:
			ok = s.kind == kindURL || rank(s.kind) >= 0 && s.kind != kindQuote
		}
		if (s.kind == kindLink || s.kind == kindURL) && !richLink(s.url) {
			ok = false
		}
		if ok && (s.start <= formula.start || s.end > formula.end) {
			list = append(list, s)
		}
	}
	return list
}

// piece returns a text within which no format begins or ends.
func (w *blockWriter) piece(from, to int, formats []styled) any {
	formats = slices.DeleteFunc(slices.Clone(formats), func(s styled) bool { return s.start > from || s.end < to })
	var out any
	if i := slices.IndexFunc(formats, func(s styled) bool { return s.kind == kindFormula }); i >= 0 {
		out = richText{Type: typeFormula, Expression: expression(w.text[formats[i].start:formats[i].end])}
		formats = slices.Delete(formats, i, i+1)
	} else {
		out = w.indented(from, to)
	}
	for _, s := range slices.Backward(formats) {
		kind := s.kind
		switch kind {
		case kindLink, kindURL:
			kind = kindURL
		case kindPre:
			kind = kindCode
		}
		out = richText{Type: kind, Text: out, URL: s.url}
	}
	return out
}

// indented returns a text in which indentation is shown: spaces at the start of a line are no-break spaces.
func (w *blockWriter) indented(from, to int) string {
	if !strings.Contains(w.text[from:to], " ") {
		return w.text[from:to]
	}
	start := strings.LastIndexByte(w.text[:from], '\n') + 1
	edge := strings.TrimLeft(w.text[start:from], " ") == ""
	var out strings.Builder
	for _, r := range w.text[from:to] {
		switch {
		case r == ' ' && edge:
			r = '\u00a0'
		default:
			edge = r == '\n'
		}
		out.WriteRune(r)
	}
	return out.String()
}
