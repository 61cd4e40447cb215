package main

import (
	"errors"

	"github.com/spf13/cobra"

	"telex/internal/app"
	"telex/internal/config"
)

func doctorCommand() *cobra.Command {
	return withJSON(&cobra.Command{
		Use: "doctor", Short: "Check everything that the daemon needs, and say how to fix problems", Args: noArgs,
		Long: "Check the configuration, the disk, the store, the service and the clock, ask each platform about the bot, and ask\n" +
			"each model one short question, which costs a few tokens. Works with and without a running daemon, and changes\n" +
			"nothing. The exit code is 1 if there is a problem, and 78 if the configuration is invalid.",
		RunE: func(c *cobra.Command, _ []string) error {
			explicit, err := c.Flags().GetString("config")
			if err != nil {
				return err
			}
			err = app.Doctor(c.Context(), environment(c), results(c), app.DoctorOptions{Config: explicit})
			if !errors.Is(err, app.ErrUnwell) {
				return err
			}
			if _, wrong := errors.AsType[config.Errors](err); wrong {
				return exitError{errSilent, exitConfig}
			}
			return errSilent // the function app.Doctor has already reported the problems
		},
	})
}
