package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"telex/internal/config"
)

// RefusedError is what the daemon answers when it can't do what it was asked for.
type RefusedError struct{ message string }

// Error implements error.
func (e RefusedError) Error() string { return e.message }

// ReloadDaemon lets the running daemon reload its configuration, and writes what has changed. It fails with a RefusedError if the
// daemon keeps the old one.
func ReloadDaemon(ctx context.Context, env config.Env, o Output) error {
	dir, err := stateDir(env)
	if err != nil {
		return err
	}
	conn, err := dialDaemon(ctx, env, dir)
	if errors.Is(err, errNoSocket) {
		return fmt.Errorf("%w: %s", errNoDaemon, dir)
	}
	if err != nil {
		return err
	}
	done, err := ask[Reloaded](ctx, remote{conn}, http.MethodPost, pathReload, nil)
	if err != nil {
		return err
	}
	if o.JSON {
		return o.json(done)
	}
	for _, w := range done.Warnings {
		if _, err := fmt.Fprintln(o.Remarks, "warning: "+w); err != nil {
			return err
		}
	}
	if len(done.Changes) == 0 {
		_, err := fmt.Fprintf(o.Remarks, "%s: nothing has changed\n", done.Config)
		return err
	}
	for _, line := range done.Changes {
		if _, err := fmt.Fprintln(o.Results, line); err != nil {
			return err
		}
	}
	return nil
}
