package main

import (
	"errors"

	"github.com/spf13/cobra"

	"telex/internal/app"
)

func storeCommand() *cobra.Command {
	c := group("store", "Back up, check or restore what is kept",
		"Back up, check or restore what is kept: the file telex.db in the state directory, which is\n"+
			"$STATE_DIRECTORY, else $XDG_STATE_HOME/telex, else ~/.local/state/telex, or the service's /var/lib/telex\n"+
			"where that has none. The daemon may run, except while the store is restored.",
		&cobra.Command{
			Use: "backup FILE", Short: "Copy the store, as it is at one moment, into a new file", Args: oneArg("the name of one new file"),
			RunE: runsOn(asWritten, app.BackupStore),
		},
		&cobra.Command{
			Use: "restore FILE", Short: "Put a backup in the store's place", Args: oneArg("the name of one backup"),
			Long: "Check a backup and put it in the store's place. The daemon must not run. The store that was there is kept\n" +
				"beside it, with the time in its name. As root, the files get the owner of the state directory.",
			RunE: runsOn(asWritten, app.RestoreStore),
		},
		&cobra.Command{
			Use: "check", Short: "Say whether the store is sound, and how much is in it", Args: noArgs,
			RunE: func(c *cobra.Command, _ []string) error {
				err := runs(app.CheckStore)(c, nil)
				if errors.Is(err, app.ErrDamaged) {
					return errSilent // CheckStore has explained it
				}
				return err
			},
		},
	)
	for _, one := range c.Commands() {
		if one.Name() != "check" {
			one.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveDefault)
		}
	}
	return c
}
