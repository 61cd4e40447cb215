package config

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// These expressions find secrets in the arguments and the URL of an MCP server.
var (
	urlShape = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+`)

	// namedShape matches a name that shows that its value is secret, such as api_key, together with the value. A secret after "="
	// ends at white space, or at its closing quotation mark if it is quoted. A secret after ":" is the whole remaining text.
	namedShape = regexp.MustCompile(`(?i)([\w.-]*(?:` + secretWords + `)[\w.-]*["']?\s*)(=\s*("[^"]*"|'[^']*'|\S+)|:\s*(.+))`)

	// tokenShape matches the typical formats of tokens, such as sk-… and ghp_….
	tokenShape = regexp.MustCompile(`\b(?:(?:sk|pk|rk|xapp|xox[a-z]|glpat)-[\w-]{8,}|(?:gh[a-z]|github_pat|hf|npm)_\w{8,}|(?:AKIA|AIza)[\w-]{8,}|` +
		`eyJ[\w-]{8,}(?:\.[\w-]+)*|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})`)

	// randomShape matches a long sequence of letters and digits, which may be a random token. The function looksRandom decides
	// whether such a sequence is a random token.
	randomShape = regexp.MustCompile(`[\w+=-]*[A-Za-z0-9+]{20,}[\w+=-]*`)
	// countShape matches the name of a setting that counts tokens, such as max_tokens, together with its number, which
	// is no secret.
	countShape = regexp.MustCompile(`(?i)tokens["']?\s*[=:]?\s*["']?\d+["']?$`)
	hexShape   = regexp.MustCompile(`^[0-9a-fA-F]+$`)
)

// minSecretValue is the minimum length in bytes of a value in a URL's query that counts as a secret whatever the name of its
// parameter is.
const minSecretValue = 16

// redactor replaces secrets in texts and collects them.
type redactor struct{ found []string }

// Secrets returns the secrets that are written out in the server's arguments and in its URL. Logs and errors must mask these
// secrets.
func (s MCPServer) Secrets() []Secret {
	var r redactor
	r.server(s)
	var out []Secret
	slices.Sort(r.found)
	for _, value := range slices.Compact(r.found) {
		if value != "" {
			out = append(out, NewSecret(value))
		}
	}
	return out
}

// redacted returns a copy of the server that may be shown: the secrets in its arguments and its URL are replaced.
func (s MCPServer) redacted() MCPServer { return new(redactor).server(s) }

func (r *redactor) server(s MCPServer) MCPServer {
	s.Args, s.URL = r.args(s.Args), r.text(s.URL)
	return s
}

// args replaces the secrets in a program's arguments. The argument after an option such as "--token" counts as a
// secret, unless it begins with "-" itself.
func (r *redactor) args(args []string) []string {
	out := slices.Clone(args)
	next := false
	for i, arg := range args {
		option := strings.HasPrefix(arg, "-")
		switch {
		case next && !option && countShape.MatchString(args[i-1]+" "+arg):
			next = false
		case next && !option:
			out[i] = r.hide(arg)
			next = false
		default:
			out[i] = r.text(arg)
			next = option && !strings.ContainsAny(arg, "=: ") && isSecretName(arg)
		}
	}
	return out
}

// text replaces secrets in a text: those in URLs and, outside of URLs, tokens and values whose names show that they
// are secret.
func (r *redactor) text(text string) string {
	var out strings.Builder
	end := 0
	for _, at := range urlShape.FindAllStringIndex(text, -1) {
		out.WriteString(r.words(text[end:at[0]]))
		out.WriteString(r.url(text[at[0]:at[1]]))
		end = at[1]
	}
	out.WriteString(r.words(text[end:]))
	return out.String()
}

func (r *redactor) words(text string) string {
	text = namedShape.ReplaceAllStringFunc(text, func(found string) string {
		if countShape.MatchString(found) {
			return found
		}
		m := namedShape.FindStringSubmatch(found)
		value := m[3] + m[4]
		before := strings.TrimSuffix(found, value)
		if _, credentials, ok := strings.Cut(value, " "); ok { // the value looks like "Bearer TOKEN"
			r.found = append(r.found, credentials)
		}
		bare := strings.Trim(value, `"'{}[],`)
		r.found = append(r.found, bare)
		return before + r.hide(value)
	})
	return r.tokens(text)
}

// tokens replaces each part of a text that looks like a token.
func (r *redactor) tokens(text string) string {
	text = tokenShape.ReplaceAllStringFunc(text, r.hide)
	return randomShape.ReplaceAllStringFunc(text, func(found string) string {
		if looksRandom(found) {
			return r.hide(found)
		}
		return found
	})
}

func looksRandom(text string) bool {
	digits := 0
	for _, c := range text {
		if c >= '0' && c <= '9' {
			digits++
		}
	}
	both := strings.ToLower(text) != text && strings.ToUpper(text) != text
	return digits >= 3 && (both || hexShape.MatchString(text))
}

// url replaces the user name and the password in a URL, tokens in its path, and all values in its query.
func (r *redactor) url(text string) string {
	scheme, rest, _ := strings.Cut(text, "://")
	host, path := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		if _, password, ok := strings.Cut(host[:i], ":"); ok {
			r.add(password)
		}
		host = r.hide(host[:i]) + host[i:]
	}
	path, fragment, hasFragment := strings.Cut(path, "#")
	path, query, hasQuery := strings.Cut(path, "?")
	out := scheme + "://" + host + r.tokens(path)
	if hasQuery {
		values := strings.Split(query, "&")
		for i, pair := range values {
			values[i] = r.value(pair)
		}
		out += "?" + strings.Join(values, "&")
	}
	if hasFragment {
		out += "#" + r.tokens(fragment)
	}
	return out
}

// value replaces a value in the query of a URL. If the value is short and its name is harmless, the method value does not
// record it as a secret.
func (r *redactor) value(pair string) string {
	name, value, named := strings.Cut(pair, "=")
	switch {
	case !named && pair != "":
		return r.hide(pair)
	case value == "":
		return pair
	case isSecretName(name) || len(value) >= minSecretValue:
		r.add(value)
	}
	return name + "=" + redacted
}

// hide records a secret and returns the text that is shown in its place.
func (r *redactor) hide(secret string) string {
	r.add(secret)
	return redacted
}

// add records a secret in two forms: as it is written in the URL, and as the server understands it, without percent-encoding.
func (r *redactor) add(secret string) {
	r.found = append(r.found, secret)
	if plain, err := url.PathUnescape(secret); err == nil && plain != secret && !strings.Contains(secret, ":") {
		r.found = append(r.found, plain)
	}
}
