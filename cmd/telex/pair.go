package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"telex/internal/app"
)

func pairCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "pair", Short: "Let people in by the codes that they were given", Args: noArgs,
		Long: "Let people in by the codes that they were given. With access.default set to pair, a person who is not\n" +
			"let in and writes to the bot in private gets a code, which is valid for an hour. A daemon may run or not.",
		RunE: needsCommand,
	}
	list := &cobra.Command{
		Use: "list", Short: "Show who waits and who was let in", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return app.ListPairing(c.Context(), os.LookupEnv, results(c))
		},
	}
	list.Flags().Bool("json", false, "for scripts")
	c.AddCommand(list, &cobra.Command{
		Use: "approve CODE", Short: "Let in the person who has the code", Args: oneArg("a code"),
		RunE: func(c *cobra.Command, args []string) error {
			return app.ApprovePairing(c.Context(), os.LookupEnv, results(c), args[0])
		},
	}, &cobra.Command{
		Use: "revoke PERSON", Short: "Take back that a person was let in by a code", Args: oneArg("a person, as endpoint:user:ID"),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := app.ParsePerson(args[0])
			if err != nil {
				return usageError{err}
			}
			return app.RevokePairing(c.Context(), os.LookupEnv, results(c), p)
		},
	})
	return c
}

// results is where a command's results and remarks go.
func results(c *cobra.Command) app.Output {
	asJSON := false
	if f := c.Flags().Lookup("json"); f != nil {
		asJSON = f.Value.String() == "true"
	}
	return app.Output{Results: c.OutOrStdout(), Remarks: os.Stderr, JSON: asJSON}
}

// oneArg wants exactly one argument that is not empty.
func oneArg(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 1 && args[0] != "" {
			return nil
		}
		return usageError{fmt.Errorf("%q takes %s\nRun '%s --help' for usage", c.CommandPath(), what, c.CommandPath())}
	}
}
