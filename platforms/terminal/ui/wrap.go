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

// wrap cuts text into lines of at most width cells. Each is complete in itself: a style or a link that goes on is ended
// and begun anew, so that any lines can be shown without those before.
func wrap(text string, width int) []string {
	lines := strings.Split(ansi.Wrap(text, max(1, width), ""), "\n")
	style, link := "", ""
	for i, line := range lines {
		before := style + link
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
		line = before + line
		if style != "" {
			line += plainStyle
		}
		if link != "" {
			line += noLink
		}
		lines[i] = line
	}
	return lines
}
