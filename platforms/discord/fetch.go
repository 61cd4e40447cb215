package discord

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"telex/internal/chat"
)

// Fetch returns the content of an attachment. Its address says where it is; only those of the platform
// are asked, without the bot's token, which they don't need. What is said to be larger than limit bytes
// is not loaded, and of what turns out to be no more than limit is ever held: both wrap
// [chat.ErrTooLarge]. Other failures are a *chat.SendError: Gone when the address holds no more, which
// is after about a day, and never Uncertain, for fetching changes nothing. Blocks until all is there or ctx ends.
// https://docs.discord.com/developers/reference#signed-attachment-cdn-urls
func (b *Bot) Fetch(ctx context.Context, a chat.Attachment, limit int64) ([]byte, error) {
	if a.ID == "" {
		return nil, &chat.SendError{Kind: chat.Gone, Err: errors.New("download file: the attachment has no content")}
	}
	if a.Size > limit {
		return nil, tooLarge(a.Size, limit)
	}
	if !b.ours(a.ID) {
		return nil, &chat.SendError{Kind: chat.Rejected, Err: errors.New("download file: the address is none of Discord's")}
	}
	if err := ctx.Err(); err != nil {
		return nil, &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("download file: %w", err)}
	}
	content, err := b.download(ctx, a.ID, limit)
	if err != nil {
		return nil, err
	}
	if got := int64(len(content)); got < a.Size {
		return nil, &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("download file: %d of %d bytes came", got, a.Size)}
	}
	return content, nil
}

// tooLarge says how large something is that should have limit bytes at most.
func tooLarge(size, limit int64) error {
	return fmt.Errorf("download file: %w: %d bytes, and %d are the limit", chat.ErrTooLarge, size, limit)
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

// download loads what is at an address.
func (b *Bot) download(ctx context.Context, address string, limit int64) ([]byte, error) {
	failed := func(kind chat.ErrorKind, err error) error {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the address, whose signature lets anybody in
		}
		return &chat.SendError{Kind: kind, Err: fmt.Errorf("download file: %w", err)}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, failed(chat.Rejected, err)
	}
	req.Header.Set("Accept-Encoding", "identity") // the length that is announced is then the content's
	req.Header.Set("User-Agent", b.agent)
	resp, err := b.client.Do(req)
	if err != nil {
		return nil, failed(chat.Temporary, err)
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end or given up.
	if resp.StatusCode != http.StatusOK {
		return nil, unfetched(resp)
	}
	if resp.ContentLength > limit {
		return nil, tooLarge(resp.ContentLength, limit)
	}
	content, err := io.ReadAll(io.LimitReader(resp.Body, limit))
	if err != nil {
		return nil, failed(chat.Temporary, err)
	}
	var beyond [1]byte
	switch n, err := io.ReadFull(resp.Body, beyond[:]); {
	case n > 0:
		return nil, fmt.Errorf("download file: %w: more than %d bytes", chat.ErrTooLarge, limit)
	case !errors.Is(err, io.EOF):
		return nil, failed(chat.Temporary, err)
	case ctx.Err() != nil: // the server may end in good order because it hears that we give up
		return nil, failed(chat.Temporary, ctx.Err())
	}
	return content, nil
}

// unfetched classifies an answer that is not the file. An address that is too old is answered 404, or
// 403 by what stands in front.
func unfetched(resp *http.Response) error {
	failure := &chat.SendError{
		Kind: chat.Temporary,
		Err:  &callError{text: fmt.Sprintf("download file: HTTP %d", resp.StatusCode), status: resp.StatusCode},
	}
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusGone, http.StatusForbidden, http.StatusUnauthorized:
		failure.Kind = chat.Gone
	case http.StatusTooManyRequests:
		failure.Kind, failure.RetryAfter = chat.RateLimited, retryAfter(problem{}, resp.Header)
	}
	return failure
}
