package telegram

import (
	"context"
	"net/http"
	"strconv"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// Draft shows or updates a draft in a private chat. A draft is a preview that Telegram removes after about 30
// seconds, or when the bot sends a message. If a draft with the same id is visible, Telegram's apps animate the
// change of its text. The API supports neither replies nor link previews in drafts.
//
// A draft can have only one button, a stop button. If m has any action, Draft shows the stop button. After a person
// has pressed the stop button, the draft's text stays visible until the final message arrives. Servers with an API
// version before 10.3 show no button.
//
// Draft fails with Rejected in groups, and on API servers from before 2026, because neither supports drafts. After a
// 429 for a draft, Telegram also refuses messages and edits, because drafts, messages and edits share one rate limit.
func (b *Bot) Draft(ctx context.Context, to chat.Target, id int64, m chat.Outgoing) error {
	method, rich := "sendMessageDraft", b.sendsRich(m)
	if rich {
		method = "sendRichMessageDraft"
	}
	params, err := targetParams(method, to)
	if err != nil {
		return err
	}
	params["draft_id"] = strconv.FormatInt(id, 10)
	params.AddBool("can_stop", len(m.Actions) > 0)
	params.AddBool("keep_on_stop", len(m.Actions) > 0)
	if rich {
		addJSON(params, "rich_message", richContent(m))
		if _, err = b.call(ctx, method, params); err != nil {
			return b.richError(method, err, m)
		}
		return nil
	}
	addText(params, "text", "entities", m)
	_, err = b.call(ctx, method, params)
	return optionalMethodError(err)
}

// optionalMethodError converts the error of a method that older servers lack. An older server responds with status 404,
// and optionalMethodError converts this error to the kind Rejected.
func optionalMethodError(err error) error {
	if err == nil || calls.Status(err) != http.StatusNotFound {
		return err
	}
	return calls.Reclassify(err, chat.Rejected, chat.Temporary)
}
