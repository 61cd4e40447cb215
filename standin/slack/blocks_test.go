package slack_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestBlocks(t *testing.T) {
	t.Parallel()
	x := func(n int) string { return strings.Repeat("x", n) }
	many := func(n int, one string) string { return "[" + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + "]" }
	section := func(text string) string { return `{"type":"section","text":{"type":"mrkdwn","text":"` + text + `"}}` }
	button := func(id, text string) string {
		return fmt.Sprintf(`{"type":"button","action_id":"%s","text":{"type":"plain_text","text":"%s"}}`, id, text)
	}
	actions := func(buttons ...string) string {
		return `[{"type":"actions","elements":[` + strings.Join(buttons, ",") + `]}]`
	}
	table := func(rows, cells int) string {
		return `[{"type":"table","rows":` + many(rows, many(cells, `{"type":"raw_text","text":"c"}`)) + `}]`
	}
	cases := []struct{ name, blocks, want, detail string }{
		{"one", "[" + section("a") + "]", "", ""},
		{"fifty", many(50, `{"type":"divider"}`), "", ""},
		{"51", many(51, `{"type":"divider"}`), "invalid_blocks", "no more than 50 items"},
		{"section", "[" + section(x(3000)) + "]", "", ""},
		{"long section", "[" + section(x(3001)) + "]", "invalid_blocks", "less than 3001 characters"},
		{"empty section", "[" + section("") + "]", "invalid_blocks", "more than 0 characters"},
		{"no text", `[{"type":"section"}]`, "invalid_blocks", "text or fields"},
		{"ten fields", `[{"type":"section","fields":` + many(10, `{"type":"mrkdwn","text":"f"}`) + `}]`, "", ""},
		{"eleven fields", `[{"type":"section","fields":` + many(11, `{"type":"mrkdwn","text":"f"}`) + `}]`, "invalid_blocks", "no more than 10"},
		{"long field", `[{"type":"section","fields":[{"type":"mrkdwn","text":"` + x(2001) + `"}]}]`, "invalid_blocks", "2001"},
		{"header", `[{"type":"header","text":{"type":"plain_text","text":"` + x(150) + `"}}]`, "", ""},
		{"long header", `[{"type":"header","text":{"type":"plain_text","text":"` + x(151) + `"}}]`, "invalid_blocks", "151"},
		{"header in mrkdwn", `[{"type":"header","text":{"type":"mrkdwn","text":"x"}}]`, "invalid_blocks", "text object"},
		{"context", `[{"type":"context","elements":` + many(10, `{"type":"mrkdwn","text":"x"}`) + `}]`, "", ""},
		{"long context", `[{"type":"context","elements":` + many(11, `{"type":"mrkdwn","text":"x"}`) + `}]`, "invalid_blocks", "no more than 10"},
		{"markdown", `[{"type":"markdown","text":"` + x(6000) + `"},{"type":"markdown","text":"` + x(6000) + `"}]`, "", ""},
		{"markdown together", `[{"type":"markdown","text":"` + x(6000) + `"},{"type":"markdown","text":"` + x(6001) + `"}]`, "invalid_blocks", "12001"},
		{"whole", many(4, section(x(3000))), "", ""},
		{"whole message", many(5, section(x(2700))), "msg_blocks_too_long", ""},
		{"buttons", actions(button("a", "A"), button("b", "B")), "", ""},
		{"same action", actions(button("a", "A"), button("a", "B")), "invalid_blocks", "action_id already exists"},
		{"long button", actions(button("a", x(76))), "invalid_blocks", "76"},
		{"long action", actions(button(x(256), "A")), "invalid_blocks", "256"},
		{"no buttons", actions(), "invalid_blocks", "between 1 and 25"},
		{"wrong style", actions(`{"type":"button","style":"blue","text":{"type":"plain_text","text":"x"}}`), "invalid_blocks", "unknown style"},
		{"bold button", actions(`{"type":"button","text":{"type":"mrkdwn","text":"x"}}`), "invalid_blocks", "plain_text"},
		{"same block", `[{"type":"divider","block_id":"a"},{"type":"divider","block_id":"a"}]`, "invalid_blocks", "block_id already exists"},
		{"long id", `[{"type":"divider","block_id":"` + x(256) + `"}]`, "invalid_blocks", "block_id"},
		{"image", `[{"type":"image","image_url":"https://x.example/a.png","alt_text":"a"}]`, "", ""},
		{"image without alt", `[{"type":"image","image_url":"https://x.example/a.png"}]`, "invalid_blocks", "alt_text"},
		{"table", table(100, 20), "", ""},
		{"rows", table(101, 1), "invalid_blocks", "100"},
		{"cells", table(1, 21), "invalid_blocks", "20"},
		{"two tables", `[{"type":"table","rows":[[]]},{"type":"table","rows":[[]]}]`, "invalid_blocks", "one table"},
		{"unknown", `[{"type":"carousel"}]`, "invalid_blocks", "unsupported type: carousel"},
		{"null", `[null]`, "invalid_blocks", "expected object"},
		{"no list", `{"type":"divider"}`, "invalid_blocks_format", ""},
		{"no JSON", `[{]`, "invalid_blocks_format", ""},
		{"wrong types", `[{"type":1}]`, "invalid_blocks", "schemas"},
	}
	p := newConversation(t)
	for _, tc := range cases {
		r := p.call("chat.postMessage", args{"channel": channel, "text": "fallback", "blocks": tc.blocks})
		if r.Error != tc.want || !strings.Contains(strings.Join(r.Meta.Messages, "\n"), tc.detail) {
			t.Errorf("%s: got %.300s, want %q with %q", tc.name, r.Raw, tc.want, tc.detail)
		}
	}
}

func TestShownBlocks(t *testing.T) {
	t.Parallel()
	p := newConversation(t)
	blocks := `[{"type":"header","text":{"type":"plain_text","text":"Title"}},
		{"type":"section","text":{"type":"mrkdwn","text":"for <@U1001> &amp; all"}},
		{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"a<b "},{"type":"broadcast","range":"here"}]}]},
		{"type":"table","rows":[[{"type":"raw_text","text":"1"},{"type":"raw_text","text":"2"}]]}]`
	ts := p.ok("chat.postMessage", args{"channel": channel, "text": "<!channel>", "blocks": blocks}).TS
	if got, want := p.shown(channel, ts), "Title\nfor @person-1001 & all\na<b @here\n1\t2"; got != want {
		t.Errorf("shown: got %q, want %q", got, want)
	}
	history := p.server.History(channel)
	if got := strings.Join(history[len(history)-1].Last().Mentions, " "); got != "U1001 !here !channel" {
		t.Errorf("calls: got %q, want those of the text as well", got)
	}
}
