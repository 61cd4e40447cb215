package app

import (
	"context"
	"fmt"
	"net/http"

	"telex/internal/config"
)

// RefusedError is returned if the daemon refuses a request.
type RefusedError struct{ message string }

// Error implements error.
func (e RefusedError) Error() string { return e.message }

// ReloadDaemon makes the running daemon reload its configuration, and writes the changes. If path is set, ReloadDaemon
// passes this configuration file and its secret files to the daemon, which then uses them instead of its own file. If
// the daemon keeps its old configuration, ReloadDaemon fails with a RefusedError.
func ReloadDaemon(ctx context.Context, env config.Env, o Output, path string) error {
	var request reloadRequest
	if path != "" {
		p, err := config.ReadBundle(absolute(path))
		if err != nil {
			return err
		}
		request.Passed = &p
	}
	conn, err := dialRunning(ctx, env)
	if err != nil {
		return err
	}
	done, err := ask[Reloaded](ctx, remote{conn}, http.MethodPost, pathReload, request)
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
