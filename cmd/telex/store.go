package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"telex/internal/app"
	"telex/internal/config"
)

func storeCommand() *cobra.Command {
	c := group("store", "Back up, check, restore, update or copy the store",
		"Back up, check, restore, update or copy the store. The store is the PostgreSQL database that the configuration\n"+
			"names in store.dsn or, without one, the file telex.db in the state directory. The state directory is the first of\n"+
			"these that is set: $STATE_DIRECTORY, $XDG_STATE_HOME/telex. If neither is set, it is ~/.local/state/telex or, if\n"+
			"that contains no store, the service's /var/lib/telex. The daemon may run during a backup and a check.",
		&cobra.Command{
			Use: "backup FILE", Short: "Copy the store as it is now into a new file", Args: oneArg("the name of one new file"),
			RunE: runEWithArg(anyText, app.BackupStore),
		},
		&cobra.Command{
			Use: "restore FILE", Short: "Replace the store by a backup", Args: oneArg("the name of one backup"),
			Long: "Check a backup, and replace the store by it. The daemon must not run. The old store is kept beside the new one,\n" +
				"with the time in its name. If you are root, the owner of the state directory becomes the owner of the files.",
			RunE: runEWithArg(anyText, app.RestoreStore),
		},
		&cobra.Command{
			Use: "check", Short: "Check the store for damage, and show how much it contains", Args: noArgs,
			RunE: func(c *cobra.Command, _ []string) error {
				err := runE(app.CheckStore)(c, nil)
				if errors.Is(err, app.ErrDamaged) {
					return errSilent // the function app.CheckStore has already reported the damage
				}
				return err
			},
		},
		&cobra.Command{
			Use: "migrate", Short: "Update the schema of the store to this version, as telex run does", Args: noArgs, RunE: runE(app.MigrateStore),
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
		Long: "Copy the file telex.db in the state directory into the empty PostgreSQL database that the configuration names\n" +
			"in store.dsn, in one transaction, and count the rows on both sides. The daemon must not run. The file is kept.",
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
