package history

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"telex/agent"
	"telex/internal/chat"
)

// Sessions reads conversations.
type Sessions interface {
	// Session returns a conversation's session, and its entries that are not summarized, oldest first.
	Session(ctx context.Context, c chat.Conversation) (chat.Session, []chat.Entry, error)
}

// History contains the messages of a conversation as a model reads them.
type History struct {
	chat.Session
	Entries  []chat.Entry
	Messages []agent.Message // one per entry
}

// Load reads the history of a conversation.
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

// Without returns the history without a turn, and the turn's question as one message. It returns false if the
// history does not contain the turn.
func (h History) Without(turn string) (History, agent.Message, bool) {
	if turn == "" { // there is no turn, or an older version stored none
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
		default: // it was passed to the turn while the turn ran
			question = Join(question, h.Messages[i])
		}
	}
	return rest, question, found
}

// Has reports whether a turn added entries.
func (h History) Has(turn string) bool {
	return slices.ContainsFunc(h.Entries, func(e chat.Entry) bool { return e.Turn == turn })
}

// Newest returns the newest entry, or false if there is none.
func (h History) Newest() (chat.Entry, bool) {
	if len(h.Entries) == 0 {
		return chat.Entry{}, false
	}
	return h.Entries[len(h.Entries)-1], true
}

// Last returns the id of the newest turn that a person can ask again, or "". Only the person's own turns count:
// their question must not become somebody else's.
func (h History) Last(u chat.UserID) string {
	for _, e := range slices.Backward(h.Entries) {
		if e.User == u || e.User == "" {
			return e.Turn
		}
	}
	return ""
}

// Tokens estimates how many tokens of a model's context window the history takes.
func (h History) Tokens() int {
	n := agent.EstimateTokens(h.Summary)
	for _, m := range h.Messages {
		n += agent.EstimateTokens(m.Text)
	}
	return n
}
