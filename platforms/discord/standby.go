package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

// Several processes may answer for one bot, but only one of them receives messages. The message id of a command
// contains everything that another process needs to answer the command.

// Adopt implements gateway.Adopter. If another process has received the message, Adopt records in this process what the
// other process has recorded about the message.
func (b *Bot) Adopt(in chat.Inbound) chat.Inbound {
	if c, ok := parseCommand(in.ID); ok {
		b.interactions.adopt(c.interaction, channelOf(in.To))
	} else if id := string(in.ID); in.Kind == chat.Text && in.Addressed && in.To.Kind == chat.Group && string(in.To.Thread) == id && !b.questions.Has(id) {
		b.questions.Put(id, threadNameOf(in.Text))
	}
	return in
}

// StandBy implements gateway.StandbyWorker. StandBy runs in a process that sends messages but receives none. StandBy
// removes "thinking…" from answered commands and regularly requests the bot's name.
func (b *Bot) StandBy(ctx context.Context, works func()) error {
	var workers sync.WaitGroup
	defer workers.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for range concludeWorkers {
		workers.Go(func() { b.runConclusions(ctx) })
	}
	return receiving.Probe(ctx, b.fetchName, works)
}

// fetchName requests the bot's name. The call is necessary, because Discord's gateway tells the bot's name only to the
// replica that receives messages.
func (b *Bot) fetchName(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	a, err := b.call(ctx, request{name: "getMe", method: http.MethodGet, path: "/users/@me"})
	if err != nil {
		return err
	}
	var me user
	if err := json.Unmarshal(a.Body, &me); err != nil {
		return fmt.Errorf("decode getMe: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.name = me.Name
	return nil
}
