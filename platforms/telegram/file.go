package telegram

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"maps"
	"slices"

	"telex/internal/chat"
	"telex/internal/markup"
	"telex/platforms/internal/calls"
)

// SendFile shows a new message that is a file, with m's text below it; a picture is shown in the chat where
// Telegram takes it as one. It fails as Send does, and with TooLong, before anything is uploaded, when the file is
// larger than a bot may send or the caption longer than one may be.
func (b *Bot) SendFile(ctx context.Context, to chat.Target, m chat.Outgoing, f chat.File) (chat.Receipt, error) {
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
	if err := checkFile(m, f); err != nil {
		return chat.Receipt{}, err
	}
	encodeText(params, "caption", "caption_entities", m)
	encodeActions(params, m.Actions)
	answerTo(params, m.ReplyTo)
	var fields []calls.Field
	for _, name := range slices.Sorted(maps.Keys(params)) {
		fields = append(fields, calls.Field{Name: name, Value: params[name]})
	}
	result, err := b.exchange(ctx, method, nil, calls.NewForm(fields, field, f))
	return b.ids.created(to, m.Key, result, optional(err))
}

// isPhoto reports whether Telegram most likely shows f in the chat. Animations are no photos: as documents they play.
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
	caption := markup.Units(m.Text)
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
