package slack_test

import (
	"bytes"
	"mime/multipart"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"telex/standin/fault"
	"telex/standin/slack"
)

func TestUpload(t *testing.T) {
	t.Parallel()
	p := newConversation(t)
	r := p.ok("files.getUploadURLExternal", args{"filename": "a.txt", "length": "5"})
	u, err := url.Parse(r.UploadURL)
	if err != nil || u.Host != "standin" {
		t.Fatalf("upload URL: got %q (%v)", r.UploadURL, err)
	}
	done := args{"files": `[{"id":"` + r.FileID + `","title":"A"}]`, "channel_id": channel, "thread_ts": p.asked, "initial_comment": "here"}
	if e := p.call("files.completeUploadExternal", done); e.Error != "file_not_found" {
		t.Errorf("complete before the upload: got %s", e.Raw)
	}
	if e := p.post(t.Context(), "", u.Path, "application/octet-stream", "long content"); e.Status != 400 {
		t.Errorf("another length: got %d %s", e.Status, e.Raw)
	}
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("file", "a.txt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if e := p.post(t.Context(), "", u.Path, w.FormDataContentType(), form.String()); e.Status != 200 || e.Raw != "OK - 5" {
		t.Errorf("upload: got %d %q", e.Status, e.Raw)
	}
	if e := p.post(t.Context(), "", u.Path, "", "hello"); e.Status != 404 {
		t.Errorf("second upload: got %d %s, want it refused", e.Status, e.Raw)
	}
	p.ok("files.completeUploadExternal", done)
	if e := p.call("files.completeUploadExternal", done); e.Error != "file_not_found" {
		t.Errorf("complete twice: got %s", e.Raw)
	}
	history := p.server.History(channel)
	m := history[len(history)-1]
	if len(m.Files) != 1 || string(m.Files[0].Content) != "hello" || m.Files[0].Mime != "text/plain" || m.Files[0].Title != "A" || m.ThreadTS != p.asked || m.Shown() != "here" || !m.FromBot {
		t.Errorf("message: got %+v", m)
	}
	p.ok("files.info", args{"file": r.FileID})
}

func TestDownload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		k := c.socket()
		c.server.Say(slack.Incoming{Text: "look", Files: []slack.Attachment{{Name: "dir/a.png", Content: []byte("pixels")}}})
		e := k.take().Payload.Event
		if len(e.Files) != 1 || e.Subtype != "file_share" {
			t.Fatalf("got %+v", e)
		}
		u, err := url.Parse(e.Files[0].URL)
		if err != nil || u.Host != "standin" {
			t.Fatalf("url_private: got %q (%v)", e.Files[0].URL, err)
		}
		if r := c.get(c.server.BotToken(), u.Path); r.Raw != "pixels" || r.Header.Get("Content-Type") != "image/png" {
			t.Errorf("with the token: got %d %q %v", r.Status, r.Raw, r.Header)
		}
		for _, token := range []string{"", "xoxb-other", c.server.AppToken()} {
			if r := c.get(token, u.Path); r.Status != 200 || !strings.Contains(r.Raw, "Sign in") {
				t.Errorf("token %q: got %d %q, want a page to sign in", token, r.Status, r.Raw)
			}
		}
		if r := c.get(c.server.BotToken(), "/files-pri/"+slack.TeamID+"-F404/x"); r.Status != 404 {
			t.Errorf("no such file: got %d", r.Status)
		}
		c.server.Fault(slack.Fault{Method: "file", Action: fault.Status, Status: 503})
		if r := c.get(c.server.BotToken(), u.Path); r.Status != 503 {
			t.Errorf("fault: got %d", r.Status)
		}
	})
}

// The bot deletes its own file. The stand-in must also delete the message with the file. The bot must not be able to
// delete a person's file, but the person must be able to delete it.
func TestFilesAreDeleted(t *testing.T) {
	t.Parallel()
	p := newConversation(t)
	r := p.ok("files.getUploadURLExternal", args{"filename": "a.txt", "length": "5"})
	u, err := url.Parse(r.UploadURL)
	if err != nil {
		t.Fatal(err)
	}
	p.post(t.Context(), "", u.Path, "application/octet-stream", "hello")
	p.ok("files.completeUploadExternal", args{"files": `[{"id":"` + r.FileID + `"}]`, "channel_id": channel})
	p.ok("files.delete", args{"file": r.FileID})
	history := p.server.History(channel)
	if m := history[len(history)-1]; m.Alive() || m.DeletedBy != "bot" {
		t.Errorf("message: got %+v, want it deleted", m)
	}
	if e := p.call("files.delete", args{"file": r.FileID}); e.Error != "file_not_found" {
		t.Errorf("delete twice: got %s", e.Raw)
	}
	p.server.Say(slack.Incoming{Channel: channel, Files: []slack.Attachment{{Name: "b.txt", Content: []byte("hi"), Size: -1}}})
	history = p.server.History(channel)
	m := history[len(history)-1]
	if m.Files[0].Size != 0 {
		t.Errorf("size: got %d, want none", m.Files[0].Size)
	}
	if e := p.call("files.delete", args{"file": m.Files[0].ID}); e.Error != "cant_delete_file" {
		t.Errorf("delete another's: got %s", e.Raw)
	}
	if !p.server.DeleteFile(m.Files[0].ID) || p.server.DeleteFile(m.Files[0].ID) {
		t.Error("a file is not deleted once")
	}
	if e := p.call("files.info", args{"file": m.Files[0].ID}); e.Error != "file_not_found" {
		t.Errorf("a deleted file: got %s", e.Raw)
	}
}

func TestDownloadIsCut(t *testing.T) {
	t.Parallel()
	p := newConversation(t)
	p.server.Fault(slack.Fault{Method: "file", Action: fault.CutMiddle})
	p.server.Say(slack.Incoming{Channel: channel, Files: []slack.Attachment{{Name: "b.txt", Content: bytes.Repeat([]byte("x"), 1000)}}})
	history := p.server.History(channel)
	id := history[len(history)-1].Files[0].ID
	r := p.post(t.Context(), p.server.BotToken(), "/files-pri/"+slack.TeamID+"-"+id+"/b.txt", "application/x-www-form-urlencoded", "")
	if r.Err == nil || len(r.Raw) >= 1000 {
		t.Errorf("got %d bytes, %v, want a part and an error", len(r.Raw), r.Err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a method that is no download has no middle")
		}
	}()
	p.server.Fault(slack.Fault{Method: "chat.update", Action: fault.CutMiddle})
}
