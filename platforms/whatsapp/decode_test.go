package whatsapp

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"telex/internal/chat"
)

const numberID = "106540352242922"

// notify returns a webhook with one change. In addition to the metadata, the change contains the fields in content.
func notify(content string) []byte {
	return []byte(`{"object":"whatsapp_business_account","entry":[{"id":"102290129340398","changes":[{"value":{"messaging_product":"whatsapp",` +
		`"metadata":{"display_phone_number":"15550783881","phone_number_id":"` + numberID + `"},` + content + `},"field":"messages"}]}]}`)
}

// The tests use two people: Sheena has a user id and a known phone number, and Pablo has only a phone number.
const (
	sheena   = `{"profile":{"name":"Sheena Nelson"},"wa_id":"16505551234","user_id":"US.13491208655302741918"}`
	pablo    = `{"profile":{"name":"Pablo"},"wa_id":"5491112345678"}`
	incoming = `"from":"16505551234","from_user_id":"US.13491208655302741918","id":"wamid.A","timestamp":"1749416383"`
)

// The function by returns a webhook with a message that Sheena wrote.
func by(content string) []byte {
	return notify(`"contacts":[` + sheena + `],"messages":[{` + incoming + `,` + content + `}]`)
}

// The payloads of this test are the examples in
// https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages.
func TestDecode(t *testing.T) {
	t.Parallel()
	file := func(name, mediaType string) []chat.Attachment {
		return []chat.Attachment{{Name: name, MediaType: mediaType, ID: "1003383421387256"}}
	}
	for _, c := range []struct {
		name, content string
		want          chat.Inbound // the expected message, without the fields that are equal in all cases
	}{
		{"text", `"type":"text","text":{"body":" Does it come in another color? "}`, chat.Inbound{Text: "Does it come in another color?"}},
		{"command", `"type":"text","text":{"body":"/Model big one"}`, chat.Inbound{Kind: chat.Command, Text: "/Model big one", Command: "model", Args: "big one"}},
		{"image", `"type":"image","image":{"caption":"Taj Mahal","mime_type":"image/jpeg","sha256":"x=","id":"1003383421387256"}`, chat.Inbound{Text: "Taj Mahal", Attachments: file("photo.jpg", "image/jpeg")}},
		{"a caption like a command", `"type":"image","image":{"caption":"/new","mime_type":"image/jpeg","id":"1003383421387256"}`, chat.Inbound{Text: "/new", Attachments: file("photo.jpg", "image/jpeg")}},
		{"voice", `"type":"audio","audio":{"mime_type":"audio/ogg; codecs=opus","id":"1003383421387256","voice":true}`, chat.Inbound{Attachments: file("voice.ogg", "audio/ogg")}},
		{"audio", `"type":"audio","audio":{"mime_type":"audio/mpeg","id":"1003383421387256","voice":false}`, chat.Inbound{Attachments: file("audio.mp3", "audio/mpeg")}},
		{"video", `"type":"video","video":{"mime_type":"video/mp4","id":"1003383421387256"}`, chat.Inbound{Attachments: file("video.mp4", "video/mp4")}},
		{"sticker", `"type":"sticker","sticker":{"mime_type":"image/webp","id":"1003383421387256","animated":false}`, chat.Inbound{Attachments: file("sticker.webp", "image/webp")}},
		{"document", `"type":"document","document":{"caption":"read this","filename":"a b.pdf","mime_type":"application/pdf","id":"1003383421387256"}`, chat.Inbound{Text: "read this", Attachments: file("a b.pdf", "application/pdf")}},
		{"location", `"type":"location","location":{"latitude":37.44,"longitude":-122.16,"name":"Philz"}`, chat.Inbound{Attachments: []chat.Attachment{{Name: "location"}}}},
		{"contacts", `"type":"contacts","contacts":[{"name":{"formatted_name":"Barbara"}}]`, chat.Inbound{Attachments: []chat.Attachment{{Name: "contact"}}}},
		{"unsupported", `"type":"unsupported","errors":[{"code":131051,"title":"Message type unknown"}]`, chat.Inbound{Attachments: []chat.Attachment{{Name: "message"}}}},
		{"forwarded", `"context":{"forwarded":true},"type":"text","text":{"body":"/new"}`, chat.Inbound{Text: "/new", Origin: chat.Forwarded}},
		{"forwarded often", `"context":{"frequently_forwarded":true},"type":"text","text":{"body":"news!"}`, chat.Inbound{Text: "news!", Origin: chat.Forwarded}},
		{"press", `"context":{"from":"15550783881","id":"wamid.Q"},"type":"interactive","interactive":{"type":"button_reply","button_reply":{"id":"approve:3f","title":"Allow"}}`, chat.Inbound{Kind: chat.Button, Action: "approve:3f"}},
		{"template button", `"type":"button","button":{"payload":"x","text":"Tell me more"}`, chat.Inbound{Text: "Tell me more"}},
		{"edit", `"type":"edit","edit":{"original_message_id":"wamid.O","message":{"type":"text","text":{"body":"changed"}}}`, chat.Inbound{Kind: chat.Edited, ID: "wamid.O", Text: "changed"}},
		{"edited caption", `"type":"edit","edit":{"original_message_id":"wamid.O","message":{"type":"image","image":{"caption":"new","mime_type":"image/jpeg","id":"1"}}}`, chat.Inbound{Kind: chat.Edited, ID: "wamid.O", Text: "new"}},
		{"revoke", `"type":"revoke","revoke":{"original_message_id":"wamid.O"}`, chat.Inbound{Kind: chat.Deleted, ID: "wamid.O"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := decode(by(c.content), numberID)
			if len(n.messages) != 1 || len(n.problems) != 0 {
				t.Fatalf("decoded %+v", n)
			}
			want := c.want
			want.To, want.Addressed, want.At = chat.Target{Chat: "US.13491208655302741918"}, true, time.Unix(1749416383, 0)
			want.Sender = chat.Sender{ID: "US.13491208655302741918", Name: "Sheena Nelson"}
			want.Resume = "1749416383 wamid.A"
			if want.ID == "" {
				want.ID = "wamid.A"
			}
			if got := n.messages[0].in; !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// decode must use the user id as the person's id, no matter which field of the webhook contains the user id. If the
// webhook contains no user id, decode must use the phone number.
func TestDecodeSender(t *testing.T) {
	t.Parallel()
	const text = `"id":"wamid.A","timestamp":"1749416383","type":"text","text":{"body":"hi"}`
	for _, c := range []struct{ name, content, id, called string }{
		{"number alone", `"contacts":[` + pablo + `],"messages":[{"from":"5491112345678",` + text + `}]`, "5491112345678", "Pablo"},
		{"user id in the contact", `"contacts":[` + sheena + `],"messages":[{"from":"16505551234",` + text + `}]`, "US.13491208655302741918", "Sheena Nelson"},
		{"no number", `"contacts":[{"profile":{"username":"@sheena"},"user_id":"US.1"}],"messages":[{"from_user_id":"US.1",` + text + `}]`, "US.1", "@sheena"},
		{"no number, in the contact alone", `"contacts":[{"profile":{"name":"S"},"user_id":"US.1"}],"messages":[{` + text + `}]`, "US.1", "S"},
		{"of two", `"contacts":[` + pablo + `,` + sheena + `],"messages":[{"from":"16505551234",` + text + `}]`, "US.13491208655302741918", "Sheena Nelson"},
		{"no contacts", `"messages":[{"from":"16505551234",` + text + `}]`, "16505551234", ""},
		{"a contact of another form", `"contacts":[7,` + sheena + `],"messages":[{"from":"16505551234",` + text + `}]`, "US.13491208655302741918", "Sheena Nelson"},
	} {
		n := decode(notify(c.content), numberID)
		if len(n.messages) != 1 || string(n.messages[0].in.Sender.ID) != c.id || n.messages[0].in.Sender.Name != c.called || string(n.messages[0].in.To.Chat) != c.id {
			t.Errorf("%s: decoded %+v, want %s, %q", c.name, n, c.id, c.called)
		}
	}
}

// Some parts of a webhook are not messages for the bot, and some messages are invalid. The function decode must skip
// parts that are not messages and invalid messages, report the invalid messages without their text, and decode the next
// message.
func TestDecodeOthers(t *testing.T) {
	t.Parallel()
	good := `{` + incoming + `,"type":"text","text":{"body":"private words"}}`
	for _, c := range []struct {
		name, content      string
		messages, problems int
	}{
		{"a reaction", `"messages":[{` + incoming + `,"type":"reaction","reaction":{"message_id":"wamid.Q","emoji":"\ud83d\udc4d"}}]`, 0, 0},
		{"a group", `"messages":[{"group_id":"g",` + incoming + `,"type":"text","text":{"body":"private words"}}]`, 0, 0},
		{"an edit that is not told", `"messages":[{` + incoming + `,"type":"unsupported","unsupported":{"type":"edit"}}]`, 0, 0},
		{"an empty text", `"messages":[{` + incoming + `,"type":"text","text":{"body":" "}}]`, 0, 0},
		{"a form", `"messages":[{` + incoming + `,"type":"interactive","interactive":{"type":"nfm_reply"}}]`, 0, 0},
		{"an edit of nothing", `"messages":[{` + incoming + `,"type":"edit"}]`, 0, 0},
		{"no id", `"messages":[{"from":"1","timestamp":"1","type":"text","text":{"body":"private words"}},` + good + `]`, 1, 1},
		{"no sender", `"messages":[{"id":"wamid.B","timestamp":"1","type":"text","text":{"body":"private words"}},` + good + `]`, 1, 1},
		{"a sender with a colon", `"messages":[{"id":"wamid.B","from":"a:b","timestamp":"1","type":"text","text":{"body":"private words"}},` + good + `]`, 1, 1},
		{"no time", `"messages":[{"id":"wamid.B","from":"1","timestamp":"soon","type":"text","text":{"body":"private words"}},` + good + `]`, 1, 1},
		{"another form", `"messages":[{` + incoming + `,"type":"text","text":{"body":{"a":"b"}}},7,` + good + `]`, 1, 2},
		{"statuses", `"statuses":[{"id":"wamid.B","status":"delivered","timestamp":"1","recipient_id":"1"}]`, 0, 0},
		{"an error", `"errors":[{"code":130429,"title":"Rate limit hit","error_data":{"details":"too many"}}]`, 0, 1},
	} {
		n := decode(notify(c.content), numberID)
		if len(n.messages) != c.messages || len(n.problems) != c.problems {
			t.Errorf("%s: decoded %+v, want %d messages and %d problems", c.name, n, c.messages, c.problems)
		}
		for _, p := range n.problems {
			if strings.Contains(p.Error(), "private") {
				t.Errorf("%s: the problem quotes the message: %v", c.name, p)
			}
		}
	}
	text := string(by(`"type":"text","text":{"body":"private words"}`))
	for name, body := range map[string]string{
		"another number": strings.ReplaceAll(text, numberID, "1"),
		"another object": strings.ReplaceAll(text, "whatsapp_business_account", "page"),
		"another field":  strings.ReplaceAll(text, `"field":"messages"`, `"field":"account_update"`),
	} {
		if n := decode([]byte(body), numberID); len(n.messages)+len(n.problems) != 0 {
			t.Errorf("%s: decoded %+v, want nothing", name, n)
		}
	}
	for _, body := range []string{"", "null", "[]", text[:len(text)/2], `{"object":7}`, strings.ReplaceAll(text, `"value":{`, `"value":[{`)} {
		if n := decode([]byte(body), numberID); len(n.messages) != 0 {
			t.Errorf("%.40s: decoded %+v", body, n)
		}
	}
}

// In this test, a webhook contains several entries with several messages. The function decode must return all messages
// in order.
func TestDecodeBatch(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range 5 {
		list = append(list, fmt.Sprintf(`{"from":"16505551234","id":"wamid.%d","timestamp":"%d","type":"text","text":{"body":"%d"}}`, i, 1749416383+i, i))
	}
	one := string(notify(`"contacts":[` + sheena + `],"messages":[` + strings.Join(list[:3], ",") + `]`))
	two := string(notify(`"contacts":[` + sheena + `],"messages":[` + strings.Join(list[3:], ",") + `]`))
	entry := func(s string) string { return s[strings.Index(s, "[")+1 : len(s)-2] }
	n := decode([]byte(`{"object":"whatsapp_business_account","entry":[`+entry(one)+`,`+entry(two)+`]}`), numberID)
	var got []string
	for _, m := range n.messages {
		got = append(got, m.in.Text)
	}
	if strings.Join(got, "") != "01234" || len(n.problems) != 0 {
		t.Errorf("decoded %q, %v", got, n.problems)
	}
}

func TestDecodeNews(t *testing.T) {
	t.Parallel()
	n := decode(notify(`"statuses":[{"id":"wamid.B","status":"failed","timestamp":"1","recipient_id":"16505551234","recipient_user_id":"US.1",`+
		`"errors":[{"code":131047,"title":"Re-engagement message","message":"Re-engagement message","error_data":{"details":"more than 24 hours"}}]}]`), numberID)
	if want := (deliveryFailure{id: "wamid.B", chat: "US.1", code: 131047, description: "Re-engagement message: more than 24 hours"}); len(n.statuses) != 1 || n.statuses[0] != want {
		t.Errorf("decoded %+v, want %+v", n, want)
	}
	n = decode(notify(`"messages":[{"id":"wamid.C","timestamp":"1","type":"system","system":{"body":"x","user_id":"MX.2","previous_user_id":"CO.1","type":"user_changed_user_id"}}]`), numberID)
	if want := (userIDChange{"CO.1", "MX.2"}); len(n.changes) != 1 || n.changes[0] != want || len(n.messages)+len(n.problems) != 0 {
		t.Errorf("decoded %+v, want %+v", n, want)
	}
}

// In this test, a person replies to a message, and WhatsApp sends only the id of that message. If this process
// remembers the message, the bot must quote its text. If the process does not remember the message, the quote must say
// that the text is unknown.
func TestReplies(t *testing.T) {
	t.Parallel()
	b := New(Options{})
	known := chat.Quote{Own: true, Text: "The answer."}
	b.rememberText("US.13491208655302741918", "wamid.K", known)
	b.rememberText("US.2", "wamid.U", chat.Quote{Text: "of another chat"})
	for _, c := range []struct {
		context string
		want    []chat.Quote
	}{
		{`{"from":"15550783881","id":"wamid.K"}`, []chat.Quote{known}},
		{`{"from":"15550783881","id":"wamid.U"}`, []chat.Quote{{Own: true, Text: unknownText, ID: "wamid.U"}}},
		{`{"from":"16505551234","id":"wamid.U"}`, []chat.Quote{{Text: unknownText, ID: "wamid.U"}}},
		{`{"id":"wamid.U"}`, []chat.Quote{{Text: unknownText, ID: "wamid.U"}}},
		{`{"forwarded":true}`, nil},
	} {
		n := decode(by(`"context":`+c.context+`,"type":"text","text":{"body":"why?"}`), numberID)
		if got := b.quotes(n.messages[0]); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.context, got, c.want)
		}
	}
}

// In this test, a person replies to a message of the bot. The bot must quote the text of the bot's message, but not if
// the message with this id is in another chat.
func TestRepliesToTheBot(t *testing.T) {
	t.Parallel()
	a := connect(t, answer{200, sent, nil})
	if _, err := a.Send(t.Context(), person(), chat.Outgoing{Text: "*an answer*", Plain: "an answer"}); err != nil {
		t.Fatal(err)
	}
	for to, want := range map[chat.ChatID]string{person().Chat: "an answer", "US.2": unknownText} {
		in := chat.Inbound{To: chat.Target{Chat: to}, Kind: chat.Text, Text: "why?"}
		if q := a.quotes(receivedMessage{in: in, replied: "wamid.S", repliesToBot: true}); len(q) != 1 || !q[0].Own || q[0].Text != want {
			t.Errorf("%s: %+v, want %q", to, q, want)
		}
	}
}

// In this test, another process received a reply to a message that this process sent. After Adopt, this process must
// quote the text of its own message, and Typing must mark the reply as read.
func TestAdoptsWhatAnotherProcessReceived(t *testing.T) {
	t.Parallel()
	a := connect(t, answer{200, sent, nil}, answer{200, `{"success":true}`, nil})
	if _, err := a.Send(t.Context(), person(), chat.Outgoing{Text: "an answer", Plain: "an answer"}); err != nil {
		t.Fatal(err)
	}
	in := chat.Inbound{To: person(), ID: "wamid.R", Kind: chat.Text, Text: "why?"}
	in.Quotes = New(Options{}).quotes(receivedMessage{in: in, replied: "wamid.S", repliesToBot: true})
	adopted := a.Adopt(in)
	if q := adopted.Quotes[0]; in.Quotes[0].Text != unknownText || q.Text != "an answer" || !q.Own || q.ID != "" {
		t.Errorf("got %+v", q)
	}
	if err := a.Typing(t.Context(), in.To); err != nil || !strings.Contains(a.requests[1].body, `"message_id":"wamid.R"`) {
		t.Errorf("Typing = %v, %+v", err, a.requests)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(by(`"type":"text","text":{"body":"hi"}`))
	f.Add(by(`"context":{"from":"1","id":"wamid.B"},"type":"image","image":{"caption":"x","mime_type":"image/jpeg","id":"1"}`))
	f.Add(by(`"type":"edit","edit":{"original_message_id":"wamid.O","message":{"type":"text","text":{"body":"changed"}}}`))
	f.Add(notify(`"statuses":[{"id":"wamid.B","status":"failed","errors":[{"code":1}]}]`))
	f.Add([]byte(`{"object":"whatsapp_business_account","entry":[{"changes":[{"field":"messages","value":null}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, m := range decode(body, numberID).messages {
			in := m.in
			if in.ID == "" || in.Sender.ID == "" || strings.Contains(string(in.To.Chat), ":") || in.Resume == "" || !in.Addressed || len(in.Sender.Name) > maxName ||
				!utf8.ValidString(in.Sender.Name) || in.Kind == chat.Command && in.Origin != chat.Typed {
				t.Errorf("decoded %+v", in)
			}
		}
	})
}
