package telegram

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"telex/internal/markup"
)

// Dialect writes text with entities instead of a parse mode: nothing has to be escaped, and
// an unfinished text can't be refused. The unit of lengths and offsets is the UTF-16 code
// unit (https://core.telegram.org/bots/api#messageentity).
//
//	Markdown                      becomes
//	**bold**, # heading           bold
//	*italic*, _italic_            italic
//	~~strike~~                    strikethrough
//	`code`                        code
//	fenced or indented code       pre, with the language of the fence
//	table                         pre, with aligned columns
//	[text](url), ![alt](url)      text_link for http, https, tg and mailto; else plain text
//	@name                         code in groups, where it would notify who is there; as it is in private
//	[text](tg://user?...)         plain text, which notifies nobody
//	https://example.org           plain text, which Telegram links by itself
//	> quote                       blockquote; a quote in a quote is part of the outer one
//	- item, 1. item               "• item", "1. item"; nested ones indented, with ◦ and ▪
//	- [ ] task, - [x] task        "☐ task", "☑ task"
//	---                           ──────────
//	<b>HTML</b>, [^1]             as it was written; <br> is a line break
type Dialect struct {
	// Private is set in private chats. There a mention notifies nobody: who is mentioned does not read the chat.
	Private bool
	// Rich adds spans for rich messages, see [Rich]. Formulas are then as they were written, and <details> without the tags.
	Rich Rich
}

var _ markup.Dialect = Dialect{}

// tabStop is how far apart the columns are that code is aligned to.
const tabStop = 4

// Shape returns the usual symbols. Telegram turns every tab into one space
// (https://github.com/tdlib/td/blob/master/td/telegram/misc.cpp, clean_input_string), which
// would take the indentation from code.
func (d Dialect) Shape() markup.Shape {
	s := markup.Plain{}.Shape()
	s.Tab = tabStop
	if d.Rich == RichAuto || d.Rich == RichAlways {
		s.Extras = markup.Tables | markup.CellStyles | markup.Tasks | markup.Formulas | markup.Details
	}
	return s
}

// Len counts UTF-16 code units. The blocks of a rich message are limited too: each counts as its share of the longest text, but
// for those that a single character may need.
func (d Dialect) Len(r markup.Rendered) int {
	n := markup.Units(r.Text)
	if isRich(r.Spans) {
		n = max(n, (blockWeight(r.Spans)-freeWeight)*(d.Rich.limit()/maxWeight+1))
	}
	return n
}

func isRich(spans []markup.Span) bool {
	return slices.ContainsFunc(spans, func(s markup.Span) bool { return s.Kind == kindRich })
}

// Render returns the text and its entities. In groups mentions become code: Telegram reads none there,
// and the text stays as it is.
func (d Dialect) Render(p markup.Piece) markup.Rendered {
	text := strings.TrimRightFunc(p.Text, unicode.IsSpace)
	trimmed := strings.TrimLeftFunc(text, unicode.IsSpace)
	formats := slices.Clone(p.Formats)
	for i := range formats {
		formats[i].Start -= len(text) - len(trimmed)
		formats[i].End -= len(text) - len(trimmed)
	}
	if !d.Private {
		trimmed = breakSurplus(trimmed, formats)
	}
	list := entities(trimmed, formats, !d.Private)
	if blocks := d.Rich.structure(trimmed, formats); len(blocks) > 0 {
		list = slices.Concat(blocks, list)
		inOrder(list)
	} else {
		list = fewest(list)
	}
	return markup.Rendered{Text: trimmed, Spans: spans(trimmed, list)}
}

// fewest returns no more entities than Telegram takes. Entities that keep a mention from notifying come before formatting.
func fewest(entities []styled) []styled {
	surplus := len(entities) - maxEntities
	for i := len(entities) - 1; i >= 0 && surplus > 0; i-- {
		if !entities[i].quiet {
			entities = slices.Delete(entities, i, i+1)
			surplus--
		}
	}
	return entities
}

// styled is a span whose offsets are still bytes.
type styled struct {
	kind       string
	start, end int
	url, lang  string
	quiet      bool // keeps a mention from notifying anybody
}

// The entity types of https://core.telegram.org/bots/api#messageentity that are used here.
const (
	kindBold   = "bold"
	kindItalic = "italic"
	kindStrike = "strikethrough"
	kindCode   = "code"
	kindPre    = "pre"
	kindLink   = "text_link"
	kindQuote  = "blockquote"
)

// entities returns the entities of text, in order. quiet makes code of mentions.
func entities(text string, formats []markup.Format, quiet bool) []styled {
	var solid, soft, linked []styled
	for _, f := range formats {
		e := styled{start: max(f.Start, 0), end: min(f.End, len(text))}
		e = trim(text, e)
		if e.start >= e.end {
			continue
		}
		switch f.Style {
		case markup.Bold, markup.Heading, markup.Summary:
			e.kind = kindBold
		case markup.Italic:
			e.kind = kindItalic
		case markup.Strike:
			e.kind = kindStrike
		case markup.Code:
			e.kind = kindCode
		case markup.Pre:
			e.kind, e.lang = kindPre, f.Language
		case markup.Link:
			if !linkable(f.URL, text[e.start:e.end]) {
				// Where Markdown sees an address of mail Telegram may see a mention: <!team|@here> is one to Markdown alone.
				label := text[e.start:e.end]
				if linksItself(f.URL, label) && (f.URL != "mailto:"+label || len(mentions(label)) == 0) {
					linked = append(linked, e)
				}
				continue
			}
			e.kind, e.url = kindLink, f.URL
		case markup.Quote:
			e.kind = kindQuote
		default: // of a rich message
			continue
		}
		switch {
		case e.kind == kindBold || e.kind == kindItalic || e.kind == kindStrike:
			soft = append(soft, e)
		case !inside(solid, e):
			solid = append(solid, e)
		}
	}
	if quiet {
		solid = quieten(text, solid, linked)
	} else {
		inOrder(solid)
	}
	all := slices.Clone(solid)
	kept := map[string]int{}
	for _, e := range soft {
		if e.end <= kept[e.kind] {
			continue // already so styled by an outer one
		}
		kept[e.kind] = e.end
		all = append(all, without(text, e, solid)...)
	}
	slices.SortStableFunc(all, func(a, b styled) int {
		return cmp.Or(a.start-b.start, b.end-a.end, rank(a.kind)-rank(b.kind))
	})
	return all
}

// rank orders entities of the same range as Telegram itself does
// (https://github.com/tdlib/td/blob/master/td/telegram/MessageEntity.cpp, get_type_priority).
func rank(kind string) int {
	return slices.Index([]string{kindQuote, kindPre, kindCode, kindLink, kindBold, kindItalic, kindStrike}, kind)
}

// inside reports whether e must give way to one of the outer entities: a quote in a quote,
// code or a link in a link.
func inside(outer []styled, e styled) bool {
	for _, o := range outer {
		if o.end > e.start && (o.kind == e.kind || o.kind != kindQuote) {
			return true
		}
	}
	return false
}

// without returns the pieces of e that are not code: code can't be within another style.
func without(text string, e styled, solid []styled) []styled {
	var out []styled
	for _, s := range solid {
		if s.kind != kindCode && s.kind != kindPre || s.end <= e.start || s.start >= e.end {
			continue
		}
		piece := e
		piece.end = s.start
		if piece = trim(text, piece); piece.start < piece.end {
			out = append(out, piece)
		}
		e.start = s.end
	}
	if e = trim(text, e); e.start < e.end {
		out = append(out, e)
	}
	return out
}

// trim takes white space off an entity's edges; Telegram would move them.
func trim(text string, e styled) styled {
	if e.start >= e.end {
		return e
	}
	s := text[e.start:e.end]
	left := strings.TrimLeftFunc(s, unicode.IsSpace)
	e.start += len(s) - len(left)
	e.end = e.start + len(strings.TrimRightFunc(left, unicode.IsSpace))
	return e
}

// linkable reports whether a link needs an entity and may have one.
func linkable(url, text string) bool {
	scheme, rest, ok := strings.Cut(url, ":")
	if !ok || rest == "" {
		return false
	}
	switch strings.ToLower(scheme) {
	case "http", "https", "mailto":
		return !linksItself(url, text)
	case "tg":
		// A link to a person is a mention (https://core.telegram.org/bots/api#formatting-options).
		return !strings.HasPrefix(strings.ToLower(strings.TrimLeft(rest, "/")), "user")
	}
	return false
}

// linksItself reports whether Telegram makes a link to url of the text alone.
func linksItself(url, text string) bool {
	return url == text || url == "http://"+text || url == "mailto:"+text
}

// spans converts entities, ordered by start, from bytes to UTF-16 code units.
func spans(text string, entities []styled) []markup.Span {
	if len(entities) == 0 {
		return nil
	}
	out := make([]markup.Span, 0, len(entities))
	at, offset := 0, 0
	for _, e := range entities {
		offset += markup.Units(text[at:e.start])
		at = e.start
		out = append(out, markup.Span{
			Kind: e.kind, Offset: offset, Length: markup.Units(text[e.start:e.end]), URL: e.url, Language: e.lang,
		})
	}
	return out
}
