package config

import (
	"strings"
	"testing"
)

// These are the tokens that the stand-ins of the platforms print.
const (
	standinDiscord  = "MTAwMDAwMDAwMDAwMDAwMDAx.standin.ForLocalUseOnly-000000000000000000"
	standinSlackBot = "xoxb-standin-local-use-only"
	standinSlackApp = "xapp-standin-local-use-only"
)

// TestAccountErrors breaks each rule about accounts, and compares the error with the exact expected text. No error may show a
// value that contains "hidden".
func TestAccountErrors(t *testing.T) {
	t.Parallel()
	const (
		discord = "  discord: {token: " + standinDiscord
		slack   = "  slack: {bot_token: " + standinSlackBot
		modes   = "app_token for Socket Mode, or signing_secret and listen for events by HTTP"
		parts   = "; a token is three parts with a dot between them; it is on the application's page Bot, not the client secret or the public key"
		isBot   = "bot_token is the Bot User OAuth Token (xoxb-) of the page OAuth & Permissions"
		isApp   = "app_token is the app-level token (xapp-) of the page Basic Information"
	)
	tests := []struct {
		name, text string
		want       []string // expected errors, without the file's name
	}{
		{"no Discord token", "  discord: {threads: true}\n", []string{
			`4:3: missing key "token" in platforms.discord; add "token: ${NAME}" or "token_file: PATH"`,
		}},
		{"empty Discord token", "  discord: {token: }\n", []string{
			`4:20: empty token in platforms.discord; write "token: ${NAME}" or "token_file: PATH"`,
		}},
		{"client secret", "  discord: {token: hiddenhiddenhidden}\n", []string{"4:13: invalid Discord token in platforms.discord" + parts}},
		{"two parts", "  discord: {token: hidden.hidden}\n", []string{"4:13: invalid Discord token in platforms.discord" + parts}},
		{"Discord token with its scheme", "  discord: {token: Bot hidden.hidden.hidden}\n", []string{
			`4:13: invalid Discord token in platforms.discord; write the token alone, without "Bot " in front`,
		}},
		{"Discord's API as base", discord + ", api_base: \"https://discord.com/api/v10\"}\n", []string{
			"4:89: platforms.discord.api_base has a path; write the host alone, such as https://discord.com",
		}},
		{"Discord's base is none", discord + ", api_base: discord.com}\n", []string{
			"4:89: invalid URL in platforms.discord.api_base; write it as https://host/path",
		}},
		{"one Discord token twice", discord + "}\n  b: {kind: discord, token: " + standinDiscord + "}\n", []string{
			"5:22: the token of platforms.b is also that of platforms.discord; every bot needs its own",
		}},

		{"no bot token", "  slack: {app_token: " + standinSlackApp + "}\n", []string{
			`4:3: missing key "bot_token" in platforms.slack; add "bot_token: ${NAME}" or "bot_token_file: PATH"`,
		}},
		{"swapped tokens", "  slack: {bot_token: xapp-hidden, app_token: xoxb-hidden}\n", []string{
			"4:11: invalid bot token of Slack in platforms.slack; this one belongs in app_token; " + isBot,
			"4:35: invalid app-level token of Slack in platforms.slack; this one belongs in bot_token; " + isApp,
		}},
		{"a person's token", "  slack: {bot_token: xoxp-hidden, app_token: xapp-1}\n", []string{
			"4:11: invalid bot token of Slack in platforms.slack; this one is a person's; " + isBot,
		}},
		{"a token that expires", "  slack: {bot_token: xoxe.xoxb-hidden, app_token: xapp-1}\n", []string{
			"4:11: invalid bot token of Slack in platforms.slack; this one expires: turn token rotation off and install the app again; " + isBot,
		}},
		{"something else", "  slack: {bot_token: hidden, app_token: hidden}\n", []string{
			"4:11: invalid bot token of Slack in platforms.slack; " + isBot,
			"4:30: invalid app-level token of Slack in platforms.slack; " + isApp,
		}},
		{"no way for events", slack + "}\n", []string{`4:3: missing key "app_token" in platforms.slack; add ` + modes}},
		{"both ways", slack + ", app_token: xapp-1, signing_secret: hidden, listen: \":8645\"}\n", []string{
			"4:70: both app_token and signing_secret in platforms.slack; keep " + modes,
		}},
		{"Socket Mode with an address", slack + ", app_token: xapp-1, listen: \":8645\"}\n", []string{
			"4:70: both app_token and listen in platforms.slack; remove the line; Socket Mode needs no address",
		}},
		{"secret without an address", slack + ", signing_secret: hidden}\n", []string{
			`4:3: missing key "listen" in platforms.slack; add "listen: 127.0.0.1:8645"`,
		}},
		{"address without a secret", slack + ", listen: \":8645\"}\n", []string{
			`4:3: missing key "signing_secret" in platforms.slack; add "signing_secret: ${NAME}" or "signing_secret_file: PATH"`,
		}},
		{"token as the secret", slack + ", signing_secret: xoxb-hidden, listen: \":8645\"}\n", []string{
			"4:51: platforms.slack.signing_secret holds a token, not the signing secret; the Signing Secret is on the app's page Basic Information",
		}},
		{"port alone", slack + ", signing_secret: hidden, listen: 8645}\n", []string{
			`4:75: invalid listen address "8645" in platforms.slack.listen; write it as 127.0.0.1:8645`,
		}},
		{"URL as the address", slack + ", signing_secret: hidden, listen: \"https://a.example:443\"}\n", []string{
			`4:75: invalid listen address "https://a.example:443" in platforms.slack.listen; write it as 127.0.0.1:8645`,
		}},
		{"port 0", slack + ", signing_secret: hidden, listen: \"127.0.0.1:0\"}\n", []string{
			`4:75: invalid listen address "127.0.0.1:0" in platforms.slack.listen; write it as 127.0.0.1:8645`,
		}},
		{"missing variable is said once", "  slack: {bot_token: \"${NONE}\", app_token: \"${NONE}\"}\n", []string{
			"4:22: environment variable NONE is not set, in platforms.slack.bot_token; set it, or write $${ for a literal ${",
			"4:44: environment variable NONE is not set, in platforms.slack.app_token; set it, or write $${ for a literal ${",
		}},
		{"one Slack token twice", slack + ", app_token: xapp-1}\n  b: {kind: slack, bot_token: " + standinSlackBot + ", app_token: xapp-2}\n", []string{
			"5:20: the token of platforms.b is also that of platforms.slack; every bot needs its own",
		}},
		{"one address twice", slack + ", signing_secret: s, listen: \":8645\"}\n  b: {kind: slack, bot_token: xoxb-2, signing_secret: s, listen: \":8645\"}\n", []string{
			"5:58: the address of platforms.b is also that of platforms.slack; every endpoint needs its own",
		}},

		{"ids", discord + "}\n" + slack + ", app_token: xapp-1}\n" +
			"access: {admins: [\"discord:user:ann\"], allow: [\"discord:chat:#a\", \"slack:user:ann\", \"slack:chat:general\", \"slack:user:C012\"]}\n", []string{
			`6:19: invalid Discord id in pattern "discord:user:ann" in access.admins[0]; Discord's ids are numbers; with Developer Mode on, a right click copies them`,
			`6:48: invalid Discord id in pattern "discord:chat:#a" in access.allow[0]; Discord's ids are numbers; with Developer Mode on, a right click copies them`,
			`6:67: invalid Slack id in pattern "slack:user:ann" in access.allow[1]; a person's id begins with U or W; the profile's menu copies it`,
			`6:85: invalid Slack id in pattern "slack:chat:general" in access.allow[2]; a channel's id begins with C, D or G; it is at the end of the channel's details`,
			`6:107: invalid Slack id in pattern "slack:user:C012" in access.allow[3]; a person's id begins with U or W; the profile's menu copies it`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("config.yaml", []byte(base+tt.text), testEnv(nil))
			checkErrors(t, err, tt.want)
			if err != nil && (strings.Contains(err.Error(), "hidden") || strings.Contains(err.Error(), "standin")) {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

// Parse must not change valid values, except that it removes the trailing slash of a base URL.
func TestAccounts(t *testing.T) {
	t.Parallel()
	c := mustParse(t, base+`  discord: {token: `+standinDiscord+`, api_base: "http://127.0.0.1:8083/", threads: true}
  real: {kind: discord, token: "MTIzNDU2Nzg5MDEyMzQ1Njc4OQ.G_a-bC.x_y-ZABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"}
  slack: {bot_token: `+standinSlackBot+`, app_token: `+standinSlackApp+`, api_base: "http://127.0.0.1:8084/api"}
  http: {kind: slack, bot_token: xoxb-1-2-aB3, signing_secret: standin-signing-secret-local-use-only, listen: ":8645"}
access: {allow: ["discord:user:100000000000000001", "discord:chat:2", "slack:user:U7", "http:user:W0A", "slack:chat:C1", "slack:chat:D1", "http:chat:G1", "discord:*"]}
`, nil)
	got := []string{
		settingsOf[Discord](c.Endpoints[1]).Token.Reveal(), settingsOf[Discord](c.Endpoints[1]).APIBase, settingsOf[Discord](c.Endpoints[2]).APIBase,
		settingsOf[Slack](c.Endpoints[3]).APIBase, settingsOf[Slack](c.Endpoints[4]).APIBase, settingsOf[Slack](c.Endpoints[4]).Listen,
	}
	want := []string{
		standinDiscord, "http://127.0.0.1:8083", "https://discord.com",
		"http://127.0.0.1:8084/api/", "https://slack.com/api/", ":8645",
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("value %d = %q, want %q", i, got[i], want[i])
		}
	}
	if !settingsOf[Discord](c.Endpoints[1]).Threads || len(c.Warnings) > 0 || len(c.Access.Allow) != 8 {
		t.Errorf("threads = %v, warnings = %q, patterns = %v", settingsOf[Discord](c.Endpoints[1]).Threads, c.Warnings, c.Access.Allow)
	}
	if text := show(t, c); strings.Contains(text, "standin") || strings.Contains(text, "xoxb-") {
		t.Errorf("Show prints a secret:\n%s", text)
	}
}

// Somebody has copied only a part of a token, or the token contains characters that are not valid in a URL. Parse must report
// such a token as an error, so that telex never sends it to the platform.
func TestTokensThatWereCut(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`kind: telegram, token: "1:secret "`, `kind: telegram, token: "1:a/b"`, `kind: telegram, token: "4242"`, `kind: telegram, token: ":AA-secret_token"`,
		`kind: discord, token: "x"`, `kind: discord, token: "a.b"`, `kind: discord, token: "a.b.c d"`, `kind: discord, token: "a.b.c\n"`, `kind: discord, token: "Bot a.b.c"`,
		`kind: slack, bot_token: xoxp-1, app_token: xapp-1`, `kind: slack, bot_token: xoxb-1, app_token: xoxb-1`,
		`kind: slack, bot_token: xoxb-1, signing_secret: s`, `kind: slack, bot_token: xoxb-1, listen: ":1"`, `kind: slack, app_token: xapp-1`,
		`kind: slack, bot_token: xoxb-1, app_token: xapp-1, signing_secret: s`, `kind: slack, bot_token: xoxb-1`,
		`kind: slack, bot_token: xoxb-1, app_token: xapp-1, listen: ":1"`, `kind: slack, bot_token: xoxb-1, app_token: xapp-1, api_base: slack.com/api`,
		`kind: discord, token: a.b.c, api_base: discord.com`, `kind: discord, token: a.b.c, api_base: "ftp://x"`, `kind: discord, token: a.b.c, api_base: "http://"`,
		`kind: telegram, token: "1:a", api_base: api.telegram.org`, `kind: telegram, token: "1:a", api_base: "http://[1"`,
	} {
		if _, err := Parse("config.yaml", []byte(base+"  b: {"+line+"}\n"), testEnv(nil)); err == nil {
			t.Errorf("%s is taken", line)
		}
	}
}
