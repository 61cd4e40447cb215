package discord_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/discord"
	"telex/standin/fault"
)

func TestSendAndEdit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		began := time.Now()
		var m message
		c.send(general, " \n hello\r\n\x00 world \n").into(t, &m)
		if m.Content != "hello\n world" || m.Edited != nil {
			t.Errorf("sent: got %+v", m)
		}
		pause(time.Second)
		c.edit(general, m.ID, "more").into(t, &m)
		if m.Content != "more" || m.Edited == nil {
			t.Errorf("edited: got %+v", m)
		}
		if got := c.server.View(general, began)[0].Content(); got != "hello\n world" {
			t.Errorf("at first: got %q", got)
		}
		if got := c.texts(general); got != "more" {
			t.Errorf("now: got %q", got)
		}
		if r := c.call(http.MethodDelete, "/channels/"+general+"/messages/"+m.ID, nil); r.Status != 204 {
			t.Errorf("delete: got %d %s", r.Status, r.Raw)
		}
		if r := c.edit(general, m.ID, "again"); r.Status != 404 || r.code() != 10008 {
			t.Errorf("edit of a deleted message: got %d %s, want 10008", r.Status, r.Raw)
		}
		if h := c.server.History(general); len(h) != 1 || h[0].DeletedBy != "bot" || len(h[0].Versions) != 2 {
			t.Errorf("history: got %+v", h)
		}
	})
}

func TestSnowflakesGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		last := ""
		for range 5 {
			id := c.send(general, "x").id(t)
			if len(id) < 17 || id <= last {
				t.Errorf("id %s after %s: want a snowflake that is greater", id, last)
			}
			last = id
			pause(time.Millisecond)
		}
	})
}

// The expected errors were written by hand from the platform's documentation.
func TestRefusedMessages(t *testing.T) {
	row := func(buttons ...object) []object { return []object{{"type": 1, "components": buttons}} }
	button := func(id string) object { return object{"type": 2, "style": 1, "label": "go", "custom_id": id} }
	for _, tc := range []struct {
		name string
		body any
		code int
		want string // part of the response
	}{
		{"empty", object{"content": " \n"}, 50006, "Cannot send an empty message"},
		{
			"long",
			object{"content": strings.Repeat("x", 2001)},
			50035,
			`{"code":50035,"errors":{"content":{"_errors":[{"code":"BASE_TYPE_MAX_LENGTH","message":"Must be 2000 or fewer in length."}]}},"message":"Invalid Form Body"}`,
		},
		{"embeds are text, too", object{"embeds": []object{{"description": strings.Repeat("x", 4097)}}}, 50035, `"embeds":{"0":{"description":{"_errors":`},
		{"all embeds", object{"embeds": []object{{"description": strings.Repeat("x", 4000)}, {"description": strings.Repeat("x", 2001)}}}, 50035, "MAX_EMBED_SIZE_EXCEEDED"},
		{"nonce", object{"content": "x", "nonce": strings.Repeat("x", 26)}, 50035, `"nonce":{"_errors":`},
		{"unknown reference", object{"content": "x", "message_reference": object{"message_id": "1"}}, 50035, `"message_reference":{"_errors":[{"code":"REPLIES_UNKNOWN_MESSAGE"`},
		{"no id", object{"content": "x", "message_reference": object{"message_id": "x"}}, 50035, `NUMBER_TYPE_COERCE`},
		{"mentions twice", object{"content": "x", "allowed_mentions": object{"parse": []string{"users"}, "users": []string{"1"}}}, 50035, "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE"},
		{"unknown mentions", object{"content": "x", "allowed_mentions": object{"parse": []string{"x"}}}, 50035, `"parse":{"0":{"_errors":`},
		{"same id twice", object{"content": "x", "components": row(button("a"), button("a"))}, 50035, `"components":{"0":{"components":{"1":{"custom_id":{"_errors":[{"code":"COMPONENT_CUSTOM_ID_DUPLICATED"`},
		{"long id", object{"content": "x", "components": row(button(strings.Repeat("a", 101)))}, 50035, "BASE_TYPE_BAD_LENGTH"},
		{"no id", object{"content": "x", "components": row(object{"type": 2, "style": 1, "label": "x"})}, 50035, "BASE_TYPE_REQUIRED"},
		{"six buttons", object{"content": "x", "components": row(button("a"), button("b"), button("c"), button("d"), button("e"), button("f"))}, 50035, "BASE_TYPE_MAX_LENGTH"},
		{"no label", object{"content": "x", "components": row(object{"type": 2, "style": 2, "custom_id": "x"})}, 50035, "BUTTON_COMPONENT_INVALID_LABEL"},
		{"no row", object{"content": "x", "components": []object{button("a")}}, 50035, "UNION_TYPE_CHOICES"},
		{"text display without the flag", object{"content": "x", "components": []object{{"type": 10, "content": "x"}}}, 50035, "UNION_TYPE_CHOICES"},
		{"content with the flag", object{"content": "x", "flags": 1 << 15, "components": []object{{"type": 10, "content": "x"}}}, 50035, "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2"},
		{"much text with the flag", object{"flags": 1 << 15, "components": []object{{"type": 10, "content": strings.Repeat("x", 2500)}, {"type": 10, "content": strings.Repeat("x", 1501)}}}, 50035, "COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED"},
		{"not an object", []int{1}, 50035, "MODEL_TYPE_CONVERT"},
		{"number", object{"content": object{}}, 50035, "STRING_TYPE_CONVERT"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := free(t)
				r := c.call(http.MethodPost, "/channels/"+general+"/messages", tc.body)
				if r.Status != 400 || r.code() != tc.code || !strings.Contains(r.Raw, tc.want) {
					t.Errorf("got %d %s, want 400 %d with %s", r.Status, r.Raw, tc.code, tc.want)
				}
				if n := len(c.server.History(general)); n != 0 {
					t.Errorf("%d messages, want none", n)
				}
			})
		})
	}
}

func TestAcceptedMessages(t *testing.T) {
	for _, tc := range []struct {
		name string
		body object
	}{
		{"2,000 code points of two units", object{"content": strings.Repeat("😀", 2000)}},
		{"only an embed", object{"embeds": []object{{"title": "x"}}}},
		{"a number as nonce", object{"content": "x", "nonce": 17}},
		{"a reply to nothing, allowed", object{"content": "x", "message_reference": object{"message_id": "1", "fail_if_not_exists": false}}},
		{"second version", object{"flags": 1 << 15, "components": []object{{"type": 17, "components": []object{{"type": 10, "content": "hello"}}}}}},
		{"link button", object{"content": "x", "components": []object{{"type": 1, "components": []object{{"type": 2, "style": 5, "label": "x", "url": "https://example.org"}}}}}},
		{"unknown fields", object{"content": "x", "tts": false, "whatever": 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := free(t)
				if r := c.call(http.MethodPost, "/channels/"+general+"/messages", tc.body); r.Status != 200 {
					t.Errorf("got %d %s", r.Status, r.Raw)
				}
			})
		})
	}
}

func TestNonce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, discord.Options{Limits: discord.NoLimits(), NonceWindow: time.Minute})
		send := func(text string, enforce bool) string {
			return c.call(http.MethodPost, "/channels/"+general+"/messages", object{"content": text, "nonce": "n1", "enforce_nonce": enforce}).id(t)
		}
		g, _ := c.identify(usual)
		first := send("one", true)
		if m := g.expect("MESSAGE_CREATE").message(t); m.Nonce != "n1" {
			t.Errorf("nonce in the event: got %v", m.Nonce)
		}
		if again := send("two", true); again != first || c.texts(general) != "one" {
			t.Errorf("again: got %s, screen %q, want the existing message %s", again, c.texts(general), first)
		}
		if other := send("three", false); other == first {
			t.Error("without enforce_nonce: got the existing message, want a new one")
		}
		pause(time.Minute + time.Second)
		send("four", true)
		if got := c.texts(general); got != "one|three|four" || c.server.Stats().Deduplicated != 1 {
			t.Errorf("after the window: got %q", got)
		}
	})
}

func TestPings(t *testing.T) {
	const other = "200000000000002002"
	text := "<@" + other + "> <@&" + discord.DefaultRole + "> @everyone @here `<@" + person + ">`"
	for _, tc := range []struct {
		name    string
		allowed any // nil: the field is absent
		reply   bool
		want    []string
	}{
		{"default", nil, false, []string{"everyone", "here", "role:" + discord.DefaultRole, "user:" + other}},
		{"default with a reply", nil, true, []string{"everyone", "here", "role:" + discord.DefaultRole, "user:" + person, "user:" + other}},
		{"none", object{"parse": []string{}}, true, nil},
		{"users", object{"parse": []string{"users"}}, false, []string{"user:" + other}},
		{"one user", object{"parse": []string{"everyone"}, "users": []string{person}}, false, []string{"everyone", "here"}},
		{"the author", object{"parse": []string{}, "replied_user": true}, true, []string{"user:" + person}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := free(t)
				c.say(discord.Incoming{Channel: general, User: other, Text: "hi"})
				body := object{"content": text}
				if tc.allowed != nil {
					body["allowed_mentions"] = tc.allowed
				}
				if tc.reply {
					body["message_reference"] = object{"message_id": c.say(discord.Incoming{Channel: general, Text: "hi"})}
				}
				id := c.call(http.MethodPost, "/channels/"+general+"/messages", body).id(t)
				c.edit(general, id, "<@"+person+"> @everyone") // the edit must notify nobody
				h := c.server.History(general)
				if got := h[len(h)-1].Pings; !slices.Equal(got, tc.want) {
					t.Errorf("pings: got %v, want %v", got, tc.want)
				}
			})
		})
	}
}

func TestMissingPermissions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		foreign := c.say(discord.Incoming{Channel: general, Text: "mine"})
		own := c.send(general, "x").id(t)
		dm := c.server.DM("")
		permit := func(a discord.Access) func() {
			return func() {
				if err := c.server.Permit(general, a); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, tc := range []struct {
			name   string
			before func()
			call   func() reply
			status int
			code   int
		}{
			{"unknown channel", nil, func() reply { return c.send("9", "x") }, 404, 10003},
			{"no id", nil, func() reply { return c.send("x", "x") }, 400, 50035},
			{"unknown message", nil, func() reply { return c.edit(general, "9", "x") }, 404, 10008},
			{"foreign message", nil, func() reply { return c.edit(general, foreign, "x") }, 403, 50005},
			{"empty edit", nil, func() reply { return c.edit(general, own, " ") }, 400, 50006},
			{"blocked", func() { c.server.Block("", true) }, func() reply { return c.send(dm, "x") }, 403, 50007},
			{"read only", permit(discord.Access{ReadOnly: true}), func() reply { return c.send(general, "x") }, 403, 50013},
			{"read only, an edit", nil, func() reply { return c.edit(general, own, "y") }, 200, 0},
			{"no files", permit(discord.Access{NoFiles: true}), func() reply {
				return c.upload(http.MethodPost, "/channels/"+general+"/messages", object{}, map[string]string{"a.txt": "x"})
			}, 403, 50013},
			{"hidden", permit(discord.Access{Hidden: true}), func() reply { return c.send(general, "x") }, 403, 50001},
			{"thread in a DM", nil, func() reply { return c.call(http.MethodPost, "/channels/"+dm+"/threads", object{"name": "x"}) }, 400, 50024},
			{"unknown call", nil, func() reply { return c.call(http.MethodGet, "/no/such", nil) }, 404, 0},
			{"wrong verb", nil, func() reply { return c.call(http.MethodPut, "/users/@me", nil) }, 405, 0},
			{"bad JSON", permit(discord.Access{}), func() reply {
				return c.do(t.Context(), http.MethodPost, "/api/v10/channels/"+general+"/messages", "application/json", []byte("{"))
			}, 400, 50109},
			{"old version", nil, func() reply { return c.do(t.Context(), http.MethodGet, "/api/v6/users/@me", "", nil) }, 400, 50041},
			{"deleted channel", func() {
				if err := c.server.DeleteChannel(general); err != nil {
					t.Fatal(err)
				}
			}, func() reply { return c.send(general, "x") }, 404, 10003},
		} {
			if tc.before != nil {
				tc.before()
			}
			if r := tc.call(); r.Status != tc.status || (tc.code != 0 && r.code() != tc.code) {
				t.Errorf("%s: got %d %s, want %d %d", tc.name, r.Status, r.Raw, tc.status, tc.code)
			}
		}
	})
}

func TestToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, discord.Options{Token: "secret"})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://standin/api/v10/users/@me", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tc := range []struct {
			header string
			status int
		}{{"Bot secret", 200}, {"secret", 401}, {"Bot other", 401}, {"", 401}} {
			req.Header.Set("Authorization", tc.header)
			res, err := c.http.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if err := res.Body.Close(); err != nil || res.StatusCode != tc.status {
				t.Errorf("%q: got %d (%v), want %d", tc.header, res.StatusCode, err, tc.status)
			}
		}
		if st := c.server.Stats(); st.InvalidRequests != 3 {
			t.Errorf("invalid requests: got %d, want 3", st.InvalidRequests)
		}
	})
}

func TestReadMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		var ids []string
		for _, text := range []string{"one", c.server.Mention() + " two", "three", "four"} {
			ids = append(ids, c.say(discord.Incoming{Channel: general, Text: text}))
		}
		for query, want := range map[string]string{
			"":                               "||" + c.server.Mention() + " two|",
			"?limit=1":                       "",
			"?after=" + ids[0] + "&limit=1":  c.server.Mention() + " two",
			"?before=" + ids[2] + "&limit=1": c.server.Mention() + " two",
			"?after=" + ids[3]:               "none",
		} {
			var list []message
			c.call(http.MethodGet, "/channels/"+general+"/messages"+query, nil).into(t, &list)
			texts := make([]string, 0, len(list))
			for _, m := range list {
				texts = append(texts, m.Content)
			}
			got := strings.Join(texts, "|")
			if len(list) == 0 {
				got = "none"
			}
			if got != want {
				t.Errorf("%q: got %q, want %q: text only where the bot may know it", query, got, want)
			}
		}
		if r := c.call(http.MethodGet, "/channels/"+general+"/messages?limit=101", nil); r.code() != 50035 {
			t.Errorf("limit 101: got %s", r.Raw)
		}
	})
}

func TestTyping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		typing := func() bool { return c.server.Screen(general, time.Now()).Typing }
		start := func() {
			if r := c.call(http.MethodPost, "/channels/"+general+"/typing", nil); r.Status != 204 {
				t.Errorf("got %d %s", r.Status, r.Raw)
			}
		}
		start()
		if pause(9 * time.Second); !typing() {
			t.Error("after 9 s: not typing")
		}
		if pause(time.Second); typing() {
			t.Error("after 10 s: still typing")
		}
		start()
		if c.send(general, "x"); typing() {
			t.Error("after a message: still typing")
		}
	})
}

func TestFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		var m message
		c.upload(http.MethodPost, "/channels/"+general+"/messages", object{"content": "see", "attachments": []object{{"id": 0, "filename": "my notes.txt"}}}, map[string]string{"a.txt": "hello"}).into(t, &m)
		if len(m.Attachments) != 1 || m.Attachments[0].Filename != "my_notes.txt" || m.Attachments[0].Size != 5 {
			t.Fatalf("attachments: got %+v", m.Attachments)
		}
		fetch := func() (int, string, error) {
			r := c.do(t.Context(), http.MethodGet, strings.TrimPrefix(m.Attachments[0].URL, "http://standin"), "", nil)
			return r.Status, r.Raw, r.Err
		}
		if status, text, _ := fetch(); status != 200 || text != "hello" {
			t.Errorf("download: got %d %q", status, text)
		}
		c.server.Fault(discord.Fault{Method: "attachment", Times: 1, Action: fault.CutMiddle})
		if _, text, err := fetch(); err == nil || text != "he" {
			t.Errorf("cut download: got %q, %v", text, err)
		}
		pause(24*time.Hour + 2*time.Second)
		if status, text, _ := fetch(); status != 404 || text != "This content is no longer available." {
			t.Errorf("after a day: got %d %q", status, text)
		}
		// An edit must keep the attachments that it lists, and add new ones.
		c.upload(http.MethodPatch, "/channels/"+general+"/messages/"+m.ID, object{"attachments": []object{}}, map[string]string{"b.txt": "b"}).into(t, &m)
		if len(m.Attachments) != 1 || m.Attachments[0].Filename != "b.txt" {
			t.Errorf("after the edit: got %+v", m.Attachments)
		}
		if r := c.upload(http.MethodPost, "/channels/"+general+"/messages", object{}, map[string]string{"big": strings.Repeat("x", 10<<20+1)}); r.Status != 413 || r.code() != 40005 {
			t.Errorf("large file: got %d %s", r.Status, r.Raw)
		}
	})
}

func TestThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		g, _ := c.identify(usual)
		first := c.say(discord.Incoming{Channel: general, Text: c.server.Mention() + " hello"})
		g.expect("MESSAGE_CREATE")
		path := "/channels/" + general + "/messages/" + first + "/threads"
		if id := c.call(http.MethodPost, path, object{"name": "talk"}).id(t); id != first {
			t.Errorf("thread: got id %s, want the message's", id)
		}
		g.expect("THREAD_CREATE")
		g.expect("MESSAGE_UPDATE")
		if r := c.call(http.MethodPost, path, object{"name": "talk"}); r.code() != 160004 {
			t.Errorf("second thread: got %d %s", r.Status, r.Raw)
		}
		own := c.send(first, "in the thread").id(t)
		g.expect("MESSAGE_CREATE")
		if r := c.call(http.MethodPost, "/channels/"+general+"/threads", object{"name": "x", "type": 11}); r.Status != 201 {
			t.Errorf("thread without a message: got %d %s", r.Status, r.Raw)
		}
		if err := c.server.Archive(first, true, false); err != nil {
			t.Fatal(err)
		}
		if r := c.edit(first, own, "y"); r.code() != 50083 {
			t.Errorf("edit in the archive: got %d %s", r.Status, r.Raw)
		}
		c.send(first, "awake").id(t)
		c.edit(first, own, "y").id(t)
		if err := c.server.Archive(first, true, true); err != nil {
			t.Fatal(err)
		}
		if r := c.send(first, "x"); r.code() != 50083 {
			t.Errorf("send to a locked thread: got %d %s", r.Status, r.Raw)
		}
		thread, err := c.server.StartThread(general, "", "theirs")
		if err != nil {
			t.Fatal(err)
		}
		c.say(discord.Incoming{Channel: thread, Text: "hi"})
		if got := c.texts(thread); got != "hi" {
			t.Errorf("thread: got %q", got)
		}
	})
}
