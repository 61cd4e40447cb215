package slack

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"

	library "github.com/slack-go/slack"

	"telex/internal/chat"
	"telex/internal/markup"
	"telex/platforms/internal/calls"
)

// metadataType is the type of the metadata of all the bot's messages. keyField is the field of the metadata that
// contains the hash of the message's idempotency key. https://docs.slack.dev/messaging/message-metadata
const (
	metadataType = "telex_part"
	keyField     = "key"
)

// Send sends a new message to the thread or channel of to. The message's metadata contains the hash of the message's
// idempotency key. With the hash of the idempotency key, [Bot.Find] finds the message after an Uncertain error. Slack
// has no replies to single messages, so Send ignores m.ReplyTo. The thread, instead of a reply, shows which message the
// bot answers.
func (b *Bot) Send(ctx context.Context, to chat.Target, m chat.Outgoing) (chat.Receipt, error) {
	options, err := content(methodPost, m)
	if err != nil {
		return chat.Receipt{}, err
	}
	options = append(options, metadata(hash(m.Key)))
	if to.Thread != "" {
		options = append(options, library.MsgOptionTS(string(to.Thread)))
	}
	b.sentKeys.Put(hash(m.Key), time.Time{})
	a, err := b.callForMessage(ctx, methodPost, to.Chat, library.MsgOptionPost(), options...)
	if err != nil {
		return chat.Receipt{}, err
	}
	return chat.Receipt{Ref: chat.MessageRef{Target: to, ID: chat.MessageID(a.TS)}}, nil
}

const methodUpdate = "chat.update"

// Edit replaces a message's text and its buttons. If the message is still a stream, because an earlier process did not
// stop the stream, Edit stops the stream and fails with Temporary. When the stream has been stopped, the next call of
// Edit finds a normal message.
func (b *Bot) Edit(ctx context.Context, ref chat.MessageRef, m chat.Outgoing) (chat.Receipt, error) {
	ts, err := messageTS(methodUpdate, ref)
	if err != nil {
		return chat.Receipt{}, err
	}
	options, err := content(methodUpdate, m)
	if err != nil {
		return chat.Receipt{}, err
	}
	if _, hashed, _ := splitMessageID(ref.ID); hashed != "" { // store a stream's key; other messages keep their metadata
		options = append(options, metadata(hashed))
	}
	_, err = b.callForMessage(ctx, methodUpdate, ref.Target.Chat, library.MsgOptionUpdate(ts), options...)
	if calls.Code(err) == "streaming_state_conflict" {
		_ = b.Stop(ctx, ref, "") // the next edit shows whether Stop succeeded
	}
	if err != nil {
		return chat.Receipt{}, err
	}
	return chat.Receipt{Ref: ref}, nil
}

const methodDelete = "chat.delete"

// Delete removes a message. Delete succeeds if the message no longer exists.
func (b *Bot) Delete(ctx context.Context, ref chat.MessageRef) error {
	if isFile(ref.ID) {
		return b.deleteFile(ctx, ref)
	}
	ts, err := messageTS(methodDelete, ref)
	if err != nil {
		return err
	}
	_, err = b.callForMessage(ctx, methodDelete, ref.Target.Chat, library.MsgOptionDelete(ts))
	if err != nil && chat.AsSendError(err).Kind == chat.Gone {
		return nil
	}
	return err
}

// callForMessage makes a call about one message. The parameter kind is the option of the library that selects the API
// method.
func (b *Bot) callForMessage(ctx context.Context, method string, channel chat.ChatID, kind library.MsgOption, options ...library.MsgOption) (*response, error) {
	return b.call(ctx, method, func(ctx context.Context, api *library.Client) error {
		_, _, _, err := api.SendMessageContext(ctx, string(channel), kind, library.MsgOptionCompose(options...))
		return err
	})
}

// messageTS returns the ts of one of the bot's messages.
func messageTS(method string, ref chat.MessageRef) (string, error) {
	if isFile(ref.ID) {
		return "", &chat.SendError{Kind: chat.Frozen, Err: fmt.Errorf("%s: the message of a file can't be edited", method)}
	}
	ts, _, ok := splitMessageID(ref.ID)
	if !ok {
		return "", &chat.SendError{Kind: chat.Gone, Err: fmt.Errorf("%s: %q is not the id of a message", method, ref.ID)}
	}
	return ts, nil
}

// content encodes a message as blocks. The function content does not use the parameter markdown_text of Slack's
// methods, because only blocks can contain buttons, and because Slack does not document how markdown_text changes
// existing blocks. An update with blocks replaces all blocks of the message, and Slack does not mark the message as
// "(edited)". https://docs.slack.dev/reference/methods/chat.update#arg_blocks
func content(method string, m chat.Outgoing) ([]library.MsgOption, error) {
	if n := markup.Units(m.Text); n > textLimit {
		return nil, &chat.SendError{Kind: chat.TooLong, Err: fmt.Errorf("%s: the text has %d UTF-16 units, and the maximum is %d", method, n, textLimit)}
	}
	if strings.TrimSpace(m.Text) == "" {
		return nil, &chat.SendError{Kind: chat.Rejected, Err: fmt.Errorf("%s: empty text", method)}
	}
	blocks := []library.Block{library.NewMarkdownBlock("", escapeControls(m.Text))}
	if row := buttons(m.Actions); row != nil {
		blocks = append(blocks, row)
	}
	return append(linkPreviews(m), library.MsgOptionText(fallbackText(m), false), library.MsgOptionBlocks(blocks...)), nil
}

// linkPreviews returns the options that tell Slack whether to show previews of the links in a message. Without the
// options of linkPreviews, Slack shows previews of some links.
// https://docs.slack.dev/messaging/unfurling-links-in-messages#classic_unfurl
func linkPreviews(m chat.Outgoing) []library.MsgOption {
	if m.LinkPreview != "" {
		return []library.MsgOption{library.MsgOptionEnableLinkUnfurl()}
	}
	return []library.MsgOption{library.MsgOptionDisableLinkUnfurl(), library.MsgOptionDisableMediaUnfurl()}
}

// buttons returns a row of buttons, or nil if there are no actions.
func buttons(actions []chat.Action) library.Block {
	if len(actions) == 0 {
		return nil
	}
	var row []library.BlockElement
	for _, a := range actions[:min(len(actions), maxActions)] {
		label := library.NewTextBlockObject(library.PlainTextType, cutUnits(a.Label, maxLabel), false, false)
		row = append(row, library.NewButtonBlockElement(a.ID, "", label))
	}
	return library.NewActionBlock("", row...)
}

// The function metadata returns the option that puts the hash of a message's idempotency key into the message's
// metadata.
func metadata(hashed string) library.MsgOption {
	return library.MsgOptionMetadata(library.SlackMetadata{EventType: metadataType, EventPayload: map[string]any{keyField: hashed}})
}

// escapeControls escapes the control sequences in a text, because control sequences could notify people. A text that
// [Dialect] has rendered contains no control sequences. If Slack refuses the markup of a text, however, the gateway
// sends the text without markup, and this text may contain control sequences (F35).
func escapeControls(text string) string {
	return anyControl.ReplaceAllStringFunc(text, func(sequence string) string { return "&lt;" + sequence[1:] })
}

// fallbackText returns a message's text for notifications and screen readers. Slack reads the text for notifications as
// mrkdwn, so fallbackText escapes &, < and >. fallbackText cuts the text to the limit of an update with blocks.
func fallbackText(m chat.Outgoing) string {
	limit := min(plainLimit, totalLimit-markup.Units(m.Text)-len(m.Actions)*maxLabel)
	plain := cmp.Or(m.Plain, m.Text)
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	text := escape.Replace(plain)
	for limit := limit; markup.Units(text) > limit; limit -= markup.Units(text) - limit { // escaping made the text longer
		text = escape.Replace(cutUnits(plain, max(0, limit)))
		if limit <= 0 {
			break
		}
	}
	return text
}

// cutUnits returns the longest prefix of text with at most n UTF-16 code units.
func cutUnits(text string, n int) string {
	for i, r := range text {
		if n -= max(1, utf16.RuneLen(r)); n < 0 {
			return text[:i]
		}
	}
	return text
}
