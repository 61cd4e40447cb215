package telegram

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"telex/internal/chat"
)

// menus is an imitation of Telegram's API that stores the command list of each scope as JSON.
type menus struct {
	mu      sync.Mutex
	lists   map[string]string
	changes []string          // the changes of lists; each contains the method, the scope and the commands
	refuse  map[string]string // maps a scope to the error description with which the API refuses every call for this scope
}

func (m *menus) answer(w http.ResponseWriter, r *http.Request, method string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	scope, commands := r.PostFormValue("scope"), r.PostFormValue("commands")
	if description := m.refuse[scope]; description != "" {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, refusal(400, description, ""))
		return
	}
	result := "true"
	switch method {
	case "getMyCommands":
		result = m.lists[scope]
		if result == "" {
			result = "[]"
		}
	case "setMyCommands":
		m.lists[scope] = commands
		m.changes = append(m.changes, "set "+scope+" "+commands)
	case "deleteMyCommands":
		delete(m.lists, scope)
		m.changes = append(m.changes, "delete "+scope)
	default:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	_, _ = fmt.Fprintf(w, `{"ok":true,"result":%s}`, result)
}

// taken returns the changes since the previous call of taken.
func (m *menus) taken() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer func() { m.changes = nil }()
	return m.changes
}

const (
	inPrivates = `{"type":"all_private_chats"}`
	inGroups   = `{"type":"all_group_chats"}`
	withAnn    = `{"type":"chat","chat_id":7}`
	withBo     = `{"type":"chat","chat_id":5200000000}`
	common     = `[{"command":"new","description":"Start <anew> & \"forget\""}]`
	everything = `[{"command":"new","description":"Start <anew> & \"forget\""},{"command":"pair","description":"Let somebody in"}]`
)

func TestSetCommands(t *testing.T) {
	t.Parallel()
	list := []chat.CommandSpec{
		{Name: "new", Description: ` Start <anew> & "forget"` + "\n"},
		{Name: "pair", Description: "Let somebody in", Admin: true},
	}
	m := &menus{lists: map[string]string{inGroups: common}, refuse: map[string]string{withBo: "Bad Request: chat not found"}}
	b := serve(t, m.answer)
	admins := []chat.UserID{"5200000000", "7", "-100200300", "somebody"} // three invalid ones: no chat with the bot, a group, not a number
	for _, step := range []struct {
		name     string
		commands []chat.CommandSpec
		mend     bool // before this step, the admin opens a chat with the bot
		want     []string
	}{
		{"what is missing is set", list, false, []string{"set " + inPrivates + " " + common, "set " + withAnn + " " + everything}},
		{"nothing is set twice", list, false, nil},
		{"an admin wrote", list, true, []string{"set " + withBo + " " + everything}},
		{"commands for admins only", list[1:], false, []string{
			"delete " + inPrivates, "delete " + inGroups,
			`set ` + withBo + ` [{"command":"pair","description":"Let somebody in"}]`,
			`set ` + withAnn + ` [{"command":"pair","description":"Let somebody in"}]`,
		}},
		{"none", nil, false, []string{"delete " + withBo, "delete " + withAnn}},
		{"still none", nil, false, nil},
	} {
		if step.mend {
			m.mu.Lock()
			m.refuse = nil
			m.mu.Unlock()
		}
		if err := b.SetCommands(t.Context(), step.commands, admins); err != nil {
			t.Fatalf("%s: SetCommands: %v", step.name, err)
		}
		if got := unescape(m.taken()); !slices.Equal(got, step.want) {
			t.Errorf("%s: changed %q, want %q", step.name, got, step.want)
		}
	}
}

// unescape undoes the escaping of characters that are special in HTML, such as < and &. The JSON encoder escapes
// characters that are special in HTML.
func unescape(list []string) []string {
	for i := range list {
		list[i] = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(list[i])
	}
	return list
}

// If Telegram would refuse a command, SetCommands must fail before its first call of the API.
func TestSetCommandsChecksFirst(t *testing.T) {
	t.Parallel()
	b := serve(t, func(_ http.ResponseWriter, _ *http.Request, method string) { t.Errorf("called %s", method) })
	many := make([]chat.CommandSpec, 101)
	for i := range many {
		many[i] = chat.CommandSpec{Name: fmt.Sprintf("c%d", i), Description: "x"}
	}
	for name, list := range map[string][]chat.CommandSpec{
		"upper case":          {{Name: "ok", Description: "x"}, {Name: "New", Description: "x"}},
		"slash":               {{Name: "/new", Description: "x"}},
		"no name":             {{Description: "x"}},
		"a line more":         {{Name: "new\n", Description: "x"}},
		"too long":            {{Name: strings.Repeat("x", 33), Description: "x"}},
		"for admins only":     {{Name: "päir", Description: "x", Admin: true}},
		"no description":      {{Name: "new"}},
		"spaces only":         {{Name: "new", Description: " \n"}},
		"long description":    {{Name: "new", Description: strings.Repeat("ä", 257)}},
		"too many":            many,
		"long in UTF-16 only": {{Name: "new", Description: strings.Repeat("🦊", 129)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantKind(t, b.SetCommands(t.Context(), list, []chat.UserID{"7"}), chat.Rejected)
		})
	}
}

// SetCommands must return an error if any of its calls fails.
func TestSetCommandsFailures(t *testing.T) {
	t.Parallel()
	list := []chat.CommandSpec{{Name: "new", Description: "x"}}
	for _, c := range []struct {
		scope, description string
		want               chat.ErrorKind
	}{
		{inGroups, "Bad Request: BOT_COMMAND_INVALID", chat.Rejected},
		{inPrivates, "Bad Request: chat not found", chat.Forbidden},
		{withAnn, "Bad Request: BOT_COMMAND_INVALID", chat.Rejected},
	} {
		m := &menus{lists: map[string]string{}, refuse: map[string]string{c.scope: c.description}}
		wantKind(t, serve(t, m.answer).SetCommands(t.Context(), list, []chat.UserID{"7"}), c.want)
	}
	b := serveAnswer(t, 200, `{"ok":true,"result":"none"}`)
	wantKind(t, b.SetCommands(t.Context(), list, nil), chat.Temporary)
	b = serveAnswer(t, 401, refusal(401, "Unauthorized", ""))
	wantKind(t, b.SetCommands(t.Context(), list, nil), chat.Auth)
}
