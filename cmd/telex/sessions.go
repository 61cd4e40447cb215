package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"telex/internal/app"
)

const takesConversation = "a conversation, as endpoint:chat or endpoint:chat:thread"

func sessionsCommand() *cobra.Command {
	return group("sessions", "Show or delete what conversations remember",
		"Show or delete what conversations remember. A conversation is written endpoint:chat or\n"+
			"endpoint:chat:thread, as the list shows it. A daemon may run or not.",
		withJSON(&cobra.Command{
			Use: "list", Short: "Show the conversations of which something is kept, the newest first", Args: noArgs,
			RunE: runE(app.ListSessions),
		}),
		withJSON(&cobra.Command{
			Use: "show CONVERSATION", Short: "Print what was said", Args: oneArg(takesConversation),
			RunE: runEWithArg(app.ParseConversation, app.ShowSession),
		}),
		withJSON(deleteSessions()),
	)
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
				return wrongUsage(c, fmt.Errorf("%q takes a conversation or --person, not both", c.CommandPath()))
			case person == "":
				return usageError(errors.New("--person needs a person, as endpoint:user:ID"))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if person != "" {
				return runEWithArg(app.ParsePerson, app.DeletePerson)(c, []string{person})
			}
			return runEWithArg(app.ParseConversation, app.DeleteSession)(c, args)
		},
	}
	c.Flags().StringVar(&person, "person", "", "the person, as endpoint:user:ID")
	return c
}
