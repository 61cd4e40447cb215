package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"telex/internal/app"
)

const takesConversation = "a conversation, as endpoint:chat or endpoint:chat:thread"

func sessionsCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "sessions", Short: "Show or delete what conversations remember", Args: noArgs,
		Long: "Show or delete what conversations remember. A conversation is written endpoint:chat or\n" +
			"endpoint:chat:thread, as the list shows it. A daemon may run or not.",
		RunE: needsCommand,
	}
	list := &cobra.Command{
		Use: "list", Short: "Show the conversations of which something is kept, the newest first", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return app.ListSessions(c.Context(), os.LookupEnv, results(c))
		},
	}
	show := &cobra.Command{
		Use: "show CONVERSATION", Short: "Print what was said", Args: oneArg(takesConversation),
		RunE: func(c *cobra.Command, args []string) error {
			conversation, err := app.ParseConversation(args[0])
			if err != nil {
				return usageError{err}
			}
			return app.ShowSession(c.Context(), os.LookupEnv, results(c), conversation)
		},
	}
	remove := deleteSessions()
	for _, sub := range []*cobra.Command{list, show, remove} {
		sub.Flags().Bool("json", false, "for scripts")
		c.AddCommand(sub)
	}
	return c
}

func deleteSessions() *cobra.Command {
	var person string
	c := &cobra.Command{
		Use:   "delete CONVERSATION | --person PERSON",
		Short: "Delete what is kept of a conversation, or of a person everywhere",
		Long: "Delete what is kept of a conversation; or, with --person endpoint:user:ID, everything of this person in\n" +
			"every conversation: what they asked and what was answered, what waits, what they asked to be remembered,\n" +
			"and that a code let them in.\n" +
			"What runs there is ended. What was sent to the chat stays there: only people can delete it.",
		Args: func(c *cobra.Command, args []string) error {
			switch {
			case !c.Flags().Changed("person"):
				return oneArg(takesConversation+", or --person")(c, args)
			case len(args) > 0:
				return usageError{fmt.Errorf("%q takes a conversation or --person, not both\nRun '%s --help' for usage", c.CommandPath(), c.CommandPath())}
			case person == "":
				return usageError{errors.New("--person needs a person, as endpoint:user:ID")}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if person != "" {
				p, err := app.ParsePerson(person)
				if err != nil {
					return usageError{err}
				}
				return app.DeletePerson(c.Context(), os.LookupEnv, results(c), p)
			}
			conversation, err := app.ParseConversation(args[0])
			if err != nil {
				return usageError{err}
			}
			return app.DeleteSession(c.Context(), os.LookupEnv, results(c), conversation)
		},
	}
	c.Flags().StringVar(&person, "person", "", "the person, as endpoint:user:ID")
	return c
}
