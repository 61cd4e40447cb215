package preview

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"telex/internal/markup"
	"telex/platforms/discord"
	"telex/platforms/slack"
	"telex/platforms/telegram"
	"telex/platforms/terminal"
)

func TestClip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		room int
		want string
	}{
		{"first\ndetails\nlast", 18, "first\ndetails\nlast"},
		{"first\ndetails\nlast", 17, "first\ndet…ls\nlast"},
		{"first\nsome\nmore\nlast", 15, "first\nso…e\nlast"},
		{"first\ndetails\nlast", 12, "first\n…\nlast"},
		{"first\ndetails\nlast", 11, "first\nlast"},
		{"first\ndetails\nlast", 9, "fi…t\nlast"},
		{"first\n" + strings.Repeat("details ", 20) + "\nlast", 60, "first\ndetails … (145 characters are not shown) …etails \nlast"},
		{"first\nlast", 9, "fi…t\nlast"},
		{"first\nlast", 5, "last"},
		{"first\nlast", 3, "l…t"},
		{"of one line", 5, "of…ne"},
		{"👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧", 11, "👨‍👩‍👧…👨‍👩‍👧"},
	} {
		fits := func(s string) bool { return utf8.RuneCountInString(s) <= c.room }
		if got := clip(c.text, fits); got != c.want {
			t.Errorf("%q in %d: got %q, want %q", c.text, c.room, got, c.want)
		}
	}
}

// After clipping, any question must fit into a message, whatever unit of length the dialect uses. The first and last
// lines of the question stay, and clip omits no more than necessary.
func TestClipInEveryDialect(t *testing.T) {
	t.Parallel()
	dialects := map[string]markup.Dialect{
		"plain": markup.Plain{}, "telegram": telegram.Dialect{}, "discord": discord.Dialect{}, "slack": slack.Dialect{}, "terminal": terminal.Dialect{},
	}
	for name, d := range dialects {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			s := state{place: place{dialect: d, limit: rapid.IntRange(150, 2000).Draw(t, "limit")}}
			details := strings.Join(rapid.SliceOfN(rapid.SampledFrom(fragments()), 1, 300).Draw(t, "details"), "")
			const before, after = "Run `this`?\n", "\nAnswer *yes* or /no."
			text := before + details + after
			s.view.Status = Status{Lines: strings.Split(text, "\n"), Code: Span{len(before), len(before + details)}}
			got, code := s.questionText()
			if want := (Span{len(before), len(got) - len(after)}); code != want && details != "" {
				t.Fatalf("code is %v of %q, want %v", code, got, want)
			}
			if n := d.Len(d.Render(lines(got, code))); n > s.limit {
				t.Fatalf("%d of %d: %q", n, s.limit, got)
			}
			first, rest, _ := strings.Cut(got, "\n")
			if first != "Run `this`?" || !strings.HasSuffix(rest, "\nAnswer *yes* or /no.") || !utf8.ValidString(got) {
				t.Fatalf("the first or the last line is lost: %q", got)
			}
			if got != text && !strings.Contains(got, " characters are not shown) …") {
				t.Fatalf("nobody is told that something is left out: %q", got)
			}
			if got != text && d.Len(d.Render(lines(got, code))) < s.limit-120 {
				t.Fatalf("too much was left out: %q", got)
			}
		}))
	}
}
