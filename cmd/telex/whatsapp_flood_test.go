//go:build !race

package main

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"telex/standin/whatsapp"
)

// Many forged and repeated webhooks arrive. The daemon must refuse webhooks without a valid signature and drop webhooks
// that it received before. The daemon's memory must not grow much while forged and repeated webhooks arrive.
func TestWhatsAppForged(t *testing.T) {
	t.Parallel()
	const requests, mostGrowth = 10_000, 10 << 10 // kB
	p := newPhone(t)
	daemon := p.run("")
	p.say(whatsapp.Incoming{Text: "say: one"})
	p.awaitShown(1)
	genuine := p.whatsapp.Deliveries()[0].Payload
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
		// If the body of a webhook is too large, the server may close the connection before all of the body is sent.
		if got, err := p.deliver(c.body, c.signature); got != c.want && err == nil {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	p.cut(genuine)

	random := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // use the same seed every time
	flood := func(n int) {
		for range n {
			body := make([]byte, random.IntN(2<<10))
			for i := range body {
				body[i] = byte(random.Uint32())
			}
			signature := whatsapp.Sign(p.whatsapp.AppSecret(), genuine)
			if random.IntN(2) == 0 {
				signature = strings.Map(func(r rune) rune { return 'a' + r%26 }, string(body[:min(len(body), 8)]))
			}
			if got, err := p.deliver(body, signature); got != 401 && err == nil {
				t.Errorf("%.40q, signed %q: %d, want 401", body, signature, got)
			}
		}
	}
	flood(1000) // enough requests for the daemon's memory to reach its usual size
	before := resident(t, daemon)
	flood(requests)
	if grown := resident(t, daemon) - before; grown > mostGrowth {
		t.Errorf("the daemon grew by %d kB, from %d", grown, before)
	} else {
		t.Logf("%d requests took %d kB", requests, grown)
	}

	p.say(whatsapp.Incoming{Text: "say: two"})
	p.awaitShown(2)
	if got := p.shown(); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("the person sees %q", got)
	}
	p.wantGood()
	daemon.stop()
}
