package telegram

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"telex/internal/chat"
)

const (
	mentioning = `"text":"@Telex_Bot why?","entities":[{"type":"mention","offset":0,"length":10}]`
	ofBo       = `"message_id":9,"date":1,"chat":{"id":-100200300,"type":"supergroup"},"from":{"id":8,"first_name":"Bo"}`
	ofBot      = `"message_id":9,"date":1,"chat":{"id":-100200300,"type":"supergroup"},"from":{"id":4242,"is_bot":true,"first_name":"Telex"}`
)

func decoded(t *testing.T, update string) (chat.Inbound, bool) {
	t.Helper()
	in, _, found, err := decode(json.RawMessage(update), testSelf)
	if err != nil {
		t.Fatal(err)
	}
	return in, found
}

func TestQuotes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, message string
		want          []chat.Quote
	}{
		{"a text", `"reply_to_message":{` + ofBo + `,"text":" The sea rises. "}`, []chat.Quote{{Author: "Bo", Text: " The sea rises. "}}},
		{
			"a picture with a caption", `"reply_to_message":{` + ofBo + `,"caption":"The pier","photo":[{"file_id":"s"},{"file_id":"l","file_size":9}]}`,
			[]chat.Quote{{Author: "Bo", Text: "The pier", Attachments: []chat.Attachment{{ID: "l", Name: "photo.jpg", MediaType: "image/jpeg", Size: 9}}}},
		},
		{
			"a place", `"reply_to_message":{` + ofBo + `,"location":{"latitude":1}}`,
			[]chat.Quote{{Author: "Bo", Attachments: []chat.Attachment{{Name: "location"}}}},
		},
		{
			"the part that the sender marked", `"reply_to_message":{` + ofBo + `,"text":"The sea rises."},"quote":{"text":"sea","position":4,"is_manual":true}`,
			[]chat.Quote{{Author: "Bo", Text: "sea", Part: true}},
		},
		{
			"a part that Telegram chose", `"reply_to_message":{` + ofBo + `,"text":"The sea rises."},"quote":{"text":"The sea","position":0}`,
			[]chat.Quote{{Author: "Bo", Text: "The sea rises."}},
		},
		{"the bot's own", `"reply_to_message":{` + ofBot + `,"text":"x"}`, []chat.Quote{{Author: "Telex", Own: true, Text: "x"}}},
		{"the bot's own of a kind without a text", `"reply_to_message":{` + ofBot + `,"rich_message":{}}`, []chat.Quote{{Author: "Telex", Own: true}}},
		{
			"what was forwarded before", `"reply_to_message":{` + ofBo + `,"text":"x","forward_origin":{"type":"channel","chat":{"id":-1009,"title":"News"}}}`,
			[]chat.Quote{{Author: "News", Text: "x"}},
		},
		{
			"a channel's post in its group", `"reply_to_message":{"message_id":9,"from":{"id":777000,"first_name":"Telegram"},"sender_chat":{"id":-1009,"title":"News"},"is_automatic_forward":true,"text":"x"}`,
			[]chat.Quote{{Author: "News", Text: "x"}},
		},
		{
			"a message of another chat",
			`"external_reply":{"origin":{"type":"user","sender_user":{"id":8,"first_name":"Bo","last_name":"Li"}},"document":{"file_id":"d","file_name":"a.pdf"}},"quote":{"text":"see page 3"}`,
			[]chat.Quote{{Author: "Bo Li", Text: "see page 3", Attachments: []chat.Attachment{{ID: "d", Name: "a.pdf"}}}},
		},
		{
			"a marked part of another chat", `"external_reply":{"origin":{"type":"hidden_user","sender_user_name":"Cy"}},"quote":{"text":"page","is_manual":true}`,
			[]chat.Quote{{Author: "Cy", Text: "page", Part: true}},
		},
		{
			"the bot's own in another chat", `"external_reply":{"origin":{"type":"user","sender_user":{"id":4242,"is_bot":true,"first_name":"Telex"}}}`,
			[]chat.Quote{{Author: "Telex", Own: true}},
		},
		{"nothing readable of another chat", `"external_reply":{"origin":{"type":"chat","sender_chat":{"title":"Club"}}}`, nil},
		{"a service message", `"reply_to_message":{` + ofBo + `,"new_chat_title":"Club"}`, nil},
		{"the first message of its topic", `"message_thread_id":9,"is_topic_message":true,"reply_to_message":{` + ofBo + `,"forum_topic_created":{"name":"x"},"text":"x"}`, nil},
		{"no reply", `"reply_to_message":null,"external_reply":null,"quote":null`, nil},
		{"of another form", `"reply_to_message":[1],"external_reply":3,"quote":"x"`, nil},
		{
			"partly of another form", `"reply_to_message":{` + ofBo + `,"text":"x","photo":5,"forward_origin":7},"quote":{"text":["x"]}`,
			[]chat.Quote{{Text: "x"}},
		},
		{
			"hostile lengths", `"reply_to_message":{"message_id":9,"from":{"id":8,"first_name":"` + strings.Repeat("ö", 300) + `"},"text":"` + strings.Repeat("🦊", 5000) + `"}`,
			[]chat.Quote{{Author: strings.Repeat("ö", 256), Text: strings.Repeat("🦊", 4096)}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in, found := decoded(t, `{"update_id":1,"message":{`+inGroup+`,`+ann+`,`+mentioning+`,`+c.message+`}}`)
			if !found || in.Text != "why?" || !in.Addressed || !reflect.DeepEqual(in.Quotes, c.want) {
				t.Errorf("got  %+v of %q\nwant %+v", in.Quotes, in.Text, c.want)
			}
		})
	}
	bare, found := decoded(t, `{"update_id":1,"message":{`+inGroup+`,`+ann+`,"text":"@Telex_Bot","entities":[{"type":"mention","offset":0,"length":10}],"reply_to_message":{`+ofBo+`,"text":"x"}}}`)
	if want := []chat.Quote{{Author: "Bo", Text: "x"}}; !found || !bare.Addressed || bare.Text != "" || !reflect.DeepEqual(bare.Quotes, want) {
		t.Errorf("a bare mention that replies to something is %+v", bare)
	}
}

func TestAuthorOfForward(t *testing.T) {
	t.Parallel()
	for origin, want := range map[string]string{
		`{"type":"user","sender_user":{"id":8,"first_name":"Bo","last_name":"Li","username":"bo"}}`: "Bo Li",
		`{"type":"hidden_user","sender_user_name":"Cy"}`:                                            "Cy",
		`{"type":"chat","sender_chat":{"id":-5,"title":"Club"},"author_signature":"boss"}`:          "Club",
		`{"type":"channel","chat":{"id":-5,"title":"News"},"message_id":1}`:                         "News",
		`{"type":"new"}`:                               "",
		`{"type":"user","sender_user":"Bo"}`:           "",
		`{"type":"hidden_user","sender_user_name":[]}`: "",
	} {
		in, _ := decoded(t, `{"update_id":1,"message":{`+inPrivate+`,`+ann+`,"text":"hi","forward_origin":`+origin+`}}`)
		if in.Origin != chat.Forwarded || in.Author != want || in.Quotes != nil {
			t.Errorf("%s is of %q (%s), want %q", origin, in.Author, in.Origin, want)
		}
	}
}

// The bot must treat a reply to one of its messages as addressed to the bot, unless the reply mentions somebody else
// and not the bot.
func TestAddressed(t *testing.T) {
	t.Parallel()
	const reply = `,"reply_to_message":{` + ofBot + `,"text":"x"}`
	for message, want := range map[string]bool{
		`"text":"go on"` + reply: true,
		`"text":"@bob_1 see","entities":[{"type":"mention","offset":0,"length":6}]` + reply:                                                                           false,
		`"text":"Bo see","entities":[{"type":"text_mention","offset":0,"length":2,"user":{"id":8}}]` + reply:                                                          false,
		`"text":"@bob_1 @Telex_Bot see","entities":[{"type":"mention","offset":0,"length":6},{"type":"mention","offset":7,"length":10}]` + reply:                      true,
		`"text":"/new @bob_1","entities":[{"type":"bot_command","offset":0,"length":4},{"type":"mention","offset":5,"length":6}]` + reply:                             true,
		`"caption":"@bob_1 see","photo":[{"file_id":"p"}],"caption_entities":[{"type":"mention","offset":0,"length":6}]` + reply:                                      false,
		`"text":"@bob_1 see","entities":[{"type":"mention","offset":0,"length":6}],"reply_to_message":{` + ofBo + `,"text":"x"}`:                                      false,
		`"text":"@Telex_Bot see","entities":[{"type":"mention","offset":0,"length":10}],"reply_to_message":{` + ofBo + `,"text":"x"}`:                                 true,
		`"text":"see","external_reply":{"origin":{"type":"user","sender_user":{"id":4242,"is_bot":true}},"chat":{"id":-5,"type":"supergroup"},"message_id":5}`:        false,
		`"text":"@bob_1 @telex_bot","entities":[{"type":"mention","offset":0,"length":6},{"type":"mention","offset":7,"length":10}]` + reply + `,"media_group_id":""`: true,
	} {
		in, found := decoded(t, `{"update_id":1,"message":{`+inGroup+`,`+ann+`,`+message+`}}`)
		if !found || in.Addressed != want || in.Follows {
			t.Errorf("%s: addressed %t, follows %t (found %t), want %t, false", message, in.Addressed, in.Follows, found, want)
		}
	}
	if in, _ := decoded(t, `{"update_id":1,"message":{`+inPrivate+`,`+ann+`,"text":"@bob_1 see","entities":[{"type":"mention","offset":0,"length":6}]`+reply+`}}`); !in.Addressed {
		t.Error("a message in private is not addressed")
	}
}

func TestEdited(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, message, want string }{ // want is "" if the bot must ignore the message
		{"a text", inPrivate + `,` + ann + `,"edit_date":4102444900,"text":"better"`, "better"},
		{"a caption", inPrivate + `,` + ann + `,"caption":"better","photo":[{"file_id":"p"}]`, "better"},
		{"a command now", inPrivate + `,` + ann + `,"text":"/new","entities":[{"type":"bot_command","offset":0,"length":4}]`, "/new"},
		{"as long as a piece of a paste", inPrivate + `,` + ann + `,"text":"` + strings.Repeat("x", 4000) + `"`, strings.Repeat("x", 4000)},
		{"a place that moves", inPrivate + `,` + ann + `,"location":{"latitude":1,"live_period":60}`, ""},
		{"a file without a caption", inPrivate + `,` + ann + `,"document":{"file_id":"d"}`, ""},
		{"the bot's own", inPrivate + `,"from":{"id":4242,"is_bot":true},"text":"x"`, ""},
		{"a migration", inGroup + `,` + ann + `,"migrate_to_chat_id":-100200300`, ""},
	} {
		in, found := decoded(t, `{"update_id":1,"edited_message":{`+c.message+`}}`)
		if found != (c.want != "") {
			t.Errorf("%s: found %t", c.name, found)
		}
		if found && (in.Kind != chat.Edited || in.ID != "11" || in.Text != c.want || in.Sender.ID != "7" || in.Command != "" || in.Args != "" || in.More || in.To != private) {
			t.Errorf("%s: got %+v", c.name, in)
		}
	}
}

// In this test, a person presses the stop button of a draft. The adapter must decode the press of the stop button as a
// button press by the only person in the chat.
func TestStoppedDraft(t *testing.T) {
	t.Parallel()
	in, found := decoded(t, `{"update_id":88,"stopped_message_generation":{"chat":{"id":7,"type":"private","first_name":"Ann","last_name":"Lee"},"message_thread_id":5,"draft_id":12}}`)
	if !found || in.Kind != chat.Button || in.Action != chat.DraftAction(12) || in.ID != "s88" || !in.Addressed || in.Reply ||
		in.Sender != (chat.Sender{ID: "7", Name: "Ann Lee"}) || in.To != (chat.Target{Chat: "7", Thread: "5", Kind: chat.Private}) || in.At.IsZero() {
		t.Errorf("got %+v (found %t)", in, found)
	}
	for _, wrong := range []string{`{}`, `{"chat":null}`, `{"chat":{"type":"private"}}`, `{"chat":{"id":-7,"type":"group"},"draft_id":1}`, `{"chat":{"id":7,"type":"private"}}`} {
		if in, found := decoded(t, `{"update_id":88,"stopped_message_generation":`+wrong+`}`); found {
			t.Errorf("%s is %+v", wrong, in)
		}
	}
}

func TestClipCutsBetweenCharacters(t *testing.T) {
	t.Parallel()
	for most := range 12 {
		got := clip("añ🦊z…", most)
		if len(got) > most || most-len(got) > 3 || !utf8.ValidString(got) || !strings.HasPrefix("añ🦊z…", got) {
			t.Errorf("%d bytes: %q", most, got)
		}
	}
}
