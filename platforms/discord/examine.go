package discord

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"telex/internal/chat"
)

// contentFlags are two flags of an application. An application that has one of the two contentFlags may use the Message
// Content Intent. https://docs.discord.com/developers/resources/application#application-object-application-flags
const contentFlags = 1<<18 | 1<<19

// Examine requests the description of the bot's application from Discord. Examine reports if the application lacks the
// permission to read the text of all messages. Examine neither receives nor sends messages. All errors that Examine
// returns are of type *chat.SendError.
func (b *Bot) Examine(ctx context.Context) (chat.Examination, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	a, err := b.call(ctx, request{name: "getApplication", method: http.MethodGet, path: "/applications/@me"})
	if err != nil {
		return chat.Examination{}, receiveError(err)
	}
	var app struct {
		Name  string `json:"name"`
		Flags int    `json:"flags"`
	}
	if err := json.Unmarshal(a.Body, &app); err != nil {
		return chat.Examination{}, &chat.SendError{Kind: chat.Temporary, Err: errors.New("getApplication: invalid response")}
	}
	out := chat.Examination{Account: app.Name}
	if b.contentIntent && app.Flags&contentFlags == 0 {
		out.Findings = append(out.Findings, chat.Finding{
			What: "message_content is true, and the application has no Message Content Intent: Discord refuses the connection",
			Mend: "switch on Message Content Intent in the Developer Portal, page Bot, or set message_content: false",
		})
	}
	return out, nil
}
