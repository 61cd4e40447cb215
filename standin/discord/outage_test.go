package discord_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"telex/standin/discord"
	"telex/standin/fault"
)

// TestOverTCP uses a real TCP port. During an outage of the kind refuse, the stand-in must not listen on the port.
// After the outage, the stand-in must listen on the same port again.
func TestOverTCP(t *testing.T) {
	s := discord.New(discord.Options{})
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	transport := &http.Transport{}
	c := &client{t: t, server: s, http: &http.Client{Transport: transport}}
	defer func() {
		transport.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}()
	get := func(host string) (string, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String()+"/api/v10/gateway", nil)
		if err != nil {
			return "", err
		}
		req.Host = host
		res, err := c.http.Do(req)
		if err != nil {
			return "", err
		}
		line, _ := bufio.NewReader(res.Body).ReadString('\n') // the response is one line without a line break
		return line, res.Body.Close()
	}
	for _, host := range []string{"", "discord.com"} { // the Host header of a redirected client may contain Discord's name
		if got, err := get(host); err != nil || got != `{"url":"ws://`+l.Addr().String()+`/"}` {
			t.Errorf("gateway: got %s (%v)", got, err)
		}
	}
	s.Outage(fault.Outage{Kind: fault.OutageRefuse, For: time.Hour})
	if _, err := get(""); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("during the outage: got %v, want a refused connection", err)
	}
	s.ClearFaults()
	deadline := time.Now().Add(patience)
	for {
		_, err := get("")
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after the outage: %v", err)
		}
	}
}

func TestEventStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://standin/control/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		defer cancel()
		lines := bufio.NewScanner(res.Body)
		next := func(prefix string) string {
			for lines.Scan() {
				if strings.HasPrefix(lines.Text(), prefix) {
					return lines.Text()
				}
			}
			return ""
		}
		next(": connected")
		c.send(general, "hello").id(t)
		if got := next("data: "); !strings.Contains(got, `"kind":"message"`) || !strings.Contains(got, `"hello"`) {
			t.Errorf("got %q", got)
		}
		if got := next(": alive"); got == "" {
			t.Error("no sign of life")
		}
	})
}

// TestGatewayAddresses opens gateway URLs with invalid query parameters. The stand-in must close each connection with
// the right code.
func TestGatewayAddresses(t *testing.T) {
	for query, code := range map[string]int{"v=8": 4012, "v=10&encoding=etf": 4002} {
		synctest.Test(t, func(t *testing.T) {
			c := free(t)
			conn, _, err := websocket.Dial(t.Context(), "ws://standin/?"+query, &websocket.DialOptions{HTTPClient: c.http}) //nolint:bodyclose // the response needs no Close
			if err != nil {
				t.Fatal(err)
			}
			(&gateway{t: t, conn: conn}).expectClose(code)
		})
	}
}

// Faults must also hit connections to the gateway, in the same way as calls.
func TestGatewayFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		c.server.Fault(discord.Fault{Method: "gateway", Times: 1, Action: fault.Status, Status: 503})
		_, res, err := websocket.Dial(t.Context(), "ws://standin/", &websocket.DialOptions{HTTPClient: c.http}) //nolint:bodyclose // Dial has read the body.
		if err == nil || res == nil || res.StatusCode != 503 {
			t.Errorf("got %v, want 503", err)
		}
		c.identify(usual)
	})
}
