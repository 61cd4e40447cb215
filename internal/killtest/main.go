// Command killtest kills telex and checks what people see afterwards. killtest runs the built binary with a state directory and
// kills the process with SIGKILL. Some kills happen at random moments. Other kills happen around a call to the platform: before
// the call takes effect, after its effect, or after its response has arrived. killtest also kills daemons that are recovering
// from a kill. After the next start, people must see every answer complete, once, in order and without a cursor.
// docs/killtest.md explains the table that killtest prints.
//
// "killtest cluster" runs several daemons on one PostgreSQL database and kills some of them, too. docs/scale.md
// explains its figures.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"

	"telex/internal/outside"
)

var (
	// errViolated means that in some trial, a person saw something other than the complete answer.
	errViolated   = errors.New("violated")
	errNoKind     = errors.New("no such kind of kill")
	errNoPlatform = errors.New("no such platform")
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "killtest:", err)
		os.Exit(1) //nolint:forbidigo // main exits
	}
}

// shortKills is the number of kills at random moments if the flag -short is set.
const shortKills = 10

// run parses the arguments, runs the trials and prints the results.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 && args[0] == clusterCommand {
		return runCluster(ctx, args[1:], out)
	}
	flags := flag.NewFlagSet("killtest", flag.ContinueOnError)
	var (
		binary   = flags.String("binary", "bin/telex", "the telex to kill")
		n        = flags.Int("n", 200, "how many kills at random instants; a tenth as many of each other kind")
		short    = flags.Bool("short", false, fmt.Sprintf("run a reduced set, in about half a minute: -n %d", shortKills))
		seed     = flags.Uint64("seed", 1, "draws the questions and the random instants")
		parallel = flags.Int("parallel", 6, "how many daemons run at a time; they mostly wait")
		choice   = flags.String("kind", "", "only kinds whose name matches this expression")
		only     = flags.Int("trial", -1, "of each kind only the trial with this number, and its log")
		file     = flags.String("json", "", "write the results to this file, too")
	)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *short {
		*n = shortKills
	}
	chosen, err := regexp.Compile(*choice)
	if err != nil {
		return fmt.Errorf("-kind: %w", err)
	}
	list := slices.DeleteFunc(kinds(*n), func(k kind) bool { return !chosen.MatchString(k.name) })
	if len(list) == 0 {
		return fmt.Errorf("-kind %s: %w", *choice, errNoKind)
	}
	c := campaign{seed: *seed, parallel: *parallel, only: *only, out: out}
	if c.binary, err = filepath.Abs(*binary); err != nil {
		return err
	}
	results, err := c.run(ctx, list)
	if err != nil {
		return err
	}
	bad := printTable(out, results)
	if *file != "" {
		if err := outside.WriteJSON(*file, results); err != nil {
			return err
		}
	}
	if bad > 0 {
		return fmt.Errorf("%w: in %d trials", errViolated, bad)
	}
	return nil
}
