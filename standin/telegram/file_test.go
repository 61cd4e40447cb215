package telegram_test

import (
	"bytes"
	"image"
	"image/png"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/telegram"
)

// upload sends a file as a form.
func (c *client) upload(name string, content []byte, a args) reply {
	c.t.Helper()
	var body bytes.Buffer
	for k, v := range a {
		body.WriteString("--B\r\nContent-Disposition: form-data; name=\"" + k + "\"\r\n\r\n" + v + "\r\n")
	}
	body.WriteString("--B\r\nContent-Disposition: form-data; name=\"document\"; filename=\"" + name + "\"\r\n\r\n")
	body.Write(content)
	body.WriteString("\r\n--B--\r\n")
	return c.post(c.t.Context(), "/bot"+c.server.Token()+"/sendDocument", "multipart/form-data; boundary=B", body.String())
}

// TestFile checks what a person sees of a file at different times, and what the control API returns for it.
func TestFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		c.call("sendMessageDraft", args{"chat_id": "1001", "draft_id": "7", "text": "x"})
		pause(time.Second)
		before := time.Now().Add(-1)
		r := c.upload("../a/größe.md", []byte("# x\r\n\x00"), args{
			"chat_id": "1001", "caption": " <rest> ", "caption_entities": `[{"type":"bold","offset":1,"length":6}]`,
			"reply_parameters": `{"message_id":1}`,
		})
		id := r.message(t)
		if !strings.Contains(r.Raw, `"document":{"file_id":"document-1001-3","file_unique_id":"u-document-1001-3","file_size":6,"file_name":"größe.md"},"caption":"\u003crest\u003e"`) {
			t.Errorf("answer: got %s", r.Raw)
		}
		if got := c.server.Screen(person, before); len(got.Drafts) != 1 || len(got.Messages) != 1 {
			t.Errorf("before: got %+v, want the draft and the person's message", got)
		}
		got := c.server.Screen(person, time.Now())
		if len(got.Drafts) != 0 || len(got.Messages) != 2 {
			t.Fatalf("after: got %+v, want two messages and no draft", got)
		}
		m := got.Messages[1]
		if m.Media != "document" || m.FileName != "größe.md" || string(m.File) != "# x\r\n\x00" || m.FileSize != 6 ||
			m.Text() != "<rest>" || len(m.Last().Entities) != 1 || m.ReplyTo != 1 {
			t.Errorf("the file: got %+v", m)
		}
		if status, body := c.control("GET", "file?chat=1001&message_id="+strconv.Itoa(id), ""); status != 200 || body != "# x\r\n\x00" {
			t.Errorf("its content: got %d %q", status, body)
		}
		for path, want := range map[string]string{"file?chat=1001&message_id=1": "no such file", "file?chat=x": "numbers expected"} {
			if status, body := c.control("GET", path, ""); status != 400 || !strings.Contains(body, want) {
				t.Errorf("%s: got %d %s, want 400 %s", path, status, body, want)
			}
		}
		if r := c.call("editMessageText", args{"chat_id": "1001", "message_id": strconv.Itoa(id), "text": "x"}); r.Description != "Bad Request: there is no text in the message to edit" {
			t.Errorf("an edit of it: got %s", r.Raw)
		}
	})
}

func TestFileRefusals(t *testing.T) {
	t.Parallel()
	c := free(t)
	to := args{"chat_id": "1001"}
	for name, tc := range map[string]struct {
		answer reply
		status int
		want   string
	}{
		"nothing":       {c.call("sendDocument", to), 400, "Bad Request: there is no document in the request"},
		"empty":         {c.upload("a", nil, to), 400, "Bad Request: file must be non-empty"},
		"long caption":  {c.upload("a", []byte("x"), args{"chat_id": "1001", "caption": strings.Repeat("😀", 512) + "x"}), 400, "Bad Request: message caption is too long"},
		"large":         {c.upload("a", make([]byte, 50<<20+1), to), 413, "Request Entity Too Large"},
		"far too large": {c.upload("a", make([]byte, 52<<20), to), 413, "Request Entity Too Large"},
		"elsewhere":     {c.upload("a", []byte("x"), args{"chat_id": "77"}), 400, "Bad Request: chat not found"},
	} {
		if tc.answer.Status != tc.status || tc.answer.Description != tc.want {
			t.Errorf("%s: got %d %q (%v), want %d %q", name, tc.answer.Status, tc.answer.Description, tc.answer.Err, tc.status, tc.want)
		}
	}
}

// TestShownNames checks that file names are cleaned as TDLib, Telegram's client library, cleans them.
func TestShownNames(t *testing.T) {
	t.Parallel()
	c := free(t)
	for name, want := range map[string]string{
		"answer.md":                     "answer.md",
		"..hidden..":                    "hidden",
		"a:b?c.txt":                     "a b c.txt",
		"🦊 fox.md":                      "fox.md",
		"cod\u202egpj.exe":              "codgpj.exe",
		strings.Repeat("x", 99) + ".md": strings.Repeat("x", 60) + ".md",
		"...":                           "file",
		".md":                           "md",
	} {
		id := c.upload(name, []byte("x"), args{"chat_id": "1001"}).message(t)
		list := c.server.History(person)
		if got := list[len(list)-1]; got.ID != id || got.FileName != want {
			t.Errorf("%q is shown as %q, want %q", name, got.FileName, want)
		}
	}
}

// TestDraftsShareTheBucket checks that a chat's drafts, messages, edits and files count against one limit, whether it
// is published or hidden. A 429 for one of these calls must block the chat for all of them.
func TestDraftsShareTheBucket(t *testing.T) {
	for name, tc := range map[string]struct {
		hidden     telegram.Limits
		passed     int
		violations int // the first 429 is a violation only if the limit is published; later ones always are violations
	}{
		"published": {telegram.Limits{}, 3, 5},
		"hidden":    {telegram.Limits{PrivatePerSecond: 0.5, PrivateBurst: 2}, 2, 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := start(t, telegram.Options{Hidden: tc.hidden})
				c.server.Say(telegram.Incoming{Chat: person, Text: "x"})
				send := func() reply { return c.call("sendMessage", args{"chat_id": "1001", "text": "x"}) }
				file := func() reply { return c.upload("a", []byte("x"), args{"chat_id": "1001"}) }
				draft := func() reply { return c.call("sendMessageDraft", args{"chat_id": "1001", "draft_id": "1", "text": "x"}) }
				edit := func() reply {
					return c.call("editMessageText", args{"chat_id": "1001", "message_id": "2", "text": time.Now().String()})
				}
				got := ""
				for _, call := range []func() reply{send, draft, file, draft, send, draft, edit, file} {
					got += map[int]string{200: "+", 429: "-"}[call().Status]
				}
				want := strings.Repeat("+", tc.passed) + strings.Repeat("-", 8-tc.passed)
				if got != want {
					t.Errorf("got %s, want %s", got, want)
				}
				if v := c.server.Stats().Violations; v.Total() != tc.violations {
					t.Errorf("violations: got %+v, want %d", v, tc.violations)
				}
			})
		})
	}
}

// The bot sends a photo, which clients show in the chat. The test checks the response, which contains no file name, and
// the errors for invalid photos.
func TestPhoto(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		send := func(content []byte) reply {
			body := "--B\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n1001\r\n" +
				"--B\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"a.png\"\r\n\r\n" + string(content) + "\r\n--B--\r\n"
			return c.post(t.Context(), "/bot"+c.server.Token()+"/sendPhoto", "multipart/form-data; boundary=B", body)
		}
		drawn := func(width, height int) []byte {
			var b bytes.Buffer
			if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
				t.Fatal(err)
			}
			return b.Bytes()
		}
		if r := send(drawn(40, 30)); !strings.Contains(r.Raw, `"photo":[{"file_id":"photo-1001-`) || strings.Contains(r.Raw, "file_name") {
			t.Errorf("got %s", r.Raw)
		}
		for want, content := range map[string][]byte{
			"Bad Request: IMAGE_PROCESS_FAILED":     []byte("no picture"),
			"Bad Request: PHOTO_INVALID_DIMENSIONS": drawn(210, 10),
			"Request Entity Too Large":              append(drawn(4, 3), make([]byte, 10<<20)...),
		} {
			if r := send(content); r.Description != want {
				t.Errorf("got %q, want %q", r.Description, want)
			}
		}
		if r := c.call("sendPhoto", args{"chat_id": "1001"}); r.Description != "Bad Request: there is no photo in the request" {
			t.Errorf("got %q", r.Description)
		}
	})
}
