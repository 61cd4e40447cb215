package slack_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/platforms/slack"
	standin "telex/standin/slack"
)

// forgedHeader returns the header of a forged request, which the server can recognize as forged only after it has read
// the body.
func forgedHeader(length int) string {
	return fmt.Sprintf("POST / HTTP/1.1\r\nHost: telex.test\r\nContent-Type: application/json\r\n"+
		"X-Slack-Request-Timestamp: %d\r\nX-Slack-Signature: v0=%064d\r\nContent-Length: %d\r\n\r\n", time.Now().Unix(), 0, length)
}

// listenTCP runs a bot that listens on a TCP port of this machine, and returns the port's address and the signing
// secret.
func listenTCP(t *testing.T) (address, secret string) {
	t.Helper()
	w := newWorld(t, standin.Options{}, true)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	bot := slack.New(slack.Options{
		BotToken: w.server.BotToken(), APIBase: "http://slack.test/api/", SigningSecret: w.server.SigningSecret(),
		HTTP: &http.Transport{DialContext: w.net.Dial}, Log: slog.New(slog.DiscardHandler),
		Listener: func(context.Context) (net.Listener, error) { return l, nil },
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- bot.Run(ctx, chat.Resume{}, func(context.Context, chat.Inbound) error { return nil })
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		bot.Close()
		untilLingerEnds()
	})
	return l.Addr().String(), w.server.SigningSecret()
}

// untilLingerEnds waits until the server has closed all refused connections. The server keeps each refused connection
// open for half a second, even after Run has ended, so that the client can read the refusal.
func untilLingerEnds() {
	stacks := make([]byte, 4<<20)
	for tick := time.Tick(50 * time.Millisecond); strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "closeWriteAndWait"); {
		<-tick
	}
}

// dialTCP opens a connection with a deadline, so that a failing test ends.
func dialTCP(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

// status returns the status code of the response on a connection, or 0 if the connection was closed without a
// response.
func status(c net.Conn) int {
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// sendChallenge sends Slack's signed url_verification request and returns the status code of the response.
func sendChallenge(t *testing.T, address, secret string) int {
	t.Helper()
	c := dialTCP(t, address)
	defer c.Close() //nolint:errcheck // Only its answer matters.
	body, stamp := `{"type":"url_verification","challenge":"x"}`, strconv.FormatInt(time.Now().Unix(), 10)
	_, err := fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: telex.test\r\nX-Slack-Request-Timestamp: %s\r\nX-Slack-Signature: %s\r\nContent-Length: %d\r\n\r\n%s",
		stamp, standin.Sign(secret, stamp, []byte(body)), len(body), body)
	if err != nil {
		t.Fatal(err)
	}
	return status(c)
}

// The server must refuse a request with invalid headers before it reads the body.
func TestHeadersAreCheckedFirst(t *testing.T) {
	t.Parallel()
	address, secret := listenTCP(t)
	forged := forgedHeader(1000)
	for name, tc := range map[string]struct {
		header string
		want   int
	}{
		"no signature":  {"POST / HTTP/1.1\r\nHost: telex.test\r\nContent-Length: 1000\r\n\r\n", 401},
		"no timestamp":  {strings.Replace(forged, "X-Slack-Request-Timestamp", "X-Other", 1), 401},
		"an old one":    {strings.Replace(forged, "Timestamp: ", "Timestamp: 1", 1), 401},
		"half a sum":    {strings.Replace(forged, strings.Repeat("0", 32), "", 1), 401},
		"another sum":   {strings.Replace(forged, "v0=", "v1=", 1), 401},
		"too long":      {forgedHeader(2 << 20), 413},
		"large headers": {strings.Replace(forged, "Host:", "X-Pad: "+strings.Repeat("x", 40<<10)+"\r\nHost:", 1), 431},
		"another verb":  {strings.Replace(forged, "POST", "PUT", 1), 405},
	} {
		c := dialTCP(t, address)
		_ = c.SetDeadline(time.Now().Add(2 * time.Second))
		_, _ = io.WriteString(c, tc.header)
		if got := status(c); got != tc.want {
			t.Errorf("%s: got %d, want %d before the body", name, got, tc.want)
		}
		_ = c.Close()
	}
	if got := sendChallenge(t, address, secret); got != 200 {
		t.Errorf("Slack's own request: got %d", got)
	}
}

// In this test, somebody sends forged requests over 400 connections. The forged requests must cost only a few megabytes
// of memory, and the server must afterwards still answer Slack's own request.
func TestForgedRequestsCostLittle(t *testing.T) { //nolint:paralleltest // the test measures the memory of the whole process.
	const (
		connections = 400
		length      = 1 << 20
		most        = 24 << 20 // bytes, including the memory of the senders
	)
	address, secret := listenTCP(t)
	before := inUse()
	// Each body is one byte shorter than its header announces, so the server must keep the body in memory while it waits
	// for the last byte. All senders share one slice for the body, because io.WriteString would copy the body for each
	// sender.
	body := bytes.Repeat([]byte("x"), length-1)
	var group sync.WaitGroup
	var refused atomic.Int32
	for range connections {
		c := dialTCP(t, address)
		group.Go(func() {
			defer c.Close() //nolint:errcheck // Only its answer matters.
			_, _ = io.WriteString(c, forgedHeader(length))
			_, _ = c.Write(body)
			if status(c) != 200 {
				refused.Add(1)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		group.Wait()
	}()
	var peak uint64
	for waiting := true; waiting; {
		select {
		case <-done:
			waiting = false
		case <-time.After(100 * time.Millisecond):
			peak = max(peak, inUse())
		}
	}
	if got := refused.Load(); got != connections {
		t.Errorf("%d of %d forged requests were refused", got, connections)
	}
	if used := peak - min(peak, before); used > most {
		t.Errorf("%d forged requests took %d MB, want %d at most", connections, used>>20, most>>20)
	}
	if got := sendChallenge(t, address, secret); got != 200 {
		t.Errorf("Slack's own request: got %d", got)
	}
}

// inUse returns how many bytes of memory the process uses.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
