package telegram

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"telex/internal/markup"
)

// Rich says which messages are sent as rich messages, which have tables and task lists
// (https://core.telegram.org/bots/api#rich-messages). All others are texts with entities.
type Rich string

// The choices. The zero value is RichOff.
const (
	RichOff    Rich = "off"
	RichAuto   Rich = "auto"   // messages with a table or a task list
	RichAlways Rich = "always" // all messages
)

// Kinds of spans that only rich messages have. A message with a span of kindRich is sent as one. Spans of the other kinds
// describe its blocks; a text with entities leaves them out.
const (
	kindRich    = "rich"
	kindHeading = "heading" // Language is its level
	kindRow     = "row"     // Language is "head" for the head of a table
	kindCell    = "cell"    // Language is its column and its alignment
	kindTask    = "task"    // Language is "done" for a finished task
	kindURL     = "url"     // an address that Telegram links by itself in a text with entities
)

// limit returns the longest message.
func (r Rich) limit() int {
	if r == RichAlways {
		return richLimit
	}
	return textLimit
}

// structure returns the spans of the blocks in a text; nil if it need not be a rich message.
func (r Rich) structure(text string, formats []markup.Format) []styled {
	if r != RichAuto && r != RichAlways {
		return nil
	}
	flag := styled{kind: kindRich, end: len(text)}
	list, needed := []styled{flag}, r == RichAlways
	wide := wideTables(formats)
	for _, f := range formats {
		e := styled{start: max(f.Start, 0), end: min(f.End, len(text))}
		if e.start >= e.end || (f.Style == markup.Row || f.Style == markup.Cell) && inside(wide, e) {
			continue
		}
		switch f.Style {
		case markup.Heading:
			e.kind, e.lang = kindHeading, strconv.Itoa(f.Level)
		case markup.Row:
			if e.kind, needed = kindRow, true; f.Level == 1 {
				e.lang = "head"
			}
		case markup.Cell:
			e.kind, e.lang = kindCell, strconv.Itoa(f.Level)+" "+cmp.Or(f.Align, "left")
		case markup.Task:
			if e.kind, needed = kindTask, true; f.Level == 1 {
				e.lang = "done"
			}
		case markup.Link:
			if e.kind, e.url = kindURL, f.URL; !linksItself(f.URL, text[e.start:e.end]) {
				continue
			}
		default:
			continue
		}
		list = append(list, e)
	}
	if !needed {
		return nil
	}
	return list
}

// wideTables returns the tables with too many columns. They stay code blocks.
func wideTables(formats []markup.Format) (wide []styled) {
	for _, f := range formats {
		if f.Style != markup.Cell || f.Level <= maxColumns {
			continue
		}
		i := slices.IndexFunc(formats, func(p markup.Format) bool { return p.Style == markup.Pre && p.Start <= f.Start && p.End >= f.End })
		if i >= 0 {
			wide = append(wide, styled{kind: kindPre, start: formats[i].Start, end: formats[i].End})
		}
	}
	return wide
}

// blockWeight returns how many blocks the spans can make at most, with the paragraphs behind them.
func blockWeight(spans []markup.Span) (n int) {
	for _, s := range spans {
		switch s.Kind {
		case kindRow:
			n++
		case kindHeading, kindPre:
			n += 2
		case kindTask, kindQuote:
			n += 4
		}
	}
	return n
}

// richLink reports whether a rich message can have a link to an address. One that Telegram refuses takes the whole message
// with it.
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
