package whatsapp_test

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/fault"
	"telex/standin/whatsapp"
)

// TestConversation plays a typical exchange: a question by webhook, a read receipt with typing, an answer, and its
// statuses.
func TestConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, whatsapp.Options{})
		asked := c.say(whatsapp.Incoming{Text: "hello"})
		synctest.Wait()
		got := c.app.inbound()
		if len(got) != 1 || got[0].ID != asked || got[0].From != phone || got[0].FromUserID != user || got[0].Type != "text" || got[0].Text.Body != "hello" {
			t.Fatalf("webhook: got %+v", got)
		}
		if r := c.post(`{"messaging_product":"whatsapp","status":"read","message_id":"` + asked + `","typing_indicator":{"type":"text"}}`); !r.Success {
			t.Errorf("read: got %s", r.Raw)
		}
		if screen := c.server.Screen(user, time.Now()); !screen.Typing || screen.Messages[0].Read.IsZero() {
			t.Errorf("after the receipt: got %+v", screen)
		}
		pause(time.Second)
		r := c.post(send(`"recipient_type":"individual","type":"text","text":{"body":"hi","preview_url":false},"biz_opaque_callback_data":"x","context":{"message_id":"` + asked + `"}`))
		if len(r.Contacts) != 1 || r.Contacts[0].Input != phone || r.Contacts[0].WaID != phone || r.Contacts[0].UserID != "" || len(r.Messages) != 1 {
			t.Fatalf("send: got %d %s", r.Status, r.Raw)
		}
		screen := c.server.Screen(phone, time.Now())
		if screen.Typing || len(screen.Messages) != 2 || screen.Messages[1].Shown() != "hi" || screen.Messages[1].ReplyTo != asked || !screen.Messages[1].FromBot {
			t.Errorf("after the answer: got %+v", screen)
		}
		c.server.Read(user)
		synctest.Wait()
		var statuses []string
		for _, s := range c.app.statuses() {
			statuses = append(statuses, s.Status)
			if s.ID != r.Messages[0].ID || s.RecipientID != phone || s.RecipientUserID != user || s.Opaque != "x" {
				t.Errorf("status: got %+v", s)
			}
		}
		if len(statuses) != 3 || statuses[0] != "sent" || statuses[1] != "delivered" || statuses[2] != "read" {
			t.Errorf("statuses: got %q", statuses)
		}
		if st := c.server.Stats(); st.Messages != 1 || st.Reads != 1 || st.Typings != 1 || st.Violations.Total() != 0 || st.Pending != 0 {
			t.Errorf("stats: got %+v", st)
		}
	})
}

func TestTypingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		asked := c.say(whatsapp.Incoming{Text: "hello"})
		body := `{"messaging_product":"whatsapp","status":"read","message_id":"` + asked + `","typing_indicator":{"type":"text"}}`
		c.ok(body)
		began := time.Now()
		pause(20 * time.Second)
		c.ok(body)
		for after, want := range map[time.Duration]bool{0: true, 44 * time.Second: true, 46 * time.Second: false} {
			if got := c.server.Screen(user, began.Add(after)).Typing; got != want {
				t.Errorf("after %v: got %v, want %v", after, got, want)
			}
		}
		if r := c.get(base + "?fields=verified_name"); r.Status != http.StatusOK {
			t.Errorf("number: got %s", r.Raw)
		}
	})
}

func TestRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		first := c.say(whatsapp.Incoming{Text: "a"})
		answer := c.ok(text("x"))
		second := c.say(whatsapp.Incoming{Text: "b"})
		c.say(whatsapp.Incoming{Text: "c"})
		read := func(id, more string) reply {
			return c.post(`{"messaging_product":"whatsapp","status":"read","message_id":"` + id + `"` + more + `}`)
		}
		if r := read(second, ""); !r.Success {
			t.Fatalf("got %s", r.Raw)
		}
		var marked []bool
		for _, m := range c.server.History(user) {
			marked = append(marked, !m.Read.IsZero())
		}
		if want := []bool{true, false, true, false}; !slices.Equal(marked, want) {
			t.Errorf("marked: got %v, want %v", marked, want)
		}
		for _, tc := range []struct {
			id, more string
			code     int
		}{
			{"wamid.x", "", whatsapp.CodeValue},
			{answer, "", whatsapp.CodeValue},
			{first, `,"typing_indicator":{"type":"audio"}`, 100},
			{first, `,"typing_indicator":{"type":"text","for":25}`, 100},
			{first, `,"to":"` + phone + `"`, 100},
		} {
			if r := read(tc.id, tc.more); r.Error.Code != tc.code {
				t.Errorf("%s%s: got %d %s, want %d", tc.id, tc.more, r.Status, r.Raw, tc.code)
			}
		}
		pause(30*24*time.Hour + time.Second)
		if r := read(first, ""); r.Error.Code != whatsapp.CodeValue {
			t.Errorf("after 30 days: got %s", r.Raw)
		}
		if st := c.server.Stats(); st.Reads != 1 || st.Typings != 0 || st.EditAttempts != 0 {
			t.Errorf("stats: got %+v", st)
		}
	})
}

// The business replies to a message that can't be quoted. The stand-in must send the reply without the quote, and count
// a violation.
func TestReplies(t *testing.T) {
	t.Parallel()
	c := free(t)
	asked := c.say(whatsapp.Incoming{Text: "a"})
	other := c.say(whatsapp.Incoming{User: "US.15550001002", Text: "b"})
	for id, quotes := range map[string]bool{asked: true, other: false, "wamid.x": false} {
		sent := c.ok(send(`"text":{"body":"x"},"context":{"message_id":"` + id + `"}`))
		list := c.server.History(user)
		if m := list[len(list)-1]; m.ID != sent || (m.ReplyTo == id) != quotes {
			t.Errorf("reply to %s: got %+v", id, m)
		}
	}
	if st := c.server.Stats(); st.Violations.ByKind[whatsapp.BadReference] != 2 {
		t.Errorf("violations: got %+v", st.Violations)
	}
}

func TestReactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		asked := c.say(whatsapp.Incoming{Text: "a"})
		react := func(id, emoji string) string {
			return c.ok(send(`"type":"reaction","reaction":{"message_id":"` + id + `","emoji":"` + emoji + `"}`))
		}
		for _, emoji := range []string{"👍", `\uD83D\uDE00`, "👨‍👩‍👧‍👦", ""} {
			react(asked, emoji)
		}
		lost := react("wamid.x", "👍")
		synctest.Wait()
		list := c.server.History(user)
		if len(list) != 1 || len(list[0].Reactions) != 4 || list[0].Reactions[1].Emoji != "😀" || !list[0].Reactions[0].FromBot {
			t.Errorf("got %+v", list)
		}
		statuses := c.app.statuses()
		if len(statuses) != 5 || statuses[0].Status != "sent" {
			t.Fatalf("statuses: got %+v", statuses)
		}
		if s := statuses[4]; s.ID != lost || s.Status != "failed" || s.Errors[0].Code != whatsapp.CodeValue {
			t.Errorf("lost: got %+v", s)
		}
		if st := c.server.Stats(); st.Reactions != 4 || st.Failed != 1 || st.Messages != 0 {
			t.Errorf("stats: got %+v", st)
		}
	})
}

// The business may write for 24 hours after the person's last message. If the business writes later, the server must
// refuse the call, or report the failure by a status.
func TestWindow(t *testing.T) {
	for _, late := range []bool{false, true} {
		t.Run(strconv.FormatBool(late), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := start(t, whatsapp.Options{LateFailures: late})
				c.say(whatsapp.Incoming{Text: "a"})
				c.say(whatsapp.Incoming{User: "US.15550001002", Text: "b"})
				if err := c.server.SetPerson(whatsapp.Person{UserID: "US.15550001002", Blocked: true}); err != nil {
					t.Fatal(err)
				}
				if got := time.Until(c.server.Chronicle(user).WindowEnds); got != 24*time.Hour {
					t.Errorf("the window ends in %v", got)
				}
				pause(24*time.Hour - time.Second)
				c.ok(text("in time"))
				pause(time.Second)
				for body, want := range map[string]int{
					text("too late"): whatsapp.CodeWindow,
					strings.Replace(text("x"), phone, "15550001002", 1):                                                      whatsapp.CodeUndeliverable,
					strings.Replace(text("x"), phone, "15550001003", 1):                                                      whatsapp.CodeUndeliverable,
					`{"messaging_product":"whatsapp","recipient":"US.9","text":{"body":"x"},"biz_opaque_callback_data":"q"}`: whatsapp.CodeUndeliverable,
				} {
					before := len(c.app.statuses())
					r := c.post(body)
					synctest.Wait()
					got, details := r.Error.Code, r.Error.ErrorData.Details
					if late {
						list := c.app.statuses()[before:]
						if r.Status != http.StatusOK || len(list) != 1 || list[0].ID != r.Messages[0].ID || list[0].Status != "failed" || len(list[0].Errors) != 1 {
							t.Errorf("%s: got %d %s and %+v", body, r.Status, r.Raw, list)
							continue
						}
						if (list[0].RecipientID == "") != (list[0].RecipientUserID != "") || (list[0].RecipientUserID != "") != (list[0].Opaque == "q") {
							t.Errorf("%s: got %+v", body, list[0])
						}
						got, details = list[0].Errors[0].Code, list[0].Errors[0].Data.Details
					} else if r.Status != http.StatusBadRequest {
						t.Errorf("%s: got %d", body, r.Status)
					}
					if got != want || details == "" {
						t.Errorf("%s: got %d %q, want %d", body, got, details, want)
					}
				}
				if n := len(c.server.History(user)); n != 2 {
					t.Errorf("got %d messages, want the question and the answer in time", n)
				}
				c.say(whatsapp.Incoming{Text: "again"})
				c.ok(text("in time"))
				failed := 0
				if late {
					failed = 4
				}
				if st := c.server.Stats(); st.Violations.Total() != 0 || st.Failed != failed {
					t.Errorf("stats: got %+v", st)
				}
			})
		})
	}
}

// TestEditAttempts checks that the server refuses and counts each attempt to change a message.
func TestEditAttempts(t *testing.T) {
	t.Parallel()
	c := free(t)
	c.say(whatsapp.Incoming{Text: "hi"})
	id := c.ok(text("old ▌"))
	escaped := url.PathEscape(id)
	attempts := []struct{ verb, path, body string }{
		{http.MethodPost, base + "/messages", send(`"type":"edit","edit":{"message_id":"` + id + `"}`)},
		{http.MethodPost, base + "/messages", send(`"type":"text","message_id":"` + id + `","text":{"body":"new"}`)},
		{http.MethodPost, base + "/messages", `{"messaging_product":"whatsapp","status":"deleted","message_id":"` + id + `"}`},
		{http.MethodPost, base + "/messages", send(`"type":"revoke","revoke":{"message_id":"` + id + `"}`)},
		{http.MethodPut, base + "/messages", text("new")},
		{http.MethodPatch, base + "/messages/" + escaped, `{"text":{"body":"new"}}`},
		{http.MethodPost, base + "/messages/" + escaped, text("new")},
		{http.MethodDelete, base + "/messages/" + escaped, ""},
		{http.MethodPost, "/v26.0/" + escaped, text("new")},
		{http.MethodDelete, "/v26.0/" + escaped, ""},
	}
	for _, a := range attempts {
		if r := c.request(a.verb, a.path, c.server.Token(), "application/json", a.body); r.Status != http.StatusBadRequest || r.Error.Code != 100 {
			t.Errorf("%s %s %s: got %d %s", a.verb, a.path, a.body, r.Status, r.Raw)
		}
	}
	if list := c.server.History(user); len(list) != 2 || len(list[1].Versions) != 1 || list[1].Shown() != "old ▌" {
		t.Errorf("got %+v", list)
	}
	if st := c.server.Stats(); st.EditAttempts != len(attempts) || st.Violations.ByKind[whatsapp.EditAttempt] != len(attempts) || st.ByMethod["edit"] != len(attempts) {
		t.Errorf("got %d attempts, %+v, want %d", st.EditAttempts, st.Violations.ByKind, len(attempts))
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	c := free(t)
	c.say(whatsapp.Incoming{Text: "hi"})
	for _, tc := range []struct {
		name, token  string
		code, status int
	}{
		{"right", c.server.Token(), 0, 200},
		{"wrong", "EAAx", 190, 401},
		{"none", "", 104, 401},
	} {
		for path, body := range map[string]string{base: "", base + "/messages": text("x")} {
			verb := http.MethodGet
			if body != "" {
				verb = http.MethodPost
			}
			if r := c.request(verb, path, tc.token, "application/json", body); r.Status != tc.status || r.Error.Code != tc.code {
				t.Errorf("%s, %s: got %d %s", tc.name, path, r.Status, r.Raw)
			}
		}
	}
	c.server.ExpireToken(true)
	if r := c.get(base); r.Status != http.StatusUnauthorized || r.Error.Code != 190 || r.Error.Subcode != 463 || r.Header.Get("WWW-Authenticate") == "" {
		t.Errorf("expired: got %d %s", r.Status, r.Raw)
	}
	c.server.ExpireToken(false)
	r := c.get(base)
	for _, want := range []string{`"verified_name":"Stand-in"`, `"quality_rating":"GREEN"`, `"display_phone_number":"+1 555-078-3881"`, `"id":"` + whatsapp.PhoneNumberID + `"`} {
		if !strings.Contains(r.Raw, want) {
			t.Errorf("number: got %s, want %s", r.Raw, want)
		}
	}
	if r := c.get(base + "?fields=verified_name,throughput"); !strings.Contains(r.Raw, `"level":"STANDARD"`) || strings.Contains(r.Raw, "quality_rating") {
		t.Errorf("fields: got %s", r.Raw)
	}
	if r := c.get(base + "?fields=owner"); r.Error.Code != 100 || !strings.Contains(r.Error.Message, "nonexisting field (owner)") {
		t.Errorf("unknown field: got %s", r.Raw)
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	c := free(t)
	c.say(whatsapp.Incoming{Text: "hi"})
	for _, tc := range []struct {
		verb, path, contentType string
		status, code, subcode   int
	}{
		{http.MethodPost, base + "/messages", "application/json; charset=utf-8", 200, 0, 0},
		{http.MethodPost, "/" + whatsapp.PhoneNumberID + "/messages", "application/json", 200, 0, 0},
		{http.MethodPost, "/v19.0/" + whatsapp.PhoneNumberID + "/messages", "application/json", 200, 0, 0},
		{http.MethodPost, base + "/messages", "text/plain", 400, 100, 0},
		{http.MethodPost, base + "/messages", "", 400, 100, 0},
		{http.MethodPost, "/v26.0/999/messages", "application/json", 400, 100, 33},
		{http.MethodPost, base + "/message", "application/json", 400, 2500, 0},
		{http.MethodGet, "/v26.0/999", "", 400, 100, 33},
		{http.MethodDelete, "/v26.0/999", "", 400, 100, 33},
		{http.MethodGet, "/v26.0/me", "", 400, 100, 33},
		{http.MethodGet, "/v26.0/", "", 400, 2500, 0},
		{http.MethodGet, "/v26/" + whatsapp.PhoneNumberID, "", 400, 2500, 0},
	} {
		r := c.request(tc.verb, tc.path, c.server.Token(), tc.contentType, text("x"))
		if r.Status != tc.status || r.Error.Code != tc.code || r.Error.Subcode != tc.subcode {
			t.Errorf("%s %s (%s): got %d %s, want %d with code %d and subcode %d", tc.verb, tc.path, tc.contentType, r.Status, r.Raw, tc.status, tc.code, tc.subcode)
		}
	}
}

// The server must check the token before the rest of the request. Faults must also hit malformed requests.
func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	c := free(t)
	for _, path := range []string{base + "/messages", "/v26.0/999/messages", base + "/none"} {
		if r := c.request(http.MethodPost, path, "EAAx", "application/json", "{"); r.Status != http.StatusUnauthorized || r.Error.Code != 190 {
			t.Errorf("%s with another token: got %d %s", path, r.Status, r.Raw)
		}
	}
	c.server.Fault(whatsapp.Fault{Action: fault.Error, Code: whatsapp.CodeService})
	if r := c.post("{"); r.Status != http.StatusServiceUnavailable {
		t.Errorf("during a fault: got %d %s", r.Status, r.Raw)
	}
}
