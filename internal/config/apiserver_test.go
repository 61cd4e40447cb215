package config

import (
	"strings"
	"testing"
)

func TestAPIServerSettings(t *testing.T) {
	t.Parallel()
	c := mustParse(t, base+`  api: {kind: api_server, keys: [first-key, {name: laptop, key: second-key, turns_per_minute: 5, tokens_per_day: 6}], cors_origins: ["https://a.example"]}
`, nil)
	s := settingsOf[APIServer](c.Endpoints[1])
	if len(s.Keys) != 2 || s.Keys[0].Reveal() != "first-key" || !strings.HasPrefix(s.Keys[0].Name, "key-") || s.Keys[1].Name != "laptop" ||
		s.Keys[1].Reveal() != "second-key" || s.Keys[1].TurnsPerMinute != 5 || s.Keys[1].TokensPerDay != 6 || !s.SessionsByUser || s.MaxRequests != 64 {
		t.Errorf("got %+v", s)
	}
	if strings.Contains(s.Keys[0].Name, "first") {
		t.Errorf("the name %s tells of the key", s.Keys[0].Name)
	}
	mustParse(t, base+"  api_server: {}\n", nil) // the default address is a loopback address, so no keys are needed
	for _, tt := range []struct{ settings, want string }{
		{`listen: "0.0.0.0:8642"`, "no keys in platforms.api_server, which other machines can reach"},
		{`listen: ":8642", keys: []`, "no keys in platforms.api_server"},
		{`listen: nowhere`, `invalid listen address "nowhere"`},
		{`keys: [""]`, "empty key in platforms.api_server.keys[0]"},
		{`keys: [{name: a}]`, `missing key "key" in platforms.api_server.keys[0]`},
		{`keys: [{name: a, kye: b}]`, `unknown key "kye"`},
		{`keys: [{name: "a b", key: c}]`, "invalid name"},
		{`keys: [{name: a, key: b}, {name: a, key: c}]`, "duplicate name"},
		{`keys: [same, same]`, "duplicate key in platforms.api_server.keys[1]"},
		{`cors_origins: ["example.org"]`, "invalid origin"},
		{`max_requests: 0`, "max_requests"},
	} {
		_, err := Parse("config.yaml", []byte(base+"  api_server: {"+tt.settings+"}\n"), nil)
		if got := errorText(err); !strings.Contains(got, tt.want) || !strings.Contains(got, "config.yaml:4:") {
			t.Errorf("%s: got %q, want %q with its place", tt.settings, got, tt.want)
		}
	}
}
