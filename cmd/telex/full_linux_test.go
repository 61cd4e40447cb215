package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// If a command can't write its result, the command must fail.
func TestResultsThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"", "--help", "help pair", "--version", "version", "completion bash"} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		var stderr strings.Builder
		c := exec.CommandContext(t.Context(), os.Args[0], strings.Fields(args)...)
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GOCOVERDIR=" + t.TempDir(), playsProgram + "=1"}
		c.Stdout, c.Stderr = full, &stderr
		err = c.Run()
		_ = full.Close()
		if code := c.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(stderr.String(), "no space left on device") || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("telex %s: %v, exit %d, stderr %q, want %d and a line", args, err, code, stderr.String(), exitFailed)
		}
	}
}
