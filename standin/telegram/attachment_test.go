package telegram_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/jpeg"
	"strings"
	"testing"

	"telex/standin/telegram"
)

// sent is a message with files, as getUpdates returns it.
type sent struct {
	MessageID    int    `json:"message_id"`
	Text         string `json:"text"`
	Caption      string `json:"caption"`
	MediaGroupID string `json:"media_group_id"`
	Photo        []sentFile
	Document     *sentFile
	Voice        *sentFile
	Audio        *sentFile
	Video        *sentFile
	Sticker      *struct {
		sentFile
		Type  string
		Emoji string
	}
	ForwardOrigin json.RawMessage `json:"forward_origin"`
}

type sentFile struct {
	FileID   string `json:"file_id"`
	FileSize int64  `json:"file_size"`
	FileName string `json:"file_name"`
	MimeType string `json:"mime_type"`
	Width    int
	Height   int
	Duration int
}

// messages fetches the messages of people.
func (c *client) messages() []sent {
	c.t.Helper()
	r := c.call("getUpdates", nil)
	var updates []struct {
		UpdateID int64 `json:"update_id"`
		Message  *sent
	}
	if err := json.Unmarshal(r.Result, &updates); err != nil {
		c.t.Fatalf("updates %s: %v", r.Raw, err)
	}
	var list []sent
	for _, u := range updates {
		if u.Message != nil {
			list = append(list, *u.Message)
		}
	}
	return list
}

// photo returns a JPEG file with an empty picture of this size.
func photo(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, width, height)), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	c := start(t, telegram.Options{Limits: telegram.NoLimits()})
	picture := photo(t, 400, 200)
	for i, a := range []telegram.Attachment{
		{Media: "photo", Content: picture},
		{Media: "photo", Content: photo(t, 20, 10)},
		{Media: "document", Content: []byte("a,b\n"), FileName: "a.csv", MimeType: "text/csv"},
		{Media: "voice", Content: []byte("OggS"), Duration: 7},
		{Media: "audio", Content: []byte("ID3"), FileName: "song.mp3"},
		{Media: "video", Content: []byte("mp4"), Width: 1920, Height: 1080, MimeType: "video/webm"},
		{Media: "sticker", Content: []byte("RIFF")},
		{Media: "document", FileSize: 3_000_000_000, FileName: "film.mkv"},
		{Media: "document", Content: []byte("secret size"), FileSize: -1},
	} {
		c.server.Say(telegram.Incoming{Chat: person, Text: map[int]string{0: "look"}[i], Attachment: a})
	}
	got := c.messages()
	if len(got) != 9 {
		t.Fatalf("messages: got %d, want 9", len(got))
	}
	if p := got[0].Photo; len(p) != 2 || p[0].Width != 90 || p[0].Height != 45 || p[1].Width != 400 || p[1].Height != 200 ||
		p[1].FileSize != int64(len(picture)) || p[0].FileSize == 0 || got[0].Caption != "look" || got[0].Text != "" {
		t.Errorf("photo: got %+v, want sizes of 90x45 and 400x200", got[0])
	}
	if p := got[1].Photo; len(p) != 1 || p[0].Width != 20 {
		t.Errorf("small photo: got %+v, want one size", p)
	}
	if d := got[2].Document; d == nil || d.FileName != "a.csv" || d.MimeType != "text/csv" || d.FileSize != 4 {
		t.Errorf("document: got %+v", d)
	}
	if v := got[3].Voice; v == nil || v.MimeType != "audio/ogg" || v.Duration != 7 || v.FileSize != 4 {
		t.Errorf("voice: got %+v", v)
	}
	if a := got[4].Audio; a == nil || a.MimeType != "audio/mpeg" || a.FileName != "song.mp3" {
		t.Errorf("audio: got %+v", a)
	}
	if v := got[5].Video; v == nil || v.MimeType != "video/webm" || v.Width != 1920 || v.Height != 1080 {
		t.Errorf("video: got %+v", v)
	}
	if s := got[6].Sticker; s == nil || s.Type != "regular" || s.Width != 512 || s.Emoji == "" {
		t.Errorf("sticker: got %+v", s)
	}
	if d := got[7].Document; d == nil || d.FileSize != 3_000_000_000 {
		t.Errorf("large document: got %+v", d)
	}
	if d := got[8].Document; d == nil || d.FileSize != 0 {
		t.Errorf("document without a size: got %+v", d)
	}
}

func TestAlbum(t *testing.T) {
	t.Parallel()
	c := start(t, telegram.Options{})
	body := `{"chat":1001,"text":"two of them","album":[{"media":"photo","content":"` +
		base64.StdEncoding.EncodeToString(photo(t, 9, 9)) + `"},{"media":"video","content":"AAEC"}]}`
	if status, told := c.control("POST", "say", body); status != 200 || told != `{"chat":1001,"message_id":1,"message_ids":[1,2]}` {
		t.Fatalf("say: got %d %s", status, told)
	}
	if first := c.server.Say(telegram.Incoming{Chat: person, Album: []telegram.Attachment{{Media: "document"}, {Media: "document"}}}); first != 3 {
		t.Errorf("second album: got message %d, want 3", first)
	}
	got := c.messages()
	if len(got) != 4 || got[0].MediaGroupID == "" || got[0].MediaGroupID != got[1].MediaGroupID || got[2].MediaGroupID == got[0].MediaGroupID ||
		got[2].MediaGroupID != got[3].MediaGroupID || got[0].Caption != "two of them" || got[1].Caption != "" ||
		len(got[0].Photo) != 1 || got[1].Video == nil || got[1].Video.FileSize != 3 {
		t.Errorf("messages: got %+v", got)
	}
	if h := c.server.History(person); h[0].MediaGroup != got[0].MediaGroupID || string(h[1].File) != "\x00\x01\x02" {
		t.Errorf("history: got %+v", h)
	}
}

func TestForwards(t *testing.T) {
	t.Parallel()
	c := start(t, telegram.Options{})
	for _, f := range []string{`{"user":5,"name":"Bob"}`, `{"name":"Hidden"}`, `{"channel":-1000000000009,"name":"News","message_id":4}`} {
		if status, told := c.control("POST", "say", `{"text":"x","forward":`+f+`}`); status != 200 {
			t.Fatalf("say %s: got %d %s", f, status, told)
		}
	}
	raw := c.call("getUpdates", nil).Raw
	for _, want := range []string{
		`"sender_user":{"id":5,"is_bot":false,"first_name":"Bob"}}`, `"forward_origin":{"type":"user","date":`,
		`"forward_origin":{"type":"hidden_user","date":`, `"sender_user_name":"Hidden"}`,
		`"forward_origin":{"type":"channel","date":`, `"chat":{"id":-1000000000009,"type":"channel","title":"News"},"message_id":4}`,
	} {
		if !strings.Contains(raw, want) {
			t.Errorf("updates lack %s\nin %s", want, raw)
		}
	}
}

func TestAttachmentsRefused(t *testing.T) {
	t.Parallel()
	c := start(t, telegram.Options{})
	for body, want := range map[string]string{
		`{"media":"hologram"}`:                                                          "unknown media",
		`{"text":"x","content":"AAAA"}`:                                                 "content without media",
		`{"media":"photo","content":"*"}`:                                               "illegal base64",
		`{"media":"sticker","text":"x"}`:                                                "no caption",
		`{"media":"photo","width":-1}`:                                                  "negative number",
		`{"media":"photo","file_size":-2}`:                                              "negative number",
		`{"album":[{"media":"photo"}]}`:                                                 "2 to 10",
		`{"album":[{"media":"voice"},{"media":"voice"}]}`:                               "can't hold a voice",
		`{"album":[{"media":"photo"},{"media":"document"}]}`:                            "can't hold a photo and a document",
		`{"media":"photo","album":[{"media":"photo"},{"media":"photo"}]}`:               "in its items",
		`{"album":[` + strings.Repeat(`{"media":"photo"},`, 10) + `{"media":"photo"}]}`: "2 to 10",
	} {
		if status, told := c.control("POST", "say", body); status != 400 || !strings.Contains(told, want) {
			t.Errorf("%s: got %d %s, want 400 %s", body, status, told, want)
		}
	}
}

// FuzzSay checks that, for any Incoming, the stand-in either delivers valid JSON to the bot or returns an error to the
// test.
func FuzzSay(f *testing.F) {
	f.Add(`{"media":"photo","content":"/9j/"}`)
	f.Add(`{"album":[{"media":"photo"},{"media":"video"}],"text":"x"}`)
	f.Add(`{"text":"x","forward":{"user":1}}`)
	f.Fuzz(func(t *testing.T, body string) {
		c := start(t, telegram.Options{})
		status, told := c.control("POST", "say", body)
		if status != 200 && status != 400 {
			t.Fatalf("got %d %s", status, told)
		}
		c.messages()
	})
}
