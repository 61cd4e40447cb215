package telegram

import (
	"context"
	"net/http"
	"strconv"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// Draft shows an ephemeral preview in a private chat. Clients show it for about 30 seconds or until the bot's next
// message. A call with the same id updates it with an animation. The API supports neither replies nor link previews in
// drafts.
//
// A draft can have only one button, which stops the draft. If m has any action, Draft shows that button. After a
// press on it, the text stays until the final message arrives. Servers before version 10.3 of the API show no button.
//
// In groups, and on servers from before 2026, drafts don't exist and Draft fails with Rejected. A 429 also applies to
// messages and edits, because all share one limit.
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

// optionalMethodError converts the failure of a method that older servers lack. Such a server answers 404, which
// becomes Rejected.
func optionalMethodError(err error) error {
	if err == nil || calls.Status(err) != http.StatusNotFound {
		return err
	}
	return calls.Reclassify(err, chat.Rejected, chat.Temporary)
}
