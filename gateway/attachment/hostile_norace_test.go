//go:build !race

// These tests run only without the race detector. The race detector would make these tests take minutes, and has never
// found a race in them.

package attachment_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"telex/gateway/attachment"
)

// The test reads damaged files, and files that unpack to gigabytes. The package must read each file as far as possible,
// or refuse it, quickly and within memory limits. The returned text must say which part of a file is missing.
func TestHostileDocuments(t *testing.T) {
	repeat := strings.Repeat
	paragraph := "<w:p><w:r><w:t>hello</w:t></w:r></w:p>"
	// The file unpacks to sixty million bytes.
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
		{"paragraphs in cells", "a.html", []byte("<!DOCTYPE html><table><tr><th><p>Day</p></th><th><div>Height</div></th></tr><tr><td><p>Monday</p><p>early</p></td><td><p>12.9 m</p></td></tr></table><p>end"), []string{"]\nDay | Height\nMonday\n\nearly | 12.9 m\n\nend\n[end"}, ""},
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

// directory returns a ZIP archive that contains n empty files.
func directory(t *testing.T, n int) []byte {
	t.Helper()
	files := make(map[string]string)
	for i := range n {
		files[fmt.Sprint(i)] = ""
	}
	return zipOf(t, files)
}
