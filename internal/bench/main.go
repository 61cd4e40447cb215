// Command bench measures telex as people would experience it. bench runs the built binary of telex as a process. The process
// makes its calls over HTTP on loopback to strict imitations of Telegram and of a model provider. The imitations enforce the
// published limits and record what every person saw and when. bench prints the figures of each scenario with their limits. For
// comparison, bench also prints the figures of a simple bot (naive). docs/performance.md explains the figures. bench needs
// Linux, because it reads memory and CPU time from /proc.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sync/errgroup"

	"telex/internal/outside"
)

// errMissed means that a figure has exceeded its limit. run returns errMissed only with the flag -assert.
var errMissed = errors.New("a bar was missed")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:forbidigo // main exits
	}
}

// run parses the arguments, runs the scenarios, and prints each result when it is complete.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 && args[0] == naiveCommand {
		return runNaive(ctx, args[1:])
	}
	if len(args) > 0 && args[0] == copierCommand {
		return runCopier(ctx, args[1:])
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	var (
		binary = flags.String("binary", "bin/telex", "the telex to measure")
		choice = flags.String("scenario", "", "run only scenarios whose name matches this expression")
		file   = flags.String("json", "", "write the results to this file, too")
		short  = flags.Bool("short", false, "run a reduced set, in less than 25 s, with generous bars")
		shared = flags.Bool("replicas", false, "run the scenarios of several daemons on one PostgreSQL database")
		assert = flags.Bool("assert", false, "exit 1 when a bar is missed")
	)
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := regexp.Compile(*choice)
	if err != nil {
		return fmt.Errorf("-scenario: %w", err)
	}
	list := scenarios()
	switch {
	case *short:
		list = shortScenarios()
	case *shared:
		list = replicaScenarios()
	}
	list = slices.DeleteFunc(list, func(s scenario) bool { return !chosen.MatchString(s.name) })
	together := 1 // by default, one scenario after the other, because parallel scenarios slow each other down
	if *short {
		together = len(list) // the limits of short scenarios are generous, so these scenarios may run at the same time
	}
	results, err := runAll(ctx, list, *binary, together, out)
	if err != nil {
		return err
	}
	if len(results) == 0 {
		return fmt.Errorf("-scenario %s: no such scenario", *choice)
	}
	missed := printSummary(out, results)
	if *file != "" {
		if err := outside.WriteJSON(*file, results); err != nil {
			return err
		}
	}
	if *assert && missed > 0 {
		return fmt.Errorf("%w: %d of them", errMissed, missed)
	}
	return nil
}

// runAll runs the scenarios, and returns their results in order. The parameter together is the maximum number of
// scenarios that run at the same time.
func runAll(ctx context.Context, list []scenario, binary string, together int, out io.Writer) ([]result, error) {
	var printing sync.Mutex
	results := make([][]result, len(list))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, together))
	for i, s := range list {
		group.Go(func() error {
			var err error
			if results[i], err = s.runBots(ctx, binary); err != nil {
				return err
			}
			printing.Lock()
			defer printing.Unlock()
			printScenario(out, s, results[i])
			return nil
		})
	}
	err := group.Wait()
	return slices.Concat(results...), err
}
