package slack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/slack"
)

// conversation is a channel with a person's question and the bot's answer.
type conversation struct {
	*client
	asked string // the ts of the person's message
	own   string // the ts of the bot's message
}

func newConversation(t *testing.T) conversation {
	t.Helper()
	c := free(t)
	asked := c.server.Say(slack.Incoming{Channel: channel, Text: "question"})
	return conversation{c, asked, c.ok("chat.postMessage", args{"channel": channel, "text": "answer"}).TS}
}

// TestRefusals makes invalid calls. Like Slack, the stand-in must report each error with HTTP status 200.
func TestRefusals(t *testing.T) {
	t.Parallel()
	p := newConversation(t)
	p.server.SetChannel(slack.Channel{ID: "C8", Archived: true})
	p.server.SetChannel(slack.Channel{ID: "C9", BotOut: true})
	p.server.SetChannel(slack.Channel{ID: "G9", Kind: slack.KindPrivate, BotOut: true})
	reply := p.server.Say(slack.Incoming{Channel: channel, Text: "reply", Thread: p.asked})
	stream := p.ok("chat.startStream", args{"channel": channel, "thread_ts": p.asked, "recipient_user_id": "U1001", "recipient_team_id": slack.TeamID}).TS
	long := strings.Repeat("x", 12_001)
	cases := []struct {
		method string
		args   args
		want   string
	}{
		{"chat.fly", nil, "unknown_method"},
		{"chat.postMessage", args{"text": "x"}, "channel_not_found"},
		{"chat.postMessage", args{"channel": "C404", "text": "x"}, "channel_not_found"},
		{"chat.postMessage", args{"channel": "G9", "text": "x"}, "channel_not_found"},
		{"chat.postMessage", args{"channel": "C9", "text": "x"}, "not_in_channel"},
		{"chat.postMessage", args{"channel": "C8", "text": "x"}, "is_archived"},
		{"chat.postMessage", args{"channel": channel}, "no_text"},
		{"chat.postMessage", args{"channel": channel, "text": "x", "thread_ts": "12"}, "invalid_thread_ts"},
		{"chat.postMessage", args{"channel": channel, "text": "x", "thread_ts": "1700000000.000001"}, "thread_not_found"},
		{"chat.postMessage", args{"channel": channel, "text": "x", "markdown_text": "y"}, "markdown_text_conflict"},
		{"chat.postMessage", args{"channel": channel, "markdown_text": long}, "msg_too_long"},
		{"chat.postMessage", args{"channel": channel, "text": "x", "metadata": "{"}, "invalid_metadata_format"},
		{"chat.postMessage", args{"channel": channel, "text": "x", "metadata": `{"event_type":"a"}`}, "invalid_metadata_schema"},
		{"chat.postMessage", args{"channel": channel, "text": "x", "metadata": `{"event_type":"a","event_payload":{"x":"` + strings.Repeat("y", 17_000) + `"}}`}, "metadata_too_large"},
		{"chat.update", args{"channel": channel, "ts": "1.000001", "text": "x"}, "message_not_found"},
		{"chat.update", args{"channel": channel, "ts": p.asked, "text": "x"}, "cant_update_message"},
		{"chat.update", args{"channel": channel, "ts": p.own, "text": long[:4001]}, "msg_too_long"},
		{"chat.update", args{"channel": channel, "ts": p.own, "markdown_text": long}, "msg_too_long"},
		{"chat.update", args{"channel": channel, "ts": p.own}, "no_text"},
		{"chat.update", args{"channel": channel, "ts": p.own, "text": ""}, "no_text"},
		{"chat.update", args{"channel": channel, "ts": stream, "text": "x"}, "streaming_state_conflict"},
		{"chat.delete", args{"channel": channel, "ts": p.asked}, "cant_delete_message"},
		{"chat.delete", args{"channel": channel, "ts": "1.000001"}, "message_not_found"},
		{"chat.getPermalink", args{"channel": channel, "message_ts": "1.000001"}, "message_not_found"},
		{"chat.startStream", args{"channel": channel, "recipient_user_id": "U1001", "recipient_team_id": slack.TeamID}, "invalid_thread_ts"},
		{"chat.startStream", args{"channel": channel, "thread_ts": p.asked}, "missing_recipient_user_id"},
		{"chat.startStream", args{"channel": channel, "thread_ts": p.asked, "recipient_user_id": "U1001"}, "missing_recipient_team_id"},
		{"chat.startStream", args{"channel": channel, "thread_ts": p.asked, "recipient_user_id": "U404", "recipient_team_id": slack.TeamID}, "user_not_found"},
		{"chat.appendStream", args{"channel": channel, "ts": p.own, "markdown_text": "x"}, "message_not_in_streaming_state"},
		{"chat.appendStream", args{"channel": channel, "ts": stream}, "no_text"},
		{"chat.appendStream", args{"channel": channel, "ts": stream, "markdown_text": long}, "msg_too_long"},
		{"chat.appendStream", args{"channel": channel, "ts": stream, "chunks": `[{"type":"x"}]`}, "invalid_chunks"},
		{"chat.stopStream", args{"channel": channel, "ts": p.own}, "message_not_in_streaming_state"},
		{"chat.stopStream", args{"channel": channel, "ts": stream}, "no_text"},
		{"conversations.info", args{"channel": "C404"}, "channel_not_found"},
		{"conversations.open", nil, "users_list_not_supplied"},
		{"conversations.open", args{"users": "U404"}, "user_not_found"},
		{"conversations.history", args{"channel": "C9"}, "not_in_channel"},
		{"conversations.history", args{"channel": channel, "limit": "1000"}, "invalid_limit"},
		{"conversations.history", args{"channel": channel, "oldest": "x"}, "invalid_ts_oldest"},
		{"conversations.history", args{"channel": channel, "cursor": "x"}, "invalid_cursor"},
		{"conversations.replies", args{"channel": channel, "ts": "1.000001"}, "thread_not_found"},
		{"assistant.threads.setStatus", args{"channel_id": channel, "thread_ts": "x"}, "invalid_thread_ts"},
		{"assistant.threads.setStatus", args{"channel_id": channel, "thread_ts": p.asked, "status": "x", "loading_messages": `["1","2","3","4","5","6","7","8","9","10","11"]`}, "invalid_arguments"},
		{"assistant.threads.setTitle", args{"channel_id": channel, "thread_ts": p.asked}, "channel_type_not_supported"},
		{"users.info", args{"user": "U404"}, "user_not_found"},
		{"files.info", args{"file": "F404"}, "file_not_found"},
		{"files.getUploadURLExternal", args{"filename": "x"}, "invalid_arguments"},
		{"files.completeUploadExternal", args{"files": `[{"id":"F404"}]`}, "file_not_found"},
		{"apps.connections.open", nil, "not_allowed_token_type"},
	}
	for _, tc := range cases {
		if r := p.call(tc.method, tc.args); r.Status != http.StatusOK || r.OK || r.Error != tc.want {
			t.Errorf("%s %v: got %d %q, want %q", tc.method, tc.args, r.Status, r.Raw, tc.want)
		}
	}
	p.ok("chat.postMessage", args{"channel": channel, "text": "x", "thread_ts": reply})
	if got := p.server.Stats().Violations.ByKind[slack.ReplyAsThread]; got != 1 {
		t.Errorf("a reply's ts as thread_ts: got %d violations, want 1", got)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	c := start(t, slack.Options{Scopes: []string{"chat:write", "im:history"}, BotToken: "xoxb-1", AppToken: "xapp-1"})
	c.server.Say(slack.Incoming{Channel: channel, Text: "x"})
	cases := []struct{ token, method, want string }{
		{"xoxb-1", "auth.test", ""},
		{"", "auth.test", "not_authed"},
		{"xoxb-2", "auth.test", "invalid_auth"},
		{"xapp-1", "chat.postMessage", "not_allowed_token_type"},
		{"xoxb-1", "users.info", "missing_scope"},
		{"xoxb-1", "conversations.history", "missing_scope"},
		{"", "api.test", ""},
	}
	for _, tc := range cases {
		r := c.with(tc.token, tc.method, args{"channel": channel, "text": "x"})
		if r.OK != (tc.want == "") || r.Error != tc.want {
			t.Errorf("%s with %q: got %s, want %q", tc.method, tc.token, r.Raw, tc.want)
		}
		if tc.want == "missing_scope" && r.Needed == "" {
			t.Errorf("%s: got %s, want the scope that is needed", tc.method, r.Raw)
		}
	}
	if r := c.post(t.Context(), "", "/api/auth.test", "application/x-www-form-urlencoded", "token=xoxb-1"); !r.OK {
		t.Errorf("token as an argument: got %s, want ok", r.Raw)
	}
	c.server.Revoke(true)
	if r := c.call("auth.test", nil); r.Error != "account_inactive" {
		t.Errorf("uninstalled: got %s", r.Raw)
	}
	for _, call := range c.server.Calls() {
		if strings.Contains(call.Params["token"], "xoxb") {
			t.Errorf("record: got the token in %+v", call)
		}
	}
}

// TestArgumentEncodings checks which encodings of arguments a method accepts.
func TestArgumentEncodings(t *testing.T) {
	t.Parallel()
	c := free(t)
	c.server.Say(slack.Incoming{Text: "hi"})
	cases := []struct{ kind, body, want string }{
		{"application/json; charset=utf-8", `{"channel":"D1001","text":"x"}`, ""},
		{"application/json; charset=utf-8", `{"channel":"D1001","blocks":[{"type":"divider"}]}`, ""},
		{"application/x-www-form-urlencoded", "channel=D1001&text=x", ""},
		{"application/json", `{"channel":"D1001"`, "invalid_json"},
		{"application/json", `[1]`, "json_not_object"},
		{"application/json", `null`, "json_not_object"},
		{"text/csv", "a,b", "invalid_post_type"},
		{"", "a", "missing_post_type"},
		{"application/x-www-form-urlencoded", "channel=%zz", "invalid_form_data"},
		{"multipart/form-data", "x", "invalid_form_data"},
	}
	for _, tc := range cases {
		r := c.post(t.Context(), c.server.BotToken(), "/api/chat.postMessage", tc.kind, tc.body)
		if r.OK != (tc.want == "") || r.Error != tc.want || r.Warning != "" {
			t.Errorf("%q %s: got %s, want %q", tc.kind, tc.body, r.Raw, tc.want)
		}
	}
	r := c.post(t.Context(), c.server.BotToken(), "/api/chat.postMessage", "application/json", `{"channel":"D1001","text":"x"}`)
	if !r.OK || r.Warning != "missing_charset" {
		t.Errorf("without charset: got %s, want a warning", r.Raw)
	}
}

func TestPostAndUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		c.server.Say(slack.Incoming{Text: "hi"})
		sent := time.Now()
		ts := c.ok("chat.postMessage", args{"channel": "U1001", "text": "one & <b> <@U1001> <https://x.example|here>"}).TS
		pause(time.Second)
		r := c.ok("chat.update", args{"channel": direct, "ts": ts, "text": "two"})
		if r.TS != ts || r.Message.Text != "two" {
			t.Errorf("update: got %s", r.Raw)
		}
		pause(time.Second)
		c.ok("chat.update", args{"channel": direct, "ts": ts, "markdown_text": "**three** &amp; <!here>"})
		pause(time.Second)
		c.ok("chat.delete", args{"channel": direct, "ts": ts})
		for _, look := range []struct {
			after time.Duration
			want  string
		}{
			{0, "one & <b> @person-1001 here"},
			{time.Second, "two"},
			{2 * time.Second, "**three** & @here"},
			{2999 * time.Millisecond, "**three** & @here"},
			{3 * time.Second, "(nothing)"},
		} {
			got := "(nothing)"
			for _, m := range c.server.View(direct, sent.Add(look.after)) {
				if m.FromBot {
					got = m.Shown()
				}
			}
			if got != look.want {
				t.Errorf("after %v: got %q, want %q", look.after, got, look.want)
			}
		}
		history := c.server.History(direct)
		m := history[len(history)-1]
		if m.Alive() || m.DeletedBy != "bot" || len(m.Versions) != 3 || !slices.Equal(m.Versions[0].Mentions, []string{"U1001"}) || !slices.Equal(m.Versions[2].Mentions, []string{"!here"}) {
			t.Errorf("history: got %+v", m)
		}
		if r := c.call("chat.update", args{"channel": direct, "ts": ts, "text": "x"}); r.Error != "message_not_found" {
			t.Errorf("update of what is gone: got %s", r.Raw)
		}
		if st := c.server.Stats(); st.Messages != 1 || st.Edits != 2 || st.Deletes != 1 {
			t.Errorf("stats: got %+v", st)
		}
	})
}

// The app updates a message without sending blocks. The message must keep its blocks, as Slack's documentation warns.
func TestUpdateKeepsBlocks(t *testing.T) {
	t.Parallel()
	p := newConversation(t)
	blocks := `[{"type":"section","text":{"type":"mrkdwn","text":"in a block"}},{"type":"actions","elements":[{"type":"button","action_id":"stop","text":{"type":"plain_text","text":"Stop"}}]}]`
	p.ok("chat.update", args{"channel": channel, "ts": p.own, "text": "fallback", "blocks": blocks})
	p.ok("chat.update", args{"channel": channel, "ts": p.own, "text": "other"})
	if got := p.shown(channel, p.own); got != "in a block" {
		t.Errorf("without blocks: got %q, want the old ones", got)
	}
	p.ok("chat.update", args{"channel": channel, "ts": p.own, "text": "other", "blocks": "[]"})
	if got := p.shown(channel, p.own); got != "other" {
		t.Errorf("with []: got %q, want the text", got)
	}
	p.ok("chat.update", args{"channel": channel, "ts": p.own, "blocks": blocks})
	p.ok("chat.update", args{"channel": channel, "ts": p.own, "markdown_text": "*x*"})
	history := p.server.History(channel)
	if v := history[len(history)-1].Last(); v.Shown != "*x*" || v.Blocks != nil || v.Buttons != nil {
		t.Errorf("Markdown: got %+v, want it alone", v)
	}
	p.ok("chat.update", args{"channel": channel, "ts": p.own, "markdown_text": "*x*"})
	if got := p.server.Stats().NotModified; got != 1 {
		t.Errorf("not modified: got %d, want 1, without an error", got)
	}
}

// The app posts a text that is too long. The stand-in must cut the text, add a warning to the response, and count a
// violation.
func TestLongText(t *testing.T) {
	t.Parallel()
	p := newConversation(t)
	emoji := strings.Repeat("😀", 20_000)
	if r := p.ok("chat.postMessage", args{"channel": channel, "text": emoji}); r.Warning != "" {
		t.Errorf("40,000 units: got warning %q, want none", r.Warning)
	}
	r := p.ok("chat.postMessage", args{"channel": channel, "text": emoji + "a"})
	if r.Warning != "message_truncated" || p.shown(channel, r.TS) != emoji {
		t.Errorf("40,001 units: got warning %q and %d bytes, want it cut", r.Warning, len(p.shown(channel, r.TS)))
	}
	if got := p.server.Stats().Violations.ByKind[slack.Truncated]; got != 1 {
		t.Errorf("violations: got %d, want 1", got)
	}
}

func TestEditWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, slack.Options{EditWindow: time.Minute})
		c.server.Say(slack.Incoming{Text: "hi"})
		ts := c.ok("chat.postMessage", args{"channel": direct, "text": "x"}).TS
		pause(time.Minute)
		c.ok("chat.update", args{"channel": direct, "ts": ts, "text": "y"})
		pause(time.Millisecond)
		if r := c.call("chat.update", args{"channel": direct, "ts": ts, "text": "z"}); r.Error != "edit_window_closed" {
			t.Errorf("got %s, want edit_window_closed", r.Raw)
		}
		c.server.Archive(direct, true)
		if r := c.call("chat.update", args{"channel": direct, "ts": ts, "text": "z"}); r.Error != "is_inactive" {
			t.Errorf("archived: got %s, want is_inactive", r.Raw)
		}
	})
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	p := newConversation(t)
	meta := `{"event_type":"telex","event_payload":{"key":"k1"}}`
	ts := p.ok("chat.postMessage", args{"channel": channel, "text": "x", "thread_ts": p.asked, "metadata": meta}).TS
	p.ok("chat.update", args{"channel": channel, "ts": ts, "text": "y"})
	read := func(all string) map[string]string {
		r := p.ok("conversations.replies", args{"channel": channel, "ts": p.asked, "include_all_metadata": all})
		found := make(map[string]string)
		for _, m := range r.Messages {
			var got struct {
				Payload struct{ Key string } `json:"event_payload"`
			}
			if m.Metadata != nil {
				if err := json.Unmarshal(m.Metadata, &got); err != nil {
					t.Fatal(err)
				}
			}
			found[m.TS] = got.Payload.Key
		}
		return found
	}
	if got := read("true"); len(got) != 2 || got[ts] != "k1" {
		t.Errorf("with all metadata: got %v, want k1 at %s", got, ts)
	}
	if got := read("false"); got[ts] != "" {
		t.Errorf("without: got %v, want none", got)
	}
	p.ok("chat.update", args{"channel": channel, "ts": ts, "text": "z", "metadata": "{}"})
	if got := read("1"); got[ts] != "" {
		t.Errorf("after {}: got %v, want none", got)
	}
}

// TestOpened checks for which links Slack fetches previews. Slack fetches no previews if the call switches both kinds
// of previews off, and none for links in code.
func TestOpened(t *testing.T) {
	t.Parallel()
	p := newConversation(t)
	for _, tt := range []struct {
		more args
		want string
	}{
		{args{"text": "https://a.org/b <https://c.org|d> `https://e.org`"}, "[https://a.org/b https://c.org]"},
		{args{"text": "x", "blocks": `[{"type":"markdown","text":"[a](https://a.org)"}]`}, "[https://a.org]"},
		{args{"markdown_text": "https://a.org."}, "[https://a.org]"},
		{args{"text": "https://a.org", "unfurl_links": "false"}, "[https://a.org]"},
		{args{"text": "https://a.org", "unfurl_links": "false", "unfurl_media": "false"}, "[]"},
		{args{"text": "https://a.org", "unfurl_links": "true"}, "[https://a.org]"},
	} {
		tt.more["channel"] = channel
		p.ok("chat.postMessage", tt.more)
		history := p.server.History(channel)
		if got := fmt.Sprint(history[len(history)-1].Last().Opened); got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.more, got, tt.want)
		}
	}
}
