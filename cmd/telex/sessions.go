package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"telex/internal/app"
)

const takesConversation = "a conversation, as endpoint:chat or endpoint:chat:thread"

func sessionsCommand() *cobra.Command {
	return group("sessions", "Show or delete stored conversations",
		"Show or delete stored conversations. A conversation is written endpoint:chat or\n"+
			"endpoint:chat:thread, as the list shows it. Works with and without a running daemon.",
		withJSON(&cobra.Command{
			Use: "list", Short: "List the stored conversations, newest first", Args: noArgs,
			RunE: runE(app.ListSessions),
		}),
		withJSON(&cobra.Command{
			Use: "show CONVERSATION", Short: "Print a conversation", Args: oneArg(takesConversation),
			RunE: runEWithArg(app.ParseConversation, app.ShowSession),
		}),
		withJSON(deleteSessions()),
	)
}

func deleteSessions() *cobra.Command {
	var person string
	c := &cobra.Command{
		Use:   "delete CONVERSATION | --person PERSON",
		Short: "Delete a conversation, or everything about a person",
		Long: "Delete a conversation; or, with --person endpoint:user:ID, everything about this person in every\n" +
			"conversation: their questions and the answers, waiting messages, what they asked the bot to remember,\n" +
			"and the access that they got by a code.\n" +
			"A running answer is stopped. Messages in the chat itself stay there: only people can delete them.",
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
