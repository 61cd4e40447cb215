package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"telex/internal/app"
	"telex/internal/config"
)

func demoCommand() *cobra.Command {
	var say, baseURL, model string
	var verbose bool
	var o app.PageOptions
	c := &cobra.Command{
		Use:   "demo",
		Short: "Show the whole system with imitations of the platforms and a model; no account needed",
		Long: "Show the whole system with stand-ins, which imitate the platforms and a model: a web page with four platforms\n" +
			"and a program side by side, and switches for what can go wrong. With --say, ask one question instead, and print\n" +
			"how a person in Telegram saw the answer grow. If OPENAI_API_KEY is set, or with --base-url, a real model answers\n" +
			"on the page. With TELEX_STREAMING_ENABLED=false, answers are not streamed.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkRates(o.Rate, o.Latency); err != nil {
				return err
			}
			if c.Flags().Changed("say") && strings.TrimSpace(say) == "" {
				return usageError(errors.New("--say needs a text"))
			}
			level := "warn"
			if verbose {
				level = "debug"
			}
			o.Log = app.NewLog(config.Log{Level: level, Format: "text"}, os.Stderr)
			if say != "" {
				return sayInDemo(c, app.DemoOptions{Rate: o.Rate, Latency: o.Latency, Env: os.LookupEnv, Log: o.Log}, say)
			}
			o.Model = realModel(os.LookupEnv, baseURL, model)
			return app.RunDemoPage(c.Context(), o, func(url string) {
				fmt.Fprintf(c.OutOrStdout(), "Open %s in a browser. Ctrl-C ends the demo.\n", url)
			})
		},
	}
	f := c.Flags()
	f.StringVar(&say, "say", "", "ask this and print what the person sees, instead of serving the page")
	f.StringVar(&o.Listen, "listen", "", "address of the page (default: a free port on 127.0.0.1)")
	f.StringVar(&baseURL, "base-url", "", "the provider of a real model, such as https://api.openai.com/v1; the key comes from OPENAI_API_KEY, if that is set")
	f.StringVar(&model, "model", defaultModel, "the real model's name at this provider")
	f.Float64Var(&o.Rate, "rate", 50, "tokens per second of the stand-in model")
	f.DurationVar(&o.Latency, "latency", 60*time.Millisecond, "how long each call to a platform takes")
	f.BoolVar(&verbose, "verbose", false, "log what happens")
	return c
}

// defaultModel is the model that the demo requests from a real provider if --model is missing. openAI is the default
// provider's URL.
const (
	defaultModel = "gpt-5-mini"
	openAI       = "https://api.openai.com/v1"
)

// realModel returns the real model that answers in the demo, and its provider. If neither a URL nor a key is given,
// realModel returns an empty result, and the stand-in answers.
func realModel(env config.Env, baseURL, model string) app.RealModel {
	const name = "OPENAI_API_KEY"
	key, _ := env(name)
	switch {
	case key == "" && baseURL == "":
		return app.RealModel{}
	case key == "":
		return app.RealModel{BaseURL: baseURL, Name: model}
	}
	return app.RealModel{BaseURL: cmp.Or(baseURL, openAI), Name: model, KeyName: name}
}

// sayInDemo asks one question in the demo and prints what a person saw.
func sayInDemo(c *cobra.Command, o app.DemoOptions, say string) error {
	return app.RunDemo(c.Context(), o, func(ctx context.Context, d *app.Demo) error {
		err := d.Say(ctx, c.OutOrStdout(), say)
		if errors.Is(err, app.ErrNotExact) {
			return errSilent // the method Say has already reported the error
		}
		return err
	})
}

func standinCommand() *cobra.Command {
	return group("standin", "Run a local imitation of a platform or of a model provider, for any bot", "",
		standin("telegram", "127.0.0.1:8081", "Imitate the Telegram Bot API, with a chat page and a control API", "token", "latency", "no-limits"),
		standin("discord", "127.0.0.1:8083", "Imitate Discord's API and gateway, with a control API", "token", "latency", "no-limits", "message-content"),
		standin("slack", "127.0.0.1:8084", "Imitate Slack's Web API, Socket Mode and Events API, with a control API",
			"bot-token", "app-token", "signing-secret", "request-url", "agent", "latency", "no-limits"),
		standin("homeassistant", "127.0.0.1:8123", "Imitate Home Assistant's WebSocket and REST APIs, with a control API", "token", "latency"),
		standin("whatsapp", "127.0.0.1:8085", "Imitate the WhatsApp Cloud API and its webhooks, with a control API",
			"token", "app-secret", "verify-token", "callback-url", "latency", "no-limits"),
		standin("openai", "127.0.0.1:8082", "Imitate an OpenAI-compatible model provider", "key", "rate", "context"),
	)
}

// standin returns the command that runs a stand-in. The command gets only those flags of addStandinFlags that the
// parameter flags names.
func standin(name, address, short string, flags ...string) *cobra.Command {
	var o app.StandinOptions
	var listen string
	c := &cobra.Command{
		Use: name, Short: short, Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkRates(o.Rate, o.Latency); err != nil {
				return err
			}
			if o.Context < 0 {
				return usageError(errors.New("--context must not be negative"))
			}
			o.Log = standinLog(c)
			s, announce, err := app.NewStandin(name, o)
			if err != nil {
				return err
			}
			return app.ServeStandin(c.Context(), s, listen, func(url string) {
				fmt.Fprintf(c.OutOrStdout(), "%s stand-in on %s\n", name, announce(url))
			})
		},
	}
	c.Flags().StringVar(&listen, "listen", address, "address to serve on")
	c.Flags().Bool("verbose", false, "log every call")
	all := &cobra.Command{} // this command only holds the flags that exist for any stand-in
	addStandinFlags(all, &o)
	for _, flag := range flags {
		c.Flags().AddFlag(all.Flags().Lookup(flag))
	}
	return c
}

// addStandinFlags adds the flags of all stand-ins to a command. The flags set the fields of the options o.
func addStandinFlags(c *cobra.Command, o *app.StandinOptions) {
	f := c.Flags()
	f.StringVar(&o.Token, "token", "", "the token that the stand-in accepts (default: generated and printed)")
	f.StringVar(&o.BotToken, "bot-token", "", "the bot token that the stand-in accepts (default: generated and printed)")
	f.StringVar(&o.AppToken, "app-token", "", "the app token that opens sockets (default: generated and printed)")
	f.StringVar(&o.SigningSecret, "signing-secret", "", "the secret that signs requests to the app (default: generated and printed)")
	f.StringVar(&o.RequestURL, "request-url", "", "URL to which events are posted (default: none, the app uses Socket Mode)")
	f.BoolVar(&o.Agent, "agent", false, "the app is an agent (agent_view), not an assistant (assistant_view)")
	f.StringVar(&o.AppSecret, "app-secret", "", "the secret that signs webhooks (default: generated and printed)")
	f.StringVar(&o.VerifyToken, "verify-token", "", "the token of the handshake with the callback URL (default: generated and printed)")
	f.StringVar(&o.CallbackURL, "callback-url", "", "URL to which webhooks are posted (default: none)")
	f.DurationVar(&o.Latency, "latency", 60*time.Millisecond, "how long each call takes")
	f.BoolVar(&o.NoLimits, "no-limits", false, "enforce no rate limits")
	f.BoolVar(&o.MessageContent, "message-content", false, "grant the privileged intent for the text of messages")
	f.StringVar(&o.Key, "key", "", "the API key that the stand-in requires (default: none)")
	f.Float64Var(&o.Rate, "rate", 50, "tokens per second")
	f.IntVar(&o.Context, "context", 0, "context window of the models in tokens (default: unlimited)")
}

// checkRates returns an error for an impossible rate or latency.
func checkRates(rate float64, latency time.Duration) error {
	switch {
	case rate <= 0:
		return usageError(errors.New("--rate must be more than 0 tokens per second"))
	case latency < 0:
		return usageError(errors.New("--latency must not be negative"))
	}
	return nil
}

func standinLog(c *cobra.Command) *slog.Logger {
	level := "warn"
	if v, _ := c.Flags().GetBool("verbose"); v {
		level = "debug"
	}
	return app.NewLog(config.Log{Level: level, Format: "text"}, os.Stderr)
}
