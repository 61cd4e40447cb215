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
		Long: "Ask the running daemon what it does: whether its endpoints receive, which replies grow or wait and for what, and\n" +
			"how many messages wait. Run it as the daemon's user or as root. It never shows the text of a message. The exit\n" +
			"code is 1 if no daemon is reached, if something in it hangs, or if an endpoint has stopped for good.",
		RunE: func(c *cobra.Command, _ []string) error {
			err := app.ShowStatus(c.Context(), os.LookupEnv, results(c))
			if errors.Is(err, app.ErrNotWell) {
				return errSilent // the printed status already shows the problem
			}
			return err
		},
	})
}
