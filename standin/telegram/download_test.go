package telegram_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/telegram"
)

// link requests the path of a file.
func (c *client) link(fileID string) (path string, size int64) {
	c.t.Helper()
	r := c.call("getFile", args{"file_id": fileID})
	var f struct {
		FileID   string `json:"file_id"`
		FilePath string `json:"file_path"`
		FileSize int64  `json:"file_size"`
	}
	if !r.OK {
		c.t.Fatalf("getFile %s: got %s", fileID, r.Raw)
	}
	if err := json.Unmarshal(r.Result, &f); err != nil || f.FileID != fileID {
		c.t.Fatalf("getFile %s: got %s, %v", fileID, r.Raw, err)
	}
	return f.FilePath, f.FileSize
}

// fetch downloads the file at a path. After an error, the field Raw of the result contains the bytes that arrived
// before the error.
func (c *client) fetch(ctx context.Context, token, path string) reply {
	c.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://standin/file/bot"+token+"/"+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return reply{Err: err}
	}
	data, err := io.ReadAll(res.Body)
	return reply{Status: res.StatusCode, Header: res.Header, Raw: string(data), Err: errors.Join(err, res.Body.Close())}
}

// document lets a person send a document, and returns its file id.
func (c *client) document(in telegram.Incoming) string {
	c.t.Helper()
	in.Chat, in.Media = person, "document"
	return "document-1001-" + strconv.Itoa(c.server.Say(in))
}

func TestDownload(t *testing.T) {
	t.Parallel()
	c := start(t, telegram.Options{Limits: telegram.NoLimits()})
	picture := photo(t, 400, 200)
	for _, a := range []telegram.Attachment{
		{Media: "document", Content: []byte("a,b\n"), FileName: "a.csv"},
		{Media: "voice", Content: []byte("OggS")},
		{Media: "photo", Content: picture},
	} {
		c.server.Say(telegram.Incoming{Chat: person, Attachment: a})
	}
	got := c.messages()
	for _, tc := range []struct{ id, folder, extension, content string }{
		{got[0].Document.FileID, "documents/", ".csv", "a,b\n"},
		{got[1].Voice.FileID, "voice/", ".oga", "OggS"},
		{got[2].Photo[1].FileID, "photos/", ".jpg", string(picture)},
	} {
		path, size := c.link(tc.id)
		r := c.fetch(t.Context(), c.server.Token(), path)
		if !strings.HasPrefix(path, tc.folder) || !strings.HasSuffix(path, tc.extension) || size != int64(len(tc.content)) ||
			r.Status != 200 || r.Raw != tc.content || r.Header.Get("Content-Length") != strconv.Itoa(len(tc.content)) {
			t.Errorf("%s: path %s, size %d, got %d %q %v", tc.id, path, size, r.Status, r.Raw, r.Header)
		}
	}
	if path, _ := c.link(got[2].Photo[0].FileID); c.fetch(t.Context(), c.server.Token(), path).Raw == string(picture) {
		t.Error("the small photo is the large one")
	}
	id := c.upload("b.txt", []byte("by the bot"), args{"chat_id": "1001"}).message(t)
	path, _ := c.link("document-1001-" + strconv.Itoa(id))
	if r := c.fetch(t.Context(), c.server.Token(), path); r.Raw != "by the bot" {
		t.Errorf("the bot's own file: got %d %q", r.Status, r.Raw)
	}
	for name, r := range map[string]reply{
		"wrong token":  c.fetch(t.Context(), "1:a", path),
		"no such path": c.fetch(t.Context(), c.server.Token(), "documents/file_99.txt"),
		"no path":      c.fetch(t.Context(), c.server.Token(), ""),
		"a post":       c.post(t.Context(), "/file/bot"+c.server.Token()+"/"+path, "text/plain", ""),
		"as a method":  c.call("file", args{"file_path": path}),
	} {
		if r.Status != 404 || !strings.Contains(r.Raw, `"error_code":404`) {
			t.Errorf("%s: got %d %s, want 404", name, r.Status, r.Raw)
		}
	}
	if n := c.server.Stats().ByMethod["getFile"]; n != 5 {
		t.Errorf("getFile was counted %d times, want 5", n)
	}
}

func TestGetFileRefused(t *testing.T) {
	t.Parallel()
	c := start(t, telegram.Options{})
	for name, tc := range map[string]struct{ id, want string }{
		"none":     {"", "Bad Request: file_id not specified"},
		"unknown":  {"document-1-1", "Bad Request: invalid file_id"},
		"large":    {c.document(telegram.Incoming{Attachment: telegram.Attachment{Content: make([]byte, 20<<20+1)}}), "Bad Request: file is too big"},
		"declared": {c.document(telegram.Incoming{Attachment: telegram.Attachment{FileSize: 2 << 30}}), "Bad Request: file is too big"},
		"empty":    {c.document(telegram.Incoming{}), "Bad Request: wrong file_id or the file is temporarily unavailable"},
	} {
		if r := c.call("getFile", args{"file_id": tc.id}); r.Status != 400 || r.Description != tc.want {
			t.Errorf("%s: got %d %q, want 400 %q", name, r.Status, r.Description, tc.want)
		}
	}
	if r := c.call("getFile", args{"file_id": c.document(telegram.Incoming{Attachment: telegram.Attachment{Content: make([]byte, 20<<20)}})}); !r.OK {
		t.Errorf("exactly 20 MB: got %s", r.Raw)
	}
}

// Telegram may report a wrong size for a file, or none. The test checks which size the bot gets, and that the download
// is complete in each case.
func TestReportedSizeMayBeWrong(t *testing.T) {
	t.Parallel()
	c := start(t, telegram.Options{})
	content := bytes.Repeat([]byte("x"), 1000)
	for _, tc := range []struct {
		told, size int64
		length     string
	}{{0, 1000, "1000"}, {10, 10, "1000"}, {-1, 0, ""}} {
		path, size := c.link(c.document(telegram.Incoming{Attachment: telegram.Attachment{Content: content, FileSize: tc.told}}))
		r := c.fetch(t.Context(), c.server.Token(), path)
		if size != tc.size || r.Raw != string(content) || r.Header.Get("Content-Length") != tc.length {
			t.Errorf("told %d: size %d, %d bytes with length %q, want %d, 1000 and %q",
				tc.told, size, len(r.Raw), r.Header.Get("Content-Length"), tc.size, tc.length)
		}
	}
}

func TestLinksExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, telegram.Options{})
		id := c.document(telegram.Incoming{Attachment: telegram.Attachment{Content: []byte("x")}})
		first, _ := c.link(id)
		pause(time.Hour - time.Second)
		if r := c.fetch(t.Context(), c.server.Token(), first); r.Status != 200 {
			t.Errorf("just before an hour: got %d", r.Status)
		}
		pause(time.Second)
		if r := c.fetch(t.Context(), c.server.Token(), first); r.Status != 404 {
			t.Errorf("after an hour: got %d, want 404", r.Status)
		}
		second, _ := c.link(id)
		if r := c.fetch(t.Context(), c.server.Token(), second); r.Status != 200 || second == first {
			t.Errorf("a fresh link %s after %s: got %d", second, first, r.Status)
		}
	})
}

func TestDownloadFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, telegram.Options{Latency: 100 * time.Millisecond})
		path, _ := c.link(c.document(telegram.Incoming{Attachment: telegram.Attachment{Content: bytes.Repeat([]byte("0123456789"), 100)}}))
		get := func() (reply, time.Duration) {
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			r := c.fetch(ctx, c.server.Token(), path)
			return r, time.Since(began)
		}
		for _, tc := range []struct {
			fault  string
			status int
			bytes  int
			took   time.Duration
			broken bool
		}{
			{`{"action":"latency","delay_ms":2000}`, 200, 1000, 2100 * time.Millisecond, false},
			{`{"action":"status","status":502}`, 502, -1, 100 * time.Millisecond, false},
			{`{"action":"not_found"}`, 404, -1, 100 * time.Millisecond, false},
			{`{"action":"cut_middle"}`, 200, 500, 100 * time.Millisecond, true},
			{`{"action":"cut_before"}`, 0, 0, 0, true}, // clients repeat a GET on another connection, so the time depends on the client
			{`{"action":"drip","rate":25}`, 200, 1000, 40*time.Second + 100*time.Millisecond, false},
			{`{"action":"drip","rate":3}`, 200, 179, time.Minute, true}, // the client gives up after a minute
			{`{"action":"hang"}`, 0, 0, time.Minute, true},
			{`{"action":"malformed"}`, 200, 500, 100 * time.Millisecond, false},
		} {
			body := strings.Replace(tc.fault, "{", `{"method":"file",`, 1)
			if status, told := c.control("POST", "fault", body); status != 200 {
				t.Fatalf("%s: got %d %s", tc.fault, status, told)
			}
			r, took := get()
			if r.Status != tc.status || tc.bytes >= 0 && len(r.Raw) != tc.bytes || tc.took != 0 && took != tc.took || (r.Err != nil) != tc.broken {
				t.Errorf("%s: got %d, %d bytes after %v, %v, want %d, %d bytes after %v", tc.fault, r.Status, len(r.Raw), took, r.Err, tc.status, tc.bytes, tc.took)
			}
			c.server.ClearFaults()
			synctest.Wait()
		}
		if r, _ := get(); r.Status != 200 || len(r.Raw) != 1000 {
			t.Errorf("without faults: got %d, %d bytes", r.Status, len(r.Raw))
		}
		for _, bad := range []string{
			`{"method":"sendMessage","action":"drip","rate":5}`, `{"action":"cut_middle"}`, `{"method":"file","action":"drip"}`,
		} {
			if status, _ := c.control("POST", "fault", bad); status != 400 {
				t.Errorf("%s: got %d, want 400", bad, status)
			}
		}
	})
}
