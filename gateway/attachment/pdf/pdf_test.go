package pdf_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"telex/gateway/attachment/pdf"
)

const limit = 48 << 10

// packed returns a stream with compressed content. The parameter entries contains further entries of the stream's dictionary.
func packed(entries, content string) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write([]byte(content)) // a write into memory can't fail
	_ = z.Close()
	return fmt.Sprintf("<</Filter/FlateDecode/Length %d %s>>stream\n%s\nendstream", b.Len(), entries, b.String())
}

// file returns a PDF file that contains the given objects. The objects are numbered from 1, and the first one is the
// catalog.
func file(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	for i, o := range objects {
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	b.WriteString("trailer <</Root 1 0 R>>\n%%EOF")
	return b.Bytes()
}

// page returns a file of one page with some content, and with further objects whose numbers begin at 5.
func page(content string, more ...string) []byte {
	return file(append([]string{
		"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>/G 5 0 R>>/XObject<</X 6 0 R>>>>>>",
		"<</Type/Page/Contents 4 0 R>>", content,
	}, more...)...)
}

const words = "a sentence that is long enough for a page"

func TestText(t *testing.T) {
	t.Parallel()
	show := func(s string) string { return packed("", "BT /F 10 Tf "+s+" ET") }
	toUnicode := packed("", "1 begincodespacerange <0000><ffff> endcodespacerange 2 beginbfchar <0001><0061> <0002><00660069> endbfchar 2 beginbfrange <0003><0005><0041> <0006><0007>[<0078><D83DDE00>] endbfrange")
	composite := "<</Subtype/Type0/Encoding/Identity-H/ToUnicode 7 0 R/DescendantFonts[<</DW 500/W[1[500 500]3 5 500]>>]>>"
	for name, tt := range map[string]struct {
		file []byte
		want string
	}{
		"one text":                   {page(show("(" + words + ") Tj")), words},
		"escapes":                    {page(show(`(a\(b\)\\\101\12c(d)\` + "\n" + `e) Tj <6667 2> Tj`)), "a(b)\\A c(d)efg"},
		"distances between words":    {page(show("[(a)-100(b)-400(c)] TJ 40 0 Td (d) Tj 0 -12 Td (e) Tj 0 -40 Td (f) Tj")), "ab c d\ne\n\nf"},
		"lines":                      {page(show("12 TL (a) Tj T* (b) Tj (c) ' 1 1 (d) \"")), "a\nb\nc\nd"},
		"accents and signs":          {page(packed("", "BT /G 10 Tf (caf\\351 \\223x\\224) Tj ET"), "<</Subtype/Type1/Encoding/WinAnsiEncoding>>"), "café “x”"},
		"names of characters":        {page(packed("", "BT /G 10 Tf (ABCDE) Tj ET"), "<</Subtype/Type1/Encoding<</Differences[65/fi/eacute/uni20AC/a.alt/nothing]>>>>"), "fié€a"},
		"codes of two bytes":         {page(packed("", "BT /G 10 Tf <0001000200030005000600070009> Tj ET"), composite, "", toUnicode), "afiACx😀"},
		"a form":                     {page(packed("", "/X Do"), "", packed("/Subtype/Form/Matrix[2 0 0 2 0 0]", "BT /F 5 Tf ("+words+") Tj ET")), words},
		"a form that draws itself":   {page(packed("", "/X Do"), "", packed("/Subtype/Form", "BT /F 5 Tf ("+words+") Tj ET /X Do")), strings.TrimSpace(strings.Repeat(words+" ", 16))},
		"a picture in the content":   {page(show("(a) Tj BI /W 1 ID (x) Tj\x01\xff EI (b) Tj")), "ab"},
		"uncompressed, wrong length": {page("<</Length 3>>stream\nBT /F 10 Tf (" + words + ") Tj ET\nendstream"), words},
		"two filters":                {page("<</Filter[/ASCIIHexDecode/RunLengthDecode]>>stream\n0C 4254202F462031302054662028 FD61 04 2920546A0A 80>\nendstream"), "aaaa"},
		"a later version":            {append(page(show("(old) Tj")), []byte("\n4 0 obj\n"+show("(new) Tj")+"\nendobj")...), "new"},
		"no page tree":               {file("<</Type/Catalog>>", "<</Type/Page/Contents 3 0 R/Resources<</Font<</F<<>>>>>>>>", show("("+words+") Tj")), words},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := pdf.Read(t.Context(), tt.file, 10, limit)
			if err != nil || strings.TrimSpace(strings.ReplaceAll(got.Text, "\n\n"+words, " "+words)) != strings.TrimSpace(tt.want) {
				t.Errorf("got %q, %v, want %q", got.Text, err, tt.want)
			}
		})
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	var objects []string
	kids := ""
	for i := range 40 {
		kids += fmt.Sprintf("%d 0 R ", i+3)
		objects = append(objects, fmt.Sprintf("<</Type/Page/Contents %d 0 R>>", i+43))
	}
	for i := range 40 {
		objects = append(objects, packed("", fmt.Sprintf("BT /F 10 Tf (%s, page %d) Tj ET", words, i+1)))
	}
	data := file(append([]string{"<</Type/Catalog/Pages 2 0 R>>", "<</Kids[" + kids + "]/Resources<</Font<</F<<>>>>>>>>"}, objects...)...)
	for _, tt := range []struct {
		pages, limit, shown int
		cut                 bool
	}{{100, limit, 40, false}, {7, limit, 7, true}, {100, 150, 3, true}} {
		got, err := pdf.Read(t.Context(), data, tt.pages, tt.limit)
		if err != nil || got.Pages != 40 || got.Shown != tt.shown || got.Cut != tt.cut || got.Thin || len(got.Text) > tt.limit {
			t.Errorf("%+v: got %+v, %v", tt, got, err)
		}
	}
}

// peakOf returns by how much the memory in use grew while f ran.
func peakOf(f func()) uint64 {
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	peak := before.HeapAlloc
	for ticks := time.NewTicker(2 * time.Millisecond); ; {
		runtime.ReadMemStats(&now)
		peak = max(peak, now.HeapAlloc)
		select {
		case <-done:
			ticks.Stop()
			return peak - before.HeapAlloc
		case <-ticks.C:
		}
	}
}

// If the context has ended, Read must return the context's error.
func TestContextEndsTheReading(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := pdf.Read(ctx, page(packed("", strings.Repeat("1 ", 1<<20))), 10, limit); !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func FuzzRead(f *testing.F) {
	names, _ := filepath.Glob("../testdata/*.pdf")
	for _, name := range names {
		if data, err := os.ReadFile(name); err == nil && len(data) < 4_000 {
			f.Add(data)
		}
	}
	f.Add(page("<<>>stream\nBT /F 10 Tf (a) Tj [(b)-400(c)] TJ /X Do ET\nendstream"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := pdf.Read(t.Context(), append([]byte("%PDF-"), data...), 10, 1000)
		if len(got.Text) > 1000 || !utf8.ValidString(got.Text) || got.Shown > got.Pages || err != nil && strings.Contains(err.Error(), "panic") {
			t.Fatalf("got %+v, %v", got, err)
		}
	})
}

func FuzzContent(f *testing.F) {
	f.Add("BT /F 10 Tf 1 0 0 1 5 5 Tm (a) Tj [(b)-400(c)] TJ T* (d) ' 1 2 (e) \" ET q 2 0 0 2 0 0 cm Q /X Do BI ID x EI", "1 beginbfrange <00><ff><0041> endbfrange")
	f.Fuzz(func(t *testing.T, content, table string) {
		font := "<</Subtype/Type0/ToUnicode 7 0 R/DescendantFonts[<</W[1[2]3 4 5]>>]>>"
		form := "<</Subtype/Form>>stream\n" + content + "\nendstream"
		data := page("<<>>stream\n"+content+"\nendstream", font, form, "<<>>stream\n"+table+"\nendstream")
		got, err := pdf.Read(t.Context(), data, 10, 1000)
		if len(got.Text) > 1000 || !utf8.ValidString(got.Text) || err != nil && strings.Contains(err.Error(), "panic") {
			t.Fatalf("got %+v, %v", got, err)
		}
	})
}
