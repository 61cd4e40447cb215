package slack

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"telex/internal/chat"
)

func self() identity { return identity{User: "U0BOT", Bot: "B0BOT", Team: "T1", Name: "telex"} }

// names returns the display name of every user except U9, whose name is unknown.
func names(user string) string {
	if user == "U9" {
		return ""
	}
	return "name of " + user
}

// event wraps the fields of an event in the payload that Slack delivers.
func event(fields string) []byte {
	return []byte(`{"type":"event_callback","event_id":"Ev1","event":{` + fields + `}}`)
}

func TestEventsDecoded(t *testing.T) {
	t.Parallel()
	const ts = `"ts":"1700000000.000100"`
	dm := chat.Target{Chat: "D7"}
	thread := func(ts string) chat.Target {
		return chat.Target{Chat: "C7", Thread: chat.ThreadID(ts), Kind: chat.Group}
	}
	for _, c := range []struct {
		name, event string
		want        chat.Inbound // the test compares Sender.ID, To, Text, Addressed, Follows, Kind, Command and Args
		none        bool
	}{
		{
			"a direct message", `"type":"message","channel":"D7","channel_type":"im","user":"U7","text":"hi &lt;there&gt;",` + ts,
			chat.Inbound{To: dm, Text: "hi <there>", Addressed: true},
			false,
		},
		{
			"in its thread", `"type":"message","channel":"D7","channel_type":"im","user":"U7","text":"hi","thread_ts":"1600000000.000100",` + ts,
			chat.Inbound{To: chat.Target{Chat: "D7", Thread: "1600000000.000100"}, Text: "hi", Addressed: true},
			false,
		},
		{
			"a parent of replies", `"type":"message","channel":"D7","channel_type":"im","user":"U7","text":"hi","thread_ts":"1700000000.000100",` + ts,
			chat.Inbound{To: dm, Text: "hi", Addressed: true},
			false,
		},
		{
			"at the top of a channel", `"type":"message","channel":"C7","channel_type":"channel","user":"U7","text":"hi",` + ts,
			chat.Inbound{To: thread("1700000000.000100"), Text: "hi"},
			false,
		},
		{
			"a mention", `"type":"message","channel":"C7","channel_type":"channel","user":"U7","text":"<@U0BOT> hi <@U8> and <@U9>",` + ts,
			chat.Inbound{To: thread("1700000000.000100"), Text: "hi @name of U8 and @U9", Addressed: true},
			false,
		},
		{
			"the same as app_mention", `"type":"app_mention","channel":"C7","user":"U7","text":"<@U0BOT> hi <@U8> and <@U9>",` + ts,
			chat.Inbound{To: thread("1700000000.000100"), Text: "hi @name of U8 and @U9", Addressed: true},
			false,
		},
		{
			"in a thread", `"type":"app_mention","channel":"C7","user":"U7","text":"hi <@U0BOT|telex>","thread_ts":"1600000000.000100",` + ts,
			chat.Inbound{To: thread("1600000000.000100"), Text: "hi", Addressed: true},
			false,
		},
		{
			"in the bot's thread", `"type":"message","channel":"C7","channel_type":"group","user":"U7","text":"go on","thread_ts":"1600000000.000100","parent_user_id":"U0BOT",` + ts,
			chat.Inbound{To: thread("1600000000.000100"), Text: "go on", Addressed: true},
			false,
		},
		{
			"in somebody's thread", `"type":"message","channel":"C7","channel_type":"mpim","user":"U7","text":"go on","thread_ts":"1600000000.000100","parent_user_id":"U8",` + ts,
			chat.Inbound{To: thread("1600000000.000100"), Text: "go on", Follows: true},
			false,
		},
		{
			"in the bot's thread, to somebody else", `"type":"message","channel":"C7","channel_type":"group","user":"U7","text":"<@U8> go on","thread_ts":"1600000000.000100","parent_user_id":"U0BOT",` + ts,
			chat.Inbound{To: thread("1600000000.000100"), Text: "@name of U8 go on"},
			false,
		},
		{
			"in somebody's thread, to a group", `"type":"message","channel":"C7","channel_type":"group","user":"U7","text":"<!subteam^S1|@ops> go on","thread_ts":"1600000000.000100",` + ts,
			chat.Inbound{To: thread("1600000000.000100"), Text: "@ops go on"},
			false,
		},
		{
			"in somebody's thread, to everybody", `"type":"message","channel":"C7","channel_type":"group","user":"U7","text":"<!here> go on","thread_ts":"1600000000.000100",` + ts,
			chat.Inbound{To: thread("1600000000.000100"), Text: "@here go on"},
			false,
		},
		{
			"a bare mention", `"type":"app_mention","channel":"C7","user":"U7","text":" <@U0BOT> ",` + ts,
			chat.Inbound{To: thread("1700000000.000100"), Addressed: true},
			false,
		},
		{
			"with attachments of another form", `"type":"message","channel":"D7","user":"U7","text":"hi","attachments":[null,5,{"is_share":"yes"},{"is_share":true,"text":7}],` + ts,
			chat.Inbound{To: dm, Text: "hi", Addressed: true},
			false,
		},
		{
			"a command behind a mention", `"type":"app_mention","channel":"C7","user":"U7","text":"<@U0BOT> /Model big  one",` + ts,
			chat.Inbound{To: thread("1700000000.000100"), Text: "/Model big  one", Addressed: true, Kind: chat.Command, Command: "model", Args: "big  one"},
			false,
		},
		{
			"a path is no command", `"type":"message","channel":"D7","user":"U7","text":"/etc/passwd is what?",` + ts,
			chat.Inbound{To: dm, Text: "/etc/passwd is what?", Addressed: true},
			false,
		},
		{"the bot's own", `"type":"message","channel":"D7","user":"U0BOT","text":"hi",` + ts, chat.Inbound{}, true},
		{"the bot's own, by its other id", `"type":"message","subtype":"bot_message","channel":"C7","bot_id":"B0BOT","text":"hi <@U0BOT>",` + ts, chat.Inbound{}, true},
		{"a change", `"type":"message","subtype":"message_changed","hidden":true,"channel":"D7","message":{"text":"x"},` + ts, chat.Inbound{}, true},
		{"a deletion", `"type":"message","subtype":"message_deleted","channel":"D7","deleted_ts":"1.000000",` + ts, chat.Inbound{}, true},
		{"somebody joined", `"type":"message","subtype":"channel_join","channel":"C7","user":"U7","text":"<@U7> has joined",` + ts, chat.Inbound{}, true},
		{"another channel beside an assistant's thread", `"type":"assistant_thread_context_changed","assistant_thread":{"channel_id":"D7","user_id":"U7","thread_ts":"1.000000"},"event_ts":"2.000000"`, chat.Inbound{}, true},
		{"the home tab", `"type":"app_home_opened","channel":"D7","user":"U7","tab":"home","event_ts":"2.000000"`, chat.Inbound{}, true},
		{"a reaction", `"type":"reaction_added","user":"U7"`, chat.Inbound{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, found, err := decodeEvent(event(c.event), self())
			if err != nil {
				t.Fatal(err)
			}
			if found = found && a.complete(names); found == c.none {
				t.Fatalf("found = %t: %+v", found, a.in)
			}
			if c.none {
				return
			}
			in := a.in
			if in.To != c.want.To || in.Text != c.want.Text || in.Addressed != c.want.Addressed || in.Follows != c.want.Follows || in.Kind != c.want.Kind ||
				in.Command != c.want.Command || in.Args != c.want.Args {
				t.Errorf("got %+v, want %+v", in, c.want)
			}
			if in.Sender.ID != "U7" || in.ID != "1700000000.000100/U7" || in.Reply != (in.To.Kind == chat.Group) ||
				!in.At.Equal(time.Unix(1700000000, 100_000)) || a.ts != "1700000000.000100" {
				t.Errorf("got %+v of %s", in, a.ts)
			}
		})
	}
}

// In this test, a person opens an assistant's thread or the Messages tab, or presses Slack's stop button. Each event of
// the pane, such as the press of the stop button, must become a message for the bot.
func TestPaneDecoded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, event string
		want        chat.Inbound
	}{
		{"an assistant's thread", `"type":"assistant_thread_started","assistant_thread":{"channel_id":"D7","user_id":"U7","thread_ts":"1.000000"},"event_ts":"2.000000"`, chat.Inbound{
			To: chat.Target{Chat: "D7", Thread: "1.000000"}, ID: "thread:1.000000/U7", Kind: chat.Opened,
		}},
		{"the messages tab", `"type":"app_home_opened","channel":"D7","user":"U7","tab":"messages","event_ts":"2.000000"`, chat.Inbound{
			To: chat.Target{Chat: "D7"}, ID: "home:2.000000/U7", Kind: chat.Opened,
		}},
		{"Slack's stop button", `"type":"agent_session_stopped","channel":"C7","user":"U7","thread_ts":"1.000000","streaming_message_ts":["1.500000"],"event_ts":"2.000000"`, chat.Inbound{
			To: chat.Target{Chat: "C7", Thread: "1.000000", Kind: chat.Group}, ID: "stop:2.000000/U7", Kind: chat.Command, Command: "stop",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, found, err := decodeEvent(event(c.event), self())
			if err != nil || !found || !a.complete(names) {
				t.Fatalf("found = %t, error %v: %+v", found, err, a.in)
			}
			if in := a.in; in.To != c.want.To || in.ID != c.want.ID || in.Kind != c.want.Kind || in.Command != c.want.Command ||
				in.Sender.ID != "U7" || !in.Addressed || in.At.IsZero() || a.ts != "" {
				t.Errorf("got %+v, want %+v", in, c.want)
			}
		})
	}
	for _, broken := range []string{
		`"type":"assistant_thread_started","assistant_thread":{"channel_id":"D7","user_id":"U7"}`, `"type":"app_home_opened","tab":"messages","user":"U7"`,
		`"type":"agent_session_stopped","channel":"D7"`, `"type":"agent_session_stopped","channel":7`,
	} {
		if a, found, err := decodeEvent(event(broken), self()); found || err == nil {
			t.Errorf("%s: got %+v and error %v", broken, a.in, err)
		}
	}
}

// Slack reports many kinds of changes to messages. Only an edit or a deletion of a message by its author must be
// decoded; all other changes must be ignored.
func TestChangesDecoded(t *testing.T) {
	t.Parallel()
	const before = `"previous_message":{"user":"U7","text":"old","ts":"1700000000.000100","thread_ts":"1600000000.000100"}`
	for _, c := range []struct {
		name, event string
		kind        chat.InboundKind
		text        string
		none        bool
	}{
		{"an edit", `"message":{"user":"U7","text":"new","ts":"1700000000.000100","thread_ts":"1600000000.000100","edited":{"user":"U7"}},` + before, chat.Edited, "new", false},
		{"an edit to a command", `"message":{"user":"U7","text":"<@U0BOT> /stop","ts":"1700000000.000100","thread_ts":"1600000000.000100"},` + before, chat.Edited, "/stop", false},
		{"an edit of unknown origin", `"message":{"user":"U7","text":"new","ts":"1700000000.000100","thread_ts":"1600000000.000100"}`, chat.Edited, "new", false},
		{"a tombstone", `"message":{"subtype":"tombstone","user":"USLACKBOT","text":"This message was deleted.","hidden":true,"ts":"1700000000.000100"},` + before, chat.Deleted, "", false},
		{"a deletion", `"deleted_ts":"1700000000.000100",` + before, chat.Deleted, "", false},
		{"the preview of a link", `"message":{"user":"U7","text":"old","ts":"1700000000.000100","thread_ts":"1600000000.000100","attachments":[{}]},` + before, 0, "", true},
		{"an edit by somebody else", `"message":{"user":"U7","text":"new","ts":"1700000000.000100","edited":{"user":"U8"}},` + before, 0, "", true},
		{"the bot's own edit", `"message":{"user":"U0BOT","text":"new","ts":"1700000000.000100"},"previous_message":{"user":"U0BOT","text":"old"}`, 0, "", true},
		{"a deletion of what nobody knows", `"deleted_ts":"1700000000.000100"`, 0, "", true},
		{"the end of a tombstone", `"deleted_ts":"1700000000.000100","previous_message":{"subtype":"tombstone","user":"USLACKBOT","hidden":true,"ts":"1700000000.000100"}`, 0, "", true},
		{"of another form", `"message":[],"previous_message":7`, 0, "", true},
	} {
		subtype := "message_changed"
		if strings.HasPrefix(c.event, `"deleted_ts"`) {
			subtype = "message_deleted"
		}
		a, found, err := decodeEvent(event(`"type":"message","subtype":"`+subtype+`","hidden":true,"channel":"C7","channel_type":"channel","ts":"1700000009.000100",`+c.event), self())
		if err != nil || (found && a.complete(names)) == c.none {
			t.Errorf("%s: found %t, %v", c.name, found, err)
		}
		if c.none {
			continue
		}
		to := chat.Target{Chat: "C7", Thread: "1600000000.000100", Kind: chat.Group}
		if in := a.in; in.Kind != c.kind || in.Text != c.text || in.To != to || in.ID != "1700000000.000100/U7" || in.Sender.ID != "U7" ||
			!in.At.Equal(time.Unix(1700000009, 100_000)) || a.ts != "1700000009.000100" || a.readableTS() != "" {
			t.Errorf("%s: got %+v", c.name, in)
		}
	}
}

// In this test, somebody shares many messages with very long texts and names, and with many files. The decoder must
// limit the number of quotes and the size of each quote.
func TestQuotesAreBounded(t *testing.T) {
	t.Parallel()
	one := `{"is_share":true,"author_name":"` + strings.Repeat(`[a]\n`, 1000) + `","text":"` + strings.Repeat("ü", 30_000) + `","files":[` + strings.Repeat(`{},`, 50) + `{}]}`
	a, found, err := decodeEvent(event(`"type":"message","channel":"D7","user":"U7","text":"x","ts":"1.000000","attachments":[`+strings.Repeat(one+",", 30)+one+`]`), self())
	if err != nil || !found || !a.complete(names) || len(a.in.Quotes) != maxShared {
		t.Fatalf("%t, %v, %d quotes", found, err, len(a.in.Quotes))
	}
	q := a.in.Quotes[0]
	if len(q.Author) > maxNameLen || strings.Contains(q.Author, "\n") || q.Text != strings.Repeat("ü", maxQuoted)+"…" || len(q.Attachments) != maxAttached {
		t.Errorf("author %q, %d bytes of text, %d attachments", q.Author, len(q.Text), len(q.Attachments))
	}
}

func TestOtherBotsAreBots(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]chat.Sender{
		`"subtype":"bot_message","bot_id":"B7","username":"builder"`:      {ID: "B7", Name: "builder", Bot: true},
		`"user":"U5","bot_id":"B7","bot_profile":{"name":"Build Server"}`: {ID: "U5", Name: "Build Server", Bot: true},
	} {
		a, found, err := decodeEvent(event(`"type":"message","channel":"D7","text":"x","ts":"1.000000",`+fields), self())
		if err != nil || !found || a.in.Sender != want {
			t.Errorf("%s is by %+v, %t, %v, want %+v", fields, a.in.Sender, found, err, want)
		}
	}
}

func TestFilesAreAttachments(t *testing.T) {
	t.Parallel()
	a, found, err := decodeEvent(event(`"type":"message","subtype":"file_share","channel":"D7","user":"U7","text":"","ts":"1.000000","files":[
		{"id":"F1","name":"a.txt","mimetype":"text/plain","size":5,"url_private":"https://files.slack.com/p","url_private_download":"https://files.slack.com/d"},
		{"id":"F2","title":"T","size":-1,"url_private":"https://files.slack.com/p2"},
		{"id":"F3","mode":"tombstone","url_private":"https://files.slack.com/p3"}]`), self())
	if err != nil || !found || !a.complete(names) {
		t.Fatalf("%t, %v", found, err)
	}
	want := []chat.Attachment{
		{Name: "a.txt", MediaType: "text/plain", Size: 5, ID: "https://files.slack.com/d"},
		{Name: "T", ID: "https://files.slack.com/p2"},
		{Name: "file"},
	}
	if fmt.Sprint(a.in.Attachments) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %+v", a.in.Attachments, want)
	}
}

func TestInvalidPayloadIsAnError(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		``, `[]`, `{`, `"x"`, `{"type":"event_callback"}`, `{"type":"event_callback","event":[]}`,
		`{"type":"event_callback","event":{"type":"message","text":{}}}`,
		`{"type":"event_callback","event":{"type":"message","user":"U7","text":"x"}}`,
		`{"type":"event_callback","event":{"type":"message","channel":"C1","user":"U7","text":"x","ts":"yesterday"}}`,
	} {
		if _, found, err := decodeEvent([]byte(data), self()); found || err == nil {
			t.Errorf("%q: found %t, %v, want an error", data, found, err)
		}
	}
	if _, found, err := decodeCommand([]byte(`{"command":"/telex","text":"x"}`)); found || err == nil {
		t.Errorf("a command from nowhere: found %t, %v", found, err)
	}
	if _, found, err := decodeInteraction([]byte(`{"type":"block_actions","actions":[{"type":"button","action_id":"a"}]}`)); found || err == nil {
		t.Errorf("a press by nobody: found %t, %v", found, err)
	}
}

func TestCommandDecoded(t *testing.T) {
	t.Parallel()
	payload := map[string]string{
		"command": "/whatever", "text": " model  a &amp; b ", "channel_id": "C7", "user_id": "U7", "user_name": "ann", "trigger_id": "1.2.3",
	}
	form := url.Values{}
	for k, v := range payload {
		form.Set(k, v)
	}
	data, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	for kind, body := range map[string][]byte{"": data, "application/x-www-form-urlencoded": []byte(form.Encode())} {
		a, found, err := decodeCommand(body)
		if kind != "" {
			a, found, err = decodeRequest(kind, body, self())
		}
		if err != nil || !found || !a.complete(names) {
			t.Fatalf("%s: %t, %v", kind, found, err)
		}
		in := a.in
		if in.Kind != chat.Command || in.Command != "" || in.Args != "model  a & b" || !in.Addressed || in.Reply ||
			in.To != (chat.Target{Chat: "C7", Kind: chat.Group}) || in.Sender != (chat.Sender{ID: "U7", Name: "ann"}) || in.ID != "command:1.2.3/U7" {
			t.Errorf("%s: got %+v", kind, in)
		}
	}
}

func TestPressDecoded(t *testing.T) {
	t.Parallel()
	press := func(channel, more string) []byte {
		return []byte(`{"type":"block_actions","user":{"id":"U7","username":"ann"},"channel":{"id":"` + channel + `"},` + more +
			`"actions":[{"type":"button","action_id":"stop:1","action_ts":"1700000000.000900"}]}`)
	}
	for _, c := range []struct {
		data []byte
		want chat.Target
	}{
		{press("D7", `"container":{"message_ts":"1.000001","channel_id":"D7"},`), chat.Target{Chat: "D7"}},
		{press("C7", `"container":{"message_ts":"1.000001","channel_id":"C7","thread_ts":"1.000000"},`), chat.Target{Chat: "C7", Thread: "1.000000", Kind: chat.Group}},
		{press("C7", `"message":{"ts":"1.000001","thread_ts":"1.000000"},`), chat.Target{Chat: "C7", Thread: "1.000000", Kind: chat.Group}},
		{press("C7", `"message":{"ts":"1.000001","thread_ts":"1.000001"},`), chat.Target{Chat: "C7", Kind: chat.Group}},
	} {
		check := func(a decodedEvent, found bool, err error) {
			if err != nil || !found || !a.complete(names) {
				t.Fatalf("%s: %t, %v", c.data, found, err)
			}
			if in := a.in; in.Kind != chat.Button || in.Action != "stop:1" || in.To != c.want || !in.Addressed || in.Reply ||
				in.ID != "press:1700000000.000900/U7" || in.Sender != (chat.Sender{ID: "U7", Name: "ann"}) || a.ts != "" {
				t.Errorf("got %+v", in)
			}
		}
		check(decodeInteraction(c.data))
		form := url.Values{"payload": {string(c.data)}}.Encode()
		check(decodeRequest("application/x-www-form-urlencoded; charset=utf-8", []byte(form), self()))
	}
	if _, found, err := decodeInteraction([]byte(`{"type":"view_submission"}`)); found || err != nil {
		t.Errorf("a view: %t, %v", found, err)
	}
}

func TestTextIsReadable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                      "",
		"plain":                                 "plain",
		" <@U0BOT>  hi":                         "hi",
		"a <@U0BOT|telex>b":                     "a b",
		"<@U1> <@U1|ann> <@U9>":                 "@name of U1 @ann @U9",
		"in <#C1|general> and <#C2>":            "in #general and #C2",
		"<!here> <!channel|channel>":            "@here channel",
		"<!subteam^S1|@team> <!subteam^S2>":     "@team @subteam",
		"<!date^1392734382^{date}|18 Feb>":      "18 Feb",
		"<https://a.b/c?d=1&amp;e=2>":           "https://a.b/c?d=1&e=2",
		"<https://a.b|label &lt;x&gt;>":         "label <x> (https://a.b)",
		"<http://a.b|a.b> <http://a.b/|a.b>":    "http://a.b http://a.b/",
		"<mailto:x@a.b|x@a.b> <mailto:x@a.b>":   "x@a.b x@a.b",
		"1 &lt; 2 &amp;&amp; 3 &gt; 2 &amp;lt;": "1 < 2 && 3 > 2 &lt;",
		"a < b":                                 "a < b",
		"<":                                     "<",
		"*bold* `code`\n> quote":                "*bold* `code`\n> quote",
	} {
		if got := plainText(in, "U0BOT", names); got != want {
			t.Errorf("%q reads %q, want %q", in, got, want)
		}
	}
	for text, want := range map[string]bool{"<@U0BOT>": true, "a<@U0BOT|x>b": true, "&lt;@U0BOT&gt;": false, "<@U0BOTX>": false, "U0BOT": false} {
		if mentions(text, "U0BOT") != want || mentions(text, "") {
			t.Errorf("%q mentions the bot: %t, want %t", text, !want, want)
		}
	}
}

// No payload may cause a panic. Every decoded message must contain what the bot needs in order to answer the message.
// The two events that Slack sends for one mention must be decoded to the same message.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"type":"event_callback","event":{"type":"message","channel":"D7","user":"U7","text":"hi","ts":"1700000000.000100"}}`,
		`{"type":"event_callback","event":{"type":"app_mention","channel":"C7","user":"U7","text":"<@U0BOT> /x","ts":"1700000000.000100","thread_ts":"1.000000"}}`,
		`{"command":"/telex","text":"x","channel_id":"C7","user_id":"U7","trigger_id":"1"}`,
		`{"type":"block_actions","user":{"id":"U7"},"container":{"channel_id":"C7","message_ts":"1.000000"},"actions":[{"type":"button","action_id":"a","action_ts":"1.000000"}]}`,
		`{"type":"event_callback","event":{"type":"message","channel":"C7","bot_id":"B7","text":"<https://a|b","ts":"1.000000","files":[{}],"metadata":[]}}`,
		`payload=%7B%7D&command=%2Fx`,
		`{"type":"event_callback","event":{"type":"message","subtype":"message_changed","channel":"C7","ts":"2.000000","message":{"user":"U7","text":"b","ts":"1.000000"},"previous_message":{"text":"a"}}}`,
		`{"type":"event_callback","event":{"type":"message","subtype":"message_deleted","channel":"C7","ts":"2.000000","deleted_ts":"1.000000","previous_message":{"user":"U7"}}}`,
		`{"type":"event_callback","event":{"type":"message","channel":"D7","user":"U7","ts":"1.000000","attachments":[{"is_share":true,"author_name":"a","text":"<@U1>","files":[{"id":"F"}]}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		check := func(a decodedEvent, found bool, err error) {
			if err != nil && found {
				t.Errorf("found, and %v", err)
			}
			if !found || !a.complete(names) {
				return
			}
			if in := a.in; in.To.Chat == "" || in.ID == "" || in.Sender.ID == "" || asker(in.ID) == "" || strings.TrimSpace(in.Text) != in.Text {
				t.Errorf("found %+v", in)
			}
			for _, q := range a.in.Quotes {
				if strings.ContainsAny(q.Author, "\r\n") || len(q.Author) > 4*maxNameLen || len(q.Text) > 4*maxQuoted {
					t.Errorf("quoted %+v", q)
				}
			}
		}
		check(decodeEvent(data, self()))
		check(decodeCommand(data))
		check(decodeInteraction(data))
		check(decodeRequest("application/x-www-form-urlencoded", data, self()))
		var m message
		if json.Unmarshal(data, &m) != nil || !mentions(m.Text, "U0BOT") || m.Channel == "" {
			return
		}
		if m.ChannelType != "" && (m.ChannelType == "im") != strings.HasPrefix(m.Channel, "D") {
			return
		}
		one, two := m, m
		one.Type, two.Type, two.ChannelType = "message", "app_mention", ""
		a, foundA, errA := one.decode(self())
		b, foundB, errB := two.decode(self())
		if foundA != foundB || (errA == nil) != (errB == nil) || fmt.Sprint(a.in) != fmt.Sprint(b.in) {
			t.Errorf("message: %+v, %t, %v; app_mention: %+v, %t, %v", a.in, foundA, errA, b.in, foundB, errB)
		}
	})
}

// If Slack reports that it dropped events, decodeEvent must return an error. The bot logs the error of decodeEvent, so
// that the operator learns that messages are missing.
func TestDroppedEventsAreReported(t *testing.T) {
	t.Parallel()
	_, found, err := decodeEvent([]byte(`{"type":"app_rate_limited","minute_rate_limited":1518467820,"api_app_id":"A1"}`), self())
	if found || err == nil || !strings.Contains(err.Error(), "dropped events") {
		t.Errorf("found %t, %v, want that events were left out", found, err)
	}
}
