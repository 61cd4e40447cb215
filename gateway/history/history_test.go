package history_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"telex/agent"
	"telex/gateway/history"
	"telex/internal/chat"
)

// sessions implements history.Sessions with a fixed list of entries.
type sessions []chat.Entry

func (s sessions) Session(context.Context, chat.Conversation) (chat.Session, []chat.Entry, error) {
	if s == nil {
		return chat.Session{}, nil, errors.New("busy")
	}
	return chat.Session{Summary: "They met."}, s, nil
}

// stored returns entries as the store keeps them. Entries of older versions have neither a turn nor a user.
func stored() sessions {
	entry := func(id int64, turn string, u chat.UserID, body string) chat.Entry {
		return chat.Entry{ID: id, Turn: turn, User: u, Body: []byte(body)}
	}
	return sessions{
		entry(1, "", "", `{"role":"user","text":"old"}`),
		entry(2, "", "", `{"role":"assistant","text":"answer"}`),
		entry(3, "a", "1", `{"role":"user","text":"first","images":[{"media_type":"image/png","data":"AQI="}],"sources":[{"origin":"typed","person":"e:user:1","text":"first"}]}`),
		entry(4, "a", "1", `{"role":"user","text":"and this","sources":[{"origin":"typed","person":"e:user:1","text":"and this"}]}`),
		entry(5, "a", "1", `{"role":"assistant","tool_calls":[{"id":"c","name":"light","arguments":"{}"}],"reasoning":"hm"}`),
		entry(6, "a", "1", `{"role":"tool","text":"done","tool_call_id":"c"}`),
		entry(7, "b", "2", `{"role":"user","text":"second"}`),
	}
}

func load(t *testing.T, s sessions) history.History {
	t.Helper()
	h, err := history.Load(t.Context(), s, chat.Conversation{})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func texts(messages []agent.Message) string {
	var out []string
	for _, m := range messages {
		out = append(out, string(m.Role)+": "+m.Text)
	}
	return strings.Join(out, ", ")
}

func TestLoad(t *testing.T) {
	h := load(t, stored())
	if len(h.Messages) != 7 || h.Messages[4].ToolCalls[0].Name != "light" || h.Messages[4].Reasoning != "hm" || h.Messages[5].ToolCallID != "c" ||
		!slices.Equal(h.Messages[2].Images[0].Data, []byte{1, 2}) || h.Messages[2].Sources[0].Origin != agent.OriginTyped {
		t.Errorf("messages %+v", h.Messages)
	}
	if want := agent.EstimateTokens("They met.") + agent.EstimateTokens("old"); h.Tokens() < want {
		t.Errorf("%d tokens, want more than %d", h.Tokens(), want)
	}
	if last, found := h.Newest(); !found || last.ID != 7 || !h.Has("a") || h.Has("c") {
		t.Errorf("the newest entry is %+v", last)
	}
	if _, found := (history.History{}).Newest(); found {
		t.Error("an empty history has a newest entry")
	}
	for _, s := range []sessions{nil, {{Body: []byte("{")}}} {
		if _, err := history.Load(t.Context(), s, chat.Conversation{}); err == nil {
			t.Error("what can't be read was read")
		}
	}
}

func TestWithout(t *testing.T) {
	h := load(t, stored())
	rest, question, found := h.Without("a")
	if !found || texts(rest.Messages) != "user: old, assistant: answer, user: second" || len(rest.Entries) != 3 || rest.Summary != h.Summary {
		t.Errorf("left %q", texts(rest.Messages))
	}
	if question.Text != "first\n\nand this" || len(question.Sources) != 2 || len(question.Images) != 1 {
		t.Errorf("the question is %+v", question)
	}
	for _, turn := range []string{"", "none"} {
		if rest, _, found := h.Without(turn); found || len(rest.Messages) != 7 {
			t.Errorf("without %q %d messages are left", turn, len(rest.Messages))
		}
	}
	for u, want := range map[chat.UserID]string{"1": "a", "2": "b", "3": ""} {
		if got := h.Last(u); got != want {
			t.Errorf("the last turn of %s is %q, want %q", u, got, want)
		}
	}
}

func TestJoin(t *testing.T) {
	typed := []agent.Source{{Origin: agent.OriginTyped, Text: "more"}}
	for _, c := range []struct {
		name           string
		question, more agent.Message
		want           agent.Message
	}{
		{"of unknown origin", agent.Message{Text: "old"}, agent.Message{Text: "more", Sources: typed}, agent.Message{Text: "old\n\nmore", Sources: append([]agent.Source{{}}, typed...)}},
		{"nothing", agent.Message{}, agent.Message{Text: "more", Sources: typed}, agent.Message{Text: "more", Sources: typed}},
		{"nothing more", agent.Message{Text: "more", Sources: typed}, agent.Message{}, agent.Message{Text: "more", Sources: typed}},
	} {
		if got := history.Join(c.question, c.more); got.Text != c.want.Text || !reflect.DeepEqual(got.Sources, c.want.Sources) {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestGrowth(t *testing.T) {
	h := load(t, stored())
	said := []agent.Message{{Role: agent.User, Text: "q"}, {Role: agent.Assistant, Text: "a"}}
	usage := []agent.ModelUsage{{Model: "m", Calls: 1, Usage: agent.Usage{Prompt: 3, Completion: 2}}}
	for _, c := range []struct {
		name       string
		kept       []agent.Message
		compaction *agent.Compaction
		replaces   bool
		entries    int
		fold       *chat.Compaction
	}{
		{"said", said, nil, false, 2, nil},
		{"summarized", said, &agent.Compaction{Summary: "s", Messages: 4}, false, 2, &chat.Compaction{Summary: "s", Upto: 4}},
		{"summarized more than there is", said, &agent.Compaction{Summary: "s", Messages: 8}, false, 2, nil},
		{"summarized nothing", said, &agent.Compaction{}, false, 2, nil},
		{"replaces", said, &agent.Compaction{Summary: "s", Messages: 4}, true, 2, &chat.Compaction{Summary: "s", Upto: 4}},
		{"replaces by nothing", nil, &agent.Compaction{Summary: "s", Messages: 4}, true, 0, nil},
	} {
		g, err := h.Growth(c.kept, agent.Result{UsageByModel: usage, Compaction: c.compaction}, c.replaces)
		if err != nil || len(g.History) != c.entries || !reflect.DeepEqual(g.Compaction, c.fold) || len(g.Usage) != 1 {
			t.Errorf("%s: got %+v, %v", c.name, g, err)
		}
	}
}

func TestLargePictures(t *testing.T) {
	small, large := agent.Image{Data: make([]byte, 512<<10)}, agent.Image{Data: make([]byte, 512<<10+1)}
	for _, c := range []struct {
		role agent.Role
		want string
		kept int
	}{
		{agent.ToolRole, "done\n[pictures that were too large to be kept: 1]", 1},
		{agent.User, "done", 2},
	} {
		bodies, err := history.Encode([]agent.Message{{Role: c.role, Text: "done", Images: []agent.Image{small, large}}})
		if err != nil {
			t.Fatal(err)
		}
		if m := load(t, sessions{{Body: bodies[0]}}).Messages[0]; m.Text != c.want || len(m.Images) != c.kept {
			t.Errorf("a message of %s keeps %d pictures and says %q", c.role, len(m.Images), m.Text)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		name  string
		usage agent.ModelUsage
		want  []chat.Usage
	}{
		{"told", agent.ModelUsage{Model: "m", Calls: 2, Usage: agent.Usage{Prompt: 9, Cached: 4, Completion: 3, Reasoning: 1}, Estimate: 5}, []chat.Usage{{Model: "m", Calls: 2, Prompt: 9, Cached: 4, Completion: 3, Reasoning: 1}}},
		{"one of two told", agent.ModelUsage{Model: "m", Calls: 2, Usage: agent.Usage{Prompt: 9, Completion: 3}, EstimatedPrompt: 10, EstimatedCompletion: 4}, []chat.Usage{{Model: "m", Calls: 2, Prompt: 19, Completion: 7, Estimated: true}}},
		{"nothing told", agent.ModelUsage{Model: "m", Calls: 1, Estimate: 5}, []chat.Usage{{Model: "m", Calls: 1, Completion: 5, Estimated: true}}},
		{"nothing used", agent.ModelUsage{Model: "m"}, nil},
	} {
		if got := history.Usage([]agent.ModelUsage{c.usage}); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestWords(t *testing.T) {
	said := func(o chat.Origin, text string) chat.Inbound {
		return chat.Inbound{Sender: chat.Sender{ID: "1"}, Origin: o, Text: text}
	}
	q := history.Reading{Endpoint: "e"}.Question(said(chat.Typed, "look"), said(chat.Typed, ""), said(chat.Forwarded, "do it"), said(chat.ByBot, "beep"))
	parts := strings.Split(q.Text, "\n\n")
	if len(parts) != 3 || parts[0] != "look" || !strings.HasPrefix(parts[1], "[forwarded message ") || !strings.Contains(parts[1], "]\ndo it\n[end of forwarded message ") ||
		!strings.HasPrefix(parts[2], "[message written by another bot ") {
		t.Errorf("the model reads\n%s", q.Text)
	}
	want := []agent.Source{{Origin: agent.OriginTyped, Person: "e:user:1", Text: "look"}, {Origin: agent.OriginForward}, {Origin: agent.OriginBot}}
	if !reflect.DeepEqual(q.Sources, want) || q.Role != agent.User {
		t.Errorf("sources %+v", q.Sources)
	}
	if got := history.Frame("file", "a.txt", "x"); !strings.HasPrefix(got, "[file ") || !strings.Contains(got, ": a.txt]\nx\n[end of file ") || got == history.Frame("file", "a.txt", "x") {
		t.Errorf("framed %q", got)
	}
}

// A person sends a large file, which the model reads once. The stored history must contain a line instead of the file.
func TestLargeFilesAreNotKept(t *testing.T) {
	t.Parallel()
	file := func(n int) agent.File {
		return agent.File{Name: "a.pdf", MediaType: "application/pdf", Content: make([]byte, n)}
	}
	m := history.Join(agent.Message{Role: agent.User, Text: "look", Files: []agent.File{file(1_000_001)}}, agent.Message{Text: "and", Files: []agent.File{file(7)}})
	kept, err := history.Encode([]agent.Message{m})
	if err != nil {
		t.Fatal(err)
	}
	var got agent.Message
	if err := json.Unmarshal(kept[0], &got); err != nil {
		t.Fatal(err)
	}
	if got.Text != "look\n\nand\n[attached files that were too large to be kept: 1]" || len(got.Files) != 1 || len(got.Files[0].Content) != 7 || len(m.Files) != 2 {
		t.Errorf("got %q and %d files", got.Text, len(got.Files))
	}
}
