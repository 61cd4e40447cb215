package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"telex/internal/chat"
	"telex/internal/markup"
	"telex/platforms/internal/calls"
)

// SendFile sends a file as a new message with m's text as its caption. SendFile makes two calls. The first call uploads
// the file, and the second call sends the message. A failed upload is never Uncertain, because people can't see an
// uploaded file before the message is sent.
// https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/media#upload-media
func (b *Bot) SendFile(ctx context.Context, to chat.Target, m chat.Outgoing, f chat.File) (chat.Receipt, error) {
	kind, mediaType := messageKind(f.MediaType)
	var problem error
	failure := chat.TooLong
	switch caption := markup.Units(m.Text); {
	case len(f.Content) == 0:
		failure, problem = chat.Rejected, errors.New("the file is empty")
	case kind == "", kind == kindAudio && caption > 0: // a message with audio can't have a caption
		failure, problem = chat.Rejected, fmt.Errorf("WhatsApp does not accept files of type %q", f.MediaType)
	case len(f.Content) > maxUpload(kind):
		problem = fmt.Errorf("the file has %d bytes, and the maximum is %d", len(f.Content), maxUpload(kind))
	case caption > captionLimit:
		problem = fmt.Errorf("the caption has %d UTF-16 units, and the maximum is %d", caption, captionLimit)
	}
	if problem != nil {
		return chat.Receipt{}, &chat.SendError{Kind: failure, Err: fmt.Errorf("%s: %w", opUpload, problem)}
	}
	id, err := b.upload(ctx, chat.File{Name: f.Name, MediaType: mediaType, Content: f.Content})
	if err != nil {
		return chat.Receipt{}, calls.AsRepeatable(err)
	}
	out, body := outgoing{Type: kind}, &mediaBody{ID: id, Caption: m.Text}
	switch kind {
	case kindImage:
		out.Image = body
	case kindVideo:
		out.Video = body
	case kindAudio:
		out.Audio = body
	default:
		body.Name = calls.FileName(f.Name)
		out.Document = body
	}
	return b.create(ctx, to, m, out)
}

// upload stores a file at Meta for 30 days and returns the file's id.
func (b *Bot) upload(ctx context.Context, f chat.File) (string, error) {
	var made struct {
		ID string `json:"id"`
	}
	form := calls.NewForm([]calls.Field{{Name: "messaging_product", Value: "whatsapp"}, {Name: "type", Value: f.MediaType}}, "file", f)
	err := b.call(ctx, opUpload, http.MethodPost, b.opts.PhoneNumberID+"/media", &made, form.Fill)
	if err == nil && made.ID == "" {
		err = &chat.SendError{Kind: chat.Temporary, Err: errors.New(string(opUpload) + ": the response contains no file id")}
	}
	return made.ID, err
}

// These are the kinds of messages that contain a file.
const (
	kindDocument = "document"
	kindImage    = "image"
	kindVideo    = "video"
	kindAudio    = "audio"
)

// messageKind returns the kind of message that can contain a file, and the media type with which the file is uploaded.
// If WhatsApp does not accept the media type of the file, messageKind returns "" as the kind. telex uploads a file in
// any text format as plain text.
// https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/media#supported-media-types
func messageKind(mediaType string) (kind, as string) {
	as, _, err := mime.ParseMediaType(mediaType)
	if err != nil {
		return "", ""
	}
	major, _, _ := strings.Cut(as, "/")
	switch as {
	case "image/jpeg", "image/png", "video/mp4", "video/3gpp", "audio/aac", "audio/amr", "audio/mpeg", "audio/mp4", "audio/ogg":
		return major, as
	case "application/json", "application/xml", "application/yaml", "application/x-yaml":
		return kindDocument, "text/plain"
	case "application/pdf", "application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint",
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document",
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
		"application/vnd.openxmlformats-officedocument.presentationml.presentation":
		return kindDocument, as
	}
	if major == "text" {
		return kindDocument, "text/plain"
	}
	return "", ""
}
