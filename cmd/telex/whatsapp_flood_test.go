//go:build !race

package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"telex/standin/whatsapp"
)

// What nobody signed is refused, what is sent again is dropped, and neither costs memory.
func TestWhatsAppForged(t *testing.T) {
	t.Parallel()
	const requests, senders, mostGrowth = 10_000, 8, 10 << 10 // kB
	p := newPhone(t)
	daemon := p.run("")
	p.say(whatsapp.Incoming{Text: "say: one"})
	p.awaitShown(1)
	genuine := p.whatsapp.Deliveries()[0].Payload
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: senders}}
	defer client.CloseIdleConnections()
	post := func(body []byte, signature string) (int, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.callback, bytes.NewReader(body))
		if err != nil {
			return 0, err
		}
		req.Header.Set("X-Hub-Signature-256", signature)
		resp, err := client.Do(req)
		if err != nil {
			return 0, err
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode, resp.Body.Close()
	}
	for name, c := range map[string]struct {
		body      []byte
		signature string
		want      int
	}{
		"replayed":     {genuine, whatsapp.Sign(p.whatsapp.AppSecret(), genuine), 200},
		"truncated":    {genuine[:len(genuine)/2], whatsapp.Sign(p.whatsapp.AppSecret(), genuine), 401},
		"unsigned":     {genuine, "", 401},
		"by another":   {genuine, whatsapp.Sign("another secret", genuine), 401},
		"of no length": {nil, "sha256=", 401},
		"broken JSON":  {genuine[:len(genuine)/2], whatsapp.Sign(p.whatsapp.AppSecret(), genuine[:len(genuine)/2]), 200},
		"too large":    {make([]byte, 4<<20), whatsapp.Sign("x", nil), 413},
	} {
		if got, err := post(c.body, c.signature); got != c.want && err == nil {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	p.cut(genuine)

	flood := func(n int) {
		var group sync.WaitGroup
		for s := range senders {
			group.Go(func() {
				random := rand.New(rand.NewPCG(uint64(n), uint64(s))) //nolint:gosec // the same every time.
				for range n / senders {
					body := make([]byte, random.IntN(2<<10))
					for i := range body {
						body[i] = byte(random.Uint32())
					}
					signature := whatsapp.Sign(p.whatsapp.AppSecret(), genuine)
					if random.IntN(2) == 0 {
						signature = string(body[:min(len(body), 8)])
						signature = strings.Map(func(r rune) rune { return 'a' + r%26 }, signature)
					}
					if got, err := post(body, signature); got != http.StatusUnauthorized && err == nil {
						t.Errorf("%.40q, signed %q: %d, want 401", body, signature, got)
					}
				}
			})
		}
		group.Wait()
	}
	flood(1000) // the daemon takes what it needs for so many senders
	before := resident(t, daemon)
	flood(requests)
	if grown := resident(t, daemon) - before; grown > mostGrowth {
		t.Errorf("the daemon grew by %d kB, from %d", grown, before)
	}

	p.say(whatsapp.Incoming{Text: "say: two"})
	p.awaitShown(2)
	if got := p.shown(); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("the person sees %q", got)
	}
	p.wantGood()
	daemon.stop()
}

// cut begins a genuine webhook and breaks the connection in its middle.
func (p *phone) cut(body []byte) {
	p.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(p.callback, "http://"), "/whatsapp"))
	if err != nil {
		p.t.Fatal(err)
	}
	_, err = fmt.Fprintf(conn, "POST /whatsapp HTTP/1.1\r\nHost: telex\r\nX-Hub-Signature-256: %s\r\nContent-Length: %d\r\n\r\n%s",
		whatsapp.Sign(p.whatsapp.AppSecret(), body), len(body), body[:len(body)/2])
	if err != nil {
		p.t.Fatal(err)
	}
	_ = conn.Close()
}
