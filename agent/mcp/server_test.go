package mcp

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"telex/agent"
)

// memory is a server in this process that can be switched off.
type memory struct {
	made func() *sdk.Server

	mu    sync.Mutex
	off   bool
	tries []time.Time
	live  []*sdk.ServerSession
}

func (m *memory) open(*server, func(error)) (link, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tries = append(m.tries, time.Now())
	if m.off {
		return link{}, errors.New("it is off")
	}
	here, there := sdk.NewInMemoryTransports()
	live, err := m.made().Connect(context.Background(), there, nil)
	if err != nil {
		return link{}, err
	}
	m.live = append(m.live, live)
	return link{transport: here, end: func() { _ = live.Close() }, why: func() error { return nil }}, nil
}

// turn switches the server on or off. While the server is off, it has no connections and refuses new ones.
func (m *memory) turn(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.off = !on
	if on {
		return
	}
	for _, live := range m.live {
		_ = live.Close()
	}
	m.live = nil
}

// virtual runs f with a client of servers in this process, in virtual time.
func virtual(t *testing.T, config Server, made func() *sdk.Server, f func(t *testing.T, c *Client, m *memory, log *said)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log, m := &said{}, &memory{made: made}
		s := newServer(config, Options{Log: log.logger()}, m.open)
		c := &Client{servers: []*server{s}, late: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.Run(ctx) }()
		synctest.Wait()
		f(t, c, m, log)
		cancel()
		<-done
		m.turn(false)
	})
}

func toolNames(c *Client) []string {
	var names []string
	for _, def := range c.Tools() {
		names = append(names, def.Name)
	}
	return names
}

func TestUnavailableServer(t *testing.T) {
	virtual(t, Server{Name: "it"}, newTestServer, func(t *testing.T, c *Client, m *memory, log *said) {
		echo := c.Tools()[1]
		if echo.Name != "it_echo" {
			t.Fatalf("the tools are %q", toolNames(c))
		}
		m.turn(false)
		synctest.Wait()
		if st := c.Status()[0]; st.Connected || st.Err == "" {
			t.Errorf("it is %+v", st)
		}
		if len(c.Tools()) == 0 {
			t.Error("the tools are gone at once")
		}
		begun := time.Now()
		_, err := echo.Call(t.Context(), agent.Input{Arguments: "{}"})
		if err == nil || !strings.HasPrefix(err.Error(), "the server it is away: it is off") || time.Since(begun) != callWait {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		time.Sleep(offeredWhileAway)
		if len(c.Tools()) > 0 {
			t.Errorf("after a minute there still is %q", toolNames(c))
		}
		time.Sleep(10 * time.Minute)
		m.turn(true)
		time.Sleep(2 * longestPause)
		if !c.Status()[0].Connected || len(c.Tools()) == 0 {
			t.Error("it did not come back")
		}
		if _, err := echo.Call(t.Context(), agent.Input{Arguments: "{}"}); err != nil {
			t.Errorf("a tool from before: %v", err)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != 2 { // one about the lost connection, one about the unavailable server
			t.Errorf("%d warnings:\n%s", n, log)
		}
		for i := 2; i < len(m.tries); i++ {
			between := m.tries[i].Sub(m.tries[i-1])
			if low := pause(i); i < 8 && (between < low || between > low+low/4) {
				t.Errorf("try %d came after %s, want %s and a quarter at most", i, between, low)
			}
		}
	})
}

func TestCallWaitsForARestart(t *testing.T) {
	virtual(t, Server{Name: "it"}, newTestServer, func(t *testing.T, c *Client, m *memory, _ *said) {
		echo := c.Tools()[1]
		m.turn(false)
		synctest.Wait()
		m.turn(true)
		if out, err := echo.Call(t.Context(), agent.Input{Arguments: `{"a":1}`}); err != nil || out.Text != `{"a":1}` {
			t.Errorf("%q, %v", out.Text, err)
		}
	})
}

// Await returns when the first attempt to connect to each server has ended, when its context ends, or when startGrace has
// passed since the start. So a server that hangs delays Await only for a moment.
func TestAwait(t *testing.T) {
	for _, tt := range []struct {
		takes time.Duration // how long the first attempt to connect takes
		want  []time.Duration
	}{
		{700 * time.Millisecond, []time.Duration{300 * time.Millisecond, 400 * time.Millisecond, 0}},
		{time.Hour, []time.Duration{300 * time.Millisecond, 700 * time.Millisecond, 0}},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &memory{made: newTestServer, off: true}
			s := newServer(Server{Name: "it"}, Options{Log: (&said{}).logger()}, func(s *server, fail func(error)) (link, error) {
				time.Sleep(tt.takes)
				return m.open(s, fail)
			})
			c := &Client{servers: []*server{s}, late: make(chan struct{})}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); c.Run(ctx) }()
			short, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer stop()
			for i, want := range tt.want {
				begun, until := time.Now(), t.Context()
				if i == 0 {
					until = short
				}
				if c.Await(until); time.Since(begun) != want {
					t.Errorf("with a try of %v, wait %d took %v, want %v", tt.takes, i, time.Since(begun), want)
				}
			}
			cancel()
			<-done
		})
	}
}

// If a server does not answer, the log soon says that its tools are missing.
func TestHangingServerIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &said{}
		r, w := io.Pipe()
		s := newServer(Server{Name: "it"}, Options{Log: log.logger()}, func(*server, func(error)) (link, error) {
			return link{transport: &sdk.IOTransport{Reader: r, Writer: discard{}}, end: func() {}, why: func() error { return nil }}, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.run(ctx) }()
		time.Sleep(slowConnect + time.Second)
		if !strings.Contains(log.String(), "has not answered yet") {
			t.Errorf("the log says\n%s", log)
		}
		cancel()
		<-done
		_, _ = r.Close(), w.Close()
	})
}

func TestPausesBetweenAttempts(t *testing.T) {
	t.Parallel()
	var got []time.Duration
	for failures := range 10 {
		got = append(got, pause(failures)/time.Second)
	}
	if want := []time.Duration{1, 1, 2, 4, 8, 16, 32, 60, 60, 60}; !slices.Equal(got, want) {
		t.Errorf("the pauses are %d, want %d", got, want)
	}
}

func TestListIsReadOnceASecondAtMost(t *testing.T) {
	var lists atomic.Int32
	made := func() *sdk.Server {
		s := newTestServer()
		s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
			return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
				if method == "tools/list" {
					lists.Add(1)
				}
				return next(ctx, method, req)
			}
		})
		return s
	}
	virtual(t, Server{Name: "it"}, made, func(t *testing.T, c *Client, _ *memory, _ *said) {
		for range 50 {
			c.servers[0].live.relist()
			time.Sleep(100 * time.Millisecond)
		}
		if n := lists.Load(); n < 5 || n > 7 {
			t.Errorf("the tools were listed %d times in 5 s", n)
		}
	})
}

func TestServerThatNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &said{}
		var pipes []io.Closer
		s := newServer(Server{Name: "it"}, Options{Log: log.logger()}, func(*server, func(error)) (link, error) {
			r, w := io.Pipe()
			pipes = append(pipes, r, w)
			return link{transport: &sdk.IOTransport{Reader: r, Writer: discard{}}, end: func() {}, why: func() error { return nil }}, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.run(ctx) }()
		time.Sleep(connectTime + shortestPause*2)
		if st := s.status(); st.Err != "it did not answer within 2m0s" {
			t.Errorf("it is %+v", st)
		}
		cancel()
		<-done
		for _, p := range pipes {
			_ = p.Close()
		}
	})
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }

func TestReadOnlyAndDenied(t *testing.T) {
	for _, tt := range []struct {
		name     string
		config   Server
		readOnly []string
		gone     []string
	}{
		{"hints are not believed", Server{}, nil, nil},
		{"hints are trusted", Server{Trust: true}, []string{"it_echo"}, nil},
		{"the config says so", Server{ReadOnly: []string{"env", "gr*"}}, []string{"it_env", "it_grow"}, nil},
		{"the config says so besides", Server{Trust: true, ReadOnly: []string{"env"}}, []string{"it_echo", "it_env"}, nil},
		{"approved is not read-only", Server{AutoApprove: []string{"env", "it_gr*"}}, nil, nil},
		{"denied", Server{Deny: []string{"crash", "e*"}}, nil, []string{"it_crash", "it_echo", "it_env"}},
		{"by the names that people see", Server{ReadOnly: []string{"it_env"}, Deny: []string{"it_crash", "it_ec*"}}, []string{"it_env"}, []string{"it_crash", "it_echo"}},
		{"by names that nothing has", Server{ReadOnly: []string{"env", "none"}, Deny: []string{"it_nothing*"}}, []string{"it_env"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.config.Name = "it"
			virtual(t, tt.config, newTestServer, func(t *testing.T, c *Client, _ *memory, log *said) {
				for _, name := range []string{"none", "it_nothing*"} {
					if told, said := strings.Contains(log.String(), "name="+name), tt.name == "by names that nothing has"; told != said {
						t.Errorf("of %s is told: %t, want %t", name, told, said)
					}
				}
				var readOnly, approved []string
				for _, def := range c.Tools() {
					if def.AutoApprove {
						approved = append(approved, def.Name)
					}
					if def.ReadOnly {
						readOnly = append(readOnly, def.Name)
					}
					if slices.Contains(tt.gone, def.Name) {
						t.Errorf("%s is offered", def.Name)
					}
				}
				if !slices.Equal(readOnly, tt.readOnly) {
					t.Errorf("read-only are %q, want %q", readOnly, tt.readOnly)
				}
				if tt.name == "approved is not read-only" != slices.Equal(approved, []string{"it_env", "it_grow"}) {
					t.Errorf("approved are %q", approved)
				}
				if want := 7 - len(tt.gone); len(c.Tools()) != want {
					t.Errorf("the tools are %q, want %d", toolNames(c), want)
				}
			})
		})
	}
}

func TestListOfManyPages(t *testing.T) {
	made := func() *sdk.Server {
		s := sdk.NewServer(&sdk.Implementation{Name: "many"}, &sdk.ServerOptions{PageSize: 7})
		for i := range 300 {
			s.AddTool(&sdk.Tool{Name: strings.Repeat("x", i/26+1) + string(rune('a'+i%26)), InputSchema: schema()},
				func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return text("it"), nil })
		}
		return s
	}
	virtual(t, Server{Name: "it"}, made, func(t *testing.T, c *Client, _ *memory, log *said) {
		if len(c.Tools()) != maxTools || !strings.Contains(log.String(), "too many tools") {
			t.Errorf("there are %d tools", len(c.Tools()))
		}
		if !slices.IsSorted(toolNames(c)) {
			t.Error("they are in no order")
		}
	})
}
