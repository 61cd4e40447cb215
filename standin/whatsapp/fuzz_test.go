package whatsapp_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf16"

	"telex/standin/whatsapp"
)

// FuzzMessage sends arbitrary messages. The stand-in must either refuse a message with an error of the Graph API, or
// show it once and within the length limit.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		text("x"), text(""), `[]`, `{`, `null`, `{"messaging_product":"whatsapp"}`,
		send(`"type":"text","text":{"body":"a *b* ▌","preview_url":true},"context":{"message_id":"wamid.x"}`),
		send(`"type":"reaction","reaction":{"message_id":"wamid.x","emoji":"👍"}`),
		send(`"type":"image","image":{"link":"https://a.org/b","caption":"x"}`),
		send(`"type":"edit","edit":{}`), send(`"type":7`), send(`"text":{"body":7}`),
		buttons("Allow?", `,"footer":{"text":"f"}`, "y=Yes", "n=No"),
		`{"messaging_product":"whatsapp","recipient":"` + user + `","text":{"body":"x"}}`,
		`{"messaging_product":"whatsapp","status":"read","message_id":"wamid.x","typing_indicator":{"type":"text"}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		s := whatsapp.New(whatsapp.Options{})
		defer func() { _ = s.Close() }()
		if _, err := s.Say(whatsapp.Incoming{Text: "hi"}); err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, "http://standin"+base+"/messages", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+s.Token())
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		var answer reply
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatalf("answer %q: %v", w.Body, err)
		}
		list := s.History(user)
		switch {
		case w.Code == http.StatusOK && len(list) == 2:
			m := list[1]
			if m.ID != answer.Messages[0].ID || len(m.Versions) != 1 || len(utf16.Encode([]rune(m.Shown()))) > 4096 || m.Type == "text" && strings.TrimSpace(m.Shown()) == "" {
				t.Errorf("shown: got %+v, answered %s", m, w.Body)
			}
		case w.Code == http.StatusOK: // the message was a reaction to a message that does not exist
			if s.Stats().Failed != 1 {
				t.Errorf("got %s without an effect", w.Body)
			}
		case w.Code != http.StatusBadRequest && w.Code != http.StatusNotFound:
			t.Errorf("got %d %s", w.Code, w.Body)
		case answer.Error.Code == 0 || answer.Error.Message == "" || len(list) != 1:
			t.Errorf("refused with %s", w.Body)
		}
	})
}

// FuzzPath checks that no path and no method makes the server panic.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{base, base + "/messages", base + "/media", "/v26.0/1", "/v26.0/wamid.x/messages", "/", "/whatsapp_business/attachments/?mid=1&ext=9&hash=x"} {
		f.Add("GET", seed)
		f.Add("POST", seed)
		f.Add("DELETE", seed)
	}
	f.Fuzz(func(t *testing.T, verb, path string) {
		r, err := http.NewRequest(verb, "http://standin/"+strings.TrimPrefix(path, "/"), strings.NewReader("{}")) //nolint:noctx // the request is never sent over a network
		if err != nil || strings.HasPrefix(r.URL.Path, "/control/") {
			return
		}
		s := whatsapp.New(whatsapp.Options{})
		defer func() { _ = s.Close() }()
		r.Header.Set("Authorization", "Bearer "+s.Token())
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != http.StatusOK && w.Code != http.StatusBadRequest && w.Code != http.StatusNotFound {
			t.Errorf("%s %s: got %d %s", verb, path, w.Code, w.Body)
		}
	})
}
