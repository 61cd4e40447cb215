package telegram

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"sync"
	"testing"

	"telex/internal/chat"
)

const testToken = "4242:AA-secret_token"

var (
	private = chat.Target{Chat: "7"}
	group   = chat.Target{Chat: "-100200300", Kind: chat.Group}
)

// serve returns a bot whose API is the function answer. For each call of the bot, this function gets the name of the
// API method.
func serve(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, method string)) *Bot {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got, want := path.Dir(r.URL.Path), "/bot"+testToken; got != want {
			t.Errorf("called below %q, want %q", got, want)
		}
		answer(w, r, path.Base(r.URL.Path))
	}))
	t.Cleanup(server.Close)
	b := newBot(t, Options{APIBase: server.URL})
	t.Cleanup(b.Close) // b.Close runs before server.Close, which waits for the bot's connections
	return b
}

// serveAnswer returns a bot whose API responds to every call with the same status and body.
func serveAnswer(t *testing.T, status int, body string) *Bot {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
}

// newBot returns a bot with the test token. At the end of the test, newBot checks that the bot's log contains no
// secret.
func newBot(t *testing.T, o Options) *Bot {
	t.Helper()
	log := &syncBuffer{}
	if o.Token == "" {
		o.Token = testToken
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	b := New(o)
	t.Cleanup(func() { noSecret(t, "the log", log.String()) })
	return b
}

// syncBuffer is a buffer to which several goroutines may write.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
