package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"telex/internal/app"
)

func statusCommand() *cobra.Command {
	return withJSON(&cobra.Command{
		Use: "status", Short: "Show what the running daemon does", Args: noArgs,
		Long: "Ask the running daemon what it does: whether its endpoints receive messages, which replies grow, which wait and\n" +
			"for what, and how many messages wait. Run this command as the daemon's user or as root. It never shows the text\n" +
			"of a message. The exit code is 1 if no daemon can be reached, if a part of it hangs, or if an endpoint has stopped\n" +
			"for good.",
		RunE: func(c *cobra.Command, _ []string) error {
			err := app.ShowStatus(c.Context(), os.LookupEnv, results(c))
			if errors.Is(err, app.ErrNotWell) {
				return errSilent // the printed status already shows the problem
			}
			return err
		},
	})
}
