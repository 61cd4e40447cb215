package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"telex/internal/app"
)

func mcpCommand() *cobra.Command {
	return group("mcp", "Try the configured MCP servers",
		"Try the MCP servers of the configuration. Each command connects to them by itself, as the daemon does, and\n"+
			"disconnects in the end. A daemon may run or not.",
		mcpListCommand(), mcpTestCommand())
}

func mcpListCommand() *cobra.Command {
	return withJSON(&cobra.Command{
		Use: "list", Short: "Connect to every MCP server, and show how each is and how many tools it offers", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := load(c)
			if err != nil {
				return err
			}
			return app.ListMCP(c.Context(), cfg, keeperCommand(), results(c))
		},
	})
}

func mcpTestCommand() *cobra.Command {
	return withJSON(&cobra.Command{
		Use:   "test SERVER [TOOL [ARGUMENTS]]",
		Short: "Connect to one MCP server and show its tools, or call one of them",
		Long: "Connect to one MCP server, and show its tools and who decides about a call of each: nobody for tools that only\n" +
			"read, the configuration (auto_approve), or a person. With the name of a tool, call it once and show what it\n" +
			"returns; you approve the call by running the command. ARGUMENTS is a JSON object.",
		Example: "  telex mcp test files\n  telex mcp test files read_text_file '{\"path\": \"/tmp/a.txt\"}'",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) >= 1 && len(args) <= 3 {
				return nil
			}
			return wrongUsage(c, fmt.Errorf("%q takes the name of a server, and perhaps a tool and its arguments", c.CommandPath()))
		},
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := load(c)
			if err != nil {
				return err
			}
			args = append(args, "", "")
			err = app.TestMCP(c.Context(), cfg, keeperCommand(), results(c), args[0], args[1], args[2])
			if errors.Is(err, app.ErrUnknownServer) {
				return usageError(err)
			}
			return err
		},
	})
}
