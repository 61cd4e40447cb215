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

// entity matches an HTML character reference without its semicolon, at the end of a text.
var entity = regexp.MustCompile(`&#?[0-9A-Za-z]{1,31}$`)

// Destination returns a URL in the form in which it stands in the parentheses after a link's label. Destination returns
// "" if the URL has a scheme that is not in schemes, lacks a host, or contains user information, which could look like
// a host. Characters of the URL that could end the link or act as delimiters are percent-encoded
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
