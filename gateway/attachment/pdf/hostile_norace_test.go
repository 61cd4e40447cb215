//go:build !race

// This test runs only without the race detector. The race detector would make the test take a minute, and has never
// found a race in it.

package pdf_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"telex/gateway/attachment/pdf"
)

// The test reads damaged and hostile files. Read must return quickly, and stay within memory limits.
func TestHostileFiles(t *testing.T) {
	repeat := strings.Repeat
	content := "BT /F 10 Tf (" + words + ") Tj ET "
	for name, tt := range map[string]struct {
		file     []byte
		text     bool // Read must return the text at the beginning of the file
		unlisted bool // the test does not check the text and the error
	}{
		"a stream of gigabytes":          {page(packed("", content+repeat(" ", 100<<20))), true, false},
		"many such streams":              {page("[" + repeat("5 0 R ", 1000) + "]"), false, true},
		"many big streams on one page":   {bytes.ReplaceAll(page("", packed("", content+repeat("1 ", 20<<20))), []byte("/Contents 4 0 R"), []byte("/Contents["+repeat("5 0 R ", 1000)+"]")), true, false},
		"object streams of gigabytes":    {page(packed("", content), packed("/Type/ObjStm/N 9/First 9", repeat(" ", 100<<20)), packed("/Type/ObjStm/N 99999999/First -5", repeat("7 0 ", 15<<20))), true, false},
		"nested arrays":                  {page(packed("", content+repeat("[", 15<<20))), true, false},
		"nested dictionaries":            {page("<</A " + repeat("<</A ", 2<<20)), false, true},
		"a string without end":           {page(packed("", content+"(")), true, false},
		"a hexadecimal one":              {page(packed("", content+"<41")), true, false},
		"a comment":                      {page(packed("", content+"%")), true, false},
		"parentheses":                    {page(packed("", content+repeat("(", 15<<20))), true, false},
		"graphics states":                {page(packed("", content+repeat("q ", 15<<20))), true, false},
		"forms that draw each other":     {page(packed("", content+"/X Do"), "", packed("/Subtype/Form", repeat("/X Do ", 100))), true, false},
		"a circle of pages":              {file("<</Type/Catalog/Pages 2 0 R>>", "<</Kids[2 0 R 2 0 R 1 0 R]>>"), false, true},
		"a circle of references":         {page("5 0 R", "6 0 R", "5 0 R"), false, true},
		"its length is a circle":         {page("<</Length 4 0 R>>stream\n" + content + "\nendstream"), true, false},
		"a million objects":              {append(page(packed("", content)), repeat("9 0 obj <<>> ", 1_000_000)...), true, false},
		"a million different objects":    {append(page(packed("", content)), numbered(1_000_000)...), true, false},
		"streams without end":            {append(page(packed("", content)), repeat("9 0 obj <<>>stream\n", 500_000)...), false, true},
		"a table of characters no end":   {page(packed("", content+"/G 10 Tf"), "<</ToUnicode 7 0 R>>", "", packed("", repeat("<0000><ffff><0041> ", 60_000)+"endbfrange")), true, false},
		"widths without end":             {page(packed("", content+"/G 10 Tf"), "<</Subtype/Type0/DescendantFonts[<</W["+repeat("0 99999999 5 ", 20_000)+"]>>]>>"), true, false},
		"numbers":                        {page(packed("", "BT 1e999 -1e999 1e999 NaN 1e999 1e999 Tm /F 1e308 Tf "+content)), true, false},
		"nothing":                        {[]byte("%PDF-1.7"), false, false},
		"cut off":                        {page(packed("", content))[:300], false, true},
		"no PDF":                         {[]byte("hello"), false, false},
		"filters of filters":             {page("<</Filter[" + repeat("/FlateDecode", 1000) + "]>>stream\nxxx\nendstream"), false, true},
		"negative and fractional places": {page(packed("", content), packed("/Type/ObjStm/N -1/First 1e300", "1 -5 2 1e300")), true, false},
	} {
		t.Run(name, func(t *testing.T) {
			begun := time.Now()
			var got pdf.Text
			var err error
			peak := peakOf(func() { got, err = pdf.Read(t.Context(), tt.file, 300, limit) })
			t.Logf("%v, %d MiB, %d bytes of text", time.Since(begun), peak>>20, len(got.Text))
			if took := time.Since(begun); took > time.Minute || peak > 115<<20 {
				t.Errorf("it took %v and %d MiB", took, peak>>20)
			}
			switch {
			case tt.unlisted:
			case tt.text && (err != nil || !strings.Contains(got.Text, words)):
				t.Errorf("got %.200q, %v", got.Text, err)
			case !tt.text && !errors.Is(err, pdf.ErrUnreadable):
				t.Errorf("got %.200q, %v, want it refused", got.Text, err)
			}
		})
	}
}

func numbered(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "%d 0 obj <<>> ", i+100)
	}
	return b.Bytes()
}
