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
		Use: "usage", Short: "Show what was used, in tokens: by day, person, conversation and model", Args: noArgs,
		Long: "Show what was used, in tokens, in the last 400 days at most. A row is what one person used in one conversation\n" +
			"of one model on one day, as the machine counts days; --by sums up over what it does not name. A turn\n" +
			"that asked two models is in two rows, and once in the total. CACHED is part of PROMPT, REASONING of\n" +
			"COMPLETION; ~ marks sums with estimates, where a provider reported no usage. People who were deleted are \"-\".\n" +
			"A daemon may run or not.",
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
	c.Flags().StringVar(&since, "since", "", "a date, such as 2026-01-31, or how long ago, such as 30d (default all that is kept)")
	c.Flags().StringSliceVar(&by, "by", nil, "day, person, conversation, model, or several separated by commas (default all)")
	completesWords(c, "by", "day", "person", "conversation", "model")
	return withJSON(c)
}

// wrongUsage returns a usage error that ends with a hint about the command's help.
func wrongUsage(c *cobra.Command, err error) error {
	return usageError(fmt.Errorf("%w\nRun '%s --help' for usage", err, c.CommandPath()))
}
