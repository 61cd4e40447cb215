package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"telex/internal/config"
	"telex/standin/openai"
)

// setUp runs Setup in a new directory. setUp returns the directory and what Setup wrote to its two outputs.
func (p *patient) setUp(o SetupOptions, answers string, env map[string]string) (dir, results, remarks string, err error) {
	p.Helper()
	dir = p.TempDir()
	o.File, o.In = filepath.Join(dir, "config.yaml"), strings.NewReader(answers)
	var said, asked bytes.Buffer
	err = Setup(p.Context(), func(name string) (string, bool) { v, ok := env[name]; return v, ok }, Output{Results: &said, Remarks: &asked}, o)
	for _, secret := range []string{goodToken, goodKey} {
		if strings.Contains(said.String()+asked.String(), secret) {
			p.Errorf("a secret was shown: %s%s", said.String(), asked.String())
		}
	}
	return dir, said.String(), asked.String(), err
}

// checkWritten checks that the written configuration is valid, and that only its owner can read it and its secrets.
func (p *patient) checkWritten(dir string) *config.Config {
	p.Helper()
	c, err := LoadConfig(filepath.Join(dir, "config.yaml"), func(string) (string, bool) { return "", false })
	if err == nil {
		err = c.CheckRun()
	}
	if err != nil {
		p.Fatal(err)
	}
	if len(c.Warnings) > 0 {
		p.Errorf("warnings %q", c.Warnings)
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			p.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		p.Error(err)
	}
	return c
}

func TestSetupAsks(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	set := map[string]string{"telegram.api_base": p.world.TelegramURL}
	answers := "1, homeassistant x\n"
	_, _, _, err := p.setUp(SetupOptions{Set: set}, answers, nil)
	if err == nil || !strings.Contains(err.Error(), `no answer`) && !strings.Contains(err.Error(), "is not a platform") {
		t.Errorf("an unknown platform: %v", err)
	}
	answers = "1\n123456:wrong\ny\n" + goodToken + "\n" + p.world.ModelURL + "/v1\nwrong\nstandin\ny\n" + p.world.ModelURL + "/v1\n" + goodKey + "\nstandin\ntelegram:user:1, telegram:user:2\n"
	dir, results, remarks, err := p.setUp(SetupOptions{Set: set}, answers, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, remarks)
	}
	c := p.checkWritten(dir)
	if got := c.Endpoints[0].Settings.(*config.Telegram); got.Token.Reveal() != goodToken || got.APIBase != p.world.TelegramURL {
		t.Errorf("telegram %+v", got)
	}
	if m := c.Models[0]; m.APIKey.Reveal() != goodKey || m.Model != "standin" || m.BaseURL != p.world.ModelURL+"/v1" {
		t.Errorf("model %+v", m)
	}
	for _, want := range []string{"problem  endpoint telegram: auth", "ok       endpoint telegram: Telegram is @", "problem  model main: auth", "ok       model main: standin began"} {
		if !strings.Contains(remarks, want) {
			t.Errorf("%q was not said:\n%s", want, remarks)
		}
	}
	if !strings.Contains(results, "Next: telex run --config "+filepath.Join(dir, "config.yaml")) {
		t.Errorf("results %q", results)
	}
}

func TestSetupAsksNothing(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	env := map[string]string{"TELEGRAM_BOT_TOKEN": goodToken, "OPENAI_API_KEY": goodKey}
	o := SetupOptions{
		Silent: true, Platforms: []string{"telegram", "api_server"}, BaseURL: p.world.ModelURL + "/v1", Model: "standin",
		Set: map[string]string{"telegram.api_base": p.world.TelegramURL}, Allow: []string{"telegram:user:7"},
	}
	dir, _, remarks, err := p.setUp(o, "", env)
	if err != nil {
		t.Fatalf("%v\n%s", err, remarks)
	}
	c := p.checkWritten(dir)
	if len(c.Endpoints) != 2 || len(c.Endpoints[1].Settings.(*config.APIServer).Keys) != 1 {
		t.Errorf("endpoints %+v", c.Endpoints)
	}
	before, err := os.ReadFile(filepath.Join(dir, "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	o.File, o.In = filepath.Join(dir, "config.yaml"), strings.NewReader("")
	err = Setup(t.Context(), func(name string) (string, bool) { v, ok := env[name]; return v, ok }, Output{}, o)
	if err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("a second time: %v", err)
	}
	if after, err := os.ReadFile(o.File); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the configuration was changed (%v):\n%s", err, after)
	}
	env["TELEGRAM_BOT_TOKEN"] = "123456:wrong"
	if dir, _, _, err := p.setUp(o, "", env); !errors.Is(err, ErrNotSetUp) || exists(filepath.Join(dir, "config.yaml")) {
		t.Errorf("a wrong token: %v", err)
	}
	delete(env, "TELEGRAM_BOT_TOKEN")
	if _, _, _, err := p.setUp(o, "", env); err == nil || !strings.Contains(err.Error(), "Bot token, from @BotFather: there is no answer, and with --non-interactive, setup asks nothing: set TELEGRAM_BOT_TOKEN, or add --set telegram.token=…") {
		t.Errorf("no token: %v", err)
	}
}

// If Setup is told to leave secrets in the environment (--secrets=environment), it must write no secret to a file. The
// configuration must contain the names of the environment variables instead.
func TestSetupLeavesSecretsInTheEnvironment(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	env := map[string]string{"TELEGRAM_BOT_TOKEN": goodToken, "OPENAI_API_KEY": goodKey, "TELEX_API_KEY": "a-long-key-of-clients"}
	o := SetupOptions{
		Silent: true, InEnvironment: true, Platforms: []string{"telegram", "api_server"}, BaseURL: p.world.ModelURL + "/v1", Model: "standin",
		Set: map[string]string{"telegram.api_base": p.world.TelegramURL},
	}
	dir, results, remarks, err := p.setUp(o, "", env)
	if err != nil {
		t.Fatalf("%v\n%s", err, remarks)
	}
	c, err := LoadConfig(filepath.Join(dir, "config.yaml"), func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Endpoints[0].Settings.(*config.Telegram); got.Token.Reveal() != goodToken || c.Models[0].APIKey.Reveal() != goodKey {
		t.Errorf("the secrets are %q and %q", got.Token.Reveal(), c.Models[0].APIKey.Reveal())
	}
	text, err := os.ReadFile(filepath.Join(dir, "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, secret := range env {
		if strings.Contains(string(text), secret) || !strings.Contains(string(text), "${"+name+"}") || !strings.Contains(results, name) {
			t.Errorf("%s: the configuration is\n%s\nand the results %s", name, text, results)
		}
	}
	if exists(filepath.Join(dir, config.SecretsDir)) {
		t.Error("there is a folder of secrets")
	}
	delete(env, "TELEGRAM_BOT_TOKEN")
	if _, _, _, err := p.setUp(o, "", env); err == nil || !strings.HasPrefix(err.Error(), "TELEGRAM_BOT_TOKEN is not set") {
		t.Errorf("without the variable: %v", err)
	}
}

// Setup must accept a local model without an API key, but must insist on a key for the default provider.
func TestSetupWithoutAKey(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	free := openai.New(openai.Options{})
	url := p.serve(free.Serve, free.Close)
	env := map[string]string{"TELEGRAM_BOT_TOKEN": goodToken}
	set := map[string]string{"telegram.api_base": p.world.TelegramURL}
	dir, _, remarks, err := p.setUp(SetupOptions{Set: set}, "telegram\n"+url+"/v1\n\nstandin\nnobody\n", env)
	if err != nil {
		t.Fatalf("%v\n%s", err, remarks)
	}
	if c := p.checkWritten(dir); c.Models[0].APIKey.Reveal() != "" || exists(filepath.Join(dir, config.SecretsDir, modelKeyFile)) {
		t.Error("there is a key")
	}
	_, _, _, err = p.setUp(SetupOptions{Silent: true, Set: set}, "", env)
	if err == nil || !strings.HasSuffix(err.Error(), "API key: there is no answer, and with --non-interactive, setup asks nothing: set OPENAI_API_KEY") {
		t.Errorf("the usual provider without a key: %v", err)
	}
}

// Ctrl-C must end Setup even while Setup waits for an answer.
func TestSetupIsInterrupted(t *testing.T) {
	t.Parallel()
	typed, keyboard := io.Pipe()
	t.Cleanup(func() { _ = keyboard.Close() })
	ctx, interrupt := context.WithCancel(t.Context())
	file := filepath.Join(t.TempDir(), "config.yaml")
	asked := writer(func(p []byte) {
		if bytes.Contains(p, []byte("Which platforms?")) {
			interrupt()
		}
	})
	err := Setup(ctx, func(string) (string, bool) { return "", false }, Output{Results: io.Discard, Remarks: asked}, SetupOptions{File: file, In: typed})
	if !errors.Is(err, context.Canceled) || exists(file) {
		t.Errorf("error %v, written: %t", err, exists(file))
	}
}

// writer is an io.Writer that calls a function.
type writer func([]byte)

// Write implements io.Writer.
func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }
