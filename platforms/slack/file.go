package slack

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	library "github.com/slack-go/slack"

	"telex/internal/chat"
	"telex/internal/markup"
	"telex/platforms/internal/calls"
)

const (
	methodUploadURL = "files.getUploadURLExternal"
	methodUpload    = "upload file" // no method of the Web API, but a POST request to a URL that Slack creates for each upload
	methodComplete  = "files.completeUploadExternal"
	methodDrop      = "files.delete"
)

// SendFile sends a file as a new message, with the text of m above the file. SendFile sends the plain form of the
// text, because Slack does not support Markdown in the comment of a file. SendFile makes three calls. Only the
// last call of SendFile makes the file visible, so an error of an earlier call is never Uncertain. Because Slack does
// not return the id of the message, the receipt contains the id of the file, with which Delete can delete the file. The
// name under which people download the file contains a part of the hash of m's idempotency key, by which [Bot.Find]
// recognizes the file. The file's visible title is the name of f.
// https://docs.slack.dev/messaging/working-with-files#upload
func (b *Bot) SendFile(ctx context.Context, to chat.Target, m chat.Outgoing, f chat.File) (chat.Receipt, error) {
	switch {
	case len(f.Content) == 0:
		return chat.Receipt{}, &chat.SendError{Kind: chat.Rejected, Err: errors.New(methodUpload + ": the file is empty")}
	case len(f.Content) > maxUpload, markup.Units(m.Plain) > plainLimit:
		return chat.Receipt{}, &chat.SendError{Kind: chat.TooLong, Err: errors.New(methodUpload + ": the file or its caption is too long")}
	}
	name := calls.FileName(f.Name)
	a, err := b.call(ctx, methodUploadURL, func(ctx context.Context, api *library.Client) error {
		_, err := api.GetUploadURLExternalContext(ctx, library.GetUploadURLExternalParameters{FileName: nameWithMark(name, hash(m.Key)), FileSize: len(f.Content)})
		return err
	})
	if err != nil {
		return chat.Receipt{}, notStarted(chat.OpFile, err)
	}
	var place struct {
		URL  string `json:"upload_url"`
		File string `json:"file_id"`
	}
	if err := a.decode(methodUploadURL, &place); err != nil {
		return chat.Receipt{}, err
	}
	if err := b.upload(ctx, place.URL, f.Content); err != nil {
		return chat.Receipt{}, notStarted(chat.OpFile, err)
	}
	b.sentKeys.Put(hash(m.Key), time.Time{})
	_, err = b.call(ctx, methodComplete, func(ctx context.Context, api *library.Client) error {
		_, err := api.CompleteUploadExternalContext(ctx, library.CompleteUploadExternalParameters{
			Files: []library.FileSummary{{ID: place.File, Title: name}}, Channel: string(to.Chat),
			ThreadTimestamp: string(to.Thread), InitialComment: disableLinks(fallbackText(m)),
		})
		return err
	})
	if err != nil {
		return chat.Receipt{}, err
	}
	return chat.Receipt{Ref: chat.MessageRef{Target: to, ID: chat.MessageID(place.File)}}, nil
}

// linkLike matches text that Slack may turn into a link.
var linkLike = regexp.MustCompile(`(?i)(?:[a-z][a-z0-9+.-]*:/|(?:[\p{L}\p{N}_-]+\.)+\p{L}{2})\S*`)

// disableLinks formats the URLs in a text as code, because Slack neither links nor previews URLs in code. Slack has
// no option that disables link previews in the comment of a file.
func disableLinks(text string) string {
	return linkLike.ReplaceAllStringFunc(text, func(a string) string { return "`" + strings.ReplaceAll(a, "`", "%60") + "`" })
}

// upload sends a file's content to the URL that Slack has created for this file. The URL for the upload is secret, so
// the request needs no token.
func (b *Bot) upload(ctx context.Context, address string, data []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(data))
	if err != nil {
		return &chat.SendError{Kind: chat.Temporary, Err: errors.New(methodUpload + ": invalid upload URL")}
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	o := calls.Do(b.client, req)
	switch {
	case o.Err != nil:
		return o.UnansweredError(methodUpload, b.secrets)
	case o.Status == http.StatusOK:
		return nil
	}
	failure := classify(methodUpload, o, &response{}, false)
	failure.Err = b.secrets.RefusedError(methodUpload, o, "", "")
	return failure
}

// deleteFile deletes a file and the message that shows it.
func (b *Bot) deleteFile(ctx context.Context, ref chat.MessageRef) error {
	_, err := b.call(ctx, methodDrop, func(ctx context.Context, api *library.Client) error {
		return api.DeleteFileContext(ctx, string(ref.ID))
	})
	if code := calls.Code(err); code == "file_not_found" || code == "file_deleted" {
		return nil
	}
	return err
}

// nameWithMark inserts the beginning of the hash of an idempotency key before the extension of a file name.
func nameWithMark(name, hashed string) string {
	stem, extension := calls.SplitName(name)
	return stem + keyMark(hashed) + extension
}

// keyMark returns the text that nameWithMark inserts into a file name for the hash of an idempotency key.
func keyMark(hashed string) string { return "-" + hashed[:12] }

// mayFetch reports whether telex may send the bot's token to a URL. mayFetch accepts only Slack's own URLs, because a
// file that is stored outside Slack may have any URL. Slack's reference of file objects describes files outside Slack
// in url_private: https://docs.slack.dev/reference/objects/file-object.
func (b *Bot) mayFetch(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return false
	}
	if base, err := url.Parse(b.base); err == nil && u.Scheme == base.Scheme && strings.EqualFold(u.Host, base.Host) {
		return true
	}
	host := strings.ToLower(u.Hostname())
	for _, h := range []string{"slack.com", "slack-files.com", "slack-gov.com"} {
		if u.Scheme == "https" && (host == h || strings.HasSuffix(host, "."+h)) {
			return true
		}
	}
	return false
}
