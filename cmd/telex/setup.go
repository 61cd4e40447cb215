package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"telex/internal/app"
)

func setupCommand() *cobra.Command {
	var o app.SetupOptions
	var uninstall bool
	var secrets string
	c := &cobra.Command{
		Use: "setup", Short: "Ask a few questions, check the answers, and write the configuration", Args: noArgs,
		Long: "Ask which platforms and which model, check each answer at its server, and write the configuration and the files\n" +
			"of its secrets. Nothing is overwritten. Secrets that are set in the environment are not asked for, such as\n" +
			"TELEGRAM_BOT_TOKEN, DISCORD_BOT_TOKEN, SLACK_BOT_TOKEN, SLACK_APP_TOKEN and OPENAI_API_KEY.\n" +
			"As root, --service installs the service as well and starts it; a configuration that is there already stays.\n" +
			"--uninstall takes that back.",
		RunE: func(c *cobra.Command, _ []string) error {
			if uninstall {
				return app.Uninstall(c.Context(), results(c))
			}
			if secrets != "files" && secrets != "environment" {
				return wrongUsage(c, fmt.Errorf("--secrets is files or environment, not %q", secrets))
			}
			o.In, o.InEnvironment = os.Stdin, secrets == "environment"
			if state, err := term.GetState(int(os.Stdin.Fd())); err == nil {
				defer func() { _ = term.Restore(int(os.Stdin.Fd()), state) }() // turns the echo of the terminal on again after Ctrl-C
				o.ReadSecret = func() (string, error) {
					text, err := term.ReadPassword(int(os.Stdin.Fd()))
					return string(text), err
				}
			}
			err := app.Setup(c.Context(), os.LookupEnv, results(c), o)
			switch {
			case errors.Is(err, context.Canceled):
				return errors.New("setup was interrupted")
			case errors.Is(err, app.ErrNotSetUp):
				return fmt.Errorf("%w: correct the settings named above, and run telex setup again", err)
			default:
				return err
			}
		},
	}
	f := c.Flags()
	f.StringSliceVar(&o.Platforms, "platform", nil, "a platform, such as telegram; with commas, or once for each")
	f.StringToStringVar(&o.Set, "set", nil, "a key of a platform, such as whatsapp.listen=127.0.0.1:8644")
	f.StringVar(&o.BaseURL, "base-url", "", "address of the model's API")
	f.StringVar(&o.Model, "model", "", "name of the model")
	f.StringSliceVar(&o.Allow, "allow", nil, "somebody who may talk to the bot, such as telegram:user:1234")
	f.StringVar(&o.File, "output", "", "the file to write (default config.yaml, with --service /etc/telex/config.yaml)")
	f.StringVar(&secrets, "secrets", "files", "where secrets are kept: files, or environment, where the configuration names variables such as TELEGRAM_BOT_TOKEN")
	f.BoolVar(&o.Silent, "non-interactive", false, "ask nothing: take flags, the environment and the usual answers")
	f.BoolVar(&o.Service, "service", false, "install the systemd service as well, and start it")
	f.BoolVar(&uninstall, "uninstall", false, "remove the service that --service installed")
	completesFiles(c, "output")
	completesWords(c, "secrets", "files", "environment")
	completesWords(c, "platform", app.SetupPlatforms()...)
	return c
}
