package admin

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// A login cookie contains the time at which it expires, and a code that is computed from this time and the token. A
// new token therefore makes all cookies invalid, and a cookie does not reveal the token.
const (
	cookieName = "telex_admin"
	cookieFor  = 12 * time.Hour
)

// allows reports whether a request may see all data: either no token is configured, or the request has the token or a
// valid cookie.
func (s *Server) allows(r *http.Request) bool {
	if *s.token.Load() == "" {
		return true
	}
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return s.isToken(strings.TrimSpace(token))
	}
	c, err := r.Cookie(cookieName)
	return err == nil && s.isCookie(c.Value, time.Now())
}

// isToken compares got with the token in constant time, so the duration of the comparison reveals nothing about the
// token.
func (s *Server) isToken(got string) bool {
	want := *s.token.Load()
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return want != "" && hmac.Equal(a[:], b[:])
}

// cookie returns a login cookie for a person who has sent the right token.
func (s *Server) cookie(now time.Time) *http.Cookie {
	until := strconv.FormatInt(now.Add(cookieFor).Unix(), 10)
	return &http.Cookie{
		Name: cookieName, Value: until + "." + s.code(until), Path: "/", MaxAge: int(cookieFor.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
}

func (s *Server) isCookie(value string, now time.Time) bool {
	until, code, _ := strings.Cut(value, ".")
	ends, err := strconv.ParseInt(until, 10, 64)
	return err == nil && hmac.Equal([]byte(code), []byte(s.code(until))) && now.Unix() < ends
}

func (s *Server) code(until string) string {
	mac := hmac.New(sha256.New, []byte(*s.token.Load()))
	mac.Write([]byte("telex admin cookie " + until))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// guarded wraps a handler. If allows returns false for a request, guarded responds with an error.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.allows(r) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="telex"`)
			s.refuse(w, r, http.StatusUnauthorized, "the admin token is missing or wrong")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLocalName reports whether a Host header is an IP address or localhost. Nobody can let an IP address or localhost
// point to another machine.
func isLocalName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	_, err := netip.ParseAddr(host)
	return err == nil || strings.EqualFold(host, "localhost")
}
