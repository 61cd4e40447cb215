package discord

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

const (
	selfID  = "100"
	ownRole = "900"
)

// decoder returns a bot that is in guild 300 with the text channel 400 and its thread 450.
func decoder(t testing.TB, threads bool) *Bot {
	t.Helper()
	b := New(Options{Token: testToken, APIBase: "http://127.0.0.1:1", Threads: threads})
	b.selfID = selfID
	g, err := receiving.Decode[guild](json.RawMessage(`{"id":"300","channels":[{"id":"400","type":0},{"id":"402","type":2},{"id":"403","type":5}],
		"threads":[{"id":"450","type":11,"parent_id":"400"}],
		"roles":[{"id":"300","tags":null},{"id":"900","tags":{"bot_id":"100"}},{"id":"901","tags":{"bot_id":"101"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	b.channels.addGuild(g, selfID)
	return b
}

// event returns the JSON of a message. The parameter fields replaces or adds fields of the default message.
func event(fields string) string {
	base := map[string]any{
		"id": "500", "channel_id": "600", "type": 0, "content": "hello", "timestamp": "2026-02-03T04:05:06.789000+00:00",
		"author": map[string]any{"id": "200", "username": "ann", "global_name": "Ann"}, "mentions": []any{}, "mention_roles": []any{}, "attachments": []any{},
	}
	var changed map[string]any
	if err := json.Unmarshal([]byte(fields), &changed); err != nil {
		panic(err)
	}
	maps.Copy(base, changed)
	data, err := json.Marshal(base)
	if err != nil {
		panic(err)
	}
	return string(data)
}

const me = `"mentions":[{"id":"100","username":"telex","bot":true}]`

func TestDecodeMessage(t *testing.T) {
	t.Parallel()
	inGroup := chat.Target{Chat: "400", Kind: chat.Group}
	for name, c := range map[string]struct {
		fields string
		want   chat.Inbound // the expected message, without the fields that are equal in all cases; a zero To stands for the DM
		none   bool
	}{
		"in a DM":               {fields: `{}`, want: chat.Inbound{Text: "hello"}},
		"nobody asked the bot":  {fields: `{"guild_id":"300","channel_id":"400"}`, none: true},
		"mentioned":             {fields: `{"guild_id":"300","channel_id":"400","content":"<@100> hello",` + me + `}`, want: chat.Inbound{To: inGroup, Text: "hello"}},
		"mentioned as it was":   {fields: `{"guild_id":"300","channel_id":"400","content":"<@!100>, hello",` + me + `}`, want: chat.Inbound{To: inGroup, Text: "hello"}},
		"mentioned at the end":  {fields: `{"guild_id":"300","channel_id":"400","content":"hello <@100>",` + me + `}`, want: chat.Inbound{To: inGroup, Text: "hello"}},
		"mentioned in between":  {fields: `{"guild_id":"300","channel_id":"400","content":"so <@100> hello",` + me + `}`, want: chat.Inbound{To: inGroup, Text: "so hello"}},
		"mentioned twice":       {fields: `{"guild_id":"300","channel_id":"400","content":"<@100> a <@100>\nb",` + me + `}`, want: chat.Inbound{To: inGroup, Text: "a \nb"}},
		"mentioned in a DM":     {fields: `{"content":"<@100>: hello",` + me + `}`, want: chat.Inbound{Text: "hello"}},
		"its role mentioned":    {fields: `{"guild_id":"300","channel_id":"400","content":"<@&900> hello","mention_roles":["900"]}`, want: chat.Inbound{To: inGroup, Text: "hello"}},
		"another role":          {fields: `{"guild_id":"300","channel_id":"400","content":"<@&901> hello","mention_roles":["901"]}`, none: true},
		"nothing but a mention": {fields: `{"guild_id":"300","channel_id":"400","content":"<@100>",` + me + `}`, want: chat.Inbound{To: inGroup}},
		"no text is told":       {fields: `{"guild_id":"300","channel_id":"400","content":"","mention_roles":["900"]}`, none: true},
		"a reply that notifies": {
			fields: `{"guild_id":"300","channel_id":"400","type":19,"content":"go on",` + me + `,"referenced_message":{"author":{"id":"100"}}}`,
			want:   chat.Inbound{To: inGroup, Text: "go on"},
		},
		"a reply for another": {
			fields: `{"guild_id":"300","channel_id":"400","type":19,"content":"<@201> look","mentions":[{"id":"100"},{"id":"201","username":"bob"}],"referenced_message":{"author":{"id":"100"}}}`,
			none:   true,
		},
		"a reply for both": {
			fields: `{"guild_id":"300","channel_id":"400","type":19,"content":"<@201> <@100> look","mentions":[{"id":"100"},{"id":"201","username":"bob"}],"referenced_message":{"author":{"id":"100"}}}`,
			want:   chat.Inbound{To: inGroup, Text: "@bob look"},
		},
		"a reply for a role":   {fields: `{"guild_id":"300","channel_id":"400","type":19,"content":"<@&901> look",` + me + `,"mention_roles":["901"],"referenced_message":{"author":{"id":"100"}}}`, none: true},
		"a reply for everyone": {fields: `{"guild_id":"300","channel_id":"400","type":19,"content":"@everyone look","mention_everyone":true,` + me + `,"referenced_message":{"author":{"id":"100"}}}`, none: true},
		"a reply of which no text is told": {
			fields: `{"guild_id":"300","channel_id":"400","type":19,"content":"","referenced_message":{"author":{"id":"100"},"content":"mine"}}`, none: true,
		},
		"nobody asked the bot in a thread": {fields: `{"guild_id":"300","channel_id":"450"}`, none: true},
		"a quiet reply":                    {fields: `{"guild_id":"300","channel_id":"400","type":19,"content":"go on","referenced_message":{"author":{"id":"100"}}}`, want: chat.Inbound{To: inGroup, Text: "go on"}},
		"a reply to another":               {fields: `{"guild_id":"300","channel_id":"400","type":19,"referenced_message":{"author":{"id":"101"}}}`, none: true},
		"a reply to nothing":               {fields: `{"guild_id":"300","channel_id":"400","type":19,"referenced_message":null}`, none: true},
		"in a thread": {
			fields: `{"guild_id":"300","channel_id":"450","content":"<@100> hello",` + me + `}`,
			want:   chat.Inbound{To: chat.Target{Chat: "400", Thread: "450", Kind: chat.Group}, Text: "hello"},
		},
		"in a channel that says what it is": {
			fields: `{"guild_id":"300","channel_id":"410","channel_type":2,"content":"<@100> hello",` + me + `}`,
			want:   chat.Inbound{To: chat.Target{Chat: "410", Kind: chat.Group}, Text: "hello"},
		},
		"others by their names": {
			fields: `{"content":"<@201> and <@!202>, <@203>, <#400>, <@&901>, <:fox:55> <a:wave:56> <t:1> <x>",
				"mentions":[{"id":"201","username":"bob","global_name":"Bob"},{"id":"202","username":"cy","member":{"nick":"Cy C."}}]}`,
			want: chat.Inbound{Text: "@Bob and @Cy C., <@203>, <#400>, <@&901>, :fox: :wave: <t:1> <x>"},
		},
		"a command":         {fields: `{"content":"/New"}`, want: chat.Inbound{Text: "/New", Kind: chat.Command, Command: "new"}},
		"with arguments":    {fields: `{"content":"/model  big\none "}`, want: chat.Inbound{Text: "/model  big\none", Kind: chat.Command, Command: "model", Args: "big\none"}},
		"after a mention":   {fields: `{"guild_id":"300","channel_id":"400","content":"<@100> /stop",` + me + `}`, want: chat.Inbound{To: inGroup, Text: "/stop", Kind: chat.Command, Command: "stop"}},
		"no command":        {fields: `{"content":"/ etc/x is a path"}`, want: chat.Inbound{Text: "/ etc/x is a path"}},
		"a path":            {fields: `{"content":"/etc/passwd"}`, want: chat.Inbound{Text: "/etc/passwd"}},
		"own":               {fields: `{"author":{"id":"100","bot":true}}`, none: true},
		"another bot":       {fields: `{"author":{"id":"101","username":"b","bot":true}}`, want: chat.Inbound{Text: "hello", Sender: chat.Sender{ID: "101", Name: "b", Bot: true}}},
		"a webhook":         {fields: `{"webhook_id":"7","author":{"id":"7","username":"w"}}`, want: chat.Inbound{Text: "hello", Sender: chat.Sender{ID: "7", Name: "w", Bot: true}}},
		"by a nick":         {fields: `{"member":{"nick":"Annie"}}`, want: chat.Inbound{Text: "hello", Sender: chat.Sender{ID: "200", Name: "Annie"}}},
		"somebody joined":   {fields: `{"type":7}`, none: true},
		"a pin":             {fields: `{"type":6}`, none: true},
		"an answer to one":  {fields: `{"type":20}`, none: true},
		"a thread begins":   {fields: `{"type":21}`, none: true},
		"without an author": {fields: `{"author":null}`, none: true},
		"empty":             {fields: `{"content":" \n "}`, none: true},
		"a file": {
			fields: `{"content":"","attachments":[{"id":"1","filename":"a.png","content_type":"image/png","size":12,"url":"https://cdn.discordapp.com/a"}]}`,
			want:   chat.Inbound{Attachments: []chat.Attachment{{Name: "a.png", MediaType: "image/png", Size: 12, ID: "https://cdn.discordapp.com/a"}}},
		},
		"a forwarded message": {fields: `{"content":"","message_snapshots":[{"message":{"content":"look at this","attachments":[]}}]}`, want: chat.Inbound{Text: "look at this", Origin: chat.Forwarded}},
		"a forwarded command": {fields: `{"content":"","message_snapshots":[{"message":{"content":"/forget","attachments":[]}}]}`, want: chat.Inbound{
			Text: "/forget", Origin: chat.Forwarded, Kind: chat.Command, Command: "forget", // the gateway does not execute forwarded commands
		}},
		"a sticker": {fields: `{"content":"","sticker_items":[{"id":"1","name":"x"}]}`, want: chat.Inbound{Attachments: []chat.Attachment{{Name: "sticker"}}}},
		"a poll":    {fields: `{"content":"","poll":{"question":{}}}`, want: chat.Inbound{Attachments: []chat.Attachment{{Name: "poll"}}}},
		"unknown components": {
			fields: `{"components":[{"type":99,"x":[]}],"embeds":5,"flags":"x","thread":{"a":1}}`, want: chat.Inbound{Text: "hello"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := receiving.Decode[incoming](json.RawMessage(event(c.fields)))
			if err != nil {
				t.Fatal(err)
			}
			got, found, err := decoder(t, false).decodeMessage(t.Context(), m)
			if err != nil || found == c.none {
				t.Fatalf("got %+v, %t, %v", got, found, err)
			}
			if c.none {
				return
			}
			want := c.want
			want.ID, want.Addressed, want.At = "500", true, time.Date(2026, 2, 3, 4, 5, 6, 789e6, time.UTC)
			if want.To.Chat == "" {
				want.To.Chat = "600"
			}
			want.Reply = want.To.Kind == chat.Group
			if want.Sender.ID == "" {
				want.Sender = chat.Sender{ID: "200", Name: "Ann"}
			}
			got.At = got.At.UTC()
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestDecodeForThreads(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fields string
		want   chat.Target
	}{
		"a text channel":          {`{"guild_id":"300","channel_id":"400",` + me + `}`, chat.Target{Chat: "400", Thread: "500", Kind: chat.Group}},
		"an announcement channel": {`{"guild_id":"300","channel_id":"403",` + me + `}`, chat.Target{Chat: "403", Thread: "500", Kind: chat.Group}},
		"a thread":                {`{"guild_id":"300","channel_id":"450",` + me + `}`, chat.Target{Chat: "400", Thread: "450", Kind: chat.Group}},
		"a voice channel":         {`{"guild_id":"300","channel_id":"402",` + me + `}`, chat.Target{Chat: "402", Kind: chat.Group}},
		"a DM":                    {`{}`, chat.Target{Chat: "600"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := receiving.Decode[incoming](json.RawMessage(event(c.fields)))
			if err != nil {
				t.Fatal(err)
			}
			if got, found, err := decoder(t, true).decodeMessage(t.Context(), m); err != nil || !found || got.To != c.want {
				t.Errorf("got %+v, %t, %v, want %+v", got.To, found, err, c.want)
			}
		})
	}
}

// If a message arrives in a thread that the bot does not know, the bot must request the thread from Discord once. If
// the bot can't answer in the thread, the bot must ignore the message. If the request for the thread fails, the bot
// must not accept the message.
func TestDecodeInUnknownThread(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		found  bool
		kind   chat.ErrorKind
		fails  bool
	}{
		"a thread":      {http.StatusOK, `{"id":"777","type":12,"parent_id":"400"}`, true, 0, false},
		"closed":        {http.StatusForbidden, `{"message":"Missing Access","code":50001}`, false, 0, false},
		"gone":          {http.StatusNotFound, `{"message":"Unknown Channel","code":10003}`, false, 0, false},
		"overloaded":    {http.StatusServiceUnavailable, `{"message":"x","code":130000}`, false, chat.Temporary, true},
		"rate limit":    {http.StatusTooManyRequests, `{"message":"x","retry_after":1}`, false, chat.RateLimited, true},
		"no channel":    {http.StatusOK, `{}`, false, chat.Temporary, true},
		"nothing to it": {http.StatusOK, ``, false, chat.Temporary, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				calls.Add(1)
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			t.Cleanup(server.Close)
			b := decoder(t, false)
			b.api = server.URL
			t.Cleanup(b.Close)
			m, err := receiving.Decode[incoming](json.RawMessage(event(`{"guild_id":"300","channel_id":"777","channel_type":12,` + me + `}`)))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				in, found, err := b.decodeMessage(t.Context(), m)
				if found != c.found || (err != nil) != c.fails || c.fails && chat.AsSendError(err).Kind != c.kind {
					t.Errorf("got %+v, %t, %v", in, found, err)
				}
				if want := (chat.Target{Chat: "400", Thread: "777", Kind: chat.Group}); found && in.To != want {
					t.Errorf("got %+v, want %+v", in.To, want)
				}
			}
			if c.found && calls.Load() != 1 {
				t.Errorf("%d calls, want one", calls.Load())
			}
		})
	}
}

func TestDecodeInteraction(t *testing.T) {
	t.Parallel()
	const common = `"id":"500","application_id":"111","token":"tok.en-_","version":1,`
	const who = `"member":{"nick":"Annie","user":{"id":"200","username":"ann"}},"guild_id":"300","channel_id":"450","channel":{"id":"450","type":11,"parent_id":"400"},`
	inThread := chat.Target{Chat: "400", Thread: "450", Kind: chat.Group}
	for name, c := range map[string]struct {
		data string
		want chat.Inbound
		none bool
		bad  bool
	}{
		"a command": {
			data: common + who + `"type":2,"data":{"name":"Ask","options":[{"name":"question","type":3,"value":" why? "}]}`,
			want: chat.Inbound{To: inThread, ID: "cmd.111.500.tok.en-_", Kind: chat.Command, Command: "ask", Args: "why?", Text: "/ask why?", Reply: true},
		},
		"without an argument": {
			data: common + who + `"type":2,"data":{"name":"new"}`,
			want: chat.Inbound{To: inThread, ID: "cmd.111.500.tok.en-_", Kind: chat.Command, Command: "new", Text: "/new", Reply: true},
		},
		"with a number": {
			data: common + who + `"type":2,"data":{"name":"model","options":[{"name":"n","type":4,"value":7}]}`,
			want: chat.Inbound{To: inThread, ID: "cmd.111.500.tok.en-_", Kind: chat.Command, Command: "model", Args: "7", Text: "/model 7", Reply: true},
		},
		"in a DM": {
			data: common + `"user":{"id":"200","username":"ann","global_name":"Annie"},"channel_id":"600","type":2,"data":{"name":"new"}`,
			want: chat.Inbound{To: chat.Target{Chat: "600"}, ID: "cmd.111.500.tok.en-_", Kind: chat.Command, Command: "new", Text: "/new", Reply: true},
		},
		"a press": {
			data: common + who + `"type":3,"data":{"custom_id":"stop:1a","component_type":2},"message":{"id":"9"}`,
			want: chat.Inbound{To: inThread, ID: "press.500", Kind: chat.Button, Action: "stop:1a"},
		},
		"a ping":         {data: common + who + `"type":1`, none: true},
		"autocompletion": {data: common + who + `"type":4,"data":{"name":"ask"}`, none: true},
		"by nobody":      {data: common + `"channel_id":"600","type":2,"data":{"name":"new"}`, none: true},
		"no token":       {data: `"id":"500","application_id":"111","token":"",` + who + `"type":2`, bad: true},
		"no id":          {data: `"application_id":"111","token":"t",` + who + `"type":2`, bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i, err := receiving.Decode[incomingInteraction](json.RawMessage("{" + c.data + "}"))
			if err != nil {
				t.Fatal(err)
			}
			got, _, found, err := decoder(t, true).decodeInteraction(i)
			if (err != nil) != c.bad || !c.bad && found == c.none {
				t.Fatalf("got %+v, %t, %v", got, found, err)
			}
			if c.none || c.bad {
				return
			}
			c.want.Addressed, c.want.Sender, c.want.At = true, chat.Sender{ID: "200", Name: "Annie"}, got.At
			if !reflect.DeepEqual(got, c.want) || time.Since(got.At).Abs() > time.Minute {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// If decoding a message fails, the error must not contain the message's text.
func TestDecodeErrorsAreSilent(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		`{"content":{"x":"secret"}}`, `{"id":["secret"]}`, `{"timestamp":"secret"}`, `secret`, `{"content":"secret`, `[]`, `{"mentions":"secret"}`,
	} {
		if _, err := receiving.Decode[incoming](json.RawMessage(data)); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error = %v", data, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, fields := range []string{
		`{}`, `{"guild_id":"300","channel_id":"400","content":"<@100> /a b <@&900><:x:1>",` + me + `}`, `{"type":19}`,
		`{"type":19,"referenced_message":{"content":"a <@100>","author":{"id":"100","username":"a\nb"},"message_snapshots":[{"message":{"content":"b"}}]}}`,
		`{"message_snapshots":[{"message":{"content":"b"}},{"message":null}]}`, `{"guild_id":"300","channel_id":"450"}`,
	} {
		f.Add([]byte(event(fields)))
	}
	f.Add([]byte(`{"id":"500","application_id":"111","token":"t","channel_id":"600","user":{"id":"2"},"type":2,"data":{"name":"a","options":[{"value":[]}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := decoder(t, true)
		b.contentIntent = true
		if m, err := receiving.Decode[incoming](data); err == nil {
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // from now on, every request would fail; decoding must make no request
			in, found, err := b.decodeMessage(ctx, m)
			if err != nil && strings.Contains(err.Error(), "panic") {
				t.Error(err)
			}
			bare := in.Addressed && strings.TrimSpace(m.Content) != ""
			if found && (in.To.Chat == "" || in.ID == "" || in.Sender.ID == "" || in.Text == "" && len(in.Attachments)+len(in.Quotes) == 0 && !bare) {
				t.Errorf("got %+v", in)
			}
			for _, q := range in.Quotes {
				if utf8.RuneCountInString(q.Text) > maxQuote || len(q.Attachments) > maxQuotedFiles || strings.Contains(q.Author, "\n") || q.Text == "" && len(q.Attachments) == 0 {
					t.Errorf("the quote is %+v", q)
				}
			}
		}
		if i, err := receiving.Decode[incomingInteraction](data); err == nil {
			in, _, found, err := b.decodeInteraction(i)
			if err != nil && strings.Contains(err.Error(), "panic") {
				t.Error(err)
			}
			if found && (in.To.Chat == "" || in.ID == "" || in.Sender.ID == "") {
				t.Errorf("got %+v", in)
			}
		}
		if g, err := receiving.Decode[guild](data); err == nil {
			b.channels.addGuild(g, selfID)
		}
	})
}
