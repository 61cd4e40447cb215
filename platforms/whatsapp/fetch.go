package whatsapp

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"strings"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// mediaID matches the id of an attachment.
var mediaID = regexp.MustCompile(`^[0-9A-Za-z_-]{1,200}$`)

// Fetch implements gateway.Fetcher. Fetch makes two calls. The first call returns a URL that is valid for five minutes,
// and the second call downloads the file from this URL. Meta publishes no rate limit for the two calls of Fetch, and
// keeps a received file for seven days.
// https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/media#retrieve-media-url
func (b *Bot) Fetch(ctx context.Context, a chat.Attachment, limit int64) ([]byte, error) {
	if !mediaID.MatchString(a.ID) {
		return nil, &chat.SendError{Kind: chat.Gone, Err: errors.New(string(opMedia) + ": the attachment has no content")}
	}
	if err := calls.CheckSize(a.Size, limit); err != nil {
		return nil, err
	}
	var file struct {
		URL  string `json:"url"`
		Size int64  `json:"file_size"`
	}
	if err := b.get(ctx, opMedia, a.ID, url.Values{"phone_number_id": {b.opts.PhoneNumberID}}, &file); err != nil {
		return nil, fetchError(err)
	}
	if !b.mayFetch(file.URL) {
		return nil, &chat.SendError{Kind: chat.Rejected, Err: errors.New(string(opMedia) + ": not a Meta URL")}
	}
	d := calls.Download{
		Client: b.client, Secrets: b.secrets, Header: b.header(), Size: file.Size, Limit: limit, RetryAfter: fetchRetryAfter,
	}
	return d.Fetch(ctx, file.URL, nil)
}

// fetchError converts the error of a request for a file's URL. The error code 100 means that Meta no longer has the
// file, so fetchError returns an error of kind Gone.
func fetchError(err error) error {
	if calls.Code(err) == "100" {
		return calls.Reclassify(err, chat.Gone, chat.Auth, chat.Rejected)
	}
	return calls.AsRepeatable(err)
}

// mayFetch reports whether the bot may send its access token to a URL. The bot sends the token only to the host of the
// API and to other hosts of Meta.
func (b *Bot) mayFetch(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return false
	}
	if base, err := url.Parse(b.base); err == nil && u.Scheme == base.Scheme && strings.EqualFold(u.Host, base.Host) {
		return true
	}
	host := strings.ToLower(u.Hostname())
	for _, h := range []string{"fbsbx.com", "facebook.com", "fbcdn.net", "whatsapp.net"} {
		if u.Scheme == "https" && (host == h || strings.HasSuffix(host, "."+h)) {
			return true
		}
	}
	return false
}
