package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"telex/agent"
	"telex/internal/chat"
)

// past is what a conversation remembers, as a model reads it.
type past struct {
	chat.Session
	entries  []chat.Entry
	messages []agent.Message // one for each entry
}

// past reads what the conversation remembers.
func (a *actor) past() (past, error) {
	stored, entries, err := a.g.Store.Session(a.g.deliveries, a.conversation)
	if err != nil {
		return past{}, fmt.Errorf("read session: %w", err)
	}
	s := past{Session: stored, entries: entries, messages: make([]agent.Message, len(entries))}
	for i, e := range entries {
		if err := json.Unmarshal(e.Body, &s.messages[i]); err != nil {
			return past{}, fmt.Errorf("read entry %d of the history: %w", e.ID, err)
		}
	}
	return s, nil
}

// without returns the session as it was before a turn, and what that turn was asked, all of it in one message.
func (s past) without(turn string) (past, agent.Message, bool) {
	if turn == "" { // there is none, or an older version stored it
		return s, agent.Message{}, false
	}
	rest := past{Session: s.Session}
	var question agent.Message
	found := false
	for i, e := range s.entries {
		switch {
		case e.Turn != turn:
			rest.entries, rest.messages = append(rest.entries, e), append(rest.messages, s.messages[i])
		case s.messages[i].Role != agent.User:
		case !found:
			question, found = s.messages[i], true
		default: // it was put to the turn while that ran
			question = adding(question, s.messages[i])
		}
	}
	return rest, question, found
}

// last returns the newest turn that a person can ask again; empty when there is none. It is one of their own: what they
// asked must not become somebody else's.
func (s past) last(u chat.UserID) string {
	for _, e := range slices.Backward(s.entries) {
		if e.User == u || e.User == "" {
			return e.Turn
		}
	}
	return ""
}

// tokens estimates what of a model's window the session takes.
func (s past) tokens() int {
	n := agent.EstimateTokens(s.Summary)
	for _, m := range s.messages {
		n += agent.EstimateTokens(m.Text)
	}
	return n
}

// mostRemembered bounds, in bytes, each picture of a tool that the history keeps. What people attach was made smaller
// before; a tool's pictures are shown to the model as they are, once.
const mostRemembered = 512 << 10

// remembered returns an answer of a tool without the pictures that are too large to be shown again in every turn.
func remembered(m agent.Message) agent.Message {
	small := slices.DeleteFunc(slices.Clone(m.Images), func(i agent.Image) bool { return len(i.Data) > mostRemembered })
	if m.Role != agent.ToolRole || len(small) == len(m.Images) {
		return m
	}
	m.Text += fmt.Sprintf("\n[pictures that were too large to be kept: %d]", len(m.Images)-len(small))
	m.Images = small
	return m
}

// encode writes messages as the store keeps them.
func encode(messages []agent.Message) ([][]byte, error) {
	var out [][]byte
	for _, m := range messages {
		m = remembered(m)
		b, err := json.Marshal(m)
		if err != nil {
			return nil, fmt.Errorf("encode history: %w", err)
		}
		out = append(out, b)
	}
	return out, nil
}

// growth is what a turn adds to its session, when people saw so many messages of it.
func (t *turn) growth(said []agent.Message) (g chat.Growth, err error) {
	g.Usage = usageOf(t.result.Spent)
	if g.History, err = encode(said); err != nil {
		return g, err
	}
	if t.replaces != "" && len(said) == 0 {
		return g, nil // what it would have replaced stays, and no summary stands for that
	}
	if c := t.result.Compaction; c != nil && c.Messages > 0 && c.Messages <= len(t.history.entries) {
		g.Fold = &chat.Fold{Summary: c.Summary, Upto: t.history.entries[c.Messages-1].ID}
	}
	return g, nil
}

// usageOf returns what a turn used as the store keeps it. What the provider did not tell is estimated, so that it counts.
func usageOf(spent []agent.Spent) []chat.Usage {
	var out []chat.Usage
	for _, s := range spent {
		u := chat.Usage{
			Model: s.Model, Calls: s.Calls,
			Prompt: s.Usage.Prompt, Cached: s.Usage.Cached, Completion: s.Usage.Completion, Reasoning: s.Usage.Reasoning,
		}
		if s.EstimatedPrompt > 0 || s.EstimatedCompletion > 0 {
			u.Prompt += s.EstimatedPrompt
			u.Completion += s.EstimatedCompletion
			u.Estimated = true
		}
		if u.Completion == 0 && s.Estimate > 0 {
			u.Completion = s.Estimate
			u.Estimated = true
		}
		if u.Calls > 0 || u.Prompt+u.Completion > 0 {
			out = append(out, u)
		}
	}
	return out
}

// settings is what holds for one turn.
type settings struct {
	model  Model
	system string   // empty: the agent's own
	tools  []string // nil: all
}

// settings returns what holds for somebody here: what was chosen, else the strongest override, else
// the first model.
func (a *actor) settings(s chat.Session, u chat.UserID) settings {
	var out settings
	name := ""
	for _, o := range a.g.Overrides {
		if !a.g.door.Matches(o.Match, a.conversation, u) {
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
		if m, ok := a.g.model(want); ok {
			out.model = m
			return out
		}
	}
	if len(a.g.Models) > 0 {
		out.model = a.g.Models[0]
	}
	return out
}

// model returns the model with a name, however that is capitalized.
func (g *Gateway) model(name string) (Model, bool) {
	for _, m := range g.Models {
		if name != "" && strings.EqualFold(m.Name, name) {
			return m, true
		}
	}
	return Model{}, false
}
