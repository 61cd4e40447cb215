package telegram

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"telex/internal/markup"
)

// Dialect formats text by entities, not by a parse mode. With entities, a text needs no escaping, and Telegram accepts
// a text that is cut in the middle of its formatting. Lengths and offsets are in UTF-16 code units
// (https://core.telegram.org/bots/api#messageentity).
//
//	Markdown                      becomes
//	**bold**, # heading           bold
//	*italic*, _italic_            italic
//	~~strike~~                    strikethrough
//	`code`                        code
//	fenced or indented code       pre, with the language of the fence
//	table                         pre, with aligned columns
//	[text](url), ![alt](url)      text_link for http, https, tg and mailto; else plain text
//	@name                         code in groups, because it would notify people; unchanged in private chats
//	[text](tg://user?...)         plain text, which notifies nobody
//	https://example.org           plain text, which Telegram links by itself
//	> quote                       blockquote; a quote in a quote becomes a part of the outer quote
//	- item, 1. item               "• item", "1. item"; nested ones indented, with ◦ and ▪
//	- [ ] task, - [x] task        "☐ task", "☑ task"
//	---                           ──────────
//	<b>HTML</b>, [^1]             unchanged; <br> is a line break
type Dialect struct {
	// Private is true for private chats. A mention in a private chat notifies nobody, because the mentioned person is
	// not a member of the chat.
	Private bool
	// Rich says which messages get the spans of a rich message; see [Rich]. If Rich is RichAuto or RichAlways, the dialect
	// keeps formulas as the model wrote them, and removes the tags of <details>.
	Rich Rich
}

var _ markup.Dialect = Dialect{}

// tabStop is the distance between tab stops in code.
const tabStop = 4

// Shape returns the symbols of markup.Plain, such as the list bullets. In code, Shape replaces tabs with spaces.
// Telegram turns every tab into only one space, which would destroy the indentation of code
// (https://github.com/tdlib/td/blob/master/td/telegram/misc.cpp, clean_input_string).
func (d Dialect) Shape() markup.Shape {
	s := markup.Plain{}.Shape()
	s.Tab = tabStop
	if d.Rich == RichAuto || d.Rich == RichAlways {
		s.Extras = markup.Tables | markup.CellStyles | markup.Tasks | markup.Formulas | markup.Details
	}
	return s
}

// Len counts UTF-16 code units. Telegram also limits the number of blocks in a rich message. Because Telegram limits
// the number of blocks, Len also computes a second length: a fixed number of code units for each block beyond the first
// freeWeight blocks. Len returns the greater of the two lengths.
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

// Render returns a piece of an answer as a text and its entities. In groups, Render formats mentions as code, because
// Telegram notifies nobody of a mention in code. Render does not change the text of a mention that it formats as code.
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
	if blocks := d.Rich.blockSpans(trimmed, formats); len(blocks) > 0 {
		list = slices.Concat(blocks, list)
		sortByStart(list)
	} else {
		list = dropSurplus(list)
	}
	return markup.Rendered{Text: trimmed, Spans: spans(trimmed, list)}
}

// dropSurplus removes entities that only format text, until the number of entities is within Telegram's limit.
// dropSurplus keeps the entities that prevent mentions from notifying people.
func dropSurplus(entities []byteSpan) []byteSpan {
	surplus := len(entities) - maxEntities
	for i := len(entities) - 1; i >= 0 && surplus > 0; i-- {
		if !entities[i].quiet {
			entities = slices.Delete(entities, i, i+1)
			surplus--
		}
	}
	return entities
}

// byteSpan is a span with offsets in bytes.
type byteSpan struct {
	kind       string
	start, end int
	url, lang  string
	quiet      bool // the entity prevents a mention from notifying anybody
}

// These are the types of entities that telex uses, from https://core.telegram.org/bots/api#messageentity.
const (
	kindBold   = "bold"
	kindItalic = "italic"
	kindStrike = "strikethrough"
	kindCode   = "code"
	kindPre    = "pre"
	kindLink   = "text_link"
	kindQuote  = "blockquote"
)

// entities converts the formats of a text to sorted entities. If quiet is true, entities formats mentions as code, so
// that the mentions notify nobody.
func entities(text string, formats []markup.Format, quiet bool) []byteSpan {
	var solid, soft, linked []byteSpan
	for _, f := range formats {
		e := byteSpan{start: max(f.Start, 0), end: min(f.End, len(text))}
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
			if !needsLinkEntity(f.URL, text[e.start:e.end]) {
				// Telegram may see a mention where Markdown sees a mail address, such as in <!team|@here>.
				label := text[e.start:e.end]
				if isAutoLinked(f.URL, label) && (f.URL != "mailto:"+label || len(mentions(label)) == 0) {
					linked = append(linked, e)
				}
				continue
			}
			e.kind, e.url = kindLink, f.URL
		case markup.Quote:
			e.kind = kindQuote
		default: // the other styles exist only in rich messages
			continue
		}
		switch {
		case e.kind == kindBold || e.kind == kindItalic || e.kind == kindStrike:
			soft = append(soft, e)
		case !conflictsWithOuter(solid, e):
			solid = append(solid, e)
		}
	}
	if quiet {
		solid = silenceMentions(text, solid, linked)
	} else {
		sortByStart(solid)
	}
	all := slices.Clone(solid)
	kept := map[string]int{}
	for _, e := range soft {
		if e.end <= kept[e.kind] {
			continue // an enclosing entity already has this style
		}
		kept[e.kind] = e.end
		all = append(all, splitAroundCode(text, e, solid)...)
	}
	slices.SortStableFunc(all, func(a, b byteSpan) int {
		return cmp.Or(a.start-b.start, b.end-a.end, rank(a.kind)-rank(b.kind))
	})
	return all
}

// rank determines the order of entities with the same range, which is Telegram's order
// (https://github.com/tdlib/td/blob/master/td/telegram/MessageEntity.cpp, get_type_priority).
func rank(kind string) int {
	return slices.Index([]string{kindQuote, kindPre, kindCode, kindLink, kindBold, kindItalic, kindStrike}, kind)
}

// conflictsWithOuter reports whether the entity e is inside an outer entity that can't contain e. Quotes can't contain
// quotes, and code and links can't contain code or links.
func conflictsWithOuter(outer []byteSpan, e byteSpan) bool {
	for _, o := range outer {
		if o.end > e.start && (o.kind == e.kind || o.kind != kindQuote) {
			return true
		}
	}
	return false
}

// splitAroundCode returns the parts of the entity e that are outside code, because Telegram allows no other style in
// code.
func splitAroundCode(text string, e byteSpan, solid []byteSpan) []byteSpan {
	var out []byteSpan
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

// trim excludes white space from both ends of an entity. Telegram itself would exclude white space at the ends of an
// entity.
func trim(text string, e byteSpan) byteSpan {
	if e.start >= e.end {
		return e
	}
	s := text[e.start:e.end]
	left := strings.TrimLeftFunc(s, unicode.IsSpace)
	e.start += len(s) - len(left)
	e.end = e.start + len(strings.TrimRightFunc(left, unicode.IsSpace))
	return e
}

// needsLinkEntity reports whether telex writes a link as an entity. telex writes an entity for URLs with the schemes
// http, https, mailto and tg, but not if Telegram turns the text into the same link by itself.
func needsLinkEntity(url, text string) bool {
	scheme, rest, ok := strings.Cut(url, ":")
	if !ok || rest == "" {
		return false
	}
	switch strings.ToLower(scheme) {
	case "http", "https", "mailto":
		return !isAutoLinked(url, text)
	case "tg":
		// A link to a user gets no entity, because an entity with such a link would be a mention
		// (https://core.telegram.org/bots/api#formatting-options).
		return !strings.HasPrefix(strings.ToLower(strings.TrimLeft(rest, "/")), "user")
	}
	return false
}

// isAutoLinked reports whether Telegram turns text into a link to url by itself, without an entity.
func isAutoLinked(url, text string) bool {
	return url == text || url == "http://"+text || url == "mailto:"+text
}

// spans converts the offsets of entities, which are sorted by their start, from bytes to UTF-16 code units.
func spans(text string, entities []byteSpan) []markup.Span {
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
