package ui

import (
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// sequences matches the escape sequences that a dialect writes, which are styles and links.
var sequences = regexp.MustCompile("\x1b\\[[0-9;]*m|\x1b\\]8;;[^\x1b]*\x1b\\\\")

const (
	plainStyle = "\x1b[0m"
	noLink     = "\x1b]8;;\x1b\\"
)

// lead matches the beginning of a line, which determines the indent of the rows that continue the line. lead matches
// quote bars, an indent, list bullets or numbers, and the prompt.
var lead = regexp.MustCompile(`^(?:│ )*(?:> | *(?:(?:[•◦▪☑☐]|\d{1,3}[.)]) )*)(?:│ )*`)

// wrap cuts text into lines of at most width cells. If a line is too long, wrap indents the continuation of the line
// like the beginning of the line. If a style or a link continues in the next line, wrap ends the style or link at the
// end of the line, and begins it again in the next line. Each line that wrap returns can therefore be shown without the
// previous lines.
func wrap(text string, width int) []string {
	width = max(1, width)
	var lines []string
	style, link := "", ""
	for whole := range strings.SplitSeq(text, "\n") {
		first, body := "", whole
		indent := lead.FindString(ansi.Strip(whole))
		hang := ansi.StringWidth(indent)
		if ansi.StringWidth(whole) <= width || hang > width/2 {
			hang = 0
		}
		if hang > 0 {
			first, body = cutAfter(whole, indent)
			indent = strings.Map(blank, indent)
		}
		for i, line := range strings.Split(ansi.Wrap(body, width-hang, ""), "\n") {
			before := style + link
			switch {
			case hang == 0:
				line = before + line
			case i == 0:
				line = before + first + line
			default:
				line = indent + before + line
			}
			style, link = carried(line, style, link)
			if style != "" {
				line += plainStyle
			}
			if link != "" {
				line += noLink
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// cutAfter splits a line after the text begin. cutAfter does not count the escape sequences of the line as text.
func cutAfter(line, begin string) (string, string) {
	at := 0
	for n := len(begin); n > 0; {
		if s := sequences.FindStringIndex(line[at:]); s != nil && s[0] == 0 {
			at += s[1]
			continue
		}
		at++
		n--
	}
	return line[:at], line[at:]
}

// blank returns the character that replaces the character r in the indent of a continued line: a quote bar stays a bar,
// and any other character becomes a space.
func blank(r rune) rune {
	if r == '│' {
		return r
	}
	return ' '
}

// carried returns the style and the link that are active at the end of a line.
func carried(line, style, link string) (string, string) {
	for _, s := range sequences.FindAllString(line, -1) {
		switch {
		case s == plainStyle:
			style = ""
		case s == noLink:
			link = ""
		case strings.HasPrefix(s, "\x1b]"):
			link = s
		default:
			style = s
		}
	}
	return style, link
}
