package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"telex/internal/chat"
)

// Fetch returns the content of an attachment. It asks for the file's address and loads it,
// two calls that count against no published limit. What is said to be larger than limit bytes
// is not loaded, and of what turns out to be no more than limit is ever held: both wrap
// [chat.ErrTooLarge], and so does a file beyond the 20 MB that the cloud server hands out.
// Other failures are a *chat.SendError, Gone when Telegram has no such file any more and
// never Uncertain, for fetching changes nothing. Blocks until all is there or ctx ends.
// https://core.telegram.org/bots/api#getfile
func (b *Bot) Fetch(ctx context.Context, a chat.Attachment, limit int64) ([]byte, error) {
	if a.ID == "" {
		return nil, &chat.SendError{Kind: chat.Gone, Err: errors.New("getFile: the attachment has no content")}
	}
	if a.Size > limit {
		return nil, tooLarge("getFile", a.Size, limit)
	}
	result, err := b.call(ctx, "getFile", tgbotapi.Params{"file_id": a.ID})
	if err != nil {
		return nil, fetchError(err)
	}
	var file struct {
		Path string `json:"file_path"`
		Size int64  `json:"file_size"`
	}
	if err := json.Unmarshal(result, &file); err != nil || file.Path == "" {
		return nil, &chat.SendError{Kind: chat.Temporary, Err: errors.New("getFile: the answer names no file")}
	}
	if file.Size > limit {
		return nil, tooLarge("getFile", file.Size, limit)
	}
	address, err := b.fileURL(file.Path)
	if err != nil {
		return nil, &chat.SendError{Kind: chat.Rejected, Err: fmt.Errorf("getFile: %w", err)}
	}
	content, err := b.download(ctx, address, limit)
	if err != nil {
		return nil, err
	}
	if got := int64(len(content)); got < file.Size {
		return nil, &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("download file: %d of %d bytes came", got, file.Size)}
	}
	return content, nil
}

// tooLarge says how large something is that should have limit bytes at most.
func tooLarge(operation string, size, limit int64) error {
	return fmt.Errorf("%s: %w: %d bytes, and %d are the limit", operation, chat.ErrTooLarge, size, limit)
}

// fetchError turns the failure of getFile into what Fetch returns. The texts are those of
// https://github.com/tdlib/telegram-bot-api/blob/master/telegram-bot-api/Client.cpp.
func fetchError(err error) error {
	failure := *chat.AsSendError(err)
	switch {
	case says(&failure, "file is too big"):
		return fmt.Errorf("getFile: %w for a bot", chat.ErrTooLarge)
	case says(&failure, "file_id"), says(&failure, "file is temporarily unavailable"),
		says(&failure, "remote file identifier"), says(&failure, "file_reference_"):
		failure.Kind = chat.Gone
	case failure.Kind == chat.Uncertain:
		failure.Kind = chat.Temporary
	}
	return &failure
}

// errLocalFile is the answer of a server that does not hand out files.
var errLocalFile = errors.New("the Bot API server runs with --local and names a file on its own disk, " +
	"which is not read; run it without --local")

// fileURL returns the address of a file by the path that the server gave it.
func (b *Bot) fileURL(path string) (string, error) {
	if strings.HasPrefix(path, "/") || strings.Contains(path, `:\`) {
		return "", errLocalFile
	}
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if slices.Contains([]string{"", ".", ".."}, s) {
			return "", errors.New("the file's path leads elsewhere")
		}
		segments[i] = url.PathEscape(s)
	}
	return b.files + strings.Join(segments, "/"), nil
}

// download loads what is at an address of the server, which must be free.
func (b *Bot) download(ctx context.Context, address string, limit int64) ([]byte, error) {
	const operation = "download file"
	failed := func(kind chat.ErrorKind, err error) error {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the address, which holds the token
		}
		text := b.redact(fmt.Sprintf("%s: %v", operation, err))
		return &chat.SendError{Kind: kind, Err: &callError{text: text, cause: b.safeCause(err)}}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, failed(chat.Rejected, err)
	}
	req.Header.Set("Accept-Encoding", "identity") // the length that is announced is then the content's
	resp, err := b.client.Do(req)
	if err != nil {
		return nil, failed(chat.Temporary, err)
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end or given up.
	if resp.StatusCode != http.StatusOK {
		return nil, b.refused(operation, resp)
	}
	if resp.ContentLength > limit {
		return nil, tooLarge(operation, resp.ContentLength, limit)
	}
	content, err := io.ReadAll(io.LimitReader(resp.Body, limit))
	if err != nil {
		return nil, failed(chat.Temporary, err)
	}
	var beyond [1]byte
	switch n, err := io.ReadFull(resp.Body, beyond[:]); {
	case n > 0:
		return nil, fmt.Errorf("%s: %w: more than %d bytes", operation, chat.ErrTooLarge, limit)
	case !errors.Is(err, io.EOF):
		return nil, failed(chat.Temporary, err)
	case ctx.Err() != nil: // the server may end in good order because it hears that we give up
		return nil, failed(chat.Temporary, ctx.Err())
	}
	return content, nil
}

// refused classifies an answer that is not the file. A redirect is none of Telegram's and
// could carry the token elsewhere: it is not followed.
func (b *Bot) refused(operation string, resp *http.Response) error {
	failure := &chat.SendError{
		Kind: chat.Temporary,
		Err:  &callError{text: fmt.Sprintf("%s: HTTP %d", operation, resp.StatusCode), status: resp.StatusCode},
	}
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		failure.Kind = chat.Gone
	case http.StatusUnauthorized:
		failure.Kind = chat.Auth
	case http.StatusForbidden:
		failure.Kind = chat.Forbidden
	case http.StatusTooManyRequests:
		failure.Kind, failure.RetryAfter = chat.RateLimited, retryAfter(nil, resp.Header.Get("Retry-After"))
	}
	return failure
}
