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

// The pane is the part of Slack's window in which a person talks with an app. Slack has two kinds of apps with a pane.
// An assistant has assistant_view in its manifest. People talk with an assistant in separate threads of the pane, and
// Slack reports each new thread with the event assistant_thread_started. An agent has agent_view in its manifest, as
// all new apps have. People talk with an agent in its Messages tab, and Slack reports with the event app_home_opened
// that a person has opened the tab. https://docs.slack.dev/ai/migrating-to-agent-messaging

// These constants are the types of the pane's events.
const (
	eventThread = "assistant_thread_started"
	eventHome   = "app_home_opened"
	eventStop   = "agent_session_stopped"
)

// paneEvent is an event of the pane: a person started a thread with the assistant, opened the app's page, or pressed
// Slack's own stop button. https://docs.slack.dev/reference/events/assistant_thread_started, app_home_opened,
// agent_session_stopped.
type paneEvent struct {
	Assistant struct { // events of type assistant_thread_started have only this field
		User     string `json:"user_id"`
		Channel  string `json:"channel_id"`
		ThreadTS string `json:"thread_ts"`
	} `json:"assistant_thread"`
	User     string `json:"user"`
	Channel  string `json:"channel"`
	ThreadTS string `json:"thread_ts"`
	Tab      string `json:"tab"` // only in app_home_opened
	EventTS  string `json:"event_ts"`
}

// decodePane decodes an event of the pane.
func decodePane(kind string, event []byte) (decodedEvent, bool, error) {
	e, err := receiving.Decode[paneEvent](event)
	if err != nil {
		return decodedEvent{}, false, fmt.Errorf("decode %s: %w", kind, err)
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
			return decodedEvent{}, false, nil
		}
	case eventStop:
		id = "stop:" + e.EventTS
		in.Kind, text = chat.Text, "/stop" // not chat.Command, because Slack expects no response to its stop button
	}
	if user == "" || channel == "" || thread == "" && kind == eventThread {
		return decodedEvent{}, false, fmt.Errorf("decode %s: %w", kind, errMissingIDs)
	}
	in.To, in.Sender.ID, in.ID = channelTarget(channel, ""), chat.UserID(user), questionID(id, user)
	in.To.Thread = chat.ThreadID(thread)
	return decodedEvent{in: in, raw: text}, true, nil
}

const (
	methodPrompts = "assistant.threads.setSuggestedPrompts"
	methodTitle   = "assistant.threads.setTitle"
)

// Suggest implements gateway.Pane. For an agent, Slack shows suggested prompts only outside of threads, and ignores
// prompts for threads. For an assistant, Slack shows suggested prompts in threads.
// https://docs.slack.dev/reference/methods/assistant.threads.setSuggestedPrompts
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
	// statusThinking is the status of a working bot. In the pane, Slack shows the status after the bot's name.
	statusThinking = "is thinking…"
)

// Typing shows a status below a thread, for two minutes or until the bot's next message. While the status is visible,
// Slack also shows its own stop button, if the app supports this button. Outside of threads, Slack has no status, and
// Typing does nothing.
func (b *Bot) Typing(ctx context.Context, to chat.Target) error {
	return b.setStatus(ctx, to, statusThinking)
}

// Idle implements gateway.Idler. Idle sets an empty status. A message of the bot removes the status too, but Slack
// may still show the bot as working until the status is empty or a stream ends.
// https://docs.slack.dev/ai/agent-sessions
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
