package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"telex/internal/app"
)

func usageCommand() *cobra.Command {
	var since string
	var by []string
	c := &cobra.Command{
		Use: "usage", Short: "Show the tokens used, by day, person, conversation and model", Args: noArgs,
		Long: "Show the tokens used in the last 400 days at most. A row contains the tokens of one person in one conversation\n" +
			"with one model on one day, in the machine's time zone; --by NAMES groups the rows by these columns only. A turn\n" +
			"that asked two models counts in two rows, and once in the total. CACHED is part of PROMPT, and REASONING is part\n" +
			"of COMPLETION. ~ marks sums that contain estimates, because a provider reported no usage. People who were deleted\n" +
			"appear as \"-\". Works with and without a running daemon.",
		Example: "  telex usage --since 2026-01-01 --by person\n  telex usage --since 30d --by model,day --json",
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("since") && since == "" {
				return wrongUsage(c, errors.New("--since needs a date or how long ago"))
			}
			names := by
			if c.Flags().Changed("by") && names == nil {
				names = []string{}
			}
			o, err := app.ParseUsage(since, names, time.Now())
			if err != nil {
				return wrongUsage(c, err)
			}
			return app.Usage(c.Context(), environment(c), results(c), o)
		},
	}
	c.Flags().StringVar(&since, "since", "", "a date, such as 2026-01-31, or how long ago, such as 30d (default: everything stored)")
	c.Flags().StringSliceVar(&by, "by", nil, "day, person, conversation or model, or several separated by commas (default: all)")
	completesWords(c, "by", "day", "person", "conversation", "model")
	return withJSON(c)
}

// wrongUsage returns a usage error that ends with a hint about the command's help.
func wrongUsage(c *cobra.Command, err error) error {
	return usageError(fmt.Errorf("%w\nRun '%s --help' for usage", err, c.CommandPath()))
}
