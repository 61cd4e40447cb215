package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// garbage is a platform that returns the given updates, some of them invalid, until a client has confirmed the last
// one.
type garbage struct {
	updates []string // JSON; ServeHTTP assumes that the updates have the update_ids 1, 2, 3, …

	mu    sync.Mutex
	polls []int    // the requested offsets
	sent  []string // texts of sendMessage
	news  chan struct{}
}

// ServeHTTP implements the part of the Bot API that a daemon needs when it does not stream replies.
func (g *garbage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, method, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	answer := "true"
	switch method {
	case "getMe":
		answer = `{"id":1,"is_bot":true,"first_name":"T","username":"telex_bot"}`
	case "getUpdates":
		offset, _ := strconv.Atoi(r.FormValue("offset"))
		g.mu.Lock()
		g.polls = append(g.polls, offset)
		g.mu.Unlock()
		answer = "[" + strings.Join(g.updates, ",") + "]"
		if offset > len(g.updates) {
			<-r.Context().Done() // a long poll without updates
			return
		}
	case "sendMessage":
		g.mu.Lock()
		g.sent = append(g.sent, r.FormValue("text"))
		id := len(g.sent)
		g.mu.Unlock()
		g.news <- struct{}{}
		answer = fmt.Sprintf(`{"message_id":%d,"date":4102444800,"chat":{"id":1001,"type":"private"}}`, 100+id)
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"ok":true,"result":%s}`, answer)
}

// A platform returns invalid updates. The daemon must continue, and must answer each valid message once.
func TestGarbageUpdates(t *testing.T) {
	t.Parallel()
	message := func(update, id int, text string) string {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`{"update_id":%d,"message":{"message_id":%d,"date":4102444800,"from":{"id":1001,"first_name":"A"},`+
			`"chat":{"id":1001,"type":"private"},"text":%s}}`, update, id, quoted)
	}
	g := &garbage{news: make(chan struct{}, 100)}
	g.updates = []string{
		`{"update_id":1}`,
		`{"update_id":2,"message":null}`,
		`{"update_id":3,"message":"text"}`,
		`{"update_id":4,"message":{"message_id":"x","chat":[],"from":7}}`,
		`{"update_id":5,"message":{"message_id":9,"date":4102444800,"chat":{"id":1001,"type":"private"},"text":"no sender"}}`,
		message(6, 10, "say: one"),
		message(7, 10, "say: one"), // a repetition of the first message
		`{"update_id":8,"message":{"message_id":11,"date":-1,"from":{"id":1001},"chat":{"id":1001,"type":"private"},"text":"/",` +
			`"entities":[{"type":"bot_command","offset":-5,"length":2000000000}]}}`,
		`{"update_id":9,"message":{"message_id":12,"date":4102444800,"from":{"id":1001},"chat":{"id":1001,"type":"no such type"},"text":"x"}}`,
		`{"update_id":10,"callback_query":{"id":"1","from":null,"message":{}}}`,
		`{"update_id":11,"brand_new_kind":{"deep":[[[[[[]]]]]]}}`,
		message(12, 13, "\u0000\ufffd"),
		`{"update_id":13,"message":{"message_id":14,"date":4102444800,"from":{"id":1001},"chat":{"id":1001,"type":"private"},"text":"\ud800"}}`,
		message(14, 15, "say: two"),
	}
	s := httptest.NewServer(g)
	t.Cleanup(s.Close)
	w := newWorld(t, telegram.Options{}, openai.Options{})
	p := w.daemon(sections{
		streaming: "{telegram: false}",
		platforms: fmt.Sprintf("{telegram: {token: %q, api_base: %q}}", testToken, s.URL),
		more:      "conversations: {busy: queue}",
	})
	count := func(text string) (n int) {
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, sent := range g.sent {
			if sent == text {
				n++
			}
		}
		return n
	}
	for count("two") == 0 {
		select {
		case <-g.news:
		case <-p.ended:
			t.Fatal("the daemon has ended")
		case <-time.After(patience):
			t.Fatal("no answer")
		}
	}
	if one, two := count("one"), count("two"); one != 1 || two != 1 {
		t.Errorf("the messages were answered %d and %d times, want once each: %q", one, two, g.sent)
	}
	if found := p.logged("panic"); len(found) > 0 {
		t.Errorf("panics: %v", found)
	}
	if n := len(p.logged("update skipped")); n == 0 {
		t.Error("the log says nothing of updates that can't be read")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if last := slices.Max(g.polls); last != 15 {
		t.Errorf("updates up to %d were confirmed, want all 14", last-1)
	}
}
