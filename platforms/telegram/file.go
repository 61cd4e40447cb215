package telegram

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"unicode"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"telex/internal/chat"
)

// SendFile shows a new message that is a file, with m's text below it; a picture is shown in the chat where
// Telegram takes it as one. It fails as Send does, and with TooLong, before anything is uploaded, when the file is
// larger than a bot may send or the caption longer than one may be.
func (b *Bot) SendFile(ctx context.Context, to chat.Target, m chat.Outgoing, f chat.File) (chat.Receipt, error) {
	if _, err := place("sendDocument", to); err != nil {
		return chat.Receipt{}, err
	}
	if err := checkFile(m, f); err != nil {
		return chat.Receipt{}, err
	}
	if isPhoto(f) {
		r, err := b.upload(ctx, "sendPhoto", "photo", to, m, f)
		if err == nil {
			return r, nil
		}
		if k := chat.AsSendError(err).Kind; k != chat.Rejected && k != chat.TooLong {
			return chat.Receipt{}, err
		}
	}
	return b.upload(ctx, "sendDocument", "document", to, m, f)
}

// upload makes the call that sends f as a field of its form.
func (b *Bot) upload(ctx context.Context, method, field string, to chat.Target, m chat.Outgoing, f chat.File) (chat.Receipt, error) {
	params, err := place(method, to)
	if err != nil {
		return chat.Receipt{}, err
	}
	if err := encodeText(params, "caption", "caption_entities", m); err != nil {
		return chat.Receipt{}, err
	}
	if err := encodeActions(params, m.Actions); err != nil {
		return chat.Receipt{}, err
	}
	if err := answerTo(params, m.ReplyTo); err != nil {
		return chat.Receipt{}, err
	}
	body, err := newForm(params, field, f)
	if err != nil {
		return chat.Receipt{}, &chat.SendError{Kind: chat.Rejected, Err: fmt.Errorf("%s: %w", method, err)}
	}
	result, err := b.exchange(ctx, method, nil, body)
	if err != nil {
		return chat.Receipt{}, optional(err)
	}
	return receipt(to, result), nil
}

// isPhoto says that Telegram most likely shows f in the chat. What moves is not one: as a document it plays.
func isPhoto(f chat.File) bool {
	if len(f.Content) > maxPhoto {
		return false
	}
	var c image.Config
	var err error
	switch r := bytes.NewReader(f.Content); f.MediaType {
	case "image/jpeg":
		c, err = jpeg.DecodeConfig(r)
	case "image/png":
		c, err = png.DecodeConfig(r)
	case "image/webp":
		return true // Telegram looks at its sides
	default:
		return false
	}
	return err == nil && c.Width+c.Height <= maxPhotoSides && c.Width <= maxPhotoRatio*c.Height && c.Height <= maxPhotoRatio*c.Width
}

// checkFile refuses what Telegram would refuse after the upload.
func checkFile(m chat.Outgoing, f chat.File) error {
	var problem error
	caption := units(m.Text)
	switch {
	case len(f.Content) > maxUpload:
		problem = fmt.Errorf("sendDocument: the file has %d bytes, and a bot may send %d at most", len(f.Content), maxUpload)
	case caption > captionLimit:
		problem = fmt.Errorf("sendDocument: the caption has %d UTF-16 units, and %d is the most", caption, captionLimit)
	default:
		return nil
	}
	return &chat.SendError{Kind: chat.TooLong, Err: problem}
}

// form is the body of a request with a file. The file is not copied into it.
type form struct {
	contentType      string
	head, file, tail []byte
}

// newForm returns a form of params and one file. It fails only where a writer to memory does.
func newForm(params tgbotapi.Params, field string, f chat.File) (*form, error) {
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if err := w.WriteField(name, params[name]); err != nil {
			return nil, fmt.Errorf("write form: %w", err)
		}
	}
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", multipart.FileContentDisposition(field, fileName(f.Name)))
	header.Set("Content-Type", mediaType(f.MediaType))
	if _, err := w.CreatePart(header); err != nil {
		return nil, fmt.Errorf("write form: %w", err)
	}
	head := buf.Len()
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("write form: %w", err)
	}
	all := buf.Bytes()
	return &form{contentType: w.FormDataContentType(), head: all[:head:head], file: f.Content, tail: all[head:]}, nil
}

// fill makes the form the body of a request. The transport may read it again as long as the
// first connection that it tried took nothing of it.
func (f *form) fill(req *http.Request) {
	req.GetBody = func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(bytes.NewReader(f.head), bytes.NewReader(f.file), bytes.NewReader(f.tail))), nil
	}
	req.Body, _ = req.GetBody() // never fails
	req.ContentLength = int64(len(f.head) + len(f.file) + len(f.tail))
	req.Header.Set("Content-Type", f.contentType)
}

// maxFileName bounds a file's name and keeps its extension. Telegram cuts what is before that
// to 60 characters: clean_filename in
// https://github.com/tdlib/td/blob/master/tdutils/td/utils/filesystem.cpp
const (
	maxFileName  = 60 // characters
	maxExtension = 16
)

// fileName returns a name that is one on every system: no path, nothing invisible, nothing
// that means something to a shell or a file system.
func fileName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune("<>:\"|?*&`'", r), !unicode.IsPrint(r), r == unicode.ReplacementChar:
			return '_'
		}
		return r
	}, name)
	name = strings.Trim(name, " .")
	stem, extension := name, ""
	if i := strings.LastIndexByte(name, '.'); i > 0 && len(name)-i <= maxExtension {
		stem, extension = name[:i], name[i:]
	}
	if runes := []rune(stem); len(runes)+len(extension) > maxFileName {
		stem = strings.TrimRight(string(runes[:maxFileName-len(extension)]), " .")
	}
	if stem == "" {
		stem = "file"
	}
	return stem + extension
}

// mediaType returns a type that can stand in a header.
func mediaType(t string) string {
	kind, options, err := mime.ParseMediaType(t)
	if err != nil {
		return "application/octet-stream"
	}
	return mime.FormatMediaType(kind, options)
}
