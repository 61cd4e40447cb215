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

	// readMethods is the number of methods that read messages.
	readMethods = 2
)

// identity is the bot's account.
type identity struct {
	User string `json:"user_id"`
	Bot  string `json:"bot_id"`
	Team string `json:"team_id"`
	Name string `json:"user"`
}

// identity returns the bot's account. The method identity requests the account from Slack only once.
func (b *Bot) identity(ctx context.Context) (identity, error) {
	if self := b.self.Load(); self != nil {
		return *self, nil
	}
	return b.fetchIdentity(ctx)
}

// Name implements gateway.Named.
func (b *Bot) Name() string {
	if self := b.self.Load(); self != nil {
		return self.Name
	}
	return ""
}

// fetchIdentity requests the bot's account.
func (b *Bot) fetchIdentity(ctx context.Context) (identity, error) {
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

// page says which page of messages the bot reads. Slack returns the messages of a thread oldest first, after the
// thread's parent. Slack returns the messages of a channel newest first, without the replies in threads.
type page struct {
	oldest string // a ts, exclusive
	latest string // read only messages before this ts; empty: now
	cursor string
	size   int
}

// readMethod returns the name of the API method that reads the messages of a chat.
func readMethod(to chat.Target) string {
	if to.Thread != "" {
		return methodReplies
	}
	return methodHistory
}

// read returns a page of a chat's messages with their metadata, and the cursor of the next page, which is empty after
// the last page. read skips messages that can't be decoded. Find, ReadThread and Run all read messages through the
// method read. After Slack has refused a call because of a rate limit, read makes no call and fails with RateLimited
// until the time to wait is over.
func (b *Bot) read(ctx context.Context, to chat.Target, p page) ([]message, string, error) {
	method := readMethod(to)
	until, _ := b.blockedUntil.Get(method)
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
			b.blockedUntil.Put(method, time.Now().Add(failure.RetryAfter))
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
	return list, a.Metadata.value.Cursor, nil
}

// channels returns a page of the conversations that the bot is a member of, and the cursor of the next page, which is
// empty after the last page.
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
	return list, a.Metadata.value.Cursor, nil
}

// readers knows how many processes use the same account, and divides the rate limits for reading messages among them.
// The number of processes may change at any time.
type readers struct {
	mu    sync.Mutex
	from  chat.Resume // the parameter from of the newest call of Run
	began time.Time   // when the first call of Run began
}

// begin records that a call of Run begins with the parameter from.
func (r *readers) begin(from chat.Resume) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.from = from
	if r.began.IsZero() {
		r.began = time.Now()
	}
}

// missedLimit returns how many pages of missed messages this process may read in a minute. If an older process also
// receives messages, missedLimit returns 0 in the first minute of this process, because the older process may have just
// used the whole limit. If missedLimit returns 0, no message is lost, because the older process also reads the messages
// that this process has missed.
func (r *readers) missedLimit() int {
	from, began := r.now()
	all, older := from.Others()
	if older > 0 && time.Since(began) < tierWindow+2*time.Second {
		return 0
	}
	return max(1, readCount/(1+all))
}

// threadLimit returns how many pages this process may read in a minute, including the pages of a thread. The returned
// number is the sum of missedLimit and this process's part of threadCount.
func (r *readers) threadLimit() int { return r.missedLimit() + r.part(threadCount) }

// The method part divides a number of calls equally among all processes that use the account, and returns how many of
// these calls this process may make.
func (r *readers) part(calls int) int {
	from, _ := r.now()
	all, _ := from.Others()
	return max(1, calls/(1+all))
}

func (r *readers) now() (from chat.Resume, began time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.from, r.began
}

// pace limits the number of calls per minute. Reading missed messages waits until pace allows the next call. If the
// limit is reached, every function except the reading of missed messages fails, or does without the call.
type pace struct {
	mu    sync.Mutex
	calls []time.Time // times of the calls in the last minute, oldest first
}

// The method wait blocks until pace allows another call, or until ctx ends. The limit may change while wait blocks.
func (p *pace) wait(ctx context.Context, limit func() int) error {
	for {
		d := p.tryTake(limit())
		if d <= 0 {
			return ctx.Err()
		}
		if err := receiving.Sleep(ctx, d); err != nil {
			return err
		}
	}
}

// tryTake counts a call and returns 0. If the limit is reached, tryTake does not count the call, and returns how long
// the caller must wait.
func (p *pace) tryTake(limit int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for len(p.calls) > 0 && now.Sub(p.calls[0]) > tierWindow+time.Second { // the extra second covers network delays
		p.calls = p.calls[1:]
	}
	switch {
	case limit == 0:
		return time.Second // the limit is 0 only for a while, so try again soon
	case len(p.calls) >= limit:
		return p.calls[0].Add(tierWindow + 2*time.Second).Sub(now)
	}
	p.calls = append(p.calls, now)
	return 0
}
