package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"telex/gateway/queue"
	"telex/gateway/replica"
	"telex/internal/chat"
)

// maxText is the maximum length of one message, in bytes. No platform lets people type a message longer than maxText.
// A longer message comes from a program and would only fill the model's context window.
const maxText = 64 << 10

// Inbox stores accepted messages until the bot has answered them.
type Inbox interface {
	// Accept stores a message, together with the position from which its endpoint resumes receiving messages. Accept
	// returns false if the message is already stored. Accept returns only when the data is durable.
	Accept(ctx context.Context, c chat.Conversation, m chat.Inbound) (bool, error)
	// Resume returns the position from which the endpoint resumes receiving messages.
	Resume(ctx context.Context, e chat.EndpointID) (chat.Resume, error)
	// Drop stores the fact that these messages will get no answer.
	Drop(ctx context.Context, c chat.Conversation, ids ...chat.MessageID) error
	// Pending returns the accepted messages that still wait for an answer and belong to no unfinished turn, oldest first.
	Pending(ctx context.Context) ([]chat.Pending, error)
}

// accept decides whether a message is meant for the bot. accept stores a message that is meant for the bot. If
// storing the message fails, accept returns an error, and the platform must deliver the message again.
func (g *Gateway) accept(ctx context.Context, e *endpoint, in chat.Inbound) error {
	c := chat.Conversation{Endpoint: e.ID, Chat: in.To.Chat, Thread: in.To.Thread}
	who := chat.Person{Endpoint: e.ID, User: in.Sender.ID}
	if in.Kind == chat.Edited || in.Kind == chat.Deleted {
		return g.revise(ctx, g.now(c), in)
	}
	piece, allowed := c.String()+" "+who.String(), g.policy.Allows(c, in.Sender.ID)
	if allowed && in.To.Kind == chat.Group && (in.Addressed && in.More || !in.Addressed && g.expected.Recent(piece)) {
		// Chat apps split a long pasted text into several messages, and only the first of them mentions the bot.
		in.Addressed = true
		if in.More {
			g.expected.Mark(piece)
		}
	}
	if allowed && !in.Addressed && g.follows(ctx, c, in) {
		in.Addressed = true
	}
	if in.Kind == chat.Command && in.Origin != chat.Typed { // a forwarded text must not run a command
		in.Kind, in.Command, in.Args = chat.Text, "", ""
	}
	if in.Kind == chat.Migration {
		return g.migrate(ctx, e, in.To.Chat, in.MovedTo)
	}
	in = g.named(e, in)
	switch {
	case in.Kind == chat.Opened && in.To.Thread == "":
		if allowed {
			g.opened(g.now(c), in.To)
		}
		return nil
	case !in.Addressed, in.Kind == chat.Button && !ours(in.Action): // the message is meant for somebody else
		return nil
	case in.Sender.Bot && !g.policy.Rules().Names(who): // two bots could answer each other forever
		return nil
	case allowed:
		return g.admit(ctx, e, c, in)
	case in.Sender.Bot || in.Kind == chat.Button || in.To.Kind != chat.Private || !g.policy.NeedsCode(who, in.Sender.Name):
		if g.strangers.Allow(c.String() + " " + who.String()) {
			g.Log.Info("message refused: its sender has no access",
				slog.String("conversation", c.String()), slog.String("allow_with", who.String()))
		}
		if concluder := e.account().concluder; concluder != nil {
			concluder.Concluded(in.To, []chat.MessageID{in.ID}, true)
		}
		return nil
	}
	err := g.admit(ctx, e, c, chat.Inbound{
		To: in.To, Sender: in.Sender, ID: in.ID, Resume: in.Resume, Kind: chat.AccessRequest, Addressed: true, Reply: in.Reply, At: in.At,
	})
	if err != nil {
		g.policy.Withdraw(who)
	}
	return err
}

// refusal returns the text that tells a sender that the sender has no access. If the sender has access, refusal returns "". In
// a private chat with pairing, refusal also returns "", because a person without access gets a pairing code or no answer.
func (g *Gateway) refusal(e chat.EndpointID, in chat.Inbound) string {
	c := chat.Conversation{Endpoint: e, Chat: in.To.Chat, Thread: in.To.Thread}
	if g.policy.Allows(c, in.Sender.ID) || in.To.Kind == chat.Private && g.policy.Rules().Pair {
		return ""
	}
	return g.texts()[TextNoAccess]
}

// admit stores a message and passes it to the actor of its conversation.
func (g *Gateway) admit(ctx context.Context, e *endpoint, c chat.Conversation, in chat.Inbound) error {
	if len(in.Text)+len(in.Args) > maxText {
		in.Text, in.Args, in.Command, in.Attachments, in.Kind = "", "", "", nil, chat.Oversized
	}
	m, key := g.member.Load(), replica.Key(g.now(c), in)
	if m != nil {
		m.accepted.Add(key, time.Now())
	}
	fresh, err := g.store.inbox.Accept(ctx, c, in)
	if m != nil && !fresh {
		m.accepted.Remove(key)
	}
	if err != nil {
		g.CheckLease(err)
		return fmt.Errorf("store message: %w", err)
	}
	if !fresh {
		return g.repeated(ctx, e, c, in)
	}
	if m != nil { // the replica that owns the chat takes the message from the store
		m.hear(chat.SignalWork)
		return nil
	}
	g.remind(c)
	g.wake(g.now(c), func(a *actor) { a.inbox = append(a.inbox, queue.Message{Inbound: in, Accepted: time.Now()}) })
	return nil
}
