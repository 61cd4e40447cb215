package slack

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	library "github.com/slack-go/slack"

	"telex/internal/chat"
	"telex/platforms/conformance"
)

// api is the client of slack-go, with which a call builds its request.
type api = library.Client

// roundTripper is an http.RoundTripper that answers each request without a network.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answering returns a bot whose API responds to every call with the same status and body.
func answering(t *testing.T, status int, body string) (*Bot, func()) {
	t.Helper()
	b := New(Options{
		BotToken: "xoxb-secret", AppToken: "xapp-secret",
		HTTP: roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Body != nil {
				_, _ = io.Copy(io.Discard, r.Body)
			}
			return &http.Response{
				StatusCode: status, Status: http.StatusText(status), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r,
			}, nil
		}),
	})
	return b, b.Close
}

func TestFetchIsCanceled(t *testing.T) {
	t.Parallel()
	conformance.GivenUp(t, func(ctx context.Context, through http.RoundTripper) ([]byte, error) {
		b := New(Options{BotToken: "xoxb-secret", AppToken: "xapp-secret", HTTP: through})
		defer b.Close()
		return b.Fetch(ctx, chat.Attachment{ID: "https://files.slack.com/files-pri/T1-F1/a.txt"}, 100)
	})
}
