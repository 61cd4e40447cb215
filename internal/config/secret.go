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
	// minMasked is the minimum length in bytes of secrets that are masked inside other texts. If shorter secrets were
	// masked, ordinary words would be masked too.
	minMasked = 6
)

// Secret is a value that must not be shown. Every way to print or encode a Secret returns "[redacted]", or nothing if
// the Secret is empty. Only [Secret.Reveal] returns the value. The zero value is the empty Secret.
type Secret struct {
	// value is a pointer, because fmt would print a string here: fmt can't call methods of a Secret in an unexported
	// field of another struct.
	value *string
}

// NewSecret wraps a value.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{value: &value}
}

// Reveal returns the value. The caller may send the value only to the service to which the secret belongs.
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

// GoString redacts the value for the verb %#v of fmt.
func (s Secret) GoString() string { return fmt.Sprintf("config.Secret(%q)", s.String()) }

// Format redacts the value for all verbs of fmt.
func (s Secret) Format(f fmt.State, verb rune) {
	text := s.String()
	if verb == 'v' && f.Flag('#') {
		text = s.GoString()
	}
	// Ignore the error: only writing can fail here, and fmt reports that error itself.
	_, _ = io.WriteString(f, text)
}

// MarshalJSON redacts the value in JSON.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalText redacts the value in text encodings.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalYAML redacts the value in YAML.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// LogValue redacts the value in log/slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// mask replaces all secrets in a text. mask replaces the longest first, so that no part of a longer secret remains.
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

// secretWords lists words that mark a value as a secret if its name contains one of them.
const secretWords = "auth|key|token|secret|pass|cookie|credential|signature"

var secretName = regexp.MustCompile("(?i)" + secretWords)

// isSecretName reports whether the name of a header or of an environment variable marks its value as a secret.
func isSecretName(name string) bool { return secretName.MatchString(name) }
