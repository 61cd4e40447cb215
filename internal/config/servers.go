package config

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// serverName matches valid names of MCP servers, which have at most 24 characters. The name by which a model calls a tool
// consists of the server's name, "_" and the tool's own name. Providers accept at most 64 characters for the whole name, so at
// least 39 are left for the tool's own name.
var serverName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9-]{0,23}$`)

// validateServers validates each configured MCP server, and checks that the servers' names are unique.
func (d *decoder) validateServers(servers []MCPServer) {
	first := make(map[string]int)
	for i, s := range servers {
		d.sensitive = append(d.sensitive, s.Secrets()...)
		at := fmt.Sprintf("mcp_servers.%d", i)
		name := join(at, "name")
		before, twice := first[s.Name]
		switch {
		case s.Name == "" || !d.isValid(name): // this error has already been reported
		case !serverName.MatchString(s.Name):
			d.failAt(d.at(name), "use letters, digits and hyphens, at most 24", "invalid name %s in %s", d.quotedAt(name), displayPath(at))
		case twice:
			d.failAt(d.at(name), fmt.Sprintf("mcp_servers[%d] has the same name", before), "duplicate name %s in %s", d.quotedAt(name), displayPath(at))
		default:
			first[s.Name] = i
		}
		d.validateServer(at, s)
		d.validateLists(at, s)
	}
}

func (d *decoder) validateServer(at string, s MCPServer) {
	address := join(at, "url")
	switch {
	case !d.isValid(join(at, "command")) || !d.isValid(address):
		return
	case s.Command == "" && s.URL == "":
		d.failAt(d.at(at), `add "command: PROGRAM" or "url: https://host/path"`, "neither command nor url in %s", displayPath(at))
		return
	case s.Command != "" && s.URL != "":
		d.failAt(d.at(address), "command starts a server, and url names one that already runs; remove one of them", "both command and url in %s", displayPath(at))
		return
	case s.Command != "":
		if len(s.Headers) > 0 {
			d.failAt(d.at(join(at, "headers")), "remove them; a command takes env", "headers without a url in %s", displayPath(at))
		}
		return
	}
	for _, key := range []string{"args", "env"} {
		if d.isSet(join(at, key)) && (key == "args" && len(s.Args) > 0 || key == "env" && len(s.Env) > 0) {
			d.failAt(d.at(join(at, key)), "remove them", "%s without a command in %s", key, displayPath(at))
		}
	}
	d.validateHeaders(join(at, "headers"), s.Headers)
	d.parseURL(address, s.URL, "headers")
}

// validateLists reports entries in the lists of tools that have no effect, because another list, which takes precedence, covers
// the same tools. deny takes precedence over read_only, and read_only over auto_approve. An entry that also covers tools
// outside the other list is valid.
func (d *decoder) validateLists(at string, s MCPServer) {
	const denied = "tools in deny are never offered: remove it from this list or from deny"
	d.validateEntries(at, s.Name, toolList{"auto_approve", s.AutoApprove}, toolList{"deny", s.Deny}, denied)
	d.validateEntries(at, s.Name, toolList{"read_only", s.ReadOnly}, toolList{"deny", s.Deny}, denied)
	d.validateEntries(at, s.Name, toolList{"auto_approve", s.AutoApprove}, toolList{"read_only", s.ReadOnly},
		"tools in read_only need no approval: remove it from auto_approve, or from read_only if it changes something")
}

// toolList is a list of tools in the configuration of an MCP server, with the key of this list.
type toolList struct {
	key     string
	entries []string
}

func (d *decoder) validateEntries(at, server string, weak, strong toolList, hint string) {
	for i, entry := range weak.entries {
		where := join(join(at, weak.key), strconv.Itoa(i))
		by := slices.IndexFunc(strong.entries, func(s string) bool { return coversTools(server, s, entry) })
		if by < 0 || !d.isValid(where) {
			continue
		}
		how := "is also in " + strong.key
		if strong.entries[by] != entry {
			how = "is covered by " + d.quotedAt(join(join(at, strong.key), strconv.Itoa(by))) + " in " + strong.key
		}
		d.failAt(d.at(where), hint, "%s in %s %s", d.quotedAt(where), displayPath(join(at, weak.key)), how)
	}
}

// coversTools reports whether entry covers all tools that the entry other covers. An entry is the name of a tool, with
// or without the server's name as a prefix. An entry that ends in "*" covers all tools whose names begin with the text
// before the "*".
func coversTools(server, entry, other string) bool {
	prefix, all := strings.CutSuffix(entry, "*")
	plain := strings.TrimPrefix(other, server+"_")
	for _, name := range []string{other, plain, server + "_" + plain} {
		if name == entry || all && strings.HasPrefix(strings.TrimSuffix(name, "*"), prefix) {
			return true
		}
	}
	return false
}

// validateDomains checks that each domain in the configuration of the tool fetch is a host name without scheme, port
// and path.
func (d *decoder) validateDomains(domains []string) {
	for i, entry := range domains {
		at := fmt.Sprintf("tools.fetch.allow_domains.%d", i)
		host := strings.TrimPrefix(entry, "*.")
		if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil || !d.isValid(at) {
			continue
		}
		if host == "" || strings.ContainsAny(host, "*/:@ ") {
			d.failAt(d.at(at), "write example.org, or *.example.org for all below it", "invalid host %s in %s", d.quotedAt(at), displayPath("tools.fetch.allow_domains"))
		}
	}
}
