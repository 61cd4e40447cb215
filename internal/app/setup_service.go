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
	"time"

	"telex/deploy"
)

const (
	serviceConfig = "/etc/telex/config.yaml"
	// unitFile and programFile are where setup installs; packages use /usr/lib and /usr/bin.
	unitFile    = "/etc/systemd/system/telex.service"
	packageUnit = "/usr/lib/systemd/system/telex.service"
	programFile = "/usr/local/bin/telex"
	// startTime bounds how long the service may take to connect.
	startTime = time.Minute
)

// canInstall returns why the service can't be installed here; nil if it can.
func canInstall() error {
	switch {
	case os.Geteuid() != 0:
		return errors.New("the service can be installed by root only: use sudo")
	case !exists("/run/systemd/system"):
		return errors.New("systemd does not run this machine: without --service, setup writes the configuration alone")
	}
	return nil
}

// install installs the unit and the program unless a package did, starts the service, and shows the first lines of its log.
func (s *setup) install(ctx context.Context) error {
	if !exists(packageUnit) {
		if err := installProgram(); err != nil {
			return fmt.Errorf("install program: %w", err)
		}
		if err := os.WriteFile(unitFile, deploy.Unit, 0o644); err != nil { //nolint:gosec // systemd and people read it
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
	if err := s.journal(ctx); err != nil {
		return err
	}
	if err := s.out.line("telex.service runs, and starts with the machine. journalctl -fu telex shows its log."); err != nil {
		return err
	}
	if len(s.draft.allow) > 0 {
		return nil
	}
	return s.out.line("The first message is answered with a code: sudo telex pair approve CODE lets that person in.")
}

// installProgram copies this program to where the unit finds it.
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
	// A program that runs can't be written to, but its name can be given to another.
	if err := os.WriteFile(programFile+".new", data, 0o755); err != nil { //nolint:gosec // everybody may run it
		return err
	}
	return errors.Join(os.Chmod(programFile+".new", 0o755), os.Rename(programFile+".new", programFile)) //nolint:gosec // the same
}

func systemctl(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "systemctl", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("systemctl %v: %w: %s", args, err, bytes.TrimSpace(out))
	}
	return nil
}

// journal shows the first lines of the service's log.
func (s *setup) journal(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "journalctl", "--unit=telex", "--lines=10", "--no-pager", "--output=cat").Output()
	if err != nil {
		return nil // a machine without a journal has a service all the same
	}
	return s.out.line("%s", bytes.TrimSpace(out))
}

// Uninstall takes back what Setup installed. The configuration and the store stay, and it says where they are.
func Uninstall(ctx context.Context, out Output) error {
	if err := canInstall(); err != nil {
		return err
	}
	if exists(packageUnit) {
		return errors.New("telex was installed by a package: remove it with dpkg --remove telex, or rpm --erase telex")
	}
	if !exists(unitFile) {
		return fmt.Errorf("there is no %s: nothing was installed by setup", unitFile)
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
	return out.line("The service is gone. The configuration is still in %s, and the store in %s; delete them with:\n  rm -r %[1]s %[2]s /var/lib/private/telex",
		filepath.Dir(serviceConfig), serviceState)
}
