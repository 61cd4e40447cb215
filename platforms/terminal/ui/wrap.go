package ui

import (
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// sequences are those that a dialect writes: a style, and a link.
var sequences = regexp.MustCompile("\x1b\\[[0-9;]*m|\x1b\\]8;;[^\x1b]*\x1b\\\\")

const (
	plainStyle = "\x1b[0m"
	noLink     = "\x1b]8;;\x1b\\"
)

// lead is what a line begins with that says where it belongs: the bars of quotes, an indent, the mark of a list's
// item, and the prompt of what the person wrote.
var lead = regexp.MustCompile(`^(?:│ )*(?:> | *(?:(?:[•◦▪☑☐]|\d{1,3}[.)]) )*)(?:│ )*`)

// wrap cuts text into lines of at most width cells. What goes on in the next line stands below its own beginning.
// Each line is complete in itself: a style or a link that goes on is ended and begun anew, so that any lines can be
// shown without those before.
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
			first, body = cutBehind(whole, indent)
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

// cutBehind cuts a line behind the text that it begins with, sequences aside.
func cutBehind(line, begin string) (string, string) {
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

// blank makes the indent of a line that goes on of what the first one began with: bars go on, marks do not.
func blank(r rune) rune {
	if r == '│' {
		return r
	}
	return ' '
}

// carried returns the style and the link that are in force behind a line.
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
