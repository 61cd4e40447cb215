package main

import (
	"strings"
	"testing"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// No log may contain the secrets in a server's arguments, even if the server itself prints them.
func TestSecretsInArgumentsAreMasked(t *testing.T) {
	t.Parallel()
	const secret = "first-secret-17"
	w := newWorld(t, telegram.Options{}, openai.Options{})
	config := w.config(sections{more: `mcp_servers: [{name: leaky, command: sh, args: [-c, 'echo "started with $1" >&2; exec sleep 60', sh, "--token=` + secret + `"]}]`})
	p := launch{}.start(t, "run", "--config", config)
	p.awaitLog("MCP server says", 1)
	p.stop()
	if all := p.stderr.String(); strings.Contains(all, secret) || !strings.Contains(all, "started with --token=[redacted]") {
		t.Errorf("the log says\n%s", all)
	}
	shown := launch{}.start(t, "config", "show", "--config", config)
	if code := shown.exit(patience); code != exitDone || strings.Contains(shown.stdout.String(), secret) {
		t.Errorf("exit %d, shows\n%s", code, shown.stdout)
	}
}
