package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"telex/internal/chat"
)

// This file contains the operations that an operator can start in a running gateway.

// Forget ends the running turn of a conversation, and deletes the history and the chosen model of the conversation.
// Forget sends no message to the people in the chat. Forget returns when the data is deleted or ctx ends. If several
// processes share the store, Forget returns when it is certain that the owner of the chat will delete the data.
func (g *Gateway) Forget(ctx context.Context, c chat.Conversation) error {
	if g.shared != nil {
		owned, err := g.forward(ctx, g.now(c), chat.Inbound{Kind: chat.Forgotten})
		if err != nil || owned {
			return err
		}
		return g.forgetStored(ctx, c)
	}
	if g.current().endpoints[c.Endpoint] == nil && !g.isActive(c) { // the endpoint is no longer configured, so no turn runs there
		return g.forgetStored(ctx, c)
	}
	return g.order(ctx, c, func(a *actor) error { return a.forgetAll(ctx) })
}

// forgetStored deletes the stored history and the chosen model of a conversation.
func (g *Gateway) forgetStored(ctx context.Context, c chat.Conversation) error {
	if err := g.store.histories.Forget(ctx, c); err != nil {
		return err
	}
	return g.store.accounts.Choose(ctx, c, "")
}

// forgetAll ends the turns of a conversation, drops the queued messages, and deletes the stored history and the
// chosen model of the conversation.
func (a *actor) forgetAll(ctx context.Context) error {
	a.clear(time.Now())
	a.cutParked(anyTurn)
	a.void()
	return a.g.forgetStored(ctx, a.conversation)
}

// obey carries out an operator's order that another replica received and forwarded to this replica.
func (a *actor) obey(in chat.Inbound) {
	var err error
	if in.Kind == chat.Erased {
		_, err = a.erase(in.Sender.ID)
	} else {
		err = a.forgetAll(a.g.deliveries)
	}
	if err != nil {
		a.log.Error("an operator's command was not carried out", slog.Any("error", err))
	}
}

// Erase deletes a person's questions and their answers in the conversations that have an actor. In these conversations,
// Erase also ends the person's turns and drops the person's messages. The caller of Erase must delete the person's data
// in all other conversations from the store. Erase returns the number of deleted history entries, also on error. If
// several processes share the store, Erase does what EraseAtOwners does.
func (g *Gateway) Erase(ctx context.Context, p chat.Person) (int, error) {
	if g.shared != nil {
		return EraseAtOwners(ctx, g.store.turns, g.store.inbox, g.forward, p)
	}
	g.mu.Lock()
	var here []chat.Conversation
	for c := range g.actors {
		if c.Endpoint == p.Endpoint {
			here = append(here, c)
		}
	}
	g.mu.Unlock()
	n := 0
	for _, c := range here {
		erased := make(chan int, 1)
		if err := g.order(ctx, c, func(a *actor) error {
			went, err := a.erase(p.User)
			erased <- went
			return err
		}); err != nil {
			return n, err
		}
		n += <-erased
	}
	return n, nil
}

// EraseAtOwners tells the replicas that own a person's chats to end the person's turns there, and to delete the
// person's questions and their answers. After EraseAtOwners, the caller deletes the person's data that belongs to turns
// that have ended. The parameter forward is the method Replicas.Forward. A process that is not a replica may also call
// EraseAtOwners. EraseAtOwners returns the number of turns that the replicas will end.
func EraseAtOwners(
	ctx context.Context, t Turns, i Inbox, forward func(context.Context, chat.Conversation, chat.Inbound) (bool, error), p chat.Person,
) (n int, err error) {
	turns, err := t.Unfinished(ctx)
	if err != nil {
		return 0, fmt.Errorf("read unfinished turns: %w", err)
	}
	pending, err := i.Pending(ctx)
	if err != nil {
		return 0, fmt.Errorf("read accepted messages: %w", err)
	}
	theirs := make(map[chat.Conversation]bool)
	for _, t := range turns {
		if t.Conversation.Endpoint == p.Endpoint && t.User == p.User {
			theirs[t.Conversation] = true
			n++
		}
	}
	for _, m := range pending {
		if m.Conversation.Endpoint == p.Endpoint && m.Message.Sender.ID == p.User {
			theirs[m.Conversation] = true
		}
	}
	for c := range theirs {
		if _, err := forward(ctx, c, chat.Inbound{Kind: chat.Erased, Sender: chat.Sender{ID: p.User}}); err != nil {
			return n, fmt.Errorf("tell the owner of a chat: %w", err)
		}
	}
	return n, nil
}

// The method order runs a function in the goroutine of a conversation's actor, between two messages, and waits for the
// result.
func (g *Gateway) order(ctx context.Context, c chat.Conversation, do func(*actor) error) error {
	done := make(chan error, 1)
	if !g.wake(c, func(a *actor) {
		a.orders = append(a.orders, func() {
			err := errPanic
			defer func() { done <- err }()
			err = do(a)
		})
	}) {
		return errShutdown
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
