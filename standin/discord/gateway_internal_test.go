package discord

import (
	"fmt"
	"testing"
	"time"

	"telex/standin/quota"
)

// FuzzReceive checks that the stand-in either handles a client's payload, or closes the connection with one close code.
func FuzzReceive(f *testing.F) {
	identify := fmt.Sprintf(`{"op":2,"d":{"token":%q,"intents":513,"properties":{}}}`, DefaultToken)
	for _, seed := range []string{
		identify, `{"op":1,"d":7}`, `{"op":2,"d":7}`, `{"op":6,"d":{"session_id":"x","seq":-1}}`, `{"op":3}`, `{"op":null}`, `{`, `[]`, `{"op":1e9}`,
	} {
		f.Add([]byte(seed), []byte(identify))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		s := New(Options{})
		s.base = "http://standin"
		k := &socket{wake: make(chan struct{}, 1), lastHeartbeat: time.Now(), sent: quota.NewFixed(gatewaySends, gatewayPeriod)}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, data := range [][]byte{first, second} {
			s.receive(k, data)
		}
		if e := k.ending; e != nil && (e.code < closeUnknown || e.code > closeDisallowed || e.reason == "") {
			t.Errorf("closed with %+v", e)
		}
		if k.session != nil && (k.session.socket != k || s.stats.Identifies != 1) {
			t.Errorf("session: %+v after %d identifies", k.session, s.stats.Identifies)
		}
	})
}

// TestClean checks the form of texts after the stand-in has cleaned them, as Discord does.
func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"": "", " a ": "a", "a\r\nb\rc": "a\nbc", "\ta\tb\n\n": "a\tb", "a\x00b\x1fc": "abc", "\u3000x\u2003": "x", "a\n \nb": "a\n \nb",
	} {
		if got := cleanText(in); got != want {
			t.Errorf("clean(%q): got %q, want %q", in, got, want)
		}
	}
}
