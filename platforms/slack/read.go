package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	library "github.com/slack-go/slack"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

const (
	methodHistory  = "conversations.history"
	methodReplies  = "conversations.replies"
	methodChannels = "users.conversations"
	methodSelf     = "auth.test"

	// readMethods is how many methods read messages.
	readMethods = 2
)

// identity is who the bot is.
type identity struct {
	User string `json:"user_id"`
	Bot  string `json:"bot_id"`
	Team string `json:"team_id"`
	Name string `json:"user"`
}

// identity returns who the bot is, and asks only once.
func (b *Bot) identity(ctx context.Context) (identity, error) {
	if self := b.self.Load(); self != nil {
		return *self, nil
	}
	return b.whoami(ctx)
}

// Name implements gateway.Named.
func (b *Bot) Name() string {
	if self := b.self.Load(); self != nil {
		return self.Name
	}
	return ""
}

// whoami asks who the bot is.
func (b *Bot) whoami(ctx context.Context) (identity, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	a, err := b.call(ctx, methodSelf, func(ctx context.Context, api *library.Client) error {
		_, err := api.AuthTestContext(ctx)
		return err
	})
	if err != nil {
		return identity{}, err
	}
	var self identity
	if err := a.decode(methodSelf, &self); err != nil {
		return identity{}, err
	}
	b.self.Store(&self)
	return self, nil
}

// page says which messages to read. Those of a thread come from the oldest on, with its parent
// before the first; those of a channel from the newest on, without those of threads.
type page struct {
	oldest string // a ts, exclusive
	latest string // a ts, exclusive; empty: now
	cursor string
	size   int
}

// methodOfReading is the method that reads a place.
func methodOfReading(to chat.Target) string {
	if to.Thread != "" {
		return methodReplies
	}
	return methodHistory
}

// read returns a page of the messages of a place, with their metadata, and the cursor of the next page, empty at the end.
// Messages that can't be decoded are left out. While the method is rate-limited, read fails with RateLimited without a call: the
// gateway and Run both read.
func (b *Bot) read(ctx context.Context, to chat.Target, p page) ([]message, string, error) {
	method := methodOfReading(to)
	until, _ := b.blocked.Get(method)
	if wait := time.Until(until); wait > 0 {
		return nil, "", &chat.SendError{
			Kind: chat.RateLimited, RetryAfter: wait, Scope: chat.ScopeEndpoint, Ops: chat.OpFind, Err: fmt.Errorf("%s: ratelimited", method),
		}
	}
	a, err := b.call(ctx, method, func(ctx context.Context, api *library.Client) error {
		if to.Thread == "" {
			_, err := api.GetConversationHistoryContext(ctx, &library.GetConversationHistoryParameters{
				ChannelID: string(to.Chat), Cursor: p.cursor, Oldest: p.oldest, Limit: p.size, IncludeAllMetadata: true,
			})
			return err
		}
		_, _, _, err := api.GetConversationRepliesContext(ctx, &library.GetConversationRepliesParameters{
			ChannelID: string(to.Chat), Timestamp: string(to.Thread), Cursor: p.cursor, Oldest: p.oldest, Latest: p.latest,
			Limit: p.size, IncludeAllMetadata: true,
		})
		return err
	})
	if err != nil {
		if failure := chat.AsSendError(err); failure.Kind == chat.RateLimited {
			b.blocked.Put(method, time.Now().Add(failure.RetryAfter))
		}
		return nil, "", err
	}
	var result struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if err := a.decode(method, &result); err != nil {
		return nil, "", err
	}
	list := make([]message, 0, len(result.Messages))
	for _, raw := range result.Messages {
		var m message
		if json.Unmarshal(raw, &m) == nil && m.TS != "" {
			m.Channel = string(to.Chat)
			list = append(list, m)
		}
	}
	return list, a.Beside.value.Cursor, nil
}

// channels returns a page of the conversations that the bot is a member of, and the cursor of the next page, empty at the end.
func (b *Bot) channels(ctx context.Context, cursor string) ([]chat.Target, string, error) {
	a, err := b.call(ctx, methodChannels, func(ctx context.Context, api *library.Client) error {
		_, _, err := api.GetConversationsForUserContext(ctx, &library.GetConversationsForUserParameters{
			Cursor: cursor, Limit: channelPage, ExcludeArchived: true,
			Types: []string{"im", "mpim", "private_channel", "public_channel"},
		})
		return err
	})
	if err != nil {
		return nil, "", err
	}
	var result struct {
		Channels []struct {
			ID string `json:"id"`
			IM bool   `json:"is_im"`
		} `json:"channels"`
	}
	if err := a.decode(methodChannels, &result); err != nil {
		return nil, "", err
	}
	list := make([]chat.Target, 0, len(result.Channels))
	for _, c := range result.Channels {
		to := chat.Target{Chat: chat.ChatID(c.ID), Kind: chat.Group}
		if c.IM {
			to.Kind = chat.Private
		}
		list = append(list, to)
	}
	return list, a.Beside.value.Cursor, nil
}

// pace limits calls to a number a minute. Nothing else in this package waits for a limit: the gateway paces all calls but
// those that read missed messages.
type pace struct {
	mu    sync.Mutex
	calls []time.Time // in the last minute, oldest first
}

// wait blocks until another call may be made, or ctx ends.
func (p *pace) wait(ctx context.Context, most int) error {
	for {
		d := p.take(most)
		if d <= 0 {
			return ctx.Err()
		}
		if err := receiving.Sleep(ctx, d); err != nil {
			return err
		}
	}
}

// take counts a call, or returns how long there is no room for it.
func (p *pace) take(most int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for len(p.calls) > 0 && now.Sub(p.calls[0]) > tierWindow+time.Second { // the network shifts calls towards each other
		p.calls = p.calls[1:]
	}
	if len(p.calls) >= most {
		return p.calls[0].Add(tierWindow + 2*time.Second).Sub(now)
	}
	p.calls = append(p.calls, now)
	return 0
}
