package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bwmarrin/discordgo"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// SendFile sends a file as a new message, with the text of m above the file. SendFile returns the same errors as Send,
// with two exceptions. If the file is larger than maxUpload, SendFile fails with TooLong and uploads nothing. If the
// bot lacks a permission in the channel, SendFile fails with Rejected instead of Forbidden, because the bot may still
// be allowed to send text. A file never replaces a command's "thinking…".
func (b *Bot) SendFile(ctx context.Context, to chat.Target, m chat.Outgoing, f chat.File) (chat.Receipt, error) {
	switch {
	case len(f.Content) > maxUpload:
		return chat.Receipt{}, &chat.SendError{Kind: chat.TooLong, Err: fmt.Errorf(
			"sendFile: the file has %d bytes, and the maximum is %d", len(f.Content), maxUpload,
		)}
	case len(f.Content) == 0:
		return chat.Receipt{}, &chat.SendError{Kind: chat.Rejected, Err: errors.New("sendFile: the file is empty")}
	}
	f.Name = fileName(f.Name)
	if c, ok := parseCommand(cmp.Or(m.Answers, m.ReplyTo)); ok && c.ephemeral {
		return b.sendEphemeral(ctx, c, to, m, &f)
	}
	r, err := b.create(ctx, "sendFile", to, m, &f)
	if codeOf(err) == discordgo.ErrCodeMissingPermissions {
		return chat.Receipt{}, &chat.SendError{Kind: chat.Rejected, Err: err}
	}
	return r, err
}

// fileName returns a file name that Discord does not change. fileName replaces spaces, because Discord would replace
// them too.
func fileName(name string) string { return strings.ReplaceAll(calls.FileName(name), " ", "_") }
