package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"

	"gopkg.in/yaml.v3"
)

// APIServer configures an OpenAI-compatible server.
type APIServer struct {
	Listen      string   `yaml:"listen"` // host:port
	Keys        []APIKey `yaml:"keys"`   // empty: requests need no key; Listen must then be a loopback address
	CORSOrigins []string `yaml:"cors_origins"`
	MaxRequests int      `yaml:"max_requests" min:"1" max:"10000"` // maximum number of simultaneous requests
	// SessionsByUser means that the field user in a request selects a session, as the header X-Telex-Session does.
	SessionsByUser bool `yaml:"sessions_by_user"`
}

// APIKey is a client's key for the API server, with the client's limits. In config.yaml, an APIKey is either a mapping
// or just the key.
type APIKey struct {
	Secret         `yaml:"key" required:"true"`
	Name           string `yaml:"name"`                                      // client's name in logs and usage; default: generated from the key
	TurnsPerMinute int    `yaml:"turns_per_minute" min:"0" max:"100000"`     // 0: no limit
	TokensPerDay   int    `yaml:"tokens_per_day" min:"0" max:"100000000000"` // 0: no limit
}

func (k *APIKey) decode(d *decoder, path string, n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		d.structure(path, n, valueOf(k))
		return
	}
	before := len(d.errs)
	if d.secret(path, n, valueOf(&k.Secret), tags{allow: "empty"}); k.Empty() && len(d.errs) == before {
		d.fail(n, "write the key, such as ${TELEX_API_KEY}, or leave the entry out", "empty key in %s", displayPath(path))
	}
}

// keyName matches a valid name of a key. The name is used as a user id, in "endpoint:user:NAME".
var keyName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func (d *decoder) validateAPIServer(at string, s *APIServer) {
	listen, keys := join(at, "listen"), join(at, "keys")
	if !d.isValid(listen) || !d.isValid(keys) {
		return
	}
	if !isAddress(s.Listen) {
		d.failAt(d.at(listen), "write it as 127.0.0.1:8642", "invalid listen address %s in %s", d.quotedAt(listen), displayPath(listen))
		return
	}
	if host, _, _ := net.SplitHostPort(s.Listen); len(s.Keys) == 0 && !isLoopback(host) {
		d.failAt(d.at(keys), `add "keys: [${TELEX_API_KEY}]" or "keys_file: PATH", or listen on 127.0.0.1`,
			"no keys in %s, which other machines can reach", displayPath(at))
	}
	d.validateKeys(keys, s.Keys)
	for i, origin := range s.CORSOrigins {
		where := join(join(at, "cors_origins"), strconv.Itoa(i))
		u, err := url.Parse(origin)
		if d.isValid(where) && origin != "*" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || origin != u.Scheme+"://"+u.Host) {
			d.failAt(d.at(where), "write it as https://host or https://host:port", "invalid origin %s in %s", d.quotedAt(where), displayPath(where))
		}
	}
}

// validateKeys checks that all keys and their names are unique. validateKeys generates a name for each key that has
// none.
func (d *decoder) validateKeys(at string, keys []APIKey) {
	names, secrets := make(map[string]int), make(map[string]int)
	for i := range keys {
		k, where := &keys[i], join(at, strconv.Itoa(i))
		if k.Name == "" {
			sum := sha256.Sum256([]byte(k.Reveal()))
			k.Name = "key-" + hex.EncodeToString(sum[:4])
		}
		before, twice := secrets[k.Reveal()]
		other, named := names[k.Name]
		switch {
		case twice:
			d.failAt(d.at(where), fmt.Sprintf("%s[%d] has the same key", displayPath(at), before), "duplicate key in %s", displayPath(where))
		case !keyName.MatchString(k.Name):
			d.failAt(d.at(join(where, "name")), "use letters, digits, ., _ and -, at most 64", "invalid name %s in %s", d.quotedAt(join(where, "name")), displayPath(where))
		case named:
			d.failAt(d.at(join(where, "name")), fmt.Sprintf("%s[%d] has the same name", displayPath(at), other), "duplicate name %s in %s", d.quotedAt(join(where, "name")), displayPath(where))
		}
		secrets[k.Reveal()], names[k.Name] = i, i
	}
}
