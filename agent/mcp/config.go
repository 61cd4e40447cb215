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

// Server is one configured server: either Command or URL.
type Server struct {
	// Name is what its tools' names begin with: letters, digits and "-", at most 24. No "_", which ends it there, so that
	// the tools of two servers can't have one name.
	Name string

	Command string            // run as a child process; looked up in PATH
	Args    []string          // of Command
	Env     map[string]string // added to PATH, HOME and LANG; may hold secrets
	Dir     string            // where Command runs; empty: where the daemon does

	URL     string            // of streamable HTTP; may hold secrets
	Headers map[string]string // sent with each request; may hold secrets

	// Secrets are those that stand in Args and URL. Logs and errors don't hold them.
	Secrets []string

	// ReadOnly are the tools that change nothing, by the server's own names or by those that people and models see;
	// one that ends in "*" stands for all that begin so.
	ReadOnly []string
	// AutoApprove are tools that change something and need no person, written in the same way.
	AutoApprove []string
	// Deny are the tools that are not offered, written in the same way.
	Deny []string
	// Trust says that the server is believed which of its tools change nothing, besides those of ReadOnly.
	Trust bool
	// Timeout is how long a call may take, from its start or from the newest progress; 0: agent.DefaultToolTimeout.
	Timeout time.Duration
}

// Options configure New.
type Options struct {
	Servers   []Server
	Version   string            // of telex, told to servers
	Transport http.RoundTripper // for HTTP; nil: a transport of its own for each connection
	Log       *slog.Logger
	// Keeper is the command of a process that runs Keep with the arguments that follow, such as this program under a
	// command of its own. Empty: what a server starts, and leaves the server's process group, may outlive it.
	Keeper []string
	// Large, of capacity 1, holds the place of the one large message that is read at a time. Clients may share it. Nil: the
	// client has its own.
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

// validate says what is wrong. Its errors hold no secret.
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

// LogValue returns the name. It keeps secrets out of logs.
func (s Server) LogValue() slog.Value { return slog.StringValue(s.Name) }

// String returns the name. It keeps secrets out of formatted output.
func (s Server) String() string { return s.Name }

// listed reports whether a tool is in a list of names.
func (s Server) listed(list []string, tool string) bool {
	return slices.ContainsFunc(list, func(entry string) bool { return s.means(entry, tool) })
}

// means reports whether an entry of a list stands for a tool.
func (s Server) means(entry, tool string) bool {
	prefix, all := strings.CutSuffix(entry, "*")
	for _, name := range []string{tool, nameFor(s.Name, tool)} {
		if entry == name || all && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
