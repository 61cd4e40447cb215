package app

import (
	"log/slog"

	"telex/gateway"
	"telex/gateway/preview"
	"telex/internal/chat"
	"telex/internal/config"
	"telex/platforms/discord"
	"telex/platforms/slack"
	"telex/platforms/telegram"
	"telex/platforms/terminal"
)

func (a *App) endpoints(c *config.Config, o Options) []gateway.Endpoint {
	var out []gateway.Endpoint
	for _, e := range c.Endpoints {
		p := newAdapter(e, o, o.Log.With(slog.String("endpoint", e.Name)))
		a.down.add("endpoint "+e.Name, func() error { p.Close(); return nil })
		out = append(out, endpoint(c, e.Name, p))
	}
	if o.Terminal != nil {
		e := endpoint(c, config.TerminalEndpoint, o.Terminal)
		e.ID = terminal.Endpoint
		out = append(out, e)
	}
	return out
}

// endpoint is an account, and how its replies stream.
func endpoint(c *config.Config, name string, p gateway.Platform) gateway.Endpoint {
	s := c.Streaming(name, 0)
	return gateway.Endpoint{
		ID: chat.EndpointID(name), Platform: p, StopButton: button(s.StopButton), LinkPreviews: s.LinkPreviews == config.LinkPreviewsAsked,
		Streaming: preview.Config{
			Enabled: s.Enabled, Interval: s.EditInterval, MinTokens: s.MinTokens, Cursor: s.Cursor,
			Transport: transport(s.Transport), MaxParts: s.MaxParts, Progress: s.ToolProgress == config.ToolProgressInline,
		},
	}
}

// button is where replies have a button that stops them.
func button(mode string) gateway.Button {
	switch mode {
	case config.StopButtonOn:
		return gateway.ButtonOn
	case config.StopButtonOff:
		return gateway.ButtonOff
	default:
		return gateway.ButtonAuto
	}
}

// transport is how previews travel; off is no streaming at all.
func transport(name string) preview.Transport {
	switch name {
	case config.TransportDraft:
		return preview.Draft
	case config.TransportNative:
		return preview.Native
	default:
		return preview.Edit
	}
}

// account is a platform that lets go of its connections.
type account interface {
	gateway.Platform
	Close()
}

// newAdapter is the list of all adapters. A kind that is not built yet was refused by config.
func newAdapter(e config.Endpoint, o Options, log *slog.Logger) account {
	switch s := e.Settings.(type) {
	case *config.Telegram:
		return telegram.New(telegram.Options{
			Token: s.Token.Reveal(), APIBase: s.APIBase, HTTP: o.Transport, Log: log,
		})
	case *config.Discord:
		return discord.New(discord.Options{
			Token: s.Token.Reveal(), APIBase: s.APIBase, Threads: s.Threads, HTTP: o.Transport, Log: log,
			Version: Version(""),
		})
	case *config.Slack:
		return slack.New(slack.Options{
			BotToken: s.BotToken.Reveal(), AppToken: s.AppToken.Reveal(), SigningSecret: s.SigningSecret.Reveal(),
			Listen: s.Listen, APIBase: s.APIBase, HTTP: o.Transport, Log: log,
		})
	}
	panic("app: no adapter for platforms of kind " + e.Kind)
}
