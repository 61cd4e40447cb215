package markup

import "strings"

// Rest returns the source after the end of the part last. If the returned source would begin within a code block, Rest
// puts the opening fence of the block before it, so that the result is valid Markdown by itself.
func Rest(src string, last Part) string {
	end := min(last.End, len(src))
	rest := strings.TrimLeft(src[end:], "\n")
	block := min(last.Next.Offset, end)
	if opener, open := fence(src[block:end]); open {
		return opener + "\n" + rest
	}
	return rest
}

// fence returns the opening fence at the start of a block, and whether the code block is still open at the end.
func fence(block string) (opener string, open bool) {
	lines := strings.Split(strings.Trim(block, "\n"), "\n")
	opener = strings.TrimRight(lines[0], " \t\r")
	mark := strings.TrimLeft(opener, " ")
	if len(opener)-len(mark) > 3 || !strings.HasPrefix(mark, "```") && !strings.HasPrefix(mark, "~~~") {
		return "", false
	}
	mark = mark[:len(mark)-len(strings.TrimLeft(mark, mark[:1]))]
	for _, l := range lines[1:] {
		if l = strings.TrimSpace(l); len(l) >= len(mark) && strings.Trim(l, mark[:1]) == "" {
			return "", false
		}
	}
	return opener, true
}
