package attachment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"telex/gateway/attachment/pdf"
)

const (
	readTime = 5 * time.Second // timeout for reading one document
	maxPages = 300             // maximum number of pages that are read from a PDF
)

// errOtherKind means that a ZIP archive is not a DOCX, XLSX or EPUB file.
var errOtherKind = errors.New("not a kind that can be read")

// document is the text that was read from a PDF, DOCX, XLSX or EPUB file.
type document struct {
	text string
	rest string // describes which part of the document is missing in text; "": nothing is missing
	thin bool   // there is hardly any text, so the document probably consists of pictures
}

// readDocument returns at most limit bytes of the text of a PDF, DOCX, XLSX or EPUB file. If the file turns out to be
// damaged or too large, readDocument returns the text that it has read until then. One call may use much memory, so the
// caller must limit the number of concurrent calls.
func readDocument(ctx context.Context, data []byte, limit int) (d document, err error) {
	defer func() {
		if p := recover(); p != nil {
			d, err = document{}, fmt.Errorf("%w: panic: %v", ErrUnreadable, p)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	if isPDF(data) {
		return readPDF(ctx, data, limit)
	}
	a, err := openArchive(ctx, data)
	if err != nil {
		return document{}, err
	}
	out := &bounded{limit: limit}
	rest := ""
	switch {
	case a.has("word/document.xml"):
		err = a.word(out)
	case a.has("xl/workbook.xml"):
		rest, err = a.workbook(out)
	case a.has("META-INF/container.xml"):
		rest, err = a.book(out)
	default:
		return document{}, errOtherKind
	}
	text := strings.TrimSpace(out.text.String())
	switch {
	case text == "" && err == nil:
		err = fmt.Errorf("%w: it has no text", ErrUnreadable)
		fallthrough
	case text == "":
		return document{}, err
	case rest == "" && (out.truncated || err != nil):
		rest = fmt.Sprintf("its first %d bytes are shown", len(text))
	}
	return document{text: text, rest: rest}, nil
}

func readPDF(ctx context.Context, data []byte, limit int) (document, error) {
	t, err := pdf.Read(ctx, data, maxPages, limit)
	if err != nil {
		return document{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	d := document{text: t.Text, thin: t.Thin}
	switch {
	case t.Cut && t.Shown == t.Pages:
		d.rest = fmt.Sprintf("its first %d bytes are shown", len(t.Text))
	case t.Shown < t.Pages:
		d.rest = fmt.Sprintf("the first %d of %d pages are shown", t.Shown, t.Pages)
	}
	return d, nil
}

// bounded collects the text of a document up to a limit in bytes.
type bounded struct {
	text      strings.Builder
	limit     int
	separator string // a separator, such as a line break, that is written before the next text
	truncated bool   // the document had more text than the limit
}

// add appends a text without control characters. add cuts the text at the limit, between characters.
func (b *bounded) add(s string) {
	if s == "" || b.truncated {
		return
	}
	if b.text.Len() == 0 {
		b.separator = strings.TrimLeft(b.separator, "\n |")
	}
	s, b.separator = b.separator+s, ""
	for _, r := range s {
		switch {
		case stray(r), r == '\r', r == byteOrderMark, r == '\u00ad':
		case b.text.Len()+utf8.RuneLen(r) > b.limit:
			b.truncated = true
			return
		default:
			b.text.WriteRune(r)
		}
	}
}

// separate makes add write s, such as a line break, before the next text. If the method separate is called several
// times before the method add, the longest separator is written, but a separator with a line break replaces one
// without.
func (b *bounded) separate(s string) {
	if len(s) > len(b.separator) || strings.HasPrefix(s, "\n") && !strings.HasPrefix(b.separator, "\n") {
		b.separator = s
	}
}
