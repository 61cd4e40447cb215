package demo

import (
	"cmp"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"

	"telex/standin/telegram"
)

// tags returns the HTML tags for one of Telegram's text formats. A format has the same name in Telegram's entities and in rich
// messages.
func tags(format string) (open, closing string) {
	if tag, ok := map[string]string{
		"bold": "strong", "italic": "em", "underline": "u", "strikethrough": "del", "code": "code", "marked": "mark",
		"blockquote": "blockquote", "expandable_blockquote": "blockquote",
	}[format]; ok {
		return "<" + tag + ">", "</" + tag + ">"
	}
	switch format {
	case "pre":
		return "<pre><code>", "</code></pre>"
	case "spoiler":
		return `<span class="spoiler" tabindex="0">`, "</span>"
	case "mention", "hashtag", "bot_command", "text_mention":
		return `<span class="name">`, "</span>"
	}
	return "", ""
}

// anchor returns the HTML tags of a link. anchor returns no tags for URL schemes that could be harmful.
func anchor(address string) (open, closing string) {
	u, err := url.Parse(address)
	if err == nil && u.Scheme == "" {
		u, err = url.Parse("https://" + address)
	}
	if err != nil || !slices.Contains([]string{"http", "https", "mailto", "tg"}, u.Scheme) {
		return "", ""
	}
	return fmt.Sprintf(`<a href="%s" target="_blank" rel="noopener noreferrer">`, template.HTMLEscapeString(u.String())), "</a>"
}

// entities renders a text of Telegram. The offsets of entities count UTF-16 code units. If two entities overlap, but neither
// contains the other, entities ignores the second one. Telegram never sends entities that overlap in this way.
func entities(text string, list []telegram.Entity) template.HTML {
	units := utf16.Encode([]rune(text))
	slices.SortStableFunc(list, func(a, b telegram.Entity) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(b.Length, a.Length))
	})
	var out strings.Builder
	write := func(from, to int) {
		out.WriteString(template.HTMLEscapeString(string(utf16.Decode(units[from:to]))))
	}
	var draw func(from, to int, list []telegram.Entity)
	draw = func(from, to int, list []telegram.Entity) {
		for i, e := range list {
			end := min(e.Offset+e.Length, to)
			if e.Offset < from || e.Offset >= end {
				continue
			}
			write(from, e.Offset)
			open, closing := tags(e.Type)
			switch e.Type {
			case "text_link":
				open, closing = anchor(e.URL)
			case "url":
				open, closing = anchor(string(utf16.Decode(units[e.Offset:end])))
			}
			out.WriteString(open)
			draw(e.Offset, end, list[i+1:])
			out.WriteString(closing)
			from = end
			if (e.Type == "pre" || strings.HasSuffix(e.Type, "blockquote")) && from < to && units[from] == '\n' {
				from++ // skip a line break, because the block element already breaks the line
			}
		}
		write(from, to)
	}
	draw(0, len(units), list)
	return template.HTML(`<div class="lines">` + out.String() + `</div>`) //nolint:gosec // safe, because all texts are escaped
}

// richBlocks renders the blocks of a rich message.
func richBlocks(list []telegram.RichBlock) template.HTML {
	var out strings.Builder
	writeBlocks(&out, list)
	return template.HTML(out.String()) //nolint:gosec // safe, because all texts in it are escaped
}

func writeBlocks(out *strings.Builder, list []telegram.RichBlock) {
	for _, b := range list {
		writeBlock(out, b)
	}
}

func writeBlock(out *strings.Builder, b telegram.RichBlock) {
	around := func(tag string, inner func()) {
		out.WriteString("<" + tag + ">")
		inner()
		tag, _, _ = strings.Cut(tag, " ")
		out.WriteString("</" + tag + ">")
	}
	switch b.Type {
	case "heading":
		around(fmt.Sprint("h", min(max(b.Size, 1), 6)), func() { writeRich(out, b.Text) })
	case "pre":
		around("pre", func() { around("code", func() { writeRich(out, b.Text) }) })
	case "divider":
		out.WriteString("<hr>")
	case "mathematical_expression":
		around(`p class="formula"`, func() { out.WriteString(template.HTMLEscapeString(b.Expression)) })
	case "blockquote":
		around("blockquote", func() { writeBlocks(out, b.Blocks) })
	case "details":
		around("details", func() {
			around("summary", func() { writeRich(out, b.Summary) })
			writeBlocks(out, b.Blocks)
		})
	case "list":
		around("ul", func() {
			for _, item := range b.Items {
				around("li", func() {
					if item.Checkbox {
						out.WriteString(map[bool]string{false: "☐ ", true: "☑ "}[item.Checked])
					}
					writeBlocks(out, item.Blocks)
				})
			}
		})
	case "table":
		around(`div class="wide"`, func() {
			around("table", func() {
				for _, row := range b.Cells {
					around("tr", func() {
						for _, cell := range row {
							tag := map[bool]string{false: "td", true: "th"}[cell.Header]
							if cell.Align == "right" || cell.Align == "center" {
								tag += ` class="` + cell.Align + `"`
							}
							around(tag, func() { writeRich(out, cell.Text) })
						}
					})
				}
			})
		})
	default:
		around("p", func() { writeRich(out, b.Text) })
	}
}

// writeRich renders a text with formats.
func writeRich(out *strings.Builder, t *telegram.RichText) {
	switch {
	case t == nil:
	case t.Expression != "":
		out.WriteString(`<span class="formula">` + template.HTMLEscapeString(t.Expression) + "</span>")
	case t.List != nil:
		for i := range t.List {
			writeRich(out, &t.List[i])
		}
	case t.Text != nil:
		open, closing := tags(t.Type)
		if t.Type == "url" {
			open, closing = anchor(t.URL)
		}
		out.WriteString(open)
		writeRich(out, t.Text)
		out.WriteString(closing)
	default:
		out.WriteString(template.HTMLEscapeString(t.Plain))
	}
}
