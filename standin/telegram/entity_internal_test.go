package telegram

import (
	"strings"
	"testing"
	"unicode/utf8"

	"telex/standin/rig"
)

func TestFixText(t *testing.T) {
	t.Parallel()
	bold := func(o, n int) Entity { return Entity{Type: "bold", Offset: o, Length: n} }
	italic := func(o, n int) Entity { return Entity{Type: "italic", Offset: o, Length: n} }
	code := func(o, n int) Entity { return Entity{Type: "code", Offset: o, Length: n} }
	pre := func(o, n int) Entity { return Entity{Type: "pre", Offset: o, Length: n, Language: "go"} }
	link := func(o, n int, url string) Entity { return Entity{Type: "text_link", Offset: o, Length: n, URL: url} }
	cases := []struct {
		name     string
		text     string
		entities []Entity
		want     string
		wantList []Entity
		wantErr  string
	}{
		{name: "plain", text: "hello", want: "hello"},
		{name: "trimmed", text: " \n hello \n ", want: "hello"},
		{name: "empty", text: "", want: ""},
		{name: "white space only", text: " \n\t ", want: ""},
		{name: "invisible only", text: "\u200b\u200d", want: ""},
		{name: "tab becomes space", text: "a\tb\r\nc", want: "a b\nc"},
		{name: "bidi override removed", text: "a\u202eb", want: "ab"},
		{name: "entity moves with what is removed", text: "a\rbc", entities: []Entity{bold(2, 2)}, want: "abc", wantList: []Entity{bold(1, 2)}},
		{name: "left trim moves entities", text: "  hi", entities: []Entity{bold(2, 2)}, want: "hi", wantList: []Entity{bold(0, 2)}},
		{name: "entity loses leading space", text: "a  b", entities: []Entity{bold(1, 3)}, want: "a  b", wantList: []Entity{bold(3, 1)}},
		{name: "entity of space vanishes", text: "a  b", entities: []Entity{bold(1, 2)}, want: "a  b"},
		{name: "entity cut at the trimmed end", text: "ab  ", entities: []Entity{bold(1, 3)}, want: "ab", wantList: []Entity{bold(1, 1)}},
		{name: "empty entity dropped", text: "ab", entities: []Entity{bold(1, 0)}, want: "ab"},
		{name: "pair counts two F31", text: "😀b", entities: []Entity{bold(2, 1)}, want: "😀b", wantList: []Entity{bold(2, 1)}},
		{name: "whole pair F31", text: "😀b", entities: []Entity{bold(0, 2)}, want: "😀b", wantList: []Entity{bold(0, 2)}},
		{name: "begins in a pair F31", text: "😀b", entities: []Entity{bold(1, 2)}, wantErr: "entity begins in a middle of a UTF-16 symbol at byte offset 4"},
		{name: "ends in a pair F31", text: "b😀", entities: []Entity{bold(0, 2)}, wantErr: "entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol at byte offset 5"},
		{name: "begins after the end", text: "hello", entities: []Entity{bold(100, 1)}, wantErr: "entity begins after the end of the text at UTF-16 offset 100"},
		{name: "ends after the end", text: "hello", entities: []Entity{bold(0, 100)}, wantErr: "entity beginning at UTF-16 offset 0 ends after the end of the text at UTF-16 offset 100"},
		{name: "negative offset", text: "hello", entities: []Entity{bold(-1, 2)}, wantErr: "receive an entity with incorrect offset -1"},
		{name: "unknown type", text: "hello", entities: []Entity{{Type: "sparkle", Length: 1}}, wantErr: "can't parse MessageEntity: Unsupported type specified"},
		{name: "no type", text: "hello", entities: []Entity{{Length: 1}}, wantErr: "can't parse MessageEntity: Type is not specified"},
		{name: "link without address", text: "hello", entities: []Entity{link(0, 1, "")}, wantErr: `can't parse MessageEntity: Can't find field "url"`},
		{name: "link to nowhere", text: "hello", entities: []Entity{link(0, 1, "localhost")}, wantErr: "entity URL 'localhost' is invalid: Wrong HTTP URL"},
		{name: "link", text: "hello", entities: []Entity{link(0, 5, "https://a.org/x?y#z")}, want: "hello", wantList: []Entity{link(0, 5, "https://a.org/x?y#z")}},
		{name: "language only of pre", text: "hello", entities: []Entity{{Type: "bold", Length: 5, Language: "go"}}, want: "hello", wantList: []Entity{bold(0, 5)}},
		{name: "detected types are not taken", text: "hello", entities: []Entity{{Type: "mention", Length: 5}}, want: "hello"},
		{name: "sorted", text: "abcd", entities: []Entity{italic(2, 1), bold(0, 1)}, want: "abcd", wantList: []Entity{bold(0, 1), italic(2, 1)}},
		{name: "nested", text: "abcd", entities: []Entity{bold(0, 4), italic(1, 2)}, want: "abcd", wantList: []Entity{bold(0, 4), italic(1, 2)}},
		{name: "touching bolds join", text: "abcd", entities: []Entity{bold(0, 2), bold(2, 2)}, want: "abcd", wantList: []Entity{bold(0, 4)}},
		{name: "bold in code vanishes", text: "abcd", entities: []Entity{pre(0, 4), bold(1, 2)}, want: "abcd", wantList: []Entity{pre(0, 4)}},
		{name: "bold around code is cut", text: "abcd", entities: []Entity{bold(0, 4), code(1, 2)}, want: "abcd", wantList: []Entity{bold(0, 1), code(1, 2), bold(3, 1)}},
		{name: "bold across a link is split", text: "abcd", entities: []Entity{bold(0, 2), link(1, 3, "a.org")}, want: "abcd", wantList: []Entity{bold(0, 1), link(1, 3, "a.org"), bold(1, 1)}},
		{name: "code in a link vanishes", text: "abcd", entities: []Entity{link(0, 4, "a.org"), code(1, 2)}, want: "abcd", wantList: []Entity{link(0, 4, "a.org")}},
		{name: "code wins over a link of its range", text: "abcd", entities: []Entity{link(0, 4, "a.org"), code(0, 4)}, want: "abcd", wantList: []Entity{code(0, 4)}},
		{name: "not UTF-8", text: "\xff", wantErr: "strings must be encoded in UTF-8"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := fix(tc.text, tc.entities)
			if err != tc.wantErr {
				t.Fatalf("error: got %q, want %q", err, tc.wantErr)
			}
			if got.text != tc.want || !equalEntities(got.entities, tc.wantList) {
				t.Errorf("got %q %+v, want %q %+v", got.text, got.entities, tc.want, tc.wantList)
			}
		})
	}
}

// fix calls fixText and returns the error as a text.
func fix(text string, entities []Entity) (f formatted, err string) {
	_, refused := rig.Run[apiError](func() any { f = fixText(text, entities); return nil })
	if refused != nil {
		err = strings.TrimPrefix(refused.description, "Bad Request: ")
	}
	return f, err
}

func TestDetect(t *testing.T) {
	t.Parallel()
	cases := []struct {
		text  string
		given []Entity
		want  []Entity
	}{
		{text: "nothing here"},
		{text: "/start@telex_bot now", want: []Entity{{Type: "bot_command", Offset: 0, Length: 16}}},
		{text: "😀 /help", want: []Entity{{Type: "bot_command", Offset: 3, Length: 5}}},
		{text: "in /usr/bin it lies"},
		{text: "hi @telex_bot, and me@example", want: []Entity{{Type: "mention", Offset: 3, Length: 10}}},
		{text: "see https://a.org/b. Or c.de!", want: []Entity{{Type: "url", Offset: 4, Length: 15}, {Type: "url", Offset: 24, Length: 4}}},
		{text: "#tag and #1", want: []Entity{{Type: "hashtag", Offset: 0, Length: 4}}},
		{text: "@telex_bot", given: []Entity{{Type: "code", Length: 10}}},
		{text: "@telex_bot", given: []Entity{{Type: "bold", Length: 10}}, want: []Entity{{Type: "mention", Offset: 0, Length: 10}}},
	}
	for _, tc := range cases {
		if got := detect(tc.text, tc.given); !equalEntities(got, tc.want) {
			t.Errorf("detect(%q): got %+v, want %+v", tc.text, got, tc.want)
		}
	}
}

// parse calls parseMarkup and returns the error as a text.
func parse(text, mode string) (plain string, list []Entity, err string) {
	_, refused := rig.Run[apiError](func() any { plain, list = parseMarkup(text, mode); return nil })
	if refused != nil {
		err = strings.TrimPrefix(refused.description, "Bad Request: can't parse entities: ")
	}
	return plain, list, err
}

func TestParseMarkup(t *testing.T) {
	t.Parallel()
	cases := []struct {
		mode, text string
		want       string
		list       []Entity
		err        string
	}{
		{mode: "HTML", text: "a <b>b <i>c</i></b> &lt;&amp;&#33;&nbsp;", want: "a b c <&!&nbsp;", list: []Entity{{Type: "bold", Offset: 2, Length: 3}, {Type: "italic", Offset: 4, Length: 1}}},
		{mode: "html", text: `<pre><code class="language-go">x</code></pre>`, want: "x", list: []Entity{{Type: "pre", Length: 1, Language: "go"}}},
		{mode: "HTML", text: `<a href="https://a.org/?a&amp;b">x</a><a>b.org</a>`, want: "xb.org", list: []Entity{{Type: "text_link", Length: 1, URL: "https://a.org/?a&b"}, {Type: "text_link", Offset: 1, Length: 5, URL: "b.org"}}},
		{mode: "HTML", text: `<blockquote expandable>q</blockquote><span class="tg-spoiler">s</span>`, want: "qs", list: []Entity{{Type: "expandable_blockquote", Length: 1}, {Type: "spoiler", Offset: 1, Length: 1}}},
		{mode: "HTML", text: "a <x>", err: `Unsupported start tag "x" at byte offset 2`},
		{mode: "HTML", text: "<b>a", err: `Can't find end tag corresponding to start tag "b"`},
		{mode: "HTML", text: "<b>a</i>", err: `Unmatched end tag at byte offset 4, expected "</b>", found "</i>"`},
		{mode: "HTML", text: "a</i>", err: "Unexpected end tag at byte offset 1"},
		{mode: "HTML", text: "a <b", err: "Unclosed start tag at byte offset 2"},
		{mode: "MarkdownV2", text: `*b _i_* ~s~ __u__ ||p|| \.`, want: "b i s u p .", list: []Entity{
			{Type: "bold", Length: 3},
			{Type: "italic", Offset: 2, Length: 1},
			{Type: "strikethrough", Offset: 4, Length: 1},
			{Type: "underline", Offset: 6, Length: 1},
			{Type: "spoiler", Offset: 8, Length: 1},
		}},
		{mode: "MarkdownV2", text: "```go\na*b\n```", want: "a*b\n", list: []Entity{{Type: "pre", Length: 4, Language: "go"}}},
		{mode: "MarkdownV2", text: "`a\\`b` [t](https://a.org/\\))", want: "a`b t", list: []Entity{{Type: "code", Length: 3}, {Type: "text_link", Offset: 4, Length: 1, URL: "https://a.org/)"}}},
		{mode: "MarkdownV2", text: ">a\n>b\nc", want: "a\nb\nc", list: []Entity{{Type: "blockquote", Length: 3}}},
		{mode: "MarkdownV2", text: ">a\n>b||", want: "a\nb", list: []Entity{{Type: "expandable_blockquote", Length: 3}}},
		{mode: "MarkdownV2", text: "a.", err: `Character '.' is reserved and must be escaped with the preceding '\'`},
		{mode: "MarkdownV2", text: "a *b", err: "Can't find end of Bold entity at byte offset 2"},
		{mode: "MarkdownV2", text: "``", want: ""},
		{mode: "Markdown", text: "a", err: "unsupported parse_mode"},
	}
	for _, tc := range cases {
		got, list, err := parse(tc.text, tc.mode)
		if err != tc.err || got != tc.want || !equalEntities(list, tc.list) {
			t.Errorf("%s %q: got %q %+v %q, want %q %+v %q", tc.mode, tc.text, got, list, err, tc.want, tc.list, tc.err)
		}
	}
}

// checkFixed fails the test if a text is not in normal form.
func checkFixed(t *testing.T, f formatted) {
	t.Helper()
	if !utf8.ValidString(f.text) || strings.TrimRight(f.text, " \n") != f.text {
		t.Fatalf("text %q: not trimmed UTF-8", f.text)
	}
	n, last := textLength(f.text), 0
	for _, e := range f.entities {
		if e.Offset < last || e.Length <= 0 || e.end() > n {
			t.Fatalf("entity %+v does not fit %q or is out of order", e, f.text)
		}
		last = e.Offset
	}
	again, err := fix(f.text, f.entities)
	if err != "" || again.text != f.text || !equalEntities(again.entities, f.entities) {
		t.Fatalf("not stable: got %q %+v (%v), want %q %+v", again.text, again.entities, err, f.text, f.entities)
	}
	toUTF16(f.text, nil)
	for _, e := range detect(f.text, f.entities) {
		if e.Length <= 0 || e.end() > n {
			t.Fatalf("detected %+v does not fit %q", e, f.text)
		}
	}
}

func FuzzFixText(f *testing.F) {
	f.Add("a 😀 b", 0, 3, 2, 4, uint8(0x15))
	f.Add(" \t\r\nx ", 1, 5, 0, 2, uint8(0x42))
	f.Add("link code bold", 0, 10, 5, 9, uint8(0x23))
	kinds := []string{"bold", "italic", "code", "pre", "text_link", "blockquote", "spoiler", "custom_emoji"}
	f.Fuzz(func(t *testing.T, text string, o1, n1, o2, n2 int, pick uint8) {
		list := []Entity{
			{Type: kinds[pick&7], Offset: o1, Length: n1, URL: "a.org", CustomEmojiID: "1"},
			{Type: kinds[pick>>4&7], Offset: o2, Length: n2, URL: "b.org", CustomEmojiID: "2"},
		}
		if got, err := fix(text, list); err == "" {
			checkFixed(t, got)
		}
	})
}

func FuzzParseMarkup(f *testing.F) {
	f.Add("<b>a <i>b</i></b> &amp; <pre><code class=\"language-go\">x</code></pre>")
	f.Add("*b _i_* __u__ ||s|| [l](https://a.org) ```go\nx\n``` >q")
	f.Add("**>a\n>b||\n![x](tg://emoji?id=1)")
	f.Fuzz(func(t *testing.T, text string) {
		for _, mode := range []string{"HTML", "MarkdownV2"} {
			plain, list, err := parse(text, mode)
			if err != "" || !utf8.ValidString(text) {
				continue
			}
			for _, e := range list {
				if e.Offset < 0 || e.Length <= 0 || e.end() > textLength(plain) {
					t.Fatalf("%s %q: entity %+v does not fit %q", mode, text, e, plain)
				}
			}
			if got, err := fix(plain, list); err == "" {
				checkFixed(t, got)
			}
		}
	})
}
