package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"telex/standin/discord"
	"telex/standin/openai"
	"telex/standin/slack"
	"telex/standin/telegram"
)

// Server is a stand-in on its own address.
type Server interface {
	Serve(l net.Listener) error
	Close() error
}

// TelegramStandin says how the Telegram stand-in behaves.
type TelegramStandin struct {
	Token    string
	Latency  time.Duration
	NoLimits bool
	Log      *slog.Logger
}

// New returns the stand-in.
func (o TelegramStandin) New() *telegram.Server {
	t := telegram.Options{Token: o.Token, Latency: o.Latency, GrowingIDs: true, Log: o.Log}
	if o.NoLimits {
		t.Limits = telegram.NoLimits()
	}
	return telegram.New(t)
}

// DiscordStandin says how the Discord stand-in behaves.
type DiscordStandin struct {
	Token    string
	Latency  time.Duration
	NoLimits bool
	// MessageContent grants the privileged intent.
	MessageContent bool
	Log            *slog.Logger
}

// New returns the stand-in.
func (o DiscordStandin) New() *discord.Server {
	d := discord.Options{Token: o.Token, Latency: o.Latency, MessageContent: o.MessageContent, Log: o.Log}
	if o.NoLimits {
		d.Limits = discord.NoLimits()
	}
	return discord.New(d)
}

// OpenAIStandin says how the model provider stand-in behaves.
type OpenAIStandin struct {
	Key  string
	Rate float64 // tokens per second
	// Context is the models' context window in tokens; 0 is without end.
	Context int
	Log     *slog.Logger
}

// New returns the stand-in.
func (o OpenAIStandin) New() *openai.Server {
	return openai.New(openai.Options{
		Key: o.Key, Rate: o.Rate, Context: o.Context, Log: o.Log, Models: []string{"standin", "*"},
	})
}

// SlackStandin says how the Slack stand-in behaves.
type SlackStandin struct {
	BotToken, AppToken, SigningSecret string
	// RequestURL gets events by HTTP; empty is Socket Mode.
	RequestURL string
	Latency    time.Duration
	NoLimits   bool
	Log        *slog.Logger
}

// New returns the stand-in.
func (o SlackStandin) New() *slack.Server {
	s := slack.Options{
		BotToken: o.BotToken, AppToken: o.AppToken, SigningSecret: o.SigningSecret, RequestURL: o.RequestURL,
		Latency: o.Latency, Log: o.Log,
	}
	if o.NoLimits {
		s.Limits = slack.NoLimits()
	}
	return slack.New(s)
}

// ServeStandin serves s on the address until ctx ends, and tells the address once it listens.
func ServeStandin(ctx context.Context, s Server, address string, listening func(url string)) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen for the stand-in: %w; --listen takes another address", err)
	}
	listening("http://" + l.Addr().String())
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	select {
	case err = <-served:
	case <-ctx.Done():
		err = errors.Join(s.Close(), <-served)
	}
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
