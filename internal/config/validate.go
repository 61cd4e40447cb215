package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// maxApproval is the longest time that a tool call may wait for a person's approval. While a tool call waits for approval, its
// turn stays in memory. After a day, people no longer know why the bot asked for the approval.
const maxApproval = 24 * time.Hour

// maxCursor is the maximum length of the cursor in characters. Each preview of a reply contains the cursor, so a long
// cursor would leave less room for the text.
const maxCursor = 16

var (
	headerToken = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$") // https://www.rfc-editor.org/rfc/rfc9110#name-tokens
	tagName     = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)
)

// validate checks rules that involve several keys. validate skips keys for which an error has already been reported.
func (d *decoder) validate(c *Config) {
	d.validateModels(c.Models)
	d.validateEndpoints(c.Endpoints)
	d.validateAccess(c.Access)
	d.validateTranscription(c)
	for i, o := range c.Conversations.Overrides {
		d.validateModelName(c, fmt.Sprintf("conversations.overrides.%d.model", i), o.Model)
	}
	for i, n := range c.Agent.Pipeline {
		d.validateModelName(c, fmt.Sprintf("agent.pipeline.%d.model", i), n.Model)
	}
	d.validateDomains(c.Tools.Fetch.AllowDomains)
	d.validateHomeTools(c)
	d.validateServers(c.MCPServers)
	d.validateAdmin(c.Admin)
	d.validateStore(c.Store)
	if at := "tools.approval_timeout"; d.isValid(at) && c.Tools.ApprovalTimeout > maxApproval {
		d.failAt(d.at(at), "", "%s must be at most %s, not %s", at, formatDuration(maxApproval), formatDuration(c.Tools.ApprovalTimeout))
	}
	d.validateCursor("streaming.cursor", c.StreamingSection.Cursor)
	if cli := c.StreamingSection.CLI; cli != nil && cli.Cursor != nil {
		d.validateCursor("streaming.cli.cursor", *cli.Cursor)
	}
	for name, rule := range c.StreamingSection.Endpoints {
		if rule.Cursor != nil {
			d.validateCursor("streaming."+name+".cursor", *rule.Cursor)
		}
	}
	for i, tag := range c.Agent.ThinkTags {
		if at := fmt.Sprintf("agent.think_tags.%d", i); d.isValid(at) && !tagName.MatchString(tag) {
			d.failAt(d.at(at), "write the name alone, such as think", "invalid tag name %s in agent.think_tags", d.quotedAt(at))
		}
	}
	for _, key := range keysOf(c.Texts) {
		if at := join("texts", key); d.isValid(at) && strings.TrimSpace(c.Texts[key]) == "" {
			d.failAt(d.at(at), "remove the line to keep the built-in text", "empty %s", displayPath(at))
		}
	}
	const approval, what = "approval", "{what}"
	if at := join("texts", approval); d.isSet(at) && d.isValid(at) && !strings.Contains(c.Texts[approval], what) {
		d.failAt(d.at(at), "write "+what+" where it belongs", "%s does not say what is to be approved", displayPath(at))
	}
}

// isValid reports whether no error has been reported for the value at a path.
func (d *decoder) isValid(path string) bool { return !d.invalid[path] }

func (d *decoder) validateModels(models []Model) {
	if d.isSet("models") && len(models) == 0 && d.isValid("models") {
		d.failAt(d.at("models"), `add an entry such as "- {name: main, model: gpt-5-mini, api_key: ${OPENAI_API_KEY}}"`, "no models")
	}
	first := make(map[string]int)
	for i := range models {
		m, at := &models[i], fmt.Sprintf("models.%d", i)
		base := d.validateURL(join(at, "base_url"), &m.BaseURL)
		for _, call := range []string{"/chat/completions", "/responses"} {
			if base != nil && strings.HasSuffix(m.BaseURL, call) {
				d.failAt(d.at(join(at, "base_url")), "leave "+call+" out", "%s is the URL of a call, not of an API", displayPath(join(at, "base_url")))
			}
		}
		if base != nil && m.APIKey.Empty() && !d.isSet(join(at, "api_key")) && !isLoopback(base.Hostname()) {
			d.failAt(d.at(at), `add "api_key: ${NAME}" or "api_key_file: PATH"`, "missing key %q in %s", "api_key", displayPath(at))
		}
		if before, twice := first[m.Name]; twice && m.Name != "" {
			d.failAt(d.at(join(at, "name")), fmt.Sprintf("models[%d] has the same name", before), "duplicate name %s in %s", d.quotedAt(join(at, "name")), displayPath(at))
		} else {
			first[m.Name] = i
		}
		if m.MaxOutputTokens >= m.ContextWindow {
			d.failAt(d.at(join(at, "max_output_tokens")), "the answer is part of the window", "max_output_tokens (%d) must be less than context_window (%d) in %s",
				m.MaxOutputTokens, m.ContextWindow, displayPath(at))
		}
		d.validateHeaders(join(at, "headers"), m.Headers)
	}
}

// These constants are the configuration keys of the admin address.
const (
	adminListen = "admin.listen"
	adminToken  = "admin.token"
)

// minAdminToken is the recommended minimum length of the admin token in bytes. Shorter tokens can be guessed.
const minAdminToken = 16

func (d *decoder) validateAdmin(a Admin) {
	if a.Listen == "" || !d.isValid(adminListen) || !d.isValid(adminToken) {
		return
	}
	if !isAddress(a.Listen) {
		d.failAt(d.at(adminListen), `write it as 127.0.0.1:8643, or "" for none`, "invalid listen address %s in %s", d.quotedAt(adminListen), adminListen)
		return
	}
	host, _, _ := net.SplitHostPort(a.Listen)
	switch token := a.Token.Reveal(); {
	case isLoopback(host):
	case token == "":
		d.failAt(d.at(adminListen), `add "token: ${TELEX_ADMIN_TOKEN}" or "token_file: PATH" to admin, or listen on 127.0.0.1`,
			"no %s, and other machines can reach %s", adminToken, adminListen)
	case len(token) < minAdminToken:
		d.warnAt(d.at(adminToken), "%s has less than %d characters, and other machines can reach %s; generate one with: openssl rand -hex 16", adminToken, minAdminToken, adminListen)
	}
}

func (d *decoder) validateAccess(a Access) {
	for i, p := range a.Admins {
		if p.Kind == PatternChat || p.Kind == PatternEveryone {
			at := fmt.Sprintf("access.admins.%d", i)
			d.failAt(d.at(at), "write endpoint:user:ID", "an admin is one person, not %s, in access.admins", d.quotedAt(at))
		}
	}
}

// validateTranscription validates the section transcription. validateTranscription copies missing settings from the
// first model, because most providers of models can also transcribe speech.
func (d *decoder) validateTranscription(c *Config) {
	t := &c.Transcription
	if t.Model == "" {
		for _, key := range []string{"transcription.base_url", "transcription.api_key"} {
			if d.isSet(key) && d.isValid(key) && (t.BaseURL != "" || !t.APIKey.Empty()) {
				d.failAt(d.at(key), `add "model: NAME"; without it nothing is transcribed`, "%s without a model", displayPath(key))
				return
			}
		}
		return
	}
	if t.BaseURL == "" && len(c.Models) > 0 {
		t.BaseURL = c.Models[0].BaseURL
		if t.APIKey.Empty() {
			t.APIKey = c.Models[0].APIKey
		}
		return
	}
	base := d.validateURL("transcription.base_url", &t.BaseURL)
	if base != nil && t.APIKey.Empty() && !isLoopback(base.Hostname()) {
		d.failAt(d.at("transcription"), `add "api_key: ${NAME}" or "api_key_file: PATH"`, "missing key %q in %s", "api_key", "transcription")
	}
}

// validateModelName checks a key whose value is the name of a model. An empty name stands for the first model.
func (d *decoder) validateModelName(c *Config, at, name string) {
	var names []string
	for _, m := range c.Models {
		names = append(names, m.Name)
	}
	if name != "" && d.isValid(at) && !slices.Contains(names, name) {
		d.failAt(d.at(at), suggest(name, names), "unknown model %s in %s", d.quotedAt(at), displayPath(at))
	}
}

func (d *decoder) validateHeaders(at string, headers map[string]Secret) {
	for _, name := range keysOf(headers) {
		if !headerToken.MatchString(name) {
			d.failAt(d.at(join(at, name)), "", "invalid header name %s in %s", quotedKey(name), displayPath(at))
		}
	}
}

func (d *decoder) validateCursor(path, cursor string) {
	switch {
	case utf8.RuneCountInString(cursor) > maxCursor:
		d.failAt(d.at(path), "", "%s is longer than %d characters", displayPath(path), maxCursor)
	case strings.ContainsAny(cursor, "\r\n"):
		d.failAt(d.at(path), "", "%s holds a line break", displayPath(path))
	}
}

const urlHint = "write it as https://host/path"

// parseURL parses the URL of a server, or returns nil if the URL is invalid. The errors that parseURL reports don't
// quote the URL, because it may contain a password. If the URL contains a user or a password, the
// error says where the secret belongs; the parameter key names this place.
func (d *decoder) parseURL(path, text, key string) *url.URL {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || badPort(u):
		d.failAt(d.at(path), urlHint, "invalid URL in %s", displayPath(path))
		return nil
	case u.User != nil:
		d.failAt(d.at(path), "put the secret into "+key, "%s holds a user or a password", displayPath(path))
		return nil
	}
	return u
}

// validateURL validates the base URL of an API and removes its trailing slash. validateURL returns nil if the URL is
// invalid.
func (d *decoder) validateURL(path string, base *string) *url.URL {
	if d.isSet(path) && !d.isValid(path) {
		return nil
	}
	u := d.parseURL(path, *base, "its own key")
	if u == nil {
		return nil
	}
	if u.RawQuery != "" || u.Fragment != "" || u.ForceQuery {
		d.failAt(d.at(path), urlHint, "%s holds a query or a fragment", displayPath(path))
		return nil
	}
	if u.Scheme == "http" && !isPrivate(u.Hostname()) {
		d.warnAt(d.at(path), "%s is not encrypted: the secret can be read on the way; use https", displayPath(path))
	}
	*base = strings.TrimRight(*base, "/")
	return u
}

func badPort(u *url.URL) bool {
	if u.Port() == "" {
		return strings.HasSuffix(u.Host, ":")
	}
	_, err := net.LookupPort("tcp", u.Port())
	return err != nil
}

func isLoopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// isPrivate reports whether a host is this machine or a machine in a private network. A name without a dot counts as
// private, because it belongs to a local network or to a container.
func isPrivate(host string) bool {
	if isLoopback(host) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return !strings.Contains(host, ".") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal") ||
			strings.HasSuffix(host, ".lan") || strings.HasSuffix(host, ".home.arpa")
	}
	ip = ip.Unmap()
	return ip.IsPrivate() || ip.IsLinkLocalUnicast()
}
