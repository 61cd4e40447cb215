package preview

import (
	"strings"
	"testing"

	"telex/internal/markup"
	"telex/platforms/discord"
	"telex/platforms/slack"
	"telex/platforms/telegram"
	"telex/platforms/terminal"
)

// A proposed call is shown as code, so that no text in it becomes a command, a mention or a link. The lines that say
// how to approve or refuse the call are normal text.
func TestProposedCallIsShownAsCode(t *testing.T) {
	t.Parallel()
	const before, after = "Allow this?\n", "\nOr use /approve x"
	const what = "mail {\n  \"to\": \"/approve @everyone <@1> <!channel> evil.org\"\n}"
	ask := func(d markup.Dialect, what string, limit int) markup.Rendered {
		s := state{place: place{dialect: d, limit: limit}}
		s.view.Status = Status{Lines: strings.Split(before+what+after, "\n"), Code: Span{len(before), len(before + what)}}
		text, code := s.questionText()
		return d.Render(lines(text, code))
	}
	got := ask(telegram.Dialect{}, what, 4096)
	if want := (markup.Span{Kind: "pre", Offset: len(before), Length: len(what)}); len(got.Spans) != 1 || got.Spans[0] != want || got.Text != before+what+after {
		t.Errorf("Telegram: %+v", got)
	}
	for name, d := range map[string]markup.Dialect{"Discord": discord.Dialect{}, "Slack": slack.Dialect{}} { // these dialects may also break up mentions
		got := ask(d, what, 2000).Text
		if inside, ok := strings.CutPrefix(got, before+"```\nmail {\n"); !ok || !strings.HasSuffix(inside, "\n}\n```"+after) || strings.Count(inside, "```") != 1 {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := ask(terminal.Dialect{}, what, 4000).Text; !strings.Contains(got, "/approve @everyone") {
		t.Errorf("terminal: %q", got)
	}
	for _, limit := range []int{40, 60, 100} { // limits so short that the middle of the call or the whole call is omitted
		got := ask(telegram.Dialect{}, strings.Repeat("/approve ", 100), limit)
		if len(got.Spans) != 1 || strings.Contains(got.Text[:got.Spans[0].Offset], "/") {
			t.Errorf("cut to %d: %+v", limit, got)
		}
	}
}

// If the operator changed the text of the question, each line that contains a piece of the tool call is shown entirely
// as code.
func TestCodeIsWholeLines(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		question  string
		code      Span
		shortened string
		want      Span
	}{
		"none":                   {"abc", Span{}, "abc", Span{}},
		"all":                    {"abc", Span{0, 3}, "abc", Span{0, 3}},
		"within a line":          {"x\nmay I abc?\ny", Span{8, 11}, "x\nmay I abc?\ny", Span{2, 12}},
		"at the end":             {"x\nmay I abc", Span{8, 11}, "x\nmay I abc", Span{2, 11}},
		"shortened":              {"x\nabcdef\ny", Span{2, 8}, "x\na…f\ny", Span{2, 7}},
		"nothing of it is left":  {"x\nabcdef\ny", Span{2, 8}, "x\n\ny", Span{2, 2}},
		"shortened beyond that":  {"question\nabcdef\ny", Span{9, 15}, "qu…\ny", Span{0, 7}},
		"shortened before, only": {"question\nabcdef\ny", Span{9, 15}, "…\nabcdef\ny", Span{0, 12}},
	} {
		if got := codeIn(tt.shortened, tt.question, tt.code); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
