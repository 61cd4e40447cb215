package gateway

import (
	"strings"
	"time"

	"telex/agent"
	"telex/gateway/history"
	"telex/internal/chat"
)

// past reads the history of the conversation. It retries for a while, since a database that restarts is back after
// a moment.
func (a *actor) past() (history.History, error) {
	for began := time.Now(); ; pause(a.g.deliveries, firstWriteRetry) {
		h, err := history.Load(a.g.deliveries, a.g.store.sessions, a.conversation)
		if err == nil || !a.worthwhile(err) || time.Since(began) > unsavedAfter {
			return h, err
		}
	}
}

// words returns the text of messages as the model reads it, with its provenance, without attachments.
func (a *actor) words(messages ...chat.Inbound) agent.Message {
	return a.reading().Question(messages...)
}

// reading says how messages of this conversation become text for a model.
func (a *actor) reading() history.Reading {
	return history.Reading{Endpoint: a.conversation.Endpoint, Names: a.g.current().Context}
}

// settings are the settings of one turn.
type settings struct {
	model  Model
	system string   // empty: the agent's default
	tools  []string // nil: all
}

// settings returns the settings for a person in this conversation. The model is the chosen one, else that of the
// last matching override, else the first model.
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

// model returns the model that has this name, ignoring case.
func (c *configured) model(name string) (Model, bool) {
	for _, m := range c.Models {
		if name != "" && strings.EqualFold(m.Name, name) {
			return m, true
		}
	}
	return Model{}, false
}
