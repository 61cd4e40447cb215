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

// Fetch implements gateway.Fetcher. It asks for the file's address and loads it,
// two calls that count against no published limit. A file beyond the 20 MB that the cloud server hands out is too large, too.
// https://core.telegram.org/bots/api#getfile
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

// fetchError turns the failure of getFile into what Fetch returns. The texts are those of
// https://github.com/tdlib/telegram-bot-api/blob/master/telegram-bot-api/Client.cpp.
func fetchError(err error) error {
	failure := calls.Repeatable(err)
	switch {
	case says(failure, "file is too big"):
		return fmt.Errorf("getFile: %w for a bot", chat.ErrTooLarge)
	case says(failure, "file_id"), says(failure, "file is temporarily unavailable"),
		says(failure, "remote file identifier"), says(failure, "file_reference_"):
		failure.Kind = chat.Gone
	}
	return failure
}

// errLocalFile is the answer of a server that does not hand out files.
var errLocalFile = errors.New("the Bot API server runs with --local and names a file on its own disk, " +
	"which is not read; run it without --local")

// fileURL returns the address of a file by the path that the server gave it.
func (b *Bot) fileURL(path string) (string, error) {
	switch {
	case strings.HasPrefix(path, "/") || strings.Contains(path, `:\`):
		return "", errLocalFile
	case !fs.ValidPath(path):
		return "", errors.New("the file's path leads elsewhere")
	}
	return b.files + (&url.URL{Path: path}).EscapedPath(), nil
}
