package telegram

import (
	"fmt"
	"strconv"
	"strings"
)

// markdownParser reads the MarkdownV2 parse mode.
type markdownParser struct {
	source string
	pos    int
	out    output
	open   []markdownSpan
	quote  *markdownSpan
}

type markdownSpan struct {
	mark   string // what ends it.
	kind   string
	label  string // the name in errors.
	offset int    // of its start in the source, in bytes.
	units  int    // in the output.
}

const markdownReserved = "_*[]()~`>#+-=|{}.!"

func (p *markdownParser) parse() (string, []Entity, error) {
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
			if err := p.endLine(); err != nil {
				return "", nil, err
			}
			p.out.rune('\n')
			p.pos++
			lineStart = true
		case strings.IndexByte(markdownReserved, c) >= 0:
			if err := p.mark(rest); err != nil {
				return "", nil, err
			}
		default:
			r, after := next(p.source, p.pos)
			p.out.rune(r)
			p.pos = after
		}
	}
	if err := p.endQuote(); err != nil {
		return "", nil, err
	}
	if n := len(p.open); n > 0 {
		return "", nil, p.unfinished(p.open[n-1])
	}
	sortEntities(p.out.entities)
	return p.out.text.String(), p.out.entities, nil
}

// startLine opens or goes on with a quote; true when it took something.
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

// endLine closes the quote when the next line does not go on with it.
func (p *markdownParser) endLine() error {
	if p.quote == nil || strings.HasPrefix(p.source[p.pos+1:], ">") {
		return nil
	}
	return p.endQuote()
}

// endQuote closes the quote; an unfinished spoiler mark at its end makes it
// expandable.
func (p *markdownParser) endQuote() error {
	if p.quote == nil {
		return nil
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
		return p.unfinished(p.open[n-1])
	}
	p.closeQuote(kind)
	return nil
}

func (p *markdownParser) closeQuote(kind string) {
	if p.quote != nil {
		p.out.add(Entity{Type: kind}, p.quote.units)
		p.quote = nil
	}
}

func (p *markdownParser) unfinished(s markdownSpan) error {
	return fmt.Errorf("Can't find end of %s entity at byte offset %d", s.label, s.offset) //nolint:staticcheck // the platform's words.
}

// mark handles a reserved character: it ends the innermost span, starts one, or
// is an error.
func (p *markdownParser) mark(rest string) error {
	if n := len(p.open); n > 0 && p.ends(p.open[n-1], rest) {
		return p.end(p.open[n-1])
	}
	s := markdownSpan{offset: p.pos, units: p.out.units}
	switch {
	case strings.HasPrefix(rest, "```"):
		return p.code("```", "Pre")
	case rest[0] == '`':
		return p.code("`", "Code")
	case strings.HasPrefix(rest, "__"):
		s.mark, s.kind, s.label = "__", "underline", "Underline"
	case rest[0] == '_':
		s.mark, s.kind, s.label = "_", "italic", "Italic"
	case rest[0] == '*':
		s.mark, s.kind, s.label = "*", "bold", "Bold"
	case rest[0] == '~':
		s.mark, s.kind, s.label = "~", "strikethrough", "Strikethrough"
	case strings.HasPrefix(rest, "||"):
		s.mark, s.kind, s.label = "||", "spoiler", "Spoiler"
	case rest[0] == '[':
		s.mark, s.kind, s.label = "]", "text_link", "TextUrl"
	case strings.HasPrefix(rest, "!["):
		s.mark, s.kind, s.label = "]", "custom_emoji", "CustomEmoji"
		p.pos++
	default:
		return fmt.Errorf(`Character '%c' is reserved and must be escaped with the preceding '\'`, rest[0]) //nolint:staticcheck // the platform's words.
	}
	if s.mark == "]" {
		p.pos++
	} else {
		p.pos += len(s.mark)
	}
	p.open = append(p.open, s)
	return nil
}

// ends tells whether rest ends the span; "__" is read greedily, so that a single
// "_" does not end an italic where an underline begins or ends.
func (p *markdownParser) ends(s markdownSpan, rest string) bool {
	if s.mark == "_" && strings.HasPrefix(rest, "__") {
		return false
	}
	return strings.HasPrefix(rest, s.mark)
}

func (p *markdownParser) end(s markdownSpan) error {
	p.pos += len(s.mark)
	p.open = p.open[:len(p.open)-1]
	e := Entity{Type: s.kind}
	if s.mark == "]" {
		target, found, err := p.target()
		if err != nil {
			return err
		}
		if !p.aim(&e, target, found) {
			return nil
		}
	}
	p.out.add(e, s.units)
	return nil
}

// aim sets what a link points at; false when nothing is made of it.
func (p *markdownParser) aim(e *Entity, target string, found bool) bool {
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

// target reads "(…)" behind a link's text.
func (p *markdownParser) target() (target string, found bool, err error) {
	if p.pos >= len(p.source) || p.source[p.pos] != '(' {
		return "", false, nil
	}
	var b strings.Builder
	for at := p.pos + 1; at < len(p.source); at++ {
		switch c := p.source[at]; {
		case c == ')':
			p.pos = at + 1
			return b.String(), true, nil
		case c == '\\' && at+1 < len(p.source) && p.source[at+1] < 127:
			at++
			b.WriteByte(p.source[at])
		default:
			b.WriteByte(c)
		}
	}
	return "", false, fmt.Errorf("Can't find end of a URL at byte offset %d", p.pos) //nolint:staticcheck // the platform's words.
}

// code reads a code span or block, in which only "`" and "\" are special.
func (p *markdownParser) code(mark, label string) error {
	s := markdownSpan{label: label, offset: p.pos, units: p.out.units}
	e := Entity{Type: "code"}
	p.pos += len(mark)
	if mark == "```" {
		e.Type = "pre"
		p.language(&e)
		s.units = p.out.units
	}
	for p.pos < len(p.source) {
		rest := p.source[p.pos:]
		switch {
		case strings.HasPrefix(rest, mark):
			p.pos += len(mark)
			p.out.add(e, s.units)
			return nil
		case rest[0] == '`':
			return fmt.Errorf("Character '`' is reserved and must be escaped with the preceding '\\'") //nolint:staticcheck // the platform's words.
		case rest[0] == '\\' && len(rest) > 1 && rest[1] < 127 && rest[1] > 0:
			p.out.rune(rune(rest[1]))
			p.pos += 2
		default:
			r, after := next(p.source, p.pos)
			p.out.rune(r)
			p.pos = after
		}
	}
	return p.unfinished(s)
}

// language takes the word behind "```", and the line break that follows.
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
