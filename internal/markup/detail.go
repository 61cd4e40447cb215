package markup

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// maxDetails is the maximum nesting depth of HTML details elements. If an element is nested more deeply, its content
// becomes part of the element around it.
const maxDetails = 2

// These expressions match HTML tags of details elements:
// https://html.spec.whatwg.org/multipage/interactive-elements.html#the-details-element
var (
	detailTag  = regexp.MustCompile(`(?i)</?(?:details|summary)(?:\s[^<>]*)?>`)
	anyTag     = regexp.MustCompile(`</?(?:[A-Za-z][^<>]*)?$|</?[A-Za-z][^<>]*>`) // also matches the beginning of a tag at the end of the text
	toBeOpened = regexp.MustCompile(`(?i)\sopen\b`)
)

// folds is the flattener's state of the HTML details elements that surround the current text.
type folds struct {
	open    []int // for each element, the index of its format, outer elements first; -1: nested too deeply
	floor   int   // number of elements in the field open that began outside the current container
	ended   int   // number of the elements counted by the field floor that have ended inside the container
	summary int   // index of the current summary's format, plus 1; 0: no summary is open
}

// tag handles a tag of a details or summary element. tag returns false if such a tag is not allowed at this place; the
// caller then shows the tag as text.
func (f *flattener) tag(tag string) bool {
	d := &f.folds
	name := strings.ToLower(strings.TrimLeft(tag, "</"))
	switch ends := tag[1] == '/'; {
	case ends && strings.HasPrefix(name, "details"): // the start tag may be in an earlier part of the reply
		if len(d.open) > d.floor {
			f.fold()
		} else if d.ended < d.floor {
			d.ended++
		}
	case strings.HasPrefix(name, "details"):
		f.breakLine(1)
		i := -1
		if len(d.open) < maxDetails {
			i = f.builder.open(Format{Style: Detail})
			if toBeOpened.MatchString(tag) {
				f.formats[i].Level = 1
			}
		}
		d.open = append(d.open, i)
	case len(d.open) <= d.floor:
		return false
	case ends:
		f.endSummary()
	case d.summary == 0 && d.open[len(d.open)-1] >= 0:
		f.breakLine(1)
		d.summary = f.builder.open(Format{Style: Summary}) + 1
	}
	return true
}

// endSummary ends the current summary.
func (f *flattener) endSummary() {
	if f.folds.summary > 0 {
		f.close(f.folds.summary - 1)
		f.folds.summary = 0
	}
	f.breakLine(1)
}

// fold ends the innermost details element.
func (f *flattener) fold() {
	f.endSummary()
	d := &f.folds
	last := len(d.open) - 1
	if d.open[last] >= 0 {
		f.close(d.open[last])
	}
	d.open = d.open[:last]
}

// contained calls the function lay, which lays out a container: a quote, or an item of a list. After the function lay
// has returned, contained ends the details elements that begin in the container, even if their end tags are missing.
func (f *flattener) contained(lay func()) {
	d := &f.folds
	floor := d.floor
	d.floor = len(d.open)
	lay()
	f.unfold(d.floor)
	d.floor = floor
	for ; d.ended > 0 && len(d.open) > d.floor; d.ended-- {
		f.fold()
	}
}

// unfold ends all open details elements except the outermost ones. The parameter around is the number of elements that
// stay open. The end tags of the elements that unfold ends are missing in the source or in their container, so these
// elements are shown unfolded.
func (f *flattener) unfold(around int) {
	for len(f.folds.open) > around {
		if i := f.folds.open[len(f.folds.open)-1]; i >= 0 {
			f.formats[i].Level = 1
		}
		f.fold()
	}
}

// htmlLine lays out a line of HTML that may contain tags of details elements. If grows is true, the end of the line may
// not have arrived yet.
func (f *flattener) htmlLine(s []byte, pos int, grows bool) {
	s = bytes.TrimRight(s, "\r\n")
	if grows {
		s = s[:len(s)-partialTag(s)]
	}
	from := 0
	for _, at := range append(detailTag.FindAllIndex(s, -1), []int{len(s), len(s)}) {
		f.htmlText(s[from:at[0]], pos+from)
		if from = at[1]; from > at[0] && !f.tag(string(s[at[0]:from])) {
			f.htmlText(s[at[0]:from], pos+at[0])
		}
	}
	f.breakLine(1)
}

// htmlText lays out HTML as text. Inside a summary, htmlText leaves out tags.
func (f *flattener) htmlText(s []byte, pos int) {
	if f.folds.summary == 0 {
		if len(bytes.TrimSpace(s)) > 0 {
			f.literalHTML(s, pos)
		}
		return
	}
	from := 0
	for _, at := range append(anyTag.FindAllIndex(s, -1), []int{len(s), len(s)}) {
		f.unescaped(s[from:at[0]], pos+from)
		from = at[1]
	}
}

// partialTag returns the length of an incomplete tag of a details or summary element at the end of s.
func partialTag(s []byte) int {
	i := bytes.LastIndexByte(s, '<')
	if i < 0 || bytes.IndexByte(s[i:], '>') >= 0 {
		return 0
	}
	name := strings.ToLower(strings.TrimPrefix(string(s[i+1:]), "/"))
	if strings.HasPrefix("details", name) || strings.HasPrefix("summary", name) || strings.HasPrefix(name, "details ") {
		return len(s) - i
	}
	return 0
}

// paragraph lays out text. An end tag of a details element may follow this text.
func (f *flattener) paragraph(n ast.Node) {
	end, ok := n.LastChild().(*ast.RawHTML)
	if !ok || !f.shape.Extras.Has(Details) || end.Segments.Len() != 1 {
		f.inlines(n)
		return
	}
	s := end.Segments.At(0)
	tag := string(s.Value(f.src))
	if !strings.HasPrefix(tag, "</") || !detailTag.MatchString(tag) || len(f.folds.open) == 0 {
		f.inlines(n)
		return
	}
	for c := n.FirstChild(); c != ast.Node(end); c = c.NextSibling() {
		f.inline(c)
	}
	f.space = false
	f.tag(tag)
}
