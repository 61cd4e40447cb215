package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"telex/internal/app"
	"telex/internal/config"
)

// runName is the name of the command that runs the daemon.
const runName = "run"

func runCommand(hangups <-chan os.Signal) *cobra.Command {
	return &cobra.Command{
		Use:   runName,
		Short: "Run the daemon until a signal stops it",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := load(c)
			if err != nil {
				return err
			}
			if err := cfg.CheckRun(); err != nil {
				return err
			}
			setGCPercent()
			level := new(app.LogLevel)
			log := level.NewLog(cfg.Log, os.Stderr)
			warn(log, cfg)
			if doubt := cfg.NoAccessReason(); doubt != "" {
				log.Warn(doubt) //nolint:sloglint // the log message is the whole warning
			}
			reloads := make(chan os.Signal)
			ctx, cancel := context.WithCancel(c.Context())
			var passing sync.WaitGroup
			defer passing.Wait()
			defer cancel()
			a, err := app.New(ctx, cfg, app.Options{
				Log: log, Level: level, Env: os.LookupEnv, Keeper: keeperCommand(), Version: version, Reloads: reloads,
				Load: func() (*config.Config, error) { return app.LoadConfig(cfg.File(), os.LookupEnv) },
			})
			if err != nil {
				return err
			}
			log.Info("telex starts", slog.String("version", app.Version(version)), slog.String("config", cfg.File()))
			passing.Go(func() { passHangups(ctx, hangups, reloads, cancel) })
			err = a.Run(ctx)
			log.Info("telex has stopped")
			return err
		},
	}
}

// passHangups passes each SIGHUP from hangups to reloads until ctx ends. If the daemon got SIGHUP because its terminal
// was closed, passHangups calls the function end instead. A daemon under nohup continues, because nohup redirects its
// output to a file, so the daemon writes to no terminal.
func passHangups(ctx context.Context, hangups <-chan os.Signal, reloads chan<- os.Signal, end func()) {
	attached := hasTerminal()
	for {
		select {
		case s := <-hangups:
			if attached && !hasTerminal() {
				end()
				return
			}
			select {
			case reloads <- s:
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// hasTerminal reports whether the process writes to an open terminal.
func hasTerminal() bool { return term.IsTerminal(int(os.Stderr.Fd())) }

func reloadCommand() *cobra.Command {
	return withJSON(&cobra.Command{
		Use: "reload", Short: "Tell the running daemon to read its configuration again", Args: noArgs,
		Long: "Tell the running daemon to read its configuration again, as SIGHUP does, and print what has changed. Answers that are\n" +
			"being written continue. If the file is invalid or can't be used, the exit code is 1, and nothing changes.\n\n" +
			"With --config, root passes this file and the files in the folder secrets beside it to the daemon, which uses them\n" +
			"instead of its own until its next start. This is for a service: it gets copies of its files when it starts, and\n" +
			"can't read the originals.",
		RunE: func(c *cobra.Command, _ []string) error {
			path, err := c.Flags().GetString("config")
			if err == nil {
				err = app.ReloadDaemon(c.Context(), os.LookupEnv, results(c), path)
			}
			if refused, ok := errors.AsType[app.RefusedError](err); ok { // each line of the error begins with a position in the file
				fmt.Fprintln(os.Stderr, refused)
				return errSilent
			}
			return err
		},
	})
}

// keepName is the name of the hidden command with which the daemon starts each MCP server.
const keepName = "keep-server"

// keeperCommand returns the command line that runs this program with the command keepName. /proc/self/exe is the running
// program, even after an upgrade has replaced its file.
func keeperCommand() []string { return []string{"/proc/self/exe", keepName} }

// keepCommand returns the hidden command keepName. Only the daemon runs this command.
func keepCommand() *cobra.Command {
	return &cobra.Command{
		Use: keepName, Short: "Run an MCP server for the daemon", Hidden: true, DisableFlagParsing: true,
		Run: func(_ *cobra.Command, args []string) { os.Exit(app.KeepServer(args)) },
	}
}

// gcPercent is the value of GOGC for the garbage collector. Go's default of 100 needs more memory, which is scarce on a
// small VPS, and does not make telex measurably faster.
const gcPercent = 40

// setGCPercent sets GOGC to gcPercent, unless the environment sets it.
func setGCPercent() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

func configCommand() *cobra.Command {
	return group("config", "Check or show the configuration", "", &cobra.Command{
		Use:   "check",
		Short: "Check the configuration, and say how to correct mistakes",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := load(c)
			if err != nil {
				return err
			}
			for _, w := range cfg.Warnings {
				fmt.Fprintln(os.Stderr, "warning: "+w)
			}
			if err := cfg.CheckRun(); err != nil {
				return err
			}
			if doubt := cfg.NoAccessReason(); doubt != "" {
				fmt.Fprintf(os.Stderr, "warning: %s: %s\n", cfg.File(), doubt)
			}
			fmt.Fprintf(os.Stderr, "%s: correct\n", cfg.File())
			return nil
		},
	}, &cobra.Command{
		Use:   "show",
		Short: "Print the effective configuration, with secrets masked",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := load(c)
			if err != nil {
				return err
			}
			return cfg.Show(c.OutOrStdout())
		},
	})
}

func load(c *cobra.Command) (*config.Config, error) {
	explicit, err := c.Flags().GetString("config")
	if err != nil {
		return nil, err
	}
	cfg, err := app.LoadConfig(explicit, os.LookupEnv)
	if err != nil {
		return nil, exitError{err, exitConfig}
	}
	return cfg, nil
}

func warn(log *slog.Logger, cfg *config.Config) {
	for _, w := range cfg.Warnings {
		log.Warn(w) //nolint:sloglint // the log message is the whole warning
	}
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version, its commit and date, and the platform", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), app.Build(version))
			return err
		},
	}
}
