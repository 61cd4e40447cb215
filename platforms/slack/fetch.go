package slack

import (
	"context"
	"errors"
	"mime"
	"net/http"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// Fetch implements gateway.Fetcher, by one call that counts against no published limit. The failure is Auth when the token
// may read no files.
// https://docs.slack.dev/reference/objects/file-object
func (b *Bot) Fetch(ctx context.Context, a chat.Attachment, limit int64) ([]byte, error) {
	if a.ID != "" && !b.fetchable(a.ID) {
		return nil, &chat.SendError{Kind: chat.Rejected, Err: errors.New("download file: not a Slack URL")}
	}
	if err := calls.CheckSize(a.Size, limit); err != nil {
		return nil, err
	}
	return calls.Download{
		Client: b.client, Secrets: b.secrets, Header: http.Header{"Authorization": {"Bearer " + b.opts.BotToken}},
		Limit: limit, RetryAfter: defaultRetryAfter,
	}.Fetch(ctx, a.ID, func(resp *http.Response) error { return signIn(resp, a) })
}

// signIn refuses an answer that is a sign-in page or a redirect to one. Slack answers so, without an error, if the token may not
// read the file.
func signIn(resp *http.Response, a chat.Attachment) error {
	switch code := resp.StatusCode; {
	case code == http.StatusOK && isPage(resp.Header.Get("Content-Type")) && !isPage(a.MediaType),
		code >= 300 && code < 400, code == http.StatusUnauthorized:
		return &chat.SendError{Kind: chat.Auth, Err: errors.New(
			"download file: Slack wants somebody to sign in: the token is refused, or lacks the scope files:read")}
	}
	return nil
}

// isPage says that a media type is that of a web page.
func isPage(mediaType string) bool {
	kind, _, _ := mime.ParseMediaType(mediaType)
	return kind == "text/html"
}
