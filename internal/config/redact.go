package config

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// These patterns match secrets in the command and the URL of an MCP server.
var (
	urlShape = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+`)

	// namedShape matches a name that marks a secret, such as api_key, with its value. A value after "=" ends at white
	// space. A value after ":" is the whole remaining text.
	namedShape = regexp.MustCompile(`(?i)([\w.-]*(?:` + secretWords + `)[\w.-]*["']?\s*)(=\s*("[^"]*"|'[^']*'|\S+)|:\s*(.+))`)

	// tokenShape matches the typical formats of tokens, such as sk-… and ghp_….
	tokenShape = regexp.MustCompile(`\b(?:(?:sk|pk|rk|xapp|xox[a-z]|glpat)-[\w-]{8,}|(?:gh[a-z]|github_pat|hf|npm)_\w{8,}|(?:AKIA|AIza)[\w-]{8,}|` +
		`eyJ[\w-]{8,}(?:\.[\w-]+)*|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})`)

	// randomShape matches a long run of letters and digits. The run counts as random, and so as a secret, if it has
	// upper-case and lower-case letters or consists of hexadecimal digits.
	randomShape = regexp.MustCompile(`[\w+=-]*[A-Za-z0-9+]{20,}[\w+=-]*`)
	// countShape matches the name of a setting that counts tokens, such as max_tokens, with its number. This is no
	// secret.
	countShape = regexp.MustCompile(`(?i)tokens["']?\s*[=:]?\s*["']?\d+["']?$`)
	hexShape   = regexp.MustCompile(`^[0-9a-fA-F]+$`)
)

// minSecretValue is a length in bytes. A value in a URL's query that has at least this length counts as a secret,
// whatever its name is.
const minSecretValue = 16

// redactor removes secrets from texts and collects the removed secrets.
type redactor struct{ found []string }

// Secrets returns the secrets that the server's arguments and URL contain literally. Logs and errors must mask these
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

// redacted returns a copy of the server in which secrets in the arguments and the URL are replaced, for display.
func (s MCPServer) redacted() MCPServer { return new(redactor).server(s) }

func (r *redactor) server(s MCPServer) MCPServer {
	s.Args, s.URL = r.args(s.Args), r.text(s.URL)
	return s
}

// args redacts the arguments of a program. The argument after an option such as "--token" counts as a secret, but not
// if it begins with "-" itself.
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

// text redacts URLs in a text. Outside of URLs, text redacts values with secret names, and tokens.
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
		if _, credentials, ok := strings.Cut(value, " "); ok { // the value has the form Bearer TOKEN
			r.found = append(r.found, credentials)
		}
		bare := strings.Trim(value, `"'{}[],`)
		r.found = append(r.found, bare)
		return before + r.hide(value)
	})
	return r.tokens(text)
}

// tokens redacts each part of a text that looks like a token.
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

// url redacts the user name and password of a URL, tokens in its path, and all values in its query.
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

// value redacts a value in the query of a URL. value hides a short value with a harmless name, but does not record
// this value as a secret.
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

// hide records a secret and returns the text that is shown instead.
func (r *redactor) hide(secret string) string {
	r.add(secret)
	return redacted
}

// add records a secret in two forms: as the URL contains it, and without percent-encoding, as the server reads it.
func (r *redactor) add(secret string) {
	r.found = append(r.found, secret)
	if plain, err := url.PathUnescape(secret); err == nil && plain != secret && !strings.Contains(secret, ":") {
		r.found = append(r.found, plain)
	}
}
