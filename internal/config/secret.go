package config

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
)

const (
	redacted = "[redacted]"
	// minMasked is the length in bytes from which a secret is also masked inside other texts. Shorter ones
	// would blot out ordinary words.
	minMasked = 6
)

// Secret is a value that must not be shown. Every way of printing or encoding it gives "[redacted]", or
// nothing when it is empty; only [Secret.Reveal] gives the value. The zero value is the empty secret.
type Secret struct {
	// A pointer, because fmt calls no methods on unexported fields of other structs and would print the
	// text of a string there.
	value *string
}

// NewSecret wraps a value.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{value: &value}
}

// Reveal returns the value. Its result must go to nothing but the wire.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// Empty reports whether there is no value.
func (s Secret) Empty() bool { return s.value == nil }

// String returns "[redacted]", or "" for the empty secret.
func (s Secret) String() string {
	if s.Empty() {
		return ""
	}
	return redacted
}

// GoString redacts %#v.
func (s Secret) GoString() string { return fmt.Sprintf("config.Secret(%q)", s.String()) }

// Format redacts the value for every verb of fmt.
func (s Secret) Format(f fmt.State, verb rune) {
	text := s.String()
	if verb == 'v' && f.Flag('#') {
		text = s.GoString()
	}
	// The state's only way to fail is its writer, whose error fmt reports itself.
	_, _ = io.WriteString(f, text)
}

// MarshalJSON redacts.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalText redacts the value in every text encoding.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalYAML redacts.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// LogValue redacts in log/slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// mask replaces the secrets in a text, the longest first so that no part of one remains.
func mask(text string, secrets []Secret) string {
	secrets = slices.Clone(secrets)
	slices.SortFunc(secrets, func(a, b Secret) int { return len(b.Reveal()) - len(a.Reveal()) })
	for _, s := range secrets {
		if value := s.Reveal(); len(value) >= minMasked {
			text = strings.ReplaceAll(text, value, redacted)
		}
	}
	return text
}

// secretWords are parts of names that mark a value as a secret.
const secretWords = "auth|key|token|secret|pass|cookie|credential|signature"

var secretName = regexp.MustCompile("(?i)" + secretWords)

// soundsSecret reports whether the name of a header or of an environment variable says that its value is a
// secret.
func soundsSecret(name string) bool { return secretName.MatchString(name) }
