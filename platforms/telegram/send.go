package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"telex/internal/chat"
)

// Send sends a new message. If the response lacks the id of the message, the receipt lacks the id too. A message
// without an id in the receipt was sent, but the bot can't edit the message. Telegram has no idempotency keys, so after
// an Uncertain error the gateway uses Find to learn whether the message was sent. If the message to which m replies was
// deleted, Telegram sends m without the reply.
func (b *Bot) Send(ctx context.Context, to chat.Target, m chat.Outgoing) (chat.Receipt, error) {
	method, rich := "sendMessage", b.sendsRich(m)
	if rich {
		method = "sendRichMessage"
	}
	params, err := targetParams(method, to)
	if err != nil {
		return chat.Receipt{}, err
	}
	addContent(params, m, rich)
	addReplyTo(params, m.ReplyTo)
	b.ids.beginCreate(to)
	result, err := b.call(ctx, method, params)
	if err != nil && rich {
		err = b.richError(method, err, m)
	}
	return b.ids.recordCreate(to, m.Key, result, err)
}

// receipt decodes the response to a call that created a message. The receipt has no id if the response contains no id.
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

// Edit replaces a message's text and its buttons. Edit succeeds if the message already has the content of m.
func (b *Bot) Edit(ctx context.Context, ref chat.MessageRef, m chat.Outgoing) (chat.Receipt, error) {
	params, err := messageParams(methodEdit, ref)
	if err != nil {
		return chat.Receipt{}, err
	}
	rich := b.sendsRich(m)
	addContent(params, m, rich)
	if _, err := b.call(ctx, methodEdit, params); err != nil && !hasDescription(err, "message is not modified") {
		if rich {
			err = b.richError(methodEdit, err, m)
		}
		return chat.Receipt{}, err
	}
	return chat.Receipt{Ref: ref}, nil
}

// Delete removes a message. Delete succeeds if the message no longer exists. Delete fails with Frozen if the message
// is older than 48 hours, because Telegram does not delete such messages.
func (b *Bot) Delete(ctx context.Context, ref chat.MessageRef) error {
	params, err := messageParams("deleteMessage", ref)
	if err != nil {
		return err
	}
	if _, err := b.call(ctx, "deleteMessage", params); err != nil && !hasDescription(err, "message to delete not found") {
		return err
	}
	return nil
}

// Typing shows in the chat that the bot is typing, for five seconds or until the bot sends a message.
func (b *Bot) Typing(ctx context.Context, to chat.Target) error {
	params, err := targetParams("sendChatAction", to)
	if err != nil {
		return err
	}
	params["action"] = tgbotapi.ChatTyping
	_, err = b.call(ctx, "sendChatAction", params)
	return err
}

// These types are parameters of the API that the library does not support.
type (
	replyParameters struct {
		ID       int  `json:"message_id"`
		Optional bool `json:"allow_sending_without_reply"`
	}
	// linkPreviewOptions is Telegram's type LinkPreviewOptions, https://core.telegram.org/bots/api#linkpreviewoptions
	linkPreviewOptions struct {
		Disabled bool   `json:"is_disabled,omitempty"`
		URL      string `json:"url,omitempty"`
	}
)

// targetParams returns the parameters that address a chat or topic.
func targetParams(method string, to chat.Target) (tgbotapi.Params, error) {
	if _, err := strconv.ParseInt(string(to.Chat), 10, 64); err != nil {
		return nil, &chat.SendError{Kind: chat.Forbidden, Err: fmt.Errorf("%s: %q is not a chat id", method, to.Chat)}
	}
	params := tgbotapi.Params{"chat_id": string(to.Chat)}
	params.AddNonEmpty("message_thread_id", string(to.Thread))
	return params, nil
}

// messageParams returns the parameters that address a message.
func messageParams(method string, ref chat.MessageRef) (tgbotapi.Params, error) {
	params, err := targetParams(method, ref.Target)
	if err != nil {
		return nil, err
	}
	delete(params, "message_thread_id") // omit the thread, because message ids are unique in a chat
	if _, err := strconv.Atoi(string(ref.ID)); err != nil {
		return nil, &chat.SendError{Kind: chat.Gone, Err: fmt.Errorf("%s: %q is not a message id", method, ref.ID)}
	}
	params["message_id"] = string(ref.ID)
	return params, nil
}

// addReplyTo adds the id of the message to which the new message replies. addReplyTo adds nothing if the id belongs
// to a button press, because the bot can't reply to a press.
func addReplyTo(params tgbotapi.Params, to chat.MessageID) {
	if id, err := strconv.Atoi(string(to)); err == nil {
		addJSON(params, "reply_parameters", replyParameters{ID: id, Optional: true})
	}
}

// addContent adds the content of a message to the parameters of a call. Rich messages have no link preview.
func addContent(params tgbotapi.Params, m chat.Outgoing, rich bool) {
	addButtons(params, m.Actions)
	if rich {
		addJSON(params, "rich_message", richContent(m))
		return
	}
	addText(params, "text", "entities", m)
	addJSON(params, "link_preview_options", linkPreviewOptions{Disabled: m.LinkPreview == "", URL: m.LinkPreview})
}

// addText adds the text of m and its entities. The parameters text and entities are the names that the called API
// method uses for these two values.
func addText(params tgbotapi.Params, text, entities string, m chat.Outgoing) {
	params.AddNonEmpty(text, m.Text)
	spans := entitySpans(m.Spans)
	if len(spans) == 0 {
		return
	}
	list := make([]tgbotapi.MessageEntity, len(spans))
	for i, s := range spans {
		list[i] = tgbotapi.MessageEntity{Type: s.Kind, Offset: s.Offset, Length: s.Length, URL: s.URL, Language: s.Language}
	}
	addJSON(params, entities, list)
}

// addJSON adds a value as JSON to the parameters of a call. Encoding can't fail for the types with which addJSON is
// called.
func addJSON(params tgbotapi.Params, name string, v any) { _ = params.AddInterface(name, v) }

// chatID converts the number of a chat to a chat.ChatID.
func chatID(id int64) chat.ChatID { return chat.ChatID(strconv.FormatInt(id, 10)) }

// userID converts the number of a user to a chat.UserID.
func userID(id int64) chat.UserID { return chat.UserID(strconv.FormatInt(id, 10)) }
