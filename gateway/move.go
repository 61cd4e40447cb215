package gateway

import (
	"context"
	"fmt"
	"log/slog"

	"telex/internal/chat"
)

// Chats records which chats have conversations, and moves their data if a chat gets a new id.
type Chats interface {
	// Knows reports whether the store contains a conversation in a chat.
	Knows(ctx context.Context, e chat.EndpointID, c chat.ChatID) (bool, error)
	// Move moves all stored data of a chat to the chat's new id. Move is idempotent.
	Move(ctx context.Context, e chat.EndpointID, from, to chat.ChatID) error
}

// migrate handles a platform's report that a chat has a new id. A platform may send this report several times, under
// the old id and under the new one.
func (g *Gateway) migrate(ctx context.Context, e *endpoint, from, to chat.ChatID) error {
	if from == "" || to == "" || g.policy.Now(e.ID, from) == g.policy.Now(e.ID, to) {
		return nil
	}
	if !g.isNamed(e.ID, from) { // for groups that never had access, migrate stores nothing
		known, err := g.store.chats.Knows(ctx, e.ID, from)
		if err != nil || !known {
			return err
		}
	}
	return g.moved(ctx, e, from, to)
}

// The method moved moves the stored data of a chat, its access rules and its running actors to the chat's new id.
func (g *Gateway) moved(ctx context.Context, e *endpoint, from, to chat.ChatID) error {
	if err := g.store.chats.Move(ctx, e.ID, from, to); err != nil {
		g.CheckLease(err)
		return fmt.Errorf("move chat: %w", err)
	}
	if !g.policy.Move(chat.Move{Endpoint: e.ID, From: from, To: to}) {
		return nil
	}
	g.Log.Info("a chat has a new id: its history and its access moved with it",
		slog.String("endpoint", string(e.ID)), slog.String("old", string(from)), slog.String("new", string(to)))
	if g.isNamed(e.ID, from) {
		g.adviseMove(chat.Move{Endpoint: e.ID, From: from, To: to})
	}
	if err := g.readdressShared(ctx, chat.Move{Endpoint: e.ID, From: from, To: to}); err != nil {
		return err
	}
	blocks, err := g.store.blocks.Blocks(ctx, e.ID)
	if err != nil {
		return fmt.Errorf("read blocks: %w", err)
	}
	for _, b := range blocks {
		if b.Chat == to {
			e.budget.Restore(b)
		}
	}
	return nil
}

// isNamed reports whether the configuration contains a chat's id, in a rule for access or in an override.
func (g *Gateway) isNamed(e chat.EndpointID, c chat.ChatID) bool {
	for _, o := range g.current().Overrides {
		if o.Match.Endpoint == e && o.Match.Chat == c {
			return true
		}
	}
	return g.current().Access.NamesChat(e, c)
}

// adviseMove logs a warning that the configuration contains the old id of a chat, with the new id that should replace it.
func (g *Gateway) adviseMove(m chat.Move) {
	name := func(c chat.ChatID) string { return string(m.Endpoint) + ":chat:" + string(c) }
	g.Log.Warn("configuration uses an outdated chat id, which still works; replace it by the new one",
		slog.String("old", name(m.From)), slog.String("new", name(m.To)))
}

// adviseMoves calls adviseMove for every configured chat that has a new id.
func (g *Gateway) adviseMoves() {
	for _, m := range g.policy.Moves() {
		if g.isNamed(m.Endpoint, m.From) {
			g.adviseMove(m)
		}
	}
}

// readdressShared does what the method readdress does, and also works if several processes share the store. If another
// replica owns the chat under its new id, this process gives up its lease and the state of its conversations. The other
// replica takes over the turns that run in this process.
func (g *Gateway) readdressShared(ctx context.Context, m chat.Move) error {
	g.readdress(m.Endpoint, m.From, m.To)
	if g.shared == nil || !g.isBusy(chat.Conversation{Endpoint: m.Endpoint, Chat: m.To}) {
		return nil
	}
	// This call of Drop drops no message, because it names none. The call fails with chat.ErrLost if another replica owns
	// the chat.
	err := g.store.inbox.Drop(ctx, chat.Conversation{Endpoint: m.Endpoint, Chat: m.To})
	g.CheckLease(err)
	return err
}

// readdress makes the actors of a chat receive the messages that arrive under the chat's new id. A second actor must
// not answer messages of the same conversation while the first actor is still at work.
func (g *Gateway) readdress(e chat.EndpointID, from, to chat.ChatID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c, a := range g.actors {
		if c.Endpoint != e || c.Chat != from {
			continue
		}
		now := chat.Conversation{Endpoint: e, Chat: to, Thread: c.Thread}
		if g.actors[now] == nil {
			g.actors[now] = a
			a.aliases = append(a.aliases, now)
		}
	}
	for c, turns := range g.undone {
		if c.Endpoint == e && c.Chat == from {
			now := chat.Conversation{Endpoint: e, Chat: to, Thread: c.Thread}
			g.undone[now] = append(g.undone[now], turns...)
			delete(g.undone, c)
		}
	}
}

// The method now returns a conversation with the current id of its chat.
func (g *Gateway) now(c chat.Conversation) chat.Conversation {
	c.Chat = g.policy.Now(c.Endpoint, c.Chat)
	return c
}

// The method place returns a target with the current id of its chat. If the id has changed, replyTo becomes empty,
// because message ids of the old chat are not valid in the new one.
func (a *actor) place(to chat.Target, replyTo chat.MessageID) (chat.Target, chat.MessageID) {
	if now := a.g.policy.Now(a.endpoint.ID, to.Chat); now != to.Chat {
		to.Chat, replyTo = now, ""
	}
	return to, replyTo
}
