package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"telex/internal/config"
)

// ErrUnwell is returned by Doctor if it found a problem, after it reported it.
var ErrUnwell = errors.New("there are problems")

// state is how one thing that the doctor looked at is.
type state string

const (
	healthy state = "ok"
	doubt   state = "warning" // works, and may not for long or not as expected
	problem state = "problem" // the daemon can't work as configured
)

// finding is what the doctor says about one thing.
type finding struct {
	Check string `json:"check"` // what was looked at, such as "endpoint telegram"
	State state  `json:"state"`
	What  string `json:"what"`
	Mend  string `json:"mend,omitempty"` // what an operator does about it
}

// examineTime bounds each thing that the doctor looks at.
const examineTime = 30 * time.Second

// doctor looks at a machine and at what the configuration names.
type doctor struct {
	env  config.Env
	away *distances // of all servers that were asked
	o    Options
	stat func(dir string, to *unix.Statfs_t) error // asks a file system about its room
}

// DoctorOptions are the inputs of Doctor.
type DoctorOptions struct {
	Config    string            // path of the configuration; empty: found as for every command
	Transport http.RoundTripper // for every request; nil: the standard one

	stat func(dir string, to *unix.Statfs_t) error // nil: the system's
}

// Doctor looks at everything that the daemon needs, and writes what it found and how to mend it. It changes nothing: it
// asks each model one short question, which costs a few tokens, and asks each platform about the bot. A daemon may run. It
// returns ErrUnwell if there is a problem, and the configuration's errors if it is wrong.
func Doctor(ctx context.Context, env config.Env, out Output, do DoctorOptions) error {
	if do.Transport == nil {
		do.Transport = http.DefaultTransport
	}
	if do.stat == nil {
		do.stat = unix.Statfs
	}
	d := &doctor{env: env, away: newDistances(do.Transport), stat: do.stat}
	d.o = Options{Log: slog.New(slog.DiscardHandler), Transport: d.away, Env: env}
	found := d.machine(ctx)
	c, err := LoadConfig(do.Config, env)
	if err == nil {
		err = c.CheckRun()
	}
	found = append(d.configuration(c, err), found...)
	if err == nil {
		found = append(found, d.daemon(ctx, c)...)
		found = append(found, judgeCompilers(unitState(ctx), c.MCPServers)...)
		found = append(found, d.addresses(ctx, c)...)
		found = append(found, d.configured(ctx, c)...)
	}
	if err := out.findings(found); err != nil {
		return err
	}
	for _, f := range found {
		if f.State == problem {
			return errors.Join(ErrUnwell, err)
		}
	}
	return nil
}

// configuration judges the file itself.
func (d *doctor) configuration(c *config.Config, err error) (found []finding) {
	var wrong config.Errors
	switch {
	case errors.As(err, &wrong):
		for line := range strings.SplitSeq(wrong.Error(), "\n") {
			found = append(found, finding{"configuration", problem, line, "correct the line; config.yaml.example explains each key"})
		}
		return found
	case err != nil:
		return []finding{{"configuration", problem, err.Error(), "name the file with --config, or make it: config.yaml.example explains each key"}}
	}
	for _, w := range c.Warnings {
		what, mend, hinted := strings.Cut(w, "; ")
		if !hinted {
			mend = "correct the line"
		}
		found = append(found, finding{"configuration", doubt, what, mend})
	}
	if nobody := c.NoAccessReason(); nobody != "" {
		found = append(found, finding{"configuration", doubt, nobody, "let people in by access.allow or access.default"})
	}
	return append(found, finding{Check: "configuration", State: healthy, What: c.File() + " is correct"})
}

// configured looks at what the configuration names, all at the same time.
func (d *doctor) configured(ctx context.Context, c *config.Config) []finding {
	var checks []func(context.Context) []finding
	for _, m := range c.Models {
		checks = append(checks, func(ctx context.Context) []finding { return d.model(ctx, c, m) })
	}
	for _, e := range c.Endpoints {
		checks = append(checks, func(ctx context.Context) []finding { return d.endpoint(ctx, c, e) })
	}
	results := make([][]finding, len(checks))
	var group sync.WaitGroup
	for i, check := range checks {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, examineTime)
			defer cancel()
			results[i] = check(ctx)
		})
	}
	group.Wait()
	var found []finding
	for _, r := range results {
		found = append(found, r...)
	}
	return append(found, d.clock())
}

// findings writes what was found, the problems' mends below them.
func (o Output) findings(found []finding) error {
	if o.JSON {
		return o.json(found)
	}
	for _, f := range found {
		line := fmt.Sprintf("%-7s  %s: %s", f.State, f.Check, f.What)
		if f.Mend != "" {
			line += "\n         → " + f.Mend
		}
		if err := o.line("%s", line); err != nil {
			return err
		}
	}
	return nil
}
