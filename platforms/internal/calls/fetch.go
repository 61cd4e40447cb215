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

// downloadOperation names the operation in errors of downloads.
const downloadOperation = "download file"

// Download describes a file that telex downloads with a GET request.
type Download struct {
	Client     *http.Client
	Secrets    Secrets
	Header     http.Header   // headers of the request; nil: no extra headers
	Size       int64         // file size according to the platform; 0: unknown
	Limit      int64         // maximum size of the file in bytes
	RetryAfter time.Duration // the wait after a response with status 429 that does not say how long to wait
}

// CheckSize returns an error that wraps chat.ErrTooLarge if size exceeds limit.
func CheckSize(size, limit int64) error {
	if size <= limit {
		return nil
	}
	return fmt.Errorf("%s: %w: %d bytes, and the limit is %d", downloadOperation, chat.ErrTooLarge, size, limit)
}

// Fetch returns the content of the file at a URL. If the URL is empty, Fetch fails with Gone. If the announced size of
// the file exceeds the limit, Fetch downloads nothing. If the actual size of the file exceeds the limit, Fetch stops
// reading soon after the limit. The error for a file that exceeds the limit wraps chat.ErrTooLarge. All other errors of
// Fetch are of type *chat.SendError. The kind of a *chat.SendError from Fetch is never Uncertain, because a download
// changes nothing. The function check may refuse a response before Fetch reads the response's body. If check is nil or
// returns nil, Fetch accepts only responses with status 200. Fetch blocks until it has read the whole file or ctx ends.
func (d Download) Fetch(ctx context.Context, address string, check func(*http.Response) error) ([]byte, error) {
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
	req.Header.Set("Accept-Encoding", "identity") // without compression, the header Content-Length is the length of the file
	resp, err := d.Client.Do(req)
	if err != nil {
		return nil, failed(chat.Temporary, err)
	}
	defer resp.Body.Close() //nolint:errcheck // the body was read completely, or nobody needs it.
	if check != nil {
		if err := check(resp); err != nil {
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
		err = ctx.Err() // after ctx has ended, the server may end an incomplete response as if it were complete
	}
	switch got := int64(len(content)); {
	case got > d.Limit:
		return nil, fmt.Errorf("%s: %w: more than %d bytes", downloadOperation, chat.ErrTooLarge, d.Limit)
	case err != nil:
		return nil, failed(chat.Temporary, err)
	case got < d.Size:
		return nil, failed(chat.Temporary, fmt.Errorf("received %d of %d bytes", got, d.Size))
	}
	return content, nil
}

// classify returns the error for a response that does not contain the file. A redirect is also an error, because telex
// does not follow redirects, which could send a token to another server.
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
