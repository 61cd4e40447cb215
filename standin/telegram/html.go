package telegram

import (
	"cmp"
	"strconv"
	"strings"

	"telex/standin/rig"
)

// htmlParser parses the HTML parse mode.
type htmlParser struct {
	source string
	out    output
	open   []htmlTag
}

type htmlTag struct {
	name    string
	entity  Entity // Type is "" for a tag that formats nothing by itself
	units   int    // start offset in the output, in UTF-16 units
	bytes   int    // start offset in the output, in bytes
	natural bool   // a link whose text is its URL
}

func (p *htmlParser) parse() (string, []Entity) {
	for pos := 0; pos < len(p.source); {
		switch c := p.source[pos]; {
		case c == '&':
			r, after := htmlEntity(p.source, pos)
			p.out.rune(r)
			pos = after
		case c == '<' && strings.HasPrefix(p.source[pos:], "</"):
			pos = p.endTag(pos)
		case c == '<':
			pos = p.startTag(pos)
		default:
			r, after := next(p.source, pos)
			p.out.rune(r)
			pos = after
		}
	}
	if n := len(p.open); n > 0 {
		panic(unparsable("Can't find end tag corresponding to start tag %q", p.open[n-1].name))
	}
	sortEntities(p.out.entities)
	return p.out.text.String(), joinCode(p.out.entities)
}

// joinCode joins the two entities that <pre><code class="language-…"> creates into one.
func joinCode(list []Entity) []Entity {
	kept := make([]Entity, 0, len(list))
	for _, e := range list {
		n := len(kept)
		if n > 0 && isCode(e.Type) && isCode(kept[n-1].Type) &&
			kept[n-1].Offset == e.Offset && kept[n-1].Length == e.Length {
			kept[n-1].Type = "pre"
			kept[n-1].Language = cmp.Or(kept[n-1].Language, e.Language)
			continue
		}
		kept = append(kept, e)
	}
	return kept
}

// htmlEntity decodes the character reference at pos. If the "&" begins no reference, htmlEntity returns "&".
func htmlEntity(s string, pos int) (rune, int) {
	end := strings.IndexByte(s[pos:], ';')
	if end < 0 || end > 10 {
		return '&', pos + 1
	}
	name, after := s[pos+1:pos+end], pos+end+1
	switch name {
	case "lt":
		return '<', after
	case "gt":
		return '>', after
	case "amp":
		return '&', after
	case "quot":
		return '"', after
	}
	number, ok := strings.CutPrefix(name, "#")
	if !ok {
		return '&', pos + 1
	}
	base := 10
	if hex, ok := strings.CutPrefix(strings.ToLower(number), "x"); ok {
		number, base = hex, 16
	}
	code, err := strconv.ParseUint(number, base, 32)
	if err != nil || code == 0 || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF) {
		return '&', pos + 1
	}
	return rune(code), after
}

func (p *htmlParser) endTag(pos int) int {
	end := strings.IndexByte(p.source[pos:], '>')
	rig.RefuseIf(end < 0, unparsable("Unclosed end tag at byte offset %d", pos))
	name := strings.ToLower(strings.TrimSpace(p.source[pos+2 : pos+end]))
	n := len(p.open)
	rig.RefuseIf(n == 0, unparsable("Unexpected end tag at byte offset %d", pos))
	tag := p.open[n-1]
	rig.RefuseIf(name != "" && name != tag.name,
		unparsable("Unmatched end tag at byte offset %d, expected %q, found %q", pos, "</"+tag.name+">", "</"+name+">"))
	p.open = p.open[:n-1]
	if tag.natural {
		tag.entity.URL = p.out.from(tag.bytes)
	}
	if tag.entity.Type == "text_link" && !validLink(tag.entity.URL) {
		tag.entity.Type = ""
	}
	if tag.entity.Type != "" {
		p.out.add(tag.entity, tag.units)
	}
	return pos + end + 1
}

func (p *htmlParser) startTag(pos int) int {
	at := pos + 1
	for at < len(p.source) && !strings.ContainsRune(" \t\n\r>", rune(p.source[at])) {
		at++
	}
	tag := htmlTag{name: strings.ToLower(p.source[pos+1 : at]), units: p.out.units, bytes: p.out.text.Len()}
	attributes, end, ok := htmlAttributes(p.source, at)
	rig.RefuseIf(!ok, unparsable("Unclosed start tag at byte offset %d", pos))
	rig.RefuseIf(!p.describe(&tag, attributes), unparsable("Unsupported start tag %q at byte offset %d", tag.name, pos))
	p.open = append(p.open, tag)
	return end
}

// describe sets the entity of a tag. describe returns false for an unknown tag.
func (p *htmlParser) describe(tag *htmlTag, attributes map[string]string) bool {
	tag.entity.Type = map[string]string{
		"b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline",
		"s": "strikethrough", "strike": "strikethrough", "del": "strikethrough", "tg-spoiler": "spoiler", "pre": "pre",
	}[tag.name]
	switch tag.name {
	case "span":
		tag.entity.Type = "spoiler"
		return attributes["class"] == "tg-spoiler"
	case "a":
		tag.entity = Entity{Type: "text_link", URL: attributes["href"]}
		tag.natural = attributes["href"] == ""
	case "code":
		tag.entity.Type = "code"
		if n := len(p.open); n > 0 && p.open[n-1].name == "pre" {
			tag.entity.Language = strings.TrimPrefix(attributes["class"], "language-")
		}
	case "blockquote":
		tag.entity.Type = "blockquote"
		if _, ok := attributes["expandable"]; ok {
			tag.entity.Type = "expandable_blockquote"
		}
	case "tg-emoji":
		tag.entity = Entity{Type: "custom_emoji", CustomEmojiID: attributes["emoji-id"]}
		return attributes["emoji-id"] != ""
	case "tg-time":
		unix, err := strconv.ParseInt(attributes["unix"], 10, 64)
		tag.entity = Entity{Type: "date_time", UnixTime: unix, DateTimeFormat: attributes["format"]}
		return err == nil
	}
	return tag.entity.Type != ""
}

// htmlAttributes parses the rest of a start tag. end is the offset after the tag's ">".
func htmlAttributes(s string, at int) (attributes map[string]string, end int, ok bool) {
	attributes = make(map[string]string)
	for {
		for at < len(s) && strings.IndexByte(" \t\n\r", s[at]) >= 0 {
			at++
		}
		if at >= len(s) {
			return nil, 0, false
		}
		if s[at] == '>' {
			return attributes, at + 1, true
		}
		start := at
		for at < len(s) && strings.IndexByte(" \t\n\r=>", s[at]) < 0 {
			at++
		}
		name := strings.ToLower(s[start:at])
		if at >= len(s) || s[at] != '=' {
			attributes[name] = ""
			continue
		}
		var value string
		if value, at, ok = htmlValue(s, at+1); !ok {
			return nil, 0, false
		}
		attributes[name] = value
	}
}

// htmlValue parses a quoted or unquoted attribute value.
func htmlValue(s string, at int) (value string, end int, ok bool) {
	if at >= len(s) {
		return "", 0, false
	}
	stop := " \t\n\r>"
	quoted := s[at] == '"' || s[at] == '\''
	if quoted {
		stop = s[at : at+1]
		at++
	}
	var b strings.Builder
	for at < len(s) && strings.IndexByte(stop, s[at]) < 0 {
		if s[at] == '&' {
			var r rune
			r, at = htmlEntity(s, at)
			b.WriteRune(r)
			continue
		}
		b.WriteByte(s[at])
		at++
	}
	if at >= len(s) {
		return "", 0, false
	}
	if quoted {
		at++
	}
	return b.String(), at, true
}
