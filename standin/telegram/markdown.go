package telegram

import (
	"strconv"
	"strings"
)

// markdownParser parses the MarkdownV2 parse mode.
type markdownParser struct {
	source string
	pos    int
	out    output
	open   []markdownSpan
	quote  *markdownSpan
}

type markdownSpan struct {
	mark   string // the delimiter that ends the span
	kind   string
	label  string // the name of the format in errors
	offset int    // byte offset of the span's start in the source
	units  int    // offset of the span's start in the output, in UTF-16 units
}

const markdownReserved = "_*[]()~`>#+-=|{}.!"

func (p *markdownParser) parse() (string, []Entity) {
	for lineStart := true; p.pos < len(p.source); {
		rest := p.source[p.pos:]
		if lineStart {
			lineStart = false
			if p.startLine(rest) {
				continue
			}
		}
		c := rest[0]
		switch {
		case c == '\\' && len(rest) > 1 && rest[1] > 0 && rest[1] < 127:
			p.out.rune(rune(rest[1]))
			p.pos += 2
			lineStart = rest[1] == '\n'
		case c == '\n':
			// The quote ends here if the next line does not begin with ">".
			if !strings.HasPrefix(p.source[p.pos+1:], ">") {
				p.endQuote()
			}
			p.out.rune('\n')
			p.pos++
			lineStart = true
		case strings.IndexByte(markdownReserved, c) >= 0:
			p.mark(rest)
		default:
			r, after := next(p.source, p.pos)
			p.out.rune(r)
			p.pos = after
		}
	}
	p.endQuote()
	if n := len(p.open); n > 0 {
		panic(p.open[n-1].unfinished())
	}
	sortEntities(p.out.entities)
	return p.out.text.String(), p.out.entities
}

// startLine begins or continues a quote if the line begins with ">". startLine reports whether the line does.
func (p *markdownParser) startLine(rest string) bool {
	separated := strings.HasPrefix(rest, "**>")
	switch {
	case separated:
		p.closeQuote("blockquote")
		p.pos += 3
	case rest[0] == '>':
		p.pos++
	default:
		return false
	}
	if p.quote == nil {
		p.quote = &markdownSpan{kind: "blockquote", label: "BlockQuote", offset: p.pos - 1, units: p.out.units}
	}
	return true
}

// endQuote ends the quote. A spoiler delimiter "||" that ends a quote and begins no spoiler makes the quote expandable.
func (p *markdownParser) endQuote() {
	if p.quote == nil {
		return
	}
	kind := "blockquote"
	if n := len(p.open); n > 0 {
		last := p.open[n-1]
		if last.kind == "spoiler" && last.units == p.out.units {
			kind = "expandable_blockquote"
			p.open = p.open[:n-1]
		}
	}
	if n := len(p.open); n > 0 && p.open[n-1].offset > p.quote.offset {
		panic(p.open[n-1].unfinished())
	}
	p.closeQuote(kind)
}

func (p *markdownParser) closeQuote(kind string) {
	if p.quote != nil {
		p.out.add(Entity{Type: kind}, p.quote.units)
		p.quote = nil
	}
}

func (s markdownSpan) unfinished() *apiError {
	return unparsable("Can't find end of %s entity at byte offset %d", s.label, s.offset)
}

// mark handles a reserved character. A reserved character may end the innermost span or begin a new one. A reserved
// character at any other place is an error.
func (p *markdownParser) mark(rest string) {
	if n := len(p.open); n > 0 && p.ends(p.open[n-1], rest) {
		p.end(p.open[n-1])
		return
	}
	for _, code := range []markdownSpan{{mark: "```", kind: "pre", label: "Pre"}, {mark: "`", kind: "code", label: "Code"}} {
		if strings.HasPrefix(rest, code.mark) {
			p.code(code)
			return
		}
	}
	for _, m := range []struct{ begin, end, kind, label string }{
		{"__", "__", "underline", "Underline"},
		{"_", "_", "italic", "Italic"},
		{"*", "*", "bold", "Bold"},
		{"~", "~", "strikethrough", "Strikethrough"},
		{"||", "||", "spoiler", "Spoiler"},
		{"[", "]", "text_link", "TextUrl"},
		{"![", "]", "custom_emoji", "CustomEmoji"},
	} {
		if strings.HasPrefix(rest, m.begin) {
			p.open = append(p.open, markdownSpan{mark: m.end, kind: m.kind, label: m.label, offset: p.pos, units: p.out.units})
			p.pos += len(m.begin)
			return
		}
	}
	panic(unparsable(`Character '%c' is reserved and must be escaped with the preceding '\'`, rest[0]))
}

// ends reports whether rest begins with the delimiter that ends the span. "__" always belongs to an underline, so the
// first "_" of "__" does not end an italic span.
func (p *markdownParser) ends(s markdownSpan, rest string) bool {
	if s.mark == "_" && strings.HasPrefix(rest, "__") {
		return false
	}
	return strings.HasPrefix(rest, s.mark)
}

func (p *markdownParser) end(s markdownSpan) {
	p.pos += len(s.mark)
	p.open = p.open[:len(p.open)-1]
	e := Entity{Type: s.kind}
	if s.mark == "]" {
		target, found := p.target()
		if !p.setLinkTarget(&e, target, found) {
			return
		}
	}
	p.out.add(e, s.units)
}

// setLinkTarget stores the target of a link in its entity. setLinkTarget returns false if the target is invalid.
func (p *markdownParser) setLinkTarget(e *Entity, target string, found bool) bool {
	if e.Type == "text_link" {
		e.URL = target
		return found && validLink(target)
	}
	if id, ok := strings.CutPrefix(target, "tg://emoji?id="); ok {
		e.CustomEmojiID = id
		return id != ""
	}
	query, ok := strings.CutPrefix(target, "tg://time?unix=")
	if !ok {
		return false
	}
	unix, format, _ := strings.Cut(query, "&format=")
	n, err := strconv.ParseInt(unix, 10, 64)
	e.Type, e.UnixTime, e.DateTimeFormat = "date_time", n, format
	return err == nil
}

// target parses "(…)" after the text of a link.
func (p *markdownParser) target() (target string, found bool) {
	if p.pos >= len(p.source) || p.source[p.pos] != '(' {
		return "", false
	}
	var b strings.Builder
	for at := p.pos + 1; at < len(p.source); at++ {
		switch c := p.source[at]; {
		case c == ')':
			p.pos = at + 1
			return b.String(), true
		case c == '\\' && at+1 < len(p.source) && p.source[at+1] < 127:
			at++
			b.WriteByte(p.source[at])
		default:
			b.WriteByte(c)
		}
	}
	panic(unparsable("Can't find end of a URL at byte offset %d", p.pos))
}

// code parses a code span or block, in which only "`" and "\" are special.
func (p *markdownParser) code(s markdownSpan) {
	s.offset, s.units = p.pos, p.out.units
	e := Entity{Type: s.kind}
	p.pos += len(s.mark)
	if s.kind == "pre" {
		p.language(&e)
	}
	for p.pos < len(p.source) {
		rest := p.source[p.pos:]
		switch {
		case strings.HasPrefix(rest, s.mark):
			p.pos += len(s.mark)
			p.out.add(e, s.units)
			return
		case rest[0] == '`':
			panic(unparsable("Character '`' is reserved and must be escaped with the preceding '\\'"))
		case rest[0] == '\\' && len(rest) > 1 && rest[1] < 127 && rest[1] > 0:
			p.out.rune(rune(rest[1]))
			p.pos += 2
		default:
			r, after := next(p.source, p.pos)
			p.out.rune(r)
			p.pos = after
		}
	}
	panic(s.unfinished())
}

// language parses the name of a language after "```", and the line break after the name.
func (p *markdownParser) language(e *Entity) {
	rest := p.source[p.pos:]
	n := 0
	for n < len(rest) && rest[n] != '`' && rest[n] != ' ' && rest[n] != '\n' {
		n++
	}
	if n < len(rest) && rest[n] == '\n' {
		e.Language = rest[:n]
		p.pos += n + 1
	}
}
