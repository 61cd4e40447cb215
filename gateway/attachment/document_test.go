package attachment_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"telex/gateway/attachment"
	"telex/internal/chat"
)

// read reads one attached file.
func read(t *testing.T, name string, data []byte) attachment.Question {
	t.Helper()
	fetch := func(context.Context, chat.Attachment, int64) ([]byte, error) { return data, nil }
	in := chat.Inbound{Attachments: []chat.Attachment{{ID: "1", Name: name}}}
	return attachment.NewReader(nil).Read(t.Context(), attachment.Sources{Messages: []chat.Inbound{in}, Fetch: fetch, Log: slog.New(slog.DiscardHandler)})
}

// Documents of many programs come out as text that can be read, in the order of reading.
func TestDocuments(t *testing.T) {
	t.Parallel()
	const heading, range135 = "The tides at Saint-Malo\n", "reaches 13.5 metres"
	page := []string{heading, range135, "“Fine weather”, wrote the harbour master", "— naïve as"}
	for name, want := range map[string][]string{
		"chromium.pdf":  append(page, "Day Height\nMonday 12.9 m\nTuesday 13.1 m\n", "Bring boots.", "Die Fähre fährt um 8:15 Uhr. Η θάλασσα. Приливы."),
		"abiword.pdf":   append(page, "Monday 12.9 m\n", "• Bring boots.", "Η θάλασσα. Приливы."),
		"groff.pdf":     append(page, "• Bring boots.", "Die Fähre fährt um 8:15 Uhr."),
		"gs.pdf":        append(page, "naïve as\never.", "Die Fähre fährt um 8:15 Uhr."),
		"reportlab.pdf": {heading, range135 + " — naïve as ever.", "Day Height\nMonday 12.9 m", "\n\nSecond page"},
		"pdfkit.pdf":    append(page, "\n\nSecond page: Monday 12.9 m"),
		"pdflib.pdf":    {heading, range135 + " — naïve as ever.", "\n\nSecond page: Monday 12.9 m"},
		"jspdf.pdf":     {heading, range135 + "."},
		"pandoc.docx":   append(page, "# "+heading, "## Table of heights", "Day | Height\nMonday | 12.9 m\nTuesday | 13.1 m\n", "- Bring boots.\n- Bring a watch.", "Η θάλασσα. Приливы."),
		"abiword.docx":  append(page, "Monday | 12.9 m\n", "Bring boots.\n", "Η θάλασσα. Приливы."),
		"docxjs.docx":   {"# " + heading, range135 + " — naïve as ever.\n", "Day | Height\nMonday | 12.9 m"},
		"exceljs.xlsx": {
			"Sheet: Heights\nDay\tHeight\tWhen\nMonday\t12.9\t2026-11-23 08:15:00\nTuesday\t13.1\t2026-11-24\nRich\tbold and plain\tTRUE\n\n",
			"Sheet: Boats\nName\tLength\nFähre & Co\t31",
		},
		"openpyxl.xlsx": {"Sheet: Heights\nDay\tHeight\tWhen\nMonday\t12.9\t2026-11-23 08:15:00\nTuesday\t13.1\t2026-11-24"},
		"gnumeric.xlsx": {"Sheet: Heights\nDay\tHeight\tWhen\nMonday\t12.9\t2026-11-23 08:15:00\nTuesday\t13.1\t2026-11-24"},
		"sheetjs.xlsx":  {"Sheet: Heights\nDay\tHeight\nMonday\t12.9\nTuesday\tcalm"},
		"pandoc.epub":   append(page, "# "+heading, "Day | Height\nMonday | 12.9 m", "- Bring boots.\n- Bring a watch.", "Приливы."),
		"abiword.epub":  append(page, "Monday", "Приливы."),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			q := read(t, name, data)
			for _, w := range want {
				if !strings.Contains(q.Message.Text, w) {
					t.Errorf("the text lacks %q:\n%s", w, q.Message.Text)
				}
			}
			if !strings.HasPrefix(q.Message.Text, "[file ") || strings.Contains(q.Message.Text, "goes on") || len(q.Failed)+len(q.Message.Files) > 0 {
				t.Errorf("got %q, %d files, failed %q", q.Message.Text, len(q.Message.Files), q.Failed)
			}
		})
	}
}

// A PDF whose text can't be read goes to the model as it is; it is outside content like all files.
func TestDocumentWithoutText(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"scan.pdf", "encrypted.pdf"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		q := read(t, name, data)
		if len(q.Message.Files) != 1 || q.Message.Files[0].Name != name || q.Message.Files[0].MediaType != "application/pdf" ||
			!bytes.Equal(q.Message.Files[0].Content, data) || q.Message.Text != "" || len(q.Failed) > 0 || len(q.Message.Sources) != 1 {
			t.Errorf("%s: got text %q, %d files, failed %q, sources %v", name, q.Message.Text, len(q.Message.Files), q.Failed, q.Message.Sources)
		}
		if q := read(t, name, append(data, make([]byte, 9<<20)...)); len(q.Message.Files) != 0 || len(q.Failed) != 1 {
			t.Errorf("%s of 9 MiB: %d files, failed %q", name, len(q.Message.Files), q.Failed)
		}
	}
}

// zipOf returns an archive of files.
func zipOf(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range files {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func word(body string) map[string]string {
	return map[string]string{"word/document.xml": `<w:document xmlns:w="w"><w:body>` + body}
}

// book returns an EPUB file with one chapter.
func book(chapter string) map[string]string {
	return map[string]string{
		"META-INF/container.xml": `<container><rootfiles><rootfile full-path="b/book.opf"/></rootfiles></container>`,
		"b/book.opf":             `<package><manifest><item id="1" href="one%20.xhtml"/></manifest><spine><itemref idref="1"/><itemref idref="2"/></spine></package>`,
		"b/one .xhtml":           chapter,
	}
}

func sheets(sheet, shared, styles string) map[string]string {
	return map[string]string{
		"xl/workbook.xml":            `<workbook><sheets><sheet name="One" sheetId="1" r:id="r1"/><sheet name="Two" sheetId="2" r:id="r2"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/><Relationship Id="r2" Target="/xl/worksheets/sheet2.xml"/></Relationships>`,
		"xl/worksheets/sheet1.xml":   sheet,
		"xl/worksheets/sheet2.xml":   `<worksheet><row><c t="inlineStr"><is><t>last</t></is></c></row></worksheet>`,
		"xl/sharedStrings.xml":       shared,
		"xl/styles.xml":              styles,
	}
}

// Damaged files and those that unpack to gigabytes are read as far as possible, or refused, soon and within limits of
// memory. What is not shown is said.
func TestHostileDocuments(t *testing.T) {
	repeat := strings.Repeat
	paragraph := "<w:p><w:r><w:t>hello</w:t></w:r></w:p>"
	// Sixty million bytes, once unpacked.
	empty := zipOf(t, word(repeat("<w:p/>", 60<<20/6)))
	for _, c := range []struct {
		name, file string
		data       []byte
		want       []string
		failed     string
	}{
		{"a long document", "a.docx", zipOf(t, word(repeat(paragraph, 100_000))), []string{"hello\nhello", "\n[the document goes on: its first 49151 bytes are shown]\n"}, ""},
		{"a million empty paragraphs", "a.docx", empty, nil, "a.docx (it is damaged, too large or encrypted)"},
		{"text before a bomb", "a.docx", zipOf(t, word(paragraph+repeat(" ", 60<<20))), []string{"hello\n[the document goes on: its first 5 bytes are shown]"}, ""},
		{"one word that never ends", "a.docx", zipOf(t, word("<w:t>"+repeat("x", 60<<20))), []string{"xxx\n[the document goes on: its first 49152 bytes are shown]"}, ""},
		{"nesting", "a.docx", zipOf(t, word(repeat("<w:tbl>", 1<<16)+paragraph)), []string{"hello"}, ""},
		{"entities", "a.docx", zipOf(t, word(`<!DOCTYPE x [<!ENTITY a "&b;&b;"><!ENTITY b "boom">]>`+paragraph+"<w:t>&a;</w:t>")), []string{"hello"}, ""},
		{"no end", "a.docx", zipOf(t, word(paragraph+"<w:p"))[:], []string{"hello\n[the document goes on"}, ""},
		{"deleted and moved text", "a.docx", zipOf(t, word("<w:moveFrom><w:t>a</w:t></w:moveFrom><w:del><w:t>b</w:t></w:del><w:t>c</w:t>")), []string{"]\nc\n[end"}, ""},
		{"control characters", "a.docx", zipOf(t, word("<w:t>a\u00adb\u0085c</w:t>")), []string{"]\nabc\n[end"}, ""},
		{"cut off", "a.docx", empty[:1000], nil, "a.docx (it is damaged, too large or encrypted)"},
		{"another archive", "a.zip", zipOf(t, map[string]string{"a": "b"}), nil, "a.zip (this kind of file can't be read here)"},
		{"a long list of files", "a.zip", directory(t, 300_000), nil, "a.zip (it is damaged, too large or encrypted)"},

		{
			"a million cells", "a.xlsx", zipOf(t, sheets("<worksheet>"+repeat("<row>"+repeat("<c><v>12</v></c>", 100)+"</row>", 10_000), "<sst/>", "<styleSheet/>")),
			[]string{"Sheet: One\n12\t12", "[the document goes on: the first 164 rows of this sheet are shown, and 1 more sheets are not shown]"},
			"",
		},
		{
			"a million empty rows", "a.xlsx", zipOf(t, sheets("<worksheet>"+repeat("<row/>", 1_000_000), "<sst/>", "<styleSheet/>")),
			[]string{"Sheet: One\n[this sheet goes on: its first 20000 rows and 200 columns are shown]\n\nSheet: Two\nlast"},
			"",
		},
		{
			"a cell far away", "a.xlsx", zipOf(t, sheets(`<worksheet><row r="1048576"><c r="A1048576"><v>1</v></c><c r="XFD1048576"><v>2</v></c><c r="ZZZZZZZZZZ1"><v>3</v></c></row></worksheet>`, "<sst/>", "<styleSheet/>")),
			[]string{"Sheet: One\n1\n[this sheet goes on"},
			"",
		},
		{
			"wrong references", "a.xlsx", zipOf(t, sheets(`<row><c t="s"><v>7</v></c><c t="s"><v>-1</v></c><c t="s"><v>NaN</v></c><c s="9"><v>0.30000000000000004</v></c><c t="b"><v>9</v></c></row>`, "<sst/>", "<styleSheet/>")),
			[]string{"[…]\t[…]\t[…]\t0.3\n"},
			"",
		},
		{
			"dates out of range", "a.xlsx", zipOf(t, sheets(`<row><c s="0"><v>1e18</v></c><c s="0"><v>-1</v></c><c s="0"><v>0.5</v></c><c s="0"><v>60000.25</v></c></row>`, "<sst/>", `<cellXfs><xf numFmtId="14"/></cellXfs>`)),
			[]string{"1e+18\t-1\t12:00:00\t2064-04-08 06:00:00\n"},
			"",
		},
		{"shared texts without end", "a.xlsx", zipOf(t, sheets(`<row><c t="s"><v>1</v></c></row>`, "<sst>"+repeat("<si><t>x</t></si>", 3_000_000), "<styleSheet/>")), []string{"Sheet: One\nx\n\nSheet: Two"}, ""},

		{"a chapter", "a.epub", zipOf(t, book("<html><head><title/><script src='x'/></head><body><h2>One</h2><p>hello<br/>you</body></html>")), []string{"]\n## One\n\nhello\nyou\n[end"}, ""},
		{"a chapter without end", "a.epub", zipOf(t, book("<p>hello"+repeat("<div>", 10<<20))), []string{"]\nhello\n", "\n[the document goes on: the first 1 of 1 chapters are shown]"}, ""},
		{"a tag without end", "a.epub", zipOf(t, book("<p>hello</p><a "+repeat("x", 40<<20))), []string{"]\nhello\n[the document goes on: the first 1 of 1 chapters are shown]"}, ""},

		{"a page", "a.html", []byte("<!DOCTYPE html><title>Tides</title><style>p{}</style><script>var a = '<p>no</p>'</script><ul><li>one<li>two</ul><table><tr><td>a<td>b</table>"), []string{"]\nTides\n- one\n- two\n\na | b\n[end"}, ""},
		{"a page without end", "a.html", []byte("<html>" + repeat("<p>hello ", 1<<20)), []string{"hello\n\nhello", "[the document goes on: its first 49"}, ""},
		{"a page with nothing but code", "a.html", []byte("<html><script>let a = 1</script>"), []string{"let a = 1"}, ""},
		{"a table", "a.csv", []byte(repeat("Monday,12.9\n", 1<<20)), []string{"Monday,12.9\nMonday", "[the file goes on: its first 49152 bytes are shown]"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			begun := time.Now()
			var q attachment.Question
			peak := peakOf(func() { q = read(t, c.file, c.data) })
			for _, want := range c.want {
				if !strings.Contains(q.Message.Text, want) {
					t.Errorf("the text lacks %q:\n%.300s\n…\n%s", want, q.Message.Text, q.Message.Text[max(0, len(q.Message.Text)-300):])
				}
			}
			if got := strings.Join(q.Failed, ", "); got != c.failed {
				t.Errorf("failed: %q, want %q", got, c.failed)
			}
			if took := time.Since(begun); took > time.Minute {
				t.Errorf("it took %v", took)
			}
			if peak > 200<<20 {
				t.Errorf("it took %d MiB", peak>>20)
			}
			if len(q.Message.Text) > 50<<10 {
				t.Errorf("the text has %d bytes", len(q.Message.Text))
			}
		})
	}
}

// directory returns an archive of so many empty files.
func directory(t *testing.T, n int) []byte {
	t.Helper()
	files := make(map[string]string)
	for i := range n {
		files[fmt.Sprint(i)] = ""
	}
	return zipOf(t, files)
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

// check checks what must hold for whatever is read.
func check(t *testing.T, name string, data []byte) {
	t.Helper()
	q := read(t, name, data)
	if len(q.Message.Text) > 50<<10 || strings.ToValidUTF8(q.Message.Text, "") != q.Message.Text || strings.ContainsAny(q.Message.Text, "\x00\r\x1b") {
		t.Errorf("got %q", q.Message.Text)
	}
	if q.Message.Text == "" && len(q.Failed)+len(q.Message.Files) == 0 {
		t.Error("nothing says what became of the file")
	}
}

func FuzzWord(f *testing.F) {
	f.Add("<w:p><w:pPr><w:pStyle w:val='Heading1'/></w:pPr><w:t>a</w:t></w:p><w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl></w:tbl>")
	f.Fuzz(func(t *testing.T, body string) { check(t, "a.docx", zipOf(t, word(body))) })
}

func FuzzWorkbook(f *testing.F) {
	f.Add("<row><c r='B1' t='s' s='0'><v>0</v></c><c s='0'><v>12.5</v></c></row>", "<sst><si><t>a</t></si></sst>", "<numFmt numFmtId='200' formatCode='yyyy'/><cellXfs><xf numFmtId='200'/></cellXfs>")
	f.Fuzz(func(t *testing.T, sheet, shared, styles string) {
		check(t, "a.xlsx", zipOf(t, sheets(sheet, shared, styles)))
	})
}

func FuzzBook(f *testing.F) {
	f.Add("<h1>a</h1><table><td>b<td>c</table><title/><li>d")
	f.Fuzz(func(t *testing.T, chapter string) {
		check(t, "a.epub", zipOf(t, book(chapter)))
		check(t, "a.html", []byte("<html>"+chapter))
	})
}

func FuzzArchive(f *testing.F) {
	f.Add(zipOf(f, word("<w:t>a</w:t>")))
	f.Fuzz(func(t *testing.T, data []byte) { check(t, "a.docx", append([]byte("PK\x03\x04"), data...)) })
}
