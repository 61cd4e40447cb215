package calls

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"telex/internal/chat"
)

// downloadOperation is what the errors of downloads begin with.
const downloadOperation = "download file"

// Download is a file to fetch by a GET request.
type Download struct {
	Client     *http.Client
	Secrets    Secrets
	Header     http.Header   // of the request; nil: nothing particular
	Size       int64         // the file's, as the platform says; 0: unknown
	Limit      int64         // the largest that is loaded, in bytes
	RetryAfter time.Duration // after a rate limit that does not say how long
}

// CheckSize returns an error that wraps chat.ErrTooLarge for what is larger than limit.
func CheckSize(size, limit int64) error {
	if size <= limit {
		return nil
	}
	return fmt.Errorf("%s: %w: %d bytes, and %d are the limit", downloadOperation, chat.ErrTooLarge, size, limit)
}

// Fetch returns the content of the file at an address; an empty address is that of nothing, which is Gone. What is said to
// be larger than the limit is not loaded, and of what turns out to be, hardly more than the limit is ever held: both wrap
// chat.ErrTooLarge. Other failures are a *chat.SendError and never Uncertain, for fetching changes nothing. judge may refuse an answer before its body is read; nil: it takes those
// with status 200. Blocks until all is there or ctx ends.
func (d Download) Fetch(ctx context.Context, address string, judge func(*http.Response) error) ([]byte, error) {
	failed := func(kind chat.ErrorKind, err error) error {
		return &chat.SendError{Kind: kind, Err: d.Secrets.Error(downloadOperation, err)}
	}
	if address == "" {
		return nil, failed(chat.Gone, errors.New("the attachment has no content"))
	}
	if err := CheckSize(d.Size, d.Limit); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, failed(chat.Temporary, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, failed(chat.Rejected, err)
	}
	if d.Header != nil {
		req.Header = d.Header
	}
	req.Header.Set("Accept-Encoding", "identity") // the length that is announced is then the content's
	resp, err := d.Client.Do(req)
	if err != nil {
		return nil, failed(chat.Temporary, err)
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end or given up.
	if judge != nil {
		if err := judge(resp); err != nil {
			return nil, err
		}
	}
	if resp.StatusCode != http.StatusOK {
		return nil, d.classify(resp)
	}
	if err := CheckSize(resp.ContentLength, d.Limit); err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(resp.Body, d.Limit+1))
	if err == nil {
		err = ctx.Err() // the server may end in good order because it hears that we give up
	}
	switch got := int64(len(content)); {
	case got > d.Limit:
		return nil, fmt.Errorf("%s: %w: more than %d bytes", downloadOperation, chat.ErrTooLarge, d.Limit)
	case err != nil:
		return nil, failed(chat.Temporary, err)
	case got < d.Size:
		return nil, failed(chat.Temporary, fmt.Errorf("%d of %d bytes came", got, d.Size))
	}
	return content, nil
}

// classify classifies an answer that is not the file. A redirect could carry a token elsewhere: it is not followed.
func (d Download) classify(resp *http.Response) error {
	failure := &chat.SendError{
		Kind: chat.Temporary,
		Err:  &Error{text: fmt.Sprintf("%s: HTTP %d", downloadOperation, resp.StatusCode), status: resp.StatusCode},
	}
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		failure.Kind = chat.Gone
	case http.StatusUnauthorized:
		failure.Kind = chat.Auth
	case http.StatusForbidden:
		failure.Kind = chat.Forbidden
	case http.StatusTooManyRequests:
		failure.Kind, failure.RetryAfter = chat.RateLimited, RetryAfter(0, resp.Header, d.RetryAfter)
	}
	return failure
}
