package app

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
	"unicode/utf8"

	"telex/gateway"
	"telex/gateway/budget"
	"telex/internal/admin"
	"telex/internal/chat"
	"telex/internal/store"
)

// activity contains the methods of the store with which the status page reads usage and conversations.
type activity interface {
	Used(ctx context.Context, of chat.UsageOf) (chat.Used, error)
	Sessions(ctx context.Context) ([]store.SessionInfo, error)
}

const (
	// pastLifetime is how long the status page shows data from the store before it reads the store again. Each page
	// that is open in a browser is rendered twice per second, which is too often to read the store each time.
	pastLifetime = 15 * time.Second
	// pastDays and pastConversations are the maximum numbers of days and conversations on the page.
	pastDays          = 14
	pastConversations = 15
	// maxReplies is the maximum number of active conversations on the page.
	maxReplies = 50
	// maxText is the maximum number of characters that the page shows of a text. If a text is longer than maxText, the page shows
	// only its end.
	maxText = 4000
)

// statusPage collects the content of the status page.
type statusPage struct {
	app      *App
	version  string
	activity activity // nil: the store has no such methods
	started  time.Time

	mu   sync.Mutex
	past admin.Status // only the fields Days, Conversations and Kept are set
	at   time.Time    // when past was read from the store
}

// status is the function for the field Status of admin.Options.
func (p *statusPage) status(ctx context.Context) admin.Status {
	s := p.remembered(ctx)
	s.Version, s.Started, s.Readiness, s.Problems = p.version, p.started, p.app.readiness(), p.app.problems.Newest()
	o := p.app.gateway.Overview()
	for _, e := range s.Readiness.Endpoints {
		s.Endpoints = append(s.Endpoints, endpointStatus(e, o))
	}
	for _, r := range p.app.replicas().Replicas {
		s.Replicas = append(s.Replicas, admin.Replica{
			ID: r.ID, Name: r.Name, Version: r.Version, Leaving: r.Leaving, Chats: r.Chats, Receives: r.Receives, Self: r.ID == int64(o.Replica.ID),
		})
	}
	for _, c := range o.Conversations {
		if one := p.reply(c); (one.Turn != "" || one.Queued+one.Parked > 0) && len(s.Replies) < maxReplies {
			s.Replies = append(s.Replies, one)
		}
	}
	return s
}

// endpointStatus returns the state of an endpoint, with everything that the gateway reports about it. The gateway reports
// nothing about API servers, because they are not its endpoints.
func endpointStatus(e admin.Endpoint, o gateway.Overview) admin.EndpointStatus {
	s := admin.EndpointStatus{Endpoint: e, Network: "API server"}
	for _, is := range o.Endpoints {
		if string(is.ID) != e.Name {
			continue
		}
		s.Network, s.Since, s.Waiting = is.Network, is.Since, is.Budget.Waiting
		for _, u := range is.Budget.Limits {
			s.Limits = append(s.Limits, admin.Limit{What: limitName(u), Used: u.Used, Max: u.Limit.Count})
		}
		for _, b := range is.Budget.Blocks {
			s.Blocks = append(s.Blocks, admin.Block{What: blockName(b), Until: b.Until})
		}
	}
	return s
}

func limitName(u budget.Use) string {
	switch u.Limit.Window {
	case time.Second:
		return "calls per second"
	case time.Minute:
		return "calls per minute"
	}
	return fmt.Sprintf("calls in %s", u.Limit.Window)
}

// blockName returns a readable name of the scope in which a platform refuses calls after a rate limit was exceeded.
func blockName(b chat.Block) string {
	if b.Scope == chat.ScopeEndpoint {
		return "of this bot"
	}
	return fmt.Sprintf("in the %s %s", b.Scope, cmp.Or(string(b.Message), string(b.Thread), string(b.Chat)))
}

// reply returns a conversation's state in the form that the status page shows.
func (p *statusPage) reply(c gateway.ConversationState) admin.Reply {
	out := admin.Reply{Conversation: c.Conversation.String(), Queued: c.Queued, Parked: c.Parked}
	r := c.Reply
	if r == nil {
		return out
	}
	out.Turn, out.Began, out.Complete = r.Turn[:min(len(r.Turn), 8)], r.Began, r.Ending
	out.Length, out.Visible = utf8.RuneCountInString(r.Text), utf8.RuneCountInString(r.Text[:min(r.Shown, len(r.Text))])
	out.Waits = map[gateway.Wait]string{
		gateway.WaitModel: "for the model", gateway.WaitApproval: "for a person to approve a tool call",
		gateway.WaitLimit: "for the rate limits of the platform", gateway.WaitTrouble: "until the platform takes the reply",
	}[r.Waits]
	if r.Blocked.After(time.Now()) {
		out.Until = r.Blocked
	}
	if p.app.parts.Load().config.Admin.ShowText {
		out.Text = lastOf(r.Text, maxText)
	}
	return out
}

// lastOf returns the last n characters of a text.
func lastOf(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return "…" + string(runes[len(runes)-n:])
}

// remembered returns the data that was read from the store last. If this data is older than pastLifetime, remembered
// reads the store again.
func (p *statusPage) remembered(ctx context.Context) admin.Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.activity == nil || time.Since(p.at) < pastLifetime {
		return p.past
	}
	past, err := p.ask(ctx, time.Now())
	if err != nil {
		p.app.log.Debug("the status page can't read the store", slog.Any("error", err))
		return p.past
	}
	p.past, p.at = past, time.Now()
	return past
}

// ask reads the usage of the last few days and the newest conversations from the store.
func (p *statusPage) ask(ctx context.Context, now time.Time) (s admin.Status, err error) {
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	for i := pastDays - 1; i >= 0; i-- {
		day := midnight.AddDate(0, 0, -i)
		used, err := p.activity.Used(ctx, chat.UsageOf{From: day, To: day.AddDate(0, 0, 1)})
		if err != nil {
			return s, err
		}
		s.Days = append(s.Days, admin.Day{Date: day, Prompt: used.Prompt, Completion: used.Completion})
	}
	sessions, err := p.activity.Sessions(ctx)
	s.Kept = len(sessions)
	for _, one := range sessions[:min(len(sessions), pastConversations)] {
		s.Conversations = append(s.Conversations, admin.Conversation{
			Name: one.Conversation.String(), Newest: one.Newest, Messages: one.Entries, Tokens: one.Tokens,
		})
	}
	return s, err
}
