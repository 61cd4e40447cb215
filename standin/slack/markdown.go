package slack

import "strings"

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

// startsLine tells whether only quote marks and spaces stand before i in its line.
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
