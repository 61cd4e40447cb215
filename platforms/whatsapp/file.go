package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"telex/internal/chat"
	"telex/internal/markup"
	"telex/platforms/internal/calls"
)

// SendFile shows a new message that is a picture or a document, with m's text as its caption. It takes two calls. Only the second
// one shows anything, so a failure of the first is never Uncertain.
// https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/media#upload-media
func (b *Bot) SendFile(ctx context.Context, to chat.Target, m chat.Outgoing, f chat.File) (chat.Receipt, error) {
	kind := uploadType(f.MediaType)
	var problem error
	failure := chat.TooLong
	switch caption := markup.Units(m.Text); {
	case len(f.Content) == 0:
		failure, problem = chat.Rejected, errors.New("the file is empty")
	case kind == "":
		failure, problem = chat.Rejected, fmt.Errorf("WhatsApp takes no files of type %q", f.MediaType)
	case len(f.Content) > maxUpload:
		problem = fmt.Errorf("the file has %d bytes, and %d is the most", len(f.Content), maxUpload)
	case caption > captionLimit:
		problem = fmt.Errorf("the caption has %d UTF-16 units, and %d is the most", caption, captionLimit)
	}
	if problem != nil {
		return chat.Receipt{}, &chat.SendError{Kind: failure, Err: fmt.Errorf("%s: %w", opUpload, problem)}
	}
	id, err := b.upload(ctx, chat.File{Name: f.Name, MediaType: kind, Content: f.Content})
	if err != nil {
		return chat.Receipt{}, calls.Repeatable(err)
	}
	if strings.HasPrefix(kind, "image/") && len(f.Content) <= maxImage {
		return b.create(ctx, to, m, outgoing{Type: "image", Image: &mediaBody{ID: id, Caption: m.Text}})
	}
	return b.create(ctx, to, m, outgoing{Type: "document", Document: &mediaBody{ID: id, Caption: m.Text, Name: calls.FileName(f.Name)}})
}

// upload stores a file at Meta for 30 days and returns its id.
func (b *Bot) upload(ctx context.Context, f chat.File) (string, error) {
	var made struct {
		ID string `json:"id"`
	}
	form := calls.NewForm([]calls.Field{{Name: "messaging_product", Value: "whatsapp"}, {Name: "type", Value: f.MediaType}}, "file", f)
	err := b.call(ctx, opUpload, http.MethodPost, b.opts.PhoneNumberID+"/media", &made, form.Fill)
	if err == nil && made.ID == "" {
		err = &chat.SendError{Kind: chat.Temporary, Err: errors.New(string(opUpload) + ": the answer names no file")}
	}
	return made.ID, err
}

// uploadType returns the type as which a file can be uploaded; empty: it can't. All text is plain text to WhatsApp.
// https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/media#supported-media-types
func uploadType(mediaType string) string {
	kind, _, err := mime.ParseMediaType(mediaType)
	switch {
	case err != nil:
		return ""
	case strings.HasPrefix(kind, "text/"), slices.Contains([]string{"application/json", "application/xml", "application/yaml", "application/x-yaml"}, kind):
		return "text/plain"
	case slices.Contains([]string{
		"image/jpeg", "image/png", "application/pdf", "audio/aac", "audio/amr", "audio/mpeg", "audio/mp4", "audio/ogg", "video/3gpp", "video/mp4",
		"application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint",
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document",
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
		"application/vnd.openxmlformats-officedocument.presentationml.presentation",
	}, kind):
		return kind
	}
	return ""
}
