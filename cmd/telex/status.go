package main

import (
	"github.com/spf13/cobra"

	"telex/internal/app"
)

func statusCommand() *cobra.Command {
	return withJSON(&cobra.Command{
		Use: "status", Short: "Show what the running daemon does", Args: noArgs,
		Long: "Ask the running daemon what it does: whether its endpoints receive, which replies grow or wait and for what, and\n" +
			"how many messages wait. Run it as the daemon's user or as root. It never shows the text of a message. The exit\n" +
			"code is 1 if no daemon is reached.",
		RunE: runs(app.ShowStatus),
	})
}
