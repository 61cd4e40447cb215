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

// metadataType names the metadata that every message of ours carries, and keyField what in it tells
// one create from another. https://docs.slack.dev/messaging/message-metadata
const (
	metadataType = "telex_part"
	keyField     = "key"
)

// Send shows a new message, in the thread that to names. The message's metadata has its key, by which [Bot.Find] resolves an
// Uncertain failure. Slack has no replies: the thread shows what the message answers.
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
	a, err := b.message(ctx, methodPost, to.Chat, library.MsgOptionPost(), options...)
	if err != nil {
		return chat.Receipt{}, err
	}
	return chat.Receipt{Ref: chat.MessageRef{Target: to, ID: chat.MessageID(a.TS)}}, nil
}

const methodUpdate = "chat.update"

// Edit replaces a message's text and its buttons. If an earlier process left a stream, Edit stops it and fails with Temporary: the
// next try finds a message like any other.
func (b *Bot) Edit(ctx context.Context, ref chat.MessageRef, m chat.Outgoing) (chat.Receipt, error) {
	ts, err := own(methodUpdate, ref)
	if err != nil {
		return chat.Receipt{}, err
	}
	options, err := content(methodUpdate, m)
	if err != nil {
		return chat.Receipt{}, err
	}
	if _, hashed, _ := split(ref.ID); hashed != "" { // else what it has stays
		options = append(options, metadata(hashed))
	}
	_, err = b.message(ctx, methodUpdate, ref.Target.Chat, library.MsgOptionUpdate(ts), options...)
	if calls.Code(err) == "streaming_state_conflict" {
		_ = b.Stop(ctx, ref, "") // whatever comes of it: the next edit tells
	}
	if err != nil {
		return chat.Receipt{}, err
	}
	return chat.Receipt{Ref: ref}, nil
}

const methodDelete = "chat.delete"

// Delete removes a message. A message that is gone already is a success.
func (b *Bot) Delete(ctx context.Context, ref chat.MessageRef) error {
	if isFile(ref.ID) {
		return b.deleteFile(ctx, ref)
	}
	ts, err := own(methodDelete, ref)
	if err != nil {
		return err
	}
	_, err = b.message(ctx, methodDelete, ref.Target.Chat, library.MsgOptionDelete(ts))
	if err != nil && chat.AsSendError(err).Kind == chat.Gone {
		return nil
	}
	return err
}

// message makes a call about one message. kind is the library's option for its method.
func (b *Bot) message(ctx context.Context, method string, channel chat.ChatID, kind library.MsgOption, options ...library.MsgOption) (*answer, error) {
	return b.call(ctx, method, func(ctx context.Context, api *library.Client) error {
		_, _, _, err := api.SendMessageContext(ctx, string(channel), kind, library.MsgOptionCompose(options...))
		return err
	})
}

// own returns the ts of a message of ours.
func own(method string, ref chat.MessageRef) (string, error) {
	if isFile(ref.ID) {
		return "", &chat.SendError{Kind: chat.Frozen, Err: fmt.Errorf("%s: the message of a file can't be edited", method)}
	}
	ts, _, ok := split(ref.ID)
	if !ok {
		return "", &chat.SendError{Kind: chat.Gone, Err: fmt.Errorf("%s: %q is not the id of a message", method, ref.ID)}
	}
	return ts, nil
}

// content encodes a message as blocks, never as markdown_text. Only blocks can hold buttons. An update with blocks replaces all
// blocks and leaves no "(edited)" behind; what becomes of them in an update with markdown_text is not documented.
// https://docs.slack.dev/reference/methods/chat.update#arg_blocks
func content(method string, m chat.Outgoing) ([]library.MsgOption, error) {
	if n := markup.Units(m.Text); n > textLimit {
		return nil, &chat.SendError{Kind: chat.TooLong, Err: fmt.Errorf("%s: the text has %d UTF-16 units, and %d is the most", method, n, textLimit)}
	}
	if strings.TrimSpace(m.Text) == "" {
		return nil, &chat.SendError{Kind: chat.Rejected, Err: fmt.Errorf("%s: empty text", method)}
	}
	blocks := []library.Block{library.NewMarkdownBlock("", harmless(m.Text))}
	if row := buttons(m.Actions); row != nil {
		blocks = append(blocks, row)
	}
	return append(linkPreviews(m), library.MsgOptionText(fallback(m), false), library.MsgOptionBlocks(blocks...)), nil
}

// linkPreviews says whether Slack may open the links in a text to show previews, which it does for some links by default.
// https://docs.slack.dev/messaging/unfurling-links-in-messages#classic_unfurl
func linkPreviews(m chat.Outgoing) []library.MsgOption {
	if m.LinkPreview != "" {
		return []library.MsgOption{library.MsgOptionEnableLinkUnfurl()}
	}
	return []library.MsgOption{library.MsgOptionDisableLinkUnfurl(), library.MsgOptionDisableMediaUnfurl()}
}

// buttons returns a row of buttons; nil without any.
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

// metadata adds the hash of a create's key.
func metadata(hashed string) library.MsgOption {
	return library.MsgOptionMetadata(library.SlackMetadata{EventType: metadataType, EventPayload: map[string]any{keyField: hashed}})
}

// harmless escapes the control sequences in a text, which could notify people, and changes nothing else. The dialect writes
// none; this is for texts that are sent as they are because their markup was refused (F35).
func harmless(text string) string {
	return anyControl.ReplaceAllStringFunc(text, func(sequence string) string { return "&lt;" + sequence[1:] })
}

// fallback is a message's text as notifications show it, and screen readers read it: in mrkdwn, where &, <
// and > must be escaped, cut to what an update takes beside the blocks.
func fallback(m chat.Outgoing) string {
	most := min(plainLimit, wholeLimit-markup.Units(m.Text)-len(m.Actions)*maxLabel)
	plain := cmp.Or(m.Plain, m.Text)
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	text := escape.Replace(plain)
	for limit := most; markup.Units(text) > most; limit -= markup.Units(text) - most { // entities are longer than what they stand for
		text = escape.Replace(cutUnits(plain, max(0, limit)))
		if limit <= 0 {
			break
		}
	}
	return text
}

// cutUnits is the longest beginning of text that has no more than n units.
func cutUnits(text string, n int) string {
	for i, r := range text {
		if n -= max(1, utf16.RuneLen(r)); n < 0 {
			return text[:i]
		}
	}
	return text
}
