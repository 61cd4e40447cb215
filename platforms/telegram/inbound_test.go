package telegram

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
	"pgregory.net/rapid"

	"telex/internal/chat"
)

var testSelf = tgbotapi.User{ID: 4242, IsBot: true, UserName: "Telex_Bot"}

const (
	ann       = `"from":{"id":7,"is_bot":false,"first_name":"Ann","last_name":"Lee"}`
	inPrivate = `"message_id":11,"date":4102444800,"chat":{"id":7,"type":"private","first_name":"Ann"}`
	inGroup   = `"message_id":11,"date":4102444800,"chat":{"id":-100200300,"type":"supergroup","title":"Club"}`
)

func TestDecode(t *testing.T) {
	t.Parallel()
	at := time.Unix(4102444800, 0)
	annLee := chat.Sender{ID: "7", Name: "Ann Lee"}
	direct := func(edit func(*chat.Inbound)) *chat.Inbound {
		in := chat.Inbound{To: private, Sender: annLee, ID: "11", Addressed: true, At: at}
		edit(&in)
		return &in
	}
	public := func(edit func(*chat.Inbound)) *chat.Inbound {
		in := chat.Inbound{To: group, Sender: annLee, ID: "11", Reply: true, At: at}
		edit(&in)
		return &in
	}
	migrated := func() *chat.Inbound {
		return &chat.Inbound{To: chat.Target{Chat: "-200300", Kind: chat.Group}, ID: "11", Kind: chat.Migration, MovedTo: "-100200300", At: at}
	}
	for _, c := range []struct {
		name, message string
		want          *chat.Inbound // nil: the bot must ignore the message
	}{
		{"private", inPrivate + `,` + ann + `,"text":" hello "`, direct(func(in *chat.Inbound) { in.Text = "hello" })},
		{
			"private topic", inPrivate + `,` + ann + `,"text":"hi","message_thread_id":5,"is_topic_message":true`,
			direct(func(in *chat.Inbound) { in.Text = "hi"; in.To.Thread = "5" }),
		},
		{"group, not meant", inGroup + `,` + ann + `,"text":"hello all"`, public(func(in *chat.Inbound) { in.Text = "hello all" })},
		{
			"basic group", strings.Replace(inGroup, "supergroup", "group", 1) + `,` + ann + `,"text":"hello all"`,
			public(func(in *chat.Inbound) { in.Text = "hello all" }),
		},
		{"channel post", strings.Replace(inGroup, "supergroup", "channel", 1) + `,"text":"news"`, nil},
		{
			"mention first, other case, comma", inGroup + `,` + ann + `,"text":"@telex_bot, why 🦊?","entities":[{"type":"mention","offset":0,"length":10}]`,
			public(func(in *chat.Inbound) { in.Text = "why 🦊?"; in.Addressed = true }),
		},
		{
			"mention after an emoji", inGroup + `,` + ann + `,"text":"🦊🦊 ask @Telex_Bot now","entities":[{"type":"mention","offset":9,"length":10}]`,
			public(func(in *chat.Inbound) { in.Text = "🦊🦊 ask now"; in.Addressed = true }),
		},
		{
			"mention last", inGroup + `,` + ann + `,"text":"why? @Telex_Bot","entities":[{"type":"mention","offset":5,"length":10}]`,
			public(func(in *chat.Inbound) { in.Text = "why?"; in.Addressed = true }),
		},
		{
			"mention twice, unordered", inGroup + `,` + ann + `,"text":"@Telex_Bot a @Telex_Bot","entities":[{"type":"mention","offset":13,"length":10},{"type":"mention","offset":0,"length":10}]`,
			public(func(in *chat.Inbound) { in.Text = "a"; in.Addressed = true }),
		},
		{
			"mention of another", inGroup + `,` + ann + `,"text":"@other_bot hi","entities":[{"type":"mention","offset":0,"length":10}]`,
			public(func(in *chat.Inbound) { in.Text = "@other_bot hi" }),
		},
		{
			"mention in plain text only", inGroup + `,` + ann + `,"text":"mail a@Telex_Bot"`,
			public(func(in *chat.Inbound) { in.Text = "mail a@Telex_Bot" }),
		},
		{
			"mention by id", inGroup + `,` + ann + `,"text":"Telex: hi","entities":[{"type":"text_mention","offset":0,"length":5,"user":{"id":4242,"is_bot":true,"first_name":"Telex"}}]`,
			public(func(in *chat.Inbound) { in.Text = "hi"; in.Addressed = true }),
		},
		{
			"mention of another by id", inGroup + `,` + ann + `,"text":"Bo: hi","entities":[{"type":"text_mention","offset":0,"length":2,"user":{"id":8,"first_name":"Bo"}}]`,
			public(func(in *chat.Inbound) { in.Text = "Bo: hi" }),
		},
		{
			"bare mention", inGroup + `,` + ann + `,"text":"@Telex_Bot","entities":[{"type":"mention","offset":0,"length":10}]`,
			public(func(in *chat.Inbound) { in.Addressed = true }),
		},
		{
			"entities out of the text", inGroup + `,` + ann + `,"text":"hi","entities":[{"type":"mention","offset":1,"length":10},{"type":"mention","offset":-1,"length":1},{"type":"mention","offset":9223372036854775807,"length":9223372036854775807},{"type":"bot_command","offset":0,"length":0}]`,
			public(func(in *chat.Inbound) { in.Text = "hi" }),
		},
		{
			"reply to the bot", inGroup + `,` + ann + `,"text":"go on","message_thread_id":9,"reply_to_message":{"message_id":9,"date":1,"chat":{"id":-100200300,"type":"supergroup"},"from":{"id":4242,"is_bot":true},"text":"x"}`,
			public(func(in *chat.Inbound) {
				in.Text, in.Addressed, in.Quotes = "go on", true, []chat.Quote{{Own: true, Text: "x"}}
			}),
		},
		{
			"reply to another", inGroup + `,` + ann + `,"text":"go on","reply_to_message":{"message_id":9,"date":1,"chat":{"id":-100200300,"type":"supergroup"},"from":{"id":8},"text":"x"}`,
			public(func(in *chat.Inbound) { in.Text, in.Quotes = "go on", []chat.Quote{{Text: "x"}} }),
		},
		{
			"topic that the bot opened", inGroup + `,` + ann + `,"text":"hi","message_thread_id":3,"is_topic_message":true,"reply_to_message":{"message_id":3,"from":{"id":4242,"is_bot":true}}`,
			public(func(in *chat.Inbound) { in.Text = "hi"; in.To.Thread = "3" }),
		},
		{
			"reply to the bot in a topic", inGroup + `,` + ann + `,"text":"hi","message_thread_id":3,"is_topic_message":true,"reply_to_message":{"message_id":4,"from":{"id":4242,"is_bot":true}}`,
			public(func(in *chat.Inbound) {
				in.Text, in.To.Thread, in.Addressed, in.Quotes = "hi", "3", true, []chat.Quote{{Own: true}}
			}),
		},
		{
			"command", inPrivate + `,` + ann + `,"text":"/Model  gpt 5 ","entities":[{"type":"bot_command","offset":0,"length":6}]`,
			direct(func(in *chat.Inbound) {
				in.Kind, in.Command, in.Args, in.Text = chat.Command, "model", "gpt 5", "/Model  gpt 5"
			}),
		},
		{
			"bare command in a group", inGroup + `,` + ann + `,"text":"/new","entities":[{"type":"bot_command","offset":0,"length":4}]`,
			public(func(in *chat.Inbound) {
				in.Kind, in.Command, in.Text, in.Addressed = chat.Command, "new", "/new", true
			}),
		},
		{
			"command by name", inGroup + `,` + ann + `,"text":"/model@TELEX_bot a @Telex_Bot","entities":[{"type":"bot_command","offset":0,"length":16},{"type":"mention","offset":19,"length":10}]`,
			public(func(in *chat.Inbound) {
				in.Kind, in.Command, in.Args, in.Text, in.Addressed = chat.Command, "model", "a", "/model a", true
			}),
		},
		{"command of another bot", inGroup + `,` + ann + `,"text":"/new@other_bot","entities":[{"type":"bot_command","offset":0,"length":14}]`, nil},
		{
			"command in the middle", inPrivate + `,` + ann + `,"text":"try /new","entities":[{"type":"bot_command","offset":4,"length":4}]`,
			direct(func(in *chat.Inbound) { in.Text = "try /new" }),
		},
		{"slash without entity", inPrivate + `,` + ann + `,"text":"/etc/passwd?"`, direct(func(in *chat.Inbound) { in.Text = "/etc/passwd?" })},
		{
			"caption with photo", inGroup + `,` + ann + `,"caption":"@Telex_Bot what is it","caption_entities":[{"type":"mention","offset":0,"length":10}],"photo":[{"file_id":"small","file_size":9},{"file_id":"large","file_size":90}]`,
			public(func(in *chat.Inbound) {
				in.Text, in.Addressed = "what is it", true
				in.Attachments = []chat.Attachment{{ID: "large", Name: "photo.jpg", MediaType: "image/jpeg", Size: 90}}
			}),
		},
		{
			"files", inPrivate + `,` + ann + `,"document":{"file_id":"d","file_name":"a.pdf","mime_type":"application/pdf","file_size":5000000000},"voice":{"file_id":"v"},"audio":{"file_id":"a","mime_type":"audio/mpeg"},"video":{"file_id":"w","mime_type":"video/mp4"}`,
			direct(func(in *chat.Inbound) {
				in.Attachments = []chat.Attachment{
					{ID: "d", Name: "a.pdf", MediaType: "application/pdf", Size: 5000000000},
					{ID: "v", Name: "voice.ogg", MediaType: "audio/ogg"},
					{ID: "a", Name: "audio.mp3", MediaType: "audio/mpeg"},
					{ID: "w", Name: "video.mp4", MediaType: "video/mp4"},
				}
			}),
		},
		{
			"part of an album", inPrivate + `,` + ann + `,"media_group_id":"13","photo":[{"file_id":"p"}]`,
			direct(func(in *chat.Inbound) {
				in.Attachments = []chat.Attachment{{ID: "p", Name: "photo.jpg", MediaType: "image/jpeg"}}
				in.More = true
			}),
		},
		{
			"as long as a piece of a paste", inPrivate + `,` + ann + `,"text":"` + strings.Repeat("🦊", 2000) + `"`,
			direct(func(in *chat.Inbound) { in.Text = strings.Repeat("🦊", 2000); in.More = true }),
		},
		{
			"shorter than a piece of a paste", inPrivate + `,` + ann + `,"text":"` + strings.Repeat("ä", 3999) + `"`,
			direct(func(in *chat.Inbound) { in.Text = strings.Repeat("ä", 3999) }),
		},
		{
			"command by name in a caption", inGroup + `,` + ann + `,"caption":"/NEW@telex_bot now","caption_entities":[{"type":"bot_command","offset":0,"length":14}],"document":{"file_id":"d","file_name":"a.txt"}`,
			public(func(in *chat.Inbound) {
				in.Kind, in.Command, in.Args, in.Text, in.Addressed = chat.Command, "new", "now", "/NEW now", true
				in.Attachments = []chat.Attachment{{ID: "d", Name: "a.txt"}}
			}),
		},
		{"command of another bot in a caption", inGroup + `,` + ann + `,"caption":"/new@telex_bot2","caption_entities":[{"type":"bot_command","offset":0,"length":15}],"document":{"file_id":"d"}`, nil},
		{
			"another bot", inGroup + `,"from":{"id":9,"is_bot":true,"first_name":"Other"},"text":"hi"`,
			public(func(in *chat.Inbound) { in.Text = "hi"; in.Sender = chat.Sender{ID: "9", Name: "Other", Bot: true} }),
		},
		{"own message", inGroup + `,"from":{"id":4242,"is_bot":true,"first_name":"Telex"},"text":"hi"`, nil},
		{"via the bot itself", inGroup + `,` + ann + `,"via_bot":{"id":4242,"is_bot":true},"text":"hi"`, nil},
		{"via another bot", inPrivate + `,` + ann + `,"via_bot":{"id":9,"is_bot":true},"text":"hi"`, direct(func(in *chat.Inbound) { in.Text, in.Origin = "hi", chat.ByBot })},
		{
			"forwarded", inPrivate + `,` + ann + `,"forward_origin":{"type":"hidden_user","date":1,"sender_user_name":"Bo"},"forward_date":1,"text":"hi"`,
			direct(func(in *chat.Inbound) { in.Text, in.Origin, in.Author = "hi", chat.Forwarded, "Bo" }),
		},
		{
			"forwarded by an older server", inPrivate + `,` + ann + `,"forward_from":{"id":8,"first_name":"Bo"},"forward_date":1,"caption":"hi","photo":[{"file_id":"p"}]`,
			direct(func(in *chat.Inbound) {
				in.Text, in.Origin = "hi", chat.Forwarded
				in.Attachments = []chat.Attachment{{ID: "p", Name: "photo.jpg", MediaType: "image/jpeg"}}
			}),
		},
		{"not forwarded", inPrivate + `,` + ann + `,"forward_origin":null,"forward_date":null,"text":"hi"`, direct(func(in *chat.Inbound) { in.Text = "hi" })},
		{
			"anonymous administrator", inGroup + `,"from":{"id":1087968824,"is_bot":true,"first_name":"Group","username":"GroupAnonymousBot"},"sender_chat":{"id":-100200300,"type":"supergroup","title":"Club"},"text":"hi"`,
			public(func(in *chat.Inbound) { in.Text = "hi"; in.Sender = chat.Sender{ID: "-100200300", Name: "Club"} }),
		},
		{"channel in its discussion group", inGroup + `,"from":{"id":777000,"first_name":"Telegram"},"sender_chat":{"id":-100900,"type":"channel","title":"News"},"is_automatic_forward":true,"text":"news"`, nil},
		{"no sender", inGroup + `,"text":"hi"`, nil},
		{
			"group that is a supergroup now, by its old id", strings.Replace(inGroup, "-100200300", "-200300", 1) + `,` + ann + `,"migrate_to_chat_id":-100200300`,
			migrated(),
		},
		{"the same by its new id", inGroup + `,` + ann + `,"migrate_from_chat_id":-200300`, migrated()},
		{"service message", inGroup + `,` + ann + `,"new_chat_members":[{"id":8,"first_name":"Bo"}]`, nil},
		{"pinned message", inGroup + `,` + ann + `,"pinned_message":{"message_id":3,"date":1,"chat":{"id":-100200300,"type":"supergroup"},"location":{"latitude":1}}`, nil},
		{"nothing where something could be", inPrivate + `,` + ann + `,"location":null,"photo":[],"sticker":null`, nil},
		{
			"unknown fields of odd types", inPrivate + `,` + ann + `,"text":"hi","poll":3,"forward_origin":[],"rich_message":{"blocks":1}`,
			direct(func(in *chat.Inbound) { in.Text, in.Origin = "hi", chat.Forwarded }),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, _, found, err := decode(json.RawMessage(`{"update_id":1,"message":{`+c.message+`}}`), testSelf)
			if err != nil {
				t.Fatal(err)
			}
			if c.want == nil {
				if found {
					t.Errorf("got %+v, want it ignored", got)
				}
				return
			}
			if !found || !reflect.DeepEqual(got, *c.want) {
				t.Errorf("got  %+v (found %t)\nwant %+v", got, found, *c.want)
			}
		})
	}
}

// The function attachments must give every attachment a name. If Telegram defines a media type for the kind of
// attachment, the attachment must also have this media type.
func TestAttachments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		message string
		want    chat.Attachment
	}{
		{`"photo":[{"file_id":"f","file_size":9}]`, chat.Attachment{ID: "f", Name: "photo.jpg", MediaType: "image/jpeg", Size: 9}},
		{`"document":{"file_id":"f"}`, chat.Attachment{ID: "f", Name: "document"}},
		{`"document":{"file_id":"f","file_name":"Ä b.PDF","mime_type":"application/pdf","file_size":-1}`, chat.Attachment{ID: "f", Name: "Ä b.PDF", MediaType: "application/pdf"}},
		{`"voice":{"file_id":"f","duration":3,"mime_type":"audio/ogg"}`, chat.Attachment{ID: "f", Name: "voice.ogg", MediaType: "audio/ogg"}},
		{`"audio":{"file_id":"f","mime_type":"audio/mp4","title":"Song"}`, chat.Attachment{ID: "f", Name: "audio.m4a", MediaType: "audio/mp4"}},
		{`"audio":{"file_id":"f","mime_type":"audio/x-rare"}`, chat.Attachment{ID: "f", Name: "audio", MediaType: "audio/x-rare"}},
		{`"video":{"file_id":"f","mime_type":"video/webm"}`, chat.Attachment{ID: "f", Name: "video.webm", MediaType: "video/webm"}},
		{`"video_note":{"file_id":"f","length":240}`, chat.Attachment{ID: "f", Name: "video.mp4", MediaType: "video/mp4"}},
		{`"animation":{"file_id":"f","file_name":"cat.gif.mp4"},"document":{"file_id":"f"}`, chat.Attachment{ID: "f", Name: "cat.gif.mp4", MediaType: "video/mp4"}},
		{`"sticker":{"file_id":"f","is_animated":false,"is_video":false}`, chat.Attachment{ID: "f", Name: "sticker.webp", MediaType: "image/webp"}},
		{`"sticker":{"file_id":"f","is_animated":true,"is_video":false}`, chat.Attachment{ID: "f", Name: "sticker.tgs", MediaType: "application/x-tgsticker"}},
		{`"sticker":{"file_id":"f","is_animated":false,"is_video":true}`, chat.Attachment{ID: "f", Name: "sticker.webm", MediaType: "video/webm"}},
		{`"venue":{"title":"Inn"},"location":{"latitude":1,"longitude":2}`, chat.Attachment{Name: "place"}},
		{`"location":{"latitude":1,"longitude":2}`, chat.Attachment{Name: "location"}},
		{`"contact":{"phone_number":"1"}`, chat.Attachment{Name: "contact"}},
		{`"poll":{"id":"1","question":"?"}`, chat.Attachment{Name: "poll"}},
		{`"dice":{"emoji":"🎲","value":6}`, chat.Attachment{Name: "dice"}},
		{`"game":{"title":"x"}`, chat.Attachment{Name: "game"}},
		{`"story":{"id":1}`, chat.Attachment{Name: "story"}},
		{`"checklist":{"title":"x"}`, chat.Attachment{Name: "checklist"}},
		{`"paid_media":{"star_count":1}`, chat.Attachment{Name: "paid media"}},
		{`"giveaway":{"winner_count":1}`, chat.Attachment{Name: "giveaway"}},
	} {
		in, _, found, err := decode(json.RawMessage(`{"update_id":1,"message":{`+inPrivate+`,`+ann+`,`+c.message+`}}`), testSelf)
		if err != nil || !found || !slices.Equal(in.Attachments, []chat.Attachment{c.want}) {
			t.Errorf("%s: got %+v (found %t, error %v), want %+v", c.message, in.Attachments, found, err, c.want)
		}
	}
}

func TestDecodeCallback(t *testing.T) {
	t.Parallel()
	press := func(rest string) string { return `{"update_id":1,"callback_query":{"id":"77",` + rest + `}}` }
	before := time.Now()
	got, _, found, err := decode(json.RawMessage(press(ann+`,"message":{`+inGroup+`,"message_thread_id":3,"is_topic_message":true,"from":{"id":4242}},"data":"stop:5"`)), testSelf)
	if err != nil || !found {
		t.Fatalf("found %t, error %v", found, err)
	}
	if got.At.Before(before) || got.At.After(time.Now()) {
		t.Errorf("at %v, want now", got.At)
	}
	got.At = time.Time{}
	want := chat.Inbound{
		To: chat.Target{Chat: "-100200300", Thread: "3", Kind: chat.Group}, Sender: chat.Sender{ID: "7", Name: "Ann Lee"},
		ID: "q77", Kind: chat.Button, Action: "stop:5", Addressed: true,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for _, rest := range []string{
		ann + `,"inline_message_id":"x","data":"a"`,
		`"message":{` + inGroup + `},"data":"a"`,
		ann + `,"message":{` + inGroup + `},"game_short_name":"g"`,
	} {
		if got, _, found, err := decode(json.RawMessage(press(rest)), testSelf); found || err != nil {
			t.Errorf("%s: got %+v, %v, want it ignored", rest, got, err)
		}
	}
}

// If an update can't be decoded, the error must not quote the update, because the update contains a person's text.
func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"update_id":1,"message":{"message_id":"secret text"}}`,
		`{"update_id":1,"message":"secret text"}`,
		`{"update_id":1,"message":{"text":"secret text"}}`,
		`{"update_id":1,"message":{"chat":{"id":1,"type":"private"},"text":"secret text"}}`,
		`{"update_id":1,"callback_query":{"id":"1","from":{"id":7},"message":{"message_id":5},"data":"secret text"}}`,
		`"secret text"`,
		`secret text`,
	} {
		_, _, found, err := decode(json.RawMessage(raw), testSelf)
		if found || err == nil {
			t.Errorf("%s: found %t, error %v, want an error", raw, found, err)
			continue
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error quotes the update: %v", err)
		}
	}
}

// The decoder must remove the mention of the bot from a text, and must keep the text before and after the mention.
func TestMentionLeavesTheRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-zäß🦊👩‍👧 \n]*`)
		before, after := word.Draw(t, "before"), word.Draw(t, "after")
		offset := len(utf16.Encode([]rune(before)))
		w := parseText(before+"@telex_bot"+after, []tgbotapi.MessageEntity{{Type: "mention", Offset: offset, Length: 10}}, testSelf)
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got, want := squeeze(w.text), squeeze(before+after); got != want || !w.mentioned {
			t.Fatalf("text = %q (mentioned %t), want %q", got, w.mentioned, want)
		}
	})
}

// No update may cause a panic, not even a panic from which decode would recover.
func FuzzDecode(f *testing.F) {
	f.Add(`{"update_id":1,"message":{` + inGroup + `,` + ann + `,"text":"/a@Telex_Bot 🦊 @Telex_Bot","entities":[{"type":"bot_command","offset":0,"length":12},{"type":"mention","offset":16,"length":10}]}}`)
	f.Add(`{"update_id":1,"message":{` + inPrivate + `,` + ann + `,"caption":"x","photo":[{"file_id":"a"}],"reply_to_message":{"from":null}}}`)
	f.Add(`{"update_id":1,"callback_query":{"id":"1",` + ann + `,"message":{` + inPrivate + `},"data":"x"}}`)
	f.Add(`{"update_id":1,"message":{` + inGroup + `,` + ann + `,"text":"why","reply_to_message":{"message_id":9,"from":{"id":8},"text":"x"},"quote":{"text":"x","is_manual":true},"external_reply":{"origin":{"type":"channel","chat":{"title":"News"}},"photo":[{"file_id":"p"}]}}}`)
	f.Add(`{"update_id":1,"edited_message":{` + inPrivate + `,` + ann + `,"text":"x","forward_origin":{"type":"user","sender_user":{"first_name":"Bo"}}}}`)
	f.Add(`{"update_id":1,"stopped_message_generation":{"chat":{"id":7,"type":"private"},"draft_id":5}}`)
	f.Add(`{"message":null}`)
	f.Add(`[1,2]`)
	f.Fuzz(func(t *testing.T, raw string) {
		in, album, found, err := decode(json.RawMessage(raw), testSelf)
		if err != nil && strings.Contains(err.Error(), "panic") {
			t.Fatal(err)
		}
		if album != "" && found && !in.More {
			t.Fatalf("part %+v of an album is the last of its kind", in)
		}
		if found && (err != nil || in.ID == "" || in.To.Chat == "" || in.Sender.ID == "" || (in.Text == "" && in.Action == "" && len(in.Attachments) == 0 && !in.Addressed)) {
			t.Fatalf("found %+v, error %v", in, err)
		}
		for _, q := range in.Quotes {
			if len(q.Text) > maxQuoted || len(q.Author) > maxName || q.Part && q.Text == "" {
				t.Fatalf("quote %+v", q)
			}
		}
		updateID(json.RawMessage(raw))
	})
}
