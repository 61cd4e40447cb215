package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// Fetch implements gateway.Fetcher. Fetch makes two calls, getFile and the download. Telegram publishes no rate limit
// for getFile or for the download. Fetch also fails with ErrTooLarge for every file over 20 MB, because Telegram's
// cloud server does not offer such files to bots. https://core.telegram.org/bots/api#getfile
func (b *Bot) Fetch(ctx context.Context, a chat.Attachment, limit int64) ([]byte, error) {
	if a.ID == "" {
		return nil, &chat.SendError{Kind: chat.Gone, Err: errors.New("getFile: the attachment has no content")}
	}
	if err := calls.CheckSize(a.Size, limit); err != nil {
		return nil, err
	}
	result, err := b.call(ctx, "getFile", tgbotapi.Params{"file_id": a.ID})
	if err != nil {
		return nil, fetchError(err)
	}
	var file tgbotapi.File
	if err := json.Unmarshal(result, &file); err != nil || file.FilePath == "" {
		return nil, &chat.SendError{Kind: chat.Temporary, Err: errors.New("getFile: the answer names no file")}
	}
	address, err := b.fileURL(file.FilePath)
	if err != nil {
		return nil, &chat.SendError{Kind: chat.Rejected, Err: fmt.Errorf("getFile: %w", err)}
	}
	d := calls.Download{Client: b.client, Secrets: b.secrets, Size: int64(file.FileSize), Limit: limit, RetryAfter: defaultRetryAfter}
	return d.Fetch(ctx, address, nil)
}

// fetchError converts an error of getFile.
// https://github.com/tdlib/telegram-bot-api/blob/master/telegram-bot-api/Client.cpp defines the error descriptions that
// fetchError looks for.
func fetchError(err error) error {
	failure := calls.AsRepeatable(err)
	switch {
	case hasDescription(failure, "file is too big"):
		return fmt.Errorf("getFile: %w for a bot", chat.ErrTooLarge)
	case hasDescription(failure, "file_id"), hasDescription(failure, "file is temporarily unavailable"),
		hasDescription(failure, "remote file identifier"), hasDescription(failure, "file_reference_"):
		failure.Kind = chat.Gone
	}
	return failure
}

// errLocalFile means that the Bot API server does not serve files, but names a file on its own disk.
var errLocalFile = errors.New("the Bot API server runs with --local and names a file on its own disk, " +
	"which telex can't read; run it without --local")

// fileURL returns the URL of a file with the given path on the server.
func (b *Bot) fileURL(path string) (string, error) {
	switch {
	case strings.HasPrefix(path, "/") || strings.Contains(path, `:\`):
		return "", errLocalFile
	case !fs.ValidPath(path):
		return "", errors.New("invalid file path")
	}
	return b.files + (&url.URL{Path: path}).EscapedPath(), nil
}
