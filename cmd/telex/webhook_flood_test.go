//go:build !race

package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// In TestWebhookFlood, the webhook gets ten thousand requests with random bodies. Some of these requests lack the
// webhook's secret, and some end too early. The webhook must return the right status for each request, and need little
// memory. While these requests arrive, the bot must still answer Ada.
func TestWebhookFlood(t *testing.T) {
	t.Parallel()
	const (
		requests = 10_000
		most     = 10 << 10 // kB
	)
	w := newWorld(t, telegram.Options{}, openai.Options{Rate: 2000})
	section, address := w.hooked()
	d := w.daemon(sections{platforms: section})
	w.ask("say: first")
	w.await("the first answer", func() bool { return slices.Contains(w.texts(ada), "first") })
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // noise
	for range requests / 10 {
		noise(t, random, address)
	}
	before := resident(t, d)
	for range requests {
		noise(t, random, address)
	}
	if grown := resident(t, d) - before; grown > most {
		t.Errorf("%d requests took %d kB, want %d at most", requests, grown, most)
	} else {
		t.Logf("%d requests took %d kB", requests, grown)
	}
	w.ask("say: last")
	w.await("the last answer", func() bool { return slices.Contains(w.texts(ada), "last") })
	d.stop()
}

// noise sends one request with a random body and checks the status of the response.
func noise(t *testing.T, random *rand.Rand, address string) {
	body := make([]byte, random.IntN(2000))
	for i := range body {
		body[i] = byte(random.Uint32())
	}
	switch random.IntN(6) {
	case 0:
		if got := knock(t, address, "", string(body)); got != 401 {
			t.Errorf("no secret: got %d", got)
		}
	case 1:
		if got := knock(t, address, fmt.Sprintf("secret-%d", random.Uint64()), string(body)); got != 401 {
			t.Errorf("a wrong secret: got %d", got)
		}
	case 2:
		if got := knock(t, address, hookSecret, string(body)); got != 400 {
			t.Errorf("noise with the secret: got %d", got)
		}
	case 3: // every field of this update has a wrong type
		text := fmt.Sprintf(`{"update_id":%d,"message":{"message_id":%q,"text":[%d]},"callback_query":{"id":%d},"x":%q}`,
			random.Int32(), body[:min(len(body), 20)], random.Int32(), random.Int32(), bytes.ToValidUTF8(body, nil))
		if got := knock(t, address, hookSecret, text); got != 200 && got != 400 {
			t.Errorf("an odd update: got %d", got)
		}
	case 4:
		if got := knock(t, address, hookSecret, strings.Repeat(" ", 64<<10)+string(body)); got != 400 {
			t.Errorf("much noise with the secret: got %d", got)
		}
	default:
		cut(t, address, hookSecret, body)
	}
}

// cut sends a request whose body ends too early.
func cut(t *testing.T, address, secret string, body []byte) {
	host := strings.TrimSuffix(strings.TrimPrefix(address, "http://"), "/telegram")
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", host)
	if err != nil {
		t.Errorf("dial: %v", err)
		return
	}
	defer c.Close() //nolint:errcheck // the test needs only the response
	_ = c.SetDeadline(time.Now().Add(patience))
	_, _ = fmt.Fprintf(c, "POST /telegram HTTP/1.1\r\nHost: %s\r\nX-Telegram-Bot-Api-Secret-Token: %s\r\nContent-Length: %d\r\n\r\n%s", host, secret, len(body)+10, body)
	tcp, ok := c.(*net.TCPConn)
	if !ok || tcp.CloseWrite() != nil {
		t.Error("the connection can't be cut")
	}
	answer, _ := io.ReadAll(c)
	if !bytes.Contains(answer, []byte(" 400 ")) {
		t.Errorf("a cut request: got %.100q", answer)
	}
}

// resident returns the resident memory of a process, in kB.
func resident(t *testing.T, p *process) (size int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	if _, err := fmt.Sscan(rest, &size); err != nil {
		t.Fatal(err)
	}
	return size
}
