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
	"telex/standin/homeassistant"
	"telex/standin/openai"
	"telex/standin/slack"
	"telex/standin/telegram"
	"telex/standin/whatsapp"
)

// Server is a stand-in, which serves HTTP on an address of its own.
type Server interface {
	Serve(l net.Listener) error
	Close() error
}

// StandinOptions configures a stand-in. Each kind of stand-in uses only some of the fields.
type StandinOptions struct {
	Latency  time.Duration // time until the stand-in responds to a call
	NoLimits bool          // the stand-in enforces no rate limits
	Log      *slog.Logger

	Token          string // Telegram, Discord, Home Assistant, WhatsApp: the bot's token; empty: the default
	MessageContent bool   // Discord: the bot has the privileged intent Message Content

	BotToken, AppToken, SigningSecret string // Slack; empty: the defaults
	RequestURL                        string // Slack: URL to which events are sent by HTTP; empty: Socket Mode
	Agent                             bool   // Slack: the app is an agent; false: the app is an assistant

	AppSecret, VerifyToken string // WhatsApp; empty: the defaults
	CallbackURL            string // WhatsApp: URL to which webhooks are sent; empty: no webhooks are sent

	Key     string  // OpenAI; empty: any key is accepted
	Rate    float64 // OpenAI: tokens per second
	Context int     // OpenAI: context window of the models, in tokens; 0: no limit
}

// NewStandin returns a stand-in. name is telegram, discord, slack, whatsapp, homeassistant or openai. announce returns
// instructions for people who use the stand-in at the given URL.
func NewStandin(name string, o StandinOptions) (s Server, announce func(url string) string, err error) {
	switch name {
	case "telegram":
		s := telegramStandin(o)
		return s, func(url string) string { return fmt.Sprintf("%s, chat page at %s/, token %s", url, url, s.Token()) }, nil
	case "discord":
		d := discord.Options{Token: o.Token, Latency: o.Latency, MessageContent: o.MessageContent, Log: o.Log}
		if o.NoLimits {
			d.Limits = discord.NoLimits()
		}
		s := discord.New(d)
		return s, func(url string) string { return fmt.Sprintf("%s, token %s", url, s.Token()) }, nil
	case "slack":
		so := slack.Options{
			BotToken: o.BotToken, AppToken: o.AppToken, SigningSecret: o.SigningSecret, RequestURL: o.RequestURL,
			Agent: o.Agent, Latency: o.Latency, Log: o.Log,
		}
		if o.NoLimits {
			so.Limits = slack.NoLimits()
		}
		s := slack.New(so)
		return s, func(url string) string {
			return fmt.Sprintf("%s/api/, bot token %s, app token %s, signing secret %s", url, s.BotToken(), s.AppToken(), s.SigningSecret())
		}, nil
	case "homeassistant":
		s := homeassistant.New(homeassistant.Options{Token: o.Token, Latency: o.Latency, Log: o.Log})
		return s, func(url string) string { return fmt.Sprintf("%s, token %s", url, s.Token()) }, nil
	case "whatsapp":
		s := whatsappStandin(o)
		return s, func(url string) string {
			return fmt.Sprintf("%s, access token %s, phone number id %s, app secret %s, verify token %s",
				url, s.Token(), whatsapp.PhoneNumberID, s.AppSecret(), s.VerifyToken())
		}, nil
	case "openai":
		return openaiStandin(o), func(url string) string { return url + "/v1" }, nil
	default:
		return nil, nil, fmt.Errorf("unknown stand-in %q", name)
	}
}

func telegramStandin(o StandinOptions) *telegram.Server {
	t := telegram.Options{Token: o.Token, Latency: o.Latency, GrowingIDs: true, Log: o.Log}
	if o.NoLimits {
		t.Limits = telegram.NoLimits()
	}
	return telegram.New(t)
}

func whatsappStandin(o StandinOptions) *whatsapp.Server {
	w := whatsapp.Options{
		Token: o.Token, AppSecret: o.AppSecret, VerifyToken: o.VerifyToken, CallbackURL: o.CallbackURL, Latency: o.Latency, Log: o.Log,
	}
	if o.NoLimits {
		w.Limits = whatsapp.NoLimits()
	}
	return whatsapp.New(w)
}

func openaiStandin(o StandinOptions) *openai.Server {
	return openai.New(openai.Options{Key: o.Key, Rate: o.Rate, Context: o.Context, Log: o.Log, Models: []string{"standin", "*"}})
}

// startStandin serves s on address until stop is called. stop returns the error of Serve.
func startStandin(ctx context.Context, s Server, address string) (url string, stop func() error, err error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	listens, served := make(chan string, 1), make(chan error, 1)
	go func() { served <- ServeStandin(ctx, s, address, func(url string) { listens <- url }) }()
	stop = func() error {
		cancel()
		return <-served
	}
	select {
	case url = <-listens:
		return url, stop, nil
	case err = <-served:
		cancel()
		return "", nil, err
	}
}

// ServeStandin serves s on address until ctx ends. ServeStandin calls listening with the stand-in's URL as soon as
// clients can connect.
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
