package config

import (
	"slices"
	"strings"
	"testing"
)

const baseText = `
models:
  - {name: main, base_url: "http://localhost/v1", model: m, headers: {x: one}}
  - {name: spare, base_url: "http://localhost/v1", model: n}
streaming: {enabled: true, telegram: {cursor: "|"}}
access: {allow: ["telegram:user:1"]}
mcp_servers: [{name: files, command: cat}]
platforms:
  telegram: {token: "1:a"}
  api: {kind: api_server, keys: [longenough]}
`

func TestChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		old, new string   // a part of baseText, and its replacement
		want     []string // expected result of Changes
		refused  string   // expected error of CheckReload; empty: no error
	}{
		{"", "", nil, ""},
		{`"1:a"`, `"1:b"`, []string{"platforms.telegram.token changed"}, ""},
		{`token: "1:a"`, `token: "1:a", mode: polling`, nil, ""}, // no change, because polling is the default mode
		{`  telegram: {token: "1:a"}`, `  telegram: {token: "1:a"}` + "\n  " + `support: {kind: telegram, token: "2:b"}`, []string{"platforms.support added"}, ""},
		{`  api: {kind: api_server, keys: [longenough]}`, ``, []string{"platforms.api removed"}, ""},
		{`keys: [longenough]`, `keys: [anotherlong]`, []string{"platforms.api.keys changed"}, ""},
		{`keys: [longenough]`, `keys: [longenough], max_requests: 3`, []string{"platforms.api.max_requests changed"}, "c.yaml:10:47: platforms.api.max_requests can't change"},
		{`telegram: {token: "1:a"}`, `telegram: {kind: homeassistant, url: "http://localhost", token: x}`, []string{"platforms.telegram.kind changed"}, "c.yaml:9:14: platforms.telegram.kind can't change"},
		{`cursor: "|"`, `cursor: "_"`, []string{"streaming.telegram.cursor changed"}, ""},
		{`model: m, headers: {x: one}`, `model: m2, headers: {x: two}`, []string{"models.main.model changed", "models.main.headers changed"}, ""},
		{`name: spare`, `name: other`, []string{"models.spare removed", "models.other added"}, ""},
		{`command: cat`, `command: tac`, []string{"mcp_servers.files.command changed"}, ""},
		{"access:", "log: {format: text, level: debug}\naccess:", []string{"log.level changed", "log.format changed"}, "c.yaml:6:7: log.format can't change"},
		{"access:", "admin: {listen: \"\"}\naccess:", []string{"admin.listen changed"}, ""},
		{"access:", "agent: {limits: {turn: 1m}, system_prompt: x}\naccess:", []string{"agent.system_prompt changed", "agent.limits.turn changed"}, ""},
	} {
		before, after := parsed(t, baseText), parsed(t, strings.Replace(baseText, c.old, c.new, 1))
		if got := Changes(before, after); !slices.Equal(got, c.want) {
			t.Errorf("%q for %q: got %q, want %q", c.new, c.old, got, c.want)
		}
		switch err := after.CheckReload(before); {
		case c.refused == "" && err != nil:
			t.Errorf("%q: refused: %v", c.new, err)
		case c.refused != "" && (err == nil || !strings.HasPrefix(err.Error(), c.refused)):
			t.Errorf("%q: got %v, want %q", c.new, err, c.refused)
		}
	}
	swapped := parsed(t, strings.Replace(strings.Replace(strings.Replace(baseText, "name: main", "name: x", 1), "name: spare", "name: main", 1), "name: x", "name: spare", 1))
	if len(Changes(parsed(t, baseText), swapped)) == 0 {
		t.Error("models in another order are no change")
	}
	off := parsed(t, baseText+"\nadmin: {listen: \"\"}")
	if err := parsed(t, baseText).CheckReload(off); err == nil {
		t.Error("an admin address is let come into being")
	}
}

func parsed(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Parse("c.yaml", []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	return c
}
