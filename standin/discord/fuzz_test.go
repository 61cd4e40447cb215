package discord_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"telex/standin/discord"
)

// serve sends one request without a network.
func serve(s *discord.Server, verb, path, kind, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(verb, "http://standin"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bot "+s.Token())
	r.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// FuzzMessage sends arbitrary messages. The stand-in must either refuse a message with an error code, or show its text
// trimmed and within the length limit.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		`{"content":"x"}`, `{"content":null,"embeds":[{"fields":[{"name":"a","value":"b"}]}]}`, `[]`, `{`, `{"content":{}}`,
		`{"content":"x","allowed_mentions":{"parse":["users"],"users":["1"],"replied_user":"x"}}`,
		`{"content":"<@1> <@&2> @here","message_reference":{"message_id":"1","fail_if_not_exists":false}}`,
		`{"flags":32768,"components":[{"type":17,"components":[{"type":10,"content":"x"},{"type":9,"components":[],"accessory":{"type":2}}]}]}`,
		`{"content":"x","components":[{"type":1,"components":[{"type":3,"custom_id":"a"}]}],"nonce":1.5,"enforce_nonce":1}`,
		`{"content":"x","attachments":[{"id":"0"},7]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		s := discord.New(discord.Options{})
		defer func() { _ = s.Close() }()
		w := serve(s, http.MethodPost, "/api/v10/channels/"+general+"/messages", "application/json", body)
		var answer struct {
			ID      string `json:"id"`
			Content string `json:"content"`
			Code    int    `json:"code"`
			Message string `json:"message"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatalf("answer %q: %v", w.Body, err)
		}
		switch w.Code {
		case http.StatusOK:
			m := s.History(general)[0]
			if answer.Content != m.Content() || strings.TrimSpace(m.Content()) != m.Content() || utf8.RuneCountInString(m.Content()) > 2000 {
				t.Errorf("shown: %q, answered %q", m.Content(), answer.Content)
			}
		case http.StatusBadRequest:
			if answer.Code == 0 || answer.Message == "" || len(s.History(general)) != 0 {
				t.Errorf("refused with %s", w.Body)
			}
		default:
			t.Errorf("got %d %s", w.Code, w.Body)
		}
		// The test sends the same content as an edit and as a multipart form.
		if w.Code == http.StatusOK {
			serve(s, http.MethodPatch, "/api/v10/channels/"+general+"/messages/"+answer.ID, "application/json", body)
		}
		form := "--b\r\nContent-Disposition: form-data; name=\"payload_json\"\r\n\r\n" + body +
			"\r\n--b\r\nContent-Disposition: form-data; name=\"files[0]\"; filename=\"a\"\r\n\r\nx\r\n--b--\r\n"
		if w := serve(s, http.MethodPost, "/api/v10/channels/"+general+"/messages", "multipart/form-data; boundary=b", form); w.Code != http.StatusOK && w.Code != http.StatusBadRequest {
			t.Errorf("form: got %d %s", w.Code, w.Body)
		}
	})
}

// FuzzCommands registers arbitrary commands. Each response must be valid JSON with status 200 or 400. The use of a
// registered command must return an id or an error.
func FuzzCommands(f *testing.F) {
	for _, seed := range []string{
		`[]`, `[{"name":"ask","description":"x"}]`, `{}`, `[null]`, `[{"name":"é","description":"x","options":[{"type":1,"name":"a","description":"x","options":[{"type":3,"name":"b","description":"x","choices":[{"name":"c","value":1}]}]}]}]`,
		`[{"type":2,"name":"Say hi"},{"type":3,"name":"Say hi"}]`, `[{"name":"a","description":"x","contexts":[0],"dm_permission":false}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		s := discord.New(discord.Options{})
		defer func() { _ = s.Close() }()
		w := serve(s, http.MethodPut, "/api/v10/applications/"+app+"/commands", "application/json", body)
		if (w.Code != http.StatusOK && w.Code != http.StatusBadRequest) || !json.Valid(w.Body.Bytes()) {
			t.Fatalf("got %d %s", w.Code, w.Body)
		}
		for _, cmd := range s.Commands("") {
			// Invoking the command may fail, but must not panic.
			id, err := s.Slash(discord.Invocation{Name: cmd.Name, Options: map[string]any{"a": "x"}})
			if (id == "") != (err != nil) {
				t.Errorf("slash: got id %q, error %v", id, err)
			}
		}
	})
}

// FuzzPath checks that no path and no query makes the server panic.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{
		"/", "/api/v10", "/api/v10/channels/1", "/api/v10/channels/" + general + "/messages?limit=x&before=1&around=2", "/attachments/1/2/3?ex=zz",
		"/api/v10/webhooks/" + app + "/x/messages/@original", "/api/v10/users/%40me", "/api/v10/interactions/1/2/callback?with_response=true",
	} {
		f.Add("GET", seed)
		f.Add("POST", seed)
	}
	f.Fuzz(func(t *testing.T, verb, path string) {
		req, err := http.NewRequestWithContext(t.Context(), verb, "http://standin"+path, strings.NewReader("{}"))
		if err != nil || req.URL.Host != "standin" || strings.HasPrefix(req.URL.Path, "/control/") {
			return // the path is not a valid URL, or belongs to another host or to the control API
		}
		s := discord.New(discord.Options{})
		defer func() { _ = s.Close() }()
		req.Header.Set("Authorization", "Bot "+s.Token())
		w := httptest.NewRecorder()
		s.ServeHTTP(w, req)
		if w.Code >= 500 {
			t.Errorf("got %d %s", w.Code, w.Body)
		}
	})
}
