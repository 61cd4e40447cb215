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

// SendFile shows a new message that is a file, with m's text above it. It fails as Send does, and with
// TooLong, before anything is uploaded, when the file is larger than a bot may send. A missing permission is
// Rejected, since the bot may be allowed to write there and only files may not. It never takes the place of a
// command's "thinking…".
func (b *Bot) SendFile(ctx context.Context, to chat.Target, m chat.Outgoing, f chat.File) (chat.Receipt, error) {
	switch {
	case len(f.Content) > maxUpload:
		return chat.Receipt{}, &chat.SendError{Kind: chat.TooLong, Err: fmt.Errorf(
			"sendFile: the file has %d bytes, and a bot may send %d at most", len(f.Content), maxUpload,
		)}
	case len(f.Content) == 0:
		return chat.Receipt{}, &chat.SendError{Kind: chat.Rejected, Err: errors.New("sendFile: the file is empty")}
	}
	f.Name = fileName(f.Name)
	if c, ok := parseCommand(cmp.Or(m.Answers, m.ReplyTo)); ok && c.alone {
		return b.sendAlone(ctx, c, to, m, &f)
	}
	r, err := b.create(ctx, "sendFile", to, m, &f)
	if codeOf(err) == discordgo.ErrCodeMissingPermissions {
		return chat.Receipt{}, &chat.SendError{Kind: chat.Rejected, Err: err}
	}
	return r, err
}

// fileName returns a name that Discord takes as it is: it would put something else in the place of spaces.
func fileName(name string) string { return strings.ReplaceAll(calls.FileName(name), " ", "_") }
