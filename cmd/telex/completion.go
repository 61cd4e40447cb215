package main

import "github.com/spf13/cobra"

// completesFiles makes the shell complete the values of these flags of a command as files, which it does nowhere else.
func completesFiles(c *cobra.Command, flags ...string) {
	for _, name := range flags {
		mustComplete(c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)))
	}
}

// completesWords makes the shell complete the value of a flag as one of these.
func completesWords(c *cobra.Command, flag string, words ...string) {
	mustComplete(c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)))
}

// mustComplete reports a flag that does not exist, or has completions already: a mistake in this package.
func mustComplete(err error) {
	if err != nil {
		panic(err)
	}
}
