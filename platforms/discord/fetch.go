package discord

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// Fetch implements gateway.Fetcher. Fetch downloads an attachment from its URL. Fetch sends no token, and accepts
// only URLs of Discord's servers. The URL of an attachment expires after about a day. Fetch fails with Gone if the
// URL has expired.
// https://docs.discord.com/developers/reference#signed-attachment-cdn-urls
func (b *Bot) Fetch(ctx context.Context, a chat.Attachment, limit int64) ([]byte, error) {
	if a.ID != "" && !b.isPlatformURL(a.ID) {
		return nil, &chat.SendError{Kind: chat.Rejected, Err: errors.New("download file: not a Discord URL")}
	}
	content, err := calls.Download{
		Client: b.client, Header: http.Header{"User-Agent": {b.userAgent}}, Size: a.Size, Limit: limit, RetryAfter: defaultRetryAfter,
	}.Fetch(ctx, a.ID, nil)
	if code := calls.Status(err); code == http.StatusForbidden || code == http.StatusUnauthorized {
		return nil, calls.Reclassify(err, chat.Gone, chat.Forbidden, chat.Auth) // the URL has expired
	}
	return content, err
}

// isPlatformURL reports whether a URL leads to Discord's file servers, or to the server that Options.APIBase names.
func (b *Bot) isPlatformURL(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return false
	}
	if u.Scheme == "https" && slices.Contains([]string{"cdn.discordapp.com", "media.discordapp.net"}, u.Host) {
		return true
	}
	api, err := url.Parse(b.api)
	return err == nil && u.Scheme == api.Scheme && u.Host == api.Host && strings.HasPrefix(u.Path, "/attachments/")
}
