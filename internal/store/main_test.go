package store_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"telex/internal/store"
)

// Some tests start the test binary as a second process and set the environment variable roleVariable. The value of
// roleVariable says what the second process does.
const (
	roleVariable  = "TELEX_TEST_ROLE"
	pathVariable  = "TELEX_TEST_PATH"
	firstVariable = "TELEX_TEST_FIRST"
)

func TestMain(m *testing.M) {
	role, path := os.Getenv(roleVariable), os.Getenv(pathVariable)
	var err error
	switch role {
	case "":
		if err = installDisk(); err != nil {
			break
		}
		if raced { // with the race detector, rapid runs each property test with fewer random inputs
			if err = flag.Set("rapid.checks", "10"); err != nil {
				break
			}
		}
		goleak.VerifyTestMain(m)
		return
	case "hold":
		err = hold(path)
	case "work":
		first, _ := strconv.Atoi(os.Getenv(firstVariable))
		err = work(context.Background(), path, first)
	}
	fmt.Fprintln(os.Stdout, "error:", err)
	os.Exit(1)
}

// hold keeps a store open until the process is killed.
func hold(path string) error {
	if _, err := store.Open(context.Background(), store.Options{Path: path}); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "holding")
	select {}
}
