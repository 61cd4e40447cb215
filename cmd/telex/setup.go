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
		Long: "Ask which platforms and which model to use, check each answer with the platform or the provider, and write the\n" +
			"configuration and the files with its secrets. Nothing is overwritten. setup does not ask for secrets that are set\n" +
			"in the environment, such as TELEGRAM_BOT_TOKEN, DISCORD_BOT_TOKEN, SLACK_BOT_TOKEN, SLACK_APP_TOKEN and\n" +
			"OPENAI_API_KEY.\n" +
			"As root, --service also installs and starts the service, and keeps a configuration that already exists.\n" +
			"--uninstall removes the service again.",
		RunE: func(c *cobra.Command, _ []string) error {
			if uninstall {
				return app.Uninstall(c.Context(), results(c))
			}
			if secrets != "files" && secrets != "environment" {
				return wrongUsage(c, fmt.Errorf("--secrets must be files or environment, not %q", secrets))
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
	f.StringSliceVar(&o.Platforms, "platform", nil, "a platform, such as telegram; separate several with commas, or repeat the flag")
	f.StringToStringVar(&o.Set, "set", nil, "a key of a platform, such as whatsapp.listen=127.0.0.1:8644")
	f.StringVar(&o.BaseURL, "base-url", "", "address of the model's API")
	f.StringVar(&o.Model, "model", "", "name of the model")
	f.StringSliceVar(&o.Allow, "allow", nil, "a person who may talk to the bot, such as telegram:user:1234")
	f.StringVar(&o.File, "output", "", "the file to write (default config.yaml, with --service /etc/telex/config.yaml)")
	f.StringVar(&secrets, "secrets", "files", "where secrets are stored: files, or environment (the configuration then names variables such as TELEGRAM_BOT_TOKEN)")
	f.BoolVar(&o.Silent, "non-interactive", false, "ask nothing: use the flags, the environment and the default answers")
	f.BoolVar(&o.Service, "service", false, "also install and start the systemd service")
	f.BoolVar(&uninstall, "uninstall", false, "remove the service that --service installed")
	completesFiles(c, "output")
	completesWords(c, "secrets", "files", "environment")
	completesWords(c, "platform", app.SetupPlatforms()...)
	return c
}
