package tool

import (
	"fmt"
	"slices"
	"strings"

	"telex/agent"
)

// domains is a list of exact hosts, and of hosts whose subdomains are included.
type domains struct{ exact, subdomainsOf []string }

func newDomains(list []string) (domains, error) {
	var d domains
	for _, entry := range list {
		name, isBelow := strings.CutPrefix(entry, "*.")
		host, err := agent.HostName(name)
		if err != nil || host == "" || strings.ContainsAny(host, "*/: ") && !strings.Contains(host, "::") {
			return domains{}, fmt.Errorf("allowed domain %q: want a host such as example.org or *.example.org", entry)
		}
		if isBelow {
			d.subdomainsOf = append(d.subdomainsOf, "."+host)
		} else {
			d.exact = append(d.exact, host)
		}
	}
	return d, nil
}

func (d domains) has(host string) bool {
	return slices.Contains(d.exact, host) ||
		slices.ContainsFunc(d.subdomainsOf, func(suffix string) bool { return strings.HasSuffix(host, suffix) })
}
