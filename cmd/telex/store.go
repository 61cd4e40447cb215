package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"telex/internal/app"
	"telex/internal/config"
)

func storeCommand() *cobra.Command {
	c := group("store", "Back up, check, restore or move what is kept",
		"Back up, check, restore or move what is kept: the file telex.db in the state directory, which is\n"+
			"$STATE_DIRECTORY, else $XDG_STATE_HOME/telex, else ~/.local/state/telex, or the service's /var/lib/telex\n"+
			"where that has none; or the PostgreSQL database that the configuration names in store.dsn. The daemon may\n"+
			"run during a backup and a check.",
		&cobra.Command{
			Use: "backup FILE", Short: "Copy the store, as it is at one moment, into a new file", Args: oneArg("the name of one new file"),
			RunE: runEWithArg(anyText, app.BackupStore),
		},
		&cobra.Command{
			Use: "restore FILE", Short: "Put a backup in the store's place", Args: oneArg("the name of one backup"),
			Long: "Check a backup and put it in the store's place. The daemon must not run. The store that was there is kept\n" +
				"beside it, with the time in its name. As root, the files get the owner of the state directory.",
			RunE: runEWithArg(anyText, app.RestoreStore),
		},
		&cobra.Command{
			Use: "check", Short: "Say whether the store is sound, and how much is in it", Args: noArgs,
			RunE: func(c *cobra.Command, _ []string) error {
				err := runE(app.CheckStore)(c, nil)
				if errors.Is(err, app.ErrDamaged) {
					return errSilent // the function app.CheckStore has already reported the damage
				}
				return err
			},
		},
		&cobra.Command{
			Use: "migrate", Short: "Bring the store up to date, as telex run does", Args: noArgs, RunE: runE(app.MigrateStore),
		},
		storeCopyCommand(),
	)
	for _, one := range c.Commands() {
		if one.Name() == "backup" || one.Name() == "restore" {
			one.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveDefault)
		}
	}
	return c
}

func storeCopyCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "copy --from sqlite", Short: "Copy the file telex.db into the configured database", Args: noArgs,
		Long: "Copy the file telex.db of the state directory into the empty PostgreSQL database that the configuration names\n" +
			"in store.dsn, in one transaction, and count the rows on both sides. The daemon must not run. The file stays.",
		RunE: func(c *cobra.Command, _ []string) error {
			if from, _ := c.Flags().GetString("from"); from != config.SQLite {
				return wrongUsage(c, fmt.Errorf("%q needs --from sqlite", c.CommandPath()))
			}
			return runE(app.CopyStore)(c, nil)
		},
	}
	c.Flags().String("from", "", "what to copy: sqlite")
	return c
}
