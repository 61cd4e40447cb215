package agent

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTypedByTheAsker(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		url, said string
		want      bool
	}{
		{"https://example.org/", "read example.org please", true},
		{"https://example.org/", "read https://example.org.", true},
		{"https://example.org", "(see http://www.EXAMPLE.org/)", true},
		{"https://www.example.org/", "example.org?", true},
		{"https://example.org/a/b?c=d&e", "https://example.org/a/b?c=d&e", true},
		{"https://example.org/a", "<https://example.org/a/>, and more", true},
		{"https://example.org/a/", "[a](https://example.org/a)", true},
		{"https://example.org/a", "https://example.org/a#part", true},
		{"https://example.org/a#part", "https://example.org/a", true},
		{"https://example.org/wiki/A_(b)", "https://example.org/wiki/A_(b)", true},
		{"https://example.org/stra%C3%9Fe", "example.org/straße", true},
		{"https://xn--bcher-kva.example/", "bücher.example", true},
		{"https://bücher.example/", "xn--bcher-kva.example", true},
		{"https://example.org/a", "请看https://example.org/a谢谢", true},
		{"https://example.org/", "**example.org**", true},

		{"https://example.org/?leak=secret", "example.org", false},
		{"https://example.org/secret", "example.org", false},
		{"https://example.org/a/secret", "https://example.org/a", false},
		{"https://example.org/A", "https://example.org/a", false},
		{"https://example.org/a", "https://example.org/a/b", false},
		{"https://example.org/a", "https://example.org/a?x=1", false},
		{"https://example.org/a", "https://example.org/abc", false},
		{"https://secret.example.org/", "example.org", false},
		{"https://example.org/", "notexample.org", false},
		{"https://example.org/", "sub.example.org", false},
		{"https://example.org/", "write to ada@example.org", false},
		{"https://example.org/", "https://evil.org/?u=https://example.org/", false},
		{"https://example.org/", "example.org.evil.com", false},
		{"https://example.org/", "example.organic", false},
		{"https://example.org/", "", false},
		{"https://example.org/%20my%20secret", "see example.org/ my secret", false},
		{"https://example.org/%E2%80%83my", "see example.org/\u2003my", false},
		{"https://example.org/?q=my secret", "see example.org/?q=my secret", false},
		{"https://example.org/a%23secret", "https://example.org/a#secret", false},
		{"https://example.org/%61bc", "https://example.org/abc", false},
		{"https://example.org/%61bc", "https://example.org/%61bc", true},
		{"https://example.org/a%2520b", "https://example.org/a%20b", false},

		{"https://ada@example.org/", "https://ada@example.org/", false},
		{"ftp://example.org/", "ftp://example.org/", false},
		{"mailto:ada@example.org", "mailto:ada@example.org", false},
		{"https://example.org:8443/", "example.org", false},
		{"https://example.org:443/", "example.org", true},
		{"https://examp\u200ble.org/", "example.org", true}, // the real host name has no such character
		{"https://ex\u0430mple.org/", "example.org", false}, // the escaped letter is Cyrillic
		{"https://example.org/", "ex\u0430mple.org", false},
		{"https://example.org/\u202etxt", "example.org/txt", false},
	} {
		if got := (CallContext{Person: "ada", Messages: []Message{Typed("ada", tt.said)}}).TypedURL(tt.url); got != tt.want {
			t.Errorf("%s in %q: %t", tt.url, tt.said, got)
		}
	}
}

// A model could append secrets to a typed URL, so any addition makes it another URL, which nobody typed.
func TestExtendedAddressIsNotTyped(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		said := rapid.SampledFrom([]string{
			"example.org", "https://example.org/", "see https://example.org/a, please", "https://example.org/a?b=c", "https://example.org/a#b",
		}).Draw(t, "said")
		secret := rapid.StringMatching(`[a-z0-9]{4,12}`).Draw(t, "secret")
		shape := rapid.SampledFrom([]string{
			"https://example.org/$", "https://example.org/?$", "https://example.org/a/$", "https://example.org/a?$", "https://example.org/a?b=c&$",
			"https://$.example.org/", "https://example.org/a;$", "https://example.org/a$", "https://example.org/a/?b=$", "http://example.org/%2f$",
			"https://example.org/a%20$", "https://example.org/.$", "https://example.org/a)$", "https://example.org/a?b=c#x&$/../$?$",
		}).Draw(t, "shape")
		u, err := url.Parse(strings.ReplaceAll(shape, "$", secret))
		if err = errors.Join(err, NormalizeURL(u)); err != nil {
			t.Fatalf("%s is not a valid address: %v", shape, err)
		}
		if strings.Contains(u.String(), secret) && (CallContext{Person: "ada", Messages: []Message{Typed("ada", said)}}).TypedURL(u.String()) {
			t.Fatalf("%s is taken as written in %q", u, said)
		}
	})
}
