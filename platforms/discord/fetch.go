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

// Fetch implements gateway.Fetcher. An attachment's address says where it is; only those of the platform
// are asked, without the bot's token, which they don't need. An address is Gone after about a day.
// https://docs.discord.com/developers/reference#signed-attachment-cdn-urls
func (b *Bot) Fetch(ctx context.Context, a chat.Attachment, limit int64) ([]byte, error) {
	if a.ID != "" && !b.ours(a.ID) {
		return nil, &chat.SendError{Kind: chat.Rejected, Err: errors.New("download file: not a Discord URL")}
	}
	content, err := calls.Download{
		Client: b.client, Header: http.Header{"User-Agent": {b.agent}}, Size: a.Size, Limit: limit, RetryAfter: defaultRetryAfter,
	}.Fetch(ctx, a.ID, nil)
	if code := calls.Status(err); code == http.StatusForbidden || code == http.StatusUnauthorized {
		return nil, calls.Instead(err, chat.Gone, chat.Forbidden, chat.Auth) // so is an address answered that is too old
	}
	return content, err
}

// ours reports whether an address is one of the platform's for files, or of the server that takes its place.
func (b *Bot) ours(address string) bool {
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
