package pdf

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// Text is the readable text of a file.
type Text struct {
	Text  string
	Pages int  // number of pages in the file
	Shown int  // number of pages in Text, of which the last one may be incomplete
	Cut   bool // the file contains more text
	// Thin reports whether the pages contain hardly any readable text. Pages without readable text are pictures, as in
	// a scan, or use fonts that don't say which characters they show.
	Thin bool
}

// thinPage is the minimum number of letters per page on average. Pages with fewer letters count as pictures, perhaps
// with a stamp or a page number. The average counts at most four pages, so a long file needs no more letters than a
// file of four pages.
const thinPage = 30

// Read reads the text of the first pages of a file. The parameter pages is the maximum number of pages, and limit is
// the maximum length of the text in bytes. Read takes a few seconds at most. If ctx ends earlier, Read returns the text
// that it has read until then, or an error if it has read no text.
func Read(ctx context.Context, data []byte, pages, limit int) (t Text, err error) {
	if !bytes.Contains(data[:min(len(data), 1024)], []byte("%PDF-")) {
		return Text{}, fmt.Errorf("%w: no PDF", ErrUnreadable)
	}
	var out strings.Builder
	w := writer{out: &out, limit: limit}
	letters := 0
	func() {
		defer func() {
			switch p := recover().(type) {
			case nil:
			case stop:
				err = cmp.Or(p.err, errWork)
			default:
				err = fmt.Errorf("%w: panic: %v", ErrUnreadable, p)
			}
		}()
		w.file = open(&budget{ctxErr: ctx.Err, left: maxWork}, data)
		if w.encrypted {
			err = fmt.Errorf("%w: it is encrypted", ErrUnreadable)
			return
		}
		list := w.pages()
		t.Pages = len(list)
		for _, p := range list[:min(len(list), pages)] {
			if w.limit-out.Len() < thinPage {
				break
			}
			w.separator("\n\n")
			t.Shown++
			w.page(p)
		}
	}()
	t.Text = strings.TrimSpace(out.String())
	for _, r := range t.Text {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			letters++
		}
	}
	t.Cut = t.Shown < t.Pages || w.limit < limit || err != nil
	t.Thin = letters < thinPage*min(t.Shown, 4) && w.limit == limit || w.unknownChars > letters
	switch {
	case err != nil && letters == 0:
		return Text{}, err
	case t.Pages == 0:
		return Text{}, fmt.Errorf("%w: it has no pages", ErrUnreadable)
	}
	return t, nil
}

var errWork = errors.New("the PDF takes too much work")

// page draws one page.
func (w *writer) page(p page) {
	contents := w.resolve(p.dict["Contents"])
	list, ok := contents.(array)
	if !ok {
		list = array{contents}
	}
	var data []byte
	for _, v := range list {
		if s, ok := w.resolve(v).(stream); ok && len(data) < maxStream {
			data = append(append(data, w.decode(s)...), '\n')
		}
	}
	w.state = state{matrix: matrix{1, 0, 0, 1, 0, 0}, stretch: 1}
	w.saved, w.drawn = nil, false
	w.draw(data, dictOf(w.resolve(p.resources)), 0)
	w.writeAccent()
}
