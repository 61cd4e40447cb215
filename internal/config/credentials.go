package config

import (
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// These expressions match the formats of credentials that the platforms document. With these expressions, telex recognizes a
// value that was pasted into the wrong key. Only the platform can say whether a token is valid.
var (
	// telegramToken matches a bot's id and its secret: https://core.telegram.org/bots/api#authorizing-your-bot
	telegramToken = regexp.MustCompile(`^[0-9]+:[A-Za-z0-9_-]+$`)
	// telegramSecret matches valid values of secret_token: https://core.telegram.org/bots/api#setwebhook
	telegramSecret = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)
	// discordToken matches three parts in base64url, separated by dots. The first of the three parts is the bot's id:
	// https://docs.discord.com/developers/reference#authentication
	discordToken = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$`)
	// Slack's tokens begin with a prefix that shows their kind: https://docs.slack.dev/authentication/tokens
	slackBotToken = regexp.MustCompile(`^xoxb-[A-Za-z0-9-]+$`)
	slackAppToken = regexp.MustCompile(`^xapp-[A-Za-z0-9-]+$`)
	// phoneNumberID matches the id that Meta gives a phone number. graphVersion matches the version in a URL of
	// Meta's API: https://developers.facebook.com/docs/graph-api/guides/versioning
	phoneNumberID = regexp.MustCompile(`^[0-9]+$`)
	graphVersion  = regexp.MustCompile(`/v[0-9]+\.[0-9]+$`)
)

// validateEndpoints validates each endpoint. validateEndpoints also checks that no two endpoints use the same account:
// two receivers with the same token would interrupt each other again and again.
func (d *decoder) validateEndpoints(endpoints Endpoints) {
	first := make(map[[3]string]string) // maps each value that must be unique to the first endpoint that has this value
	for _, e := range endpoints {
		at := join("platforms", e.Name)
		own := func(key, what, hint string, id [3]string) {
			if id[2] == "" {
				return
			}
			if other, twice := first[id]; twice {
				d.failAt(d.at(join(at, key)), hint, "the %s of %s is also that of platforms.%s", what, displayPath(at), other)
			}
			first[id] = e.Name
		}
		const ownBot = "every bot needs its own"
		switch s := e.Settings.(type) {
		case *Telegram:
			d.validateTelegram(at, s)
			own("token", "token", ownBot, [3]string{e.Kind, s.APIBase, s.Token.Reveal()})
			if h := s.Hook(); h != nil {
				own("webhook.listen", "address", "every endpoint needs its own", [3]string{"", "", h.Listen})
			}
		case *Discord:
			d.validateDiscord(at, s)
			own("token", "token", ownBot, [3]string{e.Kind, s.APIBase, s.Token.Reveal()})
		case *Slack:
			d.validateSlack(at, s)
			own("bot_token", "token", ownBot, [3]string{e.Kind, s.APIBase, s.BotToken.Reveal()})
			own("listen", "address", "every endpoint needs its own", [3]string{"", "", s.Listen})
		case *WhatsApp:
			d.validateWhatsApp(at, s)
			own("phone_number_id", "phone number", "every number needs one endpoint", [3]string{e.Kind, s.APIBase, s.PhoneNumberID})
			own("listen", "address", "every endpoint needs its own", [3]string{"", "", s.Listen})
		case *HomeAssistant:
			d.validateHomeAssistant(at, s)
		case *APIServer:
			d.validateAPIServer(at, s)
			own("listen", "address", "every endpoint needs its own", [3]string{"", "", s.Listen})
		}
	}
}

func (d *decoder) validateTelegram(at string, t *Telegram) {
	base := d.validateURL(join(at, "api_base"), &t.APIBase)
	if !t.Token.Empty() && !telegramToken.MatchString(t.Token.Reveal()) {
		d.failAt(d.at(join(at, "token")), "a token is digits, a colon, and letters, digits, - and _", "invalid Telegram token in %s", displayPath(at))
	}
	hook, mode := join(at, "webhook"), join(at, "mode")
	switch {
	case t.Webhook != nil:
		if !d.isSet(mode) {
			t.Mode = ModeWebhook
		}
		d.validateTelegramHook(hook, t.Webhook, base != nil && isPrivate(base.Hostname()))
	case t.Mode == ModeWebhook && d.isValid(hook):
		d.failAt(d.at(mode), `add "webhook: {listen: 127.0.0.1:8644, url: https://bot.example.com/telegram, secret: ${NAME}}"`,
			"missing key %q in %s", "webhook", displayPath(at))
	}
}

// validateTelegramHook validates the webhook of a Telegram bot. If own is true, the endpoint uses a Bot API server of the
// operator's own, which accepts any URL. https://core.telegram.org/bots/api#setwebhook
func (d *decoder) validateTelegramHook(at string, w *TelegramWebhook, own bool) {
	d.validateListen(join(at, "listen"), w.Listen, "127.0.0.1:8644")
	address := join(at, "url")
	if d.isSet(address) && d.isValid(address) {
		u := d.parseURL(address, w.URL, "secret")
		switch {
		case u == nil || own:
		case u.Scheme != "https":
			d.failAt(d.at(address), "let a proxy in front of telex speak TLS, and write https://", "Telegram calls only https: %s", displayPath(address))
		case !slices.Contains([]string{"", "443", "80", "88", "8443"}, u.Port()):
			d.failAt(d.at(address), "use 443, 80, 88 or 8443", "Telegram calls no port %s: %s", u.Port(), displayPath(address))
		}
	}
	if secret := w.Secret.Reveal(); secret != "" && !telegramSecret.MatchString(secret) {
		d.failAt(d.at(join(at, "secret")), "use 1 to 256 characters of A-Z, a-z, 0-9, _ and -, for example of: openssl rand -hex 32",
			"invalid secret in %s", displayPath(at))
	}
}

func (d *decoder) validateDiscord(at string, c *Discord) {
	base := join(at, "api_base")
	if u := d.validateURL(base, &c.APIBase); u != nil && u.Path != "" && u.Path != "/" {
		d.failAt(d.at(base), "write the host alone, such as https://discord.com", "%s has a path", displayPath(base))
	}
	token := c.Token.Reveal()
	if token == "" || discordToken.MatchString(token) {
		return
	}
	hint := "a token is three parts with a dot between them; it is on the application's page Bot, not the client secret or the public key"
	if strings.HasPrefix(strings.ToLower(token), "bot ") {
		hint = `write the token alone, without "Bot " in front`
	}
	d.failAt(d.at(join(at, "token")), hint, "invalid Discord token in %s", displayPath(at))
}

func (d *decoder) validateSlack(at string, s *Slack) {
	if u := d.validateURL(join(at, "api_base"), &s.APIBase); u != nil {
		s.APIBase += "/" // the Slack client appends method names to APIBase
	}
	if token := s.BotToken.Reveal(); token != "" && !slackBotToken.MatchString(token) {
		d.failAt(d.at(join(at, "bot_token")), slackHint(token, "bot_token"), "invalid bot token of Slack in %s", displayPath(at))
	}
	if token := s.AppToken.Reveal(); token != "" && !slackAppToken.MatchString(token) {
		d.failAt(d.at(join(at, "app_token")), slackHint(token, "app_token"), "invalid app-level token of Slack in %s", displayPath(at))
	}
	if secret := s.SigningSecret.Reveal(); strings.HasPrefix(secret, "xox") || strings.HasPrefix(secret, "xapp-") {
		d.failAt(d.at(join(at, "signing_secret")), "the Signing Secret is on the app's page Basic Information",
			"%s holds a token, not the signing secret", displayPath(join(at, "signing_secret")))
	}
	d.validateSlackMode(at, s)
}

// validateSlackMode checks that a Slack app is configured to receive events in exactly one way, either by Socket Mode or by
// HTTP.
func (d *decoder) validateSlackMode(at string, s *Slack) {
	const modes = "app_token for Socket Mode, or signing_secret and listen for events by HTTP"
	listen := join(at, "listen")
	socket, signed, listens := d.isSet(join(at, "app_token")), d.isSet(join(at, "signing_secret")), d.isSet(listen)
	switch {
	case socket && signed:
		d.failAt(d.at(join(at, "signing_secret")), "keep "+modes, "both app_token and signing_secret in %s", displayPath(at))
	case socket && listens:
		d.failAt(d.at(listen), "remove the line; Socket Mode needs no address", "both app_token and listen in %s", displayPath(at))
	case !socket && !signed && !listens:
		d.failAt(d.at(at), "add "+modes, "missing key %q in %s", "app_token", displayPath(at))
	case !socket && !signed:
		d.failAt(d.at(at), `add "signing_secret: ${NAME}" or "signing_secret_file: PATH"`, "missing key %q in %s", "signing_secret", displayPath(at))
	case !socket && !listens:
		d.failAt(d.at(at), `add "listen: 127.0.0.1:8645"`, "missing key %q in %s", "listen", displayPath(at))
	}
	d.validateListen(listen, s.Listen, "127.0.0.1:8645")
}

func (d *decoder) validateWhatsApp(at string, w *WhatsApp) {
	base := join(at, "api_base")
	if u := d.validateURL(base, &w.APIBase); u != nil && graphVersion.MatchString(strings.TrimRight(u.Path, "/")) {
		d.failAt(d.at(base), "telex adds the version of the API", "%s has a version", displayPath(base))
	}
	if number := join(at, "phone_number_id"); d.isSet(number) && d.isValid(number) && !phoneNumberID.MatchString(w.PhoneNumberID) {
		d.failAt(d.at(number), "write the id of the number, which is digits only, not the number", "invalid %s: %s", displayPath(number), d.quotedAt(number))
	}
	d.validateListen(join(at, "listen"), w.Listen, "127.0.0.1:8646")
}

// validateListen validates a listen address. The parameter at is the path of the address's key. An empty address is valid.
func (d *decoder) validateListen(at, address, example string) {
	if d.isSet(at) && d.isValid(at) && !isAddress(address) {
		d.failAt(d.at(at), "write it as "+example, "invalid listen address %s in %s", d.quotedAt(at), displayPath(at))
	}
}

// slackHint returns a hint that says which kind of token a key needs, and which kind the given token is.
func slackHint(token, key string) string {
	const bot, app = "the Bot User OAuth Token (xoxb-) of the page OAuth & Permissions", "the app-level token (xapp-) of the page Basic Information"
	is := ""
	switch {
	case strings.HasPrefix(token, "xoxe"):
		is = "this one expires: turn token rotation off and install the app again; "
	case key == "bot_token" && strings.HasPrefix(token, "xapp-"):
		is = "this one belongs in app_token; "
	case key == "app_token" && strings.HasPrefix(token, "xoxb-"):
		is = "this one belongs in bot_token; "
	case strings.HasPrefix(token, "xoxp-"):
		is = "this one is a person's; "
	}
	if key == "app_token" {
		return is + "app_token is " + app
	}
	return is + "bot_token is " + bot
}

// isAddress reports whether a text is a valid listen address: an optional host and a port number.
func isAddress(text string) bool {
	host, port, err := net.SplitHostPort(text)
	if err != nil || strings.ContainsAny(host, " /@") {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}
