package tool

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"telex/agent"
)

// domains are hosts, and hosts below which all are meant.
type domains struct{ exact, below []string }

func newDomains(list []string) (domains, error) {
	var d domains
	for _, entry := range list {
		name, isBelow := strings.CutPrefix(entry, "*.")
		host, err := hostName(name)
		if err != nil || host == "" || strings.ContainsAny(host, "*/: ") && !strings.Contains(host, "::") {
			return domains{}, fmt.Errorf("allowed domain %q: want a host such as example.org or *.example.org", entry)
		}
		if isBelow {
			d.below = append(d.below, "."+host)
		} else {
			d.exact = append(d.exact, host)
		}
	}
	return d, nil
}

func (d domains) has(host string) bool {
	return slices.Contains(d.exact, host) ||
		slices.ContainsFunc(d.below, func(suffix string) bool { return strings.HasSuffix(host, suffix) })
}

// written says whether a person wrote this address: host, path and query exactly, since any of them could carry something
// away. It does not matter whether the scheme, "www." or a last slash was written, nor what fragment was.
func written(u *url.URL, said []agent.Message) bool {
	var forms []string
	for _, host := range hosts(u) {
		for _, path := range paths(u) {
			forms = append(forms, host+path)
		}
	}
	return slices.ContainsFunc(said, func(m agent.Message) bool {
		return m.Role == agent.User && slices.ContainsFunc(forms, func(form string) bool { return stands(m.Text, form) })
	})
}

// hosts returns the ways to write the host.
func hosts(u *url.URL) []string {
	names := []string{u.Hostname()}
	if shown, err := idna.Lookup.ToUnicode(u.Hostname()); err == nil && shown != u.Hostname() {
		names = append(names, shown)
	}
	var all []string
	for _, name := range names {
		bare := strings.TrimPrefix(name, "www.")
		if strings.Contains(bare, ":") {
			bare = "[" + bare + "]"
		}
		if p := u.Port(); p != "" {
			bare += ":" + p
		}
		all = append(all, bare)
	}
	return all
}

// paths returns the ways to write the path and the query: escaped or not, and without the last slash. Without escapes
// an address is taken as written only if it is sent in the one usual way, and holds nothing that ends an address or a
// path in a text: what is escaped, and which words that follow are part of it, could say something else.
func paths(u *url.URL) []string {
	query := ""
	if u.RawQuery != "" {
		query = "?" + u.RawQuery
	}
	var all []string
	spelled := []string{u.EscapedPath()}
	if u.RawPath == "" && !strings.ContainsAny(u.Path, "?#%") && !strings.ContainsFunc(u.Path, unicode.IsSpace) {
		spelled = append(spelled, u.Path)
	}
	for _, path := range spelled {
		bare := strings.TrimSuffix(path, "/")
		all = append(all, bare+query, bare+"/"+query)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// stands says whether an address stands in text as a whole, and not as a piece of a longer one. Its host may be in any case.
func stands(text, address string) bool {
	host := strings.IndexAny(address, "/?")
	if host < 0 {
		host = len(address)
	}
	for i := 0; i+len(address) <= len(text); i++ {
		if text[i+host:i+len(address)] == address[host:] && strings.EqualFold(text[i:i+host], address[:host]) &&
			begins(text[:i]) && ends(text[i+len(address):]) {
			return true
		}
	}
	return false
}

// begins says whether an address can begin after this.
func begins(before string) bool {
	before = cutSuffixFold(before, "www.")
	for _, scheme := range []string{"https://", "http://"} {
		if rest := cutSuffixFold(before, scheme); rest != before {
			before = rest
			break
		}
	}
	last, _ := utf8.DecodeLastRuneInString(before)
	return before == "" || unicode.IsSpace(last) || strings.ContainsRune("([{<>\"'`*_|,;:“„«‘‚‹「『（【", last) || last >= 0x2E80
}

func cutSuffixFold(s, suffix string) string {
	if n := len(s) - len(suffix); n >= 0 && strings.EqualFold(s[n:], suffix) {
		return s[:n]
	}
	return s
}

// ends says whether an address can end before this.
func ends(after string) bool {
	if strings.HasPrefix(after, "#") { // a fragment is never sent
		return true
	}
	after = strings.TrimLeft(after, ".,;:!?)]}>\"'`*_|”“»’›」』）】…")
	first, _ := utf8.DecodeRuneInString(after)
	return after == "" || unicode.IsSpace(first) || first >= 0x2E80 // scripts without spaces between words
}
