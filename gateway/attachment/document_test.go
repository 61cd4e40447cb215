package attachment_test

import (
	"archive/zip"
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"telex/agent"
	"telex/gateway/attachment"
	"telex/internal/chat"
)

// read returns the question that a Reader makes of one attached file.
func read(t *testing.T, name string, data []byte) attachment.Question {
	t.Helper()
	fetch := func(context.Context, chat.Attachment, int64) ([]byte, error) { return data, nil }
	in := chat.Inbound{Attachments: []chat.Attachment{{ID: "1", Name: name}}}
	return attachment.NewReader().Read(t.Context(), attachment.Sources{Messages: []chat.Inbound{in}, Fetch: fetch, Log: slog.New(slog.DiscardHandler)})
}

// The test data contains documents that many different programs wrote. Package attachment must return the text of these
// documents in reading order.
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
		"openpyxl.xlsx":    {"Sheet: Heights\nDay\tHeight\tWhen\nMonday\t12.9\t2026-11-23 08:15:00\nTuesday\t13.1\t2026-11-24"},
		"gnumeric.xlsx":    {"Sheet: Heights\nDay\tHeight\tWhen\nMonday\t12.9\t2026-11-23 08:15:00\nTuesday\t13.1\t2026-11-24"},
		"sheetjs.xlsx":     {"Sheet: Heights\nDay\tHeight\nMonday\t12.9\nTuesday\tcalm"},
		"libreoffice.pdf":  {heading, range135, "— naïve as ever.\n", "Day Height\nMonday 12.9 m\nTuesday 13.1 m\n", "• Bring boots.", "Die Fähre fährt um 8:15 Uhr. Η θάλασσα. Приливы."},
		"libreoffice.docx": append(page, "# "+heading, "Day | Height\nMonday | 12.9 m\nTuesday | 13.1 m\n", "- Bring boots.\n- Bring a watch.", "Приливы."),
		"libreoffice.xlsx": {"Sheet: Heights\nDay\tHeight\tWhen\nMonday\t12.9\t2026-11-23 08:15:00\nTuesday\t13.1\t2026-11-24"},
		"libreoffice.epub": append(page, "\nMonday | 12.9 m\nTuesday | 13.1 m\n", "Bring boots.", "Приливы."),
		"pdftex.pdf":       {heading, range135 + " — naïve as ever.", "an efficient\nofficial flow of affairs", "Monday 12.9 m\n", "Die Fähre fährt um 8:15 Uhr.", "\n\nSecond page: Monday 12.9 m"},
		"pandoc.epub":      append(page, "# "+heading, "Day | Height\nMonday | 12.9 m", "- Bring boots.\n- Bring a watch.", "Приливы."),
		"abiword.epub":     append(page, "Monday | 12.9 m\n", "Приливы."),
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
			const mark = len("0123456789abcdef]\n")
			text, ok := attachment.NewReader().DocumentText(t.Context(), agent.File{Name: name, Content: data})
			if _, inside, _ := strings.Cut(q.Message.Text, "\n"); !ok || !strings.Contains(text, inside[:len(inside)-mark]) {
				t.Errorf("the document alone: %q, %v", text, ok)
			}
		})
	}
}

// DocumentText must return no text for a file that is not a document, or whose text can't be read.
func TestNoDocumentText(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"scan.pdf", "encrypted.pdf", "README.md"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, content := range [][]byte{data, data[:len(data)/2], nil} {
			if text, ok := attachment.NewReader().DocumentText(t.Context(), agent.File{Name: name, Content: content}); ok {
				t.Errorf("%s, %d bytes: %q", name, len(content), text)
			}
		}
	}
}

// A PDF file whose text can't be read must be sent to the model unchanged. Like the text of all files, this PDF file
// must count as outside content.
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

// zipOf returns a ZIP archive that contains the given files.
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

// check checks the properties that the result of reading any file must have.
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
