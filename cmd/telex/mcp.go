package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"telex/internal/app"
)

func mcpCommand() *cobra.Command {
	return group("mcp", "Try the configured MCP servers",
		"Try the MCP servers in the configuration. Each command connects to them itself, as the daemon does, and\n"+
			"disconnects at the end. Works with and without a running daemon.",
		mcpListCommand(), mcpTestCommand())
}

func mcpListCommand() *cobra.Command {
	return withJSON(&cobra.Command{
		Use: "list", Short: "Connect to every MCP server, and show its state and how many tools it offers", Args: noArgs,
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
		Long: "Connect to one MCP server, and show its tools and who approves their calls: nobody for tools that only read,\n" +
			"the configuration (auto_approve), or a person. With the name of a tool, call this tool once, and show what it\n" +
			"returns; you approve the call by running the command. ARGUMENTS is a JSON object.",
		Example: "  telex mcp test files\n  telex mcp test files read_text_file '{\"path\": \"/tmp/a.txt\"}'",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) >= 1 && len(args) <= 3 {
				return nil
			}
			return wrongUsage(c, fmt.Errorf("%q takes the name of a server, and optionally a tool and its arguments", c.CommandPath()))
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
