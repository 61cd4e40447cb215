package slack

import (
	"cmp"
	"context"
	"errors"
	"time"

	library "github.com/slack-go/slack"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

const (
	methodStart  = "chat.startStream"
	methodAppend = "chat.appendStream"
	methodStop   = "chat.stopStream"
)

// Start begins a stream in a thread, with a text. In a channel Slack must be told for whom, which m.Answers says. Without it the
// failure is Rejected, and the gateway uses edits instead.
// https://docs.slack.dev/reference/methods/chat.startStream
func (b *Bot) Start(ctx context.Context, to chat.Target, m chat.Outgoing) (chat.Receipt, error) {
	options, err := b.addressee(ctx, to, m.Answers)
	if err != nil {
		return chat.Receipt{}, err
	}
	options = append(options, linkPreviews(m)...)
	if m.Text != "" {
		options = append(options, library.MsgOptionMarkdownText(harmless(m.Text)))
	}
	b.sentKeys.Put(hash(m.Key), time.Now())
	a, err := b.message(ctx, methodStart, to.Chat, library.MsgOptionStartStream(), options...)
	if err != nil {
		return chat.Receipt{}, err
	}
	return chat.Receipt{Ref: chat.MessageRef{Target: to, ID: streamID(a.TS, m.Key)}}, nil
}

// addressee says where a stream is and for whom.
func (b *Bot) addressee(ctx context.Context, to chat.Target, question chat.MessageID) ([]library.MsgOption, error) {
	options := []library.MsgOption{library.MsgOptionTS(string(to.Thread))}
	person := asker(question)
	switch {
	case to.Thread == "":
		return nil, &chat.SendError{Kind: chat.Rejected, Err: errors.New(methodStart + ": streams are in threads only")}
	case to.Kind == chat.Private:
		return options, nil
	case person == "":
		return nil, &chat.SendError{Kind: chat.Rejected, Err: errors.New(methodStart + ": it is not known whom the stream answers")}
	}
	self, err := b.identity(ctx)
	if err != nil {
		return nil, unstarted(chat.OpStart, err)
	}
	team, _ := b.teams.Get(person) // of somebody from another workspace, in a channel that both share
	return append(options, library.MsgOptionRecipientUserID(person), library.MsgOptionRecipientTeamID(cmp.Or(team, self.Team))), nil
}

// unstarted turns the failure of a preparing call into that of the call of kind op, which was then not made. A rate limit closes
// calls of that kind: they can't be made without the preparing call.
func unstarted(op chat.Op, err error) error {
	failure := calls.Repeatable(err)
	if failure.Kind == chat.RateLimited {
		failure.Ops = op
	}
	return failure
}

// Append adds text at the end of a stream. If the stream has ended, by itself or because a person stopped it, the failure is
// Rejected.
func (b *Bot) Append(ctx context.Context, ref chat.MessageRef, text string) error {
	ts, err := own(methodAppend, ref)
	if err != nil {
		return err
	}
	_, err = b.message(ctx, methodAppend, ref.Target.Chat, library.MsgOptionAppendStream(ts), library.MsgOptionMarkdownText(harmless(text)))
	return err
}

// Stop ends a stream, with a last text that may be empty, and adds its key to its metadata, which a stream can't have before.
// Without a text, a stream that was stopped a moment ago is a success. A stream that may have ended by itself, as they do after
// some minutes, is Rejected: it looks broken, and only an edit repairs it.
func (b *Bot) Stop(ctx context.Context, ref chat.MessageRef, text string) error {
	ts, err := own(methodStop, ref)
	if err != nil {
		return err
	}
	var options []library.MsgOption
	if _, hashed, _ := split(ref.ID); hashed != "" {
		options = append(options, metadata(hashed))
	}
	if text != "" {
		options = append(options, library.MsgOptionMarkdownText(harmless(text)))
	}
	_, err = b.message(ctx, methodStop, ref.Target.Chat, library.MsgOptionStopStream(ts), options...)
	if text == "" && (calls.Code(err) == notStreaming || calls.Code(err) == stoppedByUser) && time.Since(timeOf(ts)) < streamMayEnd {
		return nil
	}
	return err
}

// The errors of adding to a stream, or stopping it, once it has ended.
const (
	notStreaming  = "message_not_in_streaming_state"
	stoppedByUser = "stopped_by_user" // by Slack's own button
)
