package apiserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"telex/agent"
	gatewayhistory "telex/gateway/history"
	"telex/internal/chat"
	"telex/internal/store/memory"
)

const secret = "secret-of-the-laptop"

// runner is a function that implements Runner.
type runner func(ctx context.Context, t agent.Turn, emit func(agent.Event)) (agent.Result, error)

func (r runner) Run(ctx context.Context, t agent.Turn, emit func(agent.Event)) (agent.Result, error) {
	return r(ctx, t, emit)
}

func (runner) Models() []string { return []string{"main", "small/one"} }

// says returns a runner whose turns emit the given events and end with the given stop reason.
func says(stop agent.StopReason, events ...agent.Event) runner {
	return func(_ context.Context, _ agent.Turn, emit func(agent.Event)) (agent.Result, error) {
		for _, e := range events {
			emit(e)
		}
		return agent.Result{Stop: stop, UsageByModel: []agent.ModelUsage{{Model: "main", Calls: 1, Usage: agent.Usage{Prompt: 7, Cached: 2, Completion: 5, Reasoning: 1}}}}, nil
	}
}

// hello returns a runner that answers every question with a greeting.
func hello() runner {
	return says(agent.StopDone, agent.Text{Delta: "Hello, "}, agent.Text{Delta: "you <&>."})
}

// docs implements Documents. docs can read files that begin with "doc:".
type docs struct{}

func (docs) DocumentText(_ context.Context, f agent.File) (string, bool) {
	text, ok := strings.CutPrefix(string(f.Content), "doc:")
	return "<" + f.Name + ">" + text, ok
}

// keeper is an in-memory store. SaveExchange stores nothing if its context has ended. If the field fails is set,
// SaveExchange fails with the error in this field.
type keeper struct {
	*memory.Store
	fails error
}

func (k *keeper) SaveExchange(ctx context.Context, x chat.Exchange) error {
	if err := cmp.Or(ctx.Err(), k.fails); err != nil {
		return err
	}
	return k.Store.SaveExchange(ctx, x)
}

// lab is a server under test, with the store that the server uses.
type lab struct {
	*testing.T
	url    string
	store  *keeper
	http   *http.Client
	server *Server
}

// open starts a server, which runs until the test ends. The function change may change the server's options.
func open(t *testing.T, r Runner, change func(*Options)) *lab {
	t.Helper()
	l := &lab{T: t, store: &keeper{Store: memory.New()}, http: &http.Client{Transport: &http.Transport{}}}
	o := Options{
		Endpoint: "api", Listen: "127.0.0.1:0", Keys: []Key{{Name: "laptop", Secret: secret}}, MaxRequests: 64, SessionsByUser: true,
		Runner: r, Store: l.store, Documents: docs{}, Usage: gatewayhistory.Usage, Grace: 10 * time.Second, Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	s := New(o)
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.url, l.server = "http://"+s.Address().String(), s
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Serve(ctx)
	}()
	t.Cleanup(func() {
		l.http.CloseIdleConnections()
		stop()
		<-done
	})
	return l
}

// received is the response to a request. At the end of the test, the body of the response is closed.
type received struct {
	StatusCode int
	Header     http.Header
	Body       io.Reader
}

// request sends a request. The parameter head lists headers: a name, its value, the next name, and so on.
func (l *lab) request(ctx context.Context, method, path, body string, head ...string) received {
	l.Helper()
	r, err := http.NewRequestWithContext(ctx, method, l.url+path, strings.NewReader(body))
	if err != nil {
		l.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
		if head[i] == "Host" {
			r.Host = head[i+1]
		}
	}
	res, err := l.http.Do(r)
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = res.Body.Close() })
	return received{res.StatusCode, res.Header, res.Body}
}

// call sends a request and returns its status and its body.
func (l *lab) call(method, path, body string, head ...string) (int, string) {
	l.Helper()
	res := l.request(l.Context(), method, path, body, head...)
	data, err := io.ReadAll(res.Body)
	if err != nil {
		l.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// document sends a request, and decodes the response into the value into. If the request fails, the test fails.
func (l *lab) document(into any, method, path, body string, head ...string) {
	l.Helper()
	status, data := l.call(method, path, body, head...)
	if status != http.StatusOK {
		l.Fatalf("%s %s: got %d: %s", method, path, status, data)
	}
	if err := json.Unmarshal([]byte(data), into); err != nil {
		l.Fatalf("%s: %v", data, err)
	}
}

// event is a server-sent event.
type event struct {
	name, data string
}

// events reads all server-sent events of a stream.
func events(t interface {
	Helper()
	Fatalf(string, ...any)
}, body io.Reader,
) (out []event) {
	t.Helper()
	data, err := io.ReadAll(body)
	if err != nil {
		t.Fatalf("read the stream: %v", err)
	}
	var e event
	for line := range bytes.Lines(data) {
		switch text := strings.TrimSuffix(string(line), "\n"); {
		case text == "":
			if e != (event{}) {
				out = append(out, e)
			}
			e = event{}
		case strings.HasPrefix(text, ":"):
		case strings.HasPrefix(text, "event: "):
			e.name = text[len("event: "):]
		case strings.HasPrefix(text, "data: "):
			e.data += text[len("data: "):]
		default:
			t.Fatalf("invalid line %q", text)
		}
	}
	return out
}

// stream sends a request for a stream and returns its events.
func (l *lab) stream(path, body string, head ...string) []event {
	l.Helper()
	res := l.request(l.Context(), http.MethodPost, path, body, head...)
	if res.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(res.Body)
		l.Fatalf("got %d: %s", res.StatusCode, data)
	}
	if kind := res.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") || res.Header.Get("X-Accel-Buffering") != "no" || res.Header.Get("Cache-Control") != "no-cache" {
		l.Fatalf("header %v", res.Header)
	}
	return events(l, res.Body)
}
