package slack

import (
	"context"
	"errors"
	"mime"
	"net/http"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// Fetch implements gateway.Fetcher. Fetch downloads a file with one call, for which Slack publishes no rate limit. If
// the token may not read files, Fetch fails with Auth. https://docs.slack.dev/reference/objects/file-object
func (b *Bot) Fetch(ctx context.Context, a chat.Attachment, limit int64) ([]byte, error) {
	if a.ID != "" && !b.mayFetch(a.ID) {
		return nil, &chat.SendError{Kind: chat.Rejected, Err: errors.New("download file: not a Slack URL")}
	}
	if err := calls.CheckSize(a.Size, limit); err != nil {
		return nil, err
	}
	return calls.Download{
		Client: b.client, Secrets: b.secrets, Header: http.Header{"Authorization": {"Bearer " + b.opts.BotToken}},
		Limit: limit, RetryAfter: defaultRetryAfter,
	}.Fetch(ctx, a.ID, func(resp *http.Response) error { return checkSignIn(resp, a) })
}

// checkSignIn returns an error if the response is a sign-in page or a redirect to such a page. Slack sends a sign-in
// page instead of an error if the token may not read the file.
func checkSignIn(resp *http.Response, a chat.Attachment) error {
	switch code := resp.StatusCode; {
	case code == http.StatusOK && isWebPage(resp.Header.Get("Content-Type")) && !isWebPage(a.MediaType),
		code >= 300 && code < 400, code == http.StatusUnauthorized:
		return &chat.SendError{Kind: chat.Auth, Err: errors.New(
			"download file: Slack answers with a sign-in page: the token is refused, or lacks the scope files:read")}
	}
	return nil
}

// isWebPage reports whether a media type is that of a web page.
func isWebPage(mediaType string) bool {
	kind, _, _ := mime.ParseMediaType(mediaType)
	return kind == "text/html"
}
