package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"telex/internal/app"
)

// maxQuestion is the maximum length of a question in bytes. The protocol between telex chat and the daemon has the same
// limit.
const maxQuestion = 64 << 10

func chatCommand() *cobra.Command {
	var o app.ChatOptions
	var demo bool
	var rate float64
	c := &cobra.Command{
		Use:   "chat [question]",
		Short: "Talk to the model in the terminal, or print one answer",
		Long: "Talk to the model in the terminal, with the same commands and sessions as in chats; no platform is needed.\n" +
			"Uses the daemon if one runs, otherwise the models in the configuration. With a question, prints the answer\n" +
			"as Markdown while it is written; exits with 1 if there is no answer. The question comes from the arguments\n" +
			"or, without arguments, from standard input.",
		RunE: func(c *cobra.Command, args []string) error {
			// Catch SIGPIPE, because by default it kills the process. If telex catches SIGPIPE, a write to a closed
			// pipe returns an error, and telex ends in an orderly way.
			brokenPipe := make(chan os.Signal, 1)
			signal.Notify(brokenPipe, syscall.SIGPIPE)
			defer signal.Stop(brokenPipe)
			if err := app.CheckSession(o.Session); err != nil {
				return usageError(err)
			}
			question, err := questionOf(args, os.Stdin)
			if err != nil {
				return err
			}
			if question == "" && len(o.Attach) > 0 {
				return usageError(errors.New("--attach needs a question; in a conversation, type /attach PATH"))
			}
			o.Piped = len(args) == 0
			o.Question, o.In, o.Out, o.Trouble, o.Env = question, os.Stdin, os.Stdout, os.Stderr, os.LookupEnv
			if demo {
				if err := checkRates(rate, 0); err != nil {
					return err
				}
				o.Log = slog.New(slog.DiscardHandler)
				return app.ChatDemo(c.Context(), rate, o)
			}
			return chat(c.Context(), c, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Session, "session", "main", "the conversation to continue; a new name begins one")
	f.StringArrayVar(&o.Attach, "attach", nil, "a file to send with the question; repeat the flag for several files")
	completesFiles(c, "attach")
	f.BoolVar(&demo, "demo", false, "talk to an imitation of a model: no account, no configuration, nothing stored")
	f.Float64Var(&rate, "rate", 50, "with --demo: tokens per second of the model")
	return c
}

func chat(ctx context.Context, c *cobra.Command, o app.ChatOptions) (err error) {
	defer func() {
		if errors.Is(err, app.ErrOtherConfig) {
			err = usageError(err)
		}
	}()
	o.Log = slog.New(slog.DiscardHandler)
	if o.Config, err = c.Flags().GetString("config"); err != nil {
		return err
	}
	if found, err := app.ChatWithDaemon(ctx, o); found || err != nil {
		return err
	}
	cfg, err := load(c)
	if err != nil {
		return err
	}
	log, closeLog, err := app.NewChatLog(cfg.Log, o)
	if err != nil {
		return err
	}
	defer closeLog()
	o.Log, o.Keeper = log, keeperCommand()
	warn(log, cfg)
	return app.Chat(ctx, cfg, o)
}

// questionOf returns the question: the arguments, or the content of standard input if standard input is not a terminal.
// If questionOf returns "", telex begins a conversation.
func questionOf(args []string, in *os.File) (string, error) {
	question := strings.TrimSpace(strings.Join(args, " "))
	switch {
	case len(args) > 0 && question == "":
		return "", usageError(errors.New("the question is empty"))
	case question != "" || term.IsTerminal(int(in.Fd())):
		return question, nil
	}
	text, err := io.ReadAll(io.LimitReader(in, maxQuestion+1))
	if err != nil {
		return "", fmt.Errorf("read the question: %w", err)
	}
	if question = strings.TrimSpace(string(text)); question == "" {
		return "", usageError(errors.New("there is no question: standard input is empty"))
	}
	if len(text) > maxQuestion {
		return "", usageError(fmt.Errorf("the question is longer than %d bytes", maxQuestion))
	}
	return question, nil
}
