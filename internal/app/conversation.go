package app

import (
	"fmt"

	"telex/agent/transcription"
	"telex/gateway"
	"telex/gateway/access"
	"telex/gateway/attachment"
	"telex/internal/chat"
	"telex/internal/config"
	"telex/platforms/homeassistant"
)

// rules returns the access rules: the configured rules, and rules that admit the operators' endpoint and every Home Assistant.
// So nobody needs to configure an access rule for Home Assistant: the operator has already chosen what Home Assistant reports.
func rules(c *config.Config, operators chat.EndpointID) access.Rules {
	r := configuredRules(c.Access)
	r.Operators = operators
	for _, e := range c.Endpoints {
		if e.Kind == config.KindHomeAssistant {
			r.Allow = append(r.Allow, access.Rule{Endpoint: chat.EndpointID(e.Name), User: homeassistant.User})
		}
	}
	return r
}

// configuredRules returns the rules in the section access of the configuration.
func configuredRules(c config.Access) access.Rules {
	r := access.Rules{Open: c.Default == config.AccessAllow, Pair: c.Default == config.AccessPair}
	for _, p := range c.Allow {
		r.Allow = append(r.Allow, rule(p))
	}
	for _, p := range c.Admins {
		r.Admins = append(r.Admins, rule(p))
	}
	return r
}

func rule(p config.Pattern) access.Rule {
	r := access.Rule{Endpoint: chat.EndpointID(p.Endpoint)}
	switch p.Kind {
	case config.PatternUser:
		r.User = chat.UserID(p.ID)
	case config.PatternChat:
		r.Chat = chat.ChatID(p.ID)
	case config.PatternEveryone:
	}
	return r
}

func limits(l config.AccessLimits) access.Limits {
	return access.Limits{TurnsPerMinute: l.TurnsPerMinute, TokensPerDay: l.TokensPerDay, TokensPerDayTotal: l.TokensPerDayTotal}
}

func models(ms []config.Model) []gateway.Model {
	var out []gateway.Model
	for _, m := range ms {
		out = append(out, gateway.Model{Name: m.Name, Window: m.ContextWindow})
	}
	return out
}

func overrides(os []config.Override) []gateway.Override {
	var out []gateway.Override
	for _, o := range os {
		out = append(out, gateway.Override{Match: rule(o.Match), Model: o.Model, System: o.SystemPrompt, Tools: o.Tools})
	}
	return out
}

// transcriber returns the model that transcribes voice messages, or nil if none is configured.
func transcriber(c config.Transcription, o Options) (attachment.Transcriber, error) {
	if c.Model == "" {
		return nil, nil //nolint:nilnil // nil is valid: telex does not transcribe voice messages then
	}
	t, err := transcription.New(transcription.Options{
		BaseURL: c.BaseURL, APIKey: c.APIKey.Reveal(), Model: c.Model, Transport: o.Transport, Log: o.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("transcription: %w", err)
	}
	return t, nil
}
