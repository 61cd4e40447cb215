package app

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"telex/agent"
	"telex/gateway"
	"telex/internal/chat"
	"telex/platforms/terminal"
)

// told is a store that contains one history. turns[i] is the id of the turn to which messages[i] belongs.
type told struct {
	gateway.Store
	turns    []string
	messages []agent.Message
}

func (s told) Session(context.Context, chat.Conversation) (chat.Session, []chat.Entry, error) {
	var out []chat.Entry
	for i, m := range s.messages {
		body, err := json.Marshal(m)
		if err != nil {
			return chat.Session{}, nil, err
		}
		out = append(out, chat.Entry{ID: int64(i + 1), Turn: s.turns[i], Body: body})
	}
	return chat.Session{}, out, nil
}

// lastLines must return one answer for each turn, however often the turn called the model, and no results of tools.
func TestLastLines(t *testing.T) {
	t.Parallel()
	call := []agent.ToolCall{{ID: "1", Name: "look", Arguments: "{}"}}
	user := func(text string) agent.Message { return agent.Message{Role: agent.User, Text: text} }
	says := func(text string) agent.Message { return agent.Message{Role: agent.Assistant, Text: text} }
	s := told{
		turns: []string{"", "", "a", "a", "a", "a", "a", "a", "b", "b", "b"},
		messages: []agent.Message{
			user("too long ago"), says("of an older version"),
			user("look"),
			{Role: agent.Assistant, Text: "I **look**.\n", ToolCalls: call},
			{Role: agent.ToolRole, Text: "secret", Name: "look"},
			user("hurry"),
			{Role: agent.Assistant, ToolCalls: call},
			says("There."),
			user("thanks"),
			{Role: agent.ToolRole, Text: "more"},
			says("My pleasure."),
		},
	}
	a := &App{store: s, cli: terminal.Endpoint}
	got, err := a.lastLines(t.Context(), "main")
	want := []terminal.Line{
		{Text: "I **look**.\n\nThere.", ID: "a.0"}, {Mine: true, Text: "hurry"}, {Mine: true, Text: "thanks"}, {Text: "My pleasure.", ID: "b.0"},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	s.turns, s.messages = s.turns[:2], s.messages[:2]
	a.store = s
	got, err = a.lastLines(t.Context(), "main")
	if want = []terminal.Line{{Mine: true, Text: "too long ago"}, {Text: "of an older version"}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}
