package markup

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
)

var (
	angleAddress = regexp.MustCompile(`^<[A-Za-z0-9][A-Za-z0-9+.-]*[:@]`)
	// growingAngle matches the possible beginning of a tag, or of a URL in angle brackets.
	growingAngle = regexp.MustCompile("^<(?:[^\\s<>]*$|[!?]|/?[A-Za-z][A-Za-z0-9-]*" +
		"(?:\\s+[A-Za-z_:][A-Za-z0-9_.:-]*(?:\\s*=\\s*(?:[^\\s\"'=<>`]+|'[^']*'|\"[^\"]*\"))?)*" +
		"\\s*(?:/|=\\s*(?:'[^']*|\"[^\"]*)?)?$)")
)

// seeker searches the parsed content of an unfinished paragraph for the first place that later text may change. If the
// seeker can't decide whether later text may change a place, it assumes that this is so.
type seeker struct {
	src      []byte
	leaf     ast.Node
	at       int   // the first place found so far that later text may change, or -1
	done     bool  // the search has ended, because the seeker can't judge the text after the place that it has found
	brackets []int // for each open bracket, the place that changes if the bracket becomes part of a link
	read     int   // end of the source that the seeker has examined
	address  int   // start of a bare URL that later text may continue, or -1
	literal  int   // end of the current literal text in the source
	above    int   // start of the previous child node, or -1 if that node is text
}

// seek returns the first place that later text may change, or the length of the source.
func (s *seeker) seek() int {
	s.address, s.above = -1, -1
	start, _ := contentOfBlock(s.leaf)
	s.read = max(start, 0)
	for c := s.leaf.FirstChild(); c != nil && !s.done; c = c.NextSibling() {
		s.child(c)
	}
	at := s.at
	if s.address >= 0 && (at > s.address || at < 0 && ending(s.src, s.leaf) == 0) {
		at = s.address
	}
	for _, b := range s.brackets {
		if at < 0 || b < at {
			at = b
		}
	}
	if at < 0 {
		return len(s.src)
	}
	return at
}

// child examines a child node of the paragraph.
func (s *seeker) child(c ast.Node) {
	if text, ok := c.(*ast.Text); ok {
		s.text(text, -1, false)
		s.above = -1
		return
	}
	top := s.begin(c)
	s.above = top
	s.inside(c, top, false)
	if s.done || c.NextSibling() == nil && ending(s.src, s.leaf) != 0 {
		return
	}
	if _, auto := c.(*ast.AutoLink); auto {
		s.address = top
	} else if c.NextSibling() == nil { // the closing delimiter of the last child may get longer
		s.found(top)
	}
}

// found records a place that later text may change. found does not end the search, because a closing bracket further on
// may make an earlier place changeable.
func (s *seeker) found(place int) {
	if s.at < 0 || place < s.at {
		s.at = place
	}
}

// stop records a place that later text may change, and ends the search, because nothing after this place can be judged.
func (s *seeker) stop(place int) {
	s.found(place)
	s.done = true
}

// begin returns the source offset at which a child node begins.
func (s *seeker) begin(c ast.Node) int {
	pos := c.Pos()
	if auto, ok := c.(*ast.AutoLink); ok {
		if start := labelStart(auto, s.src); s.src[pos] != '<' || start != pos+1 {
			return start // c is a bare URL; if the URL follows a tag, the parser reports this start
		}
	}
	return pos
}

// inside examines the content of a complete construct that begins at the offset top. Only a construct of higher
// precedence, such as code, can still break a complete construct.
func (s *seeker) inside(n ast.Node, top int, link bool) {
	switch n := n.(type) {
	case *ast.Text:
		s.text(n, top, link)
		return
	case *ast.Link, *ast.Image:
		link = true
	case *ast.CodeSpan, *ast.AutoLink, *ast.RawHTML:
		s.skip(n)
		return
	}
	for c := n.FirstChild(); c != nil && !s.done; c = c.NextSibling() {
		s.inside(c, top, link)
	}
}

// skip skips a construct whose content can't change any more.
func (s *seeker) skip(n ast.Node) {
	switch n := n.(type) {
	case *ast.CodeSpan:
		if t, ok := n.LastChild().(*ast.Text); ok {
			s.read = max(s.read, t.Segment.Stop)
		}
	case *ast.AutoLink:
		s.read = max(s.read, labelStart(n, s.src)+len(n.Label(s.src)))
	case *ast.RawHTML:
		s.address = -1
		if k := n.Segments.Len(); k > 0 {
			last := n.Segments.At(k - 1)
			s.read = max(s.read, last.Stop)
		}
	}
}

// text examines literal text. The parameter top is the start of the surrounding construct, or -1 if no construct is open.
// Within a construct, the method text ignores emphasis delimiters. Within a link, the method text also ignores
// brackets.
func (s *seeker) text(n *ast.Text, top int, link bool) {
	if start := n.Segment.Start; start > s.read && bytes.IndexByte(s.src[s.read:start], '\n') >= 0 {
		s.address = -1
	}
	stop := n.Segment.Stop
	s.literal = stop
	for next, ok := n.NextSibling().(*ast.Text); ok && next.Segment.Start == s.literal; next, ok = next.NextSibling().(*ast.Text) {
		s.literal = next.Segment.Stop
	}
	for i := n.Segment.Start; i < stop && !s.done; {
		i = s.char(i, stop, top, link)
	}
	if n.SoftLineBreak() || n.HardLineBreak() {
		s.address = -1
	}
	s.read = max(s.read, stop)
}

// char examines the character at the offset i and returns the offset of the next character to examine.
func (s *seeker) char(i, stop, top int, link bool) int {
	place := i
	if top >= 0 {
		place = top
	}
	switch c := s.src[i]; c {
	case ' ', '\t':
		s.address = -1
	case '\\':
		if i+1 < len(s.src) && !util.IsPunct(s.src[i+1]) && s.src[i+1] != '\n' && s.src[i+1] != '\r' {
			return i + 1
		}
		if i+1 >= len(s.src) || s.src[i+1] == '\n' || s.src[i+1] == '\r' {
			s.stop(place)
		}
		return i + 2
	case '`':
		s.stop(place)
	case '<':
		s.address = -1
		if growingAngle.MatchString(s.rest(i)) {
			s.stop(place)
		}
	case '!':
		if i+1 >= len(s.src) {
			s.stop(place)
		}
	case '[':
		if !link {
			if top < 0 && i > 0 && s.src[i-1] == '!' {
				place--
			}
			s.brackets = append(s.brackets, place)
		}
	case ']':
		s.bracket(i, link)
	case '*', '_', '~':
		n := runLength(s.src[i:])
		if top < 0 && s.opens(c, i, n) {
			s.found(place)
			if i+n >= len(s.src) && i+n > s.literal && s.above >= 0 {
				s.found(s.above) // these delimiters close a format, but more of the same character may follow
			}
		}
		return i + n
	}
	return i + 1
}

// bracket examines a closing bracket that the parser has treated as text.
func (s *seeker) bracket(i int, link bool) {
	n := len(s.brackets)
	if link || n == 0 {
		return
	}
	place := s.brackets[n-1]
	if i+1 >= len(s.src) || s.src[i+1] == '(' && growingTarget(s.rest(i+2)) {
		s.stop(place)
		return
	}
	s.brackets = slices.Delete(s.brackets, n-1, n)
}

// opens reports whether the run of n emphasis delimiters at i may open a format that later delimiters close.
func (s *seeker) opens(c byte, i, n int) bool {
	if i+n >= len(s.src) {
		return true
	}
	after, _ := utf8.DecodeRune(s.src[i+n:])
	if unicode.IsSpace(after) || c == '~' && n != 2 {
		return false
	}
	if c != '_' {
		return true
	}
	before, _ := utf8.DecodeLastRune(s.src[:i])
	return i == 0 || !unicode.IsLetter(before) && !unicode.IsDigit(before)
}

// rest returns the content of the paragraph from the source offset i on, without the block quote markers and list
// markers at the start of lines.
func (s *seeker) rest(i int) string {
	var out strings.Builder
	lines := s.leaf.Lines()
	for k := range lines.Len() {
		if line := lines.At(k); line.Stop > i {
			out.Write(s.src[max(line.Start, i):line.Stop])
		}
	}
	return out.String()
}

// growingTarget reports whether later text may still turn rest, the source after "](", into the target of a link.
func growingTarget(rest string) bool {
	rest = strings.TrimLeft(rest, " \t\r\n")
	if strings.HasPrefix(rest, "<") {
		end := strings.IndexAny(rest, ">\n")
		if end < 0 {
			return true
		}
		return rest[end] == '>'
	}
	end := strings.IndexAny(rest, " \t\r\n")
	if end < 0 {
		return true
	}
	rest = strings.TrimLeft(rest[end:], " \t\r\n")
	return rest == "" || strings.ContainsRune(`"'()`, rune(rest[0]))
}

// runLength returns how many consecutive bytes at the start of s, including the first byte, are equal to the first byte.
func runLength(s []byte) int {
	n := 1
	for n < len(s) && s[n] == s[0] {
		n++
	}
	return n
}
