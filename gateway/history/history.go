package history

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"telex/agent"
	"telex/internal/chat"
)

// Sessions reads stored conversations.
type Sessions interface {
	// Session returns a conversation's session, and those entries of its history that the summary does not cover, oldest first.
	Session(ctx context.Context, c chat.Conversation) (chat.Session, []chat.Entry, error)
}

// History contains the messages of a conversation as a model reads them.
type History struct {
	chat.Session
	Entries  []chat.Entry
	Messages []agent.Message // one message for each entry
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

// Without returns the history without the entries of a turn, and the turn's question as one message. Without returns
// false if the history does not contain the turn.
func (h History) Without(turn string) (History, agent.Message, bool) {
	if turn == "" { // there is no turn, or an older version of telex stored the entries without turn ids
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
		default: // a person sent this message while the turn ran
			question = Join(question, h.Messages[i])
		}
	}
	return rest, question, found
}

// Has reports whether the history contains entries of a turn.
func (h History) Has(turn string) bool {
	return slices.ContainsFunc(h.Entries, func(e chat.Entry) bool { return e.Turn == turn })
}

// Newest returns the newest entry of the history, or false if the history is empty.
func (h History) Newest() (chat.Entry, bool) {
	if len(h.Entries) == 0 {
		return chat.Entry{}, false
	}
	return h.Entries[len(h.Entries)-1], true
}

// Last returns the id of the newest turn whose question a person can ask again with /retry, or "". The person must have
// asked this question, or the store does not contain who asked it.
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
