package apiserver

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"telex/internal/chat"
)

// Key is an API key with which a client may use the server, and the limits for this client. If TurnsPerMinute or
// TokensPerDay is zero, the client has no such limit.
type Key struct {
	Name           string // the name of the client in logs and in the stored usage
	Secret         string
	TurnsPerMinute int
	TokensPerDay   int
}

// client is a program that uses the server with its own API key.
type client struct {
	Key
	digest [sha256.Size]byte // hash of the secret; comparing hashes does not reveal a secret's length

	mu          sync.Mutex
	recentTurns []time.Time // when the turns of the last 60 seconds began, oldest first
}

// localClient is the name of every client if the server has no keys.
const localClient = "local"

func newClients(keys []Key) []*client {
	var out []*client
	for _, k := range keys {
		out = append(out, &client{Key: k, digest: sha256.Sum256([]byte(k.Secret))})
	}
	return out
}

// personOf returns the chat.Person to whom the store assigns a client's usage and responses.
func (s *Server) personOf(c *client) chat.Person {
	return chat.Person{Endpoint: s.Endpoint, User: chat.UserID(c.Name)}
}

// authenticate returns the client whose key the request contains. If the server has no keys, authenticate refuses
// requests from web pages, except those of allowed origins. If a server without keys accepted requests from all web
// pages, any page in a browser on this machine could use the server, because a page can send requests to a loopback
// address, even under the page's own host name.
func (s *Server) authenticate(r *http.Request) (*client, *apiError) {
	if len(s.clients) == 0 {
		if !isLocal(r.Host) || r.Header.Get("Origin") != "" && !s.allowsOrigin(r.Header.Get("Origin")) ||
			r.Method == http.MethodPost && !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
			return nil, &apiError{
				status: http.StatusForbidden, kind: authentication, code: "forbidden",
				message: "Without keys, the server takes only requests of type application/json to a loopback address, and none of web pages that are not in cors_origins.",
			}
		}
		return &client{Key: Key{Name: localClient}}, nil
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	digest := sha256.Sum256([]byte(strings.TrimSpace(token)))
	var found *client
	for _, c := range s.clients { // compare with every key, so that the duration does not reveal which key is right
		if subtle.ConstantTimeCompare(digest[:], c.digest[:]) == 1 {
			found = c
		}
	}
	if found == nil || !strings.EqualFold(scheme, "Bearer") {
		message := "Incorrect API key provided."
		if token == "" {
			message = "You didn't provide an API key. Send it in the header Authorization, as: Bearer YOUR_KEY."
		}
		return nil, &apiError{status: http.StatusUnauthorized, kind: invalidRequest, code: "invalid_api_key", message: message}
	}
	return found, nil
}

// isLocal reports whether host is a loopback address or localhost.
func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && ip.Unmap().IsLoopback()
}

// countTurn counts a new turn of a client. countTurn returns an error if the client has reached its limit of turns or
// tokens, or if the daemon has reached its limit of tokens.
func (s *Server) countTurn(ctx context.Context, c *client) *apiError {
	if wait := c.takeTurn(time.Now()); wait > 0 {
		return &apiError{
			status: http.StatusTooManyRequests, kind: rateLimit, code: rateLimit, retryAfter: wait,
			message: fmt.Sprintf("The key %s may ask %d times in a minute.", c.Name, c.TurnsPerMinute),
		}
	}
	now := time.Now()
	y, month, day := now.Date()
	from, to := time.Date(y, month, day, 0, 0, 0, 0, now.Location()), time.Date(y, month, day+1, 0, 0, 0, 0, now.Location())
	for _, l := range []struct {
		limit int
		of    chat.Person
	}{{c.TokensPerDay, s.personOf(c)}, {s.TokensPerDay, chat.Person{}}} {
		if l.limit == 0 {
			continue
		}
		used, err := s.Store.Used(ctx, chat.UsageOf{Person: l.of, From: from, To: to})
		if err != nil {
			return s.storeError(ctx, "usage could not be read", err)
		}
		if used.Prompt+used.Completion >= l.limit {
			return &apiError{
				status: http.StatusTooManyRequests, kind: noQuota, code: noQuota, retryAfter: to.Sub(now), noRetry: true,
				message: "Today's limit of tokens is reached. It resets at midnight.",
			}
		}
	}
	return nil
}

// takeTurn counts one more turn of the client and returns 0. If the client has reached its limit of turns per minute,
// takeTurn does not count the turn, and returns how long the client must wait.
func (c *client) takeTurn(now time.Time) time.Duration {
	if c.TurnsPerMinute == 0 {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recentTurns = slices.DeleteFunc(c.recentTurns, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
	if len(c.recentTurns) >= c.TurnsPerMinute {
		return time.Minute - now.Sub(c.recentTurns[0])
	}
	c.recentTurns = append(c.recentTurns, now)
	return 0
}

func (s *Server) allowsOrigin(origin string) bool {
	return slices.Contains(s.Origins, "*") || slices.Contains(s.Origins, origin)
}

// answerCORS sets the headers that let web pages of the configured origins read responses
// (https://fetch.spec.whatwg.org/#http-cors-protocol). If the request is a preflight request, answerCORS answers it and
// returns true.
func (s *Server) answerCORS(w http.ResponseWriter, r *http.Request) (done bool) {
	origin := r.Header.Get("Origin")
	if len(s.Origins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	if origin == "" || !s.allowsOrigin(origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "X-Request-Id, Retry-After")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}
