package apiserver

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"telex/agent"
)

// After a reload, the new options must apply to the next request. If an API key stays the same, the server must still
// count the turns before the reload. A request that runs during the reload must keep the model with which the request
// began.
func TestReload(t *testing.T) {
	t.Parallel()
	hold, began := make(chan struct{}), make(chan struct{})
	l := open(t, runner(func(_ context.Context, _ agent.Turn, emit func(agent.Event)) (agent.Result, error) {
		began <- struct{}{}
		<-hold
		emit(agent.Text{Delta: "of the old model"})
		return agent.Result{Stop: agent.StopDone}, nil
	}), func(o *Options) { o.Keys = []Key{{Name: "laptop", Secret: secret, TurnsPerMinute: 2}} })
	ask := func(key string) received {
		return l.request(t.Context(), http.MethodPost, "/v1/chat/completions", chatting(""), "Authorization", "Bearer "+key)
	}
	old := make(chan received)
	go func() { old <- ask(secret) }()
	<-began
	o := l.server.Options
	o.Runner, o.Keys = hello(), []Key{{Name: "laptop", Secret: secret, TurnsPerMinute: 2}, {Name: "new", Secret: "new"}}
	l.server.Reload(o)
	for i, want := range []int{200, 429} {
		if res := ask(secret); res.StatusCode != want {
			t.Errorf("request %d: got %d, want %d", i, res.StatusCode, want)
		}
	}
	if res := ask("new"); res.StatusCode != http.StatusOK {
		t.Errorf("the new key: got %d", res.StatusCode)
	}
	o.Keys = []Key{{Name: "new", Secret: "new"}}
	l.server.Reload(o)
	if res := ask(secret); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("the removed key: got %d", res.StatusCode)
	}
	close(hold)
	res := <-old
	if text, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(text), "of the old model") {
		t.Errorf("the request that ran: got %d %s, %v", res.StatusCode, text, err)
	}
}
