package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"telex/internal/app"
)

func storeCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "store", Short: "Back up or check what is kept", Args: noArgs,
		Long: "Back up or check what is kept: the file telex.db in the state directory, which is\n" +
			"$STATE_DIRECTORY, else $XDG_STATE_HOME/telex, else ~/.local/state/telex. The daemon may run.",
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(&cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the store, as it is at one moment, into a new file",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return usageError{fmt.Errorf("%q takes the name of one new file\nRun '%s --help' for usage", c.CommandPath(), c.CommandPath())}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return app.BackupStore(c.Context(), os.LookupEnv, c.OutOrStdout(), args[0])
		},
	}, &cobra.Command{
		Use:   "check",
		Short: "Say whether the store is sound, and how much is in it",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			err := app.CheckStore(c.Context(), os.LookupEnv, c.OutOrStdout())
			if errors.Is(err, app.ErrDamaged) {
				return errSilent // CheckStore has explained it
			}
			return err
		},
	})
	return c
}
