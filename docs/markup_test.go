// Package docs_test checks that tables, links and configurations in the documentation match the code.
package docs_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"telex/internal/markup"
	"telex/platforms/discord"
	"telex/platforms/slack"
	"telex/platforms/telegram"
	"telex/platforms/terminal"
	"telex/platforms/whatsapp"
)

//go:generate go test -run=^TestMarkupTable$ . -update

var update = flag.Bool("update", false, "write the tables anew")

// constructs returns samples of GitHub-flavoured Markdown, and of other syntax that models write, such as math.
func constructs() []struct{ name, src string } {
	return []struct{ name, src string }{
		{"paragraph, line break", "one\ntwo\n\nthree"},
		{"hard break", "one  \ntwo\\\nthree"},
		{"heading", "# One\n\n### Three"},
		{"underlined heading", "One\n==="},
		{"emphasis", "*it* and _it_"},
		{"strong", "**bold** and __bold__"},
		{"both", "***both***"},
		{"strikethrough", "~~gone~~"},
		{"inline code", "`a * b`"},
		{"fenced code", "```go\nx := 1\n```"},
		{"indented code", "    x := 1"},
		{"link", "[text](https://e.org)"},
		{"link elsewhere", "[text](file:///etc/passwd)"},
		{"autolink", "<https://e.org>"},
		{"bare address", "https://e.org, me@e.org"},
		{"image", "![a cat](https://e.org/cat.png)"},
		{"reference link", "[text][1]\n\n[1]: https://e.org"},
		{"unordered list", "- one\n- two"},
		{"ordered list", "3. one\n4. two"},
		{"nested list", "- one\n  - two\n    - three"},
		{"loose list", "- one\n\n- two"},
		{"task list", "- [ ] open\n- [x] done"},
		{"code in a list", "1. run\n   ```sh\n   ls\n   ```"},
		{"quote", "> one\n> two"},
		{"nested quote", "> one\n> > two"},
		{"table", "| a | b |\n|:--|--:|\n| x | 10 |"},
		{"thematic break", "---"},
		{"HTML block", "<div>\n<b>x</b>\n</div>"},
		{"inline HTML", "a <b>x</b><br>y"},
		{"footnote", "fact[^1]\n\n[^1]: source"},
		{"entity", "&copy; &lt;b&gt; &#128512;"},
		{"escape", `\*a\* \# \[b\]`},
		{"math", "$x_1^2$ and \\(a\\)"},
		{"emoji, other scripts", "👨‍👩‍👧 世界 שלום"},
		{"mention", "@bob and [bob](tg://user?id=1)"},
		{"control characters", "a\x1b[31mb\u202ec"},
	}
}

// D7: the table in markup.md must show exactly what the renderers write.
func TestMarkupTable(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("| construct | Markdown | Telegram | Discord | Slack | WhatsApp | plain | terminal |\n|---|---|---|---|---|---|---|---|\n")
	for _, c := range constructs() {
		fmt.Fprintf(&table, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", c.name, code(c.src),
			code(lay(t, telegram.Dialect{}, c.src)), code(lay(t, discord.Dialect{}, c.src)), code(lay(t, slack.Dialect{}, c.src)), code(lay(t, whatsapp.Dialect{}, c.src)),
			code(lay(t, markup.Plain{}, c.src)), code(lay(t, terminal.Dialect{Colour: true, Links: true}, c.src)))
	}
	const page, begin, end = "markup.md", "<!-- begin of the table; go generate ./docs writes it -->\n", "<!-- end of the table -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	old, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no table", page)
	}
	if old == table.String() {
		return
	}
	if !*update {
		t.Fatalf("%s is stale, run go generate ./docs\n got\n%s\nwant\n%s", page, old, table.String())
	}
	if err := os.WriteFile(page, []byte(head+begin+table.String()+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

// lay renders Markdown in a dialect, and writes the formats of the result as tags.
func lay(t *testing.T, d markup.Dialect, src string) string {
	t.Helper()
	var out []string
	for _, p := range markup.Layout(src, markup.Options{Dialect: d, Limit: 4096}) {
		out = append(out, tagged(p.Rendered))
	}
	return strings.Join(out, "\n")
}

// tagged returns a rendered text with its formats as tags. tagged treats offsets as numbers of runes, so a sample must have no
// format after a character of two UTF-16 units.
func tagged(r markup.Rendered) string {
	text := []rune(r.Text)
	marks := make([]string, len(text)+1)
	for _, s := range slices.Backward(r.Spans) {
		name := s.Kind
		if extra := s.URL + s.Language; extra != "" {
			name += " " + extra
		}
		marks[s.Offset] = "<" + name + ">" + marks[s.Offset]
	}
	for _, s := range r.Spans {
		marks[s.Offset+s.Length] = "</" + s.Kind + ">" + marks[s.Offset+s.Length]
	}
	var out strings.Builder
	for i, m := range marks {
		out.WriteString(m)
		if i < len(text) {
			out.WriteRune(text[i])
		}
	}
	return out.String()
}

// code returns s as inline code for a cell of the table. A line break becomes ⏎, an escape character becomes ␛, and other
// control characters become their numbers.
func code(s string) string {
	if s == "" {
		return "nothing"
	}
	var out strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			out.WriteString(" ⏎ ")
		case r == '\x1b':
			out.WriteRune('␛')
		case r == '\u2060':
			out.WriteRune('⸱')
		case r == '\u00a0':
			out.WriteRune('␣')
		case r == '|':
			out.WriteString("\\|")
		case r < ' ', r >= 0x202a && r <= 0x202e:
			out.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			out.WriteRune(r)
		}
	}
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + out.String() + " " + fence
	}
	return fence + out.String() + fence
}
