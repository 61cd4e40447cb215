package whatsapp_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"telex/standin/whatsapp"
)

// buttons returns the body of a message with reply buttons. Each button in list has the form "id=title".
func buttons(body, more string, list ...string) string {
	made := make([]string, len(list))
	for i, b := range list {
		id, title, _ := strings.Cut(b, "=")
		made[i] = `{"type":"reply","reply":{"id":` + quote(id) + `,"title":` + quote(title) + `}}`
	}
	return send(`"type":"interactive","interactive":{"type":"button","body":{"text":` + quote(body) + `}` + more +
		`,"action":{"buttons":[` + strings.Join(made, ",") + `]}}`)
}

func TestRefusedContent(t *testing.T) {
	t.Parallel()
	c := free(t)
	c.say(whatsapp.Incoming{Text: "hi"})
	pdf := c.upload("application/pdf", []byte("%PDF-1.7")).ID
	for _, tc := range []struct {
		name, body string
		code       int
		says       string // part of the error message or of its details
	}{
		{"no product", `{"to":"` + phone + `","text":{"body":"x"}}`, 100, "(#100) The parameter messaging_product is required."},
		{"other product", strings.Replace(text("x"), `"whatsapp"`, `"signal"`, 1), 100, "must be one of {WHATSAPP}"},
		{"product of another type", strings.Replace(text("x"), `"whatsapp"`, `7`, 1), 100, "Param messaging_product must be a string."},
		{"no JSON", `{"messaging_product":`, 100, "Invalid JSON"},
		{"two objects", text("x") + text("y"), 100, "Invalid JSON"},
		{"a list", `[]`, 100, "Invalid JSON"},
		{"null", `null`, 100, "Invalid JSON"},
		{"unknown parameter", send(`"text":{"body":"x"},"parse_mode":"html"`), 100, `Unexpected key "parse_mode"`},
		{"unknown nested parameter", send(`"text":{"body":"x","markdown":true}`), 100, `Unexpected key "markdown" on param "text".`},
		{"unknown context", send(`"text":{"body":"x"},"context":{"id":"wamid.x"}`), 100, `Unexpected key "id" on param "context".`},
		{"empty context", send(`"text":{"body":"x"},"context":{}`), 100, "The parameter context['message_id'] is required."},
		{"context that is no id", send(`"text":{"body":"x"},"context":{"message_id":"1"}`), 100, "context['message_id']"},
		{"group", send(`"recipient_type":"group","text":{"body":"x"}`), 100, "recipient_type"},
		{"no recipient", `{"messaging_product":"whatsapp","text":{"body":"x"}}`, 100, "The parameter to is required."},
		{"recipient of another type", `{"messaging_product":"whatsapp","to":15550001001,"text":{"body":"x"}}`, 100, "Param to must be a string."},
		{"letters", `{"messaging_product":"whatsapp","to":"ann","text":{"body":"x"}}`, 100, "to"},
		{"leading zeros", `{"messaging_product":"whatsapp","to":"0015550001001","text":{"body":"x"}}`, 100, "to"},
		{"user id as phone number", `{"messaging_product":"whatsapp","to":"` + user + `","text":{"body":"x"}}`, 100, "to"},
		{"malformed user id", `{"messaging_product":"whatsapp","recipient":"us-1","text":{"body":"x"}}`, 100, "recipient"},
		{"own number", `{"messaging_product":"whatsapp","to":"` + whatsapp.Number + `","text":{"body":"x"}}`, 131021, ""},
		{"no text", send(`"type":"text"`), 100, "The parameter text is required."},
		{"no body", send(`"text":{}`), 100, "The parameter text['body'] is required."},
		{"blank body", text(" \n"), 100, "The parameter text['body'] is required."},
		{"body of another type", send(`"text":{"body":{"text":"x"}}`), 100, "Param text['body'] must be a string."},
		{"text of another type", send(`"text":"x"`), 100, "Param text must be a JSON object."},
		{"preview of another type", send(`"text":{"body":"x","preview_url":"yes"}`), 100, "must be a boolean"},
		{"long body", text(strings.Repeat("x", 4097)), 100, "(#100) Param text['body'] must be at most 4096 characters long."},
		{"long body in UTF-16 units", text(strings.Repeat("😀", 2049)), 100, "at most 4096"},
		{"long callback data", send(`"text":{"body":"x"},"biz_opaque_callback_data":"` + strings.Repeat("x", 513) + `"`), 100, "at most 512"},
		{"unknown type", send(`"type":"poll","poll":{}`), whatsapp.CodeType, "poll"},
		{"list of rows", send(`"type":"interactive","interactive":{"type":"list","body":{"text":"x"},"action":{}}`), whatsapp.CodeValue, "list"},
		{"template", send(`"type":"template","template":{"name":"x"}`), whatsapp.CodeTemplate, ""},
		{"no button", buttons("x", ""), whatsapp.CodeValue, "Min allowed buttons: 1"},
		{"four buttons", buttons("x", "", "1=a", "2=b", "3=c", "4=d"), whatsapp.CodeValue, "Max allowed buttons: 3"},
		{"same id", buttons("x", "", "1=a", "1=b"), whatsapp.CodeValue, "Duplicate"},
		{"same title", buttons("x", "", "1=a", "2=a"), whatsapp.CodeValue, "Duplicate"},
		{"no title", buttons("x", "", "1="), whatsapp.CodeValue, "Button title length invalid. Min length: 1, Max length: 20"},
		{"long title", buttons("x", "", "1="+strings.Repeat("x", 21)), whatsapp.CodeValue, "Button title length invalid"},
		{"long id", buttons("x", "", strings.Repeat("x", 257)+"=a"), whatsapp.CodeValue, "Button id length invalid"},
		{"id with spaces", buttons("x", "", " 1=a"), whatsapp.CodeValue, "spaces"},
		{"no text above buttons", buttons("", "", "1=a"), whatsapp.CodeValue, "Body text length invalid"},
		{"long text above buttons", buttons(strings.Repeat("x", 1025), "", "1=a"), whatsapp.CodeValue, "Max length: 1024"},
		{"long footer", buttons("x", `,"footer":{"text":"`+strings.Repeat("x", 61)+`"}`, "1=a"), whatsapp.CodeValue, "Footer text length invalid. Min length: 1, Max length: 60"},
		{"long header", buttons("x", `,"header":{"type":"text","text":"`+strings.Repeat("x", 61)+`"}`, "1=a"), whatsapp.CodeValue, "Max length: 60"},
		{"other header", buttons("x", `,"header":{"type":"sticker"}`, "1=a"), whatsapp.CodeValue, "header"},
		{"buttons that are no list", send(`"type":"interactive","interactive":{"type":"button","body":{"text":"x"},"action":{"buttons":{}}}`), 100, "array"},
		{"buttons outside of the action", send(`"type":"interactive","interactive":{"type":"button","body":{"text":"x"},"buttons":[]}`), 100, `Unexpected key "buttons"`},
		{"other button", send(`"type":"interactive","interactive":{"type":"button","body":{"text":"x"},"action":{"buttons":[{"type":"url"}]}}`), whatsapp.CodeValue, "reply"},
		{"media without id", send(`"type":"document","document":{}`), 100, "document['id']"},
		{"media with both", send(`"type":"document","document":{"id":"` + pdf + `","link":"https://a.org/b"}`), 100, "document['link']"},
		{"unknown media", send(`"type":"document","document":{"id":"1"}`), whatsapp.CodeValue, "Media ID"},
		{"media of another kind", send(`"type":"image","image":{"id":"` + pdf + `"}`), whatsapp.CodeMedia, "application/pdf"},
		{"caption of audio", send(`"type":"audio","audio":{"link":"https://a.org/b","caption":"x"}`), 100, `Unexpected key "caption"`},
		{"name of an image", send(`"type":"image","image":{"link":"https://a.org/b","filename":"x"}`), 100, `Unexpected key "filename"`},
		{"long caption", send(`"type":"document","document":{"id":"` + pdf + `","caption":"` + strings.Repeat("x", 1025) + `"}`), 100, "at most 1024"},
		{"link that is none", send(`"type":"image","image":{"link":"a.png"}`), whatsapp.CodeValue, "link"},
		{"reaction without message", send(`"type":"reaction","reaction":{"emoji":"👍"}`), 100, "reaction['message_id']"},
		{"reaction without emoji", send(`"type":"reaction","reaction":{"message_id":"wamid.x"}`), 100, "reaction['emoji']"},
		{"reaction by words", send(`"type":"reaction","reaction":{"message_id":"wamid.x","emoji":"yes"}`), whatsapp.CodeValue, "emoji"},
		{"reaction as a reply", send(`"type":"reaction","reaction":{"message_id":"wamid.x","emoji":"👍"},"context":{"message_id":"wamid.x"}`), 100, "contextual reply"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := c.post(tc.body)
			want := http.StatusBadRequest
			if tc.code == whatsapp.CodeTemplate {
				want = http.StatusNotFound
			}
			if r.Status != want || r.Error.Code != tc.code || !strings.Contains(r.Error.Message+r.Error.ErrorData.Details, tc.says) ||
				r.Error.Type != "OAuthException" || r.Error.Trace == "" {
				t.Errorf("got %d %s, want %d with code %d and %q", r.Status, r.Raw, want, tc.code, tc.says)
			}
		})
	}
	if n := len(c.server.History(user)); n != 1 {
		t.Errorf("got %d messages, want only the person's", n)
	}
	if st := c.server.Stats(); st.Messages != 0 || st.Violations.Total() != 0 {
		t.Errorf("stats: got %+v", st)
	}
}

func TestAcceptedContent(t *testing.T) {
	t.Parallel()
	c := free(t)
	c.say(whatsapp.Incoming{Text: "hi"})
	png := c.upload("image/png", []byte("\x89PNG")).ID
	ogg := c.upload("audio/ogg", []byte("OggS")).ID
	pdf := c.upload("application/pdf", []byte("%PDF-1.7")).ID
	for _, tc := range []struct {
		name, body string
		check      func(m whatsapp.Message) bool
	}{
		{"the longest text", text(strings.Repeat("x", 4096)), func(m whatsapp.Message) bool { return len(m.Shown()) == 4096 }},
		{"a text as the person reads it", text("a *b* ▌\n<&>"), func(m whatsapp.Message) bool { return m.Shown() == "a *b* ▌\n<&>" }},
		{"explicit nulls", send(`"type":"text","text":{"body":"x"},"context":null,"recipient":null`), func(m whatsapp.Message) bool { return m.Shown() == "x" && m.ReplyTo == "" }},
		{
			"a preview", send(`"text":{"body":"see (https://a.org/b?c=d), http://e.org","preview_url":true}`),
			func(m whatsapp.Message) bool { return slices.Equal(m.Last().Opened, []string{"https://a.org/b?c=d"}) },
		},
		{"no preview", text("https://a.org"), func(m whatsapp.Message) bool { return m.Last().Opened == nil }},
		{
			"a formatted number", strings.Replace(text("x"), phone, "+1 (555) 000-1001", 1),
			func(m whatsapp.Message) bool { return m.User == user },
		},
		{
			"buttons", buttons("Allow?", `,"header":{"type":"text","text":"h"},"footer":{"text":"f"}`, "y=Yes", "n=No"),
			func(m whatsapp.Message) bool {
				v := m.Last()
				return v.Text == "Allow?" && v.Header == "h" && v.Footer == "f" && fmt.Sprint(v.Buttons) == "[{y Yes} {n No}]"
			},
		},
		{
			"buttons below an image", buttons("x", `,"header":{"type":"image","image":{"id":"`+png+`"}}`, strings.Repeat("i", 256)+"="+strings.Repeat("t", 20)),
			func(m whatsapp.Message) bool { return m.Last().File.ID == png },
		},
		{
			"an image", send(`"type":"image","image":{"id":"` + png + `","caption":"c"}`),
			func(m whatsapp.Message) bool {
				return m.Type == "image" && m.Shown() == "c" && string(m.Last().File.Content) == "\x89PNG"
			},
		},
		{"audio", send(`"type":"audio","audio":{"id":"` + ogg + `","voice":true}`), func(m whatsapp.Message) bool { return m.Last().File.Mime == "audio/ogg" }},
		{"a document", send(`"type":"document","document":{"id":"` + pdf + `","filename":"a.pdf"}`), func(m whatsapp.Message) bool { return m.Last().File.Name == "a.pdf" }},
		{"a video by link", send(`"type":"video","video":{"link":"https://a.org/b.mp4"}`), func(m whatsapp.Message) bool { return m.Last().Link == "https://a.org/b.mp4" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			id := c.ok(tc.body)
			list := c.server.History(user)
			if m := list[len(list)-1]; m.ID != id || !m.FromBot || len(m.Versions) != 1 || !tc.check(m) {
				t.Errorf("got %+v", m)
			}
		})
	}
}
