package conformance

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	// escaped matches a backslash and the punctuation character that the backslash escapes.
	escaped = regexp.MustCompile("\\\\[!-/:-@\\[-`{-~]")
	// destination matches the destination of a link.
	destination = regexp.MustCompile(`\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*\)`)
	// codeSpan matches inline code between one, two or three backticks.
	codeSpan = regexp.MustCompile("(?s)```.+?```|``.+?``|`[^`]+`")
	// fence matches the first or last line of a code block, even in a quote or a list.
	fence = regexp.MustCompile("^[ >]*(```|~~~)")
)

// checkMarks returns an error if a Markdown text contains a delimiter, such as **, without a partner. People would see
// a delimiter without a partner as ordinary characters. The text must be in the form in which the adapter sent it.
// checkMarks knows the delimiters that dialects write. checkMarks checks each paragraph separately, because a delimiter
// and its partner are always in the same paragraph.
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

// checkParagraph returns an error if a paragraph without code blocks contains a delimiter without a partner.
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
