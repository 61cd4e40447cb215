package telegram

import (
	"bytes"
	"image"
	"image/color/palette"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"telex/internal/chat"
)

// picture returns a picture of the given size.
func picture(t *testing.T, mediaType string, width, height int) chat.File {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch p := image.NewPaletted(image.Rect(0, 0, width, height), palette.Plan9); mediaType {
	case "image/png":
		err = png.Encode(&b, p)
	case "image/jpeg":
		err = jpeg.Encode(&b, p, nil)
	default:
		err = gif.Encode(&b, p, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return chat.File{Name: "a", MediaType: mediaType, Content: b.Bytes()}
}

// The bot must send a picture as a photo if Telegram accepts the picture as a photo, and otherwise as a file.
func TestPictures(t *testing.T) {
	t.Parallel()
	const ok, refused = `{"ok":true,"result":{"message_id":7}}`, `{"ok":false,"error_code":400,"description":"Bad Request: IMAGE_PROCESS_FAILED"}`
	for _, c := range []struct {
		name   string
		file   chat.File
		answer string // the API's response to sendPhoto
		want   []string
	}{
		{"png", picture(t, "image/png", 30, 20), ok, []string{"sendPhoto"}},
		{"jpeg", picture(t, "image/jpeg", 30, 20), ok, []string{"sendPhoto"}},
		{"refused", picture(t, "image/png", 30, 20), refused, []string{"sendPhoto", "sendDocument"}},
		{"no such method", picture(t, "image/png", 30, 20), `{"ok":false,"error_code":404,"description":"Not Found"}`, []string{"sendPhoto", "sendDocument"}},
		{"webp", chat.File{Name: "a.webp", MediaType: "image/webp", Content: []byte("RIFF")}, refused, []string{"sendPhoto", "sendDocument"}},
		{"what moves", picture(t, "image/gif", 30, 20), ok, []string{"sendDocument"}},
		{"too wide", picture(t, "image/png", 2100, 100), ok, []string{"sendDocument"}},
		{"too high", picture(t, "image/png", 600, 9401), ok, []string{"sendDocument"}},
		{"no picture", chat.File{Name: "a.png", MediaType: "image/png", Content: []byte("<html>")}, ok, []string{"sendDocument"}},
		{"too large", chat.File{Name: "a.png", MediaType: "image/png", Content: append(picture(t, "image/png", 9, 9).Content, make([]byte, maxPhoto)...)}, ok, []string{"sendDocument"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			calls := make(chan string, 3)
			b := serve(t, func(w http.ResponseWriter, r *http.Request, method string) {
				_, _ = io.Copy(io.Discard, r.Body)
				calls <- method
				if strings.Contains(c.answer, "404") && method == "sendPhoto" {
					w.WriteHeader(http.StatusNotFound)
				}
				if method == "sendPhoto" {
					_, _ = io.WriteString(w, c.answer)
					return
				}
				_, _ = io.WriteString(w, ok)
			})
			r, err := b.SendFile(t.Context(), private, chat.Outgoing{}, c.file)
			close(calls)
			if err != nil || r.Ref.ID != "7" {
				t.Errorf("SendFile = %+v, %v", r, err)
			}
			var got []string
			for m := range calls {
				got = append(got, m)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("called %q, want %q", got, c.want)
			}
		})
	}
}

// If the outcome of sending a photo is unknown, the bot must not also send the picture as a file (F13). If Telegram
// refuses a photo for a reason that is not the picture itself, the bot must not send a file either.
func TestPictureIsNotSentTwice(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]chat.ErrorKind{
		"<html>": chat.Uncertain,
		`{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 3","parameters":{"retry_after":3}}`: chat.RateLimited,
		`{"ok":false,"error_code":403,"description":"Forbidden: bot was blocked by the user"}`:                          chat.Forbidden,
	} {
		n := 0
		b := serve(t, func(w http.ResponseWriter, r *http.Request, _ string) {
			_, _ = io.Copy(io.Discard, r.Body)
			n++
			_, _ = io.WriteString(w, answer)
		})
		_, err := b.SendFile(t.Context(), private, chat.Outgoing{}, picture(t, "image/png", 30, 20))
		if wantKind(t, err, want); n != 1 {
			t.Errorf("%s: %d calls, want 1", answer, n)
		}
	}
}
