package demo

import (
	"html"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"telex/standin/telegram"
)

func TestDialects(t *testing.T) {
	t.Parallel()
	dialects := map[string]dialect{"discord": discordMarkdown(), "slack": slackMarkdown(), "mrkdwn": mrkdwn(), "whatsapp": whatsappMarkup()}
	for _, tt := range []struct{ dialect, source, want string }{
		{"discord", "**bold** *it* _it_ __under__ ~~gone~~", "<p><strong>bold</strong> <em>it</em> <em>it</em> <u>under</u> <del>gone</del></p>"},
		{"discord", "a ||secret|| b", `<p>a <span class="spoiler" tabindex="0">secret</span> b</p>`},
		{"discord", "one\ntwo", "<p>one<br>\ntwo</p>"},
		{"discord", "## head\n> quote", "<h2>head</h2>\n<blockquote>\n<p>quote</p>\n</blockquote>"},
		{"discord", `\*plain\*`, "<p>*plain*</p>"},
		{"discord", "[a](https://example.org) [b](javascript:alert(1))", `<p><a href="https://example.org">a</a> <a href="">b</a></p>`},
		{"discord", "```go\nx := <1>\n```", "<pre><code class=\"language-go\">x := &lt;1&gt;\n</code></pre>"},
		{"slack", "**bold** *it*\n\n| a | b |\n|---|---|\n| 1 | 2 |", "<p><strong>bold</strong> <em>it</em></p>\n<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n<td>2</td>\n</tr>\n</tbody>\n</table>"},
		{"slack", "1 &lt; 2 &amp; 3", "<p>1 &lt; 2 &amp; 3</p>"},
		{"mrkdwn", "*bold* _it_ ~gone~ <https://example.org|here>", `<p><strong>bold</strong> <em>it</em> <del>gone</del> <a href="https://example.org">https://example.org</a></p>`},
		{"whatsapp", "*bold* _it_ ~gone~ `code`", "<p><strong>bold</strong> <em>it</em> <del>gone</del> <code>code</code></p>"},
		{"whatsapp", "```one line```", "<pre><code>one line\n</code></pre>"},
		{"whatsapp", "```two\nlines\n```", "<pre><code>two\nlines\n</code></pre>"},
		{"whatsapp", "# no heading", "<p># no heading</p>"},
		{"whatsapp", "<b>no tag</b>", "<p>&lt;b&gt;no tag&lt;/b&gt;</p>"},
	} {
		if got := strings.TrimSpace(string(dialects[tt.dialect].html(tt.source))); got != tt.want {
			t.Errorf("%s: %q is\n%s\nwant\n%s", tt.dialect, tt.source, got, tt.want)
		}
	}
}

func TestEntities(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		list []telegram.Entity
		want string
	}{
		{"a < b", nil, "a &lt; b"},
		{"🌊 bold", []telegram.Entity{{Type: "bold", Offset: 3, Length: 4}}, "🌊 <strong>bold</strong>"},
		{"all of it", []telegram.Entity{{Type: "bold", Offset: 4, Length: 5}, {Type: "italic", Offset: 7, Length: 2}}, "all <strong>of <em>it</em></strong>"},
		{"code\nnext", []telegram.Entity{{Type: "pre", Offset: 0, Length: 4}}, "<pre><code>code</code></pre>next"},
		{"here", []telegram.Entity{{Type: "text_link", Offset: 0, Length: 4, URL: `https://a.example/?q="`}}, `<a href="https://a.example/?q=&#34;" target="_blank" rel="noopener noreferrer">here</a>`},
		{"here", []telegram.Entity{{Type: "text_link", Offset: 0, Length: 4, URL: "javascript:alert(1)"}}, "here"},
		{"a.example", []telegram.Entity{{Type: "url", Offset: 0, Length: 9}}, `<a href="https://a.example" target="_blank" rel="noopener noreferrer">a.example</a>`},
	} {
		want := `<div class="lines">` + tt.want + `</div>`
		if got := string(entities(tt.text, tt.list)); got != want {
			t.Errorf("%q is\n%s\nwant\n%s", tt.text, got, want)
		}
	}
}

func TestRichBlocks(t *testing.T) {
	t.Parallel()
	plain := func(s string) *telegram.RichText { return &telegram.RichText{Plain: s} }
	got := string(richBlocks([]telegram.RichBlock{
		{Type: "heading", Size: 2, Text: &telegram.RichText{Type: "bold", Text: plain("A < B")}},
		{Type: "table", Cells: [][]telegram.RichCell{{{Text: plain("n"), Header: true, Align: "right"}}, {{Text: plain("1"), Align: "left"}}}},
		{Type: "list", Items: []telegram.RichItem{{Checkbox: true, Checked: true, Blocks: []telegram.RichBlock{{Type: "paragraph", Text: plain("done")}}}}},
		{Type: "details", Summary: plain("Why?"), Blocks: []telegram.RichBlock{{Type: "blockquote", Blocks: []telegram.RichBlock{{Type: "paragraph", Text: plain("so")}}}}},
	}))
	want := `<h2><strong>A &lt; B</strong></h2><div class="wide"><table><tr><th class="right">n</th></tr><tr><td>1</td></tr></table></div>` +
		`<ul><li>☑ <p>done</p></li></ul><details><summary>Why?</summary><blockquote><p>so</p></blockquote></details>`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Whatever the model writes, the HTML contains no tag of the model's text, and no link with an unsafe scheme.
func FuzzDialects(f *testing.F) {
	for _, seed := range []string{"**a** ||b||", "<script>x</script>", "[a](javascript:b)", "```\n<i>", "> *q_*~", "<https://a|b>", "*_~`*_~`"} {
		f.Add(seed)
	}
	dialects := []dialect{discordMarkdown(), slackMarkdown(), mrkdwn(), whatsappMarkup()}
	tag := regexp.MustCompile(`<(/?)([a-z0-9]+)([^>]*)>`)
	attributes := regexp.MustCompile(`^( (href|class|tabindex|start|title|style|checked|disabled|type|alt|src)="[^"<>]*"| /)*$`)
	f.Fuzz(func(t *testing.T, source string) {
		for _, d := range dialects {
			drawn := string(d.html(source))
			rest := tag.ReplaceAllStringFunc(drawn, func(found string) string {
				parts := tag.FindStringSubmatch(found)
				if parts[2] == "script" || parts[2] == "iframe" || !attributes.MatchString(parts[3]) {
					t.Errorf("%q becomes %q, with %s", source, drawn, found)
				}
				return ""
			})
			rest = strings.ReplaceAll(rest, "<!-- raw HTML omitted -->", "")
			if strings.ContainsAny(rest, "<>") {
				t.Errorf("%q becomes %q, in which something is not escaped", source, drawn)
			}
			for _, link := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(drawn, -1) {
				address := strings.ToLower(strings.TrimLeftFunc(html.UnescapeString(link[1]), func(r rune) bool { return r <= ' ' || unicode.IsSpace(r) }))
				if strings.HasPrefix(address, "javascript:") || strings.HasPrefix(address, "vbscript:") {
					t.Errorf("%q becomes %q, with a link to %q", source, drawn, address)
				}
			}
		}
	})
}
