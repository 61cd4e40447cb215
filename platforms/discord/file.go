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

// SendFile sends a file as a new message with m's text above it. It fails like Send. It fails with TooLong before the
// upload if the file exceeds the limit. If a permission is missing, it fails with Rejected instead of Forbidden,
// because the bot may still be allowed to send text there. It never replaces a command's "thinking…".
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

// fileName returns a name that Discord keeps unchanged. Discord would replace spaces.
func fileName(name string) string { return strings.ReplaceAll(calls.FileName(name), " ", "_") }
