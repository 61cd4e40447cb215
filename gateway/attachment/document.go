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
	readTime = 5 * time.Second // for one document
	maxPages = 300             // of a PDF that are read
)

// errOtherKind means that an archive is no document of a kind that can be read.
var errOtherKind = errors.New("not a kind that can be read")

// document is the text of a document.
type document struct {
	text string
	rest string // what is not shown; "" if all is
	thin bool   // there is hardly any text: the document consists of pictures
}

// readDocument returns the text of a PDF, DOCX, XLSX or EPUB file, at most limit bytes of it. What it has read when
// the file turns out to be damaged or too large counts as the beginning of the text. The memory that it takes is
// limited whatever the file holds, but it is large, so the caller must limit concurrent calls.
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
	case rest == "" && (out.cut || err != nil):
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
	text    strings.Builder
	limit   int
	pending string // line breaks and such that are written before the next text
	cut     bool   // there was more
}

// add appends a text without control characters. It cuts the text at the limit, on a character boundary.
func (b *bounded) add(s string) {
	if s == "" || b.cut {
		return
	}
	if b.text.Len() == 0 {
		b.pending = strings.TrimLeft(b.pending, "\n |")
	}
	s, b.pending = b.pending+s, ""
	for _, r := range s {
		switch {
		case stray(r), r == '\r', r == byteOrderMark, r == '\u00ad':
		case b.text.Len()+utf8.RuneLen(r) > b.limit:
			b.cut = true
			return
		default:
			b.text.WriteRune(r)
		}
	}
}

// separate says that s, such as a line break, stands before the next text. Of several ones the longest counts.
func (b *bounded) separate(s string) {
	if len(s) > len(b.pending) || strings.HasPrefix(s, "\n") && !strings.HasPrefix(b.pending, "\n") {
		b.pending = s
	}
}
