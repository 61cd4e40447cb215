// Command telex lets people talk to a language model in chats and watch the answer grow. The command translates flags and
// signals into calls of internal/app, and contains no other logic.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"telex/internal/app"
	"telex/internal/config"
)

// Exit codes of the process.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2  // a flag or an argument is wrong; the Go runtime uses the same code for a crash
	exitConfig = 78 // the configuration is invalid: EX_CONFIG of sysexits.h, after which systemd does not restart the service
)

// version is set when a release is built: to the version, or to "version,commit,date".
var version string

func main() { os.Exit(run()) }

// run does the work of main and returns the exit code. run is a function of its own so that deferred calls are executed
// before the exit, and so that tests can call it.
func run() int {
	out := &resultWriter{Writer: os.Stdout}
	hangups := make(chan os.Signal, 1)
	c := root(hangups)
	c.SetOut(out)
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals(c, hangups)...)
	defer stop()
	// After the first signal, restore the default behaviour, so that a second signal ends the process at once.
	defer context.AfterFunc(ctx, stop)()
	err := c.ExecuteContext(ctx)
	if err == nil {
		err = out.err // cobra ignores write errors when it prints help
	}
	if err == nil {
		return exitDone
	}
	var wrong config.Errors
	switch {
	case errors.Is(err, errSilent), isBrokenPipe(err):
	case errors.As(err, &wrong): // each line of the error begins with its position in the file
		fmt.Fprintln(os.Stderr, wrong)
	default:
		fmt.Fprintln(os.Stderr, "telex: "+err.Error())
	}
	return exitCode(err)
}

// stopSignals returns the signals that end the command in an orderly way. SIGHUP is one of these signals: a process
// gets SIGHUP when its terminal is closed, and by default SIGHUP would end the process at once. If telex was started
// with nohup, SIGHUP stays ignored. In the daemon, SIGHUP means a reload, so it is sent to hangups instead.
func stopSignals(c *cobra.Command, hangups chan<- os.Signal) []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if command, _, err := c.Find(os.Args[1:]); err == nil && command.Name() == runName {
		signal.Notify(hangups, syscall.SIGHUP)
	} else if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// isBrokenPipe reports whether a write failed because nobody reads the results any more, as in `telex … | head -1`. telex
// does not report a closed pipe as an error.
func isBrokenPipe(err error) bool {
	failed, ok := errors.AsType[*fs.PathError](err)
	return ok && failed.Path == os.Stdout.Name() && errors.Is(failed, syscall.EPIPE)
}

// resultWriter writes the results of commands, and keeps the first write error.
type resultWriter struct {
	io.Writer
	err error
}

// Write implements io.Writer.
func (r *resultWriter) Write(p []byte) (int, error) {
	n, err := r.Writer.Write(p)
	if r.err == nil {
		r.err = err
	}
	return n, err
}

// errSilent is the error of a command that has already reported its failure.
var errSilent = errors.New("failed")

// exitError is an error that determines the exit code of the process.
type exitError struct {
	error
	code int
}

func (e exitError) Unwrap() error { return e.error }

// usageError returns the error for a wrong flag or argument.
func usageError(err error) error { return exitError{err, exitUsage} }

func exitCode(err error) int {
	if known, ok := errors.AsType[exitError](err); ok {
		return known.code
	}
	if _, wrong := errors.AsType[config.Errors](err); wrong {
		return exitConfig
	}
	return exitFailed
}

func root(hangups <-chan os.Signal) *cobra.Command {
	c := &cobra.Command{
		Use:           "telex",
		Short:         "Talk to a language model in chats and watch the answer being typed",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArgs,
		Version:       app.Build(version),
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	c.SetVersionTemplate("{{.Version}}\n")
	c.SetHelpCommand(helpCommand())
	c.PersistentFlags().String("config", "", "configuration file (default $TELEX_CONFIG, ./config.yaml, /etc/telex/config.yaml)")
	completesFiles(c, "config")
	c.SetFlagErrorFunc(wrongUsage)
	c.AddCommand(runCommand(hangups), reloadCommand(), chatCommand(), demoCommand(), standinCommand(), configCommand(),
		pairCommand(), sessionsCommand(), usageCommand(), statusCommand(), replicasCommand(), storeCommand(), mcpCommand(), setupCommand(), doctorCommand(), versionCommand(), keepCommand())
	return c
}

// needsCommand is the action of a command that only groups other commands. needsCommand prints the help and fails.
func needsCommand(c *cobra.Command, _ []string) error {
	c.SetOut(os.Stderr) // the help goes to standard error, because the command has no result
	if err := c.Help(); err != nil {
		return err
	}
	return usageError(fmt.Errorf("%q needs a command", c.CommandPath()))
}

// noArgs refuses arguments, with the exit code for wrong usage.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	c.SuggestionsMinimumDistance = 2 // maximum edit distance; cobra sets its default only for its own suggestions
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf("\nDid you mean %q?", c.CommandPath()+" "+near[0])
	}
	return wrongUsage(c, fmt.Errorf("unknown command or argument %q for %q%s", args[0], c.CommandPath(), hint))
}
