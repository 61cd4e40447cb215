package app

import (
	"log/slog"
	"reflect"
	"time"

	"telex/gateway"
	"telex/gateway/preview"
	"telex/internal/chat"
	"telex/internal/config"
	"telex/platforms/discord"
	"telex/platforms/homeassistant"
	"telex/platforms/slack"
	"telex/platforms/telegram"
	"telex/platforms/whatsapp"
)

// configuredAccount is an adapter for a bot account, together with the configuration from which it was created.
type configuredAccount struct {
	account
	of    config.Endpoint
	pause time.Duration // pause between messages that no person has written
}

// newAdapters returns an adapter for each endpoint of a configuration, by endpoint name. If an endpoint's
// configuration is the same as in before, newAdapters reuses the adapter in before.
func newAdapters(c *config.Config, before map[string]configuredAccount, o Options) map[string]configuredAccount {
	out := make(map[string]configuredAccount)
	for _, e := range c.Endpoints {
		if e.Kind == config.KindAPIServer {
			continue // the API server is not a platform
		}
		next := configuredAccount{of: e}
		if e.Kind == config.KindHomeAssistant {
			next.pause = pause(c.Access.Limits)
		}
		known, ok := before[e.Name]
		if ok && known.pause == next.pause && reflect.DeepEqual(known.of, e) {
			out[e.Name] = known
			continue
		}
		next.account = newAccount(e, next.pause, o, o.Log.With(slog.String("endpoint", e.Name)))
		out[e.Name] = next
	}
	return out
}

// endpoints returns the endpoints of p in the form that the gateway needs.
func (a *App) endpoints(p *parts) []gateway.Endpoint {
	var out []gateway.Endpoint
	for _, e := range p.config.Endpoints {
		known, ok := p.adapters[e.Name]
		if !ok {
			continue
		}
		one := endpoint(p.config, e.Name, known.account)
		if a.metrics != nil {
			one.Observer = a.metrics.Endpoint(e.Name)
		}
		one.Network = network(e.Kind)
		out = append(out, one)
	}
	if t := a.options.Terminal; t != nil {
		e := endpoint(p.config, config.TerminalEndpoint, t)
		e.ID, e.Network = a.cli, "a terminal"
		out = append(out, e)
	}
	return out
}

// network returns the usual spelling of a platform's name, such as WhatsApp.
func network(kind string) string {
	return map[string]string{
		config.KindTelegram: "Telegram", config.KindDiscord: "Discord", config.KindSlack: "Slack",
		config.KindWhatsApp: "WhatsApp", config.KindHomeAssistant: "Home Assistant",
	}[kind]
}

// endpoint returns the gateway's endpoint for the adapter p, with the configured streaming settings.
func endpoint(c *config.Config, name string, p gateway.Platform) gateway.Endpoint {
	s := c.Streaming(name, 0)
	buttons := map[string]gateway.Button{
		config.StopButtonAuto: gateway.ButtonAuto, config.StopButtonOn: gateway.ButtonOn, config.StopButtonOff: gateway.ButtonOff,
	}
	transports := map[string]preview.Transport{ // TransportOff is not in this map, because it disables streaming
		config.TransportEdit: preview.Edit, config.TransportDraft: preview.Draft, config.TransportNative: preview.Native,
	}
	return gateway.Endpoint{
		ID: chat.EndpointID(name), Platform: p, StopButton: buttons[s.StopButton], LinkPreviews: s.LinkPreviews == config.LinkPreviewsAsked,
		Streaming: preview.Config{
			Enabled: s.Enabled, Interval: s.EditInterval, MinTokens: s.MinTokens, Cursor: s.Cursor,
			Transport: transports[s.Transport], MaxParts: s.MaxParts, Progress: s.ToolProgress == config.ToolProgressInline,
		},
	}
}

// account is a platform adapter that can check its bot account and close its connections.
type account interface {
	gateway.Platform
	examiner
	Close()
}

// newAccount creates the adapter of an endpoint. newAccount need not check whether the endpoint's kind is valid,
// because the package config has already done so.
func newAccount(e config.Endpoint, pause time.Duration, o Options, log *slog.Logger) account {
	switch s := e.Settings.(type) {
	case *config.Telegram:
		t := telegram.Options{Token: s.Token.Reveal(), APIBase: s.APIBase, HTTP: o.Transport, Log: log, Rich: telegram.Rich(s.Rich)}
		if h := s.Hook(); h != nil {
			t.Webhook = telegram.Webhook{Listen: h.Listen, URL: h.URL, Secret: h.Secret.Reveal()}
		}
		return telegram.New(t)
	case *config.Discord:
		return discord.New(discord.Options{
			Token: s.Token.Reveal(), APIBase: s.APIBase, Threads: s.Threads, Content: s.MessageContent,
			HTTP: o.Transport, Log: log, Version: o.version(),
		})
	case *config.Slack:
		return slack.New(slack.Options{
			BotToken: s.BotToken.Reveal(), AppToken: s.AppToken.Reveal(), SigningSecret: s.SigningSecret.Reveal(),
			Listen: s.Listen, APIBase: s.APIBase, HTTP: o.Transport, Log: log,
		})
	case *config.WhatsApp:
		return whatsapp.New(whatsapp.Options{
			AccessToken: s.AccessToken.Reveal(), PhoneNumberID: s.PhoneNumberID, AppSecret: s.AppSecret.Reveal(),
			VerifyToken: s.VerifyToken.Reveal(), Listen: s.Listen, APIBase: s.APIBase, HTTP: o.Transport, Log: log,
		})
	case *config.HomeAssistant:
		return homeassistant.New(homeassistant.Options{
			URL: s.URL, Token: s.Token.Reveal(), Notify: s.Notify, Pause: pause, HTTP: o.Transport, Log: log,
			Watch: homeassistant.Watch{
				Domains: s.WatchDomains, Entities: s.WatchEntities, All: s.WatchAll, Ignore: s.IgnoreEntities, Cooldown: s.Cooldown,
			},
		})
	}
	panic("app: no adapter for platforms of kind " + e.Kind)
}

// minPause is the minimum time that Home Assistant, whose messages no person has written, must wait after each answer. minPause
// is used if the configuration does not limit turns. A model call every two seconds is enough for any house.
const minPause = 2 * time.Second

// pause returns how long Home Assistant, whose messages no person has written, must wait after each answer. Because of this
// pause, Home Assistant never reaches the configured limit of turns per minute.
func pause(l config.AccessLimits) time.Duration {
	if l.TurnsPerMinute == 0 {
		return minPause
	}
	return max(minPause, time.Minute/time.Duration(l.TurnsPerMinute))
}
