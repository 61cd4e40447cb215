package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	p := launch{env: []string{"BOT_TOKEN=" + testToken}}.start(t, "config", "check", "--config",
		writeConfig(t, goodModels+"platforms: {telegram: {token: \"${BOT_TOKEN}\", api_base: \"http://bots.example.com\"}}\n"))
	if code := p.exit(patience); code != exitDone {
		t.Errorf("exit %d, want %d", code, exitDone)
	}
	lines := strings.Split(p.stderr.String(), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "warning: ") || !strings.HasPrefix(lines[1], "warning: ") || !strings.HasSuffix(lines[0], "c.yaml:2:47: platforms.telegram.api_base is not encrypted: the secret can be read on the way; use https") ||
		!strings.Contains(lines[1], "c.yaml: access names nobody who may talk to the bot") || !strings.HasSuffix(lines[2], "c.yaml: correct") {
		t.Errorf("stderr = %q, want the warnings and that the file is correct", p.stderr)
	}
}

func TestConfigShow(t *testing.T) {
	t.Parallel()
	path := writeConfig(t, `
models: [{name: main, api_key: "${MODEL_KEY}", model: m, headers: {X-Extra: "Bearer ${MODEL_KEY}"}}]
streaming: {support-bot: true}
platforms:
  telegram: {token: "${BOT_TOKEN}"}
  support-bot: {kind: telegram, token: "8:abc"}
agent: {system_prompt: "Never say ${MODEL_KEY}."}
`)
	for _, c := range []struct{ streaming, want string }{
		{"", "enabled: false\n"},
		{"1", "enabled: true # from TELEX_STREAMING_ENABLED\n"},
		{"no", "enabled: false # from TELEX_STREAMING_ENABLED\n"},
	} {
		t.Run("TELEX_STREAMING_ENABLED="+c.streaming, func(t *testing.T) {
			t.Parallel()
			p := launch{env: []string{
				"BOT_TOKEN=" + testToken, "MODEL_KEY=" + testKey, "TELEX_STREAMING_ENABLED=" + c.streaming, "TELEX_CONFIG=" + path,
			}}.start(t, "config", "show")
			if code := p.exit(patience); code != exitDone || p.stderr.String() != "" {
				t.Errorf("exit %d, stderr %q, want %d and nothing", code, p.stderr, exitDone)
			}
			got := p.stdout.String()
			for _, want := range []string{
				c.want, "api_key: '[redacted]'\n", "token: '[redacted]'\n", "X-Extra: Bearer [redacted]\n", "silence: 1m\n",
				"system_prompt: Never say [redacted].\n",
				"base_url: https://api.openai.com/v1\n", "kind: telegram\n",
			} {
				if !strings.Contains(got, want) {
					t.Errorf("stdout lacks %q:\n%s", want, got)
				}
			}
			if strings.Contains(got, "8:abc") {
				t.Errorf("stdout shows the second token:\n%s", got)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"version", "--version"} {
		p := launch{}.start(t, args)
		if code := p.exit(patience); code != exitDone || !regexp.MustCompile(`^telex \S+ \(commit .*, go\S+, \w+/\w+\)\n$`).MatchString(p.stdout.String()) {
			t.Errorf("%s: exit %d, stdout %q, want %d and a line with version, commit and platform", args, code, p.stdout, exitDone)
		}
	}
}

// An unknown help topic is a usage error, also after the name of a command.
func TestUnknownHelpTopic(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"help nonsense", "telex: unknown command or argument \"nonsense\" for \"telex\"\nRun 'telex --help' for usage\n"},
		{"help demi", "telex: unknown command or argument \"demi\" for \"telex\"\nDid you mean \"telex demo\"?\nRun 'telex --help' for usage\n"},
		{"help config shw", "telex: unknown command or argument \"shw\" for \"telex config\"\nDid you mean \"telex config show\"?\nRun 'telex config --help' for usage\n"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			wantRefusal(t, launch{}.start(t, strings.Fields(c.args)...), exitUsage, c.want)
		})
	}
}

// If the reader of a pipe closes it early, the command must not report an error.
func TestClosedPipeIsSilent(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"chat", "--demo", "--rate", "2000", "Explain the tides"}, {"--help"}} {
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		_ = reader.Close()
		var stderr strings.Builder
		c := exec.CommandContext(t.Context(), os.Args[0], args...)
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GOCOVERDIR=" + t.TempDir(), playsProgram + "=1"}
		c.Stdout, c.Stderr = writer, &stderr
		err = c.Run()
		_ = writer.Close()
		if err == nil || stderr.String() != "" {
			t.Errorf("telex %v with nobody who reads: %v, stderr %q, want a failure and nothing said", args, err, stderr.String())
		}
	}
}

// If a person asks for help, the help is a result, so it goes to stdout.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args string
		want []string
	}{
		{"", []string{"run ", "demo ", "standin ", "config ", "version ", "--config"}},
		{"--help", []string{"run ", "demo ", "standin ", "config ", "version ", "--config"}},
		{"usage --help", []string{"--since", "--by", "--json", "telex usage --since 2026-01-01 --by person"}},
		{"config --help", []string{"check ", "show "}},
		{"help", []string{"run ", "--config"}},
		{"help config show", []string{"telex config show"}},
		{"help standin", []string{"telegram ", "discord ", "slack ", "whatsapp ", "homeassistant ", "openai "}},
		{"demo --help", []string{"--say", "--rate", "--latency", "--listen", "TELEX_STREAMING_ENABLED=false"}},
		{"standin telegram --help", []string{"--listen", "--token", "--latency", "--no-limits"}},
		{"standin discord --help", []string{"--listen", "--token", "--latency", "--no-limits", "--message-content"}},
		{"standin homeassistant --help", []string{"--listen", "--token", "--latency"}},
		{"standin openai --help", []string{"--listen", "--key", "--rate", "--context"}},
		{"standin slack --help", []string{"--listen", "--bot-token", "--app-token", "--signing-secret", "--request-url", "--agent", "--latency", "--no-limits"}},
		{"standin whatsapp --help", []string{"--listen", "--token", "--app-secret", "--verify-token", "--callback-url", "--latency", "--no-limits"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			p := launch{}.start(t, strings.Fields(c.args)...)
			if code := p.exit(patience); code != exitDone || p.stderr.String() != "" {
				t.Errorf("exit %d, stderr %q, want %d and nothing", code, p.stderr, exitDone)
			}
			for _, want := range c.want {
				if !strings.Contains(p.stdout.String(), want) {
					t.Errorf("stdout lacks %q:\n%s", want, p.stdout)
				}
			}
		})
	}
}

// A command that only groups other commands does nothing by itself. If somebody runs such a command, it must print its
// help to stderr, because the help is not a result.
func TestCommandsThatNeedAnother(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pair", "store", "sessions", "standin", "config"} {
		p := launch{}.start(t, name)
		if code := p.exit(patience); code != exitUsage || p.stdout.String() != "" {
			t.Errorf("telex %s: exit %d, stdout %q, want %d and nothing", name, code, p.stdout, exitUsage)
		}
		wantText(t, "stderr", p.stderr.String(), "Available Commands:", `telex: "telex `+name+`" needs a command`)
	}
}
