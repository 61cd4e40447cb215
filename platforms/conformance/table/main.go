// Command table runs the conformance suite of every adapter and prints a table with a row for each case and a column
// for each platform. The command prints the output of failed tests before the table. The exit code is 0 only if all
// cases passed.
//
//	go run ./platforms/conformance/table [-run EXPRESSION] [-race] [PACKAGES]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// errFailed means that a case failed, that a case did not run, or that a test skipped a case.
var errFailed = errors.New("the suite failed")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1) //nolint:forbidigo // only main sets the exit code
	}
}

// run runs the tests of the packages and prints the table.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("table", flag.ContinueOnError)
	cases := flags.String("run", "", "only the cases whose name matches this expression, with _ for spaces")
	race := flags.Bool("race", false, "with the race detector")
	if err := flags.Parse(args); err != nil {
		return err
	}
	packages := flags.Args()
	if len(packages) == 0 {
		packages = []string{"./platforms/..."}
	}
	test := []string{"test", "-count=1", "-json", "-run=^TestConformance"}
	if *cases != "" {
		test[len(test)-1] += "/" + *cases
	}
	if *race {
		test = append(test, "-race")
	}
	return draw(ctx, exec.CommandContext(ctx, "go", append(test, packages...)...), out)
}

// draw runs the command tests, which must be `go test -json`, and prints the table of the results.
func draw(ctx context.Context, tests *exec.Cmd, out io.Writer) error {
	tests.Stderr = os.Stderr
	said, err := tests.StdoutPipe()
	if err != nil {
		return fmt.Errorf("run the tests: %w", err)
	}
	if err := tests.Start(); err != nil {
		return fmt.Errorf("run the tests: %w", err)
	}
	t := &table{}
	readErr := t.read(said)
	err = tests.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("run the tests: %w", context.Cause(ctx))
	}
	if readErr != nil {
		return fmt.Errorf("read the tests' output: %w", readErr)
	}
	if _, writeErr := io.WriteString(out, t.complaints()+t.String()); writeErr != nil {
		return fmt.Errorf("draw the table: %w", writeErr)
	}
	switch _, exited := errors.AsType[*exec.ExitError](err); {
	case exited:
		return fmt.Errorf("%w: go test: %w", errFailed, err)
	case err != nil:
		return fmt.Errorf("run the tests: %w", err)
	case !t.good():
		return errFailed
	}
	return nil
}
