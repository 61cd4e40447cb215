package gateway

import (
	"strings"
	"time"

	"telex/agent"
	"telex/gateway/history"
	"telex/internal/chat"
)

// The method past reads the history of the conversation. If the store fails, this method tries again for up to unsavedAfter,
// because a restart of the database takes only a short time.
func (a *actor) past() (history.History, error) {
	for began := time.Now(); ; pause(a.g.deliveries, firstWriteRetry) {
		h, err := history.Load(a.g.deliveries, a.g.store.sessions, a.conversation)
		if err == nil || !a.worthwhile(err) || time.Since(began) > unsavedAfter {
			return h, err
		}
	}
}

// words returns the text of messages as the model reads it, together with the sources from which the text comes. words
// does not include attachments.
func (a *actor) words(messages ...chat.Inbound) agent.Message {
	return a.reading().Question(messages...)
}

// reading returns the configuration that determines how messages of this conversation become text for a model.
func (a *actor) reading() history.Reading {
	return history.Reading{Endpoint: a.conversation.Endpoint, Names: a.g.current().Context}
}

// settings contains the model, the system prompt and the tools of one turn.
type settings struct {
	model  Model
	system string   // system prompt; empty: the agent's default
	tools  []string // names of the allowed tools, or prefixes followed by "*"; nil: all tools
}

// settings returns the settings for a person in this conversation. The turn uses the model that people chose in this
// conversation. If nobody chose a model, the turn uses the model of the last matching override, or the first configured model.
func (a *actor) settings(now *configured, s chat.Session, u chat.UserID) settings {
	var out settings
	name := ""
	for _, o := range now.Overrides {
		if !a.g.policy.Matches(o.Match, a.conversation, u) {
			continue
		}
		if o.Model != "" {
			name = o.Model
		}
		if o.System != "" {
			out.system = o.System
		}
		if o.Tools != nil {
			out.tools = o.Tools
		}
	}
	for _, want := range []string{s.Model, name} {
		if m, ok := now.model(want); ok {
			out.model = m
			return out
		}
	}
	if len(now.Models) > 0 {
		out.model = now.Models[0]
	}
	return out
}

// model returns the configured model with the given name. model ignores the case of the name.
func (c *configured) model(name string) (Model, bool) {
	for _, m := range c.Models {
		if name != "" && strings.EqualFold(m.Name, name) {
			return m, true
		}
	}
	return Model{}, false
}
