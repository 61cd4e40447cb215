package conformance

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	// escaped is a character that a backslash makes plain.
	escaped = regexp.MustCompile("\\\\[!-/:-@\\[-`{-~]")
	// destination is where a link goes.
	destination = regexp.MustCompile(`\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*\)`)
	// codeSpan is code in a line of text, by one, two or three marks.
	codeSpan = regexp.MustCompile("(?s)```.+?```|``.+?``|`[^`]+`")
	// fence opens or closes a block of code, in a quote or a list as well.
	fence = regexp.MustCompile("^[ >]*(```|~~~)")
)

// checkMarks returns what is wrong with a text that shows Markdown as it was sent: marks without their partner,
// which a person would read as they are. It knows the marks that dialects write, and judges each paragraph by
// itself, as a platform does.
func checkMarks(text string) error {
	var paragraph []string
	open := ""
	judge := func() error {
		defer func() { paragraph = nil }()
		return checkParagraph(strings.Join(paragraph, "\n"))
	}
	for line := range strings.SplitSeq(text, "\n") {
		found := fence.FindStringSubmatch(line)
		switch {
		case open != "":
			if found != nil && found[1] == open {
				open = ""
			}
		case found != nil && strings.Count(line, found[1]) == 1:
			open = found[1]
			if err := judge(); err != nil {
				return err
			}
		case strings.Trim(line, " >") == "":
			if err := judge(); err != nil {
				return err
			}
		default:
			paragraph = append(paragraph, line)
		}
	}
	if open != "" {
		return fmt.Errorf("a block of code stays open: %s", open)
	}
	return judge()
}

// checkParagraph judges text without blocks of code.
func checkParagraph(text string) error {
	rest := escaped.ReplaceAllString(text, "x")
	rest = codeSpan.ReplaceAllString(rest, "x")
	rest = destination.ReplaceAllString(rest, "]")
	for _, mark := range []string{"`", "](", "**", "~~"} {
		if n := strings.Count(rest, mark); n%2 != 0 || mark == "](" && n > 0 {
			return fmt.Errorf("%s stands without its partner in %q", mark, text)
		}
	}
	if strings.Count(strings.ReplaceAll(rest, "**", ""), "*")%2 != 0 {
		return fmt.Errorf("* stands without its partner in %q", text)
	}
	return nil
}
