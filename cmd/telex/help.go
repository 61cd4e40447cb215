package main

import (
	"github.com/spf13/cobra"
)

// helpCommand returns a help command that fails for an unknown topic. The help command of the library cobra does not
// fail.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Show the help of a command",
		RunE: func(c *cobra.Command, args []string) error {
			topic, rest, err := c.Root().Find(args)
			if err != nil { // the first argument is not a command
				topic, rest = c.Root(), args
			}
			if err := noArgs(topic, rest); err != nil {
				return err
			}
			topic.InitDefaultHelpFlag()
			return topic.Help()
		},
	}
}
