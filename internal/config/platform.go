package config

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// These are the kinds of platforms.
const (
	KindTelegram      = "telegram"
	KindDiscord       = "discord"
	KindSlack         = "slack"
	KindWhatsApp      = "whatsapp"
	KindHomeAssistant = "homeassistant"
	KindAPIServer     = "api_server"
)

// Endpoint is a configured bot account on a platform, or an API server.
type Endpoint struct {
	Name string // the endpoint's key in the section platforms
	Kind string
	// Settings has a type that depends on Kind: *Telegram, *Discord, *Slack, *WhatsApp, *HomeAssistant or *APIServer.
	Settings any
}

// Telegram contains the settings of a bot on Telegram.
type Telegram struct {
	Token   Secret           `yaml:"token" required:"true"`
	APIBase string           `yaml:"api_base"`                    // without a trailing slash
	Mode    string           `yaml:"mode" enum:"polling|webhook"` // default: polling, or webhook if a webhook is configured
	Webhook *TelegramWebhook `yaml:"webhook"`                     // nil: no webhook is configured
	Rich    string           `yaml:"rich" enum:"off|auto|always"`
}

// These are the modes in which a Telegram bot receives updates.
const (
	ModePolling = "polling"
	ModeWebhook = "webhook"
)

// TelegramWebhook configures how Telegram delivers updates if mode is webhook.
type TelegramWebhook struct {
	Listen string `yaml:"listen" required:"true"` // host:port
	URL    string `yaml:"url" required:"true"`    // the URL that Telegram calls
	Secret Secret `yaml:"secret" required:"true"`
}

// Hook returns the webhook by which the bot receives updates, or nil if the bot polls instead.
func (t *Telegram) Hook() *TelegramWebhook {
	if t.Mode != ModeWebhook {
		return nil
	}
	return t.Webhook
}

// Discord contains the settings of a bot on Discord.
type Discord struct {
	Token   Secret `yaml:"token" required:"true"`
	APIBase string `yaml:"api_base"` // scheme and host, without a trailing slash
	Threads bool   `yaml:"threads"`
	// MessageContent requests Discord's privileged intent "Message Content". Without this intent, Discord does not send the bot
	// the text of messages that don't mention the bot.
	MessageContent bool `yaml:"message_content"`
}

// Slack contains the settings of an app on Slack. The app receives events either by Socket Mode (AppToken) or by HTTP
// (SigningSecret and Listen).
type Slack struct {
	BotToken      Secret `yaml:"bot_token" required:"true"`
	AppToken      Secret `yaml:"app_token"`
	SigningSecret Secret `yaml:"signing_secret"`
	Listen        string `yaml:"listen"`   // host:port
	APIBase       string `yaml:"api_base"` // with a trailing slash
}

// WhatsApp contains the settings of a phone number on WhatsApp's Cloud API.
type WhatsApp struct {
	AccessToken   Secret `yaml:"access_token" required:"true"`
	PhoneNumberID string `yaml:"phone_number_id" required:"true"` // the id that Meta gives the phone number
	AppSecret     Secret `yaml:"app_secret" required:"true"`
	VerifyToken   Secret `yaml:"verify_token" required:"true"`
	Listen        string `yaml:"listen" required:"true"` // host:port
	APIBase       string `yaml:"api_base"`               // without a trailing slash
}

// HomeAssistant contains the settings for an installation of Home Assistant. If no Watch key is set, telex does not
// tell the model about changes in the house.
type HomeAssistant struct {
	URL            string        `yaml:"url" required:"true"` // without a trailing slash
	Token          Secret        `yaml:"token" required:"true"`
	WatchDomains   []string      `yaml:"watch_domains"`
	WatchEntities  []string      `yaml:"watch_entities"`
	WatchAll       bool          `yaml:"watch_all"`
	IgnoreEntities []string      `yaml:"ignore_entities"`       // never reported, even if a Watch key selects them
	Cooldown       time.Duration `yaml:"cooldown" allow:"zero"` // minimum time between two reports of the same entity
	Notify         string        `yaml:"notify"`                // notify entity or action to use; empty: persistent notifications
}

// Endpoints is the section platforms, in the order of config.yaml.
type Endpoints []Endpoint

// newSettings returns the default settings for a kind of platform, or nil if the kind is unknown.
func newSettings(kind string) any {
	switch kind {
	case KindTelegram:
		return &Telegram{APIBase: "https://api.telegram.org", Mode: ModePolling, Rich: "off"}
	case KindDiscord:
		return &Discord{APIBase: "https://discord.com"}
	case KindSlack:
		return &Slack{APIBase: "https://slack.com/api/"}
	case KindWhatsApp:
		return &WhatsApp{APIBase: "https://graph.facebook.com"}
	case KindHomeAssistant:
		return &HomeAssistant{
			WatchDomains: []string{}, WatchEntities: []string{}, IgnoreEntities: []string{}, Cooldown: 30 * time.Second,
		}
	case KindAPIServer:
		return &APIServer{Listen: "127.0.0.1:8642", Keys: []APIKey{}, CORSOrigins: []string{}, MaxRequests: 64, SessionsByUser: true}
	}
	return nil
}

func platformKinds() []string {
	return []string{KindTelegram, KindDiscord, KindSlack, KindWhatsApp, KindHomeAssistant, KindAPIServer}
}

var endpointName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)

func (es *Endpoints) decode(d *decoder, path string, n *yaml.Node) {
	for _, p := range d.pairs(path, n) {
		e := Endpoint{Name: p.key}
		at := join(path, p.key)
		d.positions[at] = positionOf(p.keyNode)
		switch {
		case !endpointName.MatchString(p.key):
			d.fail(p.keyNode, "use a-z, 0-9, _ and -, beginning with a letter or a digit", "invalid endpoint name %s", quotedKey(p.key))
		case slices.Contains(keysOfStruct[StreamingRules](), p.key):
			d.fail(p.keyNode, "choose another name and add kind", "an endpoint may not be named %q, which is a key of streaming", p.key)
		}
		e.decode(d, at, p)
		if e.Settings != nil {
			*es = append(*es, e)
		}
	}
}

// decode decodes an endpoint. decode reads the key kind first, because the kind determines which other keys are valid.
func (e *Endpoint) decode(d *decoder, path string, p pair) {
	before := len(d.errs)
	pairs := d.pairs(path, p.value)
	if len(d.errs) > before {
		return
	}
	e.Kind = p.key
	kindPlace := p.keyNode
	if i := slices.IndexFunc(pairs, func(p pair) bool { return p.key == "kind" }); i >= 0 {
		kindPlace = pairs[i].value
		kind, ok := d.text(join(path, "kind"), kindPlace)
		if !ok {
			return
		}
		e.Kind = kind
		d.positions[join(path, "kind")] = positionOf(pairs[i].keyNode)
		pairs = slices.Delete(pairs, i, i+1)
	}
	if e.Settings = newSettings(e.Kind); e.Settings == nil {
		hint := suggest(e.Kind, platformKinds())
		if kindPlace == p.keyNode && nearest(e.Kind, platformKinds()) == "" {
			hint = "add kind: " + strings.Join(platformKinds(), ", ")
		}
		d.fail(kindPlace, hint, "unknown kind %s in %s", quotedKey(kindPlace.Value), displayPath(path))
		return
	}
	d.fields(path, p.value, pairs, valueOf(e.Settings))
}

// Listen is an address on which the daemon listens, with the configuration key of this address.
type Listen struct {
	Key, Address string
	Optional     bool // the daemon starts even if another program uses the address
}

// Listens returns the addresses on which the daemon listens.
func (c *Config) Listens() (list []Listen) {
	for _, e := range c.Endpoints {
		key, address := "listen", ""
		switch s := e.Settings.(type) {
		case *Slack:
			address = s.Listen
		case *WhatsApp:
			address = s.Listen
		case *APIServer:
			address = s.Listen
		case *Telegram:
			if h := s.Hook(); h != nil {
				key, address = "webhook.listen", h.Listen
			}
		}
		if address != "" {
			list = append(list, Listen{Key: "platforms." + e.Name + "." + key, Address: address})
		}
	}
	if c.Admin.Listen != "" {
		// The default admin address is optional: the bot must also run if another program, such as a second daemon, already
		// uses it.
		list = append(list, Listen{Key: adminListen, Address: c.Admin.Listen, Optional: !c.isSet(adminListen)})
	}
	return list
}
