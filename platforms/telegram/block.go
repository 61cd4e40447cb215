package telegram

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"telex/internal/chat"
)

// The following types are the parts of Telegram's rich messages that telex uses. telex sends a rich message as JSON
// objects, not as Markdown or HTML, so Telegram can't mistake text for markup. A field of the API's type RichText
// contains a string, a list, or a richText.
// https://core.telegram.org/bots/api#inputrichmessage
type (
	richMessage struct {
		Blocks []richBlock `json:"blocks"`
		// SkipDetection tells Telegram not to look for mentions, commands and URLs in the text.
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

// blankText fills a block that has no text, because Telegram requires a text in every block.
const blankText = "\u00a0"

// richContent converts a message to the blocks of a rich message.
func richContent(m chat.Outgoing) richMessage {
	w := blockWriter{text: m.Text, spans: toByteSpans(m.Text, m.Spans), paragraphs: maxParagraphs}
	blocks := w.blocks(0, len(m.Text), false)
	if len(blocks) == 0 {
		blocks = []richBlock{{Type: "paragraph", Text: m.Text}} // even for an empty text, so that Telegram's error names the problem
	}
	return richMessage{Blocks: blocks, SkipDetection: true}
}

// toByteSpans converts the offsets of spans from UTF-16 code units to bytes, and sorts the spans by their start.
// toByteSpans leaves out spans that extend beyond the end of the text.
func toByteSpans(text string, spans []chat.Span) []byteSpan {
	at := make([]int, 0, len(text)+1) // byte offset of each UTF-16 code unit
	for i, r := range text {
		at = append(at, i)
		if r > 0xffff {
			at = append(at, i)
		}
	}
	at = append(at, len(text))
	var out []byteSpan
	for _, s := range spans {
		if s.Offset < 0 || s.Length <= 0 || s.Offset >= len(at) || s.Length >= len(at)-s.Offset || s.Kind == kindRich {
			continue
		}
		out = append(out, byteSpan{kind: s.Kind, start: at[s.Offset], end: at[s.Offset+s.Length], url: s.URL, lang: s.Language})
	}
	sortByStart(out)
	return out
}

// blockWriter converts a text to blocks, line by line.
type blockWriter struct {
	text         string
	spans        []byteSpan
	paragraphs   int // how many more paragraphs may begin; if 0, all remaining text becomes one paragraph
	detailsDepth int // number of <details> elements that enclose the current text
}

// find returns the first span of the given kind that begins in the range from..to. If no span of the given kind begins
// in the range, find returns false.
func (w *blockWriter) find(kind string, from, to int) (byteSpan, bool) {
	first, _ := slices.BinarySearchFunc(w.spans, from, func(s byteSpan, at int) int { return s.start - at })
	for _, s := range w.spans[first:] {
		if s.start > to {
			break
		}
		if s.kind == kind {
			return s, true
		}
	}
	return byteSpan{}, false
}

// The method line finds the line of the text that contains the offset at. The result first is the offset of the line's
// first character after the indentation. The result end is the offset at which the line ends.
func (w *blockWriter) line(at, to int) (first, end int) {
	end = to
	if n := strings.IndexByte(w.text[at:to], '\n'); n >= 0 {
		end = at + n
	}
	return end - len(strings.TrimLeft(w.text[at:end], " ")), end
}

// blocks converts a range of the text to blocks. Text that follows a block on the same line, such as the cursor of a
// preview, becomes a paragraph after the block.
func (w *blockWriter) blocks(from, to int, quoted bool) (out []richBlock) {
	paragraph := from
	endParagraph := func(at int) {
		if text := strings.TrimSpace(w.text[paragraph:at]); text != "" {
			start := paragraph + strings.Index(w.text[paragraph:at], text)
			if line := strings.LastIndexByte(w.text[:start], '\n') + 1; line >= paragraph { // include the indentation
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
			endParagraph(at)
			out = append(out, block)
			at, paragraph = next, next
			continue
		case first == stop && w.paragraphs > 0: // a blank line
			if strings.TrimSpace(w.text[paragraph:at]) != "" {
				w.paragraphs--
			}
			endParagraph(at)
			paragraph = min(stop+1, to)
		}
		at = stop + 1
	}
	if paragraph < to {
		endParagraph(to)
	}
	return out
}

// The method block returns the block that begins at a line, and the offset after the block. If the line is a part of a
// paragraph, the method returns the offset 0.
func (w *blockWriter) block(at, first, stop, to int, quoted bool) (richBlock, int) {
	skipNewline := func(end int) int { // the line break after a block belongs to the block
		if end < to && w.text[end] == '\n' {
			end++
		}
		return end
	}
	if q, ok := w.find(kindQuote, at, first); ok && !quoted {
		_, end := w.line(min(q.end, to), to)
		if inner := w.blocks(at, end, true); len(inner) > 0 {
			return richBlock{Type: "blockquote", Blocks: inner}, skipNewline(end)
		}
	}
	if d, ok := w.find(kindDetails, at, first); ok && w.detailsDepth < maxDetails {
		if s, ok := w.find(kindSummary, d.start, d.start); ok {
			_, end := w.line(min(d.end, to), to)
			return w.details(d, s, end, quoted), skipNewline(end)
		}
	}
	if m, ok := w.find(kindFormula, at, first); ok && m.lang == "block" && m.end <= to {
		if e := expression(w.text[m.start:m.end]); e != "" {
			return richBlock{Type: typeFormula, Expression: e}, skipNewline(m.end)
		}
	}
	if p, ok := w.find(kindPre, at, first); ok {
		end := min(p.end, to)
		if table, ok := w.table(p.start, end); ok {
			return table, skipNewline(end)
		}
		return richBlock{Type: "pre", Text: w.text[at:end], Language: p.lang}, skipNewline(end)
	}
	if h, ok := w.find(kindHeading, at, first); ok && first < stop {
		size, err := strconv.Atoi(h.lang)
		if err == nil {
			return richBlock{Type: "heading", Text: w.inline(first, stop, false), Size: min(max(size, 1), 6)}, skipNewline(stop)
		}
	}
	if tasks, next := w.tasks(at, to); len(tasks) > 0 {
		return taskList(tasks, 1), next
	}
	return richBlock{}, 0
}

// The method details returns the block for a <details> element. The parameter d is the span of the element, and the
// parameter end is the offset at which the element's content ends.
func (w *blockWriter) details(d, summary byteSpan, end int, quoted bool) richBlock {
	w.detailsDepth++
	b := richBlock{Type: "details", Summary: w.inline(summary.start, min(summary.end, end), false), Open: d.lang == "open"}
	b.Blocks = w.blocks(min(summary.end, end), end, quoted)
	w.detailsDepth--
	if len(b.Blocks) == 0 {
		b.Blocks = []richBlock{{Type: "paragraph", Text: blankText}}
	}
	return b
}

// table returns the table in a range of the text, or false if the range contains no rows.
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
			cells = padRow(cells, n, row.lang)
			cells[n-1].Text, cells[n-1].Align = w.inline(c.start, c.end, true), align
		}
		columns = max(columns, len(cells))
		t.Cells = append(t.Cells, padRow(cells, 1, row.lang))
	}
	for i := range t.Cells { // make all rows equally long, because Telegram refuses other tables
		head := ""
		if t.Cells[i][0].Header {
			head = "head"
		}
		t.Cells[i] = padRow(t.Cells[i], columns, head)
	}
	return t, len(t.Cells) > 0
}

// padRow adds empty cells to a row until the row has at least n cells.
func padRow(cells []richCell, n int, row string) []richCell {
	for len(cells) < n {
		cells = append(cells, richCell{Text: blankText, Header: row == "head", Align: "left", VAlign: "middle"})
	}
	return cells
}

// inline converts a range of the text and its formats to a value of the API's type RichText.
func (w *blockWriter) inline(from, to int, cell bool) any {
	inner := w.formats(from, to, cell)
	cuts := []int{from, to}
	var formulas []byteSpan
	for _, s := range inner {
		cuts = append(cuts, max(s.start, from), min(s.end, to))
		if s.kind == kindFormula {
			formulas = append(formulas, s)
		}
	}
	slices.Sort(cuts)
	cuts = slices.DeleteFunc(slices.Compact(cuts), func(at int) bool {
		return slices.ContainsFunc(formulas, func(s byteSpan) bool { return s.start < at && at < s.end })
	})
	var list []any
	var open []byteSpan // the formats of the text at the offset start; even a long text has few of them at one offset
	for i, start := range cuts[:len(cuts)-1] {
		n := 0
		for n < len(inner) && inner[n].start <= start {
			n++
		}
		open, inner = append(open, inner[:n]...), inner[n:]
		open = slices.DeleteFunc(open, func(s byteSpan) bool { return s.end <= start })
		list = append(list, w.piece(start, cuts[i+1], open))
	}
	switch len(list) {
	case 0:
		return blankText
	case 1:
		return list[0]
	}
	return list
}

// The method formats returns the formats, such as bold or a link, in a range of the text, except formats inside a
// formula, because a formula can't contain other formats.
func (w *blockWriter) formats(from, to int, cell bool) (list []byteSpan) {
	var formula byteSpan // the last formula that the loop has found
	for _, s := range w.spans {
		if s.start >= to {
			break
		}
		if s.end <= from {
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

// The method piece converts a range of the text to a value of the API's type RichText. Each of the given formats begins
// at or before the start of the range. The method piece applies the formats that include the whole range.
func (w *blockWriter) piece(from, to int, formats []byteSpan) any {
	formats = slices.DeleteFunc(slices.Clone(formats), func(s byteSpan) bool { return s.end < to })
	var out any
	if i := slices.IndexFunc(formats, func(s byteSpan) bool { return s.kind == kindFormula }); i >= 0 {
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

// indented returns a range of the text in which leading spaces are no-break spaces, so that the indentation stays
// visible.
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
