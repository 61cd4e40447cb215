package main

import "github.com/spf13/cobra"

// completesFiles makes the shell complete the values of these flags as names of files. For other flags, the shell offers no
// files.
func completesFiles(c *cobra.Command, flags ...string) {
	for _, name := range flags {
		mustComplete(c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)))
	}
}

// completesWords makes the shell complete the value of a flag as one of these words.
func completesWords(c *cobra.Command, flag string, words ...string) {
	mustComplete(c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)))
}

// mustComplete panics if a flag does not exist or already has completions, which is a mistake in this package.
func mustComplete(err error) {
	if err != nil {
		panic(err)
	}
}
