package attachment

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	maxChapters = 2000
	maxHTMLText = 1 << 20 // maximum number of bytes of text between two tags
)

// book reads the text of an EPUB file (https://www.w3.org/TR/epub-33/), chapter by chapter. rest describes what the text
// leaves out.
func (a *archive) book(out *bounded) (rest string, err error) {
	root := ""
	err = a.walk("META-INF/container.xml", func(t xml.Token) error {
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "rootfile" && root == "" {
			root = attribute(e, "full-path")
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	chapters, err := a.chapters(root)
	if err != nil {
		return "", err
	}
	for i, name := range chapters {
		if out.truncated {
			return fmt.Sprintf("the first %d of %d chapters are shown", i, len(chapters)), nil
		}
		r, err := a.open(name)
		if errors.Is(err, ErrUnreadable) {
			continue // other chapters may exist
		}
		out.separate("\n\n")
		err = readHTML(r, out, false)
		_ = r.Close() // an error of Close does not matter after reading
		if err != nil {
			return fmt.Sprintf("the first %d of %d chapters are shown", i+1, len(chapters)), nil
		}
	}
	return "", nil
}

// chapters returns the names of a book's chapters in reading order.
func (a *archive) chapters(root string) ([]string, error) {
	files := make(map[string]string) // the names of the files, by their ids
	var order, all []string
	err := a.walk(root, func(t xml.Token) error {
		e, ok := t.(xml.StartElement)
		switch {
		case !ok:
		case e.Name.Local == "item" && len(files) < maxChapters:
			name, err := url.PathUnescape(attribute(e, "href"))
			if name = resolveLink(root, name); err == nil && a.has(name) {
				files[attribute(e, "id")] = name
				if attribute(e, "media-type") == "application/xhtml+xml" {
					all = append(all, name)
				}
			}
		case e.Name.Local == "itemref" && attribute(e, "linear") != "no" && len(order) < maxChapters:
			if name := files[attribute(e, "idref")]; name != "" {
				order = append(order, name)
			}
		}
		return nil
	})
	if len(order) == 0 { // AbiWord writes a reading order of chapters that don't exist
		order = all
	}
	return order, err
}

// readHTML reads the text of a web page. readHTML writes headings and lists as in Markdown. readHTML keeps no tree of
// elements, so deeply nested elements need no memory.
func readHTML(r io.Reader, out *bounded, title bool) error {
	z := html.NewTokenizer(r)
	z.SetMaxBuf(maxHTMLText)
	page := webPage{bounded: out}
	hidden := atom.Atom(0) // the current element whose text is left out
	for !out.truncated {
		switch z.Next() {
		case html.ErrorToken:
			if err := z.Err(); !errors.Is(err, io.EOF) {
				return fmt.Errorf("%w: %w", ErrUnreadable, err)
			}
			return nil
		case html.TextToken:
			if hidden == 0 {
				page.addWords(string(z.Text()))
			}
		case html.StartTagToken:
			name, _ := z.TagName()
			tag := atom.Lookup(name)
			if hidden == 0 && isHidden(tag, title) {
				hidden = tag
			}
			page.startTag(tag)
		case html.SelfClosingTagToken:
			z.NextIsNotRawText() // XHTML has no elements whose content is raw text
			name, _ := z.TagName()
			page.startTag(atom.Lookup(name))
		case html.EndTagToken:
			name, _ := z.TagName()
			tag := atom.Lookup(name)
			if tag == hidden {
				hidden = 0
			}
			page.endTag(tag)
		}
	}
	return nil
}

func isHidden(tag atom.Atom, title bool) bool {
	switch tag {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Iframe, atom.Textarea, atom.Select:
		return true
	case atom.Title:
		return !title
	}
	return false
}

// webPage is the state of reading the text of a web page.
type webPage struct {
	*bounded
	inRow      bool // a cell of a table row has begun
	beginsCell bool // the current cell has no text yet
}

// addWords adds text and replaces line breaks and repeated spaces by one space.
func (p *webPage) addWords(s string) {
	start := -1
	for i, r := range s + " " {
		switch space := r == ' ' || r == '\n' || r == '\t' || r == '\r'; {
		case !space && start < 0:
			start = i
		case space && start >= 0:
			p.add(s[start:i])
			p.beginsCell = false
			start = -1
			fallthrough
		case space:
			if i < len(s) {
				p.separate(" ")
			}
		}
	}
}

func (p *webPage) startTag(tag atom.Atom) {
	switch tag {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		p.separate("\n\n" + "######"[:tag.String()[1]-'0'] + " ")
	case atom.Li:
		p.separate("\n- ")
	case atom.Td, atom.Th:
		if p.inRow { // the separator between cells replaces a separator at the end of the previous cell
			p.separator = " | "
		}
		p.inRow, p.beginsCell = true, true
	default:
		p.endTag(tag)
	}
}

func (p *webPage) endTag(tag atom.Atom) {
	switch tag {
	case atom.Td, atom.Th:
		if !p.beginsCell {
			p.separator = "" // a paragraph at the end of a cell adds no line break
		}
		p.beginsCell = false
	case atom.Tr, atom.Table:
		p.inRow, p.beginsCell = false, false
	}
	if p.beginsCell { // a paragraph at the beginning of a cell adds no line break
		return
	}
	switch tag {
	case atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Table, atom.Ul, atom.Ol, atom.Blockquote, atom.Pre,
		atom.Section, atom.Article:

		p.separate("\n\n")
	case atom.Br, atom.Div, atom.Tr, atom.Li, atom.Dt, atom.Dd, atom.Title, atom.Header, atom.Footer, atom.Nav, atom.Figure:
		p.separate("\n")
	}
}
