//go:build !race

package telegram

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"pgregory.net/rapid"

	"telex/internal/chat"
	"telex/internal/markup"
	"telex/internal/markup/markuptest"
)

func render(t *testing.T, src string) markup.Rendered {
	t.Helper()
	parts := markup.Layout(src, markup.Options{Dialect: Dialect{}, Limit: 4096})
	if len(parts) != 1 {
		t.Fatalf("Layout(%q) has %d parts, want 1", src, len(parts))
	}
	return parts[0].Rendered
}

// This test renders each Markdown construct of the list for Telegram. The expected offsets were counted by hand in
// UTF-16 code units (F28, F33).
func TestDialectConstructs(t *testing.T) {
	t.Parallel()
	type spans = []markup.Span
	for _, tt := range []struct {
		name, src, text string
		spans           spans
	}{
		{"plain", "a.b!c(d)-e", "a.b!c(d)-e", nil},
		{"bold behind an emoji", "👋 **bold**", "👋 bold", spans{{Kind: "bold", Offset: 3, Length: 4}}},
		{"bold with an emoji", "**👨‍👩‍👧 a**", "👨‍👩‍👧 a", spans{{Kind: "bold", Offset: 0, Length: 10}}},
		{"italic, strike, code", "*i* ~~s~~ `c`", "i s c", spans{
			{Kind: "italic", Offset: 0, Length: 1}, {Kind: "strikethrough", Offset: 2, Length: 1}, {Kind: "code", Offset: 4, Length: 1},
		}},
		{"nested", "**a *b* c**", "a b c", spans{{Kind: "bold", Offset: 0, Length: 5}, {Kind: "italic", Offset: 2, Length: 1}}},
		{"same range", "***a***", "a", spans{{Kind: "bold", Offset: 0, Length: 1}, {Kind: "italic", Offset: 0, Length: 1}}},
		{"code cuts bold", "**a `b` c**", "a b c", spans{
			{Kind: "bold", Offset: 0, Length: 1}, {Kind: "code", Offset: 2, Length: 1}, {Kind: "bold", Offset: 4, Length: 1},
		}},
		{"code alone in bold", "**`b`**", "b", spans{{Kind: "code", Offset: 0, Length: 1}}},
		{"bold in a heading", "# a **b**", "a b", spans{{Kind: "bold", Offset: 0, Length: 3}}},
		{"link", "see [the *page*](https://e.org/?a=1)", "see the page", spans{
			{Kind: "text_link", Offset: 4, Length: 8, URL: "https://e.org/?a=1"}, {Kind: "italic", Offset: 8, Length: 4},
		}},
		{"link on code", "[`f`](https://e.org)", "f", spans{{Kind: "text_link", Offset: 0, Length: 1, URL: "https://e.org"}}},
		{"links to chats and mail", "[a](tg://resolve?domain=x) [b](mailto:x@y.org)", "a b", spans{
			{Kind: "text_link", Offset: 0, Length: 1, URL: "tg://resolve?domain=x"}, {Kind: "text_link", Offset: 2, Length: 1, URL: "mailto:x@y.org"},
		}},
		{"links to nowhere", "[a](/x) [b](javascript:alert) [c](file:///etc) [d]()", "a b c d", nil},
		{"bare links", "https://e.org www.e.org x@y.org", "https://e.org www.e.org x@y.org", nil},
		{"image", "![alt](https://e.org/i.png)", "alt", spans{{Kind: "text_link", Offset: 0, Length: 3, URL: "https://e.org/i.png"}}},
		{"quote in a quote", "> a\n> > b\n\nc", "a\nb\n\nc", spans{{Kind: "blockquote", Offset: 0, Length: 3}}},
		{"code in a quote", "> a\n> ```\n> x\n> ```", "a\nx", spans{
			{Kind: "blockquote", Offset: 0, Length: 3}, {Kind: "pre", Offset: 2, Length: 1},
		}},
		{"fenced code", "a\n\n```go\nx := 1\n```", "a\n\nx := 1", spans{{Kind: "pre", Offset: 3, Length: 6, Language: "go"}}},
		{"tabs in code", "```go\nf {\n\tx\n\t\ty\ta\n}\n```", "f {\n    x\n        y   a\n}", spans{{Kind: "pre", Offset: 0, Length: 25, Language: "go"}}},
		{"tab in a text", "a\tb", "a   b", nil},
		{"indented first line", "```\n  a\nb\n```", "a\nb", spans{{Kind: "pre", Offset: 0, Length: 3}}},
		{"table", "|a|b|\n|-|-:|\n|x|10|", "a   b\n-  --\nx  10", spans{{Kind: "pre", Offset: 0, Length: 17}}},
		{"list", "- [x] **a**\n- b\n  1. c", "☑ a\n• b\n  1. c", spans{{Kind: "bold", Offset: 2, Length: 1}}},
		{"rule", "a\n\n---\n\nb", "a\n\n──────────\n\nb", nil},
		{"HTML", "<b>x</b><br>y", "<b>x</b>\ny", nil},
		{"mention (F35)", "👋 @bob_1, (@ann)", "👋 @bob_1, (@ann)", spans{{Kind: "code", Offset: 3, Length: 6}, {Kind: "code", Offset: 12, Length: 4}}},
		{"mention that looks like mail (F35)", "<!x^y|@team> <a+b@x.org>", "!x^y|@team a+b@x.org", spans{{Kind: "code", Offset: 5, Length: 5}}},
		{"mention in bold (F35)", "**hi @bob you**", "hi @bob you", spans{
			{Kind: "bold", Offset: 0, Length: 2}, {Kind: "code", Offset: 3, Length: 4}, {Kind: "bold", Offset: 8, Length: 3},
		}},
		{"mention in a quote (F35)", "> @bob", "@bob", spans{{Kind: "blockquote", Offset: 0, Length: 4}, {Kind: "code", Offset: 0, Length: 4}}},
		{"mention in a dead link (F35)", "[@bob](tg://user?id=1) [@ann]()", "@bob @ann", spans{{Kind: "code", Offset: 0, Length: 4}, {Kind: "code", Offset: 5, Length: 4}}},
		{"mention half in a link (F35)", "@bo[by](https://e.org)", "@boby", spans{{Kind: "code", Offset: 0, Length: 3}, {Kind: "text_link", Offset: 3, Length: 2, URL: "https://e.org"}}},
		{"no mention", "`@bob` me@e.org https://e.org/@bob a@bob /@bob @@bob @", "@bob me@e.org https://e.org/@bob a@bob /@bob @@bob @", spans{{Kind: "code", Offset: 0, Length: 4}}},
		{"mention in an address", "https://e.org?a=@bob", "https://e.org?a=@bob", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := render(t, tt.src)
			if got.Text != tt.text || !reflect.DeepEqual(got.Spans, tt.spans) {
				t.Errorf("Layout(%q)\n got %q %+v\nwant %q %+v", tt.src, got.Text, got.Spans, tt.text, tt.spans)
			}
		})
	}
}

// If a text has more than 100 entities, the dialect must keep the first 100. The text after the first 100 entities must
// have no formatting.
func TestDialectKeepsAHundredEntities(t *testing.T) {
	t.Parallel()
	got := render(t, strings.Repeat("**a** b ", 120))
	if len(got.Spans) != 100 {
		t.Fatalf("%d entities, want 100", len(got.Spans))
	}
	for i, s := range got.Spans {
		if want := (markup.Span{Kind: "bold", Offset: 4 * i, Length: 1}); s != want {
			t.Errorf("entity %d = %+v, want %+v", i, s, want)
		}
	}
	if want := strings.TrimSpace(strings.Repeat("a b ", 120)); got.Text != want {
		t.Errorf("text = %q, want %q", got.Text, want)
	}
}

// The dialect must count the length of a text in UTF-16 code units; an emoji consists of two code units (F30).
func TestDialectLimit(t *testing.T) {
	t.Parallel()
	parts := markup.Layout(strings.Repeat("😀", 3000), markup.Options{Dialect: Dialect{}, Limit: 4096})
	want := []string{strings.Repeat("😀", 2048), strings.Repeat("😀", 952)}
	if len(parts) != 2 || parts[0].Rendered.Text != want[0] || parts[1].Rendered.Text != want[1] {
		t.Errorf("%d parts, want 2048 and 952 emoji", len(parts))
	}
}

// If a bold or otherwise formatted text is split between two messages, the second message must have the formatting too
// (F32).
func TestDialectReopens(t *testing.T) {
	t.Parallel()
	parts := markup.Layout("**"+strings.Repeat("bold ", 20)+"end**", markup.Options{Dialect: Dialect{}, Limit: 64})
	want := []markup.Rendered{
		{Text: strings.TrimSpace(strings.Repeat("bold ", 13)), Spans: []markup.Span{{Kind: "bold", Length: 64}}},
		{Text: strings.Repeat("bold ", 7) + "end", Spans: []markup.Span{{Kind: "bold", Length: 38}}},
	}
	var got []markup.Rendered
	for _, p := range parts {
		got = append(got, p.Rendered)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("parts\n got %+v\nwant %+v", got, want)
	}
}

// checkMessage fails the test if Telegram would refuse or change a message.
func checkMessage(t rapid.TB, r markup.Rendered) {
	t.Helper()
	checkQuiet(t, r)
	text := utf16.Encode([]rune(r.Text))
	if !utf8.ValidString(r.Text) || strings.TrimSpace(r.Text) != r.Text || r.Text == "" {
		t.Fatalf("bad text %q", r.Text)
	}
	if len(r.Spans) > 100 {
		t.Fatalf("%d entities", len(r.Spans))
	}
	bounds := map[int]bool{0: true}
	at := 0
	for g := graphemes.FromString(r.Text); g.Next(); {
		at += len(utf16.Encode([]rune(g.Value())))
		bounds[at] = true
	}
	for i, s := range r.Spans {
		end := s.Offset + s.Length
		if s.Offset < 0 || s.Length <= 0 || end > len(text) {
			t.Fatalf("%+v is not in %q", s, r.Text)
		}
		if inner := string(utf16.Decode(text[s.Offset:end])); strings.TrimFunc(inner, unicode.IsSpace) != inner {
			t.Fatalf("%+v has white space at its edges: %q", s, inner)
		}
		if s.Kind == kindLink && s.URL == "" {
			t.Fatalf("%+v goes nowhere", s)
		}
		for _, o := range r.Spans[:i] {
			oEnd := o.Offset + o.Length
			switch {
			case o.Offset > s.Offset, o.Offset == s.Offset && o.Length < s.Length:
				t.Fatalf("%+v stands before %+v", o, s)
			case oEnd <= s.Offset:
			case end > oEnd:
				t.Fatalf("%+v overlaps %+v", s, o)
			case o.Kind == kindCode || o.Kind == kindPre:
				t.Fatalf("%+v is in %+v", s, o)
			case o.Kind == s.Kind, o.Kind != kindQuote && (s.Kind == kindCode || s.Kind == kindPre):
				t.Fatalf("%+v is in %+v", s, o)
			}
		}
	}
}

// checkQuiet fails the test if a message notifies anybody (F35).
func checkQuiet(t rapid.TB, r markup.Rendered) {
	t.Helper()
	text := utf16.Encode([]rune(r.Text))
	for _, s := range r.Spans {
		if strings.HasPrefix(s.URL, "tg://user") {
			t.Fatalf("%+v mentions a person", s)
		}
	}
	for _, m := range mentions(r.Text) {
		at := markup.Units(r.Text[:m[0]])
		covered := slices.ContainsFunc(r.Spans, func(s markup.Span) bool {
			return (s.Kind == kindCode || s.Kind == kindPre || s.Kind == kindLink) && s.Offset <= at && s.Offset+s.Length > at
		})
		word := r.Text[strings.LastIndexFunc(r.Text[:m[0]], unicode.IsSpace)+1 : m[1]]
		if !covered && !strings.Contains(word, "://") && !strings.Contains(word, "www.") {
			t.Fatalf("%q at %d of %d units is a mention: %q", word, at, len(text), r.Text)
		}
	}
}

// snippets generates pieces of Markdown: whole constructs, incomplete constructs, and plain text. Tests join several
// pieces from snippets into one text.
func snippets() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
			"**", "*", "_", "~~", "`", "``", "[", "](https://e.org/x)", "](", "![", "<", ">", "&amp;", "\\", "|", "\n", "\n\n", "\n- ", "\n1. ",
			"\n> ", "\n```go\n", "\n```\n", "\n    ", "\n|a|b|\n|-|:-:|\n|", "\n# ", "\n---\n", " ", " ", " ", "word", "two words", "snake_case",
			"👨‍👩‍👧", "🇩🇪", "世界", "e\u0301", "❤️", "https://e.org", "<br>", "[ ] ", "**bold** ", "*it* ", "`code` ", "[link](https://e.org) ",
		}), 1, 60).Draw(t, "snippets"), "")
	})
}

// Whatever Markdown the model writes, Telegram must accept the rendered message (D7).
func TestDialectIsAlwaysValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		src := snippets().Draw(t, "src")
		o := markup.Options{Dialect: Dialect{}, Limit: rapid.IntRange(60, 200).Draw(t, "limit"), Open: rapid.Bool().Draw(t, "open")}
		for i := range len(src) + 1 {
			for _, p := range markup.Layout(src[:i], o) {
				checkMessage(t, p.Rendered)
				if n := (Dialect{}).Len(p.Rendered); n > o.Limit {
					t.Fatalf("%d units, limit %d: %q", n, o.Limit, p.Rendered.Text)
				}
			}
		}
	})
}

func FuzzDialect(f *testing.F) {
	f.Add("👋 **a `b`** [c](https://e.org) > d", 60, true)
	f.Add("> a\n> > b\n> ```\n> x", 100, false)
	f.Fuzz(func(t *testing.T, src string, limit int, open bool) {
		o := markup.Options{Dialect: Dialect{}, Limit: 60 + max(0, limit)%4096, Open: open}
		for _, p := range markup.Layout(src, o) {
			checkMessage(t, p.Rendered)
		}
	})
}

func BenchmarkDialect(b *testing.B) { markuptest.Measure(b, Dialect{}, 4096) }

// In a private chat, a mention notifies nobody, so the dialect must not format the mention as code. A link to a person
// must become plain text even in a private chat.
func TestDialectInPrivate(t *testing.T) {
	t.Parallel()
	src := "ask **@bob_1** or [@ann](tg://user?id=1), `@x`" + strings.Repeat(" @bob", 130)
	parts := markup.Layout(src, markup.Options{Dialect: Dialect{Private: true}, Limit: 4096})
	if len(parts) != 1 {
		t.Fatalf("there are %d parts", len(parts))
	}
	got := parts[0].Rendered
	if want := "ask @bob_1 or @ann, @x" + strings.Repeat(" @bob", 130); got.Text != want {
		t.Errorf("got %q, want %q", got.Text, want)
	}
	if want := ([]markup.Span{{Kind: "bold", Offset: 4, Length: 6}, {Kind: "code", Offset: 20, Length: 2}}); !slices.Equal(got.Spans, want) {
		t.Errorf("got %+v, want %+v", got.Spans, want)
	}
	for _, tt := range []struct {
		to   chat.Target
		want int
	}{{chat.Target{Chat: "7"}, 0}, {chat.Target{Chat: "-7", Kind: chat.Group}, 1}} {
		d := new(Bot).Dialect(tt.to)
		if got := markup.Layout("@bob", markup.Options{Dialect: d, Limit: 4096})[0].Rendered; len(got.Spans) != tt.want {
			t.Errorf("in %+v: got %+v, want %d entities", tt.to, got, tt.want)
		}
	}
}

// No mention may notify anybody, no matter how many mentions the text has and how the mentions are formatted (F35).
func TestDialectQuietensAllMentions(t *testing.T) {
	t.Parallel()
	got := render(t, strings.Repeat("@bob *x* ", 130))
	text := utf16.Encode([]rune(got.Text))
	for _, s := range slices.Backward(got.Spans) {
		if s.Kind == kindCode {
			text = slices.Delete(text, s.Offset, s.Offset+s.Length)
		}
	}
	if rest := string(utf16.Decode(text)); len(mentions(rest)) > 0 || len(got.Spans) != 100 {
		t.Errorf("%d entities, mentions left in %q", len(got.Spans), rest)
	}
	if want := strings.TrimSpace(strings.Repeat("@bob x ", 130)); strings.ReplaceAll(got.Text, wordJoiner, "") != want {
		t.Errorf("text = %q", got.Text)
	}
}

// D7, D8, F26-F33, F35: the dialect has the properties that package markuptest checks, for every prefix of each sample
// answer.
func TestAnswersTelegram(t *testing.T) {
	t.Parallel()
	for name, src := range markuptest.Answers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, limit := range []int{60, 4096} {
				flicker := markuptest.Prefixes(t, Dialect{}, src, limit, 7, func(p markup.Part) { checkMessage(t, p.Rendered) })
				t.Logf("limit %d: %d of %d bytes taken back", limit, flicker, len(src))
			}
		})
	}
}

func TestNastyTelegram(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		markuptest.Prefixes(t, Dialect{}, markuptest.Nasty().Draw(t, "src"), rapid.IntRange(60, 300).Draw(t, "limit"), 1,
			func(p markup.Part) { checkMessage(t, p.Rendered) })
	})
}
