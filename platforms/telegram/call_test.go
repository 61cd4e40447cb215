package telegram

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// noSecret fails the test if a text contains the token.
func noSecret(t *testing.T, where, text string) {
	t.Helper()
	if strings.Contains(text, testToken) || strings.Contains(text, url.QueryEscape(testToken)) {
		t.Errorf("%s contains the token: %s", where, text)
	}
}

// wantKind fails the test unless err is a SendError of the given kind and no error in its chain contains the token.
// wantKind returns this SendError.
func wantKind(t *testing.T, err error, want chat.ErrorKind) *chat.SendError {
	t.Helper()
	failure, ok := errors.AsType[*chat.SendError](err)
	if !ok {
		t.Fatalf("error = %v (%T), want a SendError of kind %v", err, err, want)
	}
	if failure.Kind != want {
		t.Errorf("kind = %v, want %v (%v)", failure.Kind, want, err)
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		noSecret(t, "an error", fmt.Sprintf("%v %+v %s %q", e, e, e, e))
	}
	return failure
}

func TestBaseWithPathAndPercent(t *testing.T) {
	t.Parallel()
	var path atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path.Store(r.URL.EscapedPath())
		_, _ = io.WriteString(w, `{"ok":true,"result":true}`)
	}))
	t.Cleanup(server.Close)
	b := newBot(t, Options{APIBase: server.URL + "/a%20b/"})
	t.Cleanup(b.Close)
	if err := b.Typing(t.Context(), private); err != nil {
		t.Fatal(err)
	}
	if got, want := path.Load(), "/a%20b/bot"+testToken+"/sendChatAction"; got != want {
		t.Errorf("path = %q, want %q", got, want)
	}
}

// If a connection breaks after the bot has sent a request, the outcome of the request is unknown. Neither the adapter
// nor the HTTP transport may repeat a request of unknown outcome (F13).
func TestSendIsNeverRepeated(t *testing.T) {
	t.Parallel()
	for _, warm := range []bool{false, true} {
		t.Run(fmt.Sprintf("reused connection %t", warm), func(t *testing.T) {
			t.Parallel()
			var sends atomic.Int32
			b := serve(t, func(w http.ResponseWriter, r *http.Request, method string) {
				_, _ = io.ReadAll(r.Body)
				if method != "sendMessage" {
					_, _ = io.WriteString(w, `{"ok":true,"result":true}`)
					return
				}
				sends.Add(1)
				panic(http.ErrAbortHandler)
			})
			if warm {
				if err := b.Typing(t.Context(), private); err != nil {
					t.Fatal(err)
				}
			}
			_, err := b.Send(t.Context(), private, chat.Outgoing{Text: "once"})
			wantKind(t, err, chat.Uncertain)
			if got := sends.Load(); got != 1 {
				t.Errorf("the server saw %d sends, want 1", got)
			}
		})
	}
}

func TestAnswerCutInTheMiddleIsUncertain(t *testing.T) {
	t.Parallel()
	b := serve(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"ok":true,"result":{"message_id":5`)
	})
	_, err := b.Send(t.Context(), private, chat.Outgoing{Text: "x"})
	wantKind(t, err, chat.Uncertain)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error = %v, want one that is io.ErrUnexpectedEOF", err)
	}
}

func TestUnsentIsTemporary(t *testing.T) {
	t.Parallel()
	refused, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := refused.Close(); err != nil {
		t.Fatal(err)
	}
	strange := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(strange.Close)
	strange.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	noName := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.DNSError{Err: "no such host", Name: "api.telegram.org", IsNotFound: true}
	}}
	untraced := roundTripper(func(r *http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("no route for %s", r.URL)}
	})
	for name, o := range map[string]Options{
		"refused":     {APIBase: "http://" + refused.Addr().String()},
		"TLS":         {APIBase: strange.URL},
		"DNS":         {HTTP: noName},
		"not traced":  {HTTP: untraced},
		"broken name": {APIBase: "http://127.0.0.1:0"},
	} {
		b := newBot(t, o)
		_, err := b.Send(t.Context(), private, chat.Outgoing{Text: "x"})
		failure := wantKind(t, err, chat.Temporary)
		if !strings.HasPrefix(failure.Err.Error(), "sendMessage: ") {
			t.Errorf("%s: error = %q, want the method first", name, failure.Err)
		}
		switch name {
		case "refused":
			if !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("refused: error = %v, want one that is ECONNREFUSED", err)
			}
		case "TLS":
			if _, ok := errors.AsType[x509.UnknownAuthorityError](err); !ok {
				t.Errorf("TLS: error = %v, want one about the certificate", err)
			}
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// HTTP transports quote the URL of a request in their errors in many ways, and the URL contains the token. No error may
// contain the URL of a request.
func TestTokenIsRedacted(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(r *http.Request) (*http.Response, error){
		"flat":    func(r *http.Request) (*http.Response, error) { return nil, fmt.Errorf("call %s", r.URL) },
		"escaped": func(*http.Request) (*http.Response, error) { return nil, errors.New(url.QueryEscape(testToken)) },
		"wrapped": func(r *http.Request) (*http.Response, error) {
			return nil, fmt.Errorf("a: %w", &url.Error{Op: "Post", URL: r.URL.String(), Err: fmt.Errorf("%s: %w", r.URL, io.EOF)})
		},
		"body": func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(errReader{fmt.Errorf("read %s", r.URL)})}, nil
		},
		"description": func(r *http.Request) (*http.Response, error) {
			body := fmt.Sprintf(`{"ok":false,"error_code":400,"description":"no %s"}`, r.URL)
			return &http.Response{StatusCode: 400, Body: io.NopCloser(strings.NewReader(body))}, nil
		},
	} {
		b := newBot(t, Options{HTTP: roundTripper(fail)})
		_, err := b.Send(t.Context(), private, chat.Outgoing{Text: "x"})
		want := chat.Uncertain
		if name == "description" {
			want = chat.Rejected
		}
		failure := wantKind(t, err, want)
		if !strings.Contains(failure.Error(), "<token>") {
			t.Errorf("%s: error = %q, want <token> in the token's place", name, failure)
		}
		if name == "wrapped" && !errors.Is(err, io.EOF) {
			t.Errorf("wrapped: the cause is lost: %v", err)
		}
		err = b.Run(t.Context(), chat.Resume{}, refuse(t))
		wantKind(t, err, map[bool]chat.ErrorKind{true: chat.Rejected, false: chat.Temporary}[name == "description"])
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// refuse returns an accept function that fails the test if the bot passes a message to it. Tests use refuse if the bot
// must receive no message.
func refuse(t *testing.T) func(context.Context, chat.Inbound) error {
	return func(_ context.Context, in chat.Inbound) error {
		t.Errorf("accepted %+v, want nothing", in)
		return nil
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s reached another server", r.Method)
	}))
	t.Cleanup(other.Close)
	b := serve(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	})
	_, err := b.Send(t.Context(), private, chat.Outgoing{Text: "x"})
	failure := wantKind(t, err, chat.Uncertain)
	if !strings.Contains(failure.Error(), "307") {
		t.Errorf("error = %q, want the status in it", failure)
	}
}

func TestAnswerIsBounded(t *testing.T) {
	t.Parallel()
	b := serve(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		block := make([]byte, 1<<20)
		for range 20 {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	_, err := b.Send(t.Context(), private, chat.Outgoing{Text: "x"})
	wantKind(t, err, chat.Uncertain)
	if !errors.Is(err, calls.ErrResponseTooLarge) {
		t.Errorf("error = %v, want %v", err, calls.ErrResponseTooLarge)
	}
}

func TestContextEndsCalls(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	b := serve(t, func(_ http.ResponseWriter, r *http.Request, _ string) {
		_, _ = io.ReadAll(r.Body)
		asked <- struct{}{}
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	_, err := b.Send(ctx, private, chat.Outgoing{Text: "x"})
	wantKind(t, err, chat.Uncertain)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want one that is context.Canceled", err)
	}
	_, err = b.Send(ctx, private, chat.Outgoing{Text: "x"})
	wantKind(t, err, chat.Temporary) // the context had ended before the call began
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want one that is context.Canceled", err)
	}
}
