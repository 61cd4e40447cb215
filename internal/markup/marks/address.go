package marks

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// entity is the end of what a semicolon makes a character of.
var entity = regexp.MustCompile(`&#?[0-9A-Za-z]{1,31}$`)

// Destination returns an address as it can stand in the brackets behind the label of a link,
// or "" if a link must not go there: to another scheme, to no host, or to one behind a name
// that pretends to be it. What could end the link or be taken for a mark is percent-encoded
// (https://www.rfc-editor.org/rfc/rfc3986#section-2.1).
func Destination(address string, schemes ...string) string {
	u, err := url.Parse(address)
	if err != nil || !slices.Contains(schemes, strings.ToLower(u.Scheme)) ||
		u.User != nil || u.Host == "" && !strings.EqualFold(u.Scheme, "mailto") || u.Host+u.Opaque == "" || strings.ContainsAny(u.Host, "[]\\") {
		return ""
	}
	var out strings.Builder
	for i, r := range address {
		if r <= ' ' || r == 0x7f || strings.ContainsRune("()<>[]{}\\`*~|^\"'", r) || r == ';' && entity.MatchString(address[max(0, i-33):i]) ||
			r >= utf8.RuneSelf && (unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			for _, b := range []byte(string(r)) {
				fmt.Fprintf(&out, "%%%02X", b)
			}
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}
