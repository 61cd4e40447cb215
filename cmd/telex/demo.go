package main

import (
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
	var say, listen string
	var rate float64
	var latency time.Duration
	var verbose bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "Show the whole system against its stand-ins; no account needed",
		Long: "Show the whole system against its stand-ins: a chat page for a browser, or with --say one\n" +
			"question whose answer is printed as the person saw it grow. TELEX_STREAMING_ENABLED=false\n" +
			"shows it without streaming.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkPace(rate, latency); err != nil {
				return err
			}
			if c.Flags().Changed("say") && strings.TrimSpace(say) == "" {
				return usageError{errors.New("--say needs a text")}
			}
			level := "warn"
			if verbose {
				level = "debug"
			}
			o := app.DemoOptions{
				Page: listen, Rate: rate, Latency: latency, Env: os.LookupEnv,
				Log: app.NewLog(config.Log{Level: level, Format: "text"}, os.Stderr),
			}
			return app.RunDemo(c.Context(), o, func(ctx context.Context, d *app.Demo) error {
				if say == "" {
					fmt.Fprintf(c.OutOrStdout(), "Open %s in a browser and write to the bot. Ctrl-C ends the demo.\n", d.Page)
					<-ctx.Done()
					return nil
				}
				err := d.Say(ctx, c.OutOrStdout(), say)
				if errors.Is(err, app.ErrNotExact) {
					return errSilent // Say has explained it
				}
				return err
			})
		},
	}
	f := c.Flags()
	f.StringVar(&say, "say", "", "ask this and print what the person sees, instead of serving the page")
	f.StringVar(&listen, "listen", "", "address of the page (default: a free port on 127.0.0.1)")
	f.Float64Var(&rate, "rate", 50, "tokens per second of the model")
	f.DurationVar(&latency, "latency", 60*time.Millisecond, "how long each call to the platform takes")
	f.BoolVar(&verbose, "verbose", false, "log what happens")
	return c
}

func standinCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "standin", Short: "Run a local imitation of a platform or of a model provider, for any bot", Args: noArgs,
		RunE: needsCommand,
	}
	c.AddCommand(standinTelegram(), standinDiscord(), standinSlack(), standinOpenAI())
	return c
}

func standinTelegram() *cobra.Command {
	var o app.TelegramStandin
	var listen string
	c := &cobra.Command{
		Use: "telegram", Short: "Imitate the Telegram Bot API, with a chat page and a control API", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkPace(1, o.Latency); err != nil {
				return err
			}
			o.Log = standinLog(c)
			s := o.New()
			return app.ServeStandin(c.Context(), s, listen, func(url string) {
				fmt.Fprintf(c.OutOrStdout(), "telegram stand-in on %s, chat page at %s/, token %s\n", url, url, s.Token())
			})
		},
	}
	f := c.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:8081", "address to serve on")
	f.StringVar(&o.Token, "token", "", "the bot token that it accepts (default: one it prints)")
	f.DurationVar(&o.Latency, "latency", 60*time.Millisecond, "how long each call takes")
	f.BoolVar(&o.NoLimits, "no-limits", false, "enforce no rate limits")
	f.Bool("verbose", false, "log every call")
	return c
}

func standinDiscord() *cobra.Command {
	var o app.DiscordStandin
	var listen string
	c := &cobra.Command{
		Use: "discord", Short: "Imitate Discord's API and gateway, with a control API", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkPace(1, o.Latency); err != nil {
				return err
			}
			o.Log = standinLog(c)
			s := o.New()
			return app.ServeStandin(c.Context(), s, listen, func(url string) {
				fmt.Fprintf(c.OutOrStdout(), "discord stand-in on %s, token %s\n", url, s.Token())
			})
		},
	}
	f := c.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:8083", "address to serve on")
	f.StringVar(&o.Token, "token", "", "the bot token that it accepts (default: one it prints)")
	f.DurationVar(&o.Latency, "latency", 60*time.Millisecond, "how long each call takes")
	f.BoolVar(&o.NoLimits, "no-limits", false, "enforce no rate limits")
	f.BoolVar(&o.MessageContent, "message-content", false, "grant the privileged intent for the text of messages")
	f.Bool("verbose", false, "log every call")
	return c
}

func standinOpenAI() *cobra.Command {
	var o app.OpenAIStandin
	var listen string
	c := &cobra.Command{
		Use: "openai", Short: "Imitate an OpenAI-compatible model provider", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkPace(o.Rate, 0); err != nil {
				return err
			}
			if o.Context < 0 {
				return usageError{errors.New("--context must not be negative")}
			}
			o.Log = standinLog(c)
			return app.ServeStandin(c.Context(), o.New(), listen, func(url string) {
				fmt.Fprintf(c.OutOrStdout(), "openai stand-in on %s/v1\n", url)
			})
		},
	}
	f := c.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:8082", "address to serve on")
	f.StringVar(&o.Key, "key", "", "the API key that it asks for (default: none)")
	f.Float64Var(&o.Rate, "rate", 50, "tokens per second")
	f.IntVar(&o.Context, "context", 0, "context window of the models in tokens (default: without end)")
	f.Bool("verbose", false, "log every request")
	return c
}

func standinSlack() *cobra.Command {
	var o app.SlackStandin
	var listen string
	c := &cobra.Command{
		Use: "slack", Short: "Imitate Slack's Web API, Socket Mode and Events API, with a control API", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkPace(1, o.Latency); err != nil {
				return err
			}
			o.Log = standinLog(c)
			s := o.New()
			return app.ServeStandin(c.Context(), s, listen, func(url string) {
				fmt.Fprintf(c.OutOrStdout(), "slack stand-in on %s/api/, bot token %s, app token %s, signing secret %s\n",
					url, s.BotToken(), s.AppToken(), s.SigningSecret())
			})
		},
	}
	f := c.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:8084", "address to serve on")
	f.StringVar(&o.BotToken, "bot-token", "", "the bot token that it accepts (default: one it prints)")
	f.StringVar(&o.AppToken, "app-token", "", "the app token that opens sockets (default: one it prints)")
	f.StringVar(&o.SigningSecret, "signing-secret", "", "what requests to the app are signed with (default: one it prints)")
	f.StringVar(&o.RequestURL, "request-url", "", "where events are posted to (default: nowhere, it is Socket Mode)")
	f.DurationVar(&o.Latency, "latency", 60*time.Millisecond, "how long each call takes")
	f.BoolVar(&o.NoLimits, "no-limits", false, "enforce no rate limits")
	f.Bool("verbose", false, "log every call")
	return c
}

// checkPace refuses a speed or a latency that there can't be.
func checkPace(rate float64, latency time.Duration) error {
	switch {
	case rate <= 0:
		return usageError{errors.New("--rate must be more than 0 tokens per second")}
	case latency < 0:
		return usageError{errors.New("--latency must not be negative")}
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
