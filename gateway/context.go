package gateway

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"telex/gateway/history"
	"telex/internal/chat"
)

// threadTime limits how long a question waits while the adapter reads the earlier messages of the thread.
const threadTime = 10 * time.Second

// context returns a text that tells a model in which chat the model answers, what the date is, and how messages name
// their senders. If Options.Context is false, the method context returns "". The text for the model does not contain
// the time of day, because model providers cache only text that stays the same.
func (a *actor) context(in chat.Inbound) string {
	if !a.g.current().Context {
		return ""
	}
	var b strings.Builder
	place := "private chat"
	switch {
	case in.To.Kind == chat.Group && in.To.Thread != "":
		place = "thread of a group chat"
	case in.To.Kind == chat.Group:
		place = "group chat"
	}
	b.WriteString("You are in a " + place)
	if a.endpoint.account().Network != "" {
		b.WriteString(" on " + a.endpoint.account().Network)
	}
	if named, ok := a.endpoint.account().Platform.(Named); ok && named.Name() != "" {
		b.WriteString(". Your name here is " + history.OneLine(named.Name(), maxNameLength))
	}
	now := time.Now()
	b.WriteString(". Today is " + now.Format("Monday, 2 January 2006") + " (time zone " + zone(now) + ").")
	if in.To.Kind == chat.Group {
		b.WriteString(" Each message of a person begins with that person's name in brackets. Don't begin yours so.")
	}
	return b.String()
}

// maxNameLength is the maximum length of the bot's name, in characters.
const maxNameLength = 64

// zone returns the name of the local time zone and its offset from UTC.
func zone(t time.Time) string {
	name := t.Location().String()
	if name == "Local" {
		name, _ = t.Zone()
	}
	if offset := t.Format("-07:00"); name != "UTC" {
		return name + ", UTC" + offset
	}
	return name
}

// thread returns the messages that people wrote in a thread before they first asked the bot there. For a later question
// in the thread, this method returns nothing, because the history already contains the earlier messages.
func (a *actor) thread(ctx context.Context, t *turn) []chat.Quote {
	first := t.messages[0]
	if a.endpoint.account().threads == nil || first.To.Thread == "" || len(t.history.Entries) > 0 || t.history.Summary != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, threadTime)
	defer cancel()
	quotes, err := a.endpoint.account().threads.ReadThread(ctx, first.To, first.ID, history.MaxThreadMessages)
	if err != nil {
		a.log.Warn("the earlier messages of the thread were not read", slog.String("turn", t.id), slog.Any("error", err))
	}
	return history.WithoutGreeting(quotes, a.g.texts()[TextGreeting])
}

// follows reports whether a message that does not mention the bot is still meant for the bot. A message without a
// mention is meant for the bot if it is in a thread in which the bot has answered before or is answering now.
func (g *Gateway) follows(ctx context.Context, c chat.Conversation, in chat.Inbound) bool {
	if !g.current().FollowThreads || !in.Follows || in.To.Kind != chat.Group {
		return false
	}
	if g.isActive(c) {
		return true
	}
	session, entries, err := g.store.sessions.Session(ctx, c)
	if err != nil {
		g.Log.Error("session was not read", slog.String("conversation", c.String()), slog.Any("error", err))
	}
	return len(entries) > 0 || session.Summary != ""
}
