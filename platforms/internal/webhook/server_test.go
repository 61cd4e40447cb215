package webhook_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"telex/internal/chat"
	"telex/platforms/internal/webhook"
	"telex/standin/memnet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// platform is the client that sends the requests of a test, as a platform would.
type platform struct {
	t        *testing.T
	listener *memnet.Listener
	client   *http.Client
	heart    chat.Heartbeat
	ended    chan error
	stop     context.CancelFunc
	log      strings.Builder
}

// serve runs a webhook server in virtual time and calls the function test. Valid requests have the header "Secret: s"
// and a body that begins with "ok".
func serve(t *testing.T, change func(*webhook.Server), test func(*platform)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &platform{t: t, listener: memnet.Listen(), ended: make(chan error, 1)}
		opened := make(chan struct{})
		s := webhook.Server{
			Listener: func(context.Context) (net.Listener, error) { return p.listener, nil },
			Log:      slog.New(slog.NewTextHandler(&p.log, nil)), Heart: &p.heart,
			MaxBody: 1 << 20, BodyTimeout: 3 * time.Second,
			Check: func(req *http.Request) (func([]byte) error, error) {
				if !webhook.SameSecret(req.Header.Get("Secret"), "s") {
					return nil, webhook.Unauthorized("wrong secret")
				}
				return func(body []byte) error {
					if !strings.HasPrefix(string(body), "ok") {
						return webhook.Unauthorized("wrong body")
					}
					return nil
				}, nil
			},
			Answer: func(context.Context, webhook.Request) (webhook.Reply, error) { return webhook.Reply{}, nil },
			OnOpen: func(context.Context) { close(opened) },
		}
		if change != nil {
			change(&s)
		}
		ctx, cancel := context.WithCancel(t.Context())
		p.stop = cancel
		go func() { p.ended <- s.Serve(ctx) }()
		<-opened
		p.client = &http.Client{Transport: &http.Transport{DialContext: p.listener.Dial}}
		test(p)
		p.client.CloseIdleConnections()
		cancel()
		if err := <-p.ended; err == nil {
			t.Error("Serve returned no error")
		}
		time.Sleep(time.Second) // refused connections stay open for a while, so that clients can read the refusal
	})
}

// post sends a request and returns the status and the body of the response. If there was no response, post returns the
// status 0.
func (p *platform) post(method, secret, body string) (status int, answer string) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, "http://telex.test/any/path", strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Secret", secret)
	resp, err := p.client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close() //nolint:errcheck // the body is read to its end.
	content, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(content)
}

// wantEnd fails the test unless Serve returns the error want.
func (p *platform) wantEnd(want error) {
	p.t.Helper()
	err := <-p.ended
	if !errors.Is(err, want) {
		p.t.Errorf("Serve = %v, want %v", err, want)
	}
	p.ended <- err
}

func TestRequests(t *testing.T) {
	serve(t, func(s *webhook.Server) {
		s.Answer = func(_ context.Context, req webhook.Request) (webhook.Reply, error) {
			return webhook.Text(req.Header.Get("Secret") + string(req.Body)), nil
		}
		s.Get = func(req *http.Request) (webhook.Reply, error) {
			if req.Header.Get("Secret") == "" {
				return webhook.Reply{}, &webhook.Refusal{Status: http.StatusForbidden, Reason: "no"}
			}
			return webhook.Text("got"), nil
		}
	}, func(p *platform) {
		for _, c := range []struct {
			method, secret, body string
			status               int
			answer               string
		}{
			{http.MethodPost, "s", "ok!", 200, "sok!"},
			{http.MethodPost, "s", "ok" + strings.Repeat("x", 1<<20-2), 200, "sok" + strings.Repeat("x", 1<<20-2)},
			{http.MethodPost, "s", "ok" + strings.Repeat("x", 1<<20-1), 413, "the body is too large\n"},
			{http.MethodPost, "", "ok", 401, "wrong secret\n"},
			{http.MethodPost, "s", "no", 401, "wrong body\n"},
			{http.MethodPut, "s", "ok", 405, "only webhook requests are answered here\n"},
			{http.MethodGet, "s", "", 200, "got"},
			{http.MethodGet, "", "", 403, "no\n"},
		} {
			status, answer := p.post(c.method, c.secret, c.body)
			if status != c.status || answer != c.answer {
				p.t.Errorf("%s %q %.10q: %d %.40q, want %d %.40q", c.method, c.secret, c.body, status, answer, c.status, c.answer)
			}
		}
		if n := strings.Count(p.log.String(), "request refused"); n != 1 {
			p.t.Errorf("the log warns %d times within a minute, want once: %s", n, p.log.String())
		}
	})
}

func TestGetIsRefused(t *testing.T) {
	serve(t, nil, func(p *platform) {
		if status, _ := p.post(http.MethodGet, "s", ""); status != http.StatusMethodNotAllowed {
			p.t.Errorf("GET: %d", status)
		}
	})
}

// If Answer fails, the response must ask the platform to repeat the request, and Serve must return the error of Answer.
func TestAnswerFails(t *testing.T) {
	full := errors.New("disk full")
	serve(t, func(s *webhook.Server) {
		s.Answer = func(context.Context, webhook.Request) (webhook.Reply, error) { return webhook.Reply{}, full }
	}, func(p *platform) {
		if status, answer := p.post(http.MethodPost, "s", "ok"); status != http.StatusServiceUnavailable || answer != "try again later\n" {
			p.t.Errorf("got %d %q", status, answer)
		}
		p.wantEnd(full)
	})
}

// In this test, ctx ends while Answer handles a request. When ctx ends, Serve must end, and the request that Answer
// handles must get its response.
func TestEndWaitsForAnswers(t *testing.T) {
	serve(t, func(s *webhook.Server) {
		s.Answer = func(context.Context, webhook.Request) (webhook.Reply, error) {
			time.Sleep(2 * time.Second)
			return webhook.Text("done"), nil
		}
	}, func(p *platform) {
		time.AfterFunc(time.Second, p.stop)
		if status, answer := p.post(http.MethodPost, "s", "ok"); status != 200 || answer != "done" {
			p.t.Errorf("got %d %q", status, answer)
		}
		p.wantEnd(context.Canceled)
	})
}

// dial opens a connection to the server.
func (p *platform) dial() net.Conn {
	p.t.Helper()
	conn, err := p.listener.Dial(p.t.Context(), "tcp", "telex.test:80")
	if err != nil {
		p.t.Fatal(err)
	}
	return conn
}

// In this test, a client sends only a part of a request. The server must refuse an incomplete request after a timeout,
// and the incomplete request must not prevent Serve from ending.
func TestUnfinishedRequest(t *testing.T) {
	const half = "POST / HTTP/1.1\r\nHost: telex.test\r\nSecret: s\r\nContent-Length: 100\r\n\r\nok"
	begin := func(p *platform) net.Conn {
		conn := p.dial()
		if _, err := fmt.Fprint(conn, half); err != nil {
			p.t.Fatal(err)
		}
		return conn
	}
	serve(t, nil, func(p *platform) {
		conn, began := begin(p), time.Now()
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil) //nolint:bodyclose // the connection is closed.
		if err != nil || resp.StatusCode != http.StatusBadRequest || time.Since(began) != 3*time.Second {
			p.t.Errorf("after %v: %v, %v, want 400 after 3s", time.Since(began), resp, err)
		}
		_ = conn.Close()
	})
	serve(t, nil, func(p *platform) {
		conn, began := begin(p), time.Now()
		time.Sleep(time.Second)
		p.stop()
		p.wantEnd(context.Canceled)
		if took := time.Since(began); took > 1100*time.Millisecond {
			p.t.Errorf("Serve ended %v after the request began", took)
		}
		_ = conn.Close()
	})
}

// In this test, three hundred requests arrive at the same time. The server must answer at least 128 of the requests,
// and refuse the remaining requests with status 429. While the server handles 128 requests, it must refuse a further
// request at once. The server must neither check the further request nor wait for its body, and the response must say
// when the platform may try again.
func TestTooManyRequests(t *testing.T) {
	const tries = 300
	serve(t, func(s *webhook.Server) {
		s.Answer = func(context.Context, webhook.Request) (webhook.Reply, error) {
			time.Sleep(time.Second)
			return webhook.Reply{}, nil
		}
	}, func(p *platform) {
		status := make(chan int, tries)
		for range tries {
			go func() {
				got, _ := p.post(http.MethodPost, "s", "ok")
				status <- got
			}()
		}
		count := map[int]int{}
		for range tries {
			count[<-status]++
		}
		if count[200] < 128 || count[429] == 0 || count[200]+count[429] != tries {
			p.t.Errorf("answers: %v", count)
		}
	})
	var checks atomic.Int64
	var release chan struct{}
	serve(t, func(s *webhook.Server) {
		check := s.Check
		s.Check = func(req *http.Request) (func([]byte) error, error) {
			checks.Add(1)
			return check(req)
		}
		release = make(chan struct{})
		s.Answer = func(context.Context, webhook.Request) (webhook.Reply, error) {
			<-release
			return webhook.Reply{}, nil
		}
	}, func(p *platform) {
		var waiting sync.WaitGroup
		for range 128 {
			waiting.Go(func() {
				if status, answer := p.post(http.MethodPost, "s", "ok"); status != http.StatusOK {
					p.t.Errorf("one of 128: %d %s", status, answer)
				}
			})
		}
		synctest.Wait()
		conn, began := p.dial(), time.Now()
		if _, err := fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: telex.test\r\nSecret: s\r\nContent-Length: 2\r\n\r\n"); err != nil {
			p.t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil) //nolint:bodyclose // the connection is closed.
		if err != nil || resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "1" || time.Since(began) > 0 {
			p.t.Errorf("one more: %+v, %v, after %v", resp, err, time.Since(began))
		}
		_ = conn.Close()
		if n := checks.Load(); n != 128 {
			p.t.Errorf("%d requests were checked, want 128", n)
		}
		close(release)
		waiting.Wait()
	})
}

// The server must refuse a body that is too large. If the request declares the size of its body, the server must refuse
// the request before it reads the body.
func TestTooLargeBodies(t *testing.T) {
	serve(t, nil, func(p *platform) {
		conn, began := p.dial(), time.Now()
		if _, err := fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: telex.test\r\nSecret: s\r\nContent-Length: %d\r\n\r\n", 1<<20+1); err != nil {
			p.t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil) //nolint:bodyclose // the connection is closed.
		if err != nil || resp.StatusCode != http.StatusRequestEntityTooLarge || time.Since(began) > 0 {
			p.t.Errorf("announced: %v, %v, after %v", resp, err, time.Since(began))
		}
		_ = conn.Close()
		for size, want := range map[int]int{1 << 20: http.StatusOK, 1<<20 + 1: http.StatusRequestEntityTooLarge} {
			body := io.MultiReader(strings.NewReader("ok" + strings.Repeat("x", size-2))) // of undeclared length
			req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, "http://telex.test/", body)
			if err != nil {
				p.t.Fatal(err)
			}
			req.Header.Set("Secret", "s")
			resp, err := p.client.Do(req)
			if err != nil {
				p.t.Fatal(err)
			}
			if _ = resp.Body.Close(); resp.StatusCode != want {
				p.t.Errorf("%d bytes: %d, want %d", size, resp.StatusCode, want)
			}
		}
	})
}

// In this test, several clients send long bodies, until the shared memory has no room for another long body. If the
// shared memory has no room for a long body, the server must refuse the long body, but accept a short body. When the
// requests with long bodies have timed out, the shared memory must be free again.
func TestBodiesShareMemory(t *testing.T) {
	serve(t, nil, func(p *platform) {
		const size = 1 << 20
		large := "ok" + strings.Repeat("x", size-2)
		var sending sync.WaitGroup
		for range 6 {
			conn := p.dial()
			sending.Go(func() { // send all bytes of the body but the last one
				_, _ = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: telex.test\r\nSecret: s\r\nContent-Length: %d\r\n\r\n%s", size, large[1:])
				time.Sleep(10 * time.Second)
				_ = conn.Close()
			})
		}
		defer sending.Wait()
		synctest.Wait()
		if status, answer := p.post(http.MethodPost, "s", large); status != http.StatusTooManyRequests {
			p.t.Errorf("a long body beside others: %d %s", status, answer)
		}
		if status, _ := p.post(http.MethodPost, "s", "ok"); status != http.StatusOK {
			p.t.Errorf("a short body beside long ones: %d", status)
		}
		time.Sleep(4 * time.Second) // by now, the other requests have timed out
		for range 10 {
			if status, answer := p.post(http.MethodPost, "s", large); status != http.StatusOK {
				p.t.Errorf("a long body alone: %d %s", status, answer)
			}
		}
	})
}

func TestCannotListen(t *testing.T) {
	t.Parallel()
	broken := errors.New("address in use")
	err := webhook.Server{Listener: func(context.Context) (net.Listener, error) { return nil, broken }}.Serve(t.Context())
	if chat.AsSendError(err).Kind != chat.Temporary || !errors.Is(err, broken) {
		t.Errorf("Serve = %v", err)
	}
}

func TestHeartBeats(t *testing.T) {
	serve(t, nil, func(p *platform) {
		time.Sleep(10 * time.Minute)
		if age := time.Since(p.heart.Last()); age > chat.BeatEvery {
			p.t.Errorf("the last beat was %v ago", age)
		}
	})
}

func TestSameSecret(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		got, want string
		same      bool
	}{{"a", "a", true}, {"a", "b", false}, {"", "b", false}, {"ab", "a", false}, {"", "", false}} {
		if webhook.SameSecret(c.got, c.want) != c.same {
			t.Errorf("SameSecret(%q, %q) is not %t", c.got, c.want, c.same)
		}
	}
}
