package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"telex/internal/app"
	"telex/internal/config"
)

func pairCommand() *cobra.Command {
	return group("pair", "Give people access by their codes",
		"Give people access by their codes. If access.default is pair, a person without access who writes to the bot\n"+
			"in private gets a code, which is valid for one hour. Works with and without a running daemon.",
		withJSON(&cobra.Command{Use: "list", Short: "Show who waits for access and who got it by a code", Args: noArgs, RunE: runE(app.ListPairing)}),
		&cobra.Command{
			Use: "approve CODE", Short: "Give access to the person who has the code", Args: oneArg("a code"),
			RunE: runEWithArg(anyText, app.ApprovePairing),
		},
		&cobra.Command{
			Use: "revoke PERSON", Short: "Revoke access that a person got by a code", Args: oneArg("a person, as endpoint:user:ID"),
			RunE: runEWithArg(app.ParsePerson, app.RevokePairing),
		},
	)
}

// group returns a command that only groups other commands.
func group(name, short, long string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, Long: long, Args: noArgs, RunE: needsCommand}
	c.AddCommand(commands...)
	return c
}

// withJSON adds the flag --json, with which the command prints its results as JSON.
func withJSON(c *cobra.Command) *cobra.Command {
	c.Flags().Bool("json", false, "print JSON, for scripts")
	return c
}

// runE returns the action of a command that performs the operation do.
func runE(do func(context.Context, config.Env, app.Output) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, _ []string) error { return do(c.Context(), environment(c), results(c)) }
}

// runEWithArg is like runE, but for an operation that needs the first argument of the command. parse converts this
// argument.
func runEWithArg[T any](parse func(string) (T, error), do func(context.Context, config.Env, app.Output, T) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		what, err := parse(args[0])
		if err != nil {
			return usageError(err)
		}
		return do(c.Context(), environment(c), results(c), what)
	}
}

// environment returns the environment of the process. If the flag --config is set, its value replaces the variable
// TELEX_CONFIG.
func environment(c *cobra.Command) config.Env {
	explicit, _ := c.Flags().GetString("config") // every command has the flag --config
	return func(name string) (string, bool) {
		if name == "TELEX_CONFIG" && explicit != "" {
			return explicit, true
		}
		return os.LookupEnv(name)
	}
}

// anyText is a parse function for runEWithArg that accepts any text.
func anyText(text string) (string, error) { return text, nil }

// results returns the output of a command.
func results(c *cobra.Command) app.Output {
	asJSON, _ := c.Flags().GetBool("json") // false for a command without the flag --json
	return app.Output{Results: c.OutOrStdout(), Remarks: os.Stderr, JSON: asJSON}
}

// oneArg requires exactly one argument that is not empty.
func oneArg(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 1 && args[0] != "" {
			return nil
		}
		return wrongUsage(c, fmt.Errorf("%q takes %s", c.CommandPath(), what))
	}
}
