//go:build systemd

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// bootTime is the maximum time that the test waits for a machine to boot or to shut down.
const bootTime = 2 * time.Minute

// machine is a Debian system that systemd-nspawn boots with its own systemd. machine uses the network of the machine that
// runs the test.
type machine struct {
	t    *testing.T
	root string // its file system
	boot *exec.Cmd
	init string // process id of the machine's first process
	log  bytes.Buffer
}

// start boots the machine and waits until its systemd answers.
func (m *machine) start() {
	m.t.Helper()
	m.boot = exec.Command("systemd-nspawn", "--quiet", "--directory="+m.root, "--boot", "--register=no", "--keep-unit", "--machine=telex-test")
	m.boot.Stdout, m.boot.Stderr = &m.log, &m.log
	if err := m.boot.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(m.stop)
	m.await("the machine has booted", func() bool {
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", m.boot.Process.Pid))
		first, _, _ := strings.Cut(strings.TrimSpace(string(children)), " ")
		if m.init = first; first == "" {
			return false
		}
		state, _ := m.output("systemctl", "is-system-running")
		return state == "running" || state == "degraded"
	})
}

// stop shuts the machine down as its administrator would.
func (m *machine) stop() {
	if m.boot == nil {
		return
	}
	if pid, err := strconv.Atoi(m.init); err == nil {
		_ = syscall.Kill(pid, syscall.Signal(34+4)) // SIGRTMIN+4: poweroff.target, see systemd(1)
	}
	ended := time.AfterFunc(bootTime, func() { _ = m.boot.Process.Kill() })
	defer ended.Stop()
	_ = m.boot.Wait()
	m.boot = nil
}

// output runs a program on machine m and returns what the program prints.
func (m *machine) output(args ...string) (string, error) {
	out, err := exec.Command("nsenter", append([]string{"--target=" + m.init, "--all", "--"}, args...)...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// run is like output, but the program must succeed.
func (m *machine) run(args ...string) string {
	m.t.Helper()
	out, err := m.output(args...)
	if err != nil {
		m.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// await waits until the condition ok holds.
func (m *machine) await(what string, ok func() bool) {
	m.t.Helper()
	for deadline := time.Now().Add(bootTime); !ok(); time.Sleep(50 * time.Millisecond) { // poll, because nothing reports when a unit changes
		if time.Now().After(deadline) {
			m.t.Fatalf("not after %v: %s\n%s", bootTime, what, m.log.String())
		}
	}
}

// write writes a file on the machine, which only root can read.
func (m *machine) write(path, text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.root, path), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// pid returns the daemon's process id, or "0" if the daemon does not run.
func (m *machine) pid() string {
	return m.run("systemctl", "show", "--property=MainPID", "--value", "telex")
}

// active waits until the daemon has reported to systemd that it is ready.
func (m *machine) active() {
	m.t.Helper()
	m.await("telex.service is active", func() bool {
		state, _ := m.output("systemctl", "is-active", "telex")
		return state == "active"
	})
}

// disturbance is an event that interrupts the service while it answers.
type disturbance struct {
	name  string
	do    func(*machine)
	keeps bool // the event must not replace the daemon's process
}

func disturbances() []disturbance {
	return []disturbance{
		{name: "kill -9", do: func(m *machine) { m.run("systemctl", "kill", "--signal=KILL", "telex") }},
		{name: "reload", do: (*machine).reload, keeps: true},
		{name: "restart", do: func(m *machine) { m.run("systemctl", "restart", "telex") }},
		{name: "reboot", do: func(m *machine) { m.stop(); m.start() }},
	}
}

// reload first tries to reload an invalid configuration, which must fail, and then a valid one.
func (m *machine) reload() {
	m.t.Helper()
	const path = "/etc/telex/config.yaml"
	text, err := os.ReadFile(filepath.Join(m.root, path))
	if err != nil {
		m.t.Fatal(err)
	}
	m.write(path, string(text)+"textz: {}\n")
	if out, err := m.output("systemctl", "reload", "telex"); err == nil {
		m.t.Errorf("a wrong configuration was reloaded: %s", out)
	}
	m.write(path, string(text)+"texts: {nothing_to_stop: Nothing.}\n")
	m.run("systemctl", "reload", "telex")
	journal := m.run("journalctl", "--unit=telex", "--no-pager")
	wantText(m.t, "the journal", journal, `unknown key "textz"`, "the old one stays in force", "texts changed")
	m.write(path, string(text))
	m.run("systemctl", "reload", "telex")
}

// disturb asks one question without a disturbance, and then one question per disturbance. Each disturbance happens
// while the answer grows. In the end, each answer must be shown once, complete and without a cursor.
func (m *machine) disturb(platform remote, list ...disturbance) {
	m.t.Helper()
	for i, d := range append([]disturbance{{name: "nothing", do: func(*machine) {}}}, list...) {
		before := m.pid()
		platform.say("Explain the tides")
		platform.awaitReplies(ada, "an answer with a cursor", func(texts []string) bool {
			return len(texts) == i+1 && strings.HasSuffix(texts[i], cursor)
		})
		d.do(m)
		m.active()
		list := platform.awaitReplies(ada, "the whole answer", func(texts []string) bool {
			return len(texts) == i+1 && strings.HasSuffix(texts[i], lastOfTides(m.t))
		})
		checkTides(m.t, list[i].Last())
		if after := m.pid(); i > 0 && d.name != "reboot" && (after == before) != d.keeps {
			m.t.Errorf("%s: the process was %s and is %s", d.name, before, after)
		}
	}
}

const bootedConfig = `
models: [{name: main, base_url: "%s/v1", api_key_file: model-key, model: standin}]
streaming: {telegram: true}
access: {allow: ["telegram:user:1001"]}
platforms: {telegram: {token_file: telegram-token, api_base: "%s"}}
admin: {listen: ""}
`

// The package must work in a booted Debian: install, kill -9, reload, restart, reboot, upgrade, purge. make
// test-systemd sets the variables that name the package and the Debian system.
func TestSystemd(t *testing.T) {
	pkg, err := filepath.Glob(os.Getenv("TELEX_DEB"))
	if err != nil || len(pkg) != 1 {
		t.Fatalf("TELEX_DEB names %d packages, want 1 (%v)", len(pkg), err)
	}
	m := &machine{t: t, root: os.Getenv("TELEX_DEBIAN")}
	deb, err := os.ReadFile(pkg[0])
	if err != nil {
		t.Fatal(err)
	}
	m.start()
	m.write("/root/telex.deb", string(deb))
	m.run("dpkg", "--install", "/root/telex.deb")
	t.Cleanup(func() {
		if m.boot != nil {
			_, _ = m.output("dpkg", "--purge", "telex") // the next run of the tests uses the same file system
		}
	})
	m.checkInstalled()
	m.checkBareStart()
	platform, model := startStandins(t, "60")
	m.write("/etc/telex/config.yaml", fmt.Sprintf(bootedConfig, model.url, platform.url))
	m.write("/etc/telex/secrets/telegram-token", testToken+"\n")
	m.write("/etc/telex/secrets/model-key", testKey+"\n")
	// An administrator runs this command without access to the service's credentials.
	m.run("telex", "config", "check", "--config", "/etc/telex/config.yaml")
	m.run("systemctl", "enable", "--now", "telex")
	m.active()

	m.disturb(platform, append(disturbances(), disturbance{name: "upgrade", do: func(m *machine) { m.run("dpkg", "--install", "/root/telex.deb") }})...)
	if journal := m.run("journalctl", "--unit=telex", "--no-pager"); strings.Contains(journal, testToken) || strings.Contains(journal, testKey) {
		t.Error("the journal has a secret")
	}
	if owner := m.run("systemctl", "show", "--property=User,DynamicUser", "telex"); !strings.Contains(owner, "DynamicUser=yes") {
		t.Errorf("the service runs as %q", owner)
	}
	m.checkPurged()
}

// Without the package, telex setup installs the program as a service, and the service must answer. telex setup
// --uninstall must remove the service.
func TestSystemdSetup(t *testing.T) {
	program, err := os.ReadFile(os.Getenv("TELEX_PROGRAM"))
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, root: os.Getenv("TELEX_DEBIAN")}
	path := filepath.Join(m.root, "root", "telex")
	if err := errors.Join(os.RemoveAll(path), os.WriteFile(path, program, 0o755)); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	m.start()
	platform, model := startStandins(t, "60")
	said := m.run("env", "TELEGRAM_BOT_TOKEN="+testToken, "OPENAI_API_KEY="+testKey, "/root/telex", "setup", "--non-interactive", "--service",
		"--platform=telegram", "--set=telegram.api_base="+platform.url, "--base-url="+model.url+"/v1", "--model=standin", "--allow=telegram:user:1001")
	for _, want := range []string{"ok       endpoint telegram: Telegram is @", "/etc/telex/config.yaml: written", "telex starts", "telegram is connected\n", "telex.service runs"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in\n%s", want, said)
		}
	}
	m.active()
	m.disturb(platform, disturbances()...)
	if found := m.run("telex", "doctor"); strings.Contains(found, "problem") || !strings.Contains(found, "ok       service: telex.service is active") {
		t.Errorf("the doctor found\n%s", found)
	}
	m.run("telex", "setup", "--uninstall")
	if state, _ := m.output("systemctl", "is-active", "telex"); state != "inactive" {
		t.Errorf("after --uninstall telex.service is %s", state)
	}
	for _, gone := range []string{"/usr/local/bin/telex", "/etc/systemd/system/telex.service"} {
		if _, err := os.Lstat(filepath.Join(m.root, gone)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("after --uninstall %s is there: %v", gone, err)
		}
	}
	m.run("rm", "-r", "/etc/telex", "/var/lib/telex", "/var/lib/private/telex")
}

// lastOfTides returns the last 20 bytes of the stand-in's answer about the tides.
func lastOfTides(t *testing.T) string {
	text, _ := tides(t)
	return text[len(text)-20:]
}

// checkInstalled checks which files the package has installed, and that only root can read the configuration.
func (m *machine) checkInstalled() {
	m.t.Helper()
	for _, file := range []string{
		"/usr/bin/telex", "/usr/lib/systemd/system/telex.service", "/usr/share/bash-completion/completions/telex",
		"/usr/share/doc/telex/config.yaml.example", "/usr/share/doc/telex/notify-reload.conf", "/usr/share/doc/telex/docs/setup-telegram.md",
	} {
		if _, err := os.Lstat(filepath.Join(m.root, file)); err != nil {
			m.t.Error(err)
		}
	}
	if found := m.run("systemd-analyze", "verify", "telex.service"); found != "" {
		m.t.Errorf("systemd-analyze verify: %s", found)
	}
	if who := m.run("id", "-un", "telex"); who != "telex" {
		m.t.Errorf("the user is %q", who)
	}
	if modes := m.run("stat", "--format=%a %U", "/etc/telex", "/etc/telex/secrets"); modes != "700 root\n700 root" {
		m.t.Errorf("/etc/telex has %q", modes)
	}
}

// checkBareStart starts the service without a configuration. Without a configuration, the start must fail and name the
// reason. Then checkBareStart starts the service without a directory of secrets, which must succeed.
func (m *machine) checkBareStart() {
	m.t.Helper()
	if out, err := m.output("systemctl", "start", "telex"); err == nil || !strings.Contains(out, "Assertion failed") {
		m.t.Errorf("without a configuration: %v %s", err, out)
	}
	m.run("rmdir", "/etc/telex/secrets")
	m.write("/etc/telex/config.yaml", `{models: [{name: main, api_key: k, model: m}], platforms: {telegram: {token: "1:a", api_base: "http://127.0.0.1:1"}}, admin: {listen: ""}}`)
	m.run("systemctl", "start", "telex")
	m.active()
	m.run("systemctl", "stop", "telex")
	m.run("mkdir", "--mode=0700", "/etc/telex/secrets")
}

// checkPurged removes the package in two steps. `dpkg --remove` keeps the configuration and the data, and `dpkg
// --purge` deletes them.
func (m *machine) checkPurged() {
	m.t.Helper()
	m.run("dpkg", "--remove", "telex")
	for _, kept := range []string{"/etc/telex/config.yaml", "/var/lib/telex"} {
		if _, err := os.Lstat(filepath.Join(m.root, kept)); err != nil {
			m.t.Errorf("after dpkg --remove: %v", err)
		}
	}
	m.run("dpkg", "--purge", "telex")
	for _, gone := range []string{"/etc/telex", "/var/lib/telex", "/var/lib/private/telex", "/usr/bin/telex", "/usr/lib/systemd/system/telex.service"} {
		if _, err := os.Lstat(filepath.Join(m.root, gone)); !errors.Is(err, os.ErrNotExist) {
			m.t.Errorf("after dpkg --purge %s is there: %v", gone, err)
		}
	}
	if user, err := m.output("id", "telex"); err == nil {
		m.t.Errorf("after dpkg --purge there is %s", user)
	}
}
