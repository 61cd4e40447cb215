package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"telex/deploy"
	"telex/gateway"
	"telex/internal/config"
)

const (
	serviceConfig = "/etc/telex/config.yaml"
	// unitFile and programFile are where setup installs the systemd unit and the program. A deb or rpm package instead installs
	// the unit in /usr/lib and the program in /usr/bin.
	unitFile    = "/etc/systemd/system/telex.service"
	packageUnit = "/usr/lib/systemd/system/telex.service"
	programFile = "/usr/local/bin/telex"
	// startTime is the longest time that setup waits for systemd to start the service.
	startTime = time.Minute
)

// canInstall returns the reason why the service can't be installed on this machine, or nil.
func canInstall() error {
	switch {
	case os.Geteuid() != 0:
		return errors.New("only root can install the service: use sudo")
	case !exists("/run/systemd/system"):
		return errors.New("this machine does not run systemd: without --service, setup only writes the configuration")
	}
	return nil
}

// canServe returns the reason why the service can't be set up with the given options, or nil.
func (s *setup) canServe() error {
	switch {
	case s.o.File != serviceConfig:
		return fmt.Errorf("the service reads only %s: leave out --output", serviceConfig)
	case s.o.InEnvironment:
		return errors.New("the service gets its secrets from files: leave out --secrets=environment")
	}
	return canInstall()
}

// installConfigured installs the service if the configuration file already exists. installConfigured fails if the
// configuration is invalid.
func (s *setup) installConfigured(ctx context.Context) error {
	c, err := LoadConfig(s.o.File, s.env)
	if err == nil {
		err = c.CheckRun()
	}
	if err != nil {
		return err
	}
	if err := s.out.line("%s already exists and stays as it is.", s.o.File); err != nil {
		return err
	}
	s.codes = c.Access.Default == config.AccessPair
	return s.install(ctx)
}

// install installs the unit and the program, unless a package has already installed them. After that, install starts
// the service and shows the first lines of the service's log.
func (s *setup) install(ctx context.Context) error {
	if !exists(packageUnit) {
		if err := installProgram(); err != nil {
			return fmt.Errorf("install program: %w", err)
		}
		if err := os.WriteFile(unitFile, deploy.Unit, 0o644); err != nil { //nolint:gosec // systemd and people must be able to read it
			return fmt.Errorf("install unit: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for _, args := range [][]string{{"daemon-reload"}, {"enable", "--now", "telex"}} {
		if err := systemctl(ctx, args...); err != nil {
			return errors.Join(err, s.journal(ctx))
		}
	}
	endpoints := s.awaitEndpoints(ctx)
	if err := s.journal(ctx); err != nil {
		return err
	}
	for _, e := range endpoints {
		if err := s.out.line("%s is %s%s", e.Name, e.State, oneLine(strings.TrimSuffix(": "+e.Error, ": "))); err != nil {
			return err
		}
	}
	if err := s.out.line("telex.service runs, and starts with the machine. journalctl -fu telex shows its log. If something is wrong, telex doctor says what, and how to fix it."); err != nil {
		return err
	}
	if !s.codes {
		return nil
	}
	return s.out.line("Now write to the bot. The bot answers the first message with a code: sudo telex pair approve CODE gives that person access.")
}

// connectTime is the longest time that setup waits for the daemon to connect to its platforms before it shows the
// service's log.
const connectTime = 10 * time.Second

// awaitEndpoints waits until each platform has responded to the daemon, but no longer than connectTime, and returns the state
// of the endpoints. If setup can't reach the daemon, awaitEndpoints returns nothing. This is not an error, because the service
// runs nevertheless.
func (s *setup) awaitEndpoints(ctx context.Context) []EndpointStatus {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	ticker := time.NewTicker(connectTime / 50)
	defer ticker.Stop()
	for {
		now, err := askStatus(ctx, s.env, serviceStateDir)
		trying := func(e EndpointStatus) bool { return e.State != string(gateway.Connected) && e.Error == "" } // the platform has not responded yet
		if err != nil || !slices.ContainsFunc(now.Endpoints, trying) {
			return now.Endpoints
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return now.Endpoints
		}
	}
}

// installProgram copies this program to the path at which the unit expects it.
func installProgram() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if self, err = filepath.EvalSymlinks(self); err != nil || self == programFile {
		return err
	}
	data, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	// The file of a running program can't be overwritten, but it can be replaced by renaming another file.
	if err := os.WriteFile(programFile+".new", data, 0o755); err != nil { //nolint:gosec // everybody may run the program
		return err
	}
	return errors.Join(os.Chmod(programFile+".new", 0o755), os.Rename(programFile+".new", programFile)) //nolint:gosec // everybody may run the program
}

func systemctl(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "systemctl", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("systemctl %v: %w: %s", args, err, bytes.TrimSpace(out))
	}
	return nil
}

// journal shows the lines that the service has logged since it started.
func (s *setup) journal(ctx context.Context) error {
	lines := []string{"--unit=telex", "--lines=10", "--no-pager", "--output=cat"}
	if id, err := exec.CommandContext(ctx, "systemctl", "show", "--property=InvocationID", "--value", "telex").Output(); err == nil && len(bytes.TrimSpace(id)) > 0 {
		lines = append(lines[1:], "_SYSTEMD_INVOCATION_ID="+string(bytes.TrimSpace(id)), "+", "INVOCATION_ID="+string(bytes.TrimSpace(id)))
	}
	out, err := exec.CommandContext(ctx, "journalctl", lines...).Output()
	if err != nil {
		return nil // not an error, because the service can run on a machine without a journal
	}
	return s.out.line("%s", bytes.TrimSpace(out))
}

// Uninstall removes the service and the program that Setup has installed. The configuration and the store stay, and
// Uninstall writes where they are.
func Uninstall(ctx context.Context, out Output) error {
	if err := canInstall(); err != nil {
		return err
	}
	if exists(packageUnit) {
		return errors.New("telex was installed by a package: remove it with dpkg --remove telex, or rpm --erase telex")
	}
	if !exists(unitFile) {
		return fmt.Errorf("there is no %s: setup has not installed the service", unitFile)
	}
	if err := systemctl(ctx, "disable", "--now", "telex"); err != nil {
		return err
	}
	for _, file := range []string{unitFile, programFile} {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := systemctl(ctx, "daemon-reload"); err != nil {
		return err
	}
	return out.line("The service is removed. The configuration is still in %s, and the store in %s; delete them with:\n  rm -r %[1]s %[2]s /var/lib/private/telex",
		filepath.Dir(serviceConfig), serviceStateDir)
}
