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

// SendFile sends a file as a new message, with the text of m as its caption. If Telegram accepts the file as a photo,
// people see the picture itself in the chat. SendFile returns the same errors as Send. If the file or the caption
// exceeds its limit, SendFile fails with TooLong and uploads nothing.
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

// upload calls an API method that sends a message with a file. In the form of the request, the field with the given
// name contains the file f.
func (b *Bot) upload(ctx context.Context, method, field string, to chat.Target, m chat.Outgoing, f chat.File) (chat.Receipt, error) {
	params, err := targetParams(method, to)
	if err != nil {
		return chat.Receipt{}, err
	}
	if err := checkFile(m, f); err != nil {
		return chat.Receipt{}, err
	}
	addText(params, "caption", "caption_entities", m)
	addButtons(params, m.Actions)
	addReplyTo(params, m.ReplyTo)
	var fields []calls.Field
	for _, name := range slices.Sorted(maps.Keys(params)) {
		fields = append(fields, calls.Field{Name: name, Value: params[name]})
	}
	b.ids.beginCreate(to)
	result, err := b.callWithForm(ctx, method, nil, calls.NewForm(fields, field, f))
	return b.ids.recordCreate(to, m.Key, result, optionalMethodError(err))
}

// isPhoto reports whether Telegram most likely accepts f as a photo. isPhoto returns false for GIF files, because
// Telegram does not play the animation of a photo.
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
		return true // Go's standard library can't decode WebP; Telegram checks the dimensions
	default:
		return false
	}
	return err == nil && c.Width+c.Height <= maxPhotoSides && c.Width <= maxPhotoRatio*c.Height && c.Height <= maxPhotoRatio*c.Width
}

// checkFile returns an error if Telegram would refuse the file after the upload.
func checkFile(m chat.Outgoing, f chat.File) error {
	var problem error
	caption := markup.Units(m.Text)
	switch {
	case len(f.Content) > maxUpload:
		problem = fmt.Errorf("sendDocument: the file has %d bytes, and the maximum is %d", len(f.Content), maxUpload)
	case caption > captionLimit:
		problem = fmt.Errorf("sendDocument: the caption has %d UTF-16 units, and the maximum is %d", caption, captionLimit)
	default:
		return nil
	}
	return &chat.SendError{Kind: chat.TooLong, Err: problem}
}
