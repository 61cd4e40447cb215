package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
)

// serverName is what the names of a server's tools begin with; a "_" ends it there. Providers take 64 characters for
// the whole, of which most are the tool's.
var serverName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9-]{0,23}$`)

// validateServers checks what each server of tools is, and that their names differ.
func (d *decoder) validateServers(servers []MCPServer) {
	first := make(map[string]int)
	for i, s := range servers {
		at := fmt.Sprintf("mcp_servers.%d", i)
		name := join(at, "name")
		before, twice := first[s.Name]
		switch {
		case s.Name == "" || !d.sound(name): // it was said already
		case !serverName.MatchString(s.Name):
			d.failAt(d.at(name), "use letters, digits and hyphens, at most 24", "bad name %s in %s", d.shownAt(name), human(at))
		case twice:
			d.failAt(d.at(name), fmt.Sprintf("mcp_servers[%d] has it", before), "the name %s is taken in %s", d.shownAt(name), human(at))
		default:
			first[s.Name] = i
		}
		d.validateServer(at, s)
	}
}

func (d *decoder) validateServer(at string, s MCPServer) {
	address := join(at, "url")
	switch {
	case !d.sound(join(at, "command")) || !d.sound(address):
		return
	case s.Command == "" && s.URL == "":
		d.failAt(d.at(at), `add "command: PROGRAM" or "url: https://host/path"`, "neither command nor url in %s", human(at))
		return
	case s.Command != "" && s.URL != "":
		d.failAt(d.at(address), "a server is started, or runs already; leave one of them out", "both command and url in %s", human(at))
		return
	case s.Command != "":
		if len(s.Headers) > 0 {
			d.failAt(d.at(join(at, "headers")), "leave them out; a command takes env", "headers without a url in %s", human(at))
		}
		return
	}
	for _, key := range []string{"args", "env"} {
		if d.given(join(at, key)) && (key == "args" && len(s.Args) > 0 || key == "env" && len(s.Env) > 0) {
			d.failAt(d.at(join(at, key)), "leave them out", "%s without a command in %s", key, human(at))
		}
	}
	for _, name := range keysOf(s.Headers) {
		if header := join(at, "headers."+name); !headerToken.MatchString(name) {
			d.failAt(d.at(header), "", "bad header name %s in %s", shownKey(name), human(join(at, "headers")))
		}
	}
	u, err := url.Parse(s.URL) // which is not quoted: people put passwords into URLs
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || badPort(u):
		d.failAt(d.at(address), "write it as https://host/path", "%s is no URL of a server", human(address))
	case u.User != nil:
		d.failAt(d.at(address), "put the secret into headers", "%s holds a user or a password", human(address))
	}
}

// validatePipeline compares the names of models with those that there are.
func (d *decoder) validatePipeline(c *Config) {
	var names []string
	known := make(map[string]bool)
	for _, m := range c.Models {
		names = append(names, m.Name)
		known[m.Name] = true
	}
	for i, n := range c.Agent.Pipeline {
		at := fmt.Sprintf("agent.pipeline.%d.model", i)
		if n.Model != "" && d.sound(at) && !known[n.Model] {
			d.failAt(d.at(at), suggest(n.Model, names), "%s is no model in %s", d.shownAt(at), human(at))
		}
	}
}

// validateDomains checks that fetch is allowed hosts, which have neither a scheme nor a port nor a path.
func (d *decoder) validateDomains(domains []string) {
	for i, entry := range domains {
		at := fmt.Sprintf("tools.fetch.allow_domains.%d", i)
		host := strings.TrimPrefix(entry, "*.")
		if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil || !d.sound(at) {
			continue
		}
		if host == "" || strings.ContainsAny(host, "*/:@ ") {
			d.failAt(d.at(at), "write example.org, or *.example.org for all below it", "%s is no host in %s", d.shownAt(at), human("tools.fetch.allow_domains"))
		}
	}
}
