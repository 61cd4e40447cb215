package mcp

import (
	"net/url"
	"strings"
)

// shortestSecret is the minimum length of a value that is removed from texts as a secret. Shorter values are often words such
// as "true".
const shortestSecret = 8

// secrets removes the secrets of a server from texts.
type secrets struct{ replacer *strings.Replacer }

func newSecrets(s Server) secrets {
	var pairs []string
	hide := func(value, instead string) {
		if len(value) >= shortestSecret {
			pairs = append(pairs, value, instead)
		}
	}
	const redacted = "[redacted]"
	if u, err := url.Parse(s.URL); err == nil && s.URL != "" {
		if u.User != nil || u.RawQuery != "" {
			hide(s.URL, u.Scheme+"://"+u.Host+u.Path)
			hide(u.Redacted(), u.Scheme+"://"+u.Host+u.Path) // the form of the URL in net/http's errors
		}
		if password, ok := u.User.Password(); ok {
			hide(password, redacted)
		}
		for _, values := range u.Query() {
			for _, value := range values {
				hide(value, redacted)
			}
		}
	}
	for _, value := range s.Headers {
		hide(value, redacted)
		if _, token, ok := strings.Cut(value, " "); ok { // token of "Bearer token"
			hide(token, redacted)
		}
	}
	for name, value := range s.Env {
		if name != "PATH" && name != "HOME" && name != "LANG" {
			hide(value, redacted)
		}
	}
	for _, value := range s.Secrets {
		hide(value, redacted)
	}
	return secrets{strings.NewReplacer(pairs...)}
}

func (s secrets) redact(text string) string { return s.replacer.Replace(text) }
