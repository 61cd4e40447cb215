package conformance

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"telex/internal/chat"
)

// GivenUp checks that an adapter reports an error if a download of a file of unknown size is canceled. Over TLS, a
// client that cancels a request announces that it closes the connection. A server that receives this announcement may
// end its response as if the response were complete. The function load must download a file through the given
// transport.
func GivenUp(t *testing.T, load func(context.Context, http.RoundTripper) ([]byte, error)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	content, err := load(ctx, ending{cancel})
	if chat.AsSendError(err).Kind != chat.Temporary {
		t.Errorf("a transfer that was given up: %q, %v, want an error that is %v", content, err, chat.Temporary)
	}
}

// ending is a transport that responds to every request with the beginning of a file. When the reader asks for more,
// ending cancels the download and reports the normal end of the response.
type ending struct{ giveUp func() }

func (e ending) RoundTrip(r *http.Request) (*http.Response, error) {
	body := io.NopCloser(io.MultiReader(strings.NewReader("The beginning"), e))
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Header: http.Header{}, ContentLength: -1, Body: body, Request: r}, nil
}

func (e ending) Read([]byte) (int, error) {
	e.giveUp()
	return 0, io.EOF
}
