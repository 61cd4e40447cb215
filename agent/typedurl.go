package agent

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// TypedURL reports whether the asker typed this web address. Host, path and query must be equal, because the model could put
// data of the conversation into each of them. The scheme, "www.", a last slash and a fragment may differ. Addresses in
// outside content or in the model's answers do not count.
func (s CallContext) TypedURL(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Hostname() == "" || NormalizeURL(u) != nil {
		return false
	}
	var forms []string
	for _, host := range hostSpellings(u) {
		for _, path := range pathSpellings(u) {
			forms = append(forms, host+path)
		}
	}
	return slices.ContainsFunc(s.Typed(), func(text string) bool {
		return slices.ContainsFunc(forms, func(form string) bool { return containsAddress(text, form) })
	})
}

// NormalizeURL changes an address into the form in which it is requested. The host gets the form that DNS uses, a default
// port and the fragment are removed, and an empty path becomes a slash.
func NormalizeURL(u *url.URL) error {
	host, err := HostName(u.Hostname())
	if err != nil {
		return err
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if p := u.Port(); p != "" && (u.Scheme != "http" || p != "80") && (u.Scheme != "https" || p != "443") {
		host += ":" + p
	}
	u.Host, u.Fragment, u.RawFragment = host, "", ""
	u.RawQuery = strings.ReplaceAll(u.RawQuery, " ", "%20")
	if u.Path == "" {
		u.Path = "/"
	}
	return nil
}

// HostName returns a host in the form that DNS uses: in lower case, with non-ASCII letters encoded as Punycode.
func HostName(host string) (string, error) {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return host, nil
	}
	return idna.Lookup.ToASCII(host)
}

// hostSpellings returns the ways in which a person may write the host of an address.
func hostSpellings(u *url.URL) []string {
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

// pathSpellings returns the ways in which a person may write the path and the query: escaped or unescaped, with or without
// the last slash. The unescaped path counts only if it is unambiguous: the path has the usual escaping, and contains no
// character that could end the address in a text.
func pathSpellings(u *url.URL) []string {
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

// containsAddress reports whether text contains an address that is not merely a part of a longer address. containsAddress
// ignores the host's case.
func containsAddress(text, address string) bool {
	host := strings.IndexAny(address, "/?")
	if host < 0 {
		host = len(address)
	}
	for i := 0; i+len(address) <= len(text); i++ {
		if text[i+host:i+len(address)] == address[host:] && strings.EqualFold(text[i:i+host], address[:host]) &&
			canPrecedeAddress(text[:i]) && canFollowAddress(text[i+len(address):]) {
			return true
		}
	}
	return false
}

// canPrecedeAddress reports whether an address can begin after this text.
func canPrecedeAddress(before string) bool {
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

// canFollowAddress reports whether an address can end before this text.
func canFollowAddress(after string) bool {
	if strings.HasPrefix(after, "#") { // a fragment is never sent
		return true
	}
	after = strings.TrimLeft(after, ".,;:!?)]}>\"'`*_|”“»’›」』）】…")
	first, _ := utf8.DecodeRuneInString(after)
	return after == "" || unicode.IsSpace(first) || first >= 0x2E80 // scripts such as Chinese have no spaces between words
}
