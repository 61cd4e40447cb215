package history

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"telex/agent"
	"telex/internal/chat"
)

// Sessions keeps what was said in conversations.
type Sessions interface {
	// Session returns a conversation's session, and the entries that no summary stands for, oldest
	// first.
	Session(ctx context.Context, c chat.Conversation) (chat.Session, []chat.Entry, error)
}

// History is what a conversation remembers, as a model reads it.
type History struct {
	chat.Session
	Entries  []chat.Entry
	Messages []agent.Message // one for each entry
}

// Load reads what a conversation remembers.
func Load(ctx context.Context, from Sessions, c chat.Conversation) (History, error) {
	session, entries, err := from.Session(ctx, c)
	if err != nil {
		return History{}, fmt.Errorf("read session: %w", err)
	}
	h := History{Session: session, Entries: entries, Messages: make([]agent.Message, len(entries))}
	for i, e := range entries {
		if err := json.Unmarshal(e.Body, &h.Messages[i]); err != nil {
			return History{}, fmt.Errorf("read entry %d of the history: %w", e.ID, err)
		}
	}
	return h, nil
}

// Without returns the history as it was before a turn, and what that turn was asked, all of it in one message.
func (h History) Without(turn string) (History, agent.Message, bool) {
	if turn == "" { // no turn, or one that an older version stored without its id
		return h, agent.Message{}, false
	}
	rest := History{Session: h.Session}
	var question agent.Message
	found := false
	for i, e := range h.Entries {
		switch {
		case e.Turn != turn:
			rest.Entries, rest.Messages = append(rest.Entries, e), append(rest.Messages, h.Messages[i])
		case h.Messages[i].Role != agent.User:
		case !found:
			question, found = h.Messages[i], true
		default: // it was put to the turn while that ran
			question = Join(question, h.Messages[i])
		}
	}
	return rest, question, found
}

// Has reports whether a turn added something.
func (h History) Has(turn string) bool {
	return slices.ContainsFunc(h.Entries, func(e chat.Entry) bool { return e.Turn == turn })
}

// Newest returns the newest entry; false without any.
func (h History) Newest() (chat.Entry, bool) {
	if len(h.Entries) == 0 {
		return chat.Entry{}, false
	}
	return h.Entries[len(h.Entries)-1], true
}

// Last returns the newest turn that a person can ask again, or an empty id. It is one of their own: what they
// asked must not become somebody else's.
func (h History) Last(u chat.UserID) string {
	for _, e := range slices.Backward(h.Entries) {
		if e.User == u || e.User == "" {
			return e.Turn
		}
	}
	return ""
}

// Tokens estimates what of a model's window the history takes.
func (h History) Tokens() int {
	n := agent.EstimateTokens(h.Summary)
	for _, m := range h.Messages {
		n += agent.EstimateTokens(m.Text)
	}
	return n
}
