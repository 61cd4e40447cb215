package discord

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"unicode"

	"github.com/bwmarrin/discordgo"

	"telex/internal/chat"
)

// SendFile shows a new message that is a file, with m's text above it. It fails as Send does, and with
// TooLong, before anything is uploaded, when the file is larger than a bot may send. A missing permission is
// Rejected, since the bot may be allowed to write there and only files may not. It never takes the place of a
// command's "thinking…".
func (b *Bot) SendFile(ctx context.Context, to chat.Target, m chat.Outgoing, f chat.File) (chat.Receipt, error) {
	switch {
	case len(f.Content) > maxUpload:
		return chat.Receipt{}, &chat.SendError{Kind: chat.TooLong, Err: fmt.Errorf(
			"sendFile: the file has %d bytes, and a bot may send %d at most", len(f.Content), maxUpload,
		)}
	case len(f.Content) == 0:
		return chat.Receipt{}, &chat.SendError{Kind: chat.Rejected, Err: errors.New("sendFile: the file is empty")}
	}
	r, err := b.create(ctx, "sendFile", to, m, &f)
	if codeOf(err) == discordgo.ErrCodeMissingPermissions {
		return chat.Receipt{}, &chat.SendError{Kind: chat.Rejected, Err: err}
	}
	return r, err
}

// form is the body of a request with a file. The file is not copied into it.
// https://docs.discord.com/developers/reference#uploading-files
type form struct {
	contentType      string
	head, file, tail []byte
}

// newForm returns a form of a message and its file. It fails only where a writer to memory does.
func newForm(payload []byte, f chat.File) (*form, error) {
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", `form-data; name="payload_json"`)
	header.Set("Content-Type", "application/json")
	part, err := w.CreatePart(header)
	if err == nil {
		_, err = part.Write(payload)
	}
	if err != nil {
		return nil, fmt.Errorf("write form: %w", err)
	}
	header = textproto.MIMEHeader{}
	header.Set("Content-Disposition", multipart.FileContentDisposition("files[0]", fileName(f.Name)))
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

// fill makes the form the body of a request. The transport may read it again as long as the first
// connection that it tried took nothing of it.
func (f *form) fill(req *http.Request) {
	req.GetBody = func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(bytes.NewReader(f.head), bytes.NewReader(f.file), bytes.NewReader(f.tail))), nil
	}
	req.Body, _ = req.GetBody() // never fails
	req.ContentLength = int64(len(f.head) + len(f.file) + len(f.tail))
	req.Header.Set("Content-Type", f.contentType)
}

// A file's name is kept short enough for every system it may be saved on.
const (
	maxFileName  = 60 // characters
	maxExtension = 16
)

// fileName returns a name that is one on every system: no path, nothing invisible, nothing that means
// something to a shell or a file system.
func fileName(name string) string {
	name = strings.Trim(name[strings.LastIndexAny(name, `/\`)+1:], " .")
	name = strings.Map(func(r rune) rune {
		switch {
		case r == ' ', strings.ContainsRune("<>:\"|?*&`'", r), !unicode.IsPrint(r), r == unicode.ReplacementChar:
			return '_'
		}
		return r
	}, name)
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
