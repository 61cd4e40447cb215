package slack

import (
	"context"
	"errors"
	"fmt"
	"time"

	library "github.com/slack-go/slack"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

// The pane in which people talk with the app. Slack has two kinds of apps with a pane. An assistant (assistant_view in the
// manifest) has threads of its own, and assistant_thread_started tells of each. An agent (agent_view), which all new apps are,
// uses the Messages tab, and app_home_opened tells that a person looks at it.
// https://docs.slack.dev/ai/migrating-to-agent-messaging

// Events of the pane.
const (
	eventThread = "assistant_thread_started"
	eventHome   = "app_home_opened"
	eventStop   = "agent_session_stopped"
)

// paneEvent is an event of the pane: a person began a thread with the assistant, looks at the app's page, or pressed Slack's
// own button that stops an answer.
// https://docs.slack.dev/reference/events/assistant_thread_started, app_home_opened, agent_session_stopped
type paneEvent struct {
	Assistant struct { // of assistant_thread_started, which has nothing but this
		User     string `json:"user_id"`
		Channel  string `json:"channel_id"`
		ThreadTS string `json:"thread_ts"`
	} `json:"assistant_thread"`
	User     string `json:"user"`
	Channel  string `json:"channel"`
	ThreadTS string `json:"thread_ts"`
	Tab      string `json:"tab"` // of app_home_opened
	EventTS  string `json:"event_ts"`
}

// decodePane decodes an event of the pane.
func decodePane(kind string, event []byte) (arrival, bool, error) {
	e, err := receiving.Decode[paneEvent](event)
	if err != nil {
		return arrival{}, false, fmt.Errorf("decode %s: %w", kind, err)
	}
	in := chat.Inbound{Kind: chat.Opened, Addressed: true, At: time.Now()}
	user, channel, thread, id, text := e.User, e.Channel, e.ThreadTS, "", ""
	switch kind {
	case eventThread:
		user, channel, thread = e.Assistant.User, e.Assistant.Channel, e.Assistant.ThreadTS
		id = "thread:" + thread
	case eventHome:
		thread, id = "", "home:"+e.EventTS
		if e.Tab != "messages" {
			return arrival{}, false, nil
		}
	case eventStop:
		id = "stop:" + e.EventTS
		in.Kind, text = chat.Text, "/stop" // not as a slash command, whose answer Slack waits for
	}
	if user == "" || channel == "" || thread == "" && kind == eventThread {
		return arrival{}, false, fmt.Errorf("decode %s: %w", kind, errNoPlace)
	}
	in.To, in.Sender.ID, in.ID = place(channel, ""), chat.UserID(user), questionID(id, user)
	in.To.Thread = chat.ThreadID(thread)
	return arrival{in: in, raw: text}, true, nil
}

const (
	methodPrompts = "assistant.threads.setSuggestedPrompts"
	methodTitle   = "assistant.threads.setTitle"
)

// Suggest implements gateway.Pane. Outside of threads it is for agents, in threads for assistants: for an agent, Slack ignores
// suggestions in a thread. https://docs.slack.dev/reference/methods/assistant.threads.setSuggestedPrompts
func (b *Bot) Suggest(ctx context.Context, to chat.Target, heading string, prompts []chat.Prompt) error {
	p := library.AssistantThreadsSetSuggestedPromptsParameters{ChannelID: string(to.Chat), ThreadTS: string(to.Thread), Title: heading}
	for _, one := range prompts {
		p.AddPrompt(one.Label, one.Text)
	}
	_, err := b.call(ctx, methodPrompts, func(ctx context.Context, api *library.Client) error {
		return api.SetAssistantThreadsSuggestedPromptsContext(ctx, p)
	})
	return err
}

// NameThread implements gateway.Pane.
// https://docs.slack.dev/reference/methods/assistant.threads.setTitle
func (b *Bot) NameThread(ctx context.Context, to chat.Target, name string) error {
	if to.Thread == "" {
		return &chat.SendError{Kind: chat.Rejected, Err: errors.New(methodTitle + ": only threads have a title")}
	}
	if cut := cutUnits(name, titleLimit); cut != name {
		name = cutUnits(name, titleLimit-1) + "…"
	}
	_, err := b.call(ctx, methodTitle, func(ctx context.Context, api *library.Client) error {
		return api.SetAssistantThreadsTitleContext(ctx, library.AssistantThreadsSetTitleParameters{
			ChannelID: string(to.Chat), ThreadTS: string(to.Thread), Title: name,
		})
	})
	return err
}

const (
	methodStatus = "assistant.threads.setStatus"
	// working is what the status says, after the bot's name.
	working = "is thinking…"
)

// Typing shows below a thread that the bot is at work, for two minutes or until its next message. Slack then also shows its
// button that stops the work, where it has one. Outside of threads there is no such sign, and Typing does nothing.
func (b *Bot) Typing(ctx context.Context, to chat.Target) error { return b.setStatus(ctx, to, working) }

// Idle implements gateway.Idler. A message of the bot removes the status too, but Slack may still take the work for unfinished:
// only an empty status, or the end of a stream, makes the session active. https://docs.slack.dev/ai/agent-sessions
func (b *Bot) Idle(ctx context.Context, to chat.Target) error { return b.setStatus(ctx, to, "") }

func (b *Bot) setStatus(ctx context.Context, to chat.Target, status string) error {
	if to.Thread == "" {
		return nil
	}
	_, err := b.call(ctx, methodStatus, func(ctx context.Context, api *library.Client) error {
		return api.SetAssistantThreadsStatusContext(ctx, library.AssistantThreadsSetStatusParameters{
			ChannelID: string(to.Chat), ThreadTS: string(to.Thread), Status: status,
		})
	})
	return err
}
