package config

import (
	"errors"
	"strings"
	"testing"
)

// The test cases append their text to base, whose last line, line 3, is in the section platforms.
func TestTelegramWebhook(t *testing.T) {
	t.Parallel()
	const good = "listen: 127.0.0.1:8644, url: https://bot.example.com/telegram, secret: hidden_-1"
	for _, tt := range []struct{ settings, want string }{
		{"mode: webhook, webhook: {" + good + "}", ""},
		{"webhook: {" + good + "}", ""},
		{"mode: polling, webhook: {" + good + "}", ""},
		{"mode: webhook", `:35: missing key "webhook" in platforms.b; add "webhook: {listen: 127.0.0.1:8644, url: https://bot.example.com/telegram, secret: ${NAME}}"`},
		{"webhook: {}", `:35: missing key "listen" in platforms.b.webhook`},
		{"webhook: {url: https://e.org, secret: hidden}", `missing key "listen" in platforms.b.webhook`},
		{"webhook: {listen: 127.0.0.1:1, url: https://e.org}", `missing key "secret" in platforms.b.webhook`},
		{"webhook: {listen: 127.0.0.1:1, url: \"http://e.org\", secret: hidden}", "Telegram calls only https: platforms.b.webhook.url"},
		{"webhook: {listen: 127.0.0.1:1, url: \"https://e.org:8444/x\", secret: hidden}", "Telegram calls no port 8444: platforms.b.webhook.url; use 443, 80, 88 or 8443"},
		{"webhook: {listen: 127.0.0.1:1, url: \"https://u:hidden@e.org\", secret: x}", "platforms.b.webhook.url holds a user or a password; put the secret into secret"},
		{"webhook: {listen: 127.0.0.1:1, url: nothing, secret: hidden}", "invalid URL in platforms.b.webhook.url"},
		{"webhook: {listen: nowhere, url: https://e.org, secret: hidden}", `invalid listen address "nowhere" in platforms.b.webhook.listen`},
		{"webhook: {listen: 127.0.0.1:1, url: https://e.org, secret: \"hidden!\"}", "invalid secret in platforms.b.webhook; use 1 to 256 characters of A-Z"},
		{"webhook: {listen: 127.0.0.1:1, url: https://e.org, secret: \"" + strings.Repeat("h", 257) + "\"}", "invalid secret in platforms.b.webhook"},
		{"webhook: {listen: 127.0.0.1:1, url: https://e.org, secret: hidden, port: 3}", "unknown key"},
		{"api_base: \"http://127.0.0.1:8081\", webhook: {listen: 127.0.0.1:1, url: \"http://127.0.0.1:1/x\", secret: hidden}", ""},
	} {
		c, err := Parse("config.yaml", []byte(base+"  b: {kind: telegram, token: 2:x, "+tt.settings+"}\n"), nil)
		switch {
		case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: got %v, want %q", tt.settings, err, tt.want)
		case err != nil && strings.Contains(err.Error(), "hidden"):
			t.Errorf("%s: the error shows a secret: %v", tt.settings, err)
		case err != nil:
			var all Errors
			if !errors.As(err, &all) || all[0].Line != 4 {
				t.Errorf("%s: got %v, want it in line 4", tt.settings, err)
			}
		default:
			b, ok := c.Endpoints[len(c.Endpoints)-1].Settings.(*Telegram)
			polls := strings.Contains(tt.settings, "polling")
			if !ok || (b.Hook() == nil) != polls || (len(c.Listens()) == 1) != polls {
				t.Errorf("%s: got %+v", tt.settings, b)
			}
		}
	}
	one := "  b: {kind: telegram, token: 2:x, webhook: {" + good + "}}\n"
	_, err := Parse("config.yaml", []byte(base+one+strings.NewReplacer("b:", "c:", "2:x", "3:x").Replace(one)), nil)
	if err == nil || !strings.Contains(err.Error(), "5:") || !strings.Contains(err.Error(), "the address of platforms.c is also that of platforms.b") {
		t.Errorf("one address twice: got %v", err)
	}
}
