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

// Start starts a stream in a thread, with the text of m. In a channel, Slack requires a recipient for a stream. Start
// uses the author of the message m.Answers as the recipient. If the author of the message m.Answers is unknown, Start
// fails with Rejected, and the gateway shows the reply with edits instead.
// https://docs.slack.dev/reference/methods/chat.startStream
func (b *Bot) Start(ctx context.Context, to chat.Target, m chat.Outgoing) (chat.Receipt, error) {
	options, err := b.streamTarget(ctx, to, m.Answers)
	if err != nil {
		return chat.Receipt{}, err
	}
	options = append(options, linkPreviews(m)...)
	if m.Text != "" {
		options = append(options, library.MsgOptionMarkdownText(escapeControls(m.Text)))
	}
	b.sentKeys.Put(hash(m.Key), time.Now())
	a, err := b.callForMessage(ctx, methodStart, to.Chat, library.MsgOptionStartStream(), options...)
	if err != nil {
		return chat.Receipt{}, err
	}
	return chat.Receipt{Ref: chat.MessageRef{Target: to, ID: streamID(a.TS, m.Key)}}, nil
}

// streamTarget returns the options that set the thread and the recipient of a stream.
func (b *Bot) streamTarget(ctx context.Context, to chat.Target, question chat.MessageID) ([]library.MsgOption, error) {
	options := []library.MsgOption{library.MsgOptionTS(string(to.Thread))}
	person := asker(question)
	switch {
	case to.Thread == "":
		return nil, &chat.SendError{Kind: chat.Rejected, Err: errors.New(methodStart + ": streams exist only in threads")}
	case to.Kind == chat.Private:
		return options, nil
	case person == "":
		return nil, &chat.SendError{Kind: chat.Rejected, Err: errors.New(methodStart + ": the recipient of the stream is unknown")}
	}
	self, err := b.identity(ctx)
	if err != nil {
		return nil, notStarted(chat.OpStart, err)
	}
	team, _ := b.teams.Get(person) // team is not empty for a person from another workspace in a shared channel
	return append(options, library.MsgOptionRecipientUserID(person), library.MsgOptionRecipientTeamID(cmp.Or(team, self.Team))), nil
}

// notStarted converts the error of an auxiliary call to an error of the main call, which the bot did not make because
// the auxiliary call failed. The parameter op is the kind of the main call. If Slack refused the auxiliary call because
// of a rate limit, the gateway must delay all calls of kind op, because these calls need the auxiliary call.
func notStarted(op chat.Op, err error) error {
	failure := calls.AsRepeatable(err)
	if failure.Kind == chat.RateLimited {
		failure.Ops = op
	}
	return failure
}

// Append adds text at the end of a stream. If the stream has ended by itself, or if a person has stopped the stream,
// Append fails with Rejected.
func (b *Bot) Append(ctx context.Context, ref chat.MessageRef, text string) error {
	ts, err := messageTS(methodAppend, ref)
	if err != nil {
		return err
	}
	_, err = b.callForMessage(ctx, methodAppend, ref.Target.Chat, library.MsgOptionAppendStream(ts), library.MsgOptionMarkdownText(escapeControls(text)))
	return err
}

// Stop adds a last text, which may be empty, to a stream and ends the stream. Stop also stores the hash of the stream's
// idempotency key in the message's metadata, which Slack does not allow earlier. If the stream has already ended and
// text is empty, Stop succeeds, unless the stream is so old that Slack may have ended the stream. If a stream that has
// already ended is so old, Stop fails with Rejected. The message of a stream that Slack has ended looks broken, and the
// gateway must repair the message with an edit.
func (b *Bot) Stop(ctx context.Context, ref chat.MessageRef, text string) error {
	ts, err := messageTS(methodStop, ref)
	if err != nil {
		return err
	}
	var options []library.MsgOption
	if _, hashed, _ := splitMessageID(ref.ID); hashed != "" {
		options = append(options, metadata(hashed))
	}
	if text != "" {
		options = append(options, library.MsgOptionMarkdownText(escapeControls(text)))
	}
	_, err = b.callForMessage(ctx, methodStop, ref.Target.Chat, library.MsgOptionStopStream(ts), options...)
	if text == "" && (calls.Code(err) == notStreaming || calls.Code(err) == stoppedByUser) && time.Since(timeOf(ts)) < streamMayHaveEnded {
		return nil
	}
	return err
}

// These are Slack's errors for a call on a stream that has ended.
const (
	notStreaming  = "message_not_in_streaming_state"
	stoppedByUser = "stopped_by_user" // the person used Slack's own stop button
)
