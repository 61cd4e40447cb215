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

// ErrUnwell means that Doctor has found at least one problem and has already written a finding about it.
var ErrUnwell = errors.New("there are problems")

// state is the result of a check.
type state string

const (
	healthy state = "ok"
	doubt   state = "warning" // the daemon works now, but perhaps not for long, or not as expected
	problem state = "problem" // the daemon can't work as configured
)

// finding is one result of a check.
type finding struct {
	Check string `json:"check"` // what was checked, such as "endpoint telegram"
	State state  `json:"state"`
	What  string `json:"what"`
	Mend  string `json:"mend,omitempty"` // how an operator fixes the problem
}

// examineTime is the longest time that a check may take.
const examineTime = 30 * time.Second

// doctor checks a machine and a configuration.
type doctor struct {
	env  config.Env
	skew *skewMeter // measures how much this machine's clock differs from the servers' clocks
	o    Options
	stat func(dir string, to *unix.Statfs_t) error // reads the free space of a file system
}

// DoctorOptions contains the options of Doctor.
type DoctorOptions struct {
	Config    string            // path of the configuration; empty: the default locations
	Transport http.RoundTripper // used for every request; nil: the default transport

	stat func(dir string, to *unix.Statfs_t) error // nil: the system call statfs
}

// Doctor checks everything that the daemon needs. Doctor writes the results, and for each problem how to fix it. Doctor changes
// nothing. Doctor asks each model a short question, which costs a few tokens, and asks each platform for the bot's account. A
// daemon may run while Doctor checks. If Doctor finds a problem, it returns ErrUnwell. If the configuration is invalid, Doctor
// returns the configuration's errors.
func Doctor(ctx context.Context, env config.Env, out Output, do DoctorOptions) error {
	if do.Transport == nil {
		do.Transport = http.DefaultTransport
	}
	if do.stat == nil {
		do.stat = unix.Statfs
	}
	d := &doctor{env: env, skew: newSkewMeter(do.Transport), stat: do.stat}
	d.o = Options{Log: slog.New(slog.DiscardHandler), Transport: d.skew, Env: env}
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
		found = append(found, d.remote(ctx, c)...)
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

// configuration checks the configuration file.
func (d *doctor) configuration(c *config.Config, err error) (found []finding) {
	var wrong config.Errors
	switch {
	case errors.As(err, &wrong):
		for line := range strings.SplitSeq(wrong.Error(), "\n") {
			found = append(found, finding{"configuration", problem, line, "correct the line; config.yaml.example explains each key"})
		}
		return found
	case err != nil:
		return []finding{{"configuration", problem, err.Error(), "name the file with --config, or create it; config.yaml.example explains each key"}}
	}
	for _, w := range c.Warnings {
		what, mend, hinted := strings.Cut(w, "; ")
		if !hinted {
			mend = "correct the line"
		}
		found = append(found, finding{"configuration", doubt, what, mend})
	}
	if nobody := c.NoAccessReason(); nobody != "" {
		found = append(found, finding{"configuration", doubt, nobody, "give people access with access.allow or access.default"})
	}
	return append(found, finding{Check: "configuration", State: healthy, What: c.File() + " is correct"})
}

// remote checks, in parallel, all servers that the configuration names.
func (d *doctor) remote(ctx context.Context, c *config.Config) []finding {
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

// findings writes the findings. Below each problem, findings writes how to fix the problem.
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
