package telegram

import (
	"context"
	"net/http"
	"strconv"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// Draft shows an ephemeral preview in a private chat, where clients keep it for about 30
// seconds or until a message of the bot arrives. The same id animates what is shown already.
// There is nothing to refer to and nothing to preview: the API knows neither for drafts.
// Any action stands for the one button that a draft can have, which stops it. The stopped text stays until the final arrives.
// Servers before version 10.3 of the API show no button.
//
// Where there are no drafts, in groups and on servers of before 2026, the failure is
// Rejected. A 429 is one for messages and edits as well: all count against one limit.
func (b *Bot) Draft(ctx context.Context, to chat.Target, id int64, m chat.Outgoing) error {
	method, rich := "sendMessageDraft", b.sendsRich(m)
	if rich {
		method = "sendRichMessageDraft"
	}
	params, err := place(method, to)
	if err != nil {
		return err
	}
	params["draft_id"] = strconv.FormatInt(id, 10)
	params.AddBool("can_stop", len(m.Actions) > 0)
	params.AddBool("keep_on_stop", len(m.Actions) > 0)
	if rich {
		encodeAs(params, "rich_message", richContent(m))
		if _, err = b.call(ctx, method, params); err != nil {
			return b.refused(method, err, m)
		}
		return nil
	}
	encodeText(params, "text", "entities", m)
	_, err = b.call(ctx, method, params)
	return optional(err)
}

// optional returns the failure of a method that a server may lack. The server then answers 404, which is Rejected.
func optional(err error) error {
	if err == nil || calls.Status(err) != http.StatusNotFound {
		return err
	}
	return calls.Instead(err, chat.Rejected, chat.Temporary)
}
