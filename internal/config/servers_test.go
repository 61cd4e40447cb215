package config

import "testing"

func TestParseServers(t *testing.T) {
	t.Parallel()
	const names = "; use letters, digits and hyphens, at most 24"
	for text, want := range map[string]string{
		"mcp_servers: [{name: a_b, command: x}]":                             `4:16: invalid name "a_b" in mcp_servers[0]` + names,
		"mcp_servers: [{name: abcdefghijklmnopqrstuvwxy, command: x}]":       `4:16: invalid name "abcdefghijklmnopqrstuvwxy" in mcp_servers[0]` + names,
		"mcp_servers: [{name: a, command: x}, {name: a, command: y}]":        `4:39: duplicate name "a" in mcp_servers[1]; mcp_servers[0] has the same name`,
		"mcp_servers: [{name: a}]":                                           `4:15: neither command nor url in mcp_servers[0]; add "command: PROGRAM" or "url: https://host/path"`,
		"mcp_servers: [{name: a, command: x, url: \"http://h\"}]":            `4:37: both command and url in mcp_servers[0]; command starts a server, and url names one that already runs; remove one of them`,
		"mcp_servers: [{name: a, command: x, headers: {X: hidden}}]":         `4:37: headers without a url in mcp_servers[0]; remove them; a command takes env`,
		"mcp_servers: [{name: a, url: \"http://h\", args: [hidden]}]":        `4:42: args without a command in mcp_servers[0]; remove them`,
		"mcp_servers: [{name: a, url: \"http://h\", env: {K: hidden}}]":      `4:42: env without a command in mcp_servers[0]; remove them`,
		"mcp_servers: [{name: a, url: \"file:///hidden\"}]":                  `4:25: invalid URL in mcp_servers[0].url; write it as https://host/path`,
		"mcp_servers: [{name: a, url: \"https://ann:hidden@h\"}]":            `4:25: mcp_servers[0].url holds a user or a password; put the secret into headers`,
		"mcp_servers: [{name: a, url: \"http://h\", headers: {\"X Y\": z}}]": `4:52: invalid header name "X Y" in mcp_servers[0].headers`,
		"mcp_servers: [{name: f, command: x, read_only: [a, list], auto_approve: [b, list]}]": `4:77: "list" in mcp_servers[0].auto_approve is also in read_only; ` +
			`tools in read_only need no approval: remove it from auto_approve, or from read_only if it changes something`,
		"mcp_servers: [{name: f, command: x, auto_approve: [rm], deny: [rm]}]":           `4:52: "rm" in mcp_servers[0].auto_approve is also in deny; tools in deny are never offered: remove it from this list or from deny`,
		"mcp_servers: [{name: f, command: x, read_only: [rm], deny: [f_rm]}]":            `4:49: "rm" in mcp_servers[0].read_only is covered by "f_rm" in deny; tools in deny are never offered: remove it from this list or from deny`,
		"mcp_servers: [{name: f, command: x, auto_approve: [\"rm_*\"], deny: [\"r*\"]}]": `4:52: "rm_*" in mcp_servers[0].auto_approve is covered by "r*" in deny; tools in deny are never offered: remove it from this list or from deny`,
		"mcp_servers: [{name: f, command: x, auto_approve: [f_rm], deny: [\"r*\"]}]":     `4:52: "f_rm" in mcp_servers[0].auto_approve is covered by "r*" in deny; tools in deny are never offered: remove it from this list or from deny`,
		"agent: {pipeline: [{name: draft, model: mian}]}":                                `4:34: unknown model "mian" in agent.pipeline[0].model; did you mean "main"?`,
		"tools: {fetch: {allow_domains: [example.org, https://example.com]}}":            `4:46: invalid host "https://example.com" in tools.fetch.allow_domains; write example.org, or *.example.org for all below it`,
		"tools: {fetch: {allow_domains: [\"*\"]}}":                                       `4:33: invalid host "*" in tools.fetch.allow_domains; write example.org, or *.example.org for all below it`,
		"texts: {approval: May I}":                                                       `4:9: texts.approval does not say what is to be approved; write {what} where it belongs`,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("config.yaml", []byte(base+text+"\n"), nil)
			checkErrors(t, err, []string{want})
		})
	}
	mustParse(t, base+`mcp_servers:
  - {name: files, command: mcp-files, args: [--root, /srv], env: {K: v}, read_only: [list_files], auto_approve: [touch_file], deny: [delete_file], trust: true, timeout: 90s}
  - {name: search-2, url: "https://mcp.example.com/?key=x", headers: {Authorization: "Bearer x"}}
  - {name: all, command: x, read_only: ["list_*"], auto_approve: ["*"], deny: ["list_secret*", rm]}
agent: {pipeline: [{name: draft, model: main}, {name: polish}]}
tools: {fetch: {allow_domains: [example.org, "*.example.com", "[2001:db8::1]"]}}
texts: {approval: "Darf ich das?\n{what}\nja oder nein"}
`, nil)
}
