package slack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"

	"telex/internal/chat"
)

// errElsewhere is an attachment that is not Slack's own.
var errElsewhere = errors.New("download file: its address is none of Slack's")

// methodFetch is no method: a GET of the address that an event named.
const methodFetch = "download file"

// Fetch returns the content of an attachment, by one call that counts against no published limit.
// What is said to be larger than limit bytes is not loaded, and of what turns out to be no more than
// limit is ever held: both wrap [chat.ErrTooLarge]. Other failures are a *chat.SendError: Gone when
// Slack has no such file any more, Auth when the token may read no files, and never Uncertain, for
// fetching changes nothing. Blocks until all is there or ctx ends.
// https://docs.slack.dev/reference/objects/file-object
func (b *Bot) Fetch(ctx context.Context, a chat.Attachment, limit int64) ([]byte, error) {
	switch {
	case a.ID == "":
		return nil, &chat.SendError{Kind: chat.Gone, Err: errors.New(methodFetch + ": the attachment has no content")}
	case !b.fetchable(a.ID):
		return nil, &chat.SendError{Kind: chat.Rejected, Err: errElsewhere}
	case a.Size > limit:
		return nil, tooLarge(a.Size, limit)
	case ctx.Err() != nil:
		return nil, &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("%s: %w", methodFetch, ctx.Err())}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.ID, nil)
	if err != nil {
		return nil, &chat.SendError{Kind: chat.Rejected, Err: errElsewhere}
	}
	req.Header.Set("Authorization", "Bearer "+b.opts.BotToken)
	req.Header.Set("Accept-Encoding", "identity") // the length that is announced is then the content's
	resp, err := b.client.Do(req)
	if err != nil {
		return nil, b.unfetched(err)
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end or given up.
	if err := refused(resp, a); err != nil {
		return nil, err
	}
	if resp.ContentLength > limit {
		return nil, tooLarge(resp.ContentLength, limit)
	}
	return b.load(ctx, resp.Body, limit)
}

// load reads a file's content.
func (b *Bot) load(ctx context.Context, body io.Reader, limit int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(body, limit))
	if err != nil {
		return nil, b.unfetched(err)
	}
	var beyond [1]byte
	switch n, err := io.ReadFull(body, beyond[:]); {
	case n > 0:
		return nil, fmt.Errorf("%s: %w: more than %d bytes", methodFetch, chat.ErrTooLarge, limit)
	case !errors.Is(err, io.EOF):
		return nil, b.unfetched(err)
	case ctx.Err() != nil: // the server may end in good order because it hears that we give up
		return nil, b.unfetched(ctx.Err())
	}
	return content, nil
}

// unfetched is a failure below the answer.
func (b *Bot) unfetched(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return &chat.SendError{Kind: chat.Temporary, Err: b.problem(methodFetch, err, &exchange{failed: err})}
}

// tooLarge says how large something is that should have limit bytes at most.
func tooLarge(size, limit int64) error {
	return fmt.Errorf("%s: %w: %d bytes, and %d are the limit", methodFetch, chat.ErrTooLarge, size, limit)
}

// refused classifies an answer that is not the file. A token that may not read it is answered with a
// page to sign in, or sent there, without any error.
func refused(resp *http.Response, a chat.Attachment) error {
	failure := &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("%s: HTTP %d", methodFetch, resp.StatusCode)}
	switch code := resp.StatusCode; {
	case code == http.StatusOK && isPage(resp.Header.Get("Content-Type")) && !isPage(a.MediaType),
		code >= 300 && code < 400, code == http.StatusUnauthorized:
		failure.Kind = chat.Auth
		failure.Err = errors.New(methodFetch + ": Slack wants somebody to sign in: the token is refused, or lacks the scope files:read")
	case code == http.StatusOK:
		return nil
	case code == http.StatusNotFound, code == http.StatusGone:
		failure.Kind = chat.Gone
	case code == http.StatusForbidden:
		failure.Kind = chat.Forbidden
	case code == http.StatusTooManyRequests:
		failure.Kind, failure.RetryAfter = chat.RateLimited, retryAfter(resp.Header.Get("Retry-After"))
	}
	return failure
}

// isPage says that a media type is that of a web page.
func isPage(mediaType string) bool {
	kind, _, _ := mime.ParseMediaType(mediaType)
	return kind == "text/html"
}
