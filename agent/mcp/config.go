package mcp

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Server is the configuration of one MCP server. Server has either a Command or a URL.
type Server struct {
	// Name is the prefix of the names of the server's tools: at most 24 letters, digits and "-". Name must not contain "_",
	// because "_" separates the prefix from the tool's own name. So tools of two servers can't get the same name.
	Name string

	Command string            // run as a child process; looked up in PATH
	Args    []string          // arguments of Command
	Env     map[string]string // environment in addition to PATH, HOME and LANG; may contain secrets
	Dir     string            // working directory of Command; empty: the daemon's

	URL     string            // address for streamable HTTP; may contain secrets
	Headers map[string]string // HTTP headers of each request; may contain secrets

	// Secrets are the secrets in Args and URL. The client removes the values in Secrets from logs and errors.
	Secrets []string

	// ReadOnly are the tools that change nothing. An entry is the server's name for a tool, or the name that people and
	// models see. An entry that ends in "*" matches all names with that prefix.
	ReadOnly []string
	// AutoApprove are tools that change something and need no approval. The entries of AutoApprove have the same form as
	// those of ReadOnly.
	AutoApprove []string
	// Deny are the tools that are never offered to a model. The entries of Deny have the same form as those of ReadOnly.
	Deny []string
	// Trust says that a tool also counts as read-only if the server itself declares that it is.
	Trust bool
	// Timeout is how long a call may take. Each progress report of the server restarts Timeout. 0 means agent.DefaultToolTimeout.
	Timeout time.Duration
}

// Options configure New.
type Options struct {
	Servers   []Server
	Version   string            // version of telex, sent to servers
	Transport http.RoundTripper // transport for HTTP; nil: each connection has its own transport
	Log       *slog.Logger
	// Keeper is a command that calls Keep with its further arguments, such as this program with a subcommand. Keep starts the
	// server and ends all its processes. Without a Keeper, processes that leave the server's process group may survive the
	// server.
	Keeper []string
	// Large is a channel with the capacity 1. If several clients share this channel, only one of them reads a large message at a
	// time, which limits the memory that the clients use. If Large is nil, the client makes its own channel.
	Large chan struct{}
}

const maxName = 24

var serverName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9-]*$`)

func (o Options) validate() error {
	if o.Log == nil {
		return errors.New("no logger")
	}
	seen := map[string]bool{}
	for i, s := range o.Servers {
		if err := s.validate(); err != nil {
			return fmt.Errorf("server %d (%q): %w", i+1, s.Name, err)
		}
		if seen[s.Name] {
			return fmt.Errorf("server %d: %q is the name of another, too", i+1, s.Name)
		}
		seen[s.Name] = true
	}
	return nil
}

// validate returns an error that says what is wrong with the configuration. The error contains no secret.
func (s Server) validate() error {
	switch {
	case !serverName.MatchString(s.Name), len(s.Name) > maxName:
		return fmt.Errorf("name: want letters, digits and hyphens, at most %d", maxName)
	case (s.Command == "") == (s.URL == ""):
		return errors.New("want either command or url")
	case s.URL != "" && (len(s.Args) > 0 || len(s.Env) > 0 || s.Dir != ""):
		return errors.New("args, env and dir are for a command")
	case s.Command != "" && len(s.Headers) > 0:
		return errors.New("headers are for a url")
	case s.Timeout < 0:
		return errors.New("timeout: must not be negative")
	}
	for name := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(s.Env[name], "\x00") {
			return fmt.Errorf("env: invalid variable %q", name)
		}
	}
	for name, value := range s.Headers {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return fmt.Errorf("headers: invalid header %q", name)
		}
	}
	if s.URL == "" {
		return nil
	}
	if u, err := url.Parse(s.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("url: want http:// or https:// and a host")
	}
	return nil
}

// LogValue returns only the name, so that secrets don't get into logs.
func (s Server) LogValue() slog.Value { return slog.StringValue(s.Name) }

// String returns only the name, so that secrets don't get into formatted output.
func (s Server) String() string { return s.Name }

// listed reports whether a list has an entry for a tool.
func (s Server) listed(list []string, tool string) bool {
	return slices.ContainsFunc(list, func(entry string) bool { return s.means(entry, tool) })
}

// means reports whether an entry of ReadOnly, AutoApprove or Deny matches a tool.
func (s Server) means(entry, tool string) bool {
	prefix, all := strings.CutSuffix(entry, "*")
	for _, name := range []string{tool, nameFor(s.Name, tool)} {
		if entry == name || all && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
