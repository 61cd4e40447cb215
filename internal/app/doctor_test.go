package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"telex/internal/config"
	"telex/internal/outside"
	"telex/internal/store"
	"telex/standin/discord"
	"telex/standin/openai"
	"telex/standin/slack"
	"telex/standin/telegram"
)

// patient is a simulated machine that Doctor checks, with stand-ins for all remote servers.
type patient struct {
	*testing.T
	dir, state string
	world      *outside.World
	discord    string // address of the stand-in for Discord
	slack      string
	poor       string // address of another Slack stand-in, in whose workspace the bot has only a few permissions
}

const (
	goodToken = "123456:telegram-secret"
	goodKey   = "model-secret"
	// channel is the id of a channel in the stand-ins' workspaces.
	channel = "C0LIVE"
	// discordToken has the format of a real token.
	discordToken = "MTEyMzQ1Njc4OTAxMjM0NTY3.GabcdE.secret-secret-secret-secret-secret-sec"
)

func newPatient(t *testing.T) *patient {
	t.Helper()
	w, err := outside.NewWorld(t.Context(), telegram.Options{Token: goodToken}, openai.Options{Key: goodKey, Rate: 1000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	p := &patient{T: t, dir: t.TempDir(), world: w}
	p.state = filepath.Join(p.dir, "state")
	d := discord.New(discord.Options{Token: discordToken})
	p.discord = p.serve(d.Serve, d.Close)
	for address, scopes := range map[*string][]string{&p.slack: nil, &p.poor: {"chat:write", "connections:write"}} {
		s := slack.New(slack.Options{BotToken: "xoxb-1-secret", AppToken: "xapp-1-secret", Scopes: scopes})
		*address = p.serve(s.Serve, s.Close)
		s.Say(slack.Incoming{Channel: channel, Text: "hello"})
	}
	return p
}

func (p *patient) serve(serve func(net.Listener) error, end func() error) string {
	l := p.listen()
	served := make(chan error, 1)
	go func() { served <- serve(l) }()
	p.Cleanup(func() {
		if err := errors.Join(end(), <-served); err != nil {
			p.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

func (p *patient) listen() net.Listener {
	p.Helper()
	l, err := new(net.ListenConfig).Listen(p.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		p.Fatal(err)
	}
	return l
}

// examine writes a configuration file, runs Doctor with it, and returns the findings and the error.
func (p *patient) examine(text string, do DoctorOptions) ([]finding, error) {
	p.Helper()
	path := filepath.Join(p.dir, "c.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
	do.Config = path
	var b bytes.Buffer
	env := func(name string) (string, bool) { return p.state, name == "STATE_DIRECTORY" }
	failed := Doctor(p.Context(), env, Output{Results: &b, JSON: true}, do)
	for _, secret := range []string{goodToken, goodKey, discordToken, "xoxb-1-secret", "xapp-1-secret"} {
		if strings.Contains(b.String(), secret) {
			p.Errorf("a secret was shown: %s", b.String())
		}
	}
	var found []finding
	if err := json.Unmarshal(b.Bytes(), &found); err != nil {
		p.Fatalf("%v: %s", err, b.String())
	}
	return found, failed
}

// late is a transport that changes the header Date in each response, as if the server's clock were an hour and 30 seconds
// behind. The header Date contains only whole seconds. Because of the additional 30 seconds, the measured difference is certain
// to be between 60 and 61 minutes, although the header Date contains only whole seconds.
type late struct{}

// RoundTrip implements http.RoundTripper.
func (late) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		resp.Header.Set("Date", time.Now().Add(-time.Hour-30*time.Second).UTC().Format(http.TimeFormat))
	}
	return resp, err
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	model := func(key string) string {
		return fmt.Sprintf("models: [{name: main, base_url: %q, api_key: %s, model: standin}]\naccess: {default: pair}\n", p.world.ModelURL+"/v1", key)
	}
	bot := fmt.Sprintf("platforms: {telegram: {token: %q, api_base: %q}}\n", goodToken, p.world.TelegramURL)
	taken := p.listen()
	t.Cleanup(func() { _ = taken.Close() })
	for _, c := range []struct {
		name, text string
		before     func() (after func())
		transport  http.RoundTripper
		stat       func(string, *unix.Statfs_t) error
		check      string
		state      state
		what, mend string
	}{
		{name: "all is well", text: model(goodKey) + bot, check: "endpoint telegram", state: healthy, what: "Telegram is @"},
		{name: "a wrong token", text: model(goodKey) + strings.Replace(bot, goodToken, "123456:wrong", 1), check: "endpoint telegram", state: problem, what: "401", mend: "a valid token into platforms.telegram"},
		{
			name: "no intent", text: model(goodKey) + fmt.Sprintf("platforms: {discord: {token: %q, api_base: %q, message_content: true}}\n", discordToken, p.discord),
			check: "endpoint discord", state: problem, what: "Message Content Intent", mend: "Developer Portal",
		},
		{
			name: "missing scopes", text: model(goodKey) + fmt.Sprintf("platforms: {slack: {bot_token: xoxb-1-secret, app_token: xapp-1-secret, api_base: %q}}\n", p.poor+"/api/"),
			check: "endpoint slack", state: problem, what: "lacks the scopes app_mentions:read, assistant:write", mend: "install the app again",
		},
		{name: "a wrong clock", text: model(goodKey) + bot, transport: late{}, check: "clock", state: problem, what: "differs by 1h0m", mend: "timedatectl"},
		{name: "a wrong key", text: model("wrong") + bot, check: "model main", state: problem, what: "auth", mend: "a valid key into api_key of the model main"},
		{
			name: "an unreachable model", text: strings.Replace(model(goodKey), p.world.ModelURL, "http://127.0.0.1:1", 1) + bot,
			check: "model main", state: problem, what: "connection refused", mend: "check base_url of the model main",
		},
		{
			name: "a secret that can't be read", text: model(goodKey) + "platforms: {telegram: {token_file: missing}}\n",
			check: "configuration", state: problem, what: "c.yaml:3:36: read \"missing\"", mend: "correct the line",
		},
		{name: "bad YAML", text: "models: [", check: "configuration", state: problem, what: "not valid YAML", mend: "correct the line"},
		{
			name: "an address that is taken", text: model(goodKey) + fmt.Sprintf("platforms: {slack: {bot_token: xoxb-1-secret, signing_secret: s, listen: %q, api_base: %q}}\n", taken.Addr(), p.slack+"/api/"),
			check: "address " + taken.Addr().String(), state: problem, what: "address already in use", mend: "change platforms.slack.listen",
		},
		{
			name: "a damaged store", text: model(goodKey) + bot, before: func() func() { p.damage(); return func() { _ = os.RemoveAll(p.state) } },
			check: "store", state: problem, what: "telex.db", mend: "telex store restore",
		},
		{
			name: "a process that holds the store", text: model(goodKey) + bot, before: p.hold,
			check: "daemon", state: doubt, what: fmt.Sprintf("%s is in use by another process (pid %d), but can't be reached", store.File(p.state), os.Getpid()),
			mend: "otherwise end it",
		},
		{
			name: "a full disk", text: model(goodKey) + bot, stat: func(_ string, to *unix.Statfs_t) error {
				*to = unix.Statfs_t{Bsize: 4096, Bavail: 100}
				return nil
			},
			check: "disk", state: problem, what: "has 0 MiB free", mend: "delete what is not needed there",
		},
		{
			name: "a secret that is a folder", text: model(goodKey) + "platforms: {telegram: {token_file: .}}\n",
			check: "configuration", state: problem, what: "c.yaml:3:36: read \".\" of platforms.telegram.token_file: not a regular file", mend: "correct the line",
		},
		{
			name: "a secret that everybody can read", text: model(goodKey) + "platforms: {telegram: {token_file: open, api_base: \"" + p.world.TelegramURL + "\"}}\n",
			before: func() func() { p.write("open", goodToken, 0o644); return func() {} },
			check:  "configuration", state: doubt, what: "everybody on this machine can read the secret file of platforms.telegram.token_file", mend: "make it 0600",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.before != nil {
				t.Cleanup(c.before())
			}
			found, err := p.examine(c.text, DoctorOptions{Transport: c.transport, stat: c.stat})
			met := false
			for _, f := range found {
				if f.State == problem && f.Mend == "" {
					t.Errorf("no mend for %+v", f)
				}
				if f.State == problem && f.Check != c.check {
					t.Errorf("also %+v", f)
				}
				met = met || f.Check == c.check && f.State == c.state && strings.Contains(f.What, c.what) && strings.Contains(f.Mend, c.mend)
			}
			if !met {
				t.Errorf("found %+v, want %s %s %q %q", found, c.check, c.state, c.what, c.mend)
			}
			var wrong config.Errors
			if got := errors.Is(err, ErrUnwell); got != (c.state == problem) {
				t.Errorf("error %v", err)
			}
			if got := errors.As(err, &wrong); got != (c.check == "configuration" && c.state == problem) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// write creates a file in the directory of the configuration file.
func (p *patient) write(name, text string, mode os.FileMode) {
	p.Helper()
	path := filepath.Join(p.dir, name)
	if err := errors.Join(os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)); err != nil {
		p.Fatal(err)
	}
}

// damage replaces the store's file by one that is not a store.
func (p *patient) damage() {
	p.Helper()
	if err := errors.Join(os.MkdirAll(p.state, 0o700), os.WriteFile(store.File(p.state), bytes.Repeat([]byte("no database "), 1000), 0o600)); err != nil {
		p.Fatal(err)
	}
}

// hold locks the store as another daemon would. The function that hold returns unlocks the store.
func (p *patient) hold() func() {
	p.Helper()
	s, err := store.Open(p.Context(), store.Options{Path: store.File(p.state)})
	if err != nil {
		p.Fatal(err)
	}
	return func() {
		if err := s.Close(); err != nil {
			p.Error(err)
		}
	}
}

func TestDoctorJudgesDisks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		st   unix.Statfs_t
		want state
	}{
		{"room", unix.Statfs_t{Bsize: 4096, Bavail: 1 << 20, Files: 10, Ffree: 5}, healthy},
		{"little room", unix.Statfs_t{Bsize: 4096, Bavail: 10_000, Files: 10, Ffree: 5}, doubt},
		{"full", unix.Statfs_t{Bsize: 4096, Bavail: 10, Files: 10, Ffree: 5}, problem},
		{"no inodes", unix.Statfs_t{Bsize: 4096, Bavail: 1 << 20, Files: 10}, problem},
		{"a file system without inodes", unix.Statfs_t{Bsize: 4096, Bavail: 1 << 20}, healthy},
		{"read-only", unix.Statfs_t{Bsize: 4096, Bavail: 1 << 20, Flags: unix.ST_RDONLY}, problem},
	} {
		if got := judgeDisk("/x", c.st); got.State != c.want || (got.Mend == "") != (c.want == healthy) {
			t.Errorf("%s: %+v, want %s", c.name, got, c.want)
		}
	}
}

func TestDoctorJudgesCompilers(t *testing.T) {
	t.Parallel()
	servers := []config.MCPServer{{Name: "files", Command: "/usr/bin/node"}, {Name: "go", Command: "server"}, {Name: "web", URL: "https://example.org"}}
	for value, want := range map[string]int{"yes": 1, "no": 0, "": 0} {
		found := judgeCompilers(map[string]string{"MemoryDenyWriteExecute": value}, servers)
		if len(found) != want || want > 0 && (found[0].Check != "MCP server files" || !strings.Contains(found[0].Mend, "MemoryDenyWriteExecute=no")) {
			t.Errorf("%q: %+v", value, found)
		}
	}
}

func TestDoctorJudgesReplicas(t *testing.T) {
	t.Parallel()
	one := func(id int64, version string, leaving bool, endpoints ...string) Replica {
		return Replica{ID: id, Name: fmt.Sprintf("web%d pid 7", id), Version: version, Leaving: leaving, Endpoints: endpoints}
	}
	for _, c := range []struct {
		name   string
		status DaemonStatus
		want   []string // the state that each finding must have, and a part of its text
	}{
		{"a file", DaemonStatus{}, nil},
		{"alone", DaemonStatus{Replicas: &Replicas{Replicas: []Replica{one(1, "1.0", false, "tg")}}}, []string{"ok: web1 pid 7 (1.0)"}},
		{"an upgrade", DaemonStatus{Replicas: &Replicas{Replicas: []Replica{one(1, "1.0", false, "tg"), one(2, "1.1", false, "tg")}}}, []string{
			"warning: have different versions: web1 pid 7 (1.0), web2 pid 7 (1.1)",
		}},
		{"the end of an upgrade", DaemonStatus{Replicas: &Replicas{Replicas: []Replica{one(1, "1.0", true, "tg"), one(2, "1.1", false, "tg")}}}, []string{
			"ok: web1 pid 7 (1.0), web2 pid 7 (1.1)",
		}},
		{"two configurations", DaemonStatus{Replicas: &Replicas{Replicas: []Replica{one(1, "1.0", false, "tg"), one(2, "1.0", false, "dc", "tg")}}}, []string{
			"warning: run different endpoints: dc, tg and tg",
		}},
		{"no lease", DaemonStatus{Store: "the database is away", Replicas: &Replicas{}}, []string{"problem: it answers nobody for now: the database is away"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			found := judgeReplicas(c.status)
			if len(found) != len(c.want) {
				t.Fatalf("got %+v, want %q", found, c.want)
			}
			for i, f := range found {
				state, what, _ := strings.Cut(c.want[i], ": ")
				if string(f.State) != state || !strings.Contains(f.What, what) || (f.Mend == "") != (f.State == healthy) {
					t.Errorf("got %+v, want %q", f, c.want[i])
				}
			}
		})
	}
}

func TestDoctorJudgesTheService(t *testing.T) {
	t.Parallel()
	unit := func(active, file string) map[string]string {
		return map[string]string{"LoadState": "loaded", "ActiveState": active, "UnitFileState": file, "Result": "exit-code", "ExecMainStatus": "1"}
	}
	for _, c := range []struct {
		name       string
		unit       map[string]string
		runs       bool
		state      state
		what, mend string
	}{
		{"active", unit("active", "enabled"), true, healthy, "is active", ""},
		{"not enabled", unit("active", "disabled"), true, doubt, "does not start with the machine", "systemctl enable telex"},
		{"inactive", unit("inactive", "disabled"), false, doubt, "does not run", "systemctl enable --now telex"},
		{"failed", unit("failed", "enabled"), false, problem, "is failed (exit-code, exit status 1)", "journalctl -u telex"},
		{"a second daemon", unit("failed", "enabled"), true, problem, "another daemon runs: the store is in use", "stop the other one"},
		{"no systemd", nil, false, healthy, "no daemon runs", ""},
	} {
		found := judgeService(c.unit, "the store is in use by another process (pid 7)", c.runs)
		if len(found) != 1 || found[0].State != c.state || !strings.Contains(found[0].What, c.what) || !strings.Contains(found[0].Mend, c.mend) {
			t.Errorf("%s: %+v", c.name, found)
		}
	}
	if found := judgeService(nil, "", true); len(found) != 0 {
		t.Errorf("a daemon without systemd: %+v", found)
	}
}
