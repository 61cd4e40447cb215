package telegram_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/fault"
	"telex/standin/telegram"
)

// free starts a server without limits. The server has a private chat, a group (-1001), and a forum (-1000000000002,
// topic 7) in which a person has written.
func free(t *testing.T) *client {
	t.Helper()
	c := start(t, telegram.Options{Limits: telegram.NoLimits()})
	c.server.Say(telegram.Incoming{Chat: person, Text: "hello"})
	c.server.Say(telegram.Incoming{Chat: -1001, Text: "hello all"})
	c.server.Say(telegram.Incoming{Chat: -1000000000002, ThreadID: 7, Text: "/topic"})
	return c
}

func TestRouting(t *testing.T) {
	t.Parallel()
	c := free(t)
	token := c.server.Token()
	cases := []struct {
		name, path, kind, body string
		status                 int
		description            string
	}{
		{"wrong token", "/bot1:wrong/getMe", "", "", 401, "Unauthorized"},
		{"no token", "/botgetMe", "", "", 404, "Not Found"},
		{"unknown method", "/bot" + token + "/sendMassage", "", "", 404, "Not Found: method not found"},
		{"any case", "/bot" + token + "/GETME", "", "", 200, ""},
		{"query", "/bot" + token + "/sendMessage?chat_id=1001&text=a", "", "", 200, ""},
		{"form", "/bot" + token + "/sendMessage", "application/x-www-form-urlencoded", "chat_id=1001&text=a", 200, ""},
		{"JSON", "/bot" + token + "/sendMessage", "application/json", `{"chat_id":1001,"text":"a","entities":[{"type":"bold","offset":0,"length":1}]}`, 200, ""},
		{"JSON in JSON", "/bot" + token + "/sendMessage", "application/json", `{"chat_id":"1001","text":"a","entities":"[{\"type\":\"bold\",\"offset\":0,\"length\":1}]"}`, 200, ""},
		{"broken JSON", "/bot" + token + "/sendMessage", "application/json", `{"chat_id":`, 400, "Bad Request: can't parse request: parse JSON: unexpected end of JSON input"},
	}
	for _, tc := range cases {
		r := c.post(t.Context(), tc.path, tc.kind, tc.body)
		if r.Err != nil || r.Status != tc.status || r.Description != tc.description {
			t.Errorf("%s: got %d %q (%v), want %d %q", tc.name, r.Status, r.Description, r.Err, tc.status, tc.description)
		}
		if !r.OK && r.ErrorCode != tc.status {
			t.Errorf("%s: got error_code %d, want %d", tc.name, r.ErrorCode, tc.status)
		}
	}
	raw := c.post(t.Context(), "/bot"+token+"/sendMessage?chat_id=77&text=a", "", "").Raw
	if want := `{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}`; raw != want {
		t.Errorf("error body: got %s, want %s", raw, want)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	c := free(t)
	own := strconv.Itoa(c.call("sendMessage", args{"chat_id": "1001", "text": "mine"}).message(t))
	fixed := strconv.Itoa(c.call("sendMessage", args{"chat_id": "1001", "text": "fixed", "reply_markup": `{"force_reply":true}`}).message(t))
	long := strings.Repeat("😀", 2048)
	button := func(b string) string { return `{"inline_keyboard":[[` + b + `]]}` }
	cases := []struct {
		method string
		a      args
		want   string
	}{
		{"sendMessage", args{"text": "a"}, "chat_id is empty"},
		{"sendMessage", args{"chat_id": "77", "text": "a"}, "chat not found"},
		{"sendMessage", args{"chat_id": "@nobody", "text": "a"}, "chat not found"},
		{"sendMessage", args{"chat_id": "1001"}, "message text is empty"},
		{"sendMessage", args{"chat_id": "1001", "text": " \n "}, "message text is empty"},
		{"sendMessage", args{"chat_id": "1001", "text": long + "x"}, "message is too long"},
		{"sendMessage", args{"chat_id": "1001", "text": strings.Repeat("x", 32769)}, "text is too long"},
		{"sendMessage", args{"chat_id": "1001", "text": "<b>x", "parse_mode": "HTML"}, `can't parse entities: Can't find end tag corresponding to start tag "b"`},
		{"sendMessage", args{"chat_id": "1001", "text": "x", "entities": "{"}, "can't parse entities: Can't parse entities JSON object"},
		{"sendMessage", args{"chat_id": "1001", "text": "x", "entities": `[{"type":"bold","offset":0,"length":2}]`}, "entity beginning at UTF-16 offset 0 ends after the end of the text at UTF-16 offset 2"},
		{"sendMessage", args{"chat_id": "1001", "text": "x", "message_thread_id": "5"}, "message thread not found"},
		{"sendMessage", args{"chat_id": "-1000000000002", "text": "x", "message_thread_id": "8"}, "message thread not found"},
		{"sendMessage", args{"chat_id": "1001", "text": "x", "reply_parameters": `{"message_id":999}`}, "message to be replied not found"},
		{"sendMessage", args{"chat_id": "1001", "text": "x", "reply_to_message_id": "999"}, "message to be replied not found"},
		{"sendMessage", args{"chat_id": "1001", "text": "x", "reply_markup": button(`{"text":"b"}`)}, "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard"},
		{"sendMessage", args{"chat_id": "1001", "text": "x", "reply_markup": button(`{"text":"b","callback_data":"` + strings.Repeat("x", 65) + `"}`)}, "BUTTON_DATA_INVALID"},
		{"editMessageText", args{"chat_id": "1001", "text": "x"}, "message identifier is not specified"},
		{"editMessageText", args{"chat_id": "1001", "message_id": "999", "text": "x"}, "message to edit not found"},
		{"editMessageText", args{"chat_id": "1001", "message_id": "1", "text": "x"}, "message can't be edited"},
		{"editMessageText", args{"chat_id": "1001", "message_id": fixed, "text": "x"}, "message can't be edited"},
		{"editMessageText", args{"chat_id": "1001", "message_id": own, "text": long + "x"}, "MESSAGE_TOO_LONG"},
		{"editMessageText", args{"chat_id": "1001", "message_id": own, "text": " mine\n"}, "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message"},
		{"deleteMessage", args{"chat_id": "1001", "message_id": "999"}, "message to delete not found"},
		{"deleteMessage", args{"chat_id": "-1001", "message_id": "2"}, "message can't be deleted for everyone"},
		{"deleteMessages", args{"chat_id": "1001"}, "message identifiers are not specified"},
		{"sendChatAction", args{"chat_id": "1001", "action": "dancing"}, "wrong parameter action in request"},
		{"sendMessageDraft", args{"chat_id": "-1001", "draft_id": "1", "text": "x"}, "TEXTDRAFT_PEER_INVALID"},
		{"sendMessageDraft", args{"chat_id": "1001", "text": "x"}, "draft identifier must be non-zero"},
		{"setMyCommands", args{"commands": `[{"command":"Bad","description":"x"}]`}, "BOT_COMMAND_INVALID"},
		{"setMyCommands", args{"commands": `[{"command":"good","description":""}]`}, "command description must be non-empty"},
		{"answerCallbackQuery", args{"callback_query_id": "1"}, "query is too old and response timeout expired or query ID is invalid"},
		{"setWebhook", args{"url": "http://a.org"}, "bad webhook: An HTTPS URL must be provided for webhook"},
	}
	for _, tc := range cases {
		r := c.call(tc.method, tc.a)
		if want := "Bad Request: " + tc.want; r.Status != 400 || r.Description != want {
			t.Errorf("%s %v: got %d %q, want 400 %q", tc.method, tc.a, r.Status, r.Description, want)
		}
	}
	if r := c.call("sendMessage", args{"chat_id": "1001", "text": long}); !r.OK {
		t.Errorf("4096 units: got %s, want ok", r.Raw)
	}
}

func TestEditChanges(t *testing.T) {
	t.Parallel()
	bold := `[{"type":"bold","offset":0,"length":1}]`
	keys := `{"inline_keyboard":[[{"text":"b","callback_data":"x"}]]}`
	off := `{"is_disabled":true}`
	cases := []struct {
		name        string
		first, then args
		modified    bool
	}{
		{"same", args{"text": "a"}, args{"text": "a"}, false},
		{"text", args{"text": "a"}, args{"text": "b"}, true},
		{"entities", args{"text": "a"}, args{"text": "a", "entities": bold}, true},
		{"same entities", args{"text": "a", "entities": bold}, args{"text": "a", "entities": bold}, false},
		{"buttons go", args{"text": "a", "reply_markup": keys}, args{"text": "a"}, true},
		{"same buttons", args{"text": "a", "reply_markup": keys}, args{"text": "a", "reply_markup": keys}, false},
		{"preview without a link", args{"text": "a"}, args{"text": "a", "link_preview_options": off}, false},
		{"preview of a link", args{"text": "https://a.org"}, args{"text": "https://a.org", "link_preview_options": off}, true},
	}
	c := free(t)
	for _, tc := range cases {
		tc.first["chat_id"], tc.then["chat_id"] = "1001", "1001"
		tc.then["message_id"] = strconv.Itoa(c.call("sendMessage", tc.first).message(t))
		if r := c.call("editMessageText", tc.then); r.OK != tc.modified {
			t.Errorf("%s: got %s, want modified %v", tc.name, r.Raw, tc.modified)
		}
	}
}

func TestThreadsAndReplies(t *testing.T) {
	t.Parallel()
	c := free(t)
	var m struct {
		ThreadID int  `json:"message_thread_id"`
		Topic    bool `json:"is_topic_message"`
		Reply    *struct {
			MessageID int    `json:"message_id"`
			Text      string `json:"text"`
		} `json:"reply_to_message"`
	}
	r := c.call("sendMessage", args{
		"chat_id": "-1000000000002", "message_thread_id": "7", "text": "x",
		"reply_parameters": `{"message_id":1}`, "disable_notification": "true", "link_preview_options": `{"is_disabled":true}`,
	})
	if err := json.Unmarshal(r.Result, &m); err != nil {
		t.Fatalf("result %s: %v", r.Raw, err)
	}
	if m.ThreadID != 7 || !m.Topic || m.Reply == nil || m.Reply.Text != "/topic" {
		t.Errorf("got %s, want topic 7 and the replied message", r.Raw)
	}
	list := c.server.History(-1000000000002)
	if got := list[len(list)-1]; !got.Silent || !got.Last().LinkPreviewOff || got.ReplyTo != 1 || got.ID != 2 {
		t.Errorf("history: got %+v, want a silent reply with id 2, without preview", got)
	}
	// Failure F47: the message to reply to does not exist, but the call allows the server to send the text without the
	// reply.
	r = c.call("sendMessage", args{"chat_id": "1001", "text": "x", "reply_parameters": `{"message_id":999,"allow_sending_without_reply":true}`})
	if !r.OK || strings.Contains(r.Raw, "reply_to_message") {
		t.Errorf("missing target: got %s, want ok without reply", r.Raw)
	}
}

func TestForbidden(t *testing.T) {
	t.Parallel()
	c := free(t)
	c.server.Say(telegram.Incoming{Chat: 1002, Text: "x"})
	c.server.Block(person, true)
	c.server.Deactivate(1002)
	c.server.Block(-1001, true)
	for chat, want := range map[string]string{
		"1001":  "Forbidden: bot was blocked by the user",
		"1002":  "Forbidden: user is deactivated",
		"-1001": "Forbidden: bot was kicked from the group chat",
	} {
		if r := c.call("sendMessage", args{"chat_id": chat, "text": "x"}); r.Status != 403 || r.Description != want {
			t.Errorf("%s: got %d %q, want 403 %q", chat, r.Status, r.Description, want)
		}
	}
	c.server.Say(telegram.Incoming{Chat: person, Text: "back again"})
	if r := c.call("sendMessage", args{"chat_id": "1001", "text": "x"}); !r.OK {
		t.Errorf("after unblocking: got %s, want ok", r.Raw)
	}
}

// TestMigrate checks the migration of a group to a supergroup (failure F54).
func TestMigrate(t *testing.T) {
	t.Parallel()
	c := free(t)
	id := c.server.Migrate(-1001)
	r := c.call("sendMessage", args{"chat_id": "-1001", "text": "x"})
	if r.Status != 400 || r.Parameters.MigrateToChatID != id || r.Description != "Bad Request: group chat was upgraded to a supergroup chat" {
		t.Errorf("old chat: got %s, want migrate_to_chat_id %d", r.Raw, id)
	}
	if r := c.call("sendMessage", args{"chat_id": strconv.FormatInt(id, 10), "text": "x"}); !r.OK {
		t.Errorf("new chat: got %s, want ok", r.Raw)
	}
	raw := c.call("getUpdates", nil).Raw
	for _, want := range []string{fmt.Sprintf(`"migrate_to_chat_id":%d`, id), `"migrate_from_chat_id":-1001`} {
		if !strings.Contains(raw, want) {
			t.Errorf("updates: got %s, want %s in it", raw, want)
		}
	}
}

func TestMenuAndChat(t *testing.T) {
	t.Parallel()
	c := free(t)
	commands := `[{"command":"help","description":"Help"}]`
	c.call("setMyCommands", args{"commands": commands})
	c.call("setMyCommands", args{"commands": `[]`, "scope": `{"type":"all_group_chats"}`, "language_code": "de"})
	if got := string(c.call("getMyCommands", nil).Result); got != commands {
		t.Errorf("commands: got %s, want %s", got, commands)
	}
	if got := c.server.Commands(); len(got) != 1 || got[0].Command != "help" {
		t.Errorf("Commands: got %+v, want help", got)
	}
	c.call("deleteMyCommands", nil)
	if got := string(c.call("getMyCommands", nil).Result); got != "[]" {
		t.Errorf("commands after deletion: got %s, want []", got)
	}
	if r := c.call("getChat", args{"chat_id": "-1000000000002"}); !strings.Contains(r.Raw, `"is_forum":true`) {
		t.Errorf("getChat: got %s, want a forum", r.Raw)
	}
	if r := c.call("getMe", nil); !strings.Contains(r.Raw, `"can_read_all_group_messages":false`) || !strings.Contains(r.Raw, `"username":"telex_bot"`) {
		t.Errorf("getMe: got %s", r.Raw)
	}
}

func TestButtons(t *testing.T) {
	t.Parallel()
	c := free(t)
	id := c.call("sendMessage", args{"chat_id": "1001", "text": "x", "reply_markup": `{"inline_keyboard":[[{"text":"Stop","callback_data":"stop"}]]}`}).message(t)
	if got := c.server.Press(person, person, id, "other"); got != "" {
		t.Errorf("press of no button: got query %q, want none", got)
	}
	query := c.server.Press(person, person, id, "stop")
	if raw := c.call("getUpdates", args{"offset": "-1"}).Raw; !strings.Contains(raw, `"data":"stop"`) || !strings.Contains(raw, query) {
		t.Errorf("update: got %s, want the button press", raw)
	}
	for i, ok := range []bool{true, false} {
		if r := c.call("answerCallbackQuery", args{"callback_query_id": query, "text": "stopped"}); r.OK != ok {
			t.Errorf("answer %d: got %s, want ok %v", i, r.Raw, ok)
		}
	}
	if got := c.server.CallbackAnswers(); len(got) != 1 || got[0].Text != "stopped" {
		t.Errorf("answers: got %+v, want one", got)
	}
}

func TestKeyboardRules(t *testing.T) {
	t.Parallel()
	c := free(t)
	row := func(label, data string) string {
		return `{"inline_keyboard":[[{"text":"` + label + `","callback_data":"` + data + `"}]]}`
	}
	for _, tt := range []struct{ markup, want string }{
		{row("Go", strings.Repeat("x", 64)), ""},
		{row("Go", strings.Repeat("x", 65)), "Bad Request: BUTTON_DATA_INVALID"},
		{row("Go", strings.Repeat("ü", 33)), "Bad Request: BUTTON_DATA_INVALID"}, // the limit on callback data counts bytes
		{row("", "x"), `Bad Request: can't parse inline keyboard button: Field "text" must be non-empty`},
		{row("Go", ""), "Bad Request: can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard"},
		{`{"inline_keyboard":7}`, "Bad Request: can't parse reply keyboard markup JSON object"},
	} {
		if r := c.call("sendMessage", args{"chat_id": "1001", "text": "x", "reply_markup": tt.markup}); r.Description != tt.want {
			t.Errorf("%s: got %s, want %q", tt.markup, r.Raw, tt.want)
		}
	}
	last := func() telegram.Message {
		list := c.server.History(person)
		return list[len(list)-1]
	}
	id := c.call("sendMessage", args{"chat_id": "1001", "text": "x", "reply_markup": row("Go", "go")}).message(t)
	edit := args{"chat_id": "1001", "message_id": strconv.Itoa(id), "text": "x"}
	if got := last().Last().Keyboard; len(got) != 1 || len(got[0]) != 1 || got[0][0] != (telegram.Button{Text: "Go", CallbackData: "go"}) {
		t.Errorf("keyboard: got %+v, want one button", got)
	}
	if r := c.call("editMessageText", edit); !r.OK { // this edit removes the keyboard, so the error "not modified" would be wrong
		t.Errorf("edit without a keyboard: got %s, want ok", r.Raw)
	}
	if got := last().Last().Keyboard; len(got) != 0 {
		t.Errorf("keyboard after an edit without: got %+v, want none", got)
	}
	if got := c.server.Press(person, person, id, "go"); got != "" {
		t.Errorf("press of a button that is gone: got query %q, want none", got)
	}
	if r := c.call("editMessageText", edit); !strings.Contains(r.Description, "message is not modified") {
		t.Errorf("the same edit again: got %s", r.Raw)
	}
}

func TestDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		var ids []string
		for range 3 {
			ids = append(ids, strconv.Itoa(c.call("sendMessage", args{"chat_id": "1001", "text": "x"}).message(t)))
		}
		if r := c.call("deleteMessage", args{"chat_id": "1001", "message_id": ids[0]}); !r.OK {
			t.Errorf("delete: got %s, want ok", r.Raw)
		}
		if r := c.call("editMessageText", args{"chat_id": "1001", "message_id": ids[0], "text": "y"}); r.Description != "Bad Request: message to edit not found" {
			t.Errorf("edit of a deleted message: got %s", r.Raw)
		}
		if r := c.call("deleteMessages", args{"chat_id": "1001", "message_ids": "[" + ids[0] + "," + ids[1] + "]"}); !r.OK {
			t.Errorf("deleteMessages: got %s, want ok", r.Raw)
		}
		pause(48 * time.Hour)
		if r := c.call("deleteMessage", args{"chat_id": "1001", "message_id": ids[2]}); r.Description != "Bad Request: message can't be deleted for everyone" {
			t.Errorf("delete after two days: got %s", r.Raw)
		}
		if r := c.call("editMessageText", args{"chat_id": "1001", "message_id": ids[2], "text": "y"}); !r.OK {
			t.Errorf("edit after two days: got %s, want ok", r.Raw)
		}
	})
}

func TestDocument(t *testing.T) {
	t.Parallel()
	c := free(t)
	body := "--X\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n1001\r\n" +
		"--X\r\nContent-Disposition: form-data; name=\"document\"; filename=\"rest.md\"\r\n\r\nthe rest\r\n--X--\r\n"
	c.post(t.Context(), "/bot"+c.server.Token()+"/sendDocument", "multipart/form-data; boundary=X", body).message(t)
	list := c.server.History(person)
	if got := list[len(list)-1]; got.Media != "document" || got.FileName != "rest.md" || string(got.File) != "the rest" {
		t.Errorf("history: got %+v, want the file", got)
	}
	if r := c.call("sendDocument", args{"chat_id": "1001"}); r.Description != "Bad Request: there is no document in the request" {
		t.Errorf("no file: got %s", r.Raw)
	}
}

func TestSurplusEntities(t *testing.T) {
	t.Parallel()
	c := free(t)
	var list []string
	for i := range 101 {
		list = append(list, fmt.Sprintf(`{"type":"bold","offset":%d,"length":1}`, 2*i))
	}
	c.call("sendMessage", args{"chat_id": "1001", "text": strings.Repeat("a ", 101), "entities": "[" + strings.Join(list, ",") + "]"}).message(t)
	history := c.server.History(person)
	if got := len(history[len(history)-1].Last().Entities); got != 100 {
		t.Errorf("entities: got %d, want 100", got)
	}
	if v := c.server.Stats().Violations; v.SurplusEntities != 1 || v.Total() != 1 || len(v.Details) != 1 {
		t.Errorf("violations: got %+v, want one surplus", v)
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	c := start(t, telegram.Options{})
	c.server.Say(telegram.Incoming{Chat: person, Text: "x"})
	c.server.Fault(telegram.Fault{Method: "sendMessage", Action: fault.RateLimit, RetryAfter: 7})
	r := c.call("sendMessage", args{"chat_id": "1001", "text": "x"})
	want := `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 7","parameters":{"retry_after":7}}`
	if r.Raw != want || r.Status != http.StatusTooManyRequests || r.Header.Get("Retry-After") != "7" {
		t.Errorf("got %d %v %s, want 429, Retry-After 7, %s", r.Status, r.Header, r.Raw, want)
	}
}
