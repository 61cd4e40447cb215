package slack

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"telex/standin/rig"
)

func TestMrkdwn(t *testing.T) {
	t.Parallel()
	s := New(Options{})
	s.SetUser(User{ID: "U7", Name: "ann"})
	s.SetChannel(Channel{ID: "C7", Name: "whales"})
	cases := []struct {
		text, stored, shown string
		calls               []string
	}{
		{"plain", "plain", "plain", nil},
		{"a & b < c > d", "a &amp; b &lt; c &gt; d", "a & b < c > d", nil},
		{"a &amp; &lt;b&gt; &quot;", "a &amp; &lt;b&gt; &amp;quot;", "a & <b> &quot;", nil},
		{"<@U7> <@U8|x>", "<@U7> <@U8|x>", "@ann @U8", []string{"U7", "U8"}},
		{"<!channel> <!here|here> <!everyone>", "<!channel> <!here|here> <!everyone>", "@channel here @everyone", []string{"!channel", "!here", "!everyone"}},
		{"<!subteam^S1|@team>", "<!subteam^S1|@team>", "@team", []string{"!subteam^S1"}},
		{"&lt;!channel&gt;", "&lt;!channel&gt;", "<!channel>", nil},
		{"`<!channel>`", "`<!channel>`", "`@channel`", []string{"!channel"}},
		{"<#C7> <https://x.example|a &amp; b> <mailto:a@b>", "<#C7> <https://x.example|a &amp; b> <mailto:a@b>", "#whales a & b mailto:a@b", nil},
		{"<!date^1^{date}|day>", "<!date^1^{date}|day>", "day", nil},
		{"<b> <@u7> <@U7 <@> <!> @channel", "&lt;b&gt; &lt;@u7&gt; &lt;@U7 &lt;@&gt; &lt;!&gt; @channel", "<b> <@u7> <@U7 <@> <!> @channel", nil},
		{"<!-- a --> <!DOCTYPE html> <!x>", "&lt;!-- a --&gt; &lt;!DOCTYPE html&gt; &lt;!x&gt;", "<!-- a --> <!DOCTYPE html> <!x>", nil},
		{"<<@U7>>", "&lt;<@U7>&gt;", "<@ann>", []string{"U7"}},
	}
	for _, tc := range cases {
		if got := normalize(tc.text); got != tc.stored {
			t.Errorf("%s: got stored %q, want %q", tc.text, got, tc.stored)
		}
		if got := s.shownText(tc.text); got != tc.shown {
			t.Errorf("%s: got shown %q, want %q", tc.text, got, tc.shown)
		}
		if got := mentions(tc.text); !slices.Equal(got, tc.calls) {
			t.Errorf("%s: got calls %v, want %v", tc.text, got, tc.calls)
		}
	}
}

// TestMarkdownCode checks that an entity in Markdown is decoded outside of code, and stays as it is inside of code.
func TestMarkdownCode(t *testing.T) {
	t.Parallel()
	s := New(Options{})
	for text, want := range map[string]string{
		"&lt;a&gt; `&lt;a` &amp;":          "<a> `&lt;a` &",
		"x\n```go\n&lt;!a\n```\n&lt;":      "x\n```go\n&lt;!a\n```\n<",
		"> ```\n> &lt;\n> ```\n> &lt;":     "> ```\n> &lt;\n> ```\n> <",
		"```\n&lt;":                        "```\n&lt;",
		"`` &lt;` ``&lt;":                  "`` &lt;` ``<",
		"\\`&lt;`&lt;`":                    "\\`<`&lt;`",
		"`&lt;\n\n&lt;`":                   "`<\n\n<`",
		"`&lt;":                            "`<",
		"````\n```\n&lt;\n````\n&lt; `` `": "````\n```\n&lt;\n````\n< `` `",
		"`<!channel>`":                     "`@channel`",
	} {
		if got := s.shownText(escapeCodeEntities(text)); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestMarkdownLists checks that bullets depend on the depth of a list, and that numbers count from the number of the
// first item.
func TestMarkdownLists(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"- a\n- b\n  - c\n    - d\n      - e\n* f":       "• a\n• b\n  ◦ c\n    ▪ d\n      ▪ e\n• f",
		"1. a\n1. b\n\n   c\n3. d\n   - e\n7. f":         "1. a\n2. b\n\n   c\n3. d\n   ◦ e\n4. f",
		"3. a\n9. b\n1) c":                               "3. a\n4. b\n1) c",
		"a\n2. b\n1. c\n- d":                             "a\n2. b\n1. c\n• d",
		"- a\n\nb\n  - c":                                "• a\n\nb\n  • c",
		"- a\nb\n  - c":                                  "• a\nb\n  ◦ c",
		"1. a\n```\n- x\n2. y\n```\n- b":                 "1. a\n```\n- x\n2. y\n```\n• b",
		"> - a\n>   - b\n- c":                            "> • a\n>   ◦ b\n• c",
		"- - -\n* * *\n---\n-\n-a\n\\- b\n1\\. c\n**d**": "- - -\n* * *\n---\n-\n-a\n\\- b\n1\\. c\n**d**",
		"- a\n      - b":                                 "• a\n      - b",
		"- `&lt;- a`\n- &lt;":                            "• `&lt;- a`\n• <",
	} {
		if got := New(Options{}).shownText(markdownShown(text)); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// FuzzMrkdwn checks that the joined pieces of a text equal the text, and that escaping twice equals escaping once.
// FuzzMrkdwn also checks that the stored text has the same visible text and the same mentions as the sent text.
func FuzzMrkdwn(f *testing.F) {
	for _, seed := range []string{"", "<@U1>", "<<!here>>", "a & <b|c>", "<https://x|y", "&amp;amp;", "<!", "<\n>", "- a\n  1. b\n> - c\n```\n- d", "😀<@U1|é>"} {
		f.Add(seed)
	}
	s := New(Options{})
	f.Fuzz(func(t *testing.T, text string) {
		var joined strings.Builder
		for _, p := range spans(text) {
			joined.WriteString(p.raw)
		}
		if joined.String() != text {
			t.Errorf("pieces of %q: got %q", text, joined.String())
		}
		stored := normalize(text)
		if again := normalize(stored); again != stored {
			t.Errorf("stored twice: got %q, want %q", again, stored)
		}
		if got, want := s.shownText(stored), s.shownText(text); got != want {
			t.Errorf("shown: got %q, want %q", got, want)
		}
		if got, want := mentions(stored), mentions(text); !slices.Equal(got, want) {
			t.Errorf("calls: got %v, want %v", got, want)
		}
		if got := strings.ReplaceAll(escapeCodeEntities(text), "&amp;", "&"); got != strings.ReplaceAll(text, "&amp;", "&") {
			t.Errorf("code of %q: got %q", text, got)
		}
		if got := renderLists(text); strings.Count(got, "\n") != strings.Count(text, "\n") {
			t.Errorf("lines of %q: got %q", text, got)
		}
		if n := units(text); utf8.ValidString(text) && (n < utf8.RuneCountInString(text) || units(cutUnits(text, n/2)) > n/2 || cutUnits(text, n) != text) {
			t.Errorf("units of %q: got %d", text, n)
		}
	})
}

// FuzzBlocks checks that the stand-in either accepts or refuses any blocks without a panic, and that accepted blocks
// are within the limits.
func FuzzBlocks(f *testing.F) {
	for _, seed := range []string{
		`[]`, `[null]`, `[1]`, `{}`, `[{"type":"divider"}]`, `[{"type":"markdown","text":"**x**"}]`,
		`[{"type":"section","text":{"type":"mrkdwn","text":"x"},"accessory":{"type":"button","text":{"type":"plain_text","text":"y"}}}]`,
		`[{"type":"actions","elements":[1,null,{"type":"button"}]}]`, `[{"type":"table","rows":[[{"type":"raw_text","text":"x"}]]}]`,
		`[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"user","user_id":"U1"}]}]}]`,
		`[{"type":"context","elements":[{"type":"mrkdwn","text":"x"}]}]`, `[{"type":"header","text":{"type":"plain_text","text":"x"}}]`,
	} {
		f.Add(seed)
	}
	read := func(text string, newID func() string) (parsed parsedBlocks, aerr *apiError) {
		_, aerr = rig.Run[apiError](func() any { parsed = readBlocks(text, newID); return nil })
		return parsed, aerr
	}
	f.Fuzz(func(t *testing.T, text string) {
		n := 0
		parsed, aerr := read(text, func() string { n++; return strings.Repeat("i", n) })
		if aerr != nil {
			if !slices.Contains([]string{"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"}, aerr.code) {
				t.Errorf("%s: got %q", text, aerr.code)
			}
			return
		}
		if len(parsed.list) > maxBlocks || parsed.total > maxTotal {
			t.Errorf("%s: got %d blocks of %d characters", text, len(parsed.list), parsed.total)
		}
		if _, aerr := read(string(rig.Encode(parsed.list)), func() string { return "new" }); aerr != nil && parsed.list != nil {
			t.Errorf("%s: what was taken is refused when it is sent again: %v", text, aerr)
		}
	})
}

func FuzzTS(f *testing.F) {
	for _, seed := range []string{"", "1.000001", "1700000000.123456", ".123456", "1.12345", "-1.000000", "१.000001"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, ts string) {
		if validTS(ts) && (len(ts) < 8 || strings.Trim(ts, "0123456789.") != "" || compareTS(ts, ts) != 0) {
			t.Errorf("%q passes as a ts", ts)
		}
	})
}
