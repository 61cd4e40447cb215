package openai_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"telex/standin/openai"
)

// pixelURL is a PNG of one pixel.
const pixelURL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="

// dataURL returns a data URL for a file.
func dataURL(kind string, data []byte) string {
	return "data:image/" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)
}

// drawn returns an encoded, empty picture.
func drawn(t *testing.T, kind string, width, height int) []byte {
	t.Helper()
	picture := image.NewGray(image.Rect(0, 0, width, height))
	var b bytes.Buffer
	err := map[string]func() error{
		"png":  func() error { return png.Encode(&b, picture) },
		"jpeg": func() error { return jpeg.Encode(&b, picture, nil) },
		"gif":  func() error { return gif.Encode(&b, picture, nil) },
	}[kind]()
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// webp returns the header of a WebP picture of 300 x 200 pixels, as the format's specification defines it.
func webp(kind string) []byte {
	body := map[string]string{
		"VP8 ": "\x00\x00\x00\x9d\x01\x2a\x2c\x01\xc8\x00",         // width 300 is 0x12c, height 200 is 0xc8
		"VP8L": "\x2f\x2b\xc1\x31\x00\x00\x00\x00\x00\x00",         // (width - 1) | (height - 1) << 14 = 299 | 199<<14
		"VP8X": "\x00\x00\x00\x00\x2b\x01\x00\xc7\x00\x00\x00\x00", // width - 1 = 299, height - 1 = 199
	}[kind]
	return []byte("RIFF\x20\x00\x00\x00WEBP" + kind + "\x0a\x00\x00\x00" + body)
}

// see sends a user message with a text and images.
func (p *provider) see(text string, parts ...string) reply {
	p.t.Helper()
	content := []any{map[string]any{"type": "text", "text": text}}
	for _, part := range parts {
		content = append(content, json.RawMessage(part))
	}
	b, err := json.Marshal(map[string]any{"model": "standin", "messages": []any{map[string]any{"role": "user", "content": content}}})
	if err != nil {
		p.t.Fatal(err)
	}
	return p.post("/v1/chat/completions", string(b))
}

func imagePart(url string) string {
	return fmt.Sprintf(`{"type":"image_url","image_url":{"url":%q}}`, url)
}

// said returns the content of a response that is not a stream.
func said(t *testing.T, r reply) string {
	t.Helper()
	var c struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal([]byte(r.body), &c); err != nil || r.status != 200 || len(c.Choices) != 1 {
		t.Fatalf("status %d, %v: %s", r.status, err, r.body)
	}
	return c.Choices[0].Message.Content
}

func TestImagesAreListed(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	pngFile, jpegFile, gifFile := drawn(t, "png", 640, 480), drawn(t, "jpeg", 31, 7), drawn(t, "gif", 5, 9)
	got := said(t, p.see("images:", imagePart(dataURL("png", pngFile)), imagePart(dataURL("jpeg", jpegFile)),
		imagePart(dataURL("gif", gifFile)), imagePart(dataURL("webp", webp("VP8 "))),
		imagePart(dataURL("webp", webp("VP8L"))), imagePart(dataURL("webp", webp("VP8X"))),
		imagePart(dataURL("jpeg", pngFile)))) // only the content of the file counts, not the media type in the URL
	want := fmt.Sprintf("640x480 png, %d bytes\n31x7 jpeg, %d bytes\n5x9 gif, %d bytes\n"+
		"300x200 webp, 30 bytes\n300x200 webp, 30 bytes\n300x200 webp, 32 bytes\n640x480 png, %d bytes",
		len(pngFile), len(jpegFile), len(gifFile), len(pngFile))
	if got != want {
		t.Errorf("answer\n%s\nwant\n%s", got, want)
	}
	if rec := p.last(); len(rec.Images) != 7 || rec.Images[0].Width != 640 || rec.Images[0].Type != "png" {
		t.Errorf("recorded images %+v, want 7", rec.Images)
	}
	if got := said(t, p.see("images:")); got != "There is no image in this message." {
		t.Errorf("without images: %q", got)
	}
}

// The contents of the messages are arrays of parts. Questions about earlier messages, such as "recall: 1", must work
// with such contents, too.
func TestPartsInHistory(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	body := func(last string) string {
		return `{"model":"standin","messages":[{"role":"system","content":[{"type":"text","text":"be brief"}]},` +
			`{"role":"user","content":[{"type":"text","text":"look "},` + imagePart(pixelURL) + `,{"type":"text","text":"here"}]},` +
			`{"role":"assistant","content":[{"type":"text","text":"nice"}]},{"role":"user","content":[{"type":"text","text":"` + last + `"}]}]}`
	}
	for last, want := range map[string]string{
		"history:":  "1. system: be brief\n2. user: look here\n3. assistant: nice\n4. user: history:",
		"recall: 1": "look here",
		"images:":   "There is no image in this message.", // only the images of the last message count
	} {
		if got := said(t, p.post("/v1/chat/completions", body(last))); got != want {
			t.Errorf("%s: %q, want %q", last, got, want)
		}
		if n := len(p.last().Images); n != 1 {
			t.Errorf("%s: %d images recorded, want 1", last, n)
		}
	}
}

func TestImagesRefused(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	const where = "messages[0].content[1].image_url"
	large := dataURL("png", append(drawn(t, "png", 1, 1), make([]byte, 20<<20)...))
	for _, tc := range []struct{ name, part, param, code, message string }{
		{"an address", imagePart("https://example.com/a.png"), where, "invalid_image_url", "Error while downloading https://example.com/a.png."},
		{"another scheme", imagePart("file:///a.png"), where, "invalid_image_url", "Expected a valid URL"},
		{"a string", `{"type":"image_url","image_url":"` + pixelURL + `"}`, where, "invalid_type", "expected an object"},
		{"no URL", `{"type":"image_url","image_url":{}}`, where, "invalid_image_url", ""},
		{"detail", `{"type":"image_url","image_url":{"url":"` + pixelURL + `","detail":"ultra"}}`, where + ".detail", "invalid_value", "'ultra'"},
		{"not base64 by its header", imagePart("data:image/png,abc"), where, "invalid_value", "Expected a base64-encoded data URL"},
		{"no image type", imagePart("data:text/plain;base64,aGk="), where, "invalid_value", "got 'text/plain;base64'"},
		{"no comma", imagePart("data:image/png;base64"), where, "invalid_value", ""},
		{"a type it can't read", imagePart("data:image/bmp;base64,aGk="), "", "invalid_image_format", "['png', 'jpeg', 'gif', 'webp']"},
		{"bad base64", imagePart("data:image/png;base64,a*b="), where, "invalid_base64", ""},
		{"nothing", imagePart("data:image/png;base64,"), where, "invalid_value", "empty base64-encoded bytes"},
		{"no header", imagePart("data:image/png;base64,aGVsbG8="), "", "invalid_image_format", "make sure your image is valid"},
		{"half a webp", imagePart(dataURL("webp", webp("VP8 ")[:29])), "", "invalid_image_format", "make sure your image is valid"},
		{"more than 20 MB", imagePart(large), "", "image_too_large", "below 20 MB"},
	} {
		got := p.see("hi", tc.part)
		message, kind, param, code := apiError(t, got.body)
		if got.status != 400 || kind != "invalid_request_error" || param != tc.param || code != tc.code || !strings.Contains(message, tc.message) {
			t.Errorf("%s: %d, param %q, code %q, %q, want param %q, code %q, %q",
				tc.name, got.status, param, code, message, tc.param, tc.code, tc.message)
		}
	}
}

// The server gets 300 MB of request bodies. The server must keep only the newest records, with at most 256 MB of
// bodies.
func TestStoredBodiesAreLimited(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	large := strings.Repeat("x", 30<<20) // an invalid body is also stored, and refusing it is cheap
	for range 10 {
		if got := serveOne(p.Server, large); got.Code != 400 {
			t.Fatalf("status %d: %s", got.Code, got.Body)
		}
	}
	if list := p.Requests(); len(list) != 8 || list[0].ID != 3 || list[7].ID != 10 {
		t.Errorf("%d records from %d on, want the last 8 of 10", len(list), list[0].ID)
	}
	p.Reset()
	if got := serveOne(p.Server, large); got.Code != 400 || len(p.Requests()) != 1 {
		t.Errorf("after a reset: status %d, %d records", got.Code, len(p.Requests()))
	}
}

func TestModelWithoutImages(t *testing.T) {
	t.Parallel()
	p := start(t, openai.Options{})
	p.rule(openai.Rule{Do: "refuse=image"})
	got := p.see("say: ok", imagePart(pixelURL))
	message, _, param, code := apiError(t, got.body)
	if got.status != 400 || param != "messages.[0].content" || code != "" ||
		message != "Invalid content type. image_url is only supported by certain models." {
		t.Errorf("%d, param %q, code %q, %q", got.status, param, code, message)
	}
	if n := len(p.last().Images); n != 1 {
		t.Errorf("%d images recorded, want 1", n)
	}
	if got := said(t, p.see("say: ok")); got != "ok" {
		t.Errorf("without an image: %q", got)
	}
}

func FuzzImage(f *testing.F) {
	for _, seed := range []string{pixelURL, "data:image/webp;base64,UklGRg==", "data:,", "https://x", "", dataURL("webp", webp("VP8L"))} {
		f.Add(seed)
	}
	s := openai.New(openai.Options{Rate: -1})
	f.Cleanup(func() { _ = s.Close() })
	f.Fuzz(func(t *testing.T, url string) {
		quoted, err := json.Marshal(url)
		if err != nil {
			t.Fatal(err)
		}
		got := serveOne(s, `{"model":"standin","messages":[{"role":"user","content":[{"type":"text","text":"images:"},`+
			`{"type":"image_url","image_url":{"url":`+string(quoted)+`}}]}]}`)
		if got.Code != 200 && got.Code != 400 {
			t.Fatalf("%q: status %d: %s", url, got.Code, got.Body)
		}
		if got.Code == 200 && !strings.Contains(got.Body.String(), " bytes") {
			t.Fatalf("%q: taken, but not listed: %s", url, got.Body)
		}
	})
}
