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
	// minMasked is the minimum length in bytes of secrets that telex masks inside other texts. If telex masked shorter secrets
	// inside other texts, it would mask ordinary words too.
	minMasked = 6
)

// Secret is a value that must not be shown. Every way to print or encode a Secret returns "[redacted]", or nothing if
// the Secret is empty. Only [Secret.Reveal] returns the value. The zero value is the empty Secret.
type Secret struct {
	// value is a pointer, so that fmt never prints the secret. If another struct has a Secret in an unexported field, fmt can't
	// call the Secret's methods, and would print a value of type string.
	value *string
}

// NewSecret wraps a value.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{value: &value}
}

// Reveal returns the value. The caller of Reveal may pass the value only to the service to which the secret belongs.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// Empty reports whether the secret has no value.
func (s Secret) Empty() bool { return s.value == nil }

// String returns "[redacted]", or "" for the empty secret.
func (s Secret) String() string {
	if s.Empty() {
		return ""
	}
	return redacted
}

// GoString implements fmt.GoStringer without showing the value.
func (s Secret) GoString() string { return fmt.Sprintf("config.Secret(%q)", s.String()) }

// Format implements fmt.Formatter without showing the value, whatever the verb is.
func (s Secret) Format(f fmt.State, verb rune) {
	text := s.String()
	if verb == 'v' && f.Flag('#') {
		text = s.GoString()
	}
	// Ignore the error: only writing can fail here, and fmt reports that error itself.
	_, _ = io.WriteString(f, text)
}

// MarshalJSON implements json.Marshaler without showing the value.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalText implements encoding.TextMarshaler without showing the value.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalYAML implements yaml.Marshaler without showing the value.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// LogValue implements slog.LogValuer without showing the value.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// mask replaces all secrets in a text. mask replaces the longest secrets first, because a secret may contain a shorter
// one.
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

// secretWords lists words as alternatives of a regular expression. If a name contains one of these words, the value with this
// name counts as a secret.
const secretWords = "auth|key|token|secret|pass|cookie|credential|signature"

var secretName = regexp.MustCompile("(?i)" + secretWords)

// isSecretName reports whether a name, such as that of a header or an environment variable, shows that its value is a
// secret.
func isSecretName(name string) bool { return secretName.MatchString(name) }
