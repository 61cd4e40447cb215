package markup

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// scanner scans the inline content of an unfinished paragraph for open constructs. The scanner follows CommonMark's
// rules for delimiter runs closely enough that the closing delimiters that it returns usually work. If the scanner
// makes a mistake, a construct stays open, and its delimiters are shown as text.
type scanner struct {
	s        string
	stack    []opener
	formulas bool // the scanner recognizes formulas, too
}

// opener is an opening delimiter run, an open bracket, or an open code span.
type opener struct {
	at, n    int
	char     byte // the opener's character: one of * _ ~ ` [, or ! for an image
	canClose bool
}

// These constants limit open constructs. If a construct exceeds a limit, its opening bracket and everything after the
// bracket count as ordinary text.
const (
	maxOpeners   = 64
	maxLinkText  = 160 // in bytes, like the limits below
	maxLinkRest  = 2048
	maxAutoLink  = 2048
	maxReference = 100
)

var (
	partialAngle = regexp.MustCompile(`^<(?:/?[A-Za-z][A-Za-z0-9+.@-]*[ /]{0,2}|[A-Za-z][A-Za-z0-9+.-]*:[^\s<>]*|/)?$`)
	wholeAngle   = regexp.MustCompile(`^<(?:[A-Za-z][A-Za-z0-9+.-]*:[^\s<>]*|/?[A-Za-z](?:[^<>"]|"[^"]*")*)>`)
	// wholeTarget matches the complete target of a link: a URL with or without angle brackets, and a title, in parentheses.
	// partialTarget matches the beginning of such a target at the end of a text.
	wholeTarget   = regexp.MustCompile(`^\(\s*(?:<[^<>\n]*>|(?:[^\s()<\\]|\\.|\((?:[^\s()\\]|\\.|\([^\s()]*\))*\))(?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.|\([^\s()]*\))*\))*)?(?:\s+(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\((?:[^()\\]|\\.)*\)))?\s*\)`)
	partialTarget = regexp.MustCompile(`^\(\s*(?:<[^<>\n]*>?|[^\s<]\S*)?(?:\s+(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|\((?:[^()\\]|\\.)*\)?)?)?\s*$`)
)

// scanInline returns how many bytes of the content can be shown, and the closing delimiters that must be appended.
func scanInline(content string, extras Extras) (keep int, closers string) {
	sc := scanner{s: content, formulas: extras.Has(Formulas)}
	keep = sc.scan()
	return sc.finish(keep)
}

// scan scans the inline content and returns where it must be cut.
func (sc *scanner) scan() int {
	for i := 0; i < len(sc.s); {
		next, cut := sc.step(i)
		if cut >= 0 {
			return cut
		}
		i = next
	}
	return len(sc.s)
}

// step handles the character at the offset i. step returns the index of the next character to handle. If the result cut
// is not negative, the content must be cut at this offset.
func (sc *scanner) step(i int) (next, cut int) {
	c := sc.s[i]
	if sc.formulas && (c == '$' || c == '\\') {
		if next, cut = sc.formula(i); next > i || cut >= 0 {
			return next, cut
		}
	}
	switch c {
	case '\\':
		return i + 2, -1
	case '`':
		return sc.code(i)
	case '<':
		return sc.angle(i)
	case '!':
		if i+1 == len(sc.s) {
			return 0, i
		}
		if sc.s[i+1] == '[' {
			sc.push(opener{at: i, n: 2, char: '!'})
			return i + 2, -1
		}
	case '[':
		if strings.HasPrefix(sc.s[i:], "[^") { // the brackets of a footnote are text
			return i + 2, -1
		}
		sc.push(opener{at: i, n: 1, char: '['})
	case ']':
		return sc.bracket(i)
	case '*', '_', '~':
		return sc.run(i)
	}
	return i + 1, -1
}

// push pushes an opener onto the stack. If the stack is full, push drops the oldest opener.
func (sc *scanner) push(o opener) {
	if len(sc.stack) == maxOpeners {
		sc.stack = slices.Delete(sc.stack, 0, 1)
	}
	sc.stack = append(sc.stack, o)
}

// runLength returns how many consecutive bytes from i on, including the byte at i, are equal to that byte.
func (sc *scanner) runLength(i int) int {
	return len(sc.s[i:]) - len(strings.TrimLeft(sc.s[i:], sc.s[i:i+1]))
}

// code handles a run of backticks, which begins a code span. The code span is either complete, or open until the end of
// the content.
func (sc *scanner) code(i int) (next, cut int) {
	n := sc.runLength(i)
	for k := i + n; k < len(sc.s); {
		p := strings.IndexByte(sc.s[k:], '`')
		if p < 0 {
			break
		}
		k += p
		m := sc.runLength(k)
		if m == n {
			return k + m, -1
		}
		k += m
	}
	if i+n == len(sc.s) {
		return 0, i
	}
	sc.push(opener{at: i, n: n, char: '`'})
	return 0, len(strings.TrimRight(sc.s, "`"))
}

// formula handles a character that may begin a formula. If no formula begins at i, the method formula returns i and -1.
func (sc *scanner) formula(i int) (next, cut int) {
	prev, _ := utf8.DecodeLastRuneInString(sc.s[:i])
	n, open := inlineFormula(prev, sc.s[i:])
	if open {
		return 0, i
	}
	return i + n, -1
}

// angle handles an opening angle bracket, which may begin a tag or an autolink.
func (sc *scanner) angle(i int) (next, cut int) {
	rest := sc.s[i:min(len(sc.s), i+maxAutoLink)]
	if whole := wholeAngle.FindString(rest); whole != "" {
		return i + len(whole), -1
	}
	if len(rest) == len(sc.s)-i && partialAngle.MatchString(rest) {
		return 0, i
	}
	return i + 1, -1
}

// bracket handles the closing bracket of a link's text.
func (sc *scanner) bracket(i int) (next, cut int) {
	top := len(sc.stack) - 1
	for top >= 0 && sc.stack[top].char != '[' && sc.stack[top].char != '!' {
		top--
	}
	if top < 0 {
		return i + 1, -1
	}
	open := sc.stack[top]
	rest := sc.s[i+1 : min(len(sc.s), i+1+maxLinkRest)]
	atEnd := i+1+len(rest) == len(sc.s)
	switch {
	case strings.HasPrefix(rest, "("):
		if whole := wholeTarget.FindString(rest); whole != "" {
			sc.stack = sc.stack[:top]
			return i + 1 + len(whole), -1
		}
		if atEnd && partialTarget.MatchString(rest) {
			return sc.unfinished(open, top, i)
		}
	case strings.HasPrefix(rest, "["):
		if end := strings.IndexByte(rest, ']'); end >= 0 {
			sc.stack = slices.Delete(sc.stack, top, top+1)
			return i + 1 + end + 1, -1
		}
		if atEnd && len(rest) < maxReference {
			return sc.unfinished(open, top, i)
		}
	case rest == "" && i-open.at < maxLinkText:
		return sc.unfinished(open, top, i)
	}
	sc.stack = slices.Delete(sc.stack, top, top+1)
	return i + 1, -1
}

// unfinished returns where to cut the content if a link's target is incomplete: before the closing bracket, or before
// the whole image.
func (sc *scanner) unfinished(open opener, top, i int) (next, cut int) {
	if open.char == '!' {
		sc.stack = sc.stack[:top]
		return 0, open.at
	}
	return 0, i
}

// run handles a delimiter run of emphasis or strikethrough.
func (sc *scanner) run(i int) (next, cut int) {
	c, n := sc.s[i], sc.runLength(i)
	end := i + n
	if c == '~' && n > 2 {
		return end, -1
	}
	prev, _ := utf8.DecodeLastRuneInString(sc.s[:i])
	after, _ := utf8.DecodeRuneInString(sc.s[end:])
	atEnd := end == len(sc.s)
	left := !atEnd && !unicode.IsSpace(after) && (!punct(after) || i == 0 || unicode.IsSpace(prev) || punct(prev))
	right := i > 0 && !unicode.IsSpace(prev) && (!punct(prev) || atEnd || unicode.IsSpace(after) || punct(after))
	canOpen, canClose := left, right
	if c == '_' {
		canOpen = left && (!right || punct(prev))
		canClose = right && (!left || punct(after))
	}
	rest := n
	if canClose {
		rest = sc.close(c, n, canOpen)
	}
	if rest > 0 && atEnd {
		return 0, end - rest
	}
	if rest > 0 && canOpen {
		sc.push(opener{at: end - rest, n: rest, char: c, canClose: canClose})
	}
	return end, -1
}

// punct reports whether r is punctuation in the sense of CommonMark.
func punct(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }

// close matches a run of n closing delimiters with the openers before the run. close returns how many delimiters are
// left.
func (sc *scanner) close(c byte, n int, both bool) int {
	for k := len(sc.stack) - 1; k >= 0 && n > 0; k-- {
		o := &sc.stack[k]
		if o.char == '[' || o.char == '!' {
			break
		}
		if o.char != c || c == '~' && o.n != n {
			continue
		}
		if c != '~' && (both || o.canClose) && (o.n+n)%3 == 0 && (o.n%3 != 0 || n%3 != 0) {
			continue
		}
		for n > 0 && o.n > 0 {
			use := 1
			if n >= 2 && o.n >= 2 {
				use = 2
			}
			n -= use
			o.n -= use
		}
		if o.n > 0 {
			sc.stack = sc.stack[:k+1]
		} else {
			sc.stack = sc.stack[:k]
		}
	}
	return n
}

// closedTogether reports whether one delimiter run can close all openers of a group. A run of more than two ~
// characters is not a delimiter. Runs of * and _ must follow CommonMark's rule about multiples of 3:
// https://spec.commonmark.org/0.31.2/#can-close-emphasis
func closedTogether(group []opener) bool {
	n := 0
	for _, o := range group {
		n += o.n
	}
	return len(group) == 1 || group[0].char != '~' && !slices.ContainsFunc(group, func(o opener) bool {
		return (o.n+n)%3 == 0 && (o.n%3 != 0 || n%3 != 0)
	})
}

// finish returns where to cut the content, and the closing delimiters for those openers that are before the cut. finish
// cuts the content at keep or before it.
func (sc *scanner) finish(keep int) (int, string) {
	trimmed := func() int { return len(strings.TrimRightFunc(sc.s[:keep], unicode.IsSpace)) }
	for i, o := range sc.stack {
		if o.char == '!' && keep-o.at < maxLinkText {
			keep, sc.stack = o.at, sc.stack[:i]
			break
		}
	}
	for n := len(sc.stack); n > 0 && sc.stack[n-1].at+sc.stack[n-1].n >= trimmed(); n = len(sc.stack) {
		keep = min(keep, sc.stack[n-1].at)
		sc.stack = sc.stack[:n-1]
	}
	var closers strings.Builder
	var group []opener // openers whose closing delimiters would be adjacent, so that these would form one run
	for _, o := range slices.Backward(sc.stack) {
		switch {
		case o.char == '[' && keep-o.at < maxLinkText:
			closers.WriteString("]()")
			group = nil
		case o.char != '[' && o.char != '!':
			if len(group) > 0 && group[0].char != o.char {
				group = nil
			}
			if group = append(group, o); !closedTogether(group) {
				group = group[:len(group)-1] // treat this opener as text
				continue
			}
			closers.WriteString(strings.Repeat(string(o.char), o.n))
		}
	}
	if closers.Len() > 0 {
		keep = trimmed()
	}
	return keep, closers.String()
}
