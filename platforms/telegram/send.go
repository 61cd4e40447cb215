package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"telex/internal/chat"
)

// Send shows a new message. The receipt names no message when the answer did not: it was
// sent then, but can't be edited. Telegram has no idempotency key: what came of an Uncertain
// failure is for Find to say. A reply whose target is missing is sent as a plain message.
func (b *Bot) Send(ctx context.Context, to chat.Target, m chat.Outgoing) (chat.Receipt, error) {
	method, rich := "sendMessage", b.sendsRich(m)
	if rich {
		method = "sendRichMessage"
	}
	params, err := place(method, to)
	if err != nil {
		return chat.Receipt{}, err
	}
	encode(params, m, rich)
	answerTo(params, m.ReplyTo)
	result, err := b.call(ctx, method, params)
	if err != nil && rich {
		err = b.refused(method, err, m)
	}
	return b.ids.created(to, m.Key, result, err)
}

// receipt reads the answer to a call that created a message. The receipt has no id if the answer has none.
func receipt(to chat.Target, result json.RawMessage) chat.Receipt {
	r := chat.Receipt{Ref: chat.MessageRef{Target: to}}
	var sent struct {
		ID int `json:"message_id"`
	}
	if err := json.Unmarshal(result, &sent); err == nil && sent.ID != 0 {
		r.Ref.ID = chat.MessageID(strconv.Itoa(sent.ID))
	}
	return r
}

const methodEdit = "editMessageText"

// Edit replaces a message's text and its buttons. A message that already is so is a success.
func (b *Bot) Edit(ctx context.Context, ref chat.MessageRef, m chat.Outgoing) (chat.Receipt, error) {
	params, err := message(methodEdit, ref)
	if err != nil {
		return chat.Receipt{}, err
	}
	rich := b.sendsRich(m)
	encode(params, m, rich)
	if _, err := b.call(ctx, methodEdit, params); err != nil && !says(err, "message is not modified") {
		if rich {
			err = b.refused(methodEdit, err, m)
		}
		return chat.Receipt{}, err
	}
	return chat.Receipt{Ref: ref}, nil
}

// Delete removes a message. A message that is gone already is a success; one that may not be
// deleted any more, after 48 hours, is Frozen.
func (b *Bot) Delete(ctx context.Context, ref chat.MessageRef) error {
	params, err := message("deleteMessage", ref)
	if err != nil {
		return err
	}
	if _, err := b.call(ctx, "deleteMessage", params); err != nil && !says(err, "message to delete not found") {
		return err
	}
	return nil
}

// Typing shows that the bot is typing, for five seconds or until it sends a message.
func (b *Bot) Typing(ctx context.Context, to chat.Target) error {
	params, err := place("sendChatAction", to)
	if err != nil {
		return err
	}
	params["action"] = tgbotapi.ChatTyping
	_, err = b.call(ctx, "sendChatAction", params)
	return err
}

// The parameters that the library does not know.
type (
	replyParameters struct {
		ID       int  `json:"message_id"`
		Optional bool `json:"allow_sending_without_reply"`
	}
	// https://core.telegram.org/bots/api#linkpreviewoptions
	linkPreviewOptions struct {
		Disabled bool   `json:"is_disabled,omitempty"`
		URL      string `json:"url,omitempty"`
	}
)

// place returns the parameters that say where.
func place(method string, to chat.Target) (tgbotapi.Params, error) {
	if _, err := strconv.ParseInt(string(to.Chat), 10, 64); err != nil {
		return nil, &chat.SendError{Kind: chat.Forbidden, Err: fmt.Errorf("%s: %q is not a chat id", method, to.Chat)}
	}
	params := tgbotapi.Params{"chat_id": string(to.Chat)}
	params.AddNonEmpty("message_thread_id", string(to.Thread))
	return params, nil
}

// message returns the parameters that say which message.
func message(method string, ref chat.MessageRef) (tgbotapi.Params, error) {
	params, err := place(method, ref.Target)
	if err != nil {
		return nil, err
	}
	delete(params, "message_thread_id") // ids are unique in a chat
	if _, err := strconv.Atoi(string(ref.ID)); err != nil {
		return nil, &chat.SendError{Kind: chat.Gone, Err: fmt.Errorf("%s: %q is not a message id", method, ref.ID)}
	}
	params["message_id"] = string(ref.ID)
	return params, nil
}

// answerTo adds which message this one replies to. A press on a button has no message id and can't be replied to.
func answerTo(params tgbotapi.Params, to chat.MessageID) {
	if id, err := strconv.Atoi(string(to)); err == nil {
		encodeAs(params, "reply_parameters", replyParameters{ID: id, Optional: true})
	}
}

// encode adds the content of a message. A rich message has no link preview.
func encode(params tgbotapi.Params, m chat.Outgoing, rich bool) {
	encodeActions(params, m.Actions)
	if rich {
		encodeAs(params, "rich_message", richContent(m))
		return
	}
	encodeText(params, "text", "entities", m)
	encodeAs(params, "link_preview_options", linkPreviewOptions{Disabled: m.LinkPreview == "", URL: m.LinkPreview})
}

// encodeText adds a text with its formatting under the names that a method has for them.
func encodeText(params tgbotapi.Params, text, entities string, m chat.Outgoing) {
	params.AddNonEmpty(text, m.Text)
	spans := onlyEntities(m.Spans)
	if len(spans) == 0 {
		return
	}
	list := make([]tgbotapi.MessageEntity, len(spans))
	for i, s := range spans {
		list[i] = tgbotapi.MessageEntity{Type: s.Kind, Offset: s.Offset, Length: s.Length, URL: s.URL, Language: s.Language}
	}
	encodeAs(params, entities, list)
}

// encodeAs adds a value as JSON, which can express all that is sent.
func encodeAs(params tgbotapi.Params, name string, v any) { _ = params.AddInterface(name, v) }

// chatID returns Telegram's number as an id.
func chatID(id int64) chat.ChatID { return chat.ChatID(strconv.FormatInt(id, 10)) }

// userID returns Telegram's number as an id.
func userID(id int64) chat.UserID { return chat.UserID(strconv.FormatInt(id, 10)) }
