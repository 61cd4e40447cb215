//go:build !race

package telegram

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"telex/internal/chat"
	"telex/internal/markup"
	"telex/internal/markup/markuptest"
)

// written converts Markdown to messages and returns the messages. To each message, written appends the text of the
// parameter behind, as the gateway appends the cursor to a growing text.
func written(src string, d Dialect, limit int, open bool, behind string) []chat.Outgoing {
	var list []chat.Outgoing
	for _, p := range markup.Layout(src, markup.Options{Dialect: d, Limit: limit, Open: open}) {
		m := chat.Outgoing{Text: p.Rendered.Text + behind, Plain: p.Plain + behind}
		for _, s := range p.Rendered.Spans {
			m.Spans = append(m.Spans, chat.Span(s))
		}
		list = append(list, m)
	}
	return list
}

// short describes blocks in one line, so that a test can contain the expected blocks as one string.
func short(blocks []richBlock) string {
	var out []string
	for _, b := range blocks {
		s := b.Type
		if b.Size > 0 {
			s += strings.Repeat("#", b.Size)
		}
		if b.Language != "" {
			s += "/" + b.Language
		}
		if b.Text != nil {
			text, err := json.Marshal(b.Text)
			if err != nil {
				panic(err)
			}
			s += string(text)
		}
		for _, item := range b.Items {
			s += map[bool]string{true: "[x]", false: "[ ]"}[item.Checked] + short(item.Blocks)
		}
		if b.Summary != nil {
			s += map[bool]string{true: " open"}[b.Open] + "<" + plain(b.Summary) + ">"
		}
		s += b.Expression
		for _, row := range b.Cells {
			s += "|"
			for _, c := range row {
				s += plain(c.Text) + map[bool]string{true: "!"}[c.Header] + map[string]string{"right": ">", "center": "^"}[c.Align] + "|"
			}
		}
		if len(b.Blocks) > 0 {
			s += "(" + short(b.Blocks) + ")"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// plain describes a text and its formats in one string.
func plain(text any) string {
	if s, ok := text.(string); ok {
		return s
	}
	out, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func TestRichBlocks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, src, behind, want string }{
		{"plain", "a <b> & [x](y)", "", `paragraph"a \u003cb\u003e \u0026 x"`},
		{"paragraphs and lines", "a\nb\n\nc", " ▌", `paragraph"a\nb" paragraph"c ▌"`},
		{"formats", "**b *i*** ~~s~~ `c`", "", `paragraph[{"type":"bold","text":"b "},{"type":"bold","text":{"type":"italic","text":"i"}}," ",` +
			`{"type":"strikethrough","text":"s"}," ",{"type":"code","text":"c"}]`},
		{
			"links", "[a](https://e.org/?a=1) https://e.org [b](http://localhost:1) [c](tg://user?id=1) me@e.org", "",
			`paragraph[{"type":"url","text":"a","url":"https://e.org/?a=1"}," ",{"type":"url","text":"https://e.org","url":"https://e.org"}," b c me@e.org"]`,
		},
		{"a mention in a group", "hello @somebody_else", "", `paragraph["hello ",{"type":"code","text":"@somebody_else"}]`},
		{"headings", "# a\ntext\n\n### b *c*", "", `heading#{"type":"bold","text":"a"} paragraph"text" heading###[{"type":"bold","text":"b "},{"type":"bold","text":{"type":"italic","text":"c"}}]`},
		{"lists", "- a\n  - b\n\n1. c", "", `paragraph"• a\n` + "\u00a0\u00a0" + `◦ b" paragraph"1. c"`},
		{"code", "a\n\n```go\n  x\n\n\ty\n```\nb", "", `paragraph"a" pre/go"  x\n\n    y" paragraph"b"`},
		{"code and a cursor", "```\nx\n```", " ▌", `pre"x" paragraph"▌"`},
		{"quote", "> a\n> ```\n> x\n> ```\n\nb", "", `blockquote(paragraph"a" pre"x") paragraph"b"`},
		{
			"table", "| n | size | x |\n|---|--:|:-:|\n| `a` | 10 |\n| | 2 | **y** |\n\nb", " ▌",
			`table|n!|size!>|x!^||{"type":"code","text":"a"}|10>|` + "\u00a0" + `||` + "\u00a0" + `|2>|{"type":"bold","text":"y"}^| paragraph"b ▌"`,
		},
		{
			"formats in cells", "| **a *b*** | [c](https://e.org) | [d](tg://user?id=1) | $x$ @somebody |\n|---|---|---|---|", "",
			`table|[{"type":"bold","text":"a "},{"type":"bold","text":{"type":"italic","text":"b"}}]!|{"type":"url","text":"c","url":"https://e.org"}!|d!|` +
				`[{"type":"mathematical_expression","expression":"x"}," @somebody"]!|`,
		},
		{
			"formulas", "so $x^2$ and **\\(y\\)**:\n\n$$\n\\frac{a}{b}\n$$\n\nfor $5 or $6", " ▌",
			`paragraph["so ",{"type":"mathematical_expression","expression":"x^2"}," and ",{"type":"bold","text":{"type":"mathematical_expression","expression":"y"}},":"] ` +
				`mathematical_expression\frac{a}{b} paragraph"for $5 or $6 ▌"`,
		},
		{"a formula and a cursor", "$$x$$", " ▌", `mathematical_expressionx paragraph"▌"`},
		{"a mention in a formula", "$a_1 + @somebody_else$", "", `paragraph{"type":"mathematical_expression","expression":"a_1 + @somebody_else"}`},
		{"a formula in an item", "- a\n  \\[ b \\]\n- c", "", `paragraph"• a" mathematical_expressionb paragraph"• c"`},
		{
			"details", "a\n\n<details>\n<summary>Why <b>not</b></summary>\n\nb **c**\n\n| n |\n|---|\n| 1 |\n\n> d\n\n</details>\n\ne", "",
			`paragraph"a" details<{"type":"bold","text":"Why not"}>(paragraph["b ",{"type":"bold","text":"c"}] table|n!||1| blockquote(paragraph"d")) paragraph"e"`,
		},
		{"details and a cursor", "<details>\n<summary>Why</summary>", " ▌", `details open<{"type":"bold","text":"Why"}>(paragraph"▌")`},
		{"details without text", "<details>\n<summary>Why</summary>\n</details>", "", `details<{"type":"bold","text":"Why"}>(paragraph"` + "\u00a0" + `")`},
		{
			"details in details", "> <details><summary>1</summary>\n>\n> a\n>\n> <details><summary>2</summary>\n>\n> - [ ] b", "",
			`blockquote(details open<{"type":"bold","text":"1"}>(paragraph"a" details open<{"type":"bold","text":"2"}>(list[ ]paragraph"b")))`,
		},
		{"details without a summary", "<details>\n\na", "", `paragraph"a"`},
		{"table and a cursor", "| n |\n|---|\n| 1 |", " ▌", `table|n!||1| paragraph"▌"`},
		{"table in a quote", "> | n |\n> |---|\n> | 1 |", "", `blockquote(table|n!||1|)`},
		{
			"a wide table", "|" + strings.Repeat("a|", 21) + "\n|" + strings.Repeat("-|", 21) + "\n|1|", "",
			`pre"` + strings.TrimSpace(strings.Repeat("a  ", 21)) + `\n` + strings.TrimSpace(strings.Repeat("-  ", 21)) + `\n1"`,
		},
		{
			"tasks", "do:\n- [ ] a\n  more\n- [x] **b**\n  - [ ] c\n- [ ] d\n\nend", "",
			`paragraph"do:" list[ ]paragraph"a\n` + "\u00a0\u00a0" + `more"[x]paragraph{"type":"bold","text":"b"} list[ ]paragraph"c"[ ]paragraph"d" paragraph"end"`,
		},
		{"tasks with blank lines", "- [ ] a\n\n- [x] b", " ▌", `list[ ]paragraph"a"[x]paragraph"b ▌"`},
		{
			"deep tasks", "- [ ] 1\n  - [ ] 2\n    - [ ] 3\n      - [ ] 4\n        - [ ] 5", "",
			`list[ ]paragraph"1" list[ ]paragraph"2" list[ ]paragraph"3" list[ ]paragraph"4"[ ]paragraph"5"`,
		},
		{"a box that is no task", "☐ a", "", `paragraph"☐ a"`},
	} {
		list := written(tt.src, Dialect{Rich: RichAlways}, richLimit, false, tt.behind)
		if len(list) != 1 {
			t.Fatalf("%s: %d messages", tt.name, len(list))
		}
		if got := short(richContent(list[0]).Blocks); got != tt.want {
			t.Errorf("%s: got\n %s\nwant\n %s", tt.name, got, tt.want)
		}
	}
}

// With RichAuto, the bot must send a rich message only if a text with entities can't show the content of the message.
func TestRichAuto(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]bool{
		"a **b**\n\n# c\n\n- d\n\n> e\n\n```\nf\n```\nhttps://e.org": false,
		"| a |\n|---|\n| b |":                  true,
		"- [ ] a":                              true,
		"[ ] a\n\n| no table |":                false,
		"let $x$ be":                           true,
		"$$\nx\n$$":                            true,
		"from $5 to $6":                        false,
		"<details>\n<summary>a</summary>\n\nb": true,
		"<details>\n\nb":                       false,
		"| a |\n|---|\n| b |\n\n|" + strings.Repeat("a|", 21) + "\n|" + strings.Repeat("-|", 21) + "\n|1|": true,
		"|" + strings.Repeat("a|", 21) + "\n|" + strings.Repeat("-|", 21) + "\n|1|":                        false,
	} {
		m := written(src, Dialect{Rich: RichAuto}, textLimit, false, "")[0]
		if got := dialectChoseRich(m); got != want {
			t.Errorf("%q: rich is %t", src, got)
		}
		if strings.Contains(src, "<details>") { // a text with entities does not contain the tags of <details>
			continue
		}
		plain := written(src, Dialect{}, textLimit, false, "")[0]
		if got := entitySpans(m.Spans); m.Text != plain.Text || !slices.Equal(got, plain.Spans) {
			t.Errorf("%q: as a text it is %q %+v, want %q %+v", src, m.Text, got, plain.Text, plain.Spans)
		}
	}
}

// counted counts everything that Telegram limits in a rich message, such as blocks, and collects the text.
type counted struct {
	blocks, columns, depth int
	ragged                 bool
	text                   strings.Builder
}

func (c *counted) add(blocks []richBlock, depth int) {
	c.depth = max(c.depth, depth)
	for _, b := range blocks {
		c.blocks++
		c.words(b.Text, depth+1)
		c.words(b.Summary, depth+1)
		c.text.WriteString(b.Expression)
		for _, row := range b.Cells {
			c.blocks++
			c.columns = max(c.columns, len(row))
			c.ragged = c.ragged || len(row) != len(b.Cells[0])
			for _, cell := range row {
				c.words(cell.Text, depth+1)
			}
		}
		for _, item := range b.Items {
			c.blocks++
			c.add(item.Blocks, depth+2)
		}
		c.add(b.Blocks, depth+1)
	}
}

func (c *counted) words(text any, depth int) {
	c.depth = max(c.depth, depth)
	switch text := text.(type) {
	case string:
		c.text.WriteString(text)
	case []any:
		for _, t := range text {
			c.words(t, depth)
		}
	case richText:
		c.text.WriteString(text.Expression)
		c.words(text.Text, depth+1)
	}
}

// checkRich fails the test unless a message is within the limits and shows its whole text, except for task boxes and
// the rulers of tables.
func checkRich(t markuptest.TB, m chat.Outgoing) {
	t.Helper()
	var c counted
	c.add(richContent(m).Blocks, 1)
	if c.blocks > 500 || c.columns > maxColumns || c.ragged || c.depth > 16 {
		t.Fatalf("%q: %d blocks, %d columns, ragged %t, depth %d", m.Text, c.blocks, c.columns, c.ragged, c.depth)
	}
	seen := func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) || strings.ContainsRune(`☐☑-$\([]`, r) || r >= '0' && r <= '9' || r == '.' || r == ')' {
				return -1 // ignore digits, which may be the number of a list item before a task box
			}
			return r
		}, s)
	}
	if got, want := seen(c.text.String()), seen(m.Text); got != want {
		t.Fatalf("shown is\n%q, want\n%q", got, want)
	}
}

// Each prefix of an answer must become rich messages that are within Telegram's limits and contain the whole text of
// the prefix and the cursor (D7).
func TestRichPrefixes(t *testing.T) {
	t.Parallel()
	check := func(t markuptest.TB, src string, limit, step int, rich Rich) {
		d := Dialect{Rich: rich}
		markuptest.Prefixes(t, d, src, limit, step, func(p markup.Part) {
			m := chat.Outgoing{Text: p.Rendered.Text + " ▌"}
			for _, s := range p.Rendered.Spans {
				m.Spans = append(m.Spans, chat.Span(s))
			}
			checkRich(t, m)
		})
	}
	for _, src := range markuptest.Answers(t) {
		check(t, src, 100, 13, RichAuto)
		check(t, src, richLimit, 13, RichAlways)
	}
	for seed := range 60 {
		check(t, markuptest.Nasty().Example(seed), 100+seed, 1, RichAlways)
	}
}

// The test uses texts that need as many blocks as possible for their length. The rich messages of texts with many
// blocks must still be within Telegram's limits.
func TestRichManyBlocks(t *testing.T) {
	t.Parallel()
	for name, piece := range map[string]string{
		"paragraphs": "a\n\n", "headings": "# a\n\nb\n\n", "rows": "|a|\n", "tasks": "- [ ] a\n", "formulas": "$$x$$\nb\n\n",
		"details": "<details><summary>a</summary>b</details>\n\nc\n\n", "tasks apart": "- [ ] a\n\nb\n\n",
		"code": "```\na\n```\nb\n\n", "quotes": "> a\n\nb\n\n", "quotes of tasks": "> - [ ] a\n\nb\n\n",
	} {
		src := strings.Repeat(piece, 2000)
		if name == "rows" {
			src = "|h|\n|-|\n" + src
		}
		for _, rich := range []Rich{RichAuto, RichAlways} {
			for _, m := range written(src, Dialect{Rich: rich}, rich.limit(), false, "") {
				if dialectChoseRich(m) {
					checkRich(t, m)
				}
			}
		}
	}
}

// Each edit of a growing answer converts the whole text. The work for one edit must grow in proportion to the length
// of the text, not to its square.
func TestLongRichTextIsConvertedInOnePass(t *testing.T) {
	allocated := func(items int) uint64 {
		m := written(strings.Repeat("- an *item* with `code`\n", items), Dialect{Rich: RichAlways}, RichAlways.limit(), false, "")[0]
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 10 {
			richContent(m)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if short, long := allocated(100), allocated(1000); long > 20*short {
		t.Errorf("a text that is ten times as long allocates %d bytes, %d times as much", long, long/short)
	}
}

// richContent must accept spans with any offsets, because the spans come from a store or from another package.
func FuzzRichContent(f *testing.F) {
	f.Add("a 🦊 b\n☐ c\n\nd", 0, 4, 2, 3, uint16(3))
	f.Fuzz(func(t *testing.T, text string, a, b, c, d int, kinds uint16) {
		all := []string{kindPre, kindRow, kindCell, kindTask, kindQuote, kindHeading, kindBold, kindLink, kindDetails, kindSummary, kindFormula, inCell + kindCode}
		spans := []chat.Span{{Kind: kindRich, Length: 1}}
		for i, kind := range all {
			if kinds&(1<<i) != 0 {
				spans = append(spans, chat.Span{Kind: kind, Offset: a, Length: b, Language: "1 left", URL: text}, chat.Span{Kind: kind, Offset: c, Length: d})
			}
		}
		if got := richContent(chat.Outgoing{Text: text, Spans: spans}); len(got.Blocks) == 0 {
			t.Errorf("%q: no blocks", text)
		}
	})
}

// Whatever a growing text contains, no message that the dialect makes of this text may have more UTF-16 code units than
// the limit.
func TestRichLength(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		src := markuptest.Nasty().Draw(t, "source")
		for _, m := range written(src, Dialect{Rich: RichAlways}, 400, true, "") {
			if n := markup.Units(m.Text); n > 400 {
				t.Fatalf("%q: %d units", m.Text, n)
			}
		}
	})
}
