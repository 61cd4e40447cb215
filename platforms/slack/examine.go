package slack

import (
	"context"
	"slices"
	"strings"

	library "github.com/slack-go/slack"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// scopes returns the scopes that the manifest in docs/setup-slack.md requests.
func scopes() []string {
	return []string{
		"app_mentions:read", "assistant:write", "channels:history", "channels:read", "chat:write", "commands", "files:read", "files:write",
		"groups:history", "groups:read", "im:history", "im:read", "mpim:history", "mpim:read", "users:read",
	}
}

// Examine asks Slack for the bot's account and scopes. With Socket Mode, Examine also checks whether Slack accepts the
// app's token. Examine neither receives nor sends messages. All errors that Examine returns are of type
// *chat.SendError.
func (b *Bot) Examine(ctx context.Context) (chat.Examination, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	granted := ""
	a, err := b.call(ctx, methodSelf, func(ctx context.Context, api *library.Client) error {
		_, err := api.AuthTestContext(ctx)
		if o, ok := ctx.Value(outcomeKey{}).(*calls.Outcome); ok {
			granted = o.Header.Get("X-OAuth-Scopes") // https://docs.slack.dev/authentication/installing-with-oauth#scopes
		}
		return err
	})
	if err != nil {
		return chat.Examination{}, err
	}
	var self identity
	if err := a.decode(methodSelf, &self); err != nil {
		return chat.Examination{}, err
	}
	out := chat.Examination{Account: "@" + self.Name}
	if missing := missingScopes(granted); granted != "" && len(missing) > 0 {
		out.Findings = append(out.Findings, chat.Finding{
			What: "the bot's token lacks the scopes " + strings.Join(missing, ", "),
			Mend: "add them on the page OAuth & Permissions, or take the manifest of docs/setup-slack.md, and install the app again",
		})
	}
	if b.opts.AppToken == "" {
		return out, nil
	}
	if _, err = b.openSocket(ctx); err != nil {
		return chat.Examination{}, err
	}
	return out, nil
}

// missingScopes returns the scopes that telex's manifest requests but Slack's list of granted scopes lacks.
func missingScopes(granted string) []string {
	has := strings.FieldsFunc(granted, func(r rune) bool { return r == ',' || r == ' ' })
	return slices.DeleteFunc(scopes(), func(s string) bool { return slices.Contains(has, s) })
}
