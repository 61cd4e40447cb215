package whatsapp_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/whatsapp"
)

func TestMedia(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		content := []byte("\x89PNG and more")
		id := c.upload("image/png", content).ID
		sum := sha256.Sum256(content)
		got := c.get("/v26.0/" + id + "?phone_number_id=" + whatsapp.PhoneNumberID)
		if got.ID != id || got.Mime != "image/png" || got.SHA256 != hex.EncodeToString(sum[:]) || got.FileSize != len(content) || !strings.Contains(got.Raw, `"messaging_product":"whatsapp"`) {
			t.Errorf("look up: got %s", got.Raw)
		}
		if r := c.get(got.URL); r.Status != http.StatusOK || r.Raw != string(content) || r.Header.Get("Content-Type") != "image/png" {
			t.Errorf("download: got %d %q", r.Status, r.Raw)
		}
		for name, r := range map[string]reply{
			"without token":         c.request(http.MethodGet, got.URL, "", "", ""),
			"with another token":    c.request(http.MethodGet, got.URL, "EAAx", "", ""),
			"another link":          c.get(strings.Replace(got.URL, "hash=", "hash=x", 1)),
			"another expiry":        c.get(strings.Replace(got.URL, "ext=", "ext=9", 1)),
			"another number":        c.get("/v26.0/" + id + "?phone_number_id=1"),
			"the link without more": c.get("/whatsapp_business/attachments/"),
		} {
			want := map[string]int{"without token": 401, "with another token": 401, "another number": 400}[name]
			if want == 0 {
				want = http.StatusNotFound
			}
			if r.Status != want {
				t.Errorf("%s: got %d %s, want %d", name, r.Status, r.Raw, want)
			}
		}
		pause(5 * time.Minute)
		if r := c.get(got.URL); r.Status != http.StatusNotFound {
			t.Errorf("after 5 minutes: got %d", r.Status)
		}
		fresh := c.get("/v26.0/" + id)
		if r := c.get(fresh.URL); r.Status != http.StatusOK {
			t.Errorf("a new link: got %d", r.Status)
		}
		old := c.upload("image/png", content).ID
		if r := c.request(http.MethodDelete, "/v26.0/"+id, c.server.Token(), "", ""); !r.Success {
			t.Errorf("delete: got %s", r.Raw)
		}
		if r := c.get(fresh.URL); r.Status != http.StatusNotFound {
			t.Errorf("deleted: got %d", r.Status)
		}
		c.say(whatsapp.Incoming{Text: "hi"})
		if r := c.post(send(`"type":"image","image":{"id":"` + id + `"}`)); r.Error.Code != whatsapp.CodeValue {
			t.Errorf("send what is deleted: got %s", r.Raw)
		}
		pause(30*24*time.Hour + time.Second)
		if r := c.get("/v26.0/" + old); r.Error.Subcode != 33 {
			t.Errorf("after 30 days: got %s", r.Raw)
		}
		calls := c.server.Calls()
		if last := calls[len(calls)-1]; last.Method != "getMedia" || last.Effect || last.Code != 100 {
			t.Errorf("record: got %+v", last)
		}
	})
}

func TestUploads(t *testing.T) {
	t.Parallel()
	c := free(t)
	ok := map[string]string{"messaging_product": "whatsapp"}
	for _, tc := range []struct {
		name, mime string
		values     map[string]string
		size, code int
		says       string
	}{
		{"a text", "text/plain", map[string]string{"messaging_product": "whatsapp", "type": "text/plain"}, 1, 0, ""},
		{"a PDF", "application/pdf", ok, 1, 0, ""},
		{"an image of 5 MB", "image/jpeg", ok, 5 << 20, 0, ""},
		{"a larger image", "image/jpeg", ok, 5<<20 + 1, whatsapp.CodeMedia, "too big"},
		{"a large sticker", "image/webp", ok, 500<<10 + 1, whatsapp.CodeMedia, "too big"},
		{"large audio", "audio/ogg", ok, 16<<20 + 1, whatsapp.CodeMedia, "too big"},
		{"an empty file", "image/png", ok, 0, whatsapp.CodeMedia, "empty"},
		{"Markdown", "text/markdown", ok, 1, 100, "Received file of type 'text/markdown'."},
		{"a type with parameters", "audio/ogg; codecs=opus", ok, 1, 100, "Received file of type"},
		{"nothing", "", ok, 0, 100, "The parameter file is required."},
		{"no product", "image/png", nil, 1, 100, "messaging_product is required"},
		{"more", "image/png", map[string]string{"messaging_product": "whatsapp", "name": "x"}, 1, 100, `Unexpected key "name"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := c.form(tc.values, tc.mime, make([]byte, tc.size))
			if r.Error.Code != tc.code || (r.ID != "") != (tc.code == 0) || !strings.Contains(r.Error.Message+r.Error.ErrorData.Details, tc.says) {
				t.Errorf("got %d %.300s, want code %d and %q", r.Status, r.Raw, tc.code, tc.says)
			}
		})
	}
	if r := c.request(http.MethodPost, base+"/media", c.server.Token(), "multipart/form-data; boundary=b", "--c"); r.Error.Code != 100 {
		t.Errorf("no form: got %s", r.Raw)
	}
	if st := c.server.Stats(); st.Uploads != 3 {
		t.Errorf("got %d uploads, want 3", st.Uploads)
	}
}
