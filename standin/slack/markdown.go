package slack

import (
	"regexp"
	"strconv"
	"strings"
)

// markdownShown converts Markdown to mrkdwn with the text that a client shows: lists have bullets and numbers, and
// entities in code stay visible as they are. markdownShown keeps all other Markdown delimiters.
func markdownShown(text string) string { return escapeCodeEntities(renderLists(text)) }

// lineOf matches the quote markers (>) and the indentation of a line. If the line begins a list item, lineOf also
// matches the item's bullet or number with the spaces after it.
var lineOf = regexp.MustCompile(`^((?:> ?)*)( *)(?:([-*+]|(\d{1,9})[.)])( {1,4})\S)?`)

// list is a list that further lines can continue. mark is the last character of each item's bullet or number, such as
// "-" or ".". number is the number of the last item, and column is where the text of that item begins.
type list struct {
	mark           byte
	number, column int
}

// openLists are the lists to which a line can belong, with the outermost first. quote contains the quote markers (>) of
// the previous line. paragraph means that the previous line belongs to a paragraph, which the next line can continue.
type openLists struct {
	open      []list
	quote     string
	paragraph bool
}

// renderLists returns a Markdown text with bullets and numbers as a client shows them. The bullet depends on the depth
// of the list. Numbers count up from the first number of their list. Source:
// https://spec.commonmark.org/0.31.2/#list-items
func renderLists(text string) string {
	var b strings.Builder
	var l openLists
	for at := 0; at < len(text); {
		line := text[at:]
		if end := strings.IndexByte(line, '\n') + 1; end > 0 {
			line = line[:end]
		}
		if i := len(line) - len(strings.TrimLeft(line, "> ")); backticks(line[i:]) >= 3 {
			line = text[at : at+i+fencedLen(text[at+i:], backticks(line[i:]))]
			b.WriteString(line)
			l.paragraph = false
			l.closeDeeper(len(lineOf.FindStringSubmatch(line)[2]))
		} else {
			b.WriteString(l.render(line))
		}
		at += len(line)
	}
	return b.String()
}

// closeDeeper removes the lists to which a line with this indentation does not belong. closeDeeper returns the
// outermost list that it removed.
func (l *openLists) closeDeeper(indent int) (left list) {
	for n := len(l.open); n > 0 && l.open[n-1].column > indent; n-- {
		left = l.open[n-1]
		l.open = l.open[:n-1]
	}
	return left
}

// render returns a line as a client shows it.
func (l *openLists) render(line string) string {
	m := lineOf.FindStringSubmatch(line)
	if m[1] != l.quote {
		*l = openLists{quote: m[1]}
	}
	body, indent, mark := line[len(m[1]):], len(m[2]), m[3]
	blank, paragraph := strings.TrimSpace(body) == "", l.paragraph
	l.paragraph = !blank
	if mark == "" || strings.Trim(body, "-* \n") == "" {
		if !blank && !paragraph { // a line directly below a paragraph continues the paragraph
			l.closeDeeper(indent)
		}
		return line
	}
	was := l.open
	last := l.closeDeeper(indent)
	now := list{mark: mark[len(mark)-1], column: indent + len(mark) + len(m[5])}
	shown := []string{"•", "◦", "▪"}[min(len(l.open), 2)]
	if m[4] != "" {
		if now.number, _ = strconv.Atoi(m[4]); last.mark == now.mark {
			now.number = last.number + 1
		}
		shown = strconv.Itoa(now.number) + mark[len(m[4]):]
	}
	column := 0
	if n := len(l.open); n > 0 {
		column = l.open[n-1].column
	}
	if indent > column+3 || m[4] != "" && m[4] != "1" && last.mark != now.mark && paragraph { // not a list item, but text, such as a number inside a paragraph
		l.open = was
		return line
	}
	l.open = append(l.open, now)
	return m[1] + m[2] + shown + body[indent+len(mark):]
}

// escapeCodeEntities escapes the entities in code once more. In Markdown, "&lt;" shows "<" outside of code, but "&lt;"
// in code. Source: https://spec.commonmark.org/0.31.2/#entity-and-numeric-character-references
func escapeCodeEntities(text string) string {
	if !strings.ContainsRune(text, '`') || !strings.ContainsRune(text, '&') {
		return text
	}
	var b strings.Builder
	for at := 0; at < len(text); {
		begin, end := nextCode(text, at)
		b.WriteString(text[at:begin])
		b.WriteString(strings.ReplaceAll(text[begin:end], "&", "&amp;"))
		at = end
	}
	return b.String()
}

// nextCode returns the start and end of the next code after at: a fenced block with its fences, or a span with its
// backticks. If there is no more code, begin and end are the length of the text.
func nextCode(text string, at int) (begin, end int) {
	for i := at; i < len(text); {
		switch text[i] {
		case '\\':
			i += 2
		case '`':
			n := backticks(text[i:])
			if n >= 3 && startsLine(text, i) {
				return i, i + fencedLen(text[i:], n)
			}
			if length := codeSpanLen(text[i:], n); length > 0 {
				return i, i + length
			}
			i += n
		default:
			i++
		}
	}
	return len(text), len(text)
}

func backticks(text string) int { return len(text) - len(strings.TrimLeft(text, "`")) }

// startsLine reports whether only quote markers (>) and spaces precede the offset i in its line.
func startsLine(text string, i int) bool {
	line := text[strings.LastIndexByte(text[:i], '\n')+1 : i]
	return strings.Trim(line, "> ") == ""
}

// fencedLen returns the length of the fenced code block at the start of text, whose fence has n backticks. A block
// without a closing fence extends to the end of text.
func fencedLen(text string, n int) int {
	at := 0
	for {
		next := strings.IndexByte(text[at:], '\n') + 1
		if next == 0 {
			return len(text)
		}
		at += next
		line, _, _ := strings.Cut(text[at:], "\n")
		line = strings.TrimLeft(line, "> ")
		if ticks := backticks(line); ticks >= n && strings.TrimSpace(line[ticks:]) == "" {
			return min(at+strings.IndexByte(text[at:], '`')+ticks, len(text))
		}
	}
}

// codeSpanLen returns the length of the code span at the start of text, which begins with n backticks. codeSpanLen
// returns 0 if nothing in the same paragraph closes the span.
func codeSpanLen(text string, n int) int {
	text, _, _ = strings.Cut(text, "\n\n")
	for i := n; i < len(text); {
		if text[i] != '`' {
			i++
			continue
		}
		length := backticks(text[i:])
		if i += length; length == n {
			return i
		}
	}
	return 0
}
