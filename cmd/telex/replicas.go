package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"telex/internal/app"
)

func replicasCommand() *cobra.Command {
	var chats bool
	c := withJSON(&cobra.Command{
		Use: "replicas", Short: "Show the daemons that share the database", Args: noArgs,
		Long: "Ask the running daemon which daemons share its database. For each of them, show its version, when it started, how\n" +
			"long ago it renewed its lease (LAG; after five seconds others take over), in how many chats it answers, and from\n" +
			"which endpoints it receives messages. Only one daemon can use a store in a file. The exit code is 1 if no daemon\n" +
			"can be reached, or if it can't renew its lease.\n" +
			"With --chats, read from the database which daemon answers in which chat. This works without a daemon, too.",
		RunE: func(c *cobra.Command, _ []string) error {
			if chats {
				return app.ListOwners(c.Context(), environment(c), results(c))
			}
			err := app.ShowReplicas(c.Context(), os.LookupEnv, results(c))
			if errors.Is(err, app.ErrNoPlace) {
				return errSilent // the printed list already shows the problem
			}
			return err
		},
	})
	c.Flags().BoolVar(&chats, "chats", false, "list the chats and the daemon that answers in each")
	return c
}
