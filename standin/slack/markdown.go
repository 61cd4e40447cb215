package slack

import (
	"regexp"
	"strconv"
	"strings"
)

// seen is a Markdown text as mrkdwn in which a person finds what a client draws: lists with their bullets and numbers, and
// code as it stands. Other marks stay.
func seen(text string) string { return codeAsItStands(listsDrawn(text)) }

// A line with its quote marks and its indentation, and the mark of an item with the space behind it, if it begins one.
var lineOf = regexp.MustCompile(`^((?:> ?)*)( *)(?:([-*+]|(\d{1,9})[.)])( {1,4})\S)?`)

// list is a list that is not over: the last character of its marks, the number of its last item, and where the text of that begins.
type list struct {
	mark           byte
	number, column int
}

// lists are those that a line can be in, outer first. quote are the quote marks of the line above, and paragraph tells that the
// line below can go on with it.
type lists struct {
	open      []list
	quote     string
	paragraph bool
}

// listsDrawn is a Markdown text with bullets and numbers as a client draws them: bullets by depth, and numbers counted from
// the first one of their list.
// Source: https://spec.commonmark.org/0.31.2/#list-items
func listsDrawn(text string) string {
	var b strings.Builder
	var l lists
	for at := 0; at < len(text); {
		line := text[at:]
		if end := strings.IndexByte(line, '\n') + 1; end > 0 {
			line = line[:end]
		}
		if i := len(line) - len(strings.TrimLeft(line, "> ")); backticks(line[i:]) >= 3 {
			line = text[at : at+i+fenced(text[at+i:], backticks(line[i:]))]
			b.WriteString(line)
			l.paragraph = false
			l.leave(len(lineOf.FindStringSubmatch(line)[2]))
		} else {
			b.WriteString(l.draw(line))
		}
		at += len(line)
	}
	return b.String()
}

// leave ends the lists that a line with so much indentation is not in, and returns the outermost of those.
func (l *lists) leave(indent int) (left list) {
	for n := len(l.open); n > 0 && l.open[n-1].column > indent; n-- {
		left = l.open[n-1]
		l.open = l.open[:n-1]
	}
	return left
}

// draw is a line as it is drawn.
func (l *lists) draw(line string) string {
	m := lineOf.FindStringSubmatch(line)
	if m[1] != l.quote {
		*l = lists{quote: m[1]}
	}
	body, indent, mark := line[len(m[1]):], len(m[2]), m[3]
	blank, paragraph := strings.TrimSpace(body) == "", l.paragraph
	l.paragraph = !blank
	if mark == "" || strings.Trim(body, "-* \n") == "" {
		if !blank && !paragraph { // otherwise it goes on with the paragraph above
			l.leave(indent)
		}
		return line
	}
	was := l.open
	last := l.leave(indent)
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
	if indent > column+3 || m[4] != "" && m[4] != "1" && last.mark != now.mark && paragraph { // text, as numbers in the midst of a paragraph are
		l.open = was
		return line
	}
	l.open = append(l.open, now)
	return m[1] + m[2] + shown + body[indent+len(mark):]
}

// codeAsItStands is a Markdown text whose entities in code are escaped once more: outside of code
// "&lt;" shows "<", in code it shows "&lt;".
// Source: https://spec.commonmark.org/0.31.2/#entity-and-numeric-character-references
func codeAsItStands(text string) string {
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

// nextCode is where the next code behind at begins and ends: a fenced block with its fences, or a
// span with its backticks. Without any it is the end of the text.
func nextCode(text string, at int) (begin, end int) {
	for i := at; i < len(text); {
		switch text[i] {
		case '\\':
			i += 2
		case '`':
			n := backticks(text[i:])
			if n >= 3 && startsLine(text, i) {
				return i, i + fenced(text[i:], n)
			}
			if length := codeSpan(text[i:], n); length > 0 {
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

// startsLine reports whether only quote marks and spaces stand before i in its line.
func startsLine(text string, i int) bool {
	line := text[strings.LastIndexByte(text[:i], '\n')+1 : i]
	return strings.Trim(line, "> ") == ""
}

// fenced is how long the block is that text begins with, whose fence has n backticks. One that is
// not closed goes on to the end.
func fenced(text string, n int) int {
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

// codeSpan is how long the code is that text begins with n backticks; 0 when nothing closes it in
// its paragraph.
func codeSpan(text string, n int) int {
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
