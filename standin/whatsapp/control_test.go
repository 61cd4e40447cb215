package whatsapp_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"telex/standin/whatsapp"
)

// control calls the control API and decodes the response.
func (c *client) control(verb, path, body string, to any) int {
	c.t.Helper()
	r := c.request(verb, "/control/"+path, "", "application/json", body)
	if r.Err != nil {
		c.t.Fatalf("%s: %v", path, r.Err)
	}
	if to != nil && r.Status == http.StatusOK {
		if err := json.Unmarshal([]byte(r.Raw), to); err != nil {
			c.t.Errorf("%s: got %s: %v", path, r.Raw, err)
		}
	}
	return r.Status
}

// TestControl holds a conversation through the control API, as a program in any language would.
func TestControl(t *testing.T) {
	t.Parallel()
	c := free(t)
	post := func(path, body string, to any) {
		t.Helper()
		if status := c.control(http.MethodPost, path, body, to); status != http.StatusOK {
			t.Errorf("%s %s: got %d", path, body, status)
		}
	}
	get := func(path string, to any) {
		t.Helper()
		if status := c.control(http.MethodGet, path, "", to); status != http.StatusOK {
			t.Errorf("%s: got %d", path, status)
		}
	}
	var said struct {
		Message string `json:"message"`
	}
	post("person", `{"user_id":"US.7","phone":"15550001007","name":"Ann","username":"@ann"}`, nil)
	post("say", `{"user":"US.7","text":"hello"}`, &said)
	first := said.Message
	post("say", `{"user":"US.7","file":{"type":"document","filename":"a.txt","mime_type":"text/plain","content":"aGk="}}`, &said)
	id := c.ok(strings.Replace(buttons("Allow?", "", "y=Yes"), phone, "15550001007", 1))
	post("read", `{"user":"US.7"}`, nil)
	post("press", `{"user":"US.7","message":"`+id+`","button":"Yes"}`, &said)
	post("react", `{"user":"US.7","message":"`+id+`","emoji":"👍"}`, nil)
	post("edit", `{"user":"US.7","message":"`+first+`","text":"hullo"}`, nil)
	var texts []struct {
		From, Type, Text string
		Buttons          []string
	}
	get("text?user=US.7", &texts)
	if len(texts) != 4 || texts[0].Text != "hullo" || texts[2].From != "business" || texts[2].Buttons[0] != "Yes" || texts[3].Text != "Yes" {
		t.Errorf("text: got %+v", texts)
	}
	post("delete", `{"user":"US.7","message":"`+first+`"}`, nil)
	var h whatsapp.Chronicle
	get("history?user=15550001007", &h)
	if len(h.Messages) != 4 || h.Messages[0].Alive() || len(h.Messages[0].Versions) != 2 || h.WindowEnds.IsZero() || h.Person.Name != "Ann" {
		t.Errorf("history: got %+v", h)
	}
	var screen whatsapp.Screen
	get("view?user=US.7", &screen)
	if len(screen.Messages) != 3 || screen.Messages[1].Status() != "read" || len(screen.Messages[1].Reactions) != 1 {
		t.Errorf("view: got %+v", screen)
	}
	if r := c.request(http.MethodGet, "/control/file?id="+h.Messages[1].Last().File.ID, "", "", ""); r.Raw != "hi" || r.Header.Get("Content-Disposition") != "attachment" {
		t.Errorf("file: got %d %q", r.Status, r.Raw)
	}
	post("change_number", `{"user":"US.7","phone":"15550001008","user_id":"US.8"}`, nil)
	var persons []whatsapp.Person
	get("persons", &persons)
	if len(persons) != 1 || persons[0].UserID != "US.8" {
		t.Errorf("persons: got %+v", persons)
	}
	var info struct {
		Phone    string `json:"phone_number_id"`
		Callback string `json:"callback_url"`
	}
	get("info", &info)
	if info.Phone != whatsapp.PhoneNumberID || info.Callback != callback {
		t.Errorf("info: got %+v", info)
	}
	post("verify", `{"url":"`+callback+`"}`, nil)
	post("callback", `{"url":"`+callback+`"}`, nil)
	post("redeliver", `{}`, nil)
	post("limits", `{"published":{"pair_burst":1}}`, nil)
	post("limits", `{"off":true}`, nil)
	post("fault", `{"method":"message|status","action":"duplicate"}`, nil)
	post("expire_token", `{}`, nil)
	if r := c.get(base); r.Error.Code != 190 {
		t.Errorf("expired token: got %s", r.Raw)
	}
	post("expire_token", `{"off":true}`, nil)
	var deliveries []whatsapp.Delivery
	get("deliveries?last=3", &deliveries)
	if len(deliveries) != 3 || len(deliveries[0].Payload) == 0 {
		t.Errorf("deliveries: got %+v", deliveries)
	}
	var st whatsapp.Stats
	get("stats", &st)
	if st.Messages != 1 || st.ByMethod["sendMessage"] != 1 {
		t.Errorf("stats: got %+v", st)
	}
	for _, bad := range []struct{ path, body string }{
		{"say", `{"text":""}`},
		{"say", `{"text":"x","channel":"y"}`},
		{"press", `{"message":"wamid.x","button":"Yes"}`},
		{"react", `{"message":"wamid.x"}`},
		{"edit", `{}`},
		{"delete", `{"message":"wamid.x"}`},
		{"person", `{"user_id":"x"}`},
		{"verify", `{"url":"` + callback + `","token":"wrong"}`},
		{"callback", `{"url":"http://app/` + "\x00" + `"}`},
		{"fault", `{"method":"sendMessage","action":"fly"}`},
	} {
		if status := c.control(http.MethodPost, bad.path, bad.body, nil); status != http.StatusBadRequest {
			t.Errorf("%s %s: got %d, want 400", bad.path, bad.body, status)
		}
	}
	for _, bad := range []string{"view?at=yesterday", "file?id=9"} {
		if status := c.control(http.MethodGet, bad, "", nil); status != http.StatusBadRequest {
			t.Errorf("%s: got %d, want 400", bad, status)
		}
	}
	if status := c.control(http.MethodPost, "fly", "{}", nil); status != http.StatusNotFound {
		t.Errorf("unknown control: got %d, want 404", status)
	}
}

// TestEvents checks that a watcher receives the events in order.
func TestEvents(t *testing.T) {
	t.Parallel()
	c := free(t)
	events := c.server.Watch(t.Context())
	asked := c.say(whatsapp.Incoming{Text: "hi"})
	c.ok(`{"messaging_product":"whatsapp","status":"read","message_id":"` + asked + `","typing_indicator":{"type":"text"}}`)
	c.ok(text("x"))
	c.server.Reset()
	seen := map[string]int{}
	for e := range events {
		seen[e.Kind]++
		if (e.Kind == "message" || e.Kind == "typing") && e.User != user {
			t.Errorf("got %+v", e)
		}
		if e.Kind == "reset" {
			break
		}
	}
	for kind, want := range map[string]int{"person": 1, "message": 2, "typing": 1, "status": 2, "call": 2} {
		if seen[kind] != want {
			t.Errorf("%s: got %d, want %d", kind, seen[kind], want)
		}
	}
}
